//! Elements, windows and strides of buffers: the C place that an access means.

use crate::analysis::facts::{Facts, Verified};
use crate::analysis::formula::Formula;
use crate::analysis::solver::Solver;
use crate::codegen::c_tree::CExpr;
use crate::codegen::function::FunctionLowering;
use crate::codegen::index::{chained_product, product, sum};
use crate::codegen::memory::WindowBase;
use crate::codegen::unit::Layout;
use crate::hardware::precision::Precision;
use crate::loop_ir::build;
use crate::loop_ir::declarations::{Alias, Declaration};
use crate::loop_ir::expression::{Access, BinaryOp, Expr};
use crate::source::Span;
use crate::symbol::Sym;

/// Z3 units for the one question that is asked here; an unknown costs a comparison in C.
const EFFORT: u32 = 100_000;

/// What the C variable of a data name is.
#[derive(Clone, Debug)]
pub enum Storage {
    /// A scalar parameter, passed by pointer.
    ScalarPointer,
    ScalarLocal,
    /// A pointer to (or array of) row-major elements.
    Dense(Vec<Expr>),
    /// A window struct.
    Struct,
    /// No variable at all: a window over a memory that C cannot point into, addressed through its root.
    Resolved(Alias),
    Unknown,
}

impl FunctionLowering<'_, '_> {
    pub fn storage(&self, name: &Sym) -> Storage {
        match self.declarations.get(name) {
            Some(Declaration::Buffer { ty, is_arg, .. }) => match (ty.is_window, ty.rank(), is_arg) {
                (true, _, _) => Storage::Struct,
                (false, 0, true) => Storage::ScalarPointer,
                (false, 0, false) => Storage::ScalarLocal,
                (false, _, _) => Storage::Dense(ty.shape.clone()),
            },
            Some(Declaration::Window { idx, .. }) => {
                let has_rank = idx.iter().any(|access| matches!(access, Access::Interval { .. }));
                match self.declarations.alias(name) {
                    Some(_) if has_rank && !self.is_user_memory(name) => Storage::Struct,
                    Some(alias) => Storage::Resolved(alias),
                    None => Storage::Unknown,
                }
            }
            Some(Declaration::Control(_) | Declaration::Iterator) | None => Storage::Unknown,
        }
    }

    fn is_user_memory(&self, name: &Sym) -> bool {
        self.declarations.memory(name).is_some_and(|memory| self.unit.layout(&memory) == Layout::User)
    }

    /// The precision of a data name, `R` resolved.
    pub fn precision(&self, name: &Sym) -> Precision {
        self.declarations.precision(name).map_or(Precision::F32, Precision::concrete)
    }

    /// The lvalue of one element, or of a scalar when `idx` is empty. A memory that says where the windows of instructions
    /// lie says it of single elements too, so that both mean the same place.
    pub fn element(&mut self, name: &Sym, idx: &[Expr], span: &Span) -> CExpr {
        match self.declarations.memory(name) {
            Some(memory) if !idx.is_empty() && self.unit.addresses(&memory) => self.place(name, idx, span),
            Some(_) | None => self.row_major(name, idx, span),
        }
    }

    /// The lvalue of one element by the strides of its buffer, whatever its memory says.
    pub fn row_major(&mut self, name: &Sym, idx: &[Expr], span: &Span) -> CExpr {
        let variable = CExpr::token(self.names.get(name));
        match self.storage(name) {
            Storage::ScalarPointer => CExpr::Deref(Box::new(variable)),
            Storage::ScalarLocal => variable,
            Storage::Dense(_) => variable.index(self.offset(name, idx)),
            Storage::Struct => variable.member("data").index(self.offset(name, idx)),
            Storage::Resolved(alias) => self.row_major(&alias.root, &alias.root_index(idx), span),
            Storage::Unknown => {
                self.unit.malformed("an access to an undeclared buffer", span);
                variable
            }
        }
    }

    fn offset(&mut self, name: &Sym, idx: &[Expr]) -> CExpr {
        let strides = self.strides(name);
        let mut offset = CExpr::Int(0);
        for (index, stride) in idx.iter().zip(strides) {
            let index = self.subscript(index);
            offset = sum(offset, chained_product(index, stride));
        }
        offset
    }

    /// The strides of a data name, outermost first, in elements.
    pub fn strides(&mut self, name: &Sym) -> Vec<CExpr> {
        match self.storage(name) {
            Storage::ScalarPointer | Storage::ScalarLocal | Storage::Unknown => Vec::new(),
            Storage::Dense(shape) => {
                let mut strides = Vec::with_capacity(shape.len());
                let mut stride = CExpr::Int(1);
                for extent in shape.iter().rev() {
                    strides.push(stride.clone());
                    stride = product(self.subscript(extent), stride);
                }
                strides.reverse();
                strides
            }
            Storage::Struct => {
                let rank = self.declarations.shape(name).map_or(0, |shape| shape.len());
                (0..rank).map(|dim| self.struct_stride(name, dim)).collect()
            }
            Storage::Resolved(alias) => {
                let root = self.strides(&alias.root);
                (0..alias.dims.len())
                    .map_while(|dim| alias.root_dim(dim))
                    .filter_map(|dim| root.get(dim).cloned())
                    .collect()
            }
        }
    }

