//! From `[[kernel]]` entries to requests for the compiler: which kernels, for which targets, with names resolved.

use std::ops::Range;

use exo_compiler::diagnostic::{Diagnostic, codes};
use exo_compiler::pipeline::{KernelArgument, KernelOutput, KernelRequest};
use exo_compiler::source::{ModuleId, Span};
use exo_compiler::world::{ImportError, World};
use exo_index::manifest::{Kernel, Reference, TargetReference, Value};

use crate::builtin_packs::Registry;
use crate::commands::ready::Ready;
use crate::evaluation::with_compiler;
use crate::failure::{Failure, Outcome, count, did_you_mean, nearest};
use crate::install::plan::Instance;
use crate::settings::Settings;
use crate::terminal::Terminal;

/// One kernel for one target.
pub(super) struct Job {
    pub(super) request: KernelRequest,
    /// The target as the manifest writes it.
    pub(super) target: String,
    /// Name of the folder under `build/`.
    pub(super) folder: String,
}

/// What kind of C is wanted.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Form {
    /// Instruction bodies as C functions.
    pub(super) emulate: bool,
    /// Run-time checks for callers in C.
    pub(super) checked: bool,
}

/// The selected kernels for the selected targets, in the order of the manifest; empty selections mean all.
pub(super) fn jobs(
    settings: &Settings,
    ready: &Ready,
    kernels: &[String],
    targets: &[String],
    form: Form,
) -> Outcome<Vec<Job>> {
    let manifest = &ready.project.manifest;
    let known: Vec<&str> = manifest.kernels.iter().map(|kernel| kernel.name.value.as_str()).collect();
    if known.is_empty() {
        return Err(Failure::refused("this pack has no kernels to build").code(codes::KERNEL).hint(
            "add a [[kernel]] section with name, algorithm, schedule and targets to Exo.toml; `exo new --kind kernel` shows one",
        ));
    }
    check_selection("kernel", kernels, &known)?;
    let known_targets: Vec<String> =
        manifest.kernels.iter().flat_map(|kernel| &kernel.targets).map(|target| target.value.to_string()).collect();
    check_selection("target", targets, &known_targets.iter().map(String::as_str).collect::<Vec<_>>())?;
    let mut jobs = Vec::new();
    let mut diagnostics = Vec::new();
    let resolver = Resolver { settings, ready };
    for kernel in manifest.kernels.iter().filter(|kernel| selected(kernels, &kernel.name.value)) {
        if kernel.schedule.is_none() && !kernel.args.is_empty() {
            diagnostics.push(
                resolver
                    .error(
                        &kernel.span,
                        format!("kernel `{}` has `args` but no `schedule` to take them", kernel.name.value),
                    )
                    .hint("add `schedule = \"…\"`, or leave `args` out to compile the algorithm as it stands"),
            );
        }
        if kernel.targets.is_empty() {
            diagnostics.push(
                resolver
                    .error(&kernel.span, format!("kernel `{}` has no targets", kernel.name.value))
                    .hint("add `targets = [\"…\"]` with packs that export `target`"),
            );
        }
        for target in kernel.targets.iter().filter(|target| selected(targets, &target.value.to_string())) {
            match resolver.request(kernel, &target.value, &target.span, form) {
                Ok(request) => jobs.push(Job {
                    request,
                    target: target.value.to_string(),
                    folder: folder(&target.value, form.emulate),
                }),
                Err(found) => diagnostics.extend(found),
            }
        }
    }
    if !diagnostics.is_empty() {
        let message = format!("the kernels cannot be built: {}", count(diagnostics.len(), "error"));
        return Err(Failure::refused(message).diagnostics(diagnostics));
    }
    if jobs.is_empty() {
        return Err(Failure::refused("no kernel has the targets that were selected")
            .hint("leave out --kernel or --target to build all combinations"));
    }
    Ok(jobs)
}

/// What is emulated stands beside what runs on the machine, and replaces none of it.
fn folder(target: &TargetReference, emulate: bool) -> String {
    let folder = target.directory_name();
    if emulate { format!("{folder}-emulated") } else { folder }
}

fn selected(selection: &[String], name: &str) -> bool {
    selection.is_empty() || selection.iter().any(|wanted| wanted == name)
}

fn check_selection(what: &str, selection: &[String], known: &[&str]) -> Outcome<()> {
    match selection.iter().find(|wanted| !known.contains(&wanted.as_str())) {
        None => Ok(()),
        Some(unknown) => {
            let failure = Failure::refused(format!("Exo.toml has no {what} `{unknown}`")).code(codes::KERNEL);
            let near = nearest(unknown, known.iter().copied());
            Err(failure.hint(did_you_mean(&near).unwrap_or_else(|| format!("it has {}", known.join(", ")))))
        }
    }
}

