//! The difference of two versions.

use askama::Template;
use axum::response::Response;
use exo_index::registry::shard::VersionEntry;

use super::super::render;
use super::super::trouble::PageError;
use super::super::visitor::{Frame, Visitor};
use super::{Asked, Shown, Whole, asked_for, may_be_read};
use crate::difference::{self, Difference};
use crate::service::Service;

#[derive(Template)]
#[template(path = "pack_compare.html")]
struct Compare<'a> {
    frame: &'a Frame,
    pack: &'a Shown,
    from: String,
    to: String,
    /// All versions, newest first, for choosing.
    versions: Vec<String>,
    difference: Difference,
}

/// The version before another, or the version itself when it is the first.
fn before<'s>(pack: &'s Shown, entry: &'s VersionEntry) -> &'s VersionEntry {
    pack.shard.versions.iter().rev().find(|other| other.version < entry.version).unwrap_or(entry)
}

pub(super) async fn page(
    service: &Service,
    whole: Whole<'_>,
    asked: &Asked,
    visitor: &Visitor,
) -> Result<Response, PageError> {
    let pack = whole.pack;
    let to = match &asked.to {
        Some(version) => asked_for(&pack.shard, version)?,
        None => &pack.entry,
    };
    let from = match &asked.from {
        Some(version) => asked_for(&pack.shard, version)?,
        None => before(pack, to),
    };
    for entry in [from, to] {
        may_be_read(visitor, pack.name(), entry)?;
    }
    let difference = difference::of(service, from, to).await?;
    render(&Compare {
        frame: whole.frame,
        pack,
        from: from.version.to_string(),
        to: to.version.to_string(),
        versions: pack.shard.versions.iter().rev().map(|entry| entry.version.to_string()).collect(),
        difference,
    })
}
