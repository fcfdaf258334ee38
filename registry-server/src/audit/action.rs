//! What can be done, as the audit log says it. Each action is done to one kind of thing, which decides who reads of it; to whom it is told by
//! mail is decided in [`crate::mails::audience`].

/// What an action is done to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum About {
    /// An account, or something that only its owner reads of.
    Account,
    Organisation,
    Pack,
    /// The registry as a whole.
    Registry,
}

macro_rules! actions {
    ($($(#[$doc:meta])* $name:ident $word:literal $about:ident,)*) => {
        /// An action.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum Action {
            $($(#[$doc])* $name,)*
        }

        impl Action {
            pub(crate) const ALL: &[Self] = &[$(Self::$name),*];

            /// The word that entries have.
            pub(crate) const fn word(self) -> &'static str {
                match self {
                    $(Self::$name => $word,)*
                }
            }

            /// What it is done to.
            pub(crate) const fn about(self) -> About {
                match self {
                    $(Self::$name => About::$about,)*
                }
            }
        }
    };
}

actions! {
    /// Somebody signed up.
    Account "account" Account,
    /// Whoever runs the registry made an account.
    AccountAdd "account-add" Account,
    AccountDisable "account-disable" Account,
    Login "login" Account,
    LoginRefused "login-refused" Account,
    Logout "logout" Account,
    SessionEnd "session-end" Account,
    Password "password" Account,
    PasswordReset "password-reset" Account,
    /// An address for mails was given, and waits to be confirmed.
    Email "email" Account,
    EmailConfirmed "email-confirmed" Account,
    EmailRemove "email-remove" Account,
    SecondFactorOn "second-factor-on" Account,
    SecondFactorOff "second-factor-off" Account,
    SecondFactorReset "second-factor-reset" Account,
    SecondFactorRefused "second-factor-refused" Account,
    RecoveryCodeUsed "recovery-code-used" Account,
    RecoveryCodes "recovery-codes" Account,
    Token "token" Account,
    TokenEnd "token-end" Account,
    // Under their own ids: owners of the pack need not know who reported it.
    Report "report" Account,
    ReportClose "report-close" Account,
    Organisation "organisation" Organisation,
    MemberAdd "member-add" Organisation,
    MemberRemove "member-remove" Organisation,
    Verify "verify" Organisation,
    Unverify "unverify" Organisation,
    Publish "publish" Pack,
    PublishRefused "publish-refused" Pack,
    Yank "yank" Pack,
    Unyank "unyank" Pack,
    Deprecate "deprecate" Pack,
    Undeprecate "undeprecate" Pack,
    Archive "archive" Pack,
    Unarchive "unarchive" Pack,
    Delete "delete" Pack,
    Quarantine "quarantine" Pack,
    Release "release" Pack,
    OwnerAdd "owner-add" Pack,
    OwnerRemove "owner-remove" Pack,
    AdvisoryPublish "advisory-publish" Pack,
    AdvisoryChange "advisory-change" Pack,
    AdvisoryWithdraw "advisory-withdraw" Pack,
    RotateKeys "rotate-keys" Registry,
}

impl Action {
    /// The action of a word; `None` for one that a later release wrote.
    pub(crate) fn read(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|action| action.word() == word)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::Action;

    #[test]
    fn no_two_actions_have_one_word() {
        let words: BTreeSet<&str> = Action::ALL.iter().map(|action| action.word()).collect();
        assert_eq!(words.len(), Action::ALL.len());
        assert!(Action::ALL.iter().all(|action| Action::read(action.word()) == Some(*action)));
        assert_eq!(Action::read("new-thing"), None);
    }
}
