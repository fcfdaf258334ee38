//! Random schedules: whatever an operator accepts must compute the same, read back as printed, and forward into the tree.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::analysis::solver::Solver;
use crate::cursor::{BlockPlace, GapPlace, Path, Place, Side, path};
use crate::hardware::memory::Memory;
use crate::hardware::precision::Precision;
use crate::interpret::compare::{Options, compare};
use crate::loop_ir::declarations::Declarations;
use crate::loop_ir::{Expr, Proc, Stmt, StmtKind, Ty, visit};
use crate::print;
use crate::schedule::apply::{RawArguments, apply};
use crate::schedule::argument::RawValue;
use crate::schedule::operator::{Kind, Operator};
use crate::schedule::procedure::{Cursor, Procedure};
use crate::schedule::registry;
use crate::schedule::testing::reads_back;
use crate::testing::procs;

/// xorshift64*: repeatable from its seed.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }

    fn below(&mut self, bound: usize) -> usize {
        if bound == 0 { 0 } else { (self.next() % bound as u64) as usize }
    }

    fn pick<'a, T>(&mut self, list: &'a [T]) -> Option<&'a T> {
        list.get(self.below(list.len()))
    }

    fn chance(&mut self, one_in: usize) -> bool {
        self.below(one_in) == 0
    }
}

/// What random arguments are drawn from.
struct Draw<'a> {
    random: &'a mut Random,
    procedure: &'a Procedure,
    pool: &'a [Procedure],
    fresh: usize,
}

