//! The endpoints of organisations: making one, and saying who is a member.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use exo_index::name::PackName;
use exo_index::registry::look_alike;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::access::{self, Caller};
use crate::accounts::is_login;
use crate::chance;
use crate::database::{self, Rows};
use crate::error::ApiError;
use crate::organisations::{self, Role};
use crate::scopes;
use crate::service::Service;

fn absent(name: &str) -> ApiError {
    ApiError::absent(format!("there is no organisation `{name}`"))
}

pub(super) async fn create(
    State(service): State<Service>,
    caller: Caller,
    Path(name): Path<String>,
) -> Result<StatusCode, ApiError> {
    caller.must_be_session()?;
    let Ok(example) = PackName::parse(&format!("@{name}/pack")) else {
        return Err(ApiError::malformed(format!("`{name}` can be no scope"))
            .hint("an organisation's name begins with a letter and is of a-z, 0-9 and `-`"));
    };
    if !is_login(&name) || look_alike::is_reserved(&example) {
        return Err(ApiError::malformed(format!("the name `{name}` cannot be that of an organisation")));
    }
    let mut turn = database::turn(&service.registry.rows).await?;
    if organisations::exists(&mut turn, &name).await? || access::is_account(&mut turn, &name).await? {
        return Err(ApiError::conflict(format!("the name `{name}` is taken, by an organisation or an account")));
    }
    // Packs that were there before go on: whoever owns one of them may make their scope an organisation.
    let before = scopes::owners(&mut turn, &name).await?;
    if !before.is_empty() && !before.contains(&caller.login) {
        return Err(ApiError::forbidden(format!("the scope `@{name}` belongs to those who own its packs")));
    }
    sqlx::query("INSERT INTO organisations (name, created) VALUES ($1, $2)")
        .bind(name.clone())
        .bind(chance::now()?)
        .execute(&mut *turn)
        .await?;
    organisations::set(&mut turn, &name, &caller.login, Role::Owner).await?;
    access::note(&mut turn, &caller.login, "organisation", &name).await?;
    turn.commit().await?;
    Ok(StatusCode::CREATED)
}

pub(super) async fn show(State(service): State<Service>, Path(name): Path<String>) -> Result<Json<Value>, ApiError> {
    let mut rows = service.registry.rows.acquire().await?;
    let members = organisations::members(&mut rows, &name).await?;
    if members.is_empty() {
        return Err(absent(&name));
    }
    let members: Vec<Value> =
        members.into_iter().map(|(login, role)| json!({ "login": login, "role": role.as_str() })).collect();
    Ok(Json(json!({ "name": name, "members": members })))
}

/// Takes the lock for a change of who is a member; only owners come here, and who leaves by themselves.
async fn change(service: &Service, caller: &Caller, name: &str, leaves: bool) -> Result<Rows, ApiError> {
    caller.must_be_session()?;
    let mut turn = database::turn(&service.registry.rows).await?;
    if !organisations::exists(&mut turn, name).await? {
        return Err(absent(name));
    }
    let role = organisations::role(&mut turn, name, &caller.login).await?;
    if role == Some(Role::Owner) || caller.administrator || leaves && role.is_some() {
        return Ok(turn);
    }
    Err(ApiError::forbidden(format!("`{}` is no owner of the organisation `{name}`", caller.login))
        .hint(format!("`exo owner list @{name}` names those who are")))
}

/// Refuses a change after which nobody could make another.
async fn conclude(mut turn: Rows, caller: &Caller, name: &str, action: &str) -> Result<StatusCode, ApiError> {
    if !organisations::members(&mut turn, name).await?.iter().any(|(_, role)| *role == Role::Owner) {
        return Err(ApiError::conflict(format!("it would leave the organisation `{name}` without an owner"))
            .hint("make another member an owner first"));
    }
    access::note(&mut turn, &caller.login, action, name).await?;
    turn.commit().await?;
    Ok(StatusCode::NO_CONTENT)
}

#[derive(Deserialize)]
pub(super) struct Membership {
    role: String,
}

pub(super) async fn set_member(
    State(service): State<Service>,
    caller: Caller,
    Path((name, login)): Path<(String, String)>,
    Json(body): Json<Membership>,
) -> Result<StatusCode, ApiError> {
    let role = Role::parse(&body.role)
        .ok_or_else(|| ApiError::malformed("a member is an `owner` or a `publisher`, and nothing else"))?;
    let mut turn = change(&service, &caller, &name, false).await?;
    if !access::is_account(&mut turn, &login).await? {
        return Err(ApiError::absent(format!("there is no account `{login}`")));
    }
    organisations::set(&mut turn, &name, &login, role).await?;
    conclude(turn, &caller, &name, "member-add").await
}

pub(super) async fn remove_member(
    State(service): State<Service>,
    caller: Caller,
    Path((name, login)): Path<(String, String)>,
) -> Result<StatusCode, ApiError> {
    let mut turn = change(&service, &caller, &name, caller.login == login).await?;
    let done = sqlx::query("DELETE FROM members WHERE organisation = $1 AND login = $2")
        .bind(name.clone())
        .bind(login.clone())
        .execute(&mut *turn)
        .await?;
    if done.rows_affected() == 0 {
        return Err(ApiError::absent(format!("`{login}` is no member of the organisation `{name}`")));
    }
    conclude(turn, &caller, &name, "member-remove").await
}
