//! Execution of statements, with buffers, the step budget and the record of what `par` iterations touched.

use std::collections::BTreeMap;

use crate::hardware::precision::Precision;
use crate::interpret::FaultKind;
use crate::interpret::call::Shared;
use crate::interpret::domain::Domain;
use crate::interpret::frame::{Binding, ControlValue, Frame, Step, View, dense_strides, fault};
use crate::loop_ir::{Block, DataType, Expr, ExprKind, LoopMode, Stmt, StmtKind, Ty, visit};
use crate::source::Span;
use crate::symbol::Sym;

/// Memory that one parameter or allocation owns.
pub(super) struct Buffer<V> {
    pub(super) precision: Precision,
    pub(super) data: Vec<V>,
}

/// What the iterations of a running `par` loop did to one element.
#[derive(Default)]
struct Touch {
    reader: Option<i64>,
    /// More than one iteration read it.
    shared: bool,
    writer: Option<i64>,
}

/// A running `par` loop.
struct Parallel {
    iteration: i64,
    iter: Sym,
    /// Buffers from this number on belong to one iteration.
    outside: usize,
    touched: BTreeMap<(usize, usize), Touch>,
}

impl Parallel {
    /// Records an access; tells the other iteration when there is a race.
    fn touch(&mut self, place: (usize, usize), writes: bool) -> Option<i64> {
        let now = self.iteration;
        let touch = self.touched.entry(place).or_default();
        let other_writer = touch.writer.filter(|writer| *writer != now);
        let other_reader = touch.reader.filter(|reader| touch.shared || *reader != now);
        if writes {
            touch.writer = Some(now);
            other_writer.or(other_reader)
        } else {
            touch.shared |= other_reader.is_some();
            touch.reader = Some(now);
            other_writer
        }
    }
}

/// One run: memory is a stack of buffers that blocks push on and pop from.
pub(super) struct Machine<'a, D: Domain> {
    pub(super) domain: &'a D,
    pub(super) buffers: Vec<Buffer<D::Value>>,
    parallel: Vec<Parallel>,
    /// What the arguments of the calls that are running share.
    pub(super) shared: Vec<Shared>,
    budget: u64,
}

impl<'a, D: Domain> Machine<'a, D> {
    pub(super) fn new(domain: &'a D, budget: u64) -> Self {
        Machine { domain, buffers: Vec::new(), parallel: Vec::new(), shared: Vec::new(), budget }
    }

    fn spend(&mut self, steps: u64, span: &Span) -> Step<()> {
        match self.budget.checked_sub(steps) {
            Some(left) => {
                self.budget = left;
                Ok(())
            }
            None => {
                self.budget = 0;
                fault(FaultKind::Budget, "the step budget is used up", span)
            }
        }
    }

    /// Runs a block; what it binds and allocates ends with it.
    pub(super) fn block(&mut self, block: &Block, frame: &mut Frame) -> Step<()> {
        let outside = self.buffers.len();
        for stmt in block {
            self.statement(stmt, frame)?;
        }
        for stmt in block {
            if let Some(name) = visit::bound_by(stmt) {
                frame.unbind(name);
            }
        }
        self.buffers.truncate(outside);
        Ok(())
    }

