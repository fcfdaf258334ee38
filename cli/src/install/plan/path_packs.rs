//! Packs with one version to choose from: those in folders and in git repositories, of the project's manifest and of their own.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use exo_compiler::diagnostic::codes;
use exo_compiler::source::SourceFile;
use exo_index::digest::Blake3;
use exo_index::lockfile::{LockedSource, Lockfile};
use exo_index::manifest::{DependencySource, GitSource, MANIFEST_FILE, Manifest, git_path};
use exo_index::name::PackName;
use exo_index::version::Version;

use crate::failure::{Failure, Outcome};
use crate::filesystem;
use crate::git;
use crate::project::read;
use crate::project::workspace::{Members, joined};
use crate::registry::reach::with_urls;
use crate::settings::Settings;
use crate::terminal::Terminal;

/// One such pack.
#[derive(Debug)]
pub(super) struct PathPack {
    /// Where it is, for messages; of a folder the path as the lockfile has it, relative to the project.
    pub(super) text: String,
    pub(super) origin: Origin,
    pub(super) manifest: Manifest,
}

/// Where the files of such a pack are.
#[derive(Debug)]
pub(super) enum Origin {
    Folder(PathBuf),
    /// In the cache, as they were at a commit.
    Git {
        source: GitSource,
        commit: String,
        tree: Blake3,
    },
}

impl PathPack {
    pub(super) fn locked_source(&self) -> LockedSource {
        match &self.origin {
            Origin::Folder(_) => LockedSource::Path(self.text.clone()),
            Origin::Git { source, commit, .. } => LockedSource::Git { source: source.clone(), commit: commit.clone() },
        }
    }

    /// The digest that the lockfile has; files of a folder may change.
    pub(super) fn locked_tree(&self) -> Option<Blake3> {
        match &self.origin {
            Origin::Folder(_) => None,
            Origin::Git { tree, .. } => Some(*tree),
        }
    }
}

/// All of them, by name.
#[derive(Debug, Default)]
pub(super) struct PathPacks {
    pub(super) packs: BTreeMap<PackName, PathPack>,
}

impl PathPacks {
    /// The packs that this version of exo is not for, as phrases.
    pub(super) fn written_for_another(&self, exo: &Version) -> Vec<String> {
        let others = self.packs.iter().filter(|(_, pack)| !pack.manifest.pack.exo.accepts_exo(exo));
        others
            .map(|(name, pack)| {
                format!("`{name}` in `{}` needs exo {}, and this is {exo}", pack.text, pack.manifest.pack.exo)
            })
            .collect()
    }
}

/// Where a dependency is, as seen from the project.
enum Place {
    Folder(String),
    /// A path inside of a repository means the same commit as that of the pack that names it.
    Git {
        source: GitSource,
        commit: Option<String>,
    },
}

/// A dependency still to be looked at: who asks, for what, from where.
struct Wanted {
    asking: String,
    name: PackName,
    place: Place,
}

/// What the readings need besides the manifests.
pub(super) struct Reader<'a> {
    pub(super) settings: &'a Settings,
    pub(super) terminal: &'a Terminal,
    pub(super) root: &'a Path,
    pub(super) lock: Option<&'a Lockfile>,
    pub(super) members: Option<&'a Members>,
}

