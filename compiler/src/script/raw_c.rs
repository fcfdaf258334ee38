//! C that packs write as text: what of it is counted, and for whom.
//!
//! Nothing proves such text, so that it must be seen: `exo add` and `exo audit` count it, and `Exo.lock` keeps a digest of it.
//! Therefore what reaches a kernel comes into being while a module is evaluated, which is when it is counted. A schedule that runs
//! for somebody's kernel makes none any more. Tests may make what they like, which no kernel gets, but not by functions of another pack
//! that does not count it.

use std::collections::BTreeSet;
use std::sync::Arc;

use starlark::values::{Value, ValueLike};

use crate::diagnostic::{Diagnostic, codes};
use crate::loop_ir::Proc;
use crate::script::errors::failed;
use crate::script::host::Host;
use crate::script::machine;
use crate::script::values::cc::CcValue;
use crate::script::values::operator::OperatorValue;
use crate::source::{ModuleId, SourceFile};
use crate::syntax::module;

/// The operator that makes instructions.
pub(crate) const MAKES_INSTRUCTIONS: &str = "make_instr";

/// The name of a function of the prelude that makes what carries C.
pub(crate) fn maker_of_c(value: Value<'_>) -> Option<String> {
    if let Some(operator) = value.downcast_ref::<OperatorValue>() {
        return (operator.0.name() == MAKES_INSTRUCTIONS).then(|| MAKES_INSTRUCTIONS.to_string());
    }
    let name = value.to_str();
    (value.get_type() == "function" && ["memory", "extern", "cc"].contains(&name.as_str())).then_some(name)
}

/// What writes C.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Writer {
    Instruction,
    Memory,
    Extern,
    Compiler,
}

impl Writer {
    const fn word(self) -> &'static str {
        match self {
            Writer::Instruction => "instruction",
            Writer::Memory => "memory",
            Writer::Extern => "extern",
            Writer::Compiler => "compiler settings",
        }
    }
}

/// Notes an instruction for the module that is being evaluated, or else for its maker. `authors` are the modules
/// whose code is running, innermost first.
///
/// # Errors
/// A kernel is being composed, or the code is of another pack, which does not count it.
pub(crate) fn note_instruction(host: &Host, proc: &Arc<Proc>, authors: &[ModuleId]) -> starlark::Result<()> {
    allowed(host, (Writer::Instruction, &proc.name), authors)?;
    if let Some(module) = host.loading.borrow().last().or(authors.first()) {
        host.record.borrow_mut().instructions.push((module.clone(), proc.clone()));
    }
    Ok(())
}

/// Notes a memory or an extern, whose functions write C, for the module that is being evaluated. `authors` are the modules
/// whose code is running, innermost first.
///
/// # Errors
/// A kernel is being composed, or the code is of another pack, which does not count it.
pub(crate) fn note_functions(host: &Host, writer: Writer, name: &str, authors: &[ModuleId]) -> starlark::Result<()> {
    allowed(host, (writer, name), authors)?;
    if let Some(module) = host.loading.borrow().last() {
        host.record.borrow_mut().writers.push((module.clone(), writer, name.to_string()));
    }
    Ok(())
}

/// What `cc(...)` tells the C compiler that may change what C means, and the headers that model its machine.
pub(crate) fn told(cc: &CcValue) -> Vec<String> {
    let flags: Vec<&str> = cc.flags.iter().map(String::as_str).filter(|flag| machine::changes_meaning(flag)).collect();
    let texts = std::iter::once(flags.join(" ")).chain(cc.machine.model.iter().map(|(_, text)| text.clone()));
    texts.filter(|text| !text.is_empty()).collect()
}

/// Notes what [`told`] found, for the module that is being evaluated. `authors` are the modules
/// whose code is running, innermost first.
///
/// # Errors
/// A kernel is being composed, or the code is of another pack, which does not count it.
pub(crate) fn note_compiler(host: &Host, texts: Vec<String>, authors: &[ModuleId]) -> starlark::Result<()> {
    let first_line = texts.first().and_then(|text| text.lines().next()).unwrap_or_default();
    let shown: String = first_line.chars().take(40).collect();
    allowed(host, (Writer::Compiler, &shown), authors)?;
    if let Some(module) = host.loading.borrow().last() {
        host.record.borrow_mut().compilers.push((module.clone(), texts));
    }
    Ok(())
}

