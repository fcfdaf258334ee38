//! One proc as one C function: signature, assertions, statements.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::codegen::access::{Storage, WindowExpr};
use crate::codegen::assigned;
use crate::codegen::bfloat;
use crate::codegen::c_tree::{self, CExpr, CStmt};
use crate::codegen::context;
use crate::codegen::intervals::Intervals;
use crate::codegen::liveness;
use crate::codegen::memory::{self, CBuffer};
use crate::codegen::reach::Function;
use crate::codegen::scope::Scope;
use crate::codegen::template;
use crate::codegen::unit::{Layout, Unit};
use crate::codegen::usage::Touched;
use crate::codegen::wrapping;
use crate::cursor::path::{Path, Step};
use crate::diagnostic::{Diagnostic, codes};
use crate::hardware::config::{ConfigField, FieldType};
use crate::hardware::memory::{Memory, MemoryKind};
use crate::hardware::precision::Precision;
use crate::loop_ir::block::Block;
use crate::loop_ir::computation;
use crate::loop_ir::configuration;
use crate::loop_ir::declarations::{Declaration, Declarations};
use crate::loop_ir::expression::{BinaryOp, Const, Expr, ExprKind};
use crate::loop_ir::procedure::{Arg, ArgType, Proc};
use crate::loop_ir::statement::{LoopMode, Stmt, StmtKind};
use crate::loop_ir::types::{Control, DataType};
use crate::loop_ir::visit;
use crate::print;
use crate::source::Span;
use crate::symbol::{Identity, Sym};

/// A function as text: the comment and prototype that the header or the file's top needs, and the definition.
#[derive(Debug)]
pub struct FunctionText {
    /// `// name(` … `// )`, with a final newline.
    pub comment: String,
    /// `void name( … )`, without `static` and without a final semicolon.
    pub prototype: String,
    /// The same for the definition, where pointers are declared distinct.
    pub head: String,
    /// Statements of the body, each with its newline.
    pub body: String,
    /// C names of its variables, in the order in which they are met.
    pub variables: Vec<String>,
}

/// The state of lowering one proc.
pub struct FunctionLowering<'u, 'a> {
    pub unit: &'u mut Unit<'a>,
    pub declarations: Declarations,
    pub names: Scope,
    pub intervals: Intervals,
    /// Strides of window parameters that an assert fixes.
    pub asserted_strides: BTreeMap<(Sym, usize), i64>,
    /// Numbered places that live buffers take, with the memory that counts them.
    chunks: BTreeMap<Sym, (Identity, i64)>,
    /// The statement that is being lowered.
    pub at: Path,
    pub touched: Arc<Touched>,
    pub proc: &'u Proc,
}

/// Lowers one proc. Errors go to the unit; the text is meaningless then.
pub fn lower(unit: &mut Unit<'_>, function: &Function, declarations: Declarations) -> FunctionText {
    let proc = &function.proc;
    let touched = unit.usage.of(proc);
    let mut words = unit.foreign.around(&function.c_name);
    words.add(called_names(unit, proc));
    let names = Scope::new(words, unit.marked);
    let mut lowering = FunctionLowering {
        unit,
        declarations,
        names,
        intervals: Intervals::of(proc),
        asserted_strides: asserted_strides(proc),
        chunks: BTreeMap::new(),
        at: Path::root(),
        touched,
        proc,
    };
    lowering.function(&function.c_name, function.exported)
}

/// Names that no variable may take: C functions that the body calls, which it would hide, and identifiers of the texts of
/// instructions, whose own declarations would capture it.
fn called_names(unit: &Unit<'_>, proc: &Proc) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    visit::each_stmt(&proc.body, &mut |stmt| {
        let StmtKind::Call { callee, .. } = &stmt.kind else { return };
        match &callee.instr {
            Some(instruction) if !unit.emulate => names.extend(template::identifiers(&instruction.template)),
            Some(_) | None => {
                names.insert(unit.reach.c_name(callee).to_string());
            }
        }
    });
    if !unit.emulate {
        // Macros that one function needs hold in the whole file.
        let instructions = unit.reach.functions.iter().filter_map(|function| function.proc.instr.as_ref());
        names.extend(instructions.flat_map(|instruction| template::global_identifiers(&instruction.global)));
    }
    names
}

