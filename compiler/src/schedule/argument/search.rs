//! Looking things up in a procedure by pattern or by name.

use std::collections::BTreeSet;

use crate::cursor::Place;
use crate::diagnostic::{Diagnostic, Refusal, RefusalKind};
use crate::hardware::extern_function::ExternFunction;
use crate::loop_ir::{Proc, visit};
use crate::schedule::argument::Reader;
use crate::syntax::find::{find, find_first};
use crate::syntax::pattern::Pattern;

impl Reader<'_> {
    /// All matches of a pattern text (one when it carries `#k`), in search order; at least one.
    pub(super) fn find(&self, text: &str) -> Result<Vec<Place>, Refusal> {
        let found = find(self.proc(), None, &self.pattern(text)?).map_err(|error| self.unreadable(error))?;
        if found.is_empty() {
            return Err(self.no_match(format!("match for `{text}`")));
        }
        Ok(found)
    }

    fn pattern(&self, text: &str) -> Result<Pattern, Refusal> {
        let externs = extern_names(self.proc());
        Pattern::parse(text, &|name| externs.contains(name)).map_err(|error| self.unreadable(error))
    }

    /// The first match of a pattern text.
    pub(super) fn first(&self, text: &str) -> Result<Place, Refusal> {
        let found = self.named(&self.pattern(text)?)?;
        found.ok_or_else(|| self.no_match(format!("match for `{text}`")))
    }

    /// The first match of a pattern that stands for a name shorthand.
    pub(super) fn named(&self, pattern: &Pattern) -> Result<Option<Place>, Refusal> {
        find_first(self.proc(), None, pattern).map_err(|error| self.unreadable(error))
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
    visit::each_extern(&proc.body, &mut |function| {
        names.insert(function.name.clone());
    });
    names
}
