//! Every environment variable that `exo` reads, documented, in one list and read once.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::registry::credentials::Secret;

/// The variable with a token, which no other process is to see.
pub(crate) const TOKEN: &str = "EXO_TOKEN";

/// One variable: its name and what it does, as `exo help environment` prints it.
pub(crate) struct Variable {
    pub(crate) name: &'static str,
    pub(crate) meaning: &'static str,
}

/// The whole list, in the order of the manual.
pub(crate) const VARIABLES: &[Variable] = &[
    Variable { name: "EXO_CACHE_DIR", meaning: "folder of the cache, instead of $XDG_CACHE_HOME/exo" },
    Variable { name: "XDG_CACHE_HOME", meaning: "parent of the cache folder; $HOME/.cache when unset" },
    Variable { name: "EXO_REGISTRY", meaning: "the registry in use: its URL, or its name in the configuration" },
    Variable { name: TOKEN, meaning: "token for the registry in use, instead of what `exo login` keeps" },
    Variable {
        name: "XDG_CONFIG_HOME",
        meaning: "parent of exo/config.toml and exo/credentials.toml; $HOME/.config when unset",
    },
    Variable {
        name: "XDG_DATA_HOME",
        meaning: "parent of exo/trust, what was seen of registries; $HOME/.local/share when unset",
    },
    Variable { name: "EXO_JOBS", meaning: "number of verification processes at a time; all cores when unset" },
    Variable { name: "EXO_LIMIT_STEPS", meaning: "evaluation steps of one run (200000000)" },
    Variable { name: "EXO_LIMIT_HEAP", meaning: "heap of one run in bytes (4 GiB)" },
    Variable { name: "EXO_LIMIT_DEPTH", meaning: "call depth of host code (1000)" },
    Variable { name: "EXO_LIMIT_SECONDS", meaning: "wall time of one run in seconds (600)" },
    Variable { name: "EXO_LIMIT_SOLVER", meaning: "solver resource units of one query (5000000)" },
    Variable { name: "CC", meaning: "C compiler for this machine, with arguments; `cc` when unset" },
    Variable { name: "GIT_SSH_COMMAND", meaning: "how git starts SSH for git dependencies (`ssh -oBatchMode=yes`)" },
    Variable { name: "GIT_SSH", meaning: "the same as a program without arguments" },
    Variable { name: "NO_COLOR", meaning: "no colour when set to anything but the empty text" },
    Variable { name: "CI", meaning: "no progress bars and no colour when set" },
    Variable { name: "TERM", meaning: "`dumb` means no colour and no progress bars" },
    Variable { name: "PATH", meaning: "where C compilers and emulators are looked for" },
    Variable {
        name: "EXO_TEST_PACKS",
        meaning: "for tests only: a folder of packs that replaces the packs in the binary",
    },
    Variable { name: "EXO_TEST_KILL_AT", meaning: "for tests only: abort at the N-th file-system step or request" },
    Variable {
        name: "EXO_TEST_FULL_AT",
        meaning: "for tests only: from the N-th file-system step on the disk is full",
    },
];

/// The values, as the process was started with.
#[derive(Clone, Debug, Default)]
pub(crate) struct Environment {
    pub(crate) cache_dir: Option<PathBuf>,
    pub(crate) xdg_cache_home: Option<PathBuf>,
    pub(crate) home: Option<PathBuf>,
    pub(crate) registry: Option<String>,
    pub(crate) token: Option<Secret>,
    pub(crate) xdg_config_home: Option<PathBuf>,
    pub(crate) xdg_data_home: Option<PathBuf>,
    pub(crate) jobs: Option<String>,
    pub(crate) limit_steps: Option<String>,
    pub(crate) limit_heap: Option<String>,
    pub(crate) limit_depth: Option<String>,
    pub(crate) limit_seconds: Option<String>,
    pub(crate) limit_solver: Option<String>,
    pub(crate) cc: Option<String>,
    pub(crate) path: Option<OsString>,
    /// Whether GIT_SSH_COMMAND or GIT_SSH is set.
    pub(crate) own_ssh: bool,
    pub(crate) plain: bool,
    pub(crate) no_color: bool,
    pub(crate) test_packs: Option<PathBuf>,
}

impl Environment {
    /// Reads the environment of this process. An empty value counts as unset.
    pub(crate) fn read() -> Self {
        let raw = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let text = |name: &str| raw(name).map(|value| value.to_string_lossy().into_owned());
        let path = |name: &str| raw(name).map(PathBuf::from);
        Environment {
            cache_dir: path("EXO_CACHE_DIR"),
            xdg_cache_home: path("XDG_CACHE_HOME"),
            home: path("HOME"),
            registry: text("EXO_REGISTRY"),
            token: text(TOKEN).map(|token| Secret::new(token.trim())),
            xdg_config_home: path("XDG_CONFIG_HOME"),
            xdg_data_home: path("XDG_DATA_HOME"),
            jobs: text("EXO_JOBS"),
            limit_steps: text("EXO_LIMIT_STEPS"),
            limit_heap: text("EXO_LIMIT_HEAP"),
            limit_depth: text("EXO_LIMIT_DEPTH"),
            limit_seconds: text("EXO_LIMIT_SECONDS"),
            limit_solver: text("EXO_LIMIT_SOLVER"),
            cc: text("CC"),
            path: raw("PATH"),
            own_ssh: raw("GIT_SSH_COMMAND").or_else(|| raw("GIT_SSH")).is_some(),
            plain: raw("CI").is_some() || text("TERM").is_some_and(|term| term == "dumb"),
            no_color: raw("NO_COLOR").is_some(),
            test_packs: path("EXO_TEST_PACKS"),
        }
    }
}

/// A number that a test gave in `name`; used by the failpoints of `filesystem`.
pub(crate) fn test_step(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|value| value.parse().ok())
}
