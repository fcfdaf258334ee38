//! The one filter between the versions that a source offers and those that may be chosen or shown as choices.
//!
//! Each removal keeps its reason, so that whoever finds nothing learns why: age, yank, advisory, prerelease, another exo.
//! A source describes its versions as [`Candidate`]s; a [`Policy`] with the present time judges them. Nothing here looks
//! at a clock, and what is not known counts against a version.

use std::collections::BTreeSet;
use std::fmt;

use crate::calendar;
use crate::name::PackName;
use crate::version::{Requirement, Version};

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;
const WEEK: u64 = 7 * DAY;

/// A span of time, in whole seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Span(pub u64);

impl Span {
    /// Reads `3 days`, `36 hours`, `90 minutes`, `2 weeks`, `0`.
    ///
    /// # Errors
    /// The text is no whole number with a unit.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if text == "0" {
            return Ok(Self(0));
        }
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let (number, unit) = text.split_at(digits);
        let seconds = match unit.trim() {
            "minute" | "minutes" => MINUTE,
            "hour" | "hours" => HOUR,
            "day" | "days" => DAY,
            "week" | "weeks" => WEEK,
            _ => return Err(format!("`{text}` is no span of time")),
        };
        let number: u64 = number.parse().map_err(|_| format!("`{text}` is no span of time"))?;
        number.checked_mul(seconds).map(Self).ok_or_else(|| format!("`{text}` is too long"))
    }
}

impl fmt::Display for Span {
    /// In the largest unit of which there is at least one, rounded down.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [(DAY, "day"), (HOUR, "hour"), (MINUTE, "minute"), (1, "second")];
        let (size, unit) = units.into_iter().find(|(size, _)| self.0 >= *size).unwrap_or((1, "second"));
        let number = self.0 / size;
        write!(f, "{number} {unit}{}", if number == 1 { "" } else { "s" })
    }
}

/// When a version was published.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Published {
    /// It came with the program itself, so no policy about its age holds.
    WithExo,
    /// Seconds since 1970-01-01 UTC, as the registry's signed index says.
    At(u64),
    /// The source does not say.
    Unknown,
}

/// That an author took a version back.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Yanked {
    /// Why, in the author's words.
    pub reason: Option<String>,
}

/// That the registry keeps a version from everybody.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Quarantined {
    /// Why, in the words of its administrators.
    pub reason: Option<String>,
}

/// A known problem of a version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Advisory {
    /// Its name, by which a project may accept it.
    pub id: String,
    /// What it is about, in one line.
    pub summary: String,
    /// What to do about it, as one phrase.
    pub advice: Option<String>,
}

impl fmt::Display for Advisory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.id, self.summary)?;
        self.advice.iter().try_for_each(|advice| write!(f, " ({advice})"))
    }
}

/// A version that a source offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// The version.
    pub version: Version,
    /// The versions of exo it works with.
    pub exo: Requirement,
    /// When it was published.
    pub published: Published,
    /// Whether it was taken back.
    pub yanked: Option<Yanked>,
    /// Whether its registry keeps it from everybody.
    pub quarantined: Option<Quarantined>,
    /// The known problems that this version has.
    pub advisories: Vec<Advisory>,
}

impl Candidate {
    /// A version that came with the program.
    pub const fn with_exo(version: Version, exo: Requirement) -> Self {
        Self { version, exo, published: Published::WithExo, yanked: None, quarantined: None, advisories: Vec::new() }
    }
}

/// What the section `[policy]` of a project's manifest says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PolicySection {
    /// How old a version must be; no matter how old, when zero.
    pub min_age: Span,
    /// Versions that were published later do not exist for the project, in seconds since 1970-01-01 UTC.
    pub as_of: Option<u64>,
    /// The packs of which every age will do.
    pub exempt: BTreeSet<PackName>,
    /// The advisories that the project accepts.
    pub allow_advisories: BTreeSet<String>,
}

/// The rules for choosing versions, at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// The project's own rules.
    pub section: PolicySection,
    /// The present time, in seconds since 1970-01-01 UTC.
    pub now: u64,
    /// The running version of exo.
    pub exo: Version,
}

