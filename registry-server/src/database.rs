//! The rows: SQLite or PostgreSQL by the same statements.

pub(crate) mod upgrade;

use std::path::Path;
use std::time::Duration;

use sqlx::any::{AnyConnectOptions, AnyPoolOptions};
use sqlx::{Any, AnyPool, Executor as _, Transaction};

use crate::failure::Failure;

/// The tables. Every statement may run again.
const SCHEMA: &str = include_str!("schema.sql");

/// A table as the schema has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Table {
    pub(crate) name: &'static str,
    pub(crate) columns: Vec<(&'static str, Kind)>,
}

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Text,
    Integer,
}

impl Kind {
    /// What a column of the kind holds where nothing was said.
    pub(crate) fn empty(self) -> serde_json::Value {
        match self {
            Self::Text => "".into(),
            Self::Integer => 0.into(),
        }
    }
}

/// All tables, in the order of the schema.
pub(crate) fn tables() -> Vec<Table> {
    SCHEMA.lines().filter_map(table).collect()
}

/// The table that a statement makes.
fn table(statement: &'static str) -> Option<Table> {
    let (name, rest) = statement.strip_prefix("CREATE TABLE IF NOT EXISTS ")?.split_once(" (")?;
    let columns = rest.split(", ").filter_map(|column| {
        let mut words = column.split_whitespace();
        match (words.next()?, words.next()?) {
            (name, "TEXT") => Some((name, Kind::Text)),
            (name, "BIGINT") => Some((name, Kind::Integer)),
            _ => None,
        }
    });
    Some(Table { name, columns: columns.collect() })
}

/// A transaction; its first statement must write, so that SQLite takes the lock for writing at once.
pub(crate) type Rows = Transaction<'static, Any>;

/// The URL of the database in a directory: an absolute path without `..`, which URLs resolve in their own way, and with everything
/// encoded that means something in one.
fn sqlite_url(data: &Path) -> Result<String, Failure> {
    let file = data.canonicalize()?.join("registry.sqlite");
    let encoded: String = file
        .as_os_str()
        .as_encoded_bytes()
        .iter()
        .map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'.' | b'_' | b'~' => char::from(*byte).to_string(),
            _ => format!("%{byte:02X}"),
        })
        .collect();
    Ok(format!("sqlite://{encoded}?mode=rwc"))
}

/// Opens the database, and makes the tables that it lacks.
///
/// # Errors
/// It cannot be reached, or the statements are refused.
pub(crate) async fn open(url: Option<&str>, data: &Path) -> Result<AnyPool, Failure> {
    sqlx::any::install_default_drivers();
    let file;
    let url = match url {
        Some(url) => url,
        None => {
            file = sqlite_url(data)?;
            &file
        }
    };
    let sqlite = url.starts_with("sqlite:");
    let options: AnyConnectOptions = url.parse()?;
    let pool = AnyPoolOptions::new()
        .max_connections(if sqlite { 4 } else { 8 })
        .acquire_timeout(Duration::from_secs(20))
        .after_connect(move |connection, _| {
            Box::pin(async move {
                if sqlite {
                    connection.execute("PRAGMA journal_mode = WAL").await?;
                    // What was answered is not lost when the power is: clients remember the newest pointer they saw.
                    connection.execute("PRAGMA synchronous = FULL").await?;
                    connection.execute("PRAGMA busy_timeout = 20000").await?;
                }
                Ok(())
            })
        })
        .after_release(move |connection, _| Box::pin(async move { Ok(!sqlite || is_idle(connection).await) }))
        .connect_with(options)
        .await?;
    upgrade::upgrade(&pool, sqlite).await?;
    for statement in SCHEMA.split(";\n").map(str::trim).filter(|statement| !statement.is_empty()) {
        execute(&pool, statement).await?;
    }
    Ok(pool)
}

/// Makes a table or an index. Two replicas may make the same one at the same time; then one of them finds it made.
async fn execute(pool: &AnyPool, statement: &'static str) -> Result<(), Failure> {
    if sqlx::query(statement).execute(pool).await.is_err() {
        tokio::time::sleep(Duration::from_millis(200)).await;
        sqlx::query(statement).execute(pool).await?;
    }
    Ok(())
}

/// Whether no transaction is left on a connection to SQLite. Where a full disk fails a commit, SQLite and the library can be of two
/// minds about that; such a connection would keep its view of the rows, and the lock, for good, so it is closed.
async fn is_idle(connection: &mut sqlx::AnyConnection) -> bool {
    match connection.execute("ROLLBACK").await {
        Ok(_) => false,
        Err(error) => error.as_database_error().is_some_and(|said| said.message().contains("no transaction is active")),
    }
}

/// A transaction that holds the registry's one lock: whoever changes packs, log or pointer waits here for the others, on whatever
/// machine they are.
///
/// # Errors
/// The database refuses.
pub(crate) async fn turn(pool: &AnyPool) -> Result<Rows, Failure> {
    let mut rows = pool.begin().await?;
    sqlx::query("UPDATE state SET turns = turns + 1 WHERE id = 1").execute(&mut *rows).await?;
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::{Kind, tables};

    #[test]
    fn the_schema_is_read_as_it_is_written() {
        let tables = tables();
        let owners = tables.iter().find(|table| table.name == "owners").map(|table| table.columns.clone());
        assert_eq!(owners, Some(vec![("name", Kind::Text), ("login", Kind::Text)]));
        let all: usize = super::SCHEMA.matches(" TEXT").count() + super::SCHEMA.matches(" BIGINT").count();
        assert_eq!(tables.iter().map(|table| table.columns.len()).sum::<usize>(), all, "{tables:?}");
    }
}
