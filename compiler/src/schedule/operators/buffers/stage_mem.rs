//! `stage_mem`: a block works on a copy of part of a buffer.

use std::sync::Arc;

use crate::analysis::conditions::{Question, Side};
use crate::analysis::facts::{Facts, prove};
use crate::analysis::solver::{Answer, Solver};
use crate::cursor::Editor;
use crate::cursor::path::{self, BlockPlace, Path, Step};
use crate::diagnostic::{Refusal, counted};
use crate::loop_ir::declarations::{Declarations, window_shape};
use crate::loop_ir::{Access, BinaryOp, Block, DataType, Expr, LoopMode, Proc, Stmt, StmtKind, build, visit};
use crate::schedule::Returned;
use crate::schedule::obligation::{Obligation, Proposal};
use crate::schedule::operator::{Arguments, Default, Help, Kind, Operator, Parameter, Value};
use crate::schedule::operators::buffers::layout::{positive, refuse_asked};
use crate::schedule::operators::buffers::staging::{Relation, relate};
use crate::schedule::operators::buffers::touches::{self, Touches};
use crate::schedule::operators::buffers::uses::{Changes, Use, UseKind, everything, uses};
use crate::schedule::parallel;
use crate::source::Span;
use crate::symbol::Sym;

pub struct StageMem;

const PARAMETERS: &[Parameter] = &[
    Parameter { name: "block_cursor", kind: Kind::Block(None), default: None },
    Parameter { name: "win_expr", kind: Kind::Window("block_cursor"), default: None },
    Parameter { name: "new_buf_name", kind: Kind::Name, default: None },
    Parameter { name: "accum", kind: Kind::Bool, default: Some(Default::Bool(false)) },
];

impl Operator for StageMem {
    fn name(&self) -> &'static str {
        "stage_mem"
    }

    fn parameters(&self) -> &'static [Parameter] {
        PARAMETERS
    }

    fn help(&self) -> Help {
        Help {
            summary: "let a block work on a copy of part of a buffer",
            text: "Allocates `new_buf_name` before the block with one dimension for each interval of the window, \
                redirects every access inside the window to it, and copies: in before the block, unless the block fills \
                all that the buffer has of the window before it reads any of it, or nothing was written to the window before, and out after the block, if the block writes. Every access to \
                the buffer must lie inside the window or outside it, and those under other names outside it. Copies are guarded where the window may reach over the edge of the buffer. With `accum = True` the \
                block may only reduce into the window: the copy starts at zero and is added to the buffer at the end. \
                Cursors to statements stay; cursors to redirected indices die.",
            example: "\
@proc
def f(x: f32[8, 8], y: f32[8]):
    for i in seq(0, 8):
        for j in seq(0, 8):
            y[i] += x[i, j]

print(stage_mem(f, \"for j in _: _\", \"y[i]\", \"sum\"))
",
            prints: "\
def f(x: f32[8, 8] @ DRAM, y: f32[8] @ DRAM):
    for i in seq(0, 8):
        sum: f32 @ DRAM
        sum = y[i]
        for j in seq(0, 8):
            sum += x[i, j]
        y[i] = sum
",
        }
    }

    fn results(&self) -> &'static [(&'static str, &'static str)] {
        &[
            ("alloc", "the allocation of the copy"),
            ("load", "the code that fills it, or an invalid cursor where none is needed"),
            ("block", "the block"),
            ("store", "the code that copies it back, or an invalid cursor where none is needed"),
        ]
    }

    fn propose(&self, proc: &Arc<Proc>, arguments: &Arguments, solver: &mut Solver) -> Result<Proposal, Refusal> {
        let staged = Staged::read(proc, arguments)?;
        let other_names = staged.has_other_names(proc, arguments)?;
        let mut redirected = Redirected { other_names, ..Redirected::default() };
        for one in &uses(proc, &staged.block, &staged.buffer) {
            staged.redirect(proc, arguments, one, solver, &mut redirected)?;
        }
        if !redirected.touches.reads && !redirected.touches.writes {
            return Err(arguments.scheduling(format!("the block does not use `{}` inside the window", staged.buffer)));
        }
        if staged.accum && redirected.not_reduced {
            let message =
                format!("the block does more than reduce into `{}`, so `accum` does not apply", staged.buffer);
            return Err(arguments.scheduling(message));
        }
        let load = staged.needs_load(proc, arguments, &mut redirected, solver)?;
        staged.propose(proc, arguments, redirected, load, solver)
    }
}

