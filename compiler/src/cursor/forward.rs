//! Forwarding as data: each edit says how places of the old tree map to places of the new one.
//!
//! Steps are applied oldest first. A place that an edit destroys becomes `None`. Laws (tested in `editor/tests.rs`): a
//! surviving node keeps its identity, forwarding is injective on survivors, and order is kept in untouched lists.

use crate::cursor::path::{BlockPlace, GapPlace, Path, Place, Step};

/// How one edit moves places. `parent`/`orelse` name the edited statement list in coordinates of the tree before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Forward {
    /// `lo..hi` of a list became `count` new statements; old ones die. Equal or larger blocks map around the new ones.
    Replace { parent: Path, orelse: bool, lo: usize, hi: usize, count: usize },
    /// `count` statements were inserted at a position. A block grows only when the position is inside it.
    Insert { parent: Path, orelse: bool, at: usize, count: usize },
    /// `lo..hi` became one statement that holds the run below it: at `inner`, a path from the new statement to the list
    /// and position where the run's first statement now stands (its last step).
    Wrap { parent: Path, orelse: bool, lo: usize, hi: usize, inner: Vec<Step> },
    /// The statement at `at` was replaced by its own list `inner_orelse` (of `count` statements); the rest of it dies.
    Unwrap { parent: Path, orelse: bool, at: usize, inner_orelse: bool, count: usize },
    /// A run moved to another place. `to_*` name the gap in coordinates of the old tree.
    Move { parent: Path, orelse: bool, lo: usize, hi: usize, to_parent: Path, to_orelse: bool, to_at: usize },
    /// Expressions under a statement or expression were rewritten in place: nodes keep their paths, and strict
    /// descendants of each `dead` path die.
    Rewrite { dead: Vec<Path> },
    /// The statement at `path` was replaced by another: it maps to the new one, statements inside it map as `inside`
    /// tells (old relative steps → new relative steps, longest match first), all else inside dies.
    Restructure { path: Path, inside: Vec<(Vec<Step>, Vec<Step>)> },
    /// The argument list lost the given argument (positions after it shift).
    DropArg(usize),
    /// The two dimensions of the given argument changed places.
    TransposeArg(usize),
}

/// Where a place of the old tree is in the new one; `None` when it is gone.
pub fn forward(place: &Place, steps: &[Forward]) -> Option<Place> {
    carried(place.clone(), steps)
}

/// Like [`forward`], of a place that is not needed any more: long histories move it without a copy for each step.
pub fn carried(place: Place, steps: &[Forward]) -> Option<Place> {
    steps.iter().try_fold(place, |place, step| match place {
        Place::Node(path) => carried_node(path, step).map(Place::Node),
        Place::Gap(gap) => Some(Place::Gap(GapPlace { anchor: carried_node(gap.anchor, step)?, side: gap.side })),
        other => forward_one(&other, step),
    })
}

/// Like [`node`], changing the path itself where the step only shifts it or leaves it alone.
fn carried_node(mut path: Path, step: &Forward) -> Option<Path> {
    let (parent, orelse, from, to) = match step {
        Forward::Replace { parent, orelse, lo, hi, count } => (parent, *orelse, (*lo, *hi), lo + count),
        Forward::Insert { parent, orelse, at, count } => (parent, *orelse, (*at, *at), at + count),
        Forward::Rewrite { dead } => return (!inside_of(dead, &path)).then_some(path),
        Forward::Restructure { path: at, .. } if !at.is_prefix_of(&path) || *at == path => return Some(path),
        Forward::DropArg(_) | Forward::TransposeArg(_) => return node(&path, step),
        Forward::Wrap { .. } | Forward::Unwrap { .. } | Forward::Move { .. } | Forward::Restructure { .. } => {
            return node(&path, step);
        }
    };
    let (lo, hi) = from;
    match through(&path, parent, orelse).map(|(at, _)| at) {
        Some(at) if at >= hi => {
            // What stood at `hi` stands at `to`.
            *path.0.get_mut(parent.0.len())? = Step::statement(orelse, at - hi + to);
            Some(path)
        }
        Some(at) if at >= lo => None,
        Some(_) | None => Some(path),
    }
}

