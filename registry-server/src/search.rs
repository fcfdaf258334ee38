//! Search over the packs, for the API and the pages.

pub(crate) mod words;

use std::collections::BTreeMap;

use exo_index::registry::shard::PackEntry;
use serde::{Deserialize, Serialize};
use sqlx::any::AnyRow;
use sqlx::{AnyPool, Row as _};

use crate::error::ApiError;
use crate::failure::Failure;
use words::EVERY;

/// Packs on a page when nothing is said, and at most.
pub(crate) const PAGE: i64 = 20;
const LARGEST_PAGE: i64 = 100;

/// Packs that a search gives at most, on all of its pages. Nobody reads further, and the index has all packs.
pub(crate) const MOST: i64 = 1000;

/// Where a word is that of no more packs than this, all of them are looked at.
const FEW: i64 = 4000;

/// Packs of a word that are looked through for the other words, best first, where each word is that of many packs.
const LOOKED_THROUGH: i64 = 5000;

/// The words of a search that count.
const MOST_WORDS: usize = 8;

/// What is looked for. Pages count from 1.
#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct Asked {
    #[serde(default)]
    pub(crate) q: String,
    pub(crate) kind: Option<String>,
    pub(crate) target: Option<String>,
    pub(crate) verified: Option<bool>,
    pub(crate) page: Option<i64>,
    pub(crate) per_page: Option<i64>,
}

/// What a search gave.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct Results {
    /// How many packs fit, up to [`MOST`].
    pub(crate) total: i64,
    /// There are more, or may be.
    pub(crate) more: bool,
    /// Those of one page.
    pub(crate) packs: Vec<Found>,
}

/// A pack as lists show it.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Found {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) kind: String,
    pub(crate) description: String,
    pub(crate) targets: Vec<String>,
    pub(crate) downloads: i64,
    pub(crate) verified: bool,
    pub(crate) updated: i64,
    #[serde(skip)]
    pub(crate) deprecated: bool,
}

/// The columns of which [`Found::read`] makes a pack.
macro_rules! columns {
    () => {
        "name, version, kind, description, targets, downloads, verified, updated, entry"
    };
}

impl Found {
    fn read(row: &AnyRow) -> Result<Self, Failure> {
        let entry: PackEntry = serde_json::from_str(&row.try_get::<String, _>("entry")?)?;
        Ok(Self {
            name: row.try_get("name")?,
            version: row.try_get("version")?,
            kind: row.try_get("kind")?,
            description: row.try_get("description")?,
            targets: row.try_get::<String, _>("targets")?.split_whitespace().map(str::to_owned).collect(),
            downloads: row.try_get("downloads")?,
            verified: row.try_get::<i64, _>("verified")? == 1,
            updated: row.try_get("updated")?,
            deprecated: entry.deprecated.is_some(),
        })
    }
}

/// Words that a pack must have.
struct Terms {
    /// Those of the text, by which packs are ranked.
    text: Vec<String>,
    /// Those that filters stand for.
    filters: Vec<String>,
}

impl Terms {
    /// `None` where there is a text without a word, which nothing fits.
    fn of(asked: &Asked) -> Option<Self> {
        let mut text: Vec<String> = words::words(&asked.q).take(MOST_WORDS).collect();
        text.sort();
        text.dedup();
        if text.is_empty() {
            if !asked.q.trim().is_empty() {
                return None;
            }
            text.push(EVERY.to_owned());
        }
        let mut filters = Vec::new();
        for (what, value) in [("kind", &asked.kind), ("target", &asked.target)] {
            filters.extend(value.as_deref().filter(|value| !value.is_empty()).map(|value| words::filter(what, value)));
        }
        if asked.verified == Some(true) {
            filters.push(words::filter("is", "verified"));
        }
        Some(Self { text, filters })
    }

    fn all(&self) -> impl Iterator<Item = &String> {
        self.text.iter().chain(&self.filters)
    }
}

