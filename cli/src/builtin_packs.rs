//! The packs inside this binary, which are the registry when nothing else is configured.
//!
//! The build script archives every pack of `packages/` with the same code that publishing uses and records the
//! digests; an archive is checked against them when it is unpacked. Tests replace the packs by a folder of theirs.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use exo_compiler::source::SourceFile;
use exo_index::archive::{self, Limits, PackFiles};
use exo_index::candidates::{Advisory, Candidate, Published, Yanked};
use exo_index::digest::{Blake3, Sha256};
use exo_index::lockfile::LockedSource;
use exo_index::manifest::{MANIFEST_FILE, Manifest};
use exo_index::name::PackName;
use exo_index::version::Version;

use crate::disk_world::content_of_folder;
use crate::failure::{Exit, Failure, Outcome};
use crate::policy::now;
use crate::registry::reach::Reached;
use crate::registry::{Elsewhere, Signed};
use crate::settings::Settings;

/// One pack as the build script left it. Digests are in hexadecimal.
struct Embedded {
    manifest: &'static str,
    archive: &'static [u8],
    sha256: &'static str,
    tree: &'static str,
}

include!(concat!(env!("OUT_DIR"), "/embedded_packs.rs"));

/// One version of a pack in the registry.
#[derive(Debug)]
pub(crate) struct RegistryPack {
    pub(crate) manifest: Manifest,
    /// What the source says of this version, for the rules by which versions are chosen.
    pub(crate) candidate: Candidate,
    /// What its owners say of a pack that should not be used, in a phrase.
    pub(crate) deprecated: Option<String>,
    /// Since when it is archived and why, in a phrase.
    pub(crate) archived: Option<String>,
    pub(crate) archive: Archive,
    pub(crate) sha256: Sha256,
    pub(crate) tree: Blake3,
}

/// Where the archive of a pack is.
#[derive(Debug)]
pub(crate) enum Archive {
    Here(Cow<'static, [u8]>),
    Elsewhere(Box<Elsewhere>),
}

impl RegistryPack {
    /// When a registry elsewhere published it.
    pub(crate) fn published(&self) -> Option<u64> {
        match (&self.archive, self.candidate.published) {
            (Archive::Elsewhere(_), Published::At(time)) => Some(time),
            (Archive::Elsewhere(_) | Archive::Here(_), _) => None,
        }
    }

    /// The number of its publish in the log of a registry elsewhere.
    pub(crate) fn log(&self) -> Option<u64> {
        match &self.archive {
            Archive::Elsewhere(place) => Some(place.log()),
            Archive::Here(_) => None,
        }
    }

    /// Which registry elsewhere it is from, by the digest of its first root.
    pub(crate) fn root(&self) -> Option<Sha256> {
        match &self.archive {
            Archive::Elsewhere(place) => place.client.root().copied(),
            Archive::Here(_) => None,
        }
    }

    /// As the lockfile has it.
    pub(crate) fn source(&self) -> LockedSource {
        match &self.archive {
            Archive::Here(_) => LockedSource::Builtin,
            Archive::Elsewhere(place) => LockedSource::Registry(place.client.url.clone()),
        }
    }

    pub(crate) fn name(&self) -> &PackName {
        &self.manifest.pack.name.value
    }

    pub(crate) fn version(&self) -> &Version {
        &self.manifest.pack.version.value
    }

    /// What the registry's own checker signed about it.
    pub(crate) fn signed(&self) -> Outcome<Option<Arc<Signed>>> {
        match &self.archive {
            Archive::Here(_) => Ok(None),
            Archive::Elsewhere(place) => place.signed(self.name()),
        }
    }

    /// The files, after both digests were checked.
    pub(crate) fn unpack(&self) -> Outcome<BTreeMap<String, Vec<u8>>> {
        let archive = match &self.archive {
            Archive::Here(bytes) => bytes,
            Archive::Elsewhere(place) => return place.unpack(&self.manifest),
        };
        let files = archive::read_verified(archive, &self.sha256, &self.tree, &Limits::default());
        files.map(|files| files.files).map_err(|error| {
            Failure::refused(format!("the archive of `{} {}` is refused: {error}", self.name(), self.version()))
                .code(exo_compiler::diagnostic::codes::DIGEST)
                .hint("the exo program is damaged; install it again")
        })
    }
}

/// All packs with all their versions, newest first.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    packs: BTreeMap<PackName, BTreeMap<Version, Arc<RegistryPack>>>,
    /// What came from registries elsewhere.
    pub(crate) reached: Reached,
}

impl Registry {
    /// The registry in use.
    pub(crate) fn open(settings: &Settings) -> Outcome<Self> {
        let mut registry = Registry::default();
        match &settings.environment.test_packs {
            Some(folder) => registry.add_folders(&settings.directory.join(folder))?,
            None => registry.add_embedded()?,
        }
        Ok(registry)
    }

    pub(crate) fn add(&mut self, pack: RegistryPack) {
        self.packs.entry(pack.name().clone()).or_default().insert(pack.version().clone(), Arc::new(pack));
    }

    /// Forgets all versions of a pack; says whether there were some.
    pub(crate) fn remove(&mut self, name: &PackName) -> bool {
        self.packs.remove(name).is_some()
    }

    fn add_embedded(&mut self) -> Outcome<()> {
        for embedded in EMBEDDED {
            let broken = |what: &str| Failure::bug(format!("a pack in this binary has {what}"));
            let manifest = Manifest::parse(embedded.manifest).map_err(|_| broken("no sound manifest"))?;
            self.add(RegistryPack {
                candidate: candidate(&manifest),
                deprecated: None,
                archived: None,
                manifest,
                archive: Archive::Here(Cow::Borrowed(embedded.archive)),
                sha256: embedded.sha256.parse().map_err(|_| broken("no archive digest"))?,
                tree: embedded.tree.parse().map_err(|_| broken("no tree digest"))?,
            });
        }
        Ok(())
    }

