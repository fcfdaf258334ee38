//! Cursors as host code sees them: one value type for every kind of place.

use allocative::Allocative;
use starlark::environment::Methods;
use starlark::eval::Evaluator;
use starlark::methods_static;
use starlark::starlark_simple_value;
use starlark::values::list::AllocList;
use starlark::values::{
    Heap, NoSerialize, ProvidesStaticType, StarlarkPagablePanic, StarlarkValue, Value, starlark_value,
};

use crate::cursor::path::{self, Node};
use crate::cursor::{BlockPlace, Path, Place};
use crate::diagnostic::{Diagnostic, Refusal, RefusalKind, codes, counted};
use crate::hardware::extern_function::ExternFunction;
use crate::loop_ir::{ExprKind, StmtKind, visit};
use crate::print;
use crate::schedule::argument::missing;
use crate::schedule::procedure::ForwardError;
use crate::schedule::{Cursor, Kind, Procedure, unrelated};
use crate::script::errors::refused;
use crate::syntax;
use crate::syntax::pattern::Pattern;

/// A place in one version of a proc.
#[derive(Debug, ProvidesStaticType, NoSerialize, StarlarkPagablePanic, Allocative)]
pub(crate) struct CursorValue(#[allocative(skip)] pub Cursor);
starlark_simple_value!(CursorValue);

impl std::fmt::Display for CursorValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.0.place {
            Place::Invalid => f.write_str("<invalid cursor>"),
            // No statement shows an extent of an argument.
            Place::Node(at) if at.statement().is_none() => match path::expr(self.0.procedure.ir(), at) {
                Some(extent) => f.write_str(&print::Names::of(self.0.procedure.ir()).expr(extent)),
                None => f.write_str("<invalid cursor>"),
            },
            place => f.write_str(&print::marked(self.0.procedure.ir(), place)),
        }
    }
}

methods_static!(CURSOR_METHODS = super::cursor_methods::methods);

#[starlark_value(type = "cursor")]
impl<'v> StarlarkValue<'v> for CursorValue {
    fn get_methods() -> Option<&'static Methods> {
        Some(CURSOR_METHODS.methods())
    }

    fn equals(&self, other: Value<'v>) -> starlark::Result<bool> {
        Ok(CursorValue::from_value(other).is_some_and(|other| other.0 == self.0))
    }

    fn to_bool(&self) -> bool {
        self.0.place != Place::Invalid
    }

    fn length(&self) -> starlark::Result<i32> {
        Ok(self.count()? as i32)
    }

    fn iterate_collect(&self, heap: Heap<'v>) -> starlark::Result<Vec<Value<'v>>> {
        Ok(self.elements()?.into_iter().map(|place| heap.alloc(self.at_place(place))).collect())
    }

    fn at(&self, index: Value<'v>, heap: Heap<'v>) -> starlark::Result<Value<'v>> {
        let count = self.count()?;
        let Some(at) = index.unpack_i32() else {
            return Err(wrong(RefusalKind::Argument, "a cursor is indexed by an integer"));
        };
        let at = if at < 0 { at + count as i32 } else { at };
        match usize::try_from(at).ok().and_then(|at| self.element(at)) {
            Some(place) => Ok(heap.alloc(self.at_place(place))),
            None => Err(wrong(
                RefusalKind::InvalidCursor,
                format!("index {at} is outside the {} of {}", self.kind(), counted(count, "element")),
            )),
        }
    }

    fn slice(
        &self,
        start: Option<Value<'v>>,
        stop: Option<Value<'v>>,
        stride: Option<Value<'v>>,
        heap: Heap<'v>,
    ) -> starlark::Result<Value<'v>> {
        if stride.is_some() {
            return Err(wrong(RefusalKind::Argument, "a slice of a cursor has no step"));
        }
        let len = self.count()? as i32;
        let bound = |value: Option<Value<'v>>, default: i32| {
            let at = value.and_then(|value| value.unpack_i32()).unwrap_or(default);
            (if at < 0 { at + len } else { at }).clamp(0, len) as usize
        };
        let (from, to) = (bound(start, 0), bound(stop, len));
        Ok(heap.alloc(self.at_place(self.run(from, to))))
    }

    fn get_attr(&self, attribute: &str, heap: Heap<'v>) -> Option<Value<'v>> {
        (attribute == "kind").then(|| heap.alloc(self.kind()))
    }

    fn dir_attr(&self) -> Vec<String> {
        vec!["kind".into()]
    }
}

impl CursorValue {
    pub(crate) fn at_place(&self, place: Place) -> CursorValue {
        CursorValue(Cursor { procedure: self.0.procedure.clone(), place })
    }

    pub(crate) fn invalid(&self) -> CursorValue {
        self.at_place(Place::Invalid)
    }

    pub(crate) fn node_or_invalid(&self, path: Path) -> CursorValue {
        match path::node(self.0.procedure.ir(), &path) {
            Some(Node::Stmt(_) | Node::Expr(_)) => self.at_place(Place::Node(path)),
            Some(Node::Proc(_)) | None => self.invalid(),
        }
    }

