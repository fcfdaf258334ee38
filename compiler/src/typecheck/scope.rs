//! Which names of object code are visible at a point, and what they were bound to.

use std::collections::BTreeMap;

use crate::diagnostic::nearest;
use crate::loop_ir::{Control, Expr};
use crate::symbol::Sym;

/// What a visible name is.
#[derive(Clone, Debug)]
pub enum Meaning {
    Control(Control),
    /// A buffer, window or scalar (an empty shape).
    Data {
        shape: Vec<Expr>,
    },
    /// Its binding was refused; uses are not reported again.
    Broken,
}

/// One visible binding.
#[derive(Clone, Debug)]
pub struct Binding {
    pub symbol: Sym,
    /// How the printed proc spells it, where names clash.
    pub spelling: Option<String>,
    pub meaning: Meaning,
}

/// Visible bindings, innermost last.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    bindings: Vec<Binding>,
    /// Shapes of data names that host code brought in; object code does not see them by name.
    imported: BTreeMap<Sym, Vec<Expr>>,
}

/// The state of a scope to go back to.
#[derive(Clone, Copy, Debug)]
pub struct Mark(usize);

impl Scope {
    /// A new symbol spelled `name`, visible until the enclosing [`Scope::leave`].
    pub fn bind(&mut self, name: &str, meaning: Meaning) -> Sym {
        let symbol = Sym::new(name);
        self.push(symbol.clone(), meaning);
        symbol
    }

    /// Makes an existing symbol visible.
    pub fn push(&mut self, symbol: Sym, meaning: Meaning) {
        self.bindings.push(Binding { symbol, spelling: None, meaning });
    }

    /// Makes an existing symbol visible, also under the spelling that the printed proc gives it.
    pub fn push_spelled(&mut self, symbol: Sym, spelling: String, meaning: Meaning) {
        self.bindings.push(Binding { symbol, spelling: Some(spelling), meaning });
    }

    /// Notes what a name that host code brought in stands for.
    pub fn import(&mut self, binding: &Binding) {
        if let Meaning::Data { shape } = &binding.meaning {
            self.imported.insert(binding.symbol.clone(), shape.clone());
        }
    }

    /// Notes everything that host code brought into another scope.
    pub fn import_all(&mut self, other: Scope) {
        self.imported.extend(other.imported);
    }

    /// Whether this very binding is visible.
    pub fn contains(&self, symbol: &Sym) -> bool {
        self.bindings.iter().any(|binding| &binding.symbol == symbol)
    }

    pub fn enter(&self) -> Mark {
        Mark(self.bindings.len())
    }

    /// Forgets everything bound since `mark`.
    pub fn leave(&mut self, mark: Mark) {
        self.bindings.truncate(mark.0);
    }

    /// The innermost binding of a name; failing that, the binding that is printed so.
    pub fn get(&self, name: &str) -> Option<&Binding> {
        let printed = |binding: &&Binding| binding.spelling.as_deref() == Some(name);
        let innermost = self.bindings.iter().rev().find(|binding| binding.symbol.name() == name);
        innermost.or_else(|| self.bindings.iter().rev().find(printed))
    }

    /// The shape of a visible data name.
    pub fn shape(&self, symbol: &Sym) -> Option<&[Expr]> {
        let Some(binding) = self.bindings.iter().rev().find(|binding| &binding.symbol == symbol) else {
            return self.imported.get(symbol).map(Vec::as_slice);
        };
        match &binding.meaning {
            Meaning::Data { shape } => Some(shape),
            Meaning::Control(_) | Meaning::Broken => None,
        }
    }

    /// The visible spelling that resembles `name` most, for hints.
    pub fn similar(&self, name: &str) -> Option<String> {
        nearest(name, self.bindings.iter().rev().map(|binding| binding.symbol.name())).into_iter().next()
    }
}
