//! The HTTP interface: routes, and what all handlers share.

mod accounts;
mod advisories;
mod feeds;
mod guarding;
mod organisations;
mod packs;
mod publishing;
mod ranges;
pub(crate) mod refusals;
mod search;
mod second_factor;
mod static_files;
mod status;

use axum::Router;
use axum::extract::Path;
use axum::routing::{delete, get, post, put};
use exo_index::name::PackName;
use exo_index::version::Version;

use crate::error::ApiError;
use crate::service::Service;

/// The largest body: that of an archive.
pub(crate) const LARGEST_BODY: usize = 16 << 20;

/// All routes of programs.
pub(crate) fn routes() -> Router<Service> {
    let api = Router::new()
        .route("/health", get(status::health))
        .route("/ready", get(status::ready))
        .route("/openapi.json", get(status::openapi))
        .route("/accounts", post(accounts::create))
        .route("/login", post(accounts::login))
        .route("/logout", post(accounts::logout))
        .route("/whoami", get(accounts::whoami))
        .route("/account/audit", get(accounts::audit))
        .route("/account/sessions", get(accounts::sessions))
        .route("/account/sessions/{id}", delete(accounts::end_session))
        .route("/account/password", put(accounts::change_password))
        .route("/account/email", get(accounts::email).put(accounts::change_email))
        .route("/account/email/confirm", post(accounts::confirm_email))
        .route(
            "/account/second-factor",
            get(second_factor::show).post(second_factor::begin).delete(second_factor::switch_off),
        )
        .route("/account/second-factor/confirm", post(second_factor::confirm))
        .route("/account/second-factor/recovery-codes", post(second_factor::new_recovery_codes))
        .route("/tokens", get(accounts::tokens).post(accounts::make_token))
        .route("/tokens/{id}", delete(accounts::remove_token))
        .route("/publish", post(publishing::prepare))
        .route("/publish/{id}", get(publishing::state).delete(publishing::abandon))
        .route("/publish/{id}/commit", post(publishing::commit))
        .route("/publish/{id}/{sha256}", put(publishing::upload))
        .route("/packs/{name}", get(packs::show))
        .route("/packs/{name}/{version}", get(packs::show_version).delete(packs::delete))
        .route("/packs/{name}/{version}/diff/{other}", get(packs::difference))
        .route("/packs/{name}/{version}/yank", put(packs::yank).delete(packs::unyank))
        .route("/packs/{name}/deprecation", put(packs::deprecate).delete(packs::undeprecate))
        .route("/packs/{name}/archival", put(packs::archive).delete(packs::unarchive))
        .route("/packs/{name}/{version}/quarantine", put(guarding::quarantine).delete(guarding::release))
        .route("/packs/{name}/report", post(guarding::report))
        .route("/reports", get(guarding::reports))
        .route("/reports/{id}", delete(guarding::close_report))
        .route("/packs/{name}/advisories", get(advisories::list).post(advisories::publish))
        .route("/packs/{name}/advisories/{id}", put(advisories::replace).delete(advisories::withdraw))
        .route("/packs/{name}/advisories.atom", get(feeds::advisories_of_pack))
        .route("/advisories.atom", get(feeds::advisories))
        .route("/packs/{name}/compatibility", get(packs::compatibility))
        .route("/packs/{name}/owners", get(packs::owners))
        .route("/packs/{name}/owners/{login}", put(packs::add_owner).delete(packs::remove_owner))
        .route("/packs/{name}/dependants", get(packs::dependants))
        .route("/packs/{name}/downloads", get(packs::downloads))
        .route("/packs/{name}/audit", get(packs::events))
        .route("/packs/{name}/badge.svg", get(packs::badge))
        .route("/packs/{name}/feed.atom", get(feeds::of_pack))
        .route("/feed.atom", get(feeds::all))
        .route("/organisations/{name}", get(organisations::show).put(organisations::create))
        .route("/organisations/{name}/audit", get(organisations::audit))
        .route("/organisations/{name}/verification", put(organisations::verify).delete(organisations::unverify))
        .route(
            "/organisations/{name}/members/{login}",
            put(organisations::set_member).delete(organisations::remove_member),
        )
        .route("/search", get(search::search));
    Router::new()
        .nest("/api/v1", api)
        .route("/metrics", get(status::metrics))
        .route("/v1/{*path}", get(static_files::serve))
}

/// The name in a path.
fn pack_name(text: &str) -> Result<PackName, ApiError> {
    PackName::parse(text).map_err(|error| ApiError::malformed(error.message))
}

/// The version in a path.
fn version(text: &str) -> Result<Version, ApiError> {
    Version::parse(text).map_err(|error| ApiError::malformed(error.message))
}

/// The name in a path of which it is the only parameter.
fn named(path: &Path<String>) -> Result<PackName, ApiError> {
    pack_name(&path.0)
}
