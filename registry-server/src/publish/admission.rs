//! The rules that depend on what the registry has already, and the rows of a pack that is let in.

use std::collections::BTreeSet;

use exo_index::digest::{Blake3, Sha256};
use exo_index::manifest::PackKind;
use exo_index::name::PackName;
use exo_index::registry::look_alike;
use exo_index::registry::shard::{DependencyEntry, PackEntry, VersionEntry};
use exo_index::version::Version;
use serde_json::Value;
use sqlx::{AnyConnection, Row as _};

use super::bump::{Bump, Required};
use super::bundled::Bundled;
use super::examination::{Examined, diagnostic};
use super::names::View;
use super::verification::{Found, api_digest, surface};
use crate::access::{self, Right};
use crate::chance::{signed, unsigned};
use crate::contents;
use crate::deletion;
use crate::failure::Failure;
use crate::organisations;
use crate::scopes::{self, NotYours};
use crate::service::Service;
use crate::stewardship;

/// What to do about a name that nobody is given.
const OTHER_NAME: &str = "choose another name";

/// Why a name cannot be taken by a new pack, and what to do; `None` when it can.
async fn name_refusal(
    service: &Service,
    rows: &mut AnyConnection,
    view: View,
    name: &PackName,
    login: &str,
) -> Result<Option<(String, &'static str)>, Failure> {
    if deletion::is_gone(rows, name).await? {
        return Ok(Some((format!("the pack `{name}` was deleted, and nobody is given its name again"), OTHER_NAME)));
    }
    if look_alike::is_reserved(name) {
        return Ok(Some((format!("the name `{name}` is reserved"), OTHER_NAME)));
    }
    if service.bundled.0.contains_key(name) {
        let hint = "choose another name; who asks for that one gets the pack that comes with exo";
        return Ok(Some((format!("the name `{name}` is that of a pack that comes with exo"), hint)));
    }
    let resembled = service.names.resembled(rows, view, name, login).await?;
    Ok(resembled.map(|(other, likeness)| {
        let message = format!("the name `{name}` can be taken for `{other}`: it {likeness}");
        (message, "choose a name that is not close to another, or put it behind a scope of yours: `@you/name`")
    }))
}

/// Whether the registry has a pack.
pub(crate) async fn exists(rows: &mut AnyConnection, name: &PackName) -> Result<bool, Failure> {
    let found = sqlx::query("SELECT name FROM packs WHERE name = $1")
        .bind(name.as_str().to_owned())
        .fetch_optional(rows)
        .await?;
    Ok(found.is_some())
}

/// Why a pack gets no new versions though it is there, and what to do; `None` when it does.
pub(crate) async fn archived(rows: &mut AnyConnection, name: &PackName) -> Result<Option<(String, String)>, Failure> {
    let entry = stewardship::pack_entry(rows, name).await?;
    Ok(entry.and_then(|entry| entry.archived).map(|archived| {
        let reason = archived.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
        let message = format!("`{name}` is archived since {}, and gets no new versions{reason}", archived.day());
        (message, format!("an owner takes that back with `exo archive --undo {name}`"))
    }))
}

/// What stands against letting a pack in: its name, its owner, its version.
pub(crate) async fn reasons_against(
    service: &Service,
    rows: &mut AnyConnection,
    view: View,
    pack: &Examined,
    login: &str,
) -> Result<Vec<Value>, Failure> {
    let declared = &pack.declared;
    let mut reasons = Vec::new();
    if !access::is_account(rows, login).await? {
        reasons.push(diagnostic(declared, "owner", format!("the account `{login}` was closed meanwhile"), None));
    }
    if !exists(rows, &declared.name).await? {
        if let Some((message, hint)) = name_refusal(service, rows, view, &declared.name, login).await? {
            reasons.push(diagnostic(declared, "name", message, Some(hint)));
        }
        if let Some(NotYours { message, hint }) = scopes::refusal(rows, &declared.name, login).await? {
            reasons.push(diagnostic(declared, "scope", message, Some(&hint)));
        }
        return Ok(reasons);
    }
    if let Some((message, hint)) = archived(rows, &declared.name).await? {
        reasons.push(diagnostic(declared, "archived", message, Some(&hint)));
    }
    if !access::owns(rows, login, Right::PublishUpdate, &declared.name).await? {
        reasons.push(diagnostic(declared, "owner", format!("`{login}` does not own `{}`", declared.name), None));
    }
    let same = sqlx::query("SELECT version FROM versions WHERE name = $1 AND version = $2")
        .bind(declared.name.as_str().to_owned())
        .bind(declared.version.to_string())
        .fetch_optional(&mut *rows)
        .await?;
    let number = declared.version.to_string();
    if deletion::of_pack(rows, &declared.name).await?.iter().any(|tombstone| tombstone.version == number) {
        let message = format!("`{} {number}` was deleted, and its number is not given again", declared.name);
        reasons.push(diagnostic(declared, "version", message, Some("raise the version")));
    }
    if same.is_some() {
        let message = format!("`{} {}` is published already", declared.name, declared.version);
        reasons.push(diagnostic(declared, "version", message, Some("a version never changes: raise it")));
    }
    Ok(reasons)
}

