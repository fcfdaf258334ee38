//! The files of a pack out of git's objects: listed, measured and read without ever being written to a folder.

use std::collections::BTreeMap;

use exo_compiler::diagnostic::codes;
use exo_index::archive::{Limits, check_path, is_pack_file};
use exo_index::manifest::GitSource;

use super::process::Repository;
use crate::failure::{Failure, Outcome};

/// One entry of a commit's tree.
struct Entry {
    mode: String,
    object: String,
    size: u64,
    /// As seen from the pack's folder.
    path: String,
}

/// The files of the pack that a source names, at a commit.
pub(super) fn files_of_pack(
    repository: &Repository,
    commit: &str,
    source: &GitSource,
) -> Outcome<BTreeMap<String, Vec<u8>>> {
    let entries = wanted(&source.url, listed(repository, commit, source.path.as_deref())?)?;
    let request: String = entries.iter().map(|entry| format!("{}\n", entry.object)).collect();
    let answer = repository.run(&["cat-file", "--batch"], request.as_bytes())?;
    let damaged = || Failure::environment(format!("git gave something else than the files of `{}`", source.url));
    let mut rest: &[u8] = &answer;
    let mut files = BTreeMap::new();
    for entry in entries {
        // `OBJECT blob SIZE`, a newline, the bytes, a newline.
        let end = rest.iter().position(|byte| *byte == b'\n').ok_or_else(damaged)?;
        let (head, body) = rest.split_at(end);
        let size = usize::try_from(entry.size).map_err(|_| damaged())?;
        if *head != *format!("{} blob {size}", entry.object).as_bytes() {
            return Err(damaged());
        }
        let contents = body.get(1..=size).ok_or_else(damaged)?;
        rest = body.get(size + 2..).ok_or_else(damaged)?;
        files.insert(entry.path, contents.to_vec());
    }
    Ok(files)
}

fn listed(repository: &Repository, commit: &str, folder: Option<&str>) -> Outcome<Vec<Entry>> {
    let mut arguments = vec!["ls-tree", "-r", "-z", "-l", "--full-tree", commit];
    let folder = folder.map(|folder| format!("{folder}/"));
    if let Some(folder) = &folder {
        arguments.extend(["--", folder.as_str()]);
    }
    let answer = repository.run(&arguments, &[])?;
    let entries = answer.split(|byte| *byte == 0).filter(|entry| !entry.is_empty());
    let parsed = entries.filter_map(|entry| {
        let text = String::from_utf8_lossy(entry);
        let (about, path) = text.split_once('\t')?;
        let mut words = about.split_ascii_whitespace();
        let (mode, _, object, size) = (words.next()?, words.next()?, words.next()?, words.next()?);
        let path = match &folder {
            Some(folder) => path.strip_prefix(folder.as_str())?,
            None => path,
        };
        // Submodules have `-` for a size.
        let size = size.parse().unwrap_or(0);
        Some(Entry { mode: mode.to_string(), object: object.to_string(), size, path: path.to_string() })
    });
    Ok(parsed.collect())
}

/// Those entries that are part of the pack; the same rules as for a folder on this disk.
fn wanted(url: &str, entries: Vec<Entry>) -> Outcome<Vec<Entry>> {
    let limits = Limits::default();
    let refuse = |path: &str, why: String, hint: &str| {
        Err(Failure::refused(format!("`{}` in `{url}` {why}", path.escape_debug())).code(codes::RESOLUTION).hint(hint))
    };
    let mut kept = Vec::new();
    let mut total = 0;
    for entry in entries {
        let path = entry.path.as_str();
        let top = path.split('/').next().unwrap_or(path);
        let is_part = is_pack_file(path) || matches!(top, "src" | "tests");
        if is_part && !matches!(entry.mode.as_str(), "100644" | "100755") {
            let what = if entry.mode == "160000" { "is a submodule" } else { "is a symbolic link" };
            return refuse(
                path,
                what.to_string(),
                "packs hold regular files only; ask its author to put the files there",
            );
        }
        let hidden = path.split('/').any(|part| part.starts_with('.'));
        let is_misnamed_module = is_part && path.ends_with(".exo") && !hidden;
        if !(is_pack_file(path) || is_misnamed_module) {
            continue;
        }
        if let Err(problem) = check_path(path) {
            return refuse(path, format!("cannot be part of a pack: {problem}"), "ask its author to rename it");
        }
        total += entry.size;
        if entry.size > limits.file_bytes || total > limits.total_bytes || kept.len() as u64 >= limits.entries {
            return refuse(
                path,
                "makes the pack larger than packs may be".to_string(),
                "a pack holds source text only",
            );
        }
        kept.push(entry);
    }
    Ok(kept)
}
