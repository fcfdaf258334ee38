//! One random schedule: a random proc, random operators, and the checks on every step that is accepted.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use exo_compiler::analysis::solver::Solver;
use exo_compiler::cursor::{Place, Step as Edge, forward, path};
use exo_compiler::interpret::compare::Side;
use exo_compiler::interpret::draw::{Given, Setting};
use exo_compiler::interpret::exact::FieldValue;
use exo_compiler::interpret::random::{Random, mix};
use exo_compiler::interpret::{Comparison, Exact, FaultKind, Input, Options, Tensor, compare, run};
use exo_compiler::loop_ir::{ArgType, Block, Control, Proc, StmtKind, build, visit};
use exo_compiler::print;
use exo_compiler::schedule::apply::RawArguments;
use exo_compiler::schedule::argument::RawValue;
use exo_compiler::schedule::registry::{self, OPERATORS};
use exo_compiler::schedule::{Cursor, Operator, Procedure, apply};
use exo_compiler::source::Span;

use super::arguments::Chooser;
use super::front::{Scope, instruction};
use super::places::{expressions, statements};
use super::program::{LIBRARY, generate};
use super::reproduction;
use super::shrink;

/// Z3 resource units for one query: small, since a schedule asks many.
const SOLVER_UNITS: u32 = 400_000;

/// Steps of one run in a comparison.
const RUN_BUDGET: u64 = 200_000;

/// Calls of operators that one schedule tries.
const TRIES: usize = 14;

/// Steps after which a schedule ends.
const LONGEST: usize = 6;

/// What became of calls of one operator.
#[derive(Clone, Copy, Debug, Default)]
pub struct Count {
    pub accepted: u64,
    pub refused: u64,
    /// Accepted, but no run ended within its budget or no arguments were found, so nothing was compared.
    pub unchecked: u64,
}

/// Totals over many schedules.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    pub schedules: u64,
    /// Generated programs that were thrown away: not typed, or faulty on their own.
    pub discarded: u64,
    pub operators: BTreeMap<&'static str, Count>,
    /// How often each refusal was given, with names and numbers left out.
    pub refusals: BTreeMap<(&'static str, String), u64>,
}

impl Tally {
    pub fn add(&mut self, other: &Tally) {
        self.schedules += other.schedules;
        self.discarded += other.discarded;
        for (name, count) in &other.operators {
            let total = self.operators.entry(name).or_default();
            total.accepted += count.accepted;
            total.refused += count.refused;
            total.unchecked += count.unchecked;
        }
        for (refusal, count) in &other.refusals {
            *self.refusals.entry(refusal.clone()).or_default() += count;
        }
    }
}

/// A step that should not have been accepted, or that broke something.
#[derive(Clone, Debug)]
pub struct Failure {
    /// Seed of the schedule.
    pub seed: u64,
    pub operator: &'static str,
    pub arguments: String,
    pub problem: String,
    /// The smallest proc found on which the step still fails.
    pub before: String,
    pub after: String,
    /// A module that shows the failure by itself.
    pub reproduction: String,
    /// The generated proc and the steps before this one.
    pub origin: String,
    pub history: Vec<String>,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "seed {}: {}({})", self.seed, self.operator, self.arguments)?;
        writeln!(f, "{}\n", self.problem)?;
        writeln!(f, "--- before\n{}\n--- after\n{}\n--- generated\n{}", self.before, self.after, self.origin)?;
        for step in &self.history {
            writeln!(f, "    {step}")?;
        }
        writeln!(f, "--- as a module for `exo run`\n{}", self.reproduction)
    }
}

/// How a step that was accepted turned out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    Right,
    /// Nothing could be compared.
    Unchecked,
    Wrong(String),
}

/// Everything that schedules share: the library, the scope of names, the solver.
pub struct Bench {
    scope: Scope,
    library: Vec<Procedure>,
    pub(super) solver: Solver,
    age: u32,
}

impl Default for Bench {
    fn default() -> Self {
        Bench::new()
    }
}

