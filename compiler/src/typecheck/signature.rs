//! Typing of what is declared: parameters, their types and memories, allocations' types.

use ruff_python_ast::{Expr as Syntax, ExprSubscript, Identifier, Operator, Parameters};

use crate::diagnostic::codes;
use crate::hardware::memory::Memory;
use crate::hardware::precision::Precision;
use crate::loop_ir::{Arg, ArgType, Control, DataType, Expr};
use crate::typecheck::accesses::items;
use crate::typecheck::captures::HostValue;
use crate::typecheck::checker::{Checked, Checker, Reported};
use crate::typecheck::remedies;
use crate::typecheck::scope::Meaning;

/// A declared type and where it lives.
pub(crate) struct Annotation {
    pub(crate) ty: ArgType,
    pub(crate) mem: Memory,
}

impl Checker<'_> {
    /// The parameters in order; each is visible in the types of later ones.
    pub(crate) fn parameters(&mut self, parameters: &Parameters) -> Checked<Vec<Arg>> {
        let extra = parameters.vararg.as_deref().or(parameters.kwarg.as_deref());
        if let Some(extra) = extra {
            return self.outside(extra, "a parameter with `*`", "name every parameter");
        }
        if let Some(extra) = parameters.posonlyargs.first().or(parameters.kwonlyargs.first()) {
            return self.outside(extra, "a positional-only or keyword-only parameter", "leave `/` and `*` out");
        }
        let mut args = Vec::new();
        for parameter in &parameters.args {
            if let Some(default) = &parameter.default {
                self.outside::<()>(&**default, "a default value", "give the value at each call").ok();
            }
            args.push(self.parameter(&parameter.parameter.name, parameter.parameter.annotation.as_deref()));
        }
        args.into_iter().collect()
    }

    fn parameter(&mut self, name: &Identifier, annotation: Option<&Syntax>) -> Checked<Arg> {
        let checked = match annotation {
            Some(annotation) => self.annotation(annotation),
            None => self.refuse_hint(
                codes::OBJECT_SYNTAX,
                name,
                format!("the parameter `{name}` has no type"),
                "give it one: `n: size`, `x: f32[n] @ DRAM`, `w: [f32][8]`",
            ),
        };
        if self.scope.get(name).is_some() {
            return self.refuse(codes::OBJECT_SYNTAX, name, format!("the parameter `{name}` appears twice"));
        }
        self.spelling(name)?;
        let Annotation { ty, mem } = checked.inspect_err(|Reported| {
            self.scope.bind(name, Meaning::Broken);
        })?;
        let meaning = match &ty {
            ArgType::Control(control) => Meaning::Control(*control),
            ArgType::Data(data) => Meaning::Data { shape: data.shape.clone() },
        };
        let symbol = self.scope.bind(name, meaning);
        Ok(Arg { name: symbol, ty, mem, span: self.span(name) })
    }

    /// Refuses names that C or the pattern language could not spell.
    pub(crate) fn spelling(&mut self, name: &Identifier) -> Checked<()> {
        if name.as_str() == "_" {
            return self.refuse(codes::OBJECT_SYNTAX, name, "`_` is the hole of patterns and cannot be a name");
        }
        if !name.is_ascii() {
            return self.refuse(codes::OBJECT_SYNTAX, name, format!("`{name}` has letters outside ASCII"));
        }
        Ok(())
    }

    /// `size`, `f32`, `f32[n, m] @ MEM`, `[f32][n] @ MEM`.
    pub(crate) fn annotation(&mut self, node: &Syntax) -> Checked<Annotation> {
        let (ty_node, memory) = match node {
            Syntax::BinOp(binary) if binary.op == Operator::MatMult => (&*binary.left, Some(&*binary.right)),
            other => (other, None),
        };
        if let Some(control) = control_word(ty_node) {
            if memory.is_some() {
                return self.refuse_hint(
                    codes::OBJECT_SYNTAX,
                    node,
                    format!("a `{}` lives in no memory", control.word()),
                    "leave the `@ ...` out",
                );
            }
            return Ok(Annotation { ty: ArgType::Control(control), mem: Memory::dram() });
        }
        let ty = self.data_type(ty_node);
        let mem = match memory {
            Some(memory) => self.memory(memory),
            None => Ok(Memory::dram()),
        };
        Ok(Annotation { ty: ArgType::Data(ty?), mem: mem? })
    }

    fn data_type(&mut self, node: &Syntax) -> Checked<DataType> {
        match node {
            Syntax::Subscript(subscript) => match &*subscript.value {
                Syntax::List(list) => match list.elts.as_slice() {
                    [precision] => self.shaped(precision, subscript, true),
                    _ => self.refuse_hint(
                        codes::OBJECT_SYNTAX,
                        node,
                        "malformed window type",
                        "write the precision in brackets, then the extents: `[f32][n, m]`",
                    ),
                },
                Syntax::Subscript(_) => self.refuse_hint(
                    codes::OBJECT_SYNTAX,
                    node,
                    "types do not nest",
                    "give all extents in one pair of brackets: `f32[n, m]`",
                ),
                precision => self.shaped(precision, subscript, false),
            },
            _ => Ok(DataType::scalar(self.precision(node)?)),
        }
    }

    fn shaped(&mut self, precision: &Syntax, subscript: &ExprSubscript, is_window: bool) -> Checked<DataType> {
        let precision = self.precision(precision);
        let shape = self.extents(&subscript.slice);
        let (precision, shape) = (precision?, shape?);
        self.independent(&shape, "the extents of a buffer", &*subscript.slice)?;
        Ok(DataType { precision, shape, is_window })
    }

    fn extents(&mut self, slice: &Syntax) -> Checked<Vec<Expr>> {
        let items = items(slice);
        if let Some(item) = items.iter().find(|item| matches!(item, Syntax::Slice(_))) {
            return self.refuse(codes::OBJECT_SYNTAX, item, "an extent is one number, not a slice");
        }
        if items.is_empty() {
            return self.refuse(codes::OBJECT_SYNTAX, slice, "a shape needs at least one extent");
        }
        self.indices(items)
    }

    /// A precision word, or a host value that stands for one.
    fn precision(&mut self, node: &Syntax) -> Checked<Precision> {
        let (inner, spliced) = match node {
            Syntax::Set(set) => (set.elts.first().unwrap_or(node), self.spliced(set, node)?),
            other => (other, None),
        };
        let text = self.text(inner);
        if let Some(precision) = Precision::from_word(text) {
            return Ok(precision);
        }
        let words = Precision::ALL.map(Precision::word).join(", ");
        match spliced.or_else(|| self.captures.get(text)) {
            Some(HostValue::Precision(precision)) => Ok(precision),
            Some(HostValue::Text(word)) => match Precision::from_word(&word) {
                Some(precision) => Ok(precision),
                None => {
                    let message = format!("`{text}` is the string \"{word}\", not a precision");
                    self.refuse_hint(codes::TYPE, node, message, format!("precisions are {words}"))
                }
            },
            Some(
                other @ (HostValue::Int(_)
                | HostValue::Float(_)
                | HostValue::Bool(_)
                | HostValue::Memory(_)
                | HostValue::Proc(_)
                | HostValue::Extern(_)
                | HostValue::Symbol(_)
                | HostValue::Expression(_)
                | HostValue::Statements(_)
                | HostValue::Slice(..)
                | HostValue::Tuple(_)
                | HostValue::Config(_)
                | HostValue::ConfigField(_)
                | HostValue::Other(_)),
            ) => {
                let message = format!("`{text}` is {}, not a precision", other.describe());
                self.refuse_hint(codes::TYPE, node, message, format!("precisions are {words}"))
            }
            None => self.refuse_hint(
                codes::UNDEFINED_NAME,
                node,
                format!("unknown type `{text}`"),
                remedies::of_type(text)
                    .unwrap_or_else(|| format!("types are size, index, bool, stride and the precisions {words}")),
            ),
        }
    }

    fn memory(&mut self, node: &Syntax) -> Checked<Memory> {
        let text = self.text(node);
        match self.captures.get(text) {
            Some(HostValue::Memory(memory)) => Ok(memory),
            Some(other) => self.refuse(codes::TYPE, node, format!("`{text}` is {}, not a memory", other.describe())),
            None => self.refuse_hint(
                codes::UNDEFINED_NAME,
                node,
                format!("unknown memory `{text}`"),
                "import it, or define it with `memory(...)`",
            ),
        }
    }
}

/// The control type that a word stands for in a declaration.
pub(crate) fn control_word(node: &Syntax) -> Option<Control> {
    let Syntax::Name(name) = node else { return None };
    [Control::Size, Control::Index, Control::Bool, Control::Stride]
        .into_iter()
        .find(|control| control.word() == name.id.as_str())
}
