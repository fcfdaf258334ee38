//! LoopIR as text of the object language that parses back to an equal proc.

use std::collections::{BTreeMap, BTreeSet};

use crate::cursor::path::{BlockPlace, Path, Place, Side, Step};
use crate::loop_ir::Block;
use crate::loop_ir::expression::{Access, BinaryOp, Const, Expr, ExprKind};
use crate::loop_ir::procedure::{Arg, ArgType, Proc};
use crate::loop_ir::statement::{Stmt, StmtKind};
use crate::loop_ir::types::{Control, DataType};
use crate::loop_ir::visit;
use crate::symbol::{Identity, Sym};

/// The spelling of every symbol of a proc: unique among the names that are live where it is bound.
#[derive(Clone, Debug, Default)]
pub struct Names {
    spelled: BTreeMap<Identity, String>,
}

/// Whether a proc may be printed with `symbol` spelled `text`: names that clash get a number.
pub fn may_spell(text: &str, symbol: &Sym) -> bool {
    text.strip_prefix(symbol.name()).is_some_and(|rest| rest.is_empty() || is_number(rest))
}

/// Whether a name may be one that the printer made up for a clash.
pub fn may_be_made_up(name: &str) -> bool {
    name.rfind('_').and_then(|at| name.get(at..)).is_some_and(is_number)
}

/// `_` and a number.
fn is_number(suffix: &str) -> bool {
    suffix.strip_prefix('_').is_some_and(|k| !k.is_empty() && k.bytes().all(|c| c.is_ascii_digit()))
}

impl Names {
    pub fn of(proc: &Proc) -> Self {
        let mut naming =
            Naming { names: Names::default(), live: BTreeSet::new(), bound: bound_names(proc), host: host_names(proc) };
        for arg in &proc.args {
            naming.bind(&arg.name);
        }
        naming.block(&proc.body);
        naming.names
    }

    /// How a symbol is written; symbols the proc does not bind keep their own spelling.
    pub fn get<'a>(&'a self, symbol: &'a Sym) -> &'a str {
        self.spelled.get(&symbol.identity()).map_or(symbol.name(), String::as_str)
    }

    pub fn expr(&self, expr: &Expr) -> String {
        let mut out = String::new();
        self.write_expr(expr, 0, &mut out);
        out
    }

    /// `buffer[i, j]`, or the bare name of a scalar.
    pub fn place(&self, name: &Sym, idx: &[Expr]) -> String {
        let mut out = self.get(name).to_string();
        self.write_indices(idx, &mut out);
        out
    }

    fn write_indices(&self, idx: &[Expr], out: &mut String) {
        if !idx.is_empty() {
            let idx: Vec<String> = idx.iter().map(|e| self.expr(e)).collect();
            out.push_str(&format!("[{}]", idx.join(", ")));
        }
    }

    fn write_expr(&self, expr: &Expr, level: u8, out: &mut String) {
        match &expr.kind {
            ExprKind::Const(value) => out.push_str(&constant(value)),
            ExprKind::ReadConfig(field) => out.push_str(&field.to_string()),
            ExprKind::Read { name, idx } => {
                out.push_str(self.get(name));
                self.write_indices(idx, out);
            }
            ExprKind::Stride { name, dim } => out.push_str(&format!("stride({}, {dim})", self.get(name))),
            ExprKind::Extern { function, args } => {
                let args: Vec<String> = args.iter().map(|e| self.expr(e)).collect();
                out.push_str(&format!("{}({})", function.name, args.join(", ")));
            }
            ExprKind::Window { name, idx } => {
                let idx: Vec<String> = idx.iter().map(|access| self.access(access)).collect();
                out.push_str(&format!("{}[{}]", self.get(name), idx.join(", ")));
            }
            ExprKind::Neg(operand) => {
                out.push('-');
                self.write_expr(operand, 60, out);
            }
            ExprKind::Binary { op, lhs, rhs } => {
                let own = precedence(*op);
                // A comparison on the left of another would read back as a chain.
                let left = if op.is_comparison() { own + 1 } else { own };
                let parens = own < level;
                if parens {
                    out.push('(');
                }
                self.write_expr(lhs, left, out);
                out.push_str(&format!(" {} ", op.text()));
                self.write_expr(rhs, own + 1, out);
                if parens {
                    out.push(')');
                }
            }
        }
    }

