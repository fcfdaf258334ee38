//! `exo add PACK…`: edits Exo.toml, resolves, verifies, and only then writes Exo.toml and Exo.lock together.

use std::path::{Component, Path, PathBuf};

use exo_compiler::diagnostic::codes;
use exo_compiler::source::SourceFile;
use exo_index::manifest::{
    DependencyKind, DependencySource, GitProblem, GitReference, GitSource, MANIFEST_FILE, Manifest, NewDependency,
    add_dependency_in, git_path, git_url,
};
use exo_index::name::PackName;
use exo_index::version::Requirement;
use serde_json::json;

use crate::arguments::Add;
use crate::builtin_packs::Registry;
use crate::commands::members;
use crate::commands::new::pack_name;
use crate::commands::newcomers;
use crate::commands::remove::edit_failure;
use crate::failure::{Exit, Failure, Outcome, did_you_mean, nearest};
use crate::git;
use crate::install::standing::{self, Ask};
use crate::install::{self, changes, plan};
use crate::project::Project;
use crate::project::read;
use crate::registry::reach::Place;
use crate::registry::tombstone::Tombstone;
use crate::settings::Settings;
use crate::terminal::Terminal;

/// One pack as the user asked for it.
struct Wanted {
    name: PackName,
    /// The requirement's text; `None` means: whatever fits, and what is compatible with it later on.
    requirement: Option<String>,
    source: DependencySource,
}

pub(super) fn run(arguments: &Add, settings: &Settings, terminal: &Terminal) -> Outcome<Exit> {
    settings.may_change_lock("exo add")?;
    let (held, project) = Project::hold(settings, terminal)?;
    members::refuse_virtual(&project)?;
    let mut registry = Registry::open(settings)?;
    let wanted = match &arguments.git {
        Some(url) => vec![wanted_git(arguments, url, settings, terminal)?],
        None => wanted(arguments, settings, terminal, &project, &mut registry)?,
    };
    let kind = if arguments.dev { DependencyKind::Dev } else { DependencyKind::Normal };
    let text = settle(settings, terminal, &project, &wanted, kind)?;
    let manifest = project.parse(text.clone())?;
    let installed = install::install(settings, terminal, &project, &manifest, true)?;
    newcomers::introduce(settings, terminal, &registry, project.lock.as_ref(), &installed, arguments.yes)?;
    let new_c = changes::raw_c(project.lock.as_ref(), &installed.plan.lock);
    changes::accept_raw_c(&new_c, arguments.accept_raw_c)?;
    project.write(&held, Some(&text), Some(&installed.plan.lock.to_string()))?;
    standing::warn(settings, terminal, &project, &installed.plan.lock, Ask::Memory);
    let added: Vec<String> = wanted
        .iter()
        .map(|pack| match installed.plan.lock.packs.get(&pack.name) {
            Some(locked) => format!("{} {}", pack.name, locked.version),
            None => pack.name.to_string(),
        })
        .collect();
    for skipped in installed.summary.skipped() {
        terminal.detail(&skipped);
    }
    // What was not asked for may have moved with it.
    let moved = project.lock.as_ref().map(|before| changes::lines(Some(before), &installed.plan.lock));
    changes::tell(terminal, &moved.unwrap_or_default());
    terminal.answer(
        || format!("added {}\n\n{}", added.join(", "), installed.summary.text()),
        || {
            let mut value = installed.summary.json();
            if let Some(object) = value.as_object_mut() {
                object.insert("added".into(), json!(added));
            }
            value
        },
    );
    Ok(Exit::Done)
}

