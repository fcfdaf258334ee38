//! Tests of the interpreter: what it computes, what it flags, and what a comparison may and may not conclude.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::expect_used)]

use std::collections::BTreeMap;
use std::sync::Arc;

use super::exact::{FieldValue, PRIME};
use super::rounded::{MachineValue, Undefined};
use super::*;
use crate::hardware::extern_function::ExternFunction;
use crate::hardware::memory::Memory;
use crate::hardware::precision::Precision;
use crate::loop_ir::build::{self, add, element, index, int, mul, real, sub};
use crate::loop_ir::{
    Access, Arg, ArgType, BinaryOp, Block, Committed, Control, DataType, Expr, ExprKind, Lineage, LoopMode, Stmt,
    StmtKind, Ty,
};
use crate::symbol::Sym;
use crate::testing;

fn sized(name: &Sym, control: Control) -> Arg {
    Arg { name: name.clone(), ty: ArgType::Control(control), mem: Memory::dram(), span: Span::none() }
}

fn buffer(name: &Sym, shape: Vec<Expr>) -> Arg {
    typed(name, DataType::tensor(Precision::F32, shape))
}

fn view(name: &Sym, shape: Vec<Expr>) -> Arg {
    typed(name, DataType { precision: Precision::F32, shape, is_window: true })
}

fn typed(name: &Sym, ty: DataType) -> Arg {
    Arg { name: name.clone(), ty: ArgType::Data(ty), mem: Memory::dram(), span: Span::none() }
}

fn make(name: &str, args: Vec<Arg>, preds: Vec<Expr>, body: Block) -> Proc {
    Proc {
        name: name.into(),
        args,
        preds,
        body,
        instr: None,
        lineage: Lineage::origin(),
        span: Span::none(),
        committed: Committed::default(),
    }
}

fn st(kind: StmtKind) -> Stmt {
    build::stmt(kind, &Span::none())
}

fn assign(name: &Sym, idx: Vec<Expr>, rhs: Expr) -> Stmt {
    st(StmtKind::Assign { name: name.clone(), idx, rhs })
}

fn reduce(name: &Sym, idx: Vec<Expr>, rhs: Expr) -> Stmt {
    st(StmtKind::Reduce { name: name.clone(), idx, rhs })
}

fn looped(mode: LoopMode, iter: &Sym, lo: Expr, hi: Expr, body: Block) -> Stmt {
    st(StmtKind::For { iter: iter.clone(), lo, hi, body, mode })
}

fn seq(iter: &Sym, hi: Expr, body: Block) -> Stmt {
    looped(LoopMode::Seq, iter, int(0), hi, body)
}

fn alloc(name: &Sym, shape: Vec<Expr>) -> Stmt {
    st(StmtKind::Alloc { name: name.clone(), ty: DataType::tensor(Precision::F32, shape), mem: Memory::dram() })
}

fn size(name: &Sym) -> Expr {
    build::control(name, Control::Size)
}

fn slice(lo: Expr, hi: Expr) -> Access {
    Access::Interval { lo, hi }
}

fn external(name: &str, args: Vec<Expr>) -> Expr {
    let function = ExternFunction::builtin().iter().find(|f| f.name == name).unwrap().clone();
    build::expr(ExprKind::Extern { function, args }, Ty::Data, &Span::none())
}

fn numbers(values: &[u64]) -> Input<FieldValue> {
    let data = values.iter().map(|n| FieldValue::Number(*n)).collect();
    Input::Tensor(Tensor::dense(vec![values.len() as i64], data))
}

fn floats(values: &[f64]) -> Input<MachineValue> {
    let data = values.iter().map(|n| MachineValue::Float(*n)).collect();
    Input::Tensor(Tensor::dense(vec![values.len() as i64], data))
}

fn exactly(proc: &Proc, args: Vec<Input<FieldValue>>) -> Result<Outputs<FieldValue>, Fault> {
    run(&Exact, proc, Inputs { args, config: Vec::new() }, DEFAULT_BUDGET)
}

fn fault_of(proc: &Proc, args: Vec<Input<FieldValue>>) -> FaultKind {
    exactly(proc, args).expect_err("must be flagged").kind
}

/// One statement list over `x: f32[4]`.
fn over_x(make_body: impl FnOnce(&Sym) -> Block) -> Proc {
    let x = Sym::new("x");
    let body = make_body(&x);
    make("p", vec![buffer(&x, vec![int(4)])], vec![], body)
}

