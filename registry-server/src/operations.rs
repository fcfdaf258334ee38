//! Commands for whoever runs the registry.

use std::collections::BTreeSet;
use std::io::Read as _;

use exo_index::archive::{self, Limits};
use exo_index::candidates::Span;
use exo_index::digest::Sha256;
use exo_index::name::PackName;
use exo_index::registry::layout;
use exo_index::registry::log::hash::Frontier;
use exo_index::registry::log::tile::Tile;
use exo_index::registry::note::Note;
use exo_index::registry::pointer::Pointer;
use exo_index::registry::root::Root;
use exo_index::registry::shard::Shard;
use exo_index::registry::snapshot::{Bucket, Snapshot};
use exo_index::registry::verdict::Verdict;
use exo_index::version::Version;
use sqlx::Row as _;

use crate::access;
use crate::accounts::{self, Refused};
use crate::audit;
use crate::audit::action::Action;
use crate::chance;
use crate::compatibility::Checker;
use crate::configuration::{Doctor, Export, Init, Place, Purge, User};
use crate::database;
use crate::deletion;
use crate::failure::{Failure, counted};
use crate::index;
use crate::lost_rows;
use crate::mails::outbox::{self, Standing};
use crate::pages::format::rfc3339;
use crate::quarantine;
use crate::registry::Registry;
use crate::second_factor;
use crate::served_log;
use crate::service::checking_program;
use crate::static_folder::StaticFolder;

/// Sets up a registry.
pub(crate) async fn init(arguments: &Init) -> Result<(), Failure> {
    let registry = Registry::open(&arguments.place, arguments.origin.as_deref()).await?;
    let root = registry.blobs.need(&layout::root(1)).await?;
    let root = exo_index::registry::envelope::Envelope::parse("the root", &root)?;
    say!("registry {}", registry.origin);
    say!("clients pin it with: root = \"sha256:{}\"", root.payload_digest());
    Ok(())
}

/// Works on accounts.
pub(crate) async fn user(command: &User) -> Result<(), Failure> {
    match command {
        User::Add { place, login, administrator } => add(place, login, *administrator).await,
        User::List(place) => list(place).await,
        User::ResetSecondFactor { place, login, all: _ } => reset_second_factor(place, login.as_deref()).await,
        User::ResetPassword { place, login, tokens } => reset_password(place, login, *tokens).await,
        User::Disable { place, login } => {
            let registry = Registry::open(place, None).await?;
            accounts::disable(&registry.rows, login).await
        }
    }
}

async fn add(place: &Place, login: &str, administrator: bool) -> Result<(), Failure> {
    let registry = Registry::open(place, None).await?;
    let password = typed_password()?;
    let account = accounts::New { login, password, administrator, made: Action::AccountAdd, email: None };
    accounts::create(&registry.rows, account).await.map_err(|refused| match refused {
        Refused::Login => Failure::new(format!("`{login}` is no login: 2 to 39 of a-z, 0-9 and `-`")),
        Refused::Password => bad_password(),
        Refused::Taken => Failure::new(format!("the login `{login}` is taken")),
        Refused::Failed(failure) => failure,
    })?;
    say!("made the account `{login}`");
    Ok(())
}

/// A password from standard input.
fn typed_password() -> Result<String, Failure> {
    let mut password = String::new();
    std::io::stdin().take(4096).read_to_string(&mut password)?;
    Ok(password.trim_end_matches(['\r', '\n']).to_owned())
}

fn bad_password() -> Failure {
    Failure::new(format!("the password is shorter than {} characters, or too long", accounts::SHORTEST_PASSWORD))
}

/// Gives an account another password; whoever is signed in with the old one no longer is.
async fn reset_password(place: &Place, login: &str, tokens: bool) -> Result<(), Failure> {
    let registry = Registry::open(place, None).await?;
    let password = typed_password()?;
    if !accounts::is_password(&password) {
        return Err(bad_password());
    }
    let mut turn = database::turn(&registry.rows).await?;
    if !access::is_account(&mut turn, login).await? {
        return Err(Failure::new(format!("there is no account `{login}` that is open")));
    }
    // No session has an empty id, so none is left out.
    accounts::set_password(&mut turn, login, password, "").await?;
    if tokens {
        accounts::end_tokens(&mut turn, login).await?;
    }
    audit::note(&mut turn, login, Action::PasswordReset, login).await?;
    turn.commit().await?;
    say!("`{login}` has another password, and is signed out everywhere");
    Ok(())
}

