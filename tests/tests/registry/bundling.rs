//! Bundles of packs from registries: what they prove on a machine without a network, and what becomes of those that were changed.

use exo_index::digest::Sha256;
use exo_index::registry::layout;
use exo_tests::command_line::Sandbox;
use serde_json::{Value, json};

use crate::authors::{author, home, write_pack};
use crate::server::{Pack, Server};
use crate::site::{Site, key, now, write};

/// The second line of a bundle, and what follows it.
fn parts(bytes: &[u8]) -> (Value, Vec<u8>) {
    let rest = bytes.strip_prefix(b"exo bundle 2\n").unwrap();
    let end = rest.iter().position(|byte| *byte == b'\n').unwrap();
    (serde_json::from_slice(&rest[..end]).unwrap(), rest[end + 1..].to_vec())
}

fn whole(listing: &Value, archives: &[u8]) -> Vec<u8> {
    [b"exo bundle 2\n".as_slice(), listing.to_string().as_bytes(), b"\n", archives].concat()
}

/// A home that knows a registry by its URL, and pins it or not.
fn cut_off(url: &str, pin: Option<&str>) -> Sandbox {
    let sandbox = Sandbox::new();
    let root = pin.map(|pin| format!("root = \"{pin}\"\n")).unwrap_or_default();
    sandbox.write(
        "home/.config/exo/config.toml",
        &format!("[registry]\ndefault = \"work\"\n\n[registries.work]\nurl = \"{url}\"\n{root}"),
    );
    sandbox
}

/// A registry with `base` and `tiles`, and a bundle of both, made of a project that uses them. The registry is gone afterwards.
fn bundled(site: &mut Site) -> (String, Sandbox, Vec<u8>) {
    site.publish(&[Pack::new("base", "1.0.0"), Pack::new("tiles", "1.0.0"), Pack::new("other", "1.0.0")]);
    let url = format!("file://{}", site.folder.path().display());
    let maker = cut_off(&url, None);
    maker.project("");
    maker.run(&["add", "base", "tiles"]).exits(0);
    maker.run(&["bundle", "--offline"]).exits(2).says(&["a bundle carries proofs", "without --offline"]);
    maker.run(&["bundle", "-o", "../all"]).exits(0);
    let bytes = std::fs::read(maker.path("all")).unwrap();
    std::fs::rename(site.folder.path().join("v1"), site.folder.path().join("gone")).unwrap();
    (url, maker, bytes)
}

/// A project like that of the maker, with a bundle beside it.
fn receives(user: &Sandbox, maker: &Sandbox, bundle: &[u8], with_lock: bool) {
    user.project("");
    user.write("work/Exo.toml", &maker.read("work/Exo.toml"));
    if with_lock {
        user.write("work/Exo.lock", &maker.read("work/Exo.lock"));
    }
    std::fs::write(user.path("all"), bundle).unwrap();
}

const INSTALL: [&str; 3] = ["install", "--bundle", "../all"];

#[test]
fn a_bundle_says_what_it_proves_and_as_of_when() {
    let mut site = Site::new();
    // Within the tolerance for clocks this is still believed, and it has expired nevertheless.
    site.pointer.expires = now() - 60;
    let pin = site.pin();
    let (url, maker, bytes) = bundled(&mut site);
    for with_lock in [true, false] {
        let user = cut_off(&url, Some(&pin));
        receives(&user, &maker, &bytes, with_lock);
        let said = user.run(&INSTALL).exits(0).prints(&["2 packs verified"]);
        let said = said.says(&[
            &format!("Proved registry {url} had published 2 packs of the bundle by 20"),
            " UTC (pointer 1, log of 3)",
            &format!("by its pinned root {pin}"),
            "its pointer expired ",
            "is not known here",
            "Unpacked 2 packs of the bundle",
        ]);
        assert!(!said.stderr.contains("warning"), "{}", said.stderr);
        assert_eq!(user.read("work/Exo.lock"), maker.read("work/Exo.lock"));
        user.run(&["check", "--frozen"]).exits(0);
        let value = user.run(&["install", "--bundle", "../all", "--format", "json"]).exits(0).json();
        let proved = &value["bundle"]["proved"][0];
        assert_eq!((&proved["registry"], &proved["root_known"]), (&json!(url), &json!("pinned")));
        assert_eq!((&proved["expired"], &proved["packs"]), (&json!(true), &json!(["base 1.0.0", "tiles 1.0.0"])));
    }
    // Where nobody pinned the registry and it was never visited, that is said.
    let stranger = cut_off(&url, None);
    receives(&stranger, &maker, &bytes, true);
    stranger.run(&INSTALL).exits(0).says(&["warning: nothing here knows registry", &pin, "said by the bundle alone"]);
    // The maker has visited it.
    maker.run(&INSTALL).exits(0).says(&["which this machine remembers"]);
    let wrong = cut_off(&url, Some(&format!("sha256:{}", Sha256::of(b"other"))));
    receives(&wrong, &maker, &bytes, true);
    wrong.run(&INSTALL).exits(1).says(&["error[E0609]", "does not prove", "is pinned", "nothing of it was unpacked"]);
}

