//! The pattern language (spec/02, 2.5): what `find` and the operators accept to name a place.

use ruff_python_ast::{
    BoolOp, CmpOp, ElifElseClause, Expr as Syntax, ExprAttribute, ExprCall, Number, Operator, Stmt as SyntaxStmt,
    UnaryOp,
};
use ruff_text_size::Ranged;

use crate::diagnostic::{Diagnostic, codes};
use crate::loop_ir::{BinaryOp, Const};
use crate::source::{SourceFile, Span};
use crate::symbol::Sym;
use crate::syntax::malformed::{Wanted, malformed};
use crate::typecheck::nesting;

/// A parsed pattern.
#[derive(Clone, Debug, PartialEq)]
pub struct Pattern {
    pub kind: PatternKind,
    /// The `#k` suffix: take the k-th match, counted from 0.
    pub nth: Option<usize>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum PatternKind {
    Stmts(Vec<StmtPattern>),
    Expr(ExprPattern),
}

#[derive(Clone, Debug, PartialEq)]
pub enum NamePattern {
    Any,
    Text(String),
    /// Exactly this binding; operators use it, text cannot.
    Symbol(Sym),
}

#[derive(Clone, Debug, PartialEq)]
pub enum StmtPattern {
    /// Any statements: up to the next pattern, or to the end of the list.
    Hole,
    Assign {
        name: NamePattern,
        idx: Vec<ExprPattern>,
        rhs: ExprPattern,
    },
    Reduce {
        name: NamePattern,
        idx: Vec<ExprPattern>,
        rhs: ExprPattern,
    },
    Alloc {
        name: NamePattern,
        sizes: Vec<ExprPattern>,
    },
    For {
        iter: NamePattern,
        lo: ExprPattern,
        hi: ExprPattern,
        body: Vec<StmtPattern>,
    },
    If {
        cond: ExprPattern,
        body: Vec<StmtPattern>,
        orelse: Vec<StmtPattern>,
    },
    /// Arguments are not compared.
    Call {
        name: NamePattern,
    },
    Pass,
    WriteConfig {
        config: NamePattern,
        field: NamePattern,
        rhs: ExprPattern,
    },
}

#[derive(Clone, Debug, PartialEq)]
pub enum ExprPattern {
    Hole,
    Read {
        name: NamePattern,
        idx: Vec<ExprPattern>,
    },
    Const(Const),
    Neg(Box<ExprPattern>),
    Binary {
        op: BinaryOp,
        lhs: Box<ExprPattern>,
        rhs: Box<ExprPattern>,
    },
    Extern {
        name: String,
        args: Vec<ExprPattern>,
    },
    /// `dim` is `None` for a hole.
    Stride {
        name: NamePattern,
        dim: Option<i64>,
    },
    ReadConfig {
        config: NamePattern,
        field: NamePattern,
    },
}

impl Pattern {
    /// Reads a pattern. `is_extern` tells a call of an extern (an expression) from the call of a proc (a statement).
    pub fn parse(text: &str, is_extern: &dyn Fn(&str) -> bool) -> Result<Pattern, Diagnostic> {
        let (body, nth) = split_number(text)?;
        let file = SourceFile::new("<pattern>", body);
        nesting::check(&file)?;
        let module =
            ruff_python_parser::parse_module(body).map_err(|error| malformed(&file, Wanted::Pattern, &error))?;
        let reader = Reader { file: &file, is_extern };
        let kind = reader.kind(&module.into_syntax().body)?;
        Ok(Pattern { kind, nth })
    }

    /// `for name in _: _`.
    pub fn loop_named(name: &str, nth: Option<usize>) -> Pattern {
        Pattern::stmt(for_any(name_pattern(name), vec![StmtPattern::Hole]), nth)
    }

    /// `for outer in _: for inner in _: _`.
    pub fn nested_loops(outer: &str, inner: &str, nth: Option<usize>) -> Pattern {
        let inner = for_any(name_pattern(inner), vec![StmtPattern::Hole]);
        Pattern::stmt(for_any(name_pattern(outer), vec![inner]), nth)
    }

    /// `name: _`.
    pub fn alloc_named(name: &str, nth: Option<usize>) -> Pattern {
        Pattern::stmt(StmtPattern::Alloc { name: name_pattern(name), sizes: Vec::new() }, nth)
    }

    /// `name(_)`.
    pub fn call_named(name: &str, nth: Option<usize>) -> Pattern {
        Pattern::stmt(StmtPattern::Call { name: name_pattern(name) }, nth)
    }

