//! Two versions of a pack side by side: which files changed, and how.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use exo_index::registry::shard::VersionEntry;
use serde::Serialize;
use similar::{ChangeTag, TextDiff};

use crate::contents;
use crate::failure::Failure;
use crate::registry::Registry;

/// The most lines shown of all files together; the rest is counted, not shown.
const MOST_LINES: usize = 4000;

/// A larger file is not compared line by line, in bytes.
const LARGEST_FILE: usize = 512 << 10;

/// How long the comparison of one file may look for the shortest change.
const PATIENCE: Duration = Duration::from_millis(300);

/// Everything that changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Difference {
    /// In the order of the paths.
    pub(crate) files: Vec<FileChange>,
    pub(crate) added: usize,
    pub(crate) removed: usize,
}

/// How a file differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct FileChange {
    pub(crate) path: String,
    /// `added`, `removed` or `changed`.
    pub(crate) how: &'static str,
    pub(crate) lines: Vec<Line>,
    /// Lines that are not shown because there are too many.
    pub(crate) hidden: usize,
    /// The file is too large to be compared.
    pub(crate) too_large: bool,
}

/// One line of a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Line {
    /// `+`, `-` or a blank, and `…` between two places of the file.
    pub(crate) sign: char,
    pub(crate) text: String,
}

impl Line {
    /// The class of the style sheet.
    pub(crate) fn class(&self) -> &'static str {
        match self.sign {
            '+' => "added",
            '-' => "removed",
            '…' => "gap",
            _ => "kept",
        }
    }
}

/// What changed from one version of a pack to another.
///
/// # Errors
/// An archive is missing, or is not the one that was published.
pub(crate) async fn of(registry: &Registry, from: &VersionEntry, to: &VersionEntry) -> Result<Difference, Failure> {
    let (old, new) = (contents::files(registry, from).await?, contents::files(registry, to).await?);
    Ok(tokio::task::spawn_blocking(move || difference(&old.files, &new.files)).await?)
}

/// What changed from one tree of files to another.
fn difference(from: &BTreeMap<String, Vec<u8>>, to: &BTreeMap<String, Vec<u8>>) -> Difference {
    let paths: BTreeSet<&String> = from.keys().chain(to.keys()).collect();
    let mut whole = Difference { files: Vec::new(), added: 0, removed: 0 };
    let mut room = MOST_LINES;
    for path in paths {
        let Some(mut change) = file_change(path, from.get(path), to.get(path)) else { continue };
        whole.added += change.lines.iter().filter(|line| line.sign == '+').count();
        whole.removed += change.lines.iter().filter(|line| line.sign == '-').count();
        change.hidden = change.lines.len().saturating_sub(room);
        change.lines.truncate(room);
        room -= change.lines.len();
        whole.files.push(change);
    }
    whole
}

fn file_change(path: &str, from: Option<&Vec<u8>>, to: Option<&Vec<u8>>) -> Option<FileChange> {
    if from == to {
        return None;
    }
    let how = match (from, to) {
        (None, _) => "added",
        (_, None) => "removed",
        (Some(_), Some(_)) => "changed",
    };
    let too_large = from.into_iter().chain(to).any(|bytes| bytes.len() > LARGEST_FILE);
    let text = |bytes: Option<&Vec<u8>>| String::from_utf8_lossy(bytes.map_or(&[], Vec::as_slice)).into_owned();
    let lines = if too_large { Vec::new() } else { changed_lines(&text(from), &text(to)) };
    Some(FileChange { path: path.to_owned(), how, lines, hidden: 0, too_large })
}

/// The changed lines, each with up to three lines around it.
fn changed_lines(before: &str, after: &str) -> Vec<Line> {
    let diff = TextDiff::configure().timeout(PATIENCE).diff_lines(before, after);
    let mut lines: Vec<Line> = Vec::new();
    for group in diff.grouped_ops(3) {
        if !lines.is_empty() {
            lines.push(Line { sign: '…', text: String::new() });
        }
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
            let sign = match change.tag() {
                ChangeTag::Equal => ' ',
                ChangeTag::Delete => '-',
                ChangeTag::Insert => '+',
            };
            lines.push(Line { sign, text: change.value().trim_end_matches('\n').to_owned() });
        }
    }
    lines
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;

    fn tree(files: &[(&str, &str)]) -> BTreeMap<String, Vec<u8>> {
        files.iter().map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec())).collect()
    }

    #[test]
    fn added_removed_changed_and_equal() {
        let whole = difference(
            &tree(&[("a", "1\n2\n3\n"), ("b", "x\n"), ("same", "s\n")]),
            &tree(&[("a", "1\n4\n3\n"), ("c", "y\n"), ("same", "s\n")]),
        );
        let seen: Vec<(&str, &str)> = whole.files.iter().map(|change| (change.path.as_str(), change.how)).collect();
        assert_eq!(seen, [("a", "changed"), ("b", "removed"), ("c", "added")]);
        let lines = &whole.files[0].lines;
        let shown: Vec<String> = lines.iter().map(|line| format!("{}{}", line.sign, line.text)).collect();
        assert_eq!(shown, [" 1", "-2", "+4", " 3"]);
        assert_eq!((whole.added, whole.removed), (2, 2));
    }

    #[test]
    fn places_far_apart_are_told_apart() {
        let old = "line\n".repeat(40);
        let new = format!("first\n{old}last\n");
        let whole = difference(&tree(&[("a", &old)]), &tree(&[("a", &new)]));
        assert_eq!(whole.files[0].lines.iter().filter(|line| line.class() == "gap").count(), 1);
    }

    #[test]
    fn long_changes_are_counted_over_all_files() {
        let long = "line\n".repeat(MOST_LINES - 5);
        let whole = difference(&tree(&[]), &tree(&[("a", &long), ("b", &long)]));
        assert_eq!((whole.files[0].lines.len(), whole.files[0].hidden), (MOST_LINES - 5, 0));
        assert_eq!((whole.files[1].lines.len(), whole.files[1].hidden), (5, MOST_LINES - 10));
        assert_eq!(whole.added, 2 * (MOST_LINES - 5));
        let large = "x".repeat(LARGEST_FILE + 1);
        let whole = difference(&tree(&[("a", &large)]), &tree(&[("a", "")]));
        assert!(whole.files[0].too_large);
    }
}
