//! `build/manifest.json`: what went into each output. No absolute paths and no times, so that equal inputs give equal bytes.

use exo_compiler::pipeline::{self, KernelOutput};
use exo_index::lockfile::LockedSource;
use exo_index::manifest::MANIFEST_FILE;
use serde_json::{Value, json};

use crate::commands::composition::Job;
use crate::commands::ready::Ready;
use crate::disk_world::{content_of_folder, digest_of};
use crate::failure::Outcome;
use crate::install::verdict::raw_c_digest;

/// Newest format of the file.
const FORMAT: u32 = 1;

/// One file that was written: path relative to the project and content.
pub(super) struct Written {
    pub(super) path: String,
    pub(super) content: Vec<u8>,
}

fn digest(content: &[u8]) -> String {
    format!("blake3:{}", blake3::hash(content).to_hex())
}

fn output(job: &Job, output: &KernelOutput, files: &[Written]) -> Value {
    let written: serde_json::Map<String, Value> =
        files.iter().map(|file| (file.path.clone(), Value::String(digest(&file.content)))).collect();
    let trace = output.trace.iter().map(|step| {
        json!({ "operator": step.operator, "arguments": step.arguments, "place": step.place, "proc": digest(step.proc.as_bytes()) })
    });
    json!({
        "kernel": job.request.name,
        "target": job.target,
        "emulated": job.request.emulate,
        "checked": job.request.checked,
        "files": written,
        "algorithm": digest(output.algorithm.as_bytes()),
        "trace": trace.collect::<Vec<_>>(),
        "waived": output.waived.iter().map(|waiver| json!({ "pack": &*waiver.pack, "step": waiver.step })).collect::<Vec<_>>(),
        "up_to_precision": output.up_to_precision,
        "up_to_config": output.up_to_config,
        "raw_c": raw_c_digest(&output.raw_c).map(|digest| format!("blake3:{digest}")),
        "modules": output.modules.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "cc": { "flags": output.cc_flags, "triple": output.cc_triple, "features": output.cc_features },
    })
}

/// The text of the manifest for everything that one run built.
pub(super) fn text(ready: &Ready, built: &[(&Job, &KernelOutput, Vec<Written>)]) -> Outcome<String> {
    let packs = ready.installed.plan.instances.iter().map(|instance| {
        let archive = match instance.source() {
            LockedSource::Builtin | LockedSource::Registry(_) => {
                instance.locked.archive.map(|archive| format!("sha256:{archive}"))
            }
            LockedSource::Path(_) | LockedSource::Git { .. } => None,
        };
        json!({
            "name": instance.name.as_str(),
            "version": instance.version.to_string(),
            "source": instance.source().to_string(),
            "archive": archive,
            "tree": format!("blake3:{}", instance.tree),
        })
    });
    let own = &ready.project.manifest.pack;
    // Tests and texts for people do not go into outputs, so that changing them changes nothing here.
    let mut own_files = content_of_folder(ready.project.root())?;
    own_files.retain(|path, _| path == MANIFEST_FILE || path.starts_with("src/"));
    let own_tree = digest_of(&own_files);
    let value = json!({
        "format": FORMAT,
        "exo": env!("CARGO_PKG_VERSION"),
        "checker": pipeline::checker_version(),
        "solver": pipeline::solver_version(),
        "pack": {
            "name": own.name.value.as_str(), "version": own.version.value.to_string(),
            "sources": format!("blake3:{own_tree}"),
        },
        "packs": packs.collect::<Vec<_>>(),
        "outputs": built.iter().map(|(job, result, files)| output(job, result, files)).collect::<Vec<_>>(),
    });
    Ok(format!("{value:#}\n"))
}
