//! `exo tree`: what the project depends on, or with `-i` who depends on a pack.

use std::collections::BTreeSet;

use exo_index::lockfile::Lockfile;
use exo_index::name::PackName;
use serde_json::json;

use crate::arguments::Tree;
use crate::commands::new::pack_name;
use crate::failure::{Exit, Failure, Outcome, did_you_mean};
use crate::install::plan;
use crate::project::Project;
use crate::settings::Settings;
use crate::terminal::Terminal;

pub(super) fn run(arguments: &Tree, settings: &Settings, terminal: &Terminal) -> Outcome<Exit> {
    let project = Project::open(settings)?;
    let lock = plan::resolve(settings, terminal, &project, &project.manifest)?;
    let view = View { project: &project, lock: &lock };
    if let Some(wanted) = &arguments.invert {
        let name = pack_name(wanted)?;
        if !lock.packs.contains_key(&name) {
            return Err(not_in_project(&name, &lock));
        }
        terminal.answer(|| view.inverted(&name), || view.inverted_json(&name, &mut BTreeSet::new()));
        return Ok(Exit::Done);
    }
    terminal.answer(|| view.forward(), || view.json());
    Ok(Exit::Done)
}

/// The failure for a pack that the project does not use.
pub(super) fn not_in_project(name: &PackName, lock: &Lockfile) -> Box<Failure> {
    let near: Vec<String> = lock.nearest(name.as_str()).into_iter().map(str::to_string).collect();
    let failure = Failure::refused(format!("`{name}` is not among the packs of this project"));
    failure.hint(did_you_mean(&near).unwrap_or_else(|| "`exo tree` shows all of them".into()))
}

struct View<'a> {
    project: &'a Project,
    lock: &'a Lockfile,
}

impl View<'_> {
    fn own_name(&self) -> &PackName {
        &self.project.manifest.pack.name.value
    }

    fn root(&self) -> String {
        format!("{} {}", self.own_name(), self.project.manifest.pack.version.value)
    }

    fn direct(&self, dev: bool) -> Vec<PackName> {
        let manifest = &self.project.manifest;
        let section = if dev { &manifest.dev_dependencies } else { &manifest.dependencies };
        section.iter().map(|dependency| dependency.name.clone()).collect()
    }

    fn needs(&self, name: &PackName) -> Vec<PackName> {
        self.lock.packs.get(name).into_iter().flat_map(|pack| pack.dependencies.iter().cloned()).collect()
    }

    /// Packs that need a pack themselves, and then the project's own that do.
    fn needed_by(&self, name: &PackName) -> Vec<PackName> {
        let mut found: Vec<PackName> = self.lock.dependents(name).map(|pack| pack.name.clone()).collect();
        for root in self.project.roots() {
            let needs = root.dependencies.iter().chain(&root.dev_dependencies);
            let own = &root.pack.name.value;
            if needs.into_iter().any(|dependency| dependency.name == *name) && !found.contains(own) {
                found.push(own.clone());
            }
        }
        found
    }

    fn describe(&self, name: &PackName) -> String {
        match self.lock.packs.get(name) {
            Some(pack) => match &pack.source {
                exo_index::lockfile::LockedSource::Builtin => format!("{name} {}", pack.version),
                source => format!("{name} {} ({source})", pack.version),
            },
            None => format!("{name} {}", self.version(name)),
        }
    }

    fn version(&self, name: &PackName) -> String {
        let own = self.project.roots().into_iter().find(|root| root.pack.name.value == *name);
        let own = own.map(|root| root.pack.version.value.to_string());
        self.lock.packs.get(name).map(|pack| pack.version.to_string()).or(own).unwrap_or_default()
    }

    fn forward(&self) -> String {
        let (mut text, mut seen) = (format!("{}\n", self.root()), BTreeSet::new());
        for (names, label) in [(self.direct(false), ""), (self.direct(true), " (dev)")] {
            self.below(&names, &|name| self.needs(name), "", label, &mut seen, &mut text);
        }
        text
    }

    fn inverted(&self, name: &PackName) -> String {
        let (mut text, mut seen) = (format!("{name} {}\n", self.version(name)), BTreeSet::new());
        self.below(&self.needed_by(name), &|name| self.needed_by(name), "", "", &mut seen, &mut text);
        text
    }

    /// A pack with all that need it; one that was told before has no `needed_by`.
    fn inverted_json(&self, name: &PackName, seen: &mut BTreeSet<PackName>) -> serde_json::Value {
        let mut told = json!({ "name": name.as_str(), "version": self.version(name) });
        if seen.insert(name.clone()) {
            let needed_by: Vec<_> = self.needed_by(name).iter().map(|other| self.inverted_json(other, seen)).collect();
            if let Some(object) = told.as_object_mut() {
                object.insert("needed_by".into(), needed_by.into());
            }
        }
        told
    }

    /// One line for each name, each followed by what is below it; a pack that was shown before is not opened again.
    fn below(
        &self,
        names: &[PackName],
        next: &dyn Fn(&PackName) -> Vec<PackName>,
        indent: &str,
        label: &str,
        seen: &mut BTreeSet<PackName>,
        text: &mut String,
    ) {
        for (at, name) in names.iter().enumerate() {
            let last = at + 1 == names.len();
            let (branch, deeper) = if last { ("└── ", "    ") } else { ("├── ", "│   ") };
            let inner = next(name);
            let again = !inner.is_empty() && !seen.insert(name.clone());
            let mark = if again { " (*)" } else { "" };
            text.push_str(&format!("{indent}{branch}{}{label}{mark}\n", self.describe(name)));
            if !again {
                self.below(&inner, next, &format!("{indent}{deeper}"), "", seen, text);
            }
        }
    }

    fn json(&self) -> serde_json::Value {
        let packs = self.lock.packs.values().map(|pack| {
            json!({
                "name": pack.name.as_str(), "version": pack.version.to_string(), "source": pack.source.to_string(),
                "dependencies": pack.dependencies.iter().map(PackName::as_str).collect::<Vec<_>>(),
            })
        });
        let texts = |names: Vec<PackName>| names.iter().map(ToString::to_string).collect::<Vec<_>>();
        json!({
            "name": self.own_name().as_str(),
            "version": self.project.manifest.pack.version.value.to_string(),
            "dependencies": texts(self.direct(false)),
            "dev_dependencies": texts(self.direct(true)),
            "packs": packs.collect::<Vec<_>>(),
        })
    }
}
