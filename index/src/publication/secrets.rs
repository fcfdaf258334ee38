//! Finds what looks like a key, a token or a password in the text of a pack, before everybody can read it.
//!
//! Only shapes that their issuers made recognisable are looked for, and literals that are assigned to a name of a
//! password: a check that cries at every digest is one that people learn to switch off.

/// On a line with these words nothing is looked for: examples and tests have their fakes.
pub const SECRET_ALLOWED: &str = "not a secret";

/// Something that looks like a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Secret {
    /// The line, from 1 on.
    pub line: usize,
    /// What it looks like: `a token of GitHub`.
    pub kind: &'static str,
}

/// A token with a fixed beginning and a body of known characters.
struct Shape {
    kind: &'static str,
    start: &'static str,
    /// The fewest characters of the body.
    least: usize,
    body: fn(char) -> bool,
}

fn word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

fn dashed(c: char) -> bool {
    word(c) || c == '-'
}

fn capital(c: char) -> bool {
    c.is_ascii_uppercase() || c.is_ascii_digit()
}

/// What issuers say of their tokens' looks.
const SHAPES: &[Shape] = &[
    Shape { kind: "a token of an exo registry", start: "exo_", least: 32, body: alphanumeric },
    Shape { kind: "a token of GitHub", start: "ghp_", least: 36, body: word },
    Shape { kind: "a token of GitHub", start: "gho_", least: 36, body: word },
    Shape { kind: "a token of GitHub", start: "ghu_", least: 36, body: word },
    Shape { kind: "a token of GitHub", start: "ghs_", least: 36, body: word },
    Shape { kind: "a token of GitHub", start: "ghr_", least: 36, body: word },
    Shape { kind: "a token of GitHub", start: "github_pat_", least: 36, body: word },
    Shape { kind: "a token of GitLab", start: "glpat-", least: 20, body: dashed },
    Shape { kind: "an access key of AWS", start: "AKIA", least: 16, body: capital },
    Shape { kind: "an access key of AWS", start: "ASIA", least: 16, body: capital },
    Shape { kind: "a key of Google's API", start: "AIza", least: 35, body: dashed },
    Shape { kind: "a token of Slack", start: "xoxb-", least: 20, body: dashed },
    Shape { kind: "a token of Slack", start: "xoxp-", least: 20, body: dashed },
    Shape { kind: "a key of Stripe", start: "sk_live_", least: 20, body: word },
    Shape { kind: "a token of npm", start: "npm_", least: 36, body: word },
    Shape { kind: "a token of PyPI", start: "pypi-AgEIcHlwaS5vcmc", least: 40, body: dashed },
    Shape { kind: "a token of crates.io", start: "cio", least: 32, body: alphanumeric },
    Shape { kind: "a token of Hugging Face", start: "hf_", least: 34, body: alphanumeric },
    Shape { kind: "a key of Anthropic", start: "sk-ant-", least: 40, body: dashed },
];

fn alphanumeric(c: char) -> bool {
    c.is_ascii_alphanumeric()
}

/// Names that are given passwords and keys.
const NAMES: [&str; 7] = ["password", "passwd", "secret", "api_key", "apikey", "access_token", "auth_token"];

/// Everything in a text that looks like a secret, one for each line at most.
pub fn secrets(text: &str) -> Vec<Secret> {
    let found = text.lines().enumerate().filter(|(_, line)| !line.contains(SECRET_ALLOWED));
    found.filter_map(|(at, line)| kind(line).map(|kind| Secret { line: at + 1, kind })).collect()
}

fn kind(line: &str) -> Option<&'static str> {
    if let Some((_, rest)) = line.split_once("-----BEGIN ")
        && rest
            .split_once("-----")
            .is_some_and(|(what, _)| what.ends_with("PRIVATE KEY") || what.ends_with("KEY BLOCK"))
        && !rest.starts_with("PGP PUBLIC")
    {
        return Some("a private key");
    }
    if let Some(shape) = SHAPES.iter().find(|shape| has_shape(line, shape)) {
        return Some(shape.kind);
    }
    if has_web_token(line) {
        return Some("a signed web token (JWT)");
    }
    if has_login_in_url(line) {
        return Some("a URL with a password");
    }
    assigns_password(line).then_some("a password or a key")
}

fn has_shape(line: &str, shape: &Shape) -> bool {
    line.match_indices(shape.start).any(|(at, _)| {
        let before = line.get(..at).and_then(|text| text.chars().next_back());
        let body = line.get(at + shape.start.len()..).unwrap_or_default();
        let length = body.chars().take_while(|c| (shape.body)(*c)).count();
        // Inside of a longer word it is part of a digest or of a name. A body of one character only is a placeholder.
        before.is_none_or(|c| !word(c)) && length >= shape.least && has_variety(body, length)
    })
}

