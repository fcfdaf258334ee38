//! C as a tree with precedences, and its printer: no other code decides where parentheses go.

use std::collections::BTreeSet;

use crate::codegen::literals;

/// Binding strengths of C, from loose to tight.
struct Level;

impl Level {
    const ANY: u8 = 0;
    const OR: u8 = 10;
    const AND: u8 = 20;
    const EQUALITY: u8 = 30;
    const RELATIONAL: u8 = 40;
    const ADDITIVE: u8 = 50;
    const MULTIPLICATIVE: u8 = 60;
    const UNARY: u8 = 70;
    const POSTFIX: u8 = 80;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum COp {
    Add,
    Sub,
    Mul,
    Div,
    Mod,
    Lt,
    Gt,
    Le,
    Ge,
    Eq,
    And,
    Or,
}

impl COp {
    fn level(self) -> u8 {
        match self {
            COp::Or => Level::OR,
            COp::And => Level::AND,
            COp::Eq => Level::EQUALITY,
            COp::Lt | COp::Gt | COp::Le | COp::Ge => Level::RELATIONAL,
            COp::Add | COp::Sub => Level::ADDITIVE,
            COp::Mul | COp::Div | COp::Mod => Level::MULTIPLICATIVE,
        }
    }

    fn text(self) -> &'static str {
        match self {
            COp::Add => "+",
            COp::Sub => "-",
            COp::Mul => "*",
            COp::Div => "/",
            COp::Mod => "%",
            COp::Lt => "<",
            COp::Gt => ">",
            COp::Le => "<=",
            COp::Ge => ">=",
            COp::Eq => "==",
            COp::And => "&&",
            COp::Or => "||",
        }
    }

