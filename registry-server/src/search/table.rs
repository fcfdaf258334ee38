//! What all packs say of themselves, in memory: looking for words in a hundred thousand packs reads no rows.

use std::collections::BTreeMap;
use std::sync::Arc;

use sqlx::{AnyPool, Row as _};
use tokio::sync::Mutex;

use super::Asked;
use super::ranked::{Hits, Ranked, Said, look};
use crate::failure::Failure;

/// Packs that are read at once.
const BATCH: i64 = 2000;

/// Newer packs that stand beside the others until all are put in order again.
const MOST_NEWER: usize = 500;

/// Between two packs, and between two things that a pack says. Where a text has one, a blank is read.
const PACKS: char = '\u{1e}';
const PARTS: char = '\u{1f}';

/// By how much a publish may be dated before others that came into the registry before it, in seconds: clocks of machines differ.
const LATE: i64 = 600;

/// Reads many packs as one text: a row costs much more than what is in it.
macro_rules! said {
    ($which:literal) => {
        concat!(
            "SELECT COALESCE(string_agg(said, '\u{1e}' ORDER BY name), '') AS said FROM (SELECT name, name || '\u{1f}' || kind || '\u{1f}' || ",
            "targets || '\u{1f}' || CAST(downloads AS TEXT) || '\u{1f}' || CAST(verified AS TEXT) || '\u{1f}' || CAST(archived AS TEXT) || '\u{1f}' || ",
            "CAST(updated AS TEXT) || '\u{1f}' || replace(replace(keywords, '\u{1e}', ' '), '\u{1f}', ' ') || '\n' || ",
            "replace(replace(description, '\u{1e}', ' '), '\u{1f}', ' ') AS said FROM packs ",
            $which,
            ") AS found"
        )
    };
}

/// A pack of the text, and when it came.
fn said(text: &str) -> Result<(Said, i64), Failure> {
    let mut parts = text.splitn(8, PARTS);
    let mut part = || parts.next().ok_or_else(|| Failure::new(format!("`{text}` is no row of a pack")));
    let number = |text: &str| {
        text.parse::<i64>().map_err(|error| Failure::new(format!("`{text}` in a row of a pack is no number: {error}")))
    };
    let (name, kind, targets) = (part()?.to_owned(), part()?.to_owned(), part()?.to_owned());
    let (downloads, verified, archived) = (number(part()?)?, number(part()?)? == 1, number(part()?)? == 1);
    let updated = number(part()?)?;
    Ok((Said { name, kind, targets, downloads, verified, archived, about: part()?.to_owned() }, updated))
}

/// The packs as they were after some turn of the registry.
#[derive(Default)]
struct Loaded {
    turns: i64,
    /// When the newest of them was published.
    updated: i64,
    ranked: Arc<Ranked>,
    /// What was published since they were put in order, by name.
    newer: Arc<BTreeMap<String, Said>>,
    /// Whether anybody looked for something since.
    asked: bool,
}

impl Loaded {
    /// Reads what was published since; says whether that is so much that all should be put in order again.
    async fn catch_up(&mut self, rows: &AnyPool) -> Result<bool, Failure> {
        let turns = turns(rows).await?;
        if turns == self.turns {
            return Ok(false);
        }
        let mut last = String::new();
        let since = self.updated - LATE;
        loop {
            let batch = sqlx::query(said!("WHERE updated >= $1 AND name > $2 ORDER BY name LIMIT $3"));
            let batch = batch.bind(since).bind(last.clone()).bind(BATCH).fetch_one(rows).await?;
            let text: String = batch.try_get("said")?;
            let packs = text.split(PACKS).filter(|text| !text.is_empty()).map(said);
            let packs = packs.collect::<Result<Vec<_>, _>>()?;
            let Some((said, _)) = packs.last() else { break };
            last.clone_from(&said.name);
            if packs.len() + self.newer.len() > MOST_NEWER {
                return Ok(true);
            }
            let newer = Arc::make_mut(&mut self.newer);
            for (said, updated) in packs {
                self.updated = self.updated.max(updated);
                newer.insert(said.name.clone(), said);
            }
        }
        self.turns = turns;
        Ok(false)
    }
}

/// How often the registry was changed.
async fn turns(rows: &AnyPool) -> Result<i64, Failure> {
    Ok(sqlx::query("SELECT turns FROM state WHERE id = 1").fetch_one(rows).await?.try_get("turns")?)
}

/// The table, which all requests share.
#[derive(Clone, Default)]
pub(crate) struct Table(Arc<Mutex<Option<Loaded>>>);

impl Table {
    /// Reads all rows where nobody has; whoever looks for something meanwhile waits for that.
    ///
    /// # Errors
    /// The database cannot be read.
    pub(crate) async fn read_ahead(&self, rows: &AnyPool) -> Result<(), Failure> {
        let mut table = self.0.lock().await;
        if table.is_none() {
            *table = Some(load(rows).await?);
        }
        Ok(())
    }

