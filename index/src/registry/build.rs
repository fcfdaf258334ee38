//! Building an index: from the shards of all packs to the files that a registry serves, `latest` last.

use std::collections::BTreeMap;

use super::layout;
use super::malformed::Malformed;
use super::shard::Shard;
use super::snapshot::{BUCKETS, Bucket, Snapshot, bucket_of};
use crate::digest::Sha256;
use crate::name::PackName;

/// A file to serve that never changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Object {
    /// Its path below the registry's URL.
    pub path: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// The index of a moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Index {
    /// The buckets that are not empty, then the snapshot.
    pub objects: Vec<Object>,
    /// The hash of the snapshot, for the pointer.
    pub snapshot: Sha256,
}

/// The file of a shard, and the hash by which its bucket names it.
///
/// # Errors
/// See [`Shard::to_bytes`].
pub fn shard_object(shard: &Shard) -> Result<(Sha256, Object), Malformed> {
    let bytes = shard.to_bytes()?;
    let digest = Sha256::of(&bytes);
    Ok((digest, Object { path: layout::shard(&digest), bytes }))
}

/// Buckets and snapshot over the hashes of all shards.
///
/// The same shards give the same index, whoever builds it and in whatever order.
pub fn index(shards: &BTreeMap<PackName, Sha256>) -> Index {
    let all = shards.iter().map(|(name, digest)| (name.clone(), Some(*digest))).collect();
    amended(Snapshot::empty(), BTreeMap::new(), &all)
}

/// The index that a snapshot becomes when some shards are added to it or replaced, and those of packs that are no more go. `buckets` are
/// those of the snapshot that the changed names fall into, as far as they are not empty; the buckets of other names stay as they are, and
/// are not among the objects.
pub fn amended(
    mut snapshot: Snapshot,
    mut buckets: BTreeMap<u8, Bucket>,
    changed: &BTreeMap<PackName, Option<Sha256>>,
) -> Index {
    for (name, digest) in changed {
        let bucket = &mut buckets.entry(bucket_of(name)).or_default().0;
        match digest {
            Some(digest) => bucket.insert(name.clone(), *digest),
            None => bucket.remove(name),
        };
    }
    let mut objects = Vec::with_capacity(buckets.len().min(BUCKETS) + 1);
    for (number, bucket) in &buckets {
        if bucket.0.is_empty() {
            snapshot.set(*number, None);
            continue;
        }
        let bytes = bucket.to_bytes();
        let digest = Sha256::of(&bytes);
        snapshot.set(*number, Some(digest));
        objects.push(Object { path: layout::bucket(&digest), bytes });
    }
    let bytes = snapshot.to_bytes();
    let digest = Sha256::of(&bytes);
    objects.push(Object { path: layout::snapshot(&digest), bytes });
    Index { objects, snapshot: digest }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::expect_used)]
mod tests {
    use super::*;
    use crate::registry::shard::tests::shard;

    #[test]
    fn leads_from_the_snapshot_to_every_shard() {
        let mut shards = BTreeMap::new();
        let mut files = BTreeMap::new();
        for number in 0..600 {
            let shard = shard(&format!("pack-{number}"), &[("1.0.0", number)]);
            let (digest, object) = shard_object(&shard).unwrap();
            shards.insert(shard.pack.name, digest);
            files.insert(object.path, object.bytes);
        }
        let index = index(&shards);
        files.extend(index.objects.into_iter().map(|object| (object.path, object.bytes)));
        let snapshot = Snapshot::parse(&files[&layout::snapshot(&index.snapshot)]).unwrap();
        for (name, digest) in &shards {
            let number = bucket_of(name);
            let bytes = &files[&layout::bucket(&snapshot.bucket(number).unwrap())];
            assert_eq!(Bucket::parse(bytes, number).unwrap().0[name], *digest);
            assert!(Shard::parse(&files[&layout::shard(digest)], name).is_ok());
        }
        assert_eq!(layout::name_in_url(&PackName::parse("@arm/neon").unwrap()), "%40arm%2Fneon");
    }

    /// Adds, replaces and removes; few packs, so that some buckets become empty.
    #[test]
    fn an_amended_index_is_the_one_that_is_built_anew() {
        let name = |number: u64| PackName::parse(&format!("pack-{number}")).unwrap();
        for size in [1, 60, 600_u64] {
            let mut shards: BTreeMap<_, _> = (0..size).map(|n| (name(n), Sha256::of(&n.to_be_bytes()))).collect();
            let before = index(&shards);
            let files: BTreeMap<String, Vec<u8>> = before.objects.into_iter().map(|o| (o.path, o.bytes)).collect();
            let changed: BTreeMap<_, _> = [0, size - 1, size, 7000, 7001]
                .into_iter()
                .map(|n| (name(n), (n != 0 && n != 7001).then(|| Sha256::of(b"other"))))
                .collect();
            let snapshot = Snapshot::parse(&files[&layout::snapshot(&before.snapshot)]).unwrap();
            let mut buckets = BTreeMap::new();
            for number in changed.keys().map(bucket_of) {
                let Some(digest) = snapshot.bucket(number) else { continue };
                buckets.insert(number, Bucket::parse(&files[&layout::bucket(&digest)], number).unwrap());
            }
            let amended = amended(snapshot, buckets, &changed);
            for (name, digest) in changed {
                match digest {
                    Some(digest) => shards.insert(name, digest),
                    None => shards.remove(&name),
                };
            }
            let anew = index(&shards);
            assert_eq!(amended.snapshot, anew.snapshot, "{size}");
            assert!(amended.objects.len() <= 6);
            let fresh = anew.objects.iter().filter(|object| !files.contains_key(&object.path));
            assert!(fresh.into_iter().all(|object| amended.objects.contains(object)), "{size}");
        }
    }
}
