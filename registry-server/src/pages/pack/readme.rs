//! The first page of a pack: its README.

use askama::Template;
use axum::body::Bytes;
use axum::response::Response;
use exo_index::archive::PackFiles;
use exo_index::registry::shard::VersionEntry;

use super::super::markdown;
use super::super::render;
use super::super::trouble::PageError;
use super::super::visitor::Frame;
use super::{Shown, Whole};
use crate::contents;
use crate::failure::Failure;
use crate::service::Service;

/// A longer README is not rendered, in bytes.
const LONGEST: usize = 256 << 10;

#[derive(Template)]
#[template(path = "pack_readme.html")]
struct Readme<'a> {
    frame: &'a Frame,
    pack: &'a Shown,
    /// HTML that [`markdown::render`] sanitised.
    readme: Option<String>,
    address: String,
}

fn text(mut files: PackFiles) -> Option<String> {
    let bytes = files.files.remove("README.md").filter(|bytes| bytes.len() <= LONGEST)?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// The README of a version as HTML; `None` where it has none that can be shown. A version does not change, so what was made of it is kept.
async fn readme(service: &Service, entry: &VersionEntry) -> Result<Option<String>, Failure> {
    let key = format!("README {}", entry.archive);
    let kept = || service.kept.get(&key).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    if let Some(html) = kept() {
        return Ok(Some(html));
    }
    let place = service.rendering.place().await?;
    // Who waited for a place may have waited for the same text.
    if let Some(html) = kept() {
        return Ok(Some(html));
    }
    let Some(text) = text(contents::files(&service.registry, entry).await?) else { return Ok(None) };
    let html = place.work(move |audience| markdown::render(&text, audience)).await?;
    service.kept.put(&key, &Bytes::from(html.clone()));
    Ok(Some(html))
}

pub(super) async fn page(service: &Service, whole: Whole<'_>) -> Result<Response, PageError> {
    let readme = match whole.pack.entry.quarantined {
        // What it says of itself is the last thing to show.
        Some(_) => None,
        None => readme(service, &whole.pack.entry).await?,
    };
    render(&Readme { frame: whole.frame, pack: whole.pack, readme, address: whole.pack.file_address("README.md") })
}
