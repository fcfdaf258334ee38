//! The registry's own keys, in files that only their owner reads, and the first root that names them.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use exo_index::registry::envelope::Envelope;
use exo_index::registry::keys::SecretKey;
use exo_index::registry::root::Root;

use crate::chance;
use crate::failure::Failure;

/// How long a root is believed: ten years. A pointer, which is signed anew all the time, is what goes stale.
const ROOT_LIFE: u64 = 10 * 365 * 86_400;

/// The keys of the registry.
#[derive(Debug, Clone)]
pub(crate) struct Keys {
    root: SecretKey,
    /// Signs pointers.
    pub(crate) index: SecretKey,
    /// Signs verdicts.
    pub(crate) verdict: SecretKey,
}

impl Keys {
    /// Reads the keys of a directory, and makes those that are missing.
    ///
    /// # Errors
    /// A file cannot be read or written, or is no key.
    pub(crate) fn open(data: &Path) -> Result<Self, Failure> {
        let folder = data.join("keys");
        fs::create_dir_all(&folder)?;
        Ok(Self {
            root: key(&folder.join("root.key"))?,
            index: key(&folder.join("index.key"))?,
            verdict: key(&folder.join("verdict.key"))?,
        })
    }

    /// Root number 1, signed.
    ///
    /// # Errors
    /// Never for sound keys.
    pub(crate) fn first_root(&self, origin: &str, now: u64) -> Result<Envelope, Failure> {
        let root = Root {
            registry: origin.to_owned(),
            version: 1,
            expires: now + ROOT_LIFE,
            threshold: 1,
            root_keys: vec![self.root.public()],
            index_keys: vec![self.index.public()],
            verdict_keys: vec![self.verdict.public()],
        };
        Ok(root.sign(&[&self.root])?)
    }
}

/// Reads a key or makes it.
fn key(path: &Path) -> Result<SecretKey, Failure> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(SecretKey::from_secret_text(&text)?),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let made = SecretKey::from_seed(&chance::seed()?);
            // Under a name of its own first: a key cut short by a crash would be refused for ever.
            let draft = path.with_extension(chance::id()?);
            let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft)?;
            file.write_all(made.to_secret_text().as_bytes())?;
            file.sync_all()?;
            // A link fails where a rename would replace the key that another process made meanwhile.
            let linked = fs::hard_link(&draft, path);
            fs::remove_file(&draft)?;
            match linked {
                Ok(()) => Ok(made),
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => key(path),
                Err(error) => Err(error.into()),
            }
        }
        Err(error) => Err(error.into()),
    }
}
