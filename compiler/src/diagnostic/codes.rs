//! Every error code once, with the sentence `exo explain` opens with.

/// A code such as `E0302`. Compare codes, never message texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Code(pub &'static str);

impl std::fmt::Display for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0)
    }
}

/// One entry of the table: the code, its short title, and its explanation (several sentences, with a remedy).
pub struct Entry {
    pub code: Code,
    pub title: &'static str,
    pub explanation: &'static str,
}

macro_rules! codes {
    ($($name:ident = $text:literal, $title:literal, $explanation:literal;)*) => {
        $(pub const $name: Code = Code($text);)*
        /// All codes in order, for `exo explain` and the reference.
        pub const ALL: &[Entry] = &[$(Entry { code: $name, title: $title, explanation: $explanation }),*];
    };
}

codes! {
    // 00xx: reading text
    SYNTAX = "E0001", "syntax error",
        "The text is not valid Python syntax. The caret shows the first place that could not be read; the mistake is there or shortly before it.";
    NOT_IN_DIALECT = "E0002", "Python that the dialect lacks",
        "Host code is Starlark: Python's syntax without unbounded loops, exceptions, classes and I/O, so that a pack computes the same on every machine. The message names the construct and how to write the same thing here.";
    OBJECT_SYNTAX = "E0003", "construct outside the object language",
        "The bodies of `@proc`, `@instr` and `@config` definitions are object code: loops over `seq` or `par`, `if`, assignments, reductions, allocations, windows and calls. Move everything else into host code.";
    UNDEFINED_NAME = "E0004", "undefined name",
        "Object code mentions a name that is neither bound in the definition nor visible in the host code around it. A scalar is declared before it is assigned (`x: f32`); what an `if` or a loop declares ends with it; a name of another module has to be imported. In quoted code a name is looked up where the quote stands, not where it is spliced.";
    PATTERN = "E0005", "malformed pattern or fragment",
        "A pattern or an expression given to a scheduling operator could not be read. Patterns use the object language with `_` for holes and an optional ` #k` for the k-th match.";
    // 01xx: types
    TYPE = "E0101", "type error",
        "An expression or statement of object code does not fit the type rules: data never decides control, index arithmetic is affine, and every access gives one index for each dimension. Sizes and iterators cannot be stored in buffers and data cannot index or be compared; `select(x, v, y, z)` chooses between data values, and a product of two variables needs one of them fixed (`partial_eval`, or a number of the host code).";
    CALL = "E0102", "call does not fit its callee",
        "The arguments of a call must agree with the callee's parameters in number, kind, rank, shape, memory and precision. Scalars are passed by reference, so a value is first assigned to a scalar; a part of a buffer is passed to a window parameter, `[f32][n]`. Parameters may be named: `f(n = 4, x = y[0:4])`.";
    // 02xx: safety of definitions
    BOUNDS = "E0201", "access may be out of bounds",
        "The checker could not show that every access stays inside its buffer or window for all values the control variables can take. Add an assert that limits the sizes, or correct the index.";
    EXTENT = "E0202", "extent may be negative or empty",
        "Extents of loops and windows must not be negative, and sizes, allocations and parameters need at least one element in each dimension; a window that may be empty can be declared and looped over, and passed under an `if`. State what is known of the sizes first: `assert n >= 2` lets a loop run from 1 to `n - 1`.";
    ASSERTION = "E0203", "assertion could not be shown",
        "A callee states a precondition with `assert`. At the call it must follow from what is known there: the caller's own asserts, loop bounds, and conditions around the call.";
    ALIASING = "E0204", "arguments may alias",
        "Two arguments of one call reach the same buffer and the callee writes one of them. Callees assume that their buffers are distinct, and C is told so. Pass windows that provably do not overlap, copy one of the arguments first, or write a proc that takes the buffer once.";
    RACE = "E0205", "iterations of a parallel loop conflict",
        "Two iterations of a `par` loop touch one location and at least one of them writes it, so the result would depend on which comes first. Sums into one place count as well: sum into one element for each iteration and add those up afterwards. A buffer that is only used within one iteration is allocated inside of the loop; static memory is shared by all iterations.";
    UNWRITTEN = "E0206", "nothing was written before this read",
        "A warning of `exo check`. The statement reads a local buffer, and no write that can come before it reaches the element, so its value is whatever happens to be in memory. Write the buffer first, or make it a parameter if the caller gives its values. Reads that see a write for some values of the sizes, or in some iterations only, are not named; `exo test` finds those whose values reach an output.";
    STRIDES = "E0207", "elements of a window overlap",
        "The asserts fix strides of a window parameter with which two of its elements are one place in memory, and the procedure writes the window. Whatever is proven of a procedure takes different elements to be different places. A window that is only read may have such strides: `assert stride(x, 0) == 0` repeats a row.";
    // 03xx: scheduling
    REFUSED = "E0301", "operator refused",
        "The operator's condition could not be shown, so the rewrite might change what the program computes. The note gives the condition in your names and, where there is one, values for which it fails. Either the step is wrong for those values, or the proc does not say what rules them out: an `assert` at its start (`assert n % 8 == 0`) or another variant of the operator (`tail = \"cut\"`) helps then. `exo help OPERATOR` tells what is required.";
    NO_MATCH = "E0302", "pattern matches nothing",
        "The pattern was not found in the proc. Print the proc to see its current shape; `_` matches anything and `#k` picks the k-th match.";
    INVALID_CURSOR = "E0303", "cursor points to nothing",
        "The place that the cursor pointed to does not exist in this version of the proc. A cursor survives a step unless the step deletes its place; `p.forward(cursor)` says where it is now. Find the place again after such a step, with a pattern or by navigation.";
    ARGUMENT = "E0304", "wrong argument",
        "An argument of an operator has the wrong kind or value: a string where a number is expected, a pattern that finds a loop where an assignment is needed, a name that the proc already uses. `exo help OPERATOR` lists the arguments and shows an example.";
    UNIFICATION = "E0305", "code does not match the instruction",
        "`replace` found a difference between the code and the body of the procedure that should replace it. The code must be the body up to names, with loops in the same order and of the same extent; buffers may be larger and at an offset. The note shows the first place that differs: bring the code into that form first (`reorder_loops`, `bind_expr`, `stage_mem`, `commute_expr`).";
    NOT_EQUIVALENT = "E0306", "procs are not known to be equivalent",
        "The two procs do not derive from one algorithm by proven steps, so nothing shows that one may stand for the other. `call_eqv` needs a proc that was made from the callee by scheduling operators. `partial_eval`, `add_assertion`, `transpose` and a change of precision begin a new family.";
    UNEQUAL = "E0307", "procs computed different results",
        "The reference interpreter ran both procs on the same inputs and the outputs differ, or one of them went out of bounds or read what nothing had written. The note gives the sizes and the first element that differs; run the test with those sizes alone to look closer.";
    LIBRARY = "E0308", "refused by a library",
        "Library code called `refuse(...)`; the message is the library's own, and `attempt` sees it like any other refusal. The stack shows which function refused; its pack's documentation tells what it asks of a proc or a target.";
    UNRELATED_CURSOR = "E0309", "cursor of another procedure",
        "The cursor belongs to a proc that the given one does not derive from: another definition, a version that was made from another branch of the schedule, or one that lies before `partial_eval`, `add_assertion` or `transpose`, which begin a new history. Find the place again in the proc at hand.";
    // 04xx: host code
    HOST = "E0401", "error in host code",
        "Starlark code failed: a wrong type, a missing key, a wrong number of arguments. The place is that of the innermost call, and the stack shows how it came there. Host code has Python's syntax, but its own library: strings, lists, dicts, sets and functions, without modules of Python.";
    LIMIT = "E0402", "evaluation limit reached",
        "Evaluation is bounded in steps, memory, call depth and time so that a pack cannot hang or exhaust a machine. The message names the limit and how to raise it.";
    IMPORT = "E0403", "import cannot be resolved",
        "The imported pack is not a dependency, the module does not exist, or it does not define the name. `exo add PACK` makes a pack a dependency; `from .tiles import f` takes `f` from `src/tiles.exo` of this pack; names with a leading underscore stay private to their module.";
    FAILED = "E0404", "failed on purpose",
        "Host code called `fail(...)`. Unlike a refusal this ends the evaluation: `attempt` does not catch it. It marks mistakes in how a library is used; what `attempt` should see is said with `refuse(message)`.";
    TEST = "E0405", "test failed",
        "An assertion of a test did not hold; the message shows both values, and the place is that of the call. `exo test FILTER` runs only the tests whose name contains the filter.";
    // 05xx: generating C
    MEMORY = "E0501", "memory cannot do this",
        "A memory refuses an allocation, a read or a write. Register memories, for example, are only touched by their own instructions: a statement that still reads or writes single elements matched none of them. `exo show KERNEL` prints the proc after each step; split such a statement until each part is the body of an instruction (`bind_expr`, `fission`), then `replace_all`.";
    PRECISION = "E0502", "precisions do not agree",
        "Operands of one expression must have one precision; only an assignment converts. Assign one operand to a scalar or buffer of the other precision first (`bind_expr` and `set_precision` do it in a schedule). A literal takes the precision of what stands beside it, and must be a value of it.";
    EXPORT = "E0503", "exported names clash",
        "Two exported procs, or an exported proc and a word that C or its library owns, would get the same C name, or the header the name of one that C includes. Rename one (`rename(p, \"name\")`), or leave it out of what is exported: names with a leading underscore and names that `__all__` does not list stay inside.";
    TEMPLATE = "E0504", "malformed instruction template",
        "The C template of an instruction names a placeholder that its parameters do not provide. For a parameter `x` there are `{x}`, and for a window also `{x_data}` (its first element) and `{x_int}` (the caller's variable). A brace of C is written twice: `{{` and `}}`.";
    CONFIG = "E0505", "configuration state has no place in C",
        "C keeps configuration state in one struct with a member for each config, so two configs of one compilation need different names. A config made with `@config(readwrite = False)` has no member: only the bodies of instructions may read or write it.";
    EXTERN = "E0506", "extern gives no C",
        "The function `c` or `globals` of an extern failed, or returned something else than a text. `c(args, prim_type)` gets the arguments as a list of C expressions and the C type of the elements, such as `float`, and returns the call as a C expression; `globals(prim_type)`, or a text, is C that a file needs before it, such as an `#include`.";
    MAGNITUDE = "E0507", "index arithmetic may leave 64 bits",
        "The language computes sizes and indices exactly, C in 64 bits. A value on the way to a bound, index, condition or argument may be too large for them, where sizes and indices of callers go up to 2^40 and fields of configuration state up to 2^50. Bound the size with an assert (`assert n <= 4096`), or use a smaller factor; where a step of a schedule wrote the expression, the step is what to change.";
    // 06xx: kernels and packs
    KERNEL = "E0601", "kernel entry cannot be built",
        "A `[[kernel]]` entry names an algorithm, schedule or target that does not exist or has the wrong kind. `algorithm` is a proc, `schedule` a function that takes the proc and the target and returns a proc, each as `name` or `module:name`; `targets` are packs that export `target`.";
    UNRELATED = "E0602", "schedule returned an unrelated proc",
        "A schedule must return a proc that derives from the algorithm it was given. This one has another origin, so nothing shows that it computes the same.";
    CLAIM = "E0603", "claim does not hold",
        "A pack claims that a schedule is equivalent to an algorithm, but re-running the proof here failed. Either a step is refused by this checker, or the schedule returned a proc of another origin. The pack is not installed; report it to its author, or ask for another version.";
    UNSAFE = "E0604", "waived check is not allowed",
        "The code uses `unsafe_skip_check`. In dependencies it is denied unless the manifest allows that pack by name under `[verify] allow-unsafe`. `attempt` and `try_do` do not go around it: it ends the evaluation.";
    CONFORMANCE = "E0605", "instruction does not do what its body says",
        "The C template of an instruction was run and computed something else than its body, or does not compile. The body is what schedules are proven against, so one of the two has to change.";
    MANIFEST = "E0606", "mistake in Exo.toml",
        "The manifest has an unknown key, a missing one, or a value of the wrong form. Unknown keys are mistakes, since a misspelt setting would silently do nothing; free keys belong under `[metadata]`.";
    LOCK = "E0607", "lockfile does not fit",
        "Exo.lock cannot be read, or does not say what Exo.toml asks for, or was made by another version of exo. `exo install` writes it anew; with `--locked` it is never changed.";
    RESOLUTION = "E0608", "no set of packs fits",
        "No choice of versions meets every requirement, or a pack is not known at all. The note gives the chain of requirements that leads there.";
    DIGEST = "E0609", "content differs from its digest",
        "An archive or an installed file is not what the index or the lockfile recorded: damaged on disk, or changed by someone. `exo cache verify --repair` removes damaged entries of the cache; the next install makes them again.";
    PACKAGE = "E0610", "pack is not ready to be published",
        "Something that a published pack must have is missing, or something is in it that others must not see or cannot get: no README of its own, no description, no licence as an SPDX expression, a dependency without a version, a text that looks like a password or a token. Each is listed with its file and line; `exo package --list` shows what would be in the archive.";
    TARGET = "E0611", "target asks for more than a machine",
        "The `cc(...)` of a target chooses the code that a compiler makes: machine, language, optimisation, definitions. Your own compiler runs with it, so a flag that would load a plugin, read or write another file, or run another program is refused, and so is any compiler but gcc and clang. Such flags belong into the build that compiles the C.";
}

/// The entry of a code, given as text (`E0302`, any case).
pub fn explain(text: &str) -> Option<&'static Entry> {
    ALL.iter().find(|entry| entry.code.0.eq_ignore_ascii_case(text))
}
