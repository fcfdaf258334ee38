//! The pages of one pack: which one an address means, and what stands at the head and the side of all of them.

mod checks;
mod compare;
mod manage;
mod neighbours;
mod readme;
mod sources;
mod versions;

use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::Response;
use axum::{Extension, Form};
use exo_index::name::PackName;
use exo_index::registry::shard::{Advisory, Archival, Shard, VersionEntry, Withdrawal};
use exo_index::version::Version;
use serde::Deserialize;
use sqlx::Row as _;

use super::format;
use super::trouble::{PageError, sentence};
use super::visitor::{Frame, Visitor};
use crate::access::{Caller, Right};
use crate::chance::signed;
use crate::deletion;
use crate::error::ApiError;
use crate::index;
use crate::organisations;
use crate::registry::Registry;
use crate::service::Service;

/// What the query of an address may say.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Asked {
    version: Option<String>,
    from: Option<String>,
    to: Option<String>,
}

/// The pages of a pack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tab {
    Readme,
    Versions,
    Dependencies,
    Dependants,
    Checks,
    Sources,
    Compare,
    Manage,
}

impl Tab {
    /// Those that are listed on every page.
    const LISTED: [Self; 6] =
        [Self::Readme, Self::Versions, Self::Dependencies, Self::Dependants, Self::Checks, Self::Sources];

    /// The part of the address after the pack's name.
    const fn as_str(self) -> &'static str {
        match self {
            Self::Readme => "",
            Self::Versions => "versions",
            Self::Dependencies => "dependencies",
            Self::Dependants => "dependants",
            Self::Checks => "checks",
            Self::Sources => "sources",
            Self::Compare => "compare",
            Self::Manage => "manage",
        }
    }

    const fn title(self) -> &'static str {
        match self {
            Self::Readme => "Read me",
            Self::Versions => "Versions",
            Self::Dependencies => "Dependencies",
            Self::Dependants => "Dependants",
            Self::Checks => "Checks",
            Self::Sources => "Sources",
            Self::Compare => "Compare",
            Self::Manage => "Manage",
        }
    }

    fn parse(text: &str) -> Option<Self> {
        Self::LISTED.into_iter().chain([Self::Compare, Self::Manage]).find(|tab| tab.as_str() == text)
    }
}

/// What an address below `/packs/` means: the pack, the page, and what follows that.
fn parse_place(place: &str) -> Option<(PackName, Tab, &str)> {
    let cut = |text: &str, slashes: usize| text.match_indices('/').nth(slashes).map_or(text.len(), |(at, _)| at);
    let (name, rest) = place.split_at_checked(cut(place, usize::from(place.starts_with('@'))))?;
    let rest = rest.strip_prefix('/').unwrap_or_default();
    let (tab, file) = rest.split_once('/').unwrap_or((rest, ""));
    Some((PackName::parse(name).ok()?, Tab::parse(tab)?, file))
}

/// One tab of the list.
struct TabLink {
    title: &'static str,
    address: String,
    open: bool,
    count: Option<usize>,
}

/// Why a version or a pack should not be used, in words.
struct Warning {
    /// `Yanked`, `Deprecated`, `Archived`, or what an advisory is about.
    what: String,
    text: String,
    /// A page elsewhere on which more stands.
    more: Option<String>,
}

fn warning(what: &str, withdrawal: &Withdrawal) -> Warning {
    let reason = withdrawal.reason.clone().unwrap_or_else(|| "no reason was given".to_owned());
    let replacement = withdrawal.replacement.as_ref().map(|other| format!(" Use {other} instead."));
    let reason = reason.trim_end_matches('.');
    Warning { what: what.to_owned(), text: format!("{reason}.{}", replacement.unwrap_or_default()), more: None }
}

fn no_longer_maintained(archived: &Archival) -> Warning {
    let since = format!("no longer maintained since {}; nothing new is published", archived.day());
    let reason = archived.reason.as_ref().map(|reason| format!(" {}.", reason.trim_end_matches('.')));
    Warning { what: "Archived".to_owned(), text: format!("{since}.{}", reason.unwrap_or_default()), more: None }
}

fn known_weakness(advisory: &Advisory) -> Warning {
    let summary = advisory.summary.trim_end_matches('.');
    let advice = advisory.advice().map(|advice| format!(" {}", sentence(&advice))).unwrap_or_default();
    let what = format!("{} ({})", advisory.id, advisory.severity);
    Warning { what, text: format!("{summary}.{advice}"), more: advisory.url.clone() }
}

/// A pack in the version that is shown.
struct Shown {
    shard: Shard,
    entry: VersionEntry,
    tab: Tab,
    downloads: i64,
    /// The organisation whose scope it is in.
    organisation: Option<String>,
    /// Whether whoever looks may change what is said of it.
    owned: bool,
}

