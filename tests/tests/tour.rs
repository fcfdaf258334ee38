//! The README and the guides: their commands run, in order, and say what is shown.
//!
//! In a `console` block each line after `$ ` is a command and what follows is what it says, with `...` for lines left out.
//! A block after `<!-- file: PATH -->` is a file, after `<!-- append: PATH -->` the end of one. Times are not compared.
//! `EXO_UPDATE=1` writes what the commands say into the page, where nothing is left out.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use exo_tests::command_line::{Sandbox, finish};
use exo_tests::exo::{binary, repository};

/// A piece of a page, and the lines that it stands on.
enum Piece {
    File { path: String, append: bool, text: String },
    Command { text: String, says: Vec<String>, lines: std::ops::Range<usize> },
}

fn pieces(page: &str) -> Vec<Piece> {
    let lines: Vec<&str> = page.lines().collect();
    let mut pieces = Vec::new();
    let mut file = None;
    let mut at = 0;
    while let Some(line) = lines.get(at) {
        at += 1;
        for (marker, append) in [("<!-- file: ", false), ("<!-- append: ", true)] {
            if let Some(path) = line.strip_prefix(marker).and_then(|rest| rest.strip_suffix(" -->")) {
                file = Some((path.to_string(), append));
            }
        }
        let Some(language) = line.strip_prefix("```").filter(|language| !language.is_empty()) else { continue };
        let length = lines.iter().skip(at).take_while(|line| **line != "```").count();
        let block = lines.get(at..at + length).unwrap_or_default();
        if let Some((path, append)) = file.take() {
            pieces.push(Piece::File { path, append, text: block.iter().map(|line| format!("{line}\n")).collect() });
        } else if language == "console" {
            pieces.extend(commands(block, at));
        }
        at += length + 1;
    }
    pieces
}

/// The commands of a block that starts on line `first`.
fn commands(block: &[&str], first: usize) -> Vec<Piece> {
    let starts: Vec<usize> =
        (0..block.len()).filter(|at| block.get(*at).is_some_and(|line| line.starts_with("$ "))).collect();
    let ends = starts.iter().skip(1).copied().chain([block.len()]);
    let piece = |(start, end): (&usize, usize)| {
        let text = block.get(*start)?.strip_prefix("$ ")?.to_string();
        let says = block.get(start + 1..end)?.iter().map(|line| (*line).to_string()).collect();
        Some(Piece::Command { text, says, lines: first + start + 1..first + end })
    };
    starts.iter().zip(ends).filter_map(piece).collect()
}

/// A shell script that does the whole tour and puts a mark after what each command says.
fn script(pieces: &[Piece]) -> String {
    let mut script = String::new();
    for piece in pieces {
        let _ = match piece {
            Piece::File { path, append, text } => {
                let into = if *append { ">>" } else { ">" };
                writeln!(script, "cat {into} {path} <<'END_OF_FILE'\n{text}END_OF_FILE")
            }
            Piece::Command { text, .. } => writeln!(script, "{{ {text}\n}} 2>&1\nprintf '{MARK}\\n'"),
        };
    }
    script
}

const MARK: &str = "=== end of what the command says ===";

/// Times and how long a bar of blanks they need.
fn without_times(line: &str) -> String {
    let words: Vec<&str> = line.split_whitespace().collect();
    let mut kept: Vec<&str> = Vec::new();
    for word in words {
        let unit = matches!(word.trim_end_matches([',', ';']), "ms" | "s");
        match kept.last_mut() {
            Some(number) if unit && number.parse::<f64>().is_ok() => *number = "TIME",
            _ => kept.push(word),
        }
    }
    kept.join(" ")
}

/// Whether the lines fit, with `...` for any number of them.
fn fits(shown: &[String], said: &[String]) -> bool {
    match shown.split_first() {
        None => said.is_empty(),
        Some((first, rest)) if first.trim() == "..." => {
            (0..=said.len()).any(|skip| fits(rest, said.get(skip..).unwrap_or_default()))
        }
        Some((first, rest)) => said
            .split_first()
            .is_some_and(|(line, left)| without_times(first) == without_times(line) && fits(rest, left)),
    }
}

#[test]
fn the_tour_runs_as_it_says() {
    runs_as_it_says("README.md", 8);
}

#[test]
fn the_guide_to_targets_runs_as_it_says() {
    runs_as_it_says("docs/guide/targets.md", 8);
}

#[test]
fn the_guide_to_schedules_runs_as_it_says() {
    runs_as_it_says("docs/guide/schedules.md", 4);
}

#[test]
fn the_guide_to_packages_runs_as_it_says() {
    runs_as_it_says("docs/guide/packages.md", 9);
}

