//! C text for buffers in a memory: declaration, release, address, read, write.

use crate::codegen::c_tree::{CArray, CExpr, COp, CStmt};
use crate::codegen::externs::argument_text;
use crate::codegen::literals;
use crate::codegen::unit::{Helper, Layout, Unit, builtin_base};
use crate::diagnostic::{Diagnostic, codes};
use crate::hardware::memory::{Memory, MemoryQuestion};
use crate::loop_ir::build;
use crate::loop_ir::expression::Expr;
use crate::source::Span;

/// A platform defines these two functions; where it does not, the C library's heap serves.
const PLATFORM_HEAP: &str = "#include <stddef.h>
#include <stdlib.h>
#if defined(__GNUC__)
__attribute__((weak)) void *malloc_dram(size_t size) { return malloc(size); }
__attribute__((weak)) void free_dram(void *address) { free(address); }
#else
void *malloc_dram(size_t size);
void free_dram(void *address);
#endif
";

/// The largest emulated buffer that lives in the frame of its function, in elements.
const EMULATED_ON_STACK: i64 = 4096;

/// No array of C has more elements, whatever their type: its size in bytes has to be a number of the machine.
const MOST_ELEMENTS: i64 = i64::MAX >> 3;

/// Refuses a buffer that the literal extents alone make larger than the address space. C compilers would take the indices
/// modulo its size, or say so in words of their own.
pub fn check_size(unit: &mut Unit<'_>, name: &str, shape: &[Expr], span: &Span) {
    let literals = shape.iter().filter_map(build::int_value);
    let elements = literals.into_iter().try_fold(1i64, |product, extent| product.checked_mul(extent));
    if elements.is_none_or(|elements| elements > MOST_ELEMENTS) {
        let message = format!("`{name}` is too large for any machine");
        unit.errors.push(Diagnostic::error(codes::MEMORY, message).at(span, "declared here"));
    }
}

/// A buffer as C sees it: name, element type, extents (outermost first).
pub struct CBuffer<'b> {
    pub memory: &'b Memory,
    pub name: &'b str,
    pub ty: &'static str,
    pub extents: &'b [CExpr],
    /// The number of its place, where the memory counts places.
    pub chunk: Option<i64>,
    /// A scalar of the machine starts at zero, since something may read it before it is written.
    pub cleared: bool,
    pub span: &'b Span,
}

