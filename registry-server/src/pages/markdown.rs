//! A pack's README as HTML that can do no harm: neither to readers, nor to the server that has to make it.

use std::collections::HashSet;
use std::fmt;

use ammonia::Builder;
use comrak::arena_tree::NodeEdge;
use comrak::nodes::{AstNode, NodeValue};
use comrak::{Arena, Options, format_html, try_parse_document};

use crate::efforts::Audience;

/// Deeper nesting than anybody writes. Sanitising takes time that grows with the square of it.
const DEEPEST: usize = 60;

/// Parts of a text (paragraphs, words between marks, cells of tables), each of which takes some hundred bytes while it is laid out. A table
/// has more of them than signs in the text: short rows are filled up.
const MOST_PARTS: usize = 50_000;

/// The longest HTML before it is sanitised, in bytes.
const LONGEST: usize = 2 << 20;

/// Renders Markdown (CommonMark with the tables, task lists and links of GitHub).
///
/// Raw HTML is dropped before and the rest is sanitised after rendering. Images are dropped too: they would tell their servers
/// who reads which pack. Headings go one level down, below that of the page. A text that would be nested too deeply or become too large
/// is shown as it stands, and so is one for which nobody waits.
pub(super) fn render(text: &str, audience: &Audience) -> String {
    laid_out(text, audience).unwrap_or_else(|| plain(text))
}

/// The text as HTML, unless that is too much.
fn laid_out(text: &str, audience: &Audience) -> Option<String> {
    let options = options();
    let arena = Arena::new();
    let too_much = || arena.len() > MOST_PARTS || audience.has_left();
    let root = try_parse_document(&arena, text, &options, &too_much).ok()?;
    if too_much() || depth(root) > DEEPEST {
        return None;
    }
    for node in root.descendants() {
        if let NodeValue::Heading(heading) = &mut node.data.borrow_mut().value {
            heading.level = (heading.level + 1).min(6);
        }
    }
    let mut html = Bounded(String::new());
    format_html(root, &options, &mut html).ok()?;
    Some(sanitiser().clean(&html.0).to_string())
}

/// Text that has an end.
struct Bounded(String);

impl fmt::Write for Bounded {
    fn write_str(&mut self, more: &str) -> fmt::Result {
        if self.0.len() + more.len() > LONGEST {
            return Err(fmt::Error);
        }
        self.0.push_str(more);
        Ok(())
    }
}

/// The text as it stands, with the reason.
fn plain(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            other => escaped.push(other),
        }
    }
    format!(
        "<p>This text is shown as it was written: its tables, links or lists are too many, or too deep in each other, to be laid out.</p><pre>{escaped}</pre>"
    )
}

/// How deeply parts stand in parts.
fn depth<'a>(root: &'a AstNode<'a>) -> usize {
    let (mut open, mut deepest) = (0_usize, 0);
    for edge in root.traverse() {
        match edge {
            NodeEdge::Start(_) => open += 1,
            NodeEdge::End(_) => open -= 1,
        }
        deepest = deepest.max(open);
    }
    deepest
}

fn options() -> Options<'static> {
    let mut options = Options::default();
    options.extension.table = true;
    options.extension.strikethrough = true;
    options.extension.autolink = true;
    options.extension.tasklist = true;
    options
}

