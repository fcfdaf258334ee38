//! Several registries at once: each name belongs to one of them, and no mistake or trick takes it from another.

use exo_tests::command_line::Sandbox;

use crate::authors::{typed, write_pack};
use crate::server::{PASSWORD, Server};

/// A home that knows both registries by name, with `b` in use, and is logged in at both.
fn home(a: &Server, b: &Server) -> Sandbox {
    let sandbox = Sandbox::new();
    let text = format!(
        "[registry]\ndefault = \"b\"\n[registries.a]\nurl = \"{}\"\n[registries.b]\nurl = \"{}/\"\n",
        a.url, b.url
    );
    sandbox.write("home/.config/exo/config.toml", &text);
    for name in ["a", "b"] {
        typed(&sandbox, &["login", "ada", "--registry", name], PASSWORD).exits(0);
    }
    sandbox
}

/// `shared` is in both registries; `alpha` in `a` needs the one, and `gamma` in `b` the other.
fn registries() -> (Server, Server, Sandbox) {
    let (a, b) = (Server::start(), Server::start());
    a.account("ada");
    b.account("ada");
    let ada = home(&a, &b);
    let publish = |name: &str, dependencies: &str, library: &str, registry: &str| {
        write_pack(&ada, "", name, "1.0.0", dependencies, library);
        // What was locked for another pack says nothing about this one.
        let _ = std::fs::remove_file(ada.path("work/Exo.lock"));
        ada.run(&["publish", "--registry", registry]).exits(0).prints(&[&format!("{name} 1.0.0 published")]);
    };
    publish("shared", "", "place = \"a\"\n", "a");
    publish("shared", "", "place = \"b\"\n", "b");
    let needs = "shared = { version = \"1\", registry = \"a\" }\n";
    publish("alpha", needs, "from shared import place\n", "a");
    write_pack(&ada, "", "wrong-way", "1.0.0", needs, "from shared import place\n");
    let said = ada.run(&["publish", "--registry", "b"]).exits(1);
    said.says(&["`shared` comes from registry `a`", "exo publish --registry a"]);
    publish("gamma", "shared = \"1\"\n", "from shared import place\n", "b");
    (a, b, ada)
}

#[test]
fn a_name_is_taken_from_one_registry() {
    let (a, b, ada) = registries();
    let from = |url: &str| format!("source = \"registry+{url}\"");
    let _ = std::fs::remove_file(ada.path("work/Exo.lock"));
    ada.project("");
    ada.run(&["add", "alpha", "--registry", "a"]).exits(0).prints(&["added alpha 1.0.0", "shared"]);
    assert!(ada.read("work/Exo.toml").contains("alpha = { version = \"1.0.0\", registry = \"a\" }"));
    assert_eq!(ada.read("work/Exo.lock").matches(&from(&a.url)).count(), 2);
    // Elsewhere, with nothing in the cache, the same two come from there again.
    std::fs::remove_dir_all(ada.path("cache")).unwrap();
    ada.run(&["install", "--locked"]).exits(0);
    ada.run(&["outdated"]).exits(0);
    let before = ada.state();
    let said = ada.run(&["add", "shared", "--registry", "b"]).exits(1);
    said.says(&[
        &format!("Exo.lock takes `shared` from registry `{}`, not from `{}`", a.url, b.url),
        "exo remove shared",
    ]);
    ada.run(&["add", "gamma"]).exits(1).says(&["Exo.lock takes `shared` from registry"]);
    ada.run(&["add", "alpha", "--registry", "c"]).exits(1).says(&["there is no registry `c`", "[registries.c]"]);
    ada.run(&["add", "delta", "--registry", "a"]).exits(1).says(&["there is no pack `delta`", &a.url]);
    assert_eq!(ada.state(), before);
    // Said or not, it stays where it is locked.
    ada.run(&["add", "shared"]).exits(0);
    assert_eq!(ada.read("work/Exo.lock").matches(&from(&a.url)).count(), 2);

    // Without a lockfile nothing says which one is meant.
    ada.project("[dependencies]\nalpha = { version = \"1\", registry = \"a\" }\ngamma = \"1\"\n");
    std::fs::remove_file(ada.path("work/Exo.lock")).unwrap();
    let said = ada.run(&["install"]).exits(1);
    said.says(&["`shared` is needed from two registries", &a.url, &b.url, "never taken from another"]);
    assert!(!ada.exists("work/Exo.lock"));
}

#[test]
fn a_lockfile_alone_sends_nobody_to_a_registry() {
    let (a, b, ada) = registries();
    let _ = std::fs::remove_file(ada.path("work/Exo.lock"));
    ada.project("[dependencies]\nshared = \"1\"\n");
    ada.run(&["install"]).exits(0);
    let lock = ada.read("work/Exo.lock");
    assert!(lock.contains(&format!("registry+{}", b.url)));
    let mut user = Sandbox::new();
    user.project("[dependencies]\nshared = \"1\"\n");
    user.write("work/Exo.lock", &lock);
    let said = user.run(&["install"]).exits(1);
    said.says(&["Exo.lock takes `shared` from registry", &b.url, "neither in use nor configured"]);
    user.set("EXO_REGISTRY", &a.url);
    user.run(&["install"]).exits(1).says(&[&format!("not from `{}`", a.url)]);
    user.set("EXO_REGISTRY", &b.url);
    user.run(&["install", "--locked"]).exits(0);
    // The manifest is the user's own word.
    let mut named = Sandbox::new();
    named.set("EXO_REGISTRY", &a.url);
    named.project(&format!("[dependencies]\nshared = {{ version = \"1\", registry = \"{}\" }}\n", b.url));
    named.write("work/Exo.lock", &lock);
    named.run(&["install", "--locked"]).exits(0);
    named.project(&format!("[dependencies]\nshared = {{ version = \"1\", registry = \"{}\" }}\n", a.url));
    named.run(&["install", "--locked"]).exits(1).says(&["--locked: Exo.lock does not fit", "is locked from"]);
    named.run(&["install"]).exits(1).says(&["Exo.lock takes `shared` from registry"]);
}