fn forward_one(place: &Place, step: &Forward) -> Option<Place> {
    match place {
        Place::Invalid => None,
        Place::Node(path) => node(path, step).map(Place::Node),
        Place::Gap(gap) => Some(Place::Gap(GapPlace { anchor: node(&gap.anchor, step)?, side: gap.side })),
        Place::Block(block) => self::block(block, step).map(Place::Block),
        Place::Arg(at) => argument(*at, step).map(Place::Arg),
        Place::ArgList { lo, hi } => match step {
            Forward::DropArg(gone) => {
                let shift = |bound: usize| if bound > *gone { bound - 1 } else { bound };
                Some(Place::ArgList { lo: shift(*lo), hi: shift(*hi) })
            }
            _ => Some(place.clone()),
        },
        Place::Exprs { parent, list, lo, hi } => {
            // A list under a rewritten node may have another length, so its runs die with its elements.
            let parent = match step {
                Forward::Rewrite { dead } if dead.contains(parent) => return None,
                _ => node(parent, step)?,
            };
            Some(Place::Exprs { parent, list: *list, lo: *lo, hi: *hi })
        }
    }
}

fn argument(at: usize, step: &Forward) -> Option<usize> {
    match step {
        Forward::DropArg(gone) if at == *gone => None,
        Forward::DropArg(gone) if at > *gone => Some(at - 1),
        _ => Some(at),
    }
}

/// The position of a path in a list: `(index, rest of the path below)` when the path goes through that list.
fn through<'a>(path: &'a Path, parent: &Path, orelse: bool) -> Option<(usize, &'a [Step])> {
    let rest = path.0.strip_prefix(parent.0.as_slice())?;
    let (first, rest) = rest.split_first()?;
    let (in_orelse, at) = first.in_list()?;
    (in_orelse == orelse).then_some((at, rest))
}

fn placed(parent: &Path, orelse: bool, at: usize, rest: &[Step]) -> Path {
    parent.child(Step::statement(orelse, at)).join(rest)
}

/// Forwards the path of a node.
pub fn node(path: &Path, step: &Forward) -> Option<Path> {
    match step {
        Forward::Replace { parent, orelse, lo, hi, count } => match through(path, parent, *orelse) {
            Some((at, _)) if *lo <= at && at < *hi => None,
            Some((at, rest)) if at >= *hi => Some(placed(parent, *orelse, at + count - (hi - lo), rest)),
            Some(_) | None => Some(path.clone()),
        },
        Forward::Insert { parent, orelse, at: gap, count } => match through(path, parent, *orelse) {
            Some((at, rest)) if at >= *gap => Some(placed(parent, *orelse, at + count, rest)),
            Some(_) | None => Some(path.clone()),
        },
        Forward::Wrap { parent, orelse, lo, hi, inner } => match through(path, parent, *orelse) {
            Some((at, rest)) if at >= *hi => Some(placed(parent, *orelse, at - (hi - lo - 1), rest)),
            Some((at, rest)) if at >= *lo => Some(placed(parent, *orelse, *lo, &shifted(inner, at - lo)?).join(rest)),
            Some(_) | None => Some(path.clone()),
        },
        Forward::Unwrap { parent, orelse, at: scope, inner_orelse, count } => match through(path, parent, *orelse) {
            Some((at, rest)) if at == *scope => {
                let (first, rest) = rest.split_first()?;
                let (in_orelse, k) = first.in_list()?;
                (in_orelse == *inner_orelse).then(|| placed(parent, *orelse, scope + k, rest))
            }
            Some((at, rest)) if at > *scope => Some(placed(parent, *orelse, at + count - 1, rest)),
            Some(_) | None => Some(path.clone()),
        },
        Forward::Move { parent, orelse, lo, hi, to_parent, to_orelse, to_at } => {
            Some(moved(path, (parent, *orelse, *lo, *hi), (to_parent, *to_orelse, *to_at)))
        }
        Forward::Rewrite { dead } => (!inside_of(dead, path)).then(|| path.clone()),
        Forward::Restructure { path: at, inside } => restructured(path, at, inside),
        Forward::DropArg(_) => match path.0.split_first() {
            Some((Step::ArgDim(arg, dim), rest)) => {
                let arg = argument(*arg, step)?;
                Some(Path::root().child(Step::ArgDim(arg, *dim)).join(rest))
            }
            Some(_) | None => Some(path.clone()),
        },
        Forward::TransposeArg(changed) => match path.0.split_first() {
            Some((Step::ArgDim(arg, dim), rest)) if arg == changed => {
                Some(Path::root().child(Step::ArgDim(*arg, 1usize.checked_sub(*dim)?)).join(rest))
            }
            Some(_) | None => Some(path.clone()),
        },
    }
}

