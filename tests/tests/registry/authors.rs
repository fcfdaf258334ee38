//! Authors and users, each in a home of their own, with the real program: accounts, tokens, publishing, and what comes of it.

use std::os::unix::fs::PermissionsExt as _;

use exo_tests::command_line::{Run, Sandbox, finish_with};

use crate::server::{PASSWORD, Server};

/// A home that uses the server's registry.
pub(crate) fn home(server: &Server) -> Sandbox {
    let mut sandbox = Sandbox::new();
    sandbox.set("EXO_REGISTRY", &server.url);
    sandbox
}

/// Runs a command with a line on standard input.
pub(crate) fn typed(sandbox: &Sandbox, arguments: &[&str], line: &str) -> Run {
    finish_with(sandbox.command("", arguments), &format!("{line}\n"))
}

/// An account, and a home in which somebody is logged in with it.
pub(crate) fn author(server: &Server, login: &str) -> Sandbox {
    server.account(login);
    let sandbox = home(server);
    typed(&sandbox, &["login", login], PASSWORD).exits(0).prints(&["logged in at", login]);
    sandbox
}

/// A pack that may be published, in `work/FOLDER`.
pub(crate) fn write_pack(
    sandbox: &Sandbox,
    folder: &str,
    name: &str,
    version: &str,
    dependencies: &str,
    library: &str,
) {
    let manifest = format!(
        "[pack]\nname = \"{name}\"\nversion = \"{version}\"\nkind = \"schedule\"\nexo = \">=0.1\"\ndescription = \"About {name}\"\nlicense = \"MIT\"\nrepository = \"https://example.org/{name}\"\n\n[dependencies]\n{dependencies}"
    );
    sandbox.write(&format!("work/{folder}/Exo.toml"), &manifest);
    sandbox.write(&format!("work/{folder}/README.md"), &format!("# {name}\n\nFor tests of publishing.\n"));
    sandbox.write(&format!("work/{folder}/LICENSE"), "MIT\n");
    sandbox.write(&format!("work/{folder}/src/lib.exo"), library);
}

#[test]
fn login_keeps_a_session_that_logout_ends() {
    let server = Server::start();
    let ada = author(&server, "ada");
    let file = "home/.config/exo/credentials.toml";
    let mode = std::fs::metadata(ada.path(file)).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let kept = ada.read(file);
    let token = kept.split('"').find(|text| text.starts_with("exo_")).unwrap().to_owned();
    let said = ada.run(&["token", "list", "-v"]).exits(0).prints(&["no tokens"]);
    assert!(!said.stdout.contains(&token) && !said.stderr.contains(&token));
    // What others can read is not used.
    std::fs::set_permissions(ada.path(file), std::fs::Permissions::from_mode(0o644)).unwrap();
    ada.run(&["token", "list"]).exits(3).says(&["can be read by others", "chmod 600"]);
    std::fs::set_permissions(ada.path(file), std::fs::Permissions::from_mode(0o600)).unwrap();
    ada.run(&["logout"]).exits(0).prints(&["logged out"]);
    assert!(!ada.read(file).contains("exo_"));
    server.send("GET", "/api/v1/whoami", &token, b"").is(401);
    ada.run(&["token", "list"]).exits(1).says(&["you are not logged in at registry", "run `exo login`", "EXO_TOKEN"]);
    ada.run(&["logout"]).exits(0).prints(&["nobody was logged in"]);
    typed(&ada, &["login", "ada"], "a wrong password").exits(1).says(&["login or password is wrong"]);
    assert!(!ada.read(file).contains("exo_"));
    // A session whose time is over is not even sent.
    let over: String = kept
        .lines()
        .map(|line| if line.starts_with("expires") { "expires = 5\n".into() } else { format!("{line}\n") })
        .collect();
    ada.write(file, &over);
    ada.run(&["token", "list"]).exits(1).says(&["what `ada` logged in with", "expired", "run `exo login`"]);
    ada.write(file, "nonsense with exo_secret");
    let said = ada.run(&["token", "list"]).exits(3).says(&["is damaged"]);
    assert!(!said.stderr.contains("exo_secret"));
}