    fn struct_stride(&self, name: &Sym, dim: usize) -> CExpr {
        match self.asserted_strides.get(&(name.clone(), dim)) {
            Some(stride) => CExpr::Int(*stride),
            None => {
                let dim = i64::try_from(dim).unwrap_or(i64::MAX);
                CExpr::token(self.names.get(name)).member("strides").index(CExpr::Int(dim))
            }
        }
    }

    /// The lvalue at `idx` as windows address it: through the memory's own function.
    pub fn place(&mut self, name: &Sym, idx: &[Expr], span: &Span) -> CExpr {
        let is_struct = match self.storage(name) {
            Storage::Resolved(alias) => return self.place(&alias.root, &alias.root_index(idx), span),
            Storage::ScalarPointer | Storage::ScalarLocal | Storage::Unknown => return self.row_major(name, idx, span),
            Storage::Dense(_) => false,
            Storage::Struct => true,
        };
        let indices: Vec<CExpr> = idx.iter().map(|index| self.subscript(index)).collect();
        let strides = self.strides(name);
        let Some(memory) = self.declarations.memory(name) else {
            return self.row_major(name, idx, span);
        };
        let ty = self.precision(name).c_type();
        let variable = self.names.get(name).to_string();
        let base = WindowBase { memory: &memory, name: &variable, ty, is_struct, span };
        self.unit.window_place(&base, &indices, &strides)
    }

    /// A window expression as a struct literal.
    pub fn window_literal(&mut self, window: &WindowExpr, constant: bool, span: &Span) -> CExpr {
        let ty = self.unit.window_struct(window.rank(), self.precision(&window.name), constant);
        let data = self.window_place_of(window, span).address();
        let strides = self.window_strides(window);
        CExpr::WindowLiteral { ty, data: Box::new(data), strides }
    }

    /// The lvalue of the first element of a window.
    pub fn window_place_of(&mut self, window: &WindowExpr, span: &Span) -> CExpr {
        self.place(&window.name, &window.start(), span)
    }

    /// A window statement's struct. Where an interval may be empty it can start at the very end, and an address further
    /// than one behind the last element is undefined in C even if nothing is read there: such a window starts at 0.
    pub fn window_variable(&mut self, window: &WindowExpr, constant: bool, span: &Span) -> CExpr {
        let literal = self.window_literal(window, constant, span);
        let empty: Vec<Expr> = window.idx.iter().filter_map(|access| self.empty_where(access)).collect();
        let CExpr::WindowLiteral { ty, data, strides } = literal else { return literal };
        if empty.is_empty() {
            return CExpr::WindowLiteral { ty, data, strides };
        }
        let conditions: Vec<String> = empty.iter().map(|condition| self.control(condition).text()).collect();
        let first: Vec<Expr> = window.idx.iter().map(|_| build::int(0)).collect();
        let first = self.place(&window.name, &first, span).address();
        if conditions.iter().any(|condition| condition == "true") {
            return CExpr::WindowLiteral { ty, data: Box::new(first), strides };
        }
        let data = CExpr::Raw(format!("{} ? {} : {}", conditions.join(" || "), first.text(), data.text()));
        CExpr::WindowLiteral { ty, data: Box::new(data), strides }
    }

    /// The condition under which an interval is empty and does not start at 0, unless that cannot be.
    fn empty_where(&self, access: &Access) -> Option<Expr> {
        let Access::Interval { lo, hi } = access else { return None };
        if build::int_value(lo) == Some(0) {
            return None;
        }
        let facts = Facts::at(self.proc, &self.at);
        let filled = facts.index(lo).zip(facts.index(hi)).and_then(|(lo, hi)| Formula::below(&lo, &hi));
        let known = facts.proves(&mut Solver::new(EFFORT), filled.as_ref()) == Verified::Yes;
        (!known).then(|| build::binary(BinaryOp::Le, hi.clone(), lo.clone()))
    }

    fn window_strides(&mut self, window: &WindowExpr) -> Vec<CExpr> {
        let strides = self.strides(&window.name);
        let intervals = window.idx.iter().map(|access| matches!(access, Access::Interval { .. }));
        strides.into_iter().zip(intervals).filter_map(|(stride, keep)| keep.then_some(stride)).collect()
    }

    /// All of a buffer or window as a window expression.
    pub fn whole(&self, name: &Sym) -> WindowExpr {
        let shape = self.declarations.shape(name).unwrap_or_default();
        let idx = shape.into_iter().map(|extent| Access::Interval { lo: build::int(0), hi: extent }).collect();
        WindowExpr { name: name.clone(), idx }
    }
}

/// A window expression: what it is taken from, and where.
#[derive(Clone, Debug)]
pub struct WindowExpr {
    pub name: Sym,
    pub idx: Vec<Access>,
}

impl WindowExpr {
    /// The indices of the first element.
    fn start(&self) -> Vec<Expr> {
        let start = self.idx.iter().map(|access| match access {
            Access::Point(point) => point.clone(),
            Access::Interval { lo, .. } => lo.clone(),
        });
        start.collect()
    }

    pub fn rank(&self) -> usize {
        self.idx.iter().filter(|access| matches!(access, Access::Interval { .. })).count()
    }
}
