//! `exo login` and `exo logout`: a session at a registry, kept where only the user reads it.

use exo_index::visible::shown;
use serde_json::{Value, json};

use crate::arguments::{Login, Logout};
use crate::commands::token::left;
use crate::failure::{Exit, Failure, Outcome};
use crate::policy::now;
use crate::question;
use crate::registry::api::{Api, Body, CODE, Refused};
use crate::registry::configuration::{Configured, Registries};
use crate::registry::credentials::{self, Kept, Origin, Secret};
use crate::settings::Settings;
use crate::terminal::Terminal;

pub(super) fn run(arguments: &Login, settings: &Settings, terminal: &Terminal) -> Outcome<Exit> {
    let registries = Registries::read(settings)?;
    let registry = registries.asked(arguments.at.registry.as_deref())?;
    let api = Api::anonymous(settings, &registry)?;
    let kept = if arguments.token { with_token(api, terminal)? } else { with_password(arguments, &api, terminal)? };
    let (login, lasts) = (kept.login.clone(), left(kept.expires));
    let what = if kept.session { "session" } else { "token" };
    credentials::keep(settings, &registry.url, kept)?;
    if is_overruled(settings, &registries, &registry)? {
        terminal.warning("EXO_TOKEN is set, and goes before what was kept now");
    }
    terminal.answer(
        || format!("logged in at {} as {login}; the {what} lasts {lasts}\n", registry.url),
        || json!({ "registry": registry.url, "login": login, "session": what == "session" }),
    );
    Ok(Exit::Done)
}

/// Whether the variable goes before the file for this registry.
fn is_overruled(settings: &Settings, registries: &Registries, registry: &Configured) -> Outcome<bool> {
    let in_use = registries.in_use()?.is_some_and(|used| used.url == registry.url);
    Ok(in_use && settings.environment.token.is_some())
}

fn text(value: &Value, key: &str) -> Outcome<String> {
    let found = value.get(key).and_then(Value::as_str).map(shown);
    found.ok_or_else(|| Failure::environment(format!("the registry's answer has no `{key}`")))
}

fn expires(value: &Value) -> u64 {
    value.get("expires").and_then(Value::as_u64).unwrap_or(0)
}

/// A session by login and password.
fn with_password(arguments: &Login, api: &Api, terminal: &Terminal) -> Outcome<Kept> {
    let login = match &arguments.login {
        Some(login) => login.clone(),
        None if question::somebody() => question::visible(terminal, &format!("login at {}: ", api.url))?,
        None => {
            return Err(Failure::usage("there is nobody to ask for a login").hint(
                "write `exo login LOGIN`, with the password on standard input; for machines there is EXO_TOKEN",
            ));
        }
    };
    let password = question::hidden(terminal, &format!("password of {login}: "))?;
    if arguments.create {
        if question::somebody() && question::hidden(terminal, "the same password again: ")? != password {
            return Err(Failure::usage("the two passwords differ").hint("run it again"));
        }
        let account = json!({ "login": login, "password": password.expose(), "code": arguments.code });
        api.ask("POST", "accounts", Body::Json(&account))?;
        terminal.status("Created", &format!("the account {login} at {}", api.url));
    }
    let code = arguments.code.as_deref().filter(|_| !arguments.create);
    let answer = match enter(api, &login, &password, code)? {
        Err(refused) if refused.is_for_want_of_a_code() && code.is_none() => {
            let code = question::code(terminal, CODE)?.ok_or_else(|| {
                Failure::usage(format!("`{login}` has a second factor at {}, and no code was given", api.url)).hint(
                    "give it with --code CODE, or as a second line of standard input; for machines there is EXO_TOKEN",
                )
            })?;
            enter(api, &login, &password, Some(&code))?
        }
        answer => answer,
    };
    let answer = answer.map_err(|refused| api.failure(refused))?;
    Ok(Kept { token: Secret::new(text(&answer, "token")?), login, session: true, expires: expires(&answer) })
}

/// Tries to log in.
fn enter(api: &Api, login: &str, password: &Secret, code: Option<&str>) -> Outcome<Result<Value, Refused>> {
    let body = json!({ "login": login, "password": password.expose(), "totp": code });
    api.attempt("POST", "login", Body::Json(&body))
}

/// A token that was made elsewhere, after the registry was asked whose it is.
fn with_token(api: Api, terminal: &Terminal) -> Outcome<Kept> {
    let token = question::hidden(terminal, &format!("token for {}: ", api.url))?;
    if !token.is_word() {
        return Err(Failure::usage("that is no token").hint("a token is one word that begins with `exo_`"));
    }
    let answer = api.with(token.clone(), Origin::File).ask("GET", "whoami", Body::Nothing)?;
    Ok(Kept { login: text(&answer, "login")?, token, session: false, expires: expires(&answer) })
}

/// `exo logout`.
pub(super) fn logout(arguments: &Logout, settings: &Settings, terminal: &Terminal) -> Outcome<Exit> {
    let registries = Registries::read(settings)?;
    let registry = registries.asked(arguments.at.registry.as_deref())?;
    let kept = credentials::forget(settings, &registry.url)?;
    if let Some(kept) = kept.as_ref().filter(|kept| kept.session && kept.expires > now()) {
        // A token may be in use elsewhere too; a session is this machine's, and ends.
        let ended = Api::anonymous(settings, &registry)
            .and_then(|api| api.with(kept.token.clone(), Origin::File).attempt("POST", "logout", Body::Nothing));
        match ended {
            Ok(Ok(_)) => {}
            Ok(Err(refused)) if refused.status == 401 => {}
            Ok(Err(_)) | Err(_) => terminal.warning(&format!(
                "the registry could not be told; there the session lasts {} more",
                left(kept.expires)
            )),
        }
    }
    if is_overruled(settings, &registries, &registry)? {
        terminal.warning("EXO_TOKEN is still set");
    }
    let was = kept.is_some();
    terminal.answer(
        || format!("{} at {}\n", if was { "logged out" } else { "nobody was logged in" }, registry.url),
        || json!({ "registry": registry.url, "was_logged_in": was }),
    );
    Ok(Exit::Done)
}
