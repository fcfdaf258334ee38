//! What all packs say of themselves, in memory: looking for words in a hundred thousand packs reads no rows.

use std::cmp::Reverse;
use std::sync::Arc;

use sqlx::any::AnyRow;
use sqlx::{AnyPool, Row as _};
use tokio::sync::Mutex;

use super::Asked;
use crate::failure::Failure;

/// Rows that are read at once.
const BATCH: i64 = 1000;

/// By how much a publish may be dated before others that came into the registry before it, in seconds: it is dated before it waits for its
/// turn, and by the clock of its machine.
const LATE: i64 = 600;

/// The columns of which [`Said::read`] makes an entry.
macro_rules! columns {
    () => {
        "SELECT name, kind, description, keywords, targets, downloads, verified, updated FROM packs "
    };
}

/// What a pack says of itself.
#[derive(Debug)]
struct Said {
    /// Name, keywords and description, lower-case, one a line.
    text: String,
    name: String,
    kind: String,
    /// Lower-case, with a blank before and after each.
    targets: String,
    downloads: i64,
    verified: bool,
}

impl Said {
    fn read(row: &AnyRow) -> Result<Self, Failure> {
        let text = |column: &str| row.try_get::<String, _>(column);
        let name = text("name")?;
        Ok(Self {
            text: format!("{name}\n{}\n{}", text("keywords")?, text("description")?).to_lowercase(),
            kind: text("kind")?,
            targets: format!(" {} ", text("targets")?.to_lowercase()),
            downloads: row.try_get("downloads")?,
            verified: row.try_get::<i64, _>("verified")? == 1,
            name,
        })
    }
}

/// The entries of all packs, by name.
type Entries = Arc<Vec<Arc<Said>>>;

/// The entries as they were after some turn of the registry.
#[derive(Default)]
struct Loaded {
    turns: i64,
    /// When the newest of them was published.
    updated: i64,
    entries: Entries,
    /// Whether anybody looked for something since.
    asked: bool,
}

impl Loaded {
    /// Takes in rows, which may be newer ones of packs that are there.
    fn take(&mut self, rows: &[AnyRow]) -> Result<(), Failure> {
        let entries = Arc::make_mut(&mut self.entries);
        for row in rows {
            let said = Arc::new(Said::read(row)?);
            match entries.binary_search_by(|entry| entry.name.cmp(&said.name)) {
                Ok(at) => {
                    if let Some(entry) = entries.get_mut(at) {
                        *entry = said;
                    }
                }
                Err(at) => entries.insert(at, said),
            }
            self.updated = self.updated.max(row.try_get("updated")?);
        }
        Ok(())
    }

    /// Reads what was published since.
    async fn catch_up(&mut self, rows: &AnyPool) -> Result<(), Failure> {
        let turns = turns(rows).await?;
        if turns == self.turns {
            return Ok(());
        }
        let newer = sqlx::query(concat!(columns!(), "WHERE updated >= $1")).bind(self.updated - LATE);
        self.take(&newer.fetch_all(rows).await?)?;
        self.turns = turns;
        Ok(())
    }
}

/// How often the registry was changed.
async fn turns(rows: &AnyPool) -> Result<i64, Failure> {
    Ok(sqlx::query("SELECT turns FROM state WHERE id = 1").fetch_one(rows).await?.try_get("turns")?)
}

/// The table, which all requests share.
#[derive(Clone, Default)]
pub(crate) struct Table(Arc<Mutex<Option<Loaded>>>);

/// What was found: how many packs, and the names of those on the page.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Hits {
    pub(super) total: usize,
    pub(super) page: Vec<String>,
}

impl Table {
    /// Reads all rows, unless nobody looked for anything since that was done: downloads do not count as changes.
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
        loaded.catch_up(rows).await?;
        loaded.asked = true;
        let entries = loaded.entries.clone();
        drop(table);
        let asked = asked.clone();
        Ok(tokio::task::spawn_blocking(move || look(&entries, &asked, skip, most)).await?)
    }
}

/// Reads all rows, some at a time.
async fn load(rows: &AnyPool) -> Result<Loaded, Failure> {
    let mut loaded = Loaded { turns: turns(rows).await?, ..Loaded::default() };
    let mut last = String::new();
    loop {
        let batch = sqlx::query(concat!(columns!(), "WHERE name > $1 ORDER BY name LIMIT $2"))
            .bind(last.clone())
            .bind(BATCH)
            .fetch_all(rows)
            .await?;
        let Some(row) = batch.last() else { return Ok(loaded) };
        last = row.try_get("name")?;
        loaded.take(&batch)?;
    }
}

