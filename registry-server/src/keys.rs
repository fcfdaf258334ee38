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

/// The files of the keys.
pub(crate) const ROOT: &str = "root.key";
pub(crate) const INDEX: &str = "index.key";
pub(crate) const VERDICT: &str = "verdict.key";

/// Where keys wait that a new root will name, inside of the folder of keys.
const NEXT: &str = "next";

/// How long a root is believed: ten years. A pointer, which is signed anew all the time, is what goes stale.
pub(crate) const ROOT_LIFE: u64 = 10 * 365 * 86_400;

/// The keys of the registry.
#[derive(Debug, Clone)]
pub(crate) struct Keys {
    /// Signs roots.
    pub(crate) root: SecretKey,
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
            root: key(&folder.join(ROOT))?,
            index: key(&folder.join(INDEX))?,
            verdict: key(&folder.join(VERDICT))?,
        })
    }

    /// New keys for pointers and verdicts, and with `root` for roots; the others stay. Until [`Keys::take_over`] they only wait.
    ///
    /// # Errors
    /// A file cannot be written.
    pub(crate) fn prepare(&self, data: &Path, root: bool) -> Result<Self, Failure> {
        let folder = data.join("keys").join(NEXT);
        // What waits here was in no root: else it would have been taken over when the registry was opened.
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        fs::create_dir(&folder)?;
        Ok(Self {
            root: if root { key(&folder.join(ROOT))? } else { self.root.clone() },
            index: key(&folder.join(INDEX))?,
            verdict: key(&folder.join(VERDICT))?,
        })
    }

    /// The present keys with those that wait in their place; `None` when none waits.
    ///
    /// # Errors
    /// A file cannot be read, or is no key.
    pub(crate) fn waiting(&self, data: &Path) -> Result<Option<Self>, Failure> {
        let folder = data.join("keys").join(NEXT);
        if !folder.exists() {
            return Ok(None);
        }
        let waiting = |name: &str, present: &SecretKey| match fs::read_to_string(folder.join(name)) {
            Ok(text) => Ok(SecretKey::from_secret_text(&text)?),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(present.clone()),
            Err(error) => Err(Failure::from(error)),
        };
        Ok(Some(Self {
            root: waiting(ROOT, &self.root)?,
            index: waiting(INDEX, &self.index)?,
            verdict: waiting(VERDICT, &self.verdict)?,
        }))
    }

    /// Puts the keys that wait in the place of the present ones. Whoever finds that another process did so already is content.
    ///
    /// # Errors
    /// A file cannot be moved.
    pub(crate) fn take_over(data: &Path) -> Result<(), Failure> {
        let folder = data.join("keys");
        let gone = |result: std::io::Result<()>| match result {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
            Ok(()) | Err(_) => Ok(()),
        };
        for name in [ROOT, INDEX, VERDICT] {
            gone(fs::rename(folder.join(NEXT).join(name), folder.join(name)))?;
        }
        Ok(gone(fs::remove_dir(folder.join(NEXT)))?)
    }

    /// Whether a root names the keys that sign pointers and verdicts.
    pub(crate) fn are_named_by(&self, root: &Root) -> bool {
        root.index_keys.contains(&self.index.public()) && root.verdict_keys.contains(&self.verdict.public())
    }

    /// The keys as text, by file name.
    pub(crate) fn texts(&self) -> [(&'static str, String); 3] {
        [(ROOT, &self.root), (INDEX, &self.index), (VERDICT, &self.verdict)]
            .map(|(name, key)| (name, key.to_secret_text()))
    }

    /// Writes keys that come from a backup into a directory that has no registry.
    ///
    /// # Errors
    /// A file cannot be written.
    pub(crate) fn restore(data: &Path, texts: &[(&str, String)]) -> Result<(), Failure> {
        let folder = data.join("keys");
        fs::create_dir_all(&folder)?;
        for (name, text) in texts {
            let draft = folder.join(chance::id()?);
            write_secret(&draft, text)?;
            fs::rename(draft, folder.join(name))?;
        }
        Ok(())
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

/// Writes a new file that only its owner reads.
pub(crate) fn write_secret(path: &Path, text: &str) -> Result<(), Failure> {
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(text.as_bytes())?;
    Ok(file.sync_all()?)
}

/// Reads a key or makes it.
fn key(path: &Path) -> Result<SecretKey, Failure> {
    let text = read_or_make(path, || Ok(SecretKey::from_seed(&chance::seed()?).to_secret_text()))?;
    Ok(SecretKey::from_secret_text(&text)?)
}

/// Reads the text of a secret, or makes its file.
///
/// # Errors
/// The file cannot be read or written.
pub(crate) fn read_or_make(path: &Path, make: impl Fn() -> Result<String, Failure>) -> Result<String, Failure> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(text),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let made = make()?;
            // Under a name of its own first: a key cut short by a crash would be refused for ever.
            let draft = path.with_extension(chance::id()?);
            write_secret(&draft, &made)?;
            // A link fails where a rename would replace the key that another process made meanwhile.
            let linked = fs::hard_link(&draft, path);
            fs::remove_file(&draft)?;
            match linked {
                Ok(()) => Ok(made),
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => read_or_make(path, make),
                Err(error) => Err(error.into()),
            }
        }
        Err(error) => Err(error.into()),
    }
}
