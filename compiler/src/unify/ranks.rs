//! What to do where a buffer and the parameter it would stand for have different numbers of dimensions.

use super::Mismatch;
use crate::loop_ir::types::DataType;
use crate::symbol::Sym;

/// A buffer of `rank` dimensions against a parameter that is passed whole.
pub(super) fn whole(mismatch: Mismatch, formal: &str, ty: &DataType, buffer: &Sym, rank: usize) -> Mismatch {
    let word = ty.precision.word();
    if rank > 0 && ty.shape.is_empty() {
        return mismatch.hint(format!(
            "the parameter `{formal}` is a scalar and is passed whole: put the element into a scalar first, \
             `bind_expr(p, \"{buffer}[_]\", \"t\")`, or declare `{formal}: [{word}][1]` and use `{formal}[0]`"
        ));
    }
    if rank == ty.shape.len() {
        return mismatch;
    }
    mismatch.hint(format!(
        "the parameter `{formal}` is a whole buffer; declare it as a window, `[{word}][...]`, to pass a part of `{buffer}`"
    ))
}

/// A buffer of `rank` dimensions, fewer than the window parameter has.
pub(super) fn too_few(formal: &Sym, ty: &DataType, buffer: &Sym, rank: usize) -> Mismatch {
    let mismatch = Mismatch::new(format!("`{buffer}` has fewer dimensions than `{formal}`"));
    if rank > 0 {
        return mismatch;
    }
    mismatch.hint(format!(
        "`{buffer}` is a scalar and the parameter `{formal}` a window: make `{buffer}` a buffer of one element \
         (`expand_dim`, where it is allocated in the proc), or declare `{formal}: {}`",
        ty.precision.word()
    ))
}