/// Whether the first characters of a text are of many kinds, as those of a generated token are.
fn has_variety(text: &str, length: usize) -> bool {
    let mut seen: Vec<char> = text.chars().take(length).collect();
    seen.sort_unstable();
    seen.dedup();
    seen.len() >= 8
}

/// Three parts in base64, of which the first two are JSON objects (`{"` is `eyJ`).
fn has_web_token(line: &str) -> bool {
    line.match_indices("eyJ").any(|(at, _)| {
        let token: String = chars_from(line, at).take_while(|c| dashed(*c) || *c == '.').collect();
        let parts: Vec<&str> = token.split('.').collect();
        matches!(parts.as_slice(), [head, body, signature, ..] if head.len() >= 12 && body.starts_with("eyJ") && body.len() >= 12 && signature.len() >= 20)
    })
}

/// `scheme://user:password@host`, where the password is no placeholder.
fn has_login_in_url(line: &str) -> bool {
    line.match_indices("://").any(|(at, _)| {
        let rest: String =
            chars_from(line, at + 3).take_while(|c| !c.is_whitespace() && !"/\"'`<>)".contains(*c)).collect();
        rest.rsplit_once('@')
            .and_then(|(login, host)| Some((login.split_once(':')?.1.to_owned(), host.to_owned())))
            .is_some_and(|(password, host)| !host.is_empty() && password.len() >= 4 && !is_placeholder(&password))
    })
}

/// `password = "…"` with a literal that could be one.
fn assigns_password(line: &str) -> bool {
    let lower = line.to_ascii_lowercase();
    NAMES.iter().any(|name| {
        lower.match_indices(name).any(|(at, _)| {
            let rest = line.get(at + name.len()..).unwrap_or_default().trim_start_matches(['"', '\'']).trim_start();
            let Some(value) = rest.strip_prefix(['=', ':']).map(str::trim_start) else { return false };
            let Some(quote) = value.chars().next().filter(|c| matches!(c, '"' | '\'')) else { return false };
            let literal = value.get(1..).and_then(|inner| inner.split_once(quote)).map_or("", |(literal, _)| literal);
            let mixed = literal.bytes().any(|b| b.is_ascii_digit()) && literal.bytes().any(|b| b.is_ascii_alphabetic());
            literal.len() >= 8 && mixed && !literal.contains(char::is_whitespace) && !is_placeholder(literal)
        })
    })
}

/// What documents write where a secret would stand.
fn is_placeholder(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    ["$", "{", "<", "xxx", "…", "...", "***", "your", "example", "password", "changeme", "secret"]
        .iter()
        .any(|part| lower.contains(part))
}

/// The characters of a text from a byte on.
fn chars_from(text: &str, at: usize) -> std::str::Chars<'_> {
    text.get(at..).unwrap_or_default().chars()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<(usize, &'static str)> {
        secrets(text).into_iter().map(|secret| (secret.line, secret.kind)).collect()
    }

    /// Put together here, so that nobody finds them in this file.
    fn fake(start: &str) -> String {
        format!("{start}{}", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8s9T0")
    }

    #[test]
    fn tokens_and_keys_are_found_on_their_lines() {
        let upper = format!("AKIA{}", "ABCDEFGHIJ234567");
        let jwt = format!("eyJ{0}.eyJ{0}.{0}", "hbGciOiJIUzI1NiIs");
        let text = format!(
            "x = 1\ntoken = \"{}\"\n# {upper}\n-----BEGIN {} KEY-----\nbearer {jwt}xyzw\n{}\n",
            fake("ghp_"),
            "RSA PRIVATE",
            fake("exo_"),
        );
        assert_eq!(
            kinds(&text),
            [
                (2, "a token of GitHub"),
                (3, "an access key of AWS"),
                (4, "a private key"),
                (5, "a signed web token (JWT)"),
                (6, "a token of an exo registry"),
            ]
        );
    }

    #[test]
    fn passwords_in_urls_and_assignments_are_found() {
        assert_eq!(kinds("see https://me:hunter22@host.example/x"), [(1, "a URL with a password")]);
        assert_eq!(kinds("DB_PASSWORD = 'hunter22x'"), [(1, "a password or a key")]);
        assert_eq!(kinds("\"api_key\": \"k9s8d7f6g5\""), [(1, "a password or a key")]);
    }

    #[test]
    fn code_digests_and_placeholders_are_none() {
        for text in [
            "exo_kernel_name_of_more_than_thirty_two_characters(x)",
            "sha256 = \"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\"",
            "x = ghp_short",
            "git clone https://github.com/me/it and user@host",
            "https://user:$TOKEN@host/x",
            "password = \"your-password-1\"",
            "secret = compute(x)",
            "-----BEGIN PUBLIC KEY-----",
            "def f(password: f32[n]):",
            "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        ] {
            assert_eq!(kinds(text), [], "{text}");
        }
        assert_eq!(kinds(&format!("{}  # not a secret", fake("ghp_"))), []);
    }
}