    fn add_folders(&mut self, folder: &Path) -> Outcome<()> {
        let entries = std::fs::read_dir(folder).map_err(|error| crate::filesystem::failure("list", folder, &error))?;
        for entry in entries {
            let path = entry.map_err(|error| crate::filesystem::failure("list", folder, &error))?.path();
            if path.join(MANIFEST_FILE).is_file() {
                self.add(pack_of_folder(&path)?);
            }
        }
        Ok(())
    }

    /// Names of all packs.
    pub(crate) fn names(&self) -> impl Iterator<Item = &PackName> {
        self.packs.keys()
    }

    /// All versions of a pack, oldest first; none for a pack that is not known.
    pub(crate) fn versions(&self, name: &PackName) -> impl DoubleEndedIterator<Item = &Arc<RegistryPack>> {
        self.packs.get(name).into_iter().flat_map(|versions| versions.values())
    }

    pub(crate) fn get(&self, name: &PackName, version: &Version) -> Option<&Arc<RegistryPack>> {
        self.packs.get(name)?.get(version)
    }

    /// The newest release of every pack, or its newest prerelease where there is no release.
    pub(crate) fn newest(&self) -> impl Iterator<Item = &Arc<RegistryPack>> {
        self.packs.values().filter_map(|versions| {
            versions
                .values()
                .rev()
                .find(|pack| !pack.version().is_prerelease())
                .or_else(|| versions.values().next_back())
        })
    }
}

/// Writes the archive of every pack that comes with exo into a folder.
pub(crate) fn write_archives(settings: &Settings, folder: &Path) -> Outcome<Exit> {
    let registry = Registry::open(settings)?;
    for pack in registry.packs.values().flat_map(BTreeMap::values) {
        if let Archive::Here(bytes) = &pack.archive {
            crate::filesystem::write_plain(&folder.join(pack.sha256.to_string()), bytes)?;
        }
    }
    Ok(Exit::Done)
}

/// A pack that came with the program has neither an age nor anything against it.
fn candidate(manifest: &Manifest) -> Candidate {
    Candidate::with_exo(manifest.pack.version.value.clone(), manifest.pack.exo.clone())
}

/// Beside a pack of the folder that tests use for a registry: what a registry would say of it.
const TEST_CANDIDATE: &str = "candidate.json";

/// Reads `{"age": SECONDS or "unknown", "yanked": REASON, "advisories": {ID: SUMMARY}}`.
fn describe(candidate: &mut Candidate, text: &str) -> Result<(), serde_json::Error> {
    let said: serde_json::Value = serde_json::from_str(text)?;
    candidate.published = match said.get("age") {
        None => Published::WithExo,
        Some(age) => age.as_u64().map_or(Published::Unknown, |age| Published::At(now().saturating_sub(age))),
    };
    let texts = |value: &serde_json::Value| value.as_str().map(str::to_string);
    candidate.yanked = said.get("yanked").map(|reason| Yanked { reason: texts(reason) });
    let advisories = said.get("advisories").and_then(serde_json::Value::as_object).into_iter().flatten();
    candidate.advisories = advisories
        .map(|(id, summary)| Advisory { id: id.clone(), summary: texts(summary).unwrap_or_default(), advice: None })
        .collect();
    Ok(())
}

/// Archives a folder as the build script does.
fn pack_of_folder(folder: &Path) -> Outcome<RegistryPack> {
    let files = PackFiles { files: content_of_folder(folder)? };
    let text = crate::filesystem::read_text(&folder.join(MANIFEST_FILE))?;
    let file = SourceFile::new(folder.join(MANIFEST_FILE).display().to_string(), text);
    let manifest = crate::project::read::manifest(&file)?;
    let built = archive::build(&files, &Limits::default())
        .map_err(|error| Failure::refused(format!("`{}` cannot be archived: {error}", folder.display())))?;
    let mut candidate = candidate(&manifest);
    if let Some(text) = crate::filesystem::read_optional(&folder.join(TEST_CANDIDATE))? {
        describe(&mut candidate, &text).map_err(|error| Failure::usage(format!("{TEST_CANDIDATE}: {error}")))?;
    }
    let archive = Archive::Here(Cow::Owned(built.bytes));
    Ok(RegistryPack {
        manifest,
        candidate,
        deprecated: None,
        archived: None,
        archive,
        sha256: built.sha256,
        tree: built.tree,
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn every_pack_in_the_binary_unpacks_to_its_digests() {
        let mut registry = Registry::default();
        registry.add_embedded().unwrap();
        for pack in registry.newest() {
            let files = pack.unpack().unwrap();
            assert!(files.contains_key(MANIFEST_FILE), "{}", pack.name());
        }
    }

    #[test]
    fn a_changed_archive_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("src")).unwrap();
        let manifest = "[pack]\nname = \"a\"\nversion = \"1.0.0\"\nkind = \"schedule\"\n";
        std::fs::write(folder.path().join(MANIFEST_FILE), manifest).unwrap();
        std::fs::write(folder.path().join("src/lib.exo"), "x = 1\n").unwrap();
        let mut pack = pack_of_folder(folder.path()).unwrap();
        assert!(pack.unpack().unwrap().contains_key("src/lib.exo"));
        if let Archive::Here(bytes) = &mut pack.archive
            && let Some(byte) = bytes.to_mut().last_mut()
        {
            *byte ^= 1;
        }
        let failed = pack.unpack().unwrap_err();
        assert!(failed.message.contains("the archive of `a 1.0.0` is refused"), "{}", failed.message);
    }
}
