//! Composed moves against their slow twin, which follows every edit, and what they must know.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use super::Moves;
use crate::cursor::forward::forward;
use crate::cursor::path::{self, BlockPlace, GapPlace, Path, Place, Side, Step};
use crate::cursor::{Editor, Forward};
use crate::interpret::random::Random;
use crate::loop_ir::{Block, LoopMode, Proc, Stmt, StmtKind, build};
use crate::source::Span;
use crate::symbol::Sym;
use crate::testing::proc;

const TEXT: &str = "
    @proc
    def f(n: size, x: f32[n, 8], y: f32[n]):
        y[0] = 0.0
        for i in seq(0, n):
            y[i] = x[i, 0]
            for j in seq(0, 8):
                x[i, j] = 2.0
                if j < 4:
                    x[i, j] += y[i] * x[i, j]
                    y[i] = 1.0
                else:
                    y[i] = 2.0
                    y[i] += 2.0
        y[0] = 1.0
        for k in seq(0, n):
            y[k] = 3.0
        y[0] = 2.0
";

/// Every statement and every expression below one, and the gaps.
fn places(proc: &Proc) -> Vec<Place> {
    let mut found = Vec::new();
    path::each_stmt_path(proc, &mut |at, stmt| {
        found.push(Place::Node(at.clone()));
        found.extend([Side::Before, Side::After].map(|side| Place::Gap(GapPlace { anchor: at.clone(), side })));
        for step in path::own_expr_steps(stmt) {
            let below = path::expr_steps(path::own_expr(stmt, step).unwrap());
            found.extend(below.into_iter().map(|inner| Place::Node(at.child(step).child(inner))));
            found.push(Place::Node(at.child(step)));
        }
    });
    found
}

fn statements(proc: &Proc) -> Vec<(Path, Stmt)> {
    let mut found = Vec::new();
    path::each_stmt_path(proc, &mut |at, stmt| found.push((at.clone(), stmt.clone())));
    found
}

fn wrapped(body: Block) -> Stmt {
    let (iter, lo, hi) = (Sym::new("t"), build::int(0), build::int(2));
    build::stmt(StmtKind::For { iter, lo, hi, body, mode: LoopMode::Seq }, &Span::none())
}

fn edit(editor: &mut Editor, random: &mut Random) {
    let all = statements(editor.proc());
    let (at, stmt) = random.pick(&all).unwrap().clone();
    let (other, _) = random.pick(&all).unwrap().clone();
    let place = BlockPlace::of_statement(&at).unwrap();
    let gap = GapPlace { anchor: other.clone(), side: if random.one_in(2) { Side::Before } else { Side::After } };
    let _ = match random.below(9) {
        0 => editor.delete(&place),
        1 | 2 => editor.insert(&gap, (0..1 + random.below(3)).map(|_| build::pass()).collect()),
        3 => editor.insert(&gap, Block::one(stmt)),
        4 => editor.move_block(&place, &gap),
        5 => editor.wrap(&place, &[Step::Body(0)], wrapped),
        6 => editor.unwrap(&at, random.one_in(3)),
        7 => editor.replace(&place, Block::from([stmt, build::pass()])),
        _ => match path::own_expr_steps(&stmt).first() {
            Some(step) => editor.replace_expr(&at.child(*step), build::int(7)),
            None => Ok(()),
        },
    };
}

#[test]
fn what_is_known_is_what_every_edit_says() {
    let (mut known, mut unknown) = (0, 0);
    for seed in 1..=300 {
        let mut random = Random::new(seed);
        let first = proc(TEXT);
        let (mut version, mut edits, mut moves) = (first.clone(), Vec::<Forward>::new(), Vec::new());
        for _ in 0..1 + random.below(6) {
            let mut editor = Editor::new(&version);
            (0..1 + random.below(2)).for_each(|_| edit(&mut editor, &mut random));
            let (next, steps) = editor.finish();
            moves.push(Moves::of(&version, &next, &steps));
            version = next;
            edits.extend(steps);
        }
        let by_left = moves.iter().skip(1).fold(moves[0].clone(), |all, one| all.then(one));
        let last = moves.len() - 1;
        let by_right = moves[..last].iter().rev().fold(moves[last].clone(), |all, one| one.then(&all));
        for place in places(&first) {
            let truth = forward(&place, &edits);
            for composed in [&by_left, &by_right] {
                match composed.place(&place) {
                    Some(moved) => {
                        assert_eq!(Some(moved), truth, "seed {seed}: {place:?} over {edits:?}");
                        known += 1;
                    }
                    None => unknown += 1,
                }
            }
        }
    }
    assert!(known > 10_000 && unknown > 1000, "{known} known, {unknown} unknown");
}

#[test]
fn edits_of_a_list_at_any_depth_move_all_other_statements() {
    let first = proc(TEXT);
    let inner = Path(vec![Step::Body(1), Step::Body(1), Step::Body(1)]);
    for (list, orelse) in [(Path::root(), false), (Path(vec![Step::Body(1)]), false), (inner.clone(), true)] {
        let (mut version, mut moves) = (first.clone(), Moves::of(&first, &first, &[]));
        for at in [0, 1, 1, 0] {
            let mut editor = Editor::new(&version);
            editor.insert_at(&list, orelse, at, Block::one(build::pass())).unwrap();
            let (next, steps) = editor.finish();
            moves = moves.then(&Moves::of(&version, &next, &steps));
            version = next;
        }
        for (at, stmt) in statements(&first) {
            let place = Place::Node(at.clone());
            let Some(Place::Node(now)) = moves.place(&place) else { panic!("{at:?} is not known") };
            let same = path::stmt(&version, &now).unwrap();
            let around = list.0.starts_with(&at.0);
            assert!(around || std::sync::Arc::ptr_eq(same, &stmt), "{at:?} became {now:?}");
        }
    }
}

#[test]
fn a_list_of_edits_at_one_end_is_one_run() {
    let first = proc(TEXT);
    let (mut version, mut moves) = (first.clone(), Moves::of(&first, &first, &[]));
    for _ in 0..100 {
        let mut editor = Editor::new(&version);
        editor.insert_at(&Path::root(), false, 0, Block::one(build::pass())).unwrap();
        let (next, steps) = editor.finish();
        moves = moves.then(&Moves::of(&version, &next, &steps));
        version = next;
    }
    assert_eq!((moves.kept.len(), moves.inside.len()), (1, 0));
}
