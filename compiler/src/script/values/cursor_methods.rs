//! Methods of cursors: navigation and inspection (spec/02, 2.3 and 2.4).

use std::cmp::Ordering;

use starlark::environment::MethodsBuilder;
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::list::AllocList;
use starlark::values::none::NoneOr;
use starlark::values::{Heap, Value};

use crate::cursor::path::{self, Node};
use crate::cursor::{BlockPlace, ExprList, GapPlace, Path, Place, Side, Step};
use crate::diagnostic::RefusalKind;
use crate::hardware::config::{ConfigField, FieldType};
use crate::loop_ir::declarations::Declarations;
use crate::loop_ir::{Access, ArgType, Block, Const, DataType, ExprKind, StmtKind, Ty};
use crate::print::Names;
use crate::schedule::Procedure;
use crate::script::values::configs::ConfigValue;
use crate::script::values::cursor::{self, CursorValue, invalid, wrong};
use crate::script::values::procedure::ProcedureValue;
use crate::script::values::words::{MemoryValue, PrecisionValue, WordValue};
use crate::script::wording;

fn lacks(cursor: &CursorValue, what: &str) -> starlark::Error {
    match cursor.0.place {
        Place::Invalid => invalid(),
        _ => wrong(RefusalKind::Argument, format!("a cursor of kind `{}` has no `{what}`", cursor.kind())),
    }
}

/// The anchor of a cursor in a statement list: a statement, or the first of a block.
fn anchor(cursor: &CursorValue) -> starlark::Result<Path> {
    match &cursor.0.place {
        Place::Node(at) if at.list_position().is_some() => Ok(at.clone()),
        Place::Block(block) => Ok(block.statement(0)),
        Place::Gap(gap) => Ok(gap.anchor.clone()),
        Place::Node(_) | Place::Arg(_) | Place::ArgList { .. } | Place::Exprs { .. } | Place::Invalid => {
            Err(lacks(cursor, "place in a block"))
        }
    }
}

fn as_block(cursor: &CursorValue) -> starlark::Result<BlockPlace> {
    match &cursor.0.place {
        Place::Block(block) => Ok(block.clone()),
        Place::Node(at) => BlockPlace::of_statement(at).ok_or_else(|| lacks(cursor, "block")),
        Place::Gap(_) | Place::Arg(_) | Place::ArgList { .. } | Place::Exprs { .. } | Place::Invalid => {
            Err(lacks(cursor, "block"))
        }
    }
}

fn gap(cursor: &CursorValue, side: Side) -> starlark::Result<CursorValue> {
    let block = as_block(cursor)?;
    let anchor = match side {
        Side::Before => block.statement(0),
        Side::After => block.statement(block.len() - 1),
    };
    Ok(cursor.at_place(Place::Gap(GapPlace { anchor, side })))
}

/// An integer argument of a method; one that is larger than any proc is brought into range.
fn steps<'v>(method: &str, value: Value<'v>, heap: Heap<'v>) -> starlark::Result<i32> {
    if let Some(small) = value.unpack_i32() {
        return Ok(small);
    }
    if value.get_type() != "int" {
        let given = wording::kind(value.get_type());
        return Err(wrong(RefusalKind::Argument, format!("`{method}` takes an integer, not {given}")));
    }
    Ok(match value.compare(heap.alloc(0))? {
        Ordering::Less => -i32::MAX,
        Ordering::Equal | Ordering::Greater => i32::MAX,
    })
}

fn sibling(cursor: &CursorValue, distance: i32) -> starlark::Result<CursorValue> {
    let at = match &cursor.0.place {
        Place::Block(block) if distance > 0 => block.statement(block.len() - 1),
        _ => anchor(cursor)?,
    };
    Ok(match at.sibling(distance as isize) {
        Some(path) => cursor.node_or_invalid(path),
        None => cursor.invalid(),
    })
}

