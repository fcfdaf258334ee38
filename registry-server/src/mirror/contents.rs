//! The index and the archives that a believed pointer leads to, as far as the folder lacks them.

use std::collections::BTreeMap;
use std::sync::Arc;

use exo_index::archive::Limits;
use exo_index::digest::Sha256;
use exo_index::name::PackName;
use exo_index::registry::layout;
use exo_index::registry::log::append::Appended;
use exo_index::registry::log::proof::inclusion_proof;
use exo_index::registry::log::tile::{ReadTile, Tile};
use exo_index::registry::shard::{Shard, VersionEntry};
use exo_index::registry::snapshot::{Bucket, Snapshot};
use exo_index::registry::verdict::Verdict;

use super::Run;
use super::belief::Believed;
use crate::failure::Failure;
use crate::parallel::each;
use crate::static_folder::StaticFolder;

/// The largest snapshot, bucket, shard or verdict.
const LARGE: u64 = 64 << 20;

/// What is new.
pub(super) struct Contents {
    /// Shards, then buckets, then the snapshot, which are yet to be written in this order.
    pub(super) index: Vec<(String, Vec<u8>)>,
    /// How many packs are new or changed.
    pub(super) packs: usize,
    /// How many archives and verdicts were fetched, and are written.
    pub(super) fetched: usize,
}

/// One pack that is new or changed.
struct Changed {
    path: String,
    bytes: Vec<u8>,
    shard: Shard,
}

/// A file to fetch.
enum Wanted {
    Archive(Sha256, u64),
    Verdict(Sha256, PackName, Box<VersionEntry>),
}

/// Fetches what the folder lacks. Archives and verdicts, which lead nowhere, are written at once.
///
/// # Errors
/// Something cannot be had, has not the hash that leads to it, or was not published through the log.
pub(super) async fn fetch(run: &Arc<Run>, believed: &Believed) -> Result<Contents, Failure> {
    let digest = believed.pointer()?.snapshot;
    let path = layout::snapshot(&digest);
    let bytes = run.object("the snapshot", &path, &digest, LARGE).await?;
    let snapshot = Snapshot::parse(&bytes)?;
    let (buckets, names) = changed_buckets(run, &snapshot).await?;
    let shards = changed_shards(run, names).await?;
    check_logged(run, believed, &shards)?;
    let fetched = archives(run, believed, &shards).await?;
    let packs = shards.iter().filter(|changed| !run.folder.has(&changed.path)).count();
    let mut index: Vec<(String, Vec<u8>)> = shards.into_iter().map(|changed| (changed.path, changed.bytes)).collect();
    index.extend(buckets);
    index.push((path, bytes));
    Ok(Contents { index, packs, fetched })
}

/// Files with their paths.
type Files = Vec<(String, Vec<u8>)>;

/// The buckets that the folder lacks (all of them where everything is looked at again), and the shards that those name.
async fn changed_buckets(run: &Arc<Run>, snapshot: &Snapshot) -> Result<(Files, Vec<(PackName, Sha256)>), Failure> {
    let mut lacking = Vec::new();
    for number in 0..=u8::MAX {
        if let Some(digest) = snapshot.bucket(number)
            && (run.recheck || !run.folder.has(&layout::bucket(&digest)))
        {
            lacking.push((number, digest));
        }
    }
    let fetched = each(run.jobs, lacking, |(number, digest)| {
        let run = Arc::clone(run);
        async move {
            let path = layout::bucket(&digest);
            let bytes = run.object("a bucket of the index", &path, &digest, LARGE).await?;
            Ok((Bucket::parse(&bytes, number)?, path, bytes))
        }
    });
    let (mut buckets, mut names) = (Vec::new(), Vec::new());
    for (bucket, path, bytes) in fetched.await? {
        names.extend(bucket.0);
        buckets.push((path, bytes));
    }
    Ok((buckets, names))
}

/// The shards that the folder lacks; all of them where everything is looked at again.
async fn changed_shards(run: &Arc<Run>, names: Vec<(PackName, Sha256)>) -> Result<Vec<Changed>, Failure> {
    let lacks = |digest: &Sha256| run.recheck || !run.folder.has(&layout::shard(digest));
    let lacking = names.into_iter().filter(|(_, digest)| lacks(digest)).collect();
    each(run.jobs, lacking, |(name, digest)| {
        let run = Arc::clone(run);
        async move {
            let path = layout::shard(&digest);
            let bytes = run.object("the index of a pack", &path, &digest, LARGE).await?;
            Ok(Changed { shard: Shard::parse(&bytes, &name)?, path, bytes })
        }
    })
    .await
}

/// The log as it will be: what is new over what is in the folder.
struct Grown<'a> {
    log: &'a Appended,
    folder: &'a StaticFolder,
}

impl ReadTile for Grown<'_> {
    type Error = Failure;

    fn read_tile(&self, tile: &Tile) -> Result<Vec<u8>, Failure> {
        match self.log.tiles.get(tile) {
            Some(bytes) => Ok(bytes.clone()),
            None => self.folder.read_tile(tile),
        }
    }
}

/// Refuses versions that were not published through the log.
fn check_logged(run: &Run, believed: &Believed, shards: &[Changed]) -> Result<(), Failure> {
    let size = believed.pointer()?.log_size;
    let log = Grown { log: &believed.log, folder: &run.folder };
    for shard in shards.iter().map(|changed| &changed.shard) {
        for entry in &shard.versions {
            let proof = inclusion_proof(&log, entry.log, size)?;
            let name = &shard.pack.name;
            believed.trust.check_inclusion(name, entry, &proof).map_err(|refusal| run.disbelief(&refusal))?;
        }
    }
    Ok(())
}

/// Fetches and writes archives and verdicts; how many there were.
async fn archives(run: &Arc<Run>, believed: &Believed, shards: &[Changed]) -> Result<usize, Failure> {
    let mut wanted: BTreeMap<String, Wanted> = BTreeMap::new();
    for shard in shards.iter().map(|changed| &changed.shard) {
        for entry in &shard.versions {
            let path = layout::blob(&entry.archive);
            // What is in quarantine is given to nobody; when that is lifted the shard is another one, and the archive fetched.
            if entry.quarantined.is_none() && !run.is_settled(&path, &entry.archive)? {
                wanted.insert(path, Wanted::Archive(entry.archive, entry.size));
            }
            let Some(digest) = &entry.verdict else { continue };
            let path = layout::verdict(digest);
            if !run.is_settled(&path, digest)? {
                let of = Wanted::Verdict(*digest, shard.pack.name.clone(), Box::new(entry.clone()));
                wanted.insert(path, of);
            }
        }
    }
    let root = Arc::new(believed.trust.root().clone());
    let limit = Limits::default().archive_bytes;
    let written = each(run.jobs, wanted.into_iter().collect(), |(path, wanted)| {
        let (run, root) = (Arc::clone(run), Arc::clone(&root));
        async move {
            let bytes = match wanted {
                Wanted::Archive(digest, size) => run.object("an archive", &path, &digest, size.min(limit)).await?,
                Wanted::Verdict(digest, name, entry) => {
                    let bytes = run.object("a verdict", &path, &digest, LARGE).await?;
                    Verdict::read(&bytes, &root, &name, &entry).map_err(|refusal| {
                        Failure::new(format!("the verdict of `{name} {}` is refused: {refusal:?}", entry.version))
                    })?;
                    bytes
                }
            };
            run.folder.write(&path, &bytes)
        }
    });
    Ok(written.await?.len())
}