    /// The same pattern with a reduction for its only assignment, or the other way around, and how it is written.
    pub fn other_write(&self) -> Option<(Pattern, String)> {
        let PatternKind::Stmts(stmts) = &self.kind else { return None };
        let (kind, name, op) = match stmts.as_slice() {
            [StmtPattern::Assign { name, idx, rhs }] => {
                (StmtPattern::Reduce { name: name.clone(), idx: idx.clone(), rhs: rhs.clone() }, name, "+=")
            }
            [StmtPattern::Reduce { name, idx, rhs }] => {
                (StmtPattern::Assign { name: name.clone(), idx: idx.clone(), rhs: rhs.clone() }, name, "=")
            }
            _ => return None,
        };
        let name = match name {
            NamePattern::Text(name) => name.as_str(),
            NamePattern::Any | NamePattern::Symbol(_) => "_",
        };
        Some((Pattern { kind: PatternKind::Stmts(vec![kind]), nth: self.nth }, format!("{name} {op} _")))
    }

    /// The iterator, where the pattern is that of one loop.
    pub fn loop_name(&self) -> Option<&str> {
        match &self.kind {
            PatternKind::Stmts(stmts) => match stmts.as_slice() {
                [StmtPattern::For { iter: NamePattern::Text(name), .. }] => Some(name),
                _ => None,
            },
            PatternKind::Expr(_) => None,
        }
    }

    fn stmt(pattern: StmtPattern, nth: Option<usize>) -> Pattern {
        Pattern { kind: PatternKind::Stmts(vec![pattern]), nth }
    }
}

/// The shorthand `name` or `name #k`.
pub fn name_count(text: &str) -> Option<(&str, Option<usize>)> {
    let (name, nth) = match text.split_once('#') {
        Some((name, digits)) => (name.trim(), Some(digits.trim().parse().ok()?)),
        None => (text.trim(), None),
    };
    is_identifier(name).then_some((name, nth))
}

/// The shorthand `outer inner` or `outer inner #k` for two directly nested loops.
pub fn nested_names(text: &str) -> Option<(&str, &str, Option<usize>)> {
    let (names, nth) = match text.split_once('#') {
        Some((names, digits)) => (names, Some(digits.trim().parse().ok()?)),
        None => (text, None),
    };
    let mut words = names.split_whitespace();
    let (outer, inner) = (words.next()?, words.next()?);
    let well_formed = words.next().is_none() && is_identifier(outer) && is_identifier(inner);
    well_formed.then_some((outer, inner, nth))
}

/// A name of object code: ASCII, and not the hole.
pub fn is_identifier(text: &str) -> bool {
    let mut letters = text.chars();
    letters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && letters.all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
        && text != "_"
}

/// Splits `body #k`. A mark without digits right after it would be a comment of Python, and the first match would be
/// taken where another was meant.
fn split_number(text: &str) -> Result<(&str, Option<usize>), Diagnostic> {
    let Some((body, digits)) = text.split_once('#') else { return Ok((text, None)) };
    let digits = digits.trim_end();
    match digits.parse() {
        Ok(nth) if digits.bytes().all(|byte| byte.is_ascii_digit()) => Ok((body, Some(nth))),
        _ => Err(Diagnostic::error(codes::PATTERN, format!("`#{digits}` is not the number of a match"))
            .hint("matches count from zero, with the digits right after the mark: `x = _ #1`")),
    }
}

fn name_pattern(name: &str) -> NamePattern {
    match name {
        "_" => NamePattern::Any,
        name => NamePattern::Text(name.to_string()),
    }
}

fn for_any(iter: NamePattern, body: Vec<StmtPattern>) -> StmtPattern {
    StmtPattern::For { iter, lo: ExprPattern::Hole, hi: ExprPattern::Hole, body }
}

struct Reader<'a> {
    file: &'a std::sync::Arc<SourceFile>,
    is_extern: &'a dyn Fn(&str) -> bool,
}

