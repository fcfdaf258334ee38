//! `--timings`: where the time of the compilations in this process went.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use exo_compiler::analysis::Stats;
use exo_compiler::profile::{Phase, Profile};

/// Set once, when the user asks for timings: every compilation of the process adds to it.
static TIMINGS: OnceLock<Arc<Timings>> = OnceLock::new();

/// Time and number of entries of each phase, without what is inside another.
#[derive(Default)]
struct Timings {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    spent: BTreeMap<Phase, (Duration, u64)>,
    /// Phases entered and not left, innermost last, and since when the innermost one runs.
    open: Vec<Phase>,
    since: Option<Instant>,
    /// Inside compilations, all phases and the host together.
    whole: Duration,
    queries: Stats,
}

impl State {
    /// Charges the time up to now to the innermost phase.
    fn charge(&mut self) {
        let now = Instant::now();
        if let (Some(since), Some(phase)) = (self.since, self.open.last()) {
            self.spent.entry(*phase).or_default().0 += now - since;
        }
        self.since = Some(now);
    }
}

impl Profile for Timings {
    fn enter(&self, phase: Phase) {
        let Ok(mut state) = self.state.lock() else { return };
        state.charge();
        state.open.push(phase);
        state.spent.entry(phase).or_default().1 += 1;
    }

    fn leave(&self) {
        let Ok(mut state) = self.state.lock() else { return };
        state.charge();
        state.open.pop();
    }
}

/// From now on, compilations are timed.
pub(crate) fn start() {
    TIMINGS.get_or_init(Arc::default);
}

/// Where a compilation reports to; `None` when nobody asked.
pub(crate) fn profile() -> Option<Arc<dyn Profile>> {
    TIMINGS.get().map(|timings| timings.clone() as Arc<dyn Profile>)
}

/// Adds a compilation that is over: how long it took and what its solver was asked.
pub(crate) fn compiled(whole: Duration, queries: Stats) {
    let Some(Ok(mut state)) = TIMINGS.get().map(|timings| timings.state.lock()) else { return };
    state.whole += whole;
    let sum = &mut state.queries;
    sum.queries += queries.queries;
    sum.fast += queries.fast;
    sum.cached += queries.cached;
    sum.z3 += queries.z3;
}

/// The table, a line for each phase: its name, milliseconds, and how often it was entered. `None` when nobody asked.
pub(crate) fn table() -> Option<Vec<String>> {
    let state = TIMINGS.get()?.state.lock().ok()?;
    let line = |name: &str, time: Duration, count: String| {
        format!("{name:<12} {:>10.2} ms{count}", time.as_secs_f64() * 1000.0)
    };
    let spent: Duration = state.spent.values().map(|(time, _)| *time).sum();
    let mut lines: Vec<String> = Phase::ALL
        .iter()
        .map(|phase| {
            let (time, count) = state.spent.get(phase).copied().unwrap_or_default();
            line(phase.word(), time, format!(" {count:>9}"))
        })
        .collect();
    lines.push(line("host", state.whole.saturating_sub(spent), String::new()));
    lines.push(line("compiler", state.whole, String::new()));
    let Stats { queries, fast, cached, z3 } = state.queries;
    lines.push(format!("queries      {queries} asked, {cached} from memory, {fast} by linear reasoning, {z3} by Z3"));
    Some(lines)
}