impl Bench {
    pub fn new() -> Self {
        let mut scope = Scope::prelude();
        let mut library = Vec::new();
        for (text, template) in LIBRARY {
            // The library's texts are fixed; a test holds that all of them are typed.
            let Ok(proc) = scope.typed(text) else { continue };
            let proc = Arc::new(match template {
                Some(template) => instruction(proc, template),
                None => proc,
            });
            scope.add_proc(&proc);
            library.push(Procedure::new(proc));
        }
        let mut bench = Bench { scope, library, solver: Solver::new(SOLVER_UNITS), age: 0 };
        bench.add_relatives();
        bench
    }

    /// Lets `check` use the names and the solver of this bench.
    pub fn with_front_end<T>(&mut self, check: impl FnOnce(&Scope, &mut Solver) -> T) -> T {
        check(&self.scope, &mut self.solver)
    }

    /// Adds, for every proc of the library, one that is equal to it by a step under another name.
    fn add_relatives(&mut self) {
        let Some(rename) = registry::find("rename") else { return };
        for procedure in self.library.clone() {
            let name = format!("{}_again", procedure.ir().name);
            let raw = RawArguments { positional: vec![RawValue::Text(name)], ..RawArguments::default() };
            if let Ok(relative) = apply(rename, &procedure, raw, &mut self.solver) {
                self.scope.add_proc(relative.ir());
                self.library.push(relative);
            }
        }
    }

    /// The procs that calls and `replace` may use.
    #[cfg(test)]
    pub(super) fn library(&self) -> &[Procedure] {
        &self.library
    }

    /// A proc that is typed, passes the front end and runs without a fault.
    pub(super) fn program(&mut self, random: &mut Random, favourite: &str, tally: &mut Tally) -> Procedure {
        loop {
            let text = generate(random, favourite);
            let text = if random.one_in(5) && !divides_data(&text) { of_integers(&text, random) } else { text };
            if let Ok(proc) = self.scope.typed(&text) {
                let sound = self.scope.checked(&proc, &mut self.solver).is_ok();
                let options = Options { seed: random.next_u64(), rounds: 6, budget: RUN_BUDGET, ..Options::default() };
                if sound && compare(&proc, &proc, &options).is_equal() {
                    return Procedure::new(Arc::new(proc));
                }
            }
            tally.discarded += 1;
        }
    }

    /// Runs the schedule of a seed. `focus` is tried more often than the others.
    pub fn schedule(&mut self, seed: u64, focus: &'static dyn Operator, tally: &mut Tally) -> Result<(), Box<Failure>> {
        self.age += 1;
        if self.age > 200 {
            // A verdict must not depend on how long a process runs, nor its memory grow without bound.
            (self.solver, self.age) = (Solver::new(SOLVER_UNITS), 0);
        }
        let mut random = Random::new(mix(seed));
        let origin = self.program(&mut random, focus.name(), tally);
        let mut procedure = origin.clone();
        let mut steps = 0;
        tally.schedules += 1;
        // One in ten goes on for longer.
        let scale = if seed.is_multiple_of(10) { 3 } else { 1 };
        for attempt in 0..TRIES * scale {
            let operator = if attempt % 2 == 0 {
                focus
            } else {
                match random.pick(OPERATORS) {
                    Some(operator) => *operator,
                    None => focus,
                }
            };
            let Some(raw) = Chooser::new(&procedure, &self.library, &mut random).arguments(operator) else { continue };
            match self.step(operator, &procedure, &raw, random.next_u64()) {
                Step::Refused(reason) => {
                    tally.operators.entry(operator.name()).or_default().refused += 1;
                    *tally.refusals.entry((operator.name(), reason)).or_default() += 1;
                }
                Step::Accepted(next, verdict) => {
                    let count = tally.operators.entry(operator.name()).or_default();
                    count.accepted += 1;
                    match verdict {
                        Verdict::Right => {}
                        Verdict::Unchecked => count.unchecked += 1,
                        Verdict::Wrong(problem) => {
                            return Err(Box::new(self.failure(seed, operator, &procedure, &raw, problem, &origin)));
                        }
                    }
                    procedure = next;
                    steps += 1;
                    if steps == LONGEST * scale {
                        break;
                    }
                }
                Step::Broken(problem) => {
                    return Err(Box::new(self.failure(seed, operator, &procedure, &raw, problem, &origin)));
                }
            }
        }
        Ok(())
    }

