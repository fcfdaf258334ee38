//! `inline_assign`: an assignment removed by writing its value wherever it was read.

use std::sync::Arc;

use crate::analysis::conditions::{Question, Side};
use crate::analysis::solver::Solver;
use crate::cursor::editor::{EditResult, NoSuchPlace};
use crate::cursor::path::{self, Path};
use crate::cursor::{BlockPlace, Editor};
use crate::diagnostic::Refusal;
use crate::loop_ir::declarations::{Declaration, Declarations};
use crate::loop_ir::{BinaryOp, Expr, ExprKind, Proc, Stmt, StmtKind, build, visit};
use crate::schedule::reads::precisions;
use crate::schedule::target::{Write, block_of};
use crate::schedule::{Arguments, Help, Kind, Obligation, Operator, Parameter, Proposal};
use crate::symbol::Sym;

pub struct InlineAssign;

impl Operator for InlineAssign {
    fn name(&self) -> &'static str {
        "inline_assign"
    }

    fn parameters(&self) -> &'static [Parameter] {
        &[Parameter { name: "alloc_cursor", kind: Kind::Assign, default: None }]
    }

    fn help(&self) -> Help {
        Help {
            summary: "deletes an assignment and writes its right side wherever the value is read",
            text: "The buffer must be allocated in the procedure and not be written again in the rest of the block; every \
                   later read of the element must lie in that rest; and what the right side reads must not change before \
                   it is read there.\n\
                   Cursors to the assignment die; a read maps to what replaces it.",
            example: "@proc\n\
                      def twice(x: f32, y: f32):\n\
                      \x20   t: f32\n\
                      \x20   t = x + x\n\
                      \x20   y = t\n\
                      print(inline_assign(twice, \"t = _\"))\n",
            prints: "def twice(x: f32 @ DRAM, y: f32 @ DRAM):\n\
                     \x20   t: f32 @ DRAM\n\
                     \x20   y = x + x\n",
        }
    }

    fn propose(&self, proc: &Arc<Proc>, arguments: &Arguments, solver: &mut Solver) -> Result<Proposal, Refusal> {
        let at = arguments.path("alloc_cursor")?;
        let write = Write::at(proc, at, arguments)?;
        let declarations = Declarations::of(proc);
        let inlining = Inlining { proc, write: &write, declarations: &declarations, arguments };
        inlining.check_buffer()?;
        let own = block_of(at, arguments)?;
        let reads = inlining.reads(&own, solver)?;
        let mut questions = inlining.dead_elsewhere(&own)?;
        let mut readers = reads
            .iter()
            .map(|read| read.statement().ok_or(NoSuchPlace))
            .collect::<Result<Vec<_>, _>>()
            .map_err(|gone| arguments.bug(gone))?;
        // Reads of one statement follow each other.
        readers.dedup();
        for to in readers {
            let exprs = vec![write.rhs.clone()];
            questions.push(Question::Unchanged { side: Side::Before, from: at.clone(), to, exprs });
        }
        let mut edited = Editor::new(proc);
        inline(&mut edited, &own, &reads, &write.rhs).map_err(|gone| arguments.bug(gone))?;
        Ok(Proposal::same(edited, Obligation::Proven(questions)))
    }
}

fn inline(edited: &mut Editor, own: &BlockPlace, reads: &[Path], value: &Expr) -> EditResult {
    for read in reads {
        edited.replace_expr(read, value.clone())?;
    }
    edited.delete(own)
}

struct Inlining<'a> {
    proc: &'a Proc,
    write: &'a Write,
    declarations: &'a Declarations,
    arguments: &'a Arguments,
}

