//! Random procs: what a question allows, the interpreter finds harmless.

use super::*;
use crate::cursor::{Editor, Step};
use crate::interpret::random::Random;
use crate::interpret::{Comparison, FaultKind, Options, compare};
use crate::loop_ir::substitute::{Substitution, alpha_rename, substitute_block};
use crate::loop_ir::{Block, Stmt};
use std::collections::BTreeMap;

/// Enough for every question to be allowed often; 2500 were run when this was written.
const SEEDS: u64 = 60;

struct Writer {
    random: Random,
    lines: Vec<String>,
    fresh: usize,
}

impl Writer {
    fn pick<'a>(&mut self, items: &[&'a str]) -> &'a str {
        self.random.pick(items).copied().unwrap_or("")
    }

    fn index(&mut self, iters: &[String], size: i64) -> String {
        let mut sum = self.random.between(0, 2).to_string();
        for iter in iters {
            match self.random.between(0, 4) {
                0 | 1 => sum = format!("{iter} + {sum}"),
                2 => sum = format!("2 * {iter} + {sum}"),
                3 => sum = format!("{iter} / 2 + {sum}"),
                _ => {}
            }
        }
        if self.random.one_in(3) { format!("({sum}) % {size}") } else { sum }
    }

    fn place(&mut self, iters: &[String]) -> String {
        match self.random.between(0, 5) {
            0 => "s".to_string(),
            1 => {
                let (a, b) = (self.index(iters, 3), self.index(iters, 5));
                format!("z[{a}, {b}]")
            }
            2 => format!("t[{}]", self.index(iters, 12)),
            3 => format!("x[{}]", self.index(iters, 12)),
            _ => format!("w[{}]", self.index(iters, 6)),
        }
    }

    fn value(&mut self, iters: &[String]) -> String {
        match self.random.between(0, 4) {
            0 => "1.0".to_string(),
            1 => format!("y[{}] * 2.0", self.index(iters, 12)),
            _ => format!("{} + y[{}]", self.place(iters), self.index(iters, 12)),
        }
    }

    fn line(&mut self, depth: usize, text: &str) {
        self.lines.push(format!("{}{text}", "    ".repeat(depth)));
    }

    fn statement(&mut self, depth: usize, iters: &[String]) {
        match self.random.between(0, 9) {
            0 if depth < 4 => {
                let (iter, lo) = (self.iterator(), self.pick(&["0", "1"]));
                let hi = self.pick(&["3", "4", "n"]);
                self.line(depth, &format!("for {iter} in seq({lo}, {hi}):"));
                let iters: Vec<String> = iters.iter().cloned().chain([iter]).collect();
                self.block(depth + 1, &iters);
            }
            1 if depth < 4 && !iters.is_empty() => {
                let iter = iters.last().cloned().unwrap_or_default();
                let (op, value) = (self.pick(&["<", "==", ">="]), self.pick(&["1", "2", "n - 1"]));
                self.line(depth, &format!("if {iter} {op} {value}:"));
                self.statement(depth + 1, iters);
                if self.random.one_in(2) {
                    self.line(depth, "else:");
                    self.statement(depth + 1, iters);
                }
            }
            2 => {
                let (a, b) = (self.index(iters, 9), self.index(iters, 9));
                self.line(depth, &format!("shift(x[{a}:{a} + 2], y[{b}:{b} + 2])"));
            }
            3 | 4 => {
                let (place, value) = (self.place(iters), self.value(iters));
                self.line(depth, &format!("{place} += {value}"));
            }
            _ => {
                let (place, value) = (self.place(iters), self.value(iters));
                self.line(depth, &format!("{place} = {value}"));
            }
        }
    }

    fn iterator(&mut self) -> String {
        self.fresh += 1;
        format!("i{}", self.fresh)
    }

    fn block(&mut self, depth: usize, iters: &[String]) {
        for _ in 0..self.random.between(1, 2) {
            self.statement(depth, iters);
        }
    }
}

/// `nest` loops around one or two statements, then some more statements.
fn text(seed: u64) -> String {
    let mut writer = Writer { random: Random::new(seed), lines: Vec::new(), fresh: 0 };
    let head = [
        "@proc",
        "def shift(a: [f32][2], b: [f32][2]):",
        "    for k in seq(0, 2):",
        "        a[k] = a[1 - k] + b[k]",
        "@proc",
        "def p(n: size, x: f32[12], y: f32[12], z: f32[3, 5], s: f32, d: f32):",
        "    assert n <= 4",
        "    w = x[3:9]",
        "    t: f32[12]",
        "    for i in seq(0, 12):",
        "        t[i] = y[i]",
    ];
    writer.lines.extend(head.iter().map(|line| line.to_string()));
    let (a, b) = (writer.iterator(), writer.iterator());
    let (hi, lo) = (writer.pick(&["3", "4", "n"]), writer.pick(&["0", "1"]));
    let inner = writer.pick(&["2", "3", "n"]);
    writer.line(1, &format!("for {a} in seq(0, {hi}):"));
    writer.line(2, &format!("for {b} in seq({lo}, {inner}):"));
    writer.block(3, &[a.clone(), b]);
    writer.line(1, &format!("for {a} in seq(0, {hi}):"));
    writer.statement(2, std::slice::from_ref(&a));
    writer.statement(2, &[a]);
    writer.block(1, &[]);
    writer.lines.join("\n") + "\n"
}

