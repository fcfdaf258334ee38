//! An entry of the audit log as a phrase for people.

use super::Read;
use super::action::Action;

/// What an entry says.
pub(crate) fn meaning(entry: &Read) -> String {
    let (subject, detail) = (&entry.subject, entry.detail.as_deref().unwrap_or_default());
    let version = entry.version.as_ref().map(|version| format!("{subject} {version}"));
    let what = version.unwrap_or_else(|| subject.clone());
    match Action::read(&entry.action) {
        Some(action) => said(action, (subject, &what, detail)),
        None if detail.is_empty() => format!("{}: {what}", entry.action),
        None => format!("{}: {what} ({detail})", entry.action),
    }
}

/// What is said of an action on something, with its version where it has one, and a detail.
fn said(action: Action, (subject, what, detail): (&str, &str, &str)) -> String {
    match action {
        Action::Account => "The account was made".to_owned(),
        Action::AccountAdd => "The account was made by who runs the registry".to_owned(),
        Action::AccountDisable => "The account was closed by who runs the registry".to_owned(),
        Action::Login => "Somebody signed in".to_owned(),
        Action::LoginRefused => "A wrong password was given".to_owned(),
        Action::Logout => "Somebody signed out".to_owned(),
        Action::SessionEnd => "A session was ended".to_owned(),
        Action::PasswordReset => "The password was set anew by who runs the registry".to_owned(),
        Action::Password => "The password was changed".to_owned(),
        Action::Email => "Another e-mail address was given, and waits to be confirmed".to_owned(),
        Action::EmailConfirmed => "An e-mail address was confirmed, and mails go there from now on".to_owned(),
        Action::EmailRemove => "The e-mail address was removed".to_owned(),
        Action::SecondFactorOn => "The second factor was switched on".to_owned(),
        Action::SecondFactorOff => "The second factor was switched off".to_owned(),
        Action::SecondFactorReset => "The second factor was switched off by who runs the registry".to_owned(),
        Action::SecondFactorRefused => "A wrong code was given after the right password".to_owned(),
        Action::RecoveryCodeUsed => "A recovery code was used".to_owned(),
        Action::RecoveryCodes => "New recovery codes were made".to_owned(),
        Action::Token => format!("The token “{subject}” was made"),
        Action::TokenEnd => format!("The token “{subject}” was ended"),
        Action::Report if detail.is_empty() => "A pack was reported".to_owned(),
        Action::Report => format!("{detail} was reported"),
        Action::ReportClose => "A report was closed".to_owned(),
        Action::Publish => format!("{what} was published"),
        Action::PublishRefused => format!("{what} was refused ({detail})"),
        Action::Yank => format!("{what} was yanked"),
        Action::Unyank => format!("{what} was given back"),
        Action::Delete => format!("{what} was deleted"),
        Action::Quarantine => format!("{what} was put into quarantine"),
        Action::Release => format!("{what} came out of quarantine"),
        Action::Deprecate => format!("{what} was deprecated"),
        Action::Undeprecate => format!("{what} is no longer deprecated"),
        Action::Archive => format!("{what} was archived"),
        Action::Unarchive => format!("{what} is no longer archived"),
        Action::OwnerAdd => format!("{detail} became an owner of {subject}"),
        Action::OwnerRemove => format!("{detail} ceased to own {subject}"),
        Action::AdvisoryPublish => format!("The advisory {detail} of {subject} was published"),
        Action::AdvisoryChange => format!("The advisory {detail} of {subject} was changed"),
        Action::AdvisoryWithdraw => format!("The advisory {detail} of {subject} was withdrawn"),
        Action::Organisation => format!("The organisation @{subject} was made"),
        Action::MemberAdd => format!("@{subject}: {detail} came in or changed the role"),
        Action::MemberRemove => format!("@{subject}: {detail} left"),
        Action::Verify => format!("@{subject} got the badge of a verified owner"),
        Action::Unverify => format!("@{subject} lost the badge of a verified owner"),
        Action::RotateKeys => format!("The registry got new keys ({detail})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_say_what_was_done() {
        let entry = |action: &str, version: Option<&str>, detail: Option<&str>| Read {
            version: version.map(str::to_owned),
            detail: detail.map(str::to_owned),
            ..Read::example(action)
        };
        assert_eq!(meaning(&entry("yank", Some("1.0.0"), None)), "neon 1.0.0 was yanked");
        assert_eq!(meaning(&entry("owner-add", None, Some("eve"))), "eve became an owner of neon");
        assert_eq!(meaning(&entry("new-thing", Some("1.0.0"), Some("x"))), "new-thing: neon 1.0.0 (x)");
    }
}
