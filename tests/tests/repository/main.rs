//! House rules that no compiler holds: what files look like, which module may use which, what must be written down.

mod allowed;
mod codes;
mod documents;
mod layering;
mod packages;
mod soundness;
mod sources;
mod style;

/// Fails with all findings at once, one a line.
#[track_caller]
fn none(what: &str, findings: Vec<String>) {
    assert!(findings.is_empty(), "{what}:\n  {}", findings.join("\n  "));
}
