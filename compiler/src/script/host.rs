//! The state of one compilation that native functions reach through the evaluator.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::sync::Arc;

use starlark::any::ProvidesStaticType;
use starlark::environment::FrozenModule;
use starlark::eval::Evaluator;
use starlark::values::float::StarlarkFloat;
use starlark::values::list::ListRef;
use starlark::values::tuple::TupleRef;
use starlark::values::{OwnedFrozenValue, Value, ValueLike};

use crate::analysis::solver::Solver;
use crate::contract::Limits;
use crate::diagnostic::{Diagnostic, Refusal, codes};
use crate::loop_ir::{Proc, Waiver};
use crate::profile::Phase;
use crate::schedule::apply::RawArguments;
use crate::schedule::argument::RawValue;
use crate::schedule::{Operator, Procedure, registry};
use crate::script::errors::{failed, refused};
use crate::script::load;
use crate::script::quote::Quoting;
use crate::script::raw_c::{self, Writer};
use crate::script::values::configs::{ConfigFieldValue, ConfigValue};
use crate::script::values::cursor::CursorValue;
use crate::script::values::procedure::ProcedureValue;
use crate::script::values::words::{FormattedValue, MemoryValue, MissingValue, PrecisionValue, WordValue};
use crate::script::wording;
use crate::source::{ModuleId, SourceFile};
use crate::symbol::Identity;
use crate::syntax::module::Rendered;
use crate::world::{CRunner, World};

/// What evaluating code left behind for reports.
#[derive(Default)]
pub(crate) struct Record {
    /// Procs that were defined and passed the checks, with the module that was being evaluated.
    pub defined: Vec<(ModuleId, Arc<Proc>)>,
    /// Definitions at the top level of a module that were refused.
    pub refused: Vec<(ModuleId, Refusal)>,
    /// `algorithm -> schedule` for each claim shown.
    pub claims: Vec<String>,
    /// For each claim shown, the digests of the algorithm and of what the schedule made of it.
    pub claimed: Vec<(String, String)>,
    /// Obligations that were waived, with the module that was being evaluated; `None` in a test.
    pub waived: Vec<(Option<ModuleId>, Waiver)>,
    /// How C was run (`native`, `qemu-aarch64`).
    pub runners: Vec<String>,
    /// Parts of tests that could not run here, with the reason.
    pub skipped: Vec<String>,
    /// What carries a C template, with the module that was being evaluated.
    pub instructions: Vec<(ModuleId, Arc<Proc>)>,
    /// Memories and externs, whose functions write C. Those functions are part of a module's text; names only here.
    pub writers: Vec<(ModuleId, Writer, String)>,
    /// What `cc(...)` told the C compiler that may change what C means, with the module that was being evaluated.
    pub compilers: Vec<(ModuleId, Vec<String>)>,
}

impl Record {
    /// Counts a claim that says something which no claim before it said: a schedule that changes nothing proves nothing.
    pub(crate) fn claim(&mut self, line: String, procs: (String, String)) {
        if procs.0 != procs.1 && !self.claimed.contains(&procs) {
            self.claims.push(line);
            self.claimed.push(procs);
        }
    }
}

/// A module's text and, once its imports are known, its Starlark text.
pub(crate) struct Source {
    pub module: ModuleId,
    pub file: Arc<SourceFile>,
    pub rendered: Option<Rendered>,
}

/// Where host code makes a step.
#[derive(Default)]
pub(crate) struct Site {
    /// Such as `src/lib.exo:12`; empty where there is none.
    pub line: String,
    pub pack: Option<Arc<str>>,
    /// All modules whose code is running, for a step that makes C.
    pub authors: Vec<ModuleId>,
}

fn denied(waiver: &Waiver, pack: &str) -> Diagnostic {
    let message = format!("pack `{pack}` leaves out a check, which your Exo.toml does not allow");
    Diagnostic::error(codes::UNSAFE, message)
        .note(format!("not shown: {}", waiver.step))
        .hint(format!("if you trust it, add this to Exo.toml:\n[verify]\nallow-unsafe = [\"{pack}\"]"))
}

