//! What an import means: the pack that a module of some pack gets when it imports a name.
//!
//! A pack sees itself and its own dependencies, never those of its dependencies, so what a pack imports is always
//! written in its manifest.

use std::collections::BTreeMap;
use std::fmt;

use crate::lockfile::Lockfile;
use crate::manifest::Manifest;
use crate::name::{PackName, nearest};

/// For each pack, the packs it may import by the name it imports them by.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PackageMap {
    imports: BTreeMap<PackName, BTreeMap<String, PackName>>,
}

/// An import that means nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportError {
    /// What is wrong, in one phrase.
    pub message: String,
    /// How to put it right, where that is known.
    pub hint: Option<String>,
}

impl fmt::Display for ImportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ImportError {}

impl PackageMap {
    /// A map without packs.
    pub fn new() -> Self {
        Self::default()
    }

    /// The map of a project: the project itself with its dependencies, with those for development only when they are
    /// asked for, and the locked packs with theirs.
    ///
    /// # Errors
    /// As [`PackageMap::add`].
    pub fn of_project(manifest: &Manifest, lock: &Lockfile, with_dev: bool) -> Result<Self, ImportError> {
        let mut map = Self::new();
        let dev = manifest.dev_dependencies.iter().filter(|_| with_dev);
        map.add(&manifest.pack.name.value, manifest.dependencies.iter().chain(dev).map(|dependency| &dependency.name))?;
        for pack in lock.packs.values() {
            map.add(&pack.name, &pack.dependencies)?;
        }
        Ok(map)
    }

    /// Adds a pack with its dependencies, in place of what was known of it.
    ///
    /// # Errors
    /// Two of them, or one of them and the pack itself, would be imported by the same name.
    pub fn add<'n>(
        &mut self,
        pack: &PackName,
        dependencies: impl IntoIterator<Item = &'n PackName>,
    ) -> Result<(), ImportError> {
        let mut imports = BTreeMap::from([(pack.import_name(), pack.clone())]);
        for dependency in dependencies {
            let import = dependency.import_name();
            match imports.get(&import) {
                Some(other) if other != dependency => {
                    let message =
                        format!("in pack `{pack}`, `{dependency}` and `{other}` would both be imported as `{import}`");
                    return Err(ImportError { message, hint: None });
                }
                Some(_) => {}
                None => {
                    imports.insert(import, dependency.clone());
                }
            }
        }
        self.imports.insert(pack.clone(), imports);
        Ok(())
    }

    /// The pack that an import of a module of `importer` means.
    ///
    /// # Errors
    /// The importer is not in the map, or neither it nor a dependency of it has that import name; the hint names a
    /// dependency to add or the nearest import name.
    pub fn resolve(&self, importer: &PackName, import: &str) -> Result<&PackName, ImportError> {
        let Some(imports) = self.imports.get(importer) else {
            return Err(ImportError { message: format!("pack `{importer}` is not part of this project"), hint: None });
        };
        imports.get(import).ok_or_else(|| ImportError {
            message: format!("pack `{importer}` has no dependency that is imported as `{import}`"),
            hint: self.hint(imports, importer, import),
        })
    }

    /// How to put right an import that means nothing.
    fn hint(&self, imports: &BTreeMap<String, PackName>, importer: &PackName, import: &str) -> Option<String> {
        if let Some(known) = self.imports.keys().find(|pack| pack.import_name() == import) {
            return Some(format!("add `{known}` to `[dependencies]` of `{importer}`"));
        }
        if import.contains('-') {
            return Some(format!("packs are imported with `_` for `-`: `{}`", import.replace('-', "_")));
        }
        match nearest(import, imports.keys().map(String::as_str)).first() {
            Some(near) => Some(format!("did you mean `{near}`?")),
            None => Some(format!("run `exo add {}` if there is such a pack", import.replace('_', "-"))),
        }
    }

    /// The import names a pack may use, with what they mean; empty for an unknown pack.
    pub fn imports_of(&self, importer: &PackName) -> impl Iterator<Item = (&str, &PackName)> {
        self.imports.get(importer).into_iter().flatten().map(|(import, pack)| (import.as_str(), pack))
    }

    /// The packs in the map.
    pub fn packs(&self) -> impl Iterator<Item = &PackName> {
        self.imports.keys()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::expect_used)]
mod tests {
    use super::*;
    use crate::lockfile::{LockedPack, LockedSource};
    use crate::version::Version;

    fn name(text: &str) -> PackName {
        PackName::parse(text).unwrap()
    }

    fn project() -> PackageMap {
        let manifest = Manifest::parse(
            "[pack]\nname = \"my-app\"\nversion = \"1.0.0\"\nkind = \"kernel\"\n[dependencies]\nneon-conv2d = { path = \"a\" }\n\
             [dev-dependencies]\ncheck = { path = \"b\" }\n",
        )
        .unwrap();
        let mut lock = Lockfile::new(Version::new(0, 1, 0));
        for (pack, dependencies) in [("neon-conv2d", &["@arm/neon"][..]), ("@arm/neon", &[]), ("check", &[])] {
            lock.insert(LockedPack {
                name: name(pack),
                version: Version::new(1, 0, 0),
                source: LockedSource::Path("x".into()),
                archive: None,
                tree: None,
                raw_c: None,
                published: None,
                log: None,
                root: None,
                dependencies: dependencies.iter().map(|dependency| name(dependency)).collect(),
            });
        }
        PackageMap::of_project(&manifest, &lock, false).unwrap()
    }

    #[test]
    fn a_pack_sees_itself_and_its_dependencies() {
        let map = project();
        assert_eq!(map.resolve(&name("my-app"), "neon_conv2d").unwrap(), &name("neon-conv2d"));
        assert_eq!(map.resolve(&name("my-app"), "my_app").unwrap(), &name("my-app"));
        assert_eq!(map.resolve(&name("neon-conv2d"), "neon").unwrap(), &name("@arm/neon"));
        let imports: Vec<&str> = map.imports_of(&name("my-app")).map(|(import, _)| import).collect();
        assert_eq!(imports, ["my_app", "neon_conv2d"]);
    }

    #[test]
    fn a_pack_does_not_see_further() {
        let map = project();
        let hint = |importer: &str, import: &str| map.resolve(&name(importer), import).unwrap_err().hint.unwrap();
        assert_eq!(hint("my-app", "neon"), "add `@arm/neon` to `[dependencies]` of `my-app`");
        assert_eq!(hint("my-app", "check"), "add `check` to `[dependencies]` of `my-app`");
        assert_eq!(hint("my-app", "neon-conv2d"), "packs are imported with `_` for `-`: `neon_conv2d`");
        assert_eq!(hint("my-app", "neon_conv2"), "did you mean `neon_conv2d`?");
        assert_eq!(hint("my-app", "big_zoo"), "run `exo add big-zoo` if there is such a pack");
        assert!(map.resolve(&name("stranger"), "neon").is_err());
    }

    #[test]
    fn refuses_two_packs_under_one_name() {
        let mut map = PackageMap::new();
        assert!(map.add(&name("p"), &[name("@a/x"), name("@b/x")]).is_err());
        assert!(map.add(&name("p"), &[name("@a/p")]).is_err());
        assert!(map.add(&name("p"), &[name("x"), name("x")]).is_ok());
    }
}
