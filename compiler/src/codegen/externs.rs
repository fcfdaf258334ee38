//! Externs as C: the built-in ones by precision, the others through the functions of their definition.

use crate::codegen::c_tree::CExpr;
use crate::codegen::unit::Unit;
use crate::diagnostic::{Diagnostic, Refusal, RefusalKind, codes};
use crate::hardware::extern_function::{ExternFunction, ExternKind};
use crate::hardware::memory::Hooks;
use crate::hardware::precision::Precision;
use crate::source::Span;

/// What an extern of the user holds against a call whose arguments and result have one precision.
pub(crate) fn mistyped(
    hooks: &dyn Hooks,
    function: &ExternFunction,
    arguments: usize,
    precision: Precision,
) -> Option<Refusal> {
    let given = match hooks.extern_type(function, &vec![precision; arguments]) {
        Ok(given) => given?,
        Err(mut refusal) => {
            if let Some(first) = refusal.diagnostics.first_mut() {
                let taken = format!("the arguments are of precision `{}`", precision.word());
                first.notes.push(taken);
            }
            return Some(refusal);
        }
    };
    (given.concrete() != precision.concrete()).then(|| {
        let (name, given, word) = (&function.name, given.word(), precision.word());
        let message = format!("the extern `{name}` gives `{given}` where its arguments and its place are `{word}`");
        let hint = "compute it in a buffer of that precision; only an assignment converts";
        Refusal::new(RefusalKind::Type, name.as_str(), Diagnostic::error(codes::PRECISION, message).hint(hint))
    })
}

impl Unit<'_> {
    pub fn extern_call(
        &mut self,
        function: &ExternFunction,
        args: Vec<CExpr>,
        precision: Precision,
        span: &Span,
    ) -> CExpr {
        if function.kind == ExternKind::User
            && let Some(problem) = mistyped(self.hooks, function, args.len(), precision)
        {
            self.refused(problem, span);
        }
        // Values of `bf16` are computed as `float`.
        let precision = if precision == Precision::Bf16 { Precision::F32 } else { precision };
        let ty = precision.c_type();
        match function.kind {
            ExternKind::Sin => self.library("sin", args, precision),
            ExternKind::Sqrt => self.library("sqrt", args, precision),
            ExternKind::Exp => self.library("exp", args, precision),
            ExternKind::Fmax => self.library("fmax", args, precision),
            ExternKind::Relu => self.own(function, "relu", relu(ty), args, precision),
            ExternKind::Select => self.own(function, "select", select(ty), args, precision),
            ExternKind::Sigmoid => {
                self.needs_math = true;
                self.own(function, "sigmoid", sigmoid(precision), args, precision)
            }
            ExternKind::User => self.user_extern(function, args, ty, span),
        }
    }

    /// A function of `math.h`: the `float` one at `f32` and narrower, the `double` one elsewhere.
    fn library(&mut self, name: &str, args: Vec<CExpr>, precision: Precision) -> CExpr {
        self.needs_math = true;
        let working = working_type(precision);
        let args = args.into_iter().map(|arg| arg.paren().cast(working)).collect();
        let call = CExpr::call(format!("{name}{}", suffix(precision)), args);
        if working == precision.c_type() { call } else { call.cast(precision.c_type()) }
    }

    /// A function that the output defines itself, static and one for each C type.
    fn own(
        &mut self,
        function: &ExternFunction,
        name: &str,
        text: String,
        args: Vec<CExpr>,
        precision: Precision,
    ) -> CExpr {
        let ty = precision.c_type();
        self.extern_globals.insert((function.name.clone(), ty.to_string(), function.identity), text);
        let args = args.into_iter().map(|arg| arg.cast(ty)).collect();
        CExpr::call(format!("_{name}_{ty}"), args)
    }

    fn user_extern(&mut self, function: &ExternFunction, args: Vec<CExpr>, ty: &'static str, span: &Span) -> CExpr {
        let key = (function.name.clone(), ty.to_string(), function.identity);
        if !self.extern_globals.contains_key(&key) {
            match self.hooks.extern_global(function, ty) {
                Ok(text) => {
                    self.note_global_answer(&text);
                    self.extern_globals.insert(key, text);
                }
                Err(refusal) => self.refused(refusal, span),
            }
        }
        let args: Vec<String> = args.iter().map(argument_text).collect();
        match self.hooks.extern_call(function, &args, ty) {
            Ok(text) => {
                self.note_answer(&text);
                CExpr::Raw(text)
            }
            Err(refusal) => {
                self.refused(refusal, span);
                CExpr::Int(0)
            }
        }
    }
}

/// A value as text that a user's function may put anywhere: sums, products and what starts with a minus come in
/// parentheses, since `-` before a minus is another operator.
pub fn argument_text(arg: &CExpr) -> String {
    let text = arg.text();
    match arg {
        CExpr::Binary { .. } | CExpr::Neg(_) => arg.clone().paren().text(),
        _ if text.starts_with(['-', '+']) => format!("({text})"),
        _ => text,
    }
}

fn suffix(precision: Precision) -> &'static str {
    if working_type(precision) == "float" { "f" } else { "" }
}

/// The type in which the C library computes for a precision.
fn working_type(precision: Precision) -> &'static str {
    match precision {
        Precision::R | Precision::F32 | Precision::F16 | Precision::Bf16 => "float",
        Precision::F64
        | Precision::I8
        | Precision::I16
        | Precision::I32
        | Precision::I64
        | Precision::Ui8
        | Precision::Ui16
        | Precision::Ui32 => "double",
    }
}

fn relu(ty: &str) -> String {
    format!("static {ty} _relu_{ty}({ty} x) {{\n    return x > 0 ? x : 0;\n}}\n")
}

fn select(ty: &str) -> String {
    format!("static {ty} _select_{ty}({ty} x, {ty} v, {ty} y, {ty} z) {{\n    return x < v ? y : z;\n}}\n")
}

fn sigmoid(precision: Precision) -> String {
    let (ty, working, suffix) = (precision.c_type(), working_type(precision), suffix(precision));
    format!("static {ty} _sigmoid_{ty}({ty} x) {{\n    return ({ty})(1 / (1 + exp{suffix}(-({working})x)));\n}}\n")
}
