//! The first page of a pack: its README.

use askama::Template;
use axum::response::Response;
use exo_index::archive::PackFiles;

use super::super::markdown;
use super::super::render;
use super::super::trouble::PageError;
use super::super::visitor::Frame;
use super::{Shown, Whole};
use crate::contents;
use crate::registry::Registry;

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

pub(super) async fn page(registry: &Registry, whole: Whole<'_>) -> Result<Response, PageError> {
    let text = match whole.pack.entry.quarantined {
        // What it says of itself is the last thing to show.
        Some(_) => None,
        None => text(contents::files(registry, &whole.pack.entry).await?),
    };
    let readme = tokio::task::spawn_blocking(move || text.map(|text| markdown::render(&text))).await?;
    render(&Readme { frame: whole.frame, pack: whole.pack, readme, address: whole.pack.file_address("README.md") })
}
