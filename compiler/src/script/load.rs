//! Evaluating modules: split, load what they import, run, freeze.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use starlark::PrintHandler;
use starlark::codemap::FileSpan;
use starlark::environment::{FrozenModule, Module};
use starlark::eval::{Evaluator, FileLoader};
use starlark::syntax::{AstModule, Dialect};
use starlark::values::FrozenHeapName;
use starlark::values::list::ListRef;

use crate::diagnostic::{Diagnostic, codes, nearest};
use crate::profile::{Phase, during};
use crate::script::define::{DefineValue, REFUSED_DEFINITION};
use crate::script::foreign_imports;
use crate::script::host::{Host, Source};
use crate::script::quote::QuoteValue;
use crate::script::values::modules::ModuleFunction;
use crate::script::{errors, hooks, prelude, wording};
use crate::source::{ModuleId, Span};
use crate::syntax::module::{self, Import, ImportedName, ImportedNames, SplitModule, source_name};
use crate::world::ImportError;

/// Where `print` goes.
pub(crate) type Printer<'p> = RefCell<&'p mut dyn FnMut(&str)>;

struct PrintTo<'a, 'p>(&'a Printer<'p>);

impl PrintHandler for PrintTo<'_, '_> {
    fn println(&self, text: &str) -> starlark::Result<()> {
        (self.0.borrow_mut())(text);
        Ok(())
    }
}

/// Modules that were loaded before, by the text of the `load` that names them.
struct Loaded(BTreeMap<String, FrozenModule>);

impl FileLoader for Loaded {
    fn load(&self, path: &str) -> starlark::Result<FrozenModule> {
        self.0.get(path).cloned().ok_or_else(|| {
            starlark::Error::new_other(anyhow::anyhow!("`{path}` was not loaded before it was imported"))
        })
    }
}

/// A module, evaluated at most once per compilation.
pub(crate) fn module(host: &Host, id: &ModuleId, print: &Printer<'_>) -> Result<FrozenModule, Vec<Diagnostic>> {
    if let Some(module) = host.modules.borrow().get(id) {
        return Ok(module.clone());
    }
    let file = host.world.source(id).map_err(|error| vec![import_error(&error, &Span::none())])?;
    let split = Arc::new(during(host.world.profile().as_ref(), Phase::Parse, || module::split(&file))?);
    host.sources.borrow_mut().insert(id.to_string(), Source { module: id.clone(), file, rendered: None });
    host.loading.borrow_mut().push(id.clone());
    let result = imports(host, id, &split, print).and_then(|loaded| evaluate(host, id, &split, loaded, print));
    host.loading.borrow_mut().pop();
    let module = result?;
    hooks::file(host, &module);
    host.modules.borrow_mut().insert(id.clone(), module.clone());
    Ok(module)
}

fn imports(
    host: &Host,
    id: &ModuleId,
    split: &SplitModule,
    print: &Printer<'_>,
) -> Result<BTreeMap<String, FrozenModule>, Vec<Diagnostic>> {
    let mut loaded = BTreeMap::new();
    let mut problems = Vec::new();
    for import in &split.imports {
        let target = match host.world.resolve(id, &import.module) {
            Ok(target) => target,
            Err(error) => {
                problems.push(unresolved(&error, import));
                continue;
            }
        };
        if let Some(cycle) = cycle(host, &target) {
            let message = format!("modules import each other: {cycle}");
            let hint = "move what both need into a third module";
            problems.push(Diagnostic::error(codes::IMPORT, message).at(&import.span, "closes the circle").hint(hint));
            continue;
        }
        match module(host, &target, print) {
            Ok(module) => {
                problems.extend(missing_names(&module, import));
                loaded.insert(import.module.clone(), module);
            }
            Err(diagnostics) => problems.extend(diagnostics),
        }
    }
    if problems.is_empty() { Ok(loaded) } else { Err(problems) }
}

