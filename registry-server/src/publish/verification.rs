//! The compiler's word on a pack: `exo` verifies it in a limited process, with the newest dependencies that fit.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant};

use exo_index::archive::{self, Limits, PackFiles};
use exo_index::digest::{Blake3, Sha256};
use exo_index::manifest::Manifest;
use exo_index::name::PackName;
use exo_index::registry::layout;
use exo_index::resolve::{Catalogue, Need, Needs, Request, Resolution, resolve};
use exo_index::version::Version;
use exo_index::visible::{is_visible, shown};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::examination::{Examined, diagnostic};
use super::folders::Folder;
use super::refusals::bounded;
use crate::failure::Failure;
use crate::index;
use crate::service::Service;

/// Seconds of evaluation that a pack may take.
const SECONDS: u64 = 60;

/// Wall time after which the process is ended, in seconds.
const WALL: u64 = 180;

/// Bytes of answer that are read.
const LONGEST_ANSWER: u64 = 64 << 20;

/// Which checker looked, and at what besides the pack, as the process says.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Subject {
    pub(crate) exo: String,
    pub(crate) checker: String,
    pub(crate) checker_digest: String,
    pub(crate) solver: String,
    pub(crate) dependencies: BTreeMap<String, String>,
}

/// What the process found; the other fields of its answer are its own.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Found {
    pub(crate) subject: Subject,
    pub(crate) claims: Vec<String>,
    pub(crate) tests: u64,
    pub(crate) procs: Vec<(String, String)>,
    pub(crate) claimed_procs: Vec<String>,
    pub(crate) instructions: Vec<String>,
    pub(crate) targets: Vec<String>,
    pub(crate) waived: Vec<String>,
    pub(crate) raw_c_digest: Option<String>,
    pub(crate) offers: Vec<String>,
    /// The template of each instruction and what it needs at the head of a file, in the order of `instructions`.
    pub(crate) templates: Vec<(String, String)>,
    pub(crate) c_modules: Vec<String>,
    pub(crate) skipped: Vec<String>,
}

