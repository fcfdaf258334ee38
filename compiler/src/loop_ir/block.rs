//! Statement lists as persistent sequences: an edit shares all but one path with the list before, and runs carry summaries.

use std::ops::{Bound, Range, RangeBounds};
use std::sync::{Arc, OnceLock};

use crate::loop_ir::statement::Stmt;
use crate::loop_ir::summary::Summary;

mod build;
mod iter;

pub use iter::Iter;

/// Statements in order. The body of a proc, loop or branch is never empty: use `Pass`.
///
/// A height-balanced tree of short runs. Cutting, joining and finding a position take time in the logarithm of the length, and a
/// part of a list shares its runs with the whole.
#[derive(Clone, Default)]
pub struct Block(Option<Arc<Node>>);

/// A run of statements, not empty.
#[derive(Debug)]
struct Node {
    content: Content,
    len: usize,
    /// Zero for a leaf.
    height: u32,
    summary: OnceLock<Summary>,
}

#[derive(Clone, Debug)]
enum Content {
    Leaf(Vec<Stmt>),
    Pair(Arc<Node>, Arc<Node>),
}

impl Node {
    fn summary(&self) -> Summary {
        *self.summary.get_or_init(|| match &self.content {
            Content::Leaf(stmts) => stmts.iter().fold(Summary::default(), |sum, stmt| sum.beside(stmt.summary())),
            Content::Pair(left, right) => left.summary().beside(right.summary()),
        })
    }

    /// The leaf that holds a position, and where the leaf begins.
    fn leaf_at(&self, at: usize) -> (&[Stmt], usize) {
        let (mut node, mut start) = (self, 0);
        loop {
            match &node.content {
                Content::Leaf(stmts) => return (stmts, start),
                Content::Pair(left, _) if at - start < left.len => node = left,
                Content::Pair(left, right) => {
                    start += left.len;
                    node = right;
                }
            }
        }
    }

    fn get_mut(&mut self, at: usize) -> Option<&mut Stmt> {
        // What was known of the run is about to become wrong.
        self.summary = OnceLock::new();
        match &mut self.content {
            Content::Leaf(stmts) => stmts.get_mut(at),
            Content::Pair(left, right) => match at.checked_sub(left.len) {
                None => Arc::make_mut(left).get_mut(at),
                Some(at) => Arc::make_mut(right).get_mut(at),
            },
        }
    }
}

/// Nodes are copied to be changed, so the copy starts without facts.
impl Clone for Node {
    fn clone(&self) -> Self {
        Node { content: self.content.clone(), len: self.len, height: self.height, summary: OnceLock::new() }
    }
}

