//! The command line and what it configures.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

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
    Doctor(Place),
    /// Recompute every hash and signature from the latest pointer down, and compare database, files and served log
    VerifyAll(Place),
    /// Write the static registry (all of /v1) into a folder
    ExportStatic(Export),
    /// Write everything into a new folder: rows, files, keys
    Backup(Backup),
    /// Set up an empty registry, on any database and store, from a backup
    Restore(Restore),
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
    #[arg(long, env = "EXO_REGISTRY_DATABASE")]
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
    /// Believe the last address of `X-Forwarded-For`, which limits count by; only behind a proxy that sets it
    #[arg(long, env = "EXO_REGISTRY_BEHIND_PROXY")]
    pub(crate) behind_proxy: bool,
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
    /// Close an account and end its tokens
    Disable {
        #[command(flatten)]
        place: Place,
        /// The login
        login: String,
    },
}
