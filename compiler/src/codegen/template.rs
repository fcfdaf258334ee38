//! Instruction templates: C with `{name}` placeholders, doubled braces standing for themselves.

use std::collections::BTreeSet;

use crate::diagnostic::{Diagnostic, codes, nearest};
use crate::loop_ir::procedure::{Arg, ArgType, Proc};

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

/// Checks that the template of an instruction can be filled in: its placeholders are what its parameters provide.
///
/// # Errors
/// Braces that do not pair up, and placeholders that no parameter provides, or two.
pub fn check(proc: &Proc) -> Result<(), Diagnostic> {
    let Some(instruction) = &proc.instr else { return Ok(()) };
    let refused = |reason: String| {
        Diagnostic::error(codes::TEMPLATE, format!("instruction `{}`: {reason}", proc.name))
            .at(&proc.span, "instruction")
    };
    let provided = provided(proc);
    let written: Vec<String> = provided.iter().map(|name| format!("`{{{name}}}`")).collect();
    let all = match written.is_empty() {
        true => "it has no parameters, so the template has no placeholders".to_string(),
        false => format!("its parameters provide {}", written.join(", ")),
    };
    for piece in parse(&instruction.template).map_err(|reason| refused(reason).hint(all.as_str()))? {
        let Piece::Placeholder(name) = piece else { continue };
        // The data of a scalar is the scalar.
        let is_scalar_data = name.strip_suffix("_data").is_some_and(|stem| provided.iter().any(|known| known == stem));
        if provided.iter().filter(|known| **known == name).count() > 1 {
            let problem = refused(format!("the template names `{{{name}}}`, which two parameters provide"));
            return Err(problem.hint("rename one of them: a window `x` also provides `{x_data}` and `{x_int}`"));
        }
        if is_scalar_data || provided.contains(&name) {
            continue;
        }
        let problem = refused(format!("the template names `{{{name}}}`, which no parameter provides"));
        let near = nearest(&name, provided.iter().map(String::as_str));
        return Err(match near.first() {
            Some(near) => problem.hint(format!("there is a similar name: `{{{near}}}`")).hint(all),
            None => problem.hint(all).hint("a brace of C is written twice: `{{` and `}}`"),
        });
    }
    Ok(())
}

/// The placeholders that the parameters of an instruction provide.
fn provided(proc: &Proc) -> Vec<String> {
    let forms = |arg: &Arg| {
        let name = arg.name.name();
        match &arg.ty {
            ArgType::Data(ty) if ty.is_window => {
                vec![name.to_string(), format!("{name}_data"), format!("{name}_int")]
            }
            ArgType::Data(_) | ArgType::Control(_) => vec![name.to_string()],
        }
    };
    proc.args.iter().flat_map(forms).collect()
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

/// What macros in a text paste together with `##`: what stands before, between and after their parameters.
pub fn pasted(text: &str) -> Vec<Vec<String>> {
    let joined = text.replace("\\\n", " ").replace("\\\r\n", " ");
    let mut found = Vec::new();
    for line in joined.lines() {
        let Some(definition) = line.trim_start().strip_prefix('#').map(str::trim_start) else { continue };
        let Some(definition) = definition.strip_prefix("define") else { continue };
        let Some((_, rest)) = definition.split_once('(') else { continue };
        let Some((parameters, body)) = rest.split_once(')') else { continue };
        let parameters: Vec<&str> = parameters.split(',').map(str::trim).collect();
        found.extend(chains(body).into_iter().filter_map(|chain| pieces_around(&chain, &parameters)));
    }
    found
}

/// The words of each place of a text where `##` stands between words.
fn chains(body: &str) -> Vec<Vec<&str>> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let parts: Vec<&str> = body.split("##").collect();
    let mut found: Vec<Vec<&str>> = Vec::new();
    let mut goes_on = false;
    for pair in parts.windows(2) {
        let [before, after] = pair else { continue };
        let (before, after) = (before.trim_end(), after.trim_start());
        let left = before.rsplit(|c| !is_part(c)).next().unwrap_or_default();
        let right = after.split(|c| !is_part(c)).next().unwrap_or_default();
        match found.last_mut().filter(|_| goes_on) {
            Some(chain) => chain.push(right),
            None => found.push(vec![left, right]),
        }
        // One word alone between two signs belongs to both.
        goes_on = after.trim_end() == right;
    }
    found
}

