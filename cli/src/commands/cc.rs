//! `exo cc FILE…`: compiles single files to C, header and depfile, as `exocc` does.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use exo_compiler::source::ModuleId;
use exo_compiler::world::World;
use serde_json::json;

use crate::arguments::Cc;
use crate::commands::ready::{Files, world_of_files};
use crate::evaluation::{refused, with_compiler};
use crate::failure::{Exit, Failure, Outcome};
use crate::filesystem;
use crate::settings::Settings;
use crate::terminal::Terminal;

/// Folder and stem of the outputs; with several files neither has a default.
fn output(arguments: &Cc) -> Outcome<(PathBuf, String)> {
    let stem_of = |file: &Path| file.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let single = match arguments.files.as_slice() {
        [file] => stem_of(file),
        _ => None,
    };
    let missing = |option: &str| {
        Failure::usage(format!("several files need {option}"))
            .hint("with one file the folder and the names of the outputs are taken from it")
    };
    let stem = arguments.stem.clone().or_else(|| single.clone()).ok_or_else(|| missing("--stem S"))?;
    if stem.is_empty() || stem.contains(['/', '\\', '\n', '"']) {
        return Err(
            Failure::usage(format!("`{stem}` cannot be the name of a file")).hint("--stem takes a name, -o a folder")
        );
    }
    let folder = match (&arguments.output, single) {
        (Some(folder), _) => folder.clone(),
        (None, Some(single)) => PathBuf::from(single),
        (None, None) => return Err(missing("-o DIR")),
    };
    Ok((folder, stem))
}

pub(super) fn run(arguments: &Cc, settings: &Settings, terminal: &Terminal) -> Outcome<Exit> {
    let (folder, stem) = output(arguments)?;
    let files: Vec<&Path> = arguments.files.iter().map(PathBuf::as_path).collect();
    let world = world_of_files(settings, terminal, &files)?;
    let header = format!("{stem}.h");
    let compiled = with_compiler(world.world.clone(), &settings.limits, None, |compilation| {
        compilation.compile(&world.modules, &header, arguments.checked)
    })?;
    let compiled = compiled.map_err(|diagnostics| refused(diagnostics, "no C was written"))?;
    for waived in &compiled.waived {
        terminal.warning(&format!("a check is waived {waived}"));
    }
    let sources = sources(&world, &compiled.modules);
    let shown = |name: &str| folder.join(name).display().to_string();
    let c_name = format!("{stem}.c");
    let names = [c_name.clone(), header.clone(), format!("{stem}.d")];
    let depfile = depfile(&[shown(&c_name), shown(&header)], &sources);
    let target = settings.directory.join(&folder);
    filesystem::create_directory(&target)?;
    filesystem::sweep(&target);
    for (name, text) in names.iter().zip([&compiled.c, &compiled.header, &depfile]) {
        filesystem::write_atomic(&target.join(name), text.as_bytes())?;
    }
    let written: Vec<String> = names.iter().map(|name| shown(name)).collect();
    terminal.answer(
        || written.iter().map(|path| format!("{path}\n")).collect(),
        || json!({ "files": written, "sources": sources }),
    );
    Ok(Exit::Done)
}

/// The user's own files among the modules, as seen from where the command runs. Packs are not for make to watch.
fn sources(files: &Files, modules: &[ModuleId]) -> Vec<String> {
    let own: BTreeSet<&str> = files.modules.iter().map(|module| &*module.pack).collect();
    let own = modules.iter().filter(|module| own.contains(&*module.pack));
    own.filter_map(|module| files.world.source(module).ok())
        .map(|source| match &files.root {
            Some(root) => root.join(&source.display_name).display().to_string(),
            None => source.display_name.clone(),
        })
        .collect()
}

/// A rule for make: outputs depend on sources. Blanks, `#` and `$` in names are escaped as make wants it.
pub(super) fn depfile(outputs: &[String], sources: &[String]) -> String {
    let escaped = |names: &[String]| {
        let names: Vec<String> =
            names.iter().map(|name| name.replace('$', "$$").replace('#', "\\#").replace(' ', "\\ ")).collect();
        names.join(" ")
    };
    format!("{}: {}\n", escaped(outputs), escaped(sources))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn arguments(files: &[&str]) -> Cc {
        Cc { files: files.iter().map(PathBuf::from).collect(), output: None, stem: None, checked: false }
    }

    #[test]
    fn one_file_names_folder_and_outputs() {
        assert_eq!(output(&arguments(&["x/gemm.exo"])).unwrap(), (PathBuf::from("gemm"), "gemm".to_string()));
    }

    #[test]
    fn several_files_need_both_options() {
        let mut two = arguments(&["a.exo", "b.exo"]);
        assert!(output(&two).unwrap_err().message.contains("--stem"));
        two.stem = Some("both".into());
        assert!(output(&two).unwrap_err().message.contains("-o DIR"));
        two.output = Some("out".into());
        assert_eq!(output(&two).unwrap(), (PathBuf::from("out"), "both".to_string()));
        two.stem = Some("../up".into());
        assert!(output(&two).is_err());
    }

    #[test]
    fn depfile_escapes_names() {
        let rule = depfile(&["a b.c".into()], &["$x.exo".into(), "y#.exo".into()]);
        assert_eq!(rule, "a\\ b.c: $$x.exo y\\#.exo\n");
    }
}