/// The packs of one page of what is looked for, best first: the one of that very name, then by where the words stand, then by use.
///
/// # Errors
/// The words are too long, or the database cannot be read.
pub(crate) async fn search(rows: &AnyPool, asked: &Asked) -> Result<Results, ApiError> {
    if asked.q.len() > 200 {
        return Err(ApiError::malformed("the words to search for are too long"));
    }
    let per_page = asked.per_page.unwrap_or(PAGE).clamp(1, LARGEST_PAGE);
    let page = asked.page.unwrap_or(1).clamp(1, 1_000_000);
    let Some(terms) = Terms::of(asked) else { return Ok(Results::default()) };
    let (mut names, more) = ranked(rows, &terms).await?;
    let exact = asked.q.trim().to_lowercase();
    if let Some(at) = names.iter().position(|name| *name == exact) {
        let first = names.remove(at);
        names.insert(0, first);
    } else if !exact.is_empty() && more && has_all(rows, &exact, &terms).await? {
        names.insert(0, exact);
        names.truncate(whole(MOST));
    }
    let total = i64::try_from(names.len()).unwrap_or(MOST);
    let shown: Vec<String> = names.into_iter().skip(whole((page - 1) * per_page)).take(whole(per_page)).collect();
    Ok(Results { total, more, packs: of_names(rows, shown).await? })
}

/// A number of rows as a length.
fn whole(number: i64) -> usize {
    usize::try_from(number).unwrap_or(0)
}

/// The names of the packs that have all words, best first, up to [`MOST`]; and whether there may be more.
async fn ranked(rows: &AnyPool, terms: &Terms) -> Result<(Vec<String>, bool), Failure> {
    let mut rarest: Option<(i64, &String)> = None;
    for term in terms.all() {
        let number = number_with(rows, term).await?;
        if number == 0 {
            return Ok((Vec::new(), false));
        }
        if rarest.is_none_or(|(least, _)| number < least) {
            rarest = Some((number, term));
        }
    }
    match rarest {
        Some((number, term)) if number <= FEW => of_a_rare_word(rows, terms, term).await,
        _ => of_common_words(rows, terms).await,
    }
}

/// How many packs have a word, counted to one more than [`FEW`].
async fn number_with(rows: &AnyPool, term: &str) -> Result<i64, Failure> {
    let row = sqlx::query("SELECT COUNT(*) AS number FROM (SELECT pack FROM words WHERE word = $1 LIMIT $2) AS found");
    Ok(row.bind(term.to_owned()).bind(FEW + 1).fetch_one(rows).await?.try_get("number")?)
}

/// The packs that have all words, one of which few have: all of them are looked at, and ranked by all words of the text.
async fn of_a_rare_word(rows: &AnyPool, terms: &Terms, rare: &str) -> Result<(Vec<String>, bool), Failure> {
    let mut joins = String::new();
    let mut rank: Vec<String> = Vec::new();
    for (at, term) in terms.all().enumerate() {
        joins.push_str(&format!(" JOIN words w{at} ON w{at}.pack = r.pack AND w{at}.word = ${}", at + 3));
        if terms.text.contains(term) {
            rank.push(format!("w{at}.rank"));
        }
    }
    let statement = format!(
        "SELECT r.pack AS pack FROM words r{joins} WHERE r.word = $1 ORDER BY {} DESC, r.pack LIMIT $2",
        rank.join(" + ")
    );
    let mut query = sqlx::query(sqlx::AssertSqlSafe(statement)).bind(rare.to_owned()).bind(MOST + 1);
    for term in terms.all() {
        query = query.bind(term.clone());
    }
    let mut found = Vec::new();
    for row in query.fetch_all(rows).await? {
        found.push(row.try_get::<String, _>("pack")?);
    }
    let more = found.len() > whole(MOST);
    found.truncate(whole(MOST));
    Ok((found, more))
}

