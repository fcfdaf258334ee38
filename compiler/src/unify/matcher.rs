//! Structural matching: walks callee and block together and collects equations, buffers and accesses.
//!
//! The callee's names and the caller's are never mixed up: each side is read through its own table, so the two may even
//! share symbols.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::affine::{Affine, Atoms, Term};
use super::shape::same_number;
use super::{Mismatch, ranks};
use crate::diagnostic::counted;
use crate::hardware::config::ConfigField;
use crate::loop_ir::declarations::Declarations;
use crate::loop_ir::substitute::{self, Substitution};
use crate::loop_ir::{
    Access, ArgType, BinaryOp, Block, Const, Control, DataType, Expr, ExprKind, Proc, Stmt, StmtKind, Ty,
};
use crate::loop_ir::{build, configuration, visit};
use crate::symbol::Sym;

/// One access of a windowed parameter: its own indices and those of the caller's buffer.
#[derive(Clone, Debug)]
pub(super) struct WindowedAccess {
    pub(super) callee: Vec<Affine>,
    pub(super) caller: Vec<Affine>,
}

/// The caller's buffer that a data parameter stands for.
#[derive(Clone, Debug)]
pub(super) struct BufferMatch {
    pub(super) name: Sym,
    /// Rank of the caller's buffer.
    pub(super) rank: usize,
    /// Accesses of a window parameter; empty for others, whose equations are recorded at once.
    pub(super) accesses: Vec<WindowedAccess>,
    /// Dimensions of a window parameter whose strides the body uses, with those of the buffer that the block uses.
    pub(super) strides: Vec<(usize, usize)>,
}

pub(super) struct Matcher<'a> {
    pub(super) callee: &'a Proc,
    /// Positions of the callee's parameters.
    pub(super) formals: BTreeMap<&'a Sym, usize>,
    pub(super) caller: Declarations,
    /// Everything bound inside the block.
    bound: BTreeSet<Sym>,
    /// Whether the block writes configuration state.
    writes_config: bool,
    /// Iterators and local buffers of the callee, as the block names them.
    locals: BTreeMap<Sym, Sym>,
    /// Iterators of the callee as reads of the block's iterators.
    iterators: Substitution,
    pub(super) atoms: Atoms,
    /// Each must be zero.
    pub(super) equations: Vec<Equation>,
    /// Of data parameters, by position.
    pub(super) buffers: BTreeMap<usize, BufferMatch>,
    /// Of `bool` and `stride` parameters, by position.
    pub(super) opaque: BTreeMap<usize, Expr>,
}

/// A form that must be zero.
pub(super) struct Equation {
    pub(super) form: Affine,
    /// The expressions of callee and block of which it is the difference, for messages.
    pub(super) sides: Option<(Expr, Expr)>,
}

pub(super) type Matched = Result<(), Mismatch>;

impl<'a> Matcher<'a> {
    pub(super) fn new(callee: &'a Proc, proc: &Proc, block: &Block) -> Self {
        Matcher {
            callee,
            formals: callee.args.iter().enumerate().map(|(at, arg)| (&arg.name, at)).collect(),
            caller: Declarations::of(proc),
            bound: visit::bound_symbols(block),
            writes_config: block.iter().any(|stmt| stmt.config.writes),
            locals: BTreeMap::new(),
            iterators: Substitution::new(),
            atoms: Atoms::default(),
            equations: Vec::new(),
            buffers: BTreeMap::new(),
            opaque: BTreeMap::new(),
        }
    }

    /// Whether an index, a bound or a condition of the block says something about an integer parameter.
    pub(super) fn speaks_of(&self, formal: usize) -> bool {
        let accesses = self.buffers.values().flat_map(|buffer| &buffer.accesses);
        let indices = accesses.flat_map(|access| &access.callee);
        self.equations
            .iter()
            .map(|equation| &equation.form)
            .chain(indices)
            .any(|form| form.terms.contains_key(&Term::Unknown(formal)))
    }