#[test]
fn the_first_account_is_made_from_the_command_line() {
    let server = Server::start();
    let ada = home(&server);
    let code = server.code.clone().unwrap();
    typed(&ada, &["login", "ada", "--create"], PASSWORD).exits(1).says(&["made by the administrator"]);
    typed(&ada, &["login", "ada", "--create", "--code", "guess"], PASSWORD).exits(1).says(&["the code is not good"]);
    // Servers of other makers may give codes that look like options.
    typed(&ada, &["login", "ada", "--create", "--code", "-6guess"], PASSWORD).exits(1).says(&["the code is not good"]);
    typed(&ada, &["login", "ada", "--create", "--code", &code], PASSWORD).exits(0).says(&["the account ada"]);
    typed(&ada, &["login"], PASSWORD).exits(2).says(&["nobody to ask for a login"]);
    ada.run(&["login", "ada"]).exits(2).says(&["nothing was given on standard input"]);
}

#[test]
fn tokens_are_made_listed_used_and_taken_back() {
    let server = Server::start();
    let ada = author(&server, "ada");
    let made =
        ada.run(&["token", "create", "ci", "--right", "publish-new,yank", "--for", "base,@ada/*", "--days", "7"]);
    let made = made.exits(0).says(&["may publish-new, yank for base, @ada/*, and lasts 7 days"]);
    let token = made.stdout.trim().to_owned();
    assert!(token.starts_with("exo_") && !made.stderr.contains(&token));
    ada.run(&["token", "list"]).exits(0).prints(&["ci", "publish-new,yank", "base,@ada/*", " days"]);
    ada.run(&["token", "create", "long", "--right", "yank", "--for", "*", "--days", "4000"])
        .exits(1)
        .says(&["a token lasts"]);
    // Commas and spaces, as on the page; a name that reads the same is refused.
    ada.run(&["token", "create", "CI ", "--right", "yank", "--for", "base"])
        .exits(1)
        .says(&["has a token called `ci` already", "choose another name, or end that one first"]);
    ada.run(&["token", "create", "both", "--right", "yank", "--for", "base other,@ada/*"])
        .exits(0)
        .says(&["may yank for base, other, @ada/*"]);
    ada.run(&["token", "revoke", "both"]).exits(0);
    ada.run(&["token", "create", "x", "--right", "admin", "--for", "*"]).exits(1).says(&["only an administrator's"]);

    // A machine has the token in its environment, and does with it what it is for.
    let mut machine = home(&server);
    machine.set("EXO_TOKEN", &token);
    write_pack(&machine, "", "base", "1.0.0", "", "one = 1\n");
    machine.run(&["publish"]).exits(0).prints(&["base 1.0.0 published"]);
    write_pack(&machine, "", "base", "1.0.1", "", "one = 1\n");
    let said = machine.run(&["publish"]).exits(1);
    let said =
        said.says(&["the token lacks the right `publish-update`", "--right publish-update --for base", "EXO_TOKEN"]);
    assert!(!said.stderr.contains(&token));
    write_pack(&machine, "", "other", "1.0.0", "", "one = 1\n");
    machine.run(&["publish"]).exits(1).says(&["the token is not for `other`", "--for other"]);
    machine.run(&["owner", "add", "base", "eve"]).exits(1).says(&["lacks the right `owners`"]);
    machine.run(&["token", "list"]).exits(1).says(&["needs a session", "exo login", "EXO_TOKEN"]);
    machine.run(&["yank", "base@1.0.0"]).exits(0);

    // It goes to the registry in use and to no other.
    let other = Server::start();
    machine
        .run(&["yank", "base@1.0.0", "--registry", &other.url])
        .exits(1)
        .says(&["you are not logged in at registry"]);
    // The same token can be kept instead.
    let kept = home(&server);
    typed(&kept, &["login", "--token"], &token).exits(0).prints(&["as ada; the token lasts "]);
    kept.run(&["yank", "base@1.0.0", "--undo"]).exits(0);
    kept.run(&["logout"]).exits(0);

    ada.run(&["token", "revoke", "nothing"]).exits(1).says(&["you have no token `nothing`"]);
    ada.run(&["token", "revoke", "ci"]).exits(0).prints(&["is good for nothing now"]);
    let said = machine.run(&["yank", "base@1.0.0"]).exits(1);
    said.says(&["the token is unknown, or was taken back", "EXO_TOKEN holds it"]);
    typed(&kept, &["login", "--token"], &token).exits(1).says(&["the token is unknown"]);
    machine.set("EXO_TOKEN", "two words");
    machine.run(&["yank", "base@1.0.0"]).exits(2).says(&["EXO_TOKEN holds no token"]);
}