/// Why a version is not to be chosen. As text it goes on where the name of the version stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Removal {
    /// It is younger than the policy asks for.
    TooNew {
        /// How old it is.
        age: Span,
        /// How old it must be.
        wanted: Span,
    },
    /// Its age is not known, and the policy asks for one.
    UnknownAge {
        /// How old it must be.
        wanted: Span,
    },
    /// It came after the time at which the project looks.
    Later {
        /// When it was published, as far as that is known.
        published: Option<u64>,
        /// The time at which the project looks.
        as_of: u64,
    },
    /// Its registry keeps it from everybody.
    Quarantined {
        /// Why.
        reason: Option<String>,
    },
    /// Its author took it back.
    Yanked {
        /// Why.
        reason: Option<String>,
    },
    /// It has a known problem.
    Advisory(Advisory),
    /// It works with other versions of exo.
    Exo {
        /// The versions it works with.
        accepts: Requirement,
        /// The running version.
        running: Version,
    },
    /// It is a prerelease, which is chosen only where a requirement names one.
    Prerelease,
}

impl fmt::Display for Removal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooNew { age, wanted } => write!(f, "is {age} old, and the policy asks for {wanted}"),
            Self::UnknownAge { wanted } => write!(f, "has no known publish time, and the policy asks for {wanted}"),
            Self::Later { published: Some(at), as_of } => {
                write!(f, "was published on {}, and the policy is as of {}", at_second(*at), at_second(*as_of))
            }
            Self::Later { published: None, as_of } => {
                write!(f, "has no known publish time, and the policy is as of {}", at_second(*as_of))
            }
            Self::Quarantined { reason: Some(reason) } => write!(f, "is in quarantine ({reason})"),
            Self::Quarantined { reason: None } => f.write_str("is in quarantine"),
            Self::Yanked { reason: Some(reason) } => write!(f, "is yanked ({reason})"),
            Self::Yanked { reason: None } => f.write_str("is yanked"),
            Self::Advisory(advisory) => write!(f, "has the advisory {} ({})", advisory.id, advisory.summary),
            Self::Exo { accepts, running } => write!(f, "needs exo `{accepts}`, and this is exo {running}"),
            Self::Prerelease => f.write_str("is a prerelease"),
        }
    }
}

/// A time as it is written in manifests.
fn at_second(seconds: u64) -> String {
    calendar::rfc3339(i64::try_from(seconds).unwrap_or(i64::MAX / 2))
}

impl Removal {
    /// What the user can do about it.
    pub fn hint(&self, name: &PackName) -> String {
        match self {
            Self::TooNew { .. } | Self::UnknownAge { .. } => format!(
                "take an older version, wait, or add `{name}` to `exempt` under `[policy]` in Exo.toml if you trust it as it is"
            ),
            Self::Later { .. } => {
                format!("take an older version of `{name}`, or change `as-of` under `[policy]` in Exo.toml")
            }
            Self::Quarantined { .. } => {
                format!(
                    "ask for another version of `{name}`; the registry's administrators keep this one from everybody"
                )
            }
            Self::Yanked { .. } => format!("ask for another version of `{name}`; projects that have it locked keep it"),
            Self::Advisory(advisory) => {
                let advice = advisory.advice.as_ref().map(|advice| format!("{advice}; ")).unwrap_or_default();
                format!(
                    "{advice}ask for a version of `{name}` without it, or add \"{}\" to `allow-advisories` under `[policy]` if it does not concern you",
                    advisory.id
                )
            }
            Self::Exo { .. } => format!("use a version of exo that `{name}` works with"),
            Self::Prerelease => "name the prerelease in the requirement to accept it".to_owned(),
        }
    }

