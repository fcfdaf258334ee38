//! Entries of the audit log as pages list them.

use super::format;
use crate::audit::Read;
use crate::audit::wording::meaning;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_did_it_is_said_of_others_only() {
        let shown = Event::of_somebody(Read::example("yank"));
        assert_eq!((shown.who.as_deref(), shown.token.as_deref()), (Some("ada"), Some("01234567")));
        assert_eq!(Event::own(Read::example("yank")).who, None);
    }
}
