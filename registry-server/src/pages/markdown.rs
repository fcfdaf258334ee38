//! A pack's README as HTML that can do no harm.

use std::collections::HashSet;

use ammonia::Builder;
use comrak::arena_tree::NodeEdge;
use comrak::nodes::{AstNode, NodeValue};
use comrak::{Arena, Options, format_html, parse_document};

/// Deeper nesting than anybody writes. Sanitising takes time that grows with the square of it.
const DEEPEST: usize = 60;

/// Renders Markdown (CommonMark with the tables, task lists and links of GitHub).
///
/// Raw HTML is dropped before and the rest is sanitised after rendering. Images are dropped too: they would tell their servers
/// who reads which pack. Headings go one level down, below that of the page. A text that is nested too deeply is shown as it stands.
pub(super) fn render(text: &str) -> String {
    let options = options();
    let arena = Arena::new();
    let root = parse_document(&arena, text, &options);
    if depth(root) > DEEPEST {
        return plain(text);
    }
    for node in root.descendants() {
        if let NodeValue::Heading(heading) = &mut node.data.borrow_mut().value {
            heading.level = (heading.level + 1).min(6);
        }
    }
    let mut html = String::new();
    match format_html(root, &options, &mut html) {
        Ok(()) => sanitiser().clean(&html).to_string(),
        // Writing to a string does not fail; if it did, the text itself is still true.
        Err(_) => plain(text),
    }
}

/// The text as it stands.
fn plain(text: &str) -> String {
    format!("<pre>{}</pre>", ammonia::clean_text(text))
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
            // What is quadratic takes minutes; a busy machine takes its time for the rest.
            assert!(taken < std::time::Duration::from_secs(20), "{what}: {taken:?}");
        }
    }
}