/// Whether a path is strictly below one of others.
fn inside_of(others: &[Path], path: &Path) -> bool {
    others.iter().any(|above| above.is_prefix_of(path) && above != path)
}

/// `inner` with its last statement position moved by `by`.
fn shifted(inner: &[Step], by: usize) -> Option<Vec<Step>> {
    let (last, init) = inner.split_last()?;
    let (orelse, at) = last.in_list()?;
    Some(init.iter().copied().chain([Step::statement(orelse, at + by)]).collect())
}

fn restructured(path: &Path, at: &Path, inside: &[(Vec<Step>, Vec<Step>)]) -> Option<Path> {
    let Some(rest) = path.0.strip_prefix(at.0.as_slice()) else { return Some(path.clone()) };
    if rest.is_empty() {
        return Some(path.clone());
    }
    let (from, to) = inside.iter().filter(|(from, _)| rest.starts_with(from)).max_by_key(|(from, _)| from.len())?;
    Some(at.join(to).join(rest.get(from.len()..)?))
}

/// Where a path is after the run `lo..hi` of one list moved to a gap; all coordinates are of the old tree.
fn moved(path: &Path, from: (&Path, bool, usize, usize), to: (&Path, bool, usize)) -> Path {
    let (parent, orelse, lo, hi) = from;
    let (to_parent, to_orelse, to_at) = to;
    let count = hi - lo;
    // The target list in coordinates of the tree with the run taken out.
    let target = removed(to_parent, parent, orelse, lo, hi);
    let same_list = parent == to_parent && orelse == to_orelse;
    let target_at = match to_at {
        at if same_list && at >= hi => at - count,
        at if same_list && at > lo => lo,
        at => at,
    };
    match through(path, parent, orelse) {
        Some((at, rest)) if lo <= at && at < hi => placed(&target, to_orelse, target_at + (at - lo), rest),
        _ => {
            let out = removed(path, parent, orelse, lo, hi);
            match through(&out, &target, to_orelse) {
                Some((at, rest)) if at >= target_at => placed(&target, to_orelse, at + count, rest),
                Some(_) | None => out,
            }
        }
    }
}

/// A path (outside the run) after the run `lo..hi` was taken out of its list.
fn removed(path: &Path, parent: &Path, orelse: bool, lo: usize, hi: usize) -> Path {
    match through(path, parent, orelse) {
        Some((at, rest)) if at >= hi => placed(parent, orelse, at - (hi - lo), rest),
        Some(_) | None => path.clone(),
    }
}