    /// What the block binds disappears behind the call, so nothing after the block may use it.
    pub(super) fn check_nothing_escapes(&self, block: &Block, rest: &Block) -> Matched {
        for name in block.iter().filter_map(visit::bound_by) {
            if visit::block_mentions(rest, name) {
                return Err(Mismatch::new(format!("`{name}` is used after the block")));
            }
        }
        Ok(())
    }

    pub(super) fn block(&mut self, f: &Block, b: &Block) -> Matched {
        if f.len() != b.len() {
            return Err(Mismatch::new(format!("{} against {}", counted(b.len(), "statement"), f.len())));
        }
        f.iter().zip(b).try_for_each(|(f, b)| self.stmt(f, b))
    }

    fn stmt(&mut self, f: &Stmt, b: &Stmt) -> Matched {
        match (&f.kind, &b.kind) {
            (
                StmtKind::Assign { name: fname, idx: fidx, rhs: frhs },
                StmtKind::Assign { name: bname, idx: bidx, rhs: brhs },
            )
            | (
                StmtKind::Reduce { name: fname, idx: fidx, rhs: frhs },
                StmtKind::Reduce { name: bname, idx: bidx, rhs: brhs },
            ) => {
                self.data(frhs, brhs)?;
                self.access(fname, fidx, bname, bidx)
            }
            (StmtKind::Pass, StmtKind::Pass) => Ok(()),
            (StmtKind::WriteConfig { field: f, rhs: frhs }, StmtKind::WriteConfig { field: b, rhs: brhs }) => {
                self.write_config((f, frhs), (b, brhs))
            }
            (StmtKind::If { cond: fc, body: fb, orelse: fo }, StmtKind::If { cond: bc, body: bb, orelse: bo }) => {
                self.condition(fc, bc)?;
                self.block(fb, bb)?;
                self.block(fo, bo)
            }
            (
                StmtKind::For { iter: fi, lo: fl, hi: fh, body: fb, mode: fm },
                StmtKind::For { iter: bi, lo: bl, hi: bh, body: bb, mode: bm },
            ) => {
                if fm != bm {
                    return Err(Mismatch::new(format!("loop `{bi}` is `{}`, not `{}`", bm.word(), fm.word())));
                }
                self.bounds((fi, fl, fh), (bi, bl, bh))?;
                self.block(fb, bb)
            }
            (
                StmtKind::Alloc { name: fname, ty: ft, mem: fmem },
                StmtKind::Alloc { name: bname, ty: bt, mem: bmem },
            ) => {
                if ft.precision != bt.precision || fmem != bmem {
                    return Err(Mismatch::new(format!("`{bname}` has another precision or memory than `{fname}`")));
                }
                self.shapes(ft, &bt.shape, bname)?;
                self.locals.insert(fname.clone(), bname.clone());
                Ok(())
            }
            (StmtKind::Call { callee: f, args: fargs }, StmtKind::Call { callee: b, args: bargs }) => {
                if !Arc::ptr_eq(f, b) && f != b {
                    return Err(Mismatch::new(format!("a call of `{}` against one of `{}`", b.name, f.name)));
                }
                self.call(f, fargs, bargs)
            }
            (StmtKind::Window { name: fname, rhs: frhs }, StmtKind::Window { name: bname, rhs: brhs }) => {
                self.window(frhs, brhs)?;
                self.locals.insert(fname.clone(), bname.clone());
                Ok(())
            }
            (
                StmtKind::Assign { .. }
                | StmtKind::Reduce { .. }
                | StmtKind::Pass
                | StmtKind::WriteConfig { .. }
                | StmtKind::If { .. }
                | StmtKind::For { .. }
                | StmtKind::Alloc { .. }
                | StmtKind::Call { .. }
                | StmtKind::Window { .. },
                _,
            ) => Err(Mismatch::new(format!("{} against {}", kind_word(b), kind_word(f)))),
        }
    }

