//! The files of a pack, and the text of one of them.

use askama::Template;
use axum::response::Response;

use super::super::format;
use super::super::render;
use super::super::trouble::PageError;
use super::super::visitor::Frame;
use super::{Shown, Whole};
use crate::contents;
use crate::error::ApiError;
use crate::registry::Registry;

/// A longer file is not shown, in bytes.
const LONGEST: usize = 1 << 20;

/// A file of more lines is not shown: each has a place of its own in the page, which is longer than most lines.
const MOST_LINES: usize = 20_000;

/// A file in the list.
struct FileRow {
    path: String,
    size: String,
    address: String,
    open: bool,
}

/// The file that is shown.
struct OpenFile {
    path: String,
    /// Why there is no text.
    hidden: Option<&'static str>,
    lines: Vec<String>,
}

#[derive(Template)]
#[template(path = "pack_sources.html")]
struct Sources<'a> {
    frame: &'a Frame,
    pack: &'a Shown,
    files: Vec<FileRow>,
    open: Option<OpenFile>,
    archive: String,
}

fn opened(path: &str, bytes: &[u8]) -> OpenFile {
    let (hidden, text) = match std::str::from_utf8(bytes) {
        _ if bytes.len() > LONGEST => (Some("It is too long to be shown."), ""),
        Err(_) => (Some("It is no text."), ""),
        Ok(text) if text.lines().count() > MOST_LINES => (Some("It has too many lines to be shown."), ""),
        Ok(text) => (None, text),
    };
    OpenFile { path: path.to_owned(), hidden, lines: text.lines().map(str::to_owned).collect() }
}

pub(super) async fn page(registry: &Registry, whole: Whole<'_>, file: &str) -> Result<Response, PageError> {
    let pack = whole.pack;
    let files = contents::files(registry, &pack.entry).await?;
    let open = match (file, files.files.get(file)) {
        ("", _) => None,
        (path, Some(bytes)) => Some(opened(path, bytes)),
        (path, None) => {
            let message = format!("`{} {}` has no file `{path}`", pack.name(), pack.entry.version);
            return Err(ApiError::absent(message, "the page of its sources lists those that it has").into());
        }
    };
    let row = |(path, bytes): (&String, &Vec<u8>)| FileRow {
        path: path.clone(),
        size: format::bytes(bytes.len() as u64),
        address: pack.file_address(path),
        open: path == file,
    };
    render(&Sources {
        frame: whole.frame,
        pack,
        files: files.files.iter().map(row).collect(),
        open,
        archive: format!("/{}", exo_index::registry::layout::blob(&pack.entry.archive)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_be_a_long_page_is_not_shown() {
        assert_eq!(opened("a", "x\n".repeat(MOST_LINES).as_bytes()).lines.len(), MOST_LINES);
        for bytes in [vec![b'\n'; LONGEST], vec![b'x'; LONGEST + 1], vec![0xff]] {
            let file = opened("a", &bytes);
            assert!(file.hidden.is_some() && file.lines.is_empty());
        }
    }
}
