//! Flags over environment over defaults, resolved once and passed down by reference.

use std::path::{Path, PathBuf};

use exo_compiler::pipeline::Limits;

use crate::arguments::{Format, Global};
use crate::environment::Environment;
use crate::failure::{Failure, Outcome};
use crate::terminal::Loudness;

/// What every command works with.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// The folder the command works in; absolute.
    pub(crate) directory: PathBuf,
    /// An explicit `Exo.toml`; absolute.
    pub(crate) manifest_path: Option<PathBuf>,
    /// The members of the workspace that the command is for; the one it is started in when there are none.
    pub(crate) packs: Vec<String>,
    /// The command is for all members.
    pub(crate) workspace: bool,
    pub(crate) format: Format,
    pub(crate) loudness: Loudness,
    pub(crate) locked: bool,
    /// Nothing may be fetched.
    pub(crate) offline: bool,
    /// Folder of the cache, without its version part; `None` where neither variables nor a home folder name one.
    pub(crate) cache: Option<PathBuf>,
    pub(crate) limits: Limits,
    /// Verification processes at a time.
    pub(crate) jobs: usize,
    pub(crate) environment: Environment,
}

impl Settings {
    /// Commands whose work is to change Exo.lock cannot run with `--locked`.
    pub(crate) fn may_change_lock(&self, command: &str) -> Outcome<()> {
        if !self.locked {
            return Ok(());
        }
        Err(Failure::usage(format!("--locked and --frozen refuse to change Exo.lock, which `{command}` has to"))
            .hint("run it without that option"))
    }

    /// Settles everything. The folder to start in must exist.
    pub(crate) fn resolve(global: &Global, environment: Environment) -> Outcome<Self> {
        let here = std::env::current_dir()
            .map_err(|error| Failure::environment(format!("cannot tell the current folder: {error}")))?;
        let directory = match &global.directory {
            None => here.clone(),
            Some(given) => {
                let joined = here.join(given);
                if !joined.is_dir() {
                    return Err(Failure::usage(format!("-C names `{}`, which is no folder", given.display())));
                }
                joined
            }
        };
        let directory = plain(&directory);
        let manifest_path = match &global.manifest_path {
            None => None,
            Some(given) => {
                let path = directory.join(given);
                if !path.is_file() {
                    return Err(Failure::usage(format!(
                        "--manifest-path names `{}`, which is no file",
                        given.display()
                    ))
                    .hint("name the Exo.toml file itself, not its folder"));
                }
                Some(plain(&path))
            }
        };
        Ok(Settings {
            manifest_path,
            packs: global.member.clone(),
            workspace: global.workspace,
            format: global.format,
            loudness: match (global.quiet, global.verbose) {
                (true, _) => Loudness::Quiet,
                (false, true) => Loudness::Verbose,
                (false, false) => Loudness::Normal,
            },
            locked: global.locked || global.frozen,
            offline: global.offline || global.frozen,
            cache: cache_folder(&environment, &directory),
            limits: adjusted(limits(&environment)?, &global.limit)?,
            jobs: jobs(&environment)?,
            directory,
            environment,
        })
    }
}

/// The path with symbolic links resolved where it exists, so that one file has one name.
fn plain(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_path_buf())
}

fn cache_folder(environment: &Environment, directory: &Path) -> Option<PathBuf> {
    if let Some(given) = &environment.cache_dir {
        return Some(directory.join(given));
    }
    // A relative XDG path is to be ignored, says the specification.
    let xdg = environment.xdg_cache_home.clone().filter(|path| path.is_absolute());
    xdg.or_else(|| environment.home.as_ref().map(|home| directory.join(home).join(".cache")))
        .map(|parent| parent.join("exo"))
}

fn number<T: std::str::FromStr + Copy>(name: &str, given: Option<&String>, default: T) -> Outcome<T> {
    match given {
        None => Ok(default),
        Some(text) => text.trim().parse().map_err(|_| {
            Failure::usage(format!("{name} is `{text}`, which is no whole number in range"))
                .hint(format!("unset {name} or give it a number; `exo help environment` lists the variables"))
        }),
    }
}