    /// Bounds are read before the iterator exists.
    fn bounds(&mut self, f: (&Sym, &Expr, &Expr), b: (&Sym, &Expr, &Expr)) -> Matched {
        self.equate(f.1, b.1)?;
        self.equate(f.2, b.2)?;
        self.locals.insert(f.0.clone(), b.0.clone());
        self.iterators.insert(f.0.clone(), build::index(b.0));
        Ok(())
    }

    fn write_config(&mut self, f: (&ConfigField, &Expr), b: (&ConfigField, &Expr)) -> Matched {
        let ((f, frhs), (b, brhs)) = (f, b);
        if f != b {
            return Err(Mismatch::new(format!("a write of `{b}` against one of `{f}`")));
        }
        match configuration::control(f) {
            None => self.data(frhs, brhs),
            Some(Control::Bool) => self.condition(frhs, brhs),
            Some(Control::Stride) => self.stride(frhs, brhs),
            Some(Control::Int | Control::Size | Control::Index) => self.equate(frhs, brhs),
        }
    }

    fn call(&mut self, callee: &Proc, f: &[Expr], b: &[Expr]) -> Matched {
        for (formal, (f, b)) in callee.args.iter().zip(f.iter().zip(b)) {
            match &formal.ty {
                ArgType::Control(Control::Bool) => self.condition(f, b)?,
                ArgType::Control(Control::Stride) => self.stride(f, b)?,
                ArgType::Control(Control::Int | Control::Size | Control::Index) => self.equate(f, b)?,
                ArgType::Data(ty) => match (&f.kind, &b.kind) {
                    (ExprKind::Window { .. }, ExprKind::Window { .. }) => self.window(f, b)?,
                    (ExprKind::Read { name: fname, idx: fidx }, ExprKind::Read { name: bname, idx: bidx })
                        if fidx.is_empty() && bidx.is_empty() =>
                    {
                        self.whole(fname, bname, ty.rank())?;
                    }
                    _ => return Err(Mismatch::new("arguments of a call differ")),
                },
            }
        }
        Ok(())
    }

    /// Two buffers passed whole.
    fn whole(&mut self, f: &Sym, b: &Sym, rank: usize) -> Matched {
        if rank == 0 {
            return self.access(f, &[], b, &[]);
        }
        match self.formals.get(f).copied() {
            None => self.local(f, b),
            Some(at) => {
                let ty = self.data_formal(at)?;
                if ty.is_window {
                    return Err(Mismatch::new(format!("window `{f}` is passed on by `{}`", self.callee.name)));
                }
                self.dense(at, &ty, b)
            }
        }
    }

    pub(super) fn local(&self, f: &Sym, b: &Sym) -> Matched {
        match self.locals.get(f) {
            Some(name) if name == b => Ok(()),
            Some(name) => Err(Mismatch::new(format!("`{b}` where `{name}` was expected"))),
            None => Err(Mismatch::new(format!("`{f}` has no counterpart"))),
        }
    }

    pub(super) fn data_formal(&self, at: usize) -> Result<DataType, Mismatch> {
        match self.callee.args.get(at).map(|arg| &arg.ty) {
            Some(ArgType::Data(ty)) => Ok(ty.clone()),
            Some(ArgType::Control(_)) | None => Err(Mismatch::new("a control parameter is used as data")),
        }
    }

    /// Fixes or checks the buffer of a data parameter.
    pub(super) fn meet(&mut self, at: usize, b: &Sym, rank: usize) -> Result<&mut BufferMatch, Mismatch> {
        if self.bound.contains(b) {
            return Err(Mismatch::new(format!("`{b}` is declared inside the block")));
        }
        let new = || BufferMatch { name: b.clone(), rank, accesses: Vec::new(), strides: Vec::new() };
        let met = self.buffers.entry(at).or_insert_with(new);
        if &met.name != b {
            let formal = self.callee.args.get(at).map(|arg| arg.name.name()).unwrap_or_default();
            return Err(Mismatch::new(format!("`{formal}` would have to be both `{}` and `{b}`", met.name)));
        }
        Ok(met)
    }

