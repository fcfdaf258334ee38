//! The thread on which publishes are worked on.
//!
//! A publish is many small steps that wait for the database. Where the threads that answer requests share them, each step wakes one of those up,
//! often two; on a thread of its own each step wakes that one, and whoever reads the index is not held up.

use std::thread::{self, JoinHandle};

use tokio::runtime;
use tokio::sync::oneshot;

use super::turns::{self, Waiting};
use super::worker;
use crate::failure::Failure;
use crate::service::Service;

/// The thread, which ends when this is dropped.
pub(crate) struct Publisher {
    end: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Publisher {
    /// Starts to check publishes, so many at the same time, and to make them visible.
    ///
    /// # Errors
    /// The system gives no thread.
    pub(crate) fn start(service: Service, waiting: Waiting, most: usize) -> Result<Self, Failure> {
        let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
        let (end, ended) = oneshot::channel();
        let work = move || {
            runtime.block_on(async {
                tokio::select! {
                    () = worker::run(service.clone(), most) => {}
                    () = turns::run(service, waiting) => {}
                    _ = ended => {}
                }
            });
            // What reads an archive at this moment is of no use to anybody.
            runtime.shutdown_background();
        };
        let thread = thread::Builder::new().name("publisher".to_owned()).spawn(work)?;
        Ok(Self { end: Some(end), thread: Some(thread) })
    }
}

impl Drop for Publisher {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            // It said why, if it panicked.
            let _ = thread.join();
        }
    }
}
