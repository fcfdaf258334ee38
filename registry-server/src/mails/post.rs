//! How mails leave: by a mail server, or as files in a folder where none is known.

use std::time::Duration;

use lettre::{AsyncSmtpTransport, AsyncTransport as _, Message, Tokio1Executor};

use crate::failure::Failure;
use crate::static_folder::StaticFolder;

/// How long a mail server may take for one mail.
const PATIENCE: Duration = Duration::from_secs(60);

/// How mails leave.
#[derive(Clone)]
pub(super) enum Post {
    Server(AsyncSmtpTransport<Tokio1Executor>),
    Folder(StaticFolder),
}

impl Post {
    /// The mail server of a URL.
    ///
    /// # Errors
    /// It is none, or would be told a password that everybody on the way reads. No message repeats the URL, which may hold one.
    pub(super) fn server(url: &str) -> Result<Self, Failure> {
        let unsound = |why: &str| {
            Failure::new(format!(
                "--smtp: {why}; give smtps://USER:PASSWORD@HOST, smtp://USER:PASSWORD@HOST:587?tls=required, or smtp://HOST"
            ))
        };
        if !is_kept_secret(url) {
            return Err(unsound("the password would be sent without TLS"));
        }
        let server = AsyncSmtpTransport::<Tokio1Executor>::from_url(url)
            .map_err(|error| unsound(&format!("the URL is not one of a mail server ({error})")))?;
        Ok(Self::Server(server.timeout(Some(PATIENCE / 3)).build()))
    }

    /// Lets a mail go.
    ///
    /// # Errors
    /// The server does not take it, or the file cannot be written.
    pub(super) async fn deliver(&self, id: &str, letter: Message) -> Result<(), Failure> {
        match self {
            Self::Server(server) => {
                let sent = tokio::time::timeout(PATIENCE, server.send(letter)).await;
                let sent = sent.map_err(|_| Failure::new("the mail server did not take it in time"))?;
                sent.map(drop).map_err(|error| Failure::new(format!("mail server: {}", with_causes(&error))))
            }
            Self::Folder(folder) => {
                let (folder, file) = (folder.clone(), format!("{id}.eml"));
                tokio::task::spawn_blocking(move || folder.write(&file, &letter.formatted())).await?
            }
        }
    }
}

/// An error with what it came from: the library says only what kind it is.
fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let more = cause.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        next = cause.source();
    }
    text
}

/// Whether no password of a URL is sent in the clear, but to this machine.
fn is_kept_secret(url: &str) -> bool {
    let Some((scheme, rest)) = url.split_once("://") else { return true };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let Some((_, host)) = authority.rsplit_once('@') else { return true };
    let here = ["localhost", "127.0.0.1", "[::1]"]
        .iter()
        .any(|name| host.strip_prefix(name).is_some_and(|port| port.is_empty() || port.starts_with(':')));
    let tls = rest.split_once('?').is_some_and(|(_, query)| query.split('&').any(|pair| pair == "tls=required"));
    here || tls || scheme.eq_ignore_ascii_case("smtps")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_password_goes_over_the_network_in_the_clear() {
        for (url, good) in [
            ("smtps://ada:secret@mail.example", true),
            ("smtp://ada:secret@mail.example:587?tls=required", true),
            ("smtp://mail.example", true),
            ("smtp://ada:secret@127.0.0.1:2525", true),
            ("smtp://ada:secret@mail.example", false),
            ("smtp://ada:secret@mail.example?tls=opportunistic", false),
            ("smtp://ada:secret@localhost.example", false),
            ("http://mail.example", false),
            ("mail.example", false),
        ] {
            let made = Post::server(url);
            assert_eq!(made.is_ok(), good, "{url}");
            let said = made.err().map(|failure| failure.message).unwrap_or_default();
            assert!(!said.contains("ada:secret"), "{said}");
        }
    }
}
