//! What host code inside of definitions holds: names of object code, quoted expressions and statements, slices.

use std::sync::Arc;

use allocative::Allocative;
use starlark::starlark_simple_value;
use starlark::values::{NoSerialize, ProvidesStaticType, StarlarkPagablePanic, StarlarkValue, Value, starlark_value};

use crate::typecheck::scope::Binding;
use crate::typecheck::{HostValue, QuotedBlock, QuotedExpr};

/// The type of [`SymbolValue`], which rendered quotes ask for.
pub(crate) const SYMBOL: &str = "symbol";

/// The type of [`QuotedExprValue`] in messages of the evaluator.
pub(crate) const EXPRESSION: &str = "quoted_expression";

/// The type of [`QuotedBlockValue`] in messages of the evaluator.
pub(crate) const STATEMENTS: &str = "quoted_statements";

/// A name of object code: an argument, a buffer, a loop's iterator.
#[derive(Debug, ProvidesStaticType, NoSerialize, StarlarkPagablePanic, Allocative)]
pub(crate) struct SymbolValue(#[allocative(skip)] pub Binding);
starlark_simple_value!(SymbolValue);

impl std::fmt::Display for SymbolValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0.symbol.name())
    }
}

#[starlark_value(type = SYMBOL)]
impl<'v> StarlarkValue<'v> for SymbolValue {
    fn equals(&self, other: Value<'v>) -> starlark::Result<bool> {
        Ok(SymbolValue::from_value(other).is_some_and(|other| other.0.symbol == self.0.symbol))
    }
}

/// What `~{...}` gives.
#[derive(Debug, ProvidesStaticType, NoSerialize, StarlarkPagablePanic, Allocative)]
pub(crate) struct QuotedExprValue(#[allocative(skip)] pub Arc<QuotedExpr>);
starlark_simple_value!(QuotedExprValue);

impl std::fmt::Display for QuotedExprValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("<quoted expression>")
    }
}

#[starlark_value(type = EXPRESSION)]
impl<'v> StarlarkValue<'v> for QuotedExprValue {}

/// What `with exo as NAME` gives.
#[derive(Debug, ProvidesStaticType, NoSerialize, StarlarkPagablePanic, Allocative)]
pub(crate) struct QuotedBlockValue(#[allocative(skip)] pub Arc<QuotedBlock>);
starlark_simple_value!(QuotedBlockValue);

impl std::fmt::Display for QuotedBlockValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("<quoted statements>")
    }
}

#[starlark_value(type = STATEMENTS)]
impl<'v> StarlarkValue<'v> for QuotedBlockValue {}

/// `slice(lo, hi)`.
#[derive(Debug, ProvidesStaticType, NoSerialize, StarlarkPagablePanic, Allocative)]
pub(crate) struct SliceValue {
    #[allocative(skip)]
    pub lo: Option<HostValue>,
    #[allocative(skip)]
    pub hi: Option<HostValue>,
}
starlark_simple_value!(SliceValue);

impl std::fmt::Display for SliceValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("<slice>")
    }
}

#[starlark_value(type = "slice")]
impl<'v> StarlarkValue<'v> for SliceValue {}
