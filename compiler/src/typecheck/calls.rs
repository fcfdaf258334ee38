//! Typing of calls: number, kind and rank of arguments. Shapes, asserts and memories are for the checks.

use std::sync::Arc;

use ruff_python_ast::{Expr as Syntax, ExprCall, Stmt as SyntaxStmt};

use crate::diagnostic::{Diagnostic, codes, counted};
use crate::loop_ir::{Arg, ArgType, Control, Expr, ExprKind, Proc, Stmt, StmtKind, Ty, build};
use crate::typecheck::captures::HostValue;
use crate::typecheck::checker::{Checked, Checker};
use crate::typecheck::literal::Position;

impl Checker<'_> {
    pub(crate) fn call_statement(&mut self, call: &ExprCall, node: &SyntaxStmt) -> Checked<Stmt> {
        let callee = self.callee(&call.func);
        let callee = callee?;
        let given = self.in_order(call, &callee, node)?;
        let args: Vec<Checked<Expr>> =
            given.into_iter().zip(&callee.args).map(|(arg, formal)| self.argument(arg, formal)).collect();
        let args = args.into_iter().collect::<Checked<Vec<Expr>>>()?;
        Ok(build::stmt(StmtKind::Call { callee, args }, &self.span(node)))
    }

    /// The arguments of a call in the order of the parameters; those after the positional ones may be named.
    fn in_order<'s>(&mut self, call: &'s ExprCall, callee: &Proc, node: &SyntaxStmt) -> Checked<Vec<&'s Syntax>> {
        let positional = &call.arguments.args;
        let mut given: Vec<Option<&Syntax>> = positional.iter().map(Some).collect();
        given.resize(callee.args.len().max(positional.len()), None);
        for keyword in &call.arguments.keywords {
            let Some(name) = &keyword.arg else {
                return self.outside(keyword, "an argument with `**`", "give the arguments one by one");
            };
            let at = callee.args.iter().position(|formal| formal.name.name() == name.as_str());
            match at.and_then(|at| given.get_mut(at)) {
                Some(slot @ None) => *slot = Some(&keyword.value),
                Some(Some(_)) => {
                    return self.refuse(codes::CALL, keyword, format!("the parameter `{name}` is given twice"));
                }
                None => {
                    let known: Vec<&str> = callee.args.iter().map(|formal| formal.name.name()).collect();
                    let message = format!("`{}` has no parameter `{name}`", callee.name);
                    let hint = format!("its parameters are {}", known.join(", "));
                    return self.refuse_hint(codes::CALL, keyword, message, hint);
                }
            }
        }
        let complete: Option<Vec<&Syntax>> = given.iter().copied().collect();
        match complete.filter(|given| given.len() == callee.args.len()) {
            Some(given) => Ok(given),
            None => {
                let count = positional.len() + call.arguments.keywords.len();
                let takes = counted(callee.args.len(), "argument");
                let message = format!("`{}` takes {takes}, {count} given", callee.name);
                let diagnostic = Diagnostic::error(codes::CALL, message)
                    .at(&self.span(node), "here")
                    .label(&callee.span, "defined here");
                Err(self.report(diagnostic))
            }
        }
    }

    fn callee(&mut self, func: &Syntax) -> Checked<Arc<Proc>> {
        let text = self.text(func);
        if self.lookup(text).is_some() {
            return self.refuse(codes::CALL, func, format!("`{text}` is a variable here, not a proc"));
        }
        match self.captures.get(text) {
            Some(HostValue::Proc(proc)) => Ok(proc),
            Some(HostValue::Extern(_)) => self.refuse_hint(
                codes::CALL,
                func,
                format!("the extern `{text}` is an expression"),
                format!("assign its value: `x = {text}(...)`"),
            ),
            Some(
                other @ (HostValue::Int(_)
                | HostValue::Float(_)
                | HostValue::Bool(_)
                | HostValue::Precision(_)
                | HostValue::Memory(_)
                | HostValue::Config(_)
                | HostValue::ConfigField(_)
                | HostValue::Text(_)
                | HostValue::Symbol(_)
                | HostValue::Expression(_)
                | HostValue::Statements(_)
                | HostValue::Slice(..)
                | HostValue::Tuple(_)
                | HostValue::Other(_)),
            ) => self.refuse(codes::CALL, func, format!("`{text}` is {}, not a proc", other.describe())),
            None => self.undefined(func, func),
        }
    }

    fn argument(&mut self, node: &Syntax, formal: &Arg) -> Checked<Expr> {
        match &formal.ty {
            ArgType::Control(control) => self.control_argument(node, *control, formal),
            ArgType::Data(ty) => self.data_argument(node, ty.rank(), formal),
        }
    }

    fn control_argument(&mut self, node: &Syntax, control: Control, formal: &Arg) -> Checked<Expr> {
        let value = self.expression(node, Position::Control)?;
        let fits = match control {
            Control::Size | Control::Index | Control::Int => value.ty.is_indexable(),
            Control::Bool => value.ty == Ty::BOOL,
            Control::Stride => value.ty == Ty::STRIDE || value.ty == Ty::INT,
        };
        if fits {
            return Ok(value);
        }
        let found = match value.ty {
            Ty::Control(found) => format!("a value of type `{}`", found.word()),
            Ty::Data => "data".to_string(),
        };
        let message = format!("the parameter `{}` is a `{}`, found {found}", formal.name, control.word());
        self.misfit(node, formal, message)
    }

    fn data_argument(&mut self, node: &Syntax, rank: usize, formal: &Arg) -> Checked<Expr> {
        let value = self.expression(node, Position::Data)?;
        if let Ty::Control(control) = value.ty {
            let message =
                format!("the parameter `{}` is data, found a value of type `{}`", formal.name, control.word());
            return self.misfit(node, formal, message);
        }
        let given = self.rank(&value);
        if given != rank {
            let wanted = counted(rank, "dimension");
            let message = format!("the parameter `{}` has {wanted}, the argument has {given}", formal.name);
            let diagnostic = self.misfitting(node, formal, message);
            let hint = "in a window an index, `x[i]`, takes a dimension away, and a slice, `x[0:n]`, keeps it";
            return Err(self.report(diagnostic.hint(hint)));
        }
        match &value.kind {
            ExprKind::Read { idx, .. } if idx.is_empty() => Ok(value),
            ExprKind::Window { .. } => Ok(value),
            ExprKind::ReadConfig(field) => self.refuse_hint(
                codes::CALL,
                node,
                format!("the parameter `{}` is passed by reference, and `{field}` is not a buffer", formal.name),
                format!("assign it to a scalar first (`x = {field}`), and pass that"),
            ),
            ExprKind::Read { .. }
            | ExprKind::Const(_)
            | ExprKind::Neg(_)
            | ExprKind::Binary { .. }
            | ExprKind::Extern { .. }
            | ExprKind::Stride { .. } => self.refuse_hint(
                codes::CALL,
                node,
                format!("the scalar parameter `{}` is passed by reference and needs a plain name", formal.name),
                "assign the value to a scalar of its own first, and pass that",
            ),
        }
    }

    fn misfit<T>(&mut self, node: &Syntax, formal: &Arg, message: String) -> Checked<T> {
        let diagnostic = self.misfitting(node, formal, message);
        Err(self.report(diagnostic))
    }

    fn misfitting(&self, node: &Syntax, formal: &Arg, message: String) -> Diagnostic {
        Diagnostic::error(codes::CALL, message).at(&self.span(node), "here").label(&formal.span, "declared here")
    }
}
