//! Matching of strides: parameters that stand for one, and strides of buffers.

use super::matcher::{Matched, Matcher};
use super::{Mismatch, ranks};
use crate::loop_ir::{Expr, ExprKind, Ty};
use crate::symbol::Sym;

impl Matcher<'_> {
    pub(super) fn stride(&mut self, f: &Expr, b: &Expr) -> Matched {
        match (&f.kind, &b.kind) {
            // Only these take what they meet; an index would be solved for, and has met nothing.
            (ExprKind::Read { name, idx }, _)
                if idx.is_empty() && f.ty == Ty::STRIDE && self.formals.contains_key(name) =>
            {
                self.opaque_formal(name, b)
            }
            (ExprKind::Stride { name: fname, dim: fd }, ExprKind::Stride { name: bname, dim: bd }) => {
                self.buffer_stride((fname, *fd), (bname, *bd))
            }
            (ExprKind::Const(f), ExprKind::Const(b)) if f == b => Ok(()),
            (ExprKind::ReadConfig(f), ExprKind::ReadConfig(b)) if f == b => Ok(()),
            _ => Err(Mismatch::new("strides differ")),
        }
    }

    /// A window argument may run along other dimensions of its buffer: which ones, the search for points decides.
    fn buffer_stride(&mut self, (f, fd): (&Sym, usize), (b, bd): (&Sym, usize)) -> Matched {
        let formal = self.formals.get(f).copied();
        let ty = formal.map(|at| self.data_formal(at)).transpose()?;
        if let (Some(at), Some(ty)) = (formal, ty.as_ref().filter(|ty| ty.is_window)) {
            let shape = self.caller.shape(b).ok_or_else(|| Mismatch::new(format!("`{b}` is not a buffer")))?;
            if ty.rank() > shape.len() {
                return Err(ranks::too_few(f, ty, b, shape.len()));
            }
            self.meet(at, b, shape.len())?.strides.push((fd, bd));
            return Ok(());
        }
        if fd != bd {
            return Err(Mismatch::new("strides differ"));
        }
        match (formal, ty) {
            (Some(at), Some(ty)) => self.dense(at, &ty, b),
            _ => self.local(f, b),
        }
    }
}