fn missing_names(module: &FrozenModule, import: &Import) -> Vec<Diagnostic> {
    let ImportedNames::Named(names) = &import.names else { return Vec::new() };
    let exported = exports(module);
    names
        .iter()
        .filter(|wanted| !exported.contains(&wanted.name))
        .map(|ImportedName { name, span, .. }| {
            let message = format!("`{}` does not define `{name}`", import.module);
            let diagnostic = Diagnostic::error(codes::IMPORT, message).at(span, "not exported there");
            if name.starts_with('_') {
                return diagnostic.hint("names with a leading underscore are private to their module");
            }
            if prelude::globals().names().any(|known| known.as_str() == name) {
                return diagnostic.hint(format!("`{name}` needs no import: every module has it"));
            }
            match nearest(name, exported.iter().map(String::as_str)) {
                near if near.is_empty() => diagnostic,
                near => diagnostic.hint(format!("similar names: {}", near.join(", "))),
            }
        })
        .collect()
}

fn cycle(host: &Host, target: &ModuleId) -> Option<String> {
    let loading = host.loading.borrow();
    let from = loading.iter().position(|id| id == target)?;
    let names: Vec<String> = loading.iter().skip(from).chain([target]).map(|id| format!("`{id}`")).collect();
    Some(names.join(" imports "))
}

/// The names that other modules may import.
pub(crate) fn exports(module: &FrozenModule) -> Vec<String> {
    let names = module.names().map(|name| source_name(name.as_str()).to_string());
    let mut names: Vec<String> = names.filter(|name| !name.starts_with('_')).collect();
    names.sort();
    names
}

/// The names of a module's `__all__`, if it has one.
pub(crate) fn listed(module: &FrozenModule) -> Option<Vec<String>> {
    let (all, _) = module.get_any_visibility("__all__").ok()?;
    let list = ListRef::from_value(all.value())?;
    Some(list.content().iter().filter_map(|value| value.unpack_str()).map(str::to_string).collect())
}

/// The message for an import that names nothing here. Code from Python and Exo imports what is no pack.
fn unresolved(error: &ImportError, import: &Import) -> Diagnostic {
    match (error, foreign_imports::instead_of(&import.module)) {
        (ImportError::UnknownPack { .. }, Some(hint)) => {
            let message = format!("there is no module `{}` here", import.module);
            Diagnostic::error(codes::IMPORT, message).at(&import.span, "").hint(hint)
        }
        (_, _) => import_error(error, &import.span),
    }
}

pub(crate) fn import_error(error: &ImportError, span: &Span) -> Diagnostic {
    let (message, nearest, hint) = match error {
        ImportError::UnknownPack { name, nearest } => (
            format!("there is no pack `{name}` here"),
            nearest,
            match nearest.is_empty() {
                true => format!("add it to this project with `exo add {}`", name.replace('_', "-")),
                false => String::new(),
            },
        ),
        ImportError::UnknownModule { pack, path, nearest } if pack.is_empty() => (
            format!("there is no module `{path}` beside this one"),
            nearest,
            "a leading dot means a module of this pack: `.tiles` is `src/tiles.exo`".to_string(),
        ),
        ImportError::UnknownModule { pack, path, nearest } => (
            format!("pack `{pack}` has no module `{path}`"),
            nearest,
            format!("`{pack}.{path}` means `src/{path}.exo` of that pack"),
        ),
        ImportError::Unreadable { module, reason } => {
            (format!("module `{module}` cannot be read: {reason}"), &Vec::new(), String::new())
        }
    };
    let mut diagnostic = Diagnostic::error(codes::IMPORT, message).at(span, "");
    if !nearest.is_empty() {
        diagnostic = diagnostic.hint(format!("similar names: {}", nearest.join(", ")));
    }
    if !hint.is_empty() {
        diagnostic = diagnostic.hint(hint);
    }
    diagnostic
}

