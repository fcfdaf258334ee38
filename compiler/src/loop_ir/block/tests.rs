//! Statement lists against vectors that do the same, and how much of them an edit makes anew.

use std::sync::Arc;

use super::{Block, Content, Node};
use crate::loop_ir::statement::{ConfigUse, Stmt, StmtKind, StmtNode};
use crate::loop_ir::summary::{NameFilter, Summary};
use crate::loop_ir::{LoopMode, build};
use crate::source::Span;
use crate::symbol::Sym;

fn assign(name: &Sym) -> Stmt {
    build::stmt(StmtKind::Assign { name: name.clone(), idx: Vec::new(), rhs: build::real(0.0) }, &Span::none())
}

fn statements(count: usize) -> Vec<Stmt> {
    (0..count).map(|_| build::pass()).collect()
}

fn parallel() -> Stmt {
    let (iter, body) = (Sym::new("i"), Block::one(build::pass()));
    let (lo, hi) = (build::int(0), build::int(2));
    build::stmt(StmtKind::For { iter, lo, hi, body, mode: LoopMode::Par }, &Span::none())
}

/// The very same nodes in the same order, and lengths, heights and summaries as the law says.
fn agrees(block: &Block, vector: &[Stmt]) {
    assert_eq!(block.len(), vector.len());
    assert!(block.iter().zip(vector).all(|(a, b)| Arc::ptr_eq(a, b)));
    assert!(block.iter().rev().zip(vector.iter().rev()).all(|(a, b)| Arc::ptr_eq(a, b)));
    if let Some(node) = &block.0 {
        well_formed(node);
    }
    let fresh = vector.iter().fold(Summary::default(), |sum, stmt| sum.beside(stmt.summary()));
    assert_eq!(block.summary(), fresh);
}

fn well_formed(node: &Node) {
    match &node.content {
        Content::Leaf(stmts) => {
            assert!(!stmts.is_empty() && stmts.len() <= super::build::MOST_IN_LEAF);
            assert_eq!((node.len, node.height), (stmts.len(), 0));
        }
        Content::Pair(left, right) => {
            assert_eq!(node.len, left.len + right.len);
            assert_eq!(node.height, 1 + left.height.max(right.height));
            assert!(left.height.abs_diff(right.height) <= 2, "{} and {}", left.height, right.height);
            well_formed(left);
            well_formed(right);
        }
    }
}

/// Numbers that look random, the same in every run.
fn numbers() -> impl FnMut(usize) -> usize {
    let mut state = 7_u64;
    move |below| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below.max(1)
    }
}

#[test]
fn a_list_does_what_a_vector_does() {
    let mut number = numbers();
    let mut vector = statements(40);
    let mut block = Block::from(vector.clone());
    for _ in 0..3000 {
        let before = (block.clone(), vector.clone());
        let lo = number(vector.len() + 1);
        let hi = lo + number((vector.len() - lo + 1).min(30));
        let new = statements(number(if vector.len() > 600 { 2 } else { 25 }));
        match number(4) {
            0 => {
                block.splice(lo..hi, new.clone());
                vector.splice(lo..hi, new);
            }
            1 => {
                block.insert(lo, build::pass());
                vector.insert(lo, block[lo].clone());
            }
            2 => {
                block.extend(new.clone());
                vector.extend(new);
            }
            _ => {
                if let (Some(a), Some(b)) = (block.get_mut(lo), vector.get_mut(lo)) {
                    *a = parallel();
                    *b = a.clone();
                }
            }
        }
        agrees(&block, &vector);
        agrees(&block.part(lo.min(vector.len())..).unwrap(), &vector[lo.min(vector.len())..]);
        // What was shared was not changed.
        agrees(&before.0, &before.1);
        let head = vector.iter().zip(&before.1).take_while(|(a, b)| Arc::ptr_eq(a, b)).count();
        let tail = vector.iter().rev().zip(before.1.iter().rev()).take_while(|(a, b)| Arc::ptr_eq(a, b)).count();
        assert_eq!((block.common_head(&before.0), block.common_tail(&before.0)), (head, tail));
    }
}

