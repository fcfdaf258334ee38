//! The names that are taken, in memory: whether a new one can be taken for one of them does not cost more with each pack.

use std::sync::Arc;

use exo_index::name::PackName;
use exo_index::registry::look_alike::{Known, Likeness};
use sqlx::{AnyConnection, Row as _};
use tokio::sync::{Mutex, MutexGuard};

use super::admission;
use super::bundled::Bundled;
use crate::access::{self, Right};
use crate::chance;
use crate::deletion;
use crate::failure::Failure;
use crate::index::CLOCK_SLACK;

/// The names, which all requests share.
#[derive(Clone, Default)]
pub(crate) struct Names {
    /// Those of the packs that come with `exo`.
    bundled: Arc<Known>,
    read: Arc<Mutex<Read>>,
}

/// What was read of the rows so far.
#[derive(Default)]
struct Read {
    known: Known,
    /// When the newest of the packs came that were read. Packs come in the order of their times: see `time_of_publish`.
    updated: i64,
}

/// What a connection sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum View {
    /// What is there for good.
    Committed,
    /// What a transaction has written too, which may be taken back.
    Uncommitted,
}

impl Names {
    /// None yet but those of the packs that come with `exo`.
    pub(crate) fn beside(bundled: &Bundled) -> Self {
        let mut known = Known::default();
        known.extend(bundled.0.keys().cloned());
        Self { bundled: Arc::new(known), read: Arc::default() }
    }

    /// Reads the names that were taken since, by any replica.
    ///
    /// # Errors
    /// The database cannot be read.
    pub(crate) async fn catch_up(&self, rows: &mut AnyConnection) -> Result<(), Failure> {
        self.read(rows, View::Committed).await.map(drop)
    }

    /// The first pack that a new name could be taken for, and why. Who owns a pack may number the next one.
    ///
    /// # Errors
    /// The database cannot be read.
    pub(crate) async fn resembled(
        &self,
        rows: &mut AnyConnection,
        view: View,
        new: &PackName,
        login: &str,
    ) -> Result<Option<(PackName, Likeness)>, Failure> {
        if let Some((name, likeness)) = self.bundled.resembled(new).first() {
            return Ok(Some(((*name).clone(), *likeness)));
        }
        let alike: Vec<(PackName, Likeness)> = {
            let read = self.read(rows, view).await?;
            read.known.resembled(new).into_iter().map(|(name, likeness)| (name.clone(), likeness)).collect()
        };
        for (name, likeness) in alike {
            // A name may have been read in a transaction that was taken back.
            let own = likeness == Likeness::Number && access::owns(rows, login, Right::PublishNew, &name).await?;
            if !own && (admission::exists(rows, &name).await? || deletion::is_gone(rows, &name).await?) {
                return Ok(Some((name, likeness)));
            }
        }
        Ok(None)
    }

    async fn read(&self, rows: &mut AnyConnection, view: View) -> Result<MutexGuard<'_, Read>, Failure> {
        let mut read = self.read.lock().await;
        // Packs that came in the same second may have been read, or not. Where the newest pack was deleted, and a clock that was ahead had
        // dated it, others come before it.
        let since = read.updated.min(chance::now()? - CLOCK_SLACK);
        // Lockfiles may still name what was deleted, and a look-alike is as bad as the name itself.
        let newer = sqlx::query("SELECT name, updated FROM packs WHERE updated >= $1 UNION ALL SELECT name, at FROM tombstones WHERE version = '' AND at >= $2")
            .bind(since)
            .bind(since);
        let newer = newer.fetch_all(rows).await?;
        let mut names = Vec::with_capacity(newer.len());
        let mut updated = read.updated;
        for row in newer {
            names.push(PackName::parse(&row.try_get::<String, _>("name")?)?);
            updated = updated.max(row.try_get("updated")?);
        }
        read.known.extend(names);
        if view == View::Committed {
            read.updated = updated;
        }
        Ok(read)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    async fn put(rows: &mut AnyConnection, name: &str, updated: i64) {
        sqlx::query("INSERT INTO packs (name, entry, shard, kind, description, keywords, targets, version, updated, downloads, verified) VALUES ($1, '', '', '', '', '', '', '1.0.0', $2, 0, 0)")
            .bind(name.to_owned())
            .bind(updated)
            .execute(rows)
            .await
            .unwrap();
    }

    /// A clock may be ahead when names are read in a turn that is taken back; those that other replicas take after it, by a clock that
    /// is right, are known all the same, and those that were taken back are not.
    #[tokio::test]
    async fn names_of_other_replicas_count_and_those_taken_back_do_not() {
        let folder = tempfile::tempdir().unwrap();
        let pool = crate::database::open(None, folder.path()).await.unwrap();
        let name = |text: &str| PackName::parse(text).unwrap();
        let names = Names::default();
        let like = async |rows: &mut AnyConnection, view, text: &str| {
            names.resembled(rows, view, &name(text), "ada").await.unwrap().map(|(name, _)| name.to_string())
        };
        let mut rows = pool.acquire().await.unwrap();
        put(&mut rows, "gemmini", 1000).await;
        assert_eq!(like(&mut rows, View::Committed, "gemmina").await.as_deref(), Some("gemmini"));
        let mut turn = crate::database::turn(&pool).await.unwrap();
        put(&mut turn, "quantum", 90_000).await;
        assert_eq!(like(&mut turn, View::Uncommitted, "quantun").await.as_deref(), Some("quantum"));
        turn.rollback().await.unwrap();
        assert_eq!(like(&mut rows, View::Committed, "quantun").await, None);
        put(&mut rows, "tensors", 1000).await;
        assert_eq!(like(&mut rows, View::Committed, "tensers").await.as_deref(), Some("tensors"));
        put(&mut rows, "quantum", 1001).await;
        assert_eq!(like(&mut rows, View::Committed, "quantun").await.as_deref(), Some("quantum"));
    }
}
