//! How far a version must be raised, by what it offers and what the version before it offered.
//!
//! What is offered are lines (`MODULE function NAME(PARAMETERS)`, `MODULE requires NAME: ASSERT` and so on), which `exo` reads off the
//! modules. What is gone, asks for more, has a wider effect, or is an instruction with another body breaks users, and needs a major
//! version; what is new, or asks for less, needs a minor one.

use std::collections::BTreeSet;
use std::fmt;

use exo_index::name::PackName;
use exo_index::version::Version;
use sqlx::{AnyConnection, Row as _};

use crate::failure::Failure;

/// Changes that a message names; there may be hundreds.
const MOST_NAMED: usize = 5;

/// How far a version is raised over the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Bump {
    Patch,
    Minor,
    Major,
}

impl Bump {
    /// The word of the protocol.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Patch => "patch",
            Self::Minor => "minor",
            Self::Major => "major",
        }
    }

    /// The lowest version that is raised so far over another.
    pub(crate) fn lowest_after(self, old: &Version) -> String {
        match (self, old.major()) {
            (Self::Major, 0) => format!("0.{}.0", old.minor() + 1),
            (Self::Major, major) => format!("{}.0.0", major + 1),
            (Self::Minor, major) if major > 0 => format!("{major}.{}.0", old.minor() + 1),
            (Self::Minor | Self::Patch, major) => format!("{major}.{}.{}", old.minor(), old.patch() + 1),
        }
    }

    /// What a version is raised by. Before 1.0, the second number counts as the first does after it.
    pub(crate) fn between(old: &Version, new: &Version) -> Self {
        match (old.major() == new.major(), old.minor() == new.minor()) {
            (false, _) => Self::Major,
            (true, false) if old.major() == 0 => Self::Major,
            (true, false) => Self::Minor,
            (true, true) if old.major() == 0 => Self::Minor,
            (true, true) => Self::Patch,
        }
    }
}

/// The least bump, and the changes that ask for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Required {
    pub(crate) bump: Bump,
    because: Vec<String>,
}

impl fmt::Display for Required {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "this needs a {} version", self.bump.as_str())?;
        for (number, change) in self.because.iter().take(MOST_NAMED).enumerate() {
            write!(f, "{} {change}", if number == 0 { ":" } else { "," })?;
        }
        match self.because.len().saturating_sub(MOST_NAMED) {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}

/// What a version offers, as it was published.
///
/// # Errors
/// There is no such version.
pub(crate) async fn offered(
    rows: &mut AnyConnection,
    name: &PackName,
    version: &Version,
) -> Result<BTreeSet<String>, Failure> {
    let row = sqlx::query("SELECT surface FROM versions WHERE name = $1 AND version = $2")
        .bind(name.as_str().to_owned())
        .bind(version.to_string())
        .fetch_one(rows)
        .await?;
    Ok(row.try_get::<String, _>("surface")?.lines().map(str::to_owned).collect())
}

/// One line, as far as it matters here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Offer<'a> {
    /// Everything up to the parameters, by which the new form of an old offer is found.
    head: &'a str,
    /// The text between the parentheses.
    parameters: &'a str,
}

