//! Whether the rows still have what the log tells of versions: each one that was published is there, or was deleted and has its tombstone.
//! Without its tombstone a deleted number, or name, would be given again.

use std::collections::{BTreeMap, BTreeSet};

use exo_index::registry::log::leaf::{Event, Leaf};
use sqlx::Row as _;

use crate::database::{self, Rows};
use crate::failure::Failure;
use crate::registry::Registry;

/// Names that a message lists.
const LISTED: usize = 5;

/// A pack and a version of it, which is empty for the name as a whole.
type Place = (String, String);

/// Holds the tables of versions and of tombstones against the log; gives the number of tombstones.
///
/// # Errors
/// They differ: the message says where, what of it follows, and what to do.
pub(crate) async fn check(registry: &Registry) -> Result<usize, Failure> {
    // All three as they were at one moment.
    let mut turn = database::turn(&registry.rows).await?;
    let log = sqlx::query("SELECT leaf FROM log ORDER BY position").fetch_all(&mut *turn).await?;
    let leaves: Vec<String> = log.iter().map(|row| row.try_get("leaf")).collect::<Result<_, _>>()?;
    let versions = places(&mut turn, "SELECT name, version FROM versions").await?;
    let stones = places(&mut turn, "SELECT name, version FROM tombstones").await?;
    turn.rollback().await?;
    let (there, deleted) = told(&leaves)?;
    let differs = |table: &str, kept: &BTreeSet<Place>, told: &BTreeSet<Place>, so: &str| {
        let (lost, odd): (Vec<_>, Vec<_>) = (told.difference(kept).collect(), kept.difference(told).collect());
        let remedy = "stop the server, and bring the rows back from a backup (`exo-registry restore`) or from the database's own";
        if !lost.is_empty() {
            return Err(Failure::new(format!("the table `{table}` has lost {}{so}; {remedy}", listed(&lost))));
        }
        if !odd.is_empty() {
            return Err(Failure::new(format!(
                "the table `{table}` has {}, of which the log says otherwise; {remedy}",
                listed(&odd)
            )));
        }
        Ok(())
    };
    differs("tombstones", &stones, &deleted, ", which the log says was deleted: it could be given again")?;
    differs("versions", &versions, &there, ", which the log says was published and not deleted")?;
    Ok(stones.len())
}

async fn places(turn: &mut Rows, query: &'static str) -> Result<BTreeSet<Place>, Failure> {
    let found = sqlx::query(query).fetch_all(&mut **turn).await?;
    found.iter().map(|row| Ok((row.try_get("name")?, row.try_get("version")?))).collect()
}

/// The versions that should be there, and the tombstones: of deleted versions, and of names of which all versions were.
fn told(leaves: &[String]) -> Result<(BTreeSet<Place>, BTreeSet<Place>), Failure> {
    let mut packs: BTreeMap<String, BTreeMap<String, bool>> = BTreeMap::new();
    for leaf in leaves {
        let (name, version, there) = match Leaf::parse(leaf.as_bytes())?.event {
            Event::Publish { name, version, .. } => (name, version, true),
            Event::Delete { name, version } => (name, version, false),
            _ => continue,
        };
        packs.entry(name.to_string()).or_default().insert(version.to_string(), there);
    }
    let (mut there, mut deleted) = (BTreeSet::new(), BTreeSet::new());
    for (name, versions) in packs {
        if versions.values().all(|there| !there) {
            deleted.insert((name.clone(), String::new()));
        }
        for (version, is_there) in versions {
            let place = (name.clone(), version);
            if is_there {
                there.insert(place)
            } else {
                deleted.insert(place)
            };
        }
    }
    Ok((there, deleted))
}

/// The first of some places in words.
fn listed(places: &[&Place]) -> String {
    let word = |(name, version): &&Place| match version.as_str() {
        "" => format!("the name `{name}`"),
        version => format!("`{name} {version}`"),
    };
    let mut words = places.iter().take(LISTED).map(word).collect::<Vec<_>>().join(", ");
    if places.len() > LISTED {
        words.push_str(&format!(" and {} more", places.len() - LISTED));
    }
    words
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn places_are_listed_up_to_an_end() {
        let places: Vec<Place> = (0..7).map(|number| ("base".to_owned(), format!("1.0.{number}"))).collect();
        let all: Vec<&Place> = places.iter().collect();
        assert_eq!(listed(&all[..1]), "`base 1.0.0`");
        assert!(listed(&all).ends_with("`base 1.0.4` and 2 more"), "{}", listed(&all));
        assert_eq!(listed(&[&("base".to_owned(), String::new())]), "the name `base`");
    }
}
