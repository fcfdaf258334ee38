//! `extract_subproc`: a block becomes a procedure of its own.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::analysis::solver::Solver;
use crate::cursor::Editor;
use crate::cursor::path::{self, BlockPlace, Path};
use crate::diagnostic::Refusal;
use crate::hardware::memory::Memory;
use crate::loop_ir::declarations::{Declaration, Declarations, window_shape};
use crate::loop_ir::substitute::alpha_rename_proc;
use crate::loop_ir::{
    Arg, ArgType, BinaryOp, Block, Committed, Control, DataType, Expr, Lineage, Proc, StmtKind, build, configuration,
    visit,
};
use crate::schedule::Returned;
use crate::schedule::obligation::{Obligation, Proposal};
use crate::schedule::operator::{Arguments, Default, Help, Kind, Operator, Parameter};
use crate::schedule::operators::procedures::partial_eval::sound;
use crate::schedule::operators::procedures::replace::valid_call;
use crate::source::Span;
use crate::symbol::Sym;

fn callees(proc: &Proc) -> Vec<Arc<Proc>> {
    let mut found = Vec::new();
    visit::each_stmt(&proc.body, &mut |stmt| {
        if let StmtKind::Call { callee, .. } = &stmt.kind {
            found.push(callee.clone());
        }
    });
    found
}

pub struct ExtractSubproc;

const PARAMETERS: &[Parameter] = &[
    Parameter { name: "block", kind: Kind::Block(None), default: None },
    Parameter { name: "subproc_name", kind: Kind::Name, default: None },
    Parameter { name: "include_asserts", kind: Kind::Bool, default: Some(Default::Bool(true)) },
];

impl Operator for ExtractSubproc {
    fn name(&self) -> &'static str {
        "extract_subproc"
    }

    fn parameters(&self) -> &'static [Parameter] {
        PARAMETERS
    }

    fn help(&self) -> Help {
        Help {
            summary: "move a block into a procedure of its own",
            text: "Returns the procedure, in which the block is now a call, and the new procedure. Its parameters are what \
                the block uses, in the order in which it was declared: arguments, then buffers, windows and iterators from \
                the outside in. It asserts what the procedure asserts and what the loops and branches around the block \
                say, as far as that is about its parameters (nothing with `include_asserts = False`), and must pass as a \
                definition. What the block declares must not be used after it. A cursor to exactly the block follows to \
                the call; all others into it die.",
            example: "\
@proc
def f(n: size, x: f32[n, 8]):
    for i in seq(0, n):
        for j in seq(0, 8):
            x[i, j] = 0.0

g, row = extract_subproc(f, \"for j in _: _\", \"row\")
print(g)
print(row)
",
            prints: "\
def f(n: size, x: f32[n, 8] @ DRAM):
    for i in seq(0, n):
        row(n, x, i)
def row(n: size, x: f32[n, 8] @ DRAM, i: index):
    assert 0 <= i
    assert i < n
    for j in seq(0, 8):
        x[i, j] = 0.0
",
        }
    }

    fn results(&self) -> &'static [(&'static str, &'static str)] {
        &[("call", "the call of the new procedure")]
    }

    fn propose(&self, proc: &Arc<Proc>, arguments: &Arguments, solver: &mut Solver) -> Result<Proposal, Refusal> {
        let place = arguments.block("block")?;
        let block = path::block(proc, place).ok_or_else(|| arguments.argument("the block does not exist"))?;
        let list = path::list(proc, &place.parent, place.orelse).unwrap_or(Block::none());
        let rest = list.part(place.hi..).unwrap_or_default();
        if let Some(name) = block.iter().filter_map(visit::bound_by).find(|name| visit::block_mentions(&rest, name)) {
            return Err(arguments.scheduling(format!("`{name}` is declared in the block and used after it")));
        }
        let args = parameters(proc, place, &block);
        let actuals: Vec<Expr> = args
            .iter()
            .map(|arg| match &arg.ty {
                ArgType::Control(control) => build::control(&arg.name, *control),
                ArgType::Data(_) => build::element(&arg.name, Vec::new()),
            })
            .collect();
        let preds = if arguments.bool("include_asserts")? { known(proc, place, &args) } else { Vec::new() };
        let sub = alpha_rename_proc(&Proc {
            name: arguments.text("subproc_name")?.into(),
            args,
            preds,
            body: block.clone(),
            instr: None,
            lineage: Lineage::origin(),
            span: Span::none(),
            committed: Committed::default(),
        });
        sound(&sub, arguments, solver)?;
        let call = StmtKind::Call { callee: Arc::new(sub), args: actuals };
        let mut editor = Editor::new(proc);
        editor.replace(place, Block::one(build::stmt(call, &Span::none()))).map_err(|gone| arguments.bug(gone))?;
        let results = vec![Returned::node(&place.statement(0))];
        Ok(Proposal::same(editor, Obligation::Proven(valid_call(proc, place))).returning(results))
    }

    fn further(&self, before: &Proc, after: &Proc) -> Option<Arc<Proc>> {
        let known = callees(before);
        callees(after).into_iter().find(|callee| !known.iter().any(|old| Arc::ptr_eq(old, callee)))
    }
}