/// The values of `prelude.star`, evaluated once per compilation.
fn prelude_module(host: &Host) -> Result<FrozenModule, Vec<Diagnostic>> {
    if let Some(prelude) = host.prelude.borrow().as_ref() {
        return Ok(prelude.clone());
    }
    let broken = |error: starlark::Error| vec![Diagnostic::error(codes::HOST, format!("prelude: {error}"))];
    let ast = AstModule::parse("<prelude>", prelude::SOURCE.to_string(), &Dialect::Extended).map_err(broken)?;
    let module = Module::with_temp_heap(|module| {
        Evaluator::new(&module).eval_module(ast, prelude::globals()).map_err(broken)?;
        module
            .freeze_named(FrozenHeapName::User(Box::new("prelude".to_string())))
            .map_err(|error| vec![Diagnostic::error(codes::HOST, format!("prelude: {error:?}"))])
    })?;
    *host.prelude.borrow_mut() = Some(module.clone());
    Ok(module)
}

/// Runs `body` with a prepared evaluator: host, limits, printing, prelude.
pub(crate) fn with_evaluator<R>(
    host: &Host,
    print: &Printer<'_>,
    loaded: BTreeMap<String, FrozenModule>,
    body: impl for<'v> FnOnce(&mut Evaluator<'v, '_, '_>) -> starlark::Result<R>,
) -> Result<(R, FrozenModule), Vec<Diagnostic>> {
    let prelude = prelude_module(host)?;
    let loader = Loaded(loaded);
    let printer = PrintTo(print);
    Module::with_temp_heap(|module| {
        module.import_public_symbols(&prelude);
        let result = {
            let mut eval = Evaluator::new(&module);
            eval.extra = Some(host);
            eval.set_loader(&loader);
            eval.set_print_handler(&printer);
            let limited = limit(host, &mut eval);
            let result = limited.and_then(|()| contained(|| body(&mut eval)));
            host.ticks.set(host.ticks.get() + eval.get_total_tick_count());
            result
        };
        let value = result.map_err(|error| errors::diagnostics(&error, &|span| locate(host, span)))?;
        let frozen = module
            .freeze_named(FrozenHeapName::User(Box::new("module".to_string())))
            .map_err(|error| vec![Diagnostic::error(codes::HOST, format!("module cannot be finished: {error:?}"))])?;
        Ok((value, frozen))
    })
}

/// A module that was evaluated before, without errors.
pub(crate) fn loaded(host: &Host, id: &ModuleId) -> Option<FrozenModule> {
    host.modules.borrow().get(id).cloned()
}

/// Like [`module`], printing nothing.
pub(crate) fn quiet_module(host: &Host, id: &ModuleId) -> Result<FrozenModule, Vec<Diagnostic>> {
    module(host, id, &RefCell::new(&mut |_: &str| {}))
}

/// Runs `body` with a prepared evaluator in a scratch module, printing nothing.
pub(crate) fn quietly<R>(
    host: &Host,
    body: impl for<'v> FnOnce(&mut Evaluator<'v, '_, '_>) -> starlark::Result<R>,
) -> Result<R, Vec<Diagnostic>> {
    let mut ignore = |_: &str| {};
    let print = RefCell::new(&mut ignore as &mut dyn FnMut(&str));
    with_evaluator(host, &print, BTreeMap::new(), body).map(|(result, _)| result)
}

/// Starlark panics where one value would be larger than its heap can hold; that is a limit like the others.
///
/// The evaluator is not used again after that, so that its state does not matter.
pub(crate) fn contained<R>(body: impl FnOnce() -> starlark::Result<R>) -> starlark::Result<R> {
    let payload = match std::panic::catch_unwind(std::panic::AssertUnwindSafe(body)) {
        Ok(result) => return result,
        Err(payload) => payload,
    };
    let text = payload.downcast_ref::<&str>().map(|text| text.to_string());
    match text.or_else(|| payload.downcast_ref::<String>().cloned()) {
        Some(text) if OVERSIZED.iter().any(|sign| text.contains(sign)) => {
            Err(errors::failed(vec![errors::limit("memory", "a value that keeps growing")]))
        }
        Some(_) | None => std::panic::resume_unwind(payload),
    }
}

/// What the evaluator's panics say when one value, or one string, is too large.
const OVERSIZED: [&str; 2] = ["AlignedSize must not exceed", "len overflow"];

