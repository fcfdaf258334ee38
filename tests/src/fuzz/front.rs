//! The way from text to a proc that tests outside the compiler take.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use exo_compiler::analysis::solver::Solver;
use exo_compiler::checks;
use exo_compiler::hardware::config::{Config, FieldType};
use exo_compiler::hardware::extern_function::ExternFunction;
use exo_compiler::hardware::instruction::Instruction;
use exo_compiler::hardware::memory::{Memory, MemoryDefinition, MemoryKind};
use exo_compiler::hardware::precision::Precision;
use exo_compiler::loop_ir::Proc;
use exo_compiler::symbol::Identity;
use exo_compiler::typecheck::{self, HostValue};

/// Host names that object code may mention, in order of definition where that matters.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    known: BTreeMap<String, HostValue>,
}

impl Scope {
    /// The memories and externs of the prelude.
    pub fn prelude() -> Self {
        let mut scope = Scope::default();
        for memory in memories() {
            scope.known.insert(memory.name().to_string(), HostValue::Memory(memory));
        }
        scope.known.insert(config().name().to_string(), HostValue::Config(config().clone()));
        for field in config().fields() {
            let name = format!("{}.{}", config().name(), field.name());
            scope.known.insert(name, HostValue::ConfigField(field));
        }
        for function in ExternFunction::builtin() {
            scope.known.insert(function.name.clone(), HostValue::Extern(function.clone()));
        }
        scope
    }

    pub fn add_proc(&mut self, proc: &Arc<Proc>) {
        self.known.insert(proc.name.to_string(), HostValue::Proc(proc.clone()));
    }

    /// Parses and types one definition. Errors are the messages, one a line.
    pub fn typed(&self, text: &str) -> Result<Proc, String> {
        typecheck::proc_from_text(text, &self.known)
            .map_err(|errors| errors.iter().map(|error| error.message.clone()).collect::<Vec<_>>().join("\n"))
    }

    /// Holds a typed proc against the checks of the front end that need a solver.
    pub fn checked(&self, proc: &Proc, solver: &mut Solver) -> Result<(), String> {
        checks::check_proc(proc, solver)
            .map_err(|errors| errors.iter().map(|error| error.message.clone()).collect::<Vec<_>>().join("\n"))
    }
}

/// The builtin memories, and one whose elements only instructions may touch.
pub fn memories() -> Vec<Memory> {
    static REGISTER: OnceLock<Memory> = OnceLock::new();
    let register = REGISTER.get_or_init(|| {
        Memory::new(MemoryDefinition {
            identity: Identity::fresh(),
            name: "REG".into(),
            base: None,
            kind: MemoryKind::User,
            can_read: false,
            capacity: None,
            copies: None,
        })
    });
    Memory::builtins().into_iter().chain([register.clone()]).collect()
}

/// The config of random procs.
pub fn config() -> &'static Config {
    static CONFIG: OnceLock<Config> = OnceLock::new();
    CONFIG.get_or_init(|| {
        let fields = [
            ("i", FieldType::Index),
            ("j", FieldType::Index),
            ("on", FieldType::Bool),
            ("s", FieldType::Data(Precision::F32)),
        ];
        Config::new("Cfg", fields.map(|(name, ty)| (name.to_string(), ty)).to_vec(), true)
    })
}

/// Makes an instruction of a proc, as `@instr("...")` does.
pub fn instruction(mut proc: Proc, template: &str) -> Proc {
    proc.instr = Some(Instruction { template: template.into(), global: String::new() });
    proc
}