#[test]
fn matrix_product_is_computed() {
    let (a, b, c) = (Sym::new("a"), Sym::new("b"), Sym::new("c"));
    let (i, j, k) = (Sym::new("i"), Sym::new("j"), Sym::new("k"));
    let product = mul(element(&a, vec![index(&i), index(&k)]), element(&b, vec![index(&k), index(&j)]));
    let inner = reduce(&c, vec![index(&i), index(&j)], product);
    let nest = seq(&i, int(2), Block::one(seq(&j, int(2), Block::one(seq(&k, int(2), Block::one(inner))))));
    let square = || vec![int(2), int(2)];
    let p =
        make("mm", vec![buffer(&a, square()), buffer(&b, square()), buffer(&c, square())], vec![], Block::one(nest));
    let tensor = |values: [u64; 4]| {
        Input::Tensor(Tensor::dense(vec![2, 2], values.iter().map(|n| FieldValue::Number(*n)).collect()))
    };
    let out = exactly(&p, vec![tensor([1, 2, 3, 4]), tensor([5, 6, 7, 8]), tensor([0, 0, 0, 100])]).unwrap();
    let c: Vec<String> = out.tensors[2].1.elements().iter().map(ToString::to_string).collect();
    assert_eq!(c, ["19", "22", "43", "150"]);
}

#[test]
fn literals_are_the_decimals_they_spell() {
    // 0.1 + 0.2 = 0.3, 1e-7 * 1e7 = 1 and 3 / 4 = 0.75 hold over the reals, not over doubles or integers.
    let quotient = build::binary(BinaryOp::Div, real(3.0), real(4.0));
    let p = over_x(|x| {
        Block::from([
            assign(x, vec![int(0)], sub(add(real(0.1), real(0.2)), real(0.3))),
            assign(x, vec![int(1)], mul(real(1e-7), real(1e7))),
            assign(x, vec![int(2)], sub(quotient, real(0.75))),
            assign(x, vec![int(3)], real(-2.5)),
        ])
    });
    let out = exactly(&p, vec![numbers(&[9, 9, 9, 9])]).unwrap();
    let values = out.tensors[0].1.elements();
    assert_eq!(values[..3], [FieldValue::Number(0), FieldValue::Number(1), FieldValue::Number(0)]);
    let twice = Exact.binary(BinaryOp::Mul, &values[3], &FieldValue::Number(2), Precision::F32).unwrap();
    assert_eq!(twice, FieldValue::Number(PRIME - 5));
}

#[test]
fn division_by_zero_depends_on_the_dividend_only() {
    let over_zero =
        |n: u64| Exact.binary(BinaryOp::Div, &FieldValue::Number(n), &FieldValue::Number(0), Precision::F32).unwrap();
    assert_eq!(over_zero(5), over_zero(5));
    assert_ne!(over_zero(5), over_zero(6));
}

#[test]
fn externs_are_functions_of_name_and_arguments() {
    let p = over_x(|x| {
        let e = |n: i64| element(x, vec![int(n)]);
        Block::from([
            assign(x, vec![int(1)], external("sin", vec![e(0)])),
            assign(x, vec![int(2)], external("sin", vec![add(e(0), real(0.0))])),
            assign(x, vec![int(3)], external("relu", vec![e(0)])),
        ])
    });
    let values = exactly(&p, vec![numbers(&[7, 0, 0, 0])]).unwrap().tensors[0].1.elements();
    assert_eq!(values[1], values[2]);
    assert_ne!(values[1], values[3]);
}

#[test]
fn indices_divide_towards_minus_infinity() {
    let (x, i) = (Sym::new("x"), Sym::new("i"));
    let shifted = || sub(index(&i), int(3));
    let quotient = add(build::div(shifted(), 2), int(2));
    let body = vec![
        looped(LoopMode::Seq, &i, int(0), int(4), Block::one(reduce(&x, vec![build::modulo(shifted(), 4)], real(1.0)))),
        looped(LoopMode::Seq, &i.clone(), int(0), int(4), Block::one(reduce(&x, vec![quotient], real(10.0)))),
    ];
    let p = make("p", vec![buffer(&x, vec![int(4)])], vec![], body.into());
    let out = exactly(&p, vec![numbers(&[0, 0, 0, 0])]).unwrap();
    // (i - 3) / 2 is -2, -1, -1, 0.
    let shown: Vec<String> = out.tensors[0].1.elements().iter().map(ToString::to_string).collect();
    assert_eq!(shown, ["11", "21", "11", "1"]);
}

