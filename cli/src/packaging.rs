//! The archive of the user's own pack: what is in it, whether it may be published, and that it verifies by itself.

use std::collections::BTreeSet;

use exo_compiler::diagnostic::codes;
use exo_compiler::source::SourceFile;
use exo_index::archive::{self, ARCHIVE_EXTENSION, BuiltArchive, Limits, PackFiles};
use exo_index::manifest::{MANIFEST_FILE, Manifest, PackKind, published_in};
use exo_index::name::PackName;
use exo_index::publication::{Finding, Weight, examine};

use crate::arguments::Kind;
use crate::cache::Cache;
use crate::cache::tree::Tree;
use crate::commands::templates;
use crate::disk_world::content_of_folder;
use crate::failure::{Exit, Failure, Outcome, count};
use crate::install::plan::{self, Instance};
use crate::install::verdict::Verdict;
use crate::install::verification;
use crate::project::{Project, read};
use crate::registry::configuration::{Configured, Registries};
use crate::settings::Settings;
use crate::terminal::Terminal;

/// A pack as others would get it.
pub(crate) struct Packed {
    /// The manifest in the archive.
    pub(crate) manifest: Manifest,
    /// The files in the archive.
    pub(crate) files: PackFiles,
    pub(crate) archive: BuiltArchive,
    /// What is worth saying of it, what stands in the way first.
    pub(crate) findings: Vec<Finding>,
}

/// Makes the archive of a project's pack for a registry, if it is for one. Whether it may be published is in the findings;
/// see [`Packed::refuse_unready`].
pub(crate) fn pack(project: &Project, registries: &Registries, to: Option<&Configured>) -> Outcome<Packed> {
    let mut files = content_of_folder(project.root())?;
    let is_own = |text: &str| registries.find(text).is_ok_and(|meant| to.is_some_and(|to| to.url == meant.url));
    let text = project
        .with_inherited(|inherited| published_in(&project.manifest_file.text, inherited, &is_own))
        .map_err(|error| Failure::bug(format!("the manifest was read, but cannot be written: {error}")))?;
    let manifest = read::manifest(&SourceFile::new(MANIFEST_FILE, text.clone()))?;
    files.insert(MANIFEST_FILE.to_string(), text.into_bytes());
    let files = PackFiles { files };
    let archive = archive::build(&files, &Limits::default())
        .map_err(|error| Failure::refused(format!("this pack cannot be archived: {error}")).code(codes::PACKAGE))?;
    let kind = match manifest.pack.kind {
        PackKind::Target => Kind::Target,
        PackKind::Schedule => Kind::Schedule,
        PackKind::Kernel => Kind::Kernel,
    };
    let findings = examine(&files, &manifest, &templates::readme(&manifest.pack.name.value, kind));
    Ok(Packed { manifest, files, archive, findings })
}

impl Packed {
    /// The archive's file name.
    pub(crate) fn file_name(&self) -> String {
        let pack = &self.manifest.pack;
        let name = pack.name.value.as_str().trim_start_matches('@').replace('/', "-");
        format!("{name}-{}.{ARCHIVE_EXTENSION}", pack.version.value)
    }

    /// What stands in the way of publishing, as a failure.
    pub(crate) fn refuse_unready(&self) -> Outcome<()> {
        let refused: Vec<&Finding> = self.findings.iter().filter(|found| found.weight == Weight::Refusal).collect();
        if refused.is_empty() {
            return Ok(());
        }
        let pack = &self.manifest.pack;
        let message = format!(
            "`{} {}` cannot be published: {}",
            pack.name.value,
            pack.version.value,
            count(refused.len(), "reason")
        );
        let mut failure = Failure::refused(message).code(codes::PACKAGE);
        for found in refused {
            failure = failure.note(found.to_string());
            if !failure.hints.contains(&found.hint) {
                failure = failure.hint(found.hint.clone());
            }
        }
        Err(failure)
    }

    /// Says what is worth mending.
    pub(crate) fn advise(&self, terminal: &Terminal) {
        for found in self.findings.iter().filter(|found| found.weight == Weight::Advice) {
            terminal.warning(&format!("{found}; {}", found.hint));
        }
    }

    /// Puts what is in the archive into the cache, from the archive's own bytes, as whoever installs it will.
    fn unpack(&self, project: &Project, cache: &Cache) -> Outcome<Instance> {
        let read =
            archive::read_verified(&self.archive.bytes, &self.archive.sha256, &self.archive.tree, &Limits::default());
        let files = read.map_err(|error| Failure::bug(format!("an archive was made that is refused: {error}")))?;
        let files: Vec<(String, Vec<u8>)> = files.files.into_iter().collect();
        Tree::store(cache, &self.archive.tree, &files)?;
        Instance::of_archive(project, cache, self.archive.tree)
    }
}

/// Verifies what is in the archives of some packs of one workspace, each after those it depends on, as whoever installs them will:
/// from the archives' own bytes, in limited processes. The verdicts are in the order of the packs.
///
/// What they depend on is settled and verified once for all of them: with many members anything that is done for each with all others
/// would be most of the work.
pub(crate) fn verify(settings: &Settings, terminal: &Terminal, packs: &[(&Packed, &Project)]) -> Outcome<Vec<Verdict>> {
    let Some((_, first)) = packs.first() else { return Ok(Vec::new()) };
    let cache = Cache::open(settings)?;
    let own: Vec<Instance> =
        packs.iter().map(|(packed, project)| packed.unpack(project, &cache)).collect::<Outcome<_>>()?;
    let manifests = packs.iter().map(|(_, project)| &project.manifest);
    let needed = manifests.flat_map(|manifest| manifest.all_dependencies().map(|dependency| &dependency.name));
    let plan = plan::plan_for(settings, terminal, &cache, (first, &first.manifest), &needed.collect())?;
    let names: BTreeSet<&PackName> = own.iter().map(|instance| &instance.name).collect();
    let others: Vec<Instance> = plan.instances.into_iter().filter(|other| !names.contains(&other.name)).collect();
    verification::verify_all(settings, terminal, &cache, &others, true)?;
    // What they depend on stands, so what fails here is the author's own.
    let mend = |mut failed: Box<Failure>| {
        if failed.exit == Exit::VerificationFailed {
            failed.notes.clear();
            failed.hints.clear();
            failed = failed.hint("mend what is shown above; `exo check` and `exo test` show it too");
        }
        failed
    };
    let verified = verification::verify_among(settings, terminal, &cache, (&others, &own), true).map_err(mend)?;
    Ok(verified.into_iter().map(|verified| verified.verdict).collect())
}
