//! Externs: scalar functions of C that object code may call in expressions. They have no effects.

use std::sync::{Arc, OnceLock};

use crate::symbol::Identity;

/// An extern function. Compared by identity.
#[derive(Clone)]
pub struct ExternFunction(Arc<ExternDefinition>);

pub struct ExternDefinition {
    pub identity: Identity,
    pub name: String,
    /// Number of data arguments; `None` when the user's function decides.
    pub arity: Option<usize>,
    pub kind: ExternKind,
}

/// Who writes an extern's C text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExternKind {
    Sin,
    Relu,
    Select,
    Exp,
    Fmax,
    Sigmoid,
    Sqrt,
    User,
}

impl ExternFunction {
    pub fn new(definition: ExternDefinition) -> Self {
        ExternFunction(Arc::new(definition))
    }

    /// The externs of the prelude, under Exo's names.
    pub fn builtin() -> &'static [ExternFunction] {
        static ALL: OnceLock<Vec<ExternFunction>> = OnceLock::new();
        ALL.get_or_init(|| {
            [
                ("sin", 1, ExternKind::Sin),
                ("relu", 1, ExternKind::Relu),
                ("select", 4, ExternKind::Select),
                ("expf", 1, ExternKind::Exp),
                ("fmaxf", 2, ExternKind::Fmax),
                ("sigmoid", 1, ExternKind::Sigmoid),
                ("sqrt", 1, ExternKind::Sqrt),
            ]
            .into_iter()
            .map(|(name, arity, kind)| {
                ExternFunction::new(ExternDefinition {
                    identity: Identity::fresh(),
                    name: name.into(),
                    arity: Some(arity),
                    kind,
                })
            })
            .collect()
        })
    }
}

impl std::ops::Deref for ExternFunction {
    type Target = ExternDefinition;
    fn deref(&self) -> &ExternDefinition {
        &self.0
    }
}

impl PartialEq for ExternFunction {
    fn eq(&self, other: &Self) -> bool {
        self.0.identity == other.0.identity
    }
}

impl Eq for ExternFunction {}

impl std::fmt::Debug for ExternFunction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0.name)
    }
}
