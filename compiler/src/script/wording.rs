//! What the Starlark evaluator says about mistakes, in the words of this language, with a remedy.
//!
//! Texts that are not known here pass as they are. The texts are those of the `starlark` crate 0.14.

mod numbers;

use crate::diagnostic::nearest;
use crate::hardware::extern_function::ExternFunction;
use crate::schedule::registry;
use crate::script::define::REFUSED_DEFINITION;
use crate::script::foreign_imports;
use crate::script::values::quotes;
use crate::syntax::module::source_name;
use crate::typecheck::remedies;

/// A message and what to do about it; hints may be missing.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Words {
    pub message: String,
    pub hint: Option<String>,
}

impl Words {
    fn new(message: impl Into<String>) -> Self {
        Words { message: message.into(), hint: None }
    }

    fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    fn hint_if(self, hint: Option<String>) -> Self {
        Words { hint: hint.or(self.hint), ..self }
    }
}

/// Where an error is from.
pub(crate) struct Origin<'a> {
    /// The piece of the user's text that the error is about; empty where there is none.
    pub written: &'a str,
    /// The innermost function that was called.
    pub callee: Option<&'a str>,
    /// The parameters of a function of the prelude.
    pub parameters: &'a dyn Fn(&str) -> Option<Vec<String>>,
}

/// The words for `text`, the first line of what the evaluator says.
pub(crate) fn of(text: &str, origin: &Origin<'_>) -> Option<Words> {
    let text = text.trim_end_matches('.');
    let mut lower = text.chars();
    let text = lower.next().map(|first| first.to_lowercase().collect::<String>() + lower.as_str())?;
    operation(&text, origin)
        .or_else(|| attribute(&text))
        .or_else(|| name(&text, origin))
        .or_else(|| arguments(&text, origin))
        .or_else(|| kinds(&text, origin))
        .or_else(|| contents(&text))
        .or_else(|| formats(&text))
        .or_else(|| numbers::of(&text, origin))
}

/// The texts between the pieces of a template, where `text` is an instance of it.
fn holes<'t, const N: usize>(text: &'t str, pieces: [&str; N]) -> Option<Vec<&'t str>> {
    let (first, rest) = pieces.split_first()?;
    let mut left = text.strip_prefix(first)?;
    let Some((last, between)) = rest.split_last() else { return left.is_empty().then(Vec::new) };
    let mut found = Vec::new();
    for piece in between {
        let (hole, after) = left.split_once(piece)?;
        found.push(hole);
        left = after;
    }
    found.push(left.strip_suffix(last)?);
    Some(found)
}

/// A value of a type, with an article.
pub(crate) fn kind(kind: &str) -> String {
    a(kind)
}

fn a(kind: &str) -> String {
    match kind {
        "int" | "int | float" | "float | int" => "an integer".to_string(),
        "float" => "a number".to_string(),
        "str" | "string" => "a text".to_string(),
        "bool" => "a bool".to_string(),
        "NoneType" | "None" => "`None`".to_string(),
        "nothing" => "nothing".to_string(),
        "typing.Callable" => "a function".to_string(),
        "typing.Iterable" => "a list".to_string(),
        quotes::SYMBOL => "a name of object code".to_string(),
        quotes::EXPRESSION => "a quoted expression".to_string(),
        quotes::STATEMENTS => "quoted statements".to_string(),
        "missing" => "an operation that the target lacks".to_string(),
        REFUSED_DEFINITION => REFUSED.to_string(),
        "formatted_expr" => "a formatted expression".to_string(),
        "type_word" => "a type of object code".to_string(),
        "native_function" => "a function".to_string(),
        other => {
            let article = if other.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
            format!("{article} {}", other.replace('_', " "))
        }
    }
}

/// What messages call the value of a name whose definition was refused.
pub(crate) const REFUSED: &str = "a refused definition";

fn is_object_code(kind: &str) -> bool {
    matches!(kind, quotes::SYMBOL | quotes::EXPRESSION)
}

/// What to do instead of computing with object code in host code.
fn quote_it(written: &str, result_is_index: bool) -> String {
    let example = match written.lines().next() {
        Some(line) if result_is_index && written.lines().count() == 1 => format!("`~{{{line}}}`"),
        Some(_) | None => "`~{n + 1}`".to_string(),
    };
    format!("host code cannot compute with object code; quote the computation, {example}")
}

