//! Conformance of instructions: the C of each is run against its own body.
//!
//! Instructions work on register memories, which a C program cannot fill. So each one is wrapped in a proc that loads its
//! register operands with the target's own load, runs it, and stores every register operand back. A lane that the body
//! leaves alone must keep its old value.

use std::sync::Arc;

use starlark::values::dict::DictRef;
use starlark::values::{OwnedFrozenValue, Value};

use crate::checks;
use crate::diagnostic::codes;
use crate::hardware::memory::{Memory, MemoryKind};
use crate::hardware::precision::Precision;
use crate::interpret::draw::Given;
use crate::loop_ir::substitute::{Substitution, substitute, substitute_arg_type};
use crate::loop_ir::{Access, Arg, ArgType, Block, DataType, Expr, Lineage, Proc, StmtKind, build, visit};
use crate::pipeline::{TestOutcome, TestResult};
use crate::script::host::{Host, Record};
use crate::script::report::field;
use crate::script::run_c::{self, Machine, Outcome};
use crate::script::testing_run::result;
use crate::script::values::procedure::ProcedureValue;
use crate::script::load;
use crate::source::Span;
use crate::symbol::Sym;

/// Runs of each instruction; strides and sizes differ from run to run.
const RUNS: usize = 2;

/// Runs every instruction of a target.
pub(crate) fn run(
    host: &Host,
    target: &OwnedFrozenValue,
    filter: &dyn Fn(&str) -> bool,
    on_result: &mut dyn FnMut(TestResult),
) {
    let vectors = Vectors::of(target.value());
    let machine = Machine::of(target.value());
    for instruction in instructions(target.value()) {
        let name = format!("conformance::{}", instruction.name);
        if !filter(&name) {
            continue;
        }
        on_result(match wrapped(&instruction, &vectors) {
            Ok(wrapper) => run_wrapper(host, name, &wrapper, &machine),
            Err(reason) => skipped(name, reason),
        });
    }
}

fn skipped(name: String, reason: String) -> TestResult {
    TestResult { outcome: TestOutcome::Skipped(reason), ..result(name, Ok(()), Record::default()) }
}

fn run_wrapper(host: &Host, name: String, wrapper: &Arc<Proc>, machine: &Machine) -> TestResult {
    if let Err(diagnostics) = checks::check_proc(wrapper, &mut host.solver.borrow_mut()) {
        return result(name, Err(diagnostics), Record::default());
    }
    let given = vec![Given::new(); RUNS];
    let outcome = load::quietly(host, |eval| Ok(run_c::run(host, wrapper, machine, &given, eval)));
    match outcome {
        Err(diagnostics) => result(name, Err(diagnostics), Record::default()),
        Ok(Err(refusal)) => result(name, Err(refusal.diagnostics), Record::default()),
        Ok(Ok(Outcome::Unavailable { reason })) => skipped(name, reason),
        Ok(Ok(Outcome::Agreed { runner })) => {
            result(name, Ok(()), Record { runners: vec![runner], ..Record::default() })
        }
        Ok(Ok(Outcome::Wrong(mut diagnostic))) => {
            diagnostic.code = codes::CONFORMANCE;
            result(name, Err(vec![diagnostic]), Record::default())
        }
    }
}

/// All instructions that a target names, in its order, each once.
fn instructions(target: Value<'_>) -> Vec<Arc<Proc>> {
    let mut found: Vec<Arc<Proc>> = Vec::new();
    let mut add = |value: Value<'_>| {
        let items = match starlark::values::list::ListRef::from_value(value) {
            Some(list) => list.content().to_vec(),
            None => vec![value],
        };
        for item in items {
            if let Some(procedure) = ProcedureValue::from_value(item)
                && procedure.0.ir().instr.is_some()
                && !found.iter().any(|known| Arc::ptr_eq(known, procedure.0.ir()))
            {
                found.push(procedure.0.ir().clone());
            }
        }
    };
    for (_, vector) in vector_table(target) {
        if let Some(operations) = field(vector, "operations").and_then(DictRef::from_value) {
            operations.values().for_each(&mut add);
        }
    }
    if let Some(others) = field(target, "all_instructions") {
        add(others);
    }
    found
}

fn vector_table<'v>(target: Value<'v>) -> Vec<(Precision, Value<'v>)> {
    let Some(table) = field(target, "vectors").and_then(DictRef::from_value) else { return Vec::new() };
    table.iter().filter_map(|(word, vector)| Some((Precision::from_word(word.unpack_str()?)?, vector))).collect()
}

/// Load and store of each vector type of a target.
struct Vectors(Vec<(Precision, Arc<Proc>, Arc<Proc>)>);

impl Vectors {
    fn of(target: Value<'_>) -> Self {
        let operation = |vector, name| {
            let value = field(vector, name)?;
            ProcedureValue::from_value(value).map(|procedure| procedure.0.ir().clone())
        };
        let table = vector_table(target).into_iter();
        Vectors(
            table
                .filter_map(|(precision, vector)| {
                    Some((precision, operation(vector, "load")?, operation(vector, "store")?))
                })
                .collect(),
        )
    }

