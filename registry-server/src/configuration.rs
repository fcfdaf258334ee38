//! The command line and what it configures.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use exo_index::digest::Sha256;

/// A registry of Exo packs.
#[derive(Debug, Parser)]
#[command(name = "exo-registry", version, propagate_version = true)]
pub(crate) struct CommandLine {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serve the registry; an empty directory is set up first
    Serve(Serve),
    /// Set up directory, keys and database without serving
    Init(Init),
    /// Accounts
    #[command(subcommand)]
    User(User),
    /// Tell whether everything the registry needs is there
    Doctor(Doctor),
    /// Recompute every hash and signature from the latest pointer down, and compare database, files and served log
    VerifyAll(Place),
    /// Write the static registry (all of /v1) into a folder
    ExportStatic(Export),
    /// Copy the static half of another registry into a folder, checked from its root down; what is there already is not fetched again
    Mirror(Mirror),
    /// Write everything into a new folder: rows, files, keys
    Backup(Backup),
    /// Set up an empty registry, on any database and store, from a backup
    Restore(Restore),
    /// Delete a version, or a whole pack with its name; nobody is given either again
    Purge(Purge),
    /// Make new keys for pointers and verdicts, and say so in a new root
    RotateKeys(RotateKeys),
}

/// Where the registry keeps what it has.
#[derive(Debug, Clone, Args)]
pub(crate) struct Place {
    /// Directory of the registry: keys, and unless said otherwise the database and the blobs
    #[arg(long, env = "EXO_REGISTRY_DATA")]
    pub(crate) data: PathBuf,
    /// `postgres://…`; a SQLite file in the directory when left out
    // The URL may hold a password, which no help text repeats.
    #[arg(long, env = "EXO_REGISTRY_DATABASE", hide_env_values = true)]
    pub(crate) database: Option<String>,
    /// `s3://BUCKET[/PREFIX]` (credentials and endpoint from the AWS_ variables); files in the directory when left out
    #[arg(long, env = "EXO_REGISTRY_BLOBS")]
    pub(crate) blobs: Option<String>,
}

/// How to serve.
#[derive(Debug, Clone, Args)]
pub(crate) struct Serve {
    #[command(flatten)]
    pub(crate) place: Place,
    /// Address and port; port 0 takes a free one, which is printed
    #[arg(long, env = "EXO_REGISTRY_LISTEN", default_value = "127.0.0.1:8700")]
    pub(crate) listen: SocketAddr,
    /// The registry's name in signatures, a URL without scheme; decided once, at the first start
    #[arg(long, env = "EXO_REGISTRY_ORIGIN")]
    pub(crate) origin: Option<String>,
    /// The `exo` program that checks packs; the one beside this program when left out
    #[arg(long, env = "EXO_REGISTRY_EXO")]
    pub(crate) exo: Option<PathBuf>,
    /// Let anybody make an account
    #[arg(long, env = "EXO_REGISTRY_OPEN_SIGN_UP")]
    pub(crate) open_sign_up: bool,
    /// What one address may read in a minute without a token, of the API and of the pages, where a search counts three times; 0 for no end
    #[arg(long, env = "EXO_REGISTRY_ANONYMOUS_LIMIT", value_name = "N", default_value_t = 600, value_parser = clap::value_parser!(i64).range(0..))]
    pub(crate) anonymous_limit: i64,
    /// How many seconds all packs of one publish together may take to be verified
    #[arg(long, env = "EXO_REGISTRY_PUBLISH_TIME", value_name = "SECONDS", default_value_t = 600, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub(crate) publish_time: u64,
    /// Believe the last address of `X-Forwarded-For`, which limits count by; only behind a proxy that sets it
    #[arg(long, env = "EXO_REGISTRY_BEHIND_PROXY")]
    pub(crate) behind_proxy: bool,
    /// Where people reach the pages, as links in mails have it; https:// and the registry's name when left out
    #[arg(long, env = "EXO_REGISTRY_URL", value_parser = page_address)]
    pub(crate) url: Option<String>,
    /// The mail server: `smtps://USER:PASSWORD@HOST`, or `smtp://…` with `?tls=required`; mails are files in `outbox/` of the directory when left out
    // The URL may hold a password, which no help text repeats.
    #[arg(long, env = "EXO_REGISTRY_SMTP", hide_env_values = true, value_name = "URL", requires = "mail_from")]
    pub(crate) smtp: Option<String>,
    /// The address that mails come from: `packs@example.org` or `Packs <packs@example.org>`
    #[arg(long, env = "EXO_REGISTRY_MAIL_FROM", value_name = "ADDRESS")]
    pub(crate) mail_from: Option<String>,
}

