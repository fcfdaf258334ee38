//! Memories: where a buffer lives and how C declares, addresses and frees it there.

use std::sync::{Arc, OnceLock};

use crate::diagnostic::Refusal;
use crate::hardware::extern_function::ExternFunction;
use crate::hardware::precision::Precision;
use crate::symbol::Identity;

/// A memory. Compared by identity: two memories of one name from two packs are different.
#[derive(Clone)]
pub struct Memory(Arc<MemoryDefinition>);

pub struct MemoryDefinition {
    pub identity: Identity,
    pub name: String,
    /// A buffer in this memory may be passed where `base` (or its bases) is expected.
    pub base: Option<Memory>,
    pub kind: MemoryKind,
    /// Whether C may read single elements.
    pub can_read: bool,
    /// Bytes (or registers) it holds, for analyses; `None` when unlimited.
    pub capacity: Option<i64>,
    /// How tests fill and read a buffer of it, where its variables are not the bytes of their elements.
    pub copies: Option<Copies>,
}

/// C templates between a whole buffer and ordinary memory. They may say `{register}` (the variable), `{elements}` (a
/// pointer to the first of the dense elements), `{count}` (how many), and `{d0}`, `{d1}`, … (the extents).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copies {
    pub fill: String,
    pub drain: String,
}

/// Who writes a memory's C text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryKind {
    /// The heap, through `malloc` and `free`.
    Dram,
    /// A C array in the function's frame; literal extents only.
    DramStack,
    /// A `static` C array; literal extents only.
    DramStatic,
    /// The heap of a platform's own allocator, `malloc_dram` and `free_dram`.
    DramMalloc,
    /// The base of memories that hold a few numbered places, such as tile registers. It holds nothing itself.
    Chunks,
    /// A user's memory: text comes from its Starlark functions, see [`MemoryHooks`].
    User,
}

impl Memory {
    pub fn new(definition: MemoryDefinition) -> Self {
        Memory(Arc::new(definition))
    }

    /// The default memory.
    pub fn dram() -> Self {
        static DRAM: OnceLock<Memory> = OnceLock::new();
        DRAM.get_or_init(|| Memory::builtin("DRAM", None, MemoryKind::Dram)).clone()
    }

    pub fn dram_stack() -> Self {
        static STACK: OnceLock<Memory> = OnceLock::new();
        STACK.get_or_init(|| Memory::builtin("DRAM_STACK", Some(Memory::dram()), MemoryKind::DramStack)).clone()
    }

    pub fn dram_static() -> Self {
        static STATIC: OnceLock<Memory> = OnceLock::new();
        STATIC.get_or_init(|| Memory::builtin("DRAM_STATIC", Some(Memory::dram()), MemoryKind::DramStatic)).clone()
    }

    /// Memory from the allocator that the platform provides.
    pub fn mdram() -> Self {
        static MDRAM: OnceLock<Memory> = OnceLock::new();
        MDRAM.get_or_init(|| Memory::builtin("MDRAM", Some(Memory::dram()), MemoryKind::DramMalloc)).clone()
    }

    /// The base of memories with numbered places.
    pub fn static_memory() -> Self {
        static CHUNKS: OnceLock<Memory> = OnceLock::new();
        CHUNKS.get_or_init(|| Memory::builtin("StaticMemory", None, MemoryKind::Chunks)).clone()
    }

    /// The memories of the prelude, under Exo's names.
    pub fn builtins() -> [Memory; 5] {
        [Memory::dram(), Memory::dram_stack(), Memory::dram_static(), Memory::mdram(), Memory::static_memory()]
    }

    /// This memory and its bases, nearest first.
    pub fn chain(&self) -> impl Iterator<Item = &Memory> {
        std::iter::successors(Some(self), |memory| memory.0.base.as_ref())
    }

    /// Whether a buffer here is one and the same for all calls and threads.
    pub fn is_static(&self) -> bool {
        self.chain().any(|memory| matches!(memory.kind, MemoryKind::DramStatic | MemoryKind::Chunks))
    }

    /// The memory whose numbered places buffers here take: the one just above `StaticMemory`.
    pub fn pool(&self) -> Option<&Memory> {
        let mut pool = None;
        for memory in self.chain() {
            if memory.kind == MemoryKind::Chunks {
                return pool;
            }
            pool = Some(memory);
        }
        None
    }

    fn builtin(name: &str, base: Option<Memory>, kind: MemoryKind) -> Self {
        Memory::new(MemoryDefinition {
            identity: Identity::fresh(),
            name: name.into(),
            base,
            kind,
            can_read: kind != MemoryKind::Chunks,
            capacity: None,
            copies: None,
        })
    }

    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Whether a buffer here may be passed where `expected` is asked for.
    pub fn fits(&self, expected: &Memory) -> bool {
        self.chain().any(|memory| memory == expected)
    }
}

impl std::ops::Deref for Memory {
    type Target = MemoryDefinition;
    fn deref(&self) -> &MemoryDefinition {
        &self.0
    }
}

impl PartialEq for Memory {
    fn eq(&self, other: &Self) -> bool {
        self.0.identity == other.0.identity
    }
}

impl Eq for Memory {}

impl std::fmt::Debug for Memory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0.name)
    }
}

/// One question to a user's memory. Strings are C text; `shape`, `indices` and `strides` go outermost first.
#[derive(Clone, Debug)]
pub enum MemoryQuestion<'a> {
    /// C emitted once for the memory.
    Global,
    /// `chunk` is the number of the place, for memories that are based on `StaticMemory`.
    Alloc {
        name: &'a str,
        c_type: &'a str,
        shape: &'a [String],
        chunk: Option<i64>,
    },
    Free {
        name: &'a str,
        c_type: &'a str,
        shape: &'a [String],
        chunk: Option<i64>,
    },
    /// The lvalue of the addressed element. `is_window`: `base` is a window struct rather than a pointer.
    Window {
        c_type: &'a str,
        is_window: bool,
        base: &'a str,
        indices: &'a [String],
        strides: &'a [String],
    },
    Read {
        place: &'a str,
    },
    Write {
        lhs: &'a str,
        rhs: &'a str,
    },
    Reduce {
        lhs: &'a str,
        rhs: &'a str,
    },
}

/// Answers for the C text that user code (memories, externs) writes. The script host implements it.
pub trait Hooks {
    /// The text, or `None` where the memory (and its bases) does not define that function.
    fn memory(&self, memory: &Memory, question: &MemoryQuestion<'_>) -> Result<Option<String>, Refusal>;

    /// Whether the memory or one of its bases has a function of that name, such as `window`.
    fn defines(&self, memory: &Memory, function: &str) -> bool;

    /// The C expression of a call to a user's extern; arguments are C text, `c_type` its element type.
    fn extern_call(&self, function: &ExternFunction, arguments: &[String], c_type: &str) -> Result<String, Refusal>;

    /// The precision that an extern of the user says it gives for arguments of these; `None` where it says nothing.
    fn extern_type(&self, function: &ExternFunction, arguments: &[Precision]) -> Result<Option<Precision>, Refusal> {
        let _ = (function, arguments);
        Ok(None)
    }

    /// C emitted once for an extern at one element type.
    fn extern_global(&self, function: &ExternFunction, c_type: &str) -> Result<String, Refusal>;
}
