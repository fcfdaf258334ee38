//! Calls: arguments of C functions, and instructions through their templates.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::codegen::access::{Storage, WindowExpr};
use crate::codegen::c_tree::{CExpr, CStmt};
use crate::codegen::function::FunctionLowering;
use crate::codegen::template::{self, Piece};
use crate::diagnostic::{Diagnostic, codes};
use crate::hardware::config::ConfigField;
use crate::hardware::instruction::Instruction;
use crate::loop_ir::expression::{Expr, ExprKind};
use crate::loop_ir::procedure::{Arg, ArgType, Proc};
use crate::loop_ir::statement::StmtKind;
use crate::loop_ir::types::DataType;
use crate::loop_ir::{Block, configuration, visit};
use crate::source::Span;
use crate::symbol::Sym;

impl FunctionLowering<'_, '_> {
    pub fn call(&mut self, callee: &Arc<Proc>, args: &[Expr], span: &Span) -> Option<CStmt> {
        match &callee.instr {
            Some(instruction) if !self.unit.emulate => self.instruction(callee, instruction, args, span),
            Some(_) | None => {
                let mut actuals = vec![CExpr::token("ctxt")];
                for (at, (formal, actual)) in callee.args.iter().zip(args).enumerate() {
                    let value = match &formal.ty {
                        ArgType::Control(_) => self.control(actual),
                        ArgType::Data(ty) => {
                            let constant = !self.unit.usage.writes_param(callee, at);
                            self.data_actual(ty, constant, actual)
                        }
                    };
                    actuals.push(value);
                }
                let function = self.unit.reach.c_name(callee).to_string();
                Some(CStmt::Call { function, args: actuals })
            }
        }
    }

    fn data_actual(&mut self, ty: &DataType, constant: bool, actual: &Expr) -> CExpr {
        if ty.is_window {
            return self.window_actual(ty, constant, actual);
        }
        self.pointer_actual(actual)
    }

    /// The actual of a scalar or dense parameter: a pointer.
    fn pointer_actual(&mut self, actual: &Expr) -> CExpr {
        match &actual.kind {
            ExprKind::Read { name, idx } if idx.is_empty() => match self.storage(name) {
                Storage::ScalarPointer | Storage::Dense(_) => CExpr::token(self.names.get(name)),
                Storage::ScalarLocal | Storage::Struct | Storage::Resolved(_) | Storage::Unknown => {
                    self.element(name, idx, &actual.span).address()
                }
            },
            ExprKind::Read { name, idx } => self.element(name, idx, &actual.span).address(),
            ExprKind::Window { name, idx } => {
                let window = WindowExpr { name: name.clone(), idx: idx.clone() };
                self.window_place_of(&window, &actual.span).address()
            }
            ExprKind::Const(_)
            | ExprKind::ReadConfig(_)
            | ExprKind::Neg(_)
            | ExprKind::Binary { .. }
            | ExprKind::Extern { .. }
            | ExprKind::Stride { .. } => self.malformed_actual(actual),
        }
    }

    fn malformed_actual(&mut self, actual: &Expr) -> CExpr {
        self.unit.malformed("an argument that is no buffer", &actual.span);
        CExpr::Int(0)
    }

    /// The actual of a window parameter: a struct of the constness that the callee declares.
    fn window_actual(&mut self, ty: &DataType, constant: bool, actual: &Expr) -> CExpr {
        if let ExprKind::Read { name, idx } = &actual.kind
            && idx.is_empty()
            && matches!(self.storage(name), Storage::Struct)
        {
            if self.is_constant(name) == constant {
                return CExpr::token(self.names.get(name));
            }
            // The callee only reads what this function also writes: the struct is rebuilt as the constant one.
            let ty = self.unit.window_struct(ty.rank(), self.precision(name), constant);
            let data = CExpr::token(self.names.get(name)).member("data");
            return CExpr::WindowLiteral { ty, data: Box::new(data), strides: self.strides(name) };
        }
        match self.window_of(actual) {
            Some(window) => self.window_literal(&window, constant, &actual.span),
            None => self.malformed_actual(actual),
        }
    }

    /// An actual as a window expression; a whole buffer is a window over all of it.
    fn window_of(&self, actual: &Expr) -> Option<WindowExpr> {
        match &actual.kind {
            ExprKind::Window { name, idx } => Some(WindowExpr { name: name.clone(), idx: idx.clone() }),
            ExprKind::Read { name, idx } if idx.is_empty() => Some(self.whole(name)),
            ExprKind::Read { .. }
            | ExprKind::Const(_)
            | ExprKind::ReadConfig(_)
            | ExprKind::Neg(_)
            | ExprKind::Binary { .. }
            | ExprKind::Extern { .. }
            | ExprKind::Stride { .. } => None,
        }
    }

