//! The 512-byte headers of ustar (POSIX.1-2001, `pax` "ustar Interchange Format"): one way to write each, and a reader that
//! takes nothing else.

use super::{ArchiveError, PathProblem, Refusal};

/// The size of a header and of the blocks that contents are filled up to, in bytes.
pub(super) const BLOCK: usize = 512;

/// The length of the field `name`.
const NAME: usize = 100;

/// The length of the field `prefix`.
const PREFIX: usize = 155;

/// What an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EntryKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
}

/// What a header says; everything else in it is fixed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Header {
    /// The path, without the `/` that ends a directory's in the header.
    pub(super) path: String,
    /// What the entry is.
    pub(super) kind: EntryKind,
    /// The length of the contents in bytes; 0 for a directory.
    pub(super) size: u64,
}

/// The fields of the header: name for messages, offset, length.
const FIELDS: [(&str, usize, usize); 16] = [
    ("name", 0, NAME),
    ("mode", 100, 8),
    ("uid", 108, 8),
    ("gid", 116, 8),
    ("size", 124, 12),
    ("mtime", 136, 12),
    ("chksum", 148, 8),
    ("typeflag", 156, 1),
    ("linkname", 157, 100),
    ("magic", 257, 6),
    ("version", 263, 2),
    ("uname", 265, 32),
    ("gname", 297, 32),
    ("devmajor", 329, 8),
    ("devminor", 337, 8),
    ("prefix", 345, PREFIX),
];

/// Where the checksum stands.
const CHECKSUM: std::ops::Range<usize> = 148..156;

impl Header {
    /// The header's bytes.
    pub(super) fn write(&self) -> Result<[u8; BLOCK], Refusal> {
        let (mode, flag, shown) = match self.kind {
            EntryKind::File => ("0000644\0", "0", self.path.clone()),
            EntryKind::Directory => ("0000755\0", "5", format!("{}/", self.path)),
        };
        let (prefix, name) = split(&shown).ok_or(Refusal::Path(PathProblem::TooLong))?;
        if self.size >= 1 << 33 {
            return Err(Refusal::TooLarge { what: "a file", limit: (1 << 33) - 1 });
        }
        let mut block = [0u8; BLOCK];
        let mut put = |offset: usize, text: &str| {
            for (to, from) in block.iter_mut().skip(offset).zip(text.bytes()) {
                *to = from;
            }
        };
        put(0, name);
        put(100, mode);
        put(108, "0000000\0");
        put(116, "0000000\0");
        put(124, &format!("{:011o}\0", self.size));
        put(136, "00000000000\0");
        put(156, flag);
        put(257, "ustar\0");
        put(263, "00");
        put(329, "0000000\0");
        put(337, "0000000\0");
        put(345, prefix);
        let sum = checksum(&block);
        for (to, from) in block.iter_mut().skip(CHECKSUM.start).zip(format!("{sum:06o}\0 ").bytes()) {
            *to = from;
        }
        Ok(block)
    }

    /// Reads a header, provided it is one that [`Header::write`] gives.
    pub(super) fn read(block: &[u8; BLOCK]) -> Result<Self, ArchiveError> {
        let blamed = text_of(block, 0, NAME);
        let magic = field(block, "magic");
        if magic != b"ustar\0" || field(block, "version") != b"00" {
            return Err(Refusal::NotUstar.at(blamed));
        }
        if octal(text_of(block, CHECKSUM.start, 8)) != Some(u64::from(checksum(block))) {
            return Err(Refusal::Checksum.at(blamed));
        }
        let kind = match field(block, "typeflag") {
            b"0" => EntryKind::File,
            b"5" => EntryKind::Directory,
            other => return Err(Refusal::EntryKind(other.first().copied().unwrap_or(0)).at(blamed)),
        };
        let shown = path_of(block)?;
        let path = match kind {
            EntryKind::File => shown.clone(),
            EntryKind::Directory => {
                shown.strip_suffix('/').ok_or_else(|| Refusal::Field("name").at(&shown))?.to_owned()
            }
        };
        let size = octal(text_of(block, 124, 12)).ok_or_else(|| Refusal::Field("size").at(&shown))?;
        if kind == EntryKind::Directory && size != 0 {
            return Err(Refusal::Field("size").at(&shown));
        }
        let header = Self { path, kind, size };
        let canonical = header.write().map_err(|refusal| refusal.at(&shown))?;
        if &canonical != block {
            let differs =
                FIELDS.iter().find(|(name, _, _)| *name != "chksum" && field(&canonical, name) != field(block, name));
            return Err(Refusal::Field(differs.map_or("chksum", |(name, _, _)| name)).at(&shown));
        }
        Ok(header)
    }
}

