//! The whole registry in a folder, and back: rows as lines of JSON, the served files, the keys.
//!
//! Rows are read in one turn, so that they fit each other, and do not depend on the database: a backup of SQLite restores into PostgreSQL. Files
//! never change once they are written, so they are copied after the turn. Publishes that were under way are not kept; their authors
//! repeat them.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use exo_index::digest::Sha256;
use exo_index::registry::note::Note;
use exo_index::registry::pointer::Pointer;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sqlx::{AnyConnection, Row as _};

use crate::blobs::Blobs;
use crate::configuration::{Backup, Restore};
use crate::database::upgrade::VERSION;
use crate::database::{self, Kind, Rows, Table};
use crate::failure::{Cause, Failure, counted};
use crate::keys::{self, Keys};
use crate::operations::reachable;
use crate::registry::Registry;
use crate::sealing;

const FORMAT: u32 = 1;

/// The list of what a backup holds; written last, so that a backup that was cut short is none.
const CONTENTS: &str = "backup.json";

/// Tables of work under way and of counts that are soon over, and the one that says what the others look like. Mails that wait are sent by the
/// registry that the backup is of.
const PASSING: [&str; 9] = [
    "publishes",
    "publish_packs",
    "checking_turns",
    "limits",
    "leases",
    "unsettled",
    "outbox",
    "email_confirmations",
    "schema_version",
];

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Contents {
    format: u32,
    /// The version of the schema that its rows have.
    #[serde(default = "first_schema")]
    schema: i64,
    origin: String,
    /// The version of the pointer.
    pointer: u64,
    /// Hashes of all files, by path in the backup.
    files: BTreeMap<String, Sha256>,
}

/// Backups of before the schema had versions say nothing of it.
const fn first_schema() -> i64 {
    1
}

fn kept() -> impl Iterator<Item = Table> {
    database::tables().into_iter().filter(|table| !PASSING.contains(&table.name))
}

/// Writes a backup.
///
/// # Errors
/// The folder is there, something cannot be read or written, or a file that the index names is missing.
pub(crate) async fn backup(arguments: &Backup) -> Result<(), Failure> {
    let registry = Registry::open(&arguments.place, None).await?;
    let folder = &arguments.folder;
    if folder.exists() {
        return Err(Failure::new(format!("`{}` is there already; name a new folder", folder.display())));
    }
    fs::create_dir_all(folder.join("keys"))?;
    let mut files = BTreeMap::new();
    let note = write_rows(&registry, folder, &mut files).await?;
    let pointer = Pointer::parse(&Note::parse(note.as_bytes())?.text)?;
    for path in reachable(&registry, &pointer).await? {
        let bytes = registry.blobs.need(&path).await?;
        write(folder, &format!("files/{path}"), &bytes, &mut files)?;
    }
    let sealing = (sealing::FILE, registry.sealer.text().to_owned());
    for (name, text) in registry.keys.texts().into_iter().chain([sealing]) {
        keys::write_secret(&folder.join("keys").join(name), &text)?;
        files.insert(format!("keys/{name}"), Sha256::of(text.as_bytes()));
    }
    let count = files.len();
    let (format, schema, origin) = (FORMAT, VERSION, registry.origin.clone());
    let contents = Contents { format, schema, origin, pointer: pointer.version, files };
    fs::write(folder.join(CONTENTS), serde_json::to_vec_pretty(&contents)?)?;
    say!("wrote {}; the folder holds the keys, so keep it as safe as them", counted(count, "file"));
    Ok(())
}

/// Writes the rows; the pointer that they hold, as a note.
async fn write_rows(
    registry: &Registry,
    folder: &Path,
    files: &mut BTreeMap<String, Sha256>,
) -> Result<String, Failure> {
    let mut turn = database::turn(&registry.rows).await?;
    let note: String =
        sqlx::query("SELECT note FROM state WHERE id = 1").fetch_one(&mut *turn).await?.try_get("note")?;
    for table in kept() {
        let lines = read_table(&mut turn, &table).await?;
        write(folder, &rows_of(&table), lines.as_bytes(), files)?;
    }
    turn.rollback().await?;
    Ok(note)
}

