//! Ed25519 keys: text forms, ids, and the strict check of signatures.

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ed25519_dalek::{Signature, Signer as _, SigningKey, VerifyingKey};

use super::malformed::Malformed;
use crate::digest::Sha256;

/// The length of a signature in bytes.
pub const SIGNATURE_LENGTH: usize = 64;

/// A public key. Its text is the base64 of its 32 bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct PublicKey(VerifyingKey);

/// A secret key. It has no `Display` and its `Debug` tells only its id, so that no log can hold it.
#[derive(Clone)]
pub struct SecretKey(SigningKey);

impl PublicKey {
    /// A key from its bytes.
    ///
    /// # Errors
    /// The bytes are no point of the curve, or one of the points of small order, under which one signature fits many texts.
    pub fn from_bytes(bytes: &[u8; 32]) -> Result<Self, Malformed> {
        let key =
            VerifyingKey::from_bytes(bytes).map_err(|_| Malformed::new("a public key", "it is no Ed25519 key"))?;
        if key.is_weak() {
            return Err(Malformed::new("a public key", "it is of small order"));
        }
        Ok(Self(key))
    }

    /// The 32 bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        self.0.as_bytes()
    }

    /// The key's id: the SHA-256 of its bytes.
    pub fn id(&self) -> Sha256 {
        Sha256::of(self.as_bytes())
    }

    /// Whether a signature over a message is this key's, by the strict rules (no malleable signatures).
    pub fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        Signature::from_slice(signature).is_ok_and(|signature| self.0.verify_strict(message, &signature).is_ok())
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&STANDARD.encode(self.as_bytes()))
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicKey({self})")
    }
}

impl FromStr for PublicKey {
    type Err = Malformed;

    fn from_str(text: &str) -> Result<Self, Malformed> {
        Self::from_bytes(&array("a public key", text)?)
    }
}

impl SecretKey {
    /// The key of a seed, which must come from the system's source of randomness.
    pub fn from_seed(seed: &[u8; 32]) -> Self {
        Self(SigningKey::from_bytes(seed))
    }

    /// Reads what [`SecretKey::to_secret_text`] writes.
    ///
    /// # Errors
    /// The text is not the base64 of 32 bytes.
    pub fn from_secret_text(text: &str) -> Result<Self, Malformed> {
        Ok(Self::from_seed(&array("a secret key", text.trim_end())?))
    }

    /// The base64 of the seed, for a file that only its owner reads.
    pub fn to_secret_text(&self) -> String {
        STANDARD.encode(self.0.as_bytes())
    }

    /// The public half.
    pub fn public(&self) -> PublicKey {
        PublicKey(self.0.verifying_key())
    }

    /// Signs a message.
    pub fn sign(&self, message: &[u8]) -> [u8; SIGNATURE_LENGTH] {
        self.0.sign(message).to_bytes()
    }
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SecretKey(of {})", self.public().id())
    }
}

/// Base64 with padding, the only form there is here.
pub(crate) fn encode(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// Reads base64 in its only form.
pub(crate) fn decode(what: &'static str, text: &str) -> Result<Vec<u8>, Malformed> {
    STANDARD.decode(text).map_err(|_| Malformed::new(what, format!("`{text}` is not base64")))
}

/// Reads 32 bytes in base64.
pub(crate) fn array(what: &'static str, text: &str) -> Result<[u8; 32], Malformed> {
    decode(what, text)?.try_into().map_err(|_| Malformed::new(what, "it is not 32 bytes long"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::expect_used)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_rfc_8032() {
        // RFC 8032, 7.1, test 1: the secret key, the public key and the signature of the empty message.
        let seed: crate::digest::Sha256 =
            "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60".parse().unwrap();
        let public: crate::digest::Sha256 =
            "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a".parse().unwrap();
        let key = SecretKey::from_seed(seed.as_bytes());
        assert_eq!(key.public().as_bytes(), public.as_bytes());
        let signature = key.sign(b"");
        assert_eq!(signature[..4], [0xe5, 0x56, 0x43, 0x00]);
        assert!(key.public().verifies(b"", &signature));
        assert!(!key.public().verifies(b"x", &signature));
        assert!(!key.public().verifies(b"", &signature[..63]));
    }

    #[test]
    fn reads_back_its_texts() {
        let key = SecretKey::from_seed(&[7; 32]);
        assert_eq!(key.public().to_string().parse::<PublicKey>().unwrap(), key.public());
        assert_eq!(SecretKey::from_secret_text(&key.to_secret_text()).unwrap().public(), key.public());
        assert!(!format!("{key:?}").contains(&key.to_secret_text()));
        for text in ["", "AAAA", "not base64!", key.public().to_string().trim_end_matches('=')] {
            assert!(text.parse::<PublicKey>().is_err(), "{text}");
        }
    }

    #[test]
    fn refuses_keys_of_small_order() {
        let mut identity = [0; 32];
        identity[0] = 1;
        assert!(PublicKey::from_bytes(&identity).is_err());
        assert!(PublicKey::from_bytes(&[0; 32]).is_err());
    }
}