#[test]
fn an_index_is_held_against_the_window_and_not_the_buffer() {
    let write = |at: i64| {
        over_x(|x| {
            let w = Sym::new("w");
            Block::from([
                st(StmtKind::Window { name: w.clone(), rhs: build::window(x, vec![slice(int(1), int(3))]) }),
                assign(&w, vec![int(at)], real(5.0)),
            ])
        })
    };
    let out = exactly(&write(1), vec![numbers(&[0, 1, 2, 3])]).unwrap();
    assert_eq!(out.tensors[0].1.elements()[2], FieldValue::Number(5));
    assert_eq!(fault_of(&write(2), vec![numbers(&[0, 1, 2, 3])]), FaultKind::Bounds);
    assert_eq!(fault_of(&write(-1), vec![numbers(&[0, 1, 2, 3])]), FaultKind::Bounds);
}

#[test]
fn windows_of_windows_compose() {
    let x = Sym::new("x");
    let (rows, column) = (Sym::new("rows"), Sym::new("column"));
    let body = vec![
        st(StmtKind::Window {
            name: rows.clone(),
            rhs: build::window(&x, vec![slice(int(1), int(3)), slice(int(0), int(4))]),
        }),
        st(StmtKind::Window {
            name: column.clone(),
            rhs: build::window(&rows, vec![slice(int(0), int(2)), Access::Point(int(3))]),
        }),
        assign(&column, vec![int(1)], real(42.0)),
    ];
    let p = make("p", vec![buffer(&x, vec![int(3), int(4)])], vec![], body.into());
    let zeros = Input::Tensor(Tensor::dense(vec![3, 4], vec![FieldValue::Number(0); 12]));
    let out = exactly(&p, vec![zeros]).unwrap();
    assert_eq!(out.tensors[0].1.get(&[2, 3]), Some(&FieldValue::Number(42)));
}

#[test]
fn backward_windows_and_loops_and_empty_extents_are_flagged() {
    let i = Sym::new("i");
    let w = Sym::new("w");
    let args = || vec![numbers(&[0, 1, 2, 3])];
    let window = |lo, hi| {
        over_x(|x| {
            Block::one(st(StmtKind::Window { name: w.clone(), rhs: build::window(x, vec![slice(int(lo), int(hi))]) }))
        })
    };
    assert_eq!(fault_of(&window(2, 1), args()), FaultKind::Extent);
    assert_eq!(fault_of(&window(5, 5), args()), FaultKind::Bounds);
    assert!(exactly(&window(4, 4), args()).is_ok());
    let backward = over_x(|_| Block::one(looped(LoopMode::Seq, &i, int(2), int(1), Block::one(build::pass()))));
    assert_eq!(fault_of(&backward, args()), FaultKind::Extent);
    let empty_loop = over_x(|_| Block::one(looped(LoopMode::Seq, &i, int(2), int(2), Block::one(build::pass()))));
    assert!(exactly(&empty_loop, args()).is_ok());
    let nothing = over_x(|_| Block::one(alloc(&w, vec![int(0)])));
    assert_eq!(fault_of(&nothing, args()), FaultKind::Extent);
}

#[test]
fn poison_may_be_copied_but_not_reach_an_output() {
    let t = Sym::new("t");
    let u = Sym::new("u");
    let args = || vec![numbers(&[0, 1, 2, 3])];
    let copied = over_x(|_| {
        Block::from([
            alloc(&t, vec![int(2)]),
            alloc(&u, vec![int(2)]),
            assign(&u, vec![int(1)], element(&t, vec![int(0)])),
        ])
    });
    assert!(exactly(&copied, args()).is_ok());
    let leaked = over_x(|x| {
        Block::from([alloc(&t, vec![int(2)]), assign(x, vec![int(3)], mul(real(0.0), element(&t, vec![int(1)])))])
    });
    assert_eq!(fault_of(&leaked, args()), FaultKind::Uninitialised);
    let overwritten = over_x(|x| {
        Block::from([
            alloc(&t, vec![int(2)]),
            assign(x, vec![int(3)], element(&t, vec![int(1)])),
            assign(x, vec![int(3)], real(1.0)),
        ])
    });
    assert!(exactly(&overwritten, args()).is_ok());
}

