//! Snapshot and buckets: from one hash to the shard of every pack, in two steps.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::malformed::{Malformed, utf8};
use crate::digest::Sha256;
use crate::name::PackName;

/// How many buckets a snapshot has.
pub const BUCKETS: usize = 256;

/// What stands for an empty bucket.
const EMPTY: [u8; 32] = [0; 32];

/// The hashes of all buckets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot(Vec<Option<Sha256>>);

/// The shards of the packs whose names fall into one bucket.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Bucket(pub BTreeMap<PackName, Sha256>);

/// The number of the bucket that a name belongs to: the first byte of its SHA-256.
pub fn bucket_of(name: &PackName) -> u8 {
    let [first, ..] = *Sha256::of(name.as_str().as_bytes()).as_bytes();
    first
}

impl Snapshot {
    /// A snapshot of no packs.
    pub fn empty() -> Self {
        Self(vec![None; BUCKETS])
    }

    /// The hash of a bucket; `None` when the bucket is empty.
    pub fn bucket(&self, number: u8) -> Option<Sha256> {
        self.0.get(usize::from(number)).copied().flatten()
    }

    /// Sets the hash of a bucket.
    pub fn set(&mut self, number: u8, bucket: Option<Sha256>) {
        if let Some(place) = self.0.get_mut(usize::from(number)) {
            *place = bucket;
        }
    }

    /// The bytes that are served.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.0.iter().flat_map(|bucket| bucket.map_or(EMPTY, |digest| *digest.as_bytes())).collect()
    }

    /// Reads the bytes that are served.
    ///
    /// # Errors
    /// They are not 256 times 32.
    pub fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        let (hashes, rest) = bytes.as_chunks::<32>();
        if hashes.len() != BUCKETS || !rest.is_empty() {
            return Err(Malformed::new("a snapshot", format!("it is {} bytes long", bytes.len())));
        }
        Ok(Self(hashes.iter().map(|hash| (*hash != EMPTY).then(|| Sha256::from_bytes(*hash))).collect()))
    }
}

impl Bucket {
    /// The bytes that are served.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut text = String::new();
        for (name, shard) in &self.0 {
            // Writing to a string does not fail.
            let _ = writeln!(text, "{name} {shard}");
        }
        text.into_bytes()
    }

    /// Reads the bytes that are served for the bucket of a number.
    ///
    /// # Errors
    /// A line is not `NAME SHA256`, names are not ascending, or a name belongs to another bucket.
    pub fn parse(bytes: &[u8], number: u8) -> Result<Self, Malformed> {
        let what = "a bucket";
        let text = utf8(what, bytes)?;
        if !text.is_empty() && !text.ends_with('\n') {
            return Err(Malformed::new(what, "its last line is not ended"));
        }
        let mut shards: BTreeMap<PackName, Sha256> = BTreeMap::new();
        for line in text.split_terminator('\n') {
            let wrong = |message: String| Malformed::new(what, format!("line `{}`: {message}", line.escape_debug()));
            let (name, digest) = line.split_once(' ').ok_or_else(|| wrong("it has no space".to_owned()))?;
            let name = PackName::parse(name).map_err(|error| wrong(error.message))?;
            let digest = digest.parse().map_err(|error: crate::digest::DigestError| wrong(error.to_string()))?;
            if bucket_of(&name) != number {
                return Err(wrong(format!("the name belongs to bucket {}, not {number}", bucket_of(&name))));
            }
            if shards.last_key_value().is_some_and(|(last, _)| *last >= name) {
                return Err(wrong("the names are not ascending".to_owned()));
            }
            shards.insert(name, digest);
        }
        Ok(Self(shards))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::expect_used)]
mod tests {
    use super::*;

    #[test]
    fn a_snapshot_reads_back() {
        let mut snapshot = Snapshot::empty();
        assert_eq!(snapshot.to_bytes(), vec![0; 8192]);
        snapshot.set(255, Some(Sha256::of(b"x")));
        let read = Snapshot::parse(&snapshot.to_bytes()).unwrap();
        assert_eq!(read, snapshot);
        assert_eq!((read.bucket(255), read.bucket(0)), (Some(Sha256::of(b"x")), None));
        assert!(Snapshot::parse(&[0; 8191]).is_err());
        assert!(Snapshot::parse(&[0; 8193]).is_err());
    }

    #[test]
    fn a_bucket_reads_back_and_refuses_strangers() {
        let name = PackName::parse("neon").unwrap();
        let number = bucket_of(&name);
        let bucket = Bucket(BTreeMap::from([(name, Sha256::of(b"x"))]));
        let bytes = bucket.to_bytes();
        assert_eq!(Bucket::parse(&bytes, number).unwrap(), bucket);
        assert_eq!(Bucket::parse(b"", 0).unwrap(), Bucket::default());
        assert!(Bucket::parse(&bytes, number.wrapping_add(1)).is_err());
        assert!(Bucket::parse(&[bytes.clone(), bytes.clone()].concat(), number).is_err());
        assert!(Bucket::parse(&bytes[..bytes.len() - 1], number).is_err());
        assert!(Bucket::parse(b"neon\n", number).is_err());
        assert!(Bucket::parse(b"Neon 00\n", number).is_err());
    }
}