    /// Whether it also stands against a version that a lockfile already has. A quarantine, a yank and an advisory do not:
    /// what was built must build again, and who has it locked is warned. What is in quarantine is not downloaded anew, though.
    pub const fn holds_when_locked(&self) -> bool {
        match self {
            Self::TooNew { .. } | Self::UnknownAge { .. } | Self::Later { .. } | Self::Exo { .. } => true,
            Self::Quarantined { .. } | Self::Yanked { .. } | Self::Advisory(_) | Self::Prerelease => false,
        }
    }

    /// Whether the resolver finds out by itself, from the requirements of manifests.
    pub const fn is_of_requirements(&self) -> bool {
        match self {
            Self::Exo { .. } | Self::Prerelease => true,
            Self::TooNew { .. }
            | Self::UnknownAge { .. }
            | Self::Later { .. }
            | Self::Quarantined { .. }
            | Self::Yanked { .. }
            | Self::Advisory(_) => false,
        }
    }
}

impl Policy {
    /// Everything that stands against a version, the gravest first; nothing for one that may be chosen.
    pub fn judge(&self, name: &PackName, candidate: &Candidate) -> Vec<Removal> {
        let accepted = |advisory: &&Advisory| !self.section.allow_advisories.contains(&advisory.id);
        let advisories = candidate.advisories.iter().filter(accepted).cloned().map(Removal::Advisory);
        let yanked = candidate.yanked.iter().map(|yanked| Removal::Yanked { reason: yanked.reason.clone() });
        let quarantined = candidate.quarantined.iter();
        let quarantined = quarantined.map(|held| Removal::Quarantined { reason: held.reason.clone() });
        let mut found: Vec<Removal> =
            quarantined.chain(advisories).chain(yanked).chain(self.time(name, candidate.published)).collect();
        if !candidate.exo.accepts_exo(&self.exo) {
            found.push(Removal::Exo { accepts: candidate.exo.clone(), running: self.exo.clone() });
        }
        if candidate.version.is_prerelease() {
            found.push(Removal::Prerelease);
        }
        found
    }

    /// What keeps the resolver from choosing a version, apart from requirements.
    pub fn removal(&self, name: &PackName, candidate: &Candidate) -> Option<Removal> {
        self.judge(name, candidate).into_iter().find(|removal| !removal.is_of_requirements())
    }

    fn time(&self, name: &PackName, published: Published) -> Option<Removal> {
        if self.section.exempt.contains(name) {
            return None;
        }
        self.later(published).or_else(|| self.age(published))
    }

    fn later(&self, published: Published) -> Option<Removal> {
        let as_of = self.section.as_of?;
        match published {
            Published::WithExo => None,
            Published::At(at) if at <= as_of => None,
            Published::At(at) => Some(Removal::Later { published: Some(at), as_of }),
            Published::Unknown => Some(Removal::Later { published: None, as_of }),
        }
    }

