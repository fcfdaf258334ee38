//! The versions of a pack, newest first.

use std::collections::BTreeMap;

use askama::Template;
use axum::response::Response;
use exo_index::registry::shard::VersionEntry;
use sqlx::Row as _;

use super::super::format;
use super::super::render;
use super::super::trouble::{PageError, sentence};
use super::super::visitor::Frame;
use super::{Shown, Whole};
use crate::advisories::{self, Kept};
use crate::chance::signed;
use crate::deletion;
use crate::registry::Registry;

/// One version in the list.
struct VersionRow {
    version: String,
    address: String,
    /// Of the page that compares it with the one before it.
    changes: Option<String>,
    published: String,
    size: String,
    downloads: String,
    proven: bool,
    prerelease: bool,
    yanked: Option<String>,
    quarantined: bool,
    /// The ids of the advisories that it has.
    advisories: Vec<String>,
    log: u64,
}

/// One advisory of the pack, withdrawn or not.
struct AdvisoryRow {
    id: String,
    severity: String,
    versions: String,
    summary: String,
    advice: String,
    url: Option<String>,
    published: String,
    withdrawn: Option<String>,
}

#[derive(Template)]
#[template(path = "pack_versions.html")]
struct Versions<'a> {
    frame: &'a Frame,
    pack: &'a Shown,
    versions: Vec<VersionRow>,
    advisories: Vec<AdvisoryRow>,
    deleted: Vec<DeletedRow>,
}

/// One version that was deleted.
struct DeletedRow {
    version: String,
    day: String,
    reason: String,
}

fn advisory(kept: Kept) -> AdvisoryRow {
    AdvisoryRow {
        advice: kept.advisory.advice().map(|advice| sentence(&advice)).unwrap_or_default(),
        id: kept.advisory.id,
        severity: kept.advisory.severity,
        versions: kept.advisory.versions.to_string(),
        summary: kept.advisory.summary,
        url: kept.advisory.url,
        published: format::day(kept.published),
        withdrawn: kept.withdrawn.map(format::day),
    }
}

pub(super) async fn page(registry: &Registry, whole: Whole<'_>) -> Result<Response, PageError> {
    let pack = whole.pack;
    let mut downloads: BTreeMap<String, i64> = BTreeMap::new();
    let counted = sqlx::query(
        "SELECT version, CAST(SUM(count) AS BIGINT) AS count FROM downloads WHERE name = $1 GROUP BY version",
    );
    for row in counted.bind(pack.name().as_str().to_owned()).fetch_all(&registry.rows).await? {
        downloads.insert(row.try_get("version")?, row.try_get("count")?);
    }
    let before = std::iter::once(None).chain(pack.shard.versions.iter().map(Some));
    let row = |(entry, before): (&VersionEntry, Option<&VersionEntry>)| {
        let version = entry.version.to_string();
        let base = format!("/packs/{}", pack.name());
        VersionRow {
            address: format!("{base}?version={}", format::encoded(&version)),
            changes: before.map(|before| {
                let (from, to) = (before.version.to_string(), &version);
                format!("{base}/compare?from={}&to={}", format::encoded(&from), format::encoded(to))
            }),
            published: format::day(signed(entry.published)),
            size: format::bytes(entry.size),
            downloads: format::count(downloads.get(&version).copied().unwrap_or(0)),
            proven: entry.verdict.is_some(),
            prerelease: entry.version.is_prerelease(),
            yanked: entry.yanked.as_ref().map(|why| why.reason.clone().unwrap_or_default()),
            quarantined: entry.quarantined.is_some(),
            advisories: pack
                .shard
                .pack
                .advisories
                .iter()
                .filter(|advisory| advisory.affects(&entry.version))
                .map(|advisory| advisory.id.clone())
                .collect(),
            log: entry.log,
            version,
        }
    };
    let mut versions: Vec<VersionRow> = pack.shard.versions.iter().zip(before).map(row).collect();
    versions.reverse();
    let mut rows = registry.rows.acquire().await?;
    let advisories = advisories::of_pack(&mut rows, pack.name()).await?.into_iter().map(advisory).collect();
    let deleted = deletion::of_pack(&mut rows, pack.name()).await?.into_iter().map(|tombstone| DeletedRow {
        version: tombstone.version,
        day: format::day(tombstone.at),
        reason: tombstone.reason,
    });
    render(&Versions { frame: whole.frame, pack, versions, advisories, deleted: deleted.collect() })
}