/// Refuses what nobody would count, or what would count for another pack than the one whose update can change it: each pack whose
/// code takes part has to count it, since any of them may say what the C is. The build fails,
/// not the step: `attempt` in the very pack could hide a refusal.
fn allowed(host: &Host, (writer, name): (Writer, &str), authors: &[ModuleId]) -> starlark::Result<()> {
    let word = writer.word();
    let refuse =
        |message: String, hint: String| Err(failed(vec![Diagnostic::error(codes::TEMPLATE, message).hint(hint)]));
    if host.composing.get() {
        return refuse(
            format!("the schedule makes the {word} `{name}` while it runs, so that nobody has counted its C"),
            format!(
                "make the {word} at the top level of a module, and use it in the schedule; there `exo audit` sees it"
            ),
        );
    }
    let (loading, testing) = (host.loading.borrow(), host.testing.borrow());
    // What a test makes reaches no kernel, and is compiled and run all the same.
    let Some(module) = loading.last().or(testing.as_ref()) else { return Ok(()) };
    let unseen =
        authors.iter().find(|author| author.pack != module.pack && !author.pack.is_empty() && !counts(host, author));
    let Some(author) = unseen else { return Ok(()) };
    let pack = &author.pack;
    refuse(
        format!("code of pack `{pack}` makes the {word} `{name}` for a module that is not its own, unseen"),
        format!(
            "`{pack}` does not count this C, so that an update could change it unseen: make it at the top level of `{author}`; or a \
             function there writes `@instr`, `make_instr(...)`, `memory(...)` or `extern(...)`, so that the module counts as raw C"
        ),
    )
}

/// Whether functions of a module make what carries C, whenever they are called, or may call such functions of the same pack and tell
/// them what the C is: then the whole text of the module counts. Who makes C in a way that is not seen here is refused when it does.
fn counts(host: &Host, id: &ModuleId) -> bool {
    let mut seen = BTreeSet::new();
    let mut open = vec![id.clone()];
    while let Some(next) = open.pop() {
        if !seen.insert(next.clone()) {
            continue;
        }
        let file = host.sources.borrow().get(&next.to_string()).map(|source| source.file.clone());
        let Some(file) = file else { continue };
        if makes_c_in_functions(&file.text) {
            return true;
        }
        open.extend(imports(host, &next, &file).filter(|import| import.pack == id.pack));
    }
    false
}

/// The modules that a module imports, as far as they can be found.
fn imports(host: &Host, id: &ModuleId, file: &Arc<SourceFile>) -> impl Iterator<Item = ModuleId> {
    let imports = module::split(file).map(|split| split.imports).unwrap_or_default();
    imports.into_iter().filter_map(|import| host.world.resolve(id, &import.module).ok())
}

fn makes_c_in_functions(text: &str) -> bool {
    let inside = text.lines().filter(|line| line.starts_with([' ', '\t']));
    let word = |line: &str, at: usize| !line.get(..at).is_some_and(|before| before.ends_with(is_of_name));
    inside.into_iter().any(|line| {
        let line = line.split(" #").next().unwrap_or(line);
        ["@instr", "make_instr(", "memory(", "extern("]
            .iter()
            .any(|maker| line.match_indices(maker).any(|(at, _)| word(line, at)))
    })
}

fn is_of_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Every piece of raw C of some modules: templates and globals of instructions, what `cc(...)` tells the C compiler, and the text of
/// modules whose functions write C or may be called by those that do.
pub(crate) fn of(host: &Host, modules: &[ModuleId]) -> Vec<String> {
    let mut pieces = Vec::new();
    let record = host.record.borrow();
    for (_, proc) in record.instructions.iter().filter(|(module, _)| modules.contains(module)) {
        let Some(instr) = &proc.instr else { continue };
        pieces.push(instr.template.clone());
        pieces.extend(Some(instr.global.clone()).filter(|global| !global.is_empty()));
    }
    let mut reached = BTreeSet::new();
    for (module, _, _) in record.writers.iter().filter(|(module, _, _)| modules.contains(module)) {
        reach(host, module, &mut reached);
    }
    for id in modules.iter().filter(|id| counts(host, id)) {
        reach(host, id, &mut reached);
    }
    let sources = host.sources.borrow();
    pieces.extend(reached.iter().filter_map(|id| Some(sources.get(&id.to_string())?.file.text.clone())));
    let compilers = record.compilers.iter().filter(|(module, _)| modules.contains(module));
    pieces.extend(compilers.flat_map(|(_, texts)| texts.iter().cloned()));
    pieces
}