impl Draw<'_> {
    fn proc(&self) -> &Proc {
        self.procedure.ir()
    }

    fn cursor(&self, place: Place) -> RawValue {
        RawValue::Cursor(Cursor { procedure: self.procedure.clone(), place })
    }

    fn statements(&self, wanted: &dyn Fn(&Stmt) -> bool) -> Vec<Path> {
        let mut found = Vec::new();
        path::each_stmt_path(self.proc(), &mut |at, stmt| {
            if wanted(stmt) {
                found.push(at.clone());
            }
        });
        found
    }

    fn statement(&mut self, wanted: &dyn Fn(&Stmt) -> bool) -> Option<RawValue> {
        let all = self.statements(wanted);
        let at = self.random.pick(&all)?.clone();
        Some(self.cursor(Place::Node(at)))
    }

    fn expressions(&self) -> Vec<(Path, Expr)> {
        fn inside(at: Path, expr: &Expr, found: &mut Vec<(Path, Expr)>) {
            for step in path::expr_steps(expr) {
                if let Some(inner) = path::expr_child(expr, step) {
                    inside(at.child(step), inner, found);
                }
            }
            found.push((at, expr.clone()));
        }
        let mut found = Vec::new();
        path::each_stmt_path(self.proc(), &mut |at, stmt| {
            for step in path::own_expr_steps(stmt) {
                let place = at.child(step);
                if let Some(expr) = path::expr(self.proc(), &place) {
                    inside(place, expr, &mut found);
                }
            }
        });
        found
    }

    fn expression(&mut self) -> Option<RawValue> {
        let data_only = !self.random.chance(3);
        let all: Vec<_> = self.expressions().into_iter().filter(|(_, e)| !data_only || e.ty == Ty::Data).collect();
        let (at, _) = self.random.pick(&all)?.clone();
        Some(self.cursor(Place::Node(at)))
    }

    /// Every place that holds the same expression as a random one.
    fn equal_expressions(&mut self) -> Option<RawValue> {
        let all = self.expressions();
        let data: Vec<_> = all.iter().filter(|(_, e)| e.ty == Ty::Data).cloned().collect();
        let (_, chosen) = self.random.pick(&data)?.clone();
        let same = data.into_iter().filter(|(_, e)| *e == chosen).map(|(at, _)| self.cursor(Place::Node(at)));
        Some(RawValue::List(same.collect()))
    }

    fn block(&mut self, length: Option<usize>) -> Option<RawValue> {
        let all = self.statements(&|_| true);
        let at = self.random.pick(&all)?.clone();
        let (parent, orelse, lo) = at.list_position()?;
        let len = path::list(self.proc(), &parent, orelse)?.len();
        let count = length.unwrap_or_else(|| 1 + if self.random.chance(2) { self.random.below(3) } else { 0 });
        let hi = (lo + count).min(len);
        Some(self.cursor(Place::Block(BlockPlace { parent, orelse, lo, hi })))
    }

    /// An index expression as text: a variable, a small number, or an expression of the proc.
    fn index_text(&mut self) -> String {
        let names = print::Names::of(self.proc());
        let mut texts: Vec<String> =
            self.expressions().iter().filter(|(_, e)| e.ty.is_indexable()).map(|(_, e)| names.expr(e)).collect();
        texts.extend(["0", "1", "2", "4", "8", "16"].map(String::from));
        let text = self.random.pick(&texts).cloned().unwrap_or_default();
        match self.random.below(6) {
            0 => format!("{text} + 1"),
            1 => format!("{text} - 1"),
            _ => text,
        }
    }

    fn window_text(&mut self) -> Option<RawValue> {
        let names = print::Names::of(self.proc());
        let declarations = Declarations::of(self.proc());
        let mut buffers = Vec::new();
        visit::each_expr_in(&self.proc().body, &mut |e| buffers.extend(visit::named(e).cloned()));
        visit::each_stmt(&self.proc().body, &mut |stmt| buffers.extend(visit::written_by(stmt).cloned()));
        buffers.retain(|name| declarations.shape(name).is_some());
        let buffer = self.random.pick(&buffers)?.clone();
        let shape = declarations.shape(&buffer)?;
        if shape.is_empty() {
            return Some(RawValue::Text(names.get(&buffer).to_string()));
        }
        let accesses: Vec<String> = shape
            .iter()
            .map(|extent| match self.random.below(4) {
                0 => self.index_text(),
                1 => {
                    let low = self.index_text();
                    format!("{low}:{low} + {}", [1, 2, 4, 8][self.random.below(4)])
                }
                _ => format!("0:{}", names.expr(extent)),
            })
            .collect();
        Some(RawValue::Text(format!("{}[{}]", names.get(&buffer), accesses.join(", "))))
    }

    fn value(&mut self, name: &str, kind: &Kind) -> Option<RawValue> {
        let is_loop = |stmt: &Stmt| matches!(stmt.kind, StmtKind::For { .. });
        let is_alloc = |stmt: &Stmt| matches!(stmt.kind, StmtKind::Alloc { .. });
        let is_assign = |stmt: &Stmt| matches!(stmt.kind, StmtKind::Assign { .. });
        let is_write = |stmt: &Stmt| matches!(stmt.kind, StmtKind::Assign { .. } | StmtKind::Reduce { .. });
        match kind {
            Kind::Name => {
                self.fresh += 1;
                Some(RawValue::Text(format!("{}{}", ["v", "i", "x", "t"][self.random.below(4)], self.fresh % 3)))
            }
            Kind::Int => Some(RawValue::Int([0, 0, 1, 1, 2, 4][self.random.below(6)])),
            Kind::PositiveInt => Some(RawValue::Int([1, 1, 2, 2, 3, 4, 8][self.random.below(7)])),
            Kind::Bool => Some(RawValue::Bool(!name.starts_with("unsafe") && self.random.chance(2))),
            Kind::Text => Some(RawValue::Text(self.index_text())),
            Kind::Word(words) => self.random.pick(words).map(|word| RawValue::Text(word.to_string())),
            Kind::Optional(inner) if self.random.chance(2) => self.value(name, inner),
            Kind::Optional(_) => Some(RawValue::None),
            Kind::List(inner, length) => {
                let length = length.unwrap_or_else(|| 1 + self.random.below(3));
                (0..length).map(|_| self.value(name, inner)).collect::<Option<Vec<_>>>().map(RawValue::List)
            }
            Kind::ListOrOne(inner) => self.value(name, inner),
            Kind::Memory => Some(RawValue::Memory(Memory::dram())),
            Kind::Precision => Some(RawValue::Precision(Precision::F32)),
            Kind::Config => {
                let configs = crate::testing::configs();
                self.random.pick(&configs).cloned().map(RawValue::Config)
            }
            Kind::ConfigField(_) => {
                let words = ["n", "i", "on", "pitch", "gain"];
                self.random.pick(&words).map(|word| RawValue::Text(word.to_string()))
            }
            Kind::Procedure => self.random.pick(self.pool).cloned().map(RawValue::Procedure),
            Kind::Stmt => self.statement(&|_| true),
            Kind::Block(length) => self.block(*length),
            Kind::Gap => {
                let all = self.statements(&|_| true);
                let anchor = self.random.pick(&all)?.clone();
                let side = if self.random.chance(2) { Side::Before } else { Side::After };
                Some(self.cursor(Place::Gap(GapPlace { anchor, side })))
            }
            Kind::For | Kind::NestedFor => self.statement(&is_loop),
            Kind::ForOrIf => self.statement(&|stmt| matches!(stmt.kind, StmtKind::For { .. } | StmtKind::If { .. })),
            Kind::Alloc => self.statement(&is_alloc),
            Kind::Arg => {
                let at = self.random.below(self.proc().args.len());
                Some(self.cursor(Place::Arg(at)))
            }
            Kind::ArgOrAlloc => self.statement(&is_alloc),
            Kind::Assign => self.statement(&is_assign),
            Kind::AssignOrReduce => self.statement(&is_write),
            Kind::Call => self.statement(&|stmt| matches!(stmt.kind, StmtKind::Call { .. })),
            Kind::WindowStmt => self.statement(&|stmt| matches!(stmt.kind, StmtKind::Window { .. })),
            Kind::Expr => self.expression(),
            Kind::Exprs(_) if self.random.chance(2) => self.equal_expressions(),
            Kind::Exprs(_) => self.expression(),
            Kind::NewExprOrWindow(_) if self.random.chance(2) => self.window_text(),
            Kind::NewExpr(_) | Kind::NewExprOrWindow(_) => Some(RawValue::Text(self.index_text())),
            Kind::Window(_) => self.window_text(),
        }
    }

    fn arguments(&mut self, operator: &dyn Operator) -> Option<RawArguments> {
        let positional = operator
            .parameters()
            .iter()
            .map(|parameter| self.value(parameter.name, &parameter.kind))
            .collect::<Option<Vec<_>>>()?;
        Some(RawArguments { positional, ..RawArguments::default() })
    }
}

