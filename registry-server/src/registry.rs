//! The registry as a whole: rows, files and keys, and how an empty one is set up.

use std::path::PathBuf;

use exo_index::registry::envelope::Envelope;
use exo_index::registry::keys::SecretKey;
use exo_index::registry::layout;
use exo_index::registry::root::Root;
use sqlx::{AnyPool, Row as _};

use crate::blobs::Blobs;
use crate::chance;
use crate::configuration::Place;
use crate::database;
use crate::failure::Failure;
use crate::index::{self, Change};
use crate::keys::Keys;
use crate::sealing::Sealer;

/// The name of a registry that was given none.
const ORIGIN: &str = "localhost";

/// An open registry.
#[derive(Clone)]
pub(crate) struct Registry {
    pub(crate) rows: AnyPool,
    /// The same rows, for changes that a power cut may take: counts, leases, and publishes before they are let in.
    pub(crate) passing: AnyPool,
    pub(crate) blobs: Blobs,
    pub(crate) keys: Keys,
    /// Keeps secrets of accounts from who has nothing but the rows.
    pub(crate) sealer: Sealer,
    /// The directory, for work that needs files.
    pub(crate) data: PathBuf,
    pub(crate) origin: String,
    /// The number of the root that names `keys`.
    pub(crate) root: u64,
}

impl Registry {
    /// Opens a registry; an empty one is set up: keys, the first root and a pointer to an index without packs.
    ///
    /// # Errors
    /// Something it needs cannot be had, its name would change, or its root names other keys than the directory holds.
    pub(crate) async fn open(place: &Place, origin: Option<&str>) -> Result<Self, Failure> {
        let registry = Self::connect(place, origin).await?;
        index::show_latest(&registry).await?;
        Ok(registry)
    }

    /// Opens a registry to look at it: nothing that is served is made good.
    ///
    /// # Errors
    /// There is none, or see [`Registry::open`].
    pub(crate) async fn examine(place: &Place) -> Result<Self, Failure> {
        if !place.data.join("keys").is_dir() {
            return Err(Failure::new(format!(
                "there is no registry in `{}`; `exo-registry init` sets one up",
                place.data.display()
            )));
        }
        Self::connect(place, None).await
    }

    async fn connect(place: &Place, origin: Option<&str>) -> Result<Self, Failure> {
        std::fs::create_dir_all(&place.data)?;
        let rows = database::open(place.database.as_deref(), &place.data).await?;
        let passing = database::open_passing(place.database.as_deref(), &place.data).await?;
        let blobs = Blobs::open(place.blobs.as_deref(), &place.data)?;
        let keys = Keys::open(&place.data)?;
        let sealer = Sealer::open(&rows, &place.data).await?;
        let data = place.data.clone();
        let mut registry = Self { rows, passing, blobs, keys, sealer, data, origin: String::new(), root: 0 };
        registry.set_up(origin).await?;
        registry.settle_keys().await?;
        Ok(registry)
    }

    /// Decides the name and publishes the empty index, unless that was done.
    async fn set_up(&mut self, origin: Option<&str>) -> Result<(), Failure> {
        let mut turn = database::turn(&self.rows).await?;
        let row = sqlx::query("SELECT origin FROM state WHERE id = 1").fetch_one(&mut *turn).await?;
        let known: String = row.try_get("origin")?;
        if !known.is_empty() {
            if let Some(origin) = origin.filter(|origin| *origin != known) {
                return Err(Failure::new(format!("the registry is `{known}` and cannot become `{origin}`")));
            }
            self.origin = known;
            return Ok(());
        }
        self.origin = origin.unwrap_or(ORIGIN).to_owned();
        let now = chance::now()?;
        let root = self.keys.first_root(&self.origin, chance::unsigned(now))?;
        self.blobs.put(&layout::root(1), root.to_bytes()?).await?;
        sqlx::query("UPDATE state SET origin = $1, root = 1 WHERE id = 1")
            .bind(self.origin.clone())
            .execute(&mut *turn)
            .await?;
        self.root = 1;
        index::write(self, &mut turn, Change::default(), now).await?;
        turn.commit().await?;
        Ok(())
    }

    /// The newest root.
    ///
    /// # Errors
    /// It is missing or malformed.
    pub(crate) async fn root(&self) -> Result<Root, Failure> {
        let row = sqlx::query("SELECT root FROM state WHERE id = 1").fetch_one(&self.rows).await?;
        let number: i64 = row.try_get("root")?;
        let bytes = self.blobs.need(&layout::root(chance::unsigned(number))).await?;
        Ok(Root::read(&Envelope::parse("the root", &bytes)?)?)
    }

    /// Finishes a rotation of keys that was cut short after its root was decided, and refuses keys that the root does not name: a
    /// replica with keys of its own would sign what no client believes.
    async fn settle_keys(&mut self) -> Result<(), Failure> {
        let root = self.root().await?;
        self.root = root.version;
        if let Some(waiting) = self.keys.waiting(&self.data)?
            && waiting.are_named_by(&root)
            && root.root_keys.contains(&waiting.root.public())
        {
            Keys::take_over(&self.data)?;
            self.keys = waiting;
        }
        if self.keys.are_named_by(&root) {
            return Ok(());
        }
        Err(Failure::new(
            "the keys in the directory are not those of the registry's root: copy `keys/` from where it was set up",
        ))
    }

    /// The key for pointers under a root: this process may have been started before the keys were rotated.
    ///
    /// # Errors
    /// The directory has not the keys of that root.
    pub(crate) async fn index_key(&self, root: u64) -> Result<SecretKey, Failure> {
        if root == self.root {
            return Ok(self.keys.index.clone());
        }
        let mut fresh = self.clone();
        fresh.keys = Keys::open(&self.data)?;
        fresh.settle_keys().await?;
        Ok(fresh.keys.index)
    }
}