/// Switches second factors off: that of an account, or all. The rows are enough, so that a lost key is no way into a dead end.
async fn reset_second_factor(place: &Place, login: Option<&str>) -> Result<(), Failure> {
    if place.database.is_none() && !place.data.join("registry.sqlite").exists() {
        return Err(Failure::new(format!("there is no registry in `{}`", place.data.display())));
    }
    let rows = database::open(place.database.as_deref(), &place.data).await?;
    let reset = match login {
        Some(login) if second_factor::reset(&rows, login).await? => vec![login.to_owned()],
        Some(login) => return Err(Failure::new(format!("the account `{login}` has no second factor"))),
        None => second_factor::remove_all(&rows).await?,
    };
    for login in &reset {
        say!("`{login}` logs in with the password alone now");
    }
    if reset.is_empty() {
        say!("no account had a second factor");
    }
    Ok(())
}

async fn list(place: &Place) -> Result<(), Failure> {
    let registry = Registry::open(place, None).await?;
    for row in sqlx::query("SELECT login, administrator, disabled, (SELECT COUNT(*) FROM second_factors f WHERE f.login = a.login AND f.confirmed = 1) AS factor FROM accounts a ORDER BY login")
        .fetch_all(&registry.rows)
        .await?
    {
        let mark = |column: &str, word: &str| {
            Ok::<_, Failure>(if row.try_get::<i64, _>(column)? == 1 { format!(" {word}") } else { String::new() })
        };
        say!(
            "{}{}{}{}",
            row.try_get::<String, _>("login")?,
            mark("administrator", "administrator")?,
            mark("factor", "second-factor")?,
            mark("disabled", "disabled")?
        );
    }
    Ok(())
}

/// Deletes a version or a pack.
pub(crate) async fn purge(arguments: &Purge) -> Result<(), Failure> {
    let registry = Registry::examine(&arguments.place).await?;
    // A scope begins with `@` too.
    let (name, version) = match arguments.what.rsplit_once('@') {
        Some((name, version)) if !name.is_empty() => (PackName::parse(name)?, Some(Version::parse(version)?)),
        Some(_) | None => (PackName::parse(&arguments.what)?, None),
    };
    let gone = deletion::purge(&registry, &name, version.as_ref(), &arguments.reason).await;
    let gone = gone.map_err(|refused| Failure::new(refused.message))?;
    for version in &gone {
        say!("deleted {name} {version}");
    }
    if gone.is_empty() {
        say!("{} was deleted before, and nothing of it is left", arguments.what);
    }
    Ok(())
}

/// Tells what works.
pub(crate) async fn doctor(arguments: &Doctor) -> Result<(), Failure> {
    let registry = Registry::examine(&arguments.place).await?;
    say!("database: ok");
    say!("keys and root: ok");
    let probe = format!("waiting/doctor-{}", chance::id()?);
    registry.blobs.put(&probe, b"doctor".to_vec()).await?;
    let read = registry.blobs.need(&probe).await?;
    registry.blobs.remove(&probe).await?;
    if read != b"doctor" {
        return Err(Failure::new("the store of blobs gives back something else than was written"));
    }
    say!("blobs: ok");
    let (note, pointer) = served_log::pointer(&registry).await?;
    is_signed(&note, &registry.root().await?)?;
    served_log::check_root(&registry, &pointer).await?;
    say!("log as served: ok");
    let stones = lost_rows::check(&registry).await?;
    say!("versions and {} as the log has them: ok", counted(stones, "tombstone"));
    let exo = checking_program(arguments.exo.as_ref())?;
    let checker = Checker::of(&exo).await?;
    say!("checker: ok (exo {}, {})", checker.exo, checker.solver);
    tell_mails(&registry).await?;
    say!(
        "pointer: version {}, log of {}, expires in {}",
        pointer.version,
        match pointer.log_size {
            1 => "1 leaf".to_owned(),
            size => format!("{size} leaves"),
        },
        Span(pointer.expires.saturating_sub(chance::unsigned(chance::now()?)))
    );
    Ok(())
}

