//! Which registries there are: those of `exo/config.toml`, and the one in use, which `EXO_REGISTRY` or the default names.

use std::collections::BTreeMap;
use std::path::PathBuf;

use exo_index::digest::Sha256;
use serde::Deserialize;

use crate::cache::Cache;
use crate::failure::{Failure, Outcome, did_you_mean, nearest};
use crate::filesystem;
use crate::registry::client::Client;
use crate::settings::Settings;
use crate::terminal::Terminal;

/// A registry to use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Configured {
    /// Without a slash at its end.
    pub(crate) url: String,
    /// The digest of the payload of its first root.
    pub(crate) root: Option<Sha256>,
    /// Passwords and tokens may go to it without TLS.
    pub(crate) plain_http: bool,
    /// Where its static files are taken from instead; what needs an account stays with the registry itself.
    pub(crate) mirror: Option<String>,
}

impl Configured {
    /// A registry of which nothing is known but its URL.
    pub(crate) fn of_url(url: &str) -> Self {
        Configured { url: without_slash(url), root: None, plain_http: false, mirror: None }
    }

    pub(crate) fn open(&self, settings: &Settings, terminal: &Terminal) -> Outcome<Client> {
        Client::open(settings, terminal, &Cache::open(settings)?, self)
    }

    /// The registry itself, whatever mirror there is: a mirror comes to know later what was just published.
    pub(crate) fn open_itself(&self, settings: &Settings, terminal: &Terminal) -> Outcome<Client> {
        Configured { mirror: None, ..self.clone() }.open(settings, terminal)
    }
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    registry: Choice,
    #[serde(default)]
    registries: BTreeMap<String, Entry>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Choice {
    default: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    url: String,
    root: Option<String>,
    #[serde(default, rename = "plain-http")]
    plain_http: bool,
    mirror: Option<String>,
}

/// All that is configured.
#[derive(Debug)]
pub(crate) struct Registries {
    named: BTreeMap<String, Configured>,
    /// The registry in use, by name or URL.
    chosen: Option<String>,
    /// The file, for messages.
    place: String,
}

/// The folder `exo` in the user's configuration; `None` where neither variables nor a home folder name one.
pub(crate) fn folder(settings: &Settings) -> Option<PathBuf> {
    let environment = &settings.environment;
    let folder = environment.xdg_config_home.clone().filter(|path| path.is_absolute());
    let folder = folder.or_else(|| environment.home.as_ref().map(|home| settings.directory.join(home).join(".config")));
    folder.map(|folder| folder.join("exo"))
}

impl Registries {
    pub(crate) fn read(settings: &Settings) -> Outcome<Self> {
        let (text, place) = match folder(settings).map(|folder| folder.join("config.toml")) {
            Some(path) => (filesystem::read_optional(&path)?.unwrap_or_default(), path.display().to_string()),
            None => (String::new(), "exo/config.toml".to_string()),
        };
        Self::parse(&text, place, settings.environment.registry.clone())
    }

    /// What the text of a configuration and the variable mean together.
    fn parse(text: &str, place: String, variable: Option<String>) -> Outcome<Self> {
        let wrong = |why: String| Failure::usage(format!("`{place}`: {why}"));
        let file: File = toml::from_str(text).map_err(|error| wrong(error.message().to_string()))?;
        let mut named = BTreeMap::new();
        for (name, entry) in file.registries {
            let root = match &entry.root {
                None => None,
                Some(text) => {
                    let digest = text.strip_prefix("sha256:").and_then(|digits| digits.parse().ok());
                    let hint = "a pin looks like `root = \"sha256:…\"` with 64 hexadecimal digits";
                    let wrong = || wrong(format!("the root of registry `{name}` is no digest")).hint(hint);
                    Some(digest.ok_or_else(wrong)?)
                }
            };
            let mirror = entry.mirror.as_deref().map(without_slash);
            if mirror.is_some() && root.is_none() {
                return Err(wrong(format!("registry `{name}` has a mirror and no root")).hint(
                    "a mirror is believed by the registry's own keys only: pin them with `root = \"sha256:…\"`, which the \
                     registry's operator tells and `exo` says at the first visit without a mirror",
                ));
            }
            let url = without_slash(&entry.url);
            named.insert(name, Configured { url, root, plain_http: entry.plain_http, mirror });
        }
        Ok(Registries { named, chosen: variable.or(file.registry.default), place })
    }

    /// The registry in use; `None` when there are only the packs that come with exo.
    pub(crate) fn in_use(&self) -> Outcome<Option<Configured>> {
        self.chosen.as_deref().map(|chosen| self.find(chosen)).transpose()
    }

