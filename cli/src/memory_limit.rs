//! What happens when memory runs out: a message and the exit code of a limit, where the standard library would abort.

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::Write;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::failure::Exit;

/// The largest single allocation in bytes. No value may be larger than the heap that it lives in.
static LARGEST: AtomicUsize = AtomicUsize::new(usize::MAX);

/// From now on one allocation of more than `bytes` is a limit that was exceeded.
pub(crate) fn set_largest_allocation(bytes: usize) {
    LARGEST.store(bytes, Ordering::Relaxed);
}

/// The system's allocator, ending the process in order when it has nothing left.
pub(crate) struct Limited;

#[expect(unsafe_code, reason = "an allocator is an unsafe trait; each method hands its own contract to the system's")]
// SAFETY: every pointer comes from `System` with the layout that the caller gave.
unsafe impl GlobalAlloc for Limited {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        self.given(layout.size(), |system| unsafe { system.alloc(layout) })
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        self.given(layout.size(), |system| unsafe { system.alloc_zeroed(layout) })
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        self.given(size, |system| unsafe { system.realloc(place, layout, size) })
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        unsafe { System.dealloc(place, layout) }
    }
}

impl Limited {
    fn given(&self, bytes: usize, allocate: impl FnOnce(System) -> *mut u8) -> *mut u8 {
        if bytes > LARGEST.load(Ordering::Relaxed) {
            out_of_memory();
        }
        let place = allocate(System);
        if place.is_null() {
            out_of_memory();
        }
        place
    }
}

/// Ends the process without allocating. Files of the project are replaced as a whole, so none is left half-written.
#[expect(clippy::exit, reason = "an allocator has no error to return and must not unwind")]
fn out_of_memory() -> ! {
    let _ = std::io::stderr().write_all(
        b"error[E0402]: evaluation exceeded the limit on memory\n  = note: the usual cause is a value that keeps growing\n  \
          = hint: if the program is right, raise the limit with `--limit memory=MiB`, or free memory\n",
    );
    std::process::exit(i32::from(Exit::Refused.code()))
}