    /// The node a cursor points to; a refusal for other places.
    pub(crate) fn node(&self) -> starlark::Result<(&Path, Node<'_>)> {
        match &self.0.place {
            Place::Node(at) => match path::node(self.0.procedure.ir(), at) {
                Some(node) => Ok((at, node)),
                None => Err(invalid()),
            },
            Place::Invalid => Err(invalid()),
            Place::Block(_) | Place::Gap(_) | Place::Arg(_) | Place::ArgList { .. } | Place::Exprs { .. } => {
                Err(wrong(RefusalKind::InvalidCursor, format!("this {} is not a single node", self.kind())))
            }
        }
    }

    /// What `cursor.kind` says (design/01).
    pub(crate) fn kind(&self) -> &'static str {
        match &self.0.place {
            Place::Invalid => "invalid",
            Place::Block(_) => "block",
            Place::Gap(_) => "gap",
            Place::Arg(_) => "arg",
            Place::ArgList { .. } => "arg_list",
            Place::Exprs { .. } => "expr_list",
            Place::Node(at) => match path::node(self.0.procedure.ir(), at) {
                Some(Node::Stmt(stmt)) => stmt_kind(&stmt.kind),
                Some(Node::Expr(expr)) => expr_kind(&expr.kind),
                Some(Node::Proc(_)) | None => "invalid",
            },
        }
    }

    /// How many places a list-like cursor holds.
    fn count(&self) -> starlark::Result<usize> {
        match &self.0.place {
            Place::Block(block) => Ok(block.len()),
            Place::ArgList { lo, hi } | Place::Exprs { lo, hi, .. } => Ok(hi.saturating_sub(*lo)),
            Place::Invalid => Err(invalid()),
            Place::Node(_) | Place::Gap(_) | Place::Arg(_) => {
                Err(wrong(RefusalKind::InvalidCursor, format!("a cursor to one {} has no elements", self.kind())))
            }
        }
    }

    /// One of the places that a list-like cursor holds.
    fn element(&self, at: usize) -> Option<Place> {
        match &self.0.place {
            Place::Block(block) => (at < block.len()).then(|| Place::Node(block.statement(at))),
            Place::ArgList { lo, hi } => (at < hi.saturating_sub(*lo)).then(|| Place::Arg(lo + at)),
            Place::Exprs { parent, list, lo, hi } => {
                (at < hi.saturating_sub(*lo)).then(|| Place::Node(parent.child(list.step(lo + at))))
            }
            Place::Invalid | Place::Node(_) | Place::Gap(_) | Place::Arg(_) => None,
        }
    }

    /// The places that a list-like cursor holds.
    pub(crate) fn elements(&self) -> starlark::Result<Vec<Place>> {
        Ok((0..self.count()?).filter_map(|at| self.element(at)).collect())
    }

    /// A run of a list-like cursor; an empty block is no place.
    fn run(&self, from: usize, to: usize) -> Place {
        let to = to.max(from);
        match &self.0.place {
            Place::Block(block) if from < to => {
                Place::Block(BlockPlace { lo: block.lo + from, hi: block.lo + to, ..block.clone() })
            }
            Place::ArgList { lo, .. } => Place::ArgList { lo: lo + from, hi: lo + to },
            Place::Exprs { parent, list, lo, .. } => {
                Place::Exprs { parent: parent.clone(), list: *list, lo: lo + from, hi: lo + to }
            }
            Place::Block(_) | Place::Node(_) | Place::Gap(_) | Place::Arg(_) | Place::Invalid => Place::Invalid,
        }
    }
}

fn stmt_kind(kind: &StmtKind) -> &'static str {
    match kind {
        StmtKind::Assign { .. } => "assign",
        StmtKind::Reduce { .. } => "reduce",
        StmtKind::Pass => "pass",
        StmtKind::WriteConfig { .. } => "assign_config",
        StmtKind::If { .. } => "if",
        StmtKind::For { .. } => "for",
        StmtKind::Alloc { .. } => "alloc",
        StmtKind::Call { .. } => "call",
        StmtKind::Window { .. } => "window",
    }
}

fn expr_kind(kind: &ExprKind) -> &'static str {
    match kind {
        ExprKind::Read { .. } => "read",
        ExprKind::Const(_) => "literal",
        ExprKind::ReadConfig(_) => "read_config",
        ExprKind::Neg(_) => "unary_minus",
        ExprKind::Binary { .. } => "binary_op",
        ExprKind::Extern { .. } => "extern",
        ExprKind::Window { .. } => "window_expr",
        ExprKind::Stride { .. } => "stride",
    }
}

pub(crate) fn wrong(kind: RefusalKind, message: impl Into<String>) -> starlark::Error {
    let code = match kind {
        RefusalKind::InvalidCursor => codes::INVALID_CURSOR,
        RefusalKind::Argument
        | RefusalKind::Scheduling
        | RefusalKind::Parse
        | RefusalKind::Type
        | RefusalKind::Bounds
        | RefusalKind::Memory
        | RefusalKind::Unequal => codes::ARGUMENT,
    };
    refused(Refusal::new(kind, "cursor", Diagnostic::error(code, message)))
}

