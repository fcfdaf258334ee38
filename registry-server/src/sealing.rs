//! Secrets that rows hold sealed: with a key that lies beside the others, so that a stolen database alone gives none of them away.

use std::fmt;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use sqlx::{AnyPool, Row as _};

use crate::chance;
use crate::failure::Failure;
use crate::keys;

/// The file of the key.
pub(crate) const FILE: &str = "sealing.key";

/// What seals and opens.
#[derive(Clone)]
pub(crate) struct Sealer {
    text: String,
    key: LessSafeKey,
}

impl fmt::Debug for Sealer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sealer")
    }
}

impl Sealer {
    fn of(text: String) -> Result<Self, Failure> {
        let unsound = || Failure::new(format!("`keys/{FILE}` holds no key"));
        let bytes = URL_SAFE_NO_PAD.decode(text.trim()).map_err(|_| unsound())?;
        let key = UnboundKey::new(&CHACHA20_POLY1305, &bytes).map_err(|_| unsound())?;
        Ok(Self { text, key: LessSafeKey::new(key) })
    }

    /// The sealer of a registry: that of its directory, made where nothing was ever sealed.
    ///
    /// # Errors
    /// What the rows hold is sealed with another key, or the file cannot be read or written.
    pub(crate) async fn open(rows: &AnyPool, data: &Path) -> Result<Self, Failure> {
        let path = data.join("keys").join(FILE);
        if !path.exists() && known(rows).await?.is_some() {
            return Err(foreign());
        }
        let made = || Ok(URL_SAFE_NO_PAD.encode(chance::seed()?));
        let sealer = Self::of(keys::read_or_make(&path, made)?)?;
        sqlx::query("INSERT INTO sealing (id, fingerprint) VALUES (1, $1) ON CONFLICT (id) DO NOTHING")
            .bind(sealer.fingerprint())
            .execute(rows)
            .await?;
        if known(rows).await? == Some(sealer.fingerprint()) { Ok(sealer) } else { Err(foreign()) }
    }

    /// What tells the key from others, and says nothing of it.
    fn fingerprint(&self) -> String {
        chance::stored(&format!("sealing {}", self.text.trim()))
    }

    /// The key as the file has it.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Seals a text for one purpose, which has to be named again to open it.
    ///
    /// # Errors
    /// There is no randomness.
    pub(crate) fn seal(&self, purpose: &str, secret: &[u8]) -> Result<String, Failure> {
        let nonce: [u8; NONCE_LEN] = chance::bytes()?;
        let mut sealed = secret.to_vec();
        self.key
            .seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::from(purpose.as_bytes()), &mut sealed)
            .map_err(|_| Failure::new("a secret could not be sealed"))?;
        Ok(URL_SAFE_NO_PAD.encode([&nonce[..], &sealed].concat()))
    }

    /// Opens what was sealed for this purpose; `None` for anything else.
    pub(crate) fn unseal(&self, purpose: &str, text: &str) -> Option<Vec<u8>> {
        let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
        let (nonce, sealed) = bytes.split_at_checked(NONCE_LEN)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
        let mut sealed = sealed.to_vec();
        let opened = self.key.open_in_place(nonce, Aad::from(purpose.as_bytes()), &mut sealed).ok()?;
        Some(opened.to_vec())
    }
}

/// The fingerprint of the key that the rows were sealed with.
async fn known(rows: &AnyPool) -> Result<Option<String>, Failure> {
    let found = sqlx::query("SELECT fingerprint FROM sealing WHERE id = 1").fetch_optional(rows).await?;
    Ok(found.map(|row| row.try_get("fingerprint")).transpose()?)
}

fn foreign() -> Failure {
    Failure::new(format!(
        "`keys/{FILE}` is not the key that second factors are sealed with: copy `keys/` from where the registry was set up; where it is \
         lost, `exo-registry user reset-second-factor --all` switches all second factors off"
    ))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sealed_opens_with_the_same_key_for_the_same_purpose_only() {
        let sealer = || Sealer::of(URL_SAFE_NO_PAD.encode(chance::seed().unwrap())).unwrap();
        let (ours, other) = (sealer(), sealer());
        let sealed = ours.seal("second factor of ada", b"secret").unwrap();
        assert_ne!(sealed, ours.seal("second factor of ada", b"secret").unwrap());
        assert_eq!(ours.unseal("second factor of ada", &sealed).as_deref(), Some(&b"secret"[..]));
        assert_eq!(ours.unseal("second factor of eve", &sealed), None);
        assert_eq!(other.unseal("second factor of ada", &sealed), None);
        for damaged in ["", "AAAA", &sealed[..sealed.len() - 2]] {
            assert_eq!(ours.unseal("second factor of ada", damaged), None);
        }
        assert!(Sealer::of("too short".to_owned()).is_err());
    }

    #[tokio::test]
    async fn a_directory_without_the_key_of_the_rows_is_refused() {
        let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        for folder in [&one, &two] {
            std::fs::create_dir(folder.path().join("keys")).unwrap();
        }
        let rows = crate::database::open(None, one.path()).await.unwrap();
        let first = Sealer::open(&rows, one.path()).await.unwrap();
        assert_eq!(Sealer::open(&rows, one.path()).await.unwrap().text(), first.text());
        assert!(Sealer::open(&rows, two.path()).await.unwrap_err().to_string().contains("copy `keys/`"));
        assert!(!two.path().join("keys").join(FILE).exists());
        std::fs::write(two.path().join("keys").join(FILE), URL_SAFE_NO_PAD.encode([7; 32])).unwrap();
        assert!(Sealer::open(&rows, two.path()).await.is_err());
    }
}
