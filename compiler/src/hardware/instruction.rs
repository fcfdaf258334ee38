//! Instructions: a proc whose body says what a piece of C does.

/// The C side of an `@instr` proc.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// C with placeholders `{arg}`, `{arg_data}`, `{arg_int}`; `{{` and `}}` stand for braces.
    pub template: String,
    /// C emitted once per file that uses the instruction.
    pub global: String,
}