impl Reader<'_> {
    /// Reads the manifests of all such dependencies, those for development of the project included.
    pub(super) fn collect(&self, manifest_name: &str, manifest: &Manifest) -> Outcome<PathPacks> {
        let mut found = PathPacks::default();
        let mut open: Vec<Wanted> = Vec::new();
        for dependency in manifest.all_dependencies() {
            enqueue(&mut open, None, manifest_name, &dependency.name, &dependency.source)?;
        }
        while let Some(wanted) = open.pop() {
            if let Some(known) = found.packs.get(&wanted.name) {
                self.same_place(known, &wanted)?;
                continue;
            }
            let pack = match &wanted.place {
                Place::Folder(text) => self.read_pack(&wanted, text, &self.root.join(text))?,
                Place::Git { source, commit } => self.fetched(&wanted, source, commit.as_deref())?,
            };
            let asking = format!("{}/{MANIFEST_FILE}", pack.text);
            for dependency in &pack.manifest.dependencies {
                enqueue(&mut open, Some(&pack), &asking, &dependency.name, &dependency.source)?;
            }
            found.packs.insert(wanted.name, pack);
        }
        Ok(found)
    }

    /// The pack of a folder.
    fn read_pack(&self, wanted: &Wanted, text: &str, folder: &Path) -> Outcome<PathPack> {
        let path = folder.join(MANIFEST_FILE);
        let Some(content) = filesystem::read_optional(&path)? else {
            return Err(Failure::refused(format!(
                "`{}` takes `{}` from `{text}`, where there is no {MANIFEST_FILE}",
                wanted.asking, wanted.name
            ))
            .code(codes::RESOLUTION)
            .hint("the path is relative to the folder of the manifest that names it"));
        };
        let file = SourceFile::new(format!("{text}/{MANIFEST_FILE}"), content);
        let manifest = match self.members.and_then(|members| Some((members, members.member_in(folder)?))) {
            Some((members, member)) => members.parse(&member.path, &file)?,
            None => read::manifest(&file)?,
        };
        right_name(wanted, text, &manifest)?;
        let manifest = with_urls(self.settings, manifest)?;
        Ok(PathPack { text: text.to_string(), origin: Origin::Folder(folder.to_path_buf()), manifest })
    }

    /// The pack of a repository: at the commit that the lockfile has for it, else at what the manifest names.
    fn fetched(&self, wanted: &Wanted, source: &GitSource, commit: Option<&str>) -> Outcome<PathPack> {
        let locked = self.lock.and_then(|lock| lock.packs.get(&wanted.name)).and_then(|pack| match &pack.source {
            LockedSource::Git { source: locked, commit: at } if locked == source => Some((at.as_str(), pack.tree)),
            LockedSource::Git { .. } | LockedSource::Builtin | LockedSource::Registry(_) | LockedSource::Path(_) => {
                None
            }
        });
        let locked = locked.filter(|(at, _)| commit.is_none_or(|commit| commit == *at));
        let (commit, tree) = locked.map_or((commit, None), |(at, tree)| (Some(at), tree));
        let pack = git::pack(self.settings, self.terminal, source, commit, tree)?;
        let text = source.to_string();
        right_name(wanted, &text, &pack.manifest)?;
        let origin = Origin::Git { source: source.clone(), commit: pack.commit, tree: pack.tree };
        Ok(PathPack { text, origin, manifest: pack.manifest })
    }

    /// Two manifests may name one pack when they mean the same place.
    fn same_place(&self, known: &PathPack, wanted: &Wanted) -> Outcome<()> {
        let (agrees, text) = match (&known.origin, &wanted.place) {
            (Origin::Folder(folder), Place::Folder(text)) => (same(folder, &self.root.join(text)), text.clone()),
            (Origin::Git { source, commit, .. }, Place::Git { source: other, commit: at }) => {
                let agrees = source == other && at.as_ref().is_none_or(|at| at == commit);
                (agrees, other.to_string())
            }
            (Origin::Folder(_), Place::Git { source, .. }) => (false, source.to_string()),
            (Origin::Git { .. }, Place::Folder(text)) => (false, text.clone()),
        };
        if agrees {
            return Ok(());
        }
        let kind = if matches!((&known.origin, &wanted.place), (Origin::Folder(_), Place::Folder(_))) {
            "folders"
        } else {
            "places"
        };
        Err(Failure::refused(format!("`{}` comes from two {kind}, `{}` and `{text}`", wanted.name, known.text))
            .code(codes::RESOLUTION)
            .hint("one version of a pack is used in one project; name the same place in both manifests"))
    }
}

/// Notes a dependency of the project (`outer` is `None`) or of another such pack.
fn enqueue(
    open: &mut Vec<Wanted>,
    outer: Option<&PathPack>,
    asking: &str,
    name: &PackName,
    source: &DependencySource,
) -> Outcome<()> {
    let refuse = |what: String, hint: &str| {
        Err(Failure::refused(format!("`{asking}` takes `{name}` from {what}")).code(codes::RESOLUTION).hint(hint))
    };
    let place = match (source, outer.map(|pack| &pack.origin)) {
        (DependencySource::Default, _) | (DependencySource::Registry(_), None | Some(Origin::Folder(_))) => {
            return Ok(());
        }
        // Which registries there are is up to whoever uses the pack.
        (DependencySource::Registry(text), Some(Origin::Git { .. })) => {
            return refuse(
                format!("the registry `{text}`, which a pack of a git repository cannot choose"),
                "ask its author to leave `registry` out, and name the registry for that pack in your own Exo.toml",
            );
        }
        (DependencySource::Path(path), None) => Place::Folder(joined("", path)),
        (DependencySource::Path(path), Some(Origin::Folder(_))) => {
            Place::Folder(joined(outer.map_or("", |pack| &pack.text), path))
        }
        (DependencySource::Path(path), Some(Origin::Git { source, commit, .. })) => {
            let inside = joined(source.path.as_deref().unwrap_or("."), path);
            let inside = (!matches!(inside.as_str(), "" | ".")).then_some(inside);
            if path.starts_with('/') || inside.as_ref().is_some_and(|path| git_path(path).is_err()) {
                return refuse(
                    format!("`{path}`, which is outside of its repository"),
                    "a pack of a repository finds others in the same repository only; ask its author",
                );
            }
            let source = GitSource { path: inside, ..source.clone() };
            Place::Git { source, commit: Some(commit.clone()) }
        }
        // Somebody else's pack has no business with what is on this disk.
        (DependencySource::Git(source), Some(Origin::Git { source: outer, .. }))
            if source.url.starts_with("file:") && !outer.url.starts_with("file:") =>
        {
            return refuse(
                format!("`{}`, a repository on this disk", source.url),
                "a pack of a repository elsewhere cannot name one here; ask its author",
            );
        }
        (DependencySource::Git(source), _) => Place::Git { source: source.clone(), commit: None },
    };
    open.push(Wanted { asking: asking.to_string(), name: name.clone(), place });
    Ok(())
}

fn same(a: &Path, b: &Path) -> bool {
    match (a.canonicalize(), b.canonicalize()) {
        (Ok(a), Ok(b)) => a == b,
        _ => a == b,
    }
}

/// A pack is used by the name it gives itself.
fn right_name(wanted: &Wanted, text: &str, manifest: &Manifest) -> Outcome<()> {
    let found = &manifest.pack.name.value;
    if *found == wanted.name {
        return Ok(());
    }
    Err(Failure::refused(format!(
        "`{}` takes `{}` from `{text}`, where the pack is called `{found}`",
        wanted.asking, wanted.name
    ))
    .code(codes::RESOLUTION)
    .hint("use the name that the pack gives itself"))
}
