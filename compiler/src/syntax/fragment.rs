//! Expressions, windows and assertions that operators take as text, read in the scope of a place in a proc.

use std::collections::{BTreeMap, BTreeSet};

use ruff_python_ast::Expr as Syntax;
use ruff_text_size::Ranged;

use crate::cursor::path::{self, Path};
use crate::diagnostic::{Diagnostic, codes, counted};
use crate::hardware::config::Config;
use crate::hardware::extern_function::ExternFunction;
use crate::loop_ir::configuration::Touched;
use crate::loop_ir::declarations::{Declaration, Declarations};
use crate::loop_ir::summary::SpellingFilter;
use crate::loop_ir::{Access, Block, Control, Expr, ExprKind, Proc, Stmt, StmtKind, visit};
use crate::print::{self, Names};
use crate::source::{SourceFile, Span};
use crate::symbol::Sym;
use crate::syntax::malformed::{Wanted, malformed};
use crate::typecheck::literal::Position;
use crate::typecheck::scope::{Meaning, Scope};
use crate::typecheck::{Checker, HostValue, Reported, nesting};

/// An expression as it would be read just before the statement at `before` (a path into it counts as the statement).
///
/// Names mean the innermost binding that is visible there: parameters, iterators, allocations, windows. An integer
/// literal is an index unless the expression is data.
pub fn expr(text: &str, proc: &Proc, before: &Path) -> Result<Expr, Diagnostic> {
    formatted(text, &[], proc, before)
}

/// Like [`expr`]; the k-th hole `_` of the text stands for the k-th of `parts`, expressions of the same proc.
pub fn formatted(text: &str, parts: &[Expr], proc: &Proc, before: &Path) -> Result<Expr, Diagnostic> {
    in_scope(text, proc, before, |scope| {
        check_parts(parts, proc, before)?;
        let wanted = |position| {
            read(text, Wanted::Expression, proc, &[], scope.clone(), |checker, node| {
                checker.holes = parts.iter().cloned().collect();
                checker.expression(node, position)
            })
        };
        // Whether a literal is an index or a real follows from what stands beside it.
        wanted(Position::Control).or_else(|as_index| {
            wanted(Position::Data).map_err(|as_data| match as_data.code {
                codes::UNDEFINED_NAME => as_data,
                _ => as_index,
            })
        })
    })
}

/// A window such as `C[0:6, i, :]`, or a scalar's name; the accesses are one for each dimension.
pub fn window(text: &str, proc: &Proc, before: &Path) -> Result<(Sym, Vec<Access>), Diagnostic> {
    in_scope(text, proc, before, |scope| read(text, Wanted::Window, proc, &[], scope.clone(), window_of))
}

fn window_of(checker: &mut Checker<'_>, node: &Syntax) -> Result<(Sym, Vec<Access>), Reported> {
    let (base, name) = match node {
        Syntax::Name(name) => (node, name),
        Syntax::Subscript(subscript) => match &*subscript.value {
            base @ Syntax::Name(name) => (base, name),
            other => return checker.refuse(codes::PATTERN, other, "a window is taken from a buffer's name"),
        },
        _ => {
            return checker.refuse_hint(
                codes::PATTERN,
                node,
                "expected a window",
                "write the buffer and one index or slice for each dimension: `C[0:6, i]`",
            );
        }
    };
    let (symbol, shape) = checker.buffer(&name.id, base)?;
    let accesses = match node {
        Syntax::Subscript(_) => match &checker.expression(node, Position::Data)?.kind {
            ExprKind::Window { idx, .. } => idx.clone(),
            ExprKind::Read { idx, .. } => idx.iter().cloned().map(Access::Point).collect(),
            ExprKind::Const(_)
            | ExprKind::ReadConfig(_)
            | ExprKind::Neg(_)
            | ExprKind::Binary { .. }
            | ExprKind::Extern { .. }
            | ExprKind::Stride { .. } => Vec::new(),
        },
        _ if shape.is_empty() => Vec::new(),
        _ => {
            let all = vec![":"; shape.len()].join(", ");
            return checker.refuse_hint(
                codes::PATTERN,
                node,
                format!("`{}` has {}", name.id, counted(shape.len(), "dimension")),
                format!("write `{}[{all}]` for the whole buffer", name.id),
            );
        }
    };
    Ok((symbol, accesses))
}

/// A precondition over the parameters of a proc.
/// Besides the configs of the proc, `configs` may be named.
pub fn assertion(text: &str, proc: &Proc, configs: &[Config]) -> Result<Expr, Diagnostic> {
    let mut scope = Scope::default();
    bind_args(proc, &Declarations::of(proc), &Names::default(), &mut scope);
    read(text, Wanted::Assertion, proc, configs, scope, |checker, node| checker.condition(node))
}

/// Reads a text with the names visible just before the statement at `before`. At first only those that the text can
/// mean are made known; all of them are when it cannot be read so, since messages speak of the others too.
fn in_scope<T>(
    text: &str,
    proc: &Proc,
    before: &Path,
    reading: impl Fn(&Scope) -> Result<T, Diagnostic>,
) -> Result<T, Diagnostic> {
    let words: BTreeSet<&str> = text.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
    if words.iter().any(|word| print::may_be_made_up(word)) {
        return reading(&scope_before(proc, before, &Names::of(proc), SpellingFilter::ALL, &|_| true));
    }
    let names = words.iter().copied().filter(|word| word.starts_with(|c: char| c.is_alphabetic() || c == '_'));
    let spelled = SpellingFilter::of(names);
    let named = |symbol: &Sym| words.contains(symbol.name());
    reading(&scope_before(proc, before, &Names::default(), spelled, &named))
        .or_else(|_| reading(&scope_before(proc, before, &Names::of(proc), SpellingFilter::ALL, &|_| true)))
}

