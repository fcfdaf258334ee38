//! A proc around one instruction whose buffers all lie in ordinary memory, so that the instruction's C can be run and
//! compared with its body.
//!
//! Registers are filled and read back by the C that their memory gives for it, else as bytes: then the layout of a
//! register array must be that of the buffer it stands for.

use std::sync::Arc;

use crate::codegen::intervals::Intervals;
use crate::hardware::instruction::Instruction;
use crate::hardware::memory::Memory;
use crate::loop_ir::block::Block;
use crate::loop_ir::build;
use crate::loop_ir::configuration::Touched;
use crate::loop_ir::expression::{Access, Expr, ExprKind};
use crate::loop_ir::procedure::{Arg, ArgType, Committed, Lineage, Proc};
use crate::loop_ir::statement::{LoopMode, Stmt, StmtKind};
use crate::loop_ir::substitute::{self, Substitution};
use crate::loop_ir::types::DataType;
use crate::loop_ir::visit;
use crate::print;
use crate::source::Span;
use crate::symbol::Sym;

/// What the C compiler says of a memory whose variables are not the bytes of their elements (tiles, device addresses).
/// Such an instruction cannot be run this way; that is no fault of the instruction.
pub const OPAQUE_REGISTERS: &str = "registers of this memory are not plain storage";

/// What is added to the name of an instruction for the proc around it.
pub const WRAPPER_SUFFIX: &str = "_conformance";

/// The proc `NAME_conformance`: the parameters of the instruction, those in registers replaced by dense DRAM buffers;
/// the body copies them into registers, executes the instruction, and copies them back.
///
/// # Errors
/// The reason, where a register parameter has an extent without upper bound, or the instruction needs configuration state
/// that only instructions touch.
pub fn wrapper(instruction: &Proc) -> Result<Arc<Proc>, String> {
    let touched = Touched::by_proc(instruction);
    if let Some(field) =
        touched.reads.iter().find(|field| !field.config().is_readwrite() && !touched.writes.contains(field))
    {
        return Err(format!("it relies on `{field}`, which only instructions set; test it after the one that does"));
    }
    let mut wrapper = Wrapper {
        intervals: Intervals::of(instruction),
        names: print::Names::of(instruction),
        map: Substitution::new(),
        args: Vec::new(),
        actuals: Vec::new(),
        before: Block::default(),
        after: Block::default(),
        registers: Vec::new(),
    };
    for arg in &instruction.args {
        wrapper.argument(arg)?;
    }
    let Wrapper { map, args, actuals, before: mut body, after, registers, .. } = wrapper;
    let preds = instruction
        .preds
        .iter()
        .filter(|pred| !registers.iter().any(|register| visit::mentions(pred, register)))
        .map(|pred| substitute::substitute(pred, &map))
        .collect();
    body.push(call(Arc::new(instruction.clone()), actuals));
    body.extend(after);
    Ok(Arc::new(Proc {
        name: format!("{}{WRAPPER_SUFFIX}", instruction.name).into(),
        args,
        preds,
        body,
        instr: None,
        lineage: Lineage::origin(),
        span: instruction.span.clone(),
        committed: Committed::default(),
    }))
}

struct Wrapper {
    intervals: Intervals,
    names: print::Names,
    /// Parameters of the instruction to those of the wrapper.
    map: Substitution,
    args: Vec<Arg>,
    actuals: Vec<Expr>,
    before: Block,
    after: Block,
    /// Parameters of the instruction that live in registers.
    registers: Vec<Sym>,
}

impl Wrapper {
    fn argument(&mut self, arg: &Arg) -> Result<(), String> {
        let fresh = arg.name.renewed();
        match &arg.ty {
            ArgType::Control(control) => {
                let read = build::control(&fresh, *control);
                self.map.insert(arg.name.clone(), read.clone());
                self.actuals.push(read);
                self.args.push(Arg { name: fresh, ..arg.clone() });
            }
            ArgType::Data(_) if arg.mem.fits(&Memory::dram()) => {
                let read = build::element(&fresh, Vec::new());
                let ty = substitute::substitute_arg_type(&arg.ty, &self.map);
                self.map.insert(arg.name.clone(), read.clone());
                self.actuals.push(read);
                self.args.push(Arg { name: fresh, ty, ..arg.clone() });
            }
            ArgType::Data(ty) => self.register(arg, ty, fresh)?,
        }
        Ok(())
    }

    fn register(&mut self, arg: &Arg, ty: &DataType, fresh: Sym) -> Result<(), String> {
        let mut extents = Vec::new();
        for extent in &ty.shape {
            let bound = self.intervals.range(extent).hi.and_then(|hi| i64::try_from(hi).ok());
            let bound = bound.filter(|bound| *bound > 0).ok_or_else(|| {
                format!("extent `{}` of register parameter `{}` has no upper bound", self.names.expr(extent), arg.name)
            })?;
            extents.push(bound);
        }
        let whole = DataType::tensor(ty.precision, extents.iter().map(|extent| build::int(*extent)).collect());
        let register = Sym::new(&format!("{}_register", arg.name));
        let copies = Copies { ty: &whole, memory: &arg.mem };
        let alloc = StmtKind::Alloc { name: register.clone(), ty: whole.clone(), mem: arg.mem.clone() };
        self.before.push(build::stmt(alloc, &arg.span));
        let ordinary = build::element(&fresh, Vec::new());
        self.before.push(call(copies.set(), vec![copies.all(&register), ordinary.clone()]));
        self.after.push(call(copies.get(), vec![ordinary, copies.all(&register)]));
        let idx: Vec<Access> = ty
            .shape
            .iter()
            .map(|extent| Access::Interval { lo: build::int(0), hi: substitute::substitute(extent, &self.map) })
            .collect();
        self.actuals.push(match ty.is_window {
            true => build::window(&register, idx),
            false => build::element(&register, Vec::new()),
        });
        self.args.push(Arg { name: fresh, ty: ArgType::Data(whole), mem: Memory::dram(), span: arg.span.clone() });
        self.registers.push(arg.name.clone());
        Ok(())
    }
}

