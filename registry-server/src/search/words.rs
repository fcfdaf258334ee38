//! The words by which packs are found: which a pack has, how much each says of it, and how they are kept beside the packs.
//!
//! Each word of a pack is a row with the pack's rank among all that have the word, so that the best packs for a word are read off an index
//! in their order, however many have it. Beginnings of words of names and keywords are words of their own, and so is what filters ask for.

use std::collections::{BTreeMap, BTreeSet};

use sqlx::{AnyConnection, AnyPool, Row as _};

use crate::database;
use crate::failure::Failure;

/// What stands for all packs.
pub(super) const EVERY: &str = "*";

/// Ranks of packs that have a word in one place are this far from those that have it in another; no prior is as large.
const PLACE: i64 = 1_000_000;

/// Where a word stands, from what says least of a pack to what says most.
const IN_DESCRIPTION: i64 = 1;
const BEGINS_KEYWORD: i64 = 2;
const IN_KEYWORDS: i64 = 3;
const BEGINS_NAME: i64 = 4;
const IN_NAME: i64 = 5;

/// The shortest beginning of a word that is kept, and the longest.
const SHORTEST: usize = 2;
const LONGEST: usize = 24;

/// The words of a description that are kept.
const MOST_DESCRIBED: usize = 40;

/// Packs that are looked at in one turn of the registry's lock.
const BATCH: usize = 200;

/// The words of a text: letters and digits, lower case.
pub(super) fn words(text: &str) -> impl Iterator<Item = String> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_lowercase)
}

/// The word that stands for a filter.
pub(super) fn filter(what: &str, value: &str) -> String {
    format!("{what}:{}", value.trim().to_lowercase())
}

/// What of a pack is searched.
#[derive(Debug, Default)]
struct Searched<'a> {
    name: &'a str,
    description: &'a str,
    keywords: &'a str,
    kind: &'a str,
    targets: &'a str,
    verified: bool,
}

/// The words of a pack, each with the best place it stands in.
fn places(pack: &Searched<'_>) -> BTreeMap<String, i64> {
    let mut found: BTreeMap<String, i64> = BTreeMap::new();
    let mut add = |word: String, place: i64| {
        let best = found.entry(word).or_insert(place);
        *best = place.max(*best);
    };
    let mut with_beginnings = |word: String, whole: i64, beginning: i64| {
        for (at, _) in word.char_indices().skip(SHORTEST).take(LONGEST) {
            add(word.get(..at).unwrap_or_default().to_owned(), beginning);
        }
        add(word, whole);
    };
    for word in words(pack.name) {
        with_beginnings(word, IN_NAME, BEGINS_NAME);
    }
    // `neonconv` finds `neon-conv2d`.
    with_beginnings(words(pack.name).collect(), IN_NAME, BEGINS_NAME);
    for word in words(pack.keywords) {
        with_beginnings(word, IN_KEYWORDS, BEGINS_KEYWORD);
    }
    for word in words(pack.description).take(MOST_DESCRIBED) {
        add(word, IN_DESCRIPTION);
    }
    add(EVERY.to_owned(), 0);
    add(filter("kind", pack.kind), 0);
    for target in pack.targets.split_whitespace() {
        add(filter("target", target), 0);
    }
    if pack.verified {
        add(filter("is", "verified"), 0);
    }
    found
}

/// How much a pack is used, as what decides between packs that fit equally well. It moves in steps, each of which is an eighth of twice
/// as many, so that a fetch more seldom changes it.
fn prior(downloads: i64, dependants: i64) -> i64 {
    let eighths = |number: i64| {
        let number = number.clamp(0, 1 << 50) + 1;
        let log = i64::from(number.ilog2());
        // The eighth within the octave.
        log * 8 + ((number - (1 << log)) * 8 >> log)
    };
    // Who depends on a pack says more of it than who fetched it once.
    eighths(downloads) + 3 * eighths(dependants)
}

/// Writes the words of a pack anew. The caller holds the registry's turn.
///
/// # Errors
/// The database refuses.
pub(crate) async fn rewrite(rows: &mut AnyConnection, name: &str) -> Result<(), Failure> {
    let row = sqlx::query(
        "SELECT description, keywords, kind, targets, verified, downloads, \
         (SELECT COUNT(DISTINCT d.name) FROM dependencies d WHERE d.dependency = packs.name) AS dependants FROM packs WHERE name = $1",
    )
    .bind(name.to_owned())
    .fetch_one(&mut *rows)
    .await?;
    let text = |column: &str| row.try_get::<String, _>(column);
    let (description, keywords, kind, targets) =
        (text("description")?, text("keywords")?, text("kind")?, text("targets")?);
    let verified = row.try_get::<i64, _>("verified")? == 1;
    let prior = prior(row.try_get("downloads")?, row.try_get("dependants")?);
    let pack =
        Searched { name, description: &description, keywords: &keywords, kind: &kind, targets: &targets, verified };
    sqlx::query("DELETE FROM words WHERE pack = $1").bind(name.to_owned()).execute(&mut *rows).await?;
    let words: Vec<(String, i64)> = places(&pack).into_iter().collect();
    for part in words.chunks(64) {
        let values = (0..part.len()).map(|at| format!("(${}, $1, ${})", at * 2 + 2, at * 2 + 3));
        let statement =
            format!("INSERT INTO words (word, pack, rank) VALUES {}", values.collect::<Vec<_>>().join(", "));
        let mut insert = sqlx::query(sqlx::AssertSqlSafe(statement)).bind(name.to_owned());
        for (word, place) in part {
            insert = insert.bind(word.clone()).bind(place * PLACE + prior);
        }
        insert.execute(&mut *rows).await?;
    }
    sqlx::query(
        "INSERT INTO standings (name, prior, verified) VALUES ($1, $2, $3) \
         ON CONFLICT (name) DO UPDATE SET prior = $2, verified = $3",
    )
    .bind(name.to_owned())
    .bind(prior)
    .bind(i64::from(verified))
    .execute(rows)
    .await?;
    Ok(())
}