    /// Reads all rows, unless nobody looked for anything since that was done: downloads and who archives a pack do not count as changes.
    ///
    /// # Errors
    /// The database cannot be read.
    pub(crate) async fn reload(&self, rows: &AnyPool) -> Result<(), Failure> {
        if self.0.lock().await.as_ref().is_some_and(|loaded| !loaded.asked) {
            return Ok(());
        }
        let fresh = load(rows).await?;
        *self.0.lock().await = Some(fresh);
        Ok(())
    }

    /// Looks for packs in what the registry holds now.
    ///
    /// # Errors
    /// The database cannot be read.
    pub(super) async fn find(&self, rows: &AnyPool, asked: &Asked, skip: usize, most: usize) -> Result<Hits, Failure> {
        let mut table = self.0.lock().await;
        let loaded = match table.take() {
            Some(loaded) => table.insert(loaded),
            None => table.insert(load(rows).await?),
        };
        if loaded.catch_up(rows).await? {
            *loaded = load(rows).await?;
        }
        loaded.asked = true;
        let (ranked, newer) = (loaded.ranked.clone(), loaded.newer.clone());
        drop(table);
        let asked = asked.clone();
        Ok(tokio::task::spawn_blocking(move || look(&ranked, &newer, &asked, skip, most)).await?)
    }
}

/// Reads all rows, some at a time.
async fn load(rows: &AnyPool) -> Result<Loaded, Failure> {
    let turns = turns(rows).await?;
    let (mut all, mut newest, mut last) = (Vec::new(), 0, String::new());
    loop {
        let batch = sqlx::query(said!("WHERE name > $1 ORDER BY name LIMIT $2")).bind(last.clone()).bind(BATCH);
        let text: String = batch.fetch_one(rows).await?.try_get("said")?;
        if text.is_empty() {
            break;
        }
        for pack in text.split(PACKS) {
            let (said, updated) = said(pack)?;
            newest = newest.max(updated);
            last.clone_from(&said.name);
            all.push(said);
        }
    }
    let ranked = tokio::task::spawn_blocking(move || Ranked::of(all)).await?;
    Ok(Loaded { turns, updated: newest, ranked: Arc::new(ranked), ..Loaded::default() })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn asked(q: &str) -> Asked {
        Asked { q: q.to_owned(), ..Asked::default() }
    }

    async fn put(rows: &AnyPool, name: &str, description: &str, updated: i64) {
        sqlx::query("INSERT INTO packs (name, entry, shard, kind, description, keywords, targets, version, updated, downloads, verified) VALUES ($1, '', '', 'schedule', $2, '', '', '1.0.0', $3, 0, 0) ON CONFLICT (name) DO UPDATE SET description = $2, updated = $3")
            .bind(name.to_owned())
            .bind(description.to_owned())
            .bind(updated)
            .execute(rows)
            .await
            .unwrap();
    }

    #[tokio::test]
    async fn what_is_published_is_found_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let rows = crate::database::open(None, folder.path()).await.unwrap();
        for number in 0..BATCH + 5 {
            put(&rows, &format!("p{number}"), "old", 1000).await;
        }
        let table = Table::default();
        let total = async |q: &str| table.find(&rows, &asked(q), 0, 20).await.unwrap().total;
        let turn = async || crate::database::turn(&rows).await.unwrap().commit().await.unwrap();
        table.read_ahead(&rows).await.unwrap();
        assert_eq!(total("old").await, 2005);
        let mut changed = crate::database::turn(&rows).await.unwrap();
        sqlx::query("UPDATE packs SET downloads = 7 WHERE name = 'p3'").execute(&mut *changed).await.unwrap();
        changed.commit().await.unwrap();
        put(&rows, "p7", "new", 2000).await;
        // Dated before the other, published after it.
        put(&rows, "late", "new", 1500).await;
        assert_eq!((total("new").await, total("old").await), (2, 2004));
        table.reload(&rows).await.unwrap();
        assert_eq!(table.find(&rows, &asked("old"), 0, 1).await.unwrap().page, ["p3"]);
        // So many that they are not kept beside the others.
        for number in 0..MOST_NEWER + 5 {
            put(&rows, &format!("q{number}"), "newest", 3000).await;
        }
        turn().await;
        assert_eq!((total("newest").await, total("old").await), (505, 2004));
        // What separates packs in the text is no way to say something in the name of another.
        put(&rows, "r", "sly\u{1e}victim\u{1f}schedule\u{1f}\u{1f}9\u{1f}1\u{1f}0\u{1f}1\u{1f}praise", 4000).await;
        turn().await;
        assert_eq!(table.find(&rows, &asked("praise"), 0, 9).await.unwrap().page, ["r"]);
        assert_eq!(total("victim").await, 1);
    }
}