/// An operation that the types of its operands do not have.
fn operation(text: &str, origin: &Origin<'_>) -> Option<Words> {
    if let Some(found) = holes(text, ["operation `", "` not supported for types `", "` and `", "`"]) {
        let &[op, left, right] = found.as_slice() else { return None };
        return Some(binary(op, left, right, origin));
    }
    let found = holes(text, ["operation `", "` not supported on type `", "`"])?;
    let &[op, kind] = found.as_slice() else { return None };
    Some(match op {
        "call()" => Words::new(format!("{} cannot be called", a(kind))).hint_if(callable(kind, origin)),
        "(iter)" => Words::new(format!("{} cannot be looped over", a(kind))).hint_if(iterable(kind, origin)),
        "len()" => Words::new(format!("{} has no length", a(kind)))
            .hint("texts, lists, tuples, dicts, sets and blocks of statements have one; so must what is unpacked, as in `a, b = x`"),
        "-" | "+" | "~" if is_object_code(kind) => {
            Words::new(format!("host code has no `{op}` for {}", a(kind))).hint(quote_it(origin.written, true))
        }
        "[]=" | "set []" => Words::new(format!("the elements of {} cannot be set", a(kind))).hint("make a new value instead"),
        op if op.starts_with('.') && op.ends_with('=') => {
            let field = op.trim_start_matches('.').trim_end_matches('=');
            let words = Words::new(format!("the attribute `{field}` of {} cannot be set", a(kind)));
            match (kind, field) {
                ("proc", "name") => words.hint("`rename(p, \"name\")` gives the proc under another name"),
                _ => words.hint("values do not change: make a new one"),
            }
        }
        op if op.starts_with("format(") => {
            let code = op.trim_start_matches("format(").trim_end_matches(')');
            Words::new(format!("`{code}` in a format does not take {}", a(kind))).hint("`%s` takes any value")
        }
        op => Words::new(format!("`{op}` does not take {}", a(kind))),
    })
}

fn binary(op: &str, left: &str, right: &str, origin: &Origin<'_>) -> Words {
    let kinds = [left, right];
    if kinds.iter().any(|kind| is_object_code(kind)) {
        let code = kinds.into_iter().find(|kind| is_object_code(kind)).unwrap_or_default();
        return match op {
            "compare" | "cmp()" => Words::new(format!("host code cannot compare {}", a(code)))
                .hint("its value is known when the proc runs; an `if` of object code decides then"),
            "[]" => Words::new(format!("host code cannot index {}", a(code))).hint(quote_it(origin.written, true)),
            _ => Words::new(format!("host code has no `{op}` for {}", a(code))).hint(quote_it(origin.written, true)),
        };
    }
    match op {
        "compare" | "cmp()" => Words::new(format!("{} and {} cannot be compared", a(left), a(right))),
        "[]" if left == "proc" => Words::new("a proc cannot be indexed")
            .hint("`p.body()[0]` is its first statement, `p.args()[0]` its first argument, `p.find(...)` finds places"),
        "[]" => Words::new(format!("{} cannot be indexed by {}", a(left), a(right))),
        "in" => Words::new(format!("{} cannot hold {}", a(left), a(right))),
        _ => Words::new(format!("`{op}` does not take {} and {}", a(left), a(right))).hint_if(mixed(op, kinds)),
    }
}

fn mixed(op: &str, kinds: [&str; 2]) -> Option<String> {
    let has = |kind: &str| kinds.contains(&kind);
    if has("NoneType") {
        return Some(GIVES_NONE.to_string());
    }
    if has("proc") || has("cursor") {
        return Some("operators are functions of a proc: `exo help operators` lists them".to_string());
    }
    if op == "+" && has("string") && (has("int") || has("float")) {
        return Some("make a text of the number: `str(n)`, or `f\"x{n}\"`".to_string());
    }
    (op == "+" && has("list")).then(|| "only lists are added to a list: `xs + [x]`".to_string())
}

pub(crate) const GIVES_NONE: &str =
    "a function without `return` gives `None`, and so do methods that change a list or a dict";

fn callable(kind: &str, origin: &Origin<'_>) -> Option<String> {
    match kind {
        "proc" => {
            Some("procs are called in object code; in host code operators take them: `divide_loop(p, ...)`".into())
        }
        "extern" => {
            let host = match origin.callee {
                Some("fmaxf") => ", and host code has `max`",
                _ => "",
            };
            Some(format!("externs are called in object code only{host}"))
        }
        "NoneType" => Some(GIVES_NONE.to_string()),
        _ => None,
    }
}