/// The arguments, looked up.
struct Staged {
    block: BlockPlace,
    first: Path,
    buffer: Sym,
    window: Vec<Access>,
    /// Extents of the buffer.
    extents: Vec<Expr>,
    new: Sym,
    new_stmt: Stmt,
    shape: Vec<Expr>,
    accum: bool,
}

#[derive(Default)]
struct Redirected {
    changes: Changes,
    touches: Touches,
    /// Something else than a reduction uses the window.
    not_reduced: bool,
    /// The copy reaches a call or a window.
    shared: bool,
    /// The block reaches the buffer under other names too.
    other_names: bool,
    questions: Vec<Question>,
}

impl Staged {
    fn read(proc: &Proc, arguments: &Arguments) -> Result<Self, Refusal> {
        let block = arguments.block("block_cursor")?.clone();
        let Value::Window { name: buffer, idx: window } = arguments.get("win_expr")? else {
            return Err(arguments.argument("`win_expr` is not a window"));
        };
        let declarations = Declarations::of(proc);
        let declared = (declarations.shape(buffer), declarations.precision(buffer), declarations.memory(buffer));
        let (Some(extents), Some(precision), Some(mem)) = declared else {
            return Err(arguments.argument(format!("`{buffer}` is not a buffer")));
        };
        if extents.len() != window.len() {
            let rank = counted(extents.len(), "dimension");
            let message = format!("`{buffer}` has {rank}, but the window gives {}", window.len());
            return Err(arguments.scheduling(message));
        }
        if build::window(buffer, window.clone()).reads_config {
            return Err(arguments.scheduling("the window would depend on configuration state, which may change"));
        }
        let new = Sym::new(arguments.text("new_buf_name")?);
        let shape = window_shape(window);
        let ty = DataType::tensor(precision, shape.clone());
        let new_stmt = build::stmt(StmtKind::Alloc { name: new.clone(), ty, mem }, &Span::none());
        Ok(Staged {
            first: block.statement(0),
            block,
            buffer: buffer.clone(),
            window: window.clone(),
            extents,
            new,
            new_stmt,
            shape,
            accum: arguments.bool("accum")?,
        })
    }

    /// Whether the block reaches the memory of the buffer under names that it does not declare itself. Such accesses miss
    /// the copy, so they must stay outside the window.
    fn has_other_names(&self, proc: &Proc, arguments: &Arguments) -> Result<bool, Refusal> {
        let declarations = Declarations::of(proc);
        let root = declarations.root(&self.buffer);
        let statements = path::block(proc, &self.block).unwrap_or_default();
        let free = visit::free_symbols(&statements);
        // Strides of the buffer stay those of the buffer, except for what is handed to callees; its other names stay with it.
        refuse_asked(&statements, arguments, &|asked| {
            let stays = match asked.name == &self.buffer {
                true => asked.callee.is_none(),
                false => free.contains(asked.name),
            };
            !stays && declarations.root(asked.name) == root
        })?;
        Ok(free.iter().any(|name| *name != self.buffer && declarations.root(name) == root))
    }