const PROCS: &str = "
@proc
def clear(n: size, x: [f32][n]):
    for i in seq(0, n):
        x[i] = 0.0
@proc
def copy4(dst: [f32][4], src: [f32][4]):
    assert stride(src, 0) == 1
    for i in seq(0, 4):
        dst[i] = src[i]
@proc
def accumulate(n: size, d: [f32][n], s: f32):
    for i in seq(0, n):
        d[i] += s
@proc
def matmul(A: f32[8, 4], B: f32[4, 8], C: f32[8, 8]):
    for i in seq(0, 8):
        for j in seq(0, 8):
            for k in seq(0, 4):
                C[i, j] += A[i, k] * B[k, j]
@proc
def blur(n: size, x: f32[n + 2], y: f32[n]):
    t: f32[n + 2]
    for i in seq(0, n + 2):
        t[i] = x[i] * 2.0
    for i in seq(0, n):
        y[i] = t[i] + t[i + 1] + t[i + 2]
@proc
def branches(n: size, m: index, x: f32[n, 4], y: f32[n, 4]):
    assert n % 4 == 0
    for i in seq(0, n):
        s: f32
        s = 0.0
        for j in seq(0, 4):
            if i < m:
                s += x[i, j]
                y[i, j] = s
            else:
                y[i, j] = x[i, 3 - j]
        y[i, 0] += s
@proc
def windows(n: size, x: f32[n, 8], y: f32[8]):
    for i in seq(0, n):
        w = x[i, 2:6]
        for k in seq(0, 4):
            w[k] = y[k]
        copy4(y[4:8], w[0:4])
        v = w[1:3]
        v[0] += y[0]
        clear(2, x[i, 6:8])