    /// A parameter that is passed whole: same rank, same extents.
    pub(super) fn dense(&mut self, at: usize, ty: &DataType, b: &Sym) -> Matched {
        let first = !self.buffers.contains_key(&at);
        let shape = self.caller.shape(b).ok_or_else(|| Mismatch::new(format!("`{b}` is not a buffer")))?;
        self.meet(at, b, shape.len())?;
        if !first {
            return Ok(());
        }
        let formal = self.callee.args.get(at).map(|arg| arg.name.name()).unwrap_or_default();
        self.shapes(ty, &shape, b).map_err(|mismatch| ranks::whole(mismatch, formal, ty, b, shape.len()))
    }

    fn shapes(&mut self, f: &DataType, b: &[Expr], name: &Sym) -> Matched {
        if f.shape.len() != b.len() {
            return Err(Mismatch::new(format!(
                "`{name}` has {}, not {}",
                counted(b.len(), "dimension"),
                f.shape.len()
            )));
        }
        f.shape.iter().zip(b).try_for_each(|(f, b)| self.equate(f, b))
    }

    fn access(&mut self, f: &Sym, fidx: &[Expr], b: &Sym, bidx: &[Expr]) -> Matched {
        let Some(at) = self.formals.get(f).copied() else {
            self.local(f, b)?;
            return self.indices(fidx, bidx);
        };
        let ty = self.data_formal(at)?;
        if ty.is_window {
            let callee = fidx.iter().map(|e| self.callee_form(e)).collect::<Result<Vec<_>, _>>()?;
            let caller = bidx.iter().map(|e| self.caller_form(e)).collect::<Result<Vec<_>, _>>()?;
            if callee.len() > caller.len() {
                return Err(ranks::too_few(f, &ty, b, caller.len()));
            }
            self.meet(at, b, bidx.len())?.accesses.push(WindowedAccess { callee, caller });
            return Ok(());
        }
        self.dense(at, &ty, b)?;
        self.indices(fidx, bidx)
    }

    fn indices(&mut self, f: &[Expr], b: &[Expr]) -> Matched {
        if f.len() != b.len() {
            return Err(Mismatch::new(format!("{} against {}", counted(b.len(), "index"), f.len())));
        }
        f.iter().zip(b).try_for_each(|(f, b)| self.equate(f, b))
    }

    fn window(&mut self, f: &Expr, b: &Expr) -> Matched {
        let (ExprKind::Window { name: fname, idx: fidx }, ExprKind::Window { name: bname, idx: bidx }) =
            (&f.kind, &b.kind)
        else {
            return Err(Mismatch::new("a window against something else"));
        };
        match self.formals.get(fname).copied() {
            None => self.local(fname, bname)?,
            Some(at) => {
                let ty = self.data_formal(at)?;
                if ty.is_window {
                    return Err(Mismatch::new(format!(
                        "`{}` takes a window of its window `{fname}`",
                        self.callee.name
                    )));
                }
                self.dense(at, &ty, bname)?;
            }
        }
        if fidx.len() != bidx.len() {
            return Err(Mismatch::new("windows of different rank"));
        }
        for (f, b) in fidx.iter().zip(bidx) {
            match (f, b) {
                (Access::Point(f), Access::Point(b)) => self.equate(f, b)?,
                (Access::Interval { lo: fl, hi: fh }, Access::Interval { lo: bl, hi: bh }) => {
                    self.equate(fl, bl)?;
                    self.equate(fh, bh)?;
                }
                (Access::Point(_) | Access::Interval { .. }, _) => {
                    return Err(Mismatch::new("a point against an interval"));
                }
            }
        }
        Ok(())
    }