    fn redirect(
        &self,
        proc: &Proc,
        arguments: &Arguments,
        one: &Use,
        solver: &mut Solver,
        out: &mut Redirected,
    ) -> Result<(), Refusal> {
        let access = match &one.kind {
            UseKind::Read { idx, .. } | UseKind::Write { idx, .. } => idx.iter().cloned().map(Access::Point).collect(),
            UseKind::Window { idx, .. } => idx.clone(),
            UseKind::Whole { .. } => everything(&self.extents),
            UseKind::Stride { .. } => return Ok(()),
        };
        match relate(proc, &one.stmt, &access, &self.window, solver) {
            Relation::Inside(question) => out.questions.push(question),
            Relation::Disjoint(question) => {
                out.questions.push(question);
                return Ok(());
            }
            Relation::Neither => {
                let names = crate::print::Names::of(proc);
                let line = path::stmt(proc, &one.stmt).map(|stmt| names.headline(stmt)).unwrap_or_default();
                let message = format!("cannot show that `{line}` stays inside the window, or outside it");
                return Err(arguments.scheduling(message));
            }
        }
        match &one.kind {
            UseKind::Read { at, idx } => {
                out.touches.reads = true;
                out.not_reduced = true;
                out.changes.expr(at, build::element(&self.new, self.shifted(idx)));
            }
            UseKind::Write { idx, reduce } => {
                out.touches.writes = true;
                out.touches.reads |= *reduce;
                out.not_reduced |= !reduce;
                out.changes.target(&one.stmt, &self.new, self.shifted(idx));
            }
            UseKind::Window { at, .. } => {
                let window = self.shifted_window(arguments, &access)?;
                self.share(proc, arguments, one, at, out)?;
                out.changes.expr(at, build::window(&self.new, window));
            }
            UseKind::Whole { at } => {
                let whole = everything(&self.extents) == self.window;
                let window = if whole { Vec::new() } else { self.shifted_window(arguments, &access)? };
                self.share(proc, arguments, one, at, out)?;
                out.changes.expr(
                    at,
                    match whole {
                        true => build::element(&self.new, Vec::new()),
                        false => build::window(&self.new, window),
                    },
                );
            }
            UseKind::Stride { .. } => {}
        }
        Ok(())
    }

    /// Records what a call or a window statement does with the copy.
    fn share(
        &self,
        proc: &Proc,
        arguments: &Arguments,
        one: &Use,
        at: &Path,
        out: &mut Redirected,
    ) -> Result<(), Refusal> {
        out.shared = true;
        let seen = match (path::stmt(proc, &one.stmt).map(|stmt| &stmt.kind), at.last()) {
            (Some(StmtKind::Call { callee, .. }), Some(Step::Arg(position))) => touches::by_callee(callee, position),
            (Some(StmtKind::Window { name, .. }), _) => {
                let (parent, orelse, position) =
                    one.stmt.list_position().ok_or_else(|| arguments.argument("a use stands outside every list"))?;
                let list = path::list(proc, &parent, orelse).unwrap_or(Block::none());
                let ends = if (&parent, orelse) == (&self.block.parent, self.block.orelse) {
                    self.block.hi
                } else {
                    list.len()
                };
                // A window of the window reaches the copy as well.
                let aliases = touches::aliases(&list.part(position..ends).unwrap_or_default(), &self.buffer);
                let rest = list.part(ends..).unwrap_or_default();
                if let Some(name) = aliases.iter().find(|alias| visit::block_mentions(&rest, alias)) {
                    return Err(arguments.scheduling(format!("window `{name}` is used after the block")));
                }
                touches::in_block(&list.part(position + 1..ends).unwrap_or_default(), name)
            }
            _ => Touches { reads: true, writes: true, unreduced: true },
        };
        out.touches.reads |= seen.reads;
        out.touches.writes |= seen.writes;
        out.not_reduced |= seen.unreduced;
        Ok(())
    }

    /// Indices of the copy for indices of the buffer.
    fn shifted(&self, idx: &[Expr]) -> Vec<Expr> {
        let pairs = idx.iter().zip(&self.window);
        pairs
            .filter_map(|(index, access)| match access {
                Access::Point(_) => None,
                Access::Interval { lo, .. } => Some(build::difference(index, lo)),
            })
            .collect()
    }

