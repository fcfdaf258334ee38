//! Publishing: packs are declared, uploaded, checked by rules and by the compiler, and become visible all at once.

pub(crate) mod admission;
pub(crate) mod bump;
pub(crate) mod bundled;
pub(crate) mod declaration;
pub(crate) mod ended;
pub(crate) mod examination;
mod failing;
pub(crate) mod folders;
pub(crate) mod names;
pub(crate) mod publisher;
pub(crate) mod queue;
pub(crate) mod refusals;
pub(crate) mod turns;
pub(crate) mod verification;
pub(crate) mod worker;
pub(crate) mod reverification;

/// Where an upload waits: not below `v1/`, so that nothing that was not accepted is ever served.
pub(crate) fn waiting(publish: &str, sha256: &exo_index::digest::Sha256) -> String {
    format!("waiting/{publish}/{sha256}")
}