impl Found {
    /// The first text for lists and rows with a character that cannot be seen, or that turns the direction of text.
    fn unseen(&self) -> Option<&str> {
        let lists = [&self.claims, &self.instructions, &self.targets, &self.waived, &self.offers, &self.skipped];
        let is_hidden = |char: char| !is_visible(char) && !matches!(char, '\n' | '\t');
        lists.into_iter().flatten().map(String::as_str).find(|text| text.contains(is_hidden))
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Answer {
    Verified(Box<Found>),
    Refused {
        message: String,
        diagnostics: Vec<(String, Value)>,
    },
    /// The pack could not be looked at.
    Failed {
        exit: u8,
        message: String,
        hints: Vec<String>,
    },
    /// The process came to no answer within its limits.
    #[serde(skip)]
    Limit {
        message: String,
    },
    /// The process came to no answer, for a reason that is not in the pack.
    #[serde(skip)]
    Unsettled {
        message: String,
    },
}

/// Why there is no verdict.
pub(crate) enum NoVerdict {
    /// The pack is at fault.
    Refused(Vec<Value>),
    /// A limit of time or memory was reached. Another machine, or this one with less to do, may come to an answer.
    Limit(Vec<Value>),
    /// Nothing is said against the pack: the checker came to no answer, however often it was started.
    Unsettled(Value),
    /// The registry is at fault; it may be tried again.
    Failed(Failure),
}

impl<E: Into<Failure>> From<E> for NoVerdict {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

/// Packs to choose dependencies from: those of the registry, those that come with exo, and those that are published together.
pub(crate) struct Choice {
    /// The version of exo that verifies.
    exo: Version,
    catalogue: Catalogue,
    archives: BTreeMap<(PackName, Version), Sha256>,
}

impl Choice {
    /// Everything that the dependencies of some packs can lead to.
    ///
    /// # Errors
    /// Rows cannot be read.
    pub(crate) async fn gather(service: &Service, together: &[Examined]) -> Result<Self, Failure> {
        let exo = Version::parse(env!("CARGO_PKG_VERSION"))?;
        let mut choice = Self { exo, catalogue: Catalogue::default(), archives: BTreeMap::new() };
        let mut open: Vec<PackName> = Vec::new();
        for pack in together {
            open.extend(pack.manifest.dependencies.iter().map(|dependency| dependency.name.clone()));
        }
        let mut seen = BTreeSet::new();
        let mut rows = service.registry.rows.acquire().await?;
        while let Some(name) = open.pop() {
            if !seen.insert(name.clone()) {
                continue;
            }
            let Some(shard) = index::shard(&mut rows, &name).await? else {
                if let Some(pack) = service.bundled.0.get(&name) {
                    let needs = Needs::of_manifest(&pack.manifest);
                    open.extend(needs.dependencies.iter().map(|need| need.name.clone()));
                    choice.catalogue.add(name, pack.manifest.pack.version.value.clone(), needs);
                }
                continue;
            };
            for entry in shard.versions.into_iter().filter(|entry| entry.yanked.is_none()) {
                let need = |dependency: &exo_index::registry::shard::DependencyEntry| Need {
                    name: dependency.name.clone(),
                    requirement: dependency.requirement.clone(),
                };
                let dependencies: Vec<Need> = entry.dependencies.iter().map(need).collect();
                open.extend(dependencies.iter().map(|need| need.name.clone()));
                choice.archives.insert((name.clone(), entry.version.clone()), entry.archive);
                choice.catalogue.add(name.clone(), entry.version, Needs { exo: entry.exo, dependencies });
            }
        }
        for pack in together {
            let key = (pack.declared.name.clone(), pack.declared.version.clone());
            choice.catalogue.add(key.0.clone(), key.1.clone(), Needs::of_manifest(&pack.manifest));
        }
        Ok(choice)
    }
}

/// A pack laid out for the process.
struct Laid {
    name: PackName,
    version: Version,
    dependencies: Vec<PackName>,
    /// What its tests use besides. None of it is laid out, so that such tests are left out, as they are where the pack is installed.
    dev_dependencies: Vec<PackName>,
    files: PackFiles,
}

/// What a pack is verified with: the newest versions that fit.
///
/// # Errors
/// Nothing fits; the reason is for the author.
pub(crate) fn dependencies(choice: &Choice, pack: &Examined) -> Result<Resolution, Value> {
    let mut request = Request::of_manifest(&pack.manifest, choice.exo.clone());
    request.needs = Needs::of_manifest(&pack.manifest);
    resolve(&request, &choice.catalogue).map_err(|error| {
        let hint = "publish what it depends on first, or with it";
        diagnostic(&pack.declared, "dependencies", error.to_string(), Some(hint))
    })
}

/// Verifies one of the packs that are published together, with dependencies out of a choice.
pub(crate) async fn verify(
    service: &Service,
    choice: &Choice,
    pack: &Examined,
    together: &[Examined],
) -> Result<Found, NoVerdict> {
    let resolution = dependencies(choice, pack).map_err(|reason| NoVerdict::Refused(vec![reason]))?;
    let names = |manifest: &Manifest| manifest.dependencies.iter().map(|dependency| dependency.name.clone()).collect();
    let mut laid = vec![Laid {
        name: pack.declared.name.clone(),
        version: pack.declared.version.clone(),
        dependencies: names(&pack.manifest),
        dev_dependencies: pack.manifest.dev_dependencies.iter().map(|dependency| dependency.name.clone()).collect(),
        files: pack.files.clone(),
    }];
    for (name, chosen) in &resolution.packs {
        if name == &pack.declared.name {
            continue;
        }
        let own =
            together.iter().find(|other| &other.declared.name == name && other.declared.version == chosen.version);
        let files = match own {
            Some(other) => other.files.clone(),
            None => archived(service, choice, name, &chosen.version).await?,
        };
        laid.push(Laid {
            name: name.clone(),
            version: chosen.version.clone(),
            dependencies: chosen.dependencies.iter().cloned().collect(),
            dev_dependencies: Vec::new(),
            files,
        });
    }
    let folder = service.folders.take(&service.registry.data)?;
    let request = lay_out(&folder, &laid, &choice.exo)?;
    let start = Instant::now();
    let answer = run(service, &request).await?;
    service.took("checker", start);
    service.folders.give_back(folder);
    judge(pack, answer)
}

/// The files of a version of the registry, or of one that comes with exo.
async fn archived(
    service: &Service,
    choice: &Choice,
    name: &PackName,
    version: &Version,
) -> Result<PackFiles, Failure> {
    let digest = choice.archives.get(&(name.clone(), version.clone()));
    if let (None, Some(pack)) = (digest, service.bundled.0.get(name)) {
        return Ok(pack.files.clone());
    }
    let digest = digest.ok_or_else(|| Failure::new(format!("`{name} {version}` was chosen, but is not there")))?;
    let bytes = service.registry.blobs.need(&layout::blob(digest)).await?;
    archive::read(&bytes, &Limits::default()).map_err(|error| Failure::new(format!("`{name} {version}`: {error}")))
}

/// How the process calls a pack.
fn id(name: &PackName) -> String {
    match name.vendor() {
        None => name.import_name(),
        Some(vendor) => format!("@{vendor}/{}", name.import_name()),
    }
}

/// Writes the files of all packs, and the request that names them.
fn lay_out(folder: &Folder, laid: &[Laid], exo: &Version) -> Result<String, Failure> {
    let mut packs = Vec::new();
    let mut trees: BTreeMap<String, String> = BTreeMap::new();
    let files = laid.iter().enumerate().flat_map(|(number, pack)| {
        pack.files.files.iter().map(move |(path, contents)| (format!("{number}/{path}"), contents.as_slice()))
    });
    folder.fill(files)?;
    for (number, pack) in laid.iter().enumerate() {
        let place = folder.path().join(number.to_string());
        let tree = pack.files.tree().to_string();
        let imports = |names: &[PackName]| -> BTreeMap<String, String> {
            names.iter().map(|name| (name.import_name(), id(name))).collect()
        };
        let prefix = if number == 0 { String::new() } else { format!("{} {}/", pack.name, pack.version) };
        packs.push(json!({
            "id": id(&pack.name), "import": pack.name.import_name(), "dependencies": imports(&pack.dependencies),
            "dev_dependencies": imports(&pack.dev_dependencies),
            "location": { "folder": { "folder": place, "digest": tree } }, "display_prefix": prefix,
        }));
        trees.insert(pack.name.to_string(), tree);
    }
    let own = laid.first().ok_or_else(|| Failure::new("nothing to verify"))?;
    let tree = trees.remove(own.name.as_str());
    let request = json!({
        "subject": {
            "format": 3, "pack": own.name.as_str(), "version": own.version.to_string(), "tree": tree, "dependencies": trees,
            "exo": exo.to_string(), "checker": "", "checker_digest": "", "solver": "",
        },
        "id": id(&own.name), "packs": packs, "steps": 200_000_000u64, "heap_bytes": 1u64 << 30, "call_depth": 200,
        "seconds": SECONDS, "solver_units": 50_000_000u32, "color": false,
    });
    Ok(request.to_string())
}

/// What became of the process.
enum Ended {
    /// It said something.
    Answered(Vec<u8>),
    /// It did not come to an end in time.
    Late,
    /// It said nothing, and had used up its time or its memory.
    AtItsLimits,
    /// It said nothing, for a reason that is not in the pack.
    FromOutside(ExitStatus),
}

/// How often a process is started that something outside ends.
const TRIES: u32 = 3;

/// Runs the process, again where it was ended from outside: that says nothing against the pack.
async fn run(service: &Service, request: &str) -> Result<Answer, NoVerdict> {
    let mut last = None;
    for _ in 0..TRIES {
        match run_once(service, request).await? {
            Ended::Answered(bytes) => match serde_json::from_slice(&bytes) {
                Ok(answer) => return Ok(answer),
                Err(error) => {
                    tracing::error!(%error, exo = %service.exo.display(), "the checker's answer cannot be read");
                    last = Some("gave an answer that this server cannot read".to_owned());
                }
            },
            Ended::Late => return Ok(limit(format!("it did not verify within {WALL} seconds"))),
            Ended::AtItsLimits => {
                return Ok(limit("the checker was ended by its limits of time or memory".to_owned()));
            }
            Ended::FromOutside(status) => {
                tracing::warn!(%status, "the checker was ended from outside, and is started again");
                last = Some(format!("was ended from outside ({status})"));
            }
        }
    }
    let message = format!("the checker of the registry {} in {TRIES} tries", last.unwrap_or_default());
    Ok(Answer::Unsettled { message })
}

fn limit(message: String) -> Answer {
    Answer::Limit { message }
}

/// Runs the process once.
async fn run_once(service: &Service, request: &str) -> Result<Ended, Failure> {
    let start = Instant::now();
    let mut child = tokio::process::Command::new(&service.exo)
        .arg("__verify")
        .current_dir("/")
        .env_clear()
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| Failure::new(format!("cannot start `{}`: {error}", service.exo.display())))?;
    let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
    let talk = async {
        if let Some(mut stdin) = stdin {
            // A process that ended early says nothing, and that is the answer.
            let _ = stdin.write_all(request.as_bytes()).await;
        }
        let mut bytes = Vec::new();
        if let Some(stdout) = stdout {
            stdout.take(LONGEST_ANSWER).read_to_end(&mut bytes).await?;
        }
        Ok::<_, Failure>((bytes, child.wait().await?))
    };
    let Ok(answer) = tokio::time::timeout(Duration::from_secs(WALL), talk).await else { return Ok(Ended::Late) };
    let (bytes, status) = answer?;
    // The system kills a process at its limit of CPU time; out of memory, it ends by itself or aborts.
    let used_its_time = start.elapsed() >= Duration::from_secs(SECONDS);
    Ok(match (bytes.is_empty(), status.signal()) {
        (false, _) => Ended::Answered(bytes),
        (true, Some(SIGKILL | SIGTERM | SIGINT | SIGHUP)) if !used_its_time => Ended::FromOutside(status),
        (true, _) => Ended::AtItsLimits,
    })
}

/// Signals that others send.
const SIGHUP: i32 = 1;
const SIGINT: i32 = 2;
const SIGKILL: i32 = 9;
const SIGTERM: i32 = 15;

/// The exit code by which the process says that its machine is at fault: no room, no thread.
const ENVIRONMENT: u8 = 3;

/// Whether a diagnostic says that evaluation reached a limit, which is no word on what the pack claims.
fn is_of_a_limit(diagnostic: &Value) -> bool {
    diagnostic.get("code").and_then(Value::as_str) == Some("E0402")
}

fn judge(pack: &Examined, answer: Answer) -> Result<Found, NoVerdict> {
    match answer {
        Answer::Verified(found) => match found.unseen() {
            None => Ok(*found),
            Some(text) => Err(NoVerdict::Refused(bounded(vec![unseen(pack, text)]))),
        },
        Answer::Refused { message, diagnostics } => {
            let at_a_limit = diagnostics.iter().any(|(_, value)| is_of_a_limit(value));
            let mut reasons = vec![diagnostic(&pack.declared, "checker", message, None)];
            reasons.extend(diagnostics.into_iter().map(|(text, value)| {
                json!({ "pack": pack.declared.name.as_str(), "code": "checker", "message": text, "diagnostic": value })
            }));
            // Before those of other packs come to them.
            let reasons = bounded(reasons);
            Err(if at_a_limit { NoVerdict::Limit(reasons) } else { NoVerdict::Refused(reasons) })
        }
        Answer::Failed { exit: ENVIRONMENT, message, .. } => Err(unsettled(pack, message)),
        Answer::Failed { message, hints, .. } => {
            let hint = hints.first().map(String::as_str);
            Err(NoVerdict::Refused(bounded(vec![diagnostic(&pack.declared, "checker", message, hint)])))
        }
        Answer::Limit { message } => {
            let hint = "make what the tests of the pack claim smaller, or split the pack";
            Err(NoVerdict::Limit(vec![diagnostic(&pack.declared, "checker", message, Some(hint))]))
        }
        Answer::Unsettled { message } => Err(unsettled(pack, message)),
    }
}

/// That a pack gives something a name that nobody could read.
fn unseen(pack: &Examined, text: &str) -> Value {
    let message = format!(
        "`{}` has a character that cannot be seen, or that turns the direction of text; it would stand in lists of what the pack has",
        shown(text)
    );
    diagnostic(&pack.declared, "checker", message, Some("name it anew in the modules or tests of the pack"))
}

fn unsettled(pack: &Examined, message: String) -> NoVerdict {
    let hint = "this says nothing about the pack: publish it again later, or tell whoever runs the registry";
    NoVerdict::Unsettled(diagnostic(&pack.declared, "checker", message, Some(hint)))
}

/// What others may use, which decides what bump a change needs: see [`super::bump`].
pub(crate) fn surface(found: &Found) -> BTreeSet<String> {
    let named = |kind: &str, names: &[String]| names.iter().map(|name| format!("{kind} {name}")).collect::<Vec<_>>();
    let public: Vec<String> = found.instructions.iter().filter(|name| !name.starts_with('_')).cloned().collect();
    // In rows, each stands on a line of its own.
    let offers = found.offers.iter().map(|line| line.replace('\n', " "));
    offers.chain(named("instruction", &public)).chain(named("target", &found.targets)).collect()
}

/// The digest of procs, instructions and targets.
pub(crate) fn api_digest(found: &Found) -> Blake3 {
    let mut text: String = surface(found).into_iter().map(|line| line + "\n").collect();
    for (name, digest) in &found.procs {
        text.push_str(&format!("{name} {digest}\n"));
    }
    Blake3::of(text.as_bytes())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn found(targets: &[&str], claims: &[&str]) -> Found {
        let subject = json!({ "exo": "", "checker": "", "checker_digest": "", "solver": "", "dependencies": {} });
        serde_json::from_value(json!({
            "subject": subject, "claims": claims, "tests": 0, "procs": [], "claimed_procs": [], "instructions": [],
            "targets": targets, "waived": [], "raw_c_digest": null, "offers": [], "templates": [], "c_modules": [], "skipped": [],
        }))
        .unwrap()
    }

    #[test]
    fn names_that_nobody_could_read_are_found() {
        assert_eq!(found(&["neon"], &["f equals g\n\tfor all n"]).unseen(), None);
        assert_eq!(found(&["a\0b"], &[]).unseen(), Some("a\0b"));
        assert_eq!(found(&[], &["good", "a\u{202e}b"]).unseen(), Some("a\u{202e}b"));
    }
}
