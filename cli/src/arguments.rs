//! The command line: every command, argument and option, with the help text that `exo help` prints.

mod authors;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

pub(crate) use authors::{
    Advisory, AdvisoryAction, AdvisoryText, Archive, At, CreateToken, Deprecate, Login, Logout, Owned, Owner,
    OwnerAction, Proof, Publish, PublishAdvisory, Report, Token, TokenAction, WhichAdvisory, Whom, Withdraw, Yank,
};

/// A compiler for user-schedulable kernels whose schedules, instructions and targets are packages
#[derive(Debug, Parser)]
#[command(name = "exo", version, disable_help_subcommand = true, arg_required_else_help = true, max_term_width = 100)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Options that every command takes.
#[derive(Debug, Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Global {
    /// Form of the answer on stdout
    #[arg(long, global = true, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
    /// Answers and errors only: no progress, no warnings
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// Also say what is looked at, cached and started
    #[arg(short, long, global = true)]
    pub(crate) verbose: bool,
    /// Work as if started in DIR
    #[arg(short = 'C', long = "directory", global = true, value_name = "DIR")]
    pub(crate) directory: Option<PathBuf>,
    /// The Exo.toml of the project, instead of the nearest one upwards
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) manifest_path: Option<PathBuf>,
    /// The member of the workspace to work on
    #[arg(short = 'p', long = "pack", global = true, value_name = "PACK", conflicts_with = "workspace")]
    pub(crate) member: Vec<String>,
    /// All members of the workspace, for check, test, build, package, publish, audit and tree
    #[arg(long, global = true)]
    pub(crate) workspace: bool,
    /// Raise or lower limits of evaluation: steps=N, depth=N, memory=MiB, seconds=N, solver=N
    #[arg(long, global = true, value_name = "WHAT=N", value_delimiter = ',')]
    pub(crate) limit: Vec<String>,
    /// Say on stderr where the time of compiling went, and what the solver was asked
    #[arg(long, global = true)]
    pub(crate) timings: bool,
    /// Refuse to change Exo.lock, and refuse to run where it does not fit
    #[arg(long, global = true)]
    pub(crate) locked: bool,
    /// Never touch the network
    #[arg(long, global = true)]
    pub(crate) offline: bool,
    /// Both --locked and --offline
    #[arg(long, global = true)]
    pub(crate) frozen: bool,
}

/// Form of the answer on stdout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Text,
    Json,
}

/// What a project is for; see `design/05-targets-and-composition`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Kind {
    /// Memories, instructions and the value that describes a machine
    Target,
    /// Scheduling functions for others to use
    Schedule,
    /// Algorithms and the kernels built from them
    Kernel,
}