/// What of the names that `wanted` picks is visible just before the statement at `before`. All of them are spelled as in
/// `spelled`.
fn scope_before(
    proc: &Proc,
    before: &Path,
    names: &Names,
    spelled: SpellingFilter,
    wanted: &dyn Fn(&Sym) -> bool,
) -> Scope {
    let declarations = Declarations::of(proc);
    let mut scope = Scope::default();
    each_visible(proc, before, spelled, &mut |symbol| {
        if wanted(symbol) {
            bind(symbol, &declarations, names, &mut scope);
        }
    });
    scope
}

/// Calls `f` on what is visible just before the statement at `before`, outermost first. Declarations in lists may be left out
/// where they are not spelled as in `spelled`.
fn each_visible(proc: &Proc, before: &Path, spelled: SpellingFilter, f: &mut dyn FnMut(&Sym)) {
    proc.args.iter().for_each(|arg| f(&arg.name));
    let mut above = Path::root();
    for step in &before.0 {
        let Some((orelse, at)) = step.in_list() else { break };
        if let Some(StmtKind::For { iter, .. }) = path::stmt(proc, &above).map(|stmt| &stmt.kind) {
            f(iter);
        }
        let list = path::list(proc, &above, orelse).unwrap_or(Block::none());
        list.picked_in(0..at, move |summary| summary.declared.meets(spelled))
            .filter_map(|(_, stmt)| declared_for_later(stmt))
            .for_each(&mut *f);
        above = above.child(*step);
    }
}

/// What a statement declares for the statements after it.
fn declared_for_later(stmt: &Stmt) -> Option<&Sym> {
    match &stmt.kind {
        StmtKind::For { .. } => None,
        _ => visit::bound_by(stmt),
    }
}

fn bind_args(proc: &Proc, declarations: &Declarations, names: &Names, scope: &mut Scope) {
    for arg in &proc.args {
        bind(&arg.name, declarations, names, scope);
    }
}

fn bind(symbol: &Sym, declarations: &Declarations, names: &Names, scope: &mut Scope) {
    let meaning = match declarations.get(symbol) {
        Some(Declaration::Control(control)) => Meaning::Control(*control),
        Some(Declaration::Iterator) => Meaning::Control(Control::Index),
        Some(Declaration::Buffer { .. } | Declaration::Window { .. }) => {
            Meaning::Data { shape: declarations.shape(symbol).unwrap_or_default() }
        }
        None => Meaning::Broken,
    };
    scope.push_spelled(symbol.clone(), names.get(symbol).to_string(), meaning);
}

fn check_parts(parts: &[Expr], proc: &Proc, before: &Path) -> Result<(), Diagnostic> {
    let mut symbols = BTreeSet::new();
    parts.iter().for_each(|part| visit::expr_symbols(part, &mut symbols));
    if !symbols.is_empty() {
        let spelled = SpellingFilter::of(symbols.iter().map(Sym::name));
        each_visible(proc, before, spelled, &mut |symbol| {
            symbols.remove(symbol);
        });
    }
    match symbols.first() {
        None => Ok(()),
        Some(symbol) => {
            let message = format!("the spliced expression mentions `{symbol}`, which is not visible at this place");
            Err(Diagnostic::error(codes::PATTERN, message)
                .hint("splice expressions of enclosing or preceding scopes only"))
        }
    }
}

/// Parses one expression and hands it to `check` in a scope.
fn read<T>(
    text: &str,
    wanted: Wanted,
    proc: &Proc,
    configs: &[Config],
    scope: Scope,
    check: impl FnOnce(&mut Checker<'_>, &Syntax) -> Result<T, Reported>,
) -> Result<T, Diagnostic> {
    let text = text.trim();
    let file = SourceFile::new("<fragment>", text);
    nesting::check(&file)?;
    let parsed = ruff_python_parser::parse_expression(text).map_err(|error| malformed(&file, wanted, &error))?;
    let node = parsed.into_expr();
    let known = host_names(proc, configs);
    let mut checker = Checker::new(&file, &known);
    checker.scope = scope;
    let result = check(&mut checker, &node);
    checker.finish(result).map_err(|errors| {
        let span = Span::new(&file, node.range().start().to_u32(), node.range().end().to_u32());
        let unknown = || Diagnostic::error(codes::PATTERN, "the fragment cannot be read").at(&span, "here");
        errors.into_iter().next().unwrap_or_else(unknown)
    })
}

/// The externs that a fragment may call: the builtin ones and those that the proc calls already. The configs that it may
/// name: those given and those that the proc and its callees use.
fn host_names(proc: &Proc, configs: &[Config]) -> BTreeMap<String, HostValue> {
    let mut externs: BTreeMap<String, HostValue> = BTreeMap::new();
    let used = Touched::by_proc(proc).all();
    for config in used.iter().map(|field| field.config()).chain(configs) {
        externs.insert(config.name().to_string(), HostValue::Config(config.clone()));
        for field in config.fields() {
            externs.insert(field.to_string(), HostValue::ConfigField(field));
        }
    }
    let mut add = |function: &ExternFunction| {
        externs.insert(function.name.clone(), HostValue::Extern(function.clone()));
    };
    ExternFunction::builtin().iter().for_each(&mut add);
    visit::each_extern(&proc.body, &mut add);
    externs
}
