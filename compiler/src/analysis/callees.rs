//! Effect summaries of called procedures: made once for each callee, instantiated at each call.

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use crate::analysis::config_flow;
use crate::analysis::effects::{self, Cell, Effects, Walk};
use crate::analysis::formula::Formula;
use crate::analysis::lift;
use crate::analysis::linear::{Linear, Var};
use crate::cursor::path::Path;
use crate::loop_ir::declarations::{Alias, Declarations};
use crate::loop_ir::{Access, ArgType, Expr, ExprKind, Proc, Ty};
use crate::symbol::Sym;

/// Summaries by callee. A kept procedure keeps its address, so that an address names one procedure.
#[derive(Default)]
pub struct Callees {
    known: HashMap<usize, (Arc<Proc>, Rc<Effects>)>,
}

impl Callees {
    /// What the body does, in terms of the formal parameters.
    pub fn effects(&mut self, callee: &Arc<Proc>) -> Rc<Effects> {
        let key = Arc::as_ptr(callee) as usize;
        if let Some((_, effects)) = self.known.get(&key) {
            return effects.clone();
        }
        let mut scope = Declarations::of_args(callee);
        let effects = Rc::new(effects::of_block(&callee.body, &Path::root(), false, 0, &mut scope, self));
        self.known.insert(key, (callee.clone(), effects.clone()));
        effects
    }

    /// Whether the callee may change what it is given for a parameter.
    pub fn modifies(&mut self, callee: &Arc<Proc>, formal: &Sym) -> bool {
        self.effects(callee).of_root(formal).any(|cell| cell.kind.modifies())
    }
}

/// The buffer region that a data argument hands over; `None` for a value that has no place.
pub fn argument(arg: &Expr, scope: &Declarations) -> Option<Alias> {
    match &arg.kind {
        ExprKind::Read { name, idx } if arg.ty == Ty::Data => {
            if idx.is_empty() {
                return scope.alias(name);
            }
            let points: Vec<Access> = idx.iter().cloned().map(Access::Point).collect();
            scope.window(name, &points)
        }
        ExprKind::Window { name, idx } => scope.window(name, idx),
        ExprKind::Read { .. }
        | ExprKind::Const(_)
        | ExprKind::ReadConfig(_)
        | ExprKind::Neg(_)
        | ExprKind::Binary { .. }
        | ExprKind::Extern { .. }
        | ExprKind::Stride { .. } => None,
    }
}

