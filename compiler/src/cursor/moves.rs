//! Many edits composed: where the statements went that the edits left alone, looked up instead of followed edit by edit.
//!
//! `forward` is the slow twin: wherever an answer is given here, it is the one that following every edit gives.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::cursor::forward::Forward;
use crate::cursor::path::{GapPlace, Path, Place, Step};
use crate::loop_ir::{Block, Proc, Stmt, StmtKind, visit};

/// Where the statements of one list went. What is not in it has to be followed edit by edit.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Moves {
    /// Runs that were left alone with all that is in them, in order, not touching each other where they moved alike.
    kept: Vec<Kept>,
    /// Loops and branches that stay, but are changed inside.
    inside: BTreeMap<usize, Inside>,
}

/// The statements `lo..hi` stand `shift` further on; a `hi` of [`usize::MAX`] means to the end of the list.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Kept {
    lo: usize,
    hi: usize,
    shift: isize,
}

#[derive(Clone, Debug, PartialEq)]
struct Inside {
    to: usize,
    /// Of the body and of the `else`.
    lists: [Arc<Moves>; 2],
}

impl Kept {
    fn image(&self, at: usize) -> Option<usize> {
        if at == usize::MAX { Some(at) } else { at.checked_add_signed(self.shift) }
    }
}

impl Moves {
    /// Over the edits that made one version of a proc from another.
    pub fn of(old: &Proc, new: &Proc, edits: &[Forward]) -> Moves {
        of_lists((&old.body, &new.body), &Path::root(), false, edits)
    }

    /// Over these moves and others after them.
    pub fn then(&self, next: &Moves) -> Moves {
        let mut all = Moves::default();
        for kept in &self.kept {
            let (Some(lo), Some(hi)) = (kept.image(kept.lo), kept.image(kept.hi)) else { continue };
            let back = |at: usize| Kept { shift: -kept.shift, ..*kept }.image(at);
            let first = next.kept.partition_point(|later| later.hi <= lo);
            for later in next.kept.iter().skip(first).take_while(|later| later.lo < hi) {
                if let (Some(lo), Some(hi)) = (back(lo.max(later.lo)), back(hi.min(later.hi))) {
                    all.keep(Kept { lo, hi, shift: kept.shift + later.shift });
                }
            }
            for (at, inside) in next.inside.range(lo..hi) {
                all.inside.extend(back(*at).map(|at| (at, inside.clone())));
            }
        }
        for (at, inside) in &self.inside {
            let both = |other: &Inside| {
                let [body, orelse] = [0, 1].map(|k| Some(Arc::new(inside.lists.get(k)?.then(other.lists.get(k)?))));
                Some(Inside { to: other.to, lists: [body?, orelse?] })
            };
            let moved = match next.kept_at(inside.to) {
                Some(kept) => kept.image(inside.to).map(|to| Inside { to, ..inside.clone() }),
                None => next.inside.get(&inside.to).and_then(both),
            };
            all.inside.extend(moved.map(|moved| (*at, moved)));
        }
        all
    }

    /// Where a place went; `None` when that has to be found out edit by edit.
    pub fn place(&self, place: &Place) -> Option<Place> {
        match place {
            Place::Node(path) => self.path(path).map(Place::Node),
            Place::Gap(gap) => Some(Place::Gap(GapPlace { anchor: self.path(&gap.anchor)?, side: gap.side })),
            Place::Invalid | Place::Block(_) | Place::Arg(_) | Place::ArgList { .. } | Place::Exprs { .. } => None,
        }
    }

    fn path(&self, path: &Path) -> Option<Path> {
        let mut path = path.clone();
        let mut steps = path.0.iter_mut().peekable();
        let mut list = self;
        while let Some(step) = steps.next() {
            let (orelse, at) = step.in_list()?;
            if let Some(kept) = list.kept_at(at) {
                *step = Step::statement(orelse, kept.image(at)?);
                return Some(path);
            }
            let inside = list.inside.get(&at)?;
            *step = Step::statement(orelse, inside.to);
            let Some(next) = steps.peek() else { break };
            let (orelse, _) = next.in_list()?;
            list = inside.lists.get(usize::from(orelse))?;
        }
        Some(path)
    }

    fn kept_at(&self, at: usize) -> Option<&Kept> {
        let next = self.kept.partition_point(|kept| kept.hi <= at);
        self.kept.get(next).filter(|kept| kept.lo <= at)
    }

    fn keep(&mut self, kept: Kept) {
        if kept.lo >= kept.hi {
            return;
        }
        match self.kept.last_mut() {
            Some(last) if last.hi == kept.lo && last.shift == kept.shift => last.hi = kept.hi,
            _ => self.kept.push(kept),
        }
    }
}

/// What an edit does to a list.
enum Touch {
    /// Nothing.
    Elsewhere,
    /// Something at `lo..hi` that makes the list longer by `by`.
    Here {
        lo: usize,
        hi: usize,
        by: isize,
    },
    /// Something inside the statement.
    Within(usize),
    Unclear,
}