fn iterable(kind: &str, origin: &Origin<'_>) -> Option<String> {
    match kind {
        // Inside of a function it is an argument that is wrong.
        "int" if origin.callee.is_none() => Some("`range(n)` has the integers below `n`".into()),
        "proc" => Some(
            "`p.body()` has its statements, `p.args()` its arguments, `p.find(..., many = True)` all matches".into(),
        ),
        "NoneType" => Some(GIVES_NONE.to_string()),
        kind if is_object_code(kind) => {
            Some("its value is known when the proc runs; a loop of object code, `for i in seq(0, n)`, runs then".into())
        }
        _ => None,
    }
}

fn attribute(text: &str) -> Option<Words> {
    let found = holes(text.trim_end_matches('?'), ["object of type `", "` has no attribute `", "`"])?;
    let &[kind, rest] = found.as_slice() else { return None };
    let (field, near) = match rest.split_once("`, did you mean `") {
        Some((field, near)) => (field, Some(near)),
        None => (rest, None),
    };
    let field = source_name(field);
    let words = Words::new(match kind {
        "struct" => format!("there is no `{field}` in this module or struct"),
        _ => format!("{} has no attribute `{field}`", a(kind)),
    });
    Some(match (kind, near) {
        ("proc", _) if registry::find(field).is_some() => {
            words.hint(format!("operators are functions: write `{field}(p, ...)` instead of `p.{field}(...)`"))
        }
        ("proc", _) if foreign_imports::of_exo_method(field).is_some() => {
            words.hint_if(foreign_imports::of_exo_method(field).map(str::to_string))
        }
        (_, Some(near)) => words.hint(format!("there is a similar name: `{}`", source_name(near))),
        ("proc", None) if field.contains("compile") || field.contains("c_code") => {
            words.hint("`p.c_code_str()` is its C")
        }
        ("dict", None) => words.hint(format!("a key stands between brackets: `d[\"{field}\"]`")),
        ("NoneType", None) => words.hint(GIVES_NONE),
        (kind, None) if is_object_code(kind) => words.hint("host code only passes it on, into quoted code"),
        (_, None) => words,
    })
}

fn name(text: &str, origin: &Origin<'_>) -> Option<Words> {
    if let Some(found) = holes(text, ["local variable `", "` referenced before assignment"]) {
        let name = source_name(found.first()?);
        return Some(
            Words::new(format!("`{name}` is used before it is assigned")).hint(
                "a name that a function assigns is its own: take the value as an argument, and return the new one",
            ),
        );
    }
    if let Some(found) = holes(text, ["variable `", "` not found, did you mean `", "`?"]) {
        let &[name, near] = found.as_slice() else { return None };
        if let Some(words) = python_module(source_name(name), origin) {
            return Some(words);
        }
        let words = Words::new(format!("`{}` is not defined", source_name(name)));
        if let Some(instead) = foreign_imports::of_exo_name(source_name(name)) {
            return Some(words.hint(instead));
        }
        return Some(words.hint(format!("there is a similar name: `{}`", source_name(near))));
    }
    let found = holes(text, ["variable `", "` not found"])?;
    let name = source_name(found.first()?);
    if let Some(words) = python_module(name, origin) {
        return Some(words);
    }
    let words = Words::new(format!("`{name}` is not defined"));
    Some(match (name, registry::known_as(name)) {
        (_, Some(operator)) => words.hint(format!("the operator is called `{operator}`")),
        _ if foreign_imports::of_exo_name(name).is_some() => {
            words.hint_if(foreign_imports::of_exo_name(name).map(str::to_string))
        }
        ("isinstance", _) => words.hint("ask `type(x) == \"int\"`"),
        ("round" | "pow" | "divmod", _) => {
            words.hint("host code has `//`, `%`, `*`, `int(x)`, `abs`, `min`, `max` and `sum`")
        }
        _ => words
            .hint("operators are listed by `exo help operators`; names of packs are imported: `from PACK import NAME`"),
    })
}

/// The words for the name of a module of Python; `written` may show which of its functions is meant.
fn python_module(name: &str, origin: &Origin<'_>) -> Option<Words> {
    if !foreign_imports::is_python(name) {
        return None;
    }
    let words = Words::new(format!("`{name}` is not defined: modules of Python cannot be imported"));
    let function = origin.written.strip_prefix(name).and_then(|rest| rest.strip_prefix('.')).unwrap_or_default();
    let function = function.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default();
    let is_extern = ExternFunction::builtin().iter().any(|known| known.name == function);
    Some(match (is_extern, remedies::of(function)) {
        _ if function.is_empty() => {
            words.hint("object code calls externs (`sqrt`, `expf`, `exo help extern`); host code has `//`, `%`, `abs`, `min` and `max`")
        }
        (true, _) => words.hint(format!("`{function}` is an extern: write `{function}(...)`")),
        (false, Some(remedy)) => words.hint(remedy),
        (false, None) => words.hint(format!(
            "make an extern of your own in host code, `extern(\"{function}\", c = ...)`: see `exo help extern`"
        )),
    })
}