#[test]
fn memory_does_not_survive_its_block() {
    let (t, i) = (Sym::new("t"), Sym::new("i"));
    let x = Sym::new("x");
    // The second iteration must not see what the first one stored.
    let first = build::stmt(
        StmtKind::If {
            cond: build::binary(BinaryOp::Eq, index(&i), int(0)),
            body: Block::one(assign(&t, vec![int(0)], real(1.0))),
            orelse: Block::default(),
        },
        &Span::none(),
    );
    let body = vec![alloc(&t, vec![int(1)]), first, assign(&x, vec![index(&i)], element(&t, vec![int(0)]))];
    let p = make("p", vec![buffer(&x, vec![int(4)])], vec![], Block::one(seq(&i, int(4), body.into())));
    assert_eq!(fault_of(&p, vec![numbers(&[0, 0, 0, 0])]), FaultKind::Uninitialised);
    // A name is not bound behind its block.
    let q = over_x(|x| {
        Block::from([
            seq(&i, int(2), Block::one(alloc(&t, vec![int(1)]))),
            assign(x, vec![int(0)], element(&t, vec![int(0)])),
        ])
    });
    assert_eq!(fault_of(&q, vec![numbers(&[0, 0, 0, 0])]), FaultKind::Malformed);
}

#[test]
fn races_between_par_iterations_are_flagged() {
    let i = Sym::new("i");
    let run_par = |make_body: &dyn Fn(&Sym) -> Block| {
        let p = over_x(|x| Block::one(looped(LoopMode::Par, &i, int(0), int(3), make_body(x))));
        exactly(&p, vec![numbers(&[0, 1, 2, 3])]).map_err(|fault| fault.kind)
    };
    let own = |x: &Sym| Block::one(reduce(x, vec![index(&i)], real(1.0)));
    assert!(run_par(&own).is_ok());
    let shared_read = |x: &Sym| Block::one(assign(x, vec![index(&i)], element(x, vec![int(3)])));
    assert!(run_par(&shared_read).is_ok());
    let one_cell = |x: &Sym| Block::one(reduce(x, vec![int(0)], real(1.0)));
    assert_eq!(run_par(&one_cell).unwrap_err(), FaultKind::Race);
    let neighbour = |x: &Sym| Block::one(assign(x, vec![index(&i)], element(x, vec![add(index(&i), int(1))])));
    assert_eq!(run_par(&neighbour).unwrap_err(), FaultKind::Race);
    let private = |x: &Sym| {
        let t = Sym::new("t");
        Block::from([
            alloc(&t, vec![int(1)]),
            assign(&t, vec![int(0)], element(x, vec![index(&i)])),
            assign(x, vec![index(&i)], element(&t, vec![int(0)])),
        ])
    };
    assert!(run_par(&private).is_ok());
    // Read by two iterations, then written by the last reader.
    let late_writer = |x: &Sym| {
        let t = Sym::new("t");
        let cond = build::binary(BinaryOp::Eq, index(&i), int(2));
        let write = vec![assign(x, vec![int(0)], real(1.0))];
        Block::from([
            alloc(&t, vec![]),
            assign(&t, vec![], element(x, vec![int(0)])),
            st(StmtKind::If { cond, body: write.into(), orelse: Block::default() }),
        ])
    };
    assert_eq!(run_par(&late_writer).unwrap_err(), FaultKind::Race);
}

/// `callee(n: size, d: [f32][n], s: [f32][n])`, asserting `n % 2 == 0`, copies.
fn copier() -> Arc<Proc> {
    let (n, d, s, k) = (Sym::new("n"), Sym::new("d"), Sym::new("s"), Sym::new("k"));
    let even = build::binary(BinaryOp::Eq, build::modulo(size(&n), 2), int(0));
    let body = vec![seq(&k, size(&n), Block::one(assign(&d, vec![index(&k)], element(&s, vec![index(&k)]))))];
    let args = vec![sized(&n, Control::Size), view(&d, vec![size(&n)]), view(&s, vec![size(&n)])];
    Arc::new(make("copy", args, vec![even], body.into()))
}

