//! New names that could be taken for known ones, and names that nobody may take.
//!
//! A name of a pack is typed by hand and read at a glance, so a name one slip away from a known one is refused until an
//! administrator allows it. A number behind a name says that it is the next one of the same, so only owners of that add one. Digits are exempt from the rule of one edit where both names have one in that place: `conv1d` and `conv2d`,
//! `avx2` and `avx5` are different things, not slips.

mod known;

use std::fmt;

use crate::name::PackName;

pub use known::Known;

/// Words that name the language, the program or an authority; a pack of such a name would speak for them.
const RESERVED: &[&str] = &[
    "admin",
    "administrator",
    "api",
    "builtin",
    "compiler",
    "core",
    "exo-lang",
    "exo-registry",
    "exocompilers",
    "example",
    "kernel",
    "local",
    "metadata",
    "official",
    "pack",
    "packs",
    "registry",
    "root",
    "schedule",
    "security",
    "self",
    "super",
    "support",
    "system",
    "target",
    "test",
    "tests",
    "undefined",
    "vendor",
    "verified",
    "workspace",
];

/// What comes with the program: as packs they are bundled, and as scopes they would speak for it.
const RESERVED_SCOPES: &[&str] = &["exo", "std"];

/// What people add to the name of something to say that it is that thing.
const AFFIXES: &[&str] = &["exo", "lib", "official", "pack", "packs", "pkg", "real", "rs", "the", "x"];

/// Names shorter than this are too close together by nature to be held apart by one edit.
const SHORTEST_EDITED: usize = 4;

/// The rows of a keyboard, by which neighbouring keys are known.
const ROWS: [&str; 4] = ["1234567890-", "qwertyuiop", "asdfghjkl", "zxcvbnm"];

/// In what way one name looks like another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Likeness {
    /// They differ in separators only: `neon-conv`, `neonconv`, `@neon/conv`.
    Separators,
    /// They differ in characters that look alike: `ne0n`, `neon`.
    Confusable,
    /// Two neighbouring characters are swapped.
    Swapped,
    /// One character is replaced by its neighbour on the keyboard.
    Keyboard,
    /// One character is added, left out or replaced.
    OneEdit,
    /// One is the other with a number behind it: `mylib2`, `mylib`.
    Number,
    /// One is the other with a word such as `official` or `exo` before or after it.
    Affix,
}

impl fmt::Display for Likeness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Separators => "differs in separators only",
            Self::Confusable => "differs only in characters that look alike",
            Self::Swapped => "has two letters swapped",
            Self::Keyboard => "has one letter replaced by its neighbour on the keyboard",
            Self::OneEdit => "differs in one letter",
            Self::Number => "differs in a number at the end",
            Self::Affix => "differs in a word that says nothing",
        })
    }
}

/// Whether nobody but the registry's administrators may take a name.
pub fn is_reserved(name: &PackName) -> bool {
    match name.vendor() {
        Some(scope) => is_reserved_scope(scope),
        None => RESERVED.contains(&name.base()),
    }
}

/// Whether nobody may call a scope so, nor an account that anybody can make.
pub fn is_reserved_scope(scope: &str) -> bool {
    RESERVED.contains(&scope) || RESERVED_SCOPES.contains(&scope)
}

/// In what way two different names look alike.
fn likeness(a: &PackName, b: &PackName) -> Option<Likeness> {
    if squashed(a.as_str()) == squashed(b.as_str()) {
        return Some(Likeness::Separators);
    }
    match (a.vendor(), b.vendor()) {
        (None, None) => between(a.base(), b.base()),
        // Of the same pack from another vendor only the vendor tells them apart.
        (Some(one), Some(other)) if a.base() == b.base() => between(one, other),
        // A vendor that cannot be told from another one speaks for it, whatever the pack is called. One letter more or less is
        // somebody else's name.
        (Some(one), Some(other)) => between(one, other).filter(|likeness| match likeness {
            Likeness::Separators | Likeness::Confusable | Likeness::Affix => true,
            Likeness::Swapped | Likeness::Keyboard | Likeness::OneEdit | Likeness::Number => false,
        }),
        // The very same name behind a vendor is that vendor's own; one slip away from it, it is a trap.
        (Some(_), None) | (None, Some(_)) if a.base() != b.base() => between(a.base(), b.base()),
        (Some(_), None) | (None, Some(_)) => None,
    }
}