/// Tells which mails wait. That a mail server is away is for it to mend, and the registry serves meanwhile.
async fn tell_mails(registry: &Registry) -> Result<(), Failure> {
    let Standing { waiting, since, failure } = outbox::standing(&registry.rows).await?;
    let Some(since) = since else {
        say!("mails: none waits");
        return Ok(());
    };
    let count = counted(usize::try_from(waiting).unwrap_or(usize::MAX), "mail");
    let verb = if waiting == 1 { "waits" } else { "wait" };
    match failure {
        Some(why) => say!("mails: {count} {verb}, since {}; the last failure: {why}", rfc3339(since)),
        None => say!("mails: {count} {verb}, since {}", rfc3339(since)),
    }
    Ok(())
}

/// The pointer, with its signature checked, and the root that it names.
async fn latest(registry: &Registry) -> Result<(Pointer, Root), Failure> {
    let root = registry.root().await?;
    let note = Note::parse(&registry.blobs.need(layout::LATEST).await?)?;
    is_signed(&note, &root)?;
    Ok((Pointer::parse(&note.text)?, root))
}

fn is_signed(note: &Note, root: &Root) -> Result<(), Failure> {
    if root.index_keys.iter().any(|key| note.is_signed_by(&root.registry, key)) {
        return Ok(());
    }
    Err(Failure::new("the pointer is not signed by a key of the root"))
}

/// Reads a file and compares its hash.
async fn hashed(registry: &Registry, path: &str, expected: &Sha256) -> Result<Vec<u8>, Failure> {
    let bytes = registry.blobs.need(path).await?;
    if Sha256::of(&bytes) != *expected {
        return Err(Failure::new(format!("`{path}` has not the hash that leads to it")));
    }
    Ok(bytes)
}

/// Walks from the pointer to everything; gives all shards and the paths on the way.
async fn walk(registry: &Registry, pointer: &Pointer) -> Result<(Vec<Shard>, BTreeSet<String>), Failure> {
    let mut paths = BTreeSet::new();
    let mut shards = Vec::new();
    let path = layout::snapshot(&pointer.snapshot);
    let snapshot = Snapshot::parse(&hashed(registry, &path, &pointer.snapshot).await?)?;
    paths.insert(path);
    for number in 0..=u8::MAX {
        let Some(digest) = snapshot.bucket(number) else { continue };
        let path = layout::bucket(&digest);
        let bucket = Bucket::parse(&hashed(registry, &path, &digest).await?, number)?;
        paths.insert(path);
        for (name, digest) in bucket.0 {
            let path = layout::shard(&digest);
            shards.push(Shard::parse(&hashed(registry, &path, &digest).await?, &name)?);
            paths.insert(path);
        }
    }
    for entry in shards.iter().flat_map(|shard| &shard.versions) {
        paths.insert(layout::blob(&entry.archive));
        paths.extend(entry.verdict.as_ref().map(layout::verdict));
    }
    Ok((shards, paths))
}

/// The leaves of the log as the rows have them.
async fn leaves(registry: &Registry) -> Result<Vec<String>, Failure> {
    let rows = sqlx::query("SELECT leaf FROM log ORDER BY position").fetch_all(&registry.rows).await?;
    rows.iter().map(|row| Ok(row.try_get("leaf")?)).collect()
}