impl Unit<'_> {
    /// Asks the functions of a user's memory, and notes their text.
    fn ask(&mut self, memory: &Memory, question: &MemoryQuestion<'_>, span: &Span) -> Option<String> {
        match self.hooks.memory(memory, question) {
            Ok(answer) => {
                if let Some(text) = &answer {
                    match question {
                        MemoryQuestion::Global => self.note_global_answer(text),
                        _ => self.note_answer(text),
                    }
                }
                answer
            }
            Err(refusal) => {
                self.refused(refusal, span);
                None
            }
        }
    }

    pub fn memory_global(&mut self, memory: &Memory, span: &Span) -> Option<String> {
        const STANDARD: &str = "#include <stdio.h>\n#include <stdlib.h>\n";
        match self.layout(memory) {
            Layout::Heap | Layout::Stack | Layout::Static | Layout::Emulated => Some(STANDARD.to_string()),
            Layout::PlatformHeap => Some(PLATFORM_HEAP.to_string()),
            Layout::User => {
                let own = self.ask(memory, &MemoryQuestion::Global, span);
                own.or_else(|| builtin_base(memory).map(|_| STANDARD.to_string()))
            }
        }
    }

    pub fn alloc(&mut self, buffer: &CBuffer<'_>) -> Option<CStmt> {
        match self.layout(buffer.memory) {
            Layout::User => {
                let shape = self.extents_text(buffer);
                let question =
                    MemoryQuestion::Alloc { name: buffer.name, c_type: buffer.ty, shape: &shape, chunk: buffer.chunk };
                let errors = self.errors.len();
                match self.ask(buffer.memory, &question, buffer.span) {
                    Some(text) => Some(CStmt::Raw(text)),
                    None if self.errors.len() > errors => None,
                    None => match builtin_base(buffer.memory) {
                        Some(base) => self.alloc(&CBuffer { memory: &base, ..*buffer }),
                        None => self.cannot(buffer.memory, "allocate", buffer.span, None),
                    },
                }
            }
            Layout::PlatformHeap if !buffer.extents.is_empty() => Some(self.heap_alloc("malloc_dram", buffer)),
            layout => self.plain_alloc(layout, buffer),
        }
    }

    fn plain_alloc(&mut self, layout: Layout, buffer: &CBuffer<'_>) -> Option<CStmt> {
        let literal = literal_extents(buffer.extents);
        if is_heap(layout, buffer.extents) {
            return Some(self.heap_alloc("malloc", buffer));
        }
        let Some(extents) = literal else {
            let message = format!("{} holds buffers of literal extents only", buffer.memory.name());
            self.errors.push(
                Diagnostic::error(codes::MEMORY, message)
                    .at(buffer.span, "an extent is not a literal")
                    .hint("use DRAM, or make the extents literals"),
            );
            return None;
        };
        let is_static = layout == Layout::Static;
        let cleared = buffer.cleared && !is_static;
        Some(CStmt::Array(CArray { ty: buffer.ty, name: buffer.name.to_string(), is_static, cleared, extents }))
    }

    fn heap_alloc(&mut self, allocator: &'static str, buffer: &CBuffer<'_>) -> CStmt {
        self.helper(Helper::Allocate);
        let (ty, name) = (buffer.ty, buffer.name.to_string());
        CStmt::Malloc { ty, name, allocator, extents: buffer.extents.to_vec() }
    }

    pub fn free(&mut self, buffer: &CBuffer<'_>) -> Option<CStmt> {
        match self.layout(buffer.memory) {
            Layout::User => {
                let shape = self.extents_text(buffer);
                let question =
                    MemoryQuestion::Free { name: buffer.name, c_type: buffer.ty, shape: &shape, chunk: buffer.chunk };
                match self.ask(buffer.memory, &question, buffer.span) {
                    Some(text) if text.is_empty() => None,
                    Some(text) => Some(CStmt::Raw(text)),
                    None => {
                        let base = builtin_base(buffer.memory)?;
                        self.free(&CBuffer { memory: &base, ..*buffer })
                    }
                }
            }
            Layout::PlatformHeap if !buffer.extents.is_empty() => {
                Some(CStmt::Raw(format!("free_dram({});", buffer.name)))
            }
            layout => is_heap(layout, buffer.extents).then(|| CStmt::Free(buffer.name.to_string())),
        }
    }

    /// Whether the variable of a buffer is a heap pointer, which its `free` mentions.
    pub fn is_heap_buffer(&self, memory: &Memory, extents: &[CExpr]) -> bool {
        let layout = self.layout(memory);
        is_heap(layout, extents) || (layout == Layout::PlatformHeap && !extents.is_empty())
    }

    /// Extents as a memory's functions get them: in parentheses unless they are one token.
    fn extents_text(&self, buffer: &CBuffer<'_>) -> Vec<String> {
        buffer
            .extents
            .iter()
            .map(|extent| match extent {
                CExpr::Int(_) | CExpr::Token(_) => extent.text(),
                other => other.clone().paren().text(),
            })
            .collect()
    }

    /// The lvalue of the element at `indices`, as windows and instructions address it.
    pub fn window_place(&mut self, base: &WindowBase<'_>, indices: &[CExpr], strides: &[CExpr]) -> CExpr {
        let default = |base: &WindowBase<'_>| {
            let name = CExpr::token(base.name);
            let pointer = if base.is_struct { name.member("data") } else { name };
            pointer.index(window_offset(indices, strides))
        };
        if self.layout(base.memory) != Layout::User {
            return default(base);
        }
        let indices_text: Vec<String> = indices.iter().map(CExpr::atom_text).collect();
        let strides_text: Vec<String> = strides.iter().map(CExpr::atom_text).collect();
        let question = MemoryQuestion::Window {
            c_type: base.ty,
            is_window: base.is_struct,
            base: base.name,
            indices: &indices_text,
            strides: &strides_text,
        };
        match self.ask(base.memory, &question, base.span) {
            Some(text) => CExpr::Raw(text),
            None => default(base),
        }
    }

    /// Whether the functions of a memory say where elements lie.
    pub fn addresses(&self, memory: &Memory) -> bool {
        self.layout(memory) == Layout::User && self.hooks.defines(memory, "window")
    }

    /// Whether plain C may read single elements.
    pub fn reads(&self, memory: &Memory) -> bool {
        self.layout(memory) != Layout::User || memory.can_read
    }

    /// Whether plain C may write single elements, or add to them.
    pub fn writes(&self, memory: &Memory, reduce: bool) -> bool {
        self.layout(memory) != Layout::User
            || builtin_base(memory).is_some()
            || self.hooks.defines(memory, if reduce { "reduce" } else { "write" })
    }

    /// The value of one element of a memory that can be read; `place` is its lvalue.
    pub fn read(&mut self, memory: &Memory, place: CExpr, span: &Span) -> CExpr {
        if self.layout(memory) != Layout::User {
            return place;
        }
        match self.ask(memory, &MemoryQuestion::Read { place: &place.atom_text() }, span) {
            Some(text) => CExpr::Raw(text),
            None => place,
        }
    }

    /// The statement that writes one element, or adds to it, of a memory that can be written.
    pub fn write(&mut self, memory: &Memory, lhs: CExpr, reduce: bool, rhs: CExpr, span: &Span) -> Option<CStmt> {
        if self.layout(memory) == Layout::User {
            let (left, right) = (lhs.atom_text(), argument_text(&rhs));
            let question = match reduce {
                true => MemoryQuestion::Reduce { lhs: &left, rhs: &right },
                false => MemoryQuestion::Write { lhs: &left, rhs: &right },
            };
            let errors = self.errors.len();
            if let Some(text) = self.ask(memory, &question, span) {
                return Some(CStmt::Raw(text));
            }
            if self.errors.len() > errors {
                return None;
            }
        }
        Some(CStmt::Assign { lhs, reduce, rhs })
    }

    /// `place` is the element in question as C would name it; steps of a schedule leave no better place behind.
    pub fn cannot(&mut self, memory: &Memory, what: &str, span: &Span, place: Option<&str>) -> Option<CStmt> {
        let object = if what == "allocate" { " buffers" } else { "" };
        let detail = if what == "write" || what == "reduce into" { " single elements" } else { object };
        let mut refusal = Diagnostic::error(codes::MEMORY, format!("{} cannot {what}{detail}", memory.name()))
            .at(span, "needed here")
            .hint("use one of the memory's own instructions (`replace`), or another memory (`set_memory`)");
        if let Some(place) = place {
            refusal = refusal.note(format!("no instruction covers `{place}`, so plain C would have to touch it"));
        }
        self.errors.push(refusal);
        None
    }
}