fn limit<'a>(host: &'a Host, eval: &mut Evaluator<'_, 'a, '_>) -> starlark::Result<()> {
    let other = starlark::Error::new_other;
    let left = host.limits.steps.saturating_sub(host.ticks.get()).max(1);
    eval.set_max_tick_count(left).map_err(other)?;
    eval.set_max_heap_size(host.limits.heap_bytes).map_err(other)?;
    eval.set_max_callstack_size(host.limits.call_depth).map_err(other)?;
    let world = host.world.clone();
    eval.set_check_cancelled(Box::new(move || world.expired()));
    Ok(())
}

fn evaluate(
    host: &Host,
    id: &ModuleId,
    split: &Arc<SplitModule>,
    loaded: BTreeMap<String, FrozenModule>,
    print: &Printer<'_>,
) -> Result<FrozenModule, Vec<Diagnostic>> {
    let rendered = split.render(&|import| loaded.get(&import.module).map(exports).unwrap_or_default());
    let text = rendered.text.clone();
    if let Some(source) = host.sources.borrow_mut().get_mut(&id.to_string()) {
        source.rendered = Some(rendered);
    }
    let ast = AstModule::parse(&id.to_string(), text, &Dialect::Extended)
        .map_err(|error| errors::diagnostics(&error, &|span| locate(host, span)))?;
    let refused_before = host.record.borrow().refused.len();
    let modules = loaded.clone();
    let (_, module) = with_evaluator(host, print, loaded, |eval| {
        let define = eval.heap().alloc(DefineValue { module: id.clone(), split: split.clone() });
        eval.module().set(module::DEFINE, define);
        let quote = eval.heap().alloc(QuoteValue(split.clone()));
        eval.module().set(module::QUOTE, quote);
        let modules = eval.heap().alloc(ModuleFunction(modules));
        eval.module().set(module::MODULE, modules);
        eval.eval_module(ast, prelude::globals())?;
        Ok(())
    })
    .map_err(|mut diagnostics| {
        // A limit that is exceeded has no place; the module at least is known.
        for diagnostic in diagnostics.iter_mut().filter(|diagnostic| diagnostic.primary.is_none()) {
            if let Some(source) = host.sources.borrow().get(&id.to_string()) {
                diagnostic.notes.push(format!("while `{}` was evaluated", source.file.display_name));
            }
        }
        // A refused definition explains whatever failed after it, so it comes first, and alone where it was used.
        let mut all = refused_definitions(host, refused_before);
        if !all.is_empty() {
            let tells = |diagnostic: &Diagnostic| {
                let message = &diagnostic.message;
                !message.contains(wording::REFUSED) && !message.contains(REFUSED_DEFINITION)
            };
            diagnostics.retain(|diagnostic| tells(diagnostic) && !is_among(diagnostic, &all));
        }
        all.append(&mut diagnostics);
        all
    })?;
    let refused = refused_definitions(host, refused_before);
    if refused.is_empty() { Ok(module) } else { Err(refused) }
}

/// Whether the same is said already of the same place: every use of a refused definition is refused like it.
fn is_among(diagnostic: &Diagnostic, all: &[Diagnostic]) -> bool {
    let place = |diagnostic: &Diagnostic| diagnostic.primary.as_ref().map(|label| (label.span.start, label.span.end));
    all.iter().any(|known| known.message == diagnostic.message && place(known) == place(diagnostic))
}

fn refused_definitions(host: &Host, from: usize) -> Vec<Diagnostic> {
    let record = host.record.borrow();
    record.refused.iter().skip(from).flat_map(|(_, refusal)| refusal.diagnostics.clone()).collect()
}

/// A Starlark place as a place of the user's text. Places in the prelude have none.
pub(crate) fn locate(host: &Host, span: &FileSpan) -> Option<Span> {
    locate_in_module(host, span).map(|(_, span)| span)
}

/// The same, with the module whose text it is.
pub(crate) fn locate_in_module(host: &Host, span: &FileSpan) -> Option<(ModuleId, Span)> {
    let sources = host.sources.borrow();
    let source = sources.get(span.filename())?;
    let place = source.rendered.as_ref()?.span(span.span.begin().get(), span.span.end().get());
    Some((source.module.clone(), place))
}