impl Inlining<'_> {
    fn refuse<T>(&self, message: String) -> Result<T, Refusal> {
        Err(self.arguments.scheduling(message))
    }

    /// The assigned buffer must be the procedure's own, so that nobody else sees that it is not written any more.
    fn check_buffer(&self) -> Result<(), Refusal> {
        let name = &self.write.name;
        match self.declarations.get(name) {
            Some(Declaration::Buffer { is_arg: false, .. }) => {}
            Some(Declaration::Buffer { .. } | Declaration::Window { .. })
            | Some(Declaration::Control(_) | Declaration::Iterator)
            | None => {
                return self.refuse(format!("`{name}` is not allocated here, so its value may be read elsewhere"));
            }
        }
        let own = self.declarations.precision(name);
        if precisions(&self.write.rhs, self.declarations).iter().any(|read| Some(*read) != own) {
            return self.refuse(format!("the assignment to `{name}` converts between precisions"));
        }
        Ok(())
    }

    fn is_buffer(&self, name: &Sym) -> bool {
        self.declarations.root(name).as_ref() == Some(&self.write.name)
    }

    /// The reads of the assigned element in the rest of the block; refuses where there are other uses.
    fn reads(&self, own: &BlockPlace, solver: &mut Solver) -> Result<Vec<Path>, Refusal> {
        let list = path::list(self.proc, &own.parent, own.orelse).unwrap_or(&[]);
        let mut found = Vec::new();
        let mut bad = None;
        path::each_in_list(list, &own.parent, own.orelse, &mut |at, stmt| {
            let in_rest =
                at.0.get(own.parent.0.len()).and_then(|step| step.in_list()).is_some_and(|(_, k)| k >= own.hi);
            if in_rest && bad.is_none() {
                bad = self.uses(at, stmt, &mut found).err();
            }
        });
        if let Some(refusal) = bad {
            return Err(refusal);
        }
        let mut reads = Vec::new();
        for at in found {
            if self.is_element(&at, solver)? {
                reads.push(at);
            }
        }
        Ok(reads)
    }

    /// Collects the element reads of one statement.
    fn uses(&self, at: &Path, stmt: &Stmt, found: &mut Vec<Path>) -> Result<(), Refusal> {
        let name = &self.write.name;
        let is_call = matches!(stmt.kind, StmtKind::Call { .. });
        if visit::written_by(stmt).is_some_and(|written| self.is_buffer(written)) {
            return self.refuse(format!("`{name}` is written again in the rest of the block"));
        }
        for step in path::own_expr_steps(stmt) {
            let place = at.child(step);
            let Some(expr) = path::expr(self.proc, &place) else { continue };
            let mut reads = Vec::new();
            self.uses_in(expr, &place, &mut reads)?;
            if is_call && !reads.is_empty() {
                return self.refuse(format!("`{name}` is passed to a call in the rest of the block"));
            }
            found.extend(reads);
        }
        Ok(())
    }

    fn uses_in(&self, expr: &Expr, at: &Path, found: &mut Vec<Path>) -> Result<(), Refusal> {
        match &expr.kind {
            ExprKind::Read { name, .. } if self.is_buffer(name) => match *name == self.write.name {
                true => found.push(at.clone()),
                false => return self.refuse(format!("`{}` is read through the window `{name}`", self.write.name)),
            },
            ExprKind::Window { name, .. } if self.is_buffer(name) => {
                return self.refuse(format!("a window of `{}` is taken in the rest of the block", self.write.name));
            }
            ExprKind::Read { .. }
            | ExprKind::Window { .. }
            | ExprKind::Const(_)
            | ExprKind::ReadConfig(_)
            | ExprKind::Neg(_)
            | ExprKind::Binary { .. }
            | ExprKind::Extern { .. }
            | ExprKind::Stride { .. } => {}
        }
        for step in path::expr_steps(expr) {
            let place = at.child(step);
            if let Some(child) = path::expr(self.proc, &place) {
                self.uses_in(child, &place, found)?;
            }
        }
        Ok(())
    }

    /// Whether a read is of the assigned element (provably), or of another one (provably).
    fn is_element(&self, read: &Path, solver: &mut Solver) -> Result<bool, Refusal> {
        let (Some(expr), Some(stmt)) = (path::expr(self.proc, read), read.statement()) else {
            return Err(self.arguments.bug(NoSuchPlace));
        };
        let ExprKind::Read { idx, .. } = &expr.kind else { return Err(self.arguments.bug(NoSuchPlace)) };
        let pairs: Vec<(&Expr, &Expr)> = idx.iter().zip(&self.write.idx).filter(|(one, two)| one != two).collect();
        let mut shown = |cond: Expr| {
            let question = Question::Holds { side: Side::Before, at: stmt.clone(), cond, what: String::new() };
            question.answer(self.proc, self.proc, solver).is_ok()
        };
        if pairs.iter().all(|(one, two)| shown(build::binary(BinaryOp::Eq, (*one).clone(), (*two).clone()))) {
            return Ok(true);
        }
        let apart = pairs.iter().any(|(one, two)| {
            shown(build::binary(BinaryOp::Lt, (*one).clone(), (*two).clone()))
                || shown(build::binary(BinaryOp::Gt, (*one).clone(), (*two).clone()))
        });
        match apart {
            true => Ok(false),
            false => self.refuse(format!("a later read of `{}` may or may not be of this element", self.write.name)),
        }
    }

    /// The value must not be read outside the rest of the block: not after the enclosing scopes, and not in a later
    /// iteration of a loop between the allocation and the assignment.
    fn dead_elsewhere(&self, own: &BlockPlace) -> Result<Vec<Question>, Refusal> {
        let name = &self.write.name;
        let mut questions = Vec::new();
        let mut scope = own.parent.clone();
        while let Some((parent, orelse, at)) = scope.list_position() {
            let list = path::list(self.proc, &parent, orelse).unwrap_or(&[]);
            if self.declared_below(&scope) {
                break;
            }
            let later = list.get(at + 1..).unwrap_or(&[]);
            if self.mentioned(later) {
                return self.refuse(format!("`{name}` is used after the block of the assignment"));
            }
            if path::stmt(self.proc, &scope).is_some_and(|stmt| matches!(stmt.kind, StmtKind::For { .. })) {
                let buffer = name.clone();
                questions.push(Question::DeadBetweenIterations { side: Side::Before, scope: scope.clone(), buffer });
            }
            scope = parent;
        }
        Ok(questions)
    }

    /// Whether the buffer is allocated somewhere inside a scope.
    fn declared_below(&self, scope: &Path) -> bool {
        path::stmt(self.proc, scope)
            .is_some_and(|stmt| visit::bound_symbols(std::slice::from_ref(stmt)).contains(&self.write.name))
    }

    fn mentioned(&self, block: &[Stmt]) -> bool {
        let mut found = false;
        visit::each_stmt(block, &mut |stmt| {
            found |= visit::written_by(stmt).is_some_and(|name| self.is_buffer(name));
            visit::each_own_expr(stmt, &mut |expr| {
                visit::each_expr(expr, &mut |node| {
                    found |= visit::named(node).is_some_and(|name| self.is_buffer(name))
                });
            });
        });
        found
    }
}
