//! What the operators share that change how a buffer is laid out: its declaration, its uses, its obligation.

use crate::analysis::conditions::{Question, Side};
use crate::cursor::Editor;
use crate::cursor::path::{self, BlockPlace, Path};
use crate::diagnostic::{Refusal, counted};
use crate::hardware::memory::Memory;
use crate::loop_ir::declarations::Declarations;
use crate::loop_ir::strides::{self, Asked};
use crate::loop_ir::{Access, Block, DataType, Expr, Proc, StmtKind, build};
use crate::schedule::operator::Arguments;
use crate::schedule::operators::buffers::uses::{Changes, Use, UseKind, scope_after, uses};
use crate::symbol::Sym;

/// What becomes of the indices (or accesses) of one use.
type Rule<'r, T> = &'r dyn Fn(&[T]) -> Result<Vec<T>, Refusal>;

/// An allocation with everything that happens to its buffer.
pub(in crate::schedule::operators) struct Declared {
    pub(in crate::schedule::operators) at: Path,
    pub(in crate::schedule::operators) name: Sym,
    pub(in crate::schedule::operators) ty: DataType,
    pub(in crate::schedule::operators) mem: Memory,
    /// The rest of the list after the allocation.
    pub(in crate::schedule::operators) scope: BlockPlace,
    pub(in crate::schedule::operators) uses: Vec<Use>,
}

impl Declared {
    /// The allocation that a parameter of kind `Alloc` names.
    pub(in crate::schedule::operators) fn find(
        proc: &Proc,
        arguments: &Arguments,
        parameter: &str,
    ) -> Result<Self, Refusal> {
        Self::at(proc, arguments, arguments.path(parameter)?)
    }

    pub(in crate::schedule::operators) fn at(proc: &Proc, arguments: &Arguments, at: &Path) -> Result<Self, Refusal> {
        let stmt = path::stmt(proc, at).map(|stmt| &stmt.kind);
        let (Some(StmtKind::Alloc { name, ty, mem }), Some(scope)) = (stmt, scope_after(proc, at)) else {
            return Err(arguments.argument("the cursor does not point to an allocation"));
        };
        let uses = uses(proc, &scope, name);
        Ok(Declared { at: at.clone(), name: name.clone(), ty: ty.clone(), mem: mem.clone(), scope, uses })
    }

    /// A dimension by number, as users give it.
    pub(in crate::schedule::operators) fn dimension(&self, arguments: &Arguments, dim: i64) -> Result<usize, Refusal> {
        let rank = self.ty.rank();
        match usize::try_from(dim) {
            Ok(dim) if dim < rank => Ok(dim),
            _ => {
                let rank = counted(rank, "dimension");
                Err(arguments.argument(format!("`{}` has {rank}, so there is no dimension {dim}", self.name)))
            }
        }
    }

    /// The extent of a dimension that exists.
    pub(in crate::schedule::operators) fn extent(&self, arguments: &Arguments, dim: usize) -> Result<&Expr, Refusal> {
        self.ty.shape.get(dim).ok_or_else(|| arguments.argument(format!("`{}` has no dimension {dim}", self.name)))
    }

    /// Whether the buffer goes into windows or calls, so that others see its layout.
    pub(in crate::schedule::operators) fn is_shared(&self) -> bool {
        self.uses.iter().any(|one| match one.kind {
            UseKind::Window { .. } | UseKind::Whole { .. } | UseKind::Stride { .. } => true,
            UseKind::Read { .. } | UseKind::Write { .. } => false,
        })
    }

    /// The calls in scope must still be valid when the layout that they see has changed.
    pub(in crate::schedule::operators) fn call_questions(&self) -> Vec<Question> {
        match self.is_shared() {
            true => vec![Question::CallsValid { side: Side::After, under: self.scope.parent.clone() }],
            false => Vec::new(),
        }
    }

