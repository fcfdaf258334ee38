//! What a new lockfile changes: versions that moved, and raw C, which is trusted and cannot be proven, so that a change of it is the user's to
//! accept, whichever command brings it.

use std::collections::BTreeSet;

use exo_compiler::diagnostic::codes;
use exo_index::digest::Blake3;
use exo_index::lockfile::{LOCK_FILE, LockedPack, LockedSource, Lockfile};
use exo_index::name::PackName;

use crate::failure::{Failure, Outcome};
use crate::terminal::Terminal;

/// One line for each pack that is new, gone or at another version.
pub(crate) fn lines(before: Option<&Lockfile>, after: &Lockfile) -> Vec<String> {
    let empty = Lockfile::new(after.exo.clone());
    let before = before.unwrap_or(&empty);
    let names: BTreeSet<&PackName> = before.packs.keys().chain(after.packs.keys()).collect();
    let line = |name: &PackName| match (before.packs.get(name), after.packs.get(name)) {
        (None, Some(new)) => Some(format!("added {name} {}", new.version)),
        (Some(old), None) => Some(format!("removed {name} {}", old.version)),
        (Some(old), Some(new)) if old.version != new.version => {
            Some(format!("{name} {} -> {}", old.version, new.version))
        }
        (Some(old), Some(new)) => match (&old.source, &new.source) {
            (LockedSource::Git { commit: before, .. }, LockedSource::Git { commit: after, .. }) if before != after => {
                Some(format!("{name} {}: commit {before} -> {after}", new.version))
            }
            _ => None,
        },
        (None, None) => None,
    };
    let exo = (before.exo != after.exo).then(|| format!("exo {} -> {}", before.exo, after.exo));
    exo.into_iter().chain(names.into_iter().filter_map(line)).collect()
}

/// A pack whose raw C is not what the lockfile accepted.
pub(crate) struct NewC {
    name: PackName,
    line: String,
}

impl NewC {
    /// What is told of it.
    pub(crate) fn line(&self) -> &str {
        &self.line
    }
}

/// The packs whose raw C is not what the lockfile before accepted.
pub(crate) fn raw_c(before: Option<&Lockfile>, after: &Lockfile) -> Vec<NewC> {
    let Some(before) = before else { return Vec::new() };
    let text = |digest: Option<Blake3>| digest.map_or("none".to_string(), |digest| digest.to_string());
    let changed = |new: &LockedPack| {
        // Files of path packs are the user's own and may change, so theirs is not locked.
        let is_locked = !matches!(new.source, LockedSource::Path(_));
        let old = before.packs.get(&new.name).filter(|old| is_locked && old.raw_c != new.raw_c)?;
        // `exo lock` verifies nothing, so that of the same version it may not have been known whether there is any.
        let same = old.version == new.version && old.source == new.source;
        (!same || old.raw_c.is_some()).then(|| NewC {
            name: new.name.clone(),
            line: format!(
                "{} {} -> {}: raw C {} -> {}",
                new.name,
                old.version,
                new.version,
                text(old.raw_c),
                text(new.raw_c)
            ),
        })
    };
    after.packs.values().filter_map(changed).collect()
}

/// Keeps what was accepted of the raw C of packs that nothing verified yet, so that whoever verifies them has it to compare with.
pub(crate) fn keep_accepted(before: Option<&Lockfile>, after: &mut Lockfile) {
    for pack in after.packs.values_mut().filter(|pack| !matches!(pack.source, LockedSource::Path(_))) {
        let old = before.and_then(|before| before.packs.get(&pack.name));
        pack.raw_c = pack.raw_c.or(old.and_then(|old| old.raw_c));
    }
}

/// Lets changes of raw C through that the user has accepted with this command.
///
/// # Errors
/// There are some that nobody accepted.
pub(crate) fn accept_raw_c(changed: &[NewC], accepted: bool) -> Outcome<()> {
    match changed {
        [] => Ok(()),
        _ if accepted => Ok(()),
        some => Err(refused(some, "repeat the command with --accept-raw-c")),
    }
}

/// The same for commands that have to do with versions by the way, and accept nothing; gives what moved.
///
/// # Errors
/// Raw C changes.
pub(crate) fn by_the_way(before: Option<&Lockfile>, after: &Lockfile) -> Outcome<Vec<String>> {
    let changed = raw_c(before, after);
    if !changed.is_empty() {
        let names: Vec<&str> = changed.iter().map(|changed| changed.name.as_str()).collect();
        return Err(refused(&changed, &format!("accept it with `exo update {} --accept-raw-c`", names.join(" "))));
    }
    Ok(before.map(|before| lines(Some(before), after)).unwrap_or_default())
}

fn refused(changed: &[NewC], remedy: &str) -> Box<Failure> {
    let failure = Failure::refused("raw C changes, which is trusted and cannot be proven").code(codes::UNSAFE);
    let failure = changed.iter().fold(failure, |failure, changed| failure.note(changed.line.clone()));
    failure.note(format!("{LOCK_FILE} is as it was")).hint(format!(
        "read what the new version changed (the page of the pack in its registry shows the difference), then {remedy}"
    ))
}

/// Says which packs are at another version than before.
pub(crate) fn tell(terminal: &Terminal, moved: &[String]) {
    for line in moved.iter().filter(|line| line.contains(" -> ")) {
        terminal.status("Updated", line);
    }
}
