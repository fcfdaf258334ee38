//! `rewrite_expr`: one expression for another that is equal there.

use std::sync::Arc;

use crate::analysis::conditions::{Question, Side};
use crate::analysis::solver::Solver;
use crate::cursor::Editor;
use crate::cursor::path::{self, Path};
use crate::diagnostic::Refusal;
use crate::loop_ir::{BinaryOp, Const, Expr, ExprKind, Proc, StmtKind, Ty, build, visit};
use crate::schedule::obligation::{Obligation, Proposal};
use crate::schedule::operator::{Arguments, Help, Kind, Operator, Parameter};

pub struct RewriteExpr;

const PARAMETERS: &[Parameter] = &[
    Parameter { name: "expr_cursor", kind: Kind::Expr, default: None },
    Parameter { name: "new_expr", kind: Kind::NewExpr("expr_cursor"), default: None },
];

impl Operator for RewriteExpr {
    fn name(&self) -> &'static str {
        "rewrite_expr"
    }

    fn parameters(&self) -> &'static [Parameter] {
        PARAMETERS
    }

    fn help(&self) -> Help {
        Help {
            summary: "replace an expression by an equal one",
            text: "Index expressions and conditions must be equal whenever the statement is reached. Data expressions must \
                be built alike, with equal indices. The cursor stays; cursors into the old expression die.",
            example: "\
@proc
def f(n: size, x: f32[n]):
    assert n == 8
    for i in seq(0, n):
        x[i] = 0.0

print(rewrite_expr(f, f.find_loop(\"i\").hi(), 8))
",
            prints: "\
def f(n: size, x: f32[n] @ DRAM):
    assert n == 8
    for i in seq(0, 8):
        x[i] = 0.0
",
        }
    }

    fn propose(&self, proc: &Arc<Proc>, arguments: &Arguments, _: &mut Solver) -> Result<Proposal, Refusal> {
        let (at, new) = (arguments.path("expr_cursor")?, arguments.expr("new_expr")?);
        let old = path::expr(proc, at).ok_or_else(|| arguments.argument("the cursor points to no expression"))?;
        let stmt = at.statement().ok_or_else(|| arguments.argument("the expression belongs to no statement"))?;
        let mut rules = Rules { stmt: &stmt, questions: Vec::new() };
        if !rules.equal(old, new) {
            let names = crate::print::Names::of(proc);
            let (old, new) = (names.expr(old), names.expr(new));
            return Err(arguments.scheduling(format!("cannot show that `{old}` and `{new}` are equal")));
        }
        let mut questions = rules.questions;
        let mut editor = Editor::new(proc);
        editor.replace_expr(at, new.clone()).map_err(|gone| arguments.bug(gone))?;
        let edited = path::stmt(editor.proc(), &stmt).ok_or_else(|| arguments.argument("not a statement"))?;
        let mut affine = true;
        visit::each_own_expr(edited, &mut |expr| visit::each_expr(expr, &mut |node| affine &= is_affine(node)));
        if !affine {
            return Err(arguments.scheduling("an index would multiply or divide by something that is not a literal"));
        }
        if matches!(edited.kind, StmtKind::Call { .. }) {
            questions.push(Question::CallsValid { side: Side::After, under: stmt.clone() });
        }
        Ok(Proposal::same(editor, Obligation::Proven(questions)))
    }
}

/// What makes two expressions equal at one statement.
struct Rules<'a> {
    stmt: &'a Path,
    questions: Vec<Question>,
}

impl Rules<'_> {
    /// `false` when they cannot be equal by these rules; otherwise equal if the questions are answered.
    fn equal(&mut self, old: &Expr, new: &Expr) -> bool {
        match (old.ty, new.ty) {
            (a, b) if a.is_indexable() && b.is_indexable() => {
                self.index(old, new);
                true
            }
            (Ty::BOOL, Ty::BOOL) => {
                self.questions.push(Question::Holds {
                    side: Side::Before,
                    at: self.stmt.clone(),
                    cond: build::binary(BinaryOp::Eq, old.clone(), new.clone()),
                    what: "the conditions are equal".to_string(),
                });
                true
            }
            (Ty::Data, _) => self.data(old, new),
            (Ty::Control(_), _) => false,
        }
    }

    fn index(&mut self, old: &Expr, new: &Expr) {
        self.questions.push(Question::Equal {
            side: Side::Before,
            at: self.stmt.clone(),
            lhs: old.clone(),
            rhs: new.clone(),
            what: "the expressions are equal".to_string(),
        });
    }

    fn all(&mut self, old: &[Expr], new: &[Expr], each: fn(&mut Self, &Expr, &Expr) -> bool) -> bool {
        old.len() == new.len() && old.iter().zip(new).all(|(old, new)| each(self, old, new))
    }

    fn data(&mut self, old: &Expr, new: &Expr) -> bool {
        match (&old.kind, &new.kind) {
            (ExprKind::Read { name: a, idx: ai }, ExprKind::Read { name: b, idx: bi }) => {
                a == b && self.all(ai, bi, Self::equal)
            }
            (ExprKind::Const(a), ExprKind::Const(b)) => same_real(a, b),
            (ExprKind::ReadConfig(a), ExprKind::ReadConfig(b)) => a == b,
            (ExprKind::Neg(a), ExprKind::Neg(b)) => self.data(a, b),
            (ExprKind::Binary { op: ao, lhs: al, rhs: ar }, ExprKind::Binary { op: bo, lhs: bl, rhs: br }) => {
                ao == bo && self.data(al, bl) && self.data(ar, br)
            }
            (ExprKind::Extern { function: af, args: aa }, ExprKind::Extern { function: bf, args: ba }) => {
                af == bf && self.all(aa, ba, Self::data)
            }
            (
                ExprKind::Read { .. }
                | ExprKind::Const(_)
                | ExprKind::ReadConfig(_)
                | ExprKind::Neg(_)
                | ExprKind::Binary { .. }
                | ExprKind::Extern { .. }
                | ExprKind::Window { .. }
                | ExprKind::Stride { .. },
                _,
            ) => false,
        }
    }
}

fn same_real(a: &Const, b: &Const) -> bool {
    match (a, b) {
        (Const::Int(int), Const::Real(real)) | (Const::Real(real), Const::Int(int)) => {
            int.unsigned_abs() <= 1 << 53 && *real == *int as f64
        }
        (Const::Int(a), Const::Int(b)) => a == b,
        (Const::Real(a), Const::Real(b)) => a == b,
        (Const::Int(_) | Const::Real(_) | Const::Bool(_), _) => false,
    }
}

/// The object language multiplies indices by literals and divides by positive literals only.
fn is_affine(node: &Expr) -> bool {
    match &node.kind {
        ExprKind::Binary { op: BinaryOp::Mul, lhs, rhs } if node.ty.is_indexable() => {
            lhs.ty == Ty::INT || rhs.ty == Ty::INT
        }
        ExprKind::Binary { op: BinaryOp::Div | BinaryOp::Mod, rhs, .. } if node.ty.is_indexable() => {
            matches!(rhs.kind, ExprKind::Const(Const::Int(value)) if value > 0)
        }
        ExprKind::Read { .. }
        | ExprKind::Const(_)
        | ExprKind::ReadConfig(_)
        | ExprKind::Neg(_)
        | ExprKind::Binary { .. }
        | ExprKind::Extern { .. }
        | ExprKind::Window { .. }
        | ExprKind::Stride { .. } => true,
    }
}