fn rows_of(table: &Table) -> String {
    format!("rows/{}.jsonl", table.name)
}

/// All rows of a table, a list of values in each line.
async fn read_table(turn: &mut Rows, table: &Table) -> Result<String, Failure> {
    let names: Vec<&str> = table.columns.iter().map(|(name, _)| *name).collect();
    let query = format!("SELECT {} FROM {} ORDER BY {}", names.join(", "), table.name, names.join(", "));
    let mut lines = String::new();
    for row in sqlx::query(sqlx::AssertSqlSafe(query)).fetch_all(&mut **turn).await? {
        let mut values = Vec::with_capacity(table.columns.len());
        for (name, kind) in &table.columns {
            values.push(match kind {
                Kind::Text => row.try_get::<Option<String>, _>(*name)?.map_or(Value::Null, Value::from),
                Kind::Integer => Value::from(row.try_get::<i64, _>(*name)?),
            });
        }
        lines.push_str(&Value::Array(values).to_string());
        lines.push('\n');
    }
    Ok(lines)
}

fn write(folder: &Path, path: &str, bytes: &[u8], files: &mut BTreeMap<String, Sha256>) -> Result<(), Failure> {
    let file = folder.join(path);
    if let Some(parent) = file.parent() {
        fs::create_dir_all(parent)?;
    }
    fs::write(file, bytes)?;
    files.insert(path.to_owned(), Sha256::of(bytes));
    Ok(())
}

/// Sets up a registry from a backup. What is interrupted can be run again: the rows, which make a registry of it, come last.
///
/// # Errors
/// There is a registry already, or the backup is not as it was written.
pub(crate) async fn restore(arguments: &Restore) -> Result<(), Failure> {
    let (place, folder) = (&arguments.place, &arguments.folder);
    let contents = contents(folder)?;
    fs::create_dir_all(&place.data)?;
    let rows = database::open(place.database.as_deref(), &place.data).await?;
    let blobs = Blobs::open(place.blobs.as_deref(), &place.data)?;
    must_be_empty(&mut *rows.acquire().await?).await?;
    for path in contents.files.keys().filter_map(|path| path.strip_prefix("files/")) {
        blobs.put(path, read(folder, &format!("files/{path}"))?).await?;
    }
    let mut texts = Vec::new();
    // Backups of before there were second factors have neither the key that seals them nor their rows.
    let sealing = contents.files.contains_key(&format!("keys/{}", sealing::FILE)).then_some(sealing::FILE);
    for name in [keys::ROOT, keys::INDEX, keys::VERDICT].into_iter().chain(sealing) {
        texts.push((name, read_text(folder, &format!("keys/{name}"))?));
    }
    Keys::restore(&place.data, &texts)?;
    // Files take longer than PostgreSQL lets a turn sleep, and mean nothing without rows.
    let mut turn = database::turn(&rows).await?;
    must_be_empty(&mut turn).await?;
    for table in kept().filter(|table| contents.files.contains_key(&rows_of(table))) {
        let lines = read_text(folder, &rows_of(&table))?;
        write_table(&mut turn, &table, &lines, contents.schema < VERSION).await?;
    }
    turn.commit().await?;
    rows.close().await;
    let registry = Registry::open(place, None).await?;
    say!(
        "restored `{}` with pointer {}; `exo-registry verify-all` checks all of it",
        registry.origin,
        contents.pointer
    );
    Ok(())
}

/// Refuses a database that a registry has already.
async fn must_be_empty(rows: &mut AnyConnection) -> Result<(), Failure> {
    let row = sqlx::query("SELECT origin FROM state WHERE id = 1").fetch_one(rows).await?;
    let known: String = row.try_get("origin")?;
    match known.is_empty() {
        true => Ok(()),
        false => Err(Failure::new(format!("the registry `{known}` is there already; restore into an empty one"))),
    }
}