/// `stride(x, d) == literal`, in this orientation.
pub fn stride_assertion(pred: &Expr) -> Option<((Sym, usize), i64)> {
    let ExprKind::Binary { op: BinaryOp::Eq, lhs, rhs } = &pred.kind else { return None };
    match (&lhs.kind, &rhs.kind) {
        (ExprKind::Stride { name, dim }, ExprKind::Const(Const::Int(value))) => Some(((name.clone(), *dim), *value)),
        _ => None,
    }
}

fn asserted_strides(proc: &Proc) -> BTreeMap<(Sym, usize), i64> {
    proc.preds.iter().filter_map(stride_assertion).collect()
}

impl FunctionLowering<'_, '_> {
    fn function(&mut self, c_name: &str, exported: bool) -> FunctionText {
        let proc = self.proc;
        let mut discards = vec![CStmt::Discard { name: "ctxt".into(), always: false }];
        for arg in &proc.args {
            if let ArgType::Data(ty) = &arg.ty {
                memory::check_size(self.unit, arg.name.name(), &ty.shape, &arg.span);
            }
            let name = self.names.bind(&arg.name);
            discards.push(CStmt::Discard { name, always: false });
        }
        let comment = self.comment(c_name);
        let prototype = self.prototype(c_name, "");
        let head = self.prototype(c_name, if self.unit.distinct { " restrict" } else { "" });
        let mut statements = match exported && self.unit.checked {
            true => self.checks(c_name),
            false => self.prologue(),
        };
        self.unit.errors.settle();
        statements.extend(self.block(&proc.body, false));
        discards.extend(statements);
        let mut body = String::new();
        c_tree::write_block(&c_tree::drop_superfluous_discards(discards), 0, &mut body);
        if let Some(variable) = self.names.crowded() {
            let message = format!("texts of C in `{c_name}` leave no name free for `{variable}`");
            let hint = "they paste names and numbers together in every way: put a fixed word between them";
            self.unit.errors.push(Diagnostic::error(codes::TEMPLATE, message).hint(hint));
        }
        let variables = self.names.given().to_vec();
        FunctionText { comment, prototype, head, body, variables }
    }

    fn comment(&self, c_name: &str) -> String {
        let object = print::Names::of(self.proc);
        let args: Vec<String> = self.proc.args.iter().map(|arg| self.argument_comment(arg, &object)).collect();
        let mut text = format!("// {c_name}(\n{}\n// )\n", args.join(",\n"));
        for waived in self.proc.lineage.waived.iter() {
            text.push_str(&format!("// waived {}\n", c_tree::one_line(&waived.to_string())));
        }
        text
    }

    fn argument_comment(&self, arg: &Arg, object: &print::Names) -> String {
        let name = self.names.get(&arg.name);
        match &arg.ty {
            ArgType::Control(control) => format!("//     {name} : {}", control.word()),
            ArgType::Data(ty) => {
                let ty = DataType { precision: ty.precision.concrete(), ..ty.clone() };
                format!("//     {name} : {} @{}", object.data_type(&ty), arg.mem.name())
            }
        }
    }

