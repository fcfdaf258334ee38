//! Accesses: elements, windows, partial reads, and the left sides of assignments.

use ruff_python_ast::{Expr as Syntax, ExprSlice, ExprSubscript};
use ruff_text_size::Ranged;

use crate::diagnostic::{Diagnostic, codes, counted};
use crate::loop_ir::{Access, Expr, ExprKind, Ty, build};
use crate::symbol::Sym;
use crate::typecheck::captures::HostValue;
use crate::typecheck::checker::{Checked, Checker, Reported};
use crate::typecheck::literal::Position;
use crate::typecheck::scope::Meaning;

/// The items between brackets.
pub(crate) fn items(slice: &Syntax) -> &[Syntax] {
    match slice {
        Syntax::Tuple(tuple) => &tuple.elts,
        single => std::slice::from_ref(single),
    }
}

/// One item between brackets: as written, or a value of the host with the braces that it stands in.
enum Item<'s> {
    Written(&'s Syntax),
    Host(HostValue, &'s Syntax),
}

impl Item<'_> {
    fn is_slice(&self) -> bool {
        matches!(self, Item::Written(Syntax::Slice(_)) | Item::Host(HostValue::Slice(..), _))
    }
}

impl Checker<'_> {
    /// `x[...]` in an expression: an element, a window, or an item of a host collection.
    pub(crate) fn access(&mut self, subscript: &ExprSubscript, node: &Syntax, position: Position) -> Checked<Expr> {
        let Syntax::Name(name) = &*subscript.value else {
            return self.outside(node, "indexing of an expression", "index a buffer by name: `x[i, j]`");
        };
        if self.lookup(&name.id).is_none() {
            if self.captures.get(self.text(node)).is_some() {
                return self.host_constant(node, node, position);
            }
            return match self.captures.get(&name.id) {
                Some(value) => {
                    let message = format!("`{}` is {}, not a buffer", name.id, value.describe());
                    self.refuse(codes::TYPE, node, message)
                }
                None => self.undefined(&subscript.value, &subscript.value),
            };
        }
        let (symbol, shape) = self.buffer(&name.id, node)?;
        let items = self.expanded(items(&subscript.slice))?;
        let sliced = items.iter().any(Item::is_slice);
        if items.len() > shape.len() || (sliced && items.len() < shape.len()) || items.is_empty() {
            return self.wrong_count(&name.id, shape.len(), items.len(), node);
        }
        if !sliced && items.len() == shape.len() {
            let idx = self.all_points(&items)?;
            return Ok(build::expr(ExprKind::Read { name: symbol, idx }, Ty::Data, &self.span(node)));
        }
        let idx = self.accesses(&items, &shape)?;
        Ok(build::expr(ExprKind::Window { name: symbol, idx }, Ty::Data, &self.span(node)))
    }

    /// The items with what tuples and slices of the host stand for.
    fn expanded<'s>(&mut self, items: &'s [Syntax]) -> Checked<Vec<Item<'s>>> {
        let mut expanded = Vec::new();
        for node in items {
            let Syntax::Set(set) = node else {
                expanded.push(Item::Written(node));
                continue;
            };
            match self.spliced(set, node)? {
                None => expanded.push(Item::Written(node)),
                Some(HostValue::Tuple(values)) => {
                    expanded.extend(values.into_iter().map(|value| Item::Host(value, node)));
                }
                Some(value) => expanded.push(Item::Host(value, node)),
            }
        }
        Ok(expanded)
    }

    /// The accesses of a window; dimensions without item are taken whole.
    fn accesses(&mut self, items: &[Item<'_>], shape: &[Expr]) -> Checked<Vec<Access>> {
        let mut checked: Vec<Checked<Access>> = Vec::new();
        for (at, extent) in shape.iter().enumerate() {
            checked.push(match items.get(at) {
                Some(Item::Written(Syntax::Slice(slice))) => self.interval(slice, extent),
                Some(Item::Host(HostValue::Slice(lo, hi), node)) => {
                    let lo = lo.as_ref().map(|lo| self.host_index(lo, node)).unwrap_or_else(|| Ok(build::int(0)));
                    let hi = hi.as_ref().map(|hi| self.host_index(hi, node)).unwrap_or_else(|| Ok(extent.clone()));
                    lo.and_then(|lo| hi.map(|hi| Access::Interval { lo, hi }))
                }
                Some(point) => self.point(point).map(Access::Point),
                None => Ok(Access::Interval { lo: build::int(0), hi: extent.clone() }),
            });
        }
        checked.into_iter().collect()
    }

    fn point(&mut self, item: &Item<'_>) -> Checked<Expr> {
        match item {
            Item::Written(node) => self.index(node),
            Item::Host(value, node) => self.host_index(value, node),
        }
    }

    fn all_points(&mut self, items: &[Item<'_>]) -> Checked<Vec<Expr>> {
        let checked: Vec<Checked<Expr>> = items.iter().map(|item| self.point(item)).collect();
        checked.into_iter().collect()
    }

    fn interval(&mut self, slice: &ExprSlice, extent: &Expr) -> Checked<Access> {
        if let Some(step) = &slice.step {
            return self.outside(&**step, "the step of a slice", "windows are contiguous; leave the step out");
        }
        let lo = match &slice.lower {
            Some(lower) => self.index(lower),
            None => Ok(build::int(0)),
        };
        let hi = match &slice.upper {
            Some(upper) => self.index(upper),
            None => Ok(extent.clone()),
        };
        Ok(Access::Interval { lo: lo?, hi: hi? })
    }

    /// One index for each item; slices are refused.
    pub(crate) fn indices(&mut self, items: &[Syntax]) -> Checked<Vec<Expr>> {
        let checked: Vec<Checked<Expr>> = items.iter().map(|item| self.index(item)).collect();
        checked.into_iter().collect()
    }

    /// The symbol and shape of a visible data name.
    pub(crate) fn buffer(&mut self, name: &str, node: &Syntax) -> Checked<(Sym, Vec<Expr>)> {
        let Some(binding) = self.lookup(name) else {
            return self.undefined(node, node);
        };
        match binding.meaning {
            Meaning::Data { shape } => Ok((binding.symbol, shape)),
            Meaning::Control(control) => self.not_a_buffer(name, control, node),
            Meaning::Broken => Err(Reported),
        }
    }

    fn wrong_count<T>(&mut self, name: &str, rank: usize, given: usize, node: &impl Ranged) -> Checked<T> {
        let message = match rank {
            0 => format!("`{name}` is a scalar, it has no dimensions to index"),
            _ => format!("`{name}` has {}, {given} given", counted(rank, "dimension")),
        };
        self.refuse_hint(codes::TYPE, node, message, "give one index or slice for each dimension")
    }

    /// The left side of `=` or `+=`: an element or a scalar.
    pub(crate) fn target(&mut self, target: &Syntax) -> Checked<(Sym, Vec<Expr>)> {
        let (name, items) = match target {
            Syntax::Name(name) => (name, [].as_slice()),
            Syntax::Subscript(subscript) => match &*subscript.value {
                Syntax::Name(name) => (name, items(&subscript.slice)),
                _ => return self.outside(target, "this left side", "assign to `x` or `x[i, j]`"),
            },
            Syntax::Attribute(_) => {
                return self.outside(
                    target,
                    "a reduction into configuration state",
                    "fields are written as a whole: `Config.field = ...`",
                );
            }
            _ => return self.outside(target, "this left side", "assign to `x` or `x[i, j]`"),
        };
        if let Some(Meaning::Control(control)) = self.lookup(&name.id).map(|binding| binding.meaning) {
            let message = format!("`{}` has type `{}` and cannot be assigned", name.id, control.word());
            return self.refuse(codes::TYPE, target, message);
        }
        if self.lookup(&name.id).is_none() {
            return self.undeclared(&name.id, target);
        }
        let (symbol, shape) = self.buffer(&name.id, target)?;
        let items = self.expanded(items)?;
        if items.iter().any(Item::is_slice) {
            return self.refuse_hint(
                codes::TYPE,
                target,
                "a window cannot be assigned",
                "loop over the elements and assign each",
            );
        }
        if items.len() != shape.len() {
            return self.wrong_count(&name.id, shape.len(), items.len(), target);
        }
        Ok((symbol, self.all_points(&items)?))
    }

    pub(crate) fn undeclared<T>(&mut self, name: &str, node: &impl Ranged) -> Checked<T> {
        let mut diagnostic = Diagnostic::error(codes::UNDEFINED_NAME, format!("`{name}` is not declared"))
            .at(&self.span(node), "here")
            .hint(format!("declare it first: `{name}: f32`, or `{name}: f32[n]` for a buffer"));
        if let Some(similar) = self.scope.similar(name) {
            diagnostic = diagnostic.hint(format!("there is a similar name: `{similar}`"));
        }
        Err(self.report(diagnostic))
    }
}