#[test]
fn what_a_user_installs_is_what_authors_say() {
    let server = Server::start();
    let ada = author(&server, "ada");
    for version in ["1.0.0", "1.1.0"] {
        write_pack(&ada, "", "base", version, "", "one = 1\n");
        ada.run(&["publish"]).exits(0).prints(&[&format!("base {version} published")]);
    }
    let user = home(&server);
    user.project("");
    ada.run(&["yank", "base@1.1.0", "--reason", "wrong on Mondays"]).exits(0).prints(&["base 1.1.0 is yanked"]);
    user.run(&["add", "base"]).exits(0).prints(&["added base 1.0.0"]);
    user.run(&["info", "base"]).exits(0).prints(&["wrong on Mondays"]);
    user.run(&["search", "BASE", "about"]).exits(0).prints(&[&format!("in registry {}:", server.url), "About base"]);
    user.run(&["search", "base", "elephants"]).exits(1).prints(&["no pack is about base elephants"]);
    ada.run(&["yank", "base@1.1.0", "--undo"]).exits(0).prints(&["may be chosen again"]);
    user.run(&["update"]).exits(0);
    assert!(user.read("work/Exo.lock").contains("1.1.0"));
    ada.run(&["yank", "base@3.0.0"]).exits(1).says(&["there is no `base 3.0.0`"]);
    ada.run(&["yank", "base"]).exits(2).says(&["names no version"]);
    ada.run(&["deprecate", "base", "--reason", "old", "--replacement", "next"])
        .exits(0)
        .prints(&["base is deprecated"]);
    user.run(&["info", "base"]).exits(0).prints(&["deprecated: old; use `next`"]);
    user.run(&["add", "base"]).exits(0).says(&["warning: `base` is deprecated: old; use `next`"]);
    ada.run(&["yank", "base@1.1.0", "--reason", "no good"]).exits(0);
    let against = ["base 1.1.0: yanked: no good", "base 1.1.0: deprecated: old; use `next`"];
    user.run(&["audit"]).exits(0).prints(&against);
    user.run(&["audit", "--deny", "yanked,deprecated"])
        .exits(4)
        .says(&["yanked: base 1.1.0 (yanked: no good)", "deprecated: base"]);
    user.run(&["audit", "--deny", "advisories"]).exits(0);
    user.run(&["audit", "--offline"]).exits(0).says(&["is not asked"]);
    ada.run(&["yank", "base@1.1.0", "--undo"]).exits(0);
    ada.run(&["deprecate", "base", "--undo"]).exits(0).prints(&["no longer deprecated"]);

    what_was_withdrawn_is_told(&ada, &user);

    let eve = author(&server, "eve");
    write_pack(&eve, "", "base", "1.2.0", "", "one = 1\n");
    eve.run(&["publish"]).exits(1).says(&["`eve` does not own `base`", "exo owner add base eve"]);
    eve.run(&["yank", "base@1.0.0"]).exits(1).says(&["`eve` does not own `base`"]);
    ada.run(&["owner", "add", "base", "nobody"]).exits(1).says(&["there is no account `nobody`"]);
    for verb in ["add", "remove"] {
        let right = format!("the pack comes first: `exo owner {verb} base eve`");
        ada.run(&["owner", verb, "eve", "base"]).exits(1).says(&["there is no pack `eve`", &right]);
        let right = format!("`@eve/base` is no login\n  hint: the pack comes first: `exo owner {verb} @eve/base eve`");
        ada.run(&["owner", verb, "eve", "@eve/base"]).exits(2).says(&[&right]);
        // Nothing is turned round where that would not help.
        let said = ada.run(&["owner", verb, "nothing", "nobody"]).exits(1).says(&["there is no pack `nothing`"]);
        assert!(!said.stderr.contains("comes first"), "{}", said.stderr);
    }
    ada.run(&["owner", "add", "base", "eve"]).exits(0);
    assert_eq!(user.run(&["owner", "list", "base"]).exits(0).stdout, "ada\neve\n");
    eve.run(&["publish"]).exits(0).prints(&["base 1.2.0 published"]);
    eve.run(&["owner", "remove", "base", "ada"]).exits(0);
    eve.run(&["owner", "remove", "base", "eve"]).exits(1).says(&["last owner", "add another owner first"]);
    ada.run(&["yank", "base@1.0.0"]).exits(1).says(&["does not own"]);
}