/// Checks everything that the pointer leads to, and that the database says the same.
pub(crate) async fn verify_all(place: &Place) -> Result<(), Failure> {
    let registry = Registry::examine(place).await?;
    let root = registry.root().await?;
    let (note, pointer) = served_log::pointer(&registry).await?;
    is_signed(&note, &root)?;
    lost_rows::check(&registry).await?;
    let mut leaves = leaves(&registry).await?;
    // A server that runs meanwhile may have added some.
    leaves.truncate(usize::try_from(pointer.log_size).unwrap_or(usize::MAX));
    let mut log = Frontier::default();
    leaves.iter().for_each(|leaf| log.append(exo_index::registry::log::hash::leaf_hash(leaf.as_bytes())));
    if leaves.len() as u64 != pointer.log_size || log.root() != pointer.log_root {
        return Err(Failure::new("the log in the rows is not the one that the pointer signs"));
    }
    let tiles = served_log::check_tiles(&registry, &leaves).await?;
    let (shards, _) = walk(&registry, &pointer).await?;
    let mut versions = 0;
    for shard in &shards {
        let name = &shard.pack.name;
        agrees(&registry, &pointer, shard).await?;
        for entry in &shard.versions {
            let what = format!("{name} {}", entry.version);
            let leaf = leaves.get(usize::try_from(entry.log).unwrap_or(usize::MAX));
            if leaf != Some(&entry.publish_leaf(name).to_string()) {
                return Err(Failure::new(format!("`{what}` is not in the log where it should be")));
            }
            let bytes = registry.blobs.need(&layout::blob(&entry.archive)).await?;
            archive::read_verified(&bytes, &entry.archive, &entry.tree, &Limits::default())
                .map_err(|error| Failure::new(format!("`{what}`: {error}")))?;
            if let Some(digest) = &entry.verdict {
                let bytes = hashed(&registry, &layout::verdict(digest), digest).await?;
                Verdict::read(&bytes, &root, name, entry)
                    .map_err(|refusal| Failure::new(format!("the verdict of `{what}`: {refusal:?}")))?;
            }
            versions += 1;
        }
    }
    say!(
        "{}, {}, {}, {} of the log as served: all hashes and signatures hold, and the database says the same",
        counted(shards.len(), "pack"),
        counted(versions, "version"),
        match leaves.len() {
            1 => "1 leaf".to_owned(),
            number => format!("{number} leaves"),
        },
        counted(tiles, "tile"),
    );
    Ok(())
}

/// Whether the database says of a pack what is served of it; packs that changed since the pointer was read are left to the next run.
async fn agrees(registry: &Registry, pointer: &Pointer, served: &Shard) -> Result<(), Failure> {
    let mut rows = registry.rows.acquire().await?;
    let kept = index::shard(&mut rows, &served.pack.name).await?;
    let now = sqlx::query("SELECT pointer FROM state WHERE id = 1").fetch_one(&mut *rows).await?;
    if kept.as_ref() == Some(served) || chance::unsigned(now.try_get("pointer")?) != pointer.version {
        return Ok(());
    }
    Err(Failure::new(format!("the database does not say of `{}` what is served of it", served.pack.name)))
}

/// The paths of everything that a pointer leads to, roots and log included.
///
/// # Errors
/// A file is missing, or has not the hash that leads to it.
pub(crate) async fn reachable(registry: &Registry, pointer: &Pointer) -> Result<BTreeSet<String>, Failure> {
    let (_, mut paths) = walk(registry, pointer).await?;
    paths.extend((1..=pointer.root).map(layout::root));
    paths.extend(log_paths(registry, pointer.log_size).await?);
    Ok(paths)
}

/// Writes everything that a file server needs.
pub(crate) async fn export_static(arguments: &Export) -> Result<(), Failure> {
    let registry = Registry::open(&arguments.place, None).await?;
    let (pointer, _) = latest(&registry).await?;
    let note = registry.blobs.need(layout::LATEST).await?;
    let mut paths = reachable(&registry, &pointer).await?;
    // What is in quarantine is given to nobody, by no way.
    for archive in quarantine::archives(&mut *registry.rows.acquire().await?).await? {
        paths.remove(&layout::blob(&archive));
    }
    let folder = StaticFolder::new(&arguments.folder);
    for path in &paths {
        folder.write(path, &registry.blobs.need(path).await?)?;
    }
    // Last, so that a copy that was cut short names nothing that is not there.
    folder.write(layout::LATEST, &note)?;
    say!("wrote {}", counted(paths.len() + 1, "file"));
    Ok(())
}

/// The tiles of a log of some size, hashes and leaves.
async fn log_paths(registry: &Registry, size: u64) -> Result<BTreeSet<String>, Failure> {
    let mut paths = BTreeSet::new();
    let mut nodes = size;
    for level in 0..8 {
        for node in (0..nodes).step_by(256) {
            if let Some(tile) = Tile::holding(level, node, size) {
                paths.insert(layout::tile(&tile));
                if level == 0 {
                    paths.insert(layout::entries(tile.index, tile.width));
                }
            }
        }
        nodes /= 256;
    }
    for path in &paths {
        if !registry.blobs.has(path).await? {
            return Err(Failure::new(format!("`{path}` of the log is missing")));
        }
    }
    Ok(paths)
}