fn copying(n: i64, d: (i64, i64), s: (i64, i64)) -> Result<Outputs<FieldValue>, FaultKind> {
    let p = over_x(|x| {
        let part = |(lo, hi): (i64, i64)| build::window(x, vec![slice(int(lo), int(hi))]);
        Block::one(st(StmtKind::Call { callee: copier(), args: vec![int(n), part(d), part(s)] }))
    });
    exactly(&p, vec![numbers(&[10, 11, 12, 13])]).map_err(|fault| fault.kind)
}

#[test]
fn calls_are_checked_when_they_happen() {
    let out = copying(2, (0, 2), (2, 4)).unwrap();
    assert_eq!(out.tensors[0].1.elements()[..2], [FieldValue::Number(12), FieldValue::Number(13)]);
    assert_eq!(copying(1, (0, 1), (2, 3)).unwrap_err(), FaultKind::Assertion);
    assert_eq!(copying(2, (0, 2), (1, 3)).unwrap_err(), FaultKind::Aliasing);
    assert_eq!(copying(2, (0, 2), (2, 3)).unwrap_err(), FaultKind::Shape);
    assert_eq!(copying(0, (0, 2), (2, 4)).unwrap_err(), FaultKind::Extent);
}

#[test]
fn arguments_may_share_what_is_only_read() {
    let add = testing::procs(
        "
        def add(d: [f32][2], a: [f32][2], b: [f32][2]):
            for i in seq(0, 2):
                d[i] = a[i] + b[i]
        def p(x: f32[4]):
            add(x[0:2], x[2:4], x[2:4])
        def q(x: f32[4]):
            add(x[0:2], x[1:3], x[2:4])
        ",
    );
    assert!(exactly(&add[1], vec![numbers(&[10, 11, 12, 13])]).is_ok());
    assert_eq!(fault_of(&add[2], vec![numbers(&[10, 11, 12, 13])]), FaultKind::Aliasing);
}

#[test]
fn a_dense_parameter_does_not_take_a_column() {
    let (v, x) = (Sym::new("v"), Sym::new("x"));
    let callee = make("set", vec![buffer(&v, vec![int(2)])], vec![], Block::one(assign(&v, vec![int(1)], real(1.0))));
    let callee = Arc::new(callee);
    let pass = |idx: Vec<Access>| {
        let call = st(StmtKind::Call { callee: callee.clone(), args: vec![build::window(&x, idx)] });
        let p = make("p", vec![buffer(&x, vec![int(2), int(2)])], vec![], Block::one(call));
        let data = vec![FieldValue::Number(0); 4];
        exactly(&p, vec![Input::Tensor(Tensor::dense(vec![2, 2], data))]).map_err(|fault| fault.kind)
    };
    assert!(pass(vec![Access::Point(int(1)), slice(int(0), int(2))]).is_ok());
    assert_eq!(pass(vec![slice(int(0), int(2)), Access::Point(int(1))]).unwrap_err(), FaultKind::Shape);
}

#[test]
fn strides_are_those_of_the_argument() {
    let (x, n) = (Sym::new("x"), Sym::new("n"));
    let stride = build::expr(ExprKind::Stride { name: x.clone(), dim: 0 }, Ty::STRIDE, &Span::none());
    let is_three = build::binary(BinaryOp::Eq, stride, int(3));
    let args = vec![sized(&n, Control::Size), view(&x, vec![size(&n)])];
    let p = make("p", args, vec![is_three], Block::one(assign(&x, vec![int(1)], real(1.0))));
    let input = |stride: i64| {
        let data = vec![FieldValue::Number(0); 1 + stride as usize];
        vec![Input::Int(2), Input::Tensor(Tensor { extents: vec![2], strides: vec![stride], data })]
    };
    let out = exactly(&p, input(3)).unwrap();
    assert_eq!(out.tensors[0].1.data[3], FieldValue::Number(1));
    assert_eq!(fault_of(&p, input(2)), FaultKind::Inputs);
    // The draw finds a layout that satisfies the assert; with n = 1 the element 1 does not exist.
    let sizes = BTreeMap::from([("n".to_string(), vec![2, 3])]);
    assert!(compare(&p, &p, &Options { sizes, ..Options::default() }).is_equal());
}