impl Reader<'_> {
    fn refuse<T>(&self, node: &impl Ranged, message: impl Into<String>) -> Result<T, Diagnostic> {
        let range = node.range();
        let span = Span::new(self.file, range.start().to_u32(), range.end().to_u32());
        Err(Diagnostic::error(codes::PATTERN, message).at(&span, "here"))
    }

    fn kind(&self, body: &[SyntaxStmt]) -> Result<PatternKind, Diagnostic> {
        if let [SyntaxStmt::Expr(only)] = body {
            let is_stmt = match &*only.value {
                Syntax::Call(call) => !self.is_expression_call(call),
                Syntax::Name(name) => name.id.as_str() == "_",
                _ => false,
            };
            if !is_stmt {
                return Ok(PatternKind::Expr(self.expr(&only.value)?));
            }
        }
        let stmts = self.stmts(body)?;
        if stmts.iter().all(|stmt| matches!(stmt, StmtPattern::Hole)) {
            let span = Span::new(self.file, 0, self.file.text.len() as u32);
            return Err(Diagnostic::error(codes::PATTERN, "the pattern has no statement or expression besides holes")
                .at(&span, "here")
                .hint("name what to look for, such as `for i in _: _` or `x[_] = _`"));
        }
        Ok(PatternKind::Stmts(stmts))
    }

    fn is_expression_call(&self, call: &ExprCall) -> bool {
        match &*call.func {
            Syntax::Name(name) => name.id.as_str() == "stride" || (self.is_extern)(&name.id),
            _ => false,
        }
    }

    fn stmts(&self, body: &[SyntaxStmt]) -> Result<Vec<StmtPattern>, Diagnostic> {
        body.iter().map(|stmt| self.stmt(stmt)).collect()
    }

    fn stmt(&self, node: &SyntaxStmt) -> Result<StmtPattern, Diagnostic> {
        match node {
            SyntaxStmt::Pass(_) => Ok(StmtPattern::Pass),
            SyntaxStmt::Expr(expr) => match &*expr.value {
                Syntax::Name(name) if name.id.as_str() == "_" => Ok(StmtPattern::Hole),
                Syntax::Call(call) if !self.is_expression_call(call) => self.call(call),
                _ => self.refuse(node, "an expression cannot stand among statements of a pattern"),
            },
            SyntaxStmt::Assign(assign) => match assign.targets.as_slice() {
                [Syntax::Attribute(attribute)] => {
                    let (config, field) = self.field(attribute)?;
                    Ok(StmtPattern::WriteConfig { config, field, rhs: self.expr(&assign.value)? })
                }
                [target] => {
                    let (name, idx) = self.target(target)?;
                    Ok(StmtPattern::Assign { name, idx, rhs: self.expr(&assign.value)? })
                }
                _ => self.refuse(node, "a pattern has one assignment for each statement"),
            },
            SyntaxStmt::AugAssign(reduce) if reduce.op == Operator::Add => {
                let (name, idx) = self.target(&reduce.target)?;
                Ok(StmtPattern::Reduce { name, idx, rhs: self.expr(&reduce.value)? })
            }
            SyntaxStmt::AnnAssign(alloc) if alloc.value.is_none() => {
                let Syntax::Name(name) = &*alloc.target else {
                    return self.refuse(&*alloc.target, "an allocation names one buffer");
                };
                let sizes = match &*alloc.annotation {
                    Syntax::Subscript(subscript) => self.exprs(items(&subscript.slice))?,
                    Syntax::Name(_) => Vec::new(),
                    other => return self.refuse(other, "the type of a pattern is `_`, `f32` or `f32[_, _]`"),
                };
                Ok(StmtPattern::Alloc { name: name_pattern(&name.id), sizes })
            }
            SyntaxStmt::If(branch) => Ok(StmtPattern::If {
                cond: self.expr(&branch.test)?,
                body: self.stmts(&branch.body)?,
                orelse: self.otherwise(&branch.elif_else_clauses)?,
            }),
            SyntaxStmt::For(for_loop) if for_loop.orelse.is_empty() && !for_loop.is_async => {
                let Syntax::Name(iter) = &*for_loop.target else {
                    return self.refuse(&*for_loop.target, "a loop has one iterator");
                };
                let (lo, hi) = self.bounds(&for_loop.iter)?;
                let body = self.stmts(&for_loop.body)?;
                Ok(StmtPattern::For { iter: name_pattern(&iter.id), lo, hi, body })
            }
            _ => self.refuse(node, "this statement cannot be part of a pattern"),
        }
    }

    fn otherwise(&self, clauses: &[ElifElseClause]) -> Result<Vec<StmtPattern>, Diagnostic> {
        let mut orelse = Vec::new();
        for clause in clauses.iter().rev() {
            let body = self.stmts(&clause.body)?;
            orelse = match &clause.test {
                None => body,
                Some(test) => vec![StmtPattern::If { cond: self.expr(test)?, body, orelse }],
            };
        }
        Ok(orelse)
    }

    fn bounds(&self, node: &Syntax) -> Result<(ExprPattern, ExprPattern), Diagnostic> {
        let Syntax::Call(call) = node else { return Ok((ExprPattern::Hole, ExprPattern::Hole)) };
        match (&*call.func, &*call.arguments.args) {
            (Syntax::Name(mode), [lo, hi]) if matches!(mode.id.as_str(), "seq" | "par") => {
                Ok((self.expr(lo)?, self.expr(hi)?))
            }
            _ => self.refuse(node, "a loop runs over `seq(lo, hi)`, `par(lo, hi)` or `_`"),
        }
    }

    fn call(&self, call: &ExprCall) -> Result<StmtPattern, Diagnostic> {
        if let Some(keyword) = call.arguments.keywords.first() {
            return self.refuse(keyword, "patterns have no keyword arguments");
        }
        match &*call.func {
            // Arguments are not compared, but they have to be readable.
            Syntax::Name(name) => {
                self.exprs(&call.arguments.args)?;
                Ok(StmtPattern::Call { name: name_pattern(&name.id) })
            }
            other => self.refuse(other, "a call in a pattern names its callee plainly"),
        }
    }

    fn target(&self, node: &Syntax) -> Result<(NamePattern, Vec<ExprPattern>), Diagnostic> {
        match node {
            Syntax::Name(name) => Ok((name_pattern(&name.id), Vec::new())),
            Syntax::Subscript(subscript) => match &*subscript.value {
                Syntax::Name(name) => Ok((name_pattern(&name.id), self.exprs(items(&subscript.slice))?)),
                _ => self.refuse(node, "the left side of a pattern is `x` or `x[...]`"),
            },
            _ => self.refuse(node, "the left side of a pattern is `x` or `x[...]`"),
        }
    }

    /// `Config.field`, where `_` stands for any name.
    fn field(&self, node: &ExprAttribute) -> Result<(NamePattern, NamePattern), Diagnostic> {
        match &*node.value {
            Syntax::Name(config) => Ok((name_pattern(&config.id), name_pattern(&node.attr))),
            _ => self.refuse(node, "a configuration field of a pattern is `Config.field`"),
        }
    }

    fn exprs(&self, nodes: &[Syntax]) -> Result<Vec<ExprPattern>, Diagnostic> {
        nodes.iter().map(|node| self.expr(node)).collect()
    }

    fn expr(&self, node: &Syntax) -> Result<ExprPattern, Diagnostic> {
        match node {
            Syntax::Name(name) if name.id.as_str() == "_" => Ok(ExprPattern::Hole),
            Syntax::Name(_) | Syntax::Subscript(_) => {
                let (name, idx) = self.target(node)?;
                Ok(ExprPattern::Read { name, idx })
            }
            Syntax::Attribute(attribute) => {
                let (config, field) = self.field(attribute)?;
                Ok(ExprPattern::ReadConfig { config, field })
            }
            Syntax::NumberLiteral(literal) => self.number(&literal.value, false, node),
            Syntax::BooleanLiteral(literal) => Ok(ExprPattern::Const(Const::Bool(literal.value))),
            Syntax::UnaryOp(unary) => match (unary.op, &*unary.operand) {
                (UnaryOp::USub, Syntax::NumberLiteral(literal)) => self.number(&literal.value, true, node),
                (UnaryOp::USub, operand) => Ok(ExprPattern::Neg(Box::new(self.expr(operand)?))),
                (UnaryOp::Not | UnaryOp::UAdd | UnaryOp::Invert, _) => {
                    self.refuse(node, format!("`{}` cannot be part of a pattern", unary.op.as_str()))
                }
            },
            Syntax::BinOp(binary) => {
                let Some(op) = arithmetic(binary.op) else {
                    return self.refuse(node, format!("`{}` cannot be part of a pattern", binary.op.as_str()));
                };
                Ok(binary_pattern(op, self.expr(&binary.left)?, self.expr(&binary.right)?))
            }
            Syntax::BoolOp(connective) => {
                let op = match connective.op {
                    BoolOp::And => BinaryOp::And,
                    BoolOp::Or => BinaryOp::Or,
                };
                let operands = self.exprs(&connective.values)?;
                let folded = operands.into_iter().reduce(|lhs, rhs| binary_pattern(op, lhs, rhs));
                folded.map_or_else(|| self.refuse(node, "empty condition"), Ok)
            }
            Syntax::Compare(compare) => {
                let mut left = self.expr(&compare.left)?;
                let mut whole: Option<ExprPattern> = None;
                for (op, right) in compare.ops.iter().zip(&*compare.comparators) {
                    let Some(op) = comparison(*op) else {
                        return self.refuse(node, format!("`{}` cannot be part of a pattern", op.as_str()));
                    };
                    let right = self.expr(right)?;
                    let link = binary_pattern(op, left, right.clone());
                    whole = Some(match whole {
                        Some(before) => binary_pattern(BinaryOp::And, before, link),
                        None => link,
                    });
                    left = right;
                }
                whole.map_or_else(|| self.refuse(node, "empty comparison"), Ok)
            }
            Syntax::Call(call) => self.call_expression(call, node),
            Syntax::Slice(_) => self.refuse(node, "patterns have no slices; `x[_]` matches every window of `x`"),
            _ => self.refuse(node, "this expression cannot be part of a pattern"),
        }
    }

    fn number(&self, value: &Number, negative: bool, node: &Syntax) -> Result<ExprPattern, Diagnostic> {
        let sign = if negative { "-" } else { "" };
        let value = match value {
            Number::Int(int) => format!("{sign}{int}").parse().ok().map(Const::Int),
            Number::Float(real) => Some(Const::Real(if negative { -real } else { *real })),
            Number::Complex { .. } => None,
        };
        value
            .map_or_else(|| self.refuse(node, "this number cannot be part of a pattern"), |v| Ok(ExprPattern::Const(v)))
    }

    fn call_expression(&self, call: &ExprCall, node: &Syntax) -> Result<ExprPattern, Diagnostic> {
        let Syntax::Name(function) = &*call.func else {
            return self.refuse(node, "only externs and `stride` are called in an expression");
        };
        if let Some(keyword) = call.arguments.keywords.first() {
            return self.refuse(keyword, "patterns have no keyword arguments");
        }
        if (self.is_extern)(&function.id) {
            return Ok(ExprPattern::Extern { name: function.id.to_string(), args: self.exprs(&call.arguments.args)? });
        }
        match (function.id.as_str(), &*call.arguments.args) {
            ("stride", [Syntax::Name(name), dim]) => {
                let dim = match self.expr(dim)? {
                    ExprPattern::Hole => None,
                    ExprPattern::Const(Const::Int(dim)) => Some(dim),
                    _ => return self.refuse(dim, "the dimension of a stride is a number or `_`"),
                };
                Ok(ExprPattern::Stride { name: name_pattern(&name.id), dim })
            }
            ("stride", _) => self.refuse(node, "write `stride(name, dimension)`"),
            (other, _) => {
                self.refuse(node, format!("`{other}` is not an extern, so it cannot be part of an expression"))
            }
        }
    }
}

