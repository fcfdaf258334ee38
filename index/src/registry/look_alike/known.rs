//! Many known names, ordered so that a new one is compared with a few of them and not with all.

use std::collections::BTreeSet;

use super::{Likeness, SHORTEST_EDITED, likeness, look, one_slip, squashed, without_affixes, without_number};
use crate::name::PackName;

/// Names are put where they belong one by one where there are this many times more already.
const SORTED_FROM: usize = 64;

/// Known names, and what leads to those that a new one could be taken for.
///
/// Each kind of likeness but the slips of one letter is an equality: of the names without separators, as they look, without
/// affixes, without a number at the end. Such forms are found by their hash. One slip leaves at least half of a name as it was, from its beginning or from its
/// end: those are found in two orders. Whatever is found this way is then judged as any two names are.
#[derive(Debug, Clone, Default)]
pub struct Known {
    names: Vec<PackName>,
    /// Hash of a form, and the place of the name that has it; ascending.
    forms: Vec<(u64, u32)>,
    /// Places of names by their base.
    forwards: Vec<u32>,
    /// Places of names by their base read from its end.
    backwards: Vec<u32>,
}

impl Known {
    /// Takes in further names; ones that are there already are there once.
    pub fn extend(&mut self, names: impl IntoIterator<Item = PackName>) {
        let new: BTreeSet<PackName> = names.into_iter().filter(|name| !self.contains(name)).collect();
        // Putting a few where they belong is less work than sorting all, and the other way round.
        let few = new.len() * SORTED_FROM < self.names.len();
        for name in new {
            // More names than a 32-bit number counts do not fit into memory.
            let Ok(place) = u32::try_from(self.names.len()) else { return };
            let forms: BTreeSet<u64> = forms(&name).into_iter().collect();
            self.names.push(name);
            if few {
                self.put(place, &forms);
            } else {
                self.forms.extend(forms.into_iter().map(|form| (form, place)));
                self.forwards.push(place);
                self.backwards.push(place);
            }
        }
        if !few {
            let names = &self.names;
            self.forms.sort_unstable();
            self.forwards.sort_by(|a, b| base(names, *a).cmp(base(names, *b)));
            self.backwards.sort_by(|a, b| base(names, *a).iter().rev().cmp(base(names, *b).iter().rev()));
        }
    }

    /// Puts the newest name where it belongs.
    fn put(&mut self, place: u32, forms: &BTreeSet<u64>) {
        for form in forms {
            let at = self.forms.partition_point(|other| *other < (*form, place));
            self.forms.insert(at, (*form, place));
        }
        let (names, new) = (&self.names, base(&self.names, place));
        let at = self.forwards.partition_point(|other| base(names, *other) < new);
        self.forwards.insert(at, place);
        let at = self.backwards.partition_point(|other| base(names, *other).iter().rev().lt(new.iter().rev()));
        self.backwards.insert(at, place);
    }

    /// Whether a name is among them.
    pub fn contains(&self, name: &PackName) -> bool {
        self.with_form(hash(b'w', &squashed(name.as_str()))).any(|known| known == name)
    }

    /// All that a new name could be taken for, by name. A name is not compared with itself, nor with names of its own vendor.
    pub fn resembled<'a>(&'a self, new: &PackName) -> Vec<(&'a PackName, Likeness)> {
        let mut near: BTreeSet<&PackName> = forms(new).into_iter().flat_map(|form| self.with_form(form)).collect();
        near.extend(self.one_slip_away(new.base().as_bytes()));
        let judged = near.into_iter().filter(|other| {
            let same_vendor = new.vendor().is_some() && new.vendor() == other.vendor();
            new != *other && !same_vendor
        });
        judged.filter_map(|other| likeness(new, other).map(|likeness| (other, likeness))).collect()
    }

    fn with_form(&self, form: u64) -> impl Iterator<Item = &PackName> {
        let start = self.forms.partition_point(|(other, _)| *other < form);
        let same = self.forms.iter().skip(start).take_while(move |(other, _)| *other == form);
        same.filter_map(|(_, place)| self.names.get(usize::try_from(*place).ok()?))
    }

    fn one_slip_away<'a>(&'a self, new: &[u8]) -> impl Iterator<Item = &'a PackName> {
        // A slip is of two letters at most; what it leaves is before or after it.
        let left = if new.len() < SHORTEST_EDITED { new.len() } else { (new.len() - 2).div_ceil(2) };
        let names = &self.names;
        let head = new.get(..left).unwrap_or_default();
        let start = self.forwards.partition_point(|place| base(names, *place) < head);
        let same = self.forwards.iter().skip(start).take_while(move |place| base(names, **place).starts_with(head));
        let tail = new.get(new.len() - left..).unwrap_or_default();
        let end = self.backwards.partition_point(|place| base(names, *place).iter().rev().lt(tail.iter().rev()));
        let same_end = self.backwards.iter().skip(end).take_while(move |place| base(names, **place).ends_with(tail));
        same.chain(same_end)
            .filter(move |place| one_slip(new, base(names, **place)).is_some())
            .filter_map(|place| names.get(usize::try_from(*place).ok()?))
    }
}

