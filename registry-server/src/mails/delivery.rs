//! The work that empties the outbox: one mail after the other, by as many servers as there are.

use std::time::Duration;

use super::addresses;
use super::letter::{Sender, host};
use super::outbox::{self, Content, Next, Taken};
use super::post::Post;
use crate::audit;
use crate::chance;
use crate::configuration::Serve;
use crate::failure::Failure;
use crate::registry::Registry;
use crate::service::Service;
use crate::static_folder::StaticFolder;

/// The folder for mails, in the directory of the registry.
const FOLDER: &str = "outbox";

/// The pause where nothing is due, or something failed.
const PAUSE: Duration = Duration::from_millis(500);

/// Who sends, and how.
#[derive(Clone)]
pub(crate) struct Office {
    sender: Sender,
    post: Post,
}

impl Office {
    /// As the command line has it.
    ///
    /// # Errors
    /// The mail server or the sender is none.
    pub(crate) fn of(arguments: &Serve, registry: &Registry) -> Result<Self, Failure> {
        let origin = registry.origin.clone();
        let from = match &arguments.mail_from {
            Some(from) => from.clone(),
            None => format!("exo-registry@{}", host(&origin)),
        };
        let from = from.parse().map_err(|error| {
            Failure::new(format!(
                "--mail-from: `{from}` is no address to send from ({error}); give NAME@HOST or Name <NAME@HOST>"
            ))
        })?;
        let url = match &arguments.url {
            Some(url) => url.trim_end_matches('/').to_owned(),
            None => format!("https://{origin}"),
        };
        let post = match &arguments.smtp {
            Some(url) => Post::server(url)?,
            None => Post::Folder(StaticFolder::new(&registry.data.join(FOLDER))),
        };
        Ok(Self { sender: Sender { origin, from, url }, post })
    }

    /// Sends a letter.
    async fn send(&self, registry: &Registry, mail: &Taken) -> Result<(), Failure> {
        let letter = match &mail.content {
            Content::Notices(ids) => {
                let mut rows = registry.rows.acquire().await?;
                let mut entries = Vec::with_capacity(ids.len());
                for id in ids {
                    entries.extend(audit::find(&mut rows, id).await?);
                }
                self.sender.notice(mail, &entries)?
            }
            Content::Link(sealed) => self.sender.link(mail, &addresses::code(&registry.sealer, sealed)?)?,
        };
        self.post.deliver(&mail.letter, letter).await
    }

    /// Sends the next letter that is due; says whether it may go on with another at once.
    async fn next(&self, service: &Service) -> Result<bool, Failure> {
        let registry = &service.registry;
        let mail = match outbox::take(&registry.passing, chance::now()?).await? {
            Next::Send(mail) => mail,
            Next::Look => return Ok(true),
            Next::Nothing => return Ok(false),
        };
        let (login, letter) = (mail.login.as_str(), mail.letter.as_str());
        match self.send(registry, &mail).await {
            Ok(()) => {
                outbox::sent(&registry.passing, &mail).await?;
                service.count("mail-sent");
                Ok(true)
            }
            Err(failure) if outbox::put_back(&registry.passing, &mail, chance::now()?, &failure.message).await? => {
                service.count("mail-failed");
                tracing::warn!(%failure, login, letter, "a mail could not be sent, and is tried again");
                Ok(false)
            }
            Err(failure) => {
                service.count("mail-given-up");
                tracing::error!(%failure, login, letter, "a mail could not be sent for days, and is given up");
                Ok(false)
            }
        }
    }
}

/// Sends what the outbox holds, until it is aborted.
pub(crate) async fn run(service: Service, office: Office) {
    loop {
        match office.next(&service).await {
            Ok(true) => continue,
            Ok(false) => {}
            Err(failure) => tracing::error!(%failure, "the outbox could not be read or written"),
        }
        tokio::time::sleep(PAUSE).await;
    }
}
