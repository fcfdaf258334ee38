//! A client that believes nothing: from the first root to the files of a pack, with every check of the protocol.

use std::time::{SystemTime, UNIX_EPOCH};

use exo_index::archive::{Limits, PackFiles, read_verified};
use exo_index::digest::Sha256;
use exo_index::name::PackName;
use exo_index::registry::envelope::Envelope;
use exo_index::registry::layout;
use exo_index::registry::log::proof::{consistency_proof, inclusion_proof};
use exo_index::registry::log::tile::{ReadTile, Tile};
use exo_index::registry::malformed::Malformed;
use exo_index::registry::shard::Shard;
use exo_index::registry::snapshot::{Bucket, Snapshot, bucket_of};
use exo_index::registry::trust::{Trust, named_root};
use exo_index::registry::verdict::Verdict;

use crate::server::Server;

impl ReadTile for Server {
    type Error = Malformed;

    fn read_tile(&self, tile: &Tile) -> Result<Vec<u8>, Malformed> {
        Ok(file(self, &layout::tile(tile)))
    }
}

fn file(server: &Server, path: &str) -> Vec<u8> {
    server.get(&format!("/{path}")).is(200).bytes
}

/// A file that is named by its hash.
fn hashed(server: &Server, path: &str, digest: &Sha256) -> Vec<u8> {
    let bytes = file(server, path);
    assert_eq!(Sha256::of(&bytes), *digest, "{path}");
    bytes
}

/// Believes root and pointer, the latter as the continuation of what was believed before.
pub(crate) fn trust(server: &Server, before: Option<Trust>) -> Trust {
    let before = before.unwrap_or_else(|| {
        Trust::first(Envelope::parse("the root", &file(server, &layout::root(1))).unwrap(), None).unwrap()
    });
    let newest = named_root(&file(server, layout::LATEST)).unwrap();
    let before = (before.root().version + 1..=newest).fold(before, |trust, number| {
        trust.next_root(Envelope::parse("the root", &file(server, &layout::root(number))).unwrap()).unwrap()
    });
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let candidate = before.consider(&file(server, layout::LATEST), now).unwrap();
    let proof = match candidate.proof_from() {
        Some(old) => consistency_proof(server, old, candidate.pointer().log_size).unwrap(),
        None => Vec::new(),
    };
    candidate.accept(&proof).unwrap()
}

/// The shard of a pack; `None` when the index does not have it.
pub(crate) fn shard(server: &Server, trust: &Trust, name: &str) -> Option<Shard> {
    let name = PackName::parse(name).unwrap();
    let pointer = trust.pointer().unwrap();
    let snapshot = Snapshot::parse(&hashed(server, &layout::snapshot(&pointer.snapshot), &pointer.snapshot)).unwrap();
    let number = bucket_of(&name);
    let digest = snapshot.bucket(number)?;
    let bucket = Bucket::parse(&hashed(server, &layout::bucket(&digest), &digest), number).unwrap();
    let digest = bucket.0.get(&name)?;
    Some(Shard::parse(&hashed(server, &layout::shard(digest), digest), &name).unwrap())
}

/// Everything about every version of a pack, down to the files of the newest one.
pub(crate) fn check(server: &Server, trust: &Trust, name: &str) -> (Shard, PackFiles) {
    let shard = shard(server, trust, name).unwrap_or_else(|| panic!("`{name}` is in the index"));
    let mut files = PackFiles::default();
    for entry in &shard.versions {
        let proof = inclusion_proof(server, entry.log, trust.pointer().unwrap().log_size).unwrap();
        trust.check_inclusion(&shard.pack.name, entry, &proof).unwrap();
        let verdict = entry.verdict.unwrap();
        let bytes = hashed(server, &layout::verdict(&verdict), &verdict);
        Verdict::read(&bytes, trust.root(), &shard.pack.name, entry).unwrap();
        let archive = file(server, &layout::blob(&entry.archive));
        files = read_verified(&archive, &entry.archive, &entry.tree, &Limits::default()).unwrap();
    }
    (shard, files)
}
