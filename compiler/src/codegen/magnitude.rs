//! Whether index arithmetic stays within the 64 bits in which C computes it. Proofs are about exact integers: a step of a schedule may have
//! brought in factors that are proven to cancel out, and in C do not where a value on the way is too large.
//!
//! Sizes and indices that callers pass are taken to be no larger than any buffer of any machine; what is passed inside is followed from call to
//! call. Offsets of elements are no larger than their buffers, so they are left out.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::codegen::intervals::{Interval, Intervals};
use crate::codegen::problems::Problems;
use crate::codegen::reach::{Function, Reach};
use crate::cursor::path::{Path, Step};
use crate::diagnostic::{Diagnostic, codes};
use crate::hardware::config::{ConfigField, FieldType};
use crate::loop_ir::block::Block;
use crate::loop_ir::expression::{Access, BinaryOp, Expr, ExprKind};
use crate::loop_ir::procedure::{ArgType, Proc};
use crate::loop_ir::statement::{Stmt, StmtKind};
use crate::loop_ir::types::Control;
use crate::loop_ir::visit;
use crate::print;

/// The largest size or index that a caller may pass: more elements than a machine has bytes.
const PASSED: i128 = 1 << 40;

/// The largest value of a field of configuration state.
const FIELD: i128 = 1 << 50;

/// The largest value on the way; one bit is left for what helpers and loops add.
const COMPUTED: i128 = 1 << 62;

/// Refuses functions whose index arithmetic may leave 64 bits.
pub fn check(reach: &Reach, emulate: bool, errors: &mut Problems) {
    let mut passed: BTreeMap<&str, Vec<Interval>> = BTreeMap::new();
    for function in callers_first(reach, emulate) {
        let mut arguments = passed.remove(function.c_name.as_str());
        if function.exported {
            let outside: Vec<Interval> = function.proc.args.iter().map(|arg| of_caller(&arg.ty)).collect();
            arguments = Some(joined(arguments, &outside));
        }
        let intervals = Intervals::between(&function.proc, &arguments.unwrap_or_default(), Interval::up_to(FIELD));
        let at = Path::root();
        let mut walk = Walk { reach, emulate, proc: &function.proc, intervals, passed: &mut passed, at, errors };
        walk.function();
    }
}

/// What a caller in C may pass.
fn of_caller(ty: &ArgType) -> Interval {
    match ty {
        ArgType::Control(Control::Size) => Interval { lo: Some(1), hi: Some(PASSED) },
        ArgType::Control(Control::Int | Control::Index | Control::Stride | Control::Bool) | ArgType::Data(_) => {
            Interval::up_to(PASSED)
        }
    }
}

fn joined(before: Option<Vec<Interval>>, more: &[Interval]) -> Vec<Interval> {
    match before {
        Some(before) => before.iter().zip(more).map(|(a, b)| a.hull(*b)).collect(),
        None => more.to_vec(),
    }
}

/// The functions of the output, each behind all that call it.
fn callers_first(reach: &Reach, emulate: bool) -> Vec<&Function> {
    let is_function = |function: &&Function| function.proc.instr.is_none() || emulate;
    let by_name: BTreeMap<&str, &Function> =
        reach.functions.iter().filter(is_function).map(|function| (function.c_name.as_str(), function)).collect();
    let mut order = Order { reach, by_name: &by_name, seen: BTreeSet::new(), done: Vec::new() };
    for function in by_name.values() {
        order.visit(function);
    }
    order.done.reverse();
    order.done
}

struct Order<'a, 'm> {
    reach: &'a Reach,
    by_name: &'m BTreeMap<&'a str, &'a Function>,
    seen: BTreeSet<&'a str>,
    done: Vec<&'a Function>,
}

impl<'a> Order<'a, '_> {
    fn visit(&mut self, function: &'a Function) {
        if !self.seen.insert(&function.c_name) {
            return;
        }
        let mut called = Vec::new();
        visit::each_stmt(&function.proc.body, &mut |stmt| {
            if let StmtKind::Call { callee, .. } = &stmt.kind {
                called.extend(self.by_name.get(self.reach.c_name(callee)).copied());
            }
        });
        for callee in called {
            self.visit(callee);
        }
        self.done.push(function);
    }
}

struct Walk<'a, 'e> {
    reach: &'a Reach,
    emulate: bool,
    proc: &'a Proc,
    intervals: Intervals,
    /// What calls pass to functions that come later.
    passed: &'e mut BTreeMap<&'a str, Vec<Interval>>,
    at: Path,
    errors: &'e mut Problems,
}