pub(crate) fn invalid() -> starlark::Error {
    let diagnostic = Diagnostic::error(codes::INVALID_CURSOR, "the cursor points to nothing")
        .hint("navigation went over an edge; test the cursor (`if cursor:`) before using it");
    refused(Refusal::new(RefusalKind::InvalidCursor, "cursor", diagnostic))
}

/// Carries a cursor to a later version, or refuses with the reason.
pub(crate) fn forward(procedure: &Procedure, cursor: &Cursor) -> starlark::Result<Cursor> {
    if cursor.place == Place::Invalid {
        return Err(invalid());
    }
    procedure.forward(cursor).map_err(|error| {
        let diagnostic = match error {
            ForwardError::Unrelated => unrelated::diagnostic(&cursor.procedure, procedure, ""),
            ForwardError::Gone => {
                let message = format!("the place of the cursor no longer exists in `{}`", procedure.ir().name);
                Diagnostic::error(codes::INVALID_CURSOR, message)
                    .hint("a step in between removed or rewrote it; find it again with `find`")
            }
        };
        refused(Refusal::new(RefusalKind::InvalidCursor, "forward", diagnostic))
    })
}

/// `name` or `name #k` becomes the pattern of that loop; anything else is a pattern already.
pub(crate) fn loop_pattern(text: &str) -> String {
    shorthand(text, |name| format!("for {name} in _: _"))
}

/// `name` or `name #k` becomes the pattern of that allocation.
pub(crate) fn alloc_pattern(text: &str) -> String {
    shorthand(text, |name| format!("{name}: _"))
}

fn shorthand(text: &str, pattern: impl Fn(&str) -> String) -> String {
    let (name, count) = match text.split_once('#') {
        Some((name, count)) => (name.trim(), Some(count.trim())),
        None => (text.trim(), None),
    };
    let is_name = !name.is_empty()
        && name.chars().all(|c| c.is_alphanumeric() || c == '_')
        && !name.starts_with(|c: char| c.is_numeric());
    match (is_name, count) {
        (false, _) => text.to_string(),
        (true, None) => pattern(name),
        (true, Some(count)) => format!("{} #{count}", pattern(name)),
    }
}

/// Whether a name calls an extern: one of the prelude, or one that the proc uses.
fn is_extern(procedure: &Procedure, name: &str) -> bool {
    let mut found = ExternFunction::builtin().iter().any(|function| function.name == name);
    visit::each_extern(&procedure.ir().body, &mut |function| found |= function.name == name);
    found
}

/// What to look for instead of a pattern that matches nothing.
fn elsewhere(procedure: &Procedure, start: Option<&Place>, pattern: &Pattern) -> String {
    let general = "patterns use `_` for anything and ` #k` for the k-th match, such as `for i in _: _ #1`";
    if let Some((other, written)) = pattern.other_write()
        && syntax::find::find_first(procedure.ir(), start, &other).is_ok_and(|found| found.is_some())
    {
        return format!("`{written}` is there: `=` finds assignments, `+=` finds reductions");
    }
    let Some(wanted) = pattern.loop_name() else { return general.to_string() };
    let found = missing::names_of(&Kind::For, procedure.ir());
    let name = &procedure.ir().name;
    match (found.iter().any(|known| known == wanted), start) {
        (true, Some(_)) => format!("`{name}` has a loop over `{wanted}`, but not below this cursor; ask the proc"),
        (true, None) => general.to_string(),
        (false, _) if found.is_empty() => format!("`{name}` has no loops"),
        (false, _) => format!("`{name}` has loops over {}", missing::listed(&found)),
    }
}

/// Searches a proc, or only below a place of it. Nothing found is a refusal.
pub(crate) fn find<'v>(
    procedure: &Procedure,
    start: Option<&Place>,
    pattern: &str,
    many: bool,
    eval: &mut Evaluator<'v, '_, '_>,
) -> starlark::Result<Value<'v>> {
    let unreadable = |diagnostic| refused(Refusal::new(RefusalKind::Parse, "find", diagnostic));
    let parsed = Pattern::parse(pattern, &|name| is_extern(procedure, name)).map_err(unreadable)?;
    let places = match many {
        true => syntax::find::find(procedure.ir(), start, &parsed),
        false => syntax::find::find_first(procedure.ir(), start, &parsed).map(|place| place.into_iter().collect()),
    };
    let places: Vec<Place> = places.map_err(unreadable)?;
    let value = |place: &Place| CursorValue(Cursor { procedure: procedure.clone(), place: place.clone() });
    match places.first() {
        None => {
            let diagnostic =
                Diagnostic::error(codes::NO_MATCH, format!("`{pattern}` matches nothing in `{}`", procedure.ir().name))
                    .note(print::proc(procedure.ir()))
                    .hint(elsewhere(procedure, start, &parsed));
            Err(refused(Refusal::new(RefusalKind::Scheduling, "find", diagnostic)))
        }
        Some(_) if many => Ok(eval.heap().alloc(AllocList(places.iter().map(value)))),
        Some(first) => Ok(eval.heap().alloc(value(first))),
    }
}