/// What is declared before the block and used by it, or by the shape of something used, in order of declaration.
fn parameters(proc: &Proc, place: &BlockPlace, block: &Block) -> Vec<Arg> {
    let declarations = Declarations::of(proc);
    let mut used = visit::free_symbols(block);
    loop {
        let mut more = BTreeSet::new();
        for name in &used {
            for extent in declarations.shape(name).unwrap_or_default() {
                visit::expr_symbols(&extent, &mut more);
            }
        }
        let before = used.len();
        used.extend(more);
        if used.len() == before {
            break;
        }
    }
    let order = proc.args.iter().map(|arg| arg.name.clone()).chain(visible(proc, place));
    order.filter(|name| used.contains(name)).filter_map(|name| parameter(&declarations, name)).collect()
}

fn parameter(declarations: &Declarations, name: Sym) -> Option<Arg> {
    let control = |control| (ArgType::Control(control), Memory::dram());
    let (ty, mem) = match declarations.get(&name)? {
        Declaration::Control(kind) => control(*kind),
        Declaration::Iterator => control(Control::Index),
        Declaration::Buffer { ty, mem, .. } => (ArgType::Data(ty.clone()), mem.clone()),
        Declaration::Window { idx, .. } => {
            let precision = declarations.precision(&name)?;
            let ty = DataType { precision, shape: window_shape(idx), is_window: true };
            (ArgType::Data(ty), declarations.memory(&name)?)
        }
    };
    Some(Arg { name, ty, mem, span: Span::none() })
}

/// Names that the lists and loops around the block declare before it, from the outside in.
fn visible(proc: &Proc, place: &BlockPlace) -> Vec<Sym> {
    let mut names = Vec::new();
    let first = place.statement(0);
    for depth in 0..first.0.len() {
        let at = Path(first.0.iter().copied().take(depth + 1).collect());
        let Some((parent, orelse, position)) = at.list_position() else { continue };
        if let Some(StmtKind::For { iter, .. }) = path::stmt(proc, &parent).map(|stmt| &stmt.kind) {
            names.push(iter.clone());
        }
        let list = path::list(proc, &parent, orelse).unwrap_or(Block::none());
        for stmt in list.iter().take(position) {
            if let StmtKind::Alloc { name, .. } | StmtKind::Window { name, .. } = &stmt.kind {
                names.push(name.clone());
            }
        }
    }
    names
}

/// The facts about the parameters: the procedure's assertions, then those of the scopes around the block, inside out.
fn known(proc: &Proc, place: &BlockPlace, args: &[Arg]) -> Vec<Expr> {
    let mut facts = proc.preds.clone();
    let mut inner = place.statement(0);
    while let Some((scope, orelse, _)) = inner.list_position() {
        match path::stmt(proc, &scope).map(|stmt| &stmt.kind) {
            Some(StmtKind::For { iter, lo, hi, .. }) => {
                facts.push(build::binary(BinaryOp::Le, lo.clone(), build::index(iter)));
                facts.push(build::less(build::index(iter), hi.clone()));
            }
            Some(StmtKind::If { cond, .. }) if orelse => {
                facts.push(build::binary(BinaryOp::Eq, cond.clone(), build::boolean(false)));
            }
            Some(StmtKind::If { cond, .. }) => facts.push(cond.clone()),
            Some(
                StmtKind::Assign { .. }
                | StmtKind::Reduce { .. }
                | StmtKind::Pass
                | StmtKind::WriteConfig { .. }
                | StmtKind::Alloc { .. }
                | StmtKind::Call { .. }
                | StmtKind::Window { .. },
            )
            | None => {}
        }
        inner = scope;
    }
    let changing = |fact: &Expr| configuration::disturbed([fact], &proc.body).is_some();
    facts.retain(|fact| {
        if changing(fact) {
            return false;
        }
        let mut used = BTreeSet::new();
        visit::expr_symbols(fact, &mut used);
        used.iter().all(|name| args.iter().any(|arg| &arg.name == name))
    });
    facts
}
