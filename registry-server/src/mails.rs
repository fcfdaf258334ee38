//! Mails: what is told to those whom it concerns when they do not look.
//!
//! Each entry of the audit log puts a row into the outbox for each address that it is told to ([`audience`]), in the transaction of the
//! change: nothing is told that did not happen, and nothing that happened is lost. The work of the background takes rows from there and
//! sends them, or writes them as files where no mail server is known. Mails go to addresses that their owners have confirmed; they say
//! what the audit log says, and hold no secret but the link that confirms an address.

pub(crate) mod addresses;
pub(crate) mod audience;
pub(crate) mod delivery;
mod letter;
pub(crate) mod outbox;
mod post;