/// The bytes of a field.
fn field<'b>(block: &'b [u8; BLOCK], name: &str) -> &'b [u8] {
    FIELDS
        .iter()
        .find(|(field, _, _)| *field == name)
        .and_then(|&(_, offset, length)| block.get(offset..offset + length))
        .unwrap_or_default()
}

/// The bytes of a field up to its first NUL.
fn text_of(block: &[u8; BLOCK], offset: usize, length: usize) -> &[u8] {
    let bytes = block.get(offset..offset + length).unwrap_or_default();
    bytes.split(|&byte| byte == 0).next().unwrap_or_default()
}

/// The path that `prefix` and `name` spell.
fn path_of(block: &[u8; BLOCK]) -> Result<String, ArchiveError> {
    let (name, prefix) = (text_of(block, 0, NAME), text_of(block, 345, PREFIX));
    let mut path = prefix.to_vec();
    if !prefix.is_empty() {
        path.push(b'/');
    }
    path.extend(name);
    for part in ["name", "prefix"] {
        let hidden = field(block, part).iter().skip_while(|&&byte| byte != 0).any(|&byte| byte != 0);
        if hidden {
            return Err(Refusal::Path(PathProblem::Nul).at(&path));
        }
    }
    String::from_utf8(path).map_err(|error| Refusal::Path(PathProblem::NotUtf8).at(error.as_bytes()))
}

/// A number in octal digits; `None` for anything else, such as base-256 numbers, signs and blanks at the front.
fn octal(digits: &[u8]) -> Option<u64> {
    let digits = digits.strip_suffix(b" ").unwrap_or(digits);
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0u64, |number, digit| match digit {
        b'0'..=b'7' => number.checked_mul(8)?.checked_add(u64::from(digit - b'0')),
        _ => None,
    })
}

/// The sum of the header's bytes, with blanks in place of the checksum.
fn checksum(block: &[u8; BLOCK]) -> u32 {
    block
        .iter()
        .enumerate()
        .map(|(at, &byte)| if CHECKSUM.contains(&at) { u32::from(b' ') } else { u32::from(byte) })
        .sum()
}

/// Splits a path into `prefix` and `name`: no prefix where the path fits, otherwise the shortest that lets the rest fit.
fn split(path: &str) -> Option<(&str, &str)> {
    if path.len() <= NAME {
        return Some(("", path));
    }
    path.match_indices('/')
        .filter_map(|(at, _)| Some((path.get(..at)?, path.get(at + 1..)?)))
        .find(|(_, name)| name.len() <= NAME && !name.is_empty())
        .filter(|(prefix, _)| prefix.len() <= PREFIX)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::expect_used)]
mod tests {
    use super::*;

    fn file(path: &str, size: u64) -> Header {
        Header { path: path.to_owned(), kind: EntryKind::File, size }
    }

    #[test]
    fn reads_what_it_writes() {
        let long = format!("src/{}/{}.exo", "d".repeat(120), "f".repeat(90));
        let headers = [
            file("Exo.toml", 0),
            file("src/lib.exo", 8_589_934_591),
            file(&long, 1),
            Header { path: "src".into(), kind: EntryKind::Directory, size: 0 },
        ];
        for header in headers {
            assert_eq!(Header::read(&header.write().unwrap()).unwrap(), header);
        }
    }

    #[test]
    fn refuses_paths_and_sizes_that_do_not_fit() {
        let deep = format!("src/{}", "d/".repeat(130));
        assert_eq!(file(&"a".repeat(101), 0).write(), Err(Refusal::Path(PathProblem::TooLong)));
        assert_eq!(file(&format!("{deep}x.exo"), 0).write(), Err(Refusal::Path(PathProblem::TooLong)));
        assert_eq!(file("a", 1 << 33).write().unwrap_err().code(), "too-large");
    }

    #[test]
    fn every_changed_byte_is_refused_or_changes_the_meaning() {
        let header = file("src/lib.exo", 10);
        let block = header.write().unwrap();
        for at in 0..BLOCK {
            for flip in [1u8, 0x80] {
                let mut changed = block;
                changed[at] ^= flip;
                // With the checksum as it was, any change is found.
                assert!(Header::read(&changed).is_err(), "byte {at}");
                // With the checksum mended, a change is refused or shows in what is read.
                let sum = format!("{:06o}\0 ", checksum(&changed));
                changed[CHECKSUM].copy_from_slice(sum.as_bytes());
                if let Ok(read) = Header::read(&changed) {
                    assert!(read != header || changed == block, "byte {at}");
                }
            }
        }
    }

    #[test]
    fn reads_octal_strictly() {
        assert_eq!(octal(b"0000644"), Some(0o644));
        for digits in [&b""[..], b" 12", b"-1", b"8", b"0x1", b"\x80\0\0\x01", b"7777777777777777777777777"] {
            assert_eq!(octal(digits), None);
        }
    }
}
