//! Retells the solver's proof that there is no solution as a short chain of sentences about packs, versions and requirements.
//!
//! The proof's leaves (what some version needs, which versions there are) contradict each other by themselves; its
//! inner nodes are only the solver's way of finding that out. So the leaves are told, starting with what the project itself
//! needs and following the dependencies, in the words of the manifests, and each pack for which nothing is left is pointed out.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::sync::Arc;

use pubgrub::{DerivationTree, External, VersionSet as _};

use super::provider::{NeedsOtherSelf, Provider};
use super::version_set::VersionSet;
use super::{Need, PackSource, near_names, suggestion};
use crate::name::PackName;
use crate::version::{Requirement, Version};

/// Why no choice of versions meets all requirements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explanation {
    /// The reason, one sentence after the other, from the project to where it cannot go on.
    pub sentences: Vec<String>,
    /// What may help, one sentence each.
    pub hints: Vec<String>,
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no choice of versions meets all requirements")?;
        self.sentences.iter().try_for_each(|sentence| write!(f, "\n  {sentence}"))
    }
}

type Tree = DerivationTree<PackName, VersionSet, NeedsOtherSelf>;

/// That some versions of a pack need another pack, in the words of their manifests.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Fact {
    /// How far the pack is from the project.
    distance: usize,
    from: PackName,
    /// Oldest first.
    versions: Vec<Version>,
    to: PackName,
    /// The canonical text of the requirement.
    text: String,
}

/// Retells a proof.
pub(super) fn explain<S: PackSource>(tree: &Tree, provider: &Provider<'_, S>) -> Explanation {
    let mut teller =
        Teller { provider, facts: Vec::new(), unusable: BTreeSet::new(), sentences: Vec::new(), hints: Vec::new() };
    teller.collect(tree);
    let distances = teller.measure();
    // Who needs the project itself is told last: the way there leads through all others.
    let place = |name: &PackName, distance: usize| if *name == provider.request.root { usize::MAX } else { distance };
    let mut targets: Vec<(usize, &PackName)> =
        distances.iter().map(|(name, distance)| (place(name, *distance), name)).collect();
    targets.sort_unstable();
    for (_, name) in targets {
        teller.tell(name);
    }
    let mut hints = Vec::new();
    for hint in teller.hints {
        if !hints.contains(&hint) {
            hints.push(hint);
        }
    }
    Explanation { sentences: teller.sentences, hints }
}

/// What is known while an explanation grows.
struct Teller<'p, 'r, S> {
    provider: &'p Provider<'r, S>,
    facts: Vec<Fact>,
    /// Versions that need another version of themselves.
    unusable: BTreeSet<(PackName, Version)>,
    sentences: Vec<String>,
    hints: Vec<String>,
}

impl<S: PackSource> Teller<'_, '_, S> {
    /// Collects the leaves of the proof, each once (the proof shares its parts, and unfolded it can be very large).
    fn collect(&mut self, tree: &Tree) {
        let mut seen = BTreeSet::new();
        let mut open = vec![tree];
        while let Some(node) = open.pop() {
            match node {
                DerivationTree::External(leaf) => self.note(leaf),
                DerivationTree::Derived(derived) => {
                    for cause in [&derived.cause1, &derived.cause2] {
                        if seen.insert(Arc::as_ptr(cause)) {
                            open.push(cause);
                        }
                    }
                }
            }
        }
    }

    /// Takes down one leaf.
    fn note(&mut self, leaf: &External<PackName, VersionSet, NeedsOtherSelf>) {
        match leaf {
            // Which versions there are is looked up again when it matters.
            External::NotRoot(..) | External::NoVersions(..) => {}
            External::Custom(name, set, NeedsOtherSelf) => {
                let versions = self.known(name).into_iter().filter(|version| set.contains(version));
                self.unusable.extend(versions.map(|version| (name.clone(), version)));
            }
            External::FromDependencyOf(from, set, to, _) => {
                for version in self.known(from).into_iter().filter(|version| set.contains(version)) {
                    for need in self.needs_of(from, &version, to) {
                        self.add(from, version.clone(), to, need.requirement.to_string());
                    }
                }
            }
        }
    }

