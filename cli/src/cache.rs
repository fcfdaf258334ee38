//! The cache `…/exo/v1`: content-addressed trees and verdicts, safe for parallel processes, checked when read.
//!
//! Entries are made under a temporary name and renamed, so an entry is whole or absent. Nothing is changed in place.
//! A tree is `trees/<digest>/` with a `listing` (digest, length and path of each file), the files below `files/`, and a `stamp` of how
//! they looked when they were last hashed.

pub(crate) mod maintenance;
mod stamp;
pub(crate) mod tree;

use std::path::PathBuf;

use crate::failure::{Failure, Outcome};
use crate::settings::Settings;

/// Folder of this layout; another layout gets another number, so several versions of exo share one cache folder.
const VERSION: &str = "v1";

/// The cache of one user.
#[derive(Clone, Debug)]
pub(crate) struct Cache {
    pub(crate) root: PathBuf,
}

impl Cache {
    pub(crate) fn open(settings: &Settings) -> Outcome<Self> {
        match &settings.cache {
            Some(parent) => Ok(Cache { root: parent.join(VERSION) }),
            None => Err(Failure::environment(
                "there is no folder for the cache: neither EXO_CACHE_DIR, XDG_CACHE_HOME nor HOME is set",
            )
            .hint("set EXO_CACHE_DIR to a folder that exo may write to")),
        }
    }

    pub(crate) fn trees(&self) -> PathBuf {
        self.root.join("trees")
    }

    pub(crate) fn verdicts(&self) -> PathBuf {
        self.root.join("verdicts")
    }

    /// What installs found, by project.
    pub(crate) fn settled(&self) -> PathBuf {
        self.root.join("settled")
    }
}