#[derive(Clone, Debug, Subcommand)]
pub(crate) enum Command {
    /// Create a project in a new folder
    New(New),
    /// Create a project in this folder
    Init(Init),
    /// Add packs to the project: resolve, verify, lock
    Add(Add),
    /// Remove packs from the project
    Remove(Remove),
    /// Install and verify what Exo.toml and Exo.lock ask for
    #[command(alias = "sync")]
    Install(Install),
    /// Move packs to the newest versions that Exo.toml allows
    Update(Update),
    /// Write Exo.lock for Exo.toml, and install nothing
    Lock,
    /// List packs for which there is something newer
    Outdated,
    /// Say which chains of requirements bring a pack into the project
    Why(OnePack),
    /// Print what is known of a pack: versions, dependencies, digests
    Info(Info),
    /// Find packs by name, description and keywords
    Search(Search),
    /// Compose kernels with targets and emit C
    Build(Build),
    /// Compile single files to C without a project
    Cc(Cc),
    /// Evaluate a module; `print` goes to stdout
    Run(Run),
    /// Evaluate and check this pack: definitions, claims, kernels, waived checks, raw C
    Check,
    /// Run the tests of this pack, and each instruction against its body
    Test(Test),
    /// Time the kernels of this pack beside their algorithms, on this machine
    Bench(Bench),
    /// Print a kernel's proc after each step of its schedule
    Show(Show),
    /// Print the packs that the project depends on
    Tree(Tree),
    /// Verify installed packs again
    Verify(Verify),
    /// List what the project has to trust (waived checks, raw C, tests not run), and what is said against its packs
    Audit(Audit),
    /// Make the archive of this pack that others would get, and check that it can be published
    Package(Package),
    /// Publish this pack, or several members of a workspace at once, to a registry
    Publish(Publish),
    /// Take a version back, so that nobody newly chooses it
    Yank(Yank),
    /// Say that a pack should not be used any more
    Deprecate(Deprecate),
    /// Say that a pack is no longer maintained, and let nobody publish new versions of it
    Archive(Archive),
    /// Say which versions of a pack have a known weakness
    Advisory(Advisory),
    /// Tell a registry's administrators that something is wrong with a pack
    Report(Report),
    /// Say who may publish and change a pack
    Owner(Owner),
    /// Log in at a registry
    Login(Login),
    /// End what `exo login` began
    Logout(Logout),
    /// Make and take back tokens, for machines that publish
    Token(Token),
    /// Put copies of all locked packs into the project, and use them from there
    Vendor(Vendor),
    /// Put Exo.lock and all of its packs into one file, for `exo install --bundle`
    Bundle(Bundle),
    /// Print the script that completes commands and options in a shell
    Completions(Completions),
    /// Look at the cache and clean it
    Cache(Cache),
    /// Print the folder of the CMake package, for `cmake -DExo_DIR=…`
    CmakeDir,
    /// Say what this machine offers: solver, C compilers, emulators, cache, project
    Doctor,
    /// Explain a command, an operator, a function, a pack or the environment
    Help(Help),
    /// Explain an error code
    Explain(Explain),
    /// The child process that verifies one pack; reads a request from stdin
    #[command(name = "__verify", hide = true)]
    VerifyChild,
    /// For a registry: tells which checker this is, as verdicts name it
    #[command(name = "__checker", hide = true)]
    TellChecker,
    /// For a registry: writes the archives of the packs that come with exo into a folder
    #[command(name = "__packs", hide = true)]
    WritePacks {
        #[arg(value_name = "DIR")]
        folder: PathBuf,
    },
}