/// The packs that have all words, each of which many have: the best packs of the first word, in the order of the index, as far as they
/// have the others too.
async fn of_common_words(rows: &AnyPool, terms: &Terms) -> Result<(Vec<String>, bool), Failure> {
    let mut statement =
        "SELECT a.pack AS pack FROM (SELECT pack, rank FROM words WHERE word = $1 ORDER BY rank DESC, pack LIMIT $2) AS a"
            .to_owned();
    for at in 1..terms.all().count() {
        statement.push_str(if at == 1 { " WHERE " } else { " AND " });
        statement.push_str(&format!("EXISTS (SELECT 1 FROM words o WHERE o.pack = a.pack AND o.word = ${})", at + 3));
    }
    statement.push_str(" ORDER BY a.rank DESC, a.pack LIMIT $3");
    let mut words = terms.all();
    let first = words.next().cloned().unwrap_or_default();
    let mut query = sqlx::query(sqlx::AssertSqlSafe(statement)).bind(first.clone()).bind(LOOKED_THROUGH).bind(MOST + 1);
    for term in words {
        query = query.bind(term.clone());
    }
    let mut found = Vec::new();
    for row in query.fetch_all(rows).await? {
        found.push(row.try_get::<String, _>("pack")?);
    }
    let more = found.len() > whole(MOST) || terms.all().count() > 1 && !is_looked_through(rows, &first).await?;
    found.truncate(whole(MOST));
    Ok((found, more))
}

/// Whether so few packs have a word that all of them are looked through.
async fn is_looked_through(rows: &AnyPool, term: &str) -> Result<bool, Failure> {
    let beyond = sqlx::query("SELECT pack FROM words WHERE word = $1 ORDER BY rank DESC, pack LIMIT 1 OFFSET $2");
    Ok(beyond.bind(term.to_owned()).bind(LOOKED_THROUGH).fetch_optional(rows).await?.is_none())
}

/// Whether there is a pack of a name that has all words.
async fn has_all(rows: &AnyPool, name: &str, terms: &Terms) -> Result<bool, Failure> {
    for term in terms.all() {
        let found = sqlx::query("SELECT rank FROM words WHERE pack = $1 AND word = $2").bind(name.to_owned());
        if found.bind(term.clone()).fetch_optional(rows).await?.is_none() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Packs by their names, in the order of these.
async fn of_names(rows: &AnyPool, names: Vec<String>) -> Result<Vec<Found>, Failure> {
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let places: Vec<String> = (1..=names.len()).map(|at| format!("${at}")).collect();
    let statement = format!(concat!("SELECT ", columns!(), " FROM packs WHERE name IN ({})"), places.join(", "));
    let mut query = sqlx::query(sqlx::AssertSqlSafe(statement));
    for name in &names {
        query = query.bind(name.clone());
    }
    let mut found = BTreeMap::new();
    for row in query.fetch_all(rows).await? {
        let pack = Found::read(&row)?;
        found.insert(pack.name.clone(), pack);
    }
    Ok(names.iter().filter_map(|name| found.remove(name)).collect())
}

/// The packs that were changed last.
pub(crate) async fn newest(rows: &AnyPool, most: i64) -> Result<Vec<Found>, Failure> {
    let found = sqlx::query(concat!("SELECT ", columns!(), " FROM packs ORDER BY updated DESC, name LIMIT $1"));
    found.bind(most).fetch_all(rows).await?.iter().map(Found::read).collect()
}

/// The packs that are fetched most.
pub(crate) async fn popular(rows: &AnyPool, most: i64) -> Result<Vec<Found>, Failure> {
    let found = sqlx::query(concat!("SELECT ", columns!(), " FROM packs ORDER BY downloads DESC, name LIMIT $1"));
    found.bind(most).fetch_all(rows).await?.iter().map(Found::read).collect()
}

/// The packs of an owner.
pub(crate) async fn owned(rows: &AnyPool, login: &str) -> Result<Vec<Found>, Failure> {
    let found = sqlx::query(concat!(
        "SELECT ",
        columns!(),
        " FROM packs WHERE name IN (SELECT name FROM owners WHERE login = $1) ORDER BY name LIMIT 1000"
    ));
    found.bind(login.to_owned()).fetch_all(rows).await?.iter().map(Found::read).collect()
}