fn call(callee: Arc<Proc>, args: Vec<Expr>) -> Stmt {
    let span = callee.span.clone();
    build::stmt(StmtKind::Call { callee, args }, &span)
}

/// The two copies between a register buffer and ordinary memory, as instructions of their own.
struct Copies<'t> {
    ty: &'t DataType,
    memory: &'t Memory,
}

impl Copies<'_> {
    /// All of a register buffer as an actual.
    fn all(&self, register: &Sym) -> Expr {
        if self.ty.shape.is_empty() {
            return build::element(register, Vec::new());
        }
        let whole = self.ty.shape.iter().map(|extent| Access::Interval { lo: build::int(0), hi: extent.clone() });
        build::window(register, whole.collect())
    }

    fn set(&self) -> Arc<Proc> {
        let variable = self.variable("dst");
        self.copy("exo_set_register", format!("memcpy(&{variable}, {{src}}, sizeof({variable}));"), true)
    }

    fn get(&self) -> Arc<Proc> {
        let variable = self.variable("src");
        self.copy("exo_get_register", format!("memcpy({{dst}}, &{variable}, sizeof({variable}));"), false)
    }

    /// The memory's own template for a copy, in terms of the parameters of the copying instruction.
    fn own_template(&self, register: &str, elements: &str, into_register: bool) -> Option<String> {
        let copies = self.memory.copies.as_ref()?;
        let own = if into_register { &copies.fill } else { &copies.drain };
        let mut template = own.replace("{register}", register).replace("{elements}", elements);
        for (dim, extent) in self.ty.shape.iter().filter_map(build::int_value).enumerate() {
            template = template.replace(&format!("{{d{dim}}}"), &extent.to_string());
        }
        let count: i64 = self.ty.shape.iter().filter_map(build::int_value).product();
        template = template.replace("{count}", &count.to_string());
        Some(template)
    }

    /// The register variable in a template.
    fn variable(&self, parameter: &str) -> String {
        if self.ty.shape.is_empty() { format!("(*{{{parameter}}})") } else { format!("{{{parameter}_int}}") }
    }

    fn copy(&self, name: &str, statement: String, into_register: bool) -> Arc<Proc> {
        let (dst, src) = (Sym::new("dst"), Sym::new("src"));
        let register = DataType { is_window: !self.ty.shape.is_empty(), ..self.ty.clone() };
        let arg = |name: &Sym, in_register: bool| Arg {
            name: name.clone(),
            ty: ArgType::Data(if in_register { register.clone() } else { self.ty.clone() }),
            mem: if in_register { self.memory.clone() } else { Memory::dram() },
            span: Span::none(),
        };
        let (variable, ordinary) = match into_register {
            true => (self.variable("dst"), "{src}"),
            false => (self.variable("src"), "{dst}"),
        };
        let extents: Vec<String> = self.ty.shape.iter().filter_map(build::int_value).map(|e| e.to_string()).collect();
        let count = if extents.is_empty() { "1".to_string() } else { extents.join(" * ") };
        let bytes = || {
            format!(
                "_Static_assert(sizeof({variable}) == {count} * sizeof(*{ordinary}), \"{OPAQUE_REGISTERS}\"); {statement}"
            )
        };
        let template = self.own_template(&variable, ordinary, into_register).unwrap_or_else(bytes);
        Arc::new(Proc {
            name: name.into(),
            args: vec![arg(&dst, into_register), arg(&src, !into_register)],
            preds: Vec::new(),
            body: self.elementwise(&dst, &src),
            instr: Some(Instruction { template, global: "#include <string.h>".into() }),
            lineage: Lineage::origin(),
            span: Span::none(),
            committed: Committed::default(),
        })
    }

    fn elementwise(&self, dst: &Sym, src: &Sym) -> Block {
        let iters: Vec<Sym> = (0..self.ty.rank()).map(|dim| Sym::new(&format!("i{dim}"))).collect();
        let idx: Vec<Expr> = iters.iter().map(build::index).collect();
        let rhs = build::expr(
            ExprKind::Read { name: src.clone(), idx: idx.clone() },
            crate::loop_ir::types::Ty::Data,
            &Span::none(),
        );
        let mut body = build::stmt(StmtKind::Assign { name: dst.clone(), idx, rhs }, &Span::none());
        for (iter, extent) in iters.into_iter().zip(&self.ty.shape).rev() {
            let inside = StmtKind::For {
                iter,
                lo: build::int(0),
                hi: extent.clone(),
                body: Block::one(body),
                mode: LoopMode::Seq,
            };
            body = build::stmt(inside, &Span::none());
        }
        Block::one(body)
    }
}
