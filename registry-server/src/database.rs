//! The rows: SQLite or PostgreSQL by the same statements.

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
            file = format!("sqlite://{}?mode=rwc", data.join("registry.sqlite").display());
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
                    connection.execute("PRAGMA synchronous = NORMAL").await?;
                    connection.execute("PRAGMA busy_timeout = 20000").await?;
                }
                Ok(())
            })
        })
        .connect_with(options)
        .await?;
    for statement in SCHEMA.split(";\n").map(str::trim).filter(|statement| !statement.is_empty()) {
        // Two replicas may make the same table at the same time; then one of them finds it made.
        let mut result = sqlx::query(sqlx::AssertSqlSafe(statement.to_owned())).execute(&pool).await;
        if result.is_err() {
            tokio::time::sleep(Duration::from_millis(200)).await;
            result = sqlx::query(sqlx::AssertSqlSafe(statement.to_owned())).execute(&pool).await;
        }
        result?;
    }
    Ok(pool)
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
