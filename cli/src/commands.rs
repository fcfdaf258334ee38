//! One verb per file; this is the list of them.

mod add;
mod advisory;
mod audit;
mod bench;
mod build;
mod cache;
mod cc;
mod check;
mod cmake_dir;
mod completions;
mod composition;
mod doctor;
mod examination;
mod explain;
mod help;
mod init;
mod install;
mod login;
mod members;
mod new;
mod newcomers;
mod outdated;
mod output_manifest;
mod owner;
mod pack_page;
mod package;
mod publish;
mod ready;
mod remove;
mod report;
mod run;
mod search;
mod show;
pub(crate) mod templates;
mod test;
mod token;
mod trace_page;
mod tree;
mod update;
mod vendor;
mod verify;
mod why;
mod yank;

use crate::arguments::Command;
use crate::failure::{Exit, Outcome};
use crate::settings::Settings;
use crate::terminal::Terminal;

/// Does what was asked, for each member of the workspace that was asked for.
pub(crate) fn dispatch(command: Command, settings: &Settings, terminal: &Terminal) -> Outcome<Exit> {
    let selected = members::selected(&command, settings)?;
    if let Command::Publish(arguments) = &command {
        // All or nothing, so it is one publish and not one for each.
        let members = selected.map_or_else(|| vec![settings.clone()], |some| some.into_iter().map(|of| of.1).collect());
        return publish::run(arguments, &members, settings, terminal);
    }
    match selected {
        Some(members) => members::each(members, terminal, |settings| dispatch_one(command.clone(), settings, terminal)),
        None => dispatch_one(command, settings, terminal),
    }
}

fn dispatch_one(command: Command, settings: &Settings, terminal: &Terminal) -> Outcome<Exit> {
    match command {
        Command::New(arguments) => new::run(&arguments, settings, terminal),
        Command::Init(arguments) => init::run(&arguments, settings, terminal),
        Command::Add(arguments) => add::run(&arguments, settings, terminal),
        Command::Remove(arguments) => remove::run(&arguments, settings, terminal),
        Command::Install(arguments) => install::run(&arguments, settings, terminal),
        Command::Update(arguments) => update::run(&arguments, settings, terminal),
        Command::Lock => update::lock(settings, terminal),
        Command::Outdated => outdated::run(settings, terminal),
        Command::Why(arguments) => why::run(&arguments.pack, settings, terminal),
        Command::Info(arguments) => search::info(&arguments, settings, terminal),
        Command::Search(arguments) => search::run(&arguments, settings, terminal),
        Command::Audit(arguments) => audit::run(&arguments, settings, terminal),
        Command::Package(arguments) => package::run(&arguments, settings, terminal),
        Command::Publish(arguments) => publish::run(&arguments, std::slice::from_ref(settings), settings, terminal),
        Command::Yank(arguments) => yank::run(&arguments, settings, terminal),
        Command::Deprecate(arguments) => yank::deprecate(&arguments, settings, terminal),
        Command::Archive(arguments) => yank::archive(&arguments, settings, terminal),
        Command::Advisory(arguments) => advisory::run(&arguments, settings, terminal),
        Command::Report(arguments) => report::run(&arguments, settings, terminal),
        Command::Owner(arguments) => owner::run(&arguments, settings, terminal),
        Command::Login(arguments) => login::run(&arguments, settings, terminal),
        Command::Logout(arguments) => login::logout(&arguments, settings, terminal),
        Command::Token(arguments) => token::run(&arguments, settings, terminal),
        Command::Vendor(arguments) => vendor::run(&arguments, settings, terminal),
        Command::Bundle(arguments) => vendor::bundle(&arguments, settings, terminal),
        Command::Completions(arguments) => completions::run(&arguments, terminal),
        Command::Build(arguments) => build::run(&arguments, settings, terminal),
        Command::Cc(arguments) => cc::run(&arguments, settings, terminal),
        Command::Run(arguments) => run::run(&arguments, settings, terminal),
        Command::Check => check::run(settings, terminal),
        Command::Test(arguments) => test::run(&arguments, settings, terminal),
        Command::Bench(arguments) => bench::run(&arguments, settings, terminal),
        Command::Show(arguments) => show::run(&arguments, settings, terminal),
        Command::Tree(arguments) => tree::run(&arguments, settings, terminal),
        Command::Verify(arguments) => verify::run(&arguments, settings, terminal),
        Command::Cache(arguments) => cache::run(&arguments, settings, terminal),
        Command::CmakeDir => cmake_dir::run(settings, terminal),
        Command::Doctor => doctor::run(settings, terminal),
        Command::Help(arguments) => help::run(&arguments, settings, terminal),
        Command::Explain(arguments) => explain::run(&arguments, terminal),
        Command::TellChecker => verify::tell_checker(terminal),
        Command::WritePacks { folder } => crate::builtin_packs::write_archives(settings, &folder),
        Command::VerifyChild => crate::install::verification_child::run(terminal),
    }
}