    fn age(&self, published: Published) -> Option<Removal> {
        let wanted = self.section.min_age;
        if wanted == Span(0) {
            return None;
        }
        match published {
            Published::WithExo => None,
            Published::Unknown => Some(Removal::UnknownAge { wanted }),
            Published::At(at) => {
                // A time in the future is no age: a clock is wrong, here or there.
                let age = Span(self.now.saturating_sub(at));
                (age < wanted).then_some(Removal::TooNew { age, wanted })
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::expect_used)]
mod tests {
    use super::*;

    fn name() -> PackName {
        PackName::parse("neon").unwrap()
    }

    fn candidate(published: Published) -> Candidate {
        Candidate { published, ..Candidate::with_exo(Version::new(1, 2, 0), Requirement::ANY) }
    }

    fn policy(min_age: &str) -> Policy {
        let section = PolicySection { min_age: Span::parse(min_age).unwrap(), ..PolicySection::default() };
        Policy { section, now: 1_000_000_000, exo: Version::new(0, 1, 0) }
    }

    fn texts(policy: &Policy, candidate: &Candidate) -> Vec<String> {
        policy.judge(&name(), candidate).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn age_is_held_against_a_version_and_unknown_age_too() {
        let policy = policy("3 days");
        let young = candidate(Published::At(policy.now - 2 * HOUR - 5));
        assert_eq!(texts(&policy, &young), ["is 2 hours old, and the policy asks for 3 days"]);
        let future = candidate(Published::At(policy.now + 10));
        assert_eq!(texts(&policy, &future), ["is 0 seconds old, and the policy asks for 3 days"]);
        assert_eq!(
            texts(&policy, &candidate(Published::Unknown)),
            ["has no known publish time, and the policy asks for 3 days"]
        );
        for fine in [Published::At(policy.now - 3 * DAY), Published::At(0), Published::WithExo] {
            assert_eq!(texts(&policy, &candidate(fine)), Vec::<String>::new(), "{fine:?}");
        }
    }

    #[test]
    fn what_came_after_the_time_of_the_policy_does_not_exist() {
        let mut policy = policy("0");
        policy.section.as_of = Some(951_782_400);
        let later = candidate(Published::At(951_782_401));
        let told = "was published on 2000-02-29T00:00:01Z, and the policy is as of 2000-02-29T00:00:00Z";
        assert_eq!(texts(&policy, &later), [told]);
        assert!(policy.judge(&name(), &later)[0].holds_when_locked());
        let unknown = "has no known publish time, and the policy is as of 2000-02-29T00:00:00Z";
        assert_eq!(texts(&policy, &candidate(Published::Unknown)), [unknown]);
        for fine in [Published::At(951_782_400), Published::At(0), Published::WithExo] {
            assert_eq!(texts(&policy, &candidate(fine)), Vec::<String>::new(), "{fine:?}");
        }
        policy.section.exempt.insert(name());
        assert_eq!(policy.judge(&name(), &later), []);
    }

    #[test]
    fn packs_are_exempted_by_name_and_advisories_by_id() {
        let mut policy = policy("1 week");
        let mut young = candidate(Published::Unknown);
        young.advisories.push(Advisory { id: "EXO-1".into(), summary: "wrong lanes".into(), advice: None });
        assert_eq!(policy.judge(&name(), &young).len(), 2);
        policy.section.exempt.insert(name());
        assert_eq!(texts(&policy, &young), ["has the advisory EXO-1 (wrong lanes)"]);
        assert!(!policy.judge(&name(), &young)[0].holds_when_locked());
        policy.section.allow_advisories.insert("EXO-1".into());
        assert_eq!(policy.judge(&name(), &young), []);
    }

    #[test]
    fn yanks_prereleases_and_other_exos_are_told() {
        let mut other = candidate(Published::WithExo);
        other.version = Version::parse("2.0.0-rc.1").unwrap();
        other.exo = Requirement::parse(">=2").unwrap();
        other.yanked = Some(Yanked { reason: Some("slow".into()) });
        let policy = policy("0");
        assert_eq!(
            texts(&policy, &other),
            ["is yanked (slow)", "needs exo `>=2`, and this is exo 0.1.0", "is a prerelease"]
        );
        assert_eq!(policy.removal(&name(), &other).unwrap().to_string(), "is yanked (slow)");
        other.quarantined = Some(Quarantined { reason: Some("under study".into()) });
        let gravest = policy.removal(&name(), &other).unwrap();
        assert_eq!(gravest.to_string(), "is in quarantine (under study)");
        assert!(!gravest.holds_when_locked());
        (other.yanked, other.quarantined) = (None, None);
        assert_eq!(policy.removal(&name(), &other), None);
    }

    #[test]
    fn spans_are_read_and_printed() {
        for (text, seconds) in
            [("3 days", 3 * DAY), ("1 hour", HOUR), ("90minutes", 90 * MINUTE), ("0", 0), ("2 weeks", 2 * WEEK)]
        {
            assert_eq!(Span::parse(text), Ok(Span(seconds)), "{text}");
        }
        for wrong in
            ["", "3", "days", "-1 days", "3 years", "99999999999999999999 days", "9999999999999999 weeks", "1.5 days"]
        {
            assert!(Span::parse(wrong).is_err(), "{wrong}");
        }
        assert_eq!(Span(2 * WEEK).to_string(), "14 days");
        assert_eq!(Span(61).to_string(), "1 minute");
    }
}
