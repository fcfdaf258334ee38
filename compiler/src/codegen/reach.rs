//! Which procs a compilation emits, in what order, and under which C names.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::codegen::problems::Problems;
use crate::codegen::{names, template};
use crate::diagnostic::{Diagnostic, codes};
use crate::loop_ir::procedure::Proc;
use crate::loop_ir::statement::StmtKind;
use crate::loop_ir::visit;

/// Identifies a shared proc while a compilation lasts. Never printed, never iterated over.
pub type ProcKey = usize;

pub fn key(proc: &Arc<Proc>) -> ProcKey {
    Arc::as_ptr(proc) as usize
}

/// One proc of the output.
#[derive(Clone, Debug)]
pub struct Function {
    pub proc: Arc<Proc>,
    pub c_name: String,
    pub exported: bool,
}

/// All procs of the output, sorted by C name, instructions included.
#[derive(Debug, Default)]
pub struct Reach {
    pub functions: Vec<Function>,
    /// The C name of every proc that was met, equal procs sharing one.
    names: BTreeMap<ProcKey, String>,
}

impl Reach {
    /// Follows calls from the exported procs; into instructions only when `emulate`.
    ///
    /// # Errors
    /// Two different exported procs of one name, and exported names that C does not allow (`EXPORT`).
    pub fn of(exported: &[Arc<Proc>], emulate: bool) -> Result<Reach, Vec<Diagnostic>> {
        let mut walk = Walk { emulate, seen: BTreeSet::new(), found: Vec::new() };
        for proc in exported {
            walk.visit(proc);
        }
        let mut naming = Naming::default();
        naming.export(exported, emulate)?;
        for proc in walk.found {
            naming.add(&proc);
        }
        let mut reach = Reach { functions: naming.functions, names: naming.names };
        reach.functions.sort_by(|a, b| a.c_name.cmp(&b.c_name));
        Ok(reach)
    }

    /// Functions that have the name of one that user-written C calls or defines: either the compiler refuses that, or the text gets
    /// another function than it means.
    pub fn check_text(&self, raw: &[String], emulate: bool, errors: &mut Problems) {
        let called: BTreeSet<String> = raw.iter().flat_map(|text| template::called(text)).collect();
        let is_function = |function: &&Function| function.proc.instr.is_none() || emulate;
        for function in self.functions.iter().filter(is_function).filter(|function| called.contains(&function.c_name)) {
            let message =
                format!("`{}` is also a function in the C of an instruction, memory or extern", function.c_name);
            let refusal = Diagnostic::error(codes::EXPORT, message).at(&function.proc.span, "a function of this name");
            errors.push(refusal.hint("rename the proc: `rename(p, \"name\")`"));
        }
    }

    pub fn c_name<'p>(&'p self, proc: &'p Arc<Proc>) -> &'p str {
        self.names.get(&key(proc)).map_or(&*proc.name, String::as_str)
    }
}

/// Procs in order of first use.
struct Walk {
    emulate: bool,
    seen: BTreeSet<ProcKey>,
    found: Vec<Arc<Proc>>,
}

impl Walk {
    fn visit(&mut self, proc: &Arc<Proc>) {
        if !self.seen.insert(key(proc)) {
            return;
        }
        self.found.push(proc.clone());
        if proc.instr.is_some() && !self.emulate {
            return;
        }
        let mut callees = Vec::new();
        visit::each_stmt(&proc.body, &mut |stmt| {
            if let StmtKind::Call { callee, .. } = &stmt.kind {
                callees.push(callee.clone());
            }
        });
        for callee in callees {
            self.visit(&callee);
        }
    }
}

#[derive(Default)]
struct Naming {
    functions: Vec<Function>,
    names: BTreeMap<ProcKey, String>,
    /// Positions in `functions` by name of the proc.
    by_name: BTreeMap<Arc<str>, Vec<usize>>,
    taken: BTreeSet<String>,
}

impl Naming {
    fn export(&mut self, exported: &[Arc<Proc>], emulate: bool) -> Result<(), Vec<Diagnostic>> {
        let mut errors = Vec::new();
        for proc in exported {
            // An instruction is not a function of the output, so its name is only a title.
            let is_function = proc.instr.is_none() || emulate;
            if self.share(proc) {
                continue;
            }
            if let Some(first) = self.by_name.get(&proc.name).and_then(|at| at.first()).copied() {
                let mut error =
                    Diagnostic::error(codes::EXPORT, format!("two exported procs are named `{}`", proc.name))
                        .at(&proc.span, "second proc of this name")
                        .hint("rename one of them");
                if let Some(function) = self.functions.get(first) {
                    error = error.label(&function.proc.span, "first proc of this name");
                }
                errors.push(error);
                continue;
            }
            if is_function && (names::is_reserved_function(&proc.name) || names::identifier(&proc.name) != *proc.name) {
                let message = format!("`{}` cannot be the name of an exported C function", proc.name);
                errors.push(
                    Diagnostic::error(codes::EXPORT, message)
                        .at(&proc.span, "C or its library owns this name")
                        .hint("rename the proc before it is exported"),
                );
                continue;
            }
            self.insert(proc, proc.name.to_string(), true);
        }
        if errors.is_empty() { Ok(()) } else { Err(errors) }
    }

    /// Names a proc that is not exported.
    fn add(&mut self, proc: &Arc<Proc>) {
        if self.share(proc) {
            return;
        }
        let name = names::unused(&names::identifier(&proc.name), &|name| {
            names::is_reserved_function(name) || self.taken.contains(name)
        });
        self.insert(proc, name, false);
    }

    fn insert(&mut self, proc: &Arc<Proc>, c_name: String, exported: bool) {
        self.taken.insert(c_name.clone());
        self.names.insert(key(proc), c_name.clone());
        self.by_name.entry(proc.name.clone()).or_default().push(self.functions.len());
        self.functions.push(Function { proc: proc.clone(), c_name, exported });
    }

    /// Gives a proc the C name of an equal one that is there already.
    fn share(&mut self, proc: &Arc<Proc>) -> bool {
        if self.names.contains_key(&key(proc)) {
            return true;
        }
        let equal = self.by_name.get(&proc.name).into_iter().flatten().find_map(|at| {
            let function = self.functions.get(*at)?;
            (function.proc == *proc).then(|| function.c_name.clone())
        });
        match equal {
            Some(name) => {
                self.names.insert(key(proc), name);
                true
            }
            None => false,
        }
    }
}