/// In what way two different words look alike.
fn between(a: &str, b: &str) -> Option<Likeness> {
    if squashed(a) == squashed(b) {
        return Some(Likeness::Separators);
    }
    if look(a) == look(b) && !only_digits_differ(a, b) {
        return Some(Likeness::Confusable);
    }
    if without_affixes(a) == without_affixes(b) {
        return Some(Likeness::Affix);
    }
    if a.len().min(b.len()) < SHORTEST_EDITED {
        return None;
    }
    if without_number(a) == b || without_number(b) == a {
        return Some(Likeness::Number);
    }
    one_slip(a.as_bytes(), b.as_bytes())
}

/// A word without its separators.
fn squashed(word: &str) -> String {
    word.chars().filter(|c| c.is_ascii_alphanumeric()).collect()
}

/// A word as it looks: characters that are hard to tell apart become one.
fn look(word: &str) -> String {
    let single: String = squashed(word)
        .chars()
        .map(|c| match c {
            '0' => 'o',
            '1' | 'i' => 'l',
            '5' => 's',
            '8' => 'b',
            '2' => 'z',
            other => other,
        })
        .collect();
    single.replace("rn", "m").replace("vv", "w").replace("cl", "d")
}

/// Whether two words differ only in which digit stands where.
fn only_digits_differ(a: &str, b: &str) -> bool {
    let digit = |c: u8| c.is_ascii_digit();
    a.len() == b.len() && a.bytes().zip(b.bytes()).all(|(x, y)| x == y || digit(x) && digit(y))
}

/// A word without the affixes that say nothing, unless nothing is left.
fn without_affixes(word: &str) -> String {
    let parts: Vec<&str> = word.split('-').collect();
    let kept: Vec<&str> = parts.iter().copied().filter(|part| !AFFIXES.contains(part)).collect();
    if kept.is_empty() { parts.concat() } else { kept.concat() }
}

/// A word without the number at its end: `mylib` of `mylib2`, of `mylib-2` and of `mylib-v2`.
fn without_number(word: &str) -> &str {
    let letters = word.trim_end_matches(|c: char| c.is_ascii_digit());
    if letters.len() == word.len() || letters.is_empty() {
        return word;
    }
    letters.strip_suffix("-v").unwrap_or(letters).trim_end_matches('-')
}

/// In what way two words are one slip of the fingers apart.
fn one_slip(a: &[u8], b: &[u8]) -> Option<Likeness> {
    let start = a.iter().zip(b).take_while(|(x, y)| x == y).count();
    let (a, b) = (a.get(start..)?, b.get(start..)?);
    let end = a.iter().rev().zip(b.iter().rev()).take_while(|(x, y)| x == y).count();
    let (a, b) = (a.get(..a.len() - end)?, b.get(..b.len() - end)?);
    match (a, b) {
        ([x], [y]) if x.is_ascii_digit() && y.is_ascii_digit() => None,
        ([x], [y]) if are_neighbours(*x, *y) => Some(Likeness::Keyboard),
        ([_], [_]) => Some(Likeness::OneEdit),
        // A digit more or less is a number, not a slip: `avx2` and `avx`. Behind longer names it is told by `without_number`.
        ([c], []) | ([], [c]) => (!c.is_ascii_digit()).then_some(Likeness::OneEdit),
        ([p, q], [r, s]) if p == s && q == r && !(p.is_ascii_digit() && q.is_ascii_digit()) => Some(Likeness::Swapped),
        (_, _) => None,
    }
}