    fn access(&self, access: &Access) -> String {
        match access {
            Access::Point(point) => self.expr(point),
            Access::Interval { lo, hi } => format!("{}:{}", self.expr(lo), self.expr(hi)),
        }
    }

    /// A data type as written after a colon, without memory.
    pub fn data_type(&self, ty: &DataType) -> String {
        let shape: Vec<String> = ty.shape.iter().map(|e| self.expr(e)).collect();
        match (ty.is_window, shape.is_empty()) {
            (true, _) => format!("[{}][{}]", ty.precision.word(), shape.join(", ")),
            (false, true) => ty.precision.word().to_string(),
            (false, false) => format!("{}[{}]", ty.precision.word(), shape.join(", ")),
        }
    }

    /// The parameters of a proc as written between the parentheses.
    pub fn parameters(&self, proc: &Proc) -> String {
        proc.args.iter().map(|arg| self.arg(arg)).collect::<Vec<_>>().join(", ")
    }

    fn arg(&self, arg: &Arg) -> String {
        let name = self.get(&arg.name);
        match &arg.ty {
            ArgType::Control(control) => format!("{name}: {}", control.word()),
            ArgType::Data(data) => format!("{name}: {} @ {}", self.data_type(data), arg.mem.name()),
        }
    }

    /// The first line of a statement, without indentation.
    pub fn headline(&self, stmt: &Stmt) -> String {
        match &stmt.kind {
            StmtKind::Assign { name, idx, rhs } => format!("{} = {}", self.place(name, idx), self.expr(rhs)),
            StmtKind::Reduce { name, idx, rhs } => format!("{} += {}", self.place(name, idx), self.expr(rhs)),
            StmtKind::Pass => "pass".to_string(),
            StmtKind::WriteConfig { field, rhs } => format!("{field} = {}", self.expr(rhs)),
            StmtKind::If { cond, .. } => format!("if {}:", self.expr(cond)),
            StmtKind::For { iter, lo, hi, mode, .. } => {
                format!("for {} in {}({}, {}):", self.get(iter), mode.word(), self.expr(lo), self.expr(hi))
            }
            StmtKind::Alloc { name, ty, mem } => {
                format!("{}: {} @ {}", self.get(name), self.data_type(ty), mem.name())
            }
            StmtKind::Call { callee, args } => {
                let args: Vec<String> = args.iter().map(|e| self.expr(e)).collect();
                format!("{}({})", callee.name, args.join(", "))
            }
            StmtKind::Window { name, rhs } => format!("{} = {}", self.get(name), self.expr(rhs)),
        }
    }
}

fn constant(value: &Const) -> String {
    match value {
        Const::Int(value) => value.to_string(),
        Const::Bool(true) => "True".to_string(),
        Const::Bool(false) => "False".to_string(),
        Const::Real(value) => format!("{value:?}"),
    }
}

fn precedence(op: BinaryOp) -> u8 {
    match op {
        BinaryOp::Or => 10,
        BinaryOp::And => 20,
        BinaryOp::Lt | BinaryOp::Gt | BinaryOp::Le | BinaryOp::Ge | BinaryOp::Eq => 30,
        BinaryOp::Add | BinaryOp::Sub => 40,
        BinaryOp::Mul | BinaryOp::Div | BinaryOp::Mod => 50,
    }
}

/// Base names of everything that a proc binds.
fn bound_names(proc: &Proc) -> BTreeSet<String> {
    let mut names: BTreeSet<String> = proc.args.iter().map(|arg| arg.name.name().to_string()).collect();
    visit::each_stmt(&proc.body, &mut |stmt| {
        names.extend(visit::bound_by(stmt).map(|symbol| symbol.name().to_string()));
    });
    names
}