#[test]
fn runs_end() {
    let i = Sym::new("i");
    let p = over_x(|_| {
        Block::one(seq(&i, int(i64::MAX), Block::one(seq(&Sym::new("j"), int(i64::MAX), Block::one(build::pass())))))
    });
    let fault = run(&Exact, &p, Inputs { args: vec![numbers(&[0, 0, 0, 0])], config: Vec::new() }, 10_000).unwrap_err();
    assert_eq!(fault.kind, FaultKind::Budget);
    let huge = over_x(|_| Block::one(alloc(&Sym::new("t"), vec![int(1 << 40)])));
    let fault =
        run(&Exact, &huge, Inputs { args: vec![numbers(&[0, 0, 0, 0])], config: Vec::new() }, 10_000).unwrap_err();
    assert_eq!(fault.kind, FaultKind::Budget);
}

#[test]
fn floats_round_where_c_rounds() {
    let p = over_x(|x| {
        let e = |n: i64| element(x, vec![int(n)]);
        Block::from([
            assign(x, vec![int(1)], sub(add(e(0), real(1.0)), e(0))),
            assign(x, vec![int(2)], real(0.1)),
            assign(x, vec![int(3)], external("relu", vec![real(-3.0)])),
        ])
    });
    let out =
        run(&Rounded, &p, Inputs { args: vec![floats(&[16_777_216.0, 0.0, 0.0, 5.0])], config: Vec::new() }, 1000)
            .unwrap();
    let values: Vec<f64> = out.tensors[0].1.elements().iter().map(|v| v.number().unwrap()).collect();
    assert_eq!(values, [16_777_216.0, 0.0, f64::from(0.1f32), 0.0]);
}

#[test]
fn narrow_formats_round_to_even_and_integers_wrap() {
    let stored = |value: f64, precision| Rounded.stored(MachineValue::Float(value), precision);
    assert_eq!(stored(2049.0, Precision::F16), MachineValue::Float(2048.0));
    assert_eq!(stored(2051.0, Precision::F16), MachineValue::Float(2052.0));
    assert_eq!(stored(65519.0, Precision::F16), MachineValue::Float(65504.0));
    assert_eq!(stored(65520.0, Precision::F16), MachineValue::Float(f64::INFINITY));
    assert_eq!(stored(2f64.powi(-25), Precision::F16), MachineValue::Float(0.0));
    assert_eq!(stored(3.0 * 2f64.powi(-25), Precision::F16), MachineValue::Float(2f64.powi(-23)));
    assert_eq!(stored(257.0, Precision::Bf16), MachineValue::Float(256.0));
    assert_eq!(stored(-2.7, Precision::I32), MachineValue::Int(-2));
    let outside = stored(300.0, Precision::Ui8);
    assert_eq!(outside, MachineValue::Undefined(Undefined::OutOfRange(Precision::Ui8)));
    assert!(Rounded.is_poison(&outside) && Rounded.what_is_poison(&outside).contains("`ui8` cannot hold"));
    assert_eq!(Rounded.negated(&outside, Precision::Ui8), outside);
    assert_eq!(stored(255.9, Precision::Ui8), MachineValue::Int(255));
    assert_eq!(Rounded.stored(MachineValue::Int(130), Precision::I8), MachineValue::Int(-126));
    let half = |a, b| Rounded.binary(BinaryOp::Div, &MachineValue::Int(a), &MachineValue::Int(b), Precision::I32);
    assert_eq!(half(-7, 2), Some(MachineValue::Int(-3)));
    assert_eq!(half(1, 0), Some(MachineValue::Undefined(Undefined::Quotient)));
    assert!(Rounded.what_is_poison(&MachineValue::Poison).contains("uninitialised"));
}

/// `p(n: size, x: f32[n])` with the given asserts; adds `by` to each element.
fn adder(by: f64, asserts: &dyn Fn(&Sym) -> Vec<Expr>) -> Proc {
    let (n, x, i) = (Sym::new("n"), Sym::new("x"), Sym::new("i"));
    let body = vec![seq(&i, size(&n), Block::one(reduce(&x, vec![index(&i)], real(by))))];
    let preds = asserts(&n);
    make("p", vec![sized(&n, Control::Size), buffer(&x, vec![size(&n)])], preds, body.into())
}

