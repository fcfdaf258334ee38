//! Tests of patterns, the search for them, and fragments.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use crate::cursor::path::{self, Node, Path, Place, Step};
use crate::hardware::extern_function::ExternFunction;
use crate::loop_ir::{Access, Proc, StmtKind, Ty};
use crate::print::{self, Names};
use crate::syntax::find::find;
use crate::syntax::fragment;
use crate::syntax::pattern::{NamePattern, Pattern, PatternKind, StmtPattern, name_count, nested_names};
use crate::testing;

fn is_extern(name: &str) -> bool {
    ExternFunction::builtin().iter().any(|function| function.name == name)
}

fn pattern(text: &str) -> Pattern {
    Pattern::parse(text, &is_extern).unwrap_or_else(|error| panic!("{text}: {}", error.message))
}

/// The matches, each as text: headlines joined by `;`, or the expression.
fn matches_from(proc: &Proc, start: Option<&Place>, text: &str) -> Vec<String> {
    let names = Names::of(proc);
    let found = find(proc, start, &pattern(text)).unwrap();
    found
        .iter()
        .map(|place| match place {
            Place::Node(at) => match path::node(proc, at).unwrap() {
                Node::Stmt(stmt) => names.headline(stmt),
                Node::Expr(expr) => names.expr(expr),
                Node::Proc(_) => panic!("the root is no match"),
            },
            Place::Block(block) => {
                let stmts = path::block(proc, block).unwrap();
                stmts.iter().map(|stmt| names.headline(stmt)).collect::<Vec<_>>().join("; ")
            }
            other => panic!("unexpected place {other:?}"),
        })
        .collect()
}

fn matches(proc: &Proc, text: &str) -> Vec<String> {
    matches_from(proc, None, text)
}

fn sample() -> Proc {
    testing::proc(
        "
        def g(v: [f32][4]):
            v[0] = 0.0
        def f(n: size, x: f32[n], A: f32[n, 8], t: f32):
            assert n > 4
            y: f32[n]
            for i in seq(0, n):
                x[i] = A[i, 0] + 1.0
                x[i] += -t * 2.0
            t = sin(t)
            w = A[0, 0:4]
            g(w)
            g(A[1, 4:8])
            for i in par(0, n - 1):
                if i < 3 and n > 2:
                    pass
                    t = -3.0
                else:
                    for j in seq(0, 8):
                        A[i, j] = x[i + 1]
                        t = x[0] / 2.0
            if stride(A, 1) == 1:
                t = 1.0
        ",
    )
}

#[test]
fn loops() {
    let proc = sample();
    assert_eq!(matches(&proc, "for i in _: _").len(), 2);
    assert_eq!(matches(&proc, "for _ in _: _").len(), 3);
    assert_eq!(matches(&proc, "for i in _: _ #1"), ["for i in par(0, n - 1):"]);
    assert_eq!(matches(&proc, "for i in _: _ #2"), [""; 0]);
    assert_eq!(matches(&proc, "for i in seq(0, n - 1): _"), ["for i in par(0, n - 1):"]);
    assert_eq!(matches(&proc, "for i in par(0, n): _"), ["for i in seq(0, n):"]);
    assert_eq!(matches(&proc, "for i in _: x[_] = _"), ["for i in seq(0, n):"]);
    assert_eq!(matches(&proc, "for i in _: x[_] += _"), [""; 0]);
    assert_eq!(matches(&proc, "for i in _:\n    _\n    x[_] += _"), ["for i in seq(0, n):"]);
    assert_eq!(matches(&proc, "for k in _: _"), [""; 0]);
}

#[test]
fn assignments_and_windows() {
    let proc = sample();
    assert_eq!(matches(&proc, "x[_] = _"), ["x[i] = A[i, 0] + 1.0"]);
    assert_eq!(matches(&proc, "x = _"), ["x[i] = A[i, 0] + 1.0"]);
    assert_eq!(matches(&proc, "x[_] += _"), ["x[i] += -t * 2.0"]);
    assert_eq!(matches(&proc, "t = _").len(), 4);
    assert_eq!(matches(&proc, "w = _"), ["w = A[0, 0:4]"]);
    assert_eq!(matches(&proc, "w[_] = _"), [""; 0]);
    assert_eq!(matches(&proc, "_ = A[_]"), ["w = A[0, 0:4]"]);
    assert_eq!(matches(&proc, "_ = _ + 1"), ["x[i] = A[i, 0] + 1.0"]);
    assert_eq!(matches(&proc, "A[i] = _"), ["A[i, j] = x[i + 1]"]);
    assert_eq!(matches(&proc, "A[_, _, _] = _"), ["A[i, j] = x[i + 1]"]);
}