/// What is asked for, with every name known and every requirement sound.
fn wanted(
    arguments: &Add,
    settings: &Settings,
    terminal: &Terminal,
    project: &Project,
    registry: &mut Registry,
) -> Outcome<Vec<Wanted>> {
    if let Some(path) = &arguments.path {
        return Ok(vec![wanted_path(arguments, path, settings, project)?]);
    }
    let mut wanted: Vec<Wanted> = Vec::new();
    for text in &arguments.packs {
        if text.contains(['/', '\\'])
            && !text.starts_with('@')
            && settings.directory.join(text).join(MANIFEST_FILE).is_file()
        {
            return Err(Failure::usage(format!("`{text}` is a folder, not the name of a pack"))
                .hint(format!("`exo add --path {text}` adds the pack in it")));
        }
        let (name, requirement) = split(text);
        let name = pack_name(name)?;
        let requirement = match requirement {
            Some(given) => {
                Requirement::parse(given).map_err(|error| {
                    let failure = Failure::usage(format!("`{text}`: {}", error.message));
                    match error.hint {
                        Some(hint) => failure.hint(hint),
                        None => failure,
                    }
                })?;
                Some(given.to_string())
            }
            None => None,
        };
        let source = match &arguments.registry {
            Some(text) => DependencySource::Registry(text.clone()),
            None => DependencySource::Default,
        };
        registry.reach(settings, terminal, [(&name, Place::of(&source))], project.lock.as_ref())?;
        let Some(newest) = registry.versions(&name).next_back() else {
            return Err(unknown_pack(settings, &name, registry));
        };
        for said in newest.deprecated.iter().chain(&newest.archived) {
            terminal.warning(&format!("`{name}` is {said}"));
        }
        if wanted.iter().any(|other| other.name == name) {
            return Err(Failure::usage(format!("`{name}` is named twice")));
        }
        wanted.push(Wanted { name, requirement, source });
    }
    Ok(wanted)
}

/// The failure for a pack that the registry does not have.
pub(crate) fn unknown_pack(settings: &Settings, name: &PackName, registry: &Registry) -> Box<Failure> {
    if let Some(tombstone) = Tombstone::among(settings, registry.reached.asked_for(name), name, None) {
        return tombstone.failure().hint("nobody is given its name again; `exo search` finds packs to use instead");
    }
    let beside = registry.reached.names_beside(name);
    let near = nearest(name.as_str(), registry.names().chain(&beside).map(PackName::as_str));
    let asked: String = registry.reached.asked_for(name).map(|url| format!(" or in registry `{url}`")).collect();
    let mut failure = Failure::refused(format!("there is no pack `{name}` in the packs that come with exo{asked}"))
        .code(codes::RESOLUTION);
    if asked.is_empty() {
        failure = failure
            .note("no registry was asked: `EXO_REGISTRY=URL`, or `default` in the configuration, puts one in use");
    }
    match did_you_mean(&near) {
        Some(suggestion) => failure.hint(suggestion),
        None => {
            let all: Vec<&str> = registry.names().map(PackName::as_str).collect();
            let elsewhere = if asked.is_empty() { "" } else { ", and `exo search WORD` looks through the registry" };
            failure
                .hint(format!("there are {}{elsewhere}; a pack on this disk is added with --path DIR", all.join(", ")))
        }
    }
}

/// `neon@1.1` as name and requirement; the `@` of a vendor does not count.
pub(super) fn split(text: &str) -> (&str, Option<&str>) {
    match text.rfind('@') {
        Some(at) if at > 0 => (text.get(..at).unwrap_or(text), text.get(at + 1..)),
        _ => (text, None),
    }
}

fn wanted_path(arguments: &Add, path: &Path, settings: &Settings, project: &Project) -> Outcome<Wanted> {
    let folder = settings.directory.join(path);
    let manifest = folder.join(MANIFEST_FILE);
    if !manifest.is_file() {
        return Err(Failure::refused(format!("there is no {MANIFEST_FILE} in `{}`", path.display()))
            .hint("--path takes the folder of a pack"));
    }
    let file = SourceFile::new(manifest.display().to_string(), crate::filesystem::read_text(&manifest)?);
    let name = read::manifest(&file)?.pack.name.value;
    let place = path.display();
    let requirement = named(arguments, &name, &format!("`{place}`"), &format!("--path {place}"))?;
    let source = DependencySource::Path(relative(project.root(), &folder)?);
    Ok(Wanted { name, requirement, source })
}

