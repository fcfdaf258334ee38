//! What packs say of themselves, in one text, in the order in which lists show them: looking for a word goes through it once and sorts
//! nothing.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use memchr::memmem::Finder;

use super::Asked;

/// What a pack says of itself, as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Said {
    pub(super) name: String,
    pub(super) kind: String,
    pub(super) targets: String,
    pub(super) downloads: i64,
    pub(super) verified: bool,
    pub(super) archived: bool,
    /// Keywords and description.
    pub(super) about: String,
}

/// A pack in the text.
#[derive(Debug)]
struct Entry {
    /// Where it begins: with its name.
    start: usize,
    name: usize,
    kind: u32,
    targets: u32,
    downloads: i64,
    verified: bool,
    archived: bool,
}

/// All packs, what is used most first.
#[derive(Debug, Default)]
pub(super) struct Ranked {
    /// Of each pack its name, keywords and description, lower-case, with a line end after each: no word has one.
    text: String,
    entries: Vec<Entry>,
    kinds: Vec<String>,
    /// Lower-case, with a blank before and after each.
    targets: Vec<String>,
}

/// A pack that was found, as it is ordered: how well it fits, how much it is used, its name.
type Hit<'a> = (u8, Reverse<i64>, &'a str);

/// The packs that were found: how many, and those of them that can be on the page.
#[derive(Debug, Default)]
struct Found<'a> {
    total: usize,
    /// By how well they fit.
    hits: [Vec<Hit<'a>>; 4],
}

impl<'a> Found<'a> {
    /// Takes in a pack after all of this fitness that are shown before it.
    fn push(&mut self, hit: Hit<'a>, most: usize) {
        self.total += 1;
        if let Some(hits) = self.hits.get_mut(usize::from(hit.0)).filter(|hits| hits.len() < most) {
            hits.push(hit);
        }
    }
}

/// A question as it is compared.
struct Question<'a> {
    whole: &'a str,
    words: Vec<Finder<'a>>,
    kind: Option<&'a str>,
    target: Option<String>,
    verified: bool,
}

impl<'a> Question<'a> {
    fn of(asked: &'a Asked, whole: &'a str) -> Self {
        let mut words: Vec<&str> = whole.split_whitespace().collect();
        // The longest word is the one that fewest packs have.
        words.sort_by_key(|word| Reverse(word.len()));
        let target = asked.target.as_deref().filter(|target| !target.is_empty());
        Self {
            whole,
            words: words.iter().map(|word| Finder::new(*word)).collect(),
            kind: asked.kind.as_deref().filter(|kind| !kind.is_empty()),
            target: target.map(|target| format!(" {} ", target.to_lowercase())),
            verified: asked.verified == Some(true),
        }
    }

    /// How well a pack of this name fits which has every word somewhere: names first, then what the pack says of itself, and behind all
    /// others what is not maintained any more.
    fn fitness(&self, name: &str, archived: bool) -> u8 {
        match self.words.iter().all(|word| word.find(name.as_bytes()).is_some()) {
            _ if name == self.whole => 0,
            _ if archived => 3,
            true => 1,
            false => 2,
        }
    }
}

impl Ranked {
    /// Puts packs in order.
    pub(super) fn of(mut said: Vec<Said>) -> Self {
        said.sort_by(|a, b| (Reverse(a.downloads), &a.name).cmp(&(Reverse(b.downloads), &b.name)));
        let mut ranked = Self::default();
        let (mut kinds, mut targets) = (BTreeMap::new(), BTreeMap::new());
        for said in said {
            let start = ranked.text.len();
            ranked.text.push_str(&said.name);
            ranked.text.push('\n');
            ranked.text.push_str(&said.about.to_lowercase());
            ranked.text.push('\n');
            let all_targets = format!(" {} ", said.targets.to_lowercase());
            ranked.entries.push(Entry {
                start,
                name: said.name.len(),
                kind: numbered(&mut kinds, &mut ranked.kinds, said.kind),
                targets: numbered(&mut targets, &mut ranked.targets, all_targets),
                downloads: said.downloads,
                verified: said.verified,
                archived: said.archived,
            });
        }
        ranked
    }

    fn name(&self, entry: &Entry) -> &str {
        self.text.get(entry.start..entry.start + entry.name).unwrap_or_default()
    }

    /// What a pack says of itself, its name first; it is in the text at this place.
    fn said(&self, place: usize) -> &[u8] {
        let start = self.entries.get(place).map_or(self.text.len(), |entry| entry.start);
        let end = self.entries.get(place + 1).map_or(self.text.len(), |next| next.start);
        self.text.as_bytes().get(start..end).unwrap_or_default()
    }