fn block(place: &BlockPlace, step: &Forward) -> Option<BlockPlace> {
    if let Forward::Replace { parent, orelse, lo, hi, count } = step
        && &place.parent == parent
        && place.orelse == *orelse
    {
        return replaced_block(place, *lo, *hi, *count);
    }
    if let Forward::Unwrap { parent, orelse, at, count, .. } = step
        && &place.parent == parent
        && place.orelse == *orelse
        && place.lo <= *at
        && *at < place.hi
    {
        let hi = place.hi + count - 1;
        return (place.lo < hi).then(|| BlockPlace { hi, ..place.clone() });
    }
    if let Forward::Wrap { parent, orelse, lo, hi, .. } = step
        && &place.parent == parent
        && place.orelse == *orelse
        && place.lo <= *lo
        && *hi <= place.hi
        && place.len() > hi - lo
    {
        return Some(BlockPlace { hi: place.hi - (hi - lo - 1), ..place.clone() });
    }
    if let Forward::Move { parent, orelse, lo, hi, to_parent, to_orelse, to_at } = step
        && (&place.parent, place.orelse) == (parent, *orelse)
        && (parent, orelse) == (to_parent, to_orelse)
        && place.lo <= *lo
        && *hi <= place.hi
        && (place.lo..=place.hi).contains(to_at)
    {
        // Statements changed places inside the block.
        return Some(place.clone());
    }
    // Everything else is decided by where the ends go; they must stay neighbours in one list.
    let first = node(&place.statement(0), step)?;
    let last = node(&place.statement(place.len().checked_sub(1)?), step)?;
    let (parent, orelse, lo) = first.list_position()?;
    let (last_parent, last_orelse, last_at) = last.list_position()?;
    (parent == last_parent && orelse == last_orelse && lo <= last_at).then_some(BlockPlace {
        parent,
        orelse,
        lo,
        hi: last_at + 1,
    })
}

fn replaced_block(place: &BlockPlace, lo: usize, hi: usize, count: usize) -> Option<BlockPlace> {
    let moved_end = |end: usize| if end >= hi { end + count - (hi - lo) } else { end };
    if place.hi <= lo {
        return Some(place.clone());
    }
    if place.lo >= hi {
        return Some(BlockPlace { lo: moved_end(place.lo), hi: moved_end(place.hi), ..place.clone() });
    }
    let contains = place.lo <= lo && hi <= place.hi;
    let new_hi = moved_end(place.hi);
    (contains && place.lo < new_hi).then(|| BlockPlace { hi: new_hi, ..place.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths() -> Vec<Path> {
        let lists = [vec![], vec![Step::Body(2)], vec![Step::Body(1), Step::Orelse(0)]];
        let positions = (0..5).flat_map(|at| [Step::Body(at), Step::Orelse(at)]);
        let ends = [vec![], vec![Step::Value], vec![Step::Body(3), Step::Cond]];
        positions
            .flat_map(|step| lists.iter().map(move |list| Path(list.clone()).child(step)))
            .flat_map(|path| ends.iter().map(move |end| path.join(end)))
            .collect()
    }

    #[test]
    fn a_path_changed_in_place_is_the_path_made_anew() {
        let parents = [Path::root(), Path(vec![Step::Body(2)]), Path(vec![Step::Body(1), Step::Orelse(0)])];
        let mut steps = Vec::new();
        for (parent, orelse) in parents.iter().flat_map(|parent| [(parent, false), (parent, true)]) {
            for (lo, count) in (0..4).flat_map(|lo| (0..3).map(move |count| (lo, count))) {
                let parent = parent.clone();
                steps.push(Forward::Insert { parent: parent.clone(), orelse, at: lo, count });
                steps.push(Forward::Replace { parent, orelse, lo, hi: lo + 2, count });
            }
        }
        let one = Path(vec![Step::Body(2)]);
        steps.push(Forward::Rewrite { dead: vec![one.child(Step::Value), one.child(Step::Body(3))] });
        steps.push(Forward::Restructure { path: one, inside: vec![(vec![Step::Body(3)], vec![Step::Body(0)])] });
        steps.push(Forward::DropArg(0));
        for step in &steps {
            for path in paths() {
                assert_eq!(carried_node(path.clone(), step), node(&path, step), "{path:?} {step:?}");
            }
        }
    }
}
