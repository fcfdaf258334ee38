//! Numbers that the evaluator does not take: its own functions, indices and shifts count with 32 bits, though numbers have no bound.

use super::{Origin, Words, holes};

/// The words for a number that is too large, or not one that the function takes.
pub(super) fn of(text: &str, origin: &Origin<'_>) -> Option<Words> {
    if holes(text, ["error unpacking value for parameter `", "` of type `", ""]).is_some() {
        let callee = origin.callee.unwrap_or("this");
        let words = Words::new(format!("a number that `{callee}` is given is too large"));
        return Some(match callee {
            "range" => words.hint(format!(
                "host code counts up to {}; a loop of the kernel's own is `for i in seq(0, n)` in a proc",
                i32::MAX
            )),
            _ => words.hint(format!("the functions of host code take integers from {} to {}", i32::MIN, i32::MAX)),
        });
    }
    if let Some(found) = holes(text, ["integer value is too big to fit in i32: ", ""]) {
        let words = Words::new(format!("the number {} is too large here", found.first()?));
        return Some(words.hint(format!("indices and repetitions go up to {}", i32::MAX)));
    }
    match text {
        "integer overflow computing left shift" => {
            Some(Words::new("`<<` would make a number that is too large").hint("shift by fewer bits"))
        }
        "third argument of range (step) cannot be zero" => {
            Some(Words::new("the step of `range` must not be 0").hint("`range(start, stop)` has steps of 1"))
        }
        _ => None,
    }
}
