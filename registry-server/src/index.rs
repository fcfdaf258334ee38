//! The signed index: what a change of rows does to shards, buckets, snapshot, log and pointer.
//!
//! A change holds the registry's lock, so there is one at a time on all replicas. Immutable files are written before the rows are
//! committed, and the pointer after: a crash before the commit leaves files that nobody names, a crash after it leaves the pointer of
//! the rows to be shown by whoever looks next.

use std::collections::{BTreeMap, BTreeSet};

use exo_index::digest::Sha256;
use exo_index::name::PackName;
use exo_index::registry::build;
use exo_index::registry::layout;
use exo_index::registry::log::append::{Appended, append};
use exo_index::registry::log::hash::empty_root;
use exo_index::registry::log::leaf::Leaf;
use exo_index::registry::note::Note;
use exo_index::registry::pointer::Pointer;
use exo_index::registry::shard::{PackEntry, Shard, VersionEntry};
use exo_index::registry::snapshot::{Bucket, Snapshot, bucket_of};
use sqlx::Row as _;

use crate::advisories;
use crate::blobs::Blobs;
use crate::chance::{self, signed, unsigned};
use crate::database::{self, Rows};
use crate::failure::Failure;
use crate::parallel::each;
use crate::quarantine;
use crate::registry::Registry;
use crate::tiles::computed;

/// How long a pointer is believed, in seconds.
const POINTER_LIFE: i64 = 7 * 86_400;

/// Clocks of replicas may differ by this, in seconds.
pub(crate) const CLOCK_SLACK: i64 = 60;

/// Files that are read at the same time.
const READS: usize = 8;

/// Files to be written, by path.
type Files = Vec<(String, Vec<u8>)>;

/// What a change consists of, besides the rows of packs.
#[derive(Debug, Default)]
pub(crate) struct Change {
    /// The packs whose rows were changed, some perhaps several times.
    pub(crate) packs: BTreeSet<PackName>,
    /// What the log says of it.
    pub(crate) leaves: Vec<Leaf>,
    /// Files that the changed packs name: written with those of the index, since each wait for a disk costs the same.
    pub(crate) files: Files,
}

impl Change {
    /// A change of rows that the log says something of.
    pub(crate) fn of(packs: impl IntoIterator<Item = PackName>, leaf: Leaf) -> Self {
        Self { packs: packs.into_iter().collect(), leaves: vec![leaf], files: Vec::new() }
    }
}

/// Writes the index as the rows have it: the shards of the changed packs, everything above them, the new leaves, and a signed
/// pointer, which stays in the rows until [`show_latest`].
pub(crate) async fn write(registry: &Registry, rows: &mut Rows, change: Change, now: i64) -> Result<(), Failure> {
    let Change { packs: changed, leaves, mut files } = change;
    let row = sqlx::query("SELECT root, log_size, log_root, snapshot, pointer FROM state WHERE id = 1")
        .fetch_one(&mut **rows)
        .await?;
    let size = unsigned(row.try_get("log_size")?);
    let version: i64 = row.try_get("pointer")?;
    let root = unsigned(row.try_get("root")?);
    let log = write_log(registry, rows, (size, &leaves), &mut files).await?;
    let log_root = if log.size == 0 { empty_root() } else { log.root };
    let before = row.try_get::<String, _>("snapshot")?;
    let snapshot = write_shards(registry, rows, &changed, before.parse().ok(), &mut files).await?;
    registry.blobs.put_all(files).await?;
    let pointer = Pointer {
        origin: registry.origin.clone(),
        log_size: log.size,
        log_root,
        version: unsigned(version) + 1,
        snapshot,
        root,
        issued: unsigned(now),
        expires: unsigned(now + POINTER_LIFE),
    };
    let note = pointer.sign(&[&registry.index_key(root).await?])?.to_string();
    sqlx::query(
        "UPDATE state SET log_size = $1, log_root = $2, snapshot = $3, pointer = $4, note = $5, renew_at = $6 WHERE id = 1",
    )
    .bind(signed(log.size))
    .bind(log_root.to_string())
    .bind(snapshot.to_string())
    .bind(version + 1)
    .bind(note)
    .bind(now + POINTER_LIFE / 2)
    .execute(&mut **rows)
    .await?;
    Ok(())
}

