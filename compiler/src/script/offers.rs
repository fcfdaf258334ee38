//! What modules offer to others, as lines by which two versions of a pack are compared.
//!
//! A pack's contract is more than its signatures: a proc may ask more of its callers, touch what it did not touch before, and an
//! instruction's body decides where `replace` finds it. Those are lines too, read off the evaluated procs.

use std::collections::BTreeSet;

use starlark::environment::FrozenModule;

use crate::analysis::effects::AccessKind;
use crate::loop_ir::configuration::Touched;
use crate::print::{self, Names};
use crate::schedule::Procedure;
use crate::script::host::Host;
use crate::script::load;
use crate::script::values::procedure::ProcedureValue;
use crate::source::ModuleId;
use crate::syntax::module::{self, Import, ImportedNames};
use crate::syntax::outline::{Item, ItemKind, outline};

/// The face of a pack: what it imports from its own modules, it offers under its own name.
const FACE: &str = "lib";

/// `MODULE KIND SIGNATURE` for each public name; for procs and instructions also `MODULE requires NAME: ASSERT`,
/// `MODULE effects NAME: WHAT, WHAT`, and for instructions `MODULE body NAME: DIGEST`. Sorted.
///
/// Names that a module imports count where it says that they are meant for others: those of `__all__`, and in `lib` those
/// from modules of the same pack.
pub(crate) fn of(host: &Host, modules: &[ModuleId]) -> Vec<String> {
    let mut lines = BTreeSet::new();
    for id in modules {
        let Some(module) = load::loaded(host, id) else { continue };
        for name in offered(host, id, &module) {
            lines.extend(match exported_proc(&module, &name) {
                Some(procedure) => proc_lines(host, &id.path, &name, &procedure),
                None => vec![value_line(host, id, &name)],
            });
        }
    }
    lines.into_iter().collect()
}

/// The names that a module means for others.
fn offered(host: &Host, id: &ModuleId, module: &FrozenModule) -> BTreeSet<String> {
    let mut names: BTreeSet<String> = items(host, id).into_iter().map(|item| item.name).collect();
    if &*id.path == FACE {
        let siblings = imports(host, id).into_iter().filter(|import| import.module.starts_with('.'));
        names.extend(siblings.flat_map(|import| bound(host, id, &import)).map(|(local, _)| local));
    }
    names.extend(load::listed(module).into_iter().flatten());
    names.retain(|name| !name.starts_with('_') && module.get(name).is_ok());
    names
}

fn exported_proc(module: &FrozenModule, name: &str) -> Option<Procedure> {
    let value = module.get(name).ok()?;
    Some(ProcedureValue::from_value(value.value())?.0.clone())
}

fn items(host: &Host, id: &ModuleId) -> Vec<Item> {
    let file = host.world.source(id).ok();
    file.and_then(|file| outline(&file).ok()).map(|outline| outline.items).unwrap_or_default()
}

fn imports(host: &Host, id: &ModuleId) -> Vec<Import> {
    let file = host.world.source(id).ok();
    file.and_then(|file| module::split(&file).ok()).map(|split| split.imports).unwrap_or_default()
}

/// The names that an import binds, each with its name in the module that it comes from.
fn bound(host: &Host, id: &ModuleId, import: &Import) -> Vec<(String, String)> {
    match &import.names {
        ImportedNames::Named(names) => names.iter().map(|name| (name.local.clone(), name.name.clone())).collect(),
        ImportedNames::Module { .. } => Vec::new(),
        ImportedNames::All => {
            let target = host.world.resolve(id, &import.module).ok();
            let exported = target.and_then(|target| load::loaded(host, &target));
            let names = exported.iter().flat_map(load::exports);
            names.map(|name| (name.clone(), name)).collect()
        }
    }
}

/// A name that is no proc, as the text says it where it was defined.
fn value_line(host: &Host, id: &ModuleId, name: &str) -> String {
    let module = &id.path;
    match definition(host, id, name) {
        Some(Item { kind: ItemKind::Function, signature, name: defined, .. }) => {
            let parameters = signature.strip_prefix(&defined).unwrap_or(&signature);
            format!("{module} function {name}{parameters}")
        }
        Some(Item { kind: ItemKind::Config, .. }) => format!("{module} config {name}"),
        // How a value is made is nobody's business.
        Some(Item { kind: ItemKind::Value | ItemKind::Proc | ItemKind::Instruction, .. }) | None => {
            format!("{module} value {name}")
        }
    }
}

/// Where a name is defined, through imports; modules that import each other were refused before.
fn definition(host: &Host, id: &ModuleId, name: &str) -> Option<Item> {
    if let Some(item) = items(host, id).into_iter().find(|item| item.name == name) {
        return Some(item);
    }
    imports(host, id).iter().find_map(|import| {
        let (_, original) = bound(host, id, import).into_iter().find(|(local, _)| local == name)?;
        definition(host, &host.world.resolve(id, &import.module).ok()?, &original)
    })
}

