//! Whether what is served agrees with what the database says: the pointer, and the tiles of the log below it.

use std::time::Duration;

use exo_index::digest::Sha256;
use exo_index::registry::layout;
use exo_index::registry::note::Note;
use exo_index::registry::pointer::Pointer;
use sqlx::Row as _;

use crate::failure::Failure;
use crate::index;
use crate::registry::Registry;

/// How often a pointer that is not shown yet is looked for again, and the pause between: a server shows it right after it is decided.
const LOOKS: usize = 4;
const PAUSE: Duration = Duration::from_millis(500);

/// The pointer that the database signed last, after the served one was found to be the same.
///
/// # Errors
/// They differ, or one of them cannot be read.
pub(crate) async fn pointer(registry: &Registry) -> Result<(Note, Pointer), Failure> {
    let mut looks = 0;
    loop {
        let row = sqlx::query("SELECT note, pointer FROM state WHERE id = 1").fetch_one(&registry.rows).await?;
        let text: String = row.try_get("note")?;
        let decided = Note::parse(text.as_bytes())?;
        let pointer = Pointer::parse(&decided.text)?;
        let path = layout::LATEST;
        let served = registry.blobs.need(path).await?;
        if served == text.as_bytes() {
            return Ok((decided, pointer));
        }
        let shown = Note::parse(&served).and_then(|note| Pointer::parse(&note.text)).map_err(|error| {
            Failure::new(format!("`{path}` as served is damaged: {error}; `exo-registry serve` writes it anew"))
        })?;
        looks += 1;
        if looks < LOOKS {
            tokio::time::sleep(PAUSE).await;
            continue;
        }
        let (there, here) = (shown.version, pointer.version);
        return Err(Failure::new(if there > here {
            format!(
                "`{path}` as served is version {there}, and the database knows only {here}: the database is older than what \
                 clients have seen; restore the newer one"
            )
        } else if there < here {
            format!("`{path}` as served is version {there}, and the database has {here}; `exo-registry serve` shows it")
        } else {
            format!("`{path}` as served is another version {there} than that of the database")
        }));
    }
}

/// The root hash of the log as its served tiles give it.
///
/// # Errors
/// A tile is missing or malformed, or the root is not the one that the pointer signs.
pub(crate) async fn check_root(registry: &Registry, pointer: &Pointer) -> Result<(), Failure> {
    if index::grow(&registry.blobs, pointer.log_size, &[]).await?.root == pointer.log_root {
        return Ok(());
    }
    Err(Failure::new("the tiles of the log as served do not give the root hash that the pointer signs"))
}

/// Compares each served tile of the log, of hashes and of leaves, with what the leaves of the database make of it.
///
/// # Errors
/// A tile is missing or differs.
pub(crate) async fn check_tiles(registry: &Registry, leaves: &[String]) -> Result<usize, Failure> {
    let leaves: Vec<Vec<u8>> = leaves.iter().map(|leaf| leaf.as_bytes().to_vec()).collect();
    let made = index::grow(&registry.blobs, 0, &leaves).await?;
    let hashes = made.tiles.into_iter().map(|(tile, bytes)| (layout::tile(&tile), bytes));
    let entries = made.entries.into_iter().map(|((number, width), bytes)| (layout::entries(number, width), bytes));
    let mut number = 0;
    for (path, bytes) in hashes.chain(entries) {
        let served = registry.blobs.need(&path).await?;
        if served != bytes {
            return Err(Failure::new(format!(
                "`{path}` of the log as served has SHA-256 {}, and the database makes {} of it",
                Sha256::of(&served),
                Sha256::of(&bytes)
            )));
        }
        number += 1;
    }
    Ok(number)
}
