//! Where a pack is in a git repository, in words that cannot be anything else: no options, no passwords, no other programs.
//!
//! What is accepted here reaches the command line of `git`, which has read options out of URLs and
//! branch names before (CVE-2017-1000117 and its kin), so only characters that mean nothing to it are let through.

use std::fmt;
use std::str::FromStr;

/// A repository, what of it, and where the pack is inside.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct GitSource {
    /// The repository: `https://`, `ssh://`, `git://` or `file:///`.
    pub url: String,
    /// Which commit.
    pub reference: GitReference,
    /// The pack's folder in the repository, with `/` between its parts; the repository itself when `None`.
    pub path: Option<String>,
}

/// What names a commit.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum GitReference {
    /// The commit itself, in full or by its first digits (at least 7, lower case).
    Rev(String),
    /// What a tag points to.
    Tag(String),
    /// The newest commit of a branch, when it is locked or updated.
    Branch(String),
}

/// What is wrong with a part of a git source, and how to put it right.
pub type GitProblem = (String, Option<String>);

impl GitReference {
    /// The key of the manifest.
    pub const fn key(&self) -> &'static str {
        match self {
            Self::Rev(_) => "rev",
            Self::Tag(_) => "tag",
            Self::Branch(_) => "branch",
        }
    }

    /// The value of that key.
    pub fn value(&self) -> &str {
        match self {
            Self::Rev(text) | Self::Tag(text) | Self::Branch(text) => text,
        }
    }

    /// Reads the value of a key.
    ///
    /// # Errors
    /// The value is not the beginning of a commit's number, or no name of a tag or branch. There is no such key.
    pub fn parse(key: &str, value: &str) -> Result<Self, GitProblem> {
        match key {
            "rev" if is_commit_start(value) => Ok(Self::Rev(value.to_owned())),
            "rev" => Err((
                format!("`{value}` is not a commit: its first digits, at least 7, in lower-case hexadecimal"),
                Some("name a tag with `tag` and a branch with `branch`".to_owned()),
            )),
            "tag" if is_reference_name(value) => Ok(Self::Tag(value.to_owned())),
            "branch" if is_reference_name(value) => Ok(Self::Branch(value.to_owned())),
            _ => Err((format!("`{}` is no name of a {key}", value.escape_debug()), None)),
        }
    }

    /// Whether a commit, whose number is given in full, may be what is named.
    pub fn admits(&self, commit: &str) -> bool {
        match self {
            Self::Rev(start) => commit.starts_with(start.as_str()),
            Self::Tag(_) | Self::Branch(_) => true,
        }
    }
}

impl fmt::Display for GitReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.key(), self.value())
    }
}

impl fmt::Display for GitSource {
    /// `URL?tag=v1&path=packs/neon`, as lockfiles have it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}?{}={}", self.url, self.reference.key(), self.reference.value())?;
        match &self.path {
            Some(path) => write!(f, "&path={path}"),
            None => Ok(()),
        }
    }
}

impl FromStr for GitSource {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (url, rest) = text.split_once('?').ok_or_else(|| format!("git source `{text}` names no commit"))?;
        let (reference, path) = match rest.split_once("&path=") {
            Some((reference, path)) => (reference, Some(path)),
            None => (rest, None),
        };
        let (key, value) = reference.split_once('=').ok_or_else(|| format!("git source `{text}` names no commit"))?;
        let parts = git_url(url).and_then(|()| path.map_or(Ok(()), git_path));
        let reference = parts.and_then(|()| GitReference::parse(key, value)).map_err(|(message, _)| message)?;
        Ok(Self { url: url.to_owned(), reference, path: path.map(str::to_owned) })
    }
}

/// Whether a text is the whole number of a commit, of SHA-1 or SHA-256.
pub fn is_commit(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && is_commit_start(text)
}

fn is_commit_start(text: &str) -> bool {
    (7..=64).contains(&text.len()) && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

/// A part of what git allows in names, which is enough for all that people use.
fn is_reference_name(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '/' | '+');
    let part = |part: &str| !part.is_empty() && !part.starts_with(['.', '-']) && !part.ends_with(".lock");
    text.len() <= 200
        && text.chars().all(plain)
        && !text.contains("..")
        && !text.ends_with('.')
        && text.split('/').all(part)
}