#[test]
fn what_was_changed_in_a_bundle_is_found_out() {
    let mut site = Site::new();
    let pin = site.pin();
    let (url, maker, bytes) = bundled(&mut site);
    let (listing, archives) = parts(&bytes);
    let refused = |change: &dyn Fn(&mut Value), why: &str| {
        let mut changed = listing.clone();
        change(&mut changed);
        assert_ne!(changed, listing, "{why}");
        let user = cut_off(&url, Some(&pin));
        receives(&user, &maker, &whole(&changed, &archives), true);
        let before = user.state();
        user.run(&INSTALL).exits(1).says(&["error[E0609]", why]);
        assert_eq!(user.state(), before);
        assert_ne!(user.run(&["check", "--frozen"]).code, Some(0), "nothing of it is in the cache");
    };
    let hash = json!(Sha256::of(b"x").to_string());
    refused(&|all| all["registries"] = json!([]), "it carries nothing of that registry");
    refused(&|all| all["registries"][0]["registry"] = json!("https://other.example"), "nothing of that registry");
    refused(&|all| all["registries"][0]["roots"] = json!([]), "it has no root");
    refused(&|all| all["registries"][0]["proofs"] = json!([]), "has no proof in the log of `base 1.0.0`");
    refused(&|all| all["registries"][0]["proofs"][0]["path"][0] = hash.clone(), "does not stand in the registry's log");
    refused(
        &|all| all["registries"][0]["proofs"][1]["name"] = json!("other"),
        "has no proof in the log of `tiles 1.0.0`",
    );
    refused(
        &|all| {
            let text = all["registries"][0]["pointer"].as_str().unwrap().replace("pointer 1", "pointer 2");
            all["registries"][0]["pointer"] = json!(text);
        },
        "not signed by a key of the registry's root",
    );
    refused(
        &|all| {
            let text = all["registries"][0]["roots"][0]["payload"].as_str().unwrap().replace("packs.", "mine.");
            all["registries"][0]["roots"][0]["payload"] = json!(text);
        },
        "is pinned",
    );
    for (digest, _) in listing["registries"][0]["objects"].as_object().unwrap() {
        refused(&|all| all["registries"][0]["objects"][digest] = json!("AAAA"), "was asked for");
        refused(
            &|all| all["registries"][0]["objects"].as_object_mut().unwrap().remove(digest).map_or((), drop),
            "the evidence of a registry is malformed: it lacks",
        );
    }
    // Another registry's word for the same packs, with keys of its own.
    let mut forger = Site::new();
    forger.publish(&[Pack::with("base", "1.0.0", "", "one = 666\n"), Pack::new("tiles", "1.0.0")]);
    let mut root = forger.root(1);
    (root.root_keys, root.index_keys) = (vec![key(7).public()], vec![key(8).public()]);
    write(forger.folder.path(), &layout::root(1), &root.sign(&[&key(7)]).unwrap().to_bytes().unwrap());
    forger.sign(&forger.pointer, &key(8));
    let theirs = format!("file://{}", forger.folder.path().display());
    let thief = cut_off(&theirs, None);
    thief.project("");
    thief.run(&["add", "base", "tiles"]).exits(0);
    thief.run(&["bundle", "-o", "../all"]).exits(0);
    let forged = String::from_utf8_lossy(&std::fs::read(thief.path("all")).unwrap()).contains(&theirs);
    assert!(forged);
    let (mut stolen, packs) = parts(&std::fs::read(thief.path("all")).unwrap());
    stolen["registries"][0]["registry"] = json!(url);
    stolen["lock"] = json!(stolen["lock"].as_str().unwrap().replace(&theirs, &url));
    let user = cut_off(&url, Some(&pin));
    receives(&user, &maker, &whole(&stolen, &packs), false);
    user.run(&INSTALL).exits(1).says(&["does not prove", "is pinned"]);
    // With the right registry's evidence and other packs: what is locked is not what was published.
    stolen["registries"] = listing["registries"].clone();
    receives(&user, &maker, &whole(&stolen, &packs), false);
    user.run(&INSTALL).exits(1).says(&["`base 1.0.0` is locked with other content than was published"]);
    assert!(!user.exists("work/Exo.lock"));
}