/// What the formals of a callee stand for at one call.
pub(crate) struct Binding<'a> {
    values: Vec<(&'a Sym, Linear)>,
    /// What the fields that the caller wrote hold at the call; `None` where that is not known.
    fields: Vec<(&'a Sym, Option<Linear>)>,
    buffers: Vec<(&'a Sym, Alias)>,
    scope: &'a Declarations,
}

impl<'a> Binding<'a> {
    /// Pairs formals with actuals. Control arguments that cannot be expressed are left out.
    pub(crate) fn new(callee: &'a Proc, args: &[Expr], scope: &'a Declarations) -> Self {
        let fields = scope
            .config
            .written_symbols()
            .map(|(symbol, value)| (symbol, value.as_ref().and_then(|value| number(value, scope))))
            .collect();
        let mut binding = Binding { values: Vec::new(), fields, buffers: Vec::new(), scope };
        for (formal, actual) in callee.args.iter().zip(args) {
            match &formal.ty {
                ArgType::Control(_) => {
                    binding.values.extend(number(actual, scope).map(|value| (&formal.name, value)));
                }
                ArgType::Data(_) => {
                    binding.buffers.extend(argument(actual, scope).map(|alias| (&formal.name, alias)));
                }
            }
        }
        binding
    }

    pub(crate) fn buffer(&self, formal: &Sym) -> Option<&Alias> {
        self.buffers.iter().find(|(name, _)| *name == formal).map(|(_, alias)| alias)
    }

    /// The value of a variable of the callee.
    pub(crate) fn value(&self, var: &Var) -> Option<Linear> {
        match var {
            Var::Sym(symbol) => {
                let formal = self.values.iter().find(|(name, _)| *name == symbol).map(|(_, value)| value.clone());
                formal.or_else(|| self.fields.iter().find(|(name, _)| *name == symbol)?.1.clone())
            }
            Var::Stride(formal, dim) => lift::alias_stride(self.buffer(formal)?, *dim, self.scope),
            Var::Quotient(_) => None,
        }
    }

    /// Whether a variable of the callee has no value here although it is another one there.
    pub(crate) fn is_lost(&self, symbol: &Sym, callee: &Proc) -> bool {
        let bound = callee.args.iter().any(|arg| arg.name == *symbol);
        (bound || self.fields.iter().any(|(name, _)| *name == symbol))
            && self.value(&Var::Sym(symbol.clone())).is_none()
    }

    /// Whether every parameter and field that a cell mentions has a value here.
    fn knows(&self, cell: &Cell, callee: &Proc) -> bool {
        let mut unknown = |var: &Var| match var {
            Var::Sym(symbol) => self.is_lost(symbol, callee),
            Var::Stride(..) => self.value(var).is_none(),
            Var::Quotient(_) => false,
        };
        let coords = cell.coords.iter().flatten().any(|coord| coord.any_var(&mut unknown));
        !coords && !cell.guard.iter().any(|guard| guard.any_var(&mut unknown))
    }
}

/// A control expression as an integer, booleans as 0 and 1; `None` where it has no such form.
fn number(expr: &Expr, scope: &Declarations) -> Option<Linear> {
    if expr.ty != Ty::BOOL {
        return lift::index(expr, scope);
    }
    match lift::boolean(expr, scope) {
        Some(Formula::True) => Some(Linear::constant(1)),
        Some(Formula::False) => Some(Linear::constant(0)),
        Some(_) | None => match &expr.kind {
            ExprKind::Read { name, idx } if idx.is_empty() => Some(Linear::symbol(name)),
            ExprKind::ReadConfig(field) => number(&scope.config.value(field)?, scope),
            _ => None,
        },
    }
}

impl Walk<'_> {
    /// The effects of a call: by-value arguments are read, then the body's cells in terms of the actual buffers.
    pub(crate) fn call(&mut self, callee: &Arc<Proc>, args: &[Expr]) {
        let summary = self.callees.effects(callee);
        for arg in args {
            if argument(arg, self.scope).is_none() {
                self.reads(arg);
            }
        }
        let binding = Binding::new(callee, args, self.scope);
        let fresh = fresh_symbols(callee, &summary, &binding);
        let cells: Vec<Cell> =
            summary.cells.iter().filter_map(|cell| self.inlined(cell, callee, args, &binding, &fresh)).collect();
        self.found.cells.extend(cells);
        if !summary.statics.is_empty() {
            self.found.statics.push(self.at.clone());
        }
    }

    /// A cell of a callee in terms of the actual buffers, inside the loops and branches around the call.
    fn inlined(
        &self,
        cell: &Cell,
        callee: &Proc,
        args: &[Expr],
        binding: &Binding<'_>,
        fresh: &[(Sym, Sym)],
    ) -> Option<Cell> {
        let known = binding.knows(cell, callee);
        let formal = callee.args.iter().any(|arg| arg.name == cell.root);
        let cell = effects::rename(cell, fresh).substitute(&|var| binding.value(var));
        let (root, coords) = match formal {
            true => {
                let alias = binding.buffer(&cell.root)?;
                let coords = cell.coords.and_then(|coords| effects::root_coordinates(alias, &coords, self.scope));
                (alias.root.clone(), coords)
            }
            // What is neither a parameter nor local is a field of a config, and that is the same everywhere.
            false => (cell.root, cell.coords),
        };
        let stored = cell.stored.as_ref().and_then(|value| config_flow::instantiated(value, callee, args, self.scope));
        // Values that are not known can be others in other runs of the call.
        let lost = fresh.iter().filter(|(from, _)| binding.is_lost(from, callee)).map(|(_, to)| to.clone());
        Some(Cell {
            kind: cell.kind,
            root,
            exact: self.exact && cell.exact && known && coords.is_some(),
            coords,
            bound: self.bound.iter().cloned().chain(cell.bound).chain(lost).collect(),
            guard: self.guard.iter().cloned().chain(cell.guard).collect(),
            ticks: self.ticks.iter().copied().chain(cell.ticks).collect(),
            stored: stored.filter(|value| self.is_outside(value)),
            at: self.at.clone(),
        })
    }
}

/// Fresh symbols for everything bound in the callee, and for control parameters whose value is not known here: any
/// value then, which can only make the set of locations larger.
fn fresh_symbols(callee: &Proc, summary: &Effects, binding: &Binding<'_>) -> Vec<(Sym, Sym)> {
    let mut fresh: Vec<(Sym, Sym)> = Vec::new();
    for cell in &summary.cells {
        for bound in &cell.bound {
            if !fresh.iter().any(|(from, _)| from == bound) {
                fresh.push((bound.clone(), bound.renewed()));
            }
        }
    }
    for arg in &callee.args {
        let unknown = match &arg.ty {
            ArgType::Control(_) => binding.value(&Var::Sym(arg.name.clone())).is_none(),
            ArgType::Data(_) => false,
        };
        if unknown {
            fresh.push((arg.name.clone(), arg.name.renewed()));
        }
    }
    for (symbol, _) in binding.fields.iter().filter(|(_, value)| value.is_none()) {
        fresh.push(((*symbol).clone(), symbol.renewed()));
    }
    fresh
}