#[test]
fn other_statements() {
    let proc = sample();
    assert_eq!(matches(&proc, "y: _"), ["y: f32[n] @ DRAM"]);
    assert_eq!(matches(&proc, "y: i8[n, _]"), ["y: f32[n] @ DRAM"]);
    assert_eq!(matches(&proc, "y: f32[n + 1]"), [""; 0]);
    assert_eq!(matches(&proc, "g(_)"), ["g(w)", "g(A[1, 4:8])"]);
    assert_eq!(matches(&proc, "g(_, 3) #1"), ["g(A[1, 4:8])"]);
    assert_eq!(matches(&proc, "pass"), ["pass"]);
    assert_eq!(matches(&proc, "if _: _").len(), 2);
    assert_eq!(matches(&proc, "if i < _ and _: _"), ["if i < 3 and n > 2:"]);
    assert_eq!(matches(&proc, "if _:\n    _\nelse:\n    for j in _: _"), ["if i < 3 and n > 2:"]);
    assert_eq!(matches(&proc, "if _:\n    _\nelse:\n    pass"), [""; 0]);
}

#[test]
fn sequences() {
    let proc = sample();
    assert_eq!(matches(&proc, "x[_] = _; x[_] += _"), ["x[i] = A[i, 0] + 1.0; x[i] += -t * 2.0"]);
    assert_eq!(matches(&proc, "w = _; g(_); g(_)"), ["w = A[0, 0:4]; g(w); g(A[1, 4:8])"]);
    assert_eq!(matches(&proc, "t = _\n_\nfor i in _: _")[0].matches(';').count(), 4);
    assert_eq!(matches(&proc, "w = _; _")[0].matches(';').count(), 4);
    // The hole at the end needs a statement; the hole before a pattern does not.
    assert_eq!(matches(&proc, "t = x[_] / 2.0; _"), [""; 0]);
    assert_eq!(matches(&proc, "_; x[_] += _"), ["x[i] = A[i, 0] + 1.0; x[i] += -t * 2.0", "x[i] += -t * 2.0"]);
    assert_eq!(matches(&proc, "g(_)\ng(_)"), ["g(w); g(A[1, 4:8])"]);
}

#[test]
fn expressions() {
    let proc = sample();
    assert_eq!(matches(&proc, "A[_]"), ["A[i, 0]", "A[0, 0:4]", "A[1, 4:8]"]);
    assert_eq!(matches(&proc, "A[_, _]"), ["A[i, 0]"]);
    assert_eq!(matches(&proc, "x"), ["x[i + 1]", "x[0]"]);
    assert_eq!(matches(&proc, "_ + _"), ["A[i, 0] + 1.0", "i + 1"]);
    assert_eq!(matches(&proc, "1 + _"), [""; 0]);
    assert_eq!(matches(&proc, "-t"), ["-t"]);
    assert_eq!(matches(&proc, "-3"), ["-3.0"]);
    assert_eq!(matches(&proc, "sin(_)"), ["sin(t)"]);
    assert_eq!(matches(&proc, "sin(x)"), [""; 0]);
    assert_eq!(matches(&proc, "stride(A, _)"), ["stride(A, 1)"]);
    assert_eq!(matches(&proc, "stride(A, 0)"), ["stride(A, 1)"]);
    assert_eq!(matches(&proc, "stride(A, 2)"), [""; 0]);
    assert_eq!(matches(&proc, "n > 4"), [""; 0]);
    assert_eq!(matches(&proc, "n - 1"), ["n - 1"]);
    assert_eq!(matches(&proc, "i"), ["i", "i", "i", "i", "i", "i"]);
    assert_eq!(matches(&proc, "True"), ["1.0", "1", "1", "1", "1", "1.0"]);
    assert_eq!(matches(&proc, "0.0 #1"), ["0"]);
}

