//! Entries of the audit log as pages list them.

use super::format;
use crate::audit::Read;

/// Entries that a page shows.
pub(super) const SHOWN: usize = 12;

/// One entry.
pub(super) struct Event {
    /// To the minute.
    pub(super) at: String,
    pub(super) what: String,
    /// Who did it; nothing on a page where that is plain.
    pub(super) who: Option<String>,
    pub(super) address: Option<String>,
    /// The id of the token or session, shortened to what tells those of one account apart.
    pub(super) token: Option<String>,
}

impl Event {
    /// What an account itself did.
    pub(super) fn own(entry: Read) -> Self {
        let what = meaning(&entry);
        let token = entry.token.map(|id| id.chars().take(8).collect());
        Self { at: format::time(entry.at), what, who: None, address: entry.address, token }
    }

    /// What somebody did to a pack or an organisation.
    pub(super) fn of_somebody(entry: Read) -> Self {
        Self { who: Some(entry.login.clone()), ..Self::own(entry) }
    }
}

/// What an entry says to people.
fn meaning(entry: &Read) -> String {
    let (subject, detail) = (&entry.subject, entry.detail.as_deref().unwrap_or_default());
    let version = entry.version.as_ref().map(|version| format!("{subject} {version}"));
    let what = version.unwrap_or_else(|| subject.clone());
    match entry.action.as_str() {
        "account" => "The account was made".to_owned(),
        "account-add" => "The account was made by who runs the registry".to_owned(),
        "account-disable" => "The account was closed by who runs the registry".to_owned(),
        "login" => "Somebody signed in".to_owned(),
        "login-refused" => "A wrong password was given".to_owned(),
        "logout" => "Somebody signed out".to_owned(),
        "session-end" => "A session was ended".to_owned(),
        "password-reset" => "The password was set anew by who runs the registry".to_owned(),
        "password" => "The password was changed".to_owned(),
        "second-factor-on" => "The second factor was switched on".to_owned(),
        "second-factor-off" => "The second factor was switched off".to_owned(),
        "second-factor-reset" => "The second factor was switched off by who runs the registry".to_owned(),
        "second-factor-refused" => "A wrong code was given after the right password".to_owned(),
        "recovery-code-used" => "A recovery code was used".to_owned(),
        "recovery-codes" => "New recovery codes were made".to_owned(),
        "token" => format!("The token “{subject}” was made"),
        "token-end" => format!("The token “{subject}” was ended"),
        "publish" => format!("{what} was published"),
        "publish-refused" => format!("{what} was refused ({detail})"),
        "yank" => format!("{what} was yanked"),
        "unyank" => format!("{what} was given back"),
        "delete" => format!("{what} was deleted"),
        "quarantine" => format!("{what} was put into quarantine"),
        "release" => format!("{what} came out of quarantine"),
        "deprecate" => format!("{what} was deprecated"),
        "undeprecate" => format!("{what} is no longer deprecated"),
        "archive" => format!("{what} was archived"),
        "unarchive" => format!("{what} is no longer archived"),
        "owner-add" => format!("{detail} became an owner of {subject}"),
        "owner-remove" => format!("{detail} ceased to own {subject}"),
        "organisation" => format!("The organisation @{subject} was made"),
        "member-add" => format!("@{subject}: {detail} came in or changed the role"),
        "member-remove" => format!("@{subject}: {detail} left"),
        "verify" => format!("@{subject} got the badge of a verified owner"),
        "unverify" => format!("@{subject} lost the badge of a verified owner"),
        action if detail.is_empty() => format!("{action}: {what}"),
        action => format!("{action}: {what} ({detail})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_say_what_was_done() {
        let entry = |action: &str, version: Option<&str>, detail: Option<&str>| Read {
            id: "1".to_owned(),
            at: 0,
            login: "ada".to_owned(),
            action: action.to_owned(),
            subject: "neon".to_owned(),
            version: version.map(str::to_owned),
            detail: detail.map(str::to_owned),
            token: Some("0123456789abcdef".to_owned()),
            address: None,
        };
        assert_eq!(meaning(&entry("yank", Some("1.0.0"), None)), "neon 1.0.0 was yanked");
        assert_eq!(meaning(&entry("owner-add", None, Some("eve"))), "eve became an owner of neon");
        assert_eq!(meaning(&entry("new-thing", Some("1.0.0"), Some("x"))), "new-thing: neon 1.0.0 (x)");
        let shown = Event::of_somebody(entry("yank", None, None));
        assert_eq!((shown.who.as_deref(), shown.token.as_deref()), (Some("ada"), Some("01234567")));
    }
}
