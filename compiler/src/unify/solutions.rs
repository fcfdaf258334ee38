//! From equations to argument lists: tries which dimensions of each window argument are points.

use super::Mismatch;
use super::affine::{Affine, Term};
use super::arguments;
use super::integers::System;
use super::matcher::{BufferMatch, Equation, Matcher};
use crate::loop_ir::{ArgType, Expr};
use crate::print::Names;

/// A window parameter: the unknowns for the dimensions of its buffer, and which of them are points.
#[derive(Clone, Debug)]
pub(super) struct Choice {
    /// Position of the parameter.
    pub(super) formal: usize,
    /// Number of the first unknown; one for each dimension of the buffer: the point, or the low end.
    pub(super) first: usize,
    /// For each dimension of the buffer: whether it is a point.
    pub(super) points: Vec<bool>,
}

/// All argument lists, in lexicographic order of the point dimensions, at most `most`.
pub(super) fn solve(matcher: Matcher<'_>, most: usize) -> Result<Vec<Vec<Expr>>, Mismatch> {
    let mut windows = Vec::new();
    let mut count = matcher.callee.args.len();
    for (at, arg) in matcher.callee.args.iter().enumerate() {
        let ArgType::Data(ty) = &arg.ty else { continue };
        let Some(buffer) = matcher.buffers.get(&at) else {
            return Err(Mismatch::new(format!("nothing in the block stands for `{}`", arg.name)));
        };
        if ty.is_window {
            windows.push((at, count, buffer.rank.saturating_sub(ty.rank())));
            count += buffer.rank;
        }
    }
    let mut system = System::new(count);
    for equation in &matcher.equations {
        if !system.add(&equation.form, &matcher.atoms) {
            return Err(differ(&matcher, equation));
        }
    }
    let mut search = Search { matcher, windows, most, chosen: Vec::new(), found: Vec::new() };
    search.descend(0, &system)?;
    match search.found.is_empty() {
        true => Err(Mismatch::new("the accesses do not fit any window of the buffers")),
        false => Ok(search.found),
    }
}

/// What is said of an equation that contradicts those before it.
fn differ(matcher: &Matcher<'_>, equation: &Equation) -> Mismatch {
    match &equation.sides {
        None => Mismatch::new("indices, bounds or extents differ"),
        Some((own, given)) => {
            let (own, given) = (Names::of(matcher.callee).expr(own), Names::default().expr(given));
            Mismatch::new(format!("indices, bounds or extents differ: `{own}` of the body would have to be `{given}`"))
        }
    }
}

struct Search<'a> {
    matcher: Matcher<'a>,
    /// Position, first unknown and number of points of each window parameter.
    windows: Vec<(usize, usize, usize)>,
    most: usize,
    chosen: Vec<Choice>,
    found: Vec<Vec<Expr>>,
}

impl Search<'_> {
    fn descend(&mut self, depth: usize, system: &System) -> Result<(), Mismatch> {
        let Some((formal, first, points)) = self.windows.get(depth).copied() else {
            let mut systems = vec![system.clone()];
            systems.extend(arguments::widened(&mut self.matcher, system, &self.chosen)?);
            for system in &systems {
                let arguments = arguments::build(&mut self.matcher, system, &self.chosen)?;
                if !self.found.contains(&arguments) {
                    self.found.push(arguments);
                }
            }
            return Ok(());
        };
        let Some(buffer) = self.matcher.buffers.get(&formal).cloned() else { return Ok(()) };
        for choice in choices(buffer.rank, points) {
            if self.found.len() >= self.most {
                break;
            }
            let mut extended = system.clone();
            if self.fits(&buffer, first, &choice, &mut extended) {
                self.chosen.push(Choice { formal, first, points: choice });
                self.descend(depth + 1, &extended)?;
                self.chosen.pop();
            }
        }
        Ok(())
    }

    /// Adds what a choice of points means for every access; `false` when that cannot be.
    fn fits(&self, buffer: &BufferMatch, first: usize, points: &[bool], system: &mut System) -> bool {
        let runs_along = |own: usize| (0..points.len()).filter(|dim| points.get(*dim) == Some(&false)).nth(own);
        let same_strides = buffer.strides.iter().all(|(own, dim)| runs_along(*own) == Some(*dim));
        same_strides
            && buffer.accesses.iter().all(|access| {
                let mut own = access.callee.iter();
                access.caller.iter().zip(points).enumerate().all(|(dim, (index, is_point))| {
                    let unknown = Affine::term(Term::Unknown(first + dim));
                    let here = match is_point {
                        true => Some(unknown),
                        false => own.next().and_then(|own| unknown.plus(1, own)),
                    };
                    here.and_then(|here| here.minus(index))
                        .is_some_and(|equation| system.add(&equation, &self.matcher.atoms))
                })
            })
    }
}

/// All ways to pick `count` of `rank` positions, in lexicographic order of the positions.
fn choices(rank: usize, count: usize) -> Vec<Vec<bool>> {
    let mut all = vec![(Vec::new(), 0)];
    for position in 0..rank {
        let mut next = Vec::new();
        for (prefix, taken) in all {
            for take in [true, false] {
                let taken = taken + usize::from(take);
                // Enough positions must be left for what is still to be taken.
                if taken <= count && taken + (rank - position - 1) >= count {
                    let mut prefix = prefix.clone();
                    prefix.push(take);
                    next.push((prefix, taken));
                }
            }
        }
        all = next;
    }
    all.into_iter().map(|(choice, _)| choice).collect()
}

#[cfg(test)]
mod tests {
    use super::choices;

    #[test]
    fn choices_come_in_lexicographic_order() {
        assert_eq!(choices(3, 1), [[true, false, false], [false, true, false], [false, false, true]]);
        assert_eq!(choices(2, 0), [[false, false]]);
        assert_eq!(choices(2, 2), [[true, true]]);
        assert_eq!(choices(0, 0), [Vec::<bool>::new()]);
        assert_eq!(choices(5, 2).len(), 10);
    }
}
