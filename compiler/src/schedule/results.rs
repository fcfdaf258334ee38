//! The cursors that a step hands back beside the new version (`rc = True`): which, and under what names.

use crate::cursor::path;
use crate::cursor::{Forward, Place, forward};
use crate::loop_ir::Proc;
use crate::schedule::operator::{Arguments, Kind, Operator, Value};

/// One result.
#[derive(Clone, Debug, PartialEq)]
pub enum Returned {
    /// A place of the new version; [`Place::Invalid`] where the step made nothing of that meaning.
    One(Place),
    /// Several places of one meaning, in source order.
    Many(Vec<Place>),
}

impl Returned {
    /// A statement or expression.
    pub fn node(at: &path::Path) -> Returned {
        Returned::One(Place::Node(at.clone()))
    }

    /// A statement that may be absent.
    pub fn optional(at: Option<path::Path>) -> Returned {
        Returned::One(at.map_or(Place::Invalid, Place::Node))
    }

    /// A run of statements; an empty one is no place.
    pub fn block(block: path::BlockPlace) -> Returned {
        Returned::One(if block.is_empty() { Place::Invalid } else { Place::Block(block) })
    }

    fn places(&self) -> &[Place] {
        match self {
            Returned::One(place) => std::slice::from_ref(place),
            Returned::Many(places) => places,
        }
    }
}

/// Name and meaning of each result of an operator, in order.
///
/// An operator that names no results of its own hands back its place arguments, carried forward.
pub fn described(operator: &dyn Operator) -> Vec<(&'static str, String)> {
    let own = operator.results();
    if !own.is_empty() {
        return own.iter().map(|(name, meaning)| (*name, meaning.to_string())).collect();
    }
    let places = operator.parameters().iter().filter(|parameter| is_place(&parameter.kind));
    places.map(|parameter| (parameter.name, "the argument, carried forward".to_string())).collect()
}

/// The place arguments of a call after its edits.
pub fn carried(operator: &dyn Operator, arguments: &Arguments, edits: &[Forward], after: &Proc) -> Vec<Returned> {
    let given = operator.parameters().iter().zip(&arguments.values);
    let given = given.filter(|(parameter, _)| is_place(&parameter.kind));
    given
        .map(|(_, (_, value))| match value {
            Value::List(values) => {
                Returned::Many(values.iter().map(|value| after_edits(value, edits, after)).collect())
            }
            one => Returned::One(after_edits(one, edits, after)),
        })
        .collect()
}

fn after_edits(value: &Value, edits: &[Forward], after: &Proc) -> Place {
    let place = value.place().and_then(|place| forward(&place, edits));
    place.filter(|place| exists(after, place)).unwrap_or(Place::Invalid)
}

/// Whether every place exists in a version.
pub fn all_exist(results: &[Returned], proc: &Proc) -> bool {
    results.iter().flat_map(Returned::places).all(|place| exists(proc, place))
}

fn exists(proc: &Proc, place: &Place) -> bool {
    match place {
        Place::Invalid => true,
        Place::Node(at) => path::node(proc, at).is_some(),
        Place::Block(block) => path::block(proc, block).is_some_and(|block| !block.is_empty()),
        Place::Gap(gap) => path::stmt(proc, &gap.anchor).is_some(),
        Place::Arg(at) => proc.args.get(*at).is_some(),
        Place::ArgList { hi, .. } => *hi <= proc.args.len(),
        Place::Exprs { parent, list, lo, hi } => {
            (*lo..*hi).all(|at| path::expr(proc, &parent.child(list.step(at))).is_some())
        }
    }
}

fn is_place(kind: &Kind) -> bool {
    match kind {
        Kind::Stmt
        | Kind::Block(_)
        | Kind::Gap
        | Kind::For
        | Kind::ForOrIf
        | Kind::NestedFor
        | Kind::Alloc
        | Kind::Arg
        | Kind::ArgOrAlloc
        | Kind::Assign
        | Kind::AssignOrReduce
        | Kind::Call
        | Kind::WindowStmt
        | Kind::Expr
        | Kind::Exprs(_) => true,
        Kind::Optional(inner) | Kind::List(inner, _) | Kind::ListOrOne(inner) => is_place(inner),
        Kind::Name
        | Kind::Int
        | Kind::PositiveInt
        | Kind::Bool
        | Kind::Text
        | Kind::Word(_)
        | Kind::Memory
        | Kind::Config
        | Kind::ConfigField(_)
        | Kind::Precision
        | Kind::Procedure
        | Kind::NewExpr(_)
        | Kind::NewExprOrWindow(_)
        | Kind::Window(_) => false,
    }
}