    fn transfer(&self, precision: Precision, memory: &Memory) -> Result<(&Arc<Proc>, &Arc<Proc>), String> {
        let found = self.0.iter().find(|(known, _, _)| *known == precision.concrete());
        found.map(|(_, load, store)| (load, store)).ok_or_else(|| {
            format!("the target has no load and store between DRAM and {} for {}", memory.name(), precision.word())
        })
    }
}

fn is_register(arg: &Arg) -> bool {
    matches!(arg.ty, ArgType::Data(_)) && arg.mem.kind == MemoryKind::User && !arg.mem.can_read
}

/// The proc that runs an instruction on operands in DRAM, or why there is none.
fn wrapped(instruction: &Proc, vectors: &Vectors) -> Result<Arc<Proc>, String> {
    let mut wrapper = Wrapper::default();
    for arg in &instruction.args {
        match &arg.ty {
            ArgType::Data(ty) if is_register(arg) => wrapper.register(arg, ty, vectors)?,
            _ => wrapper.pass_through(arg),
        }
    }
    let span = Span::none();
    let registers: Vec<&Sym> = instruction.args.iter().filter(|arg| is_register(arg)).map(|arg| &arg.name).collect();
    // Strides of registers follow from their declarations, so what the instruction asks of them need not be assumed.
    let preds = instruction
        .preds
        .iter()
        .filter(|pred| !registers.iter().any(|register| visit::mentions(pred, register)))
        .map(|pred| substitute(pred, &wrapper.map))
        .collect();
    let call = StmtKind::Call { callee: Arc::new(instruction.clone()), args: wrapper.actuals };
    let mut body = wrapper.before;
    body.push(build::stmt(call, &span));
    body.extend(wrapper.after);
    Ok(Arc::new(Proc {
        name: format!("conformance_{}", instruction.name).into(),
        args: wrapper.args,
        preds,
        body,
        instr: None,
        lineage: Lineage::origin(),
        span,
    }))
}

#[derive(Default)]
struct Wrapper {
    args: Vec<Arg>,
    map: Substitution,
    actuals: Vec<Expr>,
    before: Block,
    after: Block,
}

impl Wrapper {
    /// A register operand: loaded before and stored after the instruction.
    fn register(&mut self, arg: &Arg, ty: &DataType, vectors: &Vectors) -> Result<(), String> {
        let (load, store) = vectors.transfer(ty.precision, &arg.mem)?;
        let lanes = match ty.shape.as_slice() {
            [lanes] => build::int_value(lanes),
            _ => None,
        };
        let Some(lanes) = lanes else {
            return Err(format!("operand `{}` is not a single vector", arg.name));
        };
        let (memory, register) = (arg.name.renewed(), Sym::new(&format!("{}_reg", arg.name)));
        let dense = DataType::tensor(ty.precision, vec![build::int(lanes)]);
        self.args.push(Arg {
            name: memory.clone(),
            ty: ArgType::Data(dense.clone()),
            mem: Memory::dram(),
            span: Span::none(),
        });
        let whole = |name: &Sym| build::window(name, vec![Access::Interval { lo: build::int(0), hi: build::int(lanes) }]);
        let call = |callee: &Arc<Proc>, dst: &Sym, src: &Sym| {
            let args = vec![whole(dst), whole(src)];
            build::stmt(StmtKind::Call { callee: callee.clone(), args }, &Span::none())
        };
        let alloc = StmtKind::Alloc { name: register.clone(), ty: dense, mem: arg.mem.clone() };
        self.before.push(build::stmt(alloc, &Span::none()));
        self.before.push(call(load, &register, &memory));
        self.after.push(call(store, &memory, &register));
        self.actuals.push(whole(&register));
        Ok(())
    }

    /// Any other operand becomes a parameter of the wrapper.
    fn pass_through(&mut self, arg: &Arg) {
        let name = arg.name.renewed();
        let ty = substitute_arg_type(&arg.ty, &self.map);
        let (read, actual) = match &ty {
            ArgType::Control(control) => {
                let read = build::control(&name, *control);
                (read.clone(), read)
            }
            ArgType::Data(data) if data.rank() == 0 => {
                let read = build::element(&name, Vec::new());
                (read.clone(), read)
            }
            ArgType::Data(data) => {
                let all = data.shape.iter().map(|extent| Access::Interval { lo: build::int(0), hi: extent.clone() });
                let window = build::window(&name, all.collect());
                let bare = build::element(&name, Vec::new());
                (bare.clone(), if data.is_window { window } else { bare })
            }
        };
        self.map.insert(arg.name.clone(), read);
        self.actuals.push(actual);
        self.args.push(Arg { name, ty, mem: arg.mem.clone(), span: Span::none() });
    }
}
