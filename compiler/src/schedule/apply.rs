//! Propose, discharge, commit: the only place where a new version of a procedure is made.

use std::sync::Arc;

use crate::analysis::conditions::{Question, Side, Unproven};
use crate::analysis::mutation;
use crate::analysis::solver::Solver;
use crate::checks::definition;
use crate::cursor::Place;
use crate::diagnostic::{Diagnostic, Refusal, RefusalKind, codes};
use crate::loop_ir::{Lineage, Proc, Waiver, configuration, extent, revalidate};
use crate::schedule::argument::{self, RawValue, written};
use crate::schedule::obligation::{Obligation, Proposal, Relation};
use crate::schedule::operator::Operator;
use crate::schedule::procedure::{HistoryStep, Procedure};
use crate::schedule::results;
use crate::symbol::Identity;

/// Arguments of one call as the script wrote them.
#[derive(Clone, Debug, Default)]
pub struct RawArguments {
    pub positional: Vec<RawValue>,
    pub named: Vec<(String, RawValue)>,
    /// The host line of the call, such as `src/lib.exo:12`; empty where there is none.
    pub place: String,
    /// The pack whose code makes the call: who answers for a waived check. Empty for code of no pack.
    pub pack: Arc<str>,
}

impl RawArguments {
    /// The arguments as a user would write them, without the procedure.
    pub fn written(&self) -> String {
        let positional = self.positional.iter().map(written);
        let named = self.named.iter().map(|(name, value)| format!("{name} = {}", written(value)));
        positional.chain(named).collect::<Vec<_>>().join(", ")
    }
}

/// Applies an operator: the new version, or a refusal that leaves everything as it was.
pub fn apply(
    operator: &'static dyn Operator,
    procedure: &Procedure,
    arguments: RawArguments,
    solver: &mut Solver,
) -> Result<Procedure, Refusal> {
    let mut call = Call { operator, procedure, arguments: &arguments, place: None };
    let processed = argument::process(operator, procedure, &arguments).map_err(|refusal| call.explained(refusal))?;
    call.place = processed.values.iter().find_map(|(_, value)| value.place());
    let proposal =
        operator.propose(procedure.ir(), &processed, solver).map_err(|refusal| call.explained(call.marked(refusal)))?;
    let Proposal { edited, obligation, relation, results } = proposal;
    let (mut proc, forward) = edited.finish();
    if let Some(limit) = extent::exceeded(&proc) {
        return Err(call.explained(too_large(operator.name(), &limit)));
    }
    if let Some(name) = configuration::dependent_declaration(&proc) {
        return Err(call.explained(dependent(operator.name(), &name)));
    }
    revalidate::commit(procedure.ir(), &proc).map_err(|law| call.explained(broken(operator.name(), &law)))?;
    let results = match operator.results() {
        [] => results::carried(operator, &processed, &forward, &proc),
        own if own.len() == results.len() && results::all_exist(&results, &proc) => results,
        _ => return Err(call.explained(broken(operator.name(), "it hands back places that do not exist"))),
    };
    let waived = call.discharge(obligation, procedure.ir(), &proc, solver)?;
    if !keeps_template(procedure.ir(), &proc, &relation, waived.is_some()) {
        proc.instr = None;
    }
    proc.lineage = lineage(&proc.lineage, relation, waived);
    let step = HistoryStep {
        parent: procedure.clone(),
        forward,
        operator: operator.name(),
        arguments: call.arguments.clone(),
        results,
    };
    Ok(Procedure::derived(Arc::new(proc), step))
}

/// Whether the C of an instruction still does what its body says: the body is as good as the old one for every caller. Else the result
/// is a procedure like others, of which `make_instr` makes an instruction again.
fn keeps_template(before: &Proc, after: &Proc, relation: &Relation, waived: bool) -> bool {
    let same = match relation {
        Relation::Same => true,
        Relation::Modulo { fields, precision } => fields.is_empty() && !precision,
        Relation::UpToPrecision | Relation::NewFamily => false,
    };
    before.instr != after.instr || (same && !waived && before.args == after.args && before.preds == after.preds)
}

fn lineage(old: &Lineage, relation: Relation, waived: Option<Waiver>) -> Lineage {
    let mut lineage = old.clone();
    match relation {
        Relation::Same => {}
        Relation::UpToPrecision => lineage.precision_class = Identity::fresh(),
        Relation::Modulo { fields, precision } => {
            let classes = Arc::make_mut(&mut lineage.config_classes);
            for field in fields {
                classes.insert(field, Identity::fresh());
            }
            if precision {
                lineage.precision_class = Identity::fresh();
            }
        }
        Relation::NewFamily => {
            lineage.family = Identity::fresh();
            lineage.precision_class = lineage.family;
            lineage.config_classes = Arc::default();
        }
    }
    if let Some(waived) = waived {
        Arc::make_mut(&mut lineage.waived).push(waived);
    }
    lineage
}