/// Reads the address of the pages.
fn page_address(text: &str) -> Result<String, String> {
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    match rest {
        Some(rest) if !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_graphic()) => Ok(text.to_owned()),
        Some(_) | None => Err("an address begins with https:// or http://, as in https://packs.example.org".to_owned()),
    }
}

/// What to look at.
#[derive(Debug, Clone, Args)]
pub(crate) struct Doctor {
    #[command(flatten)]
    pub(crate) place: Place,
    /// The `exo` program that checks packs; the one beside this program when left out
    #[arg(long, env = "EXO_REGISTRY_EXO")]
    pub(crate) exo: Option<PathBuf>,
}

/// How to set up.
#[derive(Debug, Clone, Args)]
pub(crate) struct Init {
    #[command(flatten)]
    pub(crate) place: Place,
    /// The registry's name in signatures, a URL without scheme
    #[arg(long, env = "EXO_REGISTRY_ORIGIN")]
    pub(crate) origin: Option<String>,
}

/// Where to export to.
#[derive(Debug, Clone, Args)]
pub(crate) struct Export {
    #[command(flatten)]
    pub(crate) place: Place,
    /// The folder; files that are there already are kept
    pub(crate) folder: PathBuf,
}

/// What to mirror, and where to.
#[derive(Debug, Clone, Args)]
pub(crate) struct Mirror {
    /// The registry's URL, or that of another mirror of it: https://, http:// or file://
    #[arg(long)]
    pub(crate) from: String,
    /// The digest of the registry's first root, which is believed when it is first seen otherwise
    #[arg(long, value_name = "sha256:DIGITS", value_parser = root_digest)]
    pub(crate) root: Option<Sha256>,
    /// Mirror again and again, with a pause of so many seconds; what fails is told and tried again
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) follow: Option<u64>,
    /// How many files are fetched at the same time
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) jobs: u16,
    /// Hash all files that are there already, and fetch those again that are damaged or gone
    #[arg(long)]
    pub(crate) recheck: bool,
    /// The folder, for any file server; `v1/latest` in it is replaced last
    pub(crate) folder: PathBuf,
}

/// Reads `sha256:…`.
fn root_digest(text: &str) -> Result<Sha256, String> {
    let digits = text.strip_prefix("sha256:").ok_or("a digest starts with `sha256:`")?;
    digits.parse().map_err(|error: exo_index::digest::DigestError| error.to_string())
}

/// Where a backup goes.
#[derive(Debug, Clone, Args)]
pub(crate) struct Backup {
    #[command(flatten)]
    pub(crate) place: Place,
    /// The folder, which must not be there yet; it will hold the keys, so keep it as safe as them
    pub(crate) folder: PathBuf,
}

/// Where a registry comes back from.
#[derive(Debug, Clone, Args)]
pub(crate) struct Restore {
    #[command(flatten)]
    pub(crate) place: Place,
    /// The folder that `backup` wrote
    pub(crate) folder: PathBuf,
}

/// Which keys to make anew.
#[derive(Debug, Clone, Args)]
pub(crate) struct RotateKeys {
    #[command(flatten)]
    pub(crate) place: Place,
    /// Make a new root key too; the old one signs the new root with it
    #[arg(long)]
    pub(crate) root: bool,
}

/// What to delete.
#[derive(Debug, Clone, Args)]
pub(crate) struct Purge {
    #[command(flatten)]
    pub(crate) place: Place,
    /// `NAME@VERSION`, or `NAME` for all versions and the name
    pub(crate) what: String,
    /// Why, in one line, which users are shown
    #[arg(long)]
    pub(crate) reason: String,
}

/// What to do with accounts.
#[derive(Debug, Subcommand)]
pub(crate) enum User {
    /// Make an account; the password is read from standard input
    Add {
        #[command(flatten)]
        place: Place,
        /// The new login
        login: String,
        /// May also do what owners may, for every pack
        #[arg(long)]
        administrator: bool,
    },
    /// List all accounts
    List(Place),
    /// Switch the second factor of an account off, for who has lost both device and recovery codes
    ResetSecondFactor {
        #[command(flatten)]
        place: Place,
        /// The login
        #[arg(required_unless_present = "all", conflicts_with = "all")]
        login: Option<String>,
        /// Of all accounts; also when the key that they are sealed with is lost
        #[arg(long)]
        all: bool,
    },
    /// Give an account another password, read from standard input, and end its sessions; for who has lost it
    ResetPassword {
        #[command(flatten)]
        place: Place,
        /// The login
        login: String,
        /// End its tokens too
        #[arg(long)]
        tokens: bool,
    },
    /// Close an account and end its tokens
    Disable {
        #[command(flatten)]
        place: Place,
        /// The login
        login: String,
    },
}