    /// `qualifier` goes behind the star of pointers. A window's pointer is a member of a struct, where it means nothing.
    fn prototype(&mut self, c_name: &str, qualifier: &str) -> String {
        let mut params = vec![format!("{} *ctxt", self.unit.context.type_name())];
        for arg in &self.proc.args {
            let name = self.names.get(&arg.name).to_string();
            params.push(match &arg.ty {
                ArgType::Control(Control::Bool) => format!("bool {name}"),
                ArgType::Control(Control::Int | Control::Size | Control::Index | Control::Stride) => {
                    format!("int_fast32_t {name}")
                }
                ArgType::Data(ty) => {
                    let constant = !self.touched.written.contains(&arg.name);
                    match ty.is_window {
                        true => {
                            let window = self.unit.window_struct(ty.rank(), ty.precision, constant);
                            format!("struct {window} {name}")
                        }
                        false if constant => format!("const {}*{qualifier} {name}", ty.precision.c_type()),
                        false => format!("{}*{qualifier} {name}", ty.precision.c_type()),
                    }
                }
            });
        }
        format!("void {c_name}( {} )", params.join(", "))
    }

    /// Asserts: fixed strides as comments, the rest as facts for the C compiler.
    fn prologue(&mut self) -> Vec<CStmt> {
        let proc = self.proc;
        let object = print::Names::of(proc);
        let mut out = Vec::new();
        for pred in &proc.preds {
            if matches!(pred.kind, ExprKind::Const(_)) {
                continue;
            }
            if stride_assertion(pred).is_some() {
                out.push(CStmt::Comment(format!("assert {}", object.expr(pred))));
                continue;
            }
            match self.control(pred) {
                CExpr::Bool(true) => {}
                cond => out.push(CStmt::Assume(cond)),
            }
        }
        out
    }

    /// Whether C may only read through the window struct of `name`.
    pub fn is_constant(&self, name: &Sym) -> bool {
        self.declarations.root(name).is_none_or(|root| !self.touched.written.contains(&root))
    }

    fn block(&mut self, block: &Block, orelse: bool) -> Vec<CStmt> {
        let mut deaths = liveness::deaths(block, &self.declarations);
        let mut bound = Vec::new();
        let mut out = Vec::new();
        for (at, stmt) in block.iter().enumerate() {
            self.at.0.push(Step::statement(orelse, at));
            match &stmt.kind {
                StmtKind::Alloc { name, ty, mem } => {
                    bound.push(self.names.bind(name));
                    let rest = block.part(at + 1..).unwrap_or_default();
                    let cleared = ty.shape.is_empty() && assigned::may_be_read_first(&rest, name);
                    self.alloc(name, (ty, mem), cleared, &stmt.span, &mut out);
                }
                _ => self.stmt(stmt, &mut bound, &mut out),
            }
            for dead in deaths.remove(&at).unwrap_or_default() {
                out.extend(self.free(&dead, &stmt.span));
            }
            self.unit.errors.concern(self.proc, &self.at);
            self.at.0.pop();
        }
        for name in bound {
            self.names.release(&name);
        }
        out
    }

    fn stmt(&mut self, stmt: &Stmt, bound: &mut Vec<String>, out: &mut Vec<CStmt>) {
        match &stmt.kind {
            StmtKind::Pass => out.push(CStmt::NoOp),
            StmtKind::WriteConfig { field, rhs } => out.push(self.write_config(field, rhs)),
            StmtKind::Assign { name, idx, rhs } => out.extend(self.store(name, idx, rhs, false, &stmt.span)),
            StmtKind::Reduce { name, idx, rhs } => out.extend(self.store(name, idx, rhs, true, &stmt.span)),
            StmtKind::If { cond, body, orelse } => {
                let cond = self.control(cond);
                let body = self.block(body, false);
                let orelse = self.block(orelse, true);
                out.push(CStmt::If { cond, body, orelse });
            }
            StmtKind::For { iter, lo, hi, body, mode } => {
                let (c_lo, mut c_hi) = (self.control(lo), self.control(hi));
                if configuration::disturbed([hi], body).is_some() {
                    // C reads the bound in every round, the loop only once.
                    let end = self.names.bind(&Sym::new(&format!("{}_end", iter.name())));
                    out.push(CStmt::Raw(format!("const int_fast32_t {end} = {};", c_hi.text())));
                    c_hi = CExpr::token(end.clone());
                    bound.push(end);
                }
                self.intervals.enter_loop(iter, lo, hi);
                let name = self.names.bind(iter);
                let body = self.block(body, false);
                self.names.release(&name);
                let parallel = *mode == LoopMode::Par;
                self.unit.has_parallel_loop |= parallel;
                out.push(CStmt::For { iter: name, lo: c_lo, hi: c_hi, parallel, body });
            }
            // Allocations are met in their list, which says what comes after them.
            StmtKind::Alloc { .. } => {}
            StmtKind::Call { callee, args } => out.extend(self.call(callee, args, &stmt.span)),
            StmtKind::Window { name, rhs } => self.window(name, rhs, bound, out),
        }
    }

