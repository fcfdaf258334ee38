//! `bf16` in C: two bytes that are converted to `float` when they are read and rounded when they are written.

use std::sync::Arc;

use crate::codegen::c_tree::{CExpr, COp};
use crate::codegen::context::Context;
use crate::codegen::reach::Function;
use crate::hardware::config::FieldType;
use crate::hardware::precision::Precision;
use crate::loop_ir::procedure::{ArgType, Proc};
use crate::loop_ir::statement::StmtKind;
use crate::loop_ir::visit;

/// The type and its conversions: round to nearest, ties to even. A double is first rounded to odd, so that rounding it
/// twice gives what rounding it once would.
pub const TEXT: &str = "#ifndef EXO_BF16
#define EXO_BF16
#include <string.h>
typedef struct exo_bf16 { uint16_t bits; } exo_bf16;
static inline float exo_bf16_to_float(exo_bf16 x) {
    uint32_t bits = (uint32_t)x.bits << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}
static inline exo_bf16 exo_bf16_from_float(float value) {
    uint32_t bits;
    exo_bf16 x;
    memcpy(&bits, &value, sizeof bits);
    bits = value != value ? bits | 0x00400000u : bits + 0x7fffu + ((bits >> 16) & 1u);
    x.bits = (uint16_t)(bits >> 16);
    return x;
}
static inline exo_bf16 exo_bf16_from_double(double value) {
    float narrow = (float)value;
    if (value == value && (double)narrow != value) {
        uint32_t bits;
        memcpy(&bits, &narrow, sizeof bits);
        bits -= ((double)narrow > value) == (value > 0);
        bits |= 1u;
        memcpy(&narrow, &bits, sizeof bits);
    }
    return exo_bf16_from_float(narrow);
}
#endif
";

/// Whether any function of the output, or a field of its context, declares data of this precision.
pub fn is_used(functions: &[Function], context: &Context) -> bool {
    functions.iter().any(|function| declares(&function.proc))
        || context.fields().iter().any(|field| field.ty() == FieldType::Data(Precision::Bf16))
}

fn declares(proc: &Arc<Proc>) -> bool {
    let mut found = proc.args.iter().any(|arg| match &arg.ty {
        ArgType::Data(ty) => ty.precision == Precision::Bf16,
        ArgType::Control(_) => false,
    });
    visit::each_stmt(&proc.body, &mut |stmt| {
        if let StmtKind::Alloc { ty, .. } = &stmt.kind {
            found |= ty.precision == Precision::Bf16;
        }
    });
    found
}

/// The value of an element as a `float`.
pub fn read(place: CExpr) -> CExpr {
    CExpr::call("exo_bf16_to_float", vec![place])
}

/// A value of a precision as an element. Values of `bf16` itself are computed as `float`.
pub fn converted(value: CExpr, from: Precision) -> CExpr {
    match from {
        Precision::R
        | Precision::F32
        | Precision::Bf16
        | Precision::F16
        | Precision::I8
        | Precision::I16
        | Precision::Ui8
        | Precision::Ui16 => CExpr::call("exo_bf16_from_float", vec![value]),
        Precision::F64 | Precision::I32 | Precision::I64 | Precision::Ui32 => {
            CExpr::call("exo_bf16_from_double", vec![value])
        }
    }
}

/// What `place += value` stores.
pub fn reduced(place: CExpr, value: CExpr, from: Precision) -> CExpr {
    let addend = if from == Precision::Bf16 { value } else { read(converted(value, from)) };
    converted(CExpr::binary(COp::Add, read(place), addend), Precision::Bf16)
}

/// The nearest value of the precision, for literals; ties go to even.
pub fn rounded(value: f64) -> f64 {
    if !value.is_finite() || value == 0.0 {
        return value;
    }
    // The place of the last of eight significant bits; below the normal range it stays where it is.
    let exponent = ((value.abs().to_bits() >> 52) as i32 - 1023).max(-126);
    let unit = 2f64.powi(exponent - 7);
    let result = (value / unit).round_ties_even() * unit;
    if result.abs() > f64::from(f32::from_bits(0x7f7f_0000)) { f64::INFINITY.copysign(value) } else { result }
}
