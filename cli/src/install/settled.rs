//! What an offline install last found in a project, so that the next one need not read lockfile, manifests, listings and index again
//! where nothing of it has changed.
//!
//! The answer is found by a digest of everything that decides it: this program, the environment, the project's files, the
//! configuration of registries and what is remembered of each. The files of the packs are looked at as [`Tree::check`] does. Like a
//! stamp it is no more than a shortcut for `exo install`: whatever is compiled is hashed when it is read. Where anything is out of
//! the ordinary (a workspace, folders of the user's own, a warning to be repeated) there is no answer, and the long way is taken.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use exo_compiler::pipeline;
use exo_index::digest::Blake3;
use exo_index::manifest::MANIFEST_FILE;
use serde::{Deserialize, Serialize};

use crate::cache::Cache;
use crate::cache::tree::Tree;
use crate::disk_world::Location;
use crate::filesystem;
use crate::filesystem::journal;
use crate::install::Installed;
use crate::install::summary::{Row, Summary};
use crate::install::verdict::CHECKER_DIGEST;
use crate::parallel;
use crate::project::find_root;
use crate::project::layout::Layout;
use crate::registry::{client, configuration};
use crate::settings::Settings;
use crate::terminal::Loudness;
use crate::vendor;

/// After this time the long way is taken, on which the use of cached packs is recorded.
const LIFE: Duration = Duration::from_secs(24 * 60 * 60);

/// An install, as far as it is known before anything was read that takes time.
pub(crate) struct Question {
    /// One file for each project, so that there are no more of them than projects.
    file: PathBuf,
    trees: PathBuf,
    jobs: usize,
    key: String,
}

impl PartialEq for Question {
    /// Whether the same answer would do for both.
    fn eq(&self, other: &Self) -> bool {
        (&self.file, &self.key) == (&other.file, &other.key)
    }
}

/// What was found.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Answer {
    key: String,
    rows: Vec<Row>,
    /// The digest of each tree in the cache, and how its files looked when they were last hashed.
    trees: Vec<(String, String)>,
}

impl Question {
    /// `None` where more decides than is looked at here.
    pub(crate) fn of(settings: &Settings, cache: &Cache) -> Option<Self> {
        let simple = settings.offline && settings.loudness != Loudness::Verbose && settings.packs.is_empty();
        if !simple || settings.workspace || !has_own_packs(settings) {
            return None;
        }
        let manifest = match &settings.manifest_path {
            Some(path) => path.clone(),
            None => find_root::manifest_above(&settings.directory)?,
        };
        let key = key(settings, &Layout::of_manifest(&manifest))?;
        let place = Blake3::of(manifest.as_os_str().as_encoded_bytes());
        let file = cache.settled().join(format!("{place}.json"));
        Some(Question { file, trees: cache.trees(), jobs: settings.jobs, key })
    }

    /// What the last install found, if it still holds.
    pub(crate) fn answer(&self) -> Option<Summary> {
        let start = std::time::Instant::now();
        let made = fs::metadata(&self.file).and_then(|data| data.modified()).ok()?;
        if SystemTime::now().duration_since(made).ok()? > LIFE {
            return None;
        }
        let answer: Answer = serde_json::from_str(&fs::read_to_string(&self.file).ok()?).ok()?;
        let unchanged = |(digest, look): &(String, String)| Ok(Tree::looks(&self.trees.join(digest), look));
        let all = parallel::map(self.jobs, &answer.trees, unchanged).ok()?;
        (answer.key == self.key && all.into_iter().all(|one| one)).then(|| Summary::again(start, answer.rows))
    }

    /// Keeps what an install found whose packs have just been checked, and of which nothing had to be said. A cache that cannot be
    /// written is still good to read from.
    pub(crate) fn keep(&self, installed: &Installed) {
        let looks = installed.plan.instances.iter().map(|instance| {
            let digest = instance.tree.to_string();
            let Location::Tree { folder, .. } = &instance.location else { return None };
            let look = Tree::look(folder, &instance.tree).filter(|_| *folder == self.trees.join(&digest))?;
            Some((digest, look))
        });
        let (Some(trees), Some(rows)) = (looks.collect(), installed.summary.to_repeat()) else { return };
        let answer = Answer { key: self.key.clone(), rows, trees };
        if let (Ok(text), Some(folder)) = (serde_json::to_string(&answer), self.file.parent()) {
            let _ = filesystem::create_directory(folder)
                .and_then(|()| filesystem::write_cached(&self.file, text.as_bytes()));
        }
    }
}

/// Whether the packs of this program are those that it was made with, and not a folder of a test, which changes.
fn has_own_packs(settings: &Settings) -> bool {
    let folder = settings.environment.test_packs.as_ref();
    folder.is_none_or(|folder| fs::read_dir(folder).is_ok_and(|mut packs| packs.next().is_none()))
}

/// A digest of everything that decides what an offline install finds, but for the files of packs.
fn key(settings: &Settings, layout: &Layout) -> Option<String> {
    if layout.lock_root.join(journal::JOURNAL).exists() || layout.lock_root.join(vendor::VENDOR_FILE).exists() {
        return None;
    }
    let mut parts = vec![
        env!("CARGO_PKG_VERSION").to_string(),
        pipeline::checker_version().to_string(),
        CHECKER_DIGEST.to_string(),
        pipeline::solver_version(),
        format!("{:?} {:?} {}", settings.environment, settings.cache, settings.locked),
        fs::read_to_string(layout.manifest()).ok()?,
        fs::read_to_string(layout.lock()).ok()?,
    ];
    // A workspace has more files that decide, and any folder above may be its root.
    for above in layout.root.ancestors() {
        let text = text_of(&above.join(MANIFEST_FILE))?;
        if text.contains("workspace") {
            return None;
        }
    }
    let configured = configuration::folder(settings).map(|folder| text_of(&folder.join("config.toml")));
    parts.push(configured.unwrap_or_default()?);
    parts.extend(remembered(&client::memories(settings).ok()?)?);
    let lengths: Vec<String> = parts.iter().map(|part| part.len().to_string()).collect();
    Some(Blake3::of(format!("{} {}", lengths.join(" "), parts.concat()).as_bytes()).to_string())
}

/// The text of a file that need not be there; `None` where that cannot be told.
fn text_of(path: &Path) -> Option<String> {
    filesystem::read_optional(path).ok().map(Option::unwrap_or_default)
}

/// What is remembered of all registries.
fn remembered(folder: &Path) -> Option<Vec<String>> {
    let Ok(files) = fs::read_dir(folder) else { return Some(Vec::new()) };
    let mut paths = files.map(|entry| Some(entry.ok()?.path())).collect::<Option<Vec<PathBuf>>>()?;
    paths.sort();
    paths.iter().map(|path| Some(format!("{}\n{}", path.display(), fs::read_to_string(path).ok()?))).collect()
}
