//! The names of packs: their grammar, the name a module imports them by, and the nearest known name to a wrong one.

use std::borrow::Borrow;
use std::fmt;
use std::str::FromStr;

/// The longest a pack name or a vendor name may be, in bytes.
pub const MAX_NAME_LENGTH: usize = 64;

/// Words that no `import` statement of the language can name, so no pack may be called so.
const LANGUAGE_WORDS: &[&str] = &[
    "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del", "elif", "else", "except",
    "exo", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "load", "nonlocal", "not", "or",
    "pass", "raise", "return", "try", "while", "with", "yield",
];

/// The name of a pack, `neon-conv2d` or `@vendor/neon`.
///
/// Both parts match `[a-z][a-z0-9-]*`, are at most [`MAX_NAME_LENGTH`] bytes long, are no device name of
/// Windows (a pack's name becomes a directory) and, for the last part, no word of the language.
/// The order is that of the text.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PackName(String);

/// Why a text is not a pack name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NameError {
    /// What is wrong, in one phrase.
    pub message: String,
    /// What to write instead, where that is known.
    pub hint: Option<String>,
}

impl fmt::Display for NameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for NameError {}

impl PackName {
    /// Reads a name.
    ///
    /// # Errors
    /// The text does not follow the grammar; the hint proposes the nearest text that does.
    pub fn parse(text: &str) -> Result<Self, NameError> {
        let result = match text.strip_prefix('@') {
            Some(scoped) => match scoped.split_once('/') {
                Some((vendor, name)) => check_part("vendor name", vendor).and_then(|()| check_pack_part(name)),
                None => Err(format!("`{text}` has a vendor but no pack name")),
            },
            None => check_pack_part(text),
        };
        match result {
            Ok(()) => Ok(Self(text.to_owned())),
            Err(message) => {
                let hint = suggestion(text).map(|name| format!("`{name}` would be a valid name")).or_else(|| {
                    Some("a name is made of lower-case letters, digits and `-`, and starts with a letter".to_owned())
                });
                Err(NameError { message, hint })
            }
        }
    }

    /// The whole name, `@vendor/neon` or `neon`.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The vendor, without the `@`, of a scoped name.
    pub fn vendor(&self) -> Option<&str> {
        self.0.strip_prefix('@').and_then(|scoped| scoped.split_once('/')).map(|(vendor, _)| vendor)
    }

    /// The name without its vendor.
    pub fn base(&self) -> &str {
        self.0.rsplit_once('/').map_or(self.0.as_str(), |(_, base)| base)
    }

    /// The name by which modules import the pack: the base name with `_` for `-`.
    pub fn import_name(&self) -> String {
        self.base().replace('-', "_")
    }
}

impl fmt::Display for PackName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for PackName {
    type Err = NameError;
    fn from_str(text: &str) -> Result<Self, NameError> {
        Self::parse(text)
    }
}

impl Borrow<str> for PackName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl AsRef<str> for PackName {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

/// Checks the part of a name that modules import.
fn check_pack_part(part: &str) -> Result<(), String> {
    check_part("pack name", part)?;
    if LANGUAGE_WORDS.contains(&part) {
        return Err(format!("`{part}` is a word of the language, so a pack of that name could not be imported"));
    }
    Ok(())
}

/// Checks one part against the grammar.
fn check_part(what: &str, part: &str) -> Result<(), String> {
    let Some(first) = part.chars().next() else {
        return Err(format!("{what} is empty"));
    };
    if part.len() > MAX_NAME_LENGTH {
        return Err(format!("{what} `{part}` is {} bytes long, more than {MAX_NAME_LENGTH}", part.len()));
    }
    if !first.is_ascii_lowercase() {
        return Err(format!("{what} `{part}` starts with `{first}`, not with a lower-case letter"));
    }
    if let Some(bad) = part.chars().find(|&c| !(c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')) {
        return Err(format!("{what} `{part}` contains `{}`", bad.escape_debug()));
    }
    if is_windows_device(part) {
        return Err(format!("{what} `{part}` is the name of a device on Windows"));
    }
    Ok(())
}

/// Whether a file of this name (with any extension and any case) cannot exist on Windows.
pub(crate) fn is_windows_device(file_name: &str) -> bool {
    let stem = file_name.split('.').next().unwrap_or(file_name).trim_end_matches(' ').to_ascii_lowercase();
    match stem.as_str() {
        "con" | "prn" | "aux" | "nul" | "conin$" | "conout$" => true,
        other => other.strip_prefix("com").or_else(|| other.strip_prefix("lpt")).is_some_and(|digit| {
            matches!(digit, "0" | "1" | "2" | "3" | "4" | "5" | "6" | "7" | "8" | "9" | "¹" | "²" | "³")
        }),
    }
}

/// A valid name close to a wrong one, by the repairs people expect (case, `_`, spaces).
fn suggestion(text: &str) -> Option<String> {
    let repaired: String = text
        .trim()
        .chars()
        .map(|c| match c {
            '_' | ' ' | '.' => '-',
            other => other.to_ascii_lowercase(),
        })
        .collect();
    let repaired = repaired.trim_matches('-');
    (repaired != text && PackName::parse_quiet(repaired)).then(|| repaired.to_owned())
}

impl PackName {
    /// Whether a text is a name, without building the error (which itself asks for suggestions).
    fn parse_quiet(text: &str) -> bool {
        match text.strip_prefix('@') {
            Some(scoped) => scoped
                .split_once('/')
                .is_some_and(|(vendor, name)| check_part("", vendor).is_ok() && check_pack_part(name).is_ok()),
            None => check_pack_part(text).is_ok(),
        }
    }
}

/// The candidates nearest to a wrong word, best first, at most three, none when nothing is close.
///
/// Nearness is the Damerau-Levenshtein distance (insert, delete, replace, swap neighbours, restricted form), with
/// `-` and `_` taken as the same character; a candidate counts when the distance is at most a third of the longer word, or when it
/// contains the word or ends in it after a vendor. Equal distances keep the order of the text.
pub fn nearest<'a>(wanted: &str, candidates: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let folded = fold(wanted);
    let mut ranked: Vec<(usize, &str)> = candidates
        .into_iter()
        .filter_map(|candidate| {
            let other = fold(candidate);
            let distance = edit_distance(&folded, &other);
            let allowed = (folded.len().max(other.len()) / 3).max(1);
            let contains = folded.len() >= 3 && candidate.contains(wanted);
            let rank = if distance <= allowed {
                distance
            } else if contains {
                allowed + 1
            } else {
                return None;
            };
            Some((rank, candidate))
        })
        .collect();
    ranked.sort_unstable();
    ranked.dedup();
    ranked.into_iter().map(|(_, candidate)| candidate).take(3).collect()
}

/// The characters that are compared.
fn fold(word: &str) -> Vec<char> {
    word.chars().map(|c| if c == '_' { '-' } else { c.to_ascii_lowercase() }).collect()
}

/// The restricted Damerau-Levenshtein distance of two words.
fn edit_distance(a: &[char], b: &[char]) -> usize {
    let mut two_back: Vec<usize> = Vec::new();
    let mut previous: Vec<usize> = (0..=b.len()).collect();
    let mut a_before: Option<char> = None;
    for (i, &ca) in a.iter().enumerate() {
        let mut row = Vec::with_capacity(b.len() + 1);
        let mut left = i + 1;
        row.push(left);
        let mut b_before: Option<char> = None;
        for (j, &cb) in b.iter().enumerate() {
            let at = |row: &[usize], k: usize| row.get(k).copied().unwrap_or(usize::MAX - 1);
            let mut best = (at(&previous, j) + usize::from(ca != cb)).min(at(&previous, j + 1) + 1).min(left + 1);
            if j > 0 && a_before == Some(cb) && b_before == Some(ca) {
                best = best.min(at(&two_back, j - 1).saturating_add(1));
            }
            row.push(best);
            left = best;
            b_before = Some(cb);
        }
        two_back = std::mem::replace(&mut previous, row);
        a_before = Some(ca);
    }
    previous.last().copied().unwrap_or(0)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::expect_used)]