/// One compilation.
#[derive(ProvidesStaticType)]
pub(crate) struct Host {
    pub world: Arc<dyn World>,
    pub runner: Option<Arc<dyn CRunner>>,
    pub limits: Limits,
    pub solver: RefCell<Solver>,
    pub modules: RefCell<BTreeMap<ModuleId, FrozenModule>>,
    /// Modules being evaluated, outermost first: to report import cycles.
    pub loading: RefCell<Vec<ModuleId>>,
    /// Text of every module, and what Starlark got of it, by the file name that Starlark knows it under.
    pub sources: RefCell<BTreeMap<String, Source>>,
    /// Functions of memories and externs whose module is finished.
    pub hooks: RefCell<BTreeMap<Identity, OwnedFrozenValue>>,
    pub record: RefCell<Record>,
    /// Host code that runs inside of definitions just now, innermost last.
    pub quoting: RefCell<Vec<Quoting>>,
    pub ticks: Cell<u64>,
    /// The module whose test is running.
    pub testing: RefCell<Option<ModuleId>>,
    /// Whether the schedule of a kernel is running: modules are evaluated then, and all their C is counted.
    pub composing: Cell<bool>,
    /// What the user handed to the module that `exo run` evaluates.
    pub arguments: RefCell<Vec<String>>,
    /// The values of `prelude.star`.
    pub prelude: RefCell<Option<FrozenModule>>,
}

impl Host {
    pub(crate) fn new(world: Arc<dyn World>, limits: Limits, runner: Option<Arc<dyn CRunner>>) -> Self {
        Host {
            solver: RefCell::new(Solver::new(limits.solver_units).profiled(world.profile())),
            world,
            runner,
            limits,
            modules: RefCell::default(),
            loading: RefCell::default(),
            sources: RefCell::default(),
            hooks: RefCell::default(),
            record: RefCell::default(),
            quoting: RefCell::default(),
            ticks: Cell::new(0),
            composing: Cell::new(false),
            testing: RefCell::default(),
            arguments: RefCell::default(),
            prelude: RefCell::new(None),
        }
    }

