//! New keys: a new root names them, signed by the root key that clients believe, and the pointer is signed anew.

use exo_index::registry::keys::PublicKey;
use exo_index::registry::layout;
use exo_index::registry::root::Root;

use crate::audit::action::Action;
use crate::audit::{Entry, OPERATOR};
use crate::chance;
use crate::configuration::RotateKeys;
use crate::database;
use crate::failure::Failure;
use crate::index::{self, Change};
use crate::keys::{Keys, ROOT_LIFE};
use crate::registry::Registry;

/// Makes new keys.
///
/// The keys of verdicts that were given stay in the root, since those verdicts are still to be believed. The new keys wait beside
/// the present ones until the rows say that the new root counts; whoever opens the registry after a crash finishes the change.
///
/// # Errors
/// The root key is not here, or is not enough to sign a root.
pub(crate) async fn rotate(arguments: &RotateKeys) -> Result<(), Failure> {
    let registry = Registry::open(&arguments.place, None).await?;
    let mut turn = database::turn(&registry.rows).await?;
    let old = registry.root().await?;
    let keys = &registry.keys;
    if old.threshold > 1 || !old.root_keys.contains(&keys.root.public()) {
        return Err(Failure::new(format!(
            "a new root needs {} of the registry's root keys, and `root.key` in the directory is {}",
            old.threshold,
            if old.root_keys.contains(&keys.root.public()) { "only one" } else { "none of them" },
        )));
    }
    let next = keys.prepare(&registry.data, arguments.root)?;
    let now = chance::now()?;
    let root = Root {
        registry: registry.origin.clone(),
        version: old.version + 1,
        expires: chance::unsigned(now) + ROOT_LIFE,
        threshold: 1,
        root_keys: replaced(&old.root_keys, &keys.root.public(), &next.root.public()),
        index_keys: replaced(&old.index_keys, &keys.index.public(), &next.index.public()),
        verdict_keys: [next.verdict.public()].into_iter().chain(old.verdict_keys.iter().copied()).collect(),
    };
    let signers = if arguments.root { vec![&keys.root, &next.root] } else { vec![&keys.root] };
    registry.blobs.put(&layout::root(root.version), root.sign(&signers)?.to_bytes()?).await?;
    sqlx::query("UPDATE state SET root = $1 WHERE id = 1")
        .bind(chance::signed(root.version))
        .execute(&mut *turn)
        .await?;
    let entry = Entry::new(OPERATOR, Action::RotateKeys, &registry.origin).detail(format!("root {}", root.version));
    entry.write(&mut turn).await?;
    let rotated = Registry { keys: next, root: root.version, ..registry.clone() };
    index::write(&rotated, &mut turn, Change::default(), now).await?;
    turn.commit().await?;
    Keys::take_over(&registry.data)?;
    index::show_latest(&rotated).await?;
    say!("root {} names the new keys; restart servers, and copy `keys/` to other machines", root.version);
    Ok(())
}

/// A list of keys with one in the place of another.
fn replaced(keys: &[PublicKey], old: &PublicKey, new: &PublicKey) -> Vec<PublicKey> {
    keys.iter().map(|key| if key == old { *new } else { *key }).collect()
}
