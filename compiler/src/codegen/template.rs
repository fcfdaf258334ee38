//! Instruction templates: C with `{name}` placeholders, doubled braces standing for themselves.

use std::collections::BTreeSet;

/// A piece of a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    Text(String),
    Placeholder(String),
}

/// Splits a template.
///
/// # Errors
/// The reason, lower-case, when braces do not pair up or a placeholder is not a plain name.
pub fn parse(template: &str) -> Result<Vec<Piece>, String> {
    let mut pieces = Vec::new();
    let mut text = String::new();
    let mut chars = template.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '{' if chars.peek() == Some(&'{') => {
                chars.next();
                text.push('{');
            }
            '}' if chars.peek() == Some(&'}') => {
                chars.next();
                text.push('}');
            }
            '}' => return Err("a single `}` in the template; write `}}` for a brace of C".into()),
            '{' => {
                let mut name = String::new();
                loop {
                    match chars.next() {
                        Some('}') => break,
                        Some(c) => name.push(c),
                        None => return Err("a `{` in the template is not closed; write `{{` for a brace of C".into()),
                    }
                }
                let is_name = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_');
                if !is_name {
                    return Err(format!("placeholder `{{{name}}}` is not the name of a parameter"));
                }
                if !text.is_empty() {
                    pieces.push(Piece::Text(std::mem::take(&mut text)));
                }
                pieces.push(Piece::Placeholder(name));
            }
            other => text.push(other),
        }
    }
    if !text.is_empty() {
        pieces.push(Piece::Text(text));
    }
    Ok(pieces)
}

/// The identifiers in a template's own text, outside placeholders: what it declares would capture a caller's name.
pub fn identifiers(template: &str) -> BTreeSet<String> {
    // A template that does not parse is refused where it is used.
    let pieces = parse(template).unwrap_or_default();
    let texts = pieces.iter().filter_map(|piece| match piece {
        Piece::Text(text) => Some(text.as_str()),
        Piece::Placeholder(_) => None,
    });
    texts.flat_map(words).collect()
}

/// The identifiers in the text that an instruction needs once per file, without the names of included headers.
pub fn global_identifiers(global: &str) -> BTreeSet<String> {
    let own = global.lines().filter(|line| {
        let directive = line.trim_start().strip_prefix('#').map(str::trim_start);
        !directive.is_some_and(|directive| directive.starts_with("include"))
    });
    own.flat_map(words).collect()
}

/// The identifiers in the macros that a text defines, with their continued lines: they hold in the whole file. What else it
/// declares is in the way only where other text mentions it.
pub fn macro_identifiers(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut in_macro = false;
    for line in text.lines() {
        let directive = line.trim_start().strip_prefix('#').map(str::trim_start);
        in_macro |= directive.is_some_and(|directive| directive.starts_with("define"));
        if in_macro {
            found.extend(words(line));
        }
        in_macro &= line.trim_end().ends_with('\\');
    }
    found
}

/// What C reads as identifiers and keywords.
pub fn words(text: &str) -> impl Iterator<Item = String> {
    let parts = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    parts.filter(|word| word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')).map(str::to_string)
}