/// The enclosing node of a place; invalid at the top level. Window accesses are part of their window.
fn parent(cursor: &CursorValue) -> CursorValue {
    let above = match &cursor.0.place {
        Place::Node(at) => at.parent(),
        Place::Block(block) => Some(block.parent.clone()),
        Place::Gap(gap) => gap.anchor.parent(),
        Place::Exprs { parent, .. } => Some(parent.clone()),
        Place::Arg(_) | Place::ArgList { .. } | Place::Invalid => None,
    };
    if let (Place::Node(at), Some(true)) = (&cursor.0.place, above.as_ref().map(|path| path.0.is_empty()))
        && let Some(Step::ArgDim(arg, _)) = at.last()
    {
        return cursor.at_place(Place::Arg(arg));
    }
    above.map_or_else(|| cursor.invalid(), |path| cursor.node_or_invalid(path))
}

fn child(cursor: &CursorValue, step: Step) -> starlark::Result<CursorValue> {
    let (at, _) = cursor.node()?;
    Ok(cursor.node_or_invalid(at.child(step)))
}

fn exprs(cursor: &CursorValue, list: ExprList, len: usize) -> starlark::Result<CursorValue> {
    let (at, _) = cursor.node()?;
    Ok(cursor.at_place(Place::Exprs { parent: at.clone(), list, lo: 0, hi: len }))
}

fn sub_block(cursor: &CursorValue, orelse: bool) -> starlark::Result<CursorValue> {
    let (at, _) = cursor.node()?;
    match path::list(cursor.0.procedure.ir(), at, orelse) {
        Some(list) if list.is_empty() => Ok(cursor.invalid()),
        Some(list) => {
            Ok(cursor.at_place(Place::Block(BlockPlace { parent: at.clone(), orelse, lo: 0, hi: list.len() })))
        }
        None => Err(lacks(cursor, if orelse { "orelse" } else { "body" })),
    }
}

/// Searches below a place.
fn find_below<'v>(
    cursor: &CursorValue,
    pattern: &str,
    many: bool,
    eval: &mut Evaluator<'v, '_, '_>,
) -> starlark::Result<Value<'v>> {
    match cursor.0.place {
        Place::Invalid => Err(invalid()),
        _ => cursor::find(&cursor.0.procedure, Some(&cursor.0.place), pattern, many, eval),
    }
}

/// The declared type of an argument or allocation cursor, when it is data.
fn data_type(cursor: &CursorValue) -> Option<DataType> {
    let proc = cursor.0.procedure.ir();
    match &cursor.0.place {
        Place::Arg(at) => match &proc.args.get(*at)?.ty {
            ArgType::Data(data) => Some(data.clone()),
            ArgType::Control(_) => None,
        },
        Place::Node(at) => match &path::stmt(proc, at)?.kind {
            StmtKind::Alloc { ty, .. } => Some(ty.clone()),
            _ => None,
        },
        Place::Block(_) | Place::Gap(_) | Place::ArgList { .. } | Place::Exprs { .. } | Place::Invalid => None,
    }
}

fn name_of(cursor: &CursorValue) -> Option<String> {
    let proc = cursor.0.procedure.ir();
    match &cursor.0.place {
        Place::Arg(at) => proc.args.get(*at).map(|arg| arg.name.name().to_string()),
        Place::Node(at) => match path::node(proc, at)? {
            Node::Stmt(stmt) => match &stmt.kind {
                StmtKind::Assign { name, .. }
                | StmtKind::Reduce { name, .. }
                | StmtKind::Alloc { name, .. }
                | StmtKind::Window { name, .. } => Some(name.name().to_string()),
                StmtKind::For { iter, .. } => Some(iter.name().to_string()),
                StmtKind::Call { callee, .. } => Some(callee.name.to_string()),
                StmtKind::Pass | StmtKind::If { .. } | StmtKind::WriteConfig { .. } => None,
            },
            Node::Expr(expr) => match &expr.kind {
                ExprKind::Read { name, .. } | ExprKind::Window { name, .. } | ExprKind::Stride { name, .. } => {
                    Some(name.name().to_string())
                }
                ExprKind::Extern { function, .. } => Some(function.name.clone()),
                ExprKind::Const(_) | ExprKind::ReadConfig(_) | ExprKind::Neg(_) | ExprKind::Binary { .. } => None,
            },
            Node::Proc(_) => None,
        },
        Place::Block(_) | Place::Gap(_) | Place::ArgList { .. } | Place::Exprs { .. } | Place::Invalid => None,
    }
}