/// Names of the host that a proc mentions: procs, externs, memories, configs. A variable of that name would hide them.
fn host_names(proc: &Proc) -> BTreeSet<String> {
    let mut names: BTreeSet<String> = proc.args.iter().map(|arg| arg.mem.name().to_string()).collect();
    visit::each_stmt(&proc.body, &mut |stmt| match &stmt.kind {
        StmtKind::Call { callee, .. } => {
            names.insert(callee.name.to_string());
        }
        StmtKind::Alloc { mem, .. } => {
            names.insert(mem.name().to_string());
        }
        StmtKind::WriteConfig { field, .. } => {
            names.insert(field.config().name().to_string());
        }
        StmtKind::Assign { .. }
        | StmtKind::Reduce { .. }
        | StmtKind::Pass
        | StmtKind::If { .. }
        | StmtKind::For { .. }
        | StmtKind::Window { .. } => {}
    });
    let mut note = |expr: &Expr| match &expr.kind {
        ExprKind::Extern { function, .. } => {
            names.insert(function.name.clone());
        }
        ExprKind::Const(Const::Real(value)) if value.is_infinite() => {
            names.insert("inf".to_string());
        }
        ExprKind::ReadConfig(field) => {
            names.insert(field.config().name().to_string());
        }
        ExprKind::Read { .. }
        | ExprKind::Const(_)
        | ExprKind::Neg(_)
        | ExprKind::Binary { .. }
        | ExprKind::Window { .. }
        | ExprKind::Stride { .. } => {}
    };
    proc.preds.iter().for_each(|pred| visit::each_expr(pred, &mut note));
    visit::each_expr_in(&proc.body, &mut note);
    names
}

struct Naming {
    names: Names,
    live: BTreeSet<String>,
    /// What variables are called; a made-up name must not be one of these.
    bound: BTreeSet<String>,
    /// What no variable may be called.
    host: BTreeSet<String>,
}

impl Naming {
    /// Picks a spelling and returns it when it was not live before (so that the caller can end its life).
    fn bind(&mut self, symbol: &Sym) -> String {
        let base = symbol.name();
        let spelling = if self.live.contains(base) || self.host.contains(base) {
            (1usize..)
                .map(|k| format!("{base}_{k}"))
                .find(|name| !self.live.contains(name) && !self.bound.contains(name) && !self.host.contains(name))
                .unwrap_or_else(|| base.to_string())
        } else {
            base.to_string()
        };
        self.live.insert(spelling.clone());
        self.names.spelled.insert(symbol.identity(), spelling.clone());
        spelling
    }

    fn block(&mut self, block: &Block) {
        let mut bound_here = Vec::new();
        for stmt in block {
            match &stmt.kind {
                StmtKind::For { iter, body, .. } => {
                    let spelling = self.bind(iter);
                    self.block(body);
                    self.live.remove(&spelling);
                }
                StmtKind::If { body, orelse, .. } => {
                    self.block(body);
                    self.block(orelse);
                }
                StmtKind::Alloc { name, .. } | StmtKind::Window { name, .. } => bound_here.push(self.bind(name)),
                StmtKind::Assign { .. }
                | StmtKind::Reduce { .. }
                | StmtKind::Pass
                | StmtKind::WriteConfig { .. }
                | StmtKind::Call { .. } => {}
            }
        }
        for spelling in bound_here {
            self.live.remove(&spelling);
        }
    }
}

/// The proc as text, without a trailing newline.
pub fn proc(proc: &Proc) -> String {
    Printer::new(proc, None).whole()
}

/// The statements of the proc, without its head and asserts.
pub fn body(proc: &Proc) -> String {
    let mut printer = Printer::new(proc, None);
    printer.block(&proc.body, &Path::root(), false, 0);
    printer.lines.join("\n")
}

/// The proc as text with a place marked as Exo marks it. Expressions are marked at their statement.
pub fn marked(proc: &Proc, place: &Place) -> String {
    Printer::new(proc, Some(place)).whole()
}

/// The proc with the statement at `at` marked, without what does not fit into a message: of a long proc there are the head and
/// what stands around the statement, and `...` for the rest.
pub fn around(proc: &Proc, at: &Path) -> String {
    let place = Place::Node(at.clone());
    let printer = Printer::new(proc, Some(&place));
    let mut statements = 0;
    visit::each_stmt(&proc.body, &mut |_| statements += 1);
    match statements > SHOWN_WHOLE {
        true => Printer { only: Some(at), ..printer }.whole(),
        false => printer.whole(),
    }
}