    /// The host behind an evaluator.
    pub(crate) fn of<'a>(eval: &Evaluator<'_, 'a, '_>) -> starlark::Result<&'a Host> {
        eval.extra
            .and_then(|extra| extra.downcast_ref::<Host>())
            .ok_or_else(|| starlark::Error::new_other(anyhow::anyhow!("evaluated outside a compilation")))
    }

    /// Applies an operator.
    pub(crate) fn apply(
        &self,
        operator: &'static dyn Operator,
        procedure: &Procedure,
        positional: Vec<RawValue>,
        named: Vec<(String, RawValue)>,
        site: Site,
    ) -> starlark::Result<Procedure> {
        let before = procedure.ir().lineage.waived.len();
        let mut solver = self.solver.borrow_mut();
        let _span = solver.span(Phase::Schedule);
        let evaluated = self.loading.borrow().last().cloned();
        // A step that no line of any module makes (an operator that a kernel entry names, say) is whoever's that runs it.
        let authors = site.authors;
        let pack = site.pack.or_else(|| evaluated.as_ref().map(|module| module.pack.clone())).unwrap_or_default();
        let arguments = RawArguments { positional, named, place: site.line, pack };
        let result = crate::schedule::apply(operator, procedure, arguments, &mut solver).map_err(refused)?;
        for waiver in result.ir().lineage.waived.iter().skip(before) {
            if let Some(name) = self.world.denies_waivers_of(&waiver.pack) {
                // Of the build, not of the step: were it a refusal, `attempt` in the very pack could hide it.
                return Err(failed(vec![denied(waiver, &name)]));
            }
            // Counted for the module that runs it, also where the code is another pack's, so that none counts for nobody.
            self.record.borrow_mut().waived.push((evaluated.clone(), waiver.clone()));
        }
        if result.ir().instr.is_some() && result.ir().instr != procedure.ir().instr {
            raw_c::note_instruction(self, result.ir(), &authors)?;
        }
        Ok(result)
    }

    /// Applies an operator that host code reaches as a method.
    pub(crate) fn apply_named(
        &self,
        name: &str,
        procedure: &Procedure,
        positional: Vec<RawValue>,
        named: Vec<(String, RawValue)>,
    ) -> starlark::Result<Procedure> {
        match registry::find(name) {
            Some(operator) => self.apply(operator, procedure, positional, named, Site::default()),
            None => Err(starlark::Error::new_other(anyhow::anyhow!("there is no operator `{name}`"))),
        }
    }

    /// The innermost line of a module's text that is being evaluated. Functions of the prelude (`try_do`, `repeat`) stand
    /// for whoever called them.
    pub(crate) fn site(&self, eval: &Evaluator<'_, '_, '_>) -> Site {
        let frames = (0..eval.call_stack_count()).filter_map(|depth| eval.call_stack_nth_location(depth));
        let Some((module, span)) = frames.into_iter().find_map(|at| load::locate_in_module(self, &at)) else {
            return Site::default();
        };
        let line = span.file.as_ref().map(|file| format!("{}:{}", file.display_name, file.line_column(span.start).0));
        Site { line: line.unwrap_or_default(), pack: Some(module.pack), authors: Vec::new() }
    }

    /// The modules whose code is running, innermost first; that of the prelude is of no module.
    pub(crate) fn authors(&self, eval: &Evaluator<'_, '_, '_>) -> Vec<ModuleId> {
        let mut authors: Vec<ModuleId> = Vec::new();
        // The whole stack, with the calls that the evaluator has replaced by the body of the function.
        let places = eval.call_stack().into_frames().into_iter().rev().filter_map(|frame| frame.location);
        for (module, _) in places.filter_map(|at| load::locate_in_module(self, &at)) {
            if !authors.contains(&module) {
                authors.push(module);
            }
        }
        authors
    }

    /// A host value as an operator's argument.
    pub(crate) fn raw(value: Value<'_>) -> starlark::Result<RawValue> {
        if value.is_none() {
            return Ok(RawValue::None);
        }
        if let Some(flag) = value.unpack_bool() {
            return Ok(RawValue::Bool(flag));
        }
        if let Some(text) = value.unpack_str() {
            return Ok(RawValue::Text(text.to_string()));
        }
        if let Some(number) = starlark::values::UnpackValue::unpack_value(value).ok().flatten() {
            return Ok(RawValue::Int(number));
        }
        if let Some(number) = value.downcast_ref::<StarlarkFloat>() {
            return Ok(RawValue::Float(number.0));
        }
        if let Some(cursor) = CursorValue::from_value(value) {
            return Ok(RawValue::Cursor(cursor.0.clone()));
        }
        if let Some(procedure) = ProcedureValue::from_value(value) {
            return Ok(RawValue::Procedure(procedure.0.clone()));
        }
        if let Some(memory) = MemoryValue::from_value(value) {
            return Ok(RawValue::Memory(memory.0.clone()));
        }
        if let Some(precision) = PrecisionValue::from_value(value) {
            return Ok(RawValue::Precision(precision.0));
        }
        if let Some(config) = ConfigValue::from_value(value) {
            return Ok(RawValue::Config(config.0.clone()));
        }
        if let Some(field) = ConfigFieldValue::from_value(value) {
            return Ok(RawValue::Text(field.0.name().to_string()));
        }
        if let Some(word) = WordValue::from_value(value) {
            return Ok(RawValue::Text(word.0.to_string()));
        }
        if let Some(formatted) = FormattedValue::from_value(value) {
            return Ok(RawValue::Formatted { text: formatted.text.clone(), holes: formatted.holes.clone() });
        }
        if let Some(missing) = MissingValue::from_value(value) {
            return Err(refused(missing.refusal()));
        }
        let items = ListRef::from_value(value)
            .map(|list| list.content())
            .or_else(|| TupleRef::from_value(value).map(|tuple| tuple.content()));
        match items {
            Some(items) => Ok(RawValue::List(items.iter().map(|item| Host::raw(*item)).collect::<Result<_, _>>()?)),
            None => Ok(RawValue::Other(wording::kind(value.get_type()))),
        }
    }
}
