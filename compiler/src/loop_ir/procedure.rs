//! Procedures and where they come from.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use crate::hardware::config::ConfigField;
use crate::hardware::instruction::Instruction;
use crate::hardware::memory::Memory;
use crate::loop_ir::block::Block;
use crate::loop_ir::declarations::Declarations;
use crate::loop_ir::expression::Expr;
use crate::loop_ir::types::{Control, DataType};
use crate::source::Span;
use crate::symbol::{Identity, Sym};

/// A checked procedure. Immutable; scheduling makes new ones that share subtrees.
#[derive(Clone, Debug)]
pub struct Proc {
    pub name: Arc<str>,
    pub args: Vec<Arg>,
    /// Preconditions (`assert`), boolean expressions over the arguments.
    pub preds: Vec<Expr>,
    pub body: Block,
    /// Present for `@instr` procs: calls emit this C instead of a call.
    pub instr: Option<Instruction>,
    pub lineage: Lineage,
    pub span: Span,
    /// What was found out about this very version when it was committed.
    pub committed: Committed,
}

/// Facts about a version that will not change any more: it passed the laws of `validate`, and these are its
/// declarations. Procs are copied to be changed, so a copy starts without facts.
#[derive(Debug, Default)]
pub struct Committed(OnceLock<Declarations>);

impl Committed {
    /// `None` when the proc was not validated yet.
    pub fn declarations(&self) -> Option<&Declarations> {
        self.0.get()
    }

    /// For a proc that passed the laws and is not changed from here on. The first facts stay.
    pub(in crate::loop_ir) fn set(&self, declarations: Declarations) {
        // They are the same facts however often they are found.
        let _ = self.0.set(declarations);
    }
}

impl Clone for Committed {
    fn clone(&self) -> Self {
        Committed::default()
    }
}

/// Equal when written alike with the same bindings, wherever they come from.
impl PartialEq for Proc {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
            && self.args == other.args
            && self.preds == other.preds
            && self.instr == other.instr
            && self.body == other.body
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Arg {
    pub name: Sym,
    pub ty: ArgType,
    /// `DRAM` for control arguments, where it means nothing.
    pub mem: Memory,
    pub span: Span,
}

impl PartialEq for Span {
    /// Places never distinguish nodes.
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum ArgType {
    Control(Control),
    Data(DataType),
}

/// A step whose check was left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiver {
    /// The pack whose code made the step; empty for code of no pack.
    pub pack: Arc<str>,
    /// The step, and what was not shown.
    pub step: String,
}

impl std::fmt::Display for Waiver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &*self.pack {
            "" => write!(f, "in {}", self.step),
            pack => write!(f, "by `{pack}` in {}", self.step),
        }
    }
}

/// Where a proc comes from: what it is proven to be equal to, and on what terms.
#[derive(Clone, Debug)]
pub struct Lineage {
    /// Procs of one family derive from one algorithm by proven steps.
    pub family: Identity,
    /// Changes whenever a step changes a precision: procs of one family and one precision class are equal outright,
    /// others only up to precision.
    pub precision_class: Identity,
    /// Changes for a field whenever a step changes what the field may hold at the end. Procs of one family whose entries
    /// agree for a field leave it equal.
    pub config_classes: Arc<BTreeMap<ConfigField, Identity>>,
    /// Obligations that the user waived (`unsafe_skip_check`), oldest first.
    pub waived: Arc<Vec<Waiver>>,
}

impl Lineage {
    /// The lineage of a new algorithm.
    pub fn origin() -> Self {
        let family = Identity::fresh();
        Lineage {
            family,
            precision_class: family,
            config_classes: Arc::new(BTreeMap::new()),
            waived: Arc::new(Vec::new()),
        }
    }

    /// The fields modulo which two procs of one family are equal: those whose final values may differ.
    pub fn modulo(&self, other: &Lineage) -> BTreeSet<ConfigField> {
        let (mine, theirs) = (&self.config_classes, &other.config_classes);
        let fields = mine.keys().chain(theirs.keys());
        fields.filter(|field| mine.get(*field) != theirs.get(*field)).cloned().collect()
    }
}