/// That a file of the backup is of no use.
fn unsound(path: &str, why: &str) -> Failure {
    Failure::new(format!(
        "`{path}` of the backup is not as it was written: {why}; copy the backup again as a whole, or take another one"
    ))
}

/// A file of the backup.
fn read(folder: &Path, path: &str) -> Result<Vec<u8>, Failure> {
    fs::read(folder.join(path)).map_err(|error| unsound(path, &error.to_string()))
}

fn read_text(folder: &Path, path: &str) -> Result<String, Failure> {
    String::from_utf8(read(folder, path)?).map_err(|error| unsound(path, &error.to_string()))
}

/// The list of contents, after everything was compared with it.
fn contents(folder: &Path) -> Result<Contents, Failure> {
    let Ok(text) = fs::read(folder.join(CONTENTS)) else {
        return Err(Failure::new(format!("`{}` is no finished backup: it has no {CONTENTS}", folder.display())));
    };
    let contents: Contents = serde_json::from_slice(&text).map_err(|error| unsound(CONTENTS, &error.to_string()))?;
    if contents.format != FORMAT {
        return Err(Failure::new(format!(
            "the backup has format {}, and this program knows {FORMAT}",
            contents.format
        )));
    }
    if contents.schema > VERSION {
        return Err(Failure::new(format!(
            "the backup was written by a later release: its rows have version {} of the schema, and this program knows {VERSION}",
            contents.schema
        )));
    }
    for (path, digest) in &contents.files {
        // The list itself may have been changed, so no path of it leads out of the folder.
        let inside = path.split('/').all(|part| !part.is_empty() && part != "." && part != "..");
        if !inside || Sha256::of(&read(folder, path)?) != *digest {
            return Err(unsound(path, "it has another digest than when it was written"));
        }
    }
    Ok(contents)
}

/// Writes the rows of a table. Rows of an earlier schema lack columns at the end, which are empty or 0 then.
async fn write_table(turn: &mut Rows, table: &Table, lines: &str, earlier: bool) -> Result<(), Failure> {
    // The schema puts a first row into one of them.
    sqlx::query(sqlx::AssertSqlSafe(format!("DELETE FROM {}", table.name))).execute(&mut **turn).await?;
    let names: Vec<&str> = table.columns.iter().map(|(name, _)| *name).collect();
    let places: Vec<String> = (1..=names.len()).map(|place| format!("${place}")).collect();
    let statement = format!("INSERT INTO {} ({}) VALUES ({})", table.name, names.join(", "), places.join(", "));
    for (number, line) in lines.lines().enumerate() {
        let wrong = |why: String| unsound(&rows_of(table), &format!("line {}: {why}", number + 1));
        let mut values: Vec<Value> = serde_json::from_str(line).map_err(|error| wrong(error.to_string()))?;
        if earlier {
            let added = table.columns.iter().skip(values.len());
            let empty: Vec<Value> = added.map(|(_, kind)| kind.empty()).collect();
            values.extend(empty);
        }
        if values.len() != names.len() {
            return Err(wrong(format!("it has {} values instead of {}", values.len(), names.len())));
        }
        let mut query = sqlx::query(sqlx::AssertSqlSafe(statement.clone()));
        for (value, (_, kind)) in values.iter().zip(&table.columns) {
            query = match kind {
                // SQLite keeps a character of number 0, PostgreSQL does not; what is signed or hashed has none, as JSON writes it out.
                Kind::Text => query.bind(value.as_str().map(|text| text.replace('\0', "\u{fffd}"))),
                Kind::Integer => query.bind(value.as_i64().unwrap_or_default()),
            };
        }
        query.execute(&mut **turn).await.map_err(|error| match Failure::from(error) {
            failure if matches!(failure.cause, Cause::Inner | Cause::NoText) => wrong(failure.message),
            failure => failure,
        })?;
    }
    Ok(())
}