/// Writes the words of packs that have none, of an earlier version of this program or from a backup, and of those whose owners were verified since. How many there were.
///
/// # Errors
/// The database refuses.
pub(crate) async fn complete(pool: &AnyPool) -> Result<u64, Failure> {
    let mut number = 0;
    loop {
        let lacking = sqlx::query(
            "SELECT p.name FROM packs p LEFT JOIN standings s ON s.name = p.name \
             WHERE s.name IS NULL OR s.verified <> p.verified LIMIT $1",
        );
        let lacking = lacking.bind(i64::try_from(BATCH).unwrap_or(i64::MAX)).fetch_all(pool).await?;
        if lacking.is_empty() {
            return Ok(number);
        }
        let mut turn = database::turn(pool).await?;
        for row in &lacking {
            rewrite(&mut turn, &row.try_get::<String, _>("name")?).await?;
            number += 1;
        }
        turn.commit().await?;
    }
}

/// Brings the ranks to how much packs are used now. How many packs moved.
///
/// # Errors
/// The database refuses.
pub(crate) async fn rank(pool: &AnyPool) -> Result<usize, Failure> {
    let mut dependants: BTreeMap<String, i64> = BTreeMap::new();
    let counted =
        sqlx::query("SELECT dependency, COUNT(DISTINCT name) AS number FROM dependencies GROUP BY dependency");
    for row in counted.fetch_all(pool).await? {
        dependants.insert(row.try_get("dependency")?, row.try_get("number")?);
    }
    let found = sqlx::query("SELECT p.name, p.downloads, s.prior FROM packs p JOIN standings s ON s.name = p.name");
    let mut moved: BTreeSet<(String, i64)> = BTreeSet::new();
    for row in found.fetch_all(pool).await? {
        let name: String = row.try_get("name")?;
        let now = prior(row.try_get("downloads")?, dependants.get(&name).copied().unwrap_or(0));
        if now != row.try_get::<i64, _>("prior")? {
            moved.insert((name, now));
        }
    }
    let number = moved.len();
    let mut moved = moved.into_iter().peekable();
    while moved.peek().is_some() {
        let mut turn = database::turn(pool).await?;
        for (name, prior) in moved.by_ref().take(BATCH) {
            // Another replica may have moved it meanwhile, so the step is taken from what stands there.
            sqlx::query(
                "UPDATE words SET rank = rank + $2 - (SELECT s.prior FROM standings s WHERE s.name = $1) WHERE pack = $1",
            )
            .bind(name.clone())
            .bind(prior)
            .execute(&mut *turn)
            .await?;
            sqlx::query("UPDATE standings SET prior = $2 WHERE name = $1")
                .bind(name)
                .bind(prior)
                .execute(&mut *turn)
                .await?;
        }
        turn.commit().await?;
    }
    Ok(number)
}

#[cfg(test)]
#[allow(clippy::indexing_slicing)]
mod tests {
    use super::*;

    #[test]
    fn words_stand_where_they_say_most() {
        let pack = Searched {
            name: "@arm/neon-conv2d",
            description: "Conv2D for NEON, fast",
            keywords: "convolution conv2d",
            kind: "schedule",
            targets: "neon @arm/sve",
            verified: true,
        };
        let found = places(&pack);
        for (word, place) in [
            ("neon", IN_NAME),
            ("conv2d", IN_NAME),
            ("armneonconv2d", IN_NAME),
            ("ne", BEGINS_NAME),
            ("conv", BEGINS_NAME),
            ("armneonc", BEGINS_NAME),
            ("convolution", IN_KEYWORDS),
            ("convol", BEGINS_KEYWORD),
            ("fast", IN_DESCRIPTION),
            (EVERY, 0),
            ("kind:schedule", 0),
            ("target:neon", 0),
            ("target:@arm/sve", 0),
            ("is:verified", 0),
        ] {
            assert_eq!(found.get(word), Some(&place), "{word}");
        }
        for word in ["n", "fas", "", "@arm"] {
            assert!(!found.contains_key(word), "{word}");
        }
        assert_eq!(words("a_B-1 é%").collect::<Vec<_>>(), ["a", "b", "1", "é"]);
    }

    #[test]
    fn more_use_is_never_less_and_small_steps_are_none() {
        let ladder = [0, 1, 2, 3, 10, 100, 1000, 1_000_000, i64::MAX].map(|number| prior(number, 0));
        assert!(ladder.is_sorted() && ladder[0] == 0 && ladder[8] < PLACE, "{ladder:?}");
        assert_eq!(prior(120_000, 0), prior(120_001, 0));
        assert!(prior(0, 100) > prior(1000, 0) && prior(i64::MAX, i64::MAX) < PLACE);
    }
}