struct Resolver<'a> {
    settings: &'a Settings,
    ready: &'a Ready,
}

impl Resolver<'_> {
    fn error(&self, place: &Range<usize>, message: String) -> Diagnostic {
        let span = Span::new(&self.ready.project.manifest_file, place.start as u32, place.end as u32);
        Diagnostic::error(codes::KERNEL, message).at(&span, "")
    }

    fn request(
        &self,
        kernel: &Kernel,
        target: &TargetReference,
        target_span: &Range<usize>,
        form: Form,
    ) -> Result<KernelRequest, Vec<Diagnostic>> {
        let name = &kernel.name.value;
        let mut diagnostics = Vec::new();
        let mut keep =
            |found: Result<ModuleId, Diagnostic>| found.map_err(|diagnostic| diagnostics.push(diagnostic)).ok();
        let algorithm =
            keep(self.module(kernel.algorithm.value.module.as_deref(), "algorithm", name, &kernel.algorithm.span));
        let target_module = keep(self.module(Some(&target.module), "target", name, target_span));
        let schedule = kernel.schedule.as_ref().and_then(|schedule| schedule.for_target(&target.to_string()));
        let schedule: Option<(ModuleId, &Reference)> = schedule.and_then(|found| {
            keep(self.module(found.value.module.as_deref(), "schedule", name, &found.span))
                .map(|module| (module, &found.value))
        });
        let args: Vec<(String, KernelArgument)> = kernel
            .args
            .iter()
            .filter_map(|(key, value)| match argument(value) {
                Some(argument) => Some((key.clone(), argument)),
                None => {
                    let message = format!("argument `{key}` of kernel `{name}` is a table or a date");
                    diagnostics.push(
                        self.error(&kernel.span, message).hint("numbers, booleans, strings and lists can be passed"),
                    );
                    None
                }
            })
            .collect();
        match (algorithm, target_module) {
            (Some(algorithm), Some(target_module)) if diagnostics.is_empty() => Ok(KernelRequest {
                name: name.clone(),
                algorithm: (algorithm, kernel.algorithm.value.name.clone()),
                schedule: schedule.map(|(module, reference)| (module, reference.name.clone())),
                target: (target_module, target.value_name().to_string()),
                args,
                emulate: form.emulate,
                checked: form.checked,
            }),
            _ => Err(diagnostics),
        }
    }

    /// The module that a reference means: this pack's face, a dependency's module, or a module of this pack.
    #[allow(clippy::result_large_err, reason = "made once for each name of the manifest")]
    fn module(
        &self,
        module: Option<&str>,
        role: &str,
        kernel: &str,
        place: &Range<usize>,
    ) -> Result<ModuleId, Diagnostic> {
        let face = ModuleId::new(&self.ready.id, "lib");
        let Some(text) = module else { return Ok(face) };
        let world = &self.ready.world;
        let mut found = world.resolve(&face, text);
        if matches!(found, Err(ImportError::UnknownPack { .. })) {
            let brought_along = self.installed(text).filter(|_| role == "target");
            found = match (world.resolve(&face, &format!(".{text}")), brought_along) {
                (Ok(own), _) => Ok(own),
                (Err(_), Some(pack)) => world.resolve(&ModuleId::new(&pack.id(), "lib"), text),
                (Err(_), None) => found,
            };
        }
        found.map_err(|failed| match failed {
            ImportError::UnknownPack { name, .. } => self.unknown_pack(&name, role, kernel, place),
            ImportError::UnknownModule { pack, path, nearest } => {
                let message = format!(
                    "kernel `{kernel}` names the {role} module `{text}`, but pack `{pack}` has no module `{path}`"
                );
                let diagnostic = self.error(place, message);
                match did_you_mean(&nearest) {
                    Some(suggestion) => diagnostic.hint(suggestion),
                    None => diagnostic,
                }
            }
            ImportError::Unreadable { module, reason } => {
                self.error(place, format!("module `{module}` of kernel `{kernel}` cannot be read: {reason}"))
            }
        })
    }

    /// The installed pack that a dotted module starts with, if it is one. A kernel may name as its target what its
    /// dependencies bring along (`neon-conv2d` brings `neon`): there is one version of each pack.
    fn installed(&self, module: &str) -> Option<&Instance> {
        let import = module.split('.').next()?;
        let mut found =
            self.ready.installed.plan.instances.iter().filter(|instance| instance.name.import_name() == import);
        // Of two vendors' packs only a dependency of one's own says which is meant.
        found.next().filter(|_| found.next().is_none())
    }

    fn unknown_pack(&self, name: &str, role: &str, kernel: &str, place: &Range<usize>) -> Diagnostic {
        let message = format!("kernel `{kernel}` names the {role} `{name}`, which is no dependency of this pack");
        let mut diagnostic = self.error(place, message);
        let instances = self.ready.installed.plan.instances.iter();
        let installed: Vec<String> = instances.map(|instance| instance.name.import_name()).collect();
        if let Some(suggestion) = did_you_mean(&nearest(name, installed.iter().map(String::as_str))) {
            diagnostic = diagnostic.hint(suggestion);
        }
        let registry = Registry::open(self.settings).unwrap_or_default();
        if let Some(pack) = registry.names().find(|pack| pack.import_name() == name) {
            return diagnostic.hint(format!("`exo add {pack}` makes it one"));
        }
        let imports: Vec<(String, String)> =
            registry.names().map(|pack| (pack.import_name(), pack.to_string())).collect();
        let near = nearest(name, imports.iter().map(|(import, _)| import.as_str()));
        let packs: Vec<String> = near
            .iter()
            .filter(|import| !installed.contains(import))
            .filter_map(|import| imports.iter().find(|(known, _)| known == import))
            .map(|(_, pack)| format!("`exo add {pack}`"))
            .collect();
        if packs.is_empty() {
            diagnostic
        } else {
            diagnostic.hint(format!("known packs of a similar name: {}", packs.join(", ")))
        }
    }
}