/// The function of a call as its user writes it: without its module.
fn function(name: &str) -> &str {
    source_name(name.rsplit('.').next().unwrap_or(name))
}

/// Arguments that do not fit the parameters.
fn arguments(text: &str, origin: &Origin<'_>) -> Option<Words> {
    for (lead, is_named) in [
        ("missing parameter `", false),
        ("missing named-only parameter `", true),
        ("missing positional-only parameter `", false),
    ] {
        if let Some(found) = holes(text, [lead, "` for call to `", "`"]) {
            let &[parameter, callee] = found.as_slice() else { return None };
            let words = Words::new(format!("`{}` needs an argument for `{parameter}`", function(callee)));
            return Some(match is_named {
                true => words.hint(format!("it is passed by name: `{parameter} = ...`")),
                false => words.hint_if(signature(callee, origin)),
            });
        }
    }
    if let Some(found) = holes(text, ["found ", " extra positional argument(s) for call to ", ""]) {
        let &[count, callee] = found.as_slice() else { return None };
        let plural = if count == "1" { "" } else { "s" };
        let words = Words::new(format!("`{}` got {count} argument{plural} too many", function(callee)));
        return Some(words.hint_if(signature(callee, origin)));
    }
    if let Some(found) = holes(text, ["found `", "` extra named parameter(s) for call to ", ""]) {
        let &[names, callee] = found.as_slice() else { return None };
        let words =
            Words::new(format!("`{}` has no parameter `{}`", function(callee), names.replace("` `", "` and `")));
        let known = (origin.parameters)(function(callee)).unwrap_or_default();
        let near = nearest(names, known.iter().map(String::as_str));
        return Some(match near.first() {
            Some(near) => words.hint(format!("there is a similar name: `{near}`")),
            None => words.hint_if(signature(callee, origin)),
        });
    }
    if let Some(found) = holes(text, ["wrong number of positional arguments, expected ", ", got ", ""]) {
        let &[expected, got] = found.as_slice() else { return None };
        let callee = origin.callee.map_or("the function".to_string(), |callee| format!("`{}`", function(callee)));
        let plural = if expected == "1" { "" } else { "s" };
        return Some(Words::new(format!("{callee} takes {expected} argument{plural}, not {got}")));
    }
    if let Some(found) = holes(text, ["argument `", "` occurs more than once"]) {
        let parameter = found.first()?;
        return Some(Words::new(format!("the argument for `{parameter}` is given twice, by position and by name")));
    }
    match text {
        "the argument provided for *args is not an identifier" => {
            Some(Words::new("the keys of `**` arguments must be texts"))
        }
        "the argument provided for *args is not iterable" => {
            Some(Words::new("what stands behind `*` must be a list or a tuple"))
        }
        "the argument provided for **kwargs is not a dictionary" => {
            Some(Words::new("what stands behind `**` must be a dict"))
        }
        _ => None,
    }
}

/// What a function of the prelude takes.
fn signature(callee: &str, origin: &Origin<'_>) -> Option<String> {
    let name = function(callee);
    let parameters = (origin.parameters)(name)?;
    (!parameters.is_empty()).then(|| format!("its parameters are `{}`", parameters.join("`, `")))
}

/// Values of the wrong kind.
fn kinds(text: &str, origin: &Origin<'_>) -> Option<Words> {
    if let Some(found) = holes(text, ["type of parameter `", "` doesn't match, expected `", "`, actual `", "`"]) {
        let &[parameter, expected, actual] = found.as_slice() else { return None };
        let callee = origin.callee.map_or(String::new(), |callee| format!(" of `{}`", function(callee)));
        // Starlark's own functions have parameters that no user has heard of.
        let which = match parameter.ends_with(|c: char| c.is_ascii_digit()) || STARLARK_PARAMETERS.contains(&parameter)
        {
            true => format!("an argument{callee}"),
            false => format!("the argument `{parameter}`{callee}"),
        };
        return Some(wrong_kind(&which, expected, actual, origin));
    }
    for lead in ["type of parameters mismatch, expected `", "expected `", "expected value of type `"] {
        let found = holes(text, [lead, "`, actual `", "`"])
            .or_else(|| holes(text, [lead, "`, but got `", "`"]))
            .or_else(|| holes(text, [lead, "` but got `", "`"]));
        if let Some(found) = found {
            let &[expected, actual] = found.as_slice() else { return None };
            return Some(wrong_kind("this", expected, actual, origin));
        }
    }
    if let Some(found) = holes(text, ["value `", "` of type `", "` does not match the type annotation `", "` for ", ""])
    {
        let &[value, kind, expected, what] = found.as_slice() else { return None };
        return Some(Words::new(format!("{what} must be {}, not {} (`{value}`)", a(expected), a(kind))));
    }
    let found = holes(text, ["value of type `", "` is not hashable"])?;
    let kind = found.first()?;
    let words = Words::new(format!("{} cannot be a key", a(kind)));
    Some(match *kind {
        "list" => words.hint("a tuple can: `(a, b)`"),
        _ => words,
    })
}

