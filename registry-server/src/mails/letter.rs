//! What a mail says. Nothing in it is text that somebody else typed, but for names, which are of few characters: whoever takes an account
//! over does not also speak in the registry's name.

use std::time::{Duration, UNIX_EPOCH};

use lettre::message::header::{ContentTransferEncoding, ContentType, HeaderName, HeaderValue};
use lettre::message::{Body, Mailbox, SinglePart};
use lettre::{Address, Message};

use super::outbox::Taken;
use crate::audit::Read;
use crate::audit::action::{About, Action};
use crate::audit::wording::meaning;
use crate::chance::unsigned;
use crate::failure::Failure;
use crate::pages::format;

/// What mail servers take as a line, in bytes.
const LONGEST_LINE: usize = 998;

/// Who writes, and from where.
#[derive(Debug, Clone)]
pub(super) struct Sender {
    /// The registry's name.
    pub(super) origin: String,
    pub(super) from: Mailbox,
    /// Where its pages are, without a slash at the end.
    pub(super) url: String,
}

/// The host in the name of a registry, as ids and addresses have it.
pub(super) fn host(origin: &str) -> &str {
    origin.split(['/', ':']).next().unwrap_or_default()
}

impl Sender {
    /// The mail that tells of entries of the audit log.
    pub(super) fn notice(&self, mail: &Taken, entries: &[Read]) -> Result<Message, Failure> {
        let subject = match entries {
            [] => return Err(Failure::new("the audit log has lost what a mail tells of")),
            [entry] => meaning(entry),
            [entry, more @ ..] => format!("{} ({} more)", meaning(entry), more.len()),
        };
        let told: Vec<String> =
            entries.iter().map(|entry| format!("{}.\r\n{}", meaning(entry), facts(entry))).collect();
        let mut advice: Vec<String> = Vec::new();
        for text in entries.iter().map(|entry| self.advice(entry)) {
            if !advice.contains(&text) {
                advice.push(text);
            }
        }
        let parts: Vec<String> = [format!("Hello {},", mail.login)].into_iter().chain(told).chain(advice).collect();
        self.letter(mail, &subject, format!("{}\r\n", parts.join("\r\n\r\n")))
    }

    /// The mail with the link that confirms an address.
    pub(super) fn link(&self, mail: &Taken, code: &str) -> Result<Message, Failure> {
        let body = format!(
            "Hello {},\r\n\r\nthis address was given for the account {} of the registry {},\r\nto be told of what is done with it.\r\n\r\n\
             If it is your account, confirm the address within a day:\r\n\r\n{}/account/confirm?code={code}\r\n\r\n\
             If it is not, do nothing: no more mails come then.\r\n",
            mail.login, mail.login, self.origin, self.url
        );
        self.letter(mail, "Confirm your e-mail address", body)
    }

    fn letter(&self, mail: &Taken, subject: &str, body: String) -> Result<Message, Failure> {
        let failed = |what: &str, error: &dyn std::error::Error| Failure::new(format!("{what} of a mail: {error}"));
        let to: Address = mail.address.parse().map_err(|error| failed("the address", &error))?;
        let host = host(&self.origin);
        let letter = Message::builder()
            .from(self.from.clone())
            .to(Mailbox::new(None, to))
            .subject(format!("[{}] {subject}", self.origin))
            .date(UNIX_EPOCH + Duration::from_secs(unsigned(mail.at)))
            .message_id(Some(format!("<{}@{host}>", mail.letter)))
            .raw_header(header("Auto-Submitted", "auto-generated".to_owned()))
            .raw_header(header("List-Id", format!("<notices.{host}>")))
            .singlepart(SinglePart::builder().header(ContentType::TEXT_PLAIN).body(plain(body)));
        letter.map_err(|error| failed("the headers", &error))
    }

