//! Looking things up in a procedure by pattern or by name.

use std::collections::BTreeSet;

use crate::cursor::Place;
use crate::diagnostic::{Diagnostic, Refusal, RefusalKind};
use crate::hardware::extern_function::ExternFunction;
use crate::loop_ir::{ExprKind, Proc, visit};
use crate::schedule::argument::Reader;
use crate::syntax::find::find;
use crate::syntax::pattern::Pattern;

impl Reader<'_> {
    /// All matches of a pattern text (one when it carries `#k`), in search order; at least one.
    pub(super) fn find(&self, text: &str) -> Result<Vec<Place>, Refusal> {
        let externs = extern_names(self.proc());
        let pattern = Pattern::parse(text, &|name| externs.contains(name)).map_err(|error| self.unreadable(error))?;
        let found = self.matches(&pattern)?;
        if found.is_empty() {
            return Err(self.no_match(format!("match for `{text}`")));
        }
        Ok(found)
    }

    /// The first match of a pattern text.
    pub(super) fn first(&self, text: &str) -> Result<Place, Refusal> {
        let found = self.find(text)?;
        found.into_iter().next().ok_or_else(|| self.no_match(format!("match for `{text}`")))
    }

    /// The first match of a pattern that stands for a name shorthand.
    pub(super) fn named(&self, pattern: &Pattern) -> Result<Option<Place>, Refusal> {
        Ok(self.matches(pattern)?.into_iter().next())
    }

    fn matches(&self, pattern: &Pattern) -> Result<Vec<Place>, Refusal> {
        find(self.proc(), None, pattern).map_err(|error| self.unreadable(error))
    }

    /// A pattern or fragment that cannot be read.
    pub(super) fn unreadable(&self, mut error: Diagnostic) -> Refusal {
        error.message = format!("{}: {}", self.lead(), error.message);
        Refusal::new(RefusalKind::Parse, self.done.operator, error)
    }
}

/// Names that mean an extern in a pattern for this procedure: those of the prelude, and those it uses.
fn extern_names(proc: &Proc) -> BTreeSet<String> {
    let mut names: BTreeSet<String> = ExternFunction::builtin().iter().map(|function| function.name.clone()).collect();
    visit::each_expr_in(&proc.body, &mut |expr| {
        if let ExprKind::Extern { function, .. } = &expr.kind {
            names.insert(function.name.clone());
        }
    });
    names
}
