//! `cc(...)`: how the C for a target is compiled and run. Only native code makes such a value, so that what it says is looked at
//! and counted wherever it comes from.

use allocative::Allocative;
use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::values::dict::AllocDict;
use starlark::values::list::{AllocList, UnpackList};
use starlark::values::{
    Heap, NoSerialize, ProvidesStaticType, StarlarkPagablePanic, StarlarkValue, Value, starlark_value,
};
use starlark::{starlark_module, starlark_simple_value};

use crate::diagnostic::{Diagnostic, codes};
use crate::script::errors::failed;
use crate::script::host::Host;
use crate::script::{machine, raw_c};
use crate::world::CMachine;

/// The compiler's flags, and what its output runs on.
#[derive(Debug, ProvidesStaticType, NoSerialize, StarlarkPagablePanic, Allocative)]
pub(crate) struct CcValue {
    pub flags: Vec<String>,
    #[allocative(skip)]
    pub machine: CMachine,
}
starlark_simple_value!(CcValue);

impl std::fmt::Display for CcValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "cc(flags = {:?}, triple = {:?})", self.flags, self.machine.triple)
    }
}

const ATTRIBUTES: [&str; 6] = ["flags", "triple", "features", "compiler", "cpu", "model"];

#[starlark_value(type = "cc")]
impl<'v> StarlarkValue<'v> for CcValue {
    fn get_attr(&self, attribute: &str, heap: Heap<'v>) -> Option<Value<'v>> {
        match attribute {
            "flags" => Some(heap.alloc(AllocList(&self.flags))),
            "triple" => Some(heap.alloc(self.machine.triple.as_str())),
            "features" => Some(heap.alloc(AllocList(&self.machine.features))),
            "compiler" => Some(heap.alloc(self.machine.compiler.as_str())),
            "cpu" => Some(heap.alloc(self.machine.cpu.as_str())),
            "model" => {
                let headers = self.machine.model.iter().map(|(name, text)| (name.as_str(), text.as_str()));
                Some(heap.alloc(AllocDict(headers)))
            }
            _ => None,
        }
    }

    fn dir_attr(&self) -> Vec<String> {
        ATTRIBUTES.iter().map(ToString::to_string).collect()
    }
}

fn texts(texts: UnpackList<&str>) -> Vec<String> {
    texts.items.into_iter().map(str::to_string).collect()
}

#[starlark_module]
pub(crate) fn natives(builder: &mut GlobalsBuilder) {
    /// How C for a target is compiled and run.
    ///
    /// `flags` choose the machine, the language and the optimisation. `triple` and `features` tell which machine runs
    /// the program, `compiler` is "gcc" or "clang" where only one knows the instructions, `cpu` what an emulator is
    /// told to be, and `model` headers (name: text) that do in plain C what the machine does, for `exo test` where
    /// nothing runs the machine's code.
    fn cc<'v>(
        #[starlark(default = UnpackList::default())] flags: UnpackList<&'v str>,
        #[starlark(default = "")] triple: &str,
        #[starlark(default = UnpackList::default())] features: UnpackList<&'v str>,
        #[starlark(default = "")] compiler: &str,
        #[starlark(default = "")] cpu: &str,
        #[starlark(default = starlark::collections::SmallMap::new())] model: starlark::collections::SmallMap<
            &'v str,
            &'v str,
        >,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<CcValue> {
        let machine = CMachine {
            triple: triple.to_string(),
            features: texts(features),
            compiler: compiler.to_string(),
            cpu: cpu.to_string(),
            model: model.into_iter().map(|(name, text)| (name.to_string(), text.to_string())).collect(),
        };
        let value = CcValue { flags: texts(flags), machine };
        if let Some((what, hint)) = machine::objection(&value.flags, &value.machine) {
            let message = format!("`cc` may not ask for {what}");
            return Err(failed(vec![Diagnostic::error(codes::TARGET, message).hint(hint)]));
        }
        // The prelude makes one too, outside of any compilation.
        let counted = raw_c::told(&value);
        if !counted.is_empty() {
            let host = Host::of(eval)?;
            raw_c::note_compiler(host, counted, &host.authors(eval))?;
        }
        Ok(value)
    }
}