#[derive(Clone, Debug, Args)]
pub(crate) struct New {
    /// Name of the pack and of the folder
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// What the pack is for
    #[arg(long, value_enum, default_value_t = Kind::Kernel)]
    pub(crate) kind: Kind,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct Init {
    /// Name of the pack; the folder's name when left out
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// What the pack is for
    #[arg(long, value_enum, default_value_t = Kind::Kernel)]
    pub(crate) kind: Kind,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct Add {
    /// Packs, each with an optional requirement: `neon`, `neon@1.1`, `neon@=1.1.0`
    #[arg(value_name = "PACK[@REQ]", required_unless_present_any = ["path", "git"])]
    pub(crate) packs: Vec<String>,
    /// Use the pack in this folder; with --git a folder in the repository
    #[arg(long, value_name = "DIR")]
    pub(crate) path: Option<PathBuf>,
    /// Use the pack in this git repository, at its newest commit unless one is named
    #[arg(long, value_name = "URL")]
    pub(crate) git: Option<String>,
    /// The commit of --git
    #[arg(long, value_name = "COMMIT", requires = "git", conflicts_with_all = ["tag", "branch"])]
    pub(crate) rev: Option<String>,
    /// The tag of --git
    #[arg(long, value_name = "NAME", requires = "git", conflicts_with = "branch")]
    pub(crate) tag: Option<String>,
    /// The branch of --git; `exo update` moves to its newest commit
    #[arg(long, value_name = "NAME", requires = "git")]
    pub(crate) branch: Option<String>,
    /// Take the packs from this registry, by its name in the configuration or its URL
    #[arg(long, value_name = "REGISTRY", conflicts_with_all = ["path", "git"])]
    pub(crate) registry: Option<String>,
    /// For tests of this pack only
    #[arg(long)]
    pub(crate) dev: bool,
    /// Add also what is new in its registry, or a target, without being asked
    #[arg(long)]
    pub(crate) yes: bool,
    /// Accept that the raw C of a pack that the project has already changes
    #[arg(long)]
    pub(crate) accept_raw_c: bool,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct Remove {
    /// Packs to remove
    #[arg(value_name = "PACK", required = true)]
    pub(crate) packs: Vec<String>,
    /// Remove from the dev-dependencies
    #[arg(long)]
    pub(crate) dev: bool,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct Update {
    /// Move these packs only
    #[arg(value_name = "PACK")]
    pub(crate) packs: Vec<String>,
    /// Move the one pack to this version, up or down
    #[arg(long, value_name = "VERSION", requires = "packs")]
    pub(crate) precise: Option<String>,
    /// Leave out what was published after this time, such as 2026-11-30 or 2026-11-30T05:04:09Z
    #[arg(long, value_name = "TIME")]
    pub(crate) as_of: Option<String>,
    /// Accept that the raw C of a pack changes
    #[arg(long)]
    pub(crate) accept_raw_c: bool,
    /// Move the lockfile to this version of exo, and no pack
    #[arg(long, conflicts_with_all = ["packs", "precise", "as_of"])]
    pub(crate) exo: bool,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct OnePack {
    /// Name of the pack
    #[arg(value_name = "PACK")]
    pub(crate) pack: String,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct Search {
    /// Words that must all be there; none with --kind or --target
    #[arg(value_name = "WORD")]
    pub(crate) words: Vec<String>,
    /// Only packs of this kind
    #[arg(long, value_enum)]
    pub(crate) kind: Option<Kind>,
    /// Only packs that are for this target, by the name of its pack
    #[arg(long, value_name = "PACK")]
    pub(crate) target: Option<String>,
    /// Also ask this registry, by its name in the configuration or its URL, instead of the one in use
    #[arg(long, value_name = "REGISTRY")]
    pub(crate) registry: Option<String>,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct Info {
    /// Name of the pack, for its newest version, or one version: `neon@1.1.0`
    #[arg(value_name = "PACK[@VERSION]")]
    pub(crate) pack: String,
    /// What this registry has, by its name in the configuration or its URL, instead of the one in use
    #[arg(long, value_name = "REGISTRY")]
    pub(crate) registry: Option<String>,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct Build {
    /// Only for these targets (as the kernel's `targets` names them)
    #[arg(long = "target", value_name = "T")]
    pub(crate) targets: Vec<String>,
    /// Only these kernels
    #[arg(long = "kernel", value_name = "K")]
    pub(crate) kernels: Vec<String>,
    /// Emit instruction bodies as C functions, so that the result runs on any machine
    #[arg(long)]
    pub(crate) emulate: bool,
    /// Check at run time what callers in C must hold to: sizes, asserts, distinct buffers
    #[arg(long)]
    pub(crate) checked: bool,
    /// What to write; objects and libraries are made by the C compiler of the target
    #[arg(long, value_enum, value_name = "WHAT", value_delimiter = ',', default_value = "c,header,depfile")]
    pub(crate) emit: Vec<Emit>,
}

/// What `exo build` writes of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub(crate) enum Emit {
    /// KERNEL.c
    C,
    /// KERNEL.h; with the C also KERNEL.pc, for pkg-config
    Header,
    /// KERNEL.d, a rule for make
    Depfile,
    /// KERNEL.o
    Object,
    /// libKERNEL.a
    Static,
    /// libKERNEL.so
    Shared,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct Cc {
    /// Modules to compile together
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Folder for the outputs; one named after the first file when left out
    #[arg(short, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
    /// Name of the outputs; that of the first file when left out
    #[arg(short, long, value_name = "S")]
    pub(crate) stem: Option<String>,
    /// Check at run time what callers in C must hold to: sizes, asserts, distinct buffers
    #[arg(long)]
    pub(crate) checked: bool,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct Run {
    /// The module to evaluate
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// What `arguments()` gives to the module
    #[arg(value_name = "ARGS", last = true)]
    pub(crate) arguments: Vec<String>,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct Test {
    /// Run the tests whose name contains this text
    #[arg(value_name = "FILTER")]
    pub(crate) filter: Option<String>,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct Bench {
    /// Time the kernels whose name or target contains this text; names look like `gemm::avx2`
    #[arg(value_name = "FILTER")]
    pub(crate) filter: Option<String>,
    /// A size to time on, instead of those that `bench` in Exo.toml says
    #[arg(long = "size", value_name = "NAME=N", value_delimiter = ',', value_parser = size)]
    pub(crate) sizes: Vec<(String, i64)>,
}

/// A size as it is typed: `n=1024`.
fn size(text: &str) -> Result<(String, i64), String> {
    let parsed = text.split_once('=').and_then(|(name, number)| Some((name.trim(), number.trim().parse().ok()?)));
    match parsed {
        Some((name, number)) if !name.is_empty() => Ok((name.to_string(), number)),
        Some(_) | None => Err("write NAME=N, such as n=1024".to_string()),
    }
}

#[derive(Clone, Debug, Args)]
pub(crate) struct Show {
    /// Name of the kernel
    #[arg(value_name = "KERNEL")]
    pub(crate) kernel: String,
    /// For this target; needed when the kernel has several
    #[arg(long, value_name = "T")]
    pub(crate) target: Option<String>,
    /// Only the proc after step N (0 is the algorithm)
    #[arg(long, value_name = "N")]
    pub(crate) step: Option<usize>,
    /// What each step changes, as a unified diff
    #[arg(long)]
    pub(crate) diff: bool,
    /// Write all steps into this file, as one page for a browser
    #[arg(long, value_name = "FILE", conflicts_with_all = ["step", "diff"])]
    pub(crate) trace: Option<PathBuf>,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct Tree {
    /// Who depends on PACK, instead of what the project depends on
    #[arg(short, long, value_name = "PACK")]
    pub(crate) invert: Option<String>,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct Verify {
    /// Also this pack itself and all packs of the built-in registry
    #[arg(long)]
    pub(crate) all: bool,
    /// Verify again where a verdict is cached
    #[arg(long)]
    pub(crate) no_cache: bool,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct Audit {
    /// Fail where a pack asks for this to be trusted, or where this is said of it
    #[arg(long, value_enum, value_name = "WHAT", value_delimiter = ',')]
    pub(crate) deny: Vec<Trust>,
}

/// What a pack may ask to be trusted with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Trust {
    /// Checks that an operator was told to skip
    Waived,
    /// C text of instructions and memories
    RawC,
    /// Tests that verification could not run
    Unrun,
    /// Versions that their registry keeps from everybody
    Quarantined,
    /// Versions that their authors took back
    Yanked,
    /// Packs that should not be used any more
    Deprecated,
    /// Packs that are no longer maintained
    Archived,
    /// Versions with an advisory
    Advisories,
    /// Versions younger than `min-age` of the policy, or than three days where it says none
    Age,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct Package {
    /// Only print the files that would be in the archive, with their sizes
    #[arg(long)]
    pub(crate) list: bool,
    /// Folder for the archive; build/package in the project when left out
    #[arg(short, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct Install {
    /// Take packs from this file, made by `exo bundle`, and nothing from a network
    #[arg(long, value_name = "FILE")]
    pub(crate) bundle: Option<PathBuf>,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct Vendor {
    /// Folder for the copies, inside of the project
    #[arg(value_name = "DIR", default_value = "vendor")]
    pub(crate) folder: PathBuf,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct Bundle {
    /// The file to write; NAME-VERSION.exo-bundle here when left out
    #[arg(short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct Completions {
    /// bash, zsh, fish, elvish or powershell
    #[arg(value_enum, value_name = "SHELL")]
    pub(crate) shell: clap_complete::Shell,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct Cache {
    #[command(subcommand)]
    pub(crate) action: CacheAction,
}

#[derive(Clone, Debug, Subcommand)]
pub(crate) enum CacheAction {
    /// Print the folder of the cache
    Dir,
    /// Print how much is in it
    Size,
    /// Remove what has not been used for a while
    Prune {
        /// Age in days
        #[arg(long, value_name = "DAYS", default_value_t = 30)]
        days: u64,
    },
    /// Hash every file of the cache, and remove what is damaged with --repair
    Verify {
        /// Remove damaged entries, so that the next install makes them again
        #[arg(long)]
        repair: bool,
    },
}

#[derive(Clone, Debug, Args)]
pub(crate) struct Help {
    /// A command, an operator such as `divide_loop`, a function such as `memory`, a pack, or `environment`; `operators` and
    /// `functions` list them
    #[arg(value_name = "TOPIC")]
    pub(crate) topic: Option<String>,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct Explain {
    /// A code such as E0201; all codes are listed when left out
    #[arg(value_name = "CODE")]
    pub(crate) code: Option<String>,
}
