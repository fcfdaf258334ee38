//! Two versions of a pack side by side: which files changed, and how.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use exo_index::registry::shard::VersionEntry;
use serde::Serialize;
use similar::{ChangeTag, TextDiff};

use crate::contents;
use crate::efforts::Audience;
use crate::failure::Failure;
use crate::service::Service;

/// The most lines shown of all files together. Of the file in which it is reached the rest is counted; those behind it are only named.
const MOST_LINES: usize = 4000;

/// The most text shown of all files together, in bytes.
const MOST_TEXT: usize = 2 << 20;

/// A larger file is not compared line by line, in bytes.
const LARGEST_FILE: usize = 512 << 10;

/// How long the comparison of one file may look for the shortest change.
const PATIENCE: Duration = Duration::from_millis(300);

/// How long the comparison of all files may take; those behind it are only named.
const PATIENCE_WITH_ALL: Duration = Duration::from_secs(1);

/// Everything that changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Difference {
    /// In the order of the paths.
    pub(crate) files: Vec<FileChange>,
    /// Lines of the files that were compared.
    pub(crate) added: usize,
    pub(crate) removed: usize,
    /// Files of which only the name is told, since all before them were much already.
    pub(crate) not_compared: usize,
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
    /// The files before it were so much that it was not compared.
    pub(crate) not_compared: bool,
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
pub(crate) async fn of(service: &Service, from: &VersionEntry, to: &VersionEntry) -> Result<Difference, Failure> {
    let place = service.comparing.place().await?;
    let registry = &service.registry;
    let (old, new) = (contents::files(registry, from).await?, contents::files(registry, to).await?);
    place.work(move |audience| difference(&old.files, &new.files, &mut Room::new(audience))).await
}

/// What there still is to spend on a difference.
struct Room<'a> {
    lines: usize,
    text: usize,
    until: Instant,
    audience: &'a Audience,
}

impl<'a> Room<'a> {
    fn new(audience: &'a Audience) -> Self {
        Self { lines: MOST_LINES, text: MOST_TEXT, until: Instant::now() + PATIENCE_WITH_ALL, audience }
    }

    fn is_used_up(&self) -> bool {
        self.lines == 0 || self.text == 0 || Instant::now() >= self.until || self.audience.has_left()
    }

    /// How many of some lines there is room for; they take it.
    fn take(&mut self, lines: &[Line]) -> usize {
        let mut taken = 0;
        for line in lines.iter().take(self.lines) {
            if line.text.len() > self.text {
                self.text = 0;
                break;
            }
            self.text -= line.text.len();
            taken += 1;
        }
        self.lines -= taken;
        taken
    }
}

/// What changed from one tree of files to another.
fn difference(from: &BTreeMap<String, Vec<u8>>, to: &BTreeMap<String, Vec<u8>>, room: &mut Room<'_>) -> Difference {
    let paths: BTreeSet<&String> = from.keys().chain(to.keys()).collect();
    let mut whole = Difference { files: Vec::new(), added: 0, removed: 0, not_compared: 0 };
    for path in paths {
        let Some(mut change) = file_change(path, from.get(path), to.get(path), room) else { continue };
        whole.added += change.lines.iter().filter(|line| line.sign == '+').count();
        whole.removed += change.lines.iter().filter(|line| line.sign == '-').count();
        whole.not_compared += usize::from(change.not_compared);
        let shown = room.take(&change.lines);
        change.hidden = change.lines.len() - shown;
        change.lines.truncate(shown);
        whole.files.push(change);
    }
    whole
}

fn file_change(path: &str, from: Option<&Vec<u8>>, to: Option<&Vec<u8>>, room: &Room<'_>) -> Option<FileChange> {
    if from == to {
        return None;
    }
    let how = match (from, to) {
        (None, _) => "added",
        (_, None) => "removed",
        (Some(_), Some(_)) => "changed",
    };
    let too_large = from.into_iter().chain(to).any(|bytes| bytes.len() > LARGEST_FILE);
    let not_compared = !too_large && room.is_used_up();
    let text = |bytes: Option<&Vec<u8>>| String::from_utf8_lossy(bytes.map_or(&[], Vec::as_slice)).into_owned();
    let lines = match too_large || not_compared {
        true => Vec::new(),
        false => changed_lines(&text(from), &text(to), room.until),
    };
    Some(FileChange { path: path.to_owned(), how, lines, hidden: 0, too_large, not_compared })
}

/// The changed lines, each with up to three lines around it.
fn changed_lines(before: &str, after: &str, until: Instant) -> Vec<Line> {
    let diff = TextDiff::configure().deadline(until.min(Instant::now() + PATIENCE)).diff_lines(before, after);
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

    fn difference(from: &BTreeMap<String, Vec<u8>>, to: &BTreeMap<String, Vec<u8>>) -> Difference {
        super::difference(from, to, &mut Room::new(&Audience::default()))
    }

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

    /// Text that is compared for as long as it may be: short lines, of which many are the same in other places.
    fn shuffled(seed: u64) -> String {
        let mut state = seed;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state >> 33
        };
        (0..12_000).map(|_| format!("# {}\n", next() % 997)).collect()
    }

    #[test]
    fn all_files_together_have_an_end() {
        let trees = [1, 2].map(|seed| {
            let text = shuffled(seed);
            (0..60).map(|number| (format!("f{number:02}"), text.clone().into_bytes())).collect::<BTreeMap<_, _>>()
        });
        let start = Instant::now();
        let whole = difference(&trees[0], &trees[1]);
        // Alone, each of them takes all of its time.
        assert!(start.elapsed() < 20 * PATIENCE, "{:?}", start.elapsed());
        assert_eq!((whole.files.len(), whole.not_compared), (60, 59));
        assert!(whole.files[0].hidden > 0 && whole.files[59].not_compared && whole.files[59].how == "changed");
    }

    #[test]
    fn long_lines_have_an_end_too() {
        let long = format!("{}\n", "x".repeat(LARGEST_FILE - 1));
        let all: BTreeMap<_, _> = (0..40).map(|number| (format!("f{number:02}"), long.clone().into_bytes())).collect();
        let whole = difference(&tree(&[]), &all);
        let shown: usize = whole.files.iter().flat_map(|file| &file.lines).map(|line| line.text.len()).sum();
        assert!(shown <= MOST_TEXT && whole.not_compared > 30, "{shown} {}", whole.not_compared);
    }

    #[test]
    fn nothing_is_compared_once_the_time_is_over() {
        let audience = Audience::default();
        let mut room = Room::new(&audience);
        room.until = Instant::now();
        let whole = super::difference(&tree(&[("a", "1\n")]), &tree(&[("a", "2\n")]), &mut room);
        assert!(whole.files[0].not_compared && whole.files[0].lines.is_empty());
    }
}