/// Statements of the longest proc that a message shows as a whole.
const SHOWN_WHOLE: usize = 16;

struct Printer<'a> {
    proc: &'a Proc,
    names: Names,
    mark: Option<&'a Place>,
    /// Statements that are neither this one nor around it are left out.
    only: Option<&'a Path>,
    lines: Vec<String>,
}

impl<'a> Printer<'a> {
    fn new(proc: &'a Proc, mark: Option<&'a Place>) -> Self {
        Printer { proc, names: Names::of(proc), mark, only: None, lines: Vec::new() }
    }

    fn whole(mut self) -> String {
        self.lines.push(format!("def {}({}):", self.proc.name, self.names.parameters(self.proc)));
        if let Some(instr) = &self.proc.instr {
            for (at, line) in instr.template.lines().enumerate() {
                let lead = if at == 0 { "    # @instr " } else { "    #        " };
                self.lines.push(format!("{lead}{line}"));
            }
        }
        for pred in &self.proc.preds {
            self.lines.push(format!("    assert {}", self.names.expr(pred)));
        }
        let proc = self.proc;
        self.block(&proc.body, &Path::root(), false, 1);
        self.lines.join("\n")
    }

    fn push(&mut self, depth: usize, text: &str) {
        self.lines.push(format!("{}{text}", "    ".repeat(depth)));
    }

    fn leave_out(&mut self, depth: usize) {
        let dots = format!("{}...", "    ".repeat(depth));
        if self.lines.last() != Some(&dots) {
            self.lines.push(dots);
        }
    }

    fn block(&mut self, block: &Block, parent: &Path, orelse: bool, depth: usize) {
        for (at, stmt) in block.iter().enumerate() {
            let path = parent.child(Step::statement(orelse, at));
            if self.only.is_some_and(|only| !path.is_prefix_of(only)) {
                self.leave_out(depth);
                continue;
            }
            let run = self.marked_run(parent, orelse);
            if run.as_ref().is_some_and(|run| run.lo == at) {
                self.push(depth, "# BLOCK START");
            }
            if self.is_gap(&path, Side::Before) {
                self.push(depth, "[GAP - Before]");
            }
            self.statement(stmt, &path, depth);
            if self.is_gap(&path, Side::After) {
                self.push(depth, "[GAP - After]");
            }
            if run.is_some_and(|run| run.hi == at + 1) {
                self.push(depth, "# BLOCK END");
            }
        }
    }

    fn marked_run(&self, parent: &Path, orelse: bool) -> Option<BlockPlace> {
        match self.mark? {
            Place::Block(block) => (&block.parent == parent && block.orelse == orelse).then(|| block.clone()),
            _ => None,
        }
    }

    fn is_gap(&self, path: &Path, side: Side) -> bool {
        match self.mark {
            Some(Place::Gap(gap)) => gap.side == side && &gap.anchor == path,
            _ => false,
        }
    }

    fn is_node(&self, path: &Path) -> bool {
        let marked = match self.mark {
            Some(Place::Node(at)) => at,
            Some(Place::Exprs { parent, .. }) => parent,
            _ => return false,
        };
        marked.statement().as_ref() == Some(path)
    }

    fn statement(&mut self, stmt: &Stmt, path: &Path, depth: usize) {
        let mut line = self.names.headline(stmt);
        if self.is_node(path) {
            line.push_str("  # <-- NODE");
        }
        self.push(depth, &line);
        match &stmt.kind {
            StmtKind::For { body, .. } => self.block(body, path, false, depth + 1),
            StmtKind::If { body, orelse, .. } => {
                self.block(body, path, false, depth + 1);
                if !orelse.is_empty() {
                    self.push(depth, "else:");
                    self.block(orelse, path, true, depth + 1);
                }
            }
            StmtKind::Assign { .. }
            | StmtKind::Reduce { .. }
            | StmtKind::Pass
            | StmtKind::WriteConfig { .. }
            | StmtKind::Alloc { .. }
            | StmtKind::Call { .. }
            | StmtKind::Window { .. } => {}
        }
    }
}

/// The word for a control type, as parameters are declared.
pub fn control(control: Control) -> &'static str {
    control.word()
}
