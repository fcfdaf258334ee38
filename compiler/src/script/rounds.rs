//! The runs of a proc that its C is compared on: arguments, and what the interpreter says of each.

use std::sync::Arc;

use crate::interpret::draw::{Given, Layout, Setting};
use crate::interpret::random::Random;
use crate::interpret::rounded::MachineValue;
use crate::interpret::tolerated::{Tolerant, Tolerated};
use crate::interpret::values::{Spread, Values};
use crate::interpret::{self, DEFAULT_BUDGET, Fault, FaultKind, Input, Inputs, Outputs};
use crate::loop_ir::Proc;

/// How many runs are worth their time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    /// Runs that are made in any case; the given arguments take turns.
    least: usize,
    /// Runs that are made until every edge value was dealt.
    most: usize,
    /// Elements of all arguments of all runs after which no other run is begun.
    elements: usize,
    /// Whether each of the given arguments must be runnable.
    needs_all: bool,
}

impl Effort {
    /// A proc that runs as a whole, for which a test names sizes or not.
    pub(crate) const PROC: Effort = Effort { least: 3, most: 3, elements: usize::MAX, needs_all: true };

    /// One instruction: small, and all that is known of it.
    pub(crate) const INSTRUCTION: Effort = Effort { least: 12, most: 32, elements: 1 << 13, needs_all: false };
}

/// One run: what it is given, what it must give, and how it is told apart from the others.
pub(crate) struct Round {
    pub(crate) sizes: String,
    pub(crate) inputs: Inputs<MachineValue>,
    pub(crate) expected: Outputs<Tolerated>,
}

/// Why there is no run.
pub(crate) enum NoRound {
    /// No arguments satisfy the asserts.
    NoArguments,
    /// The interpreter stops, whatever the data.
    Fault { sizes: String, fault: Fault },
}

/// The run in which sums of integers become as large as they can.
const RUN_OF_ENDS: usize = 5;

/// Sizes that are drawn freely grow over so many runs.
const MOST_LIMITS: usize = 4;

/// The maker of the runs of one proc.
pub(crate) struct Plan<'p> {
    proc: &'p Arc<Proc>,
    effort: Effort,
    values: Values,
}

impl<'p> Plan<'p> {
    pub(crate) fn new(proc: &'p Arc<Proc>, effort: Effort) -> Self {
        Plan { proc, effort, values: Values::new(7) }
    }

    /// Runs in which the given arguments take turns, each with other layouts and data.
    ///
    /// # Errors
    /// The first reason, where none can be made or a run faults whatever its data.
    pub(crate) fn rounds(&mut self, given: &[Given]) -> Result<Vec<Round>, NoRound> {
        let free = [Given::new()];
        let given = if given.is_empty() { &free } else { given };
        let least = self.effort.least.max(given.len());
        let (mut rounds, mut elements) = (Vec::new(), 0);
        for (at, given_now) in given.iter().cycle().take(self.effort.most.max(least)).enumerate() {
            let is_enough = at >= least && !self.values.is_undealt();
            if is_enough || elements > self.effort.elements {
                break;
            }
            // One further each time around, so that the same arguments meet other layouts and data.
            let turn = at + at / given.len().max(2);
            let spread = match turn % 3 {
                _ if at == RUN_OF_ENDS => Spread::Ends,
                1 if at < least => Spread::Bits6,
                2 if at < least => Spread::Small,
                _ => Spread::Whole,
            };
            let layout = if turn.is_multiple_of(2) { Layout::Gaps } else { Layout::Any };
            match self.round(given_now, at, layout, spread) {
                Ok(round) => {
                    elements += round.inputs.args.iter().map(element_count).sum::<usize>();
                    rounds.push(round);
                }
                // The asserts may tie what was chosen to a layout or a state that was not drawn.
                Err(NoRound::NoArguments) if !self.effort.needs_all => {}
                Err(none) => return Err(none),
            }
        }
        if rounds.is_empty() { Err(NoRound::NoArguments) } else { Ok(rounds) }
    }

    fn round(&mut self, given: &Given, at: usize, layout: Layout, mut spread: Spread) -> Result<Round, NoRound> {
        let mut random = Random::new(at as u64 + 1);
        let limit = 9 + 4 * at.min(MOST_LIMITS) as i64;
        let draw = |layout, random: &mut Random| Setting::laid_out(&[&**self.proc], given, limit, layout, random);
        let setting = draw(layout, &mut random).or_else(|| draw(Layout::Any, &mut random));
        let setting = setting.ok_or(NoRound::NoArguments)?;
        let sizes = interpret::compare::describe(&setting.controls(self.proc));
        loop {
            let values = &mut self.values;
            let inputs = setting.inputs_of(self.proc, &mut |at, precision| values.next(at, precision, spread));
            let tolerated = inputs.map(&|value| Tolerated::from(*value));
            match (interpret::run(&Tolerant, self.proc, tolerated, DEFAULT_BUDGET), spread.narrower()) {
                (Ok(expected), _) => return Ok(Round { sizes, inputs, expected }),
                // Such data have no meaning here: a float that no integer can hold, a division by zero.
                (Err(fault), Some(narrower)) if fault.kind == FaultKind::Uninitialised => spread = narrower,
                (Err(fault), _) => return Err(NoRound::Fault { sizes, fault }),
            }
        }
    }
}

fn element_count(input: &Input<MachineValue>) -> usize {
    match input {
        Input::Tensor(tensor) => tensor.data.len(),
        Input::Int(_) | Input::Bool(_) => 0,
    }
}