    fn data(&mut self, f: &Expr, b: &Expr) -> Matched {
        match (&f.kind, &b.kind) {
            (ExprKind::Read { name: fname, idx: fidx }, ExprKind::Read { name: bname, idx: bidx }) => {
                self.access(fname, fidx, bname, bidx)
            }
            (ExprKind::Const(f), ExprKind::Const(b)) if same_number(f, b) => Ok(()),
            (ExprKind::ReadConfig(f), ExprKind::ReadConfig(b)) if f == b => Ok(()),
            (ExprKind::Neg(f), ExprKind::Neg(b)) => self.data(f, b),
            (ExprKind::Binary { op: fo, lhs: fl, rhs: fr }, ExprKind::Binary { op: bo, lhs: bl, rhs: br })
                if fo == bo =>
            {
                self.data(fl, bl)?;
                self.data(fr, br)
            }
            (ExprKind::Extern { function: ff, args: fa }, ExprKind::Extern { function: bf, args: ba })
                if ff == bf && fa.len() == ba.len() =>
            {
                fa.iter().zip(ba).try_for_each(|(f, b)| self.data(f, b))
            }
            (
                ExprKind::Read { .. }
                | ExprKind::Const(_)
                | ExprKind::ReadConfig(_)
                | ExprKind::Neg(_)
                | ExprKind::Binary { .. }
                | ExprKind::Extern { .. }
                | ExprKind::Window { .. }
                | ExprKind::Stride { .. },
                _,
            ) => Err(Mismatch::new("expressions differ in operator, function or constant")),
        }
    }

    /// Two index expressions are one.
    fn equate(&mut self, f: &Expr, b: &Expr) -> Matched {
        let form = self.callee_form(f)?.minus(&self.caller_form(b)?).ok_or_else(too_large)?;
        self.equations.push(Equation { form, sides: Some((f.clone(), b.clone())) });
        Ok(())
    }

    fn condition(&mut self, f: &Expr, b: &Expr) -> Matched {
        match (&f.kind, &b.kind) {
            (ExprKind::Read { name, idx }, _) if idx.is_empty() && self.formals.contains_key(name) => {
                self.opaque_formal(name, b)
            }
            (ExprKind::Const(Const::Bool(f)), ExprKind::Const(Const::Bool(b))) if f == b => Ok(()),
            (ExprKind::ReadConfig(f), ExprKind::ReadConfig(b)) if f == b => Ok(()),
            (ExprKind::Binary { op: fo, lhs: fl, rhs: fr }, ExprKind::Binary { op: bo, lhs: bl, rhs: br }) => {
                if fo.is_comparison() && bo.is_comparison() {
                    return self.comparison((*fo, fl, fr), (*bo, bl, br));
                }
                if fo != bo {
                    return Err(Mismatch::new("conditions differ"));
                }
                self.condition(fl, bl)?;
                self.condition(fr, br)
            }
            _ => Err(Mismatch::new("conditions differ")),
        }
    }

    /// A `bool` or `stride` parameter takes what it first meets; later it must meet the same.
    pub(super) fn opaque_formal(&mut self, name: &Sym, b: &Expr) -> Matched {
        let at = self.formals.get(name).copied().ok_or_else(|| Mismatch::new("not a parameter"))?;
        let mut used = BTreeSet::new();
        visit::expr_symbols(b, &mut used);
        if let Some(inner) = used.iter().find(|symbol| self.bound.contains(*symbol)) {
            return Err(Mismatch::new(format!("`{name}` would depend on `{inner}`, which is bound inside the block")));
        }
        if self.is_fleeting(b) {
            return Err(Mismatch::new(format!("`{name}` would depend on configuration state that the block writes")));
        }
        match self.opaque.get(&at) {
            Some(known) if known == b => Ok(()),
            Some(_) => Err(Mismatch::new(format!("`{name}` would need two different values"))),
            None => {
                self.opaque.insert(at, b.clone());
                Ok(())
            }
        }
    }