@proc
def parallel(x: f32[8, 4], y: f32[8]):
    for i in par(0, 8):
        a: f32[4]
        for j in seq(0, 4):
            a[j] = x[i, j] * 3.0
        for j in seq(0, 4):
            y[i] += a[j]
            if j < 2:
                x[i, j] = a[j] + y[i]
";

/// Operators whose conditions random arguments seldom meet.
const SELDOM: &[&str] = &[
    "stage_mem",
    "resize_dim",
    "reuse_buffer",
    "unroll_buffer",
    "sink_alloc",
    "inline_window",
    "divide_dim",
    "mult_dim",
    "rearrange_dim",
    "expand_dim",
    "lift_alloc",
    "bind_expr",
    "rewrite_expr",
    "left_reassociate_expr",
    "inline",
    "replace",
    "unroll_loop",
    "fission",
    "fuse",
    "remove_loop",
    "merge_writes",
    "fold_into_reduce",
    "reorder_stmts",
];

/// The first three are what calls may go to.
const CONFIG_PROCS: &str = "
@proc
def set_i(v: index, s: stride):
    Cfg.i = v
    Cfg.pitch = s

@proc
def needs(n: size, x: [f32][n]):
    assert Cfg.i == 3
    for k in seq(0, n):
        x[k] += Cfg.gain

@proc
def scales(x: f32, s: f32):
    if Cfg.on:
        x = s * Cfg.gain
    Cfg.gain = s

@proc
def hoist(n: size, x: f32[n, 4], s: f32):
    for i in seq(0, n):
        Cfg.gain = s
        set_i(3, stride(x, 0))
        for j in seq(0, 4):
            x[i, j] = Cfg.gain * x[i, j]
        Cfg.i = 3
        needs(4, x[i, 0:4])
    Cfg.n = n

@proc
def branches(n: size, m: index, x: f32[n], y: f32[n]):
    if m < 3:
        Cfg.on = True
        Cfg.i = 3
    else:
        Cfg.i = m
    for i in seq(0, n):
        if Cfg.on:
            x[i] = 1.0
        if Cfg.i == 3:
            y[i] = 2.0
            Cfg.on = False
    for i in seq(0, n):
        if Cfg.i == 3:
            needs(1, y[i:i + 1])

@proc
def twice(n: size, x: f32[n], y: f32[n], s: f32):
    assert n % 4 == 0
    Cfg.n = n
    for i in seq(0, Cfg.n):
        Cfg.i = 3
        x[i] = 1.0
    for i in seq(0, n):
        Cfg.i = 3
        t: f32
        t = x[i]
        scales(t, s)
        y[i] = t
    for i in seq(0, n / 4):
        for j in seq(0, 4):
            Cfg.gain = 2.0
            x[4 * i + j] += Cfg.gain

@proc
def carried(n: size, x: f32[n], t: f32):
    Cfg.gain = t
    for i in seq(0, n):
        x[i] = Cfg.gain
        Cfg.gain = t
        Cfg.i = i
        if i > 2:
            t = x[i]
    if Cfg.i >= 0 and Cfg.i < n:
        x[Cfg.i] = 0.0
    Dev.i = Cfg.i
";

/// Every place of the old version leads to a place of its kind in the new one or is gone; no two statements meet.
fn forwards(before: &Procedure, after: &Procedure, log: &[String]) {
    let mut seen: Vec<Path> = Vec::new();
    path::each_stmt_path(before.ir(), &mut |at, stmt| {
        let cursor = |at: &Path| Cursor { procedure: before.clone(), place: Place::Node(at.clone()) };
        if let Ok(Cursor { place: Place::Node(now), .. }) = after.forward(&cursor(at)) {
            assert!(path::stmt(after.ir(), &now).is_some(), "{at:?} -> {now:?} is no statement\n{}", log.join("\n\n"));
            assert!(!seen.contains(&now), "{at:?} -> {now:?} is taken\n{}", log.join("\n\n"));
            seen.push(now);
        }
        for step in path::own_expr_steps(stmt) {
            let at = at.child(step);
            if let Ok(Cursor { place: Place::Node(now), .. }) = after.forward(&cursor(&at)) {
                let found = path::expr(after.ir(), &now).is_some();
                assert!(found, "{at:?} -> {now:?} is no expression\n{}", log.join("\n\n"));
            }
        }
    });
}

