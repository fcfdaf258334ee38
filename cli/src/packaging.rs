//! The archive of the user's own pack: what is in it, whether it may be published, and that it verifies by itself.

use exo_compiler::diagnostic::codes;
use exo_compiler::source::SourceFile;
use exo_index::archive::{self, ARCHIVE_EXTENSION, BuiltArchive, Limits, PackFiles};
use exo_index::manifest::{MANIFEST_FILE, Manifest, PackKind, published_in};
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

    /// Verifies what is in the archive, as whoever installs it will: from the archive's own bytes, in a limited process.
    pub(crate) fn verify(&self, settings: &Settings, terminal: &Terminal, project: &Project) -> Outcome<Verdict> {
        let cache = Cache::open(settings)?;
        let read =
            archive::read_verified(&self.archive.bytes, &self.archive.sha256, &self.archive.tree, &Limits::default());
        let files = read.map_err(|error| Failure::bug(format!("an archive was made that is refused: {error}")))?;
        let files: Vec<(String, Vec<u8>)> = files.files.into_iter().collect();
        Tree::store(&cache, &self.archive.tree, &files)?;
        let mut instances = plan::plan(settings, terminal, &cache, project, &project.manifest)?.instances;
        verification::verify_all(settings, terminal, &cache, &instances, true)?;
        instances.push(Instance::of_archive(project, &cache, self.archive.tree)?);
        // What it depends on stands, so what fails here is the author's own.
        let own = |mut failed: Box<Failure>| {
            if failed.exit == Exit::VerificationFailed {
                failed.notes.clear();
                failed.hints.clear();
                failed = failed.hint("mend what is shown above; `exo check` and `exo test` show it too");
            }
            failed
        };
        let mut verified = verification::verify_all(settings, terminal, &cache, &instances, true).map_err(own)?;
        match verified.pop() {
            Some(own) => Ok(own.verdict),
            None => Err(Failure::bug("verification gave no verdict")),
        }
    }
}
