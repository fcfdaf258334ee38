//! The packs that a pack depends on, and those that depend on it.

use askama::Template;
use axum::response::Response;
use sqlx::Row as _;

use super::super::render;
use super::super::trouble::PageError;
use super::super::visitor::Frame;
use super::{Shown, Whole};
use crate::registry::Registry;
use crate::service::Service;

/// Dependants that are listed.
const MOST: i64 = 500;

/// A pack on one end of a dependency.
struct Neighbour {
    name: String,
    /// The requirement that ties the two.
    requirement: String,
    /// `None` where the pack is not in this registry.
    description: Option<String>,
    /// It comes with exo.
    bundled: bool,
}

#[derive(Template)]
#[template(path = "pack_neighbours.html")]
struct Neighbours<'a> {
    frame: &'a Frame,
    pack: &'a Shown,
    heading: &'a str,
    /// What is said when there are none.
    none: &'a str,
    neighbours: Vec<Neighbour>,
    /// There are more than are listed.
    more: bool,
}

pub(super) async fn dependencies(service: &Service, whole: Whole<'_>) -> Result<Response, PageError> {
    let mut neighbours = Vec::new();
    for dependency in &whole.pack.entry.dependencies {
        let found = sqlx::query("SELECT description FROM packs WHERE name = $1")
            .bind(dependency.name.as_str().to_owned())
            .fetch_optional(&service.registry.rows)
            .await?
            .filter(|_| dependency.registry.is_none());
        neighbours.push(Neighbour {
            name: dependency.name.to_string(),
            requirement: dependency.requirement.to_string(),
            description: found.map(|row| row.try_get("description")).transpose()?,
            bundled: service.bundled.0.contains_key(&dependency.name),
        });
    }
    let (heading, none) = ("Dependencies", "This version depends on no other pack.");
    render(&Neighbours { frame: whole.frame, pack: whole.pack, heading, none, neighbours, more: false })
}

pub(super) async fn dependants(registry: &Registry, whole: Whole<'_>) -> Result<Response, PageError> {
    // Of each pack its newest version counts. What is shown of it is read for those on the page only: the others are sorted by an index.
    let found = sqlx::query(
        "SELECT o.name, o.requirement, q.description FROM (SELECT d.name, d.requirement, p.downloads FROM dependencies d \
         JOIN packs p ON p.name = d.name AND p.version = d.version WHERE d.dependency = $1 \
         ORDER BY p.downloads DESC, d.name LIMIT $2) AS o JOIN packs q ON q.name = o.name ORDER BY o.downloads DESC, o.name",
    )
    .bind(whole.pack.name().as_str().to_owned())
    .bind(MOST + 1)
    .fetch_all(&registry.rows)
    .await?;
    let mut neighbours = Vec::new();
    for row in found {
        neighbours.push(Neighbour {
            name: row.try_get("name")?,
            requirement: row.try_get("requirement")?,
            description: Some(row.try_get("description")?),
            bundled: false,
        });
    }
    let most = usize::try_from(MOST).unwrap_or(usize::MAX);
    let more = neighbours.len() > most;
    neighbours.truncate(most);
    let (heading, none) = ("Dependants", "No pack of this registry depends on it in its newest version.");
    render(&Neighbours { frame: whole.frame, pack: whole.pack, heading, none, neighbours, more })
}
