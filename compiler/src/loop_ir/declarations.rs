//! What every name of a proc is declared as, and the one place where aliases are resolved.
//!
//! A window is an alias. Bounds, effects, staging, call checks and code generation all come here to learn which buffer a
//! name reaches and where in it.

use std::sync::Arc;

use imbl::OrdMap;

use crate::hardware::memory::Memory;
use crate::hardware::precision::Precision;
use crate::loop_ir::block::Block;
use crate::loop_ir::build;
use crate::loop_ir::configuration::ConfigState;
use crate::loop_ir::expression::{Access, Expr, ExprKind};
use crate::loop_ir::procedure::{ArgType, Proc};
use crate::loop_ir::statement::{Stmt, StmtKind};
use crate::loop_ir::types::{Control, DataType};
use crate::loop_ir::visit;
use crate::symbol::{Identity, Sym};

/// What a symbol was declared as.
#[derive(Clone, Debug)]
pub enum Declaration {
    /// A control parameter.
    Control(Control),
    /// A loop iterator.
    Iterator,
    /// A data parameter (`is_arg`) or an allocation.
    Buffer { ty: DataType, mem: Memory, is_arg: bool },
    /// A window statement over `base` (itself possibly a window).
    Window { base: Sym, idx: Vec<Access> },
}

/// How one dimension of a root buffer is addressed through an alias.
#[derive(Clone, Debug, PartialEq)]
pub enum RootAccess {
    /// Fixed at this index.
    Point(Expr),
    /// The alias's dimension `dim`, shifted by `offset`.
    Shifted { dim: usize, offset: Expr },
}

/// An alias resolved to the buffer that owns the memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Alias {
    /// A parameter or an allocation.
    pub root: Sym,
    /// One entry for each dimension of the root, outermost first.
    pub dims: Vec<RootAccess>,
}

impl Alias {
    /// The index in the root of an index in the alias.
    pub fn root_index(&self, idx: &[Expr]) -> Vec<Expr> {
        self.dims
            .iter()
            .map(|dim| match dim {
                RootAccess::Point(point) => point.clone(),
                RootAccess::Shifted { dim, offset } => match idx.get(*dim) {
                    Some(index) => build::sum(offset, index),
                    None => offset.clone(),
                },
            })
            .collect()
    }

    /// The dimension of the root that the alias's dimension `dim` runs along.
    pub fn root_dim(&self, dim: usize) -> Option<usize> {
        self.dims.iter().position(|access| matches!(access, RootAccess::Shifted { dim: d, .. } if *d == dim))
    }
}

/// All declarations of a proc. Symbols are bound once in a proc, so one flat map is exact.
///
/// The map is persistent: a copy shares everything with the original, and a step of a schedule changes what it touched.
#[derive(Clone, Debug, Default)]
pub struct Declarations {
    map: OrdMap<Identity, Arc<Declaration>>,
    /// What the configuration fields hold at the point of interest; as on entry unless an analysis follows control to it.
    pub config: ConfigState,
}

impl Declarations {
    /// Known already for a committed version, collected otherwise.
    pub fn of(proc: &Proc) -> Self {
        if let Some(known) = proc.committed.declarations() {
            return known.clone();
        }
        let mut declarations = Declarations::of_args(proc);
        declarations.add_block(&proc.body);
        declarations
    }

    /// The parameters only.
    pub fn of_args(proc: &Proc) -> Self {
        let mut declarations = Declarations::default();
        for arg in &proc.args {
            let declaration = match &arg.ty {
                ArgType::Control(control) => Declaration::Control(*control),
                ArgType::Data(ty) => Declaration::Buffer { ty: ty.clone(), mem: arg.mem.clone(), is_arg: true },
            };
            declarations.map.insert(arg.name.identity(), Arc::new(declaration));
        }
        declarations
    }

    /// Adds everything bound in a block.
    pub fn add_block(&mut self, block: &Block) {
        visit::each_stmt(block, &mut |stmt| self.add_stmt(stmt));
    }

    /// Adds what one statement itself binds.
    pub fn add_stmt(&mut self, stmt: &Stmt) {
        match &stmt.kind {
            StmtKind::For { iter, .. } => {
                self.map.insert(iter.identity(), Arc::new(Declaration::Iterator));
            }
            StmtKind::Alloc { name, ty, mem } => {
                let buffer = Declaration::Buffer { ty: ty.clone(), mem: mem.clone(), is_arg: false };
                self.map.insert(name.identity(), Arc::new(buffer));
            }
            StmtKind::Window { name, rhs } => {
                if let ExprKind::Window { name: base, idx } = &rhs.kind {
                    let window = Declaration::Window { base: base.clone(), idx: idx.clone() };
                    self.map.insert(name.identity(), Arc::new(window));
                }
            }
            StmtKind::Assign { .. }
            | StmtKind::Reduce { .. }
            | StmtKind::Pass
            | StmtKind::WriteConfig { .. }
            | StmtKind::If { .. }
            | StmtKind::Call { .. } => {}
        }
    }

