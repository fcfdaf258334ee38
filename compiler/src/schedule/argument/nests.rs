//! What keeps one loop from being directly inside of another, for hints.

use crate::loop_ir::{Block, Stmt, StmtKind, visit};
use crate::print::Names;

/// What to do first so that the body of `outer` is one loop and nothing else: the loop `inner`, where one is named.
pub(super) fn remedy(outer: &Stmt, inner: Option<&str>, names: &Names) -> String {
    let StmtKind::For { iter, body, .. } = &outer.kind else { return String::new() };
    let outer = names.get(iter);
    let wanted = |stmt: &Stmt| looped(stmt, names).is_some_and(|found| inner.is_none_or(|inner| found == inner));
    if let Some((at, found)) = body.iter().enumerate().find(|(_, stmt)| wanted(stmt)) {
        return beside(body, at, looped(found, names).unwrap_or_default(), names);
    }
    let Some(inner) = inner else { return format!("there is no loop in the body of the loop over `{outer}`") };
    match body.iter().find(|stmt| holds_loop(stmt, inner, names)) {
        Some(between) => format!(
            "`{}` stands between the loops over `{outer}` and `{inner}`: exchange it with one of them first, \
             with `reorder_loops` or, where it is an `if`, with `lift_scope`",
            names.headline(between)
        ),
        None => format!("there is no loop over `{inner}` inside of the loop over `{outer}`; the outer one comes first"),
    }
}

/// The iterator of a loop.
fn looped<'n>(stmt: &'n Stmt, names: &'n Names) -> Option<&'n str> {
    match &stmt.kind {
        StmtKind::For { iter, .. } => Some(names.get(iter)),
        _ => None,
    }
}

fn holds_loop(stmt: &Stmt, inner: &str, names: &Names) -> bool {
    let mut found = false;
    visit::each_stmt(&Block::from(vec![stmt.clone()]), &mut |stmt| found |= looped(stmt, names) == Some(inner));
    found
}

/// What to do with the statements that stand beside the loop over `inner`, which is the one at `at`.
fn beside(body: &Block, at: usize, inner: &str, names: &Names) -> String {
    let Some((k, other)) = body.iter().enumerate().find(|(k, _)| *k != at) else { return String::new() };
    let (side, gap) = if k < at { ("before", "before") } else { ("after", "after") };
    let lead = format!("`{}` stands {side} the loop over `{inner}`", names.headline(other));
    match &other.kind {
        StmtKind::Alloc { name, .. } => {
            let name = names.get(name);
            format!(
                "{lead}: move it out first, `lift_alloc(p, \"{name}\")`, after `expand_dim` where each iteration needs \
                 a `{name}` of its own"
            )
        }
        StmtKind::Window { name, .. } => {
            format!("{lead}: write it out first, `inline_window(p, \"{} = _\")`", names.get(name))
        }
        _ => format!("{lead}: split it off first, `fission(p, p.find_loop(\"{inner}\").{gap}())`"),
    }
}