/// What a window is taken from.
pub struct WindowBase<'b> {
    pub memory: &'b Memory,
    pub name: &'b str,
    pub ty: &'static str,
    /// `name` is a window struct rather than a pointer.
    pub is_struct: bool,
    pub span: &'b Span,
}

fn literal_extents(extents: &[CExpr]) -> Option<Vec<i64>> {
    extents
        .iter()
        .map(|extent| match extent {
            CExpr::Int(value) => Some(*value),
            _ => None,
        })
        .collect()
}

fn is_heap(layout: Layout, extents: &[CExpr]) -> bool {
    if extents.is_empty() {
        return false;
    }
    match layout {
        Layout::Heap => true,
        Layout::Stack | Layout::Static | Layout::PlatformHeap | Layout::User => false,
        Layout::Emulated => {
            let elements = literal_extents(extents)
                .and_then(|extents| extents.into_iter().try_fold(1i64, |product, e| product.checked_mul(e)));
            elements.is_none_or(|elements| elements > EMULATED_ON_STACK)
        }
    }
}

/// The offset of an element in the format that windows use: `(index) * stride`, without factors of one and terms of
/// zero (spec/01, 4.1).
fn window_offset(indices: &[CExpr], strides: &[CExpr]) -> CExpr {
    let mut sum: Option<CExpr> = None;
    for (index, stride) in indices.iter().zip(strides) {
        let term = match (index, stride) {
            (CExpr::Int(0), _) | (_, CExpr::Int(0)) => continue,
            (index, CExpr::Int(1)) => index.clone(),
            (CExpr::Int(1), stride) => stride.clone(),
            (index, stride) => literals::folded(COp::Mul, index, stride).unwrap_or_else(|| {
                let stride = if stride.text().len() == 1 { stride.clone() } else { stride.clone().paren() };
                CExpr::binary(COp::Mul, CExpr::Paren(Box::new(index.clone())), stride)
            }),
        };
        sum = Some(match sum {
            Some(sum) => literals::folded(COp::Add, &sum, &term).unwrap_or_else(|| CExpr::binary(COp::Add, sum, term)),
            None => term,
        });
    }
    sum.unwrap_or(CExpr::Int(0))
}