    /// Forgets a name.
    pub fn remove(&mut self, name: &Sym) {
        self.map.remove(&name.identity());
    }

    pub fn get(&self, name: &Sym) -> Option<&Declaration> {
        self.map.get(&name.identity()).map(Arc::as_ref)
    }

    /// The alias that a data name stands for: itself for a buffer, the composed accesses for a window.
    pub fn alias(&self, name: &Sym) -> Option<Alias> {
        match self.get(name)? {
            Declaration::Control(_) | Declaration::Iterator => None,
            Declaration::Buffer { ty, .. } => Some(Alias {
                root: name.clone(),
                dims: (0..ty.rank()).map(|dim| RootAccess::Shifted { dim, offset: build::int(0) }).collect(),
            }),
            Declaration::Window { base, idx } => Some(compose(&self.alias(base)?, idx)),
        }
    }

    /// The alias of a window expression over `name`.
    pub fn window(&self, name: &Sym, idx: &[Access]) -> Option<Alias> {
        Some(compose(&self.alias(name)?, idx))
    }

    /// The buffer that owns the memory behind a data name.
    pub fn root(&self, name: &Sym) -> Option<Sym> {
        match self.get(name)? {
            Declaration::Control(_) | Declaration::Iterator => None,
            Declaration::Buffer { .. } => Some(name.clone()),
            Declaration::Window { base, .. } => self.root(base),
        }
    }

    /// Extents of a data name, outermost first; empty for scalars. Of a window: `hi - lo` of its intervals.
    pub fn shape(&self, name: &Sym) -> Option<Vec<Expr>> {
        match self.get(name)? {
            Declaration::Control(_) | Declaration::Iterator => None,
            Declaration::Buffer { ty, .. } => Some(ty.shape.clone()),
            Declaration::Window { idx, .. } => Some(window_shape(idx)),
        }
    }

    pub fn precision(&self, name: &Sym) -> Option<Precision> {
        match self.get(&self.root(name)?)? {
            Declaration::Buffer { ty, .. } => Some(ty.precision),
            Declaration::Control(_) | Declaration::Iterator | Declaration::Window { .. } => None,
        }
    }

    pub fn memory(&self, name: &Sym) -> Option<Memory> {
        match self.get(&self.root(name)?)? {
            Declaration::Buffer { mem, .. } => Some(mem.clone()),
            Declaration::Control(_) | Declaration::Iterator | Declaration::Window { .. } => None,
        }
    }

    /// Whether a data name is addressed with strides of its own: a window parameter or a window statement.
    pub fn is_window(&self, name: &Sym) -> bool {
        match self.get(name) {
            Some(Declaration::Window { .. }) => true,
            Some(Declaration::Buffer { ty, .. }) => ty.is_window,
            Some(Declaration::Control(_) | Declaration::Iterator) | None => false,
        }
    }
}

/// The extents of a window's intervals.
pub fn window_shape(idx: &[Access]) -> Vec<Expr> {
    idx.iter()
        .filter_map(|access| match access {
            Access::Point(_) => None,
            Access::Interval { lo, hi } => Some(build::difference(hi, lo)),
        })
        .collect()
}

/// The alias of a window taken from an alias.
fn compose(base: &Alias, idx: &[Access]) -> Alias {
    // For each dimension of `base`: the dimension of the new window, where it has one.
    let mut next = 0;
    let accesses: Vec<RootAccess> = idx
        .iter()
        .map(|access| match access {
            Access::Point(point) => RootAccess::Point(point.clone()),
            Access::Interval { lo, .. } => {
                next += 1;
                RootAccess::Shifted { dim: next - 1, offset: lo.clone() }
            }
        })
        .collect();
    let dims = base
        .dims
        .iter()
        .map(|dim| match dim {
            RootAccess::Point(point) => RootAccess::Point(point.clone()),
            RootAccess::Shifted { dim, offset } => match accesses.get(*dim) {
                Some(RootAccess::Point(point)) => RootAccess::Point(build::sum(offset, point)),
                Some(RootAccess::Shifted { dim, offset: lo }) => {
                    RootAccess::Shifted { dim: *dim, offset: build::sum(offset, lo) }
                }
                None => RootAccess::Point(offset.clone()),
            },
        })
        .collect();
    Alias { root: base.root.clone(), dims }
}
