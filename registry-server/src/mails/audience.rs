//! Who is told of an action by mail.

use exo_index::name::PackName;

use crate::audit::action::Action;

/// Whom an entry of the audit log is told to: those of these accounts that have a confirmed address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Audience<'a> {
    /// An account, closed or not.
    Account(&'a str),
    /// Whoever owns a pack, or owned it last, itself or by the organisation whose scope it is in; and an account that it is about.
    Owners { pack: &'a str, concerned: &'a str },
    /// The owners of an organisation, and an account that it is about.
    Organisation { name: &'a str, concerned: &'a str },
    /// The administrators of the registry.
    Administrators,
}

impl<'a> Audience<'a> {
    /// Who is told that an account did something to a subject; nobody of what is done every day, or was answered at once.
    pub(crate) fn of(action: Action, login: &'a str, subject: &'a str, detail: &'a str) -> Option<Self> {
        match action {
            Action::Account
            | Action::AccountAdd
            | Action::AccountDisable
            | Action::Password
            | Action::PasswordReset
            | Action::Email
            | Action::EmailConfirmed
            | Action::EmailRemove
            | Action::SecondFactorOn
            | Action::SecondFactorOff
            | Action::SecondFactorReset
            | Action::RecoveryCodeUsed
            | Action::RecoveryCodes
            | Action::Token
            | Action::TokenEnd => Some(Self::Account(login)),
            // Whoever types wrongly would drown what matters; the page of the account lists these.
            Action::LoginRefused | Action::SecondFactorRefused => None,
            Action::Login | Action::Logout | Action::SessionEnd => None,
            Action::Organisation | Action::MemberAdd | Action::MemberRemove | Action::Verify | Action::Unverify => {
                Some(Self::Organisation { name: subject, concerned: detail.split(' ').next().unwrap_or_default() })
            }
            Action::Publish
            | Action::Yank
            | Action::Unyank
            | Action::Deprecate
            | Action::Undeprecate
            | Action::Archive
            | Action::Unarchive
            | Action::Delete
            | Action::Quarantine
            | Action::Release
            | Action::AdvisoryPublish
            | Action::AdvisoryChange
            | Action::AdvisoryWithdraw => Some(Self::Owners { pack: subject, concerned: "" }),
            Action::OwnerAdd | Action::OwnerRemove => Some(Self::Owners { pack: subject, concerned: detail }),
            // Whoever published waits for the answer.
            Action::PublishRefused => None,
            // Who reported a pack, and that somebody did, is not for its owners.
            Action::Report | Action::RotateKeys => Some(Self::Administrators),
            Action::ReportClose => None,
        }
    }

    /// The accounts as the end of a query that begins with what is asked of them. The names that it needs are its parameters from a number on.
    pub(crate) fn accounts(&self, first: usize) -> String {
        let name = |offset: usize| format!("${}", first + offset);
        let whose = match self {
            Self::Account(_) => format!("login = {}", name(0)),
            Self::Owners { .. } => format!(
                "disabled = 0 AND login IN (SELECT login FROM owners WHERE name = {} UNION SELECT login FROM former_owners WHERE name = {} \
                 UNION SELECT login FROM members WHERE organisation = {} AND role = 'owner' UNION SELECT {})",
                name(0),
                name(1),
                name(2),
                name(3)
            ),
            Self::Organisation { .. } => format!(
                "disabled = 0 AND login IN (SELECT login FROM members WHERE organisation = {} AND role = 'owner' UNION SELECT {})",
                name(0),
                name(1)
            ),
            Self::Administrators => "disabled = 0 AND administrator = 1".to_owned(),
        };
        format!("FROM accounts WHERE confirmed_email <> '' AND {whose}")
    }

    /// The names that it needs, in their order.
    pub(crate) fn names(&self) -> Vec<String> {
        let scope = |pack: &str| PackName::parse(pack).ok().and_then(|name| name.vendor().map(str::to_owned));
        match self {
            Self::Account(login) => vec![(*login).to_owned()],
            Self::Owners { pack, concerned } => {
                vec![(*pack).to_owned(), (*pack).to_owned(), scope(pack).unwrap_or_default(), (*concerned).to_owned()]
            }
            Self::Organisation { name, concerned } => vec![(*name).to_owned(), (*concerned).to_owned()],
            Self::Administrators => Vec::new(),
        }
    }
}