/// Whether two keys are beside one another in a row, or one above the other.
fn are_neighbours(a: u8, b: u8) -> bool {
    let place = |key: u8| {
        ROWS.iter().enumerate().find_map(|(row, keys)| keys.bytes().position(|other| other == key).map(|at| (row, at)))
    };
    match (place(a), place(b)) {
        (Some((row_a, at_a)), Some((row_b, at_b))) => row_a.abs_diff(row_b) <= 1 && at_a.abs_diff(at_b) <= 1,
        (_, _) => false,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::expect_used)]
mod tests {
    use super::*;

    fn how(new: &str, known: &str) -> Option<Likeness> {
        let mut names = Known::default();
        names.extend([PackName::parse(known).unwrap()]);
        names.resembled(&PackName::parse(new).unwrap()).first().map(|(_, likeness)| *likeness)
    }

    #[test]
    fn finds_each_kind_of_likeness() {
        for (new, known, likeness) in [
            ("neonconv2d", "neon-conv2d", Likeness::Separators),
            ("arm-neon", "@arm/neon", Likeness::Separators),
            ("ne0n", "neon", Likeness::Confusable),
            ("gernrnini", "gemmini", Likeness::Confusable),
            ("genmini", "gemmini", Likeness::Keyboard),
            ("gemimni", "gemmini", Likeness::Swapped),
            ("gemmimi", "gemmini", Likeness::Keyboard),
            ("gemmina", "gemmini", Likeness::OneEdit),
            ("gemminis", "gemmini", Likeness::OneEdit),
            ("gemini", "gemmini", Likeness::OneEdit),
            ("mylib2", "mylib", Likeness::Number),
            ("mylib", "mylib-v2", Likeness::Number),
            ("gemmini-3", "gemmini", Likeness::Number),
            ("@arms2/neon", "@arms/neon", Likeness::Number),
            ("@me/gemmini2", "gemmini", Likeness::Number),
            ("gemmini-official", "gemmini", Likeness::Affix),
            ("exo-gemmini", "gemmini", Likeness::Affix),
            ("@vend0r/neon", "@vendor/neon", Likeness::Confusable),
            ("@vend0r/tiles", "@vendor/neon", Likeness::Confusable),
            ("@vendor-official/tiles", "@vendor/neon", Likeness::Affix),
            ("@me/gemimni", "gemmini", Likeness::Swapped),
            ("@me/ne0n", "neon", Likeness::Confusable),
            ("gemmimi", "@berkeley/gemmini", Likeness::Keyboard),
        ] {
            assert_eq!(how(new, known), Some(likeness), "{new} {known}");
        }
    }

    #[test]
    fn leaves_different_names_alone() {
        for (new, known) in [
            ("neon", "neon"),
            ("conv1d", "conv2d"),
            ("avx2", "avx512"),
            ("avx5", "avx2"),
            ("avx2", "avx"),
            ("mylib2", "mylib3"),
            ("@arms2/tiles", "@arms/neon"),
            ("neon-conv2d", "neon"),
            ("@me/neon", "neon"),
            ("@me/neon", "@arm/neon"),
            ("@arm/neon2", "@arm/neon"),
            ("std", "sad"),
            ("amx", "avx"),
            ("@anm/neon", "@arm/neon"),
            ("@me/gemimni", "@berkeley/gemmini"),
            ("@hanna/tiles", "@anna/blocks"),
            ("@arm/gemimni", "@arm/gemmini"),
            ("gemmini", "quantum"),
        ] {
            assert_eq!(how(new, known), None, "{new} {known}");
        }
    }

    #[test]
    fn reserved_words() {
        for (name, reserved) in [
            ("official", true),
            ("@official/neon", true),
            ("@exo/neon", true),
            ("exo-neon", false),
            ("@arm/core", false),
            ("neon", false),
            ("registry", true),
        ] {
            assert_eq!(is_reserved(&PackName::parse(name).unwrap()), reserved, "{name}");
        }
    }
}
