//! The registry server `exo-registry`.

#[macro_use]
mod output;

mod access;
mod accounts;
mod advisories;
mod api;
mod audit;
mod backup;
mod blobs;
mod chance;
mod changes;
mod client_address;
mod compatibility;
mod configuration;
mod connections;
mod contents;
mod database;
mod deletion;
mod difference;
mod efforts;
mod error;
mod failure;
mod heap;
mod index;
mod kept;
mod keys;
mod leases;
mod limits;
mod lost_rows;
mod mails;
mod membership;
mod metrics;
mod mirror;
mod operations;
mod organisations;
mod pages;
mod parallel;
mod pruning;
mod publish;
mod quarantine;
mod registry;
mod reports;
mod request;
mod rotation;
mod scopes;
mod sealing;
mod search;
mod second_factor;
mod served_log;
mod service;
mod sessions;
mod sign_in;
mod static_folder;
mod stewardship;
mod tiles;
mod tokens;

use std::process::ExitCode;

use clap::Parser as _;
use tracing_subscriber::EnvFilter;

use configuration::{Command, CommandLine};
use failure::Failure;

fn main() -> ExitCode {
    heap::set_up();
    let line = CommandLine::parse();
    keep_private(&line.command);
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info,sqlx=warn"));
    tracing_subscriber::fmt().json().with_env_filter(filter).with_writer(std::io::stderr).init();
    // TLS to the database and the store of blobs. It fails only when a provider is installed already, which does as well.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let result = runtime.map_err(Failure::from).and_then(|runtime| runtime.block_on(run(&line.command)));
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("error: {failure}");
            ExitCode::FAILURE
        }
    }
}

/// Accounts, tokens and keys are nobody else's to read, whatever the shell allows: files come to be for their owner only. What is
/// exported or mirrored is for a file server, which is often somebody else.
fn keep_private(command: &Command) {
    let for_others = match command {
        Command::ExportStatic(_) | Command::Mirror(_) => true,
        Command::Serve(_)
        | Command::Init(_)
        | Command::User(_)
        | Command::Doctor(_)
        | Command::VerifyAll(_)
        | Command::Backup(_)
        | Command::Restore(_)
        | Command::Purge(_)
        | Command::RotateKeys(_) => false,
    };
    if !for_others {
        rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o077));
    }
}

async fn run(command: &Command) -> Result<(), Failure> {
    match command {
        Command::Serve(arguments) => service::serve(arguments).await,
        Command::Init(arguments) => operations::init(arguments).await,
        Command::User(command) => operations::user(command).await,
        Command::Doctor(arguments) => operations::doctor(arguments).await,
        Command::VerifyAll(place) => operations::verify_all(place).await,
        Command::ExportStatic(arguments) => operations::export_static(arguments).await,
        Command::Mirror(arguments) => mirror::mirror(arguments).await,
        Command::Backup(arguments) => backup::backup(arguments).await,
        Command::Restore(arguments) => backup::restore(arguments).await,
        Command::Purge(arguments) => operations::purge(arguments).await,
        Command::RotateKeys(arguments) => rotation::rotate(arguments).await,
    }
}
