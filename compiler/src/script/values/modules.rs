//! Modules as values: what `import a` binds.

use std::collections::BTreeMap;

use allocative::Allocative;
use starlark::environment::FrozenModule;
use starlark::eval::{Arguments, Evaluator};
use starlark::starlark_simple_value;
use starlark::values::structs::AllocStruct;
use starlark::values::{NoSerialize, ProvidesStaticType, StarlarkPagablePanic, StarlarkValue, Value, starlark_value};

use crate::script::load::exports;
use crate::syntax::module::host_name;

/// The function that a rendered `import a` calls with the module's name; gives a struct of its public names.
#[derive(ProvidesStaticType, NoSerialize, StarlarkPagablePanic, Allocative)]
pub(crate) struct ModuleFunction(#[allocative(skip)] pub BTreeMap<String, FrozenModule>);
starlark_simple_value!(ModuleFunction);

impl std::fmt::Debug for ModuleFunction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.0.keys()).finish()
    }
}

impl std::fmt::Display for ModuleFunction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("import")
    }
}

#[starlark_value(type = "function")]
impl<'v> StarlarkValue<'v> for ModuleFunction {
    fn invoke(
        &self,
        _me: Value<'v>,
        args: &Arguments<'v, '_>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        let heap = eval.heap();
        let name = args.positional1(heap)?;
        let Some(module) = name.unpack_str().and_then(|name| self.0.get(name)) else {
            return Err(starlark::Error::new_other(anyhow::anyhow!("`{name}` was not loaded before it was imported")));
        };
        let mut fields = Vec::new();
        for name in exports(module) {
            let value = module.get(host_name(&name)).map_err(starlark::Error::new_other)?;
            fields.push((name, heap.access_owned_frozen_value(&value)));
        }
        Ok(heap.alloc(AllocStruct(fields)))
    }
}