/// The base of a name, by its place.
fn base(names: &[PackName], place: u32) -> &[u8] {
    usize::try_from(place)
        .ok()
        .and_then(|place| names.get(place))
        .map(|name| name.base().as_bytes())
        .unwrap_or_default()
}

/// The forms in which a name can be the same as another.
fn forms(name: &PackName) -> Vec<u64> {
    let base = name.base();
    let mut forms = vec![
        hash(b'w', &squashed(name.as_str())),
        hash(b's', &squashed(base)),
        hash(b'l', &look(base)),
        hash(b'a', &without_affixes(base)),
        hash(b'n', base),
        hash(b'n', without_number(base)),
    ];
    if let Some(vendor) = name.vendor() {
        forms.push(hash(b'S', &squashed(vendor)));
        forms.push(hash(b'L', &look(vendor)));
        forms.push(hash(b'A', &without_affixes(vendor)));
        forms.push(hash(b'N', vendor));
        forms.push(hash(b'N', without_number(vendor)));
    }
    forms
}

/// FNV-1a over a kind of form and its text. Two forms with the same hash cost a comparison and are no mistake.
fn hash(kind: u8, text: &str) -> u64 {
    let bytes = std::iter::once(kind).chain(text.bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;

    /// Numbers that look random and are the same in each run.
    struct Chance(u64);

    impl Chance {
        fn below(&mut self, most: usize) -> usize {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            usize::try_from(self.0 >> 33).unwrap() % most
        }
    }

    /// A name of few letters and pieces, so that many are alike.
    fn any(chance: &mut Chance) -> Option<PackName> {
        let word = |chance: &mut Chance| {
            let parts: Vec<String> = (0..1 + chance.below(2))
                .map(|_| match chance.below(5) {
                    0 => ["exo", "lib", "x", "official", "2"][chance.below(5)].to_owned(),
                    _ => (0..1 + chance.below(5)).map(|_| char::from(b"abno0lr1m2"[chance.below(10)])).collect(),
                })
                .collect();
            parts.join(["-", ""][chance.below(2)])
        };
        let base = word(chance);
        PackName::parse(&if chance.below(3) == 0 { format!("@{}/{base}", word(chance)) } else { base }).ok()
    }

    #[test]
    fn finds_what_a_comparison_with_all_finds() {
        let mut chance = Chance(7);
        let names: BTreeSet<PackName> = (0..3000).filter_map(|_| any(&mut chance)).collect();
        let mut known = Known::default();
        let all: Vec<PackName> = names.iter().cloned().collect();
        for piece in all.chunks(700).flat_map(|piece| [&piece[..5], &piece[5..]]) {
            known.extend(piece.iter().cloned());
        }
        let (mut alike, mut alone) = (0, 0);
        for _ in 0..1500 {
            let Some(new) = any(&mut chance) else { continue };
            let same_vendor = |other: &PackName| new.vendor().is_some() && new.vendor() == other.vendor();
            let expected: Vec<(&PackName, Likeness)> = all
                .iter()
                .filter(|other| **other != new && !same_vendor(other))
                .filter_map(|other| likeness(&new, other).map(|likeness| (other, likeness)))
                .collect();
            assert_eq!(known.resembled(&new), expected, "{new}");
            assert_eq!(known.contains(&new), names.contains(&new));
            if expected.is_empty() { alone += 1 } else { alike += 1 }
        }
        assert!(alike > 200 && alone > 200, "{alike} {alone}");
    }

    #[test]
    fn the_same_name_is_taken_in_once() {
        let name = PackName::parse("gemmini").unwrap();
        let mut known = Known::default();
        known.extend([name.clone(), name.clone()]);
        known.extend([name]);
        assert_eq!(known.resembled(&PackName::parse("gemmina").unwrap()).len(), 1);
    }
}
