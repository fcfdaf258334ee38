//! Boxes in a root buffer: the part of it that a window or argument covers.

use crate::analysis::lift;
use crate::analysis::linear::Linear;
use crate::loop_ir::Expr;
use crate::loop_ir::declarations::{Alias, Declarations, RootAccess};

/// `lo..hi` of one dimension.
pub type Extent = (Linear, Linear);

/// One extent for each dimension of the root. `shape` is the extents of the alias.
pub fn of_alias(alias: &Alias, shape: &[Expr], scope: &Declarations) -> Option<Vec<Extent>> {
    alias
        .dims
        .iter()
        .map(|dim| match dim {
            RootAccess::Point(point) => {
                let lo = lift::index(point, scope)?;
                let hi = lo.plus(1)?;
                Some((lo, hi))
            }
            RootAccess::Shifted { dim, offset } => {
                let lo = lift::index(offset, scope)?;
                let hi = lo.add(&lift::index(shape.get(*dim)?, scope)?)?;
                Some((lo, hi))
            }
        })
        .collect()
}
