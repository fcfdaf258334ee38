//! Tokens of registries: one for each registry in a file that only its owner reads, or one in `EXO_TOKEN` for the registry in use.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use exo_index::candidates::Span;
use serde::{Deserialize, Serialize};

use crate::failure::{Failure, Outcome};
use crate::filesystem;
use crate::filesystem::journal::ProjectLock;
use crate::policy::now;
use crate::registry::configuration::{Configured, Registries, folder};
use crate::settings::Settings;

const FILE: &str = "credentials.toml";

const HEAD: &str = "# Written by `exo login` and `exo logout`. Whoever reads this file can act as you.\n\n";

/// A token or a password. It has no text form, so that no message can have it by mistake.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Secret(String);

impl Secret {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Secret(text.into())
    }

    /// The text, to be sent to the one place it is for.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }

    /// Whether it can be a token at all: one word of visible characters.
    pub(crate) fn is_word(&self) -> bool {
        !self.0.is_empty() && self.0.len() <= 4096 && self.0.bytes().all(|byte| byte.is_ascii_graphic())
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// What is kept for one registry.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Kept {
    pub(crate) login: String,
    pub(crate) token: Secret,
    /// It was made by `exo login` with a password, and ends with `exo logout`.
    pub(crate) session: bool,
    /// Seconds since 1970-01-01 UTC.
    pub(crate) expires: u64,
}

/// Where a token came from, which decides what helps when it is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    Variable,
    File,
}

impl Origin {
    pub(crate) fn hint(self) -> &'static str {
        match self {
            Origin::Variable => {
                "EXO_TOKEN holds it: set another one (`exo token create` makes one), or unset it and run `exo login`"
            }
            Origin::File => "run `exo login`",
        }
    }
}

/// The token for a registry.
///
/// `EXO_TOKEN` is for the registry in use and goes to no other; everything else is looked up by the whole URL.
pub(crate) fn token(settings: &Settings, registries: &Registries, registry: &Configured) -> Outcome<(Secret, Origin)> {
    let url = &registry.url;
    if let Some(token) = &settings.environment.token
        && registries.in_use()?.is_some_and(|used| used.url == *url)
    {
        return if token.is_word() {
            Ok((token.clone(), Origin::Variable))
        } else {
            Err(Failure::usage("EXO_TOKEN holds no token").hint("a token is one word that begins with `exo_`"))
        };
    }
    match read(settings)?.remove(url) {
        Some(kept) if kept.expires > now() && kept.token.is_word() => Ok((kept.token, Origin::File)),
        Some(kept) => Err(Failure::refused(format!(
            "what `{}` logged in with at registry `{url}` expired {} ago",
            kept.login,
            Span(now().saturating_sub(kept.expires))
        ))
        .hint(login(registries, registry))),
        None => Err(Failure::refused(format!("you are not logged in at registry `{url}`"))
            .hint(login(registries, registry))
            .hint("where nobody can type a password, put a token into EXO_TOKEN; it goes to the registry in use")),
    }
}

/// The command that logs in at a registry.
fn login(registries: &Registries, registry: &Configured) -> String {
    match registries.in_use() {
        Ok(Some(used)) if used.url == registry.url => "run `exo login`".to_string(),
        _ => format!("run `exo login --registry {}`", registry.url),
    }
}

fn place(settings: &Settings) -> Outcome<PathBuf> {
    folder(settings).ok_or_else(|| {
        Failure::environment("there is no folder to keep tokens in: neither XDG_CONFIG_HOME nor HOME is set")
            .hint("set XDG_CONFIG_HOME to a folder that only you can read, or use EXO_TOKEN")
    })
}

/// What is kept, by URL.
pub(crate) fn read(settings: &Settings) -> Outcome<BTreeMap<String, Kept>> {
    let Ok(folder) = place(settings) else { return Ok(BTreeMap::new()) };
    read_file(&folder.join(FILE))
}

fn read_file(path: &Path) -> Outcome<BTreeMap<String, Kept>> {
    let Some(text) = filesystem::read_optional(path)? else { return Ok(BTreeMap::new()) };
    if filesystem::is_open_to_others(path)? {
        return Err(Failure::environment(format!("`{}` can be read by others, and tokens are in it", path.display()))
            .hint(format!("run `chmod 600 {}`, and `exo token revoke` for what may have been read", path.display())));
    }
    // The parser's own words would show the line, and a token with it.
    toml::from_str(&text).map_err(|_| {
        Failure::environment(format!("`{}` is damaged", path.display())).hint("delete it and run `exo login`")
    })
}

/// Changes what is kept, while no other `exo` does.
fn change<T>(settings: &Settings, act: impl FnOnce(&mut BTreeMap<String, Kept>) -> T) -> Outcome<T> {
    let folder = place(settings)?;
    filesystem::create_directory(&folder)?;
    let held = ProjectLock::take(&folder, || ())?;
    let path = folder.join(FILE);
    let mut all = read_file(&path)?;
    let before = all.len();
    let done = act(&mut all);
    if before > 0 || !all.is_empty() {
        let text = toml::to_string(&all).map_err(|error| Failure::bug(format!("tokens cannot be written: {error}")))?;
        filesystem::write_private(&path, format!("{HEAD}{text}").as_bytes())?;
    }
    drop(held);
    Ok(done)
}

/// Keeps a token for a registry instead of what was kept.
pub(crate) fn keep(settings: &Settings, url: &str, kept: Kept) -> Outcome<()> {
    change(settings, |all| {
        all.insert(url.to_string(), kept);
    })
}

/// Forgets the token of a registry; gives what was kept.
pub(crate) fn forget(settings: &Settings, url: &str) -> Outcome<Option<Kept>> {
    if !read(settings)?.contains_key(url) {
        return Ok(None);
    }
    change(settings, |all| all.remove(url))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_in_no_message() {
        let kept = Kept { login: "ada".into(), token: Secret::new("exo_abc"), session: true, expires: 1 };
        assert!(!format!("{kept:?}").contains("abc"));
        assert!(kept.token.is_word());
        for wrong in ["", "a b", "a\nb", "é"] {
            assert!(!Secret::new(wrong).is_word(), "{wrong:?}");
        }
    }
}
