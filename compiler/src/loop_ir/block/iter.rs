//! Walks along statement lists: all statements, those that may hold something, those that two lists share.

use std::iter::FusedIterator;
use std::ops::Range;
use std::sync::Arc;

use super::{Content, Node};
use crate::loop_ir::statement::Stmt;
use crate::loop_ir::summary::Summary;

/// The statements of a list, from either end.
#[derive(Clone)]
pub struct Iter<'a> {
    root: Option<&'a Node>,
    lo: usize,
    hi: usize,
    /// The leaves that were read last at each end, with the positions where they begin.
    front: (&'a [Stmt], usize),
    back: (&'a [Stmt], usize),
}

impl<'a> Iter<'a> {
    pub(super) fn new(root: Option<&'a Node>, len: usize) -> Self {
        Iter { root, lo: 0, hi: len, front: (&[], 0), back: (&[], 0) }
    }
}

fn read<'a>(root: Option<&'a Node>, leaf: &mut (&'a [Stmt], usize), at: usize) -> Option<&'a Stmt> {
    if at < leaf.1 || at >= leaf.1 + leaf.0.len() {
        *leaf = root?.leaf_at(at);
    }
    leaf.0.get(at - leaf.1)
}

impl<'a> Iterator for Iter<'a> {
    type Item = &'a Stmt;

    fn next(&mut self) -> Option<&'a Stmt> {
        self.nth(0)
    }

    fn nth(&mut self, skipped: usize) -> Option<&'a Stmt> {
        let at = self.lo.saturating_add(skipped);
        self.lo = at.saturating_add(1).min(self.hi);
        if at >= self.hi {
            return None;
        }
        read(self.root, &mut self.front, at)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.hi - self.lo;
        (left, Some(left))
    }
}

impl<'a> DoubleEndedIterator for Iter<'a> {
    fn next_back(&mut self) -> Option<&'a Stmt> {
        self.nth_back(0)
    }

    fn nth_back(&mut self, skipped: usize) -> Option<&'a Stmt> {
        let left = (self.hi - self.lo).saturating_sub(skipped);
        self.hi = self.lo + left.saturating_sub(1);
        if left == 0 {
            return None;
        }
        read(self.root, &mut self.back, self.hi)
    }
}

impl ExactSizeIterator for Iter<'_> {}

impl FusedIterator for Iter<'_> {}

/// The statements of a range whose summary passes, with their positions.
pub(super) struct Picked<'a, P> {
    passes: P,
    range: Range<usize>,
    /// Runs that were not looked into yet, the next last, with the positions where they begin.
    runs: Vec<(&'a Node, usize)>,
    leaf: (&'a [Stmt], usize),
    backwards: bool,
}

impl<'a, P: Fn(&Summary) -> bool> Picked<'a, P> {
    pub(super) fn new(root: Option<&'a Node>, range: Range<usize>, backwards: bool, passes: P) -> Self {
        let runs = root.map(|node| (node, 0)).into_iter().collect();
        Picked { passes, range, runs, leaf: (&[], 0), backwards }
    }

    /// The next statement of the leaf that is being read.
    fn in_leaf(&mut self) -> Option<(usize, &'a Stmt)> {
        loop {
            let (run, start) = self.leaf;
            let (stmt, at, rest) = if self.backwards {
                let (last, rest) = run.split_last()?;
                (last, start + rest.len(), (rest, start))
            } else {
                let (first, rest) = run.split_first()?;
                (first, start, (rest, start + 1))
            };
            self.leaf = rest;
            if self.range.contains(&at) && (self.passes)(&stmt.summary()) {
                return Some((at, stmt));
            }
        }
    }
}

impl<'a, P: Fn(&Summary) -> bool> Iterator for Picked<'a, P> {
    type Item = (usize, &'a Stmt);

    fn next(&mut self) -> Option<(usize, &'a Stmt)> {
        loop {
            if let Some(found) = self.in_leaf() {
                return Some(found);
            }
            let (node, start) = self.runs.pop()?;
            let outside = start >= self.range.end || start + node.len <= self.range.start;
            if outside || !(self.passes)(&node.summary()) {
                continue;
            }
            match &node.content {
                Content::Leaf(stmts) => self.leaf = (stmts, start),
                Content::Pair(left, right) => {
                    let (left, right) = ((&**left, start), (&**right, start + left.len));
                    self.runs.extend(if self.backwards { [left, right] } else { [right, left] });
                }
            }
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Head,
    Tail,
}

/// A piece of a list that was not compared yet.
#[derive(Clone, Copy)]
enum Piece<'a> {
    Tree(&'a Node),
    Run(&'a [Stmt]),
}

impl<'a> Piece<'a> {
    fn len(self) -> usize {
        match self {
            Piece::Tree(node) => node.len,
            Piece::Run(run) => run.len(),
        }
    }

    fn run(self) -> Option<&'a [Stmt]> {
        match self {
            Piece::Tree(node) => match &node.content {
                Content::Leaf(stmts) => Some(stmts),
                Content::Pair(..) => None,
            },
            Piece::Run(run) => Some(run),
        }
    }

    /// Puts the piece back, or its parts where there are some.
    fn put_apart(self, onto: &mut Vec<Piece<'a>>, end: End) {
        match self {
            Piece::Tree(Node { content: Content::Pair(left, right), .. }) => onto.extend(match end {
                End::Head => [Piece::Tree(right), Piece::Tree(left)],
                End::Tail => [Piece::Tree(left), Piece::Tree(right)],
            }),
            Piece::Tree(_) | Piece::Run(_) => onto.push(self),
        }
    }
}

/// How many statements at one end are the same nodes in both trees.
///
/// Wherever both trees hold one run at the same distance from the end, it comes up on both sides at once, since always
/// the longer side is taken apart.
pub(super) fn common(a: Option<&Node>, b: Option<&Node>, end: End) -> usize {
    let mut left: Vec<Piece<'_>> = a.map(Piece::Tree).into_iter().collect();
    let mut right: Vec<Piece<'_>> = b.map(Piece::Tree).into_iter().collect();
    let mut count = 0;
    while let (Some(a), Some(b)) = (left.pop(), right.pop()) {
        if let (Piece::Tree(x), Piece::Tree(y)) = (a, b)
            && std::ptr::eq(x, y)
        {
            count += x.len;
            continue;
        }
        if let (Some(x), Some(y)) = (a.run(), b.run()) {
            let (same, whole) = (common_in_runs(x, y, end), x.len().min(y.len()));
            count += same;
            if same < whole {
                return count;
            }
            for (run, pieces) in [(x, &mut left), (y, &mut right)] {
                let (head, tail) = match end {
                    End::Head => run.split_at(whole),
                    End::Tail => run.split_at(run.len() - whole),
                };
                let uncompared = if end == End::Head { tail } else { head };
                pieces.extend((!uncompared.is_empty()).then_some(Piece::Run(uncompared)));
            }
            continue;
        }
        let (a_apart, b_apart) = (a.len() >= b.len() || b.run().is_some(), b.len() >= a.len() || a.run().is_some());
        for (piece, apart, pieces) in [(a, a_apart, &mut left), (b, b_apart, &mut right)] {
            if apart { piece.put_apart(pieces, end) } else { pieces.push(piece) }
        }
    }
    count
}

fn common_in_runs(a: &[Stmt], b: &[Stmt], end: End) -> usize {
    let same = |(a, b): &(&Stmt, &Stmt)| Arc::ptr_eq(a, b);
    match end {
        End::Head => a.iter().zip(b).take_while(same).count(),
        End::Tail => a.iter().rev().zip(b.iter().rev()).take_while(same).count(),
    }
}