impl Block {
    /// The list without statements, where a reference to one is wanted.
    pub fn none() -> &'static Block {
        static NONE: Block = Block(None);
        &NONE
    }

    /// A list of one statement.
    pub fn one(stmt: Stmt) -> Block {
        Block::from([stmt])
    }

    pub fn len(&self) -> usize {
        self.0.as_ref().map_or(0, |node| node.len)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    pub fn get(&self, at: usize) -> Option<&Stmt> {
        let node = self.0.as_ref().filter(|node| at < node.len)?;
        let (leaf, start) = node.leaf_at(at);
        leaf.get(at - start)
    }

    /// For a change in place: the way to the statement is unshared.
    pub fn get_mut(&mut self, at: usize) -> Option<&mut Stmt> {
        let node = self.0.as_mut().filter(|node| at < node.len)?;
        Arc::make_mut(node).get_mut(at)
    }

    pub fn first(&self) -> Option<&Stmt> {
        self.get(0)
    }

    pub fn last(&self) -> Option<&Stmt> {
        self.get(self.len().checked_sub(1)?)
    }

    /// The statement of a list that has no other.
    pub fn only(&self) -> Option<&Stmt> {
        self.first().filter(|_| self.len() == 1)
    }

    /// The first statement and those after it.
    pub fn split_first(&self) -> Option<(&Stmt, Block)> {
        Some((self.first()?, self.part(1..)?))
    }

    /// The last statement and those before it.
    pub fn split_last(&self) -> Option<(&Stmt, Block)> {
        Some((self.last()?, self.part(..self.len().checked_sub(1)?)?))
    }

    /// A part of the list, sharing its runs; `None` where the range does not lie inside the list.
    pub fn part(&self, range: impl RangeBounds<usize>) -> Option<Block> {
        let (lo, hi) = ends(range, self.len());
        if lo > hi || hi > self.len() {
            return None;
        }
        let (head, _) = build::split(self.0.clone(), hi);
        let (_, part) = build::split(head, lo);
        Some(Block(part))
    }

    /// Whether both hold the very same nodes, not merely equal ones.
    pub fn same(&self, other: &Block) -> bool {
        self.len() == other.len() && self.common_head(other) == self.len()
    }

    /// How many statements at the beginning are the same nodes in both lists. Shared runs are not looked into.
    pub fn common_head(&self, other: &Block) -> usize {
        iter::common(self.0.as_deref(), other.0.as_deref(), iter::End::Head)
    }

    /// Like [`Block::common_head`], counted from the end.
    pub fn common_tail(&self, other: &Block) -> usize {
        iter::common(self.0.as_deref(), other.0.as_deref(), iter::End::Tail)
    }

    /// What the statements hold, taken together.
    pub fn summary(&self) -> Summary {
        self.0.as_ref().map_or(Summary::default(), |node| node.summary())
    }

    pub fn iter(&self) -> Iter<'_> {
        Iter::new(self.0.as_deref(), self.len())
    }

    /// The statements whose summary passes, with their positions. What passes for a statement must pass for any run that
    /// holds it, since whole runs are left out.
    pub fn picked<'a>(
        &'a self,
        passes: impl Fn(&Summary) -> bool + 'a,
    ) -> impl Iterator<Item = (usize, &'a Stmt)> + 'a {
        self.picked_in(0..self.len(), passes)
    }

    /// Like [`Block::picked`], of a range of positions.
    pub fn picked_in<'a>(
        &'a self,
        range: Range<usize>,
        passes: impl Fn(&Summary) -> bool + 'a,
    ) -> impl Iterator<Item = (usize, &'a Stmt)> + 'a {
        iter::Picked::new(self.0.as_deref(), range, false, passes)
    }

    /// Like [`Block::picked`], of the statements before a position, the last first.
    pub fn picked_before<'a>(
        &'a self,
        end: usize,
        passes: impl Fn(&Summary) -> bool + 'a,
    ) -> impl Iterator<Item = (usize, &'a Stmt)> + 'a {
        iter::Picked::new(self.0.as_deref(), 0..end, true, passes)
    }

    pub fn push(&mut self, stmt: Stmt) {
        self.insert(self.len(), stmt);
    }

    /// Puts a statement at a position, or at the end where the list is shorter.
    pub fn insert(&mut self, at: usize, stmt: Stmt) {
        self.splice(at..at, Block::one(stmt));
    }

    /// Takes a range out and puts other statements there. A range that reaches past the end is cut.
    pub fn splice(&mut self, range: impl RangeBounds<usize>, new: impl Into<Block>) {
        let (new, len) = (new.into(), self.len());
        let (lo, hi) = ends(range, len);
        let (lo, hi) = (lo.min(len), hi.min(len).max(lo.min(len)));
        if let (Some(node), true) = (&self.0, new.len() <= build::MOST_IN_LEAF) {
            let few: Vec<Stmt> = new.iter().cloned().collect();
            if let Some(node) = build::spliced(node, lo..hi, &few) {
                self.0 = Some(node);
                return;
            }
        }
        let (head, tail) = build::split(self.0.take(), hi);
        let (head, _) = build::split(head, lo);
        self.0 = build::join(build::join(head, new.0), tail);
    }

    /// The list followed by another.
    pub fn followed_by(&self, other: &Block) -> Block {
        Block(build::join(self.0.clone(), other.0.clone()))
    }

    /// Each statement in place, for changes; all ways to statements are unshared.
    pub fn change_each(&mut self, f: &mut dyn FnMut(&mut Stmt)) {
        let changed = |stmt: &Stmt| {
            let mut stmt = stmt.clone();
            f(&mut stmt);
            stmt
        };
        *self = self.iter().map(changed).collect();
    }
}

fn ends(range: impl RangeBounds<usize>, len: usize) -> (usize, usize) {
    let lo = match range.start_bound() {
        Bound::Included(lo) => *lo,
        Bound::Excluded(lo) => lo.saturating_add(1),
        Bound::Unbounded => 0,
    };
    let hi = match range.end_bound() {
        Bound::Included(hi) => hi.saturating_add(1),
        Bound::Excluded(hi) => *hi,
        Bound::Unbounded => len,
    };
    (lo, hi)
}

impl<'a> IntoIterator for &'a Block {
    type Item = &'a Stmt;
    type IntoIter = Iter<'a>;

    fn into_iter(self) -> Iter<'a> {
        self.iter()
    }
}

impl IntoIterator for Block {
    type Item = Stmt;
    type IntoIter = std::vec::IntoIter<Stmt>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter().cloned().collect::<Vec<Stmt>>().into_iter()
    }
}

impl FromIterator<Stmt> for Block {
    fn from_iter<I: IntoIterator<Item = Stmt>>(stmts: I) -> Self {
        Block(build::of(stmts.into_iter().collect()))
    }
}

impl From<Vec<Stmt>> for Block {
    fn from(stmts: Vec<Stmt>) -> Self {
        Block(build::of(stmts))
    }
}

impl<const N: usize> From<[Stmt; N]> for Block {
    fn from(stmts: [Stmt; N]) -> Self {
        Block(build::of(Vec::from(stmts)))
    }
}

impl Extend<Stmt> for Block {
    fn extend<I: IntoIterator<Item = Stmt>>(&mut self, stmts: I) {
        self.0 = build::join(self.0.take(), Block::from_iter(stmts).0);
    }
}

impl PartialEq for Block {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().zip(other).all(|(a, b)| Arc::ptr_eq(a, b) || a == b)
    }
}

impl std::fmt::Debug for Block {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self).finish()
    }
}

#[cfg(test)]
impl std::ops::Index<usize> for Block {
    type Output = Stmt;

    fn index(&self, at: usize) -> &Stmt {
        self.get(at).expect("a statement at this position")
    }
}

#[cfg(test)]
mod tests;
