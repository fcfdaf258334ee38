//! How a change of rows ends: written into the audit log and the public one, signed into the index, and shown.

use exo_index::name::PackName;
use exo_index::registry::log::leaf::{Event, Leaf};

use crate::audit::Entry;
use crate::chance::{self, unsigned};
use crate::database::Rows;
use crate::error::ApiError;
use crate::index::{self, Change};
use crate::registry::Registry;
use crate::service::Service;

/// Makes a change visible: `packs` are those whose shards it changes, `event` is what the public log says of it.
///
/// # Errors
/// Rows or files cannot be written.
pub(crate) async fn conclude(
    service: &Service,
    turn: Rows,
    packs: &[PackName],
    entry: Entry<'_>,
    event: Event,
) -> Result<(), ApiError> {
    let action = entry.action();
    write(&service.registry, turn, packs, entry, event).await?;
    service.count(action.word());
    Ok(())
}

/// The same where no server runs.
///
/// # Errors
/// Rows or files cannot be written.
pub(crate) async fn write(
    registry: &Registry,
    mut turn: Rows,
    packs: &[PackName],
    entry: Entry<'_>,
    event: Event,
) -> Result<(), ApiError> {
    let now = chance::now()?;
    entry.write(&mut turn).await?;
    let leaf = Leaf { event, time: unsigned(now) };
    index::write(registry, &mut turn, Change::of(packs.iter().cloned(), leaf), now).await?;
    turn.commit().await?;
    Ok(index::show_decided(registry).await?)
}
