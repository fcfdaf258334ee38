//! Which registry is in use: `EXO_REGISTRY`, else the default of `exo/config.toml`; none without either.

use std::collections::BTreeMap;

use exo_index::digest::Sha256;
use serde::Deserialize;

use crate::cache::Cache;
use crate::failure::{Failure, Outcome};
use crate::filesystem;
use crate::registry::client::Client;
use crate::settings::Settings;
use crate::terminal::Terminal;

/// A registry to use.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Configured {
    pub(crate) url: String,
    /// The digest of the payload of its first root.
    pub(crate) root: Option<Sha256>,
}

impl Configured {
    pub(crate) fn open(&self, settings: &Settings, terminal: &Terminal) -> Outcome<Client> {
        Client::open(settings, terminal, &Cache::open(settings)?, &self.url, self.root.as_ref())
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
}

/// The registry in use.
pub(crate) fn configured(settings: &Settings) -> Outcome<Option<Configured>> {
    let environment = &settings.environment;
    let folder = environment.xdg_config_home.clone().filter(|path| path.is_absolute());
    let folder = folder.or_else(|| environment.home.as_ref().map(|home| settings.directory.join(home).join(".config")));
    let (text, place) = match folder.map(|folder| folder.join("exo/config.toml")) {
        Some(path) => (filesystem::read_optional(&path)?.unwrap_or_default(), path.display().to_string()),
        None => (String::new(), String::new()),
    };
    choose(&text, &place, environment.registry.as_deref())
}

/// What the text of a configuration and the variable mean together.
fn choose(text: &str, place: &str, variable: Option<&str>) -> Outcome<Option<Configured>> {
    let wrong = |why: String| Failure::usage(format!("`{place}`: {why}"));
    let file: File = toml::from_str(text).map_err(|error| wrong(error.message().to_string()))?;
    let Some(chosen) = variable.or(file.registry.default.as_deref()) else {
        return Ok(None);
    };
    let known = file.registries.iter().find(|(name, entry)| *name == chosen || same(&entry.url, chosen));
    let Some((name, entry)) = known else {
        if chosen.contains("://") {
            return Ok(Some(Configured { url: chosen.trim_end_matches('/').to_string(), root: None }));
        }
        return Err(Failure::usage(format!("there is no registry `{chosen}`"))
            .hint(format!("give its URL, or add `[registries.{chosen}]` with `url = \"…\"` to {place}")));
    };
    let root = match &entry.root {
        None => None,
        Some(text) => {
            let digest = text.strip_prefix("sha256:").and_then(|digits| digits.parse().ok());
            let hint = "a pin looks like `root = \"sha256:…\"` with 64 hexadecimal digits";
            Some(digest.ok_or_else(|| wrong(format!("the root of registry `{name}` is no digest")).hint(hint))?)
        }
    };
    Ok(Some(Configured { url: entry.url.trim_end_matches('/').to_string(), root }))
}

fn same(a: &str, b: &str) -> bool {
    a.trim_end_matches('/') == b.trim_end_matches('/')
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_wins_and_names_are_looked_up() {
        let pin = Sha256::of(b"root");
        let text = format!(
            "[registry]\ndefault = \"a\"\n[registries.a]\nurl = \"https://a.example/\"\nroot = \"sha256:{pin}\"\n[registries.b]\nurl = \"https://b.example\"\n"
        );
        let chosen = |variable| choose(&text, "config.toml", variable).unwrap().unwrap();
        let a = Configured { url: "https://a.example".into(), root: Some(pin) };
        assert_eq!(chosen(None), a);
        assert_eq!(chosen(Some("https://a.example")), a);
        assert_eq!(chosen(Some("b")), Configured { url: "https://b.example".into(), root: None });
        assert_eq!(chosen(Some("file:///x/")), Configured { url: "file:///x".into(), root: None });
        assert_eq!(choose("", "config.toml", None).unwrap(), None);
        let failed = choose(&text, "config.toml", Some("c")).unwrap_err();
        assert_eq!(failed.message, "there is no registry `c`");
        let failed = choose(&text.replace("sha256:", "md5:"), "config.toml", None).unwrap_err();
        assert!(failed.message.contains("is no digest"), "{}", failed.message);
        assert!(choose("[registri]\n", "config.toml", None).is_err());
    }
}
