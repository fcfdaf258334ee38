//! What else there is, where a name or pattern stands for nothing of the kind that is needed.

use crate::cursor::Place;
use crate::cursor::path;
use crate::diagnostic::{Refusal, nearest};
use crate::loop_ir::{Proc, StmtKind, visit};
use crate::print::Names;
use crate::schedule::argument::{Reader, nests};
use crate::schedule::operator::Kind;
use crate::syntax::pattern::{Pattern, name_count};

impl Reader<'_> {
    /// Nothing of the kind has the name that `text` gives.
    pub(super) fn no_name(&self, what: &str, text: &str, name: &str, kind: &Kind) -> Refusal {
        let refusal = self.no_match(format!("{what} `{text}`"));
        let named = names_of(kind, self.proc());
        if self.arg_position(name).is_some() && matches!(kind, Kind::Alloc) {
            return refusal.hint(format!("`{name}` is an argument; only buffers that the proc allocates will do"));
        }
        if named.iter().any(|known| known == name) {
            return refusal.hint(format!("the `k` in `{name} #k` counts from 0, and there are fewer of that name"));
        }
        let lead = match kind {
            Kind::For | Kind::ForOrIf | Kind::NestedFor => "loops run over",
            Kind::Alloc => "allocated are",
            Kind::Call => "called are",
            _ => "it has",
        };
        match nearest(name, named.iter().map(String::as_str)).first() {
            Some(near) => refusal.hint(format!("there is a similar name: `{near}`")),
            None if named.is_empty() => refusal,
            None => refusal.hint(format!("{lead} {}", listed(&named))),
        }
    }

    pub(super) fn no_nest(&self, outer: &str, inner: &str) -> Refusal {
        let refusal = self.no_match(format!("loop `{outer}` directly around a loop `{inner}`"));
        if self.named(&Pattern::nested_loops(inner, outer, None)).ok().flatten().is_some() {
            return refusal.hint(format!("the outer loop comes first: \"{inner} {outer}\""));
        }
        let found = self.named(&Pattern::loop_named(outer, None)).ok().flatten();
        let stmt = match &found {
            Some(Place::Node(at)) => path::stmt(self.proc(), at),
            _ => None,
        };
        refusal.hint(match stmt {
            Some(stmt) => nests::remedy(stmt, Some(inner), &Names::of(self.proc())),
            None => format!("there is no loop over `{outer}`"),
        })
    }

    /// What to write for the loop or allocation of a name that alone stands for something else.
    pub(super) fn named_statement(&self, text: &str) -> Option<String> {
        let (name, nth) = name_count(text)?;
        let suffix = nth.map_or(String::new(), |nth| format!(" #{nth}"));
        let is_there = |pattern: Pattern| self.named(&pattern).ok().flatten().is_some();
        if is_there(Pattern::loop_named(name, nth)) {
            return Some(format!(
                "the loop over `{name}` is \"for {name} in _: _{suffix}\", or `p.find_loop(\"{text}\")`"
            ));
        }
        let alloc = is_there(Pattern::alloc_named(name, nth));
        alloc.then(|| {
            format!(
                "the allocation of `{name}` is \"{name}: _{suffix}\"; what writes it, \"{name} = _\" or \"{name} += _\""
            )
        })
    }
}

/// Names between backquotes, with commas.
pub(crate) fn listed(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// The names that a kind of place goes by in a proc, each once, in order.
pub(crate) fn names_of(kind: &Kind, proc: &Proc) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut add = |name: &str| {
        if !found.iter().any(|known| known == name) {
            found.push(name.to_string());
        }
    };
    if matches!(kind, Kind::Arg | Kind::ArgOrAlloc) {
        proc.args.iter().for_each(|arg| add(arg.name.name()));
    }
    visit::each_stmt(&proc.body, &mut |stmt| match (&stmt.kind, kind) {
        (StmtKind::For { iter, .. }, Kind::For | Kind::ForOrIf | Kind::NestedFor) => add(iter.name()),
        (StmtKind::Alloc { name, .. }, Kind::Alloc | Kind::ArgOrAlloc) => add(name.name()),
        (StmtKind::Call { callee, .. }, Kind::Call) => add(&callee.name),
        _ => {}
    });
    found
}
