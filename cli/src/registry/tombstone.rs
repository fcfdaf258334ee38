//! Why a version, or a pack, is not there any more: what its registry's server says of what was deleted.

use std::collections::BTreeMap;

use exo_index::name::PackName;
use exo_index::registry::layout::name_in_url;
use exo_index::resolve::Request;
use exo_index::version::Version;

use crate::builtin_packs::Registry;
use crate::failure::{Failure, Outcome};
use crate::registry::api::{Api, Body};
use crate::registry::configuration::{Configured, Registries};
use crate::settings::Settings;

/// That something was deleted.
#[derive(Debug)]
pub(crate) struct Tombstone {
    what: String,
    url: String,
    pub(crate) reason: String,
}

impl Tombstone {
    /// `None` where nothing of the kind is said, or nobody can be asked: offline, a registry of files, a server that does not answer.
    /// Nothing of it is signed, and so nothing is decided by it.
    pub(crate) fn of(settings: &Settings, url: &str, name: &PackName, version: Option<&Version>) -> Option<Self> {
        if settings.offline {
            return None;
        }
        Self::ask(settings, url, name, version).ok().flatten()
    }

    /// The first of some registries that deleted it.
    pub(crate) fn among<'u>(
        settings: &Settings,
        urls: impl IntoIterator<Item = &'u String>,
        name: &PackName,
        version: Option<&Version>,
    ) -> Option<Self> {
        urls.into_iter().find_map(|url| Self::of(settings, url, name, version))
    }

    fn ask(settings: &Settings, url: &str, name: &PackName, version: Option<&Version>) -> Outcome<Option<Self>> {
        let registries = Registries::read(settings)?;
        let registry = registries.known(url).cloned().unwrap_or_else(|| Configured::of_url(url));
        let api = Api::anonymous(settings, &registry)?;
        let place = version.map(|version| format!("/{version}")).unwrap_or_default();
        let path = format!("packs/{}{}", name_in_url(name), place.replace('+', "%2B"));
        let Err(refused) = api.attempt("GET", &path, Body::Nothing)? else { return Ok(None) };
        let what = version.map_or_else(|| format!("`{name}`"), |version| format!("`{name} {version}`"));
        let said = refused.of_what_is_gone();
        let reason = said.map(|said| said.strip_prefix(&format!("{what} was deleted: ")).unwrap_or(said).to_owned());
        Ok(reason.map(|reason| Tombstone { what, url: url.to_owned(), reason }))
    }

    /// As a sentence of a message.
    pub(crate) fn text(&self) -> String {
        format!("{} was deleted from registry `{}`: {}", self.what, self.url, self.reason)
    }

    /// The failure of who asked for it.
    pub(crate) fn failure(&self) -> Box<Failure> {
        Failure::refused(self.text()).code(exo_compiler::diagnostic::codes::RESOLUTION)
    }
}

/// A failure to resolve, with what is said of versions that were asked for by their numbers and were deleted.
pub(crate) fn beside(
    failure: Box<Failure>,
    settings: &Settings,
    registry: &Registry,
    request: &Request,
) -> Box<Failure> {
    let needed = request.needs.dependencies.iter().filter_map(|need| {
        let text = need.requirement.to_string();
        Some((&need.name, Version::parse(text.trim_start_matches(['=', '^', '~'])).ok()?))
    });
    let pinned = request.pinned.iter().map(|(name, version)| (name, version.clone()));
    let gone: BTreeMap<&PackName, Version> =
        needed.chain(pinned).filter(|(name, version)| registry.get(name, version).is_none()).collect();
    let said = gone.iter().filter_map(|(name, version)| {
        Tombstone::among(settings, registry.reached.asked_for(name), name, Some(version))
    });
    said.fold(failure, |failure, tombstone| failure.note(tombstone.text()))
}