    /// Adds a version to the fact that says the same of others, or starts one.
    fn add(&mut self, from: &PackName, version: Version, to: &PackName, text: String) {
        let same = self.facts.iter_mut().find(|fact| fact.from == *from && fact.to == *to && fact.text == text);
        match same {
            Some(fact) => {
                if let Err(at) = fact.versions.binary_search(&version) {
                    fact.versions.insert(at, version);
                }
            }
            None => {
                let fact = Fact { distance: 0, from: from.clone(), versions: vec![version], to: to.clone(), text };
                self.facts.push(fact);
            }
        }
    }

    /// Fills in how far each fact is from the project, sorts the facts by it, and gives the distances of the packs needed.
    fn measure(&mut self) -> BTreeMap<PackName, usize> {
        let root = &self.provider.request.root;
        let mut distances: BTreeMap<PackName, usize> = BTreeMap::from([(root.clone(), 0)]);
        let mut open = VecDeque::from([root.clone()]);
        while let Some(name) = open.pop_front() {
            let next = distances.get(&name).copied().unwrap_or(0) + 1;
            for fact in self.facts.iter().filter(|fact| fact.from == name) {
                if !distances.contains_key(&fact.to) {
                    distances.insert(fact.to.clone(), next);
                    open.push_back(fact.to.clone());
                }
            }
        }
        for fact in &mut self.facts {
            fact.distance = distances.get(&fact.from).copied().unwrap_or(usize::MAX);
        }
        self.facts.sort();
        distances
    }

    /// Tells who needs a pack, and whether that leaves a version of it.
    fn tell(&mut self, name: &PackName) {
        let facts: Vec<(Fact, BTreeSet<Version>)> = self
            .facts
            .iter()
            .filter(|fact| fact.to == *name)
            .map(|fact| (fact.clone(), self.usable(name, &fact.text)))
            .collect();
        let mut told: BTreeSet<usize> = BTreeSet::new();
        // What does not go with a fact that was told, by the pack that needs it and the requirement it does not go with.
        let mut also: BTreeMap<(usize, &PackName, &str), Vec<&Fact>> = BTreeMap::new();
        let mut trouble = false;
        for (at, (fact, set)) in facts.iter().enumerate() {
            if told.contains(&at) {
                continue;
            }
            if set.is_empty() {
                let why = self.why_nothing(name, &fact.text);
                self.say(format!("{}, but {why}", self.need(fact)));
                trouble = true;
                continue;
            }
            let clash = facts.iter().enumerate().find(|(_, (_, other))| !other.is_empty() && set.is_disjoint(other));
            let Some((other_at, (other, _))) = clash else {
                let choice = self.choice(fact, set);
                self.say(format!("{}{choice}", self.need(fact)));
                continue;
            };
            trouble = true;
            if told.contains(&other_at) || other_at < at {
                also.entry((fact.distance, &fact.from, &other.text)).or_default().push(fact);
            } else {
                self.say(format!("{}, but {}: no version of `{name}` is both", self.need(fact), self.need(other)));
                told.insert(other_at);
            }
        }
        for ((_, _, text), facts) in also {
            self.tell_also(text, &facts);
        }
        if !trouble && facts.len() > 1 {
            self.tell_overlap(name, &facts);
        }
        self.tell_selfish(name);
    }

    /// Tells what some versions of one pack need that does not go with a requirement told before.
    fn tell_also(&mut self, text: &str, facts: &[&Fact]) {
        if let [first, _, _, ..] = facts {
            let mut versions: Vec<Version> = facts.iter().flat_map(|fact| fact.versions.iter().cloned()).collect();
            versions.sort_unstable();
            let (subject, plural) = self.subject(&first.from, &versions);
            let needs = if plural { "need" } else { "needs" };
            self.say(format!("{subject} {needs} other versions of `{}` that do not go with `{text}` either", first.to));
            return;
        }
        for fact in facts {
            self.say(format!("{}, which does not go with `{text}` either", self.need(fact)));
        }
    }

