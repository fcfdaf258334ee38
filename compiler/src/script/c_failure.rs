//! What a C compiler or linker said, as a remedy in the words of packs.

/// What to do about C that does not compile or link; `None` where the output names no missing thing.
pub(crate) fn remedy(stderr: &str) -> Option<String> {
    stderr.lines().find_map(|line| undefined(line).or_else(|| header(line)).or_else(|| undeclared(line)))
}

const OWNERS: &str = "`c_global` of the instruction, `globals` of the extern or `global_` of the memory";

fn undefined(line: &str) -> Option<String> {
    let name = quoted_after(line, "undefined reference to ").or_else(|| word_after(line, "undefined symbol: "))?;
    Some(format!("nothing that is linked defines `{name}`: give its definition as C in {OWNERS}"))
}

fn header(line: &str) -> Option<String> {
    let name = match line.split_once(" file not found") {
        Some((before, _)) => before.rsplit(['\'', '"', ':', ' ']).find(|word| !word.is_empty())?.to_string(),
        None => {
            let (before, _) = line.split_once(": No such file or directory")?;
            before
                .contains("fatal error")
                .then(|| before.rsplit([':', ' ']).find(|word| !word.is_empty()))??
                .to_string()
        }
    };
    Some(format!(
        "the C compiler finds no header `{name}`: it is named in {OWNERS}; put the declarations there instead"
    ))
}

fn undeclared(line: &str) -> Option<String> {
    let leads =
        ["implicit declaration of function ", "call to undeclared function ", "call to undeclared library function "];
    if let Some(name) = leads.iter().find_map(|lead| quoted_after(line, lead)) {
        return Some(format!("`{name}` is not declared: name its header, `#include <...>`, in {OWNERS}"));
    }
    let names = ["use of undeclared identifier ", "unknown type name "];
    let name = names.iter().find_map(|lead| quoted_after(line, lead)).or_else(|| {
        let (before, _) = line.split_once(" undeclared (first use")?;
        before.rsplit(['\'', '`', '\u{2018}', '\u{2019}', ' ']).find(|word| !word.is_empty()).map(str::to_string)
    })?;
    Some(format!("`{name}` is not declared in the C: name its header, `#include <...>`, in {OWNERS}"))
}

/// The name between quotes, of any kind that compilers write, right after `lead`.
fn quoted_after(line: &str, lead: &str) -> Option<String> {
    let (_, rest) = line.split_once(lead)?;
    let name = rest.trim_start_matches(['\'', '`', '"', '\u{2018}']);
    let end = name.find(['\'', '`', '"', '\u{2019}'])?;
    name.get(..end).filter(|name| !name.is_empty()).map(str::to_string)
}

fn word_after(line: &str, lead: &str) -> Option<String> {
    let (_, rest) = line.split_once(lead)?;
    rest.split_whitespace().next().map(str::to_string)
}

#[cfg(test)]
mod tests {
    use super::remedy;

    #[test]
    fn what_is_missing_is_named() {
        for (said, name) in [
            ("/usr/bin/ld: kernel.c:(.text+0x1f): undefined reference to `my_tanh'", "`my_tanh`"),
            ("ld.lld: error: undefined symbol: my_tanh", "`my_tanh`"),
            ("kernel.c:3:10: fatal error: 'mine.h' file not found", "`mine.h`"),
            ("kernel.c:3:10: fatal error: mine.h: No such file or directory", "`mine.h`"),
            ("kernel.c:9:5: error: implicit declaration of function 'f' [-Wimplicit-function-declaration]", "`f`"),
            ("kernel.c:9:5: error: implicit declaration of function \u{2018}f\u{2019}", "`f`"),
            ("kernel.c:9:5: error: call to undeclared function 'f'; ISO C99 and later do not support", "`f`"),
            ("kernel.c:9:5: error: use of undeclared identifier 'K'", "`K`"),
            ("kernel.c:9:5: error: \u{2018}K\u{2019} undeclared (first use in this function)", "`K`"),
            ("kernel.c:9:5: error: unknown type name 'v8'", "`v8`"),
        ] {
            let hint = remedy(&format!("In file included\n{said}\n")).unwrap_or_default();
            assert!(hint.contains(name), "{said}: {hint}");
        }
        assert_eq!(remedy("kernel.c:9:5: error: expected ';'"), None);
        assert_eq!(remedy(""), None);
    }
}