#[test]
fn the_search_may_start_anywhere() {
    let proc = sample();
    let second = Place::Node(Path(vec![Step::Body(6)]));
    assert_eq!(matches_from(&proc, Some(&second), "for i in _: _"), ["for i in par(0, n - 1):"]);
    assert_eq!(matches_from(&proc, Some(&second), "for j in _: _"), ["for j in seq(0, 8):"]);
    assert_eq!(matches_from(&proc, Some(&second), "x[_] = _"), [""; 0]);
    let block = Place::Block(path::BlockPlace { parent: Path::root(), orelse: false, lo: 3, hi: 5 });
    assert_eq!(matches_from(&proc, Some(&block), "g(_)"), ["g(w)"]);
    assert_eq!(matches_from(&proc, Some(&block), "w = _; _"), ["w = A[0, 0:4]; g(w)"]);
    let value = Place::Node(Path(vec![Step::Body(1), Step::Body(0), Step::Value]));
    assert_eq!(matches_from(&proc, Some(&value), "A[_]"), ["A[i, 0]"]);
    assert!(find(&proc, Some(&value), &pattern("x = _")).is_err());
    assert!(find(&proc, Some(&Place::Invalid), &pattern("x = _")).is_err());
    assert!(find(&proc, Some(&Place::Arg(0)), &pattern("x = _")).is_err());
}

#[test]
fn clashing_names_are_found_as_printed() {
    let proc = testing::proc(
        "def f(A: f32[8, 8]):\n    for i in seq(0, 8):\n        for i in seq(0, 8):\n            A[i, 0] = 0.0\n",
    );
    assert_eq!(matches(&proc, "for i in _: _").len(), 2);
    assert_eq!(matches(&proc, "for i_1 in _: _"), ["for i_1 in seq(0, 8):"]);
}

#[test]
fn long_blocks_do_not_recurse() {
    let body = "    t = 1.0\n".repeat(20_000);
    let proc = testing::proc(&format!("def f(t: f32):\n{body}    t += 1.0\n"));
    assert_eq!(matches(&proc, "t += _").len(), 1);
    assert_eq!(find(&proc, None, &pattern("t = 1.0; t = 1.0")).unwrap().len(), 19_999);
}

#[test]
fn match_numbers() {
    assert_eq!(pattern("x = _ #3").nth, Some(3));
    assert_eq!(pattern("x = _ #3  ").nth, Some(3));
    assert_eq!(pattern("x = _#12").nth, Some(12));
    assert_eq!(pattern("x = _").nth, None);
}

#[test]
fn malformed_patterns() {
    for (text, expected) in [
        ("x = _ # 1", "is not the number of a match"),
        ("x = _ ##1", "is not the number of a match"),
        ("x = _ #-1", "is not the number of a match"),
        ("x = _ #", "is not the number of a match"),
        ("_", "besides holes"),
        ("_; _", "besides holes"),
        ("", "besides holes"),
        ("x[0:3]", "no slices"),
        ("x = ", "an expression is missing here"),
        ("  x = _", "indentation"),
        ("x != 3", "`!=`"),
        ("x // 3", "`//`"),
        ("not x", "`not`"),
        ("g(a=3)", "keyword"),
        ("while x: _", "cannot be part of a pattern"),
        ("x -= _", "cannot be part of a pattern"),
        ("for i in range(3): _", "a loop runs over"),
        ("x = y = 3", "one assignment"),
        ("x = g(y)", "not an extern"),
        ("x; y = _", "among statements"),
    ] {
        let error = Pattern::parse(text, &is_extern).unwrap_err();
        let message = error.message.to_lowercase();
        assert!(message.contains(expected), "{text}: {message}");
    }
}

#[test]
fn shorthands() {
    assert_eq!(name_count("i"), Some(("i", None)));
    assert_eq!(name_count("i #2"), Some(("i", Some(2))));
    assert_eq!(name_count("i # 2"), Some(("i", Some(2))));
    assert_eq!(name_count("_"), None);
    assert_eq!(name_count("i j"), None);
    assert_eq!(name_count("2i"), None);
    assert_eq!(name_count("i #"), None);
    assert_eq!(nested_names("i j"), Some(("i", "j", None)));
    assert_eq!(nested_names("io ii #1"), Some(("io", "ii", Some(1))));
    assert_eq!(nested_names("ij"), None);
    assert_eq!(nested_names("i j k"), None);
    let proc = testing::proc(
        "def f(A: f32[8, 8]):\n    for i in seq(0, 8):\n        for j in seq(0, 8):\n            A[i, j] = 0.0\n",
    );
    assert_eq!(find(&proc, None, &Pattern::nested_loops("i", "j", None)).unwrap().len(), 1);
    assert_eq!(find(&proc, None, &Pattern::nested_loops("j", "i", None)).unwrap().len(), 0);
    assert_eq!(find(&proc, None, &Pattern::loop_named("j", Some(0))).unwrap().len(), 1);
}