    fn instruction(
        &mut self,
        callee: &Arc<Proc>,
        instruction: &Instruction,
        args: &[Expr],
        span: &Span,
    ) -> Option<CStmt> {
        self.unit.note_raw(&instruction.template);
        if let Err(problem) = template::check(callee) {
            self.unit.errors.push(problem.label(span, "called here"));
            return None;
        }
        if let Some(problem) = disturbed_argument(callee, args) {
            self.unit.errors.push(problem.at(span, "called here"));
            return None;
        }
        let pieces = template::parse(&instruction.template).unwrap_or_default();
        let arguments: Vec<Placeholders> = callee
            .args
            .iter()
            .zip(args)
            .enumerate()
            .map(|(at, (formal, actual))| self.placeholders(callee, at, formal, actual))
            .collect();
        let mut out = String::new();
        let mut seams = BTreeSet::new();
        for piece in pieces {
            seams.insert(out.len());
            match piece {
                Piece::Text(text) => out.push_str(&text),
                Piece::Placeholder(name) => match lookup(&arguments, &name) {
                    Some(text) => out.push_str(text),
                    None => {
                        self.unit.malformed(&format!("`{{{name}}}` of `{}`", callee.name), span);
                        return None;
                    }
                },
            }
        }
        // Words that begin in one piece and end in another stand in no piece alone.
        self.unit.answered.extend(template::words_over(&out, &seams));
        Some(CStmt::Raw(out))
    }

    fn placeholders(&mut self, callee: &Arc<Proc>, at: usize, formal: &Arg, actual: &Expr) -> Placeholders {
        let name = formal.name.name().to_string();
        let is_window = matches!(&formal.ty, ArgType::Data(ty) if ty.is_window);
        if is_window && let Some(window) = self.window_of(actual) {
            let constant = !self.unit.usage.writes_param(callee, at);
            let whole = self.window_literal(&window, constant, &actual.span).paren().text();
            let data = self.window_place_of(&window, &actual.span).atom_text();
            let variable = self.variable(&window.name);
            return Placeholders { name, whole, data: Some(data), variable: Some(variable) };
        }
        let whole = match &formal.ty {
            ArgType::Control(_) => self.control(actual),
            ArgType::Data(_) => self.pointer_actual(actual),
        };
        Placeholders { name, whole: whole.paren().text(), data: None, variable: None }
    }

    /// The C variable behind a data name.
    fn variable(&self, name: &Sym) -> String {
        match self.storage(name) {
            Storage::Resolved(alias) => self.names.get(&alias.root).to_string(),
            Storage::ScalarPointer | Storage::ScalarLocal | Storage::Dense(_) | Storage::Struct | Storage::Unknown => {
                self.names.get(name).to_string()
            }
        }
    }
}

/// What a template may say about one parameter.
struct Placeholders {
    name: String,
    whole: String,
    /// The first element as an lvalue; windows only.
    data: Option<String>,
    /// The caller's C variable; windows only.
    variable: Option<String>,
}

fn lookup<'t>(arguments: &'t [Placeholders], name: &str) -> Option<&'t str> {
    if let Some(exact) = arguments.iter().find(|argument| argument.name == name) {
        return Some(&exact.whole);
    }
    let with = |suffix: &str| {
        let stem = name.strip_suffix(suffix)?;
        arguments.iter().find(|argument| argument.name == stem)
    };
    if let Some(argument) = with("_data") {
        return Some(argument.data.as_deref().unwrap_or(&argument.whole));
    }
    with("_int").and_then(|argument| argument.variable.as_deref())
}

/// An argument that reads a field which the instruction changes: its C may read the argument again after that. Handing a field its own
/// value changes nothing.
fn disturbed_argument(callee: &Proc, args: &[Expr]) -> Option<Diagnostic> {
    if !configuration::may_write(&callee.body) {
        return None;
    }
    callee.args.iter().zip(args).find_map(|(formal, actual)| {
        let field = configuration::disturbed([actual], &callee.body)?;
        if actual.kind == ExprKind::ReadConfig(field.clone()) && is_set_to(&callee.body, &field, &formal.name) {
            return None;
        }
        let (instruction, parameter) = (&callee.name, formal.name.name());
        let message =
            format!("instruction `{instruction}` changes `{field}`, which its argument for `{parameter}` reads");
        let hint = "its C could read the argument after the change: pass a value that does not depend on the field";
        Some(Diagnostic::error(codes::CONFIG, message).hint(hint))
    })
}

/// Whether every write of a field stores this parameter.
fn is_set_to(body: &Block, field: &ConfigField, parameter: &Sym) -> bool {
    let mut always = true;
    visit::each_stmt(body, &mut |stmt| match &stmt.kind {
        StmtKind::WriteConfig { field: written, rhs } if written == field => {
            always &= matches!(&rhs.kind, ExprKind::Read { name, idx } if name == parameter && idx.is_empty());
        }
        StmtKind::Call { callee, .. } => always &= !configuration::may_write(&callee.body),
        _ => {}
    });
    always
}
