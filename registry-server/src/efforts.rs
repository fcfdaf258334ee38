//! Work that costs much more than asking for it: a few pieces at a time, and only as long as somebody waits for what comes out.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::failure::Failure;

/// Places for one kind of work. Whoever finds none waits, until the request has taken too long.
#[derive(Clone)]
pub(crate) struct Efforts(Arc<Semaphore>);

impl Default for Efforts {
    /// Half of the cores: the other half is for who asks for something else.
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Self::of(cores.div_ceil(2))
    }
}

impl Efforts {
    fn of(places: usize) -> Self {
        Self(Arc::new(Semaphore::new(places)))
    }

    /// The next place that is free; taken before anything is read that the work needs.
    ///
    /// # Errors
    /// The server ends.
    pub(crate) async fn place(&self) -> Result<Place, Failure> {
        Ok(Place(self.0.clone().acquire_owned().await?))
    }
}

/// A place to work at; it is free again when the work has ended, not when whoever asked has gone.
pub(crate) struct Place(OwnedSemaphorePermit);

impl Place {
    /// Does the work on a thread that may be busy.
    ///
    /// # Errors
    /// It panicked.
    pub(crate) async fn work<T: Send + 'static>(
        self,
        work: impl FnOnce(&Audience) -> T + Send + 'static,
    ) -> Result<T, Failure> {
        let audience = Audience::default();
        let _leaves_with_this_request = Leaving(audience.clone());
        let place = self.0;
        let work = move || {
            let done = work(&audience);
            drop(place);
            done
        };
        Ok(tokio::task::spawn_blocking(work).await?)
    }
}

/// Whoever waits for some work: a browser may have hung up.
#[derive(Debug, Clone, Default)]
pub(crate) struct Audience(Arc<AtomicBool>);

impl Audience {
    /// Whether nobody waits any longer.
    pub(crate) fn has_left(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Tells the work that nobody waits, once the request is dropped.
struct Leaving(Audience);

impl Drop for Leaving {
    fn drop(&mut self) {
        self.0.0.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn whoever_leaves_is_worked_for_no_longer_and_keeps_the_place_until_then() {
        let efforts = Efforts::of(1);
        let (began, begun) = tokio::sync::oneshot::channel();
        let place = efforts.place().await.unwrap();
        let request = tokio::spawn(place.work(move |audience| {
            began.send(()).unwrap();
            while !audience.has_left() {
                std::thread::sleep(Duration::from_millis(1));
            }
            std::thread::sleep(Duration::from_millis(50));
        }));
        begun.await.unwrap();
        request.abort();
        assert!(request.await.unwrap_err().is_cancelled());
        assert_eq!(efforts.0.available_permits(), 0, "the work goes on for a moment");
        let next = tokio::time::timeout(Duration::from_secs(20), efforts.place()).await.unwrap().unwrap();
        assert!(!next.work(|audience| audience.has_left()).await.unwrap());
    }
}
