//! How the heap gives memory back to the system.
//!
//! A password is hashed in 19 MiB (argon2id), which the C library would keep after the second time: freeing a large block raises
//! its bound between blocks of their own, which go back at once, and those of the heap, which stay (mallopt(3), `M_MMAP_THRESHOLD`).
//! It also begins up to eight heaps for each core, and every thread that once read an archive leaves one behind.

/// Blocks from this size on are the system's own, in bytes.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const LARGE: libc::c_int = 1 << 20;

/// What may stay unused at the end of a heap, in bytes.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const SPARE: libc::c_int = 4 << 20;

/// Sets it all, before there are threads.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(unsafe_code, reason = "the C library has no other way to be told")]
pub(crate) fn set_up() {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let heaps = libc::c_int::try_from(cores).unwrap_or(libc::c_int::MAX).max(2);
    for (what, value) in [(libc::M_MMAP_THRESHOLD, LARGE), (libc::M_TRIM_THRESHOLD, SPARE), (libc::M_ARENA_MAX, heaps)]
    {
        // SAFETY: numbers only; no other thread allocates yet.
        unsafe { libc::mallopt(what, value) };
    }
}

/// Other C libraries give back by themselves, or have nothing to be told.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(crate) fn set_up() {}
