//! Symbols: names that are distinct objects, so that equal spelling never means equal binding.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// An identity that no other value of this process has.
///
/// The counter behind it is the one piece of global state in the compiler. It never reaches an output: identities are
/// compared for equality and, between symbols of one spelling, for age; both are the same in every run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Identity(u64);

impl Identity {
    pub fn fresh() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Identity(NEXT.fetch_add(1, Ordering::Relaxed))
    }

    /// For tables: the same in every run only up to what else was made before. Must not reach an output.
    pub(crate) fn number(self) -> u64 {
        self.0
    }
}

/// A bound name. Two symbols are equal only when they are the same binding.
#[derive(Clone)]
pub struct Sym {
    name: Arc<str>,
    identity: Identity,
}

impl Sym {
    /// A new binding spelled `name`.
    pub fn new(name: &str) -> Self {
        Sym { name: name.into(), identity: Identity::fresh() }
    }

    /// A new binding with the same spelling.
    pub fn renewed(&self) -> Self {
        Sym { name: self.name.clone(), identity: Identity::fresh() }
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn identity(&self) -> Identity {
        self.identity
    }
}

impl PartialEq for Sym {
    fn eq(&self, other: &Self) -> bool {
        self.identity == other.identity
    }
}

impl Eq for Sym {}

impl std::hash::Hash for Sym {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.identity.hash(state);
    }
}

/// Spelling first, then age: the order that `simplify` shows to users.
impl Ord for Sym {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.name.cmp(&other.name).then(self.identity.cmp(&other.identity))
    }
}

impl PartialOrd for Sym {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl std::fmt::Debug for Sym {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}_{}", self.name, self.identity.0)
    }
}

impl std::fmt::Display for Sym {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.name)
    }
}
