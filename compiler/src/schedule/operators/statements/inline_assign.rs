//! `inline_assign`: an assignment removed by writing its value wherever it was read.

use std::sync::Arc;

use crate::analysis::conditions::{Question, Side};
use crate::analysis::solver::Solver;
use crate::cursor::editor::NoSuchPlace;
use crate::cursor::path::{self, Path};
use crate::cursor::{BlockPlace, Editor, Place, forward};
use crate::diagnostic::Refusal;
use crate::hardware::precision::Precision;
use crate::loop_ir::declarations::{Declaration, Declarations};
use crate::loop_ir::{Access, Block, Proc, Stmt, StmtKind, visit};
use crate::schedule::conversions;
use crate::schedule::operators::buffers::staging::{Relation, relate};
use crate::schedule::operators::buffers::uses::{UseKind, uses};
use crate::schedule::reads::precisions;
use crate::schedule::target::{Write, block_of};
use crate::schedule::{Arguments, Help, Kind, Obligation, Operator, Parameter, Proposal, Returned};
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
            text: "Every read of the assigned value must lie in the rest of the block, and what the right side reads must \
                   not change before it. Nothing else may touch the element there, unless the block itself assigns it \
                   anew, which ends the search. Without that the buffer must be allocated in the procedure, and the value \
                   must not be read after the block.\n\
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

    fn results(&self) -> &'static [(&'static str, &'static str)] {
        &[("values", "the expressions that took the place of the reads")]
    }

    fn propose(&self, proc: &Arc<Proc>, arguments: &Arguments, solver: &mut Solver) -> Result<Proposal, Refusal> {
        let at = arguments.path("alloc_cursor")?;
        let write = Write::at(proc, at, arguments)?;
        let declarations = Declarations::of(proc);
        let inlining = Inlining { proc, write: &write, declarations: &declarations, arguments };
        inlining.check_precision()?;
        if write.idx.iter().any(|index| index.reads_config) {
            return Err(arguments.scheduling(format!("the index of `{}` reads configuration state", write.name)));
        }
        let own = block_of(at, arguments)?;
        let Found { reads, mut questions, end, overwritten } = inlining.reads(&own, solver)?;
        if !overwritten {
            inlining.check_buffer()?;
            questions.extend(inlining.dead_elsewhere(&own)?);
        }
        let mut readers: Vec<Path> = reads.iter().filter_map(Path::statement).collect();
        // Reads of one statement follow each other.
        readers.dedup();
        for to in readers {
            let exprs = vec![write.rhs.clone()];
            questions.push(Question::Unchanged { side: Side::Before, from: at.clone(), to, exprs });
        }
        let mut edited = Editor::new(proc);
        for read in &reads {
            conversions::refuse_narrowing(proc, read, &write.rhs, inlining.precision()?, arguments)?;
            edited.replace_expr(read, write.rhs.clone()).map_err(|gone| arguments.bug(gone))?;
        }
        inlining.check_arithmetic(edited.proc(), &reads)?;
        edited.delete(&own).map_err(|gone| arguments.bug(gone))?;
        // The rest of the block moved up by the assignment.
        let block = BlockPlace { hi: end - 1, ..own.clone() };
        if !block.is_empty() {
            let (buffer, window) = (write.name.clone(), inlining.element());
            questions.push(Question::Untouched { side: Side::After, block, buffer, window });
        }
        let values = reads.iter().filter_map(|read| forward(&Place::Node(read.clone()), edited.steps())).collect();
        Ok(Proposal::same(edited, Obligation::Proven(questions)).returning(vec![Returned::Many(values)]))
    }
}

/// What follows the assignment in its block.
struct Found {
    /// The reads of the element.
    reads: Vec<Path>,
    /// What shows that they are.
    questions: Vec<Question>,
    /// Up to here, as a position of the list, nothing else may touch the element.
    end: usize,
    /// The statement at `end` assigns the element anew, so that nobody sees the old value after it.
    overwritten: bool,
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

    /// The assigned element, as a window of its buffer.
    fn element(&self) -> Vec<Access> {
        self.write.idx.iter().cloned().map(Access::Point).collect()
    }

    /// The buffer must be the procedure's own, so that nobody else sees that it is not written any more.
    fn check_buffer(&self) -> Result<(), Refusal> {
        let name = &self.write.name;
        match self.declarations.get(name) {
            Some(Declaration::Buffer { is_arg: false, .. }) => Ok(()),
            _ => self.refuse(format!("`{name}` is not allocated here, so its value may be read elsewhere")),
        }
    }

    fn precision(&self) -> Result<Precision, Refusal> {
        self.declarations.precision(&self.write.name).ok_or_else(|| self.arguments.bug(NoSuchPlace))
    }

