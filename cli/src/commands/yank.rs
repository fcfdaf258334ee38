//! `exo yank`, `exo deprecate` and `exo archive`: what an author says of a version or a pack that is out already.

use exo_index::name::PackName;
use exo_index::registry::layout::name_in_url;
use exo_index::version::Version;
use serde_json::json;

use crate::arguments::{Archive, Deprecate, Withdraw, Yank};
use crate::commands::add::split;
use crate::commands::new::pack_name;
use crate::commands::token::open;
use crate::failure::{Exit, Failure, Outcome};
use crate::registry::api::Body;
use crate::settings::Settings;
use crate::terminal::Terminal;

pub(super) fn run(arguments: &Yank, settings: &Settings, terminal: &Terminal) -> Outcome<Exit> {
    let (name, version) = named(&arguments.version)?;
    let yanked = withdraw(&format!("packs/{}/{version}/yank", name_in_url(&name)), &arguments.how, settings)?;
    terminal.answer(
        || match yanked {
            true => format!(
                "{name} {version} is yanked: who has locked it keeps it and is warned, and nobody newly chooses it\n"
            ),
            false => format!("{name} {version} may be chosen again\n"),
        },
        || json!({ "name": name.as_str(), "version": version.to_string(), "yanked": yanked }),
    );
    Ok(Exit::Done)
}

/// `exo deprecate`.
pub(super) fn deprecate(arguments: &Deprecate, settings: &Settings, terminal: &Terminal) -> Outcome<Exit> {
    let name = pack_name(&arguments.pack)?;
    let deprecated = withdraw(&format!("packs/{}/deprecation", name_in_url(&name)), &arguments.how, settings)?;
    terminal.answer(
        || format!("{name} is {}deprecated\n", if deprecated { "" } else { "no longer " }),
        || json!({ "name": name.as_str(), "deprecated": deprecated }),
    );
    Ok(Exit::Done)
}

/// `exo archive`.
pub(super) fn archive(arguments: &Archive, settings: &Settings, terminal: &Terminal) -> Outcome<Exit> {
    let name = pack_name(&arguments.pack)?;
    let Archive { pack: _, undo, reason, at } = arguments.clone();
    let how = Withdraw { undo, reason, replacement: None, at };
    let archived = withdraw(&format!("packs/{}/archival", name_in_url(&name)), &how, settings)?;
    terminal.answer(
        || match archived {
            true => format!(
                "{name} is archived: all versions stay, no new ones are published until `exo archive --undo {name}`\n"
            ),
            false => format!("{name} is no longer archived\n"),
        },
        || json!({ "name": name.as_str(), "archived": archived }),
    );
    Ok(Exit::Done)
}

/// Withdraws what is at a path of the registry, or gives it back; says whether it is withdrawn now.
fn withdraw(path: &str, how: &Withdraw, settings: &Settings) -> Outcome<bool> {
    let api = open(settings, &how.at)?;
    if how.undo {
        api.ask("DELETE", path, Body::Nothing)?;
    } else {
        let why = json!({ "reason": how.reason, "replacement": how.replacement });
        api.ask("PUT", path, Body::Json(&why))?;
    }
    Ok(!how.undo)
}

/// `neon@1.1.0` as name and version.
fn named(text: &str) -> Outcome<(PackName, Version)> {
    let (name, version) = split(text);
    let name = pack_name(name)?;
    let Some(version) = version else {
        return Err(Failure::usage(format!("`{text}` names no version"))
            .hint(format!("write for example `exo yank {name}@1.0.0`")));
    };
    let version = Version::parse(version).map_err(|error| Failure::usage(format!("`{text}`: {}", error.message)))?;
    Ok((name, version))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_named_in_full() {
        let (name, version) = named("@arm/neon@1.0.0").unwrap();
        assert_eq!((name.as_str(), version), ("@arm/neon", Version::new(1, 0, 0)));
        assert!(named("neon").unwrap_err().message.contains("names no version"));
        assert!(named("neon@1").is_err());
    }
}