    /// Tells that needs which go together two by two do not go together all.
    fn tell_overlap(&mut self, name: &PackName, facts: &[(Fact, BTreeSet<Version>)]) {
        let mut left: Option<BTreeSet<Version>> = None;
        for (_, set) in facts {
            left = Some(left.map_or_else(|| set.clone(), |left| &left & set));
        }
        if left.is_some_and(|left| left.is_empty()) {
            let texts: BTreeSet<String> = facts.iter().map(|(fact, _)| format!("`{}`", fact.text)).collect();
            self.say(format!("no version of `{name}` meets all of {}", list(texts, "and")));
        }
    }

    /// Tells of versions that need another version of themselves.
    fn tell_selfish(&mut self, name: &PackName) {
        let versions: Vec<Version> =
            self.unusable.iter().filter(|(pack, _)| pack == name).map(|(_, version)| version.clone()).collect();
        if !versions.is_empty() {
            let (subject, plural) = self.subject(name, &versions);
            self.say(format!("{subject} need{} another version of `{name}` itself", if plural { "" } else { "s" }));
        }
    }

    fn say(&mut self, sentence: String) {
        self.sentences.push(sentence);
    }

    /// `a 1.0.0` needs `neon ^2`.
    fn need(&self, fact: &Fact) -> String {
        let (subject, plural) = self.subject(&fact.from, &fact.versions);
        format!("{subject} need{} `{} {}`", if plural { "" } else { "s" }, fact.to, fact.text)
    }

    /// Some versions of a pack as the subject of a sentence, and whether it is plural.
    fn subject(&self, name: &PackName, versions: &[Version]) -> (String, bool) {
        if *name == self.provider.request.root {
            return ("this project".to_owned(), false);
        }
        if let Some(fixed) = self.provider.fixed(name) {
            return (format!("`{name} {}` (from `{}`)", fixed.version, fixed.place), false);
        }
        match versions {
            [] => (format!("`{name}`"), false),
            [only] => (format!("`{name} {only}`"), false),
            [first, .., last] => {
                let known = self.known(name);
                if known.len() == versions.len() {
                    return (format!("every version of `{name}`"), false);
                }
                let between = known.iter().filter(|version| (first..=last).contains(version)).count();
                if versions.len() > 2 && between == versions.len() {
                    return (format!("`{name}` {first} to {last}"), true);
                }
                let texts = versions.iter().map(ToString::to_string).collect::<Vec<_>>();
                if texts.len() > 5 {
                    let rest = texts.len() - 1;
                    return (format!("`{name} {last}` and {rest} other versions of it"), true);
                }
                (format!("`{name}` {}", list(texts, "and")), true)
            }
        }
    }

    /// The versions a requirement leaves, told only when the story goes on with them.
    fn choice(&self, fact: &Fact, set: &BTreeSet<Version>) -> String {
        let goes_on = self.facts.iter().any(|next| next.from == fact.to);
        let says_it = set.iter().any(|version| fact.text == format!("={version}"));
        if !goes_on || says_it || set.len() > 4 {
            return String::new();
        }
        format!(", which is {}", list(set.iter().map(ToString::to_string), "or"))
    }

    /// Why no version meets a requirement; adds hints.
    fn why_nothing(&mut self, name: &PackName, text: &str) -> String {
        let known = self.known(name);
        if known.is_empty() {
            let near = near_names(self.provider.source, self.provider.request, name.as_str());
            self.hints.extend(suggestion(&near));
            return format!("there is no pack `{name}`");
        }
        let Some(need) = parse_need(name, text) else {
            return format!("no version of `{name}` meets it");
        };
        let set = self.provider.set_of(&need);
        let matching: Vec<&Version> = known.iter().filter(|version| set.contains(version)).collect();
        if let Some(newest) = matching.last() {
            return self.why_unusable(name, &matching, newest);
        }
        if *name == self.provider.request.root {
            return format!("`{name}` is this project, at {}", self.provider.request.root_version);
        }
        if let Some(fixed) = self.provider.fixed(name) {
            return format!("`{name}` from `{}` is {}", fixed.place, fixed.version);
        }
        if let Some(close) = known.iter().rev().find(|version| meets_as_release(&need.requirement, version)) {
            self.hints.push(format!("`{name} {close}` is a prerelease; write `{name} = \"{close}\"` to accept it"));
        }
        if known.len() > 5 {
            let newest = known.last().map(ToString::to_string).unwrap_or_default();
            return format!("none of the {} versions of `{name}` does (the newest is {newest})", known.len());
        }
        let verb = if known.len() == 1 { "is only" } else { "are only" };
        format!("of `{name}` there {verb} {}", list(known.iter().map(ToString::to_string), "and"))
    }

