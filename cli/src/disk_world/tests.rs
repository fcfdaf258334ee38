//! Import rules of the world: who may import what, and what a wrong name is answered with.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use super::*;

fn pack(import: &str, dependencies: &[&str], dev: &[&str], files: &[(&str, &str)]) -> WorldPack {
    WorldPack {
        id: import.into(),
        import: import.into(),
        dependencies: dependencies.iter().map(|name| (name.to_string(), name.to_string())).collect(),
        dev_dependencies: dev.iter().map(|name| (name.to_string(), name.to_string())).collect(),
        location: Location::Memory(
            files.iter().map(|(path, text)| (path.to_string(), text.as_bytes().to_vec())).collect(),
        ),
        waivers_denied: None,
        display_prefix: format!("{import}/"),
    }
}

fn world() -> DiskWorld {
    let loose = ["std", "neon", "checks"].map(|name| (name.to_string(), name.to_string()));
    let packs = vec![
        pack(
            "std",
            &[],
            &[],
            &[("src/lib.exo", "a"), ("src/tiling.exo", "b"), ("src/in/ner.exo", "c"), ("tests/t.exo", "t")],
        ),
        pack(
            "neon",
            &["std"],
            &["checks"],
            &[("src/lib.exo", "n"), ("tests/basic.exo", "x"), ("tests/common.exo", "y")],
        ),
        pack("checks", &[], &[], &[("src/lib.exo", "k")]),
    ];
    DiskWorld::new(packs, loose.into_iter().collect()).unwrap()
}

#[test]
fn dependencies_and_own_modules_resolve() {
    let world = world();
    let lib = ModuleId::new("neon", "lib");
    assert_eq!(world.resolve(&lib, "std").unwrap(), ModuleId::new("std", "lib"));
    assert_eq!(world.resolve(&lib, "std.tiling").unwrap(), ModuleId::new("std", "tiling"));
    assert_eq!(world.resolve(&lib, "std.in.ner").unwrap(), ModuleId::new("std", "in.ner"));
    let test = ModuleId::new("neon", "tests.basic");
    assert_eq!(world.resolve(&test, "neon").unwrap(), lib);
    assert_eq!(world.resolve(&test, ".tests.common").unwrap(), ModuleId::new("neon", "tests.common"));
    let source = world.source(&ModuleId::new("std", "in.ner")).unwrap();
    assert_eq!((source.display_name.as_str(), source.text.as_str()), ("std/src/in/ner.exo", "c"));
}

#[test]
fn dev_dependencies_are_for_tests_only() {
    let world = world();
    assert!(world.resolve(&ModuleId::new("neon", "tests.basic"), "checks").is_ok());
    let refused = world.resolve(&ModuleId::new("neon", "lib"), "checks").unwrap_err();
    assert!(matches!(refused, ImportError::UnknownPack { .. }), "{refused:?}");
}

#[test]
fn tests_of_another_pack_are_out_of_reach() {
    let refused = world().resolve(&ModuleId::new("neon", "lib"), "std.tests.t").unwrap_err();
    assert!(matches!(refused, ImportError::UnknownModule { .. }), "{refused:?}");
}

#[test]
fn wrong_names_are_answered_with_near_ones() {
    let world = world();
    let lib = ModuleId::new("neon", "lib");
    match world.resolve(&lib, "sdt").unwrap_err() {
        ImportError::UnknownPack { nearest, .. } => assert_eq!(nearest, ["std"]),
        other => panic!("{other:?}"),
    }
    match world.resolve(&lib, "std.tilling").unwrap_err() {
        ImportError::UnknownModule { nearest, .. } => assert_eq!(nearest, ["tiling"]),
        other => panic!("{other:?}"),
    }
}

#[test]
fn loose_files_see_every_pack_and_their_siblings() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("sub")).unwrap();
    for name in ["a.exo", "b.exo", "sub/a.exo"] {
        std::fs::write(folder.path().join(name), name).unwrap();
    }
    let world = world();
    let a = world.add_file(&folder.path().join("a.exo"), "x/a.exo").unwrap();
    let again = world.add_file(&folder.path().join("sub/a.exo"), "x/sub/a.exo").unwrap();
    assert_ne!(a, again);
    assert_eq!(world.resolve(&a, "neon").unwrap(), ModuleId::new("neon", "lib"));
    let b = world.resolve(&a, ".b").unwrap();
    assert_eq!(world.source(&b).unwrap().display_name, "x/b.exo");
    assert_eq!(world.resolve(&a, ".sub.a").unwrap(), again);
    match world.resolve(&again, ".b").unwrap_err() {
        ImportError::UnknownModule { path, .. } => assert_eq!(path, "b"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn text_that_is_not_utf8_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bad.exo");
    std::fs::write(&path, b"ok \xff").unwrap();
    let world = world();
    let module = world.add_file(&path, "bad.exo").unwrap();
    match world.source(&module).unwrap_err() {
        ImportError::Unreadable { reason, .. } => assert!(reason.contains("not UTF-8 at byte 3"), "{reason}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn modules_and_paths_correspond() {
    assert_eq!(module_of_path("src/a/b.exo").unwrap(), "a.b");
    assert_eq!(module_of_path("tests/t.exo").unwrap(), "tests.t");
    assert_eq!(module_of_path("src/a.b.exo"), None);
    assert_eq!(module_of_path("README.md"), None);
    assert_eq!(path_of_module("tests.a.b"), "tests/a/b.exo");
}

#[test]
fn one_import_name_can_mean_packs_of_two_vendors() {
    let mut arm = pack("@arm/simd", &[], &[], &[("src/lib.exo", "arm")]);
    arm.import = "simd".into();
    let mut intel = pack("@intel/simd", &[], &[], &[("src/lib.exo", "intel")]);
    intel.import = "simd".into();
    let mut a = pack("a", &[], &[], &[("src/lib.exo", "")]);
    a.dependencies.insert("simd".into(), "@arm/simd".into());
    let mut b = pack("b", &[], &[], &[("src/lib.exo", "")]);
    b.dependencies.insert("simd".into(), "@intel/simd".into());
    let world = DiskWorld::new(vec![arm, intel, a, b], BTreeMap::new()).unwrap();
    let text = |from: &str| {
        let module = world.resolve(&ModuleId::new(from, "lib"), "simd").unwrap();
        world.source(&module).unwrap().text.clone()
    };
    assert_eq!((text("a").as_str(), text("b").as_str()), ("arm", "intel"));
    assert_eq!(world.resolve(&ModuleId::new("@arm/simd", "lib"), "simd").unwrap(), ModuleId::new("@arm/simd", "lib"));
}
