//! The files that are served, and uploads that wait: a directory or an S3-compatible store.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use object_store::aws::{AmazonS3Builder, S3ConditionalPut};
use object_store::local::LocalFileSystem;
use object_store::path::Path as Key;
use object_store::prefix::PrefixStore;
use object_store::{ObjectStore, ObjectStoreExt as _, PutMode, PutOptions, UpdateVersion};

use crate::failure::Failure;
use crate::tiles::Source;

/// What a file system says of a path at which there is no file, or can be none.
const NOTHING_THERE: [ErrorKind; 4] =
    [ErrorKind::NotFound, ErrorKind::NotADirectory, ErrorKind::IsADirectory, ErrorKind::InvalidFilename];

/// The store of files.
#[derive(Clone)]
pub(crate) struct Blobs {
    store: Arc<dyn ObjectStore>,
    /// The directory, where it is one: reading a whole file there needs none of what a store can do beyond that.
    folder: Option<PathBuf>,
    /// Whether the store can compare before it overwrites. A directory cannot, and has one machine only.
    conditional: bool,
}

impl Blobs {
    /// Opens the store.
    ///
    /// # Errors
    /// The directory cannot be made, or the URL is not `s3://BUCKET[/PREFIX]`.
    pub(crate) fn open(url: Option<&str>, data: &Path) -> Result<Self, Failure> {
        let Some(url) = url else {
            let folder = data.join("files");
            std::fs::create_dir_all(&folder)?;
            let store = Arc::new(LocalFileSystem::new_with_prefix(&folder)?);
            return Ok(Self { store, folder: Some(folder), conditional: false });
        };
        let rest = url.strip_prefix("s3://").ok_or_else(|| {
            Failure::new(format!("`{url}` is no place for blobs: write s3://BUCKET or s3://BUCKET/PREFIX"))
        })?;
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        let store = AmazonS3Builder::from_env()
            .with_bucket_name(bucket)
            .with_conditional_put(S3ConditionalPut::ETagMatch)
            .build()?;
        Ok(Self { store: Arc::new(PrefixStore::new(store, prefix)), folder: None, conditional: true })
    }

    /// Writes a file; there is never half of one.
    pub(crate) async fn put(&self, path: &str, bytes: Vec<u8>) -> Result<(), Failure> {
        self.store.put(&Key::parse(path).map_err(object_store::Error::from)?, bytes.into()).await?;
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
            match self.store.put_opts(&key, bytes.to_vec().into(), PutOptions::from(mode)).await {
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
