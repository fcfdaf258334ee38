//! Whether the arguments of a call have the precisions and memories that its C needs.
//!
//! What a call means does not depend on either, so definitions and steps may leave them apart, as schedules do that set one side
//! first and the other next. No C is made before they agree, and `replace` only makes calls that fit.

use crate::analysis::conditions::Unproven;
use crate::analysis::facts::Facts;
use crate::analysis::mutation;
use crate::cursor::path::{self, Path};
use crate::diagnostic::{Diagnostic, Severity, codes};
use crate::hardware::memory::Memory;
use crate::hardware::precision::Precision;
use crate::loop_ir::computation;
use crate::loop_ir::declarations::Declarations;
use crate::loop_ir::{Arg, ArgType, DataType, Expr, Proc, StmtKind, visit};

/// An argument that its parameter does not fit in C.
pub struct Misfit<'a> {
    callee: &'a Proc,
    formal: &'a Arg,
    actual: &'a Expr,
    what: Difference,
}

enum Difference {
    Precision { have: Precision, want: Precision },
    Memory { have: Memory },
}

/// Every difference between the data arguments of a call and the parameters of its callee.
pub fn misfits<'a>(callee: &'a Proc, args: &'a [Expr], declarations: &Declarations) -> Vec<Misfit<'a>> {
    let mut found = Vec::new();
    for (formal, actual) in callee.args.iter().zip(args) {
        let ArgType::Data(ty) = &formal.ty else { continue };
        let precision = precision(ty, actual, declarations);
        let differences = precision.into_iter().chain(memory(formal, actual, declarations));
        found.extend(differences.map(|what| Misfit { callee, formal, actual, what }));
    }
    found
}

fn precision(ty: &DataType, actual: &Expr, declarations: &Declarations) -> Option<Difference> {
    let (have, want) = (computation::precision_of(actual, declarations)?, ty.precision.concrete());
    let same = mutation::passes("an argument has its parameter's precision", have == want);
    (!same).then_some(Difference::Precision { have, want })
}

fn memory(formal: &Arg, actual: &Expr, declarations: &Declarations) -> Option<Difference> {
    let have = declarations.memory(visit::named(actual)?)?;
    let fits = mutation::passes("an argument lives in its parameter's memory", have.fits(&formal.mem));
    (!fits).then(|| Difference::Memory { have: have.clone() })
}

impl Misfit<'_> {
    /// As a message at the call.
    pub fn diagnostic(&self, severity: Severity) -> Diagnostic {
        let (code, this, parameter) = match &self.what {
            Difference::Precision { have, want } => (
                codes::PRECISION,
                format!("this is `{}`", have.word()),
                format!("parameter of precision `{}`", want.word()),
            ),
            Difference::Memory { have } => (
                codes::MEMORY,
                format!("this is in {}", have.name()),
                format!("parameter in {}", self.formal.mem.name()),
            ),
        };
        let text = match severity {
            Severity::Warning => format!("{}; no C can be made of it until they agree", self.text()),
            Severity::Error => self.text(),
        };
        let diagnostic = match severity {
            Severity::Warning => Diagnostic::warning(code, text),
            Severity::Error => Diagnostic::error(code, text),
        };
        diagnostic.at(&self.actual.span, this).label(&self.formal.span, parameter).hint(self.remedy())
    }

    fn text(&self) -> String {
        let (callee, formal) = (&self.callee.name, &self.formal.name);
        match &self.what {
            Difference::Precision { have, want } => {
                format!("`{callee}` takes `{formal}` as `{}`, not as `{}`", want.word(), have.word())
            }
            Difference::Memory { have } => {
                format!("`{callee}` takes `{formal}` in {}, not in {}", self.formal.mem.name(), have.name())
            }
        }
    }

    fn remedy(&self) -> String {
        match &self.what {
            Difference::Precision { .. } => "change one of them with `set_precision`".to_string(),
            Difference::Memory { .. } => {
                format!("copy it into a buffer in {}, or use `set_memory`", self.formal.mem.name())
            }
        }
    }
}

/// Whether the call at a place fits as it stands.
pub(in crate::checks) fn call_fits(proc: &Proc, at: &Path) -> Result<(), Unproven> {
    let Some(StmtKind::Call { callee, args }) = path::stmt(proc, at).map(|stmt| &stmt.kind) else {
        return Err(Unproven::new("there is no call here").at(at));
    };
    let facts = Facts::at(proc, at);
    match misfits(callee, args, &facts.scope).first() {
        None => Ok(()),
        Some(misfit) => {
            let unproven = Unproven::new(misfit.text()).at(at).hint(format!("{} before this step", misfit.remedy()));
            Err(Unproven { is_fault: true, ..unproven })
        }
    }
}

/// One warning for each argument in a definition that has no C yet.
pub fn warnings(proc: &Proc) -> Vec<Diagnostic> {
    let declarations = Declarations::of(proc);
    let mut found = Vec::new();
    visit::each_stmt(&proc.body, &mut |stmt| {
        if let StmtKind::Call { callee, args } = &stmt.kind {
            let misfits = misfits(callee, args, &declarations);
            found.extend(misfits.iter().map(|misfit| misfit.diagnostic(Severity::Warning)));
        }
    });
    found
}
