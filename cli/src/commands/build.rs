//! `exo build`: composes each kernel with each of its targets and writes C, header, depfile and a manifest, or objects and libraries.

use std::collections::BTreeSet;

use exo_compiler::pipeline::KernelOutput;
use exo_compiler::world::{CMachine, World};
use exo_index::lockfile::LockedSource;
use serde_json::json;

use crate::arguments::{Build, Emit};
use crate::c_toolchain::CToolchain;
use crate::c_toolchain::objects::{Product, Unit};
use crate::commands::cc::depfile;
use crate::commands::composition::{self, Form, Job};
use crate::commands::output_manifest::{self, Written};
use crate::commands::ready::{Ready, ready};
use crate::failure::{Exit, Outcome};
use crate::filesystem;
use crate::install::plan::Instance;
use crate::settings::Settings;
use crate::terminal::Terminal;

pub(super) fn run(arguments: &Build, settings: &Settings, terminal: &Terminal) -> Outcome<Exit> {
    let ready = ready(settings, terminal)?;
    let form = Form { emulate: arguments.emulate, checked: arguments.checked };
    let jobs = composition::jobs(settings, &ready, &arguments.kernels, &arguments.targets, form)?;
    let results = composition::build(settings, terminal, &ready, &jobs)?;
    let built =
        composition::all_built(&jobs, results).map_err(|failure| failure.note("nothing was written to build/"))?;
    for (job, output) in &built {
        if output.up_to_precision {
            let name = &job.request.name;
            terminal.warning(&format!(
                "`{name}` for `{}` equals its algorithm only up to a change of precision",
                job.target
            ));
        }
        if !output.up_to_config.is_empty() {
            let (name, fields) = (&job.request.name, output.up_to_config.join("`, `"));
            terminal.warning(&format!(
                "`{name}` for `{}` equals its algorithm but for what `{fields}` holds at the end",
                job.target
            ));
        }
        for waived in &output.waived {
            terminal.warning(&format!("`{}` for `{}` has a waived check {waived}", job.request.name, job.target));
        }
    }
    let toolchain = CToolchain::new(&settings.environment);
    let written = write(&ready, &built, &arguments.emit, &toolchain)?;
    terminal.answer(|| written.iter().map(|path| format!("{path}\n")).collect(), || json!({ "files": written }));
    Ok(Exit::Done)
}

/// Files that the output depends on, as seen from the project. Installed packs do not change, so the lockfile stands for them.
fn sources(ready: &Ready, output: &KernelOutput) -> Vec<String> {
    let path_packs: BTreeSet<String> = ready
        .installed
        .plan
        .instances
        .iter()
        .filter(|instance| matches!(instance.source(), LockedSource::Path(_)))
        .map(Instance::id)
        .collect();
    let mut sources = vec![ready.project.layout.manifest_name.clone(), ready.project.layout.lock_from_root()];
    for module in &output.modules {
        if (*module.pack == *ready.id || path_packs.contains(&*module.pack))
            && let Ok(source) = ready.world.source(module)
        {
            sources.push(source.display_name.clone());
        }
    }
    sources
}

/// What pkg-config says of a kernel: where its header and source are, and the flags that its C needs.
fn pkg_config(ready: &Ready, job: &Job, output: &KernelOutput) -> String {
    let pack = &ready.project.manifest.pack;
    let (name, version) = (&job.request.name, &pack.version.value);
    // One flag a word: blanks and what pkg-config reads itself are escaped.
    let flags: String = output
        .cc_flags
        .iter()
        .map(|flag| {
            format!(" {}", flag.replace('\\', "\\\\").replace('$', "$$").replace('#', "\\#").replace(' ', "\\ "))
        })
        .collect();
    format!(
        "source=${{pcfiledir}}/{name}.c\n\nName: {name}\nDescription: kernel of {} for {}\nVersion: {version}\n\
         Cflags: -I${{pcfiledir}}{flags}\nLibs: -lm\n",
        pack.name.value, job.target,
    )
}

