//! The steps of a schedule as one page for a browser that needs nothing else: no script, no other file, no network.

use std::fmt::Write as _;

use crate::commands::show::Step;

/// What the page is about.
pub(super) struct Subject<'a> {
    pub(super) pack: String,
    pub(super) kernel: &'a str,
    pub(super) target: &'a str,
}

const STYLE: &str = "\
:root { color-scheme: light dark; --ink: #1b1f24; --paper: #fff; --soft: #f3f4f6; --rule: #d4d8de; --gone: #ffe3e0; --new: #dcf5e3; --link: #0b57b0 }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4e7eb; --paper: #15181c; --soft: #1f242a; --rule: #3a4149; --gone: #4a2320; --new: #1d3f2a; --link: #8ab8f5 }
}
body { margin: 0 auto; max-width: 76rem; padding: 1rem; font: 1rem/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper) }
a { color: var(--link) }
h1 { font-size: 1.4rem } h2 { font-size: 1.05rem; margin: 0 0 .25rem; overflow-wrap: anywhere }
nav ol { columns: 20rem; padding-left: 2.5rem } nav li { overflow-wrap: anywhere }
section { border-top: 1px solid var(--rule); padding: 1rem 0 }
pre { overflow-x: auto; background: var(--soft); padding: .5rem; margin: .5rem 0; font: .85rem/1.4 ui-monospace, monospace }
del, ins { display: block; text-decoration: none } del { background: var(--gone) } ins { background: var(--new) }
summary { cursor: pointer } .place { margin: 0; font-size: .9rem }
";

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// A unified difference with its lines marked; the signs stay, so that colour is not all that tells them apart.
fn difference(text: &str) -> String {
    let mut marked = String::new();
    for line in text.lines() {
        let line_text = escaped(line);
        marked.push_str(&match line.chars().next() {
            Some('+') => format!("<ins>{line_text}</ins>"),
            Some('-') => format!("<del>{line_text}</del>"),
            Some(_) | None => format!("{line_text}\n"),
        });
    }
    marked
}

fn section(step: &Step<'_>) -> String {
    let (number, title) = (step.number, escaped(&step.name()));
    let mut text = format!("<section id=\"step-{number}\">\n<h2>{title}</h2>\n");
    if !step.place.is_empty() {
        let _ = writeln!(text, "<p class=\"place\">{}</p>", escaped(step.place));
    }
    let after = escaped(step.after.trim_end());
    if number == 0 {
        let _ = writeln!(text, "<pre>{after}</pre>");
    } else {
        let changes = step.difference();
        match changes.is_empty() {
            true => text.push_str("<p>No change.</p>\n"),
            false => text.push_str(&format!("<pre>{}</pre>\n", difference(&changes))),
        }
        let _ =
            writeln!(text, "<details><summary>The whole proc after this step</summary>\n<pre>{after}</pre></details>");
    }
    text.push_str("</section>\n");
    text
}

/// The page. Equal steps give equal bytes: it tells no time and no path of this machine.
pub(super) fn page(subject: &Subject<'_>, steps: &[Step<'_>]) -> String {
    let (kernel, target, pack) = (escaped(subject.kernel), escaped(subject.target), escaped(&subject.pack));
    let contents: String = steps
        .iter()
        .map(|step| {
            format!("<li value=\"{0}\"><a href=\"#step-{0}\">{1}</a></li>\n", step.number, escaped(&step.name()))
        })
        .collect();
    let sections: String = steps.iter().map(section).collect();
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <title>{kernel} for {target}, step by step</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n\
         <h1><code>{kernel}</code> for <code>{target}</code>, step by step</h1>\n<p>{pack}, exo {exo}. Each step was proven to \
         compute the same as the one before it, but for what it says itself.</p>\n<nav aria-label=\"Steps\">\n<ol>\n{contents}</ol>\n</nav>\n\
         {sections}</main>\n</body>\n</html>\n",
        exo = env!("CARGO_PKG_VERSION"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_a_kernel_is_never_markup() {
        let step = Step {
            number: 1,
            operator: "rename",
            arguments: "p, \"<script>\"",
            place: "src/<b>.exo:4",
            before: "def f():\n    pass",
            after: "def g():\n    x = 1 < 2",
        };
        let subject = Subject { pack: "a & b 1.0.0".into(), kernel: "k", target: "t" };
        let text = page(&subject, &[step]);
        assert!(!text.contains("<script") && !text.contains("<b>"), "{text}");
        assert!(text.contains("<del>-def f():</del>") && text.contains("<ins>+    x = 1 &lt; 2</ins>"), "{text}");
        assert!(text.contains("a &amp; b 1.0.0") && text.contains("href=\"#step-1\""), "{text}");
    }
}