/// What stands against a pack since it was verified: versions that it was verified with, its own dependencies and theirs, of which one
/// was deleted or withdrawn meanwhile. Those that are published with it or come with exo stay.
pub(crate) async fn dependencies_gone(
    rows: &mut AnyConnection,
    pack: &Examined,
    found: &Found,
    together: &[(Examined, Found)],
    bundled: &Bundled,
) -> Result<Vec<Value>, Failure> {
    let mut reasons = Vec::new();
    for (name, tree) in &found.subject.dependencies {
        let tree: Blake3 = tree.parse()?;
        let beside = together.iter().any(|(other, _)| other.tree == tree);
        let with_exo =
            || Ok::<_, Failure>(bundled.0.get(&PackName::parse(name)?).is_some_and(|known| known.files.tree() == tree));
        if beside || with_exo()? {
            continue;
        }
        // The tree stands in an entry as text, and only the entry that it is the tree of counts.
        let found = sqlx::query("SELECT entry FROM versions WHERE name = $1 AND entry LIKE $2")
            .bind(name.clone())
            .bind(format!("%{tree}%"))
            .fetch_all(&mut *rows)
            .await?;
        let mut entries = Vec::with_capacity(found.len());
        for row in found {
            entries.push(serde_json::from_str::<VersionEntry>(&row.try_get::<String, _>("entry")?)?);
        }
        let became = match entries.iter().find(|entry| entry.tree == tree).map(|entry| (entry, &entry.yanked)) {
            None => "deleted".to_owned(),
            Some((entry, _)) if entry.quarantined.is_some() => "put into quarantine".to_owned(),
            Some((_, Some(_))) => "yanked".to_owned(),
            Some((_, None)) => continue,
        };
        let message =
            format!("the version of `{name}` that `{}` was verified with was {became} meanwhile", pack.declared.name);
        reasons.push(diagnostic(&pack.declared, "dependencies", message, Some("publish it again")));
    }
    Ok(reasons)
}

/// The bump that a version needs over the newest one before it, how far it is raised, and that version. `None` for a first one.
pub(crate) async fn bump(
    rows: &mut AnyConnection,
    pack: &Examined,
    found: &Found,
) -> Result<Option<(Required, Bump, Version)>, Failure> {
    let mut before: Option<(Version, BTreeSet<String>)> = None;
    for row in sqlx::query("SELECT version, surface FROM versions WHERE name = $1")
        .bind(pack.declared.name.as_str().to_owned())
        .fetch_all(rows)
        .await?
    {
        let version = Version::parse(&row.try_get::<String, _>("version")?)?;
        if version < pack.declared.version && before.as_ref().is_none_or(|(other, _)| *other < version) {
            before = Some((version, row.try_get::<String, _>("surface")?.lines().map(str::to_owned).collect()));
        }
    }
    Ok(before.map(|(version, old)| {
        let raised = Bump::between(&version, &pack.declared.version);
        (Required::by(&old, &surface(found)), raised, version)
    }))
}

/// Writes the rows of a version; gives its index entry.
pub(crate) async fn admit(
    rows: &mut AnyConnection,
    pack: &Examined,
    found: &Found,
    targets: Vec<String>,
    verdict: Sha256,
    login: &str,
    (now, position): (i64, u64),
) -> Result<VersionEntry, Failure> {
    let name = &pack.declared.name;
    let section = &pack.manifest.pack;
    let raw_c: Option<Blake3> = found.raw_c_digest.as_deref().map(str::parse).transpose()?;
    let need = |dependency: &exo_index::manifest::Dependency| DependencyEntry {
        name: dependency.name.clone(),
        requirement: dependency.requirement.clone(),
        registry: None,
    };
    let entry = VersionEntry {
        version: pack.declared.version.clone(),
        kind: section.kind,
        published: unsigned(now),
        archive: pack.declared.sha256,
        size: pack.declared.size,
        tree: pack.tree,
        exo: section.exo.clone(),
        dependencies: pack.manifest.dependencies.iter().map(need).collect(),
        licence: section.license.clone(),
        description: section.description.clone(),
        api: api_digest(found),
        raw_c,
        waived: found.waived.len() as u64,
        claims: found.claims.len() as u64,
        instructions: found.instructions.len() as u64,
        targets,
        verdict: Some(verdict),
        yanked: None,
        quarantined: None,
        log: position,
    };
    pack_row(rows, pack, &entry, login, now).await?;
    sqlx::query(
        "INSERT INTO versions (name, version, entry, archive, published, surface) VALUES ($1, $2, $3, $4, $5, $6)",
    )
    .bind(name.as_str().to_owned())
    .bind(entry.version.to_string())
    .bind(serde_json::to_string(&entry)?)
    .bind(entry.archive.to_string())
    .bind(now)
    .bind(surface(found).into_iter().collect::<Vec<_>>().join("\n"))
    .execute(&mut *rows)
    .await?;
    contents::keep(&mut *rows, name, &entry.version, found).await?;
    for dependency in &entry.dependencies {
        sqlx::query("INSERT INTO dependencies (name, version, dependency, requirement) VALUES ($1, $2, $3, $4)")
            .bind(name.as_str().to_owned())
            .bind(entry.version.to_string())
            .bind(dependency.name.as_str().to_owned())
            .bind(dependency.requirement.to_string())
            .execute(&mut *rows)
            .await?;
    }
    Ok(entry)
}