/// Of the list below `parent` in both versions; edits elsewhere are left out.
fn of_lists((old, new): (&Block, &Block), parent: &Path, orelse: bool, edits: &[Forward]) -> Moves {
    let head = old.common_head(new);
    let tail = old.common_tail(new).min(old.len().min(new.len()) - head);
    // What changed, by the trees and by the edits: from `lo` on, to `old_hi` before any edit and to `hi` after those so far.
    let (mut lo, mut hi, mut old_hi) = (head, old.len() - tail, old.len() - tail);
    let mut within = Within::Nothing;
    for touch in edits.iter().flat_map(|edit| touches(edit, parent, orelse)) {
        let (from, to, by) = match touch {
            Touch::Elsewhere => continue,
            Touch::Here { lo, hi, by } => {
                within = Within::Several;
                (lo, hi, by)
            }
            Touch::Within(at) => {
                within = within.and(at);
                (at, at + 1, 0)
            }
            Touch::Unclear => return Moves::default(),
        };
        lo = lo.min(from);
        let further = to.saturating_sub(hi);
        old_hi += further;
        let Some(moved) = (hi + further).checked_add_signed(by) else { return Moves::default() };
        hi = moved;
    }
    let fits = lo <= old_hi && lo <= hi && old_hi <= old.len() && hi <= new.len();
    if !fits || old.len() - old_hi != new.len() - hi {
        return Moves::default();
    }
    let mut moves = Moves::default();
    moves.keep(Kept { lo: 0, hi: lo, shift: 0 });
    if let (Within::One(at), Some(a), Some(b)) = (within, old.get(lo), new.get(lo))
        && (lo, old_hi, hi) == (at, at + 1, at + 1)
        && alike(a, b)
    {
        let scope = parent.child(Step::statement(orelse, at));
        let ([a_body, a_orelse], [b_body, b_orelse]) = (visit::inner_lists(a), visit::inner_lists(b));
        let body = Arc::new(of_lists((a_body, b_body), &scope, false, edits));
        let orelse = Arc::new(of_lists((a_orelse, b_orelse), &scope, true, edits));
        moves.inside.insert(at, Inside { to: at, lists: [body, orelse] });
    }
    if let Some(shift) = hi.checked_signed_diff(old_hi) {
        moves.keep(Kept { lo: old_hi, hi: usize::MAX, shift });
    }
    moves
}

/// The statements of a list that all edits are inside of.
#[derive(Clone, Copy)]
enum Within {
    Nothing,
    One(usize),
    Several,
}

impl Within {
    fn and(self, at: usize) -> Within {
        match self {
            Within::Nothing => Within::One(at),
            Within::One(before) if before == at => self,
            Within::One(_) | Within::Several => Within::Several,
        }
    }
}

/// Whether both statements have the same lists inside.
fn alike(old: &Stmt, new: &Stmt) -> bool {
    matches!(
        (&old.kind, &new.kind),
        (StmtKind::For { .. }, StmtKind::For { .. }) | (StmtKind::If { .. }, StmtKind::If { .. })
    )
}

fn touches(edit: &Forward, parent: &Path, orelse: bool) -> Vec<Touch> {
    let at_list = |of: &Path, in_orelse: bool, lo: usize, hi: usize, by: Option<isize>| {
        let Some(by) = by else { return Touch::Unclear };
        match of == parent {
            true if in_orelse == orelse => Touch::Here { lo, hi, by },
            true => Touch::Elsewhere,
            false => below(of, parent, orelse),
        }
    };
    match edit {
        Forward::Replace { parent: of, orelse, lo, hi, count } => {
            vec![at_list(of, *orelse, *lo, *hi, count.checked_signed_diff(hi - lo))]
        }
        Forward::Insert { parent: of, orelse, at, count } => {
            vec![at_list(of, *orelse, *at, *at, count.checked_signed_diff(0))]
        }
        Forward::Wrap { parent: of, orelse, lo, hi, .. } => {
            vec![at_list(of, *orelse, *lo, *hi, 1_usize.checked_signed_diff(hi - lo))]
        }
        Forward::Unwrap { parent: of, orelse, at, count, .. } => {
            vec![at_list(of, *orelse, *at, at + 1, count.checked_signed_diff(1))]
        }
        // Rare, and its two ends may be in lists of which one is inside the other.
        Forward::Move { .. } => vec![Touch::Unclear],
        Forward::Rewrite { dead } => dead.iter().map(|path| below(path, parent, orelse)).collect(),
        Forward::Restructure { path, .. } => vec![below(path, parent, orelse)],
        Forward::DropArg(_) | Forward::TransposeArg(_) => Vec::new(),
    }
}

/// What a change at a path, and below it, means for a list.
fn below(path: &Path, parent: &Path, orelse: bool) -> Touch {
    let Some(rest) = path.0.strip_prefix(parent.0.as_slice()) else { return Touch::Elsewhere };
    match rest.first().map(|step| step.in_list()) {
        Some(Some((in_orelse, at))) if in_orelse == orelse => Touch::Within(at),
        // The other list, or an expression of the statement that holds both.
        Some(_) => Touch::Elsewhere,
        None => Touch::Unclear,
    }
}

#[cfg(test)]
mod tests;