#[test]
fn symbols_match_by_identity() {
    let proc = testing::proc("def f(x: f32):\n    x = 0.0\n    x: f32\n    x = 0.0\n");
    let StmtKind::Assign { name, .. } = &proc.body[2].kind else { panic!() };
    let mut pattern = pattern("x = _");
    let PatternKind::Stmts(stmts) = &mut pattern.kind else { panic!() };
    let StmtPattern::Assign { name: wanted, .. } = &mut stmts[0] else { panic!() };
    *wanted = NamePattern::Symbol(name.clone());
    assert_eq!(find(&proc, None, &pattern).unwrap(), [Place::Node(Path(vec![Step::Body(2)]))]);
}

fn fragment_sample() -> Proc {
    testing::proc(
        "
        def f(n: size, x: f32[n], A: f32[n, 8], t: f32):
            y: f32[4]
            for i in seq(0, n):
                w = A[i, :]
                x[i] = w[0]
                if i < 3:
                    late: f32
                    late = 0.0
            for i in seq(0, n):
                for i in seq(0, 8):
                    x[i] = t * 2.0
        ",
    )
}

fn at(steps: &[usize]) -> Path {
    Path(steps.iter().map(|step| Step::Body(*step)).collect())
}

#[test]
fn fragments_see_what_the_place_sees() {
    let proc = fragment_sample();
    let read = |text: &str, at: &Path| {
        fragment::expr(text, &proc, at).map(|expr| (Names::of(&proc).expr(&expr), expr.ty)).map_err(|e| e.message)
    };
    assert_eq!(read("n / 4 + 1", &at(&[0])).unwrap(), ("n / 4 + 1".into(), Ty::SIZE));
    assert_eq!(read(" i + 1 ", &at(&[1, 1])).unwrap(), ("i + 1".into(), Ty::INDEX));
    assert_eq!(read("i < n and i >= 0", &at(&[1, 1])).unwrap().1, Ty::BOOL);
    assert_eq!(read("w[0] * 2 + sin(y[1])", &at(&[1, 1])).unwrap(), ("w[0] * 2 + sin(y[1])".into(), Ty::Data));
    assert_eq!(read("8", &at(&[0])).unwrap().1, Ty::INT);
    assert_eq!(read("0.5", &at(&[0])).unwrap().1, Ty::Data);
    assert_eq!(read("-1", &at(&[0])).unwrap(), ("-1".into(), Ty::INT));
    assert_eq!(read("i", &at(&[1])).unwrap_err(), "`i` is not defined");
    assert_eq!(read("w[0]", &at(&[1, 0])).unwrap_err(), "`w` is not defined");
    assert_eq!(read("late", &at(&[2])).unwrap_err(), "`late` is not defined");
    assert_eq!(read("y[0] + zz + 1", &at(&[1])).unwrap_err(), "`zz` is not defined");
    assert!(read("n * n", &at(&[1])).unwrap_err().contains("affine"));
    assert!(read("n +", &at(&[1])).is_err());
    assert!(read("n = 3", &at(&[1])).is_err());
    assert!(read("_ + 1", &at(&[1])).unwrap_err().contains("hole"));
}

#[test]
fn shadowed_names_mean_the_innermost_binding() {
    let proc = fragment_sample();
    let names = Names::of(&proc);
    let inner = fragment::expr("i", &proc, &at(&[2, 0, 0])).unwrap();
    assert_eq!(names.expr(&inner), "i_1");
    assert_eq!(fragment::expr("i_1", &proc, &at(&[2, 0, 0])).unwrap(), inner);
    // Before the inner loop only the outer iterator exists.
    assert_eq!(names.expr(&fragment::expr("i", &proc, &at(&[2, 0])).unwrap()), "i");
}