    fn statement(&mut self, stmt: &Stmt, frame: &mut Frame) -> Step<()> {
        self.spend(1, &stmt.span)?;
        if stmt.config.reads {
            self.touch_config_reads(stmt, frame)?;
        }
        match &stmt.kind {
            StmtKind::Pass => Ok(()),
            StmtKind::WriteConfig { field, rhs } => self.write_config(field, rhs, frame, &stmt.span),
            StmtKind::Assign { name, idx, rhs } => {
                let precision = self.precision_of(frame.view(name, &stmt.span)?.buffer);
                let value = self.right_side(rhs, frame, precision)?;
                let place = self.place(name, idx, frame, &stmt.span)?;
                self.write(place, value, name, &stmt.span)
            }
            StmtKind::Reduce { name, idx, rhs } => {
                let precision = self.precision_of(frame.view(name, &stmt.span)?.buffer);
                let value = self.right_side(rhs, frame, precision)?;
                let place = self.place(name, idx, frame, &stmt.span)?;
                self.reduce(place, value, name, &stmt.span)
            }
            StmtKind::If { cond, body, orelse } => {
                let taken = if frame.boolean(cond)? { body } else { orelse };
                self.block(taken, frame)
            }
            StmtKind::For { iter, lo, hi, body, mode } => {
                let (lo, hi) = (frame.int(lo)?, frame.int(hi)?);
                if hi < lo {
                    let message = format!("loop over `{iter}` runs from {lo} to {hi}");
                    return fault(FaultKind::Extent, message, &stmt.span);
                }
                match mode {
                    LoopMode::Seq => self.sequential(iter, lo..hi, body, frame, &stmt.span),
                    LoopMode::Par => self.concurrent(iter, lo..hi, body, frame, &stmt.span),
                }
            }
            StmtKind::Alloc { name, ty, .. } => self.allocate(name, ty, frame, &stmt.span),
            StmtKind::Window { name, rhs } => match &rhs.kind {
                ExprKind::Window { name: base, idx } => {
                    let view = frame.window(base, idx, &rhs.span)?;
                    frame.bind(name, Binding::View(view));
                    Ok(())
                }
                ExprKind::Read { .. }
                | ExprKind::Const(_)
                | ExprKind::ReadConfig(_)
                | ExprKind::Neg(_)
                | ExprKind::Binary { .. }
                | ExprKind::Extern { .. }
                | ExprKind::Stride { .. } => {
                    fault(FaultKind::Malformed, format!("`{name}` is bound to something else than a window"), &rhs.span)
                }
            },
            StmtKind::Call { callee, args } => self.call(callee, args, frame, &stmt.span),
        }
    }

    fn sequential(
        &mut self,
        iter: &Sym,
        range: std::ops::Range<i64>,
        body: &Block,
        frame: &mut Frame,
        span: &Span,
    ) -> Step<()> {
        for at in range {
            self.spend(1, span)?;
            frame.bind(iter, Binding::Control(ControlValue::Int(at)));
            self.block(body, frame)?;
        }
        frame.unbind(iter);
        Ok(())
    }

    fn concurrent(
        &mut self,
        iter: &Sym,
        range: std::ops::Range<i64>,
        body: &Block,
        frame: &mut Frame,
        span: &Span,
    ) -> Step<()> {
        let outside = self.buffers.len();
        self.parallel.push(Parallel { iteration: range.start, iter: iter.clone(), outside, touched: BTreeMap::new() });
        for at in range {
            self.spend(1, span)?;
            if let Some(parallel) = self.parallel.last_mut() {
                parallel.iteration = at;
            }
            frame.bind(iter, Binding::Control(ControlValue::Int(at)));
            self.block(body, frame)?;
        }
        frame.unbind(iter);
        self.parallel.pop();
        Ok(())
    }

    fn allocate(&mut self, name: &Sym, ty: &DataType, frame: &mut Frame, span: &Span) -> Step<()> {
        let extents = frame.extents(&ty.shape, name, span)?;
        let count = extents.iter().try_fold(1i64, |product, extent| product.checked_mul(*extent));
        let Some(count) = count else {
            return fault(FaultKind::Overflow, format!("the size of `{name}` leaves 64 bits"), span);
        };
        self.spend(count as u64, span)?;
        let data = vec![self.domain.poison(); count as usize];
        let view = View { buffer: self.buffers.len(), offset: 0, strides: dense_strides(&extents), extents };
        self.buffers.push(Buffer { precision: ty.precision, data });
        frame.bind(name, Binding::View(view));
        Ok(())
    }

    /// The place of one element: number of the buffer, and where in it.
    fn place(&mut self, name: &Sym, idx: &[Expr], frame: &Frame, span: &Span) -> Step<(usize, usize)> {
        let mut indices = Vec::with_capacity(idx.len());
        for index in idx {
            indices.push(frame.int(index)?);
        }
        let view = frame.view(name, span)?;
        let at = view.locate(&indices, name, span)?;
        Ok((view.buffer, at as usize))
    }

    pub(super) fn touch(&mut self, place: (usize, usize), writes: bool, name: &Sym, span: &Span) -> Step<()> {
        for parallel in &mut self.parallel {
            if place.0 < parallel.outside
                && let Some(other) = parallel.touch(place, writes)
            {
                let message = format!(
                    "iterations {other} and {} of the par loop over `{}` touch one element of `{name}`",
                    parallel.iteration, parallel.iter
                );
                return fault(FaultKind::Race, message, span);
            }
        }
        Ok(())
    }

    pub(super) fn load(&mut self, place: (usize, usize), name: &Sym, span: &Span) -> Step<D::Value> {
        self.touch(place, false, name, span)?;
        match self.buffers.get(place.0).and_then(|buffer| buffer.data.get(place.1)) {
            Some(value) => Ok(value.clone()),
            None => fault(FaultKind::Malformed, format!("`{name}` has no memory here"), span),
        }
    }

