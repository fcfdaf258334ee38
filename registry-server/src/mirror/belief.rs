//! What a mirror believes of its upstream: root, pointer and log, as the continuation of what is in its folder.

use std::collections::BTreeMap;
use std::sync::Arc;

use exo_index::registry::envelope::Envelope;
use exo_index::registry::layout;
use exo_index::registry::log::append::{Appended, append};
use exo_index::registry::log::hash::empty_root;
use exo_index::registry::log::proof::consistency_proof;
use exo_index::registry::log::tile::{Tile, WIDTH, read_entries};
use exo_index::registry::pointer::Pointer;
use exo_index::registry::trust::{Refusal, Trust, named_root};

use super::Run;
use crate::chance;
use crate::failure::Failure;
use crate::parallel::each;
use crate::tiles::{Source as _, computed};

/// The largest pointer or root.
const SMALL: u64 = 1 << 20;
/// More rotations of keys than this since the last run are not followed.
const MOST_ROOTS: u64 = 1024;

/// A state of the upstream that is believed.
pub(super) struct Believed {
    pub(super) trust: Trust,
    /// The pointer as it was signed.
    pub(super) note: Vec<u8>,
    /// The roots that the folder may lack.
    pub(super) roots: BTreeMap<u64, Vec<u8>>,
    /// What is new in the log.
    pub(super) log: Appended,
}

impl Believed {
    /// # Errors
    /// Never after [`believe`]; kept as an error rather than a panic.
    pub(super) fn pointer(&self) -> Result<&Pointer, Failure> {
        self.trust.pointer().ok_or_else(|| Failure::new("a registry without a pointer was believed"))
    }
}

/// The state of the folder: what it serves, checked as a client would who visits it for the first time. `None` where it serves nothing.
fn kept(run: &Run, now: u64) -> Result<Option<Trust>, Failure> {
    let Some(note) = run.folder.read(layout::LATEST)? else { return Ok(None) };
    let unsound =
        |refusal: Refusal| Failure::new(format!("what is in the folder is not a mirror to go on with: {refusal}"));
    let root = |number: u64| Envelope::parse("a root", &run.folder.need(&layout::root(number))?).map_err(Failure::from);
    let mut trust = Trust::first(root(1)?, run.pin.as_ref()).map_err(unsound)?;
    for number in 2..=named_root(&note)? {
        trust = trust.next_root(root(number)?).map_err(unsound)?;
    }
    let candidate = trust.consider_kept(&note, now).map_err(unsound)?;
    Ok(Some(candidate.accept(&[]).map_err(unsound)?))
}

/// Believes what the upstream serves now. Nothing is written.
///
/// # Errors
/// It does not continue what is in the folder, is not signed, has expired, or cannot be had.
pub(super) async fn believe(run: &Arc<Run>) -> Result<Believed, Failure> {
    let now = chance::unsigned(chance::now()?);
    let kept = kept(run, now)?;
    let note = run.upstream.need(layout::LATEST, SMALL).await?;
    let newest = named_root(&note)?;
    let refused = |refusal: Refusal| run.disbelief(&refusal);
    let mut roots = BTreeMap::new();
    let mut trust = match kept {
        Some(trust) => trust,
        None => {
            let bytes = run.upstream.need(&layout::root(1), SMALL).await?;
            let first = Envelope::parse("a root", &bytes)?;
            if run.pin.is_none() {
                say!("first visit: the root is sha256:{}; `--root` pins it", first.payload_digest());
            }
            roots.insert(1, bytes);
            Trust::first(first, run.pin.as_ref()).map_err(refused)?
        }
    };
    let known = trust.root().version;
    for number in known + 1..=newest.min(known.saturating_add(MOST_ROOTS)) {
        let bytes = run.upstream.need(&layout::root(number), SMALL).await?;
        trust = trust.next_root(Envelope::parse("a root", &bytes)?).map_err(refused)?;
        roots.insert(number, bytes);
    }
    let size = trust.pointer().map_or(0, |pointer| pointer.log_size);
    let candidate = trust.consider(&note, now).map_err(refused)?;
    let proof = match candidate.proof_from() {
        None => Vec::new(),
        Some(old) => {
            let new = candidate.pointer().log_size;
            computed(&run.upstream, |fetched| consistency_proof(fetched, old, new)).await?
        }
    };
    let trust = candidate.accept(&proof).map_err(refused)?;
    let pointer = trust.pointer().cloned().ok_or_else(|| Failure::new("no pointer was believed"))?;
    let log = added(run, if run.recheck { 0 } else { size }, &pointer).await?;
    Ok(Believed { trust, note, roots, log })
}

/// What the log got since it had some size. Tiles of hashes are made here of the leaves and not fetched, so that they can only be right.
async fn added(run: &Arc<Run>, size: u64, pointer: &Pointer) -> Result<Appended, Failure> {
    let new_size = pointer.log_size;
    if size == new_size {
        return Ok(Appended { size, root: pointer.log_root, tiles: BTreeMap::new(), entries: BTreeMap::new() });
    }
    let width = u64::from(WIDTH);
    let tiles = (size / width..new_size.div_ceil(width)).filter_map(|index| Tile::holding(0, index * width, new_size));
    let fetched = each(run.jobs, tiles.collect(), |tile| {
        let run = Arc::clone(run);
        async move {
            let bytes = run.upstream.file(&layout::entries(tile.index, tile.width)).await?;
            Ok((tile.index, read_entries(&bytes, tile.width)?))
        }
    });
    let by_index: BTreeMap<u64, Vec<Vec<u8>>> = fetched.await?.into_iter().collect();
    let known = usize::try_from(size % width).unwrap_or(usize::MAX);
    let leaves: Vec<Vec<u8>> = by_index.into_values().flatten().skip(known).collect();
    let log = append(&run.folder, size, &leaves)?;
    let root = if log.size == 0 { empty_root() } else { log.root };
    if log.size == new_size && root == pointer.log_root {
        return Ok(log);
    }
    Err(Failure::new(format!(
        "`{}` is not mirrored: the leaves of its log do not give the root hash that its pointer signs; a mirror on the way is \
         damaged or tampered with",
        run.url
    )))
}