fn proc_lines(host: &Host, module: &str, name: &str, procedure: &Procedure) -> Vec<String> {
    let proc = procedure.ir();
    let names = Names::of(proc);
    let kind = if proc.instr.is_some() { "instruction" } else { "proc" };
    let mut lines = vec![
        format!("{module} {kind} {name}({})", names.parameters(proc)),
        format!("{module} effects {name}: {}", effects(host, procedure)),
    ];
    lines.extend(proc.preds.iter().map(|pred| format!("{module} requires {name}: {}", names.expr(pred))));
    if proc.instr.is_some() {
        let digest = blake3::hash(print::body(proc).as_bytes()).to_hex();
        lines.push(format!("{module} body {name}: {digest}"));
    }
    lines
}

/// What a proc does to its parameters and to configuration state, sorted: `reads x, writes y`; `none` when nothing.
fn effects(host: &Host, procedure: &Procedure) -> String {
    let proc = procedure.ir();
    let names = Names::of(proc);
    let found = host.solver.borrow_mut().callees.effects(proc);
    let mut done = BTreeSet::new();
    for arg in &proc.args {
        done.extend(found.of_root(&arg.name).map(|cell| format!("{} {}", cell.kind.verb(), names.get(&arg.name))));
    }
    let touched = Touched::by_proc(proc);
    done.extend(touched.reads.iter().map(|field| format!("{} {field}", AccessKind::Read.verb())));
    done.extend(touched.writes.iter().map(|field| format!("{} {field}", AccessKind::Write.verb())));
    match done.is_empty() {
        true => "none".into(),
        false => done.into_iter().collect::<Vec<_>>().join(", "),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::Arc;

    use crate::contract::Limits;
    use crate::pipeline::Compilation;
    use crate::source::ModuleId;
    use crate::world::MemoryWorld;

    const LIB: &str = "
from .hidden import shared, scale as rescale
from other import helper, listed
__all__ = ['listed']

@config
class Cfg:
    mode: index

@proc
def f(n: size, x: [f32][n], y: f32[n]):
    assert n > 1
    Cfg.mode = 1
    for i in seq(0, n):
        y[i] += x[i]

g = rename(f, 'g')

def tile(p, size = 4):
    return p
";

    const HIDDEN: &str = "
def shared(p, *, deep = True):
    return p

def scale(p, by):
    return p

def _private():
    pass

@instr('nop({x_data});')
def nop(x: [f32][4]):
    for i in seq(0, 4):
        x[i] = 2.0 * x[i]
";

    fn offers(lib: &str, hidden: &str) -> Vec<String> {
        let (lib_id, hidden_id) = (ModuleId::new("pack", "lib"), ModuleId::new("pack", "hidden"));
        let other = "def helper():\n    pass\n\ndef listed(a):\n    pass\n";
        let world = MemoryWorld::new()
            .with(lib_id.clone(), lib)
            .with(hidden_id.clone(), hidden)
            .with(ModuleId::new("other", "lib"), other);
        let check = move || Compilation::new(Arc::new(world), Limits::default(), None).check(&[lib_id, hidden_id]);
        let thread = std::thread::Builder::new().stack_size(64 << 20).spawn(check).unwrap();
        let report = thread.join().unwrap();
        assert!(report.diagnostics.is_empty(), "{:#?}", report.diagnostics);
        report.offers
    }

    #[test]
    fn names_signatures_conditions_and_effects() {
        let (bodies, lines): (Vec<_>, Vec<_>) =
            offers(LIB, HIDDEN).into_iter().partition(|line| line.starts_with("hidden body nop: "));
        assert_eq!(bodies.len(), 1);
        assert_eq!(
            lines,
            [
                "hidden effects nop: reads x, writes x",
                "hidden function scale(p, by)",
                "hidden function shared(p, *, deep = True)",
                "hidden instruction nop(x: [f32][4] @ DRAM)",
                "lib config Cfg",
                "lib effects f: reads x, reduces into y, writes Cfg.mode",
                "lib effects g: reads x, reduces into y, writes Cfg.mode",
                "lib function listed(a)",
                "lib function rescale(p, by)",
                "lib function shared(p, *, deep = True)",
                "lib function tile(p, size = 4)",
                "lib proc f(n: size, x: [f32][n] @ DRAM, y: f32[n] @ DRAM)",
                "lib proc g(n: size, x: [f32][n] @ DRAM, y: f32[n] @ DRAM)",
                "lib requires f: n > 1",
                "lib requires g: n > 1",
            ]
        );
    }

    #[test]
    fn a_body_is_a_line_of_instructions_only() {
        let body =
            |hidden: &str| offers(LIB, hidden).into_iter().filter(|line| line.contains(" body ")).collect::<Vec<_>>();
        assert_eq!(body(HIDDEN), body(&HIDDEN.replace("nop({x_data})", "other({x_data})")));
        assert_ne!(body(HIDDEN), body(&HIDDEN.replace("2.0", "3.0")));
    }
}
