//! The state of one compilation: what the functions need from each other and from the file around them.

use std::collections::{BTreeMap, BTreeSet};

use crate::codegen::context::Context;
use crate::codegen::foreign_words::ForeignWords;
use crate::codegen::problems::Problems;
use crate::codegen::reach::Reach;
use crate::codegen::template;
use crate::codegen::usage::Usage;
use crate::diagnostic::{Diagnostic, Refusal, codes};
use crate::hardware::memory::{Hooks, Memory, MemoryKind};
use crate::hardware::precision::Precision;
use crate::source::Span;
use crate::symbol::Identity;

/// A window struct of the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct WindowStruct {
    pub rank: usize,
    pub precision: Precision,
    pub constant: bool,
}

impl WindowStruct {
    pub fn name(self) -> String {
        let suffix = if self.constant { "c" } else { "" };
        format!("exo_win_{}{}{suffix}", self.rank, self.precision.concrete().word())
    }
}

/// Static functions that index arithmetic and allocations may need.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Helper {
    FloorDiv,
    FloorMod,
    Allocate,
}

impl Helper {
    pub fn name(self) -> &'static str {
        match self {
            Helper::FloorDiv => "exo_floor_div",
            Helper::FloorMod => "exo_floor_mod",
            Helper::Allocate => "exo_allocate",
        }
    }
}

pub struct Unit<'a> {
    pub hooks: &'a dyn Hooks,
    pub emulate: bool,
    /// Whether exported functions check their arguments.
    pub checked: bool,
    /// Whether pointers of a function may be declared distinct: every call was proven to keep that, none waived.
    pub distinct: bool,
    pub reach: &'a Reach,
    pub context: Context,
    pub usage: Usage,
    pub windows: BTreeSet<WindowStruct>,
    pub helpers: BTreeSet<Helper>,
    /// Text that an extern needs once for a C type, sorted by name and type.
    pub extern_globals: BTreeMap<(String, String, Identity), String>,
    pub needs_math: bool,
    pub has_parallel_loop: bool,
    /// Words of user-written C that variables keep clear of.
    pub foreign: ForeignWords,
    /// Whether variables get names that no user-written C can hold, to tell the words of such C from theirs.
    pub marked: bool,
    /// Words of user-written C inside of functions: what functions of memories and externs answered, and those that
    /// instructions glue together.
    pub answered: BTreeSet<String>,
    /// The same for code before all functions.
    pub answered_once: BTreeSet<String>,
    /// Whether an answer for the inside of a function defines macros, as of the names of variables.
    pub defines_macros: bool,
    raw: Vec<String>,
    raw_seen: BTreeSet<String>,
    pub errors: Problems,
}

impl<'a> Unit<'a> {
    pub fn new(hooks: &'a dyn Hooks, emulate: bool, reach: &'a Reach, context: Context) -> Self {
        Unit {
            hooks,
            emulate,
            checked: false,
            distinct: reach.functions.iter().all(|function| function.proc.lineage.waived.is_empty()),
            reach,
            context,
            usage: Usage::default(),
            windows: BTreeSet::new(),
            helpers: BTreeSet::new(),
            extern_globals: BTreeMap::new(),
            needs_math: false,
            has_parallel_loop: false,
            foreign: ForeignWords::default(),
            marked: false,
            answered: BTreeSet::new(),
            answered_once: BTreeSet::new(),
            defines_macros: false,
            raw: Vec::new(),
            raw_seen: BTreeSet::new(),
            errors: Problems::default(),
        }
    }

    /// Notes a piece of C that user code wrote; each is kept once, in order of first use.
    pub fn note_raw(&mut self, text: &str) {
        if !text.is_empty() && self.raw_seen.insert(text.to_string()) {
            self.raw.push(text.to_string());
        }
    }

    /// Notes what a function of a memory or of an extern wrote for the inside of a function.
    pub fn note_answer(&mut self, text: &str) {
        self.note_raw(text);
        self.defines_macros |= template::object_macros(text).next().is_some();
        self.answered.extend(template::words(text));
    }

    /// Notes what one wrote for the top of the file.
    pub fn note_global_answer(&mut self, text: &str) {
        self.note_raw(text);
        self.answered_once.extend(template::macro_identifiers(text));
    }

    pub fn take_raw(&mut self) -> Vec<String> {
        std::mem::take(&mut self.raw)
    }

    /// The name of a window struct, which the header then defines.
    pub fn window_struct(&mut self, rank: usize, precision: Precision, constant: bool) -> String {
        let window = WindowStruct { rank, precision: precision.concrete(), constant };
        self.windows.insert(window);
        window.name()
    }

    pub fn helper(&mut self, helper: Helper) -> &'static str {
        self.helpers.insert(helper);
        helper.name()
    }

    /// Takes over what a hook refused, at the place that asked.
    pub fn refused(&mut self, refusal: Refusal, span: &Span) {
        if refusal.diagnostics.is_empty() {
            self.errors.push(Diagnostic::error(codes::MEMORY, "refused").at(span, "needed here"));
        }
        for mut diagnostic in refusal.diagnostics {
            if diagnostic.primary.is_none() {
                diagnostic = diagnostic.at(span, "needed here");
            }
            self.errors.push(diagnostic);
        }
    }

    /// Reports a tree that earlier checks do not let through; the span says where it came from.
    pub fn malformed(&mut self, what: &str, span: &Span) {
        self.errors.push(Diagnostic::error(codes::TYPE, format!("{what} has no C form")).at(span, "found here"));
    }

    /// How buffers in a memory are laid out: by one of the built-in kinds, or by the text of its functions.
    pub fn layout(&self, memory: &Memory) -> Layout {
        match (memory.kind, self.emulate) {
            (MemoryKind::Dram, _) => Layout::Heap,
            (MemoryKind::DramStack, _) => Layout::Stack,
            (MemoryKind::DramStatic, _) => Layout::Static,
            (MemoryKind::DramMalloc, _) => Layout::PlatformHeap,
            (MemoryKind::User | MemoryKind::Chunks, true) => Layout::Emulated,
            (MemoryKind::User | MemoryKind::Chunks, false) => Layout::User,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    Heap,
    Stack,
    Static,
    /// The heap of `malloc_dram`.
    PlatformHeap,
    /// A user's memory as a plain array: on the stack where it is small and of literal extents, else on the heap.
    Emulated,
    User,
}

/// The built-in memory among the bases of a memory.
pub fn builtin_base(memory: &Memory) -> Option<Memory> {
    memory.chain().skip(1).find(|base| !matches!(base.kind, MemoryKind::User | MemoryKind::Chunks)).cloned()
}