    /// The levels that the operands need. Tighter than C's grammar where gcc and clang warn about bare nesting, as in
    /// comparisons of comparisons.
    fn operand_levels(self) -> (u8, u8) {
        match self {
            COp::Or => (Level::OR, Level::EQUALITY),
            COp::And => (Level::AND, Level::EQUALITY),
            COp::Eq | COp::Lt | COp::Gt | COp::Le | COp::Ge => (Level::ADDITIVE, Level::ADDITIVE),
            COp::Add | COp::Sub | COp::Mul | COp::Div | COp::Mod => (self.level(), self.level() + 1),
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum CExpr {
    Int(i64),
    Bool(bool),
    /// A name or a literal that is one token.
    Token(String),
    /// Text that a memory, an extern or an instruction wrote.
    Raw(String),
    Neg(Box<CExpr>),
    Deref(Box<CExpr>),
    AddressOf(Box<CExpr>),
    /// `(T)operand`, with parentheses around operands that are not unary.
    Cast {
        ty: &'static str,
        operand: Box<CExpr>,
    },
    /// Parentheses that the conventions ask for although the grammar does not.
    Paren(Box<CExpr>),
    Binary {
        op: COp,
        lhs: Box<CExpr>,
        rhs: Box<CExpr>,
    },
    Index {
        base: Box<CExpr>,
        index: Box<CExpr>,
    },
    Member {
        base: Box<CExpr>,
        field: &'static str,
    },
    Call {
        function: String,
        args: Vec<CExpr>,
    },
    /// `(struct ty){ data, { strides } }`.
    WindowLiteral {
        ty: String,
        data: Box<CExpr>,
        strides: Vec<CExpr>,
    },
}

impl CExpr {
    pub fn token(text: impl Into<String>) -> Self {
        CExpr::Token(text.into())
    }

    pub fn binary(op: COp, lhs: CExpr, rhs: CExpr) -> Self {
        CExpr::Binary { op, lhs: Box::new(lhs), rhs: Box::new(rhs) }
    }

    /// Parentheses, unless `self` has them already.
    pub fn paren(self) -> Self {
        match self {
            CExpr::Paren(_) => self,
            other => CExpr::Paren(Box::new(other)),
        }
    }

    pub fn address(self) -> Self {
        CExpr::AddressOf(Box::new(self))
    }

    pub fn cast(self, ty: &'static str) -> Self {
        CExpr::Cast { ty, operand: Box::new(self) }
    }

    pub fn call(function: impl Into<String>, args: Vec<CExpr>) -> Self {
        CExpr::Call { function: function.into(), args }
    }

    pub fn index(self, index: CExpr) -> Self {
        CExpr::Index { base: Box::new(self), index: Box::new(index) }
    }

    pub fn member(self, field: &'static str) -> Self {
        CExpr::Member { base: Box::new(self), field }
    }

    pub fn text(&self) -> String {
        let mut out = String::new();
        self.write(Level::ANY, &mut out);
        out
    }

    /// The text in parentheses, unless it is one operand whatever stands around it.
    pub fn atom_text(&self) -> String {
        let mut out = String::new();
        self.write(Level::POSTFIX, &mut out);
        out
    }

    fn level(&self) -> u8 {
        match self {
            CExpr::Int(value) if *value < 0 => Level::UNARY,
            CExpr::Raw(text) if !is_postfix(text) => Level::ANY,
            CExpr::Int(_) | CExpr::Bool(_) | CExpr::Token(_) | CExpr::Raw(_) | CExpr::Paren(_) => Level::POSTFIX,
            CExpr::Index { .. } | CExpr::Member { .. } | CExpr::Call { .. } => Level::POSTFIX,
            CExpr::Neg(_) | CExpr::Deref(_) | CExpr::AddressOf(_) => Level::UNARY,
            CExpr::Cast { .. } | CExpr::WindowLiteral { .. } => Level::UNARY,
            CExpr::Binary { op, .. } => op.level(),
        }
    }

    fn write(&self, needed: u8, out: &mut String) {
        let parens = self.level() < needed;
        if parens {
            out.push('(');
        }
        self.write_bare(out);
        if parens {
            out.push(')');
        }
    }

    fn write_bare(&self, out: &mut String) {
        match self {
            // The literal 9223372036854775808 has no signed type, so the least integer is written as a difference.
            CExpr::Int(i64::MIN) => out.push_str("(-9223372036854775807 - 1)"),
            CExpr::Int(value) => out.push_str(&value.to_string()),
            CExpr::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
            CExpr::Token(text) | CExpr::Raw(text) => out.push_str(text),
            CExpr::Neg(operand) => {
                out.push('-');
                operand.write_signed(out);
            }
            CExpr::Deref(operand) => {
                out.push('*');
                operand.write(Level::UNARY, out);
            }
            CExpr::AddressOf(operand) => {
                out.push('&');
                operand.write(Level::UNARY, out);
            }
            CExpr::Cast { ty, operand } => {
                out.push_str(&format!("({ty})"));
                operand.write(Level::UNARY, out);
            }
            CExpr::Paren(inner) => {
                out.push('(');
                inner.write(Level::ANY, out);
                out.push(')');
            }
            CExpr::Binary { op, lhs, rhs } => {
                let (left, right) = op.operand_levels();
                lhs.write(lhs.operand_level(*op, left), out);
                out.push_str(&format!(" {} ", op.text()));
                rhs.write(rhs.operand_level(*op, right), out);
            }
            CExpr::Index { base, index } => {
                base.write(Level::POSTFIX, out);
                out.push('[');
                index.write(Level::ANY, out);
                out.push(']');
            }
            CExpr::Member { base, field } => {
                base.write(Level::POSTFIX, out);
                out.push_str(&format!(".{field}"));
            }
            CExpr::Call { function, args } => {
                out.push_str(&format!("{function}({})", list(args)));
            }
            CExpr::WindowLiteral { ty, data, strides } => {
                let data = data.text();
                out.push_str(&format!("(struct {ty}){{ {data}, {{ {} }} }}", list(strides)));
            }
        }
    }

    /// `usual`, or parentheses for `&&` below `||`, which compilers warn about although the grammar is clear.
    fn operand_level(&self, parent: COp, usual: u8) -> u8 {
        match self {
            CExpr::Binary { op: COp::And, .. } if parent == COp::Or => Level::AND + 1,
            _ => usual,
        }
    }

    /// The operand of a minus sign: never with a sign of its own in front, which would read as a decrement.
    fn write_signed(&self, out: &mut String) {
        let signed = match self {
            CExpr::Neg(_) => true,
            CExpr::Int(value) => *value < 0,
            CExpr::Token(text) | CExpr::Raw(text) => text.starts_with('-'),
            CExpr::Bool(_)
            | CExpr::Deref(_)
            | CExpr::AddressOf(_)
            | CExpr::Cast { .. }
            | CExpr::Paren(_)
            | CExpr::Binary { .. }
            | CExpr::Index { .. }
            | CExpr::Member { .. }
            | CExpr::Call { .. }
            | CExpr::WindowLiteral { .. } => false,
        };
        self.write(if signed { Level::POSTFIX + 1 } else { Level::UNARY }, out);
    }
}

fn list(items: &[CExpr]) -> String {
    let items: Vec<String> = items.iter().map(CExpr::text).collect();
    items.join(", ")
}

/// Whether user-written text is a name, number, or parenthesised text with calls, subscripts and members behind it.
fn is_postfix(text: &str) -> bool {
    let mut depth = 0usize;
    for (at, c) in text.trim().char_indices() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => match depth.checked_sub(1) {
                Some(less) => depth = less,
                None => return false,
            },
            _ if depth > 0 => {}
            c if c.is_alphanumeric() || c == '_' || (c == '.' && at > 0) => {}
            _ => return false,
        }
    }
    // A leading parenthesis may be a cast, which binds weaker than what follows it.
    depth == 0 && !text.trim().is_empty() && !text.trim_start().starts_with('(')
}

/// How a scalar or array variable is declared.
#[derive(Clone, Debug, PartialEq)]
pub struct CArray {
    pub ty: &'static str,
    pub name: String,
    pub is_static: bool,
    /// A scalar starts at zero.
    pub cleared: bool,
    /// Literal extents, outermost first; empty for a scalar.
    pub extents: Vec<i64>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum CStmt {
    NoOp,
    Comment(String),
    /// Text of a user's memory or instruction; only its first line is indented.
    Raw(String),
    Assume(CExpr),
    /// Ends the program with a message where the condition does not hold.
    Check {
        condition: CExpr,
        message: String,
    },
    /// Tells the compiler that a variable may stay unused. `always` is false where later mentions make it superfluous.
    Discard {
        name: String,
        always: bool,
    },
    Assign {
        lhs: CExpr,
        reduce: bool,
        rhs: CExpr,
    },
    /// A call in statement position: `f(ctxt,a,b);`, without blanks between arguments.
    Call {
        function: String,
        args: Vec<CExpr>,
    },
    Malloc {
        ty: &'static str,
        name: String,
        /// The function that takes a number of bytes.
        allocator: &'static str,
        extents: Vec<CExpr>,
    },
    Array(CArray),
    Free(String),
    Window {
        ty: String,
        name: String,
        value: CExpr,
    },
    If {
        cond: CExpr,
        body: Vec<CStmt>,
        orelse: Vec<CStmt>,
    },
    For {
        iter: String,
        lo: CExpr,
        hi: CExpr,
        parallel: bool,
        body: Vec<CStmt>,
    },
}

/// Writes statements, each on its own lines; `depth` counts enclosing blocks inside the function.
pub fn write_block(block: &[CStmt], depth: usize, out: &mut String) {
    for stmt in block {
        write_stmt(stmt, depth, out);
    }
}

/// The text of one statement, for looking at the names in it.
pub fn stmt_text(stmt: &CStmt) -> String {
    let mut out = String::new();
    write_stmt(stmt, 0, &mut out);
    out
}

fn write_stmt(stmt: &CStmt, depth: usize, out: &mut String) {
    let pad = "  ".repeat(depth);
    let line = |text: String, out: &mut String| {
        out.push_str(&pad);
        out.push_str(&text);
        out.push('\n');
    };
    match stmt {
        CStmt::NoOp => line("; // NO-OP".into(), out),
        CStmt::Comment(text) => line(format!("// {}", one_line(text)), out),
        CStmt::Raw(text) => line(text.clone(), out),
        CStmt::Assume(cond) => line(format!("EXO_ASSUME({});", cond.text()), out),
        CStmt::Check { condition, message } => {
            let message = one_line(message).replace('\\', "\\\\").replace('"', "\\\"");
            line(format!("EXO_CHECK({}, \"{message}\");", condition.text()), out);
        }
        CStmt::Discard { name, .. } => line(format!("(void){name};"), out),
        CStmt::Assign { lhs, reduce, rhs } => {
            let op = if *reduce { "+=" } else { "=" };
            line(format!("{} {op} {};", lhs.text(), rhs.text()), out);
        }
        CStmt::Call { function, args } => {
            let args: Vec<String> = args.iter().map(CExpr::text).collect();
            line(format!("{function}({});", args.join(",")), out);
        }
        CStmt::Malloc { ty, name, allocator, extents } => {
            let list: Vec<String> = extents.iter().map(CExpr::text).collect();
            let list = format!("(int_fast32_t[]){{{}}}", list.join(", "));
            let rank = extents.len();
            line(format!("{ty} *{name} = ({ty}*) exo_allocate({allocator}, sizeof(*{name}), {rank}, {list});"), out);
        }
        CStmt::Array(array) => line(array_text(array), out),
        CStmt::Free(name) => line(format!("free({name});"), out),
        CStmt::Window { ty, name, value } => line(format!("struct {ty} {name} = {};", value.text()), out),
        CStmt::If { cond, body, orelse } => {
            line(format!("if ({}) {{", cond.text()), out);
            write_block(body, depth + 1, out);
            if !orelse.is_empty() {
                line("} else {".into(), out);
                write_block(orelse, depth + 1, out);
            }
            line("}".into(), out);
        }
        CStmt::For { iter, lo, hi, parallel, body } => {
            if *parallel {
                line("#pragma omp parallel for".into(), out);
            }
            let mut bound = String::new();
            hi.write(Level::ADDITIVE, &mut bound);
            line(format!("for (int_fast32_t {iter} = {}; {iter} < {bound}; {iter}++) {{", lo.text()), out);
            write_block(body, depth + 1, out);
            line("}".into(), out);
        }
    }
}

fn array_text(array: &CArray) -> String {
    let CArray { ty, name, is_static, cleared, extents } = array;
    let storage = if *is_static { "static " } else { "" };
    if extents.is_empty() {
        let value = if *cleared { " = 0" } else { "" };
        return format!("{storage}{ty} {name}{value};");
    }
    let count = extents.iter().map(|extent| CExpr::Int(*extent)).reduce(literals::product);
    format!("{storage}{ty} {name}[{}];", count.map(|count| count.text()).unwrap_or_default())
}

/// Text that is safe inside a line comment: one line, and no backslash that would continue it.
pub fn one_line(text: &str) -> String {
    let joined: Vec<&str> = text.lines().map(str::trim_end).collect();
    joined.join(" ").trim_end_matches('\\').to_string()
}

/// The identifiers in C text, without those in string literals and comments.
pub fn identifiers(text: &str) -> BTreeSet<String> {
    let code = without_prose(text);
    let words = code.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    words.filter(|word| word.starts_with(|c: char| c.is_alphabetic() || c == '_')).map(str::to_string).collect()
}

/// C text with a blank for each literal in quotes and each comment.
fn without_prose(text: &str) -> String {
    let mut out = String::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match (c, chars.peek()) {
            ('"' | '\'', _) => {
                while let Some(inner) = chars.next() {
                    if inner == '\\' {
                        chars.next();
                    } else if inner == c {
                        break;
                    }
                }
                out.push(' ');
            }
            ('/', Some('/')) => {
                chars.by_ref().find(|inner| *inner == '\n');
                out.push('\n');
            }
            ('/', Some('*')) => {
                let mut last = ' ';
                chars.next();
                chars.by_ref().find(|inner| std::mem::replace(&mut last, *inner) == '*' && *inner == '/');
                out.push(' ');
            }
            _ => out.push(c),
        }
    }
    out
}

/// Drops every `Discard` of a variable that a later statement of the same block mentions anyway.
pub fn drop_superfluous_discards(block: Vec<CStmt>) -> Vec<CStmt> {
    let mut seen = BTreeSet::new();
    let mut kept: Vec<CStmt> = Vec::with_capacity(block.len());
    for stmt in block.into_iter().rev() {
        let stmt = match stmt {
            CStmt::Discard { name, always: false } if seen.contains(&name) => continue,
            CStmt::If { cond, body, orelse } => {
                CStmt::If { cond, body: drop_superfluous_discards(body), orelse: drop_superfluous_discards(orelse) }
            }
            CStmt::For { iter, lo, hi, parallel, body } => {
                CStmt::For { iter, lo, hi, parallel, body: drop_superfluous_discards(body) }
            }
            other => other,
        };
        if !matches!(stmt, CStmt::Comment(_)) {
            seen.extend(identifiers(&stmt_text(&stmt)));
        }
        kept.push(stmt);
    }
    kept.reverse();
    kept
}