/// The version that is shown when none is asked for: the newest that is neither yanked nor a prerelease, or else the newest.
fn usual(shard: &Shard) -> Option<&VersionEntry> {
    let good = |entry: &&VersionEntry| entry.yanked.is_none() && !entry.version.is_prerelease();
    shard.versions.iter().rev().find(good).or(shard.versions.last())
}

/// An entry of a version that somebody asked for.
fn asked_for<'s>(shard: &'s Shard, version: &str) -> Result<&'s VersionEntry, ApiError> {
    let found = Version::parse(version).ok().and_then(|version| shard.version(&version));
    found.ok_or_else(|| {
        ApiError::absent(
            format!("there is no version `{version}` of `{}`", shard.pack.name),
            "its page lists those that there are",
        )
        .hint("choose one of the list of versions")
    })
}

impl Shown {
    async fn load(
        registry: &Registry,
        name: &PackName,
        tab: Tab,
        version: Option<&str>,
        caller: Option<&Caller>,
    ) -> Result<Self, ApiError> {
        let mut rows = registry.rows.acquire().await?;
        let no_pack =
            || ApiError::absent(format!("there is no pack `{name}`"), "search for it: its name may be another");
        let Some(shard) = index::shard(&mut rows, name).await? else {
            let nothing = deletion::nothing(&mut rows, name, None).await?;
            return Err(if nothing.status == StatusCode::GONE { nothing } else { no_pack() });
        };
        let entry = match version {
            Some(version) => match (asked_for(&shard, version), Version::parse(version)) {
                (Err(absent), Ok(version)) => {
                    let nothing = deletion::nothing(&mut rows, name, Some(&version)).await?;
                    return Err(if nothing.status == StatusCode::GONE { nothing } else { absent });
                }
                (found, _) => found?,
            },
            None => usual(&shard).ok_or_else(no_pack)?,
        };
        let row = sqlx::query("SELECT downloads FROM packs WHERE name = $1")
            .bind(name.as_str().to_owned())
            .fetch_one(&mut *rows)
            .await?;
        let owned = match caller {
            Some(caller) => caller.must_own(&mut rows, Right::Owners, name).await.is_ok(),
            None => false,
        };
        let organisation = match name.vendor() {
            Some(scope) if organisations::exists(&mut rows, scope).await? => Some(scope.to_owned()),
            Some(_) | None => None,
        };
        Ok(Self { entry: entry.clone(), shard, tab, downloads: row.try_get("downloads")?, organisation, owned })
    }

    fn name(&self) -> &PackName {
        &self.shard.pack.name
    }

    /// The address of one of its pages, for the version that is shown.
    fn address(&self, tab: Tab) -> String {
        let mut address = format!("/packs/{}", self.name());
        if tab != Tab::Readme {
            address.push_str(&format!("/{}", tab.as_str()));
        }
        address + &self.version_query()
    }

    /// What an address needs to mean the version that is shown; nothing for the usual one.
    fn version_query(&self) -> String {
        if usual(&self.shard).is_some_and(|usual| usual.version == self.entry.version) {
            return String::new();
        }
        format!("?version={}", format::encoded(&self.entry.version.to_string()))
    }

    /// The address of one of its files.
    fn file_address(&self, path: &str) -> String {
        // A path in a pack has only characters that stand for themselves in an address.
        format!("/packs/{}/sources/{path}{}", self.name(), self.version_query())
    }

    fn tabs(&self) -> Vec<TabLink> {
        let count = |tab: Tab| match tab {
            Tab::Versions => Some(self.shard.versions.len()),
            Tab::Dependencies => Some(self.entry.dependencies.len()),
            Tab::Readme | Tab::Dependants | Tab::Checks | Tab::Sources | Tab::Compare | Tab::Manage => None,
        };
        let link = |tab: Tab| TabLink {
            title: tab.title(),
            address: self.address(tab),
            open: tab == self.tab,
            count: count(tab),
        };
        Tab::LISTED.into_iter().chain(self.owned.then_some(Tab::Manage)).map(link).collect()
    }

    fn warnings(&self) -> Vec<Warning> {
        let pack = &self.shard.pack;
        let mut warnings: Vec<Warning> = pack.deprecated.iter().map(|why| warning("Deprecated", why)).collect();
        warnings.extend(pack.archived.iter().map(no_longer_maintained));
        warnings.extend(match &self.entry.quarantined {
            Some(why) => Some(warning("In quarantine", why)),
            None => self.entry.yanked.as_ref().map(|why| warning("Yanked", why)),
        });
        let concerned = pack.advisories.iter().filter(|advisory| advisory.affects(&self.entry.version));
        warnings.extend(concerned.map(known_weakness));
        warnings
    }