#[test]
fn parts_outside_a_list_are_none() {
    let block = Block::from(statements(20));
    assert!(block.part(3..21).is_none() && block.part(21..).is_none());
    assert!(block.part(20..).is_some_and(|part| part.is_empty()));
    assert!(block.get(20).is_none() && Block::none().first().is_none() && Block::none().last().is_none());
}

#[test]
fn skipping_is_reading_further_on() {
    let vector = statements(100);
    let block = Block::from(vector.clone());
    assert!(block.iter().skip(37).take(20).rev().zip(vector[37..57].iter().rev()).all(|(a, b)| Arc::ptr_eq(a, b)));
    assert_eq!(block.iter().skip(100).count() + block.iter().skip(1000).count(), 0);
    assert!(block.iter().nth_back(99).is_some_and(|first| Arc::ptr_eq(first, &vector[0])));
    assert!(block.iter().nth_back(100).is_none());
}

#[test]
fn picked_statements_are_those_that_pass_in_both_directions() {
    let mut number = numbers();
    let names: Vec<Sym> = (0..8).map(|k| Sym::new(&format!("x{k}"))).collect();
    let vector: Vec<Stmt> = (0..300).map(|_| assign(&names[number(8)])).collect();
    let block = Block::from(vector.clone());
    for name in &names {
        let wanted = NameFilter::of([name]);
        let passes = |stmt: &Stmt| stmt.summary().names.meets(wanted);
        let all: Vec<usize> = (0..300).filter(|at| passes(&vector[*at])).collect();
        let places = |found: &mut dyn Iterator<Item = (usize, &Stmt)>| found.map(|(at, _)| at).collect::<Vec<_>>();
        assert_eq!(places(&mut block.picked(|summary| summary.names.meets(wanted))), all);
        let (lo, hi) = (number(150), 150 + number(150));
        let inside: Vec<usize> = all.iter().copied().filter(|at| (lo..hi).contains(at)).collect();
        assert_eq!(places(&mut block.picked_in(lo..hi, |summary| summary.names.meets(wanted))), inside);
        let before: Vec<usize> = all.iter().copied().filter(|at| *at < hi).rev().collect();
        assert_eq!(places(&mut block.picked_before(hi, |summary| summary.names.meets(wanted))), before);
    }
}

#[test]
fn a_changed_statement_changes_what_is_known_of_the_list() {
    let mut block = Block::from(statements(100));
    assert!(!block.summary().parallel && !block.summary().config.reads);
    let known = block.clone();
    *block.get_mut(70).unwrap() = parallel();
    assert!(block.summary().parallel && !known.summary().parallel);
    Arc::make_mut(block.get_mut(3).unwrap()).set_config(ConfigUse { reads: true, writes: false });
    assert!(block.summary().config.reads && !known.summary().config.reads);
}

/// Nodes of `new` that `old` does not hold.
fn made_anew(old: &Block, new: &Block) -> usize {
    fn each(node: &Arc<Node>, f: &mut dyn FnMut(&Arc<Node>) -> bool) {
        if let (true, Content::Pair(left, right)) = (f(node), &node.content) {
            each(left, f);
            each(right, f);
        }
    }
    let mut known = std::collections::BTreeSet::new();
    old.0.iter().for_each(|node| each(node, &mut |node| known.insert(Arc::as_ptr(node))));
    let mut fresh = 0;
    new.0.iter().for_each(|node| {
        each(node, &mut |node| {
            let unknown = !known.contains(&Arc::as_ptr(node));
            fresh += usize::from(unknown);
            unknown
        });
    });
    fresh
}

#[test]
fn an_edit_of_a_long_list_makes_a_path_anew() {
    let long = Block::from(statements(100_000));
    let mut number = numbers();
    for _ in 0..100 {
        let mut edited = long.clone();
        edited.insert(number(100_000), build::pass());
        assert!(made_anew(&long, &edited) < 60);
        *edited.get_mut(number(100_000)).unwrap() = Arc::new(StmtNode::clone(&build::pass()));
        assert!(made_anew(&long, &edited) < 80);
    }
}

#[test]
fn growing_at_one_place_stays_compact() {
    let mut block = Block::from(statements(1));
    for _ in 0..4096 {
        block.insert(0, build::pass());
    }
    assert!(made_anew(Block::none(), &block) <= 2 * 4096 / 4);
    assert!(block.0.is_some_and(|node| node.height <= 14));
}