fn sanitiser() -> Builder<'static> {
    let mut builder = Builder::default();
    builder
        .rm_tags(["img", "map", "area", "details", "summary"])
        .url_schemes(HashSet::from(["http", "https", "mailto"]))
        .url_relative(ammonia::UrlRelative::Deny)
        .link_rel(Some("nofollow noopener noreferrer"));
    builder
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn render(text: &str) -> String {
        super::render(text, &Audience::default())
    }

    /// The rows of a table are filled up to its width, which a text of some kilobytes makes a page of megabytes, for each of its tables.
    #[test]
    fn a_text_that_would_become_large_is_shown_as_it_stands() {
        let table = |columns: usize, rows: usize| {
            format!("{}\n{}\n{}\n", "|a".repeat(columns), "|-".repeat(columns), "|a\n".repeat(rows))
        };
        let quoted: String = table(700, 700).lines().map(|line| format!("> {line}\r\n")).collect();
        let referring = format!("[a]: https://a.example/{}\n\n{}", "b".repeat(900), "[a]\n\n".repeat(20_000));
        for (what, text) in [
            ("wide", table(700, 700)),
            ("many", table(20, 20).repeat(200)),
            ("quoted", quoted),
            ("forty", table(700, 700).repeat(40)),
            ("references", referring),
        ] {
            let html = render(&text);
            let most = text.len() + text.len() / 2 + 1000;
            assert!(
                html.starts_with("<p>This text is shown as it was written") && html.len() < most.max(LONGEST),
                "{what}"
            );
        }
        let usual = render(&format!("{}\n", table(6, 200).repeat(10)));
        assert!(usual.contains("<td>a</td>"), "{}", &usual[..200]);
    }

    #[test]
    fn a_text_as_it_stands_is_still_text() {
        let html = render(&format!("{}<script>&\0", "> ".repeat(DEEPEST)));
        assert!(html.contains("&gt; &lt;script&gt;&amp;"), "{html}");
    }

    #[test]
    fn what_a_readme_uses() {
        let html = render("# neon\n\nSee [site](https://a.example).\n\n| a | b |\n|---|---|\n| 1 | `x < y` |\n");
        assert!(html.contains("<h2>neon</h2>"), "{html}");
        assert!(html.contains("<a href=\"https://a.example\" rel=\"nofollow noopener noreferrer\">site</a>"), "{html}");
        assert!(html.contains("<td><code>x &lt; y</code></td>"), "{html}");
    }

    #[test]
    fn what_could_do_harm() {
        for hostile in [
            "<script>alert(1)</script>",
            "<img src=x onerror=alert(1)>",
            "![a](https://tracker.example/p.png)",
            "[a](javascript:alert(1))",
            "[a](data:text/html;base64,PHNjcmlwdD4=)",
            "<iframe src=https://a.example></iframe>",
            "<a href=\"https://a.example\" onclick=\"x()\" style=\"position:fixed\">a</a>",
            "<form action=/account><button>a</button></form>",
            "<svg><script>alert(1)</script></svg>",
            "<math><mtext></form><form><mglyph><style></math><img src onerror=alert(1)>",
            "[a](//evil.example)",
            "[a](/account/tokens)",
        ] {
            let html = render(hostile);
            for forbidden in [
                "<script",
                "onerror=",
                "onclick=",
                "<img",
                "javascript:",
                "data:",
                "<iframe",
                "style=",
                "<form",
                "<svg",
                "href=\"/",
            ] {
                assert!(!html.contains(forbidden), "{hostile}\n{html}");
            }
        }
    }

    #[test]
    fn no_text_takes_long() {
        let lines = |line: &str, count: usize| format!("{line}\n").repeat(count);
        for (what, text) in [
            ("quotes", "> ".repeat(100_000)),
            ("lists", "* ".repeat(100_000)),
            ("brackets", "[".repeat(200_000)),
            ("links", "[a](".repeat(50_000)),
            ("emphasis", "*a **b ".repeat(30_000)),
            ("closed emphasis", format!("{}x{}", "**a *b".repeat(20_000), "* **".repeat(20_000))),
            ("backticks", (1..600).map(|length| "`".repeat(length) + " ").collect()),
            ("entities", "&amp;".repeat(50_000)),
            ("table", lines(&"|a".repeat(200), 600)),
            ("wide table", format!("{}\n{}\n{}", "|a".repeat(20_000), "|-".repeat(20_000), lines("|a", 20_000))),
            ("html", "<a>".repeat(80_000)),
            ("html blocks", lines("<!--", 60_000)),
            ("nested lines", lines(&"> ".repeat(50), 2_500)),
            ("references", lines("[a]: /b \"c\"", 20_000)),
            ("autolinks", "http://a.b/ www.a@b.c ".repeat(10_000)),
        ] {
            let start = std::time::Instant::now();
            let html = render(&text);
            let taken = start.elapsed();
            println!("{what}: {taken:?}, {} bytes", html.len());
            assert!(html.len() < 2 * LONGEST, "{what}: {} bytes", html.len());
            // What is quadratic takes minutes; a busy machine takes its time for the rest.
            assert!(taken < std::time::Duration::from_secs(20), "{what}: {taken:?}");
        }
    }
}
