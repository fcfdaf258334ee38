//! Work grows no worse than linearly with steps and with statements. Counted in allocations and solver questions, which
//! are the same on every machine, never in time.

#![allow(unsafe_code, reason = "only an allocator can count allocations")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::Arc;

use exo_compiler::pipeline::{Compilation, Limits};
use exo_compiler::source::ModuleId;
use exo_compiler::world::MemoryWorld;
use exo_tests::growth::{Axis, KINDS, Kind};

thread_local! {
    /// Allocations of this thread, and bytes asked for.
    static ALLOCATIONS: Cell<(u64, u64)> = const { Cell::new((0, 0)) };
}

struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn count(bytes: usize) {
    // A thread that is being taken down has nothing left to count with.
    let _ = ALLOCATIONS.try_with(|cell| {
        let (count, sum) = cell.get();
        cell.set((count + 1, sum + bytes as u64));
    });
}

// SAFETY: every call goes to the system's allocator as it is.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        unsafe { System.alloc(layout) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size);
        unsafe { System.realloc(place, layout, size) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        unsafe { System.dealloc(place, layout) }
    }
}

/// What an evaluation cost.
#[derive(Clone, Copy, Debug)]
struct Work {
    allocations: u64,
    bytes: u64,
    queries: u64,
}

impl Work {
    fn less(self, other: Work) -> Work {
        Work {
            allocations: self.allocations.saturating_sub(other.allocations).max(1),
            bytes: self.bytes.saturating_sub(other.bytes).max(1),
            queries: self.queries.saturating_sub(other.queries),
        }
    }
}

fn work(module: String) -> Work {
    let evaluate = move || {
        let id = ModuleId::new("growth", "lib");
        let limits = Limits { steps: u64::MAX >> 8, heap_bytes: 8 << 30, ..Limits::default() };
        let mut compilation = Compilation::new(Arc::new(MemoryWorld::new().with(id.clone(), &module)), limits, None);
        let before = ALLOCATIONS.get();
        let diagnostics = compilation.run(&id, &mut |_| {});
        assert!(diagnostics.is_empty(), "{diagnostics:#?}");
        let after = ALLOCATIONS.get();
        Work { allocations: after.0 - before.0, bytes: after.1 - before.1, queries: compilation.solver_stats().queries }
    };
    let thread = std::thread::Builder::new().stack_size(256 << 20).spawn(evaluate);
    thread.expect("a thread").join().expect("an evaluation without a panic")
}

/// Ten times the size may cost this many times the work: 10 is linear, the rest is for logarithms and rounding.
const MOST: f64 = 12.0;

/// The same where every edit also makes the path to a place in a longer list anew: ten times the statements are three more
/// levels of it.
const MOST_WITH_LISTS: f64 = 14.0;

fn grows_linearly(kind: &Kind, size: usize) {
    // The first evaluation of a process also makes what all later ones share.
    let [_, empty] = [(); 2].map(|()| work("pass\n".to_string()));
    let small = work((kind.module)(size)).less(empty);
    let large = work((kind.module)(10 * size)).less(empty);
    let ratio = |small: u64, large: u64| large as f64 / small.max(1) as f64;
    let allocations = ratio(small.allocations, large.allocations);
    let most = if kind.axis == Axis::Both { MOST_WITH_LISTS } else { MOST };
    assert!(allocations <= most, "`{}`: {allocations:.1}x the allocations: {small:?}, {large:?}", kind.name);
    let bytes = ratio(small.bytes, large.bytes);
    assert!(bytes <= most, "`{}`: {bytes:.1}x the bytes: {small:?}, {large:?}", kind.name);
    assert!(large.queries <= 12 * small.queries.max(10), "`{}`: solver: {small:?}, {large:?}", kind.name);
}

fn all_of(axis: Axis, size: usize) {
    KINDS.iter().filter(|kind| kind.axis == axis).for_each(|kind| grows_linearly(kind, size));
}

#[test]
fn a_schedule_ten_times_as_long_costs_ten_times_as_much() {
    all_of(Axis::Steps, 60);
}

#[test]
fn a_proc_ten_times_as_long_costs_ten_times_as_much() {
    all_of(Axis::Statements, 200);
}

#[test]
fn as_many_steps_as_statements_cost_ten_times_as_much_for_ten_times_as_many() {
    all_of(Axis::Both, 100);
}
