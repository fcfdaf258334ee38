//! Preconditions as run-time checks, for callers in C that the call checker does not see.
//!
//! Sizes are positive, asserts hold, buffers exist and do not overlap, windows have positive strides and rows that do not
//! overlap. How long a caller's buffer really is cannot be seen from here.

use crate::codegen::c_tree::{CExpr, COp, CStmt};
use crate::codegen::function::{FunctionLowering, stride_assertion};
use crate::codegen::literals;
use crate::loop_ir::build;
use crate::loop_ir::expression::ExprKind;
use crate::loop_ir::procedure::{Arg, ArgType};
use crate::loop_ir::types::{Control, DataType};
use crate::print;

/// A program may define `EXO_CHECK_FAILED` before it includes the generated source.
pub const MACROS: &str = "#include <stdio.h>
#include <stdlib.h>
#ifndef EXO_CHECK_FAILED
#define EXO_CHECK_FAILED(message) (fputs(message \"\\n\", stderr), abort())
#endif
#define EXO_CHECK(condition, message) ((condition) ? (void)0 : EXO_CHECK_FAILED(message))
";

impl FunctionLowering<'_, '_> {
    /// The checks of an exported function, in the order in which they make sense of each other.
    pub fn checks(&mut self, c_name: &str) -> Vec<CStmt> {
        let proc = self.proc;
        let object = print::Names::of(proc);
        let mut out = Vec::new();
        let mut check = |condition: CExpr, what: String| {
            if condition != CExpr::Bool(true) {
                out.push(CStmt::Check { condition, message: format!("{c_name}: {what}") });
            }
        };
        for arg in proc.args.iter().filter(|arg| arg.ty == ArgType::Control(Control::Size)) {
            let name = CExpr::token(self.names.get(&arg.name));
            check(CExpr::binary(COp::Gt, name, CExpr::Int(0)), format!("`{}` must be positive", object.get(&arg.name)));
        }
        for pred in proc.preds.iter().filter(|pred| !matches!(pred.kind, ExprKind::Const(_))) {
            let condition = self.assertion(pred);
            check(condition, format!("`{}` does not hold", object.expr(pred)));
        }
        let data: Vec<(&Arg, &DataType)> = proc
            .args
            .iter()
            .filter_map(|arg| match &arg.ty {
                ArgType::Data(ty) => Some((arg, ty)),
                ArgType::Control(_) => None,
            })
            .collect();
        for (arg, ty) in &data {
            let pointer = self.pointer(arg, ty);
            let name = object.get(&arg.name);
            check(CExpr::Raw(format!("{} != 0", pointer.text())), format!("`{name}` is no buffer"));
            for (condition, what) in self.window_checks(arg, ty, name) {
                check(condition, what);
            }
        }
        for (at, (first, one)) in data.iter().enumerate() {
            for (second, other) in data.iter().skip(at + 1) {
                let written = [first, second].iter().any(|arg| self.touched.written.contains(&arg.name));
                if written && !one.is_window && !other.is_window {
                    let condition = self.apart((first, one), (second, other));
                    let (first, second) = (object.get(&first.name), object.get(&second.name));
                    check(condition, format!("`{first}` and `{second}` overlap"));
                }
            }
        }
        out
    }

    /// An assert as C; a stride that the body takes for granted is read from the window here.
    fn assertion(&mut self, pred: &crate::loop_ir::expression::Expr) -> CExpr {
        if let Some(((name, dim), value)) = stride_assertion(pred)
            && self.declarations.is_window(&name)
        {
            let dim = i64::try_from(dim).unwrap_or(i64::MAX);
            let stride = CExpr::token(self.names.get(&name)).member("strides").index(CExpr::Int(dim));
            return CExpr::binary(COp::Eq, stride, CExpr::Int(value));
        }
        self.control(pred)
    }

    fn pointer(&self, arg: &Arg, ty: &DataType) -> CExpr {
        let name = CExpr::token(self.names.get(&arg.name));
        if ty.is_window { name.member("data") } else { name }
    }

    fn window_checks(&mut self, arg: &Arg, ty: &DataType, name: &str) -> Vec<(CExpr, String)> {
        if !ty.is_window {
            return Vec::new();
        }
        let window = CExpr::token(self.names.get(&arg.name)).member("strides");
        let mut checks = Vec::new();
        let mut dims = Vec::new();
        for (dim, extent) in ty.shape.iter().enumerate() {
            let stride = window.clone().index(CExpr::Int(i64::try_from(dim).unwrap_or(i64::MAX)));
            let extent_text = self.control(extent).paren().text();
            dims.push((stride.text(), extent_text.clone()));
            if build::int_value(extent) != Some(1) {
                let condition = CExpr::Raw(format!("{extent_text} == 1 || {} > 0", stride.text()));
                checks.push((condition, format!("stride {dim} of `{name}` must be positive")));
            }
        }
        // For more than two dimensions each stride has to step over whole rows, so that the sums of steps differ too.
        let (less, more) = if dims.len() > 2 { ("", ">=") } else { (" - 1", ">") };
        for (at, (outer, rows)) in dims.iter().enumerate() {
            for (inner, columns) in dims.iter().skip(at + 1).filter(|_| self.touched.written.contains(&arg.name)) {
                let condition = CExpr::Raw(format!(
                    "{rows} == 1 || {columns} == 1 || {outer} {more} ({columns}{less}) * {inner} \
                     || {inner} {more} ({rows}{less}) * {outer}"
                ));
                checks.push((condition, format!("rows of `{name}` overlap")));
            }
        }
        checks
    }

    /// Whether two dense buffers share no element.
    fn apart(&mut self, first: (&Arg, &DataType), second: (&Arg, &DataType)) -> CExpr {
        let ends = [first, second].map(|(arg, ty)| {
            let name = self.names.get(&arg.name).to_string();
            let extents = ty.shape.iter().map(|extent| self.control(extent).paren());
            let count = extents.reduce(literals::product).map_or_else(|| "1".to_string(), |count| count.text());
            (format!("(uintptr_t){name}"), format!("(uintptr_t)({name} + {count})"))
        });
        let [(first, first_end), (second, second_end)] = ends;
        CExpr::Raw(format!("{first_end} <= {second} || {second_end} <= {first}"))
    }
}