/// A tree that breaks the laws is never committed, whatever the operator says about it.
fn broken(operator: &str, law: &str) -> Refusal {
    let message = format!("`{operator}` made a procedure that is not well formed: {law}");
    let hint = "this is a bug of the operator, not of your schedule; please report it";
    Refusal::new(RefusalKind::Scheduling, operator, Diagnostic::error(codes::REFUSED, message).hint(hint))
}

fn dependent(operator: &str, name: &str) -> Refusal {
    let message = format!("the declaration of `{name}` would depend on configuration state, which may change");
    let hint = "pass the value to a procedure of its own, as a `size` or `index` argument";
    Refusal::new(RefusalKind::Scheduling, operator, Diagnostic::error(codes::REFUSED, message).hint(hint))
}

fn too_large(operator: &str, limit: &str) -> Refusal {
    let message = format!("the procedure would have {limit}");
    let hint = "the usual cause is a step that copies code, repeated without end";
    Refusal::new(RefusalKind::Scheduling, operator, Diagnostic::error(codes::REFUSED, message).hint(hint))
}

/// One call of an operator, for messages.
struct Call<'a> {
    operator: &'static dyn Operator,
    procedure: &'a Procedure,
    arguments: &'a RawArguments,
    /// The first place among the arguments.
    place: Option<Place>,
}

impl Call<'_> {
    fn text(&self) -> String {
        let (operator, proc) = (self.operator.name(), &self.procedure.ir().name);
        match self.arguments.written().as_str() {
            "" => format!("{operator}({proc})"),
            arguments => format!("{operator}({proc}, {arguments})"),
        }
    }

    /// Adds what every refusal of a step carries: the call.
    fn explained(&self, mut refusal: Refusal) -> Refusal {
        refusal.operator = self.operator.name().to_string();
        if let Some(first) = refusal.diagnostics.first_mut() {
            first.notes.push(format!("refused: {}", self.text()));
        }
        refusal
    }

    /// Adds the procedure with the place that the call is about marked.
    fn marked(&self, mut refusal: Refusal) -> Refusal {
        if let (Some(first), Some(place)) = (refusal.diagnostics.first_mut(), &self.place) {
            first.notes.push(crate::print::marked(self.procedure.ir(), place));
        }
        refusal
    }

    /// Asks every question; what was waived, for the record.
    fn discharge(
        &self,
        obligation: Obligation,
        before: &Proc,
        after: &Proc,
        solver: &mut Solver,
    ) -> Result<Option<Waiver>, Refusal> {
        match obligation {
            Obligation::ByConstruction(_) => {}
            Obligation::Proven(questions) => self.ask(&questions, before, after, solver)?,
            Obligation::Steps(steps) => {
                for step in &steps {
                    revalidate::commit(&step.before, &step.after)
                        .map_err(|law| self.explained(broken(self.operator.name(), &law)))?;
                    self.ask(&step.questions, &step.before, &step.after, solver)?;
                }
            }
            Obligation::Waived { what } => {
                let step = format!("{}: {what}", self.text());
                return Ok(Some(Waiver { pack: self.arguments.pack.clone(), step }));
            }
        }
        // No operator has to remember these: sharing a buffer between iterations, or moving a write of configuration state that
        // something far away rests on, is easy to do without noticing.
        let in_order = definition::no_new_races(before, after, solver)
            .and_then(|()| definition::followed_configuration(before, after, solver));
        match in_order {
            Ok(()) => Ok(None),
            Err(unproven) => Err(self.explained(unshown(self.operator.name(), unproven, after))),
        }
    }

    fn ask(&self, questions: &[Question], before: &Proc, after: &Proc, solver: &mut Solver) -> Result<(), Refusal> {
        for question in questions {
            let answer = question.answer(before, after, solver);
            let overruled = mutation::overrules(self.operator.name(), question, answer.is_ok());
            let Err(unproven) = answer else { continue };
            if overruled {
                continue;
            }
            let proc = match question.side() {
                Side::Before => before,
                Side::After => after,
            };
            let has_place = unproven.place.is_some();
            let refusal = unshown(self.operator.name(), unproven, proc);
            return Err(self.explained(if has_place { refusal } else { self.marked(refusal) }));
        }
        Ok(())
    }
}

/// The refusal for a condition on `proc` that was not shown.
fn unshown(operator: &str, unproven: Unproven, proc: &Proc) -> Refusal {
    let verb = if unproven.unknown { "could not decide whether" } else { "cannot show that" };
    let message = match unproven.is_fault {
        true => format!("after `{operator}`, {}", unproven.condition),
        false => format!("`{operator}` {verb} {}", unproven.condition),
    };
    let mut diagnostic = Diagnostic::error(codes::REFUSED, message);
    if let Some(counterexample) = &unproven.counterexample {
        diagnostic = diagnostic.note(format!("it fails for {counterexample}"));
    }
    if let Some(place) = unproven.place {
        diagnostic = diagnostic.note(crate::print::marked(proc, &Place::Node(place)));
    }
    diagnostic.hints.extend(unproven.hint);
    Refusal::new(RefusalKind::Scheduling, operator, diagnostic)
}

#[cfg(test)]
mod tests;