    fn shifted_window(&self, arguments: &Arguments, idx: &[Access]) -> Result<Vec<Access>, Refusal> {
        let mut out = Vec::new();
        for (access, window) in idx.iter().zip(&self.window) {
            match (access, window) {
                (Access::Point(_), Access::Point(_)) => {}
                (Access::Interval { .. }, Access::Point(_)) => {
                    return Err(arguments.scheduling(format!(
                        "a window of `{}` runs along a dimension in which the staging window is a point",
                        self.buffer
                    )));
                }
                (Access::Point(point), Access::Interval { lo, .. }) => {
                    out.push(Access::Point(build::difference(point, lo)));
                }
                (Access::Interval { lo: from, hi: to }, Access::Interval { lo, .. }) => {
                    out.push(Access::Interval { lo: build::difference(from, lo), hi: build::difference(to, lo) })
                }
            }
        }
        Ok(out)
    }

    /// A copy that holds nothing may only be used where the block fills it first, or where the buffer holds nothing either.
    fn needs_load(
        &self,
        proc: &Proc,
        arguments: &Arguments,
        redirected: &mut Redirected,
        solver: &mut Solver,
    ) -> Result<bool, Refusal> {
        if self.accum {
            return Ok(true);
        }
        let (block, buffer, window) = (&self.block, &self.buffer, &self.window);
        let (side, block, buffer, window) = (Side::Before, block.clone(), buffer.clone(), window.clone());
        let filled =
            Question::FilledFirst { side, block: block.clone(), buffer: buffer.clone(), window: window.clone() };
        let empty =
            Question::NeverWritten { side, block: block.clone(), buffer: buffer.clone(), window: window.clone() };
        if filled.holds(proc, proc, solver) {
            redirected.questions.push(filled);
            return Ok(false);
        }
        if !empty.holds(proc, proc, solver) {
            return Ok(true);
        }
        // What is copied out has to come from somewhere.
        if (Question::Untouched { side, block, buffer, window }).holds(proc, proc, solver) {
            return Err(
                arguments.scheduling(format!("the block never comes to use `{}` inside the window", self.buffer))
            );
        }
        redirected.questions.push(empty);
        Ok(false)
    }

    fn propose(
        &self,
        proc: &Proc,
        arguments: &Arguments,
        redirected: Redirected,
        load: bool,
        solver: &mut Solver,
    ) -> Result<Proposal, Refusal> {
        let Redirected { changes, touches, shared, other_names, mut questions, .. } = redirected;
        let BlockPlace { parent, orelse, lo, hi } = &self.block;
        let mut editor = Editor::new(proc);
        changes.apply(&mut editor).map_err(|gone| arguments.bug(gone))?;
        if touches.writes {
            let nest = Nest::new(self, proc, solver);
            let target = nest.target.clone();
            let value = build::element(&self.new, nest.own.clone());
            let (name, idx) = (self.buffer.clone(), target);
            let leaf = match self.accum {
                true => StmtKind::Reduce { name, idx, rhs: value },
                false => StmtKind::Assign { name, idx, rhs: value },
            };
            // The copy out stands after allocation, copy in and block.
            let at = parent.child(Step::statement(*orelse, hi + 1 + usize::from(load)));
            questions.extend(nest.questions(&at));
            editor
                .insert_at(parent, *orelse, *hi, Block::one(nest.around(leaf, true)))
                .map_err(|gone| arguments.bug(gone))?;
        }
        let mut before = vec![self.new_stmt.clone()];
        if load {
            let nest = Nest::new(self, proc, solver);
            let rhs = match self.accum {
                true => build::real(0.0),
                false => build::element(&self.buffer, nest.target.clone()),
            };
            if !self.accum {
                questions.extend(nest.questions(&parent.child(Step::statement(*orelse, lo + 1))));
            }
            let leaf = StmtKind::Assign { name: self.new.clone(), idx: nest.own.clone(), rhs };
            before.push(nest.around(leaf, !self.accum));
        }
        let first = lo + before.len();
        let block = BlockPlace { lo: first, hi: first + self.block.len(), ..self.block.clone() };
        editor.insert_at(parent, *orelse, *lo, before.into()).map_err(|gone| arguments.bug(gone))?;
        if other_names {
            let (block, buffer, window) = (block.clone(), self.buffer.clone(), self.window.clone());
            questions.push(Question::Untouched { side: Side::After, block, buffer, window });
        }
        let statement = |at| parent.child(Step::statement(*orelse, at));
        let results = vec![
            Returned::node(&statement(*lo)),
            Returned::optional(load.then(|| statement(lo + 1))),
            Returned::block(block.clone()),
            Returned::optional(touches.writes.then(|| statement(block.hi))),
        ];
        let positive = self.shape.iter().map(|extent| positive(&self.first, extent, "the window is not empty"));
        questions.splice(0..0, positive);
        if shared {
            questions.push(Question::CallsValid { side: Side::After, under: parent.clone() });
        }
        // Whole windows are copied now, so iterations of a `par` loop around may meet.
        questions.extend(parallel::around(proc, parent));
        Ok(Proposal::same(editor, Obligation::Proven(questions)).returning(results))
    }
}