fn options() -> Options {
    Options { sizes: BTreeMap::from([("n".to_string(), vec![1, 4])]), rounds: 1, ..Options::default() }
}

/// How often each rewrite was allowed, so that the test cannot pass by refusing everything.
#[derive(Default, Debug)]
struct Tally {
    checked: usize,
    interchanged: usize,
    swapped: usize,
    split: usize,
    repeated: usize,
    reversed: usize,
    filled: usize,
    dead: usize,
    unchanged: usize,
    refused: usize,
}

fn same(p: &Proc, q: &Proc, what: &str) {
    let found = compare(p, q, &options());
    assert!(found.is_equal(), "{what}: {found:?}\n{}\n{}", crate::print::proc(p), crate::print::proc(q));
}

fn replaced(p: &Proc, place: &BlockPlace, new: Block) -> Proc {
    let mut editor = Editor::new(p);
    editor.replace(place, new).unwrap();
    editor.finish().0
}

fn with_body(stmt: &Stmt, new: Block) -> Stmt {
    let StmtKind::For { iter, lo, hi, mode, .. } = &stmt.kind else { panic!("a loop") };
    let kind = StmtKind::For { iter: iter.clone(), lo: lo.clone(), hi: hi.clone(), body: new, mode: *mode };
    build::stmt(kind, &stmt.span)
}

fn loop_questions(p: &Proc, k: usize, solver: &mut Solver, tally: &mut Tally) {
    let path = Path::root().child(Step::Body(k));
    let stmt = path::stmt(p, &path).unwrap().clone();
    let StmtKind::For { iter, lo, hi, body, .. } = &stmt.kind else { return };
    let place = BlockPlace::of_statement(&path).unwrap();
    let mut asked = |question: Question| {
        let yes = question.answer(p, p, solver).is_ok();
        tally.refused += usize::from(!yes);
        yes
    };
    if let Some(inner) = body.only()
        && let StmtKind::For { body: innermost, .. } = &inner.kind
        && asked(Question::Interchange { side: Side::Before, outer: path.clone() })
    {
        tally.interchanged += 1;
        let swapped = with_body(inner, Block::one(with_body(&stmt, innermost.clone())));
        same(p, &replaced(p, &place, Block::one(swapped)), "interchange");
    }
    if asked(Question::IndependentIterations { side: Side::Before, scope: path.clone() }) {
        tally.reversed += 1;
        // i -> lo + hi - 1 - i
        let last = build::sub(build::add(lo.clone(), hi.clone()), build::int(1));
        let map = Substitution::from([(iter.clone(), build::sub(last, build::index(iter)))]);
        let reversed = with_body(&stmt, substitute_block(body, &map));
        same(p, &replaced(p, &place, Block::one(reversed)), "reversal");
    }
    for split in 1..body.len() {
        if asked(Question::Fission { side: Side::Before, scope: path.clone(), split }) {
            tally.split += 1;
            let second = alpha_rename(&Block::one(with_body(&stmt, body.part(split..).unwrap())));
            let new = Block::one(with_body(&stmt, body.part(..split).unwrap())).followed_by(&second);
            same(p, &replaced(p, &place, new), "fission");
        }
    }
}

fn list_questions(p: &Proc, k: usize, solver: &mut Solver, tally: &mut Tally) {
    let at = |k: usize| BlockPlace { parent: Path::root(), orelse: false, lo: k, hi: k + 1 };
    let question = Question::Idempotent { side: Side::Before, block: at(k) };
    if question.answer(p, p, solver).is_ok() {
        tally.repeated += 1;
        let once = Block::one(p.body[k].clone());
        let twice = once.followed_by(&alpha_rename(&once));
        same(p, &replaced(p, &at(k), twice), "repetition");
    }
    if k + 1 < p.body.len() {
        let question = Question::Commute { side: Side::Before, first: at(k), second: at(k + 1) };
        if question.answer(p, p, solver).is_ok() {
            tally.swapped += 1;
            let pair = BlockPlace { hi: k + 2, ..at(k) };
            same(p, &replaced(p, &pair, Block::from([p.body[k + 1].clone(), p.body[k].clone()])), "swap");
        }
    }
}