/// A module and all that it imports: a function that writes C may call functions of any of them.
fn reach(host: &Host, id: &ModuleId, reached: &mut BTreeSet<ModuleId>) {
    if !reached.insert(id.clone()) {
        return;
    }
    let file = host.sources.borrow().get(&id.to_string()).map(|source| source.file.clone());
    for import in file.iter().flat_map(|file| imports(host, id, file)) {
        reach(host, &import, reached);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::Arc;

    use crate::contract::{CheckReport, KernelRequest, Limits};
    use crate::diagnostic::Diagnostic;
    use crate::pipeline::Compilation;
    use crate::script::raw_c::makes_c_in_functions;
    use crate::source::ModuleId;
    use crate::world::MemoryWorld;

    /// Runs on a thread whose stack is that of the compiler.
    fn deep<R: Send + 'static>(work: impl FnOnce() -> R + Send + 'static) -> R {
        std::thread::Builder::new().stack_size(64 << 20).spawn(work).unwrap().join().unwrap()
    }

    fn world(modules: &[(&str, &str)]) -> (Arc<MemoryWorld>, Vec<ModuleId>) {
        let ids: Vec<_> = modules.iter().map(|(path, _)| ModuleId::new("pack", path)).collect();
        let world =
            ids.iter().zip(modules).fold(MemoryWorld::new(), |world, (id, (_, text))| world.with(id.clone(), text));
        (Arc::new(world), ids)
    }

    fn checked(modules: &[(&str, &str)]) -> CheckReport {
        let (world, ids) = world(modules);
        deep(move || Compilation::new(world, Limits::default(), None).check(&ids))
    }

    const COPY: &str = "
@proc
def copy4(y: [f32][4], x: [f32][4]):
    for i in seq(0, 4):
        y[i] = x[i]
";

    #[test]
    fn instructions_count_however_they_are_made() {
        let made = format!("{COPY}fast = make_instr(copy4, 'copy(&{{y_data}});', '#include <x.h>')\n");
        let report = checked(&[("lib", &made)]);
        assert!(report.diagnostics.is_empty(), "{:?}", report.diagnostics);
        assert_eq!(report.raw_c, ["copy(&{y_data});", "#include <x.h>"]);
        assert_eq!(report.instructions.len(), 1);
    }

    #[test]
    fn externs_and_all_that_their_functions_may_call_count() {
        let helper = "def text(args, t):\n    return 'f(' + args[0] + ')'\n";
        let lib = "from .helper import text\nf = extern('f', c = text, arity = 1)\n";
        let other = "x = 1\n";
        let report = checked(&[("lib", lib), ("helper", helper), ("other", other)]);
        assert_eq!(report.raw_c, [helper, lib]);
    }

    #[test]
    fn flags_of_targets_count_and_are_held_to_machines() {
        let target = |flags: &str| format!("t = target(name = 'm', cc = cc(flags = {flags}))\n");
        assert_eq!(checked(&[("lib", &target("['-O3', '-ffast-math', '-DN=4']"))]).raw_c, ["-ffast-math -DN=4"]);
        assert_eq!(checked(&[("lib", &target("['-O3', '-march=armv8-a']"))]).raw_c, [""; 0]);
        assert_eq!(checked(&[("lib", &target("[]"))]).raw_c, [""; 0]);
        let report = checked(&[("lib", &target("['-fplugin=./x.so']"))]);
        assert_eq!(messages(&report.diagnostics), ["`cc` may not ask for the compiler flag `-fplugin=./x.so`"]);
        let by_hand = "t = struct(kind = 'target', name = 'm', cc = struct(compiler = 'sh'))\n";
        let report = checked(&[("lib", by_hand)]);
        assert_eq!(
            messages(&report.diagnostics),
            ["the `cc` of target `m` is a struct, and has to be made by `cc(...)`"]
        );
    }

    #[test]
    fn models_count_and_are_headers() {
        let target = |name: &str| format!("t = target(name = 'm', cc = cc(model = {{'{name}': '#define X 1'}}))\n");
        assert_eq!(checked(&[("lib", &target("x.h"))]).raw_c, ["#define X 1"]);
        let report = checked(&[("lib", &target("x.c"))]);
        assert_eq!(messages(&report.diagnostics), ["`cc` may not ask for the file `x.c` in its model"]);
    }

    /// What a function of a pack tells the C compiler, for somebody else's target, counts for nobody.
    #[test]
    fn no_pack_tells_the_compiler_for_another_ones_target() {
        let factory = "def quick():\n    return target(name = 'q', cc = cc(flags = ['-DN=4']))\n\n\
            def plain():\n    return target(name = 'p', cc = cc(flags = ['-O3', '-march=armv8-a']))\n\n\
            modelled = lambda: cc(model = {'x.h': '#define X 1'})\n\n\
            exported = cc(flags = ['-DN=4'])\n";
        let other = ModuleId::new("factory", "lib");
        let check = |lib: &str| {
            let id = ModuleId::new("app", "lib");
            let world = MemoryWorld::new().with(other.clone(), factory).with(id.clone(), lib);
            deep(move || Compilation::new(Arc::new(world), Limits::default(), None).check(&[id]))
        };
        for hidden in ["from factory import quick\nt = [quick()]\n", "from factory import modelled\nt = modelled()\n"] {
            let report = check(hidden);
            let said = messages(&report.diagnostics);
            assert!(said[0].starts_with("code of pack `factory` makes the compiler settings `"), "{said:?}");
        }
        for counted in [
            "from factory import plain\nt = plain()\n",
            "from factory import exported\nt = target(name = 't', cc = exported)\n",
        ] {
            let report = check(counted);
            assert!(report.diagnostics.is_empty(), "{:?}", report.diagnostics);
            assert_eq!(report.raw_c, [""; 0]);
        }
        assert_eq!(checked(&[("lib", factory)]).raw_c, ["-DN=4"]);
    }

    /// Tests run what packs give them, and a function on the way may say what the C is.
    #[test]
    fn no_pack_makes_c_for_another_ones_tests_or_through_a_third() {
        let hidden = format!(
            "{COPY}mk = make_instr\n\ndef make():\n    return mk(copy4, 'evil();')\n\ndef settings():\n    return cc(flags = ['-Ofast'])\n"
        );
        let counts = "def made(p, text):\n    return make_instr(p, text)\n";
        let through = format!("{COPY}from counts import made\n\ndef make():\n    return made(copy4, 'evil();')\n");
        let id = ModuleId::new("app", "tests.t");
        let test = |text: &str| {
            let world = MemoryWorld::new()
                .with(ModuleId::new("hidden", "lib"), &hidden)
                .with(ModuleId::new("counts", "lib"), counts)
                .with(ModuleId::new("through", "lib"), &through)
                .with(id.clone(), text);
            let id = id.clone();
            deep(move || Compilation::new(Arc::new(world), Limits::default(), None).test(&id, &|_| true, &mut |_| ()))
        };
        for (text, pack) in [
            ("from hidden import make\n\ndef test():\n    make()\n", "hidden"),
            ("from hidden import settings\n\ndef test():\n    settings()\n", "hidden"),
            ("from through import make\n\ndef test():\n    make()\n", "through"),
            ("from through import make\ni = make()\n\ndef test():\n    pass\n", "through"),
        ] {
            let text = text.replace("def test()", "def test_it()");
            let results = test(&text);
            let said: Vec<&str> = results.iter().flat_map(|result| messages(&result.diagnostics)).collect();
            assert!(
                said.iter().any(|said| said.starts_with(&format!("code of pack `{pack}` makes"))),
                "{text}: {said:?}"
            );
        }
        let own = format!(
            "{COPY}from counts import made\n\ndef test_it():\n    made(copy4, 'own();')\n    cc(flags = ['-DN=4'])\n"
        );
        let results = test(&own);
        assert!(results.iter().all(|result| result.diagnostics.is_empty()), "{results:?}");
    }

    /// Where C is not run, such as where a pack is verified, the answer would be another one.
    #[test]
    fn no_module_of_a_pack_learns_whether_c_runs() {
        let runs = format!("{COPY}t = target(name = 't')\nruns = not attempt(check_c, copy4, t).ok\n");
        let said = checked(&[("lib", &runs)]).diagnostics;
        assert!(messages(&said)[0].starts_with("`check_c` is for tests and for `exo run`"), "{said:?}");
    }

    #[test]
    fn what_makes_c_is_not_kept_for_later() {
        for kept in
            ["partial(make_instr, copy4, 'evil();')", "partial(attempt, memory, 'M')", "partial(cc, flags = [])"]
        {
            let report = checked(&[("lib", &format!("{COPY}f = {kept}\n"))]);
            let said = messages(&report.diagnostics);
            assert!(said.first().is_some_and(|said| said.starts_with("`partial` does not keep `")), "{kept}: {said:?}");
        }
        let report = checked(&[(
            "lib",
            "def f(a, b, c, d = 0):\n    return [a, b, c, d]\nassert_eq(partial(f, 1, d = 4)(2, 3), [1, 2, 3, 4])\n",
        )]);
        assert!(report.diagnostics.is_empty(), "{:?}", report.diagnostics);
    }

    /// Its C would count for the user's own module, and not for the pack whose update can change it.
    #[test]
    fn no_pack_makes_c_for_another_ones_module() {
        let factory = format!(
            "{COPY}mk = make_instr\n\ndef make():\n    return mk(copy4, 'evil();')\n\ndef text():\n    return 'good();'\n"
        );
        let other = ModuleId::new("factory", "lib");
        let check = |lib: &str| {
            let id = ModuleId::new("app", "lib");
            let world = MemoryWorld::new().with(other.clone(), &factory).with(id.clone(), lib);
            deep(move || Compilation::new(Arc::new(world), Limits::default(), None).check(&[id]))
        };
        let report = check("from factory import make\nfast = make()\n");
        let said = messages(&report.diagnostics);
        assert!(said[0].starts_with("code of pack `factory` makes the instruction `copy4`"), "{said:?}");
        let report = check("from factory import copy4, text\nfast = make_instr(copy4, text())\n");
        assert!(report.diagnostics.is_empty(), "{:?}", report.diagnostics);
        assert_eq!(report.raw_c, ["good();"]);
    }

    #[test]
    fn modules_whose_functions_make_instructions_count_as_a_whole() {
        let factory = format!("{COPY}def make():\n    return make_instr(copy4, 'seen();')\n");
        assert_eq!(checked(&[("lib", &factory)]).raw_c, [factory.as_str()]);
        assert!(makes_c_in_functions("def f():\n    @instr('x')\n    def g(): pass\n"));
        assert!(makes_c_in_functions("def f():\n    m = memory('M')\n"));
        assert!(!makes_c_in_functions("m = memory('M')\n@instr('x')\ndef g(x: f32):\n    x = 0.0\n"));
        assert!(!makes_c_in_functions("def f(p):\n    return set_memory(p, 'x', DRAM)  # memory(x)\n"));
    }

    fn messages(diagnostics: &[Diagnostic]) -> Vec<&str> {
        diagnostics.iter().map(|diagnostic| diagnostic.message.as_str()).collect()
    }

    fn composed(schedule: &str) -> Result<String, Vec<String>> {
        let text = format!(
            "{COPY}
t = target(name = 'm')
@instr('top({{y_data}});')
def top(y: [f32][4], x: [f32][4]):
    for i in seq(0, 4):
        y[i] = x[i]
@proc
def algorithm(y: f32[4], x: f32[4]):
    for i in seq(0, 4):
        y[i] = x[i]
def schedule(p, target):
{schedule}
"
        );
        let (world, ids) = world(&[("lib", &text)]);
        let id = ids[0].clone();
        let request = KernelRequest {
            name: "k".into(),
            algorithm: (id.clone(), "algorithm".into()),
            schedule: Some((id.clone(), "schedule".into())),
            target: (id, "t".into()),
            args: Vec::new(),
            emulate: false,
            checked: false,
        };
        let built = deep(move || Compilation::new(world, Limits::default(), None).kernel(&request));
        built.map(|output| output.c).map_err(|wrong| wrong.into_iter().map(|diagnostic| diagnostic.message).collect())
    }

    #[test]
    fn a_schedule_that_runs_makes_no_c_that_nobody_counted() {
        let c = composed("    return replace_all(p, [top])").unwrap();
        assert!(c.contains("top(y[0])") || c.contains("top("), "{c}");
        let hidden = [
            "    @instr('evil();')\n    def bad(y: [f32][4], x: [f32][4]):\n        for i in seq(0, 4):\n            y[i] = x[i]\n    \
             return replace_all(p, [bad])",
            "    bad = make_instr(copy4, 'evil();')\n    return replace_all(p, [bad])",
            "    bad = attempt(make_instr, copy4, 'evil();')\n    return p",
            "    m = memory('M')\n    return p",
            "    f = extern('f', c = lambda args, t: 'evil()')\n    return p",
        ];
        for schedule in hidden {
            let refused = composed(schedule).unwrap_err();
            assert!(refused[0].contains("while it runs, so that nobody has counted its C"), "{schedule}: {refused:?}");
        }
    }
}