    /// A field of the context.
    pub fn field(&self, field: &ConfigField) -> CExpr {
        CExpr::token(format!("ctxt->{}", context::path(field)))
    }

    fn write_config(&mut self, field: &ConfigField, rhs: &Expr) -> CStmt {
        let lhs = self.field(field);
        let value = match field.ty() {
            FieldType::Data(target) => {
                let source = computation::of_rhs(rhs, target, &self.declarations);
                let value = self.data(rhs, source);
                if target == Precision::Bf16 {
                    return CStmt::Assign { lhs, reduce: false, rhs: bfloat::converted(value, source) };
                }
                if source != target || may_overflow(rhs, target) { value.paren().cast(target.c_type()) } else { value }
            }
            FieldType::Size | FieldType::Index | FieldType::Bool | FieldType::Stride => self.control(rhs),
        };
        if lhs == value { CStmt::NoOp } else { CStmt::Assign { lhs, reduce: false, rhs: value } }
    }

    fn store(&mut self, name: &Sym, idx: &[Expr], rhs: &Expr, reduce: bool, span: &Span) -> Option<CStmt> {
        let target = self.precision(name);
        let source = computation::of_rhs(rhs, target, &self.declarations);
        let memory = self.declarations.memory(name)?;
        let is_bf16 = target == Precision::Bf16;
        // C cannot add to `bf16` in place.
        let adds = reduce && !is_bf16;
        let mut value = match is_bf16 {
            true => self.bf16_value(name, idx, rhs, reduce, source, span),
            false => self.data(rhs, source),
        };
        if !self.unit.writes(&memory, adds) {
            let place = self.row_major(name, idx, span);
            let what = if reduce { "reduce into" } else { "write" };
            return self.unit.cannot(&memory, what, span, Some(&place.text()));
        }
        let lhs = self.element(name, idx, span);
        if is_bf16 {
            return self.unit.write(&memory, lhs, adds, value, span);
        }
        // An assignment of a variable to itself is written with a cast, because compilers warn about a bare one.
        if source != target || lhs == value || may_overflow(rhs, target) {
            value = value.paren().cast(target.c_type());
        }
        if reduce && memory.kind != MemoryKind::User {
            value = wrapping::addend(value, target);
        }
        self.unit.write(&memory, lhs, reduce, value, span)
    }

    /// What a statement stores in an element of `bf16`.
    fn bf16_value(
        &mut self,
        name: &Sym,
        idx: &[Expr],
        rhs: &Expr,
        reduce: bool,
        source: Precision,
        span: &Span,
    ) -> CExpr {
        match &rhs.kind {
            // A copy converts nothing.
            ExprKind::Read { name: from, idx: at } if !reduce && source == Precision::Bf16 => {
                self.stored(from, at, &rhs.span)
            }
            _ => {
                let value = self.data(rhs, source);
                match reduce {
                    true => bfloat::reduced(self.stored(name, idx, span), value, source),
                    false => bfloat::converted(value, source),
                }
            }
        }
    }