    /// The numbers of texts in which something is found.
    fn numbers(texts: &[String], fits: impl Fn(&str) -> bool) -> BTreeSet<u32> {
        (0..).zip(texts).filter(|(_, text)| fits(text)).map(|(number, _)| number).collect()
    }

    /// Finds what fits, but for some names.
    fn find<'a>(&'a self, question: &Question<'_>, but: &BTreeMap<String, Said>, most: usize, found: &mut Found<'a>) {
        let kinds = question.kind.map(|kind| Self::numbers(&self.kinds, |other| other == kind));
        let targets = question.target.as_ref().map(|target| Self::numbers(&self.targets, |all| all.contains(target)));
        let (first, others) = match question.words.split_first() {
            Some((first, others)) => (Some(first), others),
            None => (None, &[][..]),
        };
        let mut place = 0;
        while let Some(start) = self.entries.get(place).map(|entry| entry.start) {
            if let Some(first) = first {
                let rest = self.text.as_bytes().get(start..).unwrap_or_default();
                let Some(at) = first.find(rest) else { return };
                // Where the pack begins that has it: the last one that begins no later.
                while self.entries.get(place + 1).is_some_and(|next| next.start <= start + at) {
                    place += 1;
                }
            }
            let Some(entry) = self.entries.get(place) else { return };
            let fits = kinds.as_ref().is_none_or(|kinds| kinds.contains(&entry.kind))
                && targets.as_ref().is_none_or(|targets| targets.contains(&entry.targets))
                && (entry.verified || !question.verified)
                && others.iter().all(|word| word.find(self.said(place)).is_some());
            let name = self.name(entry);
            if fits && (but.is_empty() || !but.contains_key(name)) {
                found.push((question.fitness(name, entry.archived), Reverse(entry.downloads), name), most);
            }
            place += 1;
        }
    }
}

/// The number of a text among those that were seen.
fn numbered(known: &mut BTreeMap<String, u32>, texts: &mut Vec<String>, text: String) -> u32 {
    let next = u32::try_from(texts.len()).unwrap_or(u32::MAX);
    *known.entry(text).or_insert_with_key(|text| {
        texts.push(text.clone());
        next
    })
}

/// What was found: how many packs, and the names of those on the page.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Hits {
    pub(super) total: usize,
    pub(super) page: Vec<String>,
}

