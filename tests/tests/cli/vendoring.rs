//! Packs taken along: copies in the project and bundles, used without a registry, and never another content than what is locked.

use exo_tests::command_line::Sandbox;

/// A project that uses `neon`, which uses `base`.
fn project() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.pack("base", "1.0.0", "", &[("src/lib.exo", "one = 1\n")]);
    sandbox.pack("@arm/neon", "1.1.0", "base = \"1\"", &[("src/lib.exo", "from base import one\n")]);
    sandbox.project("[dependencies]\n\"@arm/neon\" = \"1\"\n");
    sandbox.write("work/src/lib.exo", "from neon import one\n");
    sandbox.run(&["install"]).exits(0);
    sandbox
}

/// Another machine: nothing in the cache, and no pack to be had.
fn cut_off(sandbox: &Sandbox) {
    std::fs::remove_dir_all(sandbox.path("cache/v1")).unwrap();
    for entry in std::fs::read_dir(sandbox.path("packs")).unwrap() {
        std::fs::remove_dir_all(entry.unwrap().path()).unwrap();
    }
}

#[test]
fn vendored_copies_are_used_and_checked() {
    let sandbox = project();
    sandbox.run(&["vendor"]).exits(0).prints(&["2 packs in vendor/", "Exo.vendor"]);
    assert_eq!(sandbox.read("work/Exo.vendor"), "vendor\n");
    assert_eq!(sandbox.read("work/vendor/base-1.0.0/src/lib.exo"), "one = 1\n");
    assert!(sandbox.exists("work/vendor/@arm/neon-1.1.0/Exo.toml"));
    let lock = sandbox.read("work/Exo.lock");
    cut_off(&sandbox);
    sandbox.run(&["check", "--frozen"]).exits(0);
    assert_eq!(sandbox.read("work/Exo.lock"), lock);
    // A changed copy is refused although the cache has the right one.
    sandbox.write("work/vendor/base-1.0.0/src/lib.exo", "one = 2\n");
    let run = sandbox.run(&["check"]).exits(1);
    run.says(&["error[E0609]", "vendor/base-1.0.0` is not what Exo.lock recorded", "`exo vendor` writes them again"]);
    std::fs::remove_file(sandbox.path("work/Exo.vendor")).unwrap();
    sandbox.run(&["vendor"]).exits(0);
    sandbox.run(&["check", "--frozen"]).exits(0);
}

#[test]
fn vendor_does_not_replace_what_is_not_its_own() {
    let sandbox = project();
    sandbox.write("work/docs/text.md", "mine");
    sandbox.run(&["vendor", "docs"]).exits(1).says(&["docs` holds something else than vendored packs"]);
    assert_eq!(sandbox.read("work/docs/text.md"), "mine");
    for outside in ["../out", "/tmp/out", "."] {
        sandbox.run(&["vendor", outside]).exits(1).says(&["no folder inside of the project"]);
    }
    sandbox.write("work/Exo.vendor", "../packs\n");
    sandbox.run(&["tree"]).exits(1).says(&["`../packs` is no folder inside of the project"]);
}

#[test]
fn a_bundle_installs_where_there_is_nothing_else() {
    let sandbox = project();
    sandbox.run(&["bundle", "-o", "../all.exo-bundle"]).exits(0).prints(&["all.exo-bundle", "exo install --bundle"]);
    let first = std::fs::read(sandbox.path("all.exo-bundle")).unwrap();
    sandbox.run(&["bundle", "-o", "../again"]).exits(0);
    assert_eq!(std::fs::read(sandbox.path("again")).unwrap(), first);
    let lock = sandbox.read("work/Exo.lock");
    cut_off(&sandbox);
    sandbox.run(&["install", "--frozen"]).exits(1).says(&["neither in the cache nor in this exo"]);
    let run = sandbox.run(&["install", "--bundle", "../all.exo-bundle", "--frozen"]).exits(0);
    run.says(&["Unpacked 2 packs of the bundle"]).prints(&["2 packs verified"]);
    sandbox.run(&["check", "--frozen"]).exits(0);
    assert_eq!(sandbox.read("work/Exo.lock"), lock);
    // A project without a lockfile takes that of the bundle.
    cut_off(&sandbox);
    std::fs::remove_file(sandbox.path("work/Exo.lock")).unwrap();
    sandbox.run(&["install", "--bundle", "../all.exo-bundle"]).exits(0);
    assert_eq!(sandbox.read("work/Exo.lock"), lock);
}

