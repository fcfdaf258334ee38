//! Signed notes (C2SP signed-note): a text, an empty line, and a line for each signature.

use std::fmt;

use sha2::Digest as _;

use super::keys::{self, PublicKey, SecretKey};
use super::malformed::{Malformed, utf8};

/// What a signature line starts with: an em dash and a space.
const LINE_START: &str = "\u{2014} ";

/// The signature type of Ed25519 in the key hash.
const ED25519: u8 = 1;

/// More signatures than this are refused (witnesses may add some).
const MAX_SIGNATURES: usize = 64;

/// A signed note.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// The signed text, which ends with a newline.
    pub text: String,
    /// The signatures in the order of their lines.
    pub signatures: Vec<NoteSignature>,
}

/// One line of signature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoteSignature {
    /// The name of the key: for a registry, its origin.
    pub name: String,
    /// The first four bytes of the hash of name and key, which tells what key to try.
    pub key_hash: [u8; 4],
    /// The signature; 64 bytes when it is one of Ed25519.
    pub signature: Vec<u8>,
}

/// The hash by which a note names a key: the first four bytes of `SHA-256(name "\n" 0x01 key)`.
pub fn key_hash(name: &str, key: &PublicKey) -> [u8; 4] {
    let mut hasher = sha2::Sha256::new();
    hasher.update(name.as_bytes());
    hasher.update([b'\n', ED25519]);
    hasher.update(key.as_bytes());
    let [a, b, c, d, ..]: [u8; 32] = hasher.finalize().into();
    [a, b, c, d]
}

impl Note {
    /// Signs a text.
    ///
    /// # Errors
    /// The text does not end with a newline or has control characters, or the name has white space or `+`.
    pub fn sign(text: &str, name: &str, signers: &[&SecretKey]) -> Result<Self, Malformed> {
        check_text(text)?;
        check_name(name)?;
        let line = |key: &&SecretKey| NoteSignature {
            name: name.to_owned(),
            key_hash: key_hash(name, &key.public()),
            signature: key.sign(text.as_bytes()).to_vec(),
        };
        Ok(Self { text: text.to_owned(), signatures: signers.iter().map(line).collect() })
    }

    /// Reads a note; says nothing about whether its signatures hold.
    ///
    /// # Errors
    /// The bytes are no note.
    pub fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        let whole = utf8("a signed note", bytes)?;
        let malformed = |message: &str| Malformed::new("a signed note", message);
        let at = whole.rfind("\n\n").ok_or_else(|| malformed("it has no empty line before its signatures"))?;
        let (text, lines) = whole.split_at(at + 1);
        check_text(text)?;
        let lines = lines.strip_prefix('\n').and_then(|lines| lines.strip_suffix('\n'));
        let lines = lines.ok_or_else(|| malformed("its last line is not ended"))?;
        let signatures: Vec<NoteSignature> = lines.split('\n').map(read_line).collect::<Result<_, _>>()?;
        if signatures.len() > MAX_SIGNATURES {
            return Err(malformed("it has too many signatures"));
        }
        Ok(Self { text: text.to_owned(), signatures })
    }

    /// Whether a signature of this key under this name stands below the text, and holds.
    pub fn is_signed_by(&self, name: &str, key: &PublicKey) -> bool {
        let hash = key_hash(name, key);
        self.signatures.iter().any(|line| {
            line.name == name && line.key_hash == hash && key.verifies(self.text.as_bytes(), &line.signature)
        })
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.text)?;
        for line in &self.signatures {
            let bytes = [line.key_hash.as_slice(), &line.signature].concat();
            writeln!(f, "{LINE_START}{} {}", line.name, keys::encode(&bytes))?;
        }
        Ok(())
    }
}

/// Checks a text that is to be signed or was signed.
fn check_text(text: &str) -> Result<(), Malformed> {
    if !text.ends_with('\n') {
        return Err(Malformed::new("a signed note", "its text does not end with a newline"));
    }
    if text.chars().any(|c| c.is_control() && c != '\n') {
        return Err(Malformed::new("a signed note", "its text has control characters"));
    }
    Ok(())
}

/// Checks the name of a key.
fn check_name(name: &str) -> Result<(), Malformed> {
    if name.is_empty() || name.chars().any(|c| c.is_whitespace() || c.is_control() || c == '+') {
        return Err(Malformed::new("a signed note", format!("`{}` is not the name of a key", name.escape_debug())));
    }
    Ok(())
}

/// Reads one line of signature.
fn read_line(line: &str) -> Result<NoteSignature, Malformed> {
    let wrong = || Malformed::new("a signed note", format!("`{}` is no signature line", line.escape_debug()));
    let (name, base64) = line.strip_prefix(LINE_START).and_then(|rest| rest.split_once(' ')).ok_or_else(wrong)?;
    check_name(name)?;
    let bytes = keys::decode("a signature", base64)?;
    let (key_hash, signature) = bytes.split_first_chunk::<4>().ok_or_else(wrong)?;
    if signature.is_empty() {
        return Err(wrong());
    }
    Ok(NoteSignature { name: name.to_owned(), key_hash: *key_hash, signature: signature.to_vec() })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::expect_used)]
mod tests {
    use super::*;

    #[test]
    fn reads_back_what_it_signs() {
        let (one, two) = (SecretKey::from_seed(&[1; 32]), SecretKey::from_seed(&[2; 32]));
        let note = Note::sign("a\n\nb\n", "example.com/packs", &[&one, &two]).unwrap();
        let read = Note::parse(note.to_string().as_bytes()).unwrap();
        assert_eq!(read, note);
        assert!(read.is_signed_by("example.com/packs", &one.public()));
        assert!(read.is_signed_by("example.com/packs", &two.public()));
        assert!(!read.is_signed_by("example.com", &one.public()));
        assert!(!read.is_signed_by("example.com/packs", &SecretKey::from_seed(&[3; 32]).public()));
        let mut changed = read;
        changed.text.push('\n');
        assert!(!changed.is_signed_by("example.com/packs", &one.public()));
    }

    #[test]
    fn a_key_hash_is_of_name_type_and_key() {
        let key = SecretKey::from_seed(&[1; 32]).public();
        let bytes = [b"n\n\x01".as_slice(), key.as_bytes()].concat();
        assert_eq!(key_hash("n", &key), crate::digest::Sha256::of(&bytes).as_bytes()[..4]);
    }

    #[test]
    fn refuses_what_is_no_note() {
        for text in ["", "a\n", "a\n\n", "a\n\n\u{2014} n AAAA\n", "a\n\nn AAAAAAA=\n", "a\r\n\n\u{2014} n AAAAAAA=\n"]
        {
            assert!(Note::parse(text.as_bytes()).is_err(), "{text:?}");
        }
        assert!(Note::parse(b"\xff\n\n").is_err());
        let key = SecretKey::from_seed(&[1; 32]);
        assert!(Note::sign("no newline", "n", &[&key]).is_err());
        assert!(Note::sign("a\n", "two words", &[&key]).is_err());
    }
}