/// Shows the pointer of the rows as `latest`, unless it or a newer one is there.
///
/// A directory has no conditional write, so the turn is taken: of two replicas that show different pointers the later
/// one in writing must not be the older one, which clients would take for a rollback.
pub(crate) async fn show_latest(registry: &Registry) -> Result<(), Failure> {
    let version = decided(&registry.rows).await?;
    if registry.blobs.get(layout::LATEST).await?.is_some_and(|shown| is_at_least(&shown, version)) {
        return Ok(());
    }
    show_decided(registry).await
}

/// The same, for who knows that there is a pointer to be shown.
pub(crate) async fn show_decided(registry: &Registry) -> Result<(), Failure> {
    // The turn changes nothing: neither does it have to last, nor is there anything new in the rows for those who look for turns.
    let mut turn = registry.passing.begin().await?;
    let row = sqlx::query("UPDATE state SET turns = turns WHERE id = 1 RETURNING note, pointer");
    let row = row.fetch_one(&mut *turn).await?;
    let (note, version) = (row.try_get::<String, _>("note")?, unsigned(row.try_get("pointer")?));
    registry.blobs.replace(layout::LATEST, note.as_bytes(), |shown| is_at_least(shown, version)).await?;
    Ok(turn.commit().await?)
}

/// The version of the newest pointer of the rows.
async fn decided(rows: &sqlx::AnyPool) -> Result<u64, Failure> {
    let row = sqlx::query("SELECT pointer FROM state WHERE id = 1").fetch_one(rows).await?;
    Ok(unsigned(row.try_get("pointer")?))
}

/// Whether a note holds a pointer of this version or a newer one.
fn is_at_least(note: &[u8], version: u64) -> bool {
    Note::parse(note).and_then(|note| Pointer::parse(&note.text)).is_ok_and(|shown| shown.version >= version)
}

/// Signs the pointer anew when half of its life is over, or when it was signed by a clock that was ahead, whose pointer clients
/// refuse; and shows what a crashed replica did not come to show.
pub(crate) async fn renew(registry: &Registry) -> Result<(), Failure> {
    let now = chance::now()?;
    let row = sqlx::query("SELECT renew_at FROM state WHERE id = 1").fetch_one(&registry.rows).await?;
    let renew_at: i64 = row.try_get("renew_at")?;
    let from_the_future = renew_at > now + POINTER_LIFE / 2 + CLOCK_SLACK;
    if from_the_future {
        tracing::warn!("the pointer was signed by a clock that was ahead of this one; it is signed again");
    }
    if renew_at <= now || from_the_future {
        let mut turn = database::turn(&registry.rows).await?;
        write(registry, &mut turn, Change::default(), now).await?;
        turn.commit().await?;
    }
    show_latest(registry).await
}

/// The shard of a pack, from its rows.
pub(crate) async fn shard(rows: &mut sqlx::AnyConnection, name: &PackName) -> Result<Option<Shard>, Failure> {
    let found = sqlx::query("SELECT entry FROM packs WHERE name = $1")
        .bind(name.as_str().to_owned())
        .fetch_optional(&mut *rows)
        .await?;
    let Some(found) = found else { return Ok(None) };
    let mut pack: PackEntry = serde_json::from_str(&found.try_get::<String, _>("entry")?)?;
    let owners = sqlx::query("SELECT login FROM owners WHERE name = $1 ORDER BY login")
        .bind(name.as_str().to_owned())
        .fetch_all(&mut *rows)
        .await?;
    pack.owners = owners.iter().map(|row| row.try_get("login")).collect::<Result<_, _>>()?;
    pack.advisories = advisories::standing(&mut *rows, name).await?;
    let entries = sqlx::query("SELECT entry FROM versions WHERE name = $1")
        .bind(name.as_str().to_owned())
        .fetch_all(&mut *rows)
        .await?;
    let mut versions = Vec::with_capacity(entries.len());
    for row in entries {
        let entry = serde_json::from_str::<VersionEntry>(&row.try_get::<String, _>("entry")?)?;
        versions.push(quarantine::as_served(entry));
    }
    versions.sort_by(|a, b| a.version.cmp(&b.version));
    Ok(Some(Shard { pack, versions }))
}