    /// Why the versions that meet a requirement, of which there is at least one, cannot be used.
    fn why_unusable(&mut self, name: &PackName, matching: &[&Version], newest: &Version) -> String {
        if let Some(told) = self.why_removed(name, matching) {
            return told;
        }
        let (version, count) = match self.provider.request.pinned.get(name) {
            Some(pinned) if matching.contains(&pinned) => (pinned, 1),
            Some(pinned) => return format!("`{name}` is held at {pinned}, as asked for"),
            None => (newest, matching.len()),
        };
        let running = &self.provider.request.exo;
        let accepts = self.provider.needs(name, version).map(|needs| needs.exo.clone()).unwrap_or(Requirement::ANY);
        if accepts.accepts_exo(running) {
            return format!("no version of `{name}` can be used");
        }
        self.hints.push(format!("`{name} {version}` works with exo `{accepts}`; this is exo {running}"));
        if count == 1 {
            return format!("`{name} {version}` needs exo `{accepts}`, and this is exo {running}");
        }
        format!(
            "all {count} versions of `{name}` that meet it need another exo than {running} (the newest needs `{accepts}`)"
        )
    }

    /// What the policy and the source hold against versions that meet a requirement, newest first; `None` when that is
    /// nothing. Adds hints.
    fn why_removed(&mut self, name: &PackName, matching: &[&Version]) -> Option<String> {
        let pinned = self.provider.request.pinned.get(name);
        let mut reasons = Vec::new();
        for version in matching.iter().rev().filter(|version| pinned.is_none_or(|pinned| pinned == **version)) {
            if let Some(removal) = self.provider.removal(name, version) {
                let hint = removal.hint(name);
                if !self.hints.contains(&hint) {
                    self.hints.push(hint);
                }
                reasons.push(format!("`{name} {version}` {removal}"));
            }
        }
        let rest = reasons.len().saturating_sub(3);
        reasons.truncate(3);
        if rest > 0 {
            let others = if rest == 1 { "version is" } else { "versions are" };
            reasons.push(format!("{rest} other {others} held back too"));
        }
        (!reasons.is_empty()).then(|| list(reasons, "and"))
    }

    /// The usable versions that meet a requirement.
    fn usable(&self, name: &PackName, text: &str) -> BTreeSet<Version> {
        let Some(need) = parse_need(name, text) else {
            return BTreeSet::new();
        };
        let set = self.provider.set_of(&need);
        let usable =
            |version: &Version| set.contains(version) && self.provider.is_usable(name, version).unwrap_or(false);
        self.known(name).into_iter().filter(usable).collect()
    }

    /// All versions of a pack, oldest first. The solver asked for them before, so the source does not fail now.
    fn known(&self, name: &PackName) -> Vec<Version> {
        self.provider.versions(name).map(|versions| versions.iter().rev().cloned().collect()).unwrap_or_default()
    }

    /// What a version needs of another pack.
    fn needs_of(&self, from: &PackName, version: &Version, to: &PackName) -> Vec<Need> {
        match self.provider.needs(from, version) {
            Ok(needs) => needs.dependencies.iter().filter(|need| need.name == *to).cloned().collect(),
            Err(_) => Vec::new(),
        }
    }
}

/// The need that a fact's text was made from.
fn parse_need(name: &PackName, text: &str) -> Option<Need> {
    Some(Need { name: name.clone(), requirement: Requirement::parse(text).ok()? })
}

/// Whether a prerelease would meet a requirement if it were a release.
fn meets_as_release(requirement: &Requirement, version: &Version) -> bool {
    version.is_prerelease() && requirement.matches(&Version::new(version.major(), version.minor(), version.patch()))
}

/// `a`, `a and b`, `a, b and c`.
fn list(items: impl IntoIterator<Item = String>, conjunction: &str) -> String {
    let mut items: Vec<String> = items.into_iter().collect();
    let last = items.pop().unwrap_or_default();
    if items.is_empty() { last } else { format!("{} {conjunction} {last}", items.join(", ")) }
}