    /// Literals take the precision of what stands beside them, so a reader that has only them left may compute in another.
    fn check_arithmetic(&self, replaced: &Proc, reads: &[Path]) -> Result<(), Refusal> {
        let kept = conversions::is_kept_as_int(self.write, self.proc);
        let other = |read: &&Path| {
            let same = conversions::computed_in(self.proc, read) == conversions::computed_in(replaced, read);
            let as_int = || kept && conversions::computes_as_int(self.proc, replaced, read);
            !same && !as_int()
        };
        match reads.iter().find(other) {
            Some(_) => {
                self.refuse(format!("without `{}` a statement would compute in another precision", self.write.name))
            }
            None => Ok(()),
        }
    }

    fn check_precision(&self) -> Result<(), Refusal> {
        let name = &self.write.name;
        let own = self.declarations.precision(name);
        let converts = precisions(&self.write.rhs, self.declarations).iter().any(|read| Some(*read) != own);
        match converts && !conversions::is_kept_as_int(self.write, self.proc) {
            true => self.refuse(format!("the assignment to `{name}` converts between precisions")),
            false => Ok(()),
        }
    }

    fn is_buffer(&self, name: &Sym) -> bool {
        self.declarations.root(name) == self.declarations.root(&self.write.name)
    }

    /// The reads of the assigned element in the rest of the block, up to where it is assigned anew.
    fn reads(&self, own: &BlockPlace, solver: &mut Solver) -> Result<Found, Refusal> {
        let list = path::list(self.proc, &own.parent, own.orelse).unwrap_or(Block::none());
        let mut found = Found { reads: Vec::new(), questions: Vec::new(), end: list.len(), overwritten: false };
        for (position, stmt) in list.iter().enumerate().skip(own.hi) {
            let block = BlockPlace { lo: position, hi: position + 1, ..own.clone() };
            let (mut overwrites, mut may_read) = (false, false);
            for one in uses(self.proc, &block, &self.write.name) {
                let (idx, read) = match &one.kind {
                    // An element that is passed to a call is passed by reference.
                    UseKind::Read { at, idx } if !self.is_call(&one.stmt) => (idx, Some(at)),
                    UseKind::Write { idx, reduce: false } if one.stmt == block.statement(0) => (idx, None),
                    UseKind::Read { .. }
                    | UseKind::Write { .. }
                    | UseKind::Window { .. }
                    | UseKind::Whole { .. }
                    | UseKind::Stride { .. } => continue,
                };
                let access: Vec<Access> = idx.iter().cloned().map(Access::Point).collect();
                match (relate(self.proc, &one.stmt, &access, &self.element(), solver), read) {
                    (Relation::Inside(question), Some(at)) => {
                        found.questions.push(question);
                        found.reads.push(at.clone());
                    }
                    (Relation::Inside(question), None) => {
                        found.questions.push(question);
                        overwrites = !self.reads_other_names(stmt);
                    }
                    (Relation::Disjoint(question), Some(_)) => found.questions.push(question),
                    // An assignment reads its right side before it overwrites the element.
                    (Relation::Neither, Some(_)) => may_read = true,
                    (Relation::Disjoint(_) | Relation::Neither, None) => {}
                }
            }
            if overwrites && !may_read {
                found.end = position;
                found.overwritten = true;
                break;
            }
        }
        Ok(found)
    }

    fn is_call(&self, at: &Path) -> bool {
        path::stmt(self.proc, at).is_some_and(|stmt| matches!(stmt.kind, StmtKind::Call { .. }))
    }

    /// Whether the statement reads the buffer through a window.
    fn reads_other_names(&self, stmt: &Stmt) -> bool {
        let mut found = false;
        visit::each_expr_in(&Block::one(stmt.clone()), &mut |expr| {
            found |= visit::named(expr).is_some_and(|name| *name != self.write.name && self.is_buffer(name));
        });
        found
    }

    /// The value must not be read outside the rest of the block: not after the enclosing scopes, and not in a later
    /// iteration of a loop between the allocation and the assignment.
    fn dead_elsewhere(&self, own: &BlockPlace) -> Result<Vec<Question>, Refusal> {
        let name = &self.write.name;
        let mut questions = Vec::new();
        let mut scope = own.parent.clone();
        while let Some((parent, orelse, at)) = scope.list_position() {
            let list = path::list(self.proc, &parent, orelse).unwrap_or(Block::none());
            if self.declared_below(&scope) {
                break;
            }
            let later = list.part(at + 1..).unwrap_or_default();
            if self.mentioned(&later) {
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
            .is_some_and(|stmt| visit::bound_symbols(&Block::one(stmt.clone())).contains(&self.write.name))
    }

    fn mentioned(&self, block: &Block) -> bool {
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