    /// An allocation of these extents may stand at `at` after the step, outside of scopes that it stood in. Where no code runs,
    /// such as in a loop without iterations, a literal extent may have been anything.
    pub(in crate::schedule::operators) fn allocated_outside(&self, at: &Path, shape: &[Expr]) -> Vec<Question> {
        let doubtful = shape.iter().filter(|extent| build::int_value(extent).is_none_or(|literal| literal < 1));
        doubtful
            .map(|extent| Question::Holds {
                side: Side::After,
                at: at.clone(),
                cond: build::less(build::int(0), extent.clone()),
                what: format!("the extent of `{}` is positive outside the scopes it leaves", self.name),
            })
            .collect()
    }

    pub(in crate::schedule::operators) fn in_bounds(&self) -> Question {
        Question::BufferInBounds { side: Side::After, buffer: self.name.clone() }
    }

    /// Refuses code that computes with a stride of the buffer or of a window of it: the value would change.
    pub(in crate::schedule::operators) fn refuse_strides(
        &self,
        proc: &Proc,
        arguments: &Arguments,
    ) -> Result<(), Refusal> {
        let declarations = Declarations::of(proc);
        refuse_asked(&proc.body, arguments, &|asked| declarations.root(asked.name).as_ref() == Some(&self.name))
    }

    /// Gives the allocation another shape; places in the old one die.
    pub(in crate::schedule::operators) fn reshape(
        &self,
        editor: &mut Editor,
        arguments: &Arguments,
        shape: Vec<Expr>,
    ) -> Result<(), Refusal> {
        let ty = DataType { shape, ..self.ty.clone() };
        let kind = StmtKind::Alloc { name: self.name.clone(), ty, mem: self.mem.clone() };
        let span = path::stmt(editor.proc(), &self.at).map(|stmt| stmt.span.clone()).unwrap_or_default();
        editor.restructure(&self.at, build::stmt(kind, &span), Vec::new()).map_err(|gone| arguments.bug(gone))
    }

    /// Rewrites the indices of all uses with one rule for elements and one for windows; refuses whole and stride uses.
    pub(in crate::schedule::operators) fn rewrite_indices(
        &self,
        arguments: &Arguments,
        element: Rule<'_, Expr>,
        window: Rule<'_, Access>,
    ) -> Result<Changes, Refusal> {
        let mut changes = Changes::default();
        for one in &self.uses {
            match &one.kind {
                UseKind::Read { at, idx } => changes.expr(at, build::element(&self.name, element(idx)?)),
                UseKind::Write { idx, .. } => changes.target(&one.stmt, &self.name, element(idx)?),
                UseKind::Window { at, idx } => changes.expr(at, build::window(&self.name, window(idx)?)),
                UseKind::Whole { .. } => {
                    return Err(arguments.scheduling(format!("`{}` is passed whole to a call", self.name)));
                }
                UseKind::Stride { .. } => {
                    let message = format!("the code asks for a stride of `{}`, which would change", self.name);
                    return Err(arguments.scheduling(message));
                }
            }
        }
        Ok(changes)
    }
}

/// Refuses code that asks for one of the strides that would change, itself or in a callee.
pub(in crate::schedule::operators) fn refuse_asked(
    block: &Block,
    arguments: &Arguments,
    changes: &dyn Fn(Asked<'_>) -> bool,
) -> Result<(), Refusal> {
    let mut message = None;
    strides::each_asked(block, &mut |asked| {
        if message.is_none() && changes(asked) {
            let who = asked.callee.map_or("the code".to_string(), |callee| format!("`{}`", callee.name));
            message = Some(format!("{who} asks for a stride of `{}`, which would change", asked.name));
        }
    });
    message.map_or(Ok(()), |message| Err(arguments.scheduling(message)))
}

/// `extent` is positive at a statement of the procedure before the step.
pub(in crate::schedule::operators) fn positive(at: &Path, extent: &Expr, what: &str) -> Question {
    Question::Holds {
        side: Side::Before,
        at: at.clone(),
        cond: build::less(build::int(0), extent.clone()),
        what: what.to_string(),
    }
}