impl<'a> Walk<'a, '_> {
    fn function(&mut self) {
        let proc = self.proc;
        for pred in &proc.preds {
            self.value(pred);
        }
        for arg in &proc.args {
            if let ArgType::Data(ty) = &arg.ty {
                ty.shape.iter().for_each(|extent| self.value(extent));
            }
        }
        self.errors.settle();
        self.block(&proc.body, false);
    }

    fn block(&mut self, block: &'a Block, orelse: bool) {
        for (number, stmt) in block.iter().enumerate() {
            self.at.0.push(Step::statement(orelse, number));
            self.stmt(stmt);
            self.errors.concern(self.proc, &self.at);
            self.at.0.pop();
        }
    }

    fn stmt(&mut self, stmt: &'a Stmt) {
        match &stmt.kind {
            StmtKind::Pass => {}
            StmtKind::Assign { idx, rhs, .. } | StmtKind::Reduce { idx, rhs, .. } => {
                idx.iter().for_each(|index| self.value(index));
                self.inside_data(rhs);
            }
            StmtKind::If { cond, body, orelse } => {
                self.value(cond);
                self.block(body, false);
                self.block(orelse, true);
            }
            StmtKind::For { iter, lo, hi, body, .. } => {
                self.value(lo);
                self.value(hi);
                self.intervals.enter_loop(iter, lo, hi);
                self.block(body, false);
            }
            StmtKind::Alloc { ty, .. } => ty.shape.iter().for_each(|extent| self.value(extent)),
            StmtKind::Call { callee, args } => self.call(callee, args),
            StmtKind::Window { rhs, .. } => self.inside_data(rhs),
            StmtKind::WriteConfig { field, rhs } => self.write(field, rhs),
        }
    }

    fn call(&mut self, callee: &'a Arc<Proc>, args: &[Expr]) {
        let mut ranges = Vec::with_capacity(args.len());
        for (formal, actual) in callee.args.iter().zip(args) {
            match &formal.ty {
                ArgType::Control(_) => self.value(actual),
                ArgType::Data(_) => self.inside_data(actual),
            }
            ranges.push(self.intervals.range(actual));
        }
        if callee.instr.is_none() || self.emulate {
            let before = self.passed.remove(self.reach.c_name(callee));
            self.passed.insert(self.reach.c_name(callee), joined(before, &ranges));
        }
    }

    fn write(&mut self, field: &ConfigField, rhs: &Expr) {
        match field.ty() {
            FieldType::Data(_) => self.inside_data(rhs),
            FieldType::Bool => self.value(rhs),
            FieldType::Size | FieldType::Index | FieldType::Stride => {
                self.value(rhs);
                if !self.intervals.range(rhs).is_within(Interval::up_to(FIELD)) {
                    self.refuse(rhs, "may be more than 2^50, the most that a field holds");
                }
            }
        }
    }

    /// The indices in an expression of data.
    fn inside_data(&mut self, expr: &Expr) {
        visit::each_expr(expr, &mut |node| match &node.kind {
            ExprKind::Read { idx, .. } => idx.iter().for_each(|index| self.value(index)),
            ExprKind::Window { idx, .. } => idx.iter().for_each(|access| self.access(access)),
            ExprKind::Const(_)
            | ExprKind::ReadConfig(_)
            | ExprKind::Extern { .. }
            | ExprKind::Neg(_)
            | ExprKind::Binary { .. }
            | ExprKind::Stride { .. } => {}
        });
    }

    fn access(&mut self, access: &Access) {
        match access {
            Access::Point(point) => self.value(point),
            Access::Interval { lo, hi } => {
                self.value(lo);
                self.value(hi);
            }
        }
    }

    /// Refuses an expression of sizes and indices, or a condition on them, by its first part that may be too large.
    fn value(&mut self, expr: &Expr) {
        if let Some(part) = self.too_large(expr) {
            self.refuse(part, "may leave the 64 bits in which C computes it");
        }
    }

    fn too_large<'x>(&self, expr: &'x Expr) -> Option<&'x Expr> {
        let is_number = match &expr.kind {
            ExprKind::Binary { op, lhs, rhs } => {
                if let Some(part) = self.too_large(lhs).or_else(|| self.too_large(rhs)) {
                    return Some(part);
                }
                matches!(op, BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Div | BinaryOp::Mod)
            }
            ExprKind::Neg(operand) => return self.too_large(operand),
            ExprKind::Const(_)
            | ExprKind::Read { .. }
            | ExprKind::ReadConfig(_)
            | ExprKind::Stride { .. }
            | ExprKind::Extern { .. }
            | ExprKind::Window { .. } => false,
        };
        (is_number && !self.intervals.range(expr).is_within(Interval::up_to(COMPUTED))).then_some(expr)
    }

    fn refuse(&mut self, expr: &Expr, why: &str) {
        let text = print::Names::of(self.proc).expr(expr);
        let refusal = Diagnostic::error(codes::MAGNITUDE, format!("`{text}` {why}")).at(&expr.span, "computed here");
        self.errors.push(refusal.hint(
            "bound the sizes in it with an assert (`assert n <= 4096`), or use a smaller factor; where a step of the schedule wrote it, change the step",
        ));
    }
}
