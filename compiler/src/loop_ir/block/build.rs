//! How the trees of statement lists are cut and joined, balanced by height as AVL trees are.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use super::{Content, Node};
use crate::loop_ir::statement::Stmt;

/// Statements that a leaf may hold. An edit copies one leaf, so few; a pointer to each leaf is kept, so not too few.
pub(super) const MOST_IN_LEAF: usize = 16;

type Tree = Option<Arc<Node>>;

fn leaf(stmts: Vec<Stmt>) -> Arc<Node> {
    Arc::new(Node { len: stmts.len(), height: 0, content: Content::Leaf(stmts), summary: OnceLock::new() })
}

fn pair(left: Arc<Node>, right: Arc<Node>) -> Arc<Node> {
    let (len, height) = (left.len + right.len, 1 + left.height.max(right.height));
    Arc::new(Node { len, height, content: Content::Pair(left, right), summary: OnceLock::new() })
}

/// A tree of the statements, as flat as can be.
pub(super) fn of(stmts: Vec<Stmt>) -> Tree {
    if stmts.is_empty() {
        return None;
    }
    if stmts.len() <= MOST_IN_LEAF {
        return Some(leaf(stmts));
    }
    let mut level: Vec<Arc<Node>> = stmts.chunks(MOST_IN_LEAF).map(|run| leaf(run.to_vec())).collect();
    while level.len() > 1 {
        level = level
            .chunks(2)
            .filter_map(|two| match two {
                [left, right] => Some(balanced(left.clone(), right.clone())),
                [one] => Some(one.clone()),
                _ => None,
            })
            .collect();
    }
    level.pop()
}

/// Two trees one after the other.
pub(super) fn join(left: Tree, right: Tree) -> Tree {
    match (left, right) {
        (Some(left), Some(right)) => Some(joined(left, right)),
        (tree, None) | (None, tree) => tree,
    }
}

fn joined(left: Arc<Node>, right: Arc<Node>) -> Arc<Node> {
    // A short run goes down to a leaf, where it may find room.
    let goes_down =
        |small: &Arc<Node>, large: &Arc<Node>| large.height > small.height + 1 || small.height == 0 && large.height > 0;
    match (&left.content, &right.content) {
        (Content::Leaf(a), Content::Leaf(b)) if a.len() + b.len() <= MOST_IN_LEAF => {
            leaf(a.iter().chain(b).cloned().collect())
        }
        (Content::Pair(a, b), _) if goes_down(&right, &left) => balanced(a.clone(), joined(b.clone(), right)),
        (_, Content::Pair(a, b)) if goes_down(&left, &right) => balanced(joined(left, a.clone()), b.clone()),
        (Content::Leaf(_) | Content::Pair(..), Content::Leaf(_) | Content::Pair(..)) => pair(left, right),
    }
}

/// A node over two trees; where one is more than one level higher, its parts are hung up anew.
fn balanced(left: Arc<Node>, right: Arc<Node>) -> Arc<Node> {
    if left.height > right.height + 1
        && let Content::Pair(a, b) = &left.content
    {
        return match &b.content {
            Content::Pair(c, d) if b.height > a.height => pair(pair(a.clone(), c.clone()), balanced(d.clone(), right)),
            Content::Leaf(_) | Content::Pair(..) => pair(a.clone(), balanced(b.clone(), right)),
        };
    }
    if right.height > left.height + 1
        && let Content::Pair(a, b) = &right.content
    {
        return match &a.content {
            Content::Pair(c, d) if a.height > b.height => pair(balanced(left, c.clone()), pair(d.clone(), b.clone())),
            Content::Leaf(_) | Content::Pair(..) => pair(balanced(left, a.clone()), b.clone()),
        };
    }
    pair(left, right)
}

/// A tree with a range replaced, where the change stays within one leaf or makes two of it; `None` where it does not, which
/// [`split`] and [`join`] can do. The range lies inside the tree.
pub(super) fn spliced(node: &Arc<Node>, range: Range<usize>, new: &[Stmt]) -> Option<Arc<Node>> {
    match &node.content {
        Content::Leaf(stmts) => {
            let kept = stmts.get(..range.start)?.iter().chain(new).chain(stmts.get(range.end..)?);
            let stmts: Vec<Stmt> = kept.cloned().collect();
            match stmts.len() {
                0 => None,
                len if len <= MOST_IN_LEAF => Some(leaf(stmts)),
                len if len <= 2 * MOST_IN_LEAF => {
                    let (head, tail) = stmts.split_at(len / 2);
                    Some(pair(leaf(head.to_vec()), leaf(tail.to_vec())))
                }
                _ => None,
            }
        }
        Content::Pair(left, right) => match (range.start.checked_sub(left.len), range.end.checked_sub(left.len)) {
            (Some(lo), Some(hi)) => Some(balanced(left.clone(), spliced(right, lo..hi, new)?)),
            (None, None | Some(0)) => Some(balanced(spliced(left, range, new)?, right.clone())),
            (None, Some(_)) | (Some(_), None) => None,
        },
    }
}

/// The statements before a position, and the others.
pub(super) fn split(tree: Tree, at: usize) -> (Tree, Tree) {
    let Some(node) = tree else { return (None, None) };
    if at == 0 {
        return (None, Some(node));
    }
    if at >= node.len {
        return (Some(node), None);
    }
    match &node.content {
        Content::Leaf(stmts) => {
            let (head, tail) = stmts.split_at(at);
            (Some(leaf(head.to_vec())), Some(leaf(tail.to_vec())))
        }
        Content::Pair(left, right) if at <= left.len => {
            let (head, tail) = split(Some(left.clone()), at);
            (head, join(tail, Some(right.clone())))
        }
        Content::Pair(left, right) => {
            let (head, tail) = split(Some(right.clone()), at - left.len);
            (join(Some(left.clone()), head), tail)
        }
    }
}
