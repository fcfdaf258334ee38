//! Evaluating modules: split, load what they import, run, freeze.

use std::collections::BTreeMap;
use std::sync::Arc;

use starlark::environment::{FrozenModule, Module};
use starlark::eval::{Evaluator, FileLoader};
use starlark::syntax::{AstModule, Dialect};
use starlark::{ErrorKind, PrintHandler};

use crate::diagnostic::{Diagnostic, codes};
use crate::script::define::DefineValue;
use crate::script::host::Host;
use crate::script::{errors, hooks, prelude};
use crate::source::{ModuleId, SourceFile, Span};
use crate::syntax::module::{self, SplitModule};
use crate::world::ImportError;