    /// What to do if it should not have been done.
    fn advice(&self, entry: &Read) -> String {
        let (url, subject) = (&self.url, &entry.subject);
        let of_account = format!(
            "If that was not you, change your password and end sessions that you do not know:\r\n{url}/account/security\r\n\
             Tokens that you do not know are ended here:\r\n{url}/account"
        );
        match Action::read(&entry.action) {
            Some(Action::AccountDisable | Action::PasswordReset | Action::SecondFactorReset) => {
                "If you did not ask for that, ask who runs the registry.".to_owned()
            }
            Some(Action::Report) => format!("You are told as an administrator. All reports:\r\n{url}/reports"),
            Some(Action::RotateKeys) => {
                "You are told as an administrator. If none of you did that, somebody else has\r\n\
                 the registry's machine."
                    .to_owned()
            }
            Some(action) => match action.about() {
                About::Account | About::Registry => of_account,
                About::Pack => format!(
                    "You are told because you own the pack, or did until now. If nobody has done that who\r\n\
                     should, look whose account it was, and take back what can be:\r\n{url}/audit?pack={}\r\n{url}/packs/{subject}",
                    format::encoded(subject)
                ),
                About::Organisation => format!(
                    "You are told because you own the organisation, or it is about you. All that was done:\r\n\
                     {url}/audit?organisation={}",
                    format::encoded(subject)
                ),
            },
            None => of_account,
        }
    }
}

/// When it was done, and by whom; where it came from is for the owner of the account only.
fn facts(entry: &Read) -> String {
    let about = Action::read(&entry.action).map(Action::about);
    let who = match (about, &entry.address) {
        (Some(About::Account), Some(address)) => format!(", from {address}"),
        (Some(About::Account), None) | (None, _) => String::new(),
        (Some(About::Pack | About::Organisation | About::Registry), _) => format!(", by {}", entry.login),
    };
    format!("That was on {}{who}.", format::time(entry.at))
}

/// A body as it is where that may be: a link that is cut into lines is not seen as one by every program.
fn plain(text: String) -> Body {
    match text.is_ascii() && text.lines().all(|line| line.len() < LONGEST_LINE) {
        true => Body::dangerous_pre_encoded(text.into_bytes(), ContentTransferEncoding::SevenBit),
        false => Body::new(text),
    }
}

fn header(name: &'static str, value: String) -> HeaderValue {
    HeaderValue::new(HeaderName::new_from_ascii_str(name), value)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn sender() -> Sender {
        let url = "https://packs.example".to_owned();
        Sender { origin: "packs.example".to_owned(), from: "Packs <packs@packs.example>".parse().unwrap(), url }
    }

    fn mail() -> Taken {
        Taken::example("ada@example.org")
    }

    fn text(letter: &Message) -> String {
        String::from_utf8(letter.formatted()).unwrap()
    }

    #[test]
    fn a_mail_says_what_was_done_and_what_it_is() {
        let text = text(&sender().notice(&mail(), &[Read::example("deprecate")]).unwrap());
        for line in [
            "From: Packs <packs@packs.example>\r\n",
            "To: ada@example.org\r\n",
            "Subject: [packs.example] neon was deprecated\r\n",
            "Auto-Submitted: auto-generated\r\n",
            "List-Id: <notices.packs.example>\r\n",
            "Date: Thu, 01 Jan 1970 00:00:07 +0000\r\n",
            "neon was deprecated.\r\n",
            "by ada.\r\n",
            "https://packs.example/audit?pack=neon",
        ] {
            assert!(text.contains(line), "{line} in {text}");
        }
        assert!(text.contains(&format!("Message-ID: <{}@packs.example>\r\n", mail().letter)), "{text}");
    }

    #[test]
    fn several_entries_are_told_in_one() {
        let text = text(&sender().notice(&mail(), &["yank", "token", "deprecate"].map(Read::example)).unwrap());
        let parts = ["(2 more)", "neon was yanked.", "neon was deprecated.", "/account/security", "/audit?pack=3Dneon"];
        for part in parts {
            assert!(text.contains(part), "{part} in {text}");
        }
        assert_eq!(text.matches("/audit?pack").count(), 1);
        assert!(sender().notice(&mail(), &[]).is_err());
    }

    #[test]
    fn names_make_no_headers() {
        let entry = Read { subject: "a\r\nBcc: eve@example.org\r\n\r\nx".to_owned(), ..Read::example("token") };
        let text = text(&sender().notice(&mail(), &[entry]).unwrap());
        let (head, _) = text.split_once("\r\n\r\n").unwrap();
        assert!(!head.lines().any(|line| line.starts_with("Bcc")), "{text}");
        let mut mail = mail();
        mail.address = "ada@example.org\r\nBcc: eve@example.org".to_owned();
        assert!(sender().notice(&mail, &[Read::example("token")]).is_err());
    }

    #[test]
    fn all_actions_have_a_mail() {
        for action in Action::ALL {
            assert!(sender().notice(&mail(), &[Read::example(action.word())]).is_ok(), "{action:?}");
        }
    }
}
