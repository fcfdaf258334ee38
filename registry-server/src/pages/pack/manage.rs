//! What the owners of a pack change about it: who else owns it, whether it is kept up, and which versions are not to be chosen any more.

use askama::Template;
use axum::response::{IntoResponse, Redirect, Response};
use serde::Deserialize;

use super::super::events::{Event, SHOWN};
use super::super::render_private;
use super::super::trouble::{PageError, problem_of};
use super::super::visitor::{Frame, Visitor};
use super::{Shown, Tab, Whole};
use crate::audit;
use crate::deletion::{self, WINDOW_HOURS};
use crate::error::ApiError;
use crate::second_factor;
use crate::service::Service;
use crate::stewardship::{self, Subject};

/// One version in the list.
struct VersionRow {
    version: String,
    yanked: Option<String>,
}

#[derive(Template)]
#[template(path = "pack_manage.html")]
struct Manage<'a> {
    frame: &'a Frame,
    pack: &'a Shown,
    versions: Vec<VersionRow>,
    asks_for_code: bool,
    /// What was done lately.
    events: Vec<Event>,
    /// How long after publishing a version can be deleted.
    window_hours: u64,
    problem: Option<&'a str>,
    /// What was typed before, kept when it was refused.
    filled: &'a Filled,
}

/// What a button does.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Act {
    #[default]
    Yank,
    Unyank,
    Deprecate,
    Undeprecate,
    Archive,
    Unarchive,
    Delete,
    AddOwner,
    RemoveOwner,
}

/// What the forms of the page send; each sends some of it.
#[derive(Debug, Default, Deserialize)]
pub(in crate::pages) struct Filled {
    form_token: String,
    act: Act,
    #[serde(default)]
    version: String,
    #[serde(default)]
    login: String,
    #[serde(default)]
    reason: String,
    #[serde(default)]
    replacement: String,
    /// The name may go with its last version.
    with_name: Option<String>,
    #[serde(default)]
    second_factor: String,
}

pub(super) async fn page(
    service: &Service,
    visitor: &Visitor,
    whole: Whole<'_>,
    problem: Option<&str>,
    filled: &Filled,
) -> Result<Response, PageError> {
    let caller = visitor.must_be_signed_in()?;
    let pack = whole.pack;
    if !pack.owned {
        return Err(ApiError::forbidden(format!("`{}` does not own `{}`", caller.login, pack.name())).into());
    }
    let mut versions: Vec<VersionRow> = pack
        .shard
        .versions
        .iter()
        .map(|entry| VersionRow {
            version: entry.version.to_string(),
            yanked: entry.yanked.as_ref().map(|why| why.reason.clone().unwrap_or_default()),
        })
        .collect();
    versions.reverse();
    let asks_for_code = second_factor::is_asked_for(&service.registry.rows, caller).await?;
    let part = audit::of_pack(service, caller, pack.name(), &audit::Asked::of(None, SHOWN)).await?;
    let events = part.events.into_iter().map(Event::of_somebody).collect();
    let (frame, window_hours) = (whole.frame, WINDOW_HOURS);
    render_private(&Manage { frame, pack, versions, asks_for_code, events, window_hours, problem, filled })
}

/// Does what a form says.
pub(super) async fn act(
    service: &Service,
    visitor: &Visitor,
    pack: &Shown,
    filled: &Filled,
) -> Result<Response, PageError> {
    visitor.check_form(&filled.form_token)?;
    let caller = &visitor.must_be_signed_in_with(&filled.second_factor)?;
    let name = pack.name();
    let given = |text: &str| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
    let why = || stewardship::withdrawal(given(&filled.reason), given(&filled.replacement));
    let login = filled.login.trim().to_owned();
    let version = || super::asked_for(&pack.shard, &filled.version).map(|entry| entry.version.clone());
    let result = match filled.act {
        Act::Yank | Act::Unyank => match (version(), why()) {
            (Ok(version), Ok(why)) => {
                let why = matches!(filled.act, Act::Yank).then_some(why);
                stewardship::withdraw(service, caller, &Subject::Version(name.clone(), version), why).await
            }
            (Err(error), _) | (_, Err(error)) => Err(error),
        },
        Act::Delete => match version() {
            Ok(version) => {
                let asked = deletion::Asked {
                    reason: filled.reason.clone(),
                    with_name: filled.with_name.is_some(),
                    purge: false,
                };
                deletion::delete(service, caller, name, &version, asked).await
            }
            Err(error) => Err(error),
        },
        Act::Deprecate => match why() {
            Ok(why) => stewardship::withdraw(service, caller, &Subject::Pack(name.clone()), Some(why)).await,
            Err(error) => Err(error),
        },
        Act::Undeprecate => stewardship::withdraw(service, caller, &Subject::Pack(name.clone()), None).await,
        Act::Archive => match stewardship::withdrawal(given(&filled.reason), None) {
            Ok(why) => stewardship::withdraw(service, caller, &Subject::Upkeep(name.clone()), Some(why)).await,
            Err(error) => Err(error),
        },
        Act::Unarchive => stewardship::withdraw(service, caller, &Subject::Upkeep(name.clone()), None).await,
        Act::AddOwner => stewardship::add_owner(service, caller, name, login).await,
        Act::RemoveOwner => stewardship::remove_owner(service, caller, name, login).await,
    };
    match result {
        Ok(()) if matches!(filled.act, Act::Delete) && pack.shard.versions.len() == 1 => {
            Ok(Redirect::to("/account").into_response())
        }
        Ok(()) => Ok(Redirect::to(&format!("/packs/{name}/{}", Tab::Manage.as_str())).into_response()),
        Err(error) => {
            let (status, problem) = problem_of(error)?;
            let whole = Whole { frame: &visitor.frame, pack };
            let mut response = page(service, visitor, whole, Some(&problem), filled).await?;
            *response.status_mut() = status;
            Ok(response)
        }
    }
}
