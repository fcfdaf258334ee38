//! Reads manifest and lockfile of a project as of one moment, with mistakes as diagnostics that have a place.

use std::sync::Arc;

use exo_compiler::diagnostic::{Diagnostic, codes};
use exo_compiler::source::{SourceFile, Span};
use exo_index::lockfile::{LOCK_FILE, LockError, Lockfile, Merge};
use exo_index::manifest::{Manifest, ManifestError};

use crate::failure::{Failure, Outcome, count};
use crate::filesystem::{self, journal};
use crate::project::Project;
use crate::project::layout::Layout;
use crate::project::workspace::Members;

/// Readings of a project before giving up on one that another process keeps changing.
const READINGS: usize = 20;

/// Finishes an interrupted change, then reads both files.
pub(crate) fn read(layout: Layout, members: Option<Members>) -> Outcome<Project> {
    for _ in 0..READINGS {
        journal::recover(&layout.lock_root)?;
        let manifest = filesystem::read_text(&layout.manifest())?;
        let lock = filesystem::read_optional(&layout.lock())?;
        // Another process may have replaced both between the two readings.
        let unchanged = !layout.lock_root.join(journal::JOURNAL).exists()
            && filesystem::read_optional(&layout.manifest())?.as_deref() == Some(manifest.as_str());
        if unchanged {
            return parse(layout, members, manifest, lock);
        }
    }
    Err(Failure::environment(format!("`{}` keeps changing while it is read", layout.manifest().display()))
        .hint("another process writes it without end; stop it and run the command again"))
}

fn parse(
    layout: Layout,
    members: Option<Members>,
    manifest_text: String,
    lock_text: Option<String>,
) -> Outcome<Project> {
    let manifest_file = SourceFile::new(layout.manifest_name.clone(), manifest_text);
    // The nearest manifest upwards need not be the one that was meant.
    let workspace = match members {
        Some(members) => {
            let all = members.union(None)?;
            Some((members, all))
        }
        None => None,
    };
    let own = match &workspace {
        None => manifest(&manifest_file),
        Some((members, all)) => match members.member_in(&layout.root) {
            Some(member) => members.parse(&member.path, &manifest_file),
            // The root of a workspace that is no pack stands for all of its members.
            None => Ok(all.clone()),
        },
    };
    let manifest = own.map_err(|failure| failure.note(format!("the project is `{}`", layout.root.display())))?;
    let (lock, merge) = match lock_text.as_deref() {
        None => (None, None),
        Some(text) => lockfile(text).map_err(|error| lock_failure(text, error))?,
    };
    Ok(Project { layout, manifest, manifest_file, workspace, lock, lock_text, merge, pinned: Default::default() })
}

/// A lockfile, or what to prefer of the two sides of an unfinished merge.
fn lockfile(text: &str) -> Result<(Option<Lockfile>, Option<Merge>), LockError> {
    match exo_index::lockfile::merge(text)? {
        Some(merge) => Ok((Some(merge.preferred.clone()), Some(merge))),
        None => Ok((Some(Lockfile::parse(text)?), None)),
    }
}

/// Reads a manifest; all of its mistakes come back together.
pub(crate) fn manifest(file: &Arc<SourceFile>) -> Outcome<Manifest> {
    Manifest::parse(&file.text).map_err(|errors| manifest_failure(file, &errors))
}

/// The failure for mistakes in a manifest.
pub(crate) fn manifest_failure(file: &Arc<SourceFile>, errors: &[ManifestError]) -> Box<Failure> {
    let diagnostics = errors.iter().map(|error| {
        let span = Span::new(file, error.span.start as u32, error.span.end as u32);
        let diagnostic = Diagnostic::error(codes::MANIFEST, error.message.clone()).at(&span, "");
        match &error.hint {
            Some(hint) => diagnostic.hint(hint.clone()),
            None => diagnostic,
        }
    });
    Failure::refused(format!("`{}` has {}", file.display_name, count(errors.len(), "mistake")))
        .diagnostics(diagnostics.collect())
}

fn lock_failure(text: &str, error: LockError) -> Box<Failure> {
    let file = SourceFile::new(LOCK_FILE, text);
    let mut diagnostic = Diagnostic::error(codes::LOCK, error.message);
    if let Some(span) = error.span {
        diagnostic = diagnostic.at(&Span::new(&file, span.start as u32, span.end as u32), "");
    }
    if let Some(hint) = error.hint {
        diagnostic = diagnostic.hint(hint);
    }
    Failure::refused(format!("`{LOCK_FILE}` cannot be used")).diagnostics(vec![diagnostic])
}