    pub(super) fn write(&mut self, place: (usize, usize), value: D::Value, name: &Sym, span: &Span) -> Step<()> {
        self.touch(place, true, name, span)?;
        let at = place.1 as i64;
        if let Some(shared) = self.shared.iter().find(|shared| shared.buffer == place.0 && shared.places.contains(&at))
        {
            let message = format!("`{name}` is written where {} share an element", shared.what);
            return fault(FaultKind::Aliasing, message, span);
        }
        let domain = self.domain;
        let Some(buffer) = self.buffers.get_mut(place.0) else {
            return fault(FaultKind::Malformed, format!("`{name}` has no memory here"), span);
        };
        let value = domain.stored(value, buffer.precision.concrete());
        match buffer.data.get_mut(place.1) {
            Some(slot) => {
                *slot = value;
                Ok(())
            }
            None => fault(FaultKind::Malformed, format!("`{name}` has no memory here"), span),
        }
    }

    fn reduce(&mut self, place: (usize, usize), value: D::Value, name: &Sym, span: &Span) -> Step<()> {
        let current = self.load(place, name, span)?;
        let precision = self.precision_of(place.0);
        let value = self.domain.stored(value, precision);
        match self.domain.binary(crate::loop_ir::BinaryOp::Add, &current, &value, precision) {
            Some(sum) => self.write(place, sum, name, span),
            None => fault(FaultKind::Unsupported, "data cannot be added here", span),
        }
    }

    pub(super) fn precision_of(&self, buffer: usize) -> Precision {
        self.buffers.get(buffer).map_or(Precision::R, |buffer| buffer.precision).concrete()
    }

    /// The value of a right side. Operands agree in precision; literals take that of the operands, and without operands
    /// that of the destination.
    pub(super) fn right_side(&mut self, rhs: &Expr, frame: &Frame, destination: Precision) -> Step<D::Value> {
        let precision = if D::ROUNDS {
            let mut found = None;
            visit::each_expr(rhs, &mut |node| {
                found = found.or(match &node.kind {
                    ExprKind::Read { name, .. } => match frame.get(name) {
                        Some(Binding::View(view)) => Some(view.buffer),
                        Some(Binding::Control(_)) | None => None,
                    },
                    ExprKind::ReadConfig(field) if node.ty == Ty::Data => {
                        frame.config.get(&field.symbol().identity()).map(|cell| cell.buffer)
                    }
                    _ => None,
                });
            });
            match found {
                Some(buffer) => self.precision_of(buffer),
                None => destination,
            }
        } else {
            Precision::R
        };
        self.data(rhs, frame, precision)
    }

    fn data(&mut self, expr: &Expr, frame: &Frame, precision: Precision) -> Step<D::Value> {
        self.spend(1, &expr.span)?;
        match &expr.kind {
            ExprKind::Const(literal) => Ok(self.domain.literal(*literal, precision)),
            ExprKind::Read { name, idx } => {
                let place = self.place(name, idx, frame, &expr.span)?;
                self.load(place, name, &expr.span)
            }
            ExprKind::ReadConfig(field) => self.load_config(field, frame, &expr.span),
            ExprKind::Neg(operand) => {
                let value = self.data(operand, frame, precision)?;
                Ok(self.domain.negated(&value, precision))
            }
            ExprKind::Binary { op, lhs, rhs } => {
                let (lhs, rhs) = (self.data(lhs, frame, precision)?, self.data(rhs, frame, precision)?);
                match self.domain.binary(*op, &lhs, &rhs, precision) {
                    Some(value) => Ok(value),
                    None => fault(FaultKind::Malformed, format!("`{}` on data", op.text()), &expr.span),
                }
            }
            ExprKind::Extern { function, args } => {
                let mut values = Vec::with_capacity(args.len());
                for arg in args {
                    values.push(self.data(arg, frame, precision)?);
                }
                match self.domain.call(function, &values, precision) {
                    Some(value) => Ok(value),
                    None => {
                        let message = format!("the values of the extern `{}` are known to its C only", function.name);
                        fault(FaultKind::Unsupported, message, &expr.span)
                    }
                }
            }
            ExprKind::Window { .. } | ExprKind::Stride { .. } => {
                fault(FaultKind::Malformed, "a window or a stride as data", &expr.span)
            }
        }
    }
}