/// The loops of one copy.
struct Nest {
    iters: Vec<(Sym, Expr)>,
    /// Indices of the copy.
    own: Vec<Expr>,
    /// Indices of the buffer.
    target: Vec<Expr>,
    /// What the copy must test because it could not be shown.
    guard: Option<Expr>,
    /// What was shown.
    shown: Vec<Expr>,
}

impl Nest {
    fn new(staged: &Staged, proc: &Proc, solver: &mut Solver) -> Self {
        let mut facts = Facts::at(proc, &staged.first);
        let mut nest = Nest { iters: Vec::new(), own: Vec::new(), target: Vec::new(), guard: None, shown: Vec::new() };
        for access in &staged.window {
            match access {
                Access::Point(point) => nest.target.push(point.clone()),
                Access::Interval { lo, hi } => {
                    let iter = Sym::new(&format!("i{}", nest.iters.len()));
                    let extent = build::difference(hi, lo);
                    facts.assume_range(&iter, &build::int(0), &extent);
                    nest.own.push(build::index(&iter));
                    nest.target.push(build::sum(&build::index(&iter), lo));
                    nest.iters.push((iter, extent));
                }
            }
        }
        for (index, extent) in nest.target.iter().zip(&staged.extents) {
            let low = build::binary(BinaryOp::Le, build::int(0), index.clone());
            for cond in [low, build::less(index.clone(), extent.clone())] {
                match prove(solver, &facts, &cond) {
                    Answer::Proved => nest.shown.push(cond),
                    Answer::Refuted(_) | Answer::Unknown => {
                        nest.guard = Some(match nest.guard.take() {
                            Some(guard) => build::and(guard, cond),
                            None => cond,
                        });
                    }
                }
            }
        }
        nest
    }

    /// What was shown, as questions about the innermost statement of the nest that stands at `at`.
    fn questions(&self, at: &Path) -> Vec<Question> {
        let inner = (0..self.iters.len()).fold(at.clone(), |at, _| at.child(Step::Body(0)));
        let question = |cond: &Expr| Question::Holds {
            side: Side::After,
            at: inner.clone(),
            cond: cond.clone(),
            what: "the copy stays inside the buffer".to_string(),
        };
        self.shown.iter().map(question).collect()
    }

    fn around(self, leaf: StmtKind, guarded: bool) -> Stmt {
        let mut stmt = build::stmt(leaf, &Span::none());
        if let Some(cond) = self.guard.filter(|_| guarded) {
            stmt = build::stmt(StmtKind::If { cond, body: Block::one(stmt), orelse: Block::default() }, &Span::none());
        }
        for (iter, hi) in self.iters.into_iter().rev() {
            let kind = StmtKind::For { iter, lo: build::int(0), hi, body: Block::one(stmt), mode: LoopMode::Seq };
            stmt = build::stmt(kind, &Span::none());
        }
        stmt
    }
}
