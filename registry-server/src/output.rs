//! What commands say on standard output. Who reads it may stop before the end, as `head` does: the command does its work all the same.

use std::fmt::Arguments;
use std::io::{self, ErrorKind, Write as _};

/// Writes a line.
pub(crate) fn line(text: Arguments<'_>) {
    match writeln!(io::stdout().lock(), "{text}") {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::BrokenPipe => {}
        Err(error) => tracing::error!(%error, "standard output cannot be written"),
    }
}

/// Says a line on standard output.
macro_rules! say {
    ($($text:tt)*) => { crate::output::line(format_args!($($text)*)) };
}
