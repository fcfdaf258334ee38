//! What a lockfile says of a version beside what the index of its registry says, which is signed. Digests are compared where files are
//! unpacked; here it is what policies and people judge by. A lockfile can be changed by whoever proposes a change to a project.

use exo_compiler::diagnostic::codes;
use exo_index::calendar;
use exo_index::lockfile::{LOCK_FILE, LockedPack};

use crate::builtin_packs::Registry;
use crate::failure::{Failure, Outcome};

/// Compares a locked version with the index, where that is at hand.
///
/// # Errors
/// The registry published it at another place of its log, or at another time.
pub(crate) fn agrees(registry: &Registry, locked: &LockedPack) -> Outcome<()> {
    let Some(shown) = registry.get(&locked.name, &locked.version) else { return Ok(()) };
    same_place(locked, shown.log())?;
    same_time(locked, shown.published())
}

/// A publish keeps its number in the log of its registry for good.
fn same_place(locked: &LockedPack, shown: Option<u64>) -> Outcome<()> {
    let (Some(then), Some(now)) = (locked.log, shown) else { return Ok(()) };
    if then == now {
        return Ok(());
    }
    let (name, version, source) = (&locked.name, &locked.version, &locked.source);
    Err(Failure::refused(format!(
        "`{name} {version}` is entry {now} of the log of `{source}`, and was entry {then} when it was locked"
    ))
    .code(codes::DIGEST)
    .hint("the registry shows another history than before: do not install from it, and tell its operator"))
}

/// So does the time, by which `min-age` and `as-of` judge and `exo audit` tells the age.
pub(crate) fn same_time(locked: &LockedPack, shown: Option<u64>) -> Outcome<()> {
    let (Some(then), Some(now)) = (locked.published, shown) else { return Ok(()) };
    if then == now {
        return Ok(());
    }
    let text = |time: u64| calendar::rfc3339(i64::try_from(time).unwrap_or(i64::MAX));
    let (name, version, source) = (&locked.name, &locked.version, &locked.source);
    Err(Failure::refused(format!(
        "{LOCK_FILE} says that `{name} {version}` was published at {}, and `{source}` signed {}",
        text(then),
        text(now)
    ))
    .code(codes::DIGEST)
    .note("policies judge by that time, and whoever changes it gets around them")
    .hint(format!("find out who changed {LOCK_FILE}; `exo update {name}` writes what the registry signed")))
}