#[test]
fn comparisons_tell_equal_from_unequal() {
    let options = Options::default();
    let none = |_: &Sym| vec![];
    let (p, q) = (adder(1.0, &none), adder(1.5, &none));
    assert!(matches!(compare(&p, &p, &options), Comparison::Equal { runs: 4 }));
    let Comparison::Unequal { buffer, index, .. } = compare(&p, &q, &options) else { panic!("must differ") };
    assert_eq!((buffer.as_str(), index), ("x", vec![0]));
    let other = over_x(|_| Block::one(build::pass()));
    assert!(matches!(compare(&p, &other, &options), Comparison::Incomparable { .. }));
}

#[test]
fn draws_satisfy_asserts() {
    let asserts = |n: &Sym| {
        vec![
            build::binary(BinaryOp::Eq, build::modulo(size(n), 48), int(0)),
            build::binary(BinaryOp::Ge, size(n), int(49)),
        ]
    };
    let p = adder(1.0, &asserts);
    assert!(compare(&p, &p, &Options::default()).is_equal());
    let contradictory = |n: &Sym| vec![build::less(size(n), int(1))];
    let q = adder(1.0, &contradictory);
    assert!(matches!(compare(&q, &q, &Options::default()), Comparison::NoDraw { .. }));
    // The right proc's asserts count as well.
    assert!(matches!(compare(&adder(1.0, &|_| vec![]), &q, &Options::default()), Comparison::NoDraw { .. }));
}

#[test]
fn given_sizes_run_all_and_are_held_against_the_asserts() {
    let even = |n: &Sym| vec![build::binary(BinaryOp::Eq, build::modulo(size(n), 2), int(0))];
    let p = adder(1.0, &even);
    let with = |name: &str, values: &[i64]| {
        let sizes = BTreeMap::from([(name.to_string(), values.to_vec())]);
        compare(&p, &p, &Options { sizes, rounds: 1, ..Options::default() })
    };
    assert!(matches!(with("n", &[2, 4, 6]), Comparison::Equal { runs: 3 }));
    assert!(matches!(with("n", &[2, 3]), Comparison::BadSizes { .. }));
    assert!(matches!(with("n", &[0]), Comparison::BadSizes { .. }));
    assert!(matches!(with("n", &[]), Comparison::BadSizes { .. }));
    assert!(matches!(with("m", &[2]), Comparison::BadSizes { .. }));
    assert!(matches!(with("x", &[2]), Comparison::BadSizes { .. }));
}

#[test]
fn faults_name_their_side() {
    let none = |_: &Sym| vec![];
    let p = adder(1.0, &none);
    let (n, x) = (Sym::new("n"), Sym::new("x"));
    let body = vec![assign(&x, vec![size(&n)], real(1.0))];
    let q = make("q", vec![sized(&n, Control::Size), buffer(&x, vec![size(&n)])], vec![], body.into());
    let outcome = compare(&p, &q, &Options::default());
    let Comparison::Fault { side, fault, .. } = outcome else { panic!("{outcome:?}") };
    assert_eq!((side, fault.kind), (compare::Side::Right, FaultKind::Bounds));
}

#[test]
fn equal_seeds_give_equal_runs() {
    let none = |_: &Sym| vec![];
    let (p, q) = (adder(1.0, &none), adder(1.5, &none));
    let shown = |seed| format!("{:?}", compare(&p, &q, &Options { seed, ..Options::default() }));
    assert_eq!(shown(7), shown(7));
    assert_ne!(shown(7), shown(8));
}

#[test]
fn a_copy_through_windows_of_any_layout_is_the_copy_it_says() {
    let copy = copier();
    let (n, d, s) = (Sym::new("n"), Sym::new("d"), Sym::new("s"));
    let args = vec![sized(&n, Control::Size), view(&d, vec![size(&n)]), view(&s, vec![size(&n)])];
    let whole = |name: &Sym| build::expr(ExprKind::Read { name: name.clone(), idx: vec![] }, Ty::Data, &Span::none());
    let call = st(StmtKind::Call { callee: copy.clone(), args: vec![size(&n), whole(&d), whole(&s)] });
    let p = make("p", args, copy_pred(&n), Block::one(call));
    assert!(compare(&p, &copy, &Options { rounds: 20, ..Options::default() }).is_equal());
}

fn copy_pred(n: &Sym) -> Vec<Expr> {
    vec![build::binary(BinaryOp::Eq, build::modulo(size(n), 2), int(0))]
}
