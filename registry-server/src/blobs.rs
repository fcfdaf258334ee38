//! The files that are served, and uploads that wait: a directory or an S3-compatible store.

mod durable;

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use object_store::aws::{AmazonS3Builder, S3ConditionalPut};
use object_store::local::LocalFileSystem;
use object_store::path::Path as Key;
use object_store::prefix::PrefixStore;
use object_store::{ObjectStore, ObjectStoreExt as _, PutMode, PutOptions, UpdateVersion};

use crate::failure::Failure;
use crate::parallel::each;
use crate::tiles::Source;

/// What a file system says of a path at which there is no file, or can be none.
const NOTHING_THERE: [ErrorKind; 4] =
    [ErrorKind::NotFound, ErrorKind::NotADirectory, ErrorKind::IsADirectory, ErrorKind::InvalidFilename];

/// The store of files.
#[derive(Clone)]
pub(crate) struct Blobs {
    store: Arc<dyn ObjectStore>,
    /// The same files, for what a power cut may take: a directory is not told to write it to the disk at once.
    passing: Arc<dyn ObjectStore>,
    /// The directory, where it is one: reading a whole file there needs none of what a store can do beyond that.
    folder: Option<PathBuf>,
    /// Whether the store can compare before it overwrites. A directory cannot, and has one machine only.
    conditional: bool,
}

/// Files that are sent to a store at the same time.
const WRITES: usize = 64;

/// Drafts of files that were never finished are kept this long: somebody may be writing.
const DRAFT_LIFE: Duration = Duration::from_secs(3600);

impl Blobs {
    /// Opens the store.
    ///
    /// # Errors
    /// The directory cannot be made, or the URL is not `s3://BUCKET[/PREFIX]`.
    pub(crate) fn open(url: Option<&str>, data: &Path) -> Result<Self, Failure> {
        let Some(url) = url else {
            let folder = data.join("files");
            std::fs::create_dir_all(&folder)?;
            // Rows name files, so that a file must outlive a power cut as they do; folders of uploads go with the uploads.
            let files = |fsync| -> Result<Arc<dyn ObjectStore>, Failure> {
                let files = LocalFileSystem::new_with_prefix(&folder)?.with_fsync(fsync).with_automatic_cleanup(true);
                Ok(Arc::new(files))
            };
            return Ok(Self { store: files(true)?, passing: files(false)?, conditional: false, folder: Some(folder) });
        };
        let rest = url.strip_prefix("s3://").ok_or_else(|| {
            Failure::new(format!("`{url}` is no place for blobs: write s3://BUCKET or s3://BUCKET/PREFIX"))
        })?;
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        let store = AmazonS3Builder::from_env()
            .with_bucket_name(bucket)
            .with_conditional_put(S3ConditionalPut::ETagMatch)
            .build()?;
        let store = Arc::new(PrefixStore::new(store, prefix));
        Ok(Self { passing: store.clone(), store, conditional: true, folder: None })
    }

    /// Removes drafts that killed processes left in a directory: `NAME#NUMBER`, as the library calls them, and folders that
    /// hold nothing else.
    pub(crate) async fn remove_drafts(&self) -> Result<(), Failure> {
        let Some(folder) = self.folder.clone() else { return Ok(()) };
        tokio::task::spawn_blocking(move || remove_drafts_below(&folder)).await??;
        Ok(())
    }

    /// Writes a file; there is never half of one.
    pub(crate) async fn put(&self, path: &str, bytes: Vec<u8>) -> Result<(), Failure> {
        self.store.put(&Key::parse(path).map_err(object_store::Error::from)?, bytes.into()).await?;
        Ok(())
    }

    /// Writes a file that a power cut may take, or leave half of: whoever reads it compares its digest, or can do without it.
    pub(crate) async fn put_passing(&self, path: &str, bytes: Vec<u8>) -> Result<(), Failure> {
        self.passing.put(&Key::parse(path).map_err(object_store::Error::from)?, bytes.into()).await?;
        Ok(())
    }

    /// Writes several files that never change, at the same time: waiting for a disk or a network is most of the work. A reader sees
    /// each as a whole. In a directory, a power cut before the end can leave half of one, which nothing names yet.
    pub(crate) async fn put_all(&self, files: Vec<(String, Vec<u8>)>) -> Result<(), Failure> {
        if let Some(folder) = &self.folder {
            return durable::write_all(folder, files).await;
        }
        each(WRITES, files, |(path, bytes)| {
            let blobs = self.clone();
            async move { blobs.put(&path, bytes).await }
        })
        .await?;
        Ok(())
    }