fn items(slice: &Syntax) -> &[Syntax] {
    match slice {
        Syntax::Tuple(tuple) => &tuple.elts,
        single => std::slice::from_ref(single),
    }
}

fn binary_pattern(op: BinaryOp, lhs: ExprPattern, rhs: ExprPattern) -> ExprPattern {
    ExprPattern::Binary { op, lhs: Box::new(lhs), rhs: Box::new(rhs) }
}

fn arithmetic(op: Operator) -> Option<BinaryOp> {
    match op {
        Operator::Add => Some(BinaryOp::Add),
        Operator::Sub => Some(BinaryOp::Sub),
        Operator::Mult => Some(BinaryOp::Mul),
        Operator::Div => Some(BinaryOp::Div),
        Operator::Mod => Some(BinaryOp::Mod),
        Operator::MatMult
        | Operator::Pow
        | Operator::LShift
        | Operator::RShift
        | Operator::BitOr
        | Operator::BitXor
        | Operator::BitAnd
        | Operator::FloorDiv => None,
    }
}

fn comparison(op: CmpOp) -> Option<BinaryOp> {
    match op {
        CmpOp::Eq => Some(BinaryOp::Eq),
        CmpOp::Lt => Some(BinaryOp::Lt),
        CmpOp::LtE => Some(BinaryOp::Le),
        CmpOp::Gt => Some(BinaryOp::Gt),
        CmpOp::GtE => Some(BinaryOp::Ge),
        CmpOp::NotEq | CmpOp::Is | CmpOp::IsNot | CmpOp::In | CmpOp::NotIn => None,
    }
}