/// The pack of a repository; without a commit, tag or branch the one that the repository offers now.
fn wanted_git(arguments: &Add, url: &str, settings: &Settings, terminal: &Terminal) -> Outcome<Wanted> {
    let usage = |option: &str, (message, hint): GitProblem| {
        let failure = Failure::usage(format!("--{option}: {message}"));
        match hint {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    };
    git_url(url).map_err(|problem| usage("git", problem))?;
    let path = arguments.path.as_ref().map(|path| path.to_string_lossy().trim_end_matches('/').to_string());
    if let Some(path) = &path {
        git_path(path).map_err(|problem| usage("path", problem))?;
    }
    let given = [("rev", &arguments.rev), ("tag", &arguments.tag), ("branch", &arguments.branch)];
    let reference = match given.into_iter().find_map(|(key, value)| Some((key, value.as_ref()?))) {
        Some((key, value)) => GitReference::parse(key, value).map_err(|problem| usage(key, problem))?,
        None => GitReference::Rev(git::newest_commit(settings, terminal, url)?),
    };
    let source = GitSource { url: url.to_string(), reference, path };
    let pack = git::pack(settings, terminal, &source, None, None)?;
    let name = pack.manifest.pack.name.value;
    let requirement = named(arguments, &name, &format!("`{url}`"), &format!("--git {url}"))?;
    Ok(Wanted { name, requirement, source: DependencySource::Git(source) })
}

/// The requirement for a pack whose name is known from its own manifest; the name may be given too, and must be that.
fn named(arguments: &Add, name: &PackName, place: &str, options: &str) -> Outcome<Option<String>> {
    match arguments.packs.as_slice() {
        [] => Ok(None),
        [text] => {
            let (given, requirement) = split(text);
            if given != name.as_str() {
                return Err(Failure::refused(format!("the pack in {place} is called `{name}`, not `{given}`"))
                    .hint(format!("write `exo add {name} {options}`")));
            }
            Ok(requirement.map(str::to_string))
        }
        _ => Err(Failure::usage("--path and --git go with one pack").hint("run `exo add` once for each")),
    }
}

/// `folder` as seen from `root`, with `/` between the parts, since that is what stands in a manifest.
fn relative(root: &Path, folder: &Path) -> Outcome<String> {
    let full = |path: &Path| path.canonicalize().map_err(|error| crate::filesystem::failure("open", path, &error));
    let (root, folder) = (full(root)?, full(folder)?);
    let shared = root.components().zip(folder.components()).take_while(|(a, b)| a == b).count();
    let up = root.components().skip(shared).map(|_| Component::ParentDir);
    let path: PathBuf = up.chain(folder.components().skip(shared)).collect();
    match path.to_str() {
        Some("") => {
            Err(Failure::refused("a pack cannot depend on itself").hint("--path takes the folder of another pack"))
        }
        Some(text) => Ok(text.to_string()),
        None => Err(Failure::refused(format!("the path `{}` is not UTF-8", path.display()))),
    }
}

/// The manifest's text with the packs added; requirements that were left open are settled by resolving once.
fn settle(
    settings: &Settings,
    terminal: &Terminal,
    project: &Project,
    wanted: &[Wanted],
    kind: DependencyKind,
) -> Outcome<String> {
    let edit = |requirement: &dyn Fn(&Wanted) -> Option<String>| {
        wanted.iter().try_fold(project.manifest_file.text.clone(), |text, pack| {
            let new =
                NewDependency { name: pack.name.clone(), requirement: requirement(pack), source: pack.source.clone() };
            project
                .with_inherited(|inherited| add_dependency_in(&text, kind, &new, inherited))
                .map_err(|error| edit_failure(&project.manifest_file, &text, error))
        })
    };
    let open = |pack: &Wanted| {
        pack.requirement.is_none() && matches!(pack.source, DependencySource::Default | DependencySource::Registry(_))
    };
    let first = edit(&|pack| if open(pack) { Some("*".into()) } else { pack.requirement.clone() })?;
    if !wanted.iter().any(open) {
        return Ok(first);
    }
    let manifest: Manifest = project.parse(first)?;
    let lock = plan::resolve(settings, terminal, project, &manifest)?;
    edit(&|pack| match lock.packs.get(&pack.name) {
        Some(locked) if open(pack) => {
            // Written as people write it: `1.2.3` and `^1.2.3` are the same requirement.
            Some(Requirement::compatible_with(&locked.version).to_string().trim_start_matches('^').to_string())
        }
        _ => pack.requirement.clone(),
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn names_and_requirements_are_told_apart() {
        assert_eq!(split("neon"), ("neon", None));
        assert_eq!(split("neon@1.1"), ("neon", Some("1.1")));
        assert_eq!(split("@arm/neon"), ("@arm/neon", None));
        assert_eq!(split("@arm/neon@=1.0.0"), ("@arm/neon", Some("=1.0.0")));
    }

    #[test]
    fn paths_are_written_as_seen_from_the_project() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["a/project", "b/std"] {
            std::fs::create_dir_all(folder.path().join(name)).unwrap();
        }
        let project = folder.path().join("a/project");
        assert_eq!(relative(&project, &folder.path().join("b/std")).unwrap(), "../../b/std");
        assert!(relative(&project, &project).is_err());
    }
}
