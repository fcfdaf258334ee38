//! The cursors that an operator hands back with `rc = True`: a record by name that is also a sequence.

use allocative::Allocative;
use starlark::starlark_simple_value;
use starlark::values::list::AllocList;
use starlark::values::{
    Heap, NoSerialize, ProvidesStaticType, StarlarkPagablePanic, StarlarkValue, Value, starlark_value,
};

use crate::diagnostic::RefusalKind;
use crate::schedule::{Cursor, Procedure, Returned};
use crate::script::values::cursor::{CursorValue, wrong};
use crate::syntax::module::{host_name, source_name};

/// Names and results of one step; cursors are made when they are asked for.
#[derive(Debug, ProvidesStaticType, NoSerialize, StarlarkPagablePanic, Allocative)]
pub(crate) struct ResultsValue {
    #[allocative(skip)]
    pub procedure: Procedure,
    #[allocative(skip)]
    pub results: Vec<(&'static str, Returned)>,
}
starlark_simple_value!(ResultsValue);

impl std::fmt::Display for ResultsValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<&str> = self.results.iter().map(|(name, _)| *name).collect();
        write!(f, "cursors({})", names.join(", "))
    }
}

impl ResultsValue {
    fn value<'v>(&self, result: &Returned, heap: Heap<'v>) -> Value<'v> {
        let cursor = |place: &crate::cursor::Place| {
            CursorValue(Cursor { procedure: self.procedure.clone(), place: place.clone() })
        };
        match result {
            Returned::One(place) => heap.alloc(cursor(place)),
            Returned::Many(places) => heap.alloc(AllocList(places.iter().map(cursor))),
        }
    }
}

#[starlark_value(type = "cursors")]
impl<'v> StarlarkValue<'v> for ResultsValue {
    fn get_attr(&self, attribute: &str, heap: Heap<'v>) -> Option<Value<'v>> {
        let attribute = source_name(attribute);
        let (_, result) = self.results.iter().find(|(name, _)| *name == attribute)?;
        Some(self.value(result, heap))
    }

    fn dir_attr(&self) -> Vec<String> {
        self.results.iter().map(|(name, _)| host_name(name).to_string()).collect()
    }

    fn length(&self) -> starlark::Result<i32> {
        Ok(self.results.len() as i32)
    }

    fn iterate_collect(&self, heap: Heap<'v>) -> starlark::Result<Vec<Value<'v>>> {
        Ok(self.results.iter().map(|(_, result)| self.value(result, heap)).collect())
    }

    fn at(&self, index: Value<'v>, heap: Heap<'v>) -> starlark::Result<Value<'v>> {
        let length = self.results.len();
        let at = index.unpack_i32().map(|at| if at < 0 { at + length as i32 } else { at });
        match at.and_then(|at| usize::try_from(at).ok()).and_then(|at| self.results.get(at)) {
            Some((_, result)) => Ok(self.value(result, heap)),
            None => Err(wrong(RefusalKind::Argument, format!("there is no result {index} among {length}"))),
        }
    }
}
