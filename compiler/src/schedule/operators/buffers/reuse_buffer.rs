//! `reuse_buffer`: one buffer takes the place of another.

use std::sync::Arc;

use crate::analysis::conditions::{Question, Side};
use crate::analysis::solver::Solver;
use crate::cursor::Editor;
use crate::cursor::path::{self, BlockPlace, Path, Step};
use crate::diagnostic::Refusal;
use crate::loop_ir::declarations::Declarations;
use crate::loop_ir::substitute::{Substitution, substitute_block};
use crate::loop_ir::{Block, Proc, Stmt, StmtKind, build, visit};
use crate::schedule::obligation::{Obligation, Proposal};
use crate::schedule::operator::{Arguments, Help, Kind, Operator, Parameter};
use crate::schedule::operators::buffers::layout::Declared;
use crate::schedule::parallel;
use crate::symbol::Sym;

pub struct ReuseBuffer;

const PARAMETERS: &[Parameter] = &[
    Parameter { name: "buf_cursor", kind: Kind::Alloc, default: None },
    Parameter { name: "replace_cursor", kind: Kind::Alloc, default: None },
];

impl Operator for ReuseBuffer {
    fn name(&self) -> &'static str {
        "reuse_buffer"
    }

    fn parameters(&self) -> &'static [Parameter] {
        PARAMETERS
    }

    fn help(&self) -> Help {
        Help {
            summary: "let one buffer take the place of another",
            text: "Deletes the allocation of `replace_cursor` and uses the buffer of `buf_cursor` instead. Both need the \
                same precision, memory and shape. The kept buffer must be visible where the other one was allocated. It must \
                not be used after the first statement that uses the other one (nor in it, unless that is an assignment that \
                reads it), and what it held there must never be read again. The cursor to the deleted allocation dies.",
            example: "\
@proc
def f(x: f32[8]):
    a: f32
    a = x[0]
    x[1] = a
    b: f32
    b = x[2]
    x[3] = b

print(reuse_buffer(f, \"a: _\", \"b: _\"))
",
            prints: "\
def f(x: f32[8] @ DRAM):
    a: f32 @ DRAM
    a = x[0]
    x[1] = a
    a = x[2]
    x[3] = a
",
        }
    }

    fn propose(&self, proc: &Arc<Proc>, arguments: &Arguments, _: &mut Solver) -> Result<Proposal, Refusal> {
        let kept = Declared::find(proc, arguments, "buf_cursor")?;
        let gone = Declared::find(proc, arguments, "replace_cursor")?;
        if kept.name == gone.name {
            return Err(arguments.argument("the two allocations must differ"));
        }
        if kept.ty.precision != gone.ty.precision || kept.mem != gone.mem || kept.ty.rank() != gone.ty.rank() {
            let message = format!("`{}` and `{}` differ in precision, memory or rank", kept.name, gone.name);
            return Err(arguments.scheduling(message));
        }
        // Visible: declared earlier in the same list or in one around it.
        let visible =
            gone.at.0.strip_prefix(kept.scope.parent.0.as_slice()).and_then(|rest| rest.first()).is_some_and(|step| {
                step.in_list().is_some_and(|(orelse, at)| orelse == kept.scope.orelse && at >= kept.scope.lo)
            });
        if !visible {
            return Err(
                arguments.scheduling(format!("`{}` is not visible where `{}` is declared", kept.name, gone.name))
            );
        }
        let first_use = first_use(proc, &kept, &gone, arguments)?;
        let mut questions: Vec<Question> = kept
            .ty
            .shape
            .iter()
            .zip(&gone.ty.shape)
            .map(|(kept, gone_extent)| Question::Equal {
                side: Side::Before,
                at: gone.at.clone(),
                lhs: kept.clone(),
                rhs: gone_extent.clone(),
                what: "both buffers have the same shape".to_string(),
            })
            .collect();
        questions.push(Question::DeadAfter { side: Side::Before, at: first_use, buffer: kept.name.clone() });
        // Iterations of a `par` loop would share the kept buffer.
        let depth = kept.scope.parent.0.len();
        let inner = parallel::scopes(proc, &gone.scope.parent).into_iter().filter(|scope| scope.0.len() > depth);
        questions.extend(inner.map(|scope| Question::IndependentIterations { side: Side::After, scope }));
        if gone.is_shared() {
            questions.push(Question::CallsValid { side: Side::After, under: gone.scope.parent.clone() });
        }
        let map = Substitution::from([(gone.name.clone(), build::element(&kept.name, Vec::new()))]);
        let list = path::list(proc, &gone.scope.parent, gone.scope.orelse).unwrap_or(Block::none());
        let mut editor = Editor::new(proc);
        editor
            .rewrite_list(&gone.scope.parent, gone.scope.orelse, substitute_block(list, &map), Vec::new())
            .map_err(|none| arguments.bug(none))?;
        let place = BlockPlace::of_statement(&gone.at).ok_or_else(|| arguments.argument("not a statement"))?;
        editor.delete(&place).map_err(|none| arguments.bug(none))?;
        Ok(Proposal::same(editor, Obligation::Proven(questions)))
    }
}

/// The statement from which on the deleted buffer lives: the first of its scope that uses it, or its allocation. The kept
/// buffer may be used before, and be read by an assignment there, which comes to store only when it has its value.
fn first_use(proc: &Proc, kept: &Declared, gone: &Declared, arguments: &Arguments) -> Result<Path, Refusal> {
    let scope = path::block(proc, &gone.scope).unwrap_or_default();
    let declarations = Declarations::of(proc);
    let uses = |stmt: &Stmt, buffer: &Sym| {
        visit::free_symbols(&Block::from(vec![stmt.clone()]))
            .into_iter()
            .find(|name| declarations.root(name).as_ref() == Some(buffer))
    };
    let Some(first) = scope.iter().position(|stmt| uses(stmt, &gone.name).is_some()) else {
        return Ok(gone.at.clone());
    };
    for (at, stmt) in scope.iter().enumerate().skip(first) {
        let begins = at == first
            && matches!(&stmt.kind, StmtKind::Assign { name, .. } if declarations.root(name).as_ref() == Some(&gone.name));
        if let Some(name) = uses(stmt, &kept.name).filter(|_| !begins) {
            return Err(arguments.scheduling(format!("`{name}` is used while `{}` lives", gone.name)));
        }
    }
    let place = &gone.scope;
    Ok(place.parent.child(Step::statement(place.orelse, place.lo + first)))
}