#[test]
fn holes_are_filled_in_order() {
    let proc = fragment_sample();
    let place = at(&[1, 1]);
    let i = fragment::expr("i", &proc, &place).unwrap();
    let n = fragment::expr("n", &proc, &place).unwrap();
    let whole = fragment::formatted("_ + 2 * _", &[n.clone(), i.clone()], &proc, &place).unwrap();
    assert_eq!(Names::of(&proc).expr(&whole), "n + 2 * i");
    assert!(fragment::formatted("_ + _", std::slice::from_ref(&i), &proc, &place).is_err());
    let elsewhere = fragment::formatted("_ + 1", &[i], &proc, &at(&[0])).unwrap_err();
    assert!(elsewhere.message.contains("not visible"));
}

#[test]
fn windows() {
    let proc = fragment_sample();
    let read = |text: &str| {
        let (name, idx) = fragment::window(text, &proc, &at(&[1, 1])).map_err(|error| error.message)?;
        let window = crate::loop_ir::build::window(&name, idx.clone());
        Ok::<_, String>((Names::of(&proc).expr(&window), idx))
    };
    assert_eq!(read("A[0:6, 2 * (3 - 1):8]").unwrap().0, "A[0:6, 2 * (3 - 1):8]");
    assert_eq!(read("A[i, :]").unwrap().0, "A[i, 0:8]");
    assert_eq!(read("A[i]").unwrap().0, "A[i, 0:8]");
    assert!(matches!(read("A[i, 3]").unwrap().1[..], [Access::Point(_), Access::Point(_)]));
    assert_eq!(read("w[2:4]").unwrap().0, "w[2:4]");
    assert_eq!(read("t").unwrap().1, []);
    assert!(read("x").unwrap_err().contains("1 dimension"));
    assert!(read("n").unwrap_err().contains("not a buffer"));
    assert!(read("x[0:2, 3]").unwrap_err().contains("2 given"));
    assert!(read("x + 1").unwrap_err().contains("expected a window"));
    assert!(read("q[0:2]").unwrap_err().contains("`q`"));
}

#[test]
fn assertions_see_parameters_only() {
    let proc = fragment_sample();
    let printed = |text: &str| {
        fragment::assertion(text, &proc, &[]).map(|expr| Names::default().expr(&expr)).map_err(|error| error.message)
    };
    assert_eq!(printed("n % 4 == 0 and stride(x, 0) == 1").unwrap(), "n % 4 == 0 and stride(x, 0) == 1");
    assert!(printed("i < 3").is_err());
    assert!(printed("n + 1").unwrap_err().contains("condition"));
    assert!(printed("y[0] < 1").is_err());
    assert_eq!(print::proc(&proc).lines().count(), 11);
}

#[test]
fn configuration_fields_are_found_and_read() {
    let text =
        "@proc\ndef f(x: f32[4]):\n    assert Cfg.n == 1\n    Cfg.i = 3\n    Dev.i = Cfg.i\n    x[Cfg.i] = Dev.gain\n";
    let proc = crate::testing::proc(text);
    let count = |text: &str| find(&proc, None, &pattern(text)).unwrap().len();
    assert_eq!(count("Cfg.i = _"), 1);
    assert_eq!(count("_.i = _"), 2);
    assert_eq!(count("Cfg._ = 4"), 0);
    assert_eq!(count("Cfg.i"), 2);
    assert_eq!(count("_._"), 3);
    assert_eq!(count("Dev.i"), 0);
    let at = Path::root().child(Step::Body(2));
    let read = |text: &str| {
        fragment::expr(text, &proc, &at).map(|expr| Names::default().expr(&expr)).map_err(|error| error.message)
    };
    assert_eq!(read("Cfg.i + 2").unwrap(), "Cfg.i + 2");
    assert!(read("Cfg.nope").unwrap_err().contains("has no field `nope`"));
    assert!(read("Other.i").unwrap_err().contains("neither a number"));
    // Configs that the proc does not use have to be given.
    let bare = crate::testing::proc("@proc\ndef f(x: f32[4]):\n    x[0] = 1.0\n");
    assert!(fragment::assertion("Cfg.i == 3", &bare, &[]).is_err());
    fragment::assertion("Cfg.i == 3", &bare, &crate::testing::configs()).unwrap();
}

/// Random index arithmetic over `n` (a size) and `k` (an index) that obeys the affine rules.
fn index_expressions() -> impl proptest::strategy::Strategy<Value = Vec<(u8, i64)>> {
    proptest::collection::vec((0u8..9, -9i64..10), 1..24)
}