    /// Reads a file; `None` when there is none.
    pub(crate) async fn get(&self, path: &str) -> Result<Option<Vec<u8>>, Failure> {
        let Ok(key) = Key::parse(path) else { return Ok(None) };
        if let Some(folder) = &self.folder {
            return match tokio::fs::read(folder.join(key.as_ref())).await {
                Ok(bytes) => Ok(Some(bytes)),
                Err(error) if NOTHING_THERE.contains(&error.kind()) => Ok(None),
                Err(error) => Err(error.into()),
            };
        }
        match self.store.get(&key).await {
            Ok(found) => Ok(Some(found.bytes().await?.to_vec())),
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Reads a file that must be there.
    pub(crate) async fn need(&self, path: &str) -> Result<Vec<u8>, Failure> {
        self.get(path).await?.ok_or_else(|| Failure::new(format!("blobs: `{path}` is missing")))
    }

    /// Whether a file is there.
    pub(crate) async fn has(&self, path: &str) -> Result<bool, Failure> {
        let Ok(key) = Key::parse(path) else { return Ok(false) };
        match self.store.head(&key).await {
            Ok(_) => Ok(true),
            Err(object_store::Error::NotFound { .. }) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Removes a file, if it is there.
    pub(crate) async fn remove(&self, path: &str) -> Result<(), Failure> {
        match self.store.delete(&Key::parse(path).map_err(object_store::Error::from)?).await {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Replaces a file unless `keeps` says that what is there should stay. When another writer comes between, it is asked again.
    /// A power cut may take what was written: the file is a copy of what the rows hold, who starts the registry makes it good.
    pub(crate) async fn replace(&self, path: &str, bytes: &[u8], keeps: impl Fn(&[u8]) -> bool) -> Result<(), Failure> {
        let key = Key::parse(path).map_err(object_store::Error::from)?;
        for _ in 0..8 {
            let mode = match self.store.get(&key).await {
                Ok(found) => {
                    let version =
                        UpdateVersion { e_tag: found.meta.e_tag.clone(), version: found.meta.version.clone() };
                    if keeps(&found.bytes().await?) {
                        return Ok(());
                    }
                    if self.conditional { PutMode::Update(version) } else { PutMode::Overwrite }
                }
                Err(object_store::Error::NotFound { .. }) => PutMode::Create,
                Err(error) => return Err(error.into()),
            };
            match self.passing.put_opts(&key, bytes.to_vec().into(), PutOptions::from(mode)).await {
                Ok(_) => return Ok(()),
                Err(object_store::Error::Precondition { .. } | object_store::Error::AlreadyExists { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(Failure::new(format!("blobs: `{path}` was changed by others again and again")))
    }
}

impl Source for Blobs {
    async fn file(&self, path: &str) -> Result<Vec<u8>, Failure> {
        self.need(path).await
    }
}

/// The same, below a folder.
fn remove_drafts_below(folder: &Path) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let (path, found) = (entry.path(), entry.metadata()?);
        if found.is_dir() {
            remove_drafts_below(&path)?;
            if is_old(&found) {
                // Not where something is in it.
                let _ = std::fs::remove_dir(&path);
            }
        } else if is_draft(&entry.file_name().to_string_lossy()) && is_old(&found) {
            std::fs::remove_file(&path)?;
        }
    }
    Ok(())
}

fn is_old(found: &std::fs::Metadata) -> bool {
    found.modified().ok().and_then(|at| at.elapsed().ok()).is_some_and(|age| age > DRAFT_LIFE)
}

fn is_draft(name: &str) -> bool {
    let number = name.rsplit_once('#').map(|(_, number)| number);
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs::{File, FileTimes};
    use std::time::SystemTime;

    use super::*;

    #[test]
    fn old_drafts_go_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let old = FileTimes::new().set_modified(SystemTime::now() - 2 * DRAFT_LIFE);
        for (name, age) in [("v1/blob/a", true), ("v1/blob/b#1", true), ("v1/blob/c#2", false), ("waiting/x/d#1", true)]
        {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, "").unwrap();
            if age {
                File::options().write(true).open(&path).unwrap().set_times(old).unwrap();
            }
        }
        remove_drafts_below(folder.path()).unwrap();
        let there = |name: &str| folder.path().join(name).exists();
        assert!(there("v1/blob/a") && there("v1/blob/c#2"));
        assert!(!there("v1/blob/b#1") && !there("waiting/x/d#1"));
    }
}
