//! What a pack must have before others get to see it: the checks that `exo package`, `exo publish` and a registry share.

mod licence;
mod secrets;

#[cfg(test)]
mod tests;

use std::fmt;

use crate::archive::PackFiles;
use crate::manifest::{Dependency, DependencySource, MANIFEST_FILE, Manifest};
use crate::visible::is_line;

pub use licence::licence_problem;
pub use secrets::{SECRET_ALLOWED, Secret, secrets};

/// The longest description, in characters: one line of a list of packs.
const LONGEST_DESCRIPTION: usize = 300;

/// The most keywords of a pack.
const MOST_KEYWORDS: usize = 10;

/// The longest keyword, in characters.
const LONGEST_KEYWORD: usize = 40;

/// The longest address of a repository, and the longest licence, in bytes.
const LONGEST_LINE: usize = 300;

/// What to do about a text that is copied from somewhere with what nobody sees.
const ANEW: &str = "write it anew without copying";

/// How much a finding weighs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    /// The pack is not published like this.
    Refusal,
    /// Worth mending, and not in the way.
    Advice,
}

/// One thing that is wrong with a pack that is to be published.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// Whether it stands in the way.
    pub weight: Weight,
    /// The file it is about.
    pub file: String,
    /// The line in it, from 1 on, where there is one.
    pub line: Option<usize>,
    /// What is wrong, in one phrase.
    pub message: String,
    /// How to put it right.
    pub hint: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.file, self.message),
            None => write!(f, "{}: {}", self.file, self.message),
        }
    }
}

/// Everything that is wrong with a pack that is to be published: what stands in the way first, each in the order of
/// files and lines; nothing for a pack that is ready.
///
/// `files` are those of the archive and `manifest` is the one among them. `template` is the README that
/// `exo new` writes for such a pack, which says nothing about this one; a registry that does not know it gives the empty text.
pub fn examine(files: &PackFiles, manifest: &Manifest, template: &str) -> Vec<Finding> {
    let mut found = Vec::new();
    readme(files, template, &mut found);
    about(manifest, &mut found);
    for dependency in manifest.all_dependencies() {
        origin(files, dependency, &mut found);
    }
    modules(files, &mut found);
    changelog(files, manifest, &mut found);
    for (path, contents) in &files.files {
        found.extend(secrets(&String::from_utf8_lossy(contents)).into_iter().map(|secret| Finding {
            weight: Weight::Refusal,
            file: path.clone(),
            line: Some(secret.line),
            message: format!("this looks like {}", secret.kind),
            hint: format!(
                "remove it and revoke it, since it may have been seen; where it is none, write `{SECRET_ALLOWED}` on that line"
            ),
        }));
    }
    found.sort();
    found.dedup();
    found
}

fn finding(weight: Weight, file: &str, message: impl Into<String>, hint: impl Into<String>) -> Finding {
    Finding { weight, file: file.to_owned(), line: None, message: message.into(), hint: hint.into() }
}

/// The number of the line, from 1 on, that the byte at `at` stands in.
fn line_of(text: &str, at: usize) -> usize {
    text.as_bytes().iter().take(at).filter(|byte| **byte == b'\n').count() + 1
}

fn readme(files: &PackFiles, template: &str, found: &mut Vec<Finding>) {
    const README: &str = "README.md";
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let hint = "say in it what the pack is for, and how it is used";
    match files.files.get(README) {
        None => found.push(finding(Weight::Refusal, README, "the pack has no README.md", hint)),
        Some(contents) => {
            let text = String::from_utf8_lossy(contents);
            let own = words(&text);
            if text.lines().map(str::trim).all(|line| line.is_empty() || line.starts_with('#')) {
                found.push(finding(Weight::Refusal, README, "the README is empty", hint));
            } else if own == words(template) {
                found.push(finding(Weight::Refusal, README, "the README is the one that `exo new` wrote", hint));
            }
        }
    }
}