/// Runs a program for a stack machine that builds one expression.
fn built(program: &[(u8, i64)], n: &crate::symbol::Sym, k: &crate::symbol::Sym) -> crate::loop_ir::Expr {
    use crate::loop_ir::{BinaryOp, Control, build};
    let mut stack = vec![build::control(n, Control::Size)];
    for (op, value) in program {
        let top = stack.pop().unwrap_or_else(|| build::int(*value));
        let positive = value.abs() + 1;
        let next = match op {
            0 => {
                stack.push(top);
                build::int(*value)
            }
            1 => {
                stack.push(top);
                build::index(k)
            }
            2 => build::neg(top),
            3 => build::mul(top, build::int(*value)),
            4 => build::mul(build::int(*value), top),
            5 => build::div(top, positive),
            6 => build::modulo(top, positive),
            binary => {
                let lhs = stack.pop().unwrap_or_else(|| build::index(k));
                build::binary(if *binary == 7 { BinaryOp::Add } else { BinaryOp::Sub }, lhs, top)
            }
        };
        stack.push(next);
    }
    stack.pop().unwrap()
}

/// Pieces of modules, patterns and fragments; random sequences are now and then well formed.
const TOKENS: &[&str] = &[
    "x",
    "n",
    "_",
    "w = ",
    "y: ",
    "f32",
    "(",
    ")",
    "[",
    "]",
    "0",
    "1.5",
    "-",
    " + ",
    " * ",
    " / ",
    " < ",
    " == ",
    ":",
    ", ",
    "\n",
    "\n    ",
    "    pass\n",
    "x[0:2]",
    "x[i] += ",
    "for i in seq(0, n):",
    "for i in _: _",
    "if ",
    "else:",
    " and ",
    "not ",
    "@proc\ndef f(x: f32[n] @ mems[0]):\n    x[0] = N\n",
    "@instr(f'{n}')\ndef g(x: f32): pass\n",
    "from a import *\n",
    "import b\n",
    "f\"{x}",
    "\"",
    "'a' 'b'",
    "{",
    "}",
    "lambda: ",
    "load",
    "é",
    "#1",
    ";",
    "\\\n",
    "\r\n",
    "\t",
    "@ DRAM",
    "def h(a: int, *b) -> int:\n    return a, \n",
];

proptest::proptest! {
    #[test]
    fn printed_expressions_read_back(left in index_expressions(), right in index_expressions(), op in 0usize..5) {
        use crate::loop_ir::{BinaryOp, build};
        let proc = testing::proc("def f(n: size, k: index):\n    pass\n");
        let (n, k) = (proc.args[0].name.clone(), proc.args[1].name.clone());
        let names = Names::of(&proc);
        let (left, right) = (built(&left, &n, &k), built(&right, &n, &k));
        let text = names.expr(&left);
        proptest::prop_assert_eq!(&fragment::expr(&text, &proc, &at(&[0])).unwrap(), &left, "{}", text);
        let op = [BinaryOp::Lt, BinaryOp::Gt, BinaryOp::Le, BinaryOp::Ge, BinaryOp::Eq][op];
        let link = build::binary(op, left, right);
        let whole = build::binary(BinaryOp::Or, build::and(link.clone(), link.clone()), build::and(link.clone(), link));
        let text = names.expr(&whole);
        proptest::prop_assert_eq!(&fragment::expr(&text, &proc, &at(&[0])).unwrap(), &whole, "{}", text);
    }

    #[test]
    fn no_text_crashes_the_readers(pieces in proptest::collection::vec(proptest::sample::select(TOKENS), 0..14)) {
        let text: String = pieces.concat();
        let proc = fragment_sample();
        let _ = Pattern::parse(&text, &is_extern);
        let _ = fragment::expr(&text, &proc, &at(&[1, 1]));
        let _ = fragment::window(&text, &proc, &at(&[1, 1]));
        let file = crate::source::SourceFile::new("t", text.as_str());
        if let Ok(module) = crate::syntax::module::split(&file) {
            let rendered = module.render(&|_| Vec::new());
            proptest::prop_assert_eq!(rendered.text.matches('\n').count(), text.matches('\n').count(), "{}", text);
        }
        let _ = crate::typecheck::proc_from_text(&format!("def f(x: f32[8]):\n    {text}\n"), &testing::known());
    }
}