    /// A proc after some random steps, none of which changes a precision; the steps themselves are not checked.
    pub(super) fn scheduled(&mut self, seed: u64, tally: &mut Tally) -> Procedure {
        let mut random = Random::new(mix(seed));
        let mut procedure = self.program(&mut random, "", tally);
        for _ in 0..random.below(8) {
            let Some(operator) = random.pick(OPERATORS).copied().filter(|op| op.name() != "set_precision") else {
                continue;
            };
            let Some(raw) = Chooser::new(&procedure, &self.library, &mut random).arguments(operator) else { continue };
            if let Ok(next) = apply(operator, &procedure, raw, &mut self.solver) {
                procedure = next;
            }
        }
        procedure
    }

    fn failure(
        &mut self,
        seed: u64,
        operator: &'static dyn Operator,
        procedure: &Procedure,
        raw: &RawArguments,
        problem: String,
        origin: &Procedure,
    ) -> Failure {
        let (smallest, raw) = shrink::shrink(self, operator, procedure, raw);
        let (after, problem) = match self.step(operator, &smallest, &raw, 1) {
            Step::Accepted(next, Verdict::Wrong(smaller)) => (print::proc(next.ir()), smaller),
            Step::Accepted(next, Verdict::Right | Verdict::Unchecked) => (print::proc(next.ir()), problem),
            Step::Refused(_) => (String::new(), problem),
            Step::Broken(smaller) => (String::new(), smaller),
        };
        let mut history: Vec<String> = procedure
            .history()
            .iter()
            .filter_map(|version| version.step().map(|step| format!("{}({})", step.operator, step.arguments.written())))
            .collect();
        history.reverse();
        Failure {
            seed,
            operator: operator.name(),
            arguments: raw.written(),
            problem,
            reproduction: reproduction::module(operator.name(), smallest.ir(), &raw),
            before: print::proc(smallest.ir()),
            after,
            origin: print::proc(origin.ir()),
            history,
        }
    }

    /// One call of an operator, with everything checked that can be.
    pub(super) fn step(
        &mut self,
        operator: &'static dyn Operator,
        before: &Procedure,
        raw: &RawArguments,
        seed: u64,
    ) -> Step {
        let solver = &mut self.solver;
        let outcome = catch_unwind(AssertUnwindSafe(|| apply(operator, before, raw.clone(), solver)));
        match outcome {
            Err(panic) => {
                // What the solver holds after a panic is unknown.
                self.solver = Solver::new(SOLVER_UNITS);
                let text = panic.downcast_ref::<String>().map(String::as_str);
                let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
                Step::Broken(format!("panicked: {text}"))
            }
            Ok(Err(refusal)) => match refusal.message() {
                message if message.contains("not well formed") => Step::Broken(message.to_string()),
                message => Step::Refused(outline(message)),
            },
            Ok(Ok(after)) => {
                let verdict = self.verdict(operator.name(), before, raw, &after, seed);
                Step::Accepted(after, verdict)
            }
        }
    }

    fn verdict(
        &mut self,
        operator: &str,
        before: &Procedure,
        raw: &RawArguments,
        after: &Procedure,
        seed: u64,
    ) -> Verdict {
        if let Err(problem) = forwards(before, after) {
            return Verdict::Wrong(problem);
        }
        if let Err(problem) = self.reads_back(after.ir()) {
            return Verdict::Wrong(problem);
        }
        let (before, after) = (before.ir(), after.ir());
        let modulo = before.lineage.modulo(&after.lineage);
        let options = Options { seed, rounds: 4, budget: RUN_BUDGET, modulo, ..Options::default() };
        judged(match operator {
            "partial_eval" => match caller(before, after, raw) {
                Some(caller) => compare(&caller, after, &options),
                None => return Verdict::Unchecked,
            },
            "transpose" => return transposed(before, after, raw, seed),
            _ => compare(before, after, &options),
        })
    }