/// With `base` at 1.1.0 in the user's lockfile: every command that uses it warns, and none fails of it.
fn what_was_withdrawn_is_told(ada: &Sandbox, user: &Sandbox) {
    let once = |said: &Run, what: &str| {
        assert_eq!(said.stderr.matches(what).count(), 1, "{what}: {}", said.stderr);
    };
    let lock = user.read("work/Exo.lock");
    user.run(&["install"]).exits(0);
    for version in ["1.0.0", "1.1.0"] {
        ada.run(&["yank", &format!("base@{version}"), "--reason", "no good", "--replacement", "next@2.0.0"]).exits(0);
    }
    let warning = "warning: `base 1.1.0` is locked, and is yanked: no good; use `next@2.0.0`; `exo update base`";
    // A build asks nobody, and knows only what was seen before.
    let quiet = user.run(&["check"]).exits(0);
    assert!(!quiet.stderr.contains("is yanked"), "{}", quiet.stderr);
    once(&user.run(&["install"]).exits(0), warning);
    once(&user.run(&["check"]).exits(0), warning);
    once(&user.run(&["install", "--offline"]).exits(0), warning);
    once(&user.run(&["update"]).exits(0), warning);
    assert_eq!(user.read("work/Exo.lock"), lock, "without a successor it stays");
    let outdated = user.run(&["outdated"]).exits(0);
    outdated.prints(&["locked: base 1.1.0 is yanked (no good; use `next@2.0.0`)"]);
    let info = user.run(&["info", "base"]).exits(0);
    info.prints(&["no version of `base` is to be chosen"]);
    ada.run(&["deprecate", "base", "--reason", "old"]).exits(0);
    once(&user.run(&["install"]).exits(0), "`base` is deprecated: old");
    user.run(&["add", "bsae"]).exits(1).says(&["did you mean `base`"]);
    ada.run(&["deprecate", "base", "--undo"]).exits(0);
    for version in ["1.0.0", "1.1.0"] {
        ada.run(&["yank", &format!("base@{version}"), "--undo"]).exits(0);
    }
}

#[test]
fn a_lockfile_keeps_when_its_packs_were_published() {
    let server = Server::start();
    let ada = author(&server, "ada");
    write_pack(&ada, "", "base", "1.0.0", "", "one = 1\n");
    ada.run(&["publish"]).exits(0);
    let user = home(&server);
    user.project("");
    user.run(&["add", "base"]).exits(0);
    assert!(user.read("work/Exo.lock").contains("\npublished = "));
    // A rule about age holds of what is locked, and no registry need be asked for it.
    let manifest = user.read("work/Exo.toml");
    user.write("work/Exo.toml", &format!("{manifest}\n[policy]\nmin-age = \"3 days\"\n"));
    user.run(&["check", "--offline"])
        .exits(1)
        .says(&["`base 1.0.0` is locked, and is", "and the policy asks for 3 days"]);
    let lock = user.read("work/Exo.lock");
    let line = lock.lines().find(|line| line.starts_with("published")).unwrap();
    // Whoever writes another time into the lockfile does not get around that where the signed index is at hand.
    let forged = lock.replace(line, "published = 1700000000");
    user.write("work/Exo.lock", &forged);
    let signed = ["Exo.lock says that `base 1.0.0` was published at 2023-11-14T22:13:20Z, and", "signed 20"];
    user.run(&["check", "--offline"]).exits(0).says(&signed);
    user.run(&["audit"]).exits(1).says(&signed).says(&["E0609", "`exo update base` writes what the registry signed"]);
    let elsewhere = home(&server);
    elsewhere.project("");
    elsewhere.write("work/Exo.toml", &user.read("work/Exo.toml"));
    elsewhere.write("work/Exo.lock", &forged);
    elsewhere.run(&["install", "--locked"]).exits(1).says(&signed).says(&["E0609"]);
    user.write("work/Exo.toml", &manifest);
    user.run(&["update", "base"]).exits(0);
    assert_eq!(user.read("work/Exo.lock"), lock);
}
