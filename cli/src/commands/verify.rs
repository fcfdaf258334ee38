//! `exo verify`: verifies installed packs again; with `--all` also this pack and every pack in this binary.

use std::collections::BTreeMap;

use exo_index::name::PackName;

use crate::arguments::Verify;
use crate::builtin_packs::Registry;
use crate::cache::Cache;
use crate::failure::{Exit, Failure, Outcome};
use crate::install::agreement::{self, Agreements};
use crate::install::plan::{self, Instance};
use crate::install::summary::Summary;
use crate::install::verdict::Key;
use crate::install::verification;
use crate::project::Project;
use crate::settings::Settings;
use crate::terminal::Terminal;

/// Says who checks, as one line of JSON.
pub(super) fn tell_checker(terminal: &Terminal) -> Outcome<Exit> {
    let subject = Key::new("", "", "", String::new()).subject(BTreeMap::new());
    let (exo, checker, solver) = (&subject.exo, subject.checker_named(), &subject.solver);
    terminal.data(&format!("{}\n", serde_json::json!({ "exo": exo, "checker": checker, "solver": solver })));
    Ok(Exit::Done)
}

pub(super) fn run(arguments: &Verify, settings: &Settings, terminal: &Terminal) -> Outcome<Exit> {
    let start = std::time::Instant::now();
    let cache = Cache::open(settings)?;
    let project = Project::find(settings)?;
    if project.is_none() && !arguments.all {
        return Err(Failure::refused("there is no project here, so nothing is installed for it")
            .hint("`exo verify --all` verifies the packs that come with exo"));
    }
    let mut summary = Summary::new(start);
    let mut agreements = Agreements::default();
    let mut verified: Vec<(PackName, String)> = Vec::new();
    let mut verify = |instances: &[Instance]| -> Outcome<()> {
        let results = verification::verify_all(settings, terminal, &cache, instances, !arguments.no_cache)?;
        for (instance, result) in instances.iter().zip(&results) {
            let key = (instance.name.clone(), instance.tree.to_string());
            if !verified.contains(&key) {
                verified.push(key);
                let agreement = agreement::judge(instance, &result.verdict)?;
                agreements.add(instance, &agreement);
                summary.add(instance, result, &agreement);
            }
        }
        Ok(())
    };
    if let Some(project) = &project {
        let plan = plan::plan(settings, terminal, &cache, project, &project.manifest)?;
        plan.check_trees(settings)?;
        let mut instances = plan.instances;
        if arguments.all {
            instances.push(Instance::of_project(project)?);
        }
        verify(&instances)?;
    }
    if arguments.all {
        verify(&plan::embedded(settings, &cache, &Registry::open(settings)?)?)?;
    }
    agreements.tell(terminal);
    summary.finish();
    for skipped in summary.skipped() {
        terminal.detail(&skipped);
    }
    terminal.answer(|| summary.text(), || summary.json());
    Ok(Exit::Done)
}