#[test]
fn a_bundle_that_contradicts_what_was_seen_is_refused() {
    let mut site = Site::new();
    let (url, maker, bytes) = bundled(&mut site);
    std::fs::rename(site.folder.path().join("gone"), site.folder.path().join("v1")).unwrap();
    // Later states do not stand against it.
    let user = cut_off(&url, None);
    user.project("");
    site.publish(&[Pack::new("later", "1.0.0")]);
    user.run(&["add", "later"]).exits(0);
    receives(&user, &maker, &bytes, true);
    user.run(&INSTALL).exits(0).says(&["which this machine remembers", "(pointer 1, log of 3)"]);
    // Another log of the same size, signed by the same key, does.
    let mut fork = Site::new();
    fork.publish(&[Pack::new("base", "1.0.0"), Pack::new("tiles", "1.0.0"), Pack::new("evil", "1.0.0")]);
    std::fs::remove_dir_all(site.folder.path().join("v1")).unwrap();
    std::fs::rename(fork.folder.path().join("v1"), site.folder.path().join("v1")).unwrap();
    let victim = cut_off(&url, None);
    victim.project("");
    victim.run(&["add", "evil"]).exits(0);
    receives(&victim, &maker, &bytes, true);
    let said = victim.run(&INSTALL).exits(1);
    assert!(said.stderr.contains("two different") || said.stderr.contains("is pinned"), "{}", said.stderr);
}

#[test]
fn a_bundle_of_a_real_registry_installs_without_it() {
    let mut server = Server::start();
    let ada = author(&server, "ada");
    write_pack(&ada, "", "tiles", "1.0.0", "", "def tile(p):\n    return p\n");
    ada.run(&["publish"]).exits(0);
    write_pack(&ada, "", "blocks", "0.1.0", "tiles = \"1\"\n", "from tiles import tile\n");
    ada.run(&["publish"]).exits(0);
    server.operate("rotate-keys", &[]);
    ada.run(&["yank", "tiles@1.0.0", "--reason", "wrong on Mondays"]).exits(0);
    ada.run(&["yank", "tiles@1.0.0", "--undo"]).exits(0);
    let maker = home(&server);
    maker.project("");
    maker.run(&["add", "blocks"]).exits(0);
    ada.run(&["yank", "tiles@1.0.0", "--reason", "wrong on Mondays"]).exits(0);
    maker.run(&["bundle", "-o", "../all"]).exits(0);
    server.kill();
    let user = home(&server);
    receives(&user, &maker, &std::fs::read(maker.path("all")).unwrap(), false);
    user.run(&INSTALL)
        .exits(0)
        .says(&["had published 2 packs of the bundle", "`tiles 1.0.0` was yanked already: wrong on Mondays"]);
    user.run(&["check", "--frozen"]).exits(0);
}