/// Makes the shards of changed packs, their buckets and the snapshot that follows the one before; none was before the first.
async fn write_shards(
    registry: &Registry,
    rows: &mut Rows,
    changed: &BTreeSet<PackName>,
    before: Option<Sha256>,
    files: &mut Files,
) -> Result<Sha256, Failure> {
    let mut shards = BTreeMap::new();
    for name in changed {
        let Some(found) = shard(rows, name).await? else {
            // It was deleted; its bucket is written without it.
            shards.insert(name.clone(), None);
            continue;
        };
        let (digest, object) = build::shard_object(&found)?;
        files.push((object.path, object.bytes));
        sqlx::query("UPDATE packs SET shard = $1 WHERE name = $2")
            .bind(digest.to_string())
            .bind(name.as_str().to_owned())
            .execute(&mut **rows)
            .await?;
        shards.insert(name.clone(), Some(digest));
    }
    let served = match before {
        Some(digest) => buckets(registry, &digest, &shards).await?,
        None => None,
    };
    let index = match served {
        Some((snapshot, buckets)) => build::amended(snapshot, buckets, &shards),
        None => build::index(&all_shards(rows).await?),
    };
    files.extend(index.objects.into_iter().map(|object| (object.path, object.bytes)));
    Ok(index.snapshot)
}

/// The shards of all packs, as the rows have them.
async fn all_shards(rows: &mut Rows) -> Result<BTreeMap<PackName, Sha256>, Failure> {
    let mut shards = BTreeMap::new();
    for row in sqlx::query("SELECT name, shard FROM packs").fetch_all(&mut **rows).await? {
        let name = PackName::parse(&row.try_get::<String, _>("name")?)?;
        shards.insert(name, row.try_get::<String, _>("shard")?.parse()?);
    }
    Ok(shards)
}

/// The snapshot of a digest, with its buckets that some names fall into: what a change costs does not grow with the number of packs
/// then. `None` where a file is missing or damaged; the rows have everything to make all of them anew.
async fn buckets(
    registry: &Registry,
    snapshot: &Sha256,
    changed: &BTreeMap<PackName, Option<Sha256>>,
) -> Result<Option<(Snapshot, BTreeMap<u8, Bucket>)>, Failure> {
    let whole = |bytes: Option<Vec<u8>>, digest: &Sha256| bytes.filter(|bytes| Sha256::of(bytes) == *digest);
    let Some(bytes) = whole(registry.blobs.get(&layout::snapshot(snapshot)).await?, snapshot) else {
        tracing::warn!("the snapshot of the index is missing or damaged, and is made anew");
        return Ok(None);
    };
    let snapshot = Snapshot::parse(&bytes)?;
    let numbers: BTreeSet<u8> = changed.keys().map(bucket_of).collect();
    let wanted = numbers.into_iter().filter_map(|number| Some((number, snapshot.bucket(number)?)));
    let read = each(READS, wanted.collect(), |(number, digest)| {
        let blobs = registry.blobs.clone();
        async move { Ok((number, whole(blobs.get(&layout::bucket(&digest)).await?, &digest))) }
    });
    let mut buckets = BTreeMap::new();
    for (number, bytes) in read.await? {
        let Some(bytes) = bytes else {
            tracing::warn!(number, "a bucket of the index is missing or damaged; all are made anew");
            return Ok(None);
        };
        buckets.insert(number, Bucket::parse(&bytes, number)?);
    }
    Ok(Some((snapshot, buckets)))
}

/// Adds leaves to the log of this size, and makes its new tiles.
async fn write_log(
    registry: &Registry,
    rows: &mut Rows,
    (size, leaves): (u64, &[Leaf]),
    files: &mut Files,
) -> Result<Appended, Failure> {
    let bytes: Vec<Vec<u8>> = leaves.iter().map(Leaf::to_bytes).collect();
    for (leaf, position) in leaves.iter().zip(size..) {
        sqlx::query("INSERT INTO log (position, leaf) VALUES ($1, $2)")
            .bind(signed(position))
            .bind(leaf.to_string())
            .execute(&mut **rows)
            .await?;
    }
    let appended = grow(&registry.blobs, size, &bytes).await?;
    files.extend(appended.tiles.iter().map(|(tile, bytes)| (layout::tile(tile), bytes.clone())));
    let entries = appended.entries.iter();
    files.extend(entries.map(|((number, width), bytes)| (layout::entries(*number, *width), bytes.clone())));
    Ok(appended)
}

/// What the log becomes with further leaves; with none, its root hash as the tiles give it.
pub(crate) async fn grow(blobs: &Blobs, size: u64, leaves: &[Vec<u8>]) -> Result<Appended, Failure> {
    if size == 0 && leaves.is_empty() {
        return Ok(Appended { size, root: empty_root(), tiles: BTreeMap::new(), entries: BTreeMap::new() });
    }
    computed(blobs, |fetched| append(fetched, size, leaves)).await
}
