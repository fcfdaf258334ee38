//! What happens when memory runs out: a message and the exit code of a limit, where the standard library would abort.

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

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

/// Whether failures are told as JSON on stdout.
static JSON: AtomicBool = AtomicBool::new(false);

/// From now on a limit that ends the process is told as one JSON document on stdout.
pub(crate) fn answer_in_json() {
    // Made now, because making it later allocates.
    let _ = std::io::stdout();
    JSON.store(true, Ordering::Relaxed);
}

/// What is said of a limit when the process ends by it: ready-made texts, since nothing may be allocated then.
pub(crate) struct LastWords {
    pub(crate) text: &'static str,
    pub(crate) json: &'static str,
}

/// Both forms of one message.
macro_rules! last_words {
    ($message:literal, $note:literal, $hint:literal) => {
        $crate::memory_limit::LastWords {
            text: concat!("error[E0402]: ", $message, "\n  = note: ", $note, "\n  = hint: ", $hint, "\n"),
            json: concat!(
                "{\"error\":{\"exit\":1,\"code\":\"E0402\",\"message\":\"",
                $message,
                "\",\"notes\":[\"",
                $note,
                "\"],\"hints\":[\"",
                $hint,
                "\"],\"diagnostics\":[]}}\n"
            ),
        }
    };
}
pub(crate) use last_words;

/// Ends the process without allocating. Files of the project are replaced as a whole, so none is left half-written.
#[expect(
    clippy::exit,
    reason = "an allocator has no error to return and must not unwind, and a stuck thread cannot stop"
)]
pub(crate) fn end(words: &LastWords) -> ! {
    let _ = match JSON.load(Ordering::Relaxed) {
        // Not through `Stdout`, whose lock and buffer another thread may hold.
        true => raw_stdout(words.json.as_bytes()),
        false => std::io::stderr().write_all(words.text.as_bytes()),
    };
    std::process::exit(i32::from(Exit::Refused.code()))
}

/// Writes to the file descriptor of stdout.
fn raw_stdout(bytes: &[u8]) -> std::io::Result<()> {
    let stdout = std::io::stdout();
    let descriptor = std::os::fd::AsFd::as_fd(&stdout).try_clone_to_owned()?;
    std::fs::File::from(descriptor).write_all(bytes)
}

fn out_of_memory() -> ! {
    end(&last_words!(
        "evaluation exceeded the limit on memory",
        "the usual cause is a value that keeps growing",
        "if the program is right, raise the limit with `--limit memory=MiB`, or free memory"
    ))
}