/// Checks the URL of a repository.
///
/// # Errors
/// It is of another protocol, carries a password, or has a part that git could take for something else.
pub fn git_url(url: &str) -> Result<(), GitProblem> {
    let refuse =
        |why: &str, hint: Option<&str>| Err((format!("the URL of a git repository {why}"), hint.map(str::to_owned)));
    if url.chars().any(|c| c.is_control() || c.is_whitespace() || matches!(c, '?' | '#' | '\\' | '"' | '\'' | '`')) {
        return refuse("contains a character that has no place in it", None);
    }
    let Some((scheme, rest)) = url.split_once("://") else {
        if let Some((host, path)) =
            url.split_once(':').filter(|(host, path)| !host.contains('/') && !path.starts_with(':'))
        {
            return refuse("has no protocol", Some(&format!("write `ssh://{host}/{path}`")));
        }
        return refuse(
            "has no protocol",
            Some("a folder on this disk is `file:///…`, or a pack of its own with `path`"),
        );
    };
    if !["https", "ssh", "git", "file"].contains(&scheme) {
        let hint = if scheme == "http" { "write `https://`" } else { "use https, ssh, git or file" };
        return refuse(&format!("is of the protocol `{}`, which is not used", scheme.escape_debug()), Some(hint));
    }
    if scheme == "file" {
        return if rest.starts_with('/') && !rest.starts_with("//") {
            Ok(())
        } else {
            refuse("names no absolute path", Some("write `file:///…`"))
        };
    }
    let host = rest.split('/').next().unwrap_or_default();
    let (user, host) = host.rsplit_once('@').map_or((None, host), |(user, host)| (Some(user), host));
    if user.is_some_and(|user| user.contains(':')) || (scheme == "https" && user.is_some()) {
        return refuse(
            "carries a login",
            Some("manifests are read by others: leave it to git's credential helper or to an SSH key"),
        );
    }
    let sound = |text: &str| !text.is_empty() && !text.starts_with('-') && !text.contains('@');
    if !sound(host) || user.is_some_and(|user| !sound(user)) {
        return refuse("names no host", None);
    }
    Ok(())
}

/// Checks the path of a pack in a repository.
///
/// # Errors
/// It is not a plain relative path below the repository.
pub fn git_path(path: &str) -> Result<(), GitProblem> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    let part = |part: &str| !part.is_empty() && !part.starts_with(['.', '-']) && part.chars().all(plain);
    if path.split('/').all(part) {
        return Ok(());
    }
    let message = format!("`{}` is no path of a folder inside of a repository", path.escape_debug());
    Err((message, Some("write it as `packs/neon`, without `..` and blanks".to_owned())))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn urls_that_git_would_misread_are_refused() {
        for url in [
            "https://example.org/a/b.git",
            "ssh://git@example.org:22/a",
            "git://h/x",
            "file:///srv/a b".trim_end_matches(" b"),
        ] {
            assert_eq!(git_url(url), Ok(()), "{url}");
        }
        for (url, why) in [
            ("--upload-pack=touch x", "no place"),
            ("-c", "no protocol"),
            ("ext::sh -c touch% x", "no place"),
            ("ext::sh", "no protocol"),
            ("http://example.org/a", "protocol `http`"),
            ("ext://x", "protocol `ext`"),
            ("ssh://-oProxyCommand=x/a", "no host"),
            ("ssh://-x@h/a", "no host"),
            ("https://me:hunter2@h/a", "carries a login"),
            ("https://token@h/a", "carries a login"),
            ("https:///a", "no host"),
            ("file://host/a", "absolute path"),
            ("file://../a", "absolute path"),
            ("https://h/a?b", "no place"),
            ("git@github.com:a/b", "no protocol"),
        ] {
            let problem = git_url(url).unwrap_err();
            assert!(problem.0.contains(why), "{url}: {problem:?}");
        }
        assert_eq!(git_url("git@github.com:a/b").unwrap_err().1.unwrap(), "write `ssh://git@github.com/a/b`");
    }

    #[test]
    fn references_are_names_and_nothing_else() {
        assert_eq!(GitReference::parse("rev", "0123abc").unwrap().to_string(), "rev 0123abc");
        assert!(GitReference::parse("branch", "feature/x-1.2").is_ok() && GitReference::parse("tag", "v1.0+3").is_ok());
        for (key, value) in [
            ("rev", "main"),
            ("rev", "--all"),
            ("rev", "012345"),
            ("rev", "0123ABC"),
            ("tag", "-v"),
            ("tag", "a..b"),
            ("tag", "a b"),
            ("tag", ""),
            ("branch", "a/-b"),
            ("branch", "a//b"),
            ("branch", "a:b"),
            ("branch", "x.lock"),
            ("branch", "@{u}"),
            ("head", "x"),
        ] {
            assert!(GitReference::parse(key, value).is_err(), "{key} {value}");
        }
    }

    #[test]
    fn a_source_reads_back_what_it_prints() {
        for text in ["https://h/a?rev=0123abc", "file:///a?branch=main&path=packs/neon"] {
            assert_eq!(text.parse::<GitSource>().unwrap().to_string(), text);
        }
        for text in
            ["https://h/a", "https://h/a?main", "https://h/a?tag=v1&path=../x", "x?tag=v1", "https://h/a?tag=v1&path="]
        {
            assert!(text.parse::<GitSource>().is_err(), "{text}");
        }
        assert!(!is_commit("0123abc") && is_commit(&"a".repeat(40)));
    }
}