/// Its server gets a free port for the one that the page names.
#[test]
fn the_guide_to_registries_runs_as_it_says() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    let port = free.unwrap_or_else(|error| panic!("no free port: {error}")).port().to_string();
    let serve = format!("exo-registry serve --listen 127.0.0.1:{port}");
    run_as_it_says(
        "docs/guide/registry.md",
        14,
        &[("exo-registry serve", &serve), ("127.0.0.1:8700", &format!("127.0.0.1:{port}"))],
    );
}

#[test]
fn the_guide_from_exo_runs_as_it_says() {
    runs_as_it_says("docs/guide/from-exo.md", 1);
}

#[test]
fn the_page_of_the_language_runs_as_it_says() {
    runs_as_it_says("docs/guide/language.md", 1);
}

/// Every name that host code finds in scope, and every method, is on the page.
#[test]
fn the_page_of_the_language_names_everything() {
    let path = repository().join("docs/guide/language.md");
    let page = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let words: std::collections::BTreeSet<&str> =
        page.split(|char: char| !char.is_alphanumeric() && char != '_').collect();
    let names = exo_compiler::pipeline::host_names();
    let left_out: Vec<&String> = names.iter().filter(|name| !words.contains(name.as_str())).collect();
    assert!(names.len() > 60 && left_out.is_empty(), "docs/guide/language.md does not name {left_out:?}");
}

/// Runs all commands of a page, of which there are at least `least`.
fn runs_as_it_says(page: &str, least: usize) {
    run_as_it_says(page, least, &[]);
}

/// Runs a page with some texts of its commands replaced, and what they say put back.
fn run_as_it_says(page: &str, least: usize, replaced: &[(&str, &str)]) {
    let path = repository().join(page);
    let shown = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let pieces = pieces(&shown);
    let sandbox = Sandbox::new();
    let mut command = Command::new("bash");
    let folder = binary().parent().unwrap_or(Path::new("."));
    let search = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap_or_default());
    let script = replaced.iter().fold(script(&pieces), |script, (shown, used)| script.replace(shown, used));
    command.arg("-c").arg(script).current_dir(sandbox.path("work")).env_clear();
    command.env("PATH", search).env("HOME", sandbox.path("home")).env("EXO_CACHE_DIR", sandbox.path("cache"));
    let run = finish(command);
    let stdout = replaced.iter().fold(run.stdout.clone(), |stdout, (shown, used)| stdout.replace(used, shown));
    let said: Vec<Vec<String>> = stdout
        .split(&format!("{MARK}\n"))
        .map(|text| text.lines().map(|line| line.trim_end().replace(&sandbox.path("work").display().to_string(), "~")))
        .map(Iterator::collect)
        .collect();
    let commands = pieces.iter().filter_map(|piece| match piece {
        Piece::Command { text, says, lines } => Some((text, says, lines)),
        Piece::File { .. } => None,
    });
    let commands = commands.collect::<Vec<_>>();
    assert!(commands.len() >= least, "{page} has only {} commands", commands.len());
    assert_eq!(said.len(), commands.len() + 1, "{page} broke off:\n{}{}", run.stdout, run.stderr);
    if std::env::var_os("EXO_UPDATE").is_some() {
        update(&path, &shown, &commands, &said);
        return;
    }
    for ((text, shown, _), said) in commands.iter().zip(&said) {
        assert!(fits(shown, said), "`{text}` says\n{}\nbut {page} shows\n{}", said.join("\n"), shown.join("\n"));
    }
}

/// Writes what the commands say in place of what was shown, except where lines are left out on purpose.
fn update(
    path: &Path,
    page: &str,
    commands: &[(&String, &Vec<String>, &std::ops::Range<usize>)],
    said: &[Vec<String>],
) {
    let mut lines: Vec<String> = page.lines().map(str::to_string).collect();
    for ((_, shown, place), said) in commands.iter().zip(said).rev() {
        if !shown.iter().any(|line| line.trim() == "...") {
            lines.splice((*place).clone(), said.iter().cloned());
        }
    }
    std::fs::write(path, lines.join("\n") + "\n").unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}

#[test]
fn what_fits_and_what_does_not() {
    let lines = |text: &str| text.lines().map(str::to_string).collect::<Vec<_>>();
    assert!(fits(&lines("a\n...\nd 8.1 s"), &lines("a\nb\nc\nd  120 ms")));
    assert!(fits(&lines("...\nb"), &lines("b")));
    assert!(!fits(&lines("a\n...\nd"), &lines("a\nb\nc")));
    assert!(!fits(&lines("a"), &lines("a\nb")));
    assert!(!fits(&lines("a 1 s"), &lines("a 1 m")));
}
