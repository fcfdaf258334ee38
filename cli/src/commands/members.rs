//! `-p PACK` and `--workspace`: a command for some or all members of a workspace.

use exo_index::name::PackName;

use crate::arguments::{Command, Tree};
use crate::commands::new::pack_name;
use crate::failure::{Exit, Failure, Outcome, did_you_mean, nearest};
use crate::project::Project;
use crate::project::workspace::Members;
use crate::settings::Settings;
use crate::terminal::Terminal;

/// Which members a command is for; `None` for the project it is started in.
pub(super) fn selected(command: &Command, settings: &Settings) -> Outcome<Option<Vec<(String, Settings)>>> {
    let many = matches!(
        command,
        Command::Check
            | Command::Test(_)
            | Command::Build(_)
            | Command::Package(_)
            | Command::Publish(_)
            | Command::Audit(_)
            | Command::Tree(Tree { invert: None })
    );
    if settings.workspace && !many {
        return Err(Failure::usage("--workspace goes with check, test, build, package, publish, audit and tree")
            .hint("name one member with -p PACK"));
    }
    if settings.packs.len() > 1 && !many {
        return Err(Failure::usage("this command is for one pack at a time").hint("give -p once"));
    }
    if !settings.workspace && settings.packs.is_empty() && !many {
        return Ok(None);
    }
    let Some(project) = Project::find(settings)? else {
        return if settings.workspace || !settings.packs.is_empty() {
            Project::open(settings).map(|_| None)
        } else {
            Ok(None)
        };
    };
    let asked = settings.workspace || !settings.packs.is_empty();
    let Some((members, _)) = &project.workspace else {
        return if asked {
            Err(Failure::refused(format!("`{}` is in no workspace", project.root().display()))
                .hint("a workspace is an Exo.toml with `[workspace]` and `members = [\"packs/*\"]` above its packs"))
        } else {
            Ok(None)
        };
    };
    if !asked && !project.is_virtual() {
        return Ok(None);
    }
    let mut names: Vec<PackName> = Vec::new();
    for text in &settings.packs {
        let name = pack_name(text)?;
        if !members.members.contains_key(&name) {
            return Err(unknown(&name, members));
        }
        names.push(name);
    }
    let builds = matches!(command, Command::Build(_));
    let all = members.members.iter().filter(|(name, member)| {
        // Who asks for all means all that there is to build.
        if names.is_empty() { !builds || !member.manifest.kernels.is_empty() } else { names.contains(name) }
    });
    let of = |path: &str| Settings {
        manifest_path: Some(members.root.join(path).join(exo_index::manifest::MANIFEST_FILE)),
        workspace: false,
        packs: Vec::new(),
        ..settings.clone()
    };
    Ok(Some(all.map(|(name, member)| (name.to_string(), of(&member.path))).collect()))
}

/// Runs a command for each of some members; the first that fails ends it.
pub(super) fn each(
    members: Vec<(String, Settings)>,
    terminal: &Terminal,
    run: impl Fn(&Settings) -> Outcome<Exit>,
) -> Outcome<Exit> {
    let alone = members.len() == 1;
    terminal.collect(!alone);
    for (name, settings) in members {
        if !alone {
            terminal.status("Member", &name);
        }
        let exit =
            run(&settings).map_err(|failure| failure.note(format!("it is the member `{name}` of the workspace")))?;
        if exit != Exit::Done {
            return Ok(exit);
        }
    }
    terminal.finish_collecting();
    Ok(Exit::Done)
}

fn unknown(name: &PackName, members: &Members) -> Box<Failure> {
    let known = || members.members.keys().map(PackName::as_str);
    let failure = Failure::refused(format!("the workspace has no member `{name}`"));
    failure.hint(
        did_you_mean(&nearest(name.as_str(), known()))
            .unwrap_or_else(|| format!("its members are {}", known().collect::<Vec<_>>().join(", "))),
    )
}

/// Refuses what changes one manifest at the root of a workspace that is no pack.
pub(super) fn refuse_virtual(project: &Project) -> Outcome<()> {
    if !project.is_virtual() {
        return Ok(());
    }
    Err(Failure::refused("this is the root of a workspace, and not a pack").hint("name the member with -p PACK"))
}