    /// The printed text is the proc: it parses to one that prints alike and that the front end accepts.
    fn reads_back(&mut self, proc: &Proc) -> Result<(), String> {
        let mut scope = self.scope.clone();
        let mut callees: BTreeMap<String, Arc<Proc>> = BTreeMap::new();
        let mut ambiguous = false;
        visit::each_stmt(&proc.body, &mut |stmt| {
            if let StmtKind::Call { callee, .. } = &stmt.kind {
                let known = callees.entry(callee.name.to_string()).or_insert_with(|| callee.clone());
                ambiguous |= !Arc::ptr_eq(known, callee) && known != callee;
            }
        });
        if ambiguous {
            // Two callees of one name cannot be told apart in text.
            return Ok(());
        }
        callees.values().for_each(|callee| scope.add_proc(callee));
        // The template of an instruction is printed as a comment and does not come back.
        let plain = Proc { instr: None, ..proc.clone() };
        let text = print::proc(&plain);
        let again =
            scope.typed(&(text.clone() + "\n")).map_err(|error| format!("the printed text is refused: {error}"))?;
        let reprinted = print::proc(&again);
        if reprinted != text {
            return Err(format!("the printed text reads back as another proc:\n{reprinted}"));
        }
        scope.checked(&again, &mut self.solver).map_err(|error| format!("the front end refuses the result: {error}"))
    }
}

/// A proc with the arguments of `after` that calls `before` with the values that were fixed.
fn caller(before: &Arc<Proc>, after: &Proc, raw: &RawArguments) -> Option<Proc> {
    let list = |name: &str| {
        raw.named.iter().find(|(given, _)| given == name).and_then(|(_, value)| match value {
            RawValue::List(values) => Some(values.clone()),
            _ => None,
        })
    };
    let (names, values) = (list("names")?, list("values")?);
    let fixed: Vec<(String, i64)> = names
        .into_iter()
        .zip(values)
        .filter_map(|pair| match pair {
            (RawValue::Text(name), RawValue::Int(value)) => Some((name, value)),
            _ => None,
        })
        .collect();
    let mut args = Vec::new();
    for arg in &before.args {
        let kept = after.args.iter().find(|kept| kept.name.name() == arg.name.name());
        let value = fixed.iter().find(|(name, _)| name == arg.name.name()).map(|(_, value)| *value);
        args.push(match (&arg.ty, kept, value) {
            (ArgType::Control(Control::Bool), None, Some(value)) => build::boolean(value != 0),
            (ArgType::Control(_), None, Some(value)) => build::int(value),
            (ArgType::Control(control), Some(kept), _) => build::control(&kept.name, *control),
            (ArgType::Data(_), Some(kept), _) => build::element(&kept.name, Vec::new()),
            (ArgType::Control(_) | ArgType::Data(_), None, _) => return None,
        });
    }
    let call = build::stmt(StmtKind::Call { callee: before.clone(), args }, &Span::none());
    Some(Proc { body: Block::one(call), ..after.clone() })
}

/// Both procs on one matrix, laid out as each of them takes it.
fn transposed(before: &Proc, after: &Proc, raw: &RawArguments, seed: u64) -> Verdict {
    let at = raw.named.iter().find_map(|(_, value)| match value {
        RawValue::Cursor(Cursor { place: Place::Arg(at), .. }) => Some(*at),
        _ => None,
    });
    let Some(at) = at else { return Verdict::Unchecked };
    let mut random = Random::new(seed);
    let Some(setting) = Setting::draw(&[after], &Given::new(), 7, &mut random) else { return Verdict::Unchecked };
    let inputs = setting.inputs(&Exact, after, &mut random);
    let mut swapped = inputs.clone();
    if let Some(Input::Tensor(tensor)) = swapped.args.get_mut(at) {
        // The caller of a window passes the other view of the same memory; a dense matrix is laid out anew.
        let view = matches!(before.args.get(at).map(|arg| &arg.ty), Some(ArgType::Data(ty)) if ty.is_window);
        *tensor = if view { other_view(tensor) } else { transpose_of(tensor) };
    }
    // Asserts about strides may not allow the plain layout.
    let Ok(left) = run(&Exact, before, swapped, RUN_BUDGET) else { return Verdict::Unchecked };
    let right = match run(&Exact, after, inputs, RUN_BUDGET) {
        Ok(outputs) => outputs,
        Err(fault) => return Verdict::Wrong(fault.message),
    };
    let name = after.args.get(at).map(|arg| arg.name.name().to_string());
    for ((_, a), (own, b)) in left.tensors.iter().zip(&right.tensors) {
        let b = if name.as_deref() == Some(own) { transpose_of(b) } else { b.clone() };
        if a.elements() != b.elements() {
            return Verdict::Wrong(format!("`{own}` differs after the transposition"));
        }
    }
    Verdict::Right
}

