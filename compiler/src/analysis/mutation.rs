//! A switch for the test of the tests: one check at a time counts as passed. Outside of tests it does nothing.

#[cfg(not(test))]
pub(crate) use off::{overrules, overrules_proof, passes};
#[cfg(test)]
pub(crate) use on::{Check, Seen, mute, overrules, overrules_proof, passes};

#[cfg(not(test))]
mod off {
    /// The outcome of a check that is a comparison of data.
    #[inline(always)]
    pub(crate) fn passes(_: &'static str, passed: bool) -> bool {
        passed
    }

    /// Whether the answer to a question of an operator counts as a proof all the same.
    #[inline(always)]
    pub(crate) fn overrules(_: &'static str, _: &dyn std::fmt::Debug, _: bool) -> bool {
        false
    }

    /// Whether the proof that the caller asks for counts as given all the same.
    #[inline(always)]
    pub(crate) fn overrules_proof(_: bool) -> bool {
        false
    }
}

#[cfg(test)]
mod on {
    use std::cell::RefCell;
    use std::collections::BTreeSet;
    use std::panic::Location;

    /// One thing that can be switched off.
    #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub(crate) enum Check {
        /// A comparison of data, by the name that it has in the code.
        Rule(&'static str),
        /// A kind of question that an operator asks.
        Question { operator: &'static str, kind: String },
        /// A proof, by the place in the code that asks for it.
        Proof { file: &'static str, line: u32 },
    }

    /// What this thread has switched off, and what it saw.
    #[derive(Default)]
    struct Switch {
        muted: BTreeSet<Check>,
        asked: BTreeSet<Check>,
        failed: BTreeSet<Check>,
    }

    thread_local! {
        static SWITCH: RefCell<Switch> = RefCell::default();
    }

    /// What happened since [`mute`] was called.
    #[derive(Debug, Default)]
    pub(crate) struct Seen {
        pub(crate) asked: BTreeSet<Check>,
        pub(crate) failed: BTreeSet<Check>,
    }

    /// Switches these checks off on this thread, and every other one on; what was seen until then.
    pub(crate) fn mute(checks: BTreeSet<Check>) -> Seen {
        SWITCH.with_borrow_mut(|switch| {
            let old = std::mem::replace(switch, Switch { muted: checks, ..Switch::default() });
            Seen { asked: old.asked, failed: old.failed }
        })
    }

    /// Notes a check and its outcome; whether it is switched off.
    fn note(check: Check, passed: bool) -> bool {
        SWITCH.with_borrow_mut(|switch| {
            let muted = switch.muted.contains(&check);
            if !passed {
                switch.failed.insert(check.clone());
            }
            switch.asked.insert(check);
            muted
        })
    }

    pub(crate) fn passes(rule: &'static str, passed: bool) -> bool {
        note(Check::Rule(rule), passed) || passed
    }

    pub(crate) fn overrules(operator: &'static str, question: &dyn std::fmt::Debug, passed: bool) -> bool {
        let kind = format!("{question:?}").chars().take_while(char::is_ascii_alphanumeric).collect();
        note(Check::Question { operator, kind }, passed)
    }

    #[track_caller]
    pub(crate) fn overrules_proof(passed: bool) -> bool {
        let place = Location::caller();
        note(Check::Proof { file: place.file(), line: place.line() }, passed)
    }
}
