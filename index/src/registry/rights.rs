//! What tokens and members of organisations may do, in the words that server and client share.

use std::fmt;

/// Something that a token may be good for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Right {
    /// Publish packs that do not exist yet.
    PublishNew,
    /// Publish new versions of packs.
    PublishUpdate,
    /// Yank versions, deprecate and archive packs.
    Yank,
    /// Add and remove owners.
    Owners,
    /// Publish, change and withdraw advisories.
    Advisories,
    /// What administrators may.
    Admin,
}

impl Right {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::PublishNew, Self::PublishUpdate, Self::Yank, Self::Owners, Self::Advisories, Self::Admin];

    /// The right's word in the protocol.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::PublishNew => "publish-new",
            Self::PublishUpdate => "publish-update",
            Self::Yank => "yank",
            Self::Owners => "owners",
            Self::Advisories => "advisories",
            Self::Admin => "admin",
        }
    }

    /// What it allows, as a phrase after "may".
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::PublishNew => "publish packs that do not exist yet",
            Self::PublishUpdate => "publish new versions of your packs",
            Self::Yank => "yank versions, deprecate and archive packs",
            Self::Owners => "add and remove owners",
            Self::Advisories => "publish, change and withdraw advisories",
            Self::Admin => "act for the owners of every pack",
        }
    }

    /// Reads the word.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|right| right.as_str() == text)
    }
}

impl fmt::Display for Right {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What a member of an organisation may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Everything that an owner of its packs may, and say who is a member.
    Owner,
    /// Publish packs of the scope, and versions of them.
    Publisher,
}

impl Role {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Owner, Self::Publisher];

    /// The role's word in the protocol.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Owner => "owner",
            Self::Publisher => "publisher",
        }
    }

    /// Reads the word.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.as_str() == text)
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::{Right, Role};

    #[test]
    fn words_are_read_as_they_are_written() {
        for right in Right::ALL {
            assert_eq!(Right::parse(right.as_str()), Some(right));
        }
        for role in Role::ALL {
            assert_eq!(Role::parse(role.as_str()), Some(role));
        }
        assert_eq!((Right::parse("everything"), Role::parse("admin")), (None, None));
    }
}
