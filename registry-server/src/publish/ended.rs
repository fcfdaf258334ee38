//! Who waits for the end of a publish: told by the worker of this process, and looking from time to time for what others ended.

use std::time::Duration;

use tokio::sync::broadcast::{self, Receiver, Sender, error::RecvError};
use tokio::time::{Instant, sleep_until};

use super::declaration::{Publish, State, load};
use crate::failure::Failure;
use crate::service::Service;

/// Ends that are remembered for who is slow to take note of them.
const REMEMBERED: usize = 1024;

/// How often the rows are looked at, for what another replica ended.
const LOOK: Duration = Duration::from_millis(500);

/// What is told.
#[derive(Debug, Clone)]
enum Told {
    /// A publish has ended, by its id.
    Ended(String),
    /// The server ends: nobody has to wait any longer.
    Ending,
}

/// Tells of ends.
#[derive(Clone)]
pub(crate) struct Ends(Sender<Told>);

impl Default for Ends {
    fn default() -> Self {
        Self(broadcast::channel(REMEMBERED).0)
    }
}

impl Ends {
    /// Tells who waits for a publish of this process that it has ended.
    pub(crate) fn tell(&self, id: &str) {
        // Nobody may wait.
        let _ = self.0.send(Told::Ended(id.to_owned()));
    }

    /// Sends everybody who waits away.
    pub(crate) fn end(&self) {
        let _ = self.0.send(Told::Ending);
    }

    /// From now on no end is missed.
    pub(crate) fn watch(&self) -> Watch {
        Watch(self.0.subscribe())
    }
}

/// Somebody who waits, and hears of ends since.
pub(crate) struct Watch(Receiver<Told>);

impl Watch {
    /// The publish when it is checked no longer, or as it is when the time is over.
    ///
    /// # Errors
    /// The database cannot be read.
    pub(crate) async fn wait(
        mut self,
        service: &Service,
        publish: Publish,
        time: Duration,
    ) -> Result<Publish, Failure> {
        let late = Instant::now() + time;
        let mut publish = publish;
        let mut ending = false;
        while publish.state == State::Checking && Instant::now() < late && !ending {
            ending = self.heard_of(&publish.id, late.min(Instant::now() + LOOK)).await;
            let mut rows = service.registry.rows.acquire().await?;
            let Some(now) = load(&mut rows, &publish.id).await? else { return Ok(publish) };
            publish = now;
        }
        Ok(publish)
    }

    /// Returns when a publish has ended, or at a time; says whether the server ends.
    async fn heard_of(&mut self, id: &str, until: Instant) -> bool {
        loop {
            tokio::select! {
                told = self.0.recv() => match told {
                    Ok(Told::Ended(other)) if other != id => {}
                    Ok(Told::Ended(_)) | Err(RecvError::Lagged(_)) => return false,
                    Ok(Told::Ending) | Err(RecvError::Closed) => return true,
                },
                () = sleep_until(until) => return false,
            }
        }
    }
}