fn limits(environment: &Environment) -> Outcome<Limits> {
    let standard = Limits::default();
    Ok(Limits {
        steps: number("EXO_LIMIT_STEPS", environment.limit_steps.as_ref(), standard.steps)?,
        heap_bytes: number("EXO_LIMIT_HEAP", environment.limit_heap.as_ref(), standard.heap_bytes)?,
        call_depth: number("EXO_LIMIT_DEPTH", environment.limit_depth.as_ref(), standard.call_depth)?,
        seconds: number("EXO_LIMIT_SECONDS", environment.limit_seconds.as_ref(), standard.seconds)?,
        solver_units: number("EXO_LIMIT_SOLVER", environment.limit_solver.as_ref(), standard.solver_units)?,
    })
}

/// The limits after `--limit steps=N,memory=MiB,…`.
fn adjusted(mut limits: Limits, given: &[String]) -> Outcome<Limits> {
    for text in given {
        let wrong = |why: &str| {
            Failure::usage(format!("--limit {text}: {why}")).hint(
                "write for example `--limit steps=1000000000,depth=2000,memory=8192,seconds=1200`; memory is in MiB",
            )
        };
        let (what, number) = text.split_once('=').ok_or_else(|| wrong("there is no `=`"))?;
        let number: u64 = number.trim().parse().map_err(|_| wrong("what stands after `=` is no whole number"))?;
        let range = |_| wrong("the number is too large");
        match what.trim() {
            "steps" => limits.steps = number,
            "depth" => limits.call_depth = usize::try_from(number).map_err(range)?,
            "memory" => {
                let bytes = number.checked_mul(1 << 20).ok_or_else(|| wrong("the number is too large"))?;
                limits.heap_bytes = usize::try_from(bytes).map_err(range)?;
            }
            "seconds" => limits.seconds = number,
            "solver" => limits.solver_units = u32::try_from(number).map_err(range)?,
            _ => return Err(wrong("the limits are steps, depth, memory, seconds and solver")),
        }
    }
    Ok(limits)
}

fn jobs(environment: &Environment) -> Outcome<usize> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let jobs: usize = number("EXO_JOBS", environment.jobs.as_ref(), cores)?;
    Ok(jobs.max(1))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn cache_folder_follows_the_variables_in_order() {
        let here = Path::new("/work");
        let mut environment = Environment { home: Some("/home/u".into()), ..Environment::default() };
        assert_eq!(cache_folder(&environment, here).unwrap(), Path::new("/home/u/.cache/exo"));
        environment.xdg_cache_home = Some("relative".into());
        assert_eq!(cache_folder(&environment, here).unwrap(), Path::new("/home/u/.cache/exo"));
        environment.xdg_cache_home = Some("/x".into());
        assert_eq!(cache_folder(&environment, here).unwrap(), Path::new("/x/exo"));
        environment.cache_dir = Some("c".into());
        assert_eq!(cache_folder(&environment, here).unwrap(), Path::new("/work/c"));
        assert_eq!(cache_folder(&Environment::default(), here), None);
    }

    #[test]
    fn limits_are_adjusted_by_name() {
        let given = ["steps=7".to_string(), "memory=2".to_string(), "depth=9".to_string()];
        let limits = adjusted(Limits::default(), &given).unwrap();
        assert_eq!((limits.steps, limits.heap_bytes, limits.call_depth), (7, 2 << 20, 9));
        for wrong in ["steps", "steps=x", "stairs=1", "solver=99999999999"] {
            assert!(adjusted(Limits::default(), &[wrong.to_string()]).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_limit_that_is_no_number_is_a_usage_error() {
        let environment = Environment { limit_steps: Some("many".into()), ..Environment::default() };
        let failed = limits(&environment).unwrap_err();
        assert!(failed.message.contains("EXO_LIMIT_STEPS is `many`"), "{}", failed.message);
        assert_eq!(failed.exit, crate::failure::Exit::Usage);
    }
}