/// Whether two callees have one name, so that text cannot tell them apart.
fn ambiguous(proc: &Proc) -> bool {
    let mut known: BTreeMap<String, Arc<Proc>> = BTreeMap::new();
    let mut found = false;
    crate::loop_ir::visit::each_stmt(&proc.body, &mut |stmt| {
        if let StmtKind::Call { callee, .. } = &stmt.kind {
            let first = known.entry(callee.name.to_string()).or_insert_with(|| callee.clone());
            found |= first != callee;
        }
    });
    found
}

/// Runs a random schedule; panics with the step that broke something. How many steps each operator made.
fn run(text: &str, seed: u64, attempts: usize, made: &mut BTreeMap<&'static str, usize>) {
    let all: Vec<Procedure> = procs(text).into_iter().map(Procedure::new).collect();
    let (pool, bases) = all.split_at(3);
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let start = random.pick(bases).unwrap().clone();
    let mut now = start.clone();
    let mut solver = Solver::new(500_000);
    let mut log = vec![print::proc(now.ir())];
    let mut steps = 0;
    for attempt in 0..attempts {
        // Operators that are rarely accepted get more tries.
        let operator = match random.chance(2) {
            true => registry::find(random.pick(SELDOM).unwrap()).unwrap(),
            false => *random.pick(registry::OPERATORS).unwrap(),
        };
        if ["partial_eval", "add_assertion", "transpose", "set_precision", "make_instr"].contains(&operator.name()) {
            continue;
        }
        let mut draw = Draw { random: &mut random, procedure: &now, pool, fresh: attempt };
        let Some(arguments) = draw.arguments(operator) else { continue };
        let written = arguments.written();
        let Ok(after) = apply(operator, &now, arguments, &mut solver) else { continue };
        log.push(format!("{}({written})\n{}", operator.name(), print::proc(after.ir())));
        let modulo = now.ir().lineage.modulo(&after.ir().lineage);
        let options = Options { rounds: 3, seed: seed + attempt as u64, modulo, ..Options::default() };
        let comparison = compare(now.ir(), after.ir(), &options);
        assert!(comparison.is_equal(), "seed {seed}: {comparison:?}\n{}", log.join("\n\n"));
        let text = log.join("\n\n");
        if !ambiguous(after.ir()) {
            let read = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| reads_back(after.ir())));
            assert!(read.is_ok(), "seed {seed}: does not read back\n{text}");
        }
        forwards(&now, &after, &log);
        *made.entry(operator.name()).or_default() += 1;
        now = after;
        steps += 1;
        if steps >= 12 || crate::print::proc(now.ir()).len() > 6000 {
            now = start.clone();
            log.truncate(1);
            steps = 0;
        }
    }
}

#[test]
fn accepted_steps_keep_the_meaning() {
    let seeds = std::env::var("EXO_RANDOM_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(4);
    let from = std::env::var("EXO_RANDOM_FROM").ok().and_then(|text| text.parse().ok()).unwrap_or(1);
    let mut made = BTreeMap::new();
    for seed in from..from + seeds {
        run(PROCS, seed, 250, &mut made);
    }
    println!("{made:?}");
    assert!(made.len() >= 15, "{made:?}");
}

/// The same on procs that read and write configuration state.
#[test]
fn accepted_steps_keep_the_meaning_of_configuration_state() {
    let seeds = std::env::var("EXO_RANDOM_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(6);
    let from = std::env::var("EXO_RANDOM_FROM").ok().and_then(|text| text.parse().ok()).unwrap_or(1);
    let mut made = BTreeMap::new();
    for seed in from..from + seeds {
        run(CONFIG_PROCS, seed, 250, &mut made);
    }
    println!("{made:?}");
    assert!(made.contains_key("delete_config") && made.contains_key("write_config"), "{made:?}");
}