fn other_view(tensor: &Tensor<FieldValue>) -> Tensor<FieldValue> {
    let extents = tensor.extents.iter().rev().copied().collect();
    let strides = tensor.strides.iter().rev().copied().collect();
    Tensor { extents, strides, data: tensor.data.clone() }
}

fn transpose_of(tensor: &Tensor<FieldValue>) -> Tensor<FieldValue> {
    let view = other_view(tensor);
    Tensor::dense(view.extents.clone(), view.elements())
}

/// How one call went.
pub(super) enum Step {
    Refused(String),
    Accepted(Procedure, Verdict),
    /// A panic, or a tree that breaks the laws.
    Broken(String),
}

/// Whether a text divides by anything but an integer literal, as only data does: by zero an integer has no quotient.
fn divides_data(text: &str) -> bool {
    text.split(" / ").skip(1).any(|rest| {
        let divisor = rest.split([' ', ')', ']', ':', ',', '\n']).next().unwrap_or_default();
        !divisor.chars().all(|digit| digit.is_ascii_digit())
    })
}

/// The text with integers for floats, whose arithmetic must stay the same to the bit. Calls of the library, which is of
/// floats, make it ill-typed; such a text is thrown away.
fn of_integers(text: &str, random: &mut Random) -> String {
    let types = ["i8", "i16", "i32", "ui8", "ui32"];
    let mut some = || random.pick(&types).copied().unwrap_or("i8");
    text.replace("f32", some())
        .replace("f64", some())
        .replace(": R", &format!(": {}", some()))
        .replace("0.5", "5.0")
        .replace("-1.0", "7.0")
        .replace("3.25", "3.0")
}

fn judged(comparison: Comparison) -> Verdict {
    match comparison {
        Comparison::Equal { .. } => Verdict::Right,
        Comparison::NoDraw { .. } | Comparison::Incomparable { .. } => Verdict::Unchecked,
        Comparison::Fault { fault, .. } if fault.kind == FaultKind::Budget => Verdict::Unchecked,
        // The step before this one was compared already; sizes at which only the old proc fails say nothing.
        Comparison::Fault { side: Side::Left, .. } => Verdict::Unchecked,
        Comparison::Fault { side: Side::Right, sizes, fault } => {
            let sizes = exo_compiler::interpret::compare::describe(&sizes);
            Verdict::Wrong(format!("with {sizes}: {}", fault.message))
        }
        Comparison::Unequal { sizes, buffer, index, left, right } => {
            let sizes = exo_compiler::interpret::compare::describe(&sizes);
            Verdict::Wrong(format!("with {sizes}: {buffer}{index:?} was {left} and is {right}"))
        }
        Comparison::BadSizes { message } => Verdict::Wrong(message),
    }
}

/// Every statement and expression of the old version either has a place in the new one or is gone; none may dangle.
fn forwards(before: &Procedure, after: &Procedure) -> Result<(), String> {
    let Some(step) = after.step() else { return Ok(()) };
    let mut paths: Vec<_> = statements(before.ir()).into_iter().map(|(path, _)| path).collect();
    paths.extend(expressions(before.ir()).into_iter().map(|(path, _)| path));
    for old in paths {
        // A variable under a negation may become a literal and merge with it; `Procedure::forward` sees to that.
        if !old.0.contains(&Edge::Operand)
            && let Some(Place::Node(new)) = forward(&Place::Node(old.clone()), &step.forward)
            && path::node(after.ir(), &new).is_none()
        {
            return Err(format!("the cursor {old:?} forwards to {new:?}, where nothing stands"));
        }
    }
    Ok(())
}

/// A message without what differs from call to call: text in backquotes and numbers.
fn outline(message: &str) -> String {
    let mut out = String::new();
    let mut quoted = false;
    for c in message.chars() {
        if c == '`' {
            quoted = !quoted;
            if quoted {
                out.push_str("`_`");
            }
        } else if !quoted {
            let c = if c.is_ascii_digit() { '0' } else { c };
            if !(c == '0' && out.ends_with('0')) {
                out.push(c);
            }
        }
    }
    out.lines().next().unwrap_or_default().chars().take(110).collect()
}
