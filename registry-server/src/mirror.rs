//! `exo-registry mirror`: the static half of another registry as a folder, believed by the same steps as a client believes it.
//!
//! A file is written after all that it leads to, the pointer last. So a folder is a sound mirror at every moment, whatever is there
//! needs no second look, and a run that was cut short is taken up where it stopped. Nothing is written before pointer, roots and log are
//! believed: an upstream that goes back, forks or is badly signed leaves the folder as it was.

mod belief;
mod contents;
mod upstream;

use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use exo_index::digest::Sha256;
use exo_index::registry::layout;
use exo_index::registry::trust::{Refusal, check_digest};
use rustix::fs::{FlockOperation, flock};

use crate::configuration::Mirror;
use crate::failure::{Failure, counted};
use crate::static_folder::StaticFolder;
use upstream::Upstream;

/// How a mirror begins to say who it is, so that what it copies is not counted as downloads.
pub(crate) const AGENT: &str = "exo-registry/";

/// The file by which a folder is held; it is no part of what is served.
const LOCK: &str = ".exo-mirror";

/// One registry and the folder that mirrors it.
struct Run {
    url: String,
    upstream: Upstream,
    folder: StaticFolder,
    pin: Option<Sha256>,
    jobs: usize,
    recheck: bool,
}

/// Mirrors once, or again and again.
///
/// # Errors
/// The upstream is not believed or not reached, or the folder cannot be written; with `--follow` only what makes every try fail.
pub(crate) async fn mirror(arguments: &Mirror) -> Result<(), Failure> {
    std::fs::create_dir_all(&arguments.folder)?;
    let _held = hold(&arguments.folder)?;
    let run = Arc::new(Run {
        url: arguments.from.trim_end_matches('/').to_owned(),
        upstream: Upstream::of(&arguments.from)?,
        folder: StaticFolder::new(&arguments.folder),
        pin: arguments.root,
        jobs: usize::from(arguments.jobs),
        recheck: arguments.recheck,
    });
    loop {
        match (run.advance().await, arguments.follow) {
            (Ok(said), _) => say!("{said}"),
            (Err(failure), None) => return Err(failure),
            (Err(failure), Some(_)) => tracing::error!(%failure, "nothing new is shown"),
        }
        let Some(seconds) = arguments.follow else { return Ok(()) };
        tokio::time::sleep(Duration::from_secs(seconds)).await;
    }
}

/// Holds a folder for as long as the file is open; two runs would replace each other's pointer.
fn hold(folder: &Path) -> Result<File, Failure> {
    let file = File::create(folder.join(LOCK))?;
    flock(&file, FlockOperation::NonBlockingLockExclusive)
        .map_err(|_| Failure::new(format!("another run mirrors into `{}`", folder.display())))?;
    Ok(file)
}

impl Run {
    /// Brings the folder to what the upstream is now; says what came.
    async fn advance(self: &Arc<Self>) -> Result<String, Failure> {
        let believed = belief::believe(self).await?;
        let pointer = believed.pointer()?.clone();
        let contents = contents::fetch(self, &believed).await?;
        let mut written = contents.fetched;
        let log = &believed.log;
        let tiles = log.tiles.iter().map(|(tile, bytes)| (layout::tile(tile), bytes.clone()));
        let entries = log.entries.iter().map(|(&(index, width), bytes)| (layout::entries(index, width), bytes.clone()));
        let roots = believed.roots.iter().map(|(number, bytes)| (layout::root(*number), bytes.clone()));
        let files = tiles.chain(entries).chain(contents.index).chain(roots);
        // Last, so that a run that was cut short shows nothing that is not there.
        for (path, bytes) in files.chain([(layout::LATEST.to_owned(), believed.note.clone())]) {
            if self.folder.read(&path)?.as_ref() != Some(&bytes) {
                self.folder.write(&path, &bytes)?;
                written += 1;
            }
        }
        let state = format!("`{}` at pointer {}, log of {}", pointer.origin, pointer.version, pointer.log_size);
        Ok(match written {
            0 => format!("{state}: nothing is new"),
            _ => format!(
                "{state}: {} new or changed, {} written",
                counted(contents.packs, "pack"),
                counted(written, "file")
            ),
        })
    }

    /// Something by its hash: what is in the folder, else what the upstream gives; checked in both cases.
    async fn object(&self, what: &'static str, path: &str, digest: &Sha256, limit: u64) -> Result<Vec<u8>, Failure> {
        if let Some(bytes) = self.folder.read(path)?
            && Sha256::of(&bytes) == *digest
        {
            return Ok(bytes);
        }
        let bytes = self.upstream.need(path, limit).await?;
        check_digest(what, digest, &bytes).map_err(|refusal| self.disbelief(&refusal))?;
        Ok(bytes)
    }

    /// Whether a file, and with it all that it leads to, is in the folder.
    fn is_settled(&self, path: &str, digest: &Sha256) -> Result<bool, Failure> {
        if !self.recheck {
            return Ok(self.folder.has(path));
        }
        Ok(self.folder.read(path)?.is_some_and(|bytes| Sha256::of(&bytes) == *digest))
    }

    fn disbelief(&self, refusal: &Refusal) -> Failure {
        Failure::new(format!("`{}` is not mirrored: {refusal}; {}", self.url, refusal.hint()))
    }
}