/// A value of the manifest as the compiler takes it; `None` for tables and dates.
fn argument(value: &Value) -> Option<KernelArgument> {
    match value {
        Value::Boolean(value) => Some(KernelArgument::Bool(*value)),
        Value::Integer(value) => Some(KernelArgument::Int(*value)),
        Value::Float(value) => Some(KernelArgument::Float(*value)),
        Value::String(value) => Some(KernelArgument::Text(value.clone())),
        Value::Array(values) => values.iter().map(argument).collect::<Option<Vec<_>>>().map(KernelArgument::List),
        Value::Datetime(_) | Value::Table(_) => None,
    }
}

/// Builds the jobs, several at a time; the order of the result is theirs.
pub(super) fn build(
    settings: &Settings,
    terminal: &Terminal,
    ready: &Ready,
    jobs: &[Job],
) -> Outcome<Vec<Result<KernelOutput, Vec<Diagnostic>>>> {
    let progress = terminal.progress("Building", jobs.len());
    let next = std::sync::atomic::AtomicUsize::new(0);
    let results = std::sync::Mutex::new(Vec::new());
    // A compilation of its own for each kernel: what an output says of its modules must not depend on what else was built.
    let worker = || {
        loop {
            let index = next.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            let Some(job) = jobs.get(index) else { return Ok(()) };
            progress.message(&format!("{} for {}", job.request.name, job.target));
            let result = with_compiler(ready.world.clone(), &settings.limits, None, |compilation| {
                compilation.kernel(&job.request)
            })?;
            progress.step(&job.request.name);
            if let Ok(mut results) = results.lock() {
                results.push((index, result));
            }
        }
    };
    let ended: Vec<Outcome<()>> = std::thread::scope(|scope| {
        let others: Vec<_> = (1..settings.jobs.min(jobs.len())).map(|_| scope.spawn(worker)).collect();
        let mut ended = vec![worker()];
        for other in others {
            ended.push(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        ended
    });
    ended.into_iter().collect::<Outcome<Vec<()>>>()?;
    let mut results = results.into_inner().map_err(|_| Failure::bug("a build thread died"))?;
    results.sort_by_key(|(index, _)| *index);
    Ok(results.into_iter().map(|(_, result)| result).collect())
}

/// The outputs, or one failure that names every kernel that was refused.
pub(super) fn all_built(
    jobs: &[Job],
    results: Vec<Result<KernelOutput, Vec<Diagnostic>>>,
) -> Outcome<Vec<(&Job, KernelOutput)>> {
    let mut built = Vec::new();
    let mut refused = Vec::new();
    let mut diagnostics = Vec::new();
    for (job, result) in jobs.iter().zip(results) {
        match result {
            Ok(output) => built.push((job, output)),
            Err(found) => {
                let which = format!("`{}` for `{}`", job.request.name, job.target);
                diagnostics.extend(found.into_iter().map(|one| one.note(format!("in kernel {which}"))));
                refused.push(which);
            }
        }
    }
    if refused.is_empty() {
        return Ok(built);
    }
    let message = format!("{} refused: {}", count(refused.len(), "kernel"), refused.join(", "));
    Err(Failure::refused(message).diagnostics(diagnostics))
}