    /// Whether an expression can have one value before the block and another inside.
    fn is_fleeting(&self, e: &Expr) -> bool {
        e.reads_config && self.writes_config
    }

    fn comparison(&mut self, f: (BinaryOp, &Expr, &Expr), b: (BinaryOp, &Expr, &Expr)) -> Matched {
        let ((fo, fl, fr), (bo, bl, br)) = (f, b);
        let is_stride = |e: &Expr| e.ty == Ty::STRIDE;
        if fo == BinaryOp::Eq || bo == BinaryOp::Eq {
            if fo != bo {
                return Err(Mismatch::new("an equality against an inequality"));
            }
            if is_stride(fl) || is_stride(fr) || is_stride(bl) || is_stride(br) {
                self.stride(fl, bl)?;
                return self.stride(fr, br);
            }
            if fl.ty == Ty::BOOL {
                self.condition(fl, bl)?;
                return self.condition(fr, br);
            }
        }
        if ![fl, fr, bl, br].iter().all(|e| e.ty.is_indexable()) {
            return Err(Mismatch::new("comparisons of different kinds"));
        }
        let (fl, fr) = (self.callee_form(fl)?, self.callee_form(fr)?);
        let (bl, br) = (self.caller_form(bl)?, self.caller_form(br)?);
        let (f, b) = (positive(fo, &fl, &fr)?, positive(bo, &bl, &br)?);
        self.equations.push(Equation { form: f.minus(&b).ok_or_else(too_large)?, sides: None });
        Ok(())
    }

    /// An index expression of the callee over its integer parameters (unknowns) and the block's iterators.
    pub(super) fn callee_form(&mut self, e: &Expr) -> Result<Affine, Mismatch> {
        let opaque = |matcher: &mut Self, e: &Expr| {
            let mut used = BTreeSet::new();
            visit::expr_symbols(e, &mut used);
            if let Some(name) = used.iter().find(|name| !matcher.iterators.contains_key(*name)) {
                return Err(Mismatch::new(format!("`{name}` stands under `/` or `%` in `{}`", matcher.callee.name)));
            }
            let e = substitute::substitute(e, &matcher.iterators);
            // What depends on an iterator is no argument's; what depends on state alone is the same outside the block.
            let bound = !used.is_empty() || matcher.is_fleeting(&e);
            Ok(Affine::term(Term::Atom(matcher.atoms.intern(&e, bound))))
        };
        let variable = |matcher: &mut Self, name: &Sym| match (matcher.formals.get(name), matcher.locals.get(name)) {
            (Some(at), _) => Ok(Affine::term(Term::Unknown(*at))),
            (None, Some(iter)) => Ok(Affine::term(Term::Atom(matcher.atoms.intern(&build::index(iter), true)))),
            (None, None) => Err(Mismatch::new(format!("`{name}` has no counterpart"))),
        };
        form(self, e, &variable, &opaque)
    }

    /// An index expression of the caller over its variables and opaque quotients and remainders.
    pub(super) fn caller_form(&mut self, e: &Expr) -> Result<Affine, Mismatch> {
        let opaque = |matcher: &mut Self, e: &Expr| {
            let mut used = BTreeSet::new();
            visit::expr_symbols(e, &mut used);
            let bound = used.iter().any(|name| matcher.bound.contains(name)) || matcher.is_fleeting(e);
            Ok(Affine::term(Term::Atom(matcher.atoms.intern(e, bound))))
        };
        let variable = |matcher: &mut Self, name: &Sym| {
            let bound = matcher.bound.contains(name);
            Ok(Affine::term(Term::Atom(matcher.atoms.intern(&build::index(name), bound))))
        };
        form(self, e, &variable, &opaque)
    }
}