/// The packs that have every word somewhere, in the order of [`Question::fitness`]; among equals what is used most. What is newer
/// stands for the packs of the same names.
pub(super) fn look(ranked: &Ranked, newer: &BTreeMap<String, Said>, asked: &Asked, skip: usize, most: usize) -> Hits {
    let whole = asked.q.trim().to_lowercase();
    let question = Question::of(asked, &whole);
    let end = skip.saturating_add(most);
    let fresh = Ranked::of(newer.values().cloned().collect());
    let mut found = Found::default();
    ranked.find(&question, newer, end, &mut found);
    if !newer.is_empty() {
        let mut more = Found::default();
        fresh.find(&question, &BTreeMap::new(), end, &mut more);
        found.total += more.total;
        for (hits, more) in found.hits.iter_mut().zip(more.hits) {
            hits.extend(more);
            hits.sort_unstable();
        }
    }
    let page = found.hits.iter().flatten().skip(skip).take(most).map(|(_, _, name)| (*name).to_owned()).collect();
    Hits { total: found.total, page }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn said(name: &str, description: &str, downloads: i64) -> Said {
        Said {
            name: name.to_owned(),
            kind: "schedule".to_owned(),
            targets: "neon @arm/SVE".to_owned(),
            downloads,
            verified: false,
            archived: false,
            about: format!("\n{description}"),
        }
    }

    fn asked(q: &str) -> Asked {
        Asked { q: q.to_owned(), ..Asked::default() }
    }

    #[test]
    fn names_come_first_and_all_words_count() {
        let said = [
            said("gemm", "fast", 1),
            said("gemm-tiles", "slow", 5),
            said("tiles", "for gemm", 9),
            said("x", "Fast", 2),
        ];
        // Some of them are newer than the rest, or all are.
        for old in 0..=said.len() {
            let ranked = Ranked::of(said[..old].to_vec());
            let newer: BTreeMap<_, _> = said[old..].iter().map(|said| (said.name.clone(), said.clone())).collect();
            let look = |asked: &Asked, skip, most| look(&ranked, &newer, asked, skip, most);
            let names = |asked: &Asked, skip, most| look(asked, skip, most).page;
            assert_eq!(names(&asked("GEMM "), 0, 9), ["gemm", "gemm-tiles", "tiles"], "{old}");
            assert_eq!(names(&asked("gemm"), 1, 1), ["gemm-tiles"]);
            assert_eq!(look(&asked("gemm"), 7, 9), Hits { total: 3, page: Vec::new() });
            assert_eq!(names(&asked("tiles gemm"), 0, 9), ["gemm-tiles", "tiles"]);
            assert_eq!(names(&asked("fast"), 0, 9), ["x", "gemm"]);
            assert_eq!(look(&asked(""), 0, 2), Hits { total: 4, page: vec!["tiles".into(), "gemm-tiles".into()] });
            assert_eq!(names(&asked("%"), 0, 9), [""; 0]);
            let target = |target: &str| Asked { target: Some(target.to_owned()), ..asked("gemm fast") };
            assert_eq!(names(&target("@ARM/sve"), 0, 9), ["gemm"]);
            assert_eq!(names(&target("sve"), 0, 9), [""; 0]);
            assert_eq!(names(&Asked { kind: Some("target".to_owned()), ..asked("") }, 0, 9), [""; 0]);
            assert_eq!(names(&Asked { verified: Some(true), ..asked("") }, 0, 9), [""; 0]);
        }
    }

    #[test]
    fn what_is_archived_comes_behind_all_others_unless_it_is_the_one_that_is_named() {
        let archived = |name: &str, downloads| Said { archived: true, ..said(name, "for gemm", downloads) };
        let packs = [archived("gemm", 9), archived("gemm-old", 8), said("gemm-new", "", 1), said("x", "gemm", 0)];
        let look = |ranked: &Ranked, newer: &BTreeMap<_, _>, q: &str| look(ranked, newer, &asked(q), 0, 9).page;
        for old in 0..=packs.len() {
            let ranked = Ranked::of(packs[..old].to_vec());
            let newer: BTreeMap<_, _> = packs[old..].iter().map(|said| (said.name.clone(), said.clone())).collect();
            assert_eq!(look(&ranked, &newer, "gemm"), ["gemm", "gemm-new", "x", "gemm-old"], "{old}");
            assert_eq!(look(&ranked, &newer, ""), ["gemm-new", "x", "gemm", "gemm-old"], "{old}");
        }
    }

    #[test]
    fn what_is_newer_stands_for_what_is_older() {
        let ranked = Ranked::of(vec![said("a", "old", 1), said("b", "old", 2)]);
        let newer = BTreeMap::from([("a".to_owned(), said("a", "new", 7))]);
        let page = |q: &str| look(&ranked, &newer, &asked(q), 0, 9).page;
        assert_eq!(
            (page("old"), page("new"), page("")),
            (vec!["b".into()], vec!["a".into()], vec!["a".into(), "b".into()])
        );
    }

    /// Each pack for itself, all in order: what looking through the one text must give.
    #[test]
    fn finds_what_looking_at_each_finds() {
        let word = |n: usize| ["gemm", "conv", "tile", "fast", "é", "a", "ile", "mm c"][n % 8];
        let packs: Vec<Said> = (0..500)
            .map(|n: usize| {
                let name = format!("{}-{n}", ["gemm", "tile", "x"][n % 3]);
                said(&name, &format!("{} {} {n}", word(n / 3), word(n * 7)), (n * 31 % 17) as i64)
            })
            .collect();
        let ranked = Ranked::of(packs.clone());
        for q in ["gemm", "tile a", "mm", "é", "7", "gemm 1", "ile fast", "", "zzz", "x-44"] {
            let words: Vec<&str> = q.split_whitespace().collect();
            let mut expected: Vec<(u8, Reverse<i64>, &str)> = packs
                .iter()
                .filter(|said| {
                    let text = format!("{}\n{}", said.name, said.about);
                    words.iter().all(|word| text.contains(word))
                })
                .map(|said| {
                    let fits = words.iter().all(|word| said.name.contains(word));
                    let fitness = if said.name == q {
                        0
                    } else if fits {
                        1
                    } else {
                        2
                    };
                    (fitness, Reverse(said.downloads), said.name.as_str())
                })
                .collect();
            expected.sort();
            let names: Vec<&str> = expected.iter().map(|(_, _, name)| *name).collect();
            for (skip, most) in [(0, 20), (15, 20), (0, 1000), (490, 20)] {
                let found = look(&ranked, &BTreeMap::new(), &asked(q), skip, most);
                let page: Vec<&str> = names.iter().copied().skip(skip).take(most).collect();
                assert_eq!(
                    (found.total, found.page),
                    (names.len(), page.iter().map(ToString::to_string).collect()),
                    "{q}"
                );
            }
        }
    }
}
