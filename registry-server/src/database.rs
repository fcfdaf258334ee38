//! The rows: SQLite or PostgreSQL by the same statements.

pub(crate) mod upgrade;

use std::path::Path;
use std::time::Duration;

use sqlx::any::{AnyConnectOptions, AnyPoolOptions};
use sqlx::{Any, AnyPool, Connection as _, Executor as _, Transaction};

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

/// How long a change lasts that was answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lasting {
    /// For good.
    Forever,
    /// A power cut may take it, if no change that lasts came after it. What is there after one is what was there at some time before.
    Passing,
}

/// What a savepoint would be taken back by is small, and needs no file.
const TEMPORARY: &str = "PRAGMA temp_store = MEMORY";

/// How nobody waits longer than a request may take for a replica that is frozen, or cut off, while it holds the lock of a turn, and PostgreSQL
/// notices a machine that is gone. It takes no lock from a replica that only sleeps: that one would go on to write files when it wakes.
const NO_WAIT_FOR_EVER: [&str; 4] = [
    "SET lock_timeout = '20s'",
    "SET tcp_keepalives_idle = 15",
    "SET tcp_keepalives_interval = 5",
    "SET tcp_keepalives_count = 3",
];

/// Connects to the database.
async fn connect(url: Option<&str>, data: &Path, lasting: Lasting) -> Result<AnyPool, Failure> {
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
    let settings: &[&str] = match (sqlite, lasting) {
        // What was answered is not lost when the power is: clients remember the newest pointer they saw.
        (true, Lasting::Forever) => {
            &["PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL", "PRAGMA busy_timeout = 20000", TEMPORARY]
        }
        (true, Lasting::Passing) => {
            &["PRAGMA journal_mode = WAL", "PRAGMA synchronous = NORMAL", "PRAGMA busy_timeout = 20000", TEMPORARY]
        }
        (false, Lasting::Forever) => &[],
        (false, Lasting::Passing) => &["SET synchronous_commit = off"],
    };
    let common: &[&str] = if sqlite { &[] } else { &NO_WAIT_FOR_EVER };
    let most = match (sqlite, lasting) {
        // Who waits for the only connection is woken; who waits for the lock of SQLite looks for it again and again.
        (true, Lasting::Passing) => 1,
        (true, Lasting::Forever) | (false, Lasting::Passing) => 4,
        (false, Lasting::Forever) => 8,
    };
    let options: AnyConnectOptions = url.parse()?;
    let pool = AnyPoolOptions::new()
        .max_connections(most)
        .acquire_timeout(Duration::from_secs(20))
        .after_connect(move |connection, _| {
            Box::pin(async move {
                for setting in settings.iter().chain(common) {
                    connection.execute(*setting).await?;
                }
                Ok(())
            })
        })
        .after_release(move |connection, _| Box::pin(async move { Ok(!sqlite || is_idle(connection).await) }));
    Ok(match lasting {
        Lasting::Forever => pool.connect_with(options).await?,
        // Not every command has something of that kind to write.
        Lasting::Passing => pool.connect_lazy_with(options),
    })
}

/// Connects to the database for changes that a power cut may take: waiting for the disk is most of what a small change costs.
///
/// # Errors
/// The URL is none.
pub(crate) async fn open_passing(url: Option<&str>, data: &Path) -> Result<AnyPool, Failure> {
    connect(url, data, Lasting::Passing).await
}

/// Opens the database, and makes the tables that it lacks.
///
/// # Errors
/// It cannot be reached, or the statements are refused.
pub(crate) async fn open(url: Option<&str>, data: &Path) -> Result<AnyPool, Failure> {
    let pool = connect(url, data, Lasting::Forever).await?;
    upgrade::upgrade(&pool, url.is_none_or(|url| url.starts_with("sqlite:"))).await?;
    execute(&pool, SCHEMA).await?;
    Ok(pool)
}

/// Makes tables and indexes in one exchange with the database: this is most of what a start asks of it. Two replicas may make the same
/// ones at the same time; then one of them finds them made.
async fn execute(pool: &AnyPool, statements: &'static str) -> Result<(), Failure> {
    // In no transaction of our own: SQLite does not wait for a writer where a transaction that has read comes to write.
    if sqlx::raw_sql(statements).execute(pool).await.is_err() {
        tokio::time::sleep(Duration::from_millis(200)).await;
        sqlx::raw_sql(statements).execute(pool).await?;
    }
    Ok(())
}

/// Whether no transaction is left on a connection to SQLite. Where a full disk fails a commit, SQLite and the library can be of two
/// minds about that; such a connection would keep its view of the rows, and the lock, for good, so it is closed.
async fn is_idle(connection: &mut sqlx::AnyConnection) -> bool {
    // The thread of the connection may still be about to take a transaction back that was given up; it has done so when it answers.
    !connection.is_in_transaction() || (connection.ping().await.is_ok() && !connection.is_in_transaction())
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