type Leaf<'l, M, T> = &'l dyn Fn(&mut M, &T) -> Result<Affine, Mismatch>;

/// An index expression as an affine form; leaves are what the two callbacks make of them.
fn form<M>(
    matcher: &mut M,
    e: &Expr,
    variable: Leaf<'_, M, Sym>,
    opaque: Leaf<'_, M, Expr>,
) -> Result<Affine, Mismatch> {
    match &e.kind {
        ExprKind::Const(Const::Int(value)) => Ok(Affine::constant(i128::from(*value))),
        ExprKind::Read { name, idx } if idx.is_empty() && e.ty.is_indexable() => variable(matcher, name),
        ExprKind::ReadConfig(_) if e.ty.is_indexable() => opaque(matcher, e),
        ExprKind::Neg(operand) => form(matcher, operand, variable, opaque)?.scaled(-1).ok_or_else(too_large),
        ExprKind::Binary { op, lhs, rhs } => match op {
            BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul => {
                let lhs = form(matcher, lhs, variable, opaque)?;
                let rhs = form(matcher, rhs, variable, opaque)?;
                match (op, lhs.as_constant(), rhs.as_constant()) {
                    (BinaryOp::Add, _, _) => lhs.plus(1, &rhs),
                    (BinaryOp::Sub, _, _) => lhs.minus(&rhs),
                    (_, Some(factor), _) => rhs.scaled(factor),
                    (_, None, Some(factor)) => lhs.scaled(factor),
                    (_, None, None) => return Err(Mismatch::new("a product of two variables")),
                }
                .ok_or_else(too_large)
            }
            BinaryOp::Div | BinaryOp::Mod => opaque(matcher, e),
            BinaryOp::Lt | BinaryOp::Gt | BinaryOp::Le | BinaryOp::Ge | BinaryOp::Eq | BinaryOp::And | BinaryOp::Or => {
                Err(Mismatch::new("a condition where a number was expected"))
            }
        },
        ExprKind::Read { .. }
        | ExprKind::Const(_)
        | ExprKind::ReadConfig(_)
        | ExprKind::Extern { .. }
        | ExprKind::Window { .. }
        | ExprKind::Stride { .. } => Err(Mismatch::new("not an index expression")),
    }
}

/// The form that is positive (or, for `==`, zero) exactly when the comparison holds.
fn positive(op: BinaryOp, lhs: &Affine, rhs: &Affine) -> Result<Affine, Mismatch> {
    let one = Affine::constant(1);
    match op {
        BinaryOp::Lt | BinaryOp::Eq => rhs.minus(lhs),
        BinaryOp::Le => rhs.minus(lhs).and_then(|form| form.plus(1, &one)),
        BinaryOp::Gt => lhs.minus(rhs),
        BinaryOp::Ge => lhs.minus(rhs).and_then(|form| form.plus(1, &one)),
        BinaryOp::Add
        | BinaryOp::Sub
        | BinaryOp::Mul
        | BinaryOp::Div
        | BinaryOp::Mod
        | BinaryOp::And
        | BinaryOp::Or => return Err(Mismatch::new("not a comparison")),
    }
    .ok_or_else(too_large)
}

fn too_large() -> Mismatch {
    Mismatch::new("a coefficient is too large")
}

fn kind_word(stmt: &Stmt) -> &'static str {
    match &stmt.kind {
        StmtKind::Assign { .. } => "an assignment",
        StmtKind::Reduce { .. } => "a reduction",
        StmtKind::Pass => "a `pass`",
        StmtKind::WriteConfig { .. } => "a write of configuration state",
        StmtKind::If { .. } => "an `if`",
        StmtKind::For { .. } => "a loop",
        StmtKind::Alloc { .. } => "an allocation",
        StmtKind::Call { .. } => "a call",
        StmtKind::Window { .. } => "a window statement",
    }
}
