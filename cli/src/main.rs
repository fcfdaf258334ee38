//! The binary `exo`: parse → settings → dispatch → exit code.

mod arguments;
mod builtin_packs;
mod bundle;
mod c_toolchain;
mod cache;
mod commands;
mod disk_world;
mod environment;
mod evaluation;
mod failure;
mod filesystem;
mod git;
mod install;
mod memory_limit;
mod packaging;
mod parallel;
mod policy;
mod project;
mod question;
mod registry;
mod report;
mod settings;
mod terminal;
mod timings;
mod vendor;

use std::process::ExitCode;
use std::sync::Mutex;

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser};

use crate::arguments::Arguments;
use crate::environment::Environment;
use crate::failure::Exit;
use crate::settings::Settings;
use crate::terminal::Terminal;

#[global_allocator]
static ALLOCATOR: memory_limit::Limited = memory_limit::Limited;

/// What the latest panic said.
static LAST_PANIC: Mutex<String> = Mutex::new(String::new());

fn main() -> ExitCode {
    // The compiler contains some panics of its libraries, so a panic is told of only when it gets here.
    std::panic::set_hook(Box::new(|panic| {
        if let Ok(mut last) = LAST_PANIC.lock() {
            *last = panic.to_string();
        }
    }));
    let exit = std::panic::catch_unwind(run).unwrap_or_else(|_| {
        terminal::bug(&LAST_PANIC.lock().map_or_else(|_| "a panic".to_string(), |last| last.clone()));
        Exit::Bug
    });
    ExitCode::from(exit.code())
}

fn run() -> Exit {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(refusal) if refusal.kind() == ErrorKind::MissingSubcommand => return no_command(),
        Err(refusal) => return usage(&refusal),
    };
    if arguments.global.timings {
        timings::start();
    }
    let environment = Environment::read();
    let settings = match Settings::resolve(&arguments.global, environment) {
        Ok(settings) => settings,
        Err(failure) => {
            Terminal::plain(arguments.global.format).failure(&failure);
            return failure.exit;
        }
    };
    if arguments.global.format == arguments::Format::Json {
        memory_limit::answer_in_json();
    }
    let terminal = Terminal::new(&settings);
    let exit = match commands::dispatch(arguments.command, &settings, &terminal) {
        Ok(exit) => exit,
        Err(failure) => {
            terminal.failure(&failure);
            failure.exit
        }
    };
    timings::table().unwrap_or_default().iter().for_each(|line| terminal.note(line));
    terminal.finish(exit)
}

/// Options without a command: the list of commands says what is missing better than the parser's own words.
fn no_command() -> Exit {
    let terminal = Terminal::plain(arguments::Format::Text);
    terminal.usage(&Arguments::command().render_help().to_string(), false);
    terminal.finish(Exit::Usage)
}

/// Help and version are answers; everything else that the parser says is a usage error.
fn usage(refusal: &clap::Error) -> Exit {
    let asked_for = !refusal.use_stderr();
    let terminal = Terminal::plain(arguments::Format::Text);
    terminal.usage(&refusal.render().to_string(), asked_for);
    terminal.finish(if asked_for { Exit::Done } else { Exit::Usage })
}