/// `None` where no parameter is among the words.
fn pieces_around(chain: &[&str], parameters: &[&str]) -> Option<Vec<String>> {
    let mut pieces = vec![String::new()];
    for word in chain {
        match pieces.last_mut() {
            Some(last) if !parameters.contains(word) => last.push_str(word),
            _ => pieces.push(String::new()),
        }
    }
    // A name alone is made nothing of.
    (pieces.len() > 2 || (pieces.len() == 2 && pieces.iter().any(|piece| !piece.is_empty()))).then_some(pieces)
}

/// The names that a text defines as macros without arguments, which C replaces wherever they stand: in members, too.
pub fn object_macros(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| {
        let definition = line.trim_start().strip_prefix('#')?.trim_start().strip_prefix("define")?;
        let definition = definition.strip_prefix([' ', '\t'])?.trim_start();
        let end = definition.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(definition.len());
        let (name, rest) = definition.split_at(end);
        (!name.is_empty() && !rest.starts_with('(')).then_some(name)
    })
}

/// The tags of the structs, unions and enumerations that a text defines.
pub fn defined_tags(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices('{').filter_map(|(at, _)| {
        let mut before = text.get(..at)?.split_whitespace().rev();
        let tag = before.next()?;
        matches!(before.next()?, "struct" | "union" | "enum").then_some(tag)
    })
}

/// The names before a `(` in a text: of what it calls or defines, outside comments and quotes.
pub fn called(text: &str) -> BTreeSet<String> {
    let code = without_comments_and_quotes(text);
    let followed = |start: usize, word: &str| code.get(start + word.len()..).unwrap_or_default().trim_start();
    let is_called = |(start, word): &(usize, &str)| followed(*start, word).starts_with('(');
    placed_words(&code).filter(is_called).map(|(_, word)| word.to_string()).collect()
}

/// A text of C in which comments are blanks and quotes are empty.
fn without_comments_and_quotes(text: &str) -> String {
    let mut code = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let end = match first {
            '/' if rest.starts_with("//") => rest.find('\n'),
            '/' if rest.starts_with("/*") => rest.find("*/").map(|at| at + 2),
            '"' | '\'' => end_of_quote(rest, first),
            _ => {
                code.push(first);
                rest = rest.get(first.len_utf8()..).unwrap_or_default();
                continue;
            }
        };
        code.push(if first == '/' { ' ' } else { first });
        rest = end.and_then(|end| rest.get(end..)).unwrap_or_default();
    }
    code
}

/// Where what begins with a quotation mark is over.
fn end_of_quote(text: &str, mark: char) -> Option<usize> {
    let mut escaped = false;
    text.char_indices().skip(1).find_map(|(at, c)| {
        let is_end = c == mark && !escaped;
        escaped = c == '\\' && !escaped;
        is_end.then_some(at + 1)
    })
}

/// What C reads as identifiers and keywords.
pub fn words(text: &str) -> impl Iterator<Item = String> {
    placed_words(text).map(|(_, word)| word.to_string())
}

/// The words that have one of these places of a text inside of them.
pub fn words_over(text: &str, places: &BTreeSet<usize>) -> Vec<String> {
    let is_inside = |start: usize, word: &str| places.range(start + 1..start + word.len()).next().is_some();
    placed_words(text).filter(|(start, word)| is_inside(*start, word)).map(|(_, word)| word.to_string()).collect()
}

/// Words, each with the byte at which it starts.
fn placed_words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut end = 0;
    let parts = text.split_inclusive(move |c: char| !is_part(c)).map(move |part| {
        let start = end;
        end += part.len();
        (start, part.trim_end_matches(|c: char| !is_part(c)))
    });
    parts.filter(|(_, word)| word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_'))
}
