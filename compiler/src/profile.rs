//! Where the time of a compilation goes, for whoever has a clock: the compiler only says when a part of its work begins
//! and ends.

use std::sync::Arc;

/// A part of the compiler's work. What is in none of them is the host: Starlark and the values it works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// Module text to the host's program and the syntax of definitions.
    Parse,
    /// Definitions: types, bounds, asserts, aliasing, races.
    Define,
    /// Steps of a schedule: arguments, the rewrite, the laws of the new tree.
    Schedule,
    /// What statements read and write.
    Effects,
    /// Questions that reach the solver.
    Solve,
    /// LoopIR to C text.
    Codegen,
}

impl Phase {
    /// All of them, in the order of the work.
    pub const ALL: [Phase; 6] =
        [Phase::Parse, Phase::Define, Phase::Schedule, Phase::Effects, Phase::Solve, Phase::Codegen];

    /// The word for tables.
    pub fn word(self) -> &'static str {
        match self {
            Phase::Parse => "parsing",
            Phase::Define => "definitions",
            Phase::Schedule => "schedule",
            Phase::Effects => "effects",
            Phase::Solve => "solver",
            Phase::Codegen => "codegen",
        }
    }
}

/// Told of the work as it is done. Phases nest: what is inside another counts for the inner one.
pub trait Profile: Send + Sync {
    fn enter(&self, phase: Phase);

    /// Ends the innermost phase that was entered.
    fn leave(&self);
}

/// Does `work` as part of a phase; `None` costs nothing.
pub fn during<T>(profile: Option<&Arc<dyn Profile>>, phase: Phase, work: impl FnOnce() -> T) -> T {
    let _span = profile.map(|profile| Span::new(profile.clone(), phase));
    work()
}

/// A phase that lasts until this is dropped, also when the work panics.
pub struct Span(Arc<dyn Profile>);

impl Span {
    pub fn new(profile: Arc<dyn Profile>, phase: Phase) -> Self {
        profile.enter(phase);
        Span(profile)
    }
}

impl Drop for Span {
    fn drop(&mut self) {
        self.0.leave();
    }
}