fn about(manifest: &Manifest, found: &mut Vec<Finding>) {
    let pack = &manifest.pack;
    let mut say = |weight, message: String, hint: &str| found.push(finding(weight, MANIFEST_FILE, message, hint));
    match pack.description.as_deref().map(str::trim) {
        None | Some("") => say(
            Weight::Refusal,
            "the pack has no description".to_owned(),
            "add `description = \"…\"` to `[pack]`: one line, shown in lists of packs",
        ),
        Some(text) if text.contains(['\n', '\r']) || text.chars().count() > LONGEST_DESCRIPTION => say(
            Weight::Refusal,
            format!("the description is not one line of at most {LONGEST_DESCRIPTION} characters"),
            "say more in README.md",
        ),
        Some(text) if !is_line(text, usize::MAX) => say(
            Weight::Refusal,
            "the description has a character that cannot be seen, or that turns the direction of text".to_owned(),
            ANEW,
        ),
        Some(_) => {}
    }
    match pack.license.as_deref() {
        None => say(
            Weight::Refusal,
            "the pack has no licence, so nobody may use it".to_owned(),
            "add `license = \"…\"` to `[pack]`, an SPDX expression such as `MIT` or `Apache-2.0 WITH LLVM-exception`",
        ),
        Some(text) if !is_line(text, LONGEST_LINE) => say(
            Weight::Refusal,
            format!("the licence is not one line of at most {LONGEST_LINE} bytes, all of which can be seen"),
            "put the text of the licence into LICENSE, and name it by its SPDX expression",
        ),
        Some(text) => {
            if let Some((problem, hint)) = licence_problem(text) {
                say(Weight::Refusal, problem, &hint);
            }
        }
    }
    keywords(&pack.keywords, found);
    let mut say = |weight, message: String, hint: &str| found.push(finding(weight, MANIFEST_FILE, message, hint));
    if pack.exo.is_any() {
        let message = "the pack does not say which versions of exo it works with".to_owned();
        say(Weight::Advice, message, "add `exo = \">=…\"` to `[pack]`, so that a later exo is not blamed for it");
    }
    match pack.repository.as_deref() {
        None => {
            let message = "the pack does not say where its source is kept".to_owned();
            say(Weight::Advice, message, "add `repository = \"…\"` to `[pack]`");
        }
        Some(text) if !is_line(text, LONGEST_LINE) => {
            let message =
                format!("the repository is not one line of at most {LONGEST_LINE} bytes, all of which can be seen");
            say(Weight::Refusal, message, ANEW);
        }
        Some(_) => {}
    }
}

/// Words that people type to find the pack: few, short, and seen where they stand.
fn keywords(words: &[String], found: &mut Vec<Finding>) {
    let mut refuse = |message: String, hint: &str| found.push(finding(Weight::Refusal, MANIFEST_FILE, message, hint));
    if words.len() > MOST_KEYWORDS {
        refuse(format!("there are more than {MOST_KEYWORDS} keywords"), "keep those that people search for");
    }
    for (number, word) in words.iter().enumerate() {
        let number = number + 1;
        if word.trim().is_empty() {
            refuse(format!("keyword {number} is empty"), "remove it, or write the word that people search for");
        } else if word.chars().count() > LONGEST_KEYWORD {
            refuse(
                format!("keyword {number} is longer than {LONGEST_KEYWORD} characters"),
                "write single words, and say more in README.md",
            );
        } else if !is_line(word, usize::MAX) {
            let message =
                format!("keyword {number} has a character that cannot be seen, or that turns the direction of text");
            refuse(message, ANEW);
        }
    }
}

/// Who gets the pack from a registry has neither this disk nor the right to read some repository.
fn origin(files: &PackFiles, dependency: &Dependency, found: &mut Vec<Finding>) {
    let name = &dependency.name;
    let (what, hint) = match &dependency.source {
        DependencySource::Path(path) if dependency.requirement.is_any() => (
            format!("`{name}` comes from the folder `{path}`, which nobody else has"),
            format!(
                "add a version for those who get it from a registry: `{name} = {{ path = \"{path}\", version = \"…\" }}`"
            ),
        ),
        DependencySource::Git(_) => (
            format!("`{name}` comes from a git repository, and a published pack depends on published packs only"),
            format!("publish `{name}` first, then write `{name} = \"…\"`"),
        ),
        DependencySource::Default if dependency.requirement.is_any() => (
            format!("`{name}` is taken at any version"),
            format!("write the oldest version that works: `{name} = \"…\"`"),
        ),
        DependencySource::Registry(other) => (
            format!("`{name}` comes from registry `{other}`, and a pack needs packs of its own registry only"),
            format!("publish this pack there (`exo publish --registry {other}`), or `{name}` where this pack goes"),
        ),
        DependencySource::Default | DependencySource::Path(_) => return,
    };
    let text = files.files.get(MANIFEST_FILE).map(|bytes| String::from_utf8_lossy(bytes)).unwrap_or_default();
    let line = Some(line_of(&text, dependency.name_span.start));
    found.push(Finding { line, ..finding(Weight::Refusal, MANIFEST_FILE, what, hint) });
}

fn modules(files: &PackFiles, found: &mut Vec<Finding>) {
    if !files.files.keys().any(|path| path.starts_with("src/")) {
        found.push(finding(
            Weight::Refusal,
            "src",
            "the pack has no modules",
            "put modules, files in `.exo`, into src/",
        ));
    }
    if !files.files.keys().any(|path| path.starts_with("tests/")) {
        let hint = "what tests claim is proven again wherever the pack is installed; put them into tests/";
        found.push(finding(Weight::Advice, "tests", "the pack has no tests", hint));
    }
    if !files.files.contains_key("LICENSE") {
        let hint = "put the text of the licence into LICENSE";
        found.push(finding(Weight::Advice, "LICENSE", "the text of the licence is not in the pack", hint));
    }
}

fn changelog(files: &PackFiles, manifest: &Manifest, found: &mut Vec<Finding>) {
    const CHANGELOG: &str = "CHANGELOG.md";
    let version = manifest.pack.version.value.to_string();
    let tells = files.files.get(CHANGELOG).is_some_and(|text| String::from_utf8_lossy(text).contains(&version));
    if !tells {
        let message = format!("there is no word about version {version}");
        found.push(finding(Weight::Advice, CHANGELOG, message, "say what users of the version before will notice"));
    }
}
