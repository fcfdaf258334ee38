//! Who stands behind a pack of a registry, and how many use it: what its server says without being asked for proof.

use exo_index::name::PackName;
use exo_index::registry::layout::name_in_url;
use exo_index::visible::shown;
use serde_json::{Value, json};

use crate::failure::Outcome;
use crate::registry::api::{Api, Body};
use crate::registry::configuration::{Configured, Registries};
use crate::settings::Settings;

/// What a server says of a pack. Nothing of it is signed.
#[derive(Debug)]
pub(crate) struct Stewards {
    pub(crate) owners: Vec<String>,
    pub(crate) downloads: u64,
}

impl Stewards {
    /// `None` where nobody can be asked: offline, a registry of files, a server that does not answer.
    pub(crate) fn of(settings: &Settings, url: &str, name: &PackName) -> Outcome<Option<Self>> {
        if settings.offline {
            return Ok(None);
        }
        let registries = Registries::read(settings)?;
        let registry = registries.known(url).cloned().unwrap_or_else(|| Configured::of_url(url));
        Ok(Self::ask(settings, &registry, name).ok())
    }

    fn ask(settings: &Settings, registry: &Configured, name: &PackName) -> Outcome<Self> {
        let api = Api::anonymous(settings, registry)?;
        let path = format!("packs/{}", name_in_url(name));
        let owners = api.ask("GET", &format!("{path}/owners"), Body::Nothing)?;
        let owners = owners.get("owners").and_then(Value::as_array).into_iter().flatten();
        let owners = owners.filter_map(Value::as_str).map(|login| shown(login).replace('\n', " ")).collect();
        let pack = api.ask("GET", &path, Body::Nothing)?;
        let downloads = pack.get("downloads").and_then(Value::as_u64).unwrap_or_default();
        Ok(Stewards { owners, downloads })
    }

    pub(crate) fn json(&self) -> Value {
        json!({ "owners": self.owners, "downloads": self.downloads })
    }
}