#[test]
fn a_damaged_bundle_leaves_everything_as_it_was() {
    let sandbox = project();
    sandbox.run(&["bundle", "-o", "../all"]).exits(0);
    let bundle = std::fs::read(sandbox.path("all")).unwrap();
    cut_off(&sandbox);
    std::fs::remove_file(sandbox.path("work/Exo.lock")).unwrap();
    let before = sandbox.state();
    let refused = |bytes: &[u8], text: &str| {
        std::fs::write(sandbox.path("wrong"), bytes).unwrap();
        sandbox.run(&["install", "--bundle", "../wrong"]).exits(1).says(&["error[E0609]", text]);
        assert_eq!(sandbox.state(), before);
    };
    let mut flipped = bundle.clone();
    *flipped.last_mut().unwrap() ^= 1;
    refused(&flipped, "in the bundle is refused: archive has sha256");
    refused(&bundle[..bundle.len() - 1], "it ends too early");
    refused(&[bundle.as_slice(), b"x"].concat(), "bytes follow its last archive");
    refused(b"exo bundle 1\n{}\n", "it does not start as one of this exo does");
    refused(b"exo bundle 2\n{\n", "its list of packs cannot be read");
    refused(b"", "it does not start");
    // The archives are sound, and not what the project's own lockfile says.
    let other = project();
    other.write("packs/base-1.0.0/src/lib.exo", "one = 3\n");
    std::fs::remove_file(other.path("work/Exo.lock")).unwrap();
    other.run(&["install"]).exits(0);
    let lock = other.read("work/Exo.lock");
    sandbox.write("work/Exo.lock", &lock);
    std::fs::write(sandbox.path("wrong"), &bundle).unwrap();
    let run = sandbox.run(&["install", "--bundle", "../wrong"]).exits(1);
    run.says(&["`base 1.0.0` in the bundle is refused: files have blake3"]);
    assert_eq!(sandbox.read("work/Exo.lock"), lock);
}

#[test]
fn a_bundle_that_does_not_fit_is_refused_before_anything_is_unpacked() {
    let sandbox = project();
    sandbox.run(&["bundle", "-o", "../all"]).exits(0);
    cut_off(&sandbox);
    let toml = sandbox.read("work/Exo.toml");
    let lock = sandbox.read("work/Exo.lock");
    sandbox.write("work/Exo.toml", &toml.replace("neon\" = \"1\"", "neon\" = \"2\"\nmore = \"1\""));
    for (own, whose) in [
        (true, "Exo.lock does not fit Exo.toml, and a bundle resolves nothing"),
        (false, "the bundle does not fit Exo.toml"),
    ] {
        match own {
            true => sandbox.write("work/Exo.lock", &lock),
            false => std::fs::remove_file(sandbox.path("work/Exo.lock")).unwrap(),
        }
        let before = sandbox.state();
        let run = sandbox.run(&["install", "--bundle", "../all"]).exits(1);
        assert!(!run.stderr.contains("Unpacked"), "{}", run.stderr);
        run.says(&[
            whose,
            "`@arm/neon 1.1.0` is locked, but the manifest needs `^2`",
            "`more ^1` is not locked",
            "run `exo install` and `exo bundle` with this Exo.toml; nothing was unpacked",
        ]);
        assert_eq!(sandbox.state(), before);
    }
}
