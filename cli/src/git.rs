//! Packs from git repositories: fetched by the program `git`, taken out of its objects without a checkout, kept as trees.
//!
//! A repository is somebody else's. Nothing in it is ever checked out, so no hook, filter, submodule or link of it can act;
//! what reaches the command line of git was checked by the index crate; and what is used afterwards is the tree of the cache, by its digest.

mod objects;
mod process;

use std::collections::BTreeMap;
use std::sync::Mutex;

use exo_compiler::diagnostic::codes;
use exo_compiler::source::SourceFile;
use exo_index::archive::{self, Limits, PackFiles};
use exo_index::digest::Blake3;
use exo_index::manifest::{GitReference, GitSource, MANIFEST_FILE, Manifest, is_commit};

use crate::cache::Cache;
use crate::cache::tree::Tree;
use crate::failure::{Failure, Outcome};
use crate::project::read;
use crate::settings::Settings;
use crate::terminal::Terminal;
use process::Repository;

/// A pack of a repository, with its files in the cache.
#[derive(Clone, Debug)]
pub(crate) struct GitPack {
    /// The commit it is of, in full.
    pub(crate) commit: String,
    pub(crate) tree: Blake3,
    pub(crate) manifest: Manifest,
}

/// What was fetched by this process, so that one command fetches once and sees one state of a branch.
static FETCHED: Mutex<BTreeMap<String, GitPack>> = Mutex::new(BTreeMap::new());

/// The pack that a source names: from the cache where the lockfile has it, else fetched.
pub(crate) fn pack(
    settings: &Settings,
    terminal: &Terminal,
    source: &GitSource,
    commit: Option<&str>,
    locked: Option<Blake3>,
) -> Outcome<GitPack> {
    let cache = Cache::open(settings)?;
    if let (Some(commit), Some(digest)) = (commit, locked)
        && let Some(tree) = Tree::open(&Tree::folder_of(&cache, &digest), &digest)?
    {
        let text = tree.read(MANIFEST_FILE)?.unwrap_or_default();
        return Ok(GitPack { commit: commit.to_string(), tree: digest, manifest: manifest(source, text)? });
    }
    let key = format!("{source}#{}", commit.unwrap_or_default());
    let known = FETCHED.lock().ok().and_then(|fetched| fetched.get(&key).cloned());
    let pack = match known {
        Some(pack) => pack,
        None => {
            let pack = fetch(settings, terminal, &cache, source, commit)?;
            if let Ok(mut fetched) = FETCHED.lock() {
                fetched.insert(key, pack.clone());
            }
            pack
        }
    };
    match locked {
        Some(digest) if digest != pack.tree => {
            Err(Failure::refused(format!("commit {} of `{}` is not what Exo.lock recorded", pack.commit, source.url))
                .code(codes::DIGEST)
                .note(format!("its files have BLAKE3 {}\nthe lockfile says    {digest}", pack.tree))
                .hint("the repository or the lockfile was changed; if you trust what the repository has, run `exo update` for the pack"))
        }
        Some(_) | None => Ok(pack),
    }
}

fn manifest(source: &GitSource, bytes: Vec<u8>) -> Outcome<Manifest> {
    let text = String::from_utf8_lossy(&bytes).into_owned();
    read::manifest(&SourceFile::new(format!("{source}/{MANIFEST_FILE}"), text))
}

fn offline(settings: &Settings, url: &str, what: &str) -> Outcome<()> {
    if !settings.offline {
        return Ok(());
    }
    Err(Failure::environment(format!("--offline: {what} of `{url}` is not in the cache"))
        .hint("run the command once without --offline, or take the packs along with `exo vendor` or `exo bundle`"))
}

fn fetch(
    settings: &Settings,
    terminal: &Terminal,
    cache: &Cache,
    source: &GitSource,
    commit: Option<&str>,
) -> Outcome<GitPack> {
    let what = commit.map_or_else(|| source.reference.to_string(), |commit| format!("commit {commit}"));
    offline(settings, &source.url, &what)?;
    terminal.status("Fetching", &format!("{what} of {}", source.url));
    let repository = Repository::new(settings, &source.url)?;
    let commit = match (commit, &source.reference) {
        (Some(commit), _) => repository.fetch_commit(commit)?,
        (None, GitReference::Rev(start)) if is_commit(start) => repository.fetch_commit(start)?,
        (None, GitReference::Rev(start)) => repository.fetch_all_and_find(start)?,
        (None, GitReference::Tag(name)) => repository.fetch_name("tag", "refs/tags/", name)?,
        (None, GitReference::Branch(name)) => repository.fetch_name("branch", "refs/heads/", name)?,
    };
    let files = objects::files_of_pack(&repository, &commit, source)?;
    let Some(text) = files.get(MANIFEST_FILE).cloned() else {
        let place = source.path.as_ref().map_or("at its top".to_string(), |path| format!("in `{path}`"));
        return Err(Failure::refused(format!("`{}` has no {MANIFEST_FILE} {place} at commit {commit}", source.url))
            .code(codes::RESOLUTION)
            .hint(
                "name the folder of the pack in the repository with `path = \"…\"` (`exo add --git URL --path DIR`)",
            ));
    };
    // What a registry would refuse as an archive is refused from a repository too.
    let files = PackFiles { files };
    let built = archive::build(&files, &Limits::default()).map_err(|error| {
        Failure::refused(format!("the pack in `{}` is refused: {error}", source.url)).code(codes::RESOLUTION)
    })?;
    let manifest = manifest(source, text)?;
    let files: Vec<(String, Vec<u8>)> = files.files.into_iter().collect();
    Tree::store(cache, &built.tree, &files)?;
    Ok(GitPack { commit, tree: built.tree, manifest })
}

/// The commit that a repository offers to whoever names none.
pub(crate) fn newest_commit(settings: &Settings, terminal: &Terminal, url: &str) -> Outcome<String> {
    offline(settings, url, "the newest commit")?;
    terminal.status("Asking", &format!("{url} for its newest commit"));
    Repository::new(settings, url)?.head()
}