    fn window(&mut self, name: &Sym, rhs: &Expr, bound: &mut Vec<String>, out: &mut Vec<CStmt>) {
        let ExprKind::Window { name: base, idx } = &rhs.kind else {
            self.unit.malformed("a window statement without a window", &rhs.span);
            return;
        };
        if !matches!(self.storage(name), Storage::Struct) {
            return;
        }
        let window = WindowExpr { name: base.clone(), idx: idx.clone() };
        let constant = self.is_constant(name);
        let value = self.window_variable(&window, constant, &rhs.span);
        let ty = self.unit.window_struct(window.rank(), self.precision(base), constant);
        let variable = self.names.bind(name);
        bound.push(variable.clone());
        out.push(CStmt::Window { ty, name: variable.clone(), value });
        out.push(CStmt::Discard { name: variable, always: false });
    }

    fn alloc(
        &mut self,
        name: &Sym,
        (ty, memory): (&DataType, &Memory),
        cleared: bool,
        span: &Span,
        out: &mut Vec<CStmt>,
    ) {
        let extents: Vec<CExpr> = ty.shape.iter().map(|extent| self.subscript(extent)).collect();
        memory::check_size(self.unit, name.name(), &ty.shape, span);
        let variable = self.names.get(name).to_string();
        let chunk = self.take_chunk(name, memory, span);
        let c_type = ty.precision.c_type();
        let buffer = CBuffer { memory, name: &variable, ty: c_type, extents: &extents, chunk, cleared, span };
        let Some(text) = self.unit.alloc(&buffer) else { return };
        // A buffer that nothing reads would be reported as set but unused; a heap pointer is used by its `free`.
        let declares = self.unit.layout(memory) != Layout::User
            || c_tree::identifiers(&c_tree::stmt_text(&text)).contains(&variable);
        let unread = !self.touched.read.contains(name) && !self.unit.is_heap_buffer(memory, &extents);
        out.push(text);
        if unread && declares {
            out.push(CStmt::Discard { name: variable, always: true });
        } else if declares {
            out.push(CStmt::Discard { name: variable, always: false });
        }
    }

    /// The lowest free place of a memory that counts them.
    fn take_chunk(&mut self, name: &Sym, memory: &Memory, span: &Span) -> Option<i64> {
        if self.unit.layout(memory) != Layout::User {
            return None;
        }
        let pool = memory.pool()?;
        let taken: BTreeSet<i64> =
            self.chunks.values().filter(|(owner, _)| *owner == pool.identity).map(|(_, chunk)| *chunk).collect();
        let free = (0..).find(|chunk| !taken.contains(chunk)).unwrap_or(i64::MAX);
        let capacity = memory.chain().find_map(|memory| memory.capacity);
        if let Some(capacity) = capacity.filter(|capacity| free >= *capacity) {
            let message = format!("{} has {capacity} places, and all are taken", memory.name());
            let refusal = Diagnostic::error(codes::MEMORY, message).at(span, "no place is left for this");
            self.unit.errors.push(refusal.hint("use fewer buffers at a time, or move their uses together"));
        }
        self.chunks.insert(name.clone(), (pool.identity, free));
        Some(free)
    }

    fn free(&mut self, name: &Sym, span: &Span) -> Option<CStmt> {
        let Some(Declaration::Buffer { ty, mem, is_arg: false }) = self.declarations.get(name).cloned() else {
            return None;
        };
        let extents: Vec<CExpr> = ty.shape.iter().map(|extent| self.subscript(extent)).collect();
        let variable = self.names.get(name).to_string();
        let chunk = self.chunks.remove(name).map(|(_, chunk)| chunk);
        let (memory, c_type, cleared) = (&mem, ty.precision.c_type(), false);
        let buffer = CBuffer { memory, name: &variable, ty: c_type, extents: &extents, chunk, cleared, span };
        self.unit.free(&buffer)
    }
}

/// Whether constant arithmetic may leave a narrow target, which compilers warn about unless a cast says so.
fn may_overflow(rhs: &Expr, target: Precision) -> bool {
    let mut reads = false;
    computation::data_reads(rhs, &mut |_| reads = true);
    target.is_narrow() && !reads && !matches!(rhs.kind, ExprKind::Const(_))
}
