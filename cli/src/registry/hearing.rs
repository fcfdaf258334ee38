//! Hears out a server that hangs up while something is sent to it: what it said before that is the reason.
//!
//! A server that does not take a body answers, and closes the connection without reading the rest. Whoever is still sending then gets a
//! broken pipe, and the answer stands unread in the socket. So a connection that takes nothing any more is read all the same.

use std::io::{self, ErrorKind};

use ureq::unversioned::resolver::DefaultResolver;
use ureq::unversioned::transport::{Buffers, ConnectionDetails, Connector, DefaultConnector, NextTimeout, Transport};

/// An agent whose connections are heard out.
pub(super) fn agent(config: ureq::config::Config) -> ureq::Agent {
    ureq::Agent::with_parts(config, DefaultConnector::default().chain(Hearing), DefaultResolver::default())
}

/// Whether the other side has closed the connection while something was sent.
pub(super) fn hung_up(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset | ErrorKind::ConnectionAborted)
}

#[derive(Debug)]
struct Hearing;

impl<In: Transport> Connector<In> for Hearing {
    type Out = Heard<In>;

    fn connect(&self, _: &ConnectionDetails<'_>, chained: Option<In>) -> Result<Option<Heard<In>>, ureq::Error> {
        Ok(chained.map(|inner| Heard { inner, closed: None }))
    }
}

/// A connection that, once the other side takes nothing any more, is only read.
#[derive(Debug)]
struct Heard<In> {
    inner: In,
    /// How sending failed.
    closed: Option<ErrorKind>,
}

impl<In: Transport> Transport for Heard<In> {
    fn buffers(&mut self) -> &mut dyn Buffers {
        self.inner.buffers()
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), ureq::Error> {
        if self.closed.is_some() {
            return Ok(());
        }
        match self.inner.transmit_output(amount, timeout) {
            Err(ureq::Error::Io(error)) if hung_up(&error) => {
                self.closed = Some(error.kind());
                Ok(())
            }
            sent => sent,
        }
    }

    /// Where nothing was said either, that sending failed is the news.
    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, ureq::Error> {
        let read = self.inner.await_input(timeout);
        match (self.closed, read) {
            (Some(kind), Err(_) | Ok(false)) => Err(ureq::Error::Io(kind.into())),
            (_, read) => read,
        }
    }

    fn is_open(&mut self) -> bool {
        self.closed.is_none() && self.inner.is_open()
    }

    fn is_tls(&self) -> bool {
        self.inner.is_tls()
    }
}
