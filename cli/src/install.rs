//! Installing: plan versions, unpack into the cache, verify in child processes, and only then change the project.

pub(crate) mod agreement;
pub(crate) mod changes;
pub(crate) mod listing;
pub(crate) mod plan;
mod reach;
pub(crate) mod settled;
pub(crate) mod standing;
pub(crate) mod summary;
pub(crate) mod unpack;
pub(crate) mod verdict;
pub(crate) mod verification;
pub(crate) mod verification_child;

use std::collections::BTreeMap;
use std::time::Instant;

use exo_compiler::diagnostic::codes;
use exo_index::manifest::Manifest;
use exo_index::name::PackName;

use crate::cache::Cache;
use crate::disk_world::WorldPack;
use crate::failure::{Failure, Outcome};
use crate::install::agreement::Agreements;
use crate::install::plan::{Instance, Plan};
use crate::install::summary::Summary;
use crate::install::verdict::Verdict;
use crate::project::Project;
use crate::settings::Settings;
use crate::terminal::Terminal;

/// What is installed for a project: the packs, in dependency order, and what verification found.
pub(crate) struct Installed {
    pub(crate) plan: Plan,
    pub(crate) summary: Summary,
}

/// Makes sure that everything `manifest` asks for is in the cache and verified. Does not touch the project.
pub(crate) fn install(
    settings: &Settings,
    terminal: &Terminal,
    project: &Project,
    manifest: &Manifest,
    use_cached_verdicts: bool,
) -> Outcome<Installed> {
    let start = Instant::now();
    let cache = Cache::open(settings)?;
    let plan = plan::plan(settings, terminal, &cache, project, manifest)?;
    let results = verification::verify_all(settings, terminal, &cache, &plan.instances, use_cached_verdicts)?;
    let mut verdicts = BTreeMap::new();
    let mut summary = Summary::new(start);
    let mut agreements = Agreements::default();
    let accepting = project.locked_for(manifest)?;
    for (instance, result) in plan.instances.iter().zip(results) {
        deny_waived(&accepting, instance, &result.verdict)?;
        let agreement = agreement::judge(instance, &result.verdict)?;
        agreements.add(instance, &agreement);
        summary.add(instance, &result, &agreement);
        verdicts.insert(instance.name.clone(), result.verdict);
    }
    agreements.tell(terminal);
    summary.finish();
    let plan = plan.with_raw_c(&verdicts);
    Ok(Installed { plan, summary })
}

/// Waived obligations of a dependency are the user's to accept, by name.
fn deny_waived(manifest: &Manifest, instance: &Instance, verdict: &Verdict) -> Outcome<()> {
    if verdict.waived.is_empty() || accepts_waivers(manifest, &instance.name) {
        return Ok(());
    }
    let mut failure = Failure::verification(format!(
        "`{} {}` waives {}, which {} does not allow",
        instance.name,
        instance.version,
        crate::failure::count(verdict.waived.len(), "check"),
        crate::project::find_root::MANIFEST,
    ))
    .code(codes::UNSAFE);
    for waived in &verdict.waived {
        failure = failure.note(waived.clone());
    }
    Err(failure
        .hint(format!("if you trust them, add this to Exo.toml:\n[verify]\nallow-unsafe = [\"{}\"]", instance.name)))
}

fn accepts_waivers(manifest: &Manifest, pack: &PackName) -> bool {
    manifest.allow_unsafe.iter().any(|allowed| allowed.value == *pack)
}

/// The packs of a plan as the compiler's world sees them, where their code runs in the user's project.
pub(crate) fn world_packs(instances: &[Instance], manifest: &Manifest) -> Vec<WorldPack> {
    let pack = |instance: &Instance| {
        let denied = (!accepts_waivers(manifest, &instance.name)).then(|| instance.name.to_string());
        WorldPack { waivers_denied: denied, ..instance.world_pack() }
    };
    instances.iter().map(pack).collect()
}