/// Names of parameters inside of the evaluator.
const STARLARK_PARAMETERS: [&str; 6] = ["to_join", "func", "seq", "this", "x", "value"];

/// `actual` is a type, with the value behind it where it is short.
fn wrong_kind(which: &str, expected: &str, actual: &str, origin: &Origin<'_>) -> Words {
    let (kind, value) = match holes(actual, ["", " (repr: ", ")"]).as_deref() {
        Some(&[kind, value]) => (kind, Some(value)),
        _ => (actual, None),
    };
    let expected: Vec<String> = expected.split(" | ").map(a).collect();
    let found = match value.filter(|value| !value.contains('\n') && kind != "NoneType") {
        Some(value) => format!("{} `{value}`", a(kind)),
        None => a(kind),
    };
    let words = Words::new(format!("{which} must be {}, not {found}", expected.join(" or ")));
    match is_object_code(kind) {
        true if origin.callee == Some("range") => words.hint_if(iterable(kind, origin)),
        true => words.hint("its value is known when the proc runs; host code only passes it on, into quoted code"),
        false => words,
    }
}

/// Mistakes about what is inside of lists, dicts and texts.
fn contents(text: &str) -> Option<Words> {
    if let Some(found) = holes(text, ["key `", "` was not found"]) {
        return Some(
            Words::new(format!("there is no key `{}`", found.first()?))
                .hint("`d.get(key, default)` has a value for it"),
        );
    }
    if let Some(found) = holes(text, ["index `", "` is out of bound"]) {
        return Some(Words::new(format!("the index {} is out of bounds", found.first()?)));
    }
    if let Some(found) = holes(text, ["unpacked ", " values but expected ", ""]) {
        let &[have, want] = found.as_slice() else { return None };
        return Some(Words::new(format!("{have} values cannot be unpacked into {want}")));
    }
    if let Some(found) = holes(text, ["element '", "' not found in ", ""]) {
        return Some(Words::new(format!("there is no {} in the list", found.first()?)));
    }
    if let Some(found) = holes(text, ["argument is an empty iterable, ", "() expect a non empty iterable"]) {
        return Some(Words::new(format!("`{}` needs at least one value", found.first()?)));
    }
    if let Some(found) = holes(text, ["cannot parse `", "` as an integer in base ", ""]) {
        let &[written, base] = found.as_slice() else { return None };
        return Some(Words::new(format!("`{written}` is no integer in base {base}")));
    }
    if holes(text, ["floor division by zero: ", ""]).or_else(|| holes(text, ["modulo by zero: ", ""])).is_some() {
        return Some(Words::new("division by zero"));
    }
    match text {
        "immutable" => Some(Words::new("this value cannot be changed any more").hint(
            "tuples and texts never change, and nothing does once its module is finished: make a new value, as with `list(x)`",
        )),
        "this operation mutates an iterable for an iterator while iterating" => Some(
            Words::new("a list, dict or set cannot change while a loop runs over it").hint("loop over a copy: `for x in list(xs):`"),
        ),
        _ => None,
    }
}

/// Mistakes in formats.
fn formats(text: &str) -> Option<Words> {
    let hint = "`%s`, `%d`, `%r`, `%x` and `%o` stand for one value each, `%%` for a percent sign; or write `f\"{x}\"`";
    if let Some(found) = holes(text, ["unsupported format character: ", ""]) {
        let character = found.first()?.trim_matches('\'');
        return Some(Words::new(format!("`%{character}` is no format")).hint(hint));
    }
    match text {
        "too many arguments for format string" => {
            Some(Words::new("the format has fewer places than values").hint(hint))
        }
        "not enough arguments for format string" | "not enough parameters in format string" => {
            Some(Words::new("the format has more places than values"))
        }
        "incomplete format" => Some(Words::new("the format ends behind its `%`").hint(hint)),
        _ => None,
    }
}

#[cfg(test)]
#[allow(clippy::panic)]
mod tests;
