//! What users read of messages of the evaluator.

use super::{Origin, holes, of};

fn said_of(text: &str, written: &str, callee: Option<&str>) -> (String, String) {
    let origin = Origin { written, callee, parameters: &|name| (name == "cc").then(|| vec!["flags".to_string()]) };
    let words = of(text, &origin).unwrap_or_else(|| panic!("nothing is known of `{text}`"));
    (words.message, words.hint.unwrap_or_default())
}

fn said(text: &str) -> (String, String) {
    said_of(text, "", None)
}

#[test]
fn templates_give_what_stands_between_their_pieces() {
    assert_eq!(holes("a `x` b", ["a `", "` b"]), Some(vec!["x"]));
    assert_eq!(holes("a `x` and `y`", ["a `", "` and `", "`"]), Some(vec!["x", "y"]));
    assert_eq!(holes("a `x` c", ["a `", "` b"]), None);
    assert_eq!(holes("plain", ["plain"]), Some(Vec::new()));
    assert_eq!(holes("plainer", ["plain"]), None);
}

#[test]
fn object_code_in_host_code_is_to_be_quoted() {
    let (message, hint) = said_of("Operation `+` not supported for types `symbol` and `int`", "n + 1", None);
    assert_eq!(message, "host code has no `+` for a name of object code");
    assert!(hint.contains("`~{n + 1}`"), "{hint}");
    let (_, hint) = said_of("Operation `compare` not supported for types `int` and `symbol`", "if n > 3:", None);
    assert!(hint.contains("`if` of object code"), "{hint}");
    let text = "Type of parameter `a1` doesn't match, expected `int`, actual `symbol (repr: n)`";
    let (message, hint) = said_of(text, "range(n)", Some("range"));
    assert_eq!(message, "an argument of `range` must be an integer, not a name of object code `n`");
    assert!(hint.contains("for i in seq(0, n)"), "{hint}");
}

#[test]
fn calls_that_do_not_fit_name_the_function_as_users_do() {
    assert_eq!(said("Missing parameter `b` for call to `lib.load__exo`").0, "`load` needs an argument for `b`");
    assert_eq!(said("Found 2 extra positional argument(s) for call to lib.g").0, "`g` got 2 arguments too many");
    let (message, hint) = said("Found `flgs` extra named parameter(s) for call to prelude.cc");
    assert_eq!((message.as_str(), hint.as_str()), ("`cc` has no parameter `flgs`", "there is a similar name: `flags`"));
    let wrong = said_of("Wrong number of positional arguments, expected 1, got 2", "", Some("append"));
    assert_eq!(wrong.0, "`append` takes 1 argument, not 2");
}

#[test]
fn attributes_have_similar_names_and_operators_are_no_methods() {
    let (message, hint) = said("Object of type `cursor` has no attribute `bdy`, did you mean `body`?");
    assert_eq!(
        (message.as_str(), hint.as_str()),
        ("a cursor has no attribute `bdy`", "there is a similar name: `body`")
    );
    assert!(said("Object of type `proc` has no attribute `divide_loop`").1.contains("`divide_loop(p, ...)`"));
    assert!(said("Object of type `NoneType` has no attribute `x`").1.contains("without `return`"));
}

#[test]
fn other_mistakes_are_said_without_words_of_the_evaluator() {
    for (text, message) in [
        ("Operation `(iter)` not supported on type `proc`", "a proc cannot be looped over"),
        ("Operation `call()` not supported on type `extern`", "an extern cannot be called"),
        ("Operation `.name=` not supported on type `proc`", "the attribute `name` of a proc cannot be set"),
        ("Operation `format(%d)` not supported on type `string`", "`%d` in a format does not take a text"),
        ("Value of type `list` is not hashable", "a list cannot be a key"),
        ("Key `\"b\"` was not found", "there is no key `\"b\"`"),
        ("Index `5` is out of bound", "the index 5 is out of bounds"),
        ("Unpacked 3 values but expected 2", "3 values cannot be unpacked into 2"),
        ("Immutable", "this value cannot be changed any more"),
        (
            "This operation mutates an iterable for an iterator while iterating.",
            "a list, dict or set cannot change while a loop runs over it",
        ),
        ("Local variable `y` referenced before assignment", "`y` is used before it is assigned"),
        ("Variable `x` not found, did you mean `y`?", "`x` is not defined"),
        ("Expected `int`, but got `string (repr: \"a\")`", "this must be an integer, not a text `\"a\"`"),
        ("Unsupported format character: '5'", "`%5` is no format"),
        ("Floor division by zero: 1 // 0", "division by zero"),
    ] {
        assert_eq!(said(text).0, message);
    }
}

#[test]
fn what_is_not_known_is_left_alone() {
    let origin = Origin { written: "", callee: None, parameters: &|_| None };
    assert_eq!(of("Negative left shift", &origin), None);
}

#[test]
fn numbers_that_are_too_large_are_told_without_internals() {
    let unpacking = |parameter: &str, kind: &str, callee: &str| {
        said_of(&format!("error unpacking value for parameter `{parameter}` of type `{kind}"), "", Some(callee))
    };
    let (message, hint) = unpacking("a1", "int", "range");
    assert_eq!(message, "a number that `range` is given is too large");
    assert!(hint.contains("up to 2147483647") && hint.contains("seq(0, n)"), "{hint}");
    let (message, hint) = unpacking("maxsplit", "None | int", "split");
    assert_eq!(message, "a number that `split` is given is too large");
    assert!(hint.contains("to 2147483647"), "{hint}");
    assert_eq!(said("Integer value is too big to fit in i32: 9999999999").0, "the number 9999999999 is too large here");
    assert_eq!(said("Integer overflow computing left shift").0, "`<<` would make a number that is too large");
    assert!(said("Third argument of range (step) cannot be zero").0.contains("must not be 0"));
}