/// What a line says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Line<'a> {
    /// Something can be used.
    Offer(Offer<'a>),
    /// Callers of a proc must see to this.
    Requires { module: &'a str, name: &'a str },
    /// All that a proc does to its arguments and to configuration state.
    Effects { module: &'a str, name: &'a str, done: &'a str },
    /// What an instruction does, by digest: `replace` looks for it.
    Body { module: &'a str, name: &'a str, digest: &'a str },
}

impl<'a> Line<'a> {
    fn of(line: &'a str) -> Self {
        let mut words = line.splitn(3, ' ');
        let (module, kind, rest) = (words.next(), words.next(), words.next());
        let said = rest.and_then(|rest| rest.split_once(": "));
        match (module, kind, said) {
            (Some(module), Some("requires"), Some((name, _))) => Self::Requires { module, name },
            (Some(module), Some("effects"), Some((name, done))) => Self::Effects { module, name, done },
            (Some(module), Some("body"), Some((name, digest))) => Self::Body { module, name, digest },
            (_, _, _) => Self::Offer(Offer::of(line)),
        }
    }
}

impl<'a> Offer<'a> {
    fn of(line: &'a str) -> Self {
        let (head, parameters) = line.split_once('(').unwrap_or((line, ""));
        Self { head, parameters: parameters.strip_suffix(')').unwrap_or(parameters) }
    }

    /// Whether the callers of `old` may call this too: it only has more parameters at its end, each with a default.
    fn extends(&self, old: &Self) -> bool {
        let more = match self.parameters.strip_prefix(old.parameters) {
            Some(more) if old.parameters.trim().is_empty() => more,
            Some(more) => match more.strip_prefix(',') {
                Some(more) => more,
                None => return more.trim().is_empty(),
            },
            None => return false,
        };
        parts(more).iter().all(|parameter| parameter.contains('='))
    }
}

/// Parameters between the commas that stand in no parentheses.
fn parts(text: &str) -> Vec<&str> {
    let (mut depth, mut start, mut found) = (0i32, 0, Vec::new());
    for (at, char) in text.char_indices() {
        match char {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            ',' if depth == 0 => {
                found.extend(text.get(start..at));
                start = at + 1;
            }
            _ => {}
        }
    }
    found.extend(text.get(start..));
    found.into_iter().map(str::trim).filter(|part| !part.is_empty()).collect()
}

impl Required {
    /// What changed offers ask for.
    pub(crate) fn by(old: &BTreeSet<String>, new: &BTreeSet<String>) -> Self {
        let mut required = Self { bump: Bump::Patch, because: Vec::new() };
        for line in old.difference(new) {
            match Line::of(line) {
                Line::Offer(gone) => required.without(line, gone, new),
                Line::Requires { .. } => required.ask(Bump::Minor, format!("`{line}` is asked no more")),
                // Compared from the other side.
                Line::Effects { .. } | Line::Body { .. } => {}
            }
        }
        for line in new.difference(old) {
            match Line::of(line) {
                Line::Offer(added) if offers(old).any(|offer| offer.head == added.head) => {}
                Line::Offer(_) => required.ask(Bump::Minor, format!("`{line}` is new")),
                Line::Requires { module, name } if is_offered(old, module, name) => {
                    required.ask(Bump::Major, format!("`{line}` is asked of callers now"));
                }
                Line::Requires { .. } => {}
                Line::Effects { module, name, done } => required.with_effects(old, (module, name), done),
                Line::Body { module, name, digest } => required.with_body(old, (module, name), digest),
            }
        }
        required
    }

    /// An offer that is not there as it was.
    fn without(&mut self, line: &str, gone: Offer<'_>, new: &BTreeSet<String>) {
        match offers(new).find(|offer| offer.head == gone.head) {
            None => self.ask(Bump::Major, format!("`{line}` is gone")),
            Some(offer) if offer.extends(&gone) => self.ask(Bump::Minor, format!("`{line}` takes more")),
            Some(_) => self.ask(Bump::Major, format!("`{line}` is called differently")),
        }
    }

    /// A proc that does something else than before; what it does no more breaks nobody.
    fn with_effects(&mut self, old: &BTreeSet<String>, proc: (&str, &str), done: &str) {
        let before = old.iter().find_map(|line| match Line::of(line) {
            Line::Effects { module, name, done } if (module, name) == proc => Some(done),
            _ => None,
        });
        // A version that was published before effects were read off says nothing of them.
        let Some(before) = before else { return };
        let before: BTreeSet<&str> = before.split(", ").collect();
        for effect in done.split(", ").filter(|effect| *effect != "none" && !before.contains(effect)) {
            self.ask(Bump::Major, format!("`{}` of `{}` {effect} now", proc.1, proc.0));
        }
    }

    /// An instruction that means something else than before.
    fn with_body(&mut self, old: &BTreeSet<String>, instruction: (&str, &str), digest: &str) {
        let changed = old.iter().any(|line| match Line::of(line) {
            Line::Body { module, name, digest: before } => (module, name) == instruction && before != digest,
            _ => false,
        });
        if changed {
            let (module, name) = instruction;
            self.ask(Bump::Major, format!("the body of the instruction `{name}` of `{module}` is another"));
        }
    }

    /// Notes a change; only those that ask for the most are kept.
    fn ask(&mut self, bump: Bump, change: String) {
        if bump > self.bump {
            self.bump = bump;
            self.because.clear();
        }
        if bump == self.bump {
            self.because.push(change);
        }
    }
}

fn offers(lines: &BTreeSet<String>) -> impl Iterator<Item = Offer<'_>> {
    lines.iter().filter_map(|line| match Line::of(line) {
        Line::Offer(offer) => Some(offer),
        Line::Requires { .. } | Line::Effects { .. } | Line::Body { .. } => None,
    })
}

/// Whether the proc that a precondition is of was offered before, in the same module.
fn is_offered(old: &BTreeSet<String>, module: &str, name: &str) -> bool {
    ["proc", "instruction"].iter().any(|kind| {
        let head = format!("{module} {kind} {name}");
        offers(old).any(|offer| offer.head == head)
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn required(old: &[&str], new: &[&str]) -> Required {
        let set = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect::<BTreeSet<_>>();
        Required::by(&set(old), &set(new))
    }

    #[test]
    fn the_lowest_version_that_will_do_is_raised_so_far() {
        let all = [Bump::Patch, Bump::Minor, Bump::Major];
        for (old, lowest) in [("0.3.4", ["0.3.5", "0.3.5", "0.4.0"]), ("1.2.3", ["1.2.4", "1.3.0", "2.0.0"])] {
            let old = Version::parse(old).unwrap();
            for (bump, wanted) in all.into_iter().zip(lowest) {
                assert_eq!(bump.lowest_after(&old), wanted);
                assert!(Bump::between(&old, &Version::parse(wanted).unwrap()) >= bump);
            }
        }
    }

    #[test]
    fn what_is_gone_or_new() {
        let f = "lib function f(p, size)";
        for (old, new, bump) in [
            (vec![f], vec![f], Bump::Patch),
            (vec![f], vec![f, "lib function g()"], Bump::Minor),
            (vec![f, "lib function g()"], vec![f], Bump::Major),
            (vec![f], vec!["lib function f(p)"], Bump::Major),
            (vec![f], vec!["lib function f(p, size, more)"], Bump::Major),
            (vec![f], vec!["lib function f(p, sizes)"], Bump::Major),
            (vec![f], vec!["lib function f(p, size, tail = cut(1, 2))"], Bump::Minor),
            (vec!["lib function f()"], vec!["lib function f(tail = 1, **rest)"], Bump::Major),
            (vec!["lib function f()"], vec!["lib function f(tail = 1)"], Bump::Minor),
            (vec!["lib value x"], vec!["lib value y"], Bump::Major),
            (vec!["lib function f(p)"], vec!["other function f(p)"], Bump::Major),
            (vec!["target avx2"], vec![], Bump::Major),
        ] {
            assert_eq!(required(&old, &new).bump, bump, "{old:?} {new:?}");
        }
    }

    #[test]
    fn a_stronger_precondition_breaks_callers() {
        let (f, any, four) = ("lib proc f(n: size)", "lib requires f: n > 0", "lib requires f: n % 4 == 0");
        assert_eq!(required(&[f], &[f, any]).bump, Bump::Major);
        assert_eq!(required(&[f, any], &[f]).bump, Bump::Minor);
        assert_eq!(required(&[], &[f, any]).bump, Bump::Minor);
        let both = required(&[f, any], &[f, any, four, "lib function new()"]);
        assert_eq!(
            both.to_string(),
            "this needs a major version: `lib requires f: n % 4 == 0` is asked of callers now"
        );
    }

    #[test]
    fn a_wider_effect_breaks_callers_and_a_narrower_one_does_not() {
        let f = "lib proc f(x: f32 @ DRAM, y: f32 @ DRAM)";
        let (narrow, wide) = ("lib effects f: reads x, writes y", "lib effects f: reads x, writes Cfg.mode, writes y");
        assert_eq!(required(&[f, narrow], &[f, narrow]).bump, Bump::Patch);
        assert_eq!(required(&[f, wide], &[f, narrow]).bump, Bump::Patch);
        assert_eq!(
            required(&[f, narrow], &[f, wide]).to_string(),
            "this needs a major version: `f` of `lib` writes Cfg.mode now"
        );
        assert_eq!(required(&[f, "lib effects f: none"], &[f, narrow]).bump, Bump::Major);
        assert_eq!(required(&[f, narrow], &[f, "lib effects f: none"]).bump, Bump::Patch);
        // Published before effects were read off, and new.
        assert_eq!(required(&[f], &[f, wide]).bump, Bump::Patch);
        assert_eq!(required(&[], &[f, wide]).bump, Bump::Minor);
    }

    #[test]
    fn an_instruction_with_another_body_breaks_those_who_replace_by_it() {
        let i = "lib instruction add(x: f32 @ DRAM)";
        let (one, other) = ("lib body add: 11", "lib body add: 22");
        assert_eq!(required(&[i, one], &[i, one]).bump, Bump::Patch);
        assert_eq!(
            required(&[i, one], &[i, other]).to_string(),
            "this needs a major version: the body of the instruction `add` of `lib` is another"
        );
        assert_eq!(required(&[i], &[i, other]).bump, Bump::Patch);
        assert_eq!(required(&[], &[i, other]).bump, Bump::Minor);
    }

    #[test]
    fn bumps() {
        for (old, new, bump) in [
            ("1.0.0", "1.0.1", Bump::Patch),
            ("1.0.0", "1.1.0", Bump::Minor),
            ("1.0.0", "2.0.0", Bump::Major),
            ("0.1.0", "0.2.0", Bump::Major),
            ("0.1.0", "0.1.1", Bump::Minor),
        ] {
            let (old, new) = (Version::parse(old).unwrap(), Version::parse(new).unwrap());
            assert_eq!(Bump::between(&old, &new), bump, "{old} {new}");
        }
    }
}