/// Statements that put other values into the first elements of a buffer.
fn spoil(buffer: &Sym, extent: i64) -> Block {
    let iter = Sym::new("g");
    let target = StmtKind::Assign { name: buffer.clone(), idx: vec![build::index(&iter)], rhs: build::real(77.0) };
    let body = Block::one(build::stmt(target, &crate::source::Span::none()));
    let (lo, hi) = (build::int(0), build::int(extent));
    let kind = StmtKind::For { iter, lo, hi, body, mode: crate::loop_ir::LoopMode::Seq };
    Block::one(build::stmt(kind, &crate::source::Span::none()))
}

fn inserted(p: &Proc, before: &Path, new: Block) -> Proc {
    let (parent, orelse, position) = before.list_position().unwrap();
    let mut editor = Editor::new(p);
    editor.insert_at(&parent, orelse, position, new).unwrap();
    editor.finish().0
}

/// What is filled first, or dead, may hold anything.
fn buffer_questions(p: &Proc, path: &Path, solver: &mut Solver, tally: &mut Tally) {
    for name in ["x", "t"] {
        let buffer = symbol(p, name);
        let window = vec![crate::loop_ir::Access::Interval { lo: build::int(0), hi: build::int(3) }];
        let block = BlockPlace::of_statement(path).unwrap();
        let filled = Question::FilledFirst { side: Side::Before, block, buffer: buffer.clone(), window };
        if filled.answer(p, p, solver).is_ok() {
            tally.filled += 1;
            same(p, &inserted(p, path, spoil(&buffer, 3)), "filled first");
        }
        let dead = Question::DeadAfter { side: Side::Before, at: path.clone(), buffer: buffer.clone() };
        if dead.answer(p, p, solver).is_ok() {
            tally.dead += 1;
            let after = path.sibling(1).unwrap();
            same(p, &inserted(p, &after, spoil(&buffer, 12)), "dead");
        }
    }
}

/// An expression that keeps its value may be evaluated early.
fn early_value(p: &Proc, from: &Path, to: &Path, solver: &mut Solver, tally: &mut Tally) {
    let place = |kind| build::stmt(kind, &crate::source::Span::none());
    let elements = [("x", 4), ("t", 2), ("y", 1)];
    for (name, element) in elements.into_iter().skip(tally.unchanged % 3).take(1) {
        let value = build::element(&symbol(p, name), vec![build::int(element)]);
        let exprs = vec![value.clone()];
        let question = Question::Unchanged { side: Side::Before, from: from.clone(), to: to.clone(), exprs };
        if question.answer(p, p, solver).is_err() {
            tally.refused += 1;
            continue;
        }
        tally.unchanged += 1;
        let use_value = |rhs| place(StmtKind::Reduce { name: symbol(p, "d"), idx: Vec::new(), rhs });
        let early = Sym::new("early");
        let alloc = StmtKind::Alloc {
            name: early.clone(),
            ty: crate::loop_ir::DataType::scalar(crate::hardware::precision::Precision::F32),
            mem: crate::hardware::memory::Memory::dram(),
        };
        let bound = StmtKind::Assign { name: early.clone(), idx: Vec::new(), rhs: value.clone() };
        let late = inserted(p, to, Block::one(use_value(value)));
        let read = build::element(&early, Vec::new());
        let early =
            inserted(&inserted(p, to, Block::one(use_value(read))), from, Block::from([place(alloc), place(bound)]));
        same(&late, &early, "early value");
    }
}

#[test]
fn what_is_allowed_changes_nothing() {
    let mut solver = Solver::new(1_000_000);
    let mut tally = Tally::default();
    for seed in 0..SEEDS {
        let all = crate::testing::procs(&text(seed));
        let p = all.last().unwrap();
        if crate::checks::check_proc(p, &mut solver).is_err() {
            continue;
        }
        tally.checked += 1;
        match compare(p, p, &options()) {
            Comparison::Fault { fault, .. } if fault.kind != FaultKind::Uninitialised => {
                panic!("checked, but {fault:?}\n{}", crate::print::proc(p));
            }
            _ => {}
        }
        for k in 3..p.body.len() {
            loop_questions(p, k, &mut solver, &mut tally);
            list_questions(p, k, &mut solver, &mut tally);
        }
        let mut paths = Vec::new();
        path::each_stmt_path(p, &mut |path, _| paths.push(path.clone()));
        for path in paths.iter().filter(|path| path.0[0] >= Step::Body(3)) {
            buffer_questions(p, path, &mut solver, &mut tally);
            let from = Path::root().child(path.0[0]);
            early_value(p, &from, path, &mut solver, &mut tally);
        }
    }
    let Tally { checked, interchanged, swapped, split, repeated, reversed, filled, dead, unchanged, refused } = tally;
    let counts = [checked, interchanged, swapped, split, repeated, reversed, filled, dead, unchanged, refused];
    assert!(counts.iter().all(|count| *count > 0), "{counts:?}");
}