    /// The registry that a name of the configuration, or a URL, means.
    pub(crate) fn find(&self, text: &str) -> Outcome<Configured> {
        if let Some(found) = self.known(text) {
            return Ok(found.clone());
        }
        if text.contains("://") {
            return Ok(Configured::of_url(text));
        }
        let failure = Failure::refused(format!("there is no registry `{text}`"));
        let failure = match did_you_mean(&nearest(text, self.named.keys().map(String::as_str))) {
            Some(suggestion) => failure.hint(suggestion),
            None => failure,
        };
        Err(failure.hint(format!("give its URL, or add `[registries.{text}]` with `url = \"…\"` to {}", self.place)))
    }

    /// The registry that a name or URL means, if the user has configured it or chosen it.
    pub(crate) fn known(&self, text: &str) -> Option<&Configured> {
        self.named.get(text).or_else(|| self.named.values().find(|entry| entry.url == without_slash(text)))
    }

    /// The registry to talk to: the one that was asked for, else the one in use.
    pub(crate) fn asked(&self, option: Option<&str>) -> Outcome<Configured> {
        match option {
            Some(text) => self.find(text),
            None => self.in_use()?.ok_or_else(|| {
                Failure::usage("no registry is configured")
                    .hint("name one with --registry, its URL or its name in the configuration")
                    .hint(format!(
                        "EXO_REGISTRY, or `[registry]` with `default = \"…\"` in {}, names it for all commands",
                        self.place
                    ))
            }),
        }
    }
}

/// One registry has one URL, however it is typed: tokens and trust are kept by it.
fn without_slash(url: &str) -> String {
    url.trim_end_matches('/').to_string()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn registries(text: &str, variable: Option<&str>) -> Outcome<Registries> {
        Registries::parse(text, "config.toml".to_string(), variable.map(str::to_string))
    }

    fn plain(url: &str) -> Configured {
        Configured::of_url(url)
    }

    #[test]
    fn the_variable_wins_and_names_are_looked_up() {
        let pin = Sha256::of(b"root");
        let text = format!(
            "[registry]\ndefault = \"a\"\n[registries.a]\nurl = \"https://a.example/\"\nroot = \"sha256:{pin}\"\n[registries.b]\nurl = \"https://b.example\"\n"
        );
        let chosen = |variable| registries(&text, variable).unwrap().in_use().unwrap().unwrap();
        let a = Configured { root: Some(pin), ..plain("https://a.example") };
        assert_eq!(chosen(None), a);
        assert_eq!(chosen(Some("https://a.example")), a);
        assert_eq!(chosen(Some("b")), plain("https://b.example"));
        assert_eq!(chosen(Some("file:///x/")), plain("file:///x"));
        assert_eq!(registries("", None).unwrap().in_use().unwrap(), None);
        let failed = registries(&text, Some("c")).unwrap().in_use().unwrap_err();
        assert_eq!(failed.message, "there is no registry `c`");
        let failed = registries(&text.replace("sha256:", "md5:"), None).unwrap_err();
        assert!(failed.message.contains("is no digest"), "{}", failed.message);
        assert!(registries("[registri]\n", None).is_err());
    }

    #[test]
    fn a_mirror_needs_a_pin() {
        let pin = Sha256::of(b"root");
        let text = "[registries.a]\nurl = \"https://a.example\"\nmirror = \"https://m.example/a/\"\n";
        assert!(registries(text, None).unwrap_err().message.contains("registry `a` has a mirror and no root"));
        let pinned = registries(&format!("{text}root = \"sha256:{pin}\"\n"), Some("https://a.example")).unwrap();
        let a = pinned.in_use().unwrap().unwrap();
        assert_eq!((a.url.as_str(), a.mirror.as_deref()), ("https://a.example", Some("https://m.example/a")));
    }

    #[test]
    fn an_option_goes_before_what_is_in_use() {
        let text = "[registries.b]\nurl = \"https://b.example\"\nplain-http = true\n";
        let both = registries(text, Some("https://c.example")).unwrap();
        assert_eq!(both.asked(Some("b")).unwrap(), Configured { plain_http: true, ..plain("https://b.example") });
        assert_eq!(both.asked(None).unwrap(), plain("https://c.example"));
        assert!(both.known("https://b.example/").is_some() && both.known("https://c.example").is_none());
        assert_eq!(registries(text, None).unwrap().asked(None).unwrap_err().message, "no registry is configured");
    }
}