/// The machine that objects are made for, and the flags. What is emulated needs nothing of the target's machine.
fn machine(job: &Job, output: &KernelOutput) -> (CMachine, Vec<String>) {
    if job.request.emulate {
        let flags = output.cc_flags.iter().filter(|flag| !flag.starts_with("-m")).cloned().collect();
        return (CMachine::default(), flags);
    }
    let machine = CMachine {
        triple: output.cc_triple.clone(),
        features: output.cc_features.clone(),
        compiler: output.cc_compiler.clone(),
        ..CMachine::default()
    };
    (machine, output.cc_flags.clone())
}

/// The files of one kernel that were asked for, in one order however they were asked for.
fn files(
    ready: &Ready,
    (job, output): (&Job, &KernelOutput),
    emit: &[Emit],
    toolchain: &CToolchain,
) -> Outcome<Vec<Written>> {
    let name = &job.request.name;
    let folder = format!("build/{}", job.folder);
    let wants = |what: Emit| emit.contains(&what);
    let mut files = Vec::new();
    let mut add = |name: String, content: Vec<u8>| files.push(Written { path: format!("{folder}/{name}"), content });
    if wants(Emit::C) {
        add(format!("{name}.c"), output.c.clone().into_bytes());
    }
    if wants(Emit::Header) {
        add(format!("{name}.h"), output.header.clone().into_bytes());
    }
    let products = [(Emit::Object, Product::Object), (Emit::Static, Product::Static), (Emit::Shared, Product::Shared)];
    let products: Vec<Product> = products.into_iter().filter(|(what, _)| wants(*what)).map(|(_, made)| made).collect();
    if !products.is_empty() {
        let (machine, flags) = machine(job, output);
        let unit = Unit { name, c: &output.c, header: &output.header, flags: &flags, machine: &machine };
        let made = toolchain.make(&unit, &products).map_err(|failure| {
            failure.note(format!("in kernel `{name}` for `{}`; nothing was written to build/", job.target))
        })?;
        for (product, bytes) in products.iter().zip(made) {
            add(product.file_name(name), bytes);
        }
    }
    if wants(Emit::Depfile) {
        let mut outputs: Vec<String> = files.iter().map(|file| file.path.clone()).collect();
        if outputs.is_empty() {
            outputs = vec![format!("{folder}/{name}.c"), format!("{folder}/{name}.h")];
        }
        let rule = depfile(&outputs, &sources(ready, output));
        files.push(Written { path: format!("{folder}/{name}.d"), content: rule.into_bytes() });
    }
    if wants(Emit::C) && wants(Emit::Header) {
        let content = pkg_config(ready, job, output).into_bytes();
        files.push(Written { path: format!("{folder}/{name}.pc"), content });
    }
    Ok(files)
}

fn write(ready: &Ready, built: &[(&Job, KernelOutput)], emit: &[Emit], toolchain: &CToolchain) -> Outcome<Vec<String>> {
    let mut written = Vec::new();
    for (job, output) in built {
        written.push((*job, output, files(ready, (job, output), emit, toolchain)?));
    }
    let manifest = output_manifest::text(ready, &written)?;
    let root = ready.project.root();
    let mut paths = Vec::new();
    for (job, _, files) in &written {
        let folder = ready.project.layout.build().join(&job.folder);
        filesystem::create_directory(&folder)?;
        filesystem::sweep(&folder);
        for file in files {
            filesystem::write_atomic(&root.join(&file.path), &file.content)?;
            paths.push(file.path.clone());
        }
    }
    filesystem::sweep(&ready.project.layout.build());
    // Last, so that a manifest never tells of files that are not there yet.
    filesystem::write_atomic(&ready.project.layout.build().join("manifest.json"), manifest.as_bytes())?;
    paths.push("build/manifest.json".to_string());
    Ok(paths)
}
