//! Scalar data types of buffers.

/// The element type of a buffer. `R` is abstract and becomes `f32` just before C is generated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Precision {
    R,
    F16,
    F32,
    F64,
    Bf16,
    I8,
    I16,
    I32,
    I64,
    Ui8,
    Ui16,
    Ui32,
}

impl Precision {
    pub const ALL: [Precision; 12] = [
        Precision::R,
        Precision::F16,
        Precision::F32,
        Precision::F64,
        Precision::Bf16,
        Precision::I8,
        Precision::I16,
        Precision::I32,
        Precision::I64,
        Precision::Ui8,
        Precision::Ui16,
        Precision::Ui32,
    ];

    /// The word of the object language.
    pub fn word(self) -> &'static str {
        match self {
            Precision::R => "R",
            Precision::F16 => "f16",
            Precision::F32 => "f32",
            Precision::F64 => "f64",
            Precision::Bf16 => "bf16",
            Precision::I8 => "i8",
            Precision::I16 => "i16",
            Precision::I32 => "i32",
            Precision::I64 => "i64",
            Precision::Ui8 => "ui8",
            Precision::Ui16 => "ui16",
            Precision::Ui32 => "ui32",
        }
    }

    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|precision| precision.word() == word)
    }

    /// The C type of one element.
    pub fn c_type(self) -> &'static str {
        match self {
            Precision::R | Precision::F32 => "float",
            Precision::F16 => "_Float16",
            Precision::F64 => "double",
            // No compiler computes with it everywhere, so the header defines it; see `codegen/bfloat.rs`.
            Precision::Bf16 => "exo_bf16",
            Precision::I8 => "int8_t",
            Precision::I16 => "int16_t",
            Precision::I32 => "int32_t",
            Precision::I64 => "int64_t",
            Precision::Ui8 => "uint8_t",
            Precision::Ui16 => "uint16_t",
            Precision::Ui32 => "uint32_t",
        }
    }

    /// `R` resolved to the default precision.
    pub fn concrete(self) -> Self {
        match self {
            Precision::R => Precision::F32,
            other => other,
        }
    }

    /// An integer that C computes wider than it is stored.
    pub fn is_narrow(self) -> bool {
        matches!(self, Precision::I8 | Precision::I16 | Precision::Ui8 | Precision::Ui16)
    }

    pub fn is_unsigned(self) -> bool {
        matches!(self, Precision::Ui8 | Precision::Ui16 | Precision::Ui32)
    }

    pub fn is_float(self) -> bool {
        match self {
            Precision::R | Precision::F16 | Precision::F32 | Precision::F64 | Precision::Bf16 => true,
            Precision::I8
            | Precision::I16
            | Precision::I32
            | Precision::I64
            | Precision::Ui8
            | Precision::Ui16
            | Precision::Ui32 => false,
        }
    }
}
