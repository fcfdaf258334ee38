//! `exo install`: brings the cache and Exo.lock to what Exo.toml asks for.

use crate::commands::ready::ready;
use crate::failure::{Exit, Outcome};
use crate::settings::Settings;
use crate::terminal::Terminal;

pub(super) fn run(settings: &Settings, terminal: &Terminal) -> Outcome<Exit> {
    let ready = ready(settings, terminal)?;
    for skipped in ready.installed.summary.skipped() {
        terminal.detail(&skipped);
    }
    terminal.answer(|| ready.installed.summary.text(), || ready.installed.summary.json());
    Ok(Exit::Done)
}
