//! The check of a step against its slow twin, the check of everything, over random edits good and bad.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::sync::Arc;

use crate::cursor::path::{self, BlockPlace, GapPlace, Path, Side};
use crate::cursor::{Editor, Step};
use crate::interpret::random::Random;
use crate::loop_ir::declarations::Declarations;
use crate::loop_ir::revalidate::commit;
use crate::loop_ir::validate::validate;
use crate::loop_ir::{Block, LoopMode, Proc, Stmt, StmtKind, build, substitute};
use crate::source::Span;
use crate::symbol::Sym;
use crate::testing::proc;

const TEXT: &str = "
    @proc
    def f(n: size, x: f32[n, 8], y: f32[n]):
        a: f32[8]
        for i in seq(0, n):
            b: f32
            b = y[i]
            w = x[i, 0:8]
            for j in seq(0, 8):
                a[j] = b
                if j < 4:
                    w[j] = a[j]
                else:
                    c: f32[8, 8]
                    c[j, 0] = 1.0
                    w[j] = c[j, 0]
        d: f32
        d = a[0]
        for k in seq(0, 8):
            d += a[k]
        y[0] = d
";

fn statements(proc: &Proc) -> Vec<(Path, Stmt)> {
    let mut found = Vec::new();
    path::each_stmt_path(proc, &mut |at, stmt| found.push((at.clone(), stmt.clone())));
    found
}

/// One random edit; many of them break a law.
fn edit(editor: &mut Editor, random: &mut Random) {
    let all = statements(editor.proc());
    let (at, _) = random.pick(&all).unwrap().clone();
    let (other, stmt) = random.pick(&all).unwrap().clone();
    let place = BlockPlace::of_statement(&at).unwrap();
    let gap = GapPlace { anchor: at.clone(), side: if random.one_in(2) { Side::Before } else { Side::After } };
    let _ = match random.below(6) {
        0 => editor.delete(&place),
        1 => editor.insert(&gap, Block::one(stmt)),
        2 => editor.insert(&gap, substitute::alpha_rename(&Block::one(stmt))),
        3 => editor.move_block(&BlockPlace::of_statement(&other).unwrap(), &gap),
        4 => editor.wrap(&place, &[Step::Body(0)], |body| {
            let (iter, lo, hi) = (Sym::new("t"), build::int(0), build::int(2));
            build::stmt(StmtKind::For { iter, lo, hi, body, mode: LoopMode::Seq }, &Span::none())
        }),
        _ => {
            let mut kind = stmt.kind.clone();
            if let StmtKind::Alloc { ty, .. } = &mut kind {
                ty.shape.push(build::int(2));
            }
            editor.replace(&BlockPlace::of_statement(&other).unwrap(), Block::one(build::stmt(kind, &Span::none())))
        }
    };
}

#[test]
fn a_step_is_judged_as_the_whole_is() {
    let (mut kept, mut broken) = (0, 0);
    for seed in 1..=400 {
        let mut random = Random::new(seed);
        let mut before = Arc::new(proc(TEXT));
        for _ in 0..12 {
            let mut editor = Editor::new(&before);
            for _ in 0..1 + random.below(3) {
                edit(&mut editor, &mut random);
            }
            let (after, _) = editor.finish();
            let twin = after.clone();
            match (commit(&before, &after), validate(&twin)) {
                (Ok(()), Ok(())) => {
                    let known = Declarations::of(&after);
                    assert_eq!(format!("{known:?}"), format!("{:?}", Declarations::of(&twin)), "seed {seed}");
                    before = Arc::new(after);
                    kept += 1;
                }
                (Err(_), Err(_)) => broken += 1,
                (step, whole) => {
                    let (before, after) = (crate::print::proc(&before), crate::print::proc(&twin));
                    panic!("seed {seed}: step {step:?}, whole {whole:?}\n{before}\n{after}");
                }
            }
        }
    }
    assert!(kept > 500 && broken > 500, "{kept} kept the laws, {broken} broke one");
}

#[test]
fn a_copy_of_a_committed_proc_knows_nothing() {
    let first = proc(TEXT);
    commit(&first, &first).unwrap();
    assert!(first.committed.declarations().is_some());
    assert!(first.clone().committed.declarations().is_none());
}

#[test]
fn a_changed_statement_is_summed_up_anew() {
    let first = proc(TEXT);
    let before = first.body[1].summary();
    let mut editor = Editor::new(&first);
    editor.delete(&BlockPlace::of_statement(&Path(vec![Step::Body(1), Step::Body(0)])).unwrap()).unwrap();
    // The same node, unshared by the first edit, is changed in place by the second.
    let once = editor.proc().body[1].summary();
    editor.delete(&BlockPlace::of_statement(&Path(vec![Step::Body(1), Step::Body(0)])).unwrap()).unwrap();
    assert!(before.nodes > once.nodes && once.nodes > editor.proc().body[1].summary().nodes);
}
