//! Digests: SHA-256 names an archive to the outside world, BLAKE3 names files and trees, fast enough for every open.

use std::fmt;
use std::str::FromStr;

use sha2::Digest as _;

/// The SHA-256 of an archive's bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sha256([u8; 32]);

/// The BLAKE3 of a file's bytes, of a tree's listing, or of a pack's raw C.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Blake3([u8; 32]);

/// A text that is not 64 lower-case hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DigestError;

impl fmt::Display for DigestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a digest is 64 lower-case hexadecimal digits")
    }
}

impl std::error::Error for DigestError {}

impl Sha256 {
    /// The digest of some bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(sha2::Sha256::digest(bytes).into())
    }
}

impl Blake3 {
    /// The digest of some bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(*blake3::hash(bytes).as_bytes())
    }
}

/// Gives a digest type its raw form and its text form, 64 lower-case hexadecimal digits.
macro_rules! digest_text {
    ($name:ident) => {
        impl $name {
            /// A digest from its 32 bytes.
            pub const fn from_bytes(bytes: [u8; 32]) -> Self {
                Self(bytes)
            }

            /// The 32 bytes.
            pub const fn as_bytes(&self) -> &[u8; 32] {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(hex(&self.0, &mut [0; 64]))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({self})", stringify!($name))
            }
        }

        impl FromStr for $name {
            type Err = DigestError;
            fn from_str(text: &str) -> Result<Self, DigestError> {
                parse_hex(text).map(Self)
            }
        }
    };
}

digest_text!(Sha256);
digest_text!(Blake3);

/// The digits of a digest, in a place for them. Digests are written by the thousand, as names of files.
fn hex<'d>(bytes: &[u8; 32], digits: &'d mut [u8; 64]) -> &'d str {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |nibble: u8| DIGITS.get(usize::from(nibble)).copied().unwrap_or_default();
    let (pairs, _) = digits.as_chunks_mut::<2>();
    for (pair, byte) in pairs.iter_mut().zip(bytes) {
        *pair = [digit(byte >> 4), digit(byte & 15)];
    }
    std::str::from_utf8(digits).unwrap_or_default()
}

/// Reads 32 bytes in lower-case hexadecimal; one digest has one text.
fn parse_hex(text: &str) -> Result<[u8; 32], DigestError> {
    let digits = text.as_bytes();
    if digits.len() != 64 {
        return Err(DigestError);
    }
    let mut bytes = [0u8; 32];
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        for digit in pair {
            let value = match digit {
                b'0'..=b'9' => digit - b'0',
                b'a'..=b'f' => digit - b'a' + 10,
                0..=47 | 58..=96 | 103..=255 => return Err(DigestError),
            };
            *byte = (*byte << 4) | value;
        }
    }
    Ok(bytes)
}

/// One file of a tree, as the tree digest sees it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileDigest {
    /// The path inside the pack, with `/` between its parts.
    pub path: String,
    /// The length in bytes.
    pub length: u64,
    /// The digest of the bytes.
    pub digest: Blake3,
}

impl FileDigest {
    /// The entry of a file with these contents.
    pub fn of(path: &str, contents: &[u8]) -> Self {
        Self { path: path.to_owned(), length: contents.len() as u64, digest: Blake3::of(contents) }
    }
}

/// The line that opens a tree's listing, so that a later listing format can never give the digest of this one.
const TREE_FORMAT: &[u8] = b"exo tree 1\n";

/// The digest of a tree: BLAKE3 over its canonical listing.
///
/// The listing is the line `exo tree 1`, then for each file in byte order of the paths: the length of the path in bytes
/// (8 bytes, little-endian), the path, the length of the file (8 bytes, little-endian) and the 32 bytes of its
/// digest. Each field has a known length, so no two trees have the same listing. The order in which the
/// files are given does not matter; directories, times, owners and modes take no part.
pub fn tree_digest(files: &[FileDigest]) -> Blake3 {
    let mut sorted: Vec<&FileDigest> = files.iter().collect();
    sorted.sort_unstable_by(|a, b| a.path.as_bytes().cmp(b.path.as_bytes()).then_with(|| a.cmp(b)));
    let mut hasher = blake3::Hasher::new();
    hasher.update(TREE_FORMAT);
    for file in sorted {
        hasher.update(&(file.path.len() as u64).to_le_bytes());
        hasher.update(file.path.as_bytes());
        hasher.update(&file.length.to_le_bytes());
        hasher.update(file.digest.as_bytes());
    }
    // Named in full: where the compiler's dependencies are in the build too, blake3 also implements `Digest::finalize`.
    Blake3(*blake3::Hasher::finalize(&hasher).as_bytes())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::expect_used)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_published_vectors() {
        assert_eq!(Sha256::of(b"abc").to_string(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert_eq!(Blake3::of(b"").to_string(), "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262");
    }

    #[test]
    fn reads_back_what_it_prints_and_nothing_else() {
        let digest = Blake3::of(b"x");
        assert_eq!(digest.to_string().parse::<Blake3>().unwrap(), digest);
        let upper = digest.to_string().to_uppercase();
        for text in ["", "00", &upper, &"g".repeat(64), &"0".repeat(63), &"0".repeat(65), &"é".repeat(32)] {
            assert!(text.parse::<Blake3>().is_err(), "{text}");
        }
    }

    #[test]
    fn tree_digest_ignores_order_and_sees_everything_else() {
        let a = FileDigest::of("src/a.exo", b"one");
        let b = FileDigest::of("src/b.exo", b"two");
        let base = tree_digest(&[a.clone(), b.clone()]);
        assert_eq!(base, tree_digest(&[b.clone(), a.clone()]));
        assert_ne!(base, tree_digest(std::slice::from_ref(&a)));
        assert_ne!(base, tree_digest(&[FileDigest::of("src/a.exo", b"two"), FileDigest::of("src/b.exo", b"one")]));
        assert_ne!(base, tree_digest(&[FileDigest { path: "src/c.exo".into(), ..a.clone() }, b.clone()]));
        assert_ne!(base, tree_digest(&[FileDigest { length: 4, ..a }, b]));
    }

    #[test]
    fn tree_listing_does_not_change_between_releases() {
        let tree = tree_digest(&[FileDigest::of("Exo.toml", b""), FileDigest::of("src/lib.exo", b"x = 1\n")]);
        let mut listing = b"exo tree 1\n".to_vec();
        for (path, contents) in [("Exo.toml", &b""[..]), ("src/lib.exo", b"x = 1\n")] {
            listing.extend((path.len() as u64).to_le_bytes());
            listing.extend(path.as_bytes());
            listing.extend((contents.len() as u64).to_le_bytes());
            listing.extend(blake3::hash(contents).as_bytes());
        }
        assert_eq!(tree, Blake3::of(&listing));
    }
}