/// The targets that a pack provides or is for, by the names of their packs: `neon`, or `neon.wide` for a target that is not called
/// `target` there. A pack is for the targets that it depends on.
pub(crate) async fn targets(
    rows: &mut AnyConnection,
    pack: &Examined,
    found: &Found,
    together: &[(Examined, Found)],
    bundled: &Bundled,
) -> Result<Vec<String>, Failure> {
    let own = &pack.declared.name;
    let provided = |target: &String| if target == "target" { own.to_string() } else { format!("{own}.{target}") };
    let mut targets: BTreeSet<String> = found.targets.iter().map(provided).collect();
    for dependency in &pack.manifest.dependencies {
        let new = together.iter().map(|(other, _)| &other.manifest);
        let known = new.chain(bundled.0.values().map(|pack| &pack.manifest));
        let kind = match known.into_iter().find(|manifest| manifest.pack.name.value == dependency.name) {
            Some(manifest) => Some(manifest.pack.kind.as_str().to_owned()),
            None => sqlx::query("SELECT kind FROM packs WHERE name = $1")
                .bind(dependency.name.as_str().to_owned())
                .fetch_optional(&mut *rows)
                .await?
                .map(|row| row.try_get("kind"))
                .transpose()?,
        };
        if kind.is_some_and(|kind| kind == PackKind::Target.as_str()) {
            targets.insert(dependency.name.to_string());
        }
    }
    Ok(targets.into_iter().collect())
}

/// The row of the pack itself: a new one belongs to whoever published it.
async fn pack_row(
    rows: &mut AnyConnection,
    pack: &Examined,
    entry: &VersionEntry,
    login: &str,
    now: i64,
) -> Result<(), Failure> {
    let name = &pack.declared.name;
    if !exists(rows, name).await? {
        let verified = match name.vendor() {
            Some(scope) => organisations::is_verified(rows, scope).await?,
            None => false,
        };
        let first = PackEntry {
            name: name.clone(),
            created: unsigned(now),
            owners: Vec::new(),
            verified,
            deprecated: None,
            advisories: Vec::new(),
            archived: None,
        };
        sqlx::query("INSERT INTO packs (name, entry, shard, kind, description, keywords, targets, version, updated, downloads, verified) VALUES ($1, $2, '', '', '', '', '', '0.0.0', $3, 0, $4)")
            .bind(name.as_str().to_owned())
            .bind(serde_json::to_string(&first)?)
            .bind(now)
            .bind(i64::from(verified))
            .execute(&mut *rows)
            .await?;
        first_owners(rows, name, login).await?;
    }
    let shown: String = sqlx::query("SELECT version FROM packs WHERE name = $1")
        .bind(name.as_str().to_owned())
        .fetch_one(&mut *rows)
        .await?
        .try_get("version")?;
    // What search shows is the newest version, not the one that was published last.
    if Version::parse(&shown)? > entry.version {
        return Ok(());
    }
    sqlx::query("UPDATE packs SET kind = $1, description = $2, keywords = $3, targets = $4, version = $5, updated = $6 WHERE name = $7")
        .bind(entry.kind.as_str())
        .bind(entry.description.clone().unwrap_or_default())
        .bind(pack.manifest.pack.keywords.join(" "))
        .bind(entry.targets.join(" "))
        .bind(entry.version.to_string())
        .bind(signed(entry.published))
        .bind(name.as_str().to_owned())
        .execute(rows)
        .await?;
    Ok(())
}

/// Who owns a pack at first: whoever published it, and the account whose scope it is in, which others may have let in.
async fn first_owners(rows: &mut AnyConnection, name: &PackName, login: &str) -> Result<(), Failure> {
    sqlx::query("INSERT INTO owners (name, login) VALUES ($1, $2)")
        .bind(name.as_str().to_owned())
        .bind(login.to_owned())
        .execute(&mut *rows)
        .await?;
    if let Some(scope) = name.vendor().filter(|scope| *scope != login) {
        sqlx::query(
            "INSERT INTO owners (name, login) SELECT $1, login FROM accounts WHERE login = $2 AND disabled = 0",
        )
        .bind(name.as_str().to_owned())
        .bind(scope.to_owned())
        .execute(rows)
        .await?;
    }
    Ok(())
}