fn field_of(cursor: &CursorValue, what: &str) -> starlark::Result<ConfigField> {
    match cursor.node()?.1 {
        Node::Stmt(stmt) => match &stmt.kind {
            StmtKind::WriteConfig { field, .. } => Ok(field.clone()),
            _ => Err(lacks(cursor, what)),
        },
        Node::Expr(expr) => match &expr.kind {
            ExprKind::ReadConfig(field) => Ok(field.clone()),
            _ => Err(lacks(cursor, what)),
        },
        Node::Proc(_) => Err(lacks(cursor, what)),
    }
}

/// The precision of a data expression: that of the first buffer it reads, `R` for literals alone.
fn expression_precision(procedure: &Procedure, expr: &crate::loop_ir::Expr) -> crate::hardware::precision::Precision {
    let declarations = Declarations::of(procedure.ir());
    let mut found = None;
    crate::loop_ir::visit::each_expr(expr, &mut |node| {
        if found.is_none() && node.ty == Ty::Data {
            found = match &node.kind {
                ExprKind::ReadConfig(field) => match field.ty() {
                    FieldType::Data(precision) => Some(precision),
                    FieldType::Size | FieldType::Index | FieldType::Bool | FieldType::Stride => None,
                },
                _ => crate::loop_ir::visit::named(node).and_then(|name| declarations.precision(name)),
            };
        }
    });
    found.unwrap_or(crate::hardware::precision::Precision::R)
}

/// What stands at one of the places of a cursor.
fn text_at(cursor: &CursorValue, place: &Place, names: &Names) -> starlark::Result<String> {
    let proc = cursor.0.procedure.ir();
    let found = match place {
        Place::Arg(at) => proc.args.get(*at).map(|arg| names.get(&arg.name).to_string()),
        Place::Node(at) => match path::node(proc, at) {
            Some(Node::Expr(expr)) => Some(names.expr(expr)),
            Some(Node::Stmt(stmt)) => Some(names.headline(stmt)),
            Some(Node::Proc(_)) | None => None,
        },
        Place::Block(_) | Place::Gap(_) | Place::ArgList { .. } | Place::Exprs { .. } | Place::Invalid => None,
    };
    found.ok_or_else(|| lacks(cursor, "text"))
}

fn texts(cursor: &CursorValue, names: &Names) -> starlark::Result<Vec<String>> {
    cursor.elements()?.iter().map(|place| text_at(cursor, place, names)).collect()
}

