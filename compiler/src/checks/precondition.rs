//! Asserts of a callee as formulas about its caller's values.

use crate::analysis::callees::Binding;
use crate::analysis::formula::Formula;
use crate::analysis::lift;
use crate::analysis::linear::{Linear, Var};
use crate::loop_ir::declarations::Declarations;
use crate::loop_ir::substitute::{Substitution, map_expr, substitute};
use crate::loop_ir::{ArgType, Control, Expr, ExprKind, Proc, Ty, build, visit};
use crate::symbol::Sym;

/// What the asserts of a callee mean at one call.
pub(super) struct Precondition<'a> {
    /// The callee's parameters, under symbols that the caller does not have.
    header: &'a Proc,
    args: &'a [Expr],
    scope: &'a Declarations,
    formals: Declarations,
    binding: Binding<'a>,
}

impl<'a> Precondition<'a> {
    pub(super) fn new(header: &'a Proc, args: &'a [Expr], scope: &'a Declarations) -> Self {
        let binding = Binding::new(header, args, scope);
        Precondition { header, args, scope, formals: Declarations::of_args(header), binding }
    }

    /// An assert of the header where the call stands; `None` where it cannot be expressed.
    pub(super) fn at_call(&self, pred: &Expr) -> Option<Formula> {
        let mut given = Given::default();
        let with_booleans = map_expr(pred, &mut |node| self.boolean(node).map(|value| given.set_apart(&value)));
        let unknown = std::cell::Cell::new(false);
        let formula = lift::boolean(&with_booleans, &self.formals)?.substitute(&|var| {
            let value = given.value(var).or_else(|| self.binding.value(var));
            if value.is_none() && self.is_open(var) {
                unknown.set(true);
            }
            value
        })?;
        (!unknown.get()).then_some(formula)
    }

    /// The condition that a boolean parameter or field stands for, in the caller's terms: it has no value as an integer.
    fn boolean(&self, node: &Expr) -> Option<Expr> {
        match &node.kind {
            // The assert speaks of the state at the call.
            ExprKind::ReadConfig(field) if node.ty == Ty::BOOL => self.scope.config.value(field),
            ExprKind::Read { name, .. } => {
                let mut pairs = self.header.args.iter().zip(self.args);
                let boolean = |ty: &ArgType| matches!(ty, ArgType::Control(Control::Bool));
                pairs
                    .find(|(formal, _)| formal.name == *name && boolean(&formal.ty))
                    .map(|(_, actual)| self.scope.config.resolve(actual).unwrap_or_else(|| actual.clone()))
            }
            ExprKind::ReadConfig(_)
            | ExprKind::Const(_)
            | ExprKind::Neg(_)
            | ExprKind::Binary { .. }
            | ExprKind::Extern { .. }
            | ExprKind::Window { .. }
            | ExprKind::Stride { .. } => None,
        }
    }

    /// Whether a variable without a value is the callee's own.
    fn is_open(&self, var: &Var) -> bool {
        match var {
            Var::Sym(symbol) => self.binding.is_lost(symbol, self.header),
            Var::Stride(name, _) => self.header.args.iter().any(|arg| arg.name == *name),
            Var::Quotient(_) => false,
        }
    }
}

/// The caller's variables inside of an assert, each under a symbol of its own, so that it is not taken for a parameter of the
/// callee, or for the entry value of a field, and replaced once more.
#[derive(Default)]
struct Given {
    symbols: Vec<(Sym, Sym)>,
}

impl Given {
    fn set_apart(&mut self, value: &Expr) -> Expr {
        let mut apart = Substitution::new();
        visit::each_expr(value, &mut |node| {
            if let ExprKind::Read { name, idx } = &node.kind
                && idx.is_empty()
                && !apart.contains_key(name)
            {
                let fresh = name.renewed();
                let read = ExprKind::Read { name: fresh.clone(), idx: Vec::new() };
                apart.insert(name.clone(), build::expr(read, node.ty, &node.span));
                self.symbols.push((fresh, name.clone()));
            }
        });
        substitute(value, &apart)
    }

    fn value(&self, var: &Var) -> Option<Linear> {
        match var {
            Var::Sym(symbol) => {
                self.symbols.iter().find(|(fresh, _)| fresh == symbol).map(|(_, own)| Linear::symbol(own))
            }
            Var::Stride(..) | Var::Quotient(_) => None,
        }
    }
}