mod tests {
    use super::*;

    #[test]
    fn accepts_flat_and_scoped_names() {
        for text in ["a", "neon", "neon-conv2d", "x86-64", "@arm/neon", "@a/b", &"a".repeat(64)] {
            assert_eq!(PackName::parse(text).unwrap().as_str(), text);
        }
        let name = PackName::parse("@arm/neon-dot").unwrap();
        assert_eq!((name.vendor(), name.base(), name.import_name().as_str()), (Some("arm"), "neon-dot", "neon_dot"));
        let flat = PackName::parse("neon-dot").unwrap();
        assert_eq!((flat.vendor(), flat.base()), (None, "neon-dot"));
    }

    #[test]
    fn refuses_what_the_grammar_leaves_out() {
        for text in [
            "",
            "-a",
            "1a",
            "Neon",
            "neon_conv",
            "neon conv",
            "../x",
            "a/b",
            "@a",
            "@/a",
            "@a/",
            "@a/b/c",
            "néon",
            "a.b",
            "@A/b",
            &"a".repeat(65),
            "con",
            "com1",
            "@nul/x",
            "for",
            "exo",
            "@a/import",
            "a\0",
        ] {
            assert!(PackName::parse(text).is_err(), "{text:?} was accepted");
        }
    }

    #[test]
    fn proposes_a_repaired_name() {
        assert_eq!(PackName::parse("Neon_Conv2d").unwrap_err().hint.unwrap(), "`neon-conv2d` would be a valid name");
        assert!(PackName::parse("@arm").unwrap_err().hint.unwrap().contains("lower-case"));
    }

    #[test]
    fn knows_windows_devices() {
        for text in ["con", "CON.exo", "nul.tar.gz", "lpt9", "aux ", "com¹"] {
            assert!(is_windows_device(text), "{text}");
        }
        for text in ["conv", "com", "com10", "null", "console.exo"] {
            assert!(!is_windows_device(text), "{text}");
        }
    }

    #[test]
    fn finds_near_names() {
        let known = ["neon", "neon-conv2d", "avx2", "avx512", "gemmini", "std"];
        assert_eq!(nearest("noen", known), ["neon"]);
        assert_eq!(nearest("neon_conv2d", known), ["neon-conv2d"]);
        assert_eq!(nearest("conv2d", known), ["neon-conv2d"]);
        assert_eq!(nearest("avx", known), ["avx2", "avx512"]);
        assert!(nearest("quantum", known).is_empty());
    }

    #[test]
    fn measures_edits() {
        let d = |a: &str, b: &str| edit_distance(&fold(a), &fold(b));
        assert_eq!(d("", ""), 0);
        assert_eq!(d("", "abc"), 3);
        assert_eq!(d("kitten", "sitting"), 3);
        assert_eq!(d("ab", "ba"), 1);
        assert_eq!(d("a-b", "a_b"), 0);
    }
}