    fn install(&self) -> String {
        let name = self.name();
        // A prerelease is chosen only by whoever names it.
        if self.version_query().is_empty() && !self.entry.version.is_prerelease() {
            return format!("exo add {name}");
        }
        format!("exo add {name}@={}", self.entry.version)
    }

    /// The address of the form to report it.
    fn report_address(&self) -> String {
        let version = format::encoded(&self.entry.version.to_string());
        format!("/report?pack={}&version={version}", format::encoded(self.name().as_str()))
    }

    fn published(&self) -> String {
        format::day(signed(self.entry.published))
    }

    fn size(&self) -> String {
        format::bytes(self.entry.size)
    }

    fn count_of_downloads(&self) -> String {
        format::count(self.downloads)
    }

    /// What stands in the place of requirements that any compiler meets.
    fn exo(&self) -> String {
        if self.entry.exo.is_any() { "any".to_owned() } else { self.entry.exo.to_string() }
    }
}

/// Whether what is in a version may be shown: administrators have to judge one in quarantine, and nobody else should take anything
/// from it.
fn may_be_read(visitor: &Visitor, name: &PackName, entry: &VersionEntry) -> Result<(), ApiError> {
    if entry.quarantined.is_none() {
        return Ok(());
    }
    let held = format!("`{name} {}` is in quarantine: its files are not shown", entry.version);
    visitor.caller.as_ref().ok_or_else(|| ApiError::forbidden(held))?.must_administer(Some(name))
}

/// What all pages of a pack have.
struct Whole<'a> {
    frame: &'a Frame,
    pack: &'a Shown,
}

pub(super) async fn show(
    State(service): State<Service>,
    Extension(visitor): Extension<Visitor>,
    Path(place): Path<String>,
    asked: Result<Query<Asked>, QueryRejection>,
) -> Result<Response, PageError> {
    let nothing = || ApiError::absent("there is no such page of a pack", "search for the pack");
    let (name, tab, file) = parse_place(place.trim_end_matches('/')).ok_or_else(nothing)?;
    if !file.is_empty() && tab != Tab::Sources {
        return Err(nothing().into());
    }
    let Query(asked) = asked.unwrap_or_default();
    let registry = &service.registry;
    let pack = Shown::load(registry, &name, tab, asked.version.as_deref(), visitor.caller.as_ref()).await?;
    if matches!(tab, Tab::Sources | Tab::Checks) {
        may_be_read(&visitor, &name, &pack.entry)?;
    }
    let whole = Whole { frame: &visitor.frame, pack: &pack };
    match tab {
        Tab::Readme => readme::page(&service, whole).await,
        Tab::Versions => versions::page(registry, whole).await,
        Tab::Dependencies => neighbours::dependencies(&service, whole).await,
        Tab::Dependants => neighbours::dependants(registry, whole).await,
        Tab::Checks => checks::page(registry, whole).await,
        Tab::Sources => sources::page(registry, whole, file).await,
        Tab::Compare => compare::page(&service, whole, &asked, &visitor).await,
        Tab::Manage => manage::page(&service, &visitor, whole, None, &manage::Filled::default()).await,
    }
}

/// What an owner changes with a form.
pub(super) async fn act(
    State(service): State<Service>,
    Extension(visitor): Extension<Visitor>,
    Path(place): Path<String>,
    Form(filled): Form<manage::Filled>,
) -> Result<Response, PageError> {
    let name = match parse_place(&place) {
        Some((name, Tab::Manage, "")) => name,
        Some(_) | None => {
            return Err(ApiError::absent(
                "there is no such form of a pack",
                "the pages of a pack that one owns have its forms",
            )
            .into());
        }
    };
    let pack = Shown::load(&service.registry, &name, Tab::Manage, None, visitor.caller.as_ref()).await?;
    manage::act(&service, &visitor, &pack, &filled).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_addresses_mean() {
        for (place, name, tab, file) in [
            ("neon", "neon", Tab::Readme, ""),
            ("neon/versions", "neon", Tab::Versions, ""),
            ("@arm/neon", "@arm/neon", Tab::Readme, ""),
            ("@arm/neon/sources/src/lib.exo", "@arm/neon", Tab::Sources, "src/lib.exo"),
            ("neon/compare", "neon", Tab::Compare, ""),
            ("@arm/neon/manage", "@arm/neon", Tab::Manage, ""),
        ] {
            let name = PackName::parse(name).ok();
            assert_eq!(parse_place(place), name.map(|name| (name, tab, file)), "{place}");
        }
        for place in ["", "Neon", "@arm", "neon/other", "a b", "../keys", "@arm/../keys"] {
            assert_eq!(parse_place(place), None, "{place}");
        }
    }
}