#[starlark_module]
pub(crate) fn methods(builder: &mut MethodsBuilder) {
    fn proc(this: &CursorValue) -> starlark::Result<ProcedureValue> {
        match this.0.place {
            Place::Invalid => Err(invalid()),
            _ => Ok(ProcedureValue(this.0.procedure.clone())),
        }
    }

    fn parent(this: &CursorValue) -> starlark::Result<CursorValue> {
        Ok(parent(this))
    }

    fn find<'v>(
        this: &CursorValue,
        #[starlark(require = pos)] pattern: &str,
        #[starlark(default = false)] many: bool,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        find_below(this, pattern, many, eval)
    }

    fn find_all<'v>(
        this: &CursorValue,
        #[starlark(require = pos)] pattern: &str,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        find_below(this, pattern, true, eval)
    }

    fn find_loop<'v>(
        this: &CursorValue,
        #[starlark(require = pos)] pattern: &str,
        #[starlark(default = false)] many: bool,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        find_below(this, &cursor::loop_pattern(pattern), many, eval)
    }

    fn next<'v>(
        this: &CursorValue,
        distance: Option<Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<CursorValue> {
        sibling(this, distance.map_or(Ok(1), |distance| steps("next", distance, eval.heap()))?)
    }

    fn prev<'v>(
        this: &CursorValue,
        distance: Option<Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<CursorValue> {
        let distance = distance.map_or(Ok(1), |distance| steps("prev", distance, eval.heap()))?;
        sibling(this, distance.saturating_neg())
    }

    fn before(this: &CursorValue) -> starlark::Result<CursorValue> {
        gap(this, Side::Before)
    }

    fn after(this: &CursorValue) -> starlark::Result<CursorValue> {
        gap(this, Side::After)
    }

    fn as_block(this: &CursorValue) -> starlark::Result<CursorValue> {
        Ok(this.at_place(Place::Block(as_block(this)?)))
    }

    /// The block with up to `lo` more statements before and `hi` after it; `None` means all.
    fn expand<'v>(
        this: &CursorValue,
        #[starlark(default = NoneOr::None)] lo: NoneOr<Value<'v>>,
        #[starlark(default = NoneOr::None)] hi: NoneOr<Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<CursorValue> {
        let block = as_block(this)?;
        let len = path::list(this.0.procedure.ir(), &block.parent, block.orelse).map_or(0, Block::len);
        let heap = eval.heap();
        let count = |bound: NoneOr<Value<'v>>| match bound {
            NoneOr::None => Ok(usize::MAX),
            NoneOr::Other(count) => usize::try_from(steps("expand", count, heap)?)
                .map_err(|_| wrong(RefusalKind::Argument, "`expand` takes counts of at least 0")),
        };
        let (lo, hi) = (block.lo.saturating_sub(count(lo)?), block.hi.saturating_add(count(hi)?).min(len));
        Ok(this.at_place(Place::Block(BlockPlace { lo, hi, ..block })))
    }

    /// Whether `other` is this node or inside it.
    fn is_ancestor_of(this: &CursorValue, #[starlark(require = pos)] other: &CursorValue) -> starlark::Result<bool> {
        let (at, _) = this.node()?;
        let below = match &other.0.place {
            Place::Node(path) => path.clone(),
            Place::Block(block) => block.statement(0),
            Place::Gap(gap) => gap.anchor.clone(),
            Place::Exprs { parent, .. } => parent.clone(),
            Place::Arg(_) | Place::ArgList { .. } => return Ok(false),
            Place::Invalid => return Err(invalid()),
        };
        Ok(this.0.procedure == other.0.procedure && at.is_prefix_of(&below))
    }

    /// Of a gap: the statement it stays with. Of a block: the node that owns it.
    fn anchor(this: &CursorValue) -> starlark::Result<CursorValue> {
        match &this.0.place {
            Place::Gap(gap) => Ok(this.at_place(Place::Node(gap.anchor.clone()))),
            Place::Block(_) => Ok(parent(this)),
            _ => Err(lacks(this, "anchor")),
        }
    }

    fn body(this: &CursorValue) -> starlark::Result<CursorValue> {
        sub_block(this, false)
    }

    fn orelse(this: &CursorValue) -> starlark::Result<CursorValue> {
        sub_block(this, true)
    }

    fn name(this: &CursorValue) -> starlark::Result<String> {
        name_of(this).ok_or_else(|| lacks(this, "name"))
    }

    fn mem(this: &CursorValue) -> starlark::Result<MemoryValue> {
        let proc = this.0.procedure.ir();
        let memory = match &this.0.place {
            Place::Arg(at) if data_type(this).is_some() => proc.args.get(*at).map(|arg| arg.mem.clone()),
            Place::Node(at) => match path::stmt(proc, at).map(|stmt| &stmt.kind) {
                Some(StmtKind::Alloc { mem, .. }) => Some(mem.clone()),
                _ => None,
            },
            _ => None,
        };
        memory.map(MemoryValue).ok_or_else(|| lacks(this, "mem"))
    }

    fn is_tensor(this: &CursorValue) -> starlark::Result<bool> {
        Ok(data_type(this).is_some_and(|ty| ty.rank() > 0))
    }

    fn shape<'v>(this: &CursorValue, eval: &mut Evaluator<'v, '_, '_>) -> starlark::Result<Value<'v>> {
        let ty = data_type(this).ok_or_else(|| lacks(this, "shape"))?;
        match &this.0.place {
            Place::Node(_) => Ok(eval.heap().alloc(exprs(this, ExprList::Dims, ty.rank())?)),
            Place::Arg(at) => {
                let extent = |dim| this.at_place(Place::Node(Path::root().child(Step::ArgDim(*at, dim))));
                Ok(eval.heap().alloc(AllocList((0..ty.rank()).map(extent))))
            }
            _ => Err(lacks(this, "shape")),
        }
    }

    #[starlark(speculative_exec_safe)]
    fn r#type<'v>(this: &CursorValue, heap: starlark::values::Heap<'v>) -> starlark::Result<Value<'v>> {
        if let Some(ty) = data_type(this) {
            return Ok(heap.alloc(PrecisionValue(ty.precision)));
        }
        let proc = this.0.procedure.ir();
        let ty = match &this.0.place {
            Place::Gap(GapPlace { side, .. }) => {
                return Ok(heap.alloc(WordValue(match side {
                    Side::Before => "Before",
                    Side::After => "After",
                })));
            }
            Place::Arg(at) => match proc.args.get(*at).map(|arg| &arg.ty) {
                Some(ArgType::Control(control)) => Ty::Control(*control),
                Some(ArgType::Data(_)) | None => return Err(lacks(this, "type")),
            },
            _ => match this.node()?.1 {
                Node::Expr(expr) => match expr.ty {
                    Ty::Control(control) => Ty::Control(control),
                    Ty::Data => {
                        return Ok(heap.alloc(PrecisionValue(expression_precision(&this.0.procedure, expr))));
                    }
                },
                Node::Stmt(stmt) => match crate::loop_ir::visit::written_by(stmt) {
                    Some(name) => {
                        let precision = Declarations::of(proc).precision(name);
                        return precision
                            .map(|precision| heap.alloc(PrecisionValue(precision)))
                            .ok_or_else(|| lacks(this, "type"));
                    }
                    None => return Err(lacks(this, "type")),
                },
                Node::Proc(_) => return Err(lacks(this, "type")),
            },
        };
        match ty {
            Ty::Control(control) => Ok(heap.alloc(WordValue(control.word()))),
            Ty::Data => Err(lacks(this, "type")),
        }
    }

    fn idx<'v>(this: &CursorValue, heap: starlark::values::Heap<'v>) -> starlark::Result<Value<'v>> {
        let (at, node) = this.node()?;
        match node {
            Node::Stmt(stmt) => match &stmt.kind {
                StmtKind::Assign { idx, .. } | StmtKind::Reduce { idx, .. } => {
                    Ok(heap.alloc(exprs(this, ExprList::Idx, idx.len())?))
                }
                _ => Err(lacks(this, "idx")),
            },
            Node::Expr(expr) => match &expr.kind {
                ExprKind::Read { idx, .. } => Ok(heap.alloc(exprs(this, ExprList::Idx, idx.len())?)),
                ExprKind::Window { idx, .. } => {
                    let part = |step: Step| heap.alloc(this.at_place(Place::Node(at.child(step))));
                    let items: Vec<Value<'v>> = idx
                        .iter()
                        .enumerate()
                        .map(|(k, access)| match access {
                            Access::Point(_) => part(Step::Point(k)),
                            Access::Interval { .. } => {
                                heap.alloc((part(Step::IntervalLo(k)), part(Step::IntervalHi(k))))
                            }
                        })
                        .collect();
                    Ok(heap.alloc(AllocList(items)))
                }
                _ => Err(lacks(this, "idx")),
            },
            Node::Proc(_) => Err(lacks(this, "idx")),
        }
    }

    fn rhs(this: &CursorValue) -> starlark::Result<CursorValue> {
        match this.node()?.1 {
            Node::Expr(_) => child(this, Step::Right),
            Node::Stmt(_) | Node::Proc(_) => child(this, Step::Value),
        }
    }

    fn lhs(this: &CursorValue) -> starlark::Result<CursorValue> {
        child(this, Step::Left)
    }

    fn cond(this: &CursorValue) -> starlark::Result<CursorValue> {
        child(this, Step::Cond)
    }

    fn lo(this: &CursorValue) -> starlark::Result<CursorValue> {
        child(this, Step::Lo)
    }

    fn hi(this: &CursorValue) -> starlark::Result<CursorValue> {
        child(this, Step::Hi)
    }

    /// Of a loop: `seq` or `par`.
    fn loop_mode(this: &CursorValue) -> starlark::Result<&'static str> {
        match this.node()?.1 {
            Node::Stmt(stmt) => match &stmt.kind {
                StmtKind::For { mode, .. } => Ok(mode.word()),
                _ => Err(lacks(this, "loop_mode")),
            },
            Node::Expr(_) | Node::Proc(_) => Err(lacks(this, "loop_mode")),
        }
    }

    fn winexpr(this: &CursorValue) -> starlark::Result<CursorValue> {
        child(this, Step::Value)
    }

    fn arg(this: &CursorValue) -> starlark::Result<CursorValue> {
        child(this, Step::Operand)
    }

    fn args(this: &CursorValue) -> starlark::Result<CursorValue> {
        let len = match this.node()?.1 {
            Node::Stmt(stmt) => match &stmt.kind {
                StmtKind::Call { args, .. } => args.len(),
                _ => return Err(lacks(this, "args")),
            },
            Node::Expr(expr) => match &expr.kind {
                ExprKind::Extern { args, .. } => args.len(),
                _ => return Err(lacks(this, "args")),
            },
            Node::Proc(_) => return Err(lacks(this, "args")),
        };
        exprs(this, ExprList::Args, len)
    }

    /// The callee of a call.
    fn subproc(this: &CursorValue) -> starlark::Result<ProcedureValue> {
        match this.node()?.1 {
            Node::Stmt(stmt) => match &stmt.kind {
                StmtKind::Call { callee, .. } => Ok(ProcedureValue(Procedure::new(callee.clone()))),
                _ => Err(lacks(this, "subproc")),
            },
            Node::Expr(_) | Node::Proc(_) => Err(lacks(this, "subproc")),
        }
    }

    /// Of a read or write of configuration state: the config.
    fn config(this: &CursorValue) -> starlark::Result<ConfigValue> {
        field_of(this, "config").map(|field| ConfigValue(field.config().clone()))
    }

    /// Of a read or write of configuration state: the name of the field.
    fn field(this: &CursorValue) -> starlark::Result<String> {
        field_of(this, "field").map(|field| field.name().to_string())
    }

    fn op(this: &CursorValue) -> starlark::Result<&'static str> {
        match this.node()?.1 {
            Node::Expr(expr) => match &expr.kind {
                ExprKind::Binary { op, .. } => Ok(op.text()),
                _ => Err(lacks(this, "op")),
            },
            Node::Stmt(_) | Node::Proc(_) => Err(lacks(this, "op")),
        }
    }

    fn dim(this: &CursorValue) -> starlark::Result<i32> {
        match this.node()?.1 {
            Node::Expr(expr) => match &expr.kind {
                ExprKind::Stride { dim, .. } => Ok(*dim as i32),
                _ => Err(lacks(this, "dim")),
            },
            Node::Stmt(_) | Node::Proc(_) => Err(lacks(this, "dim")),
        }
    }

    fn value<'v>(this: &CursorValue, heap: starlark::values::Heap<'v>) -> starlark::Result<Value<'v>> {
        match this.node()?.1 {
            Node::Expr(expr) => match &expr.kind {
                ExprKind::Const(Const::Int(value)) => Ok(heap.alloc(*value)),
                ExprKind::Const(Const::Real(value)) => Ok(heap.alloc(*value)),
                ExprKind::Const(Const::Bool(value)) => Ok(Value::new_bool(*value)),
                _ => Err(lacks(this, "value")),
            },
            Node::Stmt(_) | Node::Proc(_) => Err(lacks(this, "value")),
        }
    }

    /// The text in the names of the proc: an expression, or the first line of a statement. Of a list: one line for each
    /// statement, or the expressions and arguments with commas between.
    fn text(this: &CursorValue) -> starlark::Result<String> {
        let names = Names::of(this.0.procedure.ir());
        match &this.0.place {
            Place::Gap(_) => Err(lacks(this, "text")),
            Place::Block(_) => Ok(texts(this, &names)?.join("\n")),
            Place::ArgList { .. } | Place::Exprs { .. } => Ok(texts(this, &names)?.join(", ")),
            Place::Node(_) | Place::Arg(_) | Place::Invalid => text_at(this, &this.0.place, &names),
        }
    }
}
