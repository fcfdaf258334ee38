//! `specialize`: a block copied under conditions, each copy to be scheduled for its case.

use std::sync::Arc;

use crate::analysis::solver::Solver;
use crate::cursor::editor::NoSuchPlace;
use crate::cursor::{Editor, path};
use crate::diagnostic::Refusal;
use crate::loop_ir::substitute::alpha_rename;
use crate::loop_ir::{BinaryOp, Block, Expr, ExprKind, Proc, StmtKind, visit};
use crate::schedule::target::{Branch, rest_of_list};
use crate::schedule::{Arguments, Help, Kind, Obligation, Operator, Parameter, Proposal, Returned, Value};
use crate::source::Span;

pub struct Specialize;

impl Operator for Specialize {
    fn name(&self) -> &'static str {
        "specialize"
    }

    fn parameters(&self) -> &'static [Parameter] {
        &[
            Parameter { name: "block", kind: Kind::Block(None), default: None },
            Parameter { name: "conds", kind: Kind::ListOrOne(&Kind::NewExpr("block")), default: None },
        ]
    }

    fn help(&self) -> Help {
        Help {
            summary: "copies a block into the cases of a chain of conditions",
            text: "The block becomes `if c0: block else: if c1: block ... else: block`. Conditions are comparisons of \
                   index expressions, joined by `and` and `or`. What the block allocates must not be used after it.\n\
                   Cursors into the block die; the block becomes the new branch.",
            example: "@proc\n\
                      def set(n: size, x: f32):\n\
                      \x20   x = 1.0\n\
                      print(specialize(set, \"x = _\", \"n == 8\"))\n",
            prints: "def set(n: size, x: f32 @ DRAM):\n\
                     \x20   if n == 8:\n\
                     \x20       x = 1.0\n\
                     \x20   else:\n\
                     \x20       x = 1.0\n",
        }
    }

    fn results(&self) -> &'static [(&'static str, &'static str)] {
        &[("if_stmt", "the first branch of the chain")]
    }

    fn propose(&self, proc: &Arc<Proc>, arguments: &Arguments, _: &mut Solver) -> Result<Proposal, Refusal> {
        let place = arguments.block("block")?;
        let block = path::block(proc, place).ok_or_else(|| arguments.bug(NoSuchPlace))?;
        let conds = conditions(arguments)?;
        let rest = rest_of_list(proc, place);
        let escaping = block.iter().find_map(|stmt| match &stmt.kind {
            StmtKind::Alloc { name, .. } | StmtKind::Window { name, .. } => {
                visit::block_mentions(&rest, name).then_some(name)
            }
            StmtKind::Assign { .. }
            | StmtKind::Reduce { .. }
            | StmtKind::Pass
            | StmtKind::WriteConfig { .. }
            | StmtKind::If { .. }
            | StmtKind::For { .. }
            | StmtKind::Call { .. } => None,
        });
        if let Some(name) = escaping {
            return Err(arguments.scheduling(format!("`{name}` is declared in the block and used after it")));
        }
        let chain = conds.into_iter().rev().fold(block.clone(), |orelse: Block, cond| {
            Block::one(Branch { cond, body: alpha_rename(&block), orelse, span: Span::none() }.into_stmt())
        });
        let mut edited = Editor::new(proc);
        edited.replace(place, chain).map_err(|gone| arguments.bug(gone))?;
        let results = vec![Returned::node(&place.statement(0))];
        Ok(Proposal::same(edited, Obligation::ByConstruction("every case runs the same block")).returning(results))
    }
}

fn conditions(arguments: &Arguments) -> Result<Vec<Expr>, Refusal> {
    let mut conds = Vec::new();
    for value in arguments.list("conds")? {
        match value {
            Value::Expr(cond) if is_condition(cond) => conds.push(cond.clone()),
            _ => {
                let message = "a condition must be made of comparisons of index expressions, `and` and `or`";
                return Err(arguments.scheduling(message));
            }
        }
    }
    if conds.is_empty() {
        return Err(arguments.argument("`conds` needs at least one condition"));
    }
    Ok(conds)
}

fn is_condition(cond: &Expr) -> bool {
    match &cond.kind {
        ExprKind::Binary { op: BinaryOp::And | BinaryOp::Or, lhs, rhs } => is_condition(lhs) && is_condition(rhs),
        ExprKind::Binary { op, lhs, rhs } => op.is_comparison() && lhs.ty.is_indexable() && rhs.ty.is_indexable(),
        ExprKind::Read { .. }
        | ExprKind::Const(_)
        | ExprKind::ReadConfig(_)
        | ExprKind::Neg(_)
        | ExprKind::Extern { .. }
        | ExprKind::Window { .. }
        | ExprKind::Stride { .. } => false,
    }
}