/// The packs that have every word somewhere: names first, then what the pack says of itself; among equals what is used most.
fn look(entries: &[Arc<Said>], asked: &Asked, skip: usize, most: usize) -> Hits {
    let whole = asked.q.trim().to_lowercase();
    let words: Vec<&str> = whole.split_whitespace().collect();
    let target = asked.target.as_deref().filter(|target| !target.is_empty());
    let target = target.map(|target| format!(" {} ", target.to_lowercase()));
    let kind = asked.kind.as_deref().filter(|kind| !kind.is_empty());
    let fits = |entry: &&Arc<Said>| {
        words.iter().all(|word| entry.text.contains(word))
            && kind.is_none_or(|kind| entry.kind == kind)
            && target.as_ref().is_none_or(|target| entry.targets.contains(target))
            && (entry.verified || asked.verified != Some(true))
    };
    let rank = |entry: &Said| match words.iter().all(|word| entry.name.contains(word)) {
        _ if entry.name == whole => 0,
        true => 1,
        false => 2,
    };
    let mut found: Vec<(u8, Reverse<i64>, &str)> =
        entries.iter().filter(fits).map(|entry| (rank(entry), Reverse(entry.downloads), entry.name.as_str())).collect();
    let (total, end) = (found.len(), skip.saturating_add(most));
    if end < total {
        // Only what comes before the end of the page has to be in order.
        found.select_nth_unstable(end);
        found.truncate(end);
    }
    found.sort_unstable();
    Hits { total, page: found.into_iter().skip(skip).map(|(_, _, name)| name.to_owned()).collect() }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn said(name: &str, description: &str, downloads: i64) -> Arc<Said> {
        let text = format!("{name}\n\n{description}");
        let targets = " neon @arm/sve ".to_owned();
        Arc::new(Said { text, name: name.to_owned(), kind: "schedule".to_owned(), targets, downloads, verified: false })
    }

    fn asked(q: &str) -> Asked {
        Asked { q: q.to_owned(), ..Asked::default() }
    }

    #[test]
    fn names_come_first_and_all_words_count() {
        let entries = [
            said("gemm", "fast", 1),
            said("gemm-tiles", "slow", 5),
            said("tiles", "for gemm", 9),
            said("x", "fast", 2),
        ];
        let names = |asked: &Asked, skip, most| look(&entries, asked, skip, most).page;
        assert_eq!(names(&asked("GEMM "), 0, 9), ["gemm", "gemm-tiles", "tiles"]);
        assert_eq!(names(&asked("gemm"), 1, 1), ["gemm-tiles"]);
        assert_eq!(look(&entries, &asked("gemm"), 7, 9), Hits { total: 3, page: Vec::new() });
        assert_eq!(names(&asked("tiles gemm"), 0, 9), ["gemm-tiles", "tiles"]);
        assert_eq!(names(&asked(""), 0, 2), ["tiles", "gemm-tiles"]);
        assert_eq!(names(&asked("%"), 0, 9), [""; 0]);
        let target = |target: &str| Asked { target: Some(target.to_owned()), ..asked("gemm fast") };
        assert_eq!(names(&target("@ARM/sve"), 0, 9), ["gemm"]);
        assert_eq!(names(&target("sve"), 0, 9), [""; 0]);
        assert_eq!(names(&Asked { kind: Some("target".to_owned()), ..asked("") }, 0, 9), [""; 0]);
        assert_eq!(names(&Asked { verified: Some(true), ..asked("") }, 0, 9), [""; 0]);
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
        assert_eq!(total("old").await, 1005);
        let mut turn = crate::database::turn(&rows).await.unwrap();
        sqlx::query("UPDATE packs SET downloads = 7 WHERE name = 'p3'").execute(&mut *turn).await.unwrap();
        turn.commit().await.unwrap();
        put(&rows, "p7", "new", 2000).await;
        // Dated before the other, published after it.
        put(&rows, "late", "new", 1500).await;
        assert_eq!((total("new").await, total("old").await), (2, 1004));
        table.reload(&rows).await.unwrap();
        assert_eq!(table.find(&rows, &asked("old"), 0, 1).await.unwrap().page, ["p3"]);
    }
}
