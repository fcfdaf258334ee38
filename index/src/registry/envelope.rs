//! A payload with signatures over its exact bytes: the form of roots and of verdicts.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::keys::{self, PublicKey, SecretKey};
use super::malformed::Malformed;
use crate::digest::Sha256;

/// A signed payload.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Envelope {
    /// The signed text, which is JSON.
    pub payload: String,
    /// The signatures over the bytes of the payload.
    pub signatures: Vec<EnvelopeSignature>,
}

/// One signature of an envelope.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnvelopeSignature {
    /// The id of the key.
    pub key: Sha256,
    /// The signature in base64.
    pub signature: String,
}

impl Envelope {
    /// Signs a payload.
    pub fn sign(payload: String, signers: &[&SecretKey]) -> Self {
        let mut envelope = Self { payload, signatures: Vec::new() };
        signers.iter().for_each(|key| envelope.add_signature(key));
        envelope
    }

    /// Adds a signature, in place of an earlier one of the same key; so holders of offline keys can sign one after the other.
    pub fn add_signature(&mut self, signer: &SecretKey) {
        let key = signer.public().id();
        let signature = keys::encode(&signer.sign(self.payload.as_bytes()));
        self.signatures.retain(|line| line.key != key);
        self.signatures.push(EnvelopeSignature { key, signature });
    }

    /// Reads an envelope; says nothing about whether its signatures hold.
    ///
    /// # Errors
    /// The bytes are not JSON of that shape.
    pub fn parse(what: &'static str, bytes: &[u8]) -> Result<Self, Malformed> {
        serde_json::from_slice(bytes).map_err(|error| Malformed::new(what, error.to_string()))
    }

    /// How many different keys of a list have signed the payload.
    pub fn signers_among(&self, keys: &[PublicKey]) -> usize {
        let holds = |key: &&PublicKey| {
            let mut lines = self.signatures.iter().filter(|line| line.key == key.id());
            lines.any(|line| {
                keys::decode("a signature", &line.signature)
                    .is_ok_and(|signature| key.verifies(self.payload.as_bytes(), &signature))
            })
        };
        keys.iter().filter(holds).map(PublicKey::id).collect::<BTreeSet<_>>().len()
    }

    /// The SHA-256 of the payload, by which a root is pinned.
    pub fn payload_digest(&self) -> Sha256 {
        Sha256::of(self.payload.as_bytes())
    }

    /// The JSON that is served.
    ///
    /// # Errors
    /// Never for values that this library made; kept as an error rather than a panic.
    pub fn to_bytes(&self) -> Result<Vec<u8>, Malformed> {
        serde_json::to_vec(self).map_err(|error| Malformed::new("an envelope", error.to_string()))
    }
}
