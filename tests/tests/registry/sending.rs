//! `exo publish`: several packs at once, what is refused and how it is said, interruptions, and servers that are not to be trusted.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::sync::mpsc;
use std::time::Duration;

use exo_tests::command_line::{Sandbox, finish};

use crate::authors::{author, home, write_pack};
use crate::client;
use crate::server::Server;

/// A workspace of `tiles` and of `blocks`, which needs it.
fn workspace(sandbox: &Sandbox) {
    sandbox.write("work/Exo.toml", "[workspace]\nmembers = [\"packs/*\"]\n");
    write_pack(sandbox, "packs/tiles", "tiles", "1.0.0", "", "def tile(p):\n    return p\n");
    let needs = "tiles = { path = \"../tiles\", version = \"1\" }\n";
    let library = "from tiles import tile\n\ndef block(p):\n    return tile(p)\n";
    write_pack(sandbox, "packs/blocks", "@ada/blocks", "0.1.0", needs, library);
}

#[test]
fn members_are_published_together_and_used_from_elsewhere() {
    let server = Server::start();
    let ada = author(&server, "ada");
    workspace(&ada);
    // Alone it would not be installable, so the registry takes none of it.
    ada.run(&["publish", "-p", "@ada/blocks"])
        .exits(1)
        .says(&["tiles", "publish what it depends on first, or with it"]);
    let dry = ada.run(&["publish", "--workspace", "--dry-run"]).exits(0);
    dry.prints(&["tiles 1.0.0 could be published", "@ada/blocks 0.1.0 could be published", "published nothing"]);
    assert!(client::shard(&server, &client::trust(&server, None), "tiles").is_none());
    let done = ada.run(&["publish", "--workspace", "--format", "json"]).exits(0);
    let done = done.json();
    let names: Vec<&str> =
        done["packs"].as_array().unwrap().iter().map(|pack| pack["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["tiles", "@ada/blocks"], "each after those it depends on");
    assert!(done["packs"][0]["verdict"].as_str().unwrap().len() == 64, "{done}");
    // Again: nothing is done twice, and it is no failure.
    ada.run(&["publish"]).exits(0).prints(&["tiles 1.0.0 is there already", "@ada/blocks 0.1.0 is there already"]);

    let user = home(&server);
    user.project("");
    user.run(&["add", "@ada/blocks"]).exits(0).prints(&["added @ada/blocks 0.1.0", "tiles"]);
    user.write("work/src/lib.exo", "from blocks import block\n\nanswer = block(42)\n");
    user.run(&["check"]).exits(0);
    user.run(&["install", "--locked"]).exits(0);

    // A member that stays as it was is left alone when another moves on.
    write_pack(&ada, "packs/tiles", "tiles", "1.1.0", "", "def tile(p):\n    return p\n\ndef more(p):\n    return p\n");
    let moved = ada.run(&["publish"]).exits(0);
    moved.prints(&["tiles 1.1.0 published", "@ada/blocks 0.1.0 is there already"]);
}

#[test]
fn packs_that_come_with_exo_need_not_be_published() {
    let server = Server::start();
    let ada = author(&server, "ada");
    let library = "from std import vectorize\n\nwide = vectorize\n";
    write_pack(&ada, "", "wider", "0.1.0", "std = \"1\"\n", library);
    let mut publish = ada.command("", &["publish"]);
    publish.env_remove("EXO_TEST_PACKS");
    finish(publish).exits(0).prints(&["wider 0.1.0 published"]);
    let user = home(&server);
    user.project("");
    let mut add = user.command("", &["add", "wider"]);
    add.env_remove("EXO_TEST_PACKS");
    finish(add).exits(0).prints(&["added wider 0.1.0", "std"]);
    assert!(user.read("work/Exo.lock").contains("source = \"builtin\""));
    // Nobody can put another one in its place, or beside it.
    for name in ["std", "ne0n", "@ada/avx-512"] {
        write_pack(&ada, "", name, "9.0.0", "", "one = 1\n");
        ada.run(&["publish"]).exits(1).says(&["the name"]);
    }
}

/// The whole way: a machine and a library are published from one home, and compose with a kernel of somebody else's into the
/// same C in two others.
#[test]
fn what_is_published_builds_to_the_same_bytes_elsewhere() {
    let server = Server::start();
    let ada = author(&server, "ada");
    for (name, kind) in [("toy-machine", "target"), ("blocking", "schedule")] {
        ada.run(&["new", name, "--kind", kind]).exits(0);
        let manifest = ada.read(&format!("work/{name}/Exo.toml"));
        let kind_line = format!("kind = \"{kind}\"\n");
        let ready = format!("{kind_line}description = \"For tests\"\nlicense = \"MIT\"\n");
        ada.write(&format!("work/{name}/Exo.toml"), &manifest.replace(&kind_line, &ready));
        ada.write(&format!("work/{name}/README.md"), "Made for a test of publishing.\n");
        ada.run_in(name, &["publish"]).exits(0).prints(&[&format!("{name} 0.1.0 published"), "1 "]);
    }
    let users: Vec<Sandbox> = (0..2).map(|_| home(&server)).collect();
    let c: Vec<String> = users
        .iter()
        .map(|user| {
            user.run(&["new", "mine"]).exits(0);
            user.run_in("mine", &["add", "toy-machine", "blocking"]).exits(0).prints(&["added toy-machine 0.1.0, blocking 0.1.0"]);
            let manifest = user.read("work/mine/Exo.toml");
            let line = manifest.lines().find(|line| line.starts_with("targets = ")).unwrap();
            user.write("work/mine/Exo.toml", &manifest.replace(line, "targets = [\"toy_machine:target\"]"));
            let library = "from blocking import block\n\n@proc\ndef saxpy(n: size, a: f32, x: f32[n], y: f32[n]):\n    for i in seq(0, n):\n        y[i] += a * x[i]\n\ndef schedule(p, target, factor = 4):\n    return block(p, \"i\", factor)\n";
            user.write("work/mine/src/lib.exo", library);
            std::fs::remove_dir_all(user.path("work/mine/tests")).unwrap();
            user.run_in("mine", &["build"]).exits(0);
            let mut files = Vec::new();
            below(&user.path("work/mine/build"), &mut files);
            files.sort();
            let is_c = |path: &&std::path::PathBuf| path.extension().is_some_and(|end| end == "c" || end == "h");
            files.iter().filter(is_c).map(|path| std::fs::read_to_string(path).unwrap()).collect()
        })
        .collect();
    assert!(c[0].contains("for (") && c[0].contains("saxpy"), "{}", c[0]);
    assert_eq!(c[0], c[1]);
}

fn below(folder: &std::path::Path, found: &mut Vec<std::path::PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { below(&path, found) } else { found.push(path) }
    }
}

#[test]
fn refusals_say_what_to_do() {
    let server = Server::start();
    let ada = author(&server, "ada");
    let publish = |version: &str, name: &str, library: &str| {
        write_pack(&ada, "", name, version, "", library);
        ada.run(&["publish"])
    };
    publish("1.0.0", "halide", "def tile(p, size):\n    return p\n").exits(0);
    let said = publish("1.0.0", "halide", "other = 1\n").exits(1);
    said.says(&["`halide 1.0.0` is published already, and not with what is here now", "raise `version` in Exo.toml"]);
    let said = publish("1.0.0", "ha1ide", "one = 1\n").exits(1);
    said.says(&["refuses `ha1ide`", "can be taken for `halide`", "choose a name", "nothing was published"]);
    let said = publish("1.1.0", "halide", "def tile(p, width):\n    return p\n").exits(1);
    said.says(&[
        "needs a major version: `lib function tile(p, size)` is called differently",
        "raise `version` in Exo.toml further: 2.0.0 is the lowest that will do after 1.0.0",
    ]);
    publish("0.1.0", "young", "def tile(p):\n    return p\n").exits(0);
    let said = publish("0.1.1", "young", "other = 1\n").exits(1);
    said.says(&["needs a major version", "further: 0.2.0 is the lowest that will do after 0.1.0"]);
    publish("0.2.0", "young", "other = 1\n")
        .exits(0)
        .prints(&["at least a major version, which before 1.0 is a new second number"]);
    publish("1.0.1", "halide", "def tile(p, size, tail = 1):\n    return p\n")
        .exits(1)
        .says(&["needs a minor version"]);
    publish("1.1.0", "halide", "def tile(p, size, tail = 1):\n    return p\n")
        .exits(0)
        .prints(&["at least a minor version"]);
    let proc = |assert: &str| {
        format!(
            "def tile(p, size, tail = 1):\n    return p\n\n@proc\ndef f(n: size, x: f32[n]):\n    {assert}for i in seq(0, n):\n        x[i] = 0.0\n"
        )
    };
    publish("1.2.0", "halide", &proc("")).exits(0);
    let said = publish("1.2.1", "halide", &proc("assert n > 3\n    ")).exits(1);
    said.says(&["needs a major version: `lib requires f: n > 3` is asked of callers now"]);
    publish("2.0.0", "halide", &proc("assert n > 3\n    ")).exits(0).prints(&["at least a major version"]);
    let reading = proc("assert n > 3\n    ").replace("x[i] = 0.0", "x[i] += 1.0");
    publish("2.0.1", "halide", &reading).exits(1).says(&["needs a major version: `f` of `lib` reduces into x now"]);

    // What does not verify is shown as `exo check` shows it, and is not sent.
    let wrong = "@proc\ndef f(n: size, x: f32[n]):\n    for i in seq(0, n):\n        x[i + 1] = 0.0\n";
    let said = publish("1.0.0", "wrong", wrong).exits(4);
    let checked = ada.run(&["check"]).exits(1);
    let start = checked.stderr.find("error[E0201]").unwrap();
    let diagnostic = checked.stderr[start..].split("\n\n").next().unwrap();
    assert!(diagnostic.contains("src/lib.exo:4") && said.stderr.contains(diagnostic), "{diagnostic}\n{}", said.stderr);
    said.says(&["`wrong 1.0.0` does not verify", "mend what is shown above", "nothing was published"]);
    assert!(client::shard(&server, &client::trust(&server, None), "wrong").is_none());

    write_pack(&ada, "", "bare", "1.0.0", "", "one = 1\n");
    std::fs::remove_file(ada.path("work/README.md")).unwrap();
    ada.run(&["publish"]).exits(1).says(&["`bare 1.0.0` cannot be published", "README"]);
    ada.run(&["publish", "--offline"]).exits(2).says(&["--offline"]);
}

/// The registry chooses other versions of dependencies than the author has, and then its checker may say no.
#[test]
fn the_registrys_checker_speaks_to_the_author() {
    let server = Server::start();
    let ada = author(&server, "ada");
    workspace(&ada);
    ada.run(&["publish", "-p", "tiles"]).exits(0);
    ada.write("work/packs/tiles/src/lib.exo", "def tile(p):\n    return p\n\ndef brand_new(p):\n    return p\n");
    ada.write("work/packs/blocks/src/lib.exo", "from tiles import brand_new\n\nblock = brand_new\n");
    let said = ada.run(&["publish", "-p", "@ada/blocks"]).exits(4);
    said.says(&[
        "refuses `@ada/blocks`",
        "its modules were refused",
        "src/lib.exo:1",
        "brand_new",
        "nothing was published",
    ]);
    let json = ada.run(&["publish", "-p", "@ada/blocks", "--format", "json"]).exits(4).json();
    assert_eq!(json["error"]["diagnostics"][0]["primary"]["place"]["file"], "src/lib.exo", "{json}");
}

/// Killed before or after any request, and between any two changes of files: the same command finishes what was begun.
#[test]
fn a_publish_that_dies_at_a_step_can_be_repeated() {
    let server = Server::start();
    let ada = author(&server, "ada");
    let mut died = 0;
    for step in (1..400).step_by(3) {
        write_pack(&ada, "", "base", &format!("1.0.{step}"), "", "one = 1\n");
        let mut publish = ada.command("", &["publish"]);
        publish.env("EXO_TEST_KILL_AT", step.to_string());
        let run = finish(publish);
        ada.run(&["publish"]).exits(0).prints(&["in registry"]);
        if run.code == Some(0) {
            break;
        }
        died += 1;
    }
    assert!((5..130).contains(&died), "{died}");
    let trust = client::trust(&server, None);
    assert_eq!(client::check(&server, &trust, "base").0.versions.len(), died + 1);
    assert!(server.operate("verify-all", &[]).contains(&format!("{} versions", died + 1)));
    let left = |folder: &str| {
        let entries = std::fs::read_dir(ada.path(folder)).unwrap();
        entries.filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().contains("exo-tmp")).count()
    };
    assert_eq!((left("work"), left("home/.config/exo")), (0, 0));
}

/// Killed at any time, the same command finishes what was begun.
#[test]
fn an_interrupted_publish_can_be_repeated() {
    let server = Server::start();
    let ada = author(&server, "ada");
    for (number, pause) in [20, 120, 250, 400, 600].into_iter().enumerate() {
        write_pack(&ada, "", "base", &format!("1.0.{number}"), "", "one = 1\n");
        let mut publish = ada.command("", &["publish"]);
        let mut child =
            publish.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(pause));
        child.kill().unwrap();
        child.wait().unwrap();
        ada.run(&["publish"]).exits(0).prints(&["in registry"]);
        let trust = client::trust(&server, None);
        assert_eq!(client::check(&server, &trust, "base").0.versions.len(), number + 1);
    }
}

/// Answers one request with a redirect; gives the URL.
fn redirecting(to: &str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let answer = format!(
        "HTTP/1.1 307 Temporary Redirect\r\nlocation: {to}/api/v1/login\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
    );
    std::thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        let mut reader = BufReader::new(&stream);
        let mut length = 0;
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).unwrap();
            if let Some(number) = line.to_lowercase().strip_prefix("content-length: ") {
                length = number.trim().parse().unwrap();
            }
            if line.trim().is_empty() {
                break;
            }
        }
        let mut body = vec![0; length];
        std::io::Read::read_exact(&mut reader, &mut body).unwrap();
        (&stream).write_all(answer.as_bytes()).unwrap();
    });
    url
}

#[test]
fn secrets_are_not_carried_to_another_place() {
    let thief = TcpListener::bind("127.0.0.1:0").unwrap();
    let (sender, receiver) = mpsc::channel();
    let url = format!("http://{}", thief.local_addr().unwrap());
    std::thread::spawn(move || {
        let _ = thief.accept();
        let _ = sender.send(());
    });
    let mut ada = Sandbox::new();
    ada.set("EXO_TOKEN", "exo_secret");
    ada.set("EXO_REGISTRY", &redirecting(&url));
    let said = ada.run(&["token", "list"]).exits(1).says(&["is somewhere else now", "nothing was sent there"]);
    assert!(!said.stderr.contains("exo_secret"));
    assert!(receiver.recv_timeout(Duration::from_millis(300)).is_err(), "the other place was visited");

    ada.set("EXO_REGISTRY", "http://packs.example.org");
    ada.run(&["token", "list"]).exits(2).says(&["has no TLS", "plain-http = true"]);
    ada.set("EXO_REGISTRY", "http://127.0.0.1:9");
    ada.run(&["token", "list"])
        .exits(3)
        .says(&["cannot reach `http://127.0.0.1:9/api/v1/tokens`", "check the network"]);
    ada.set("EXO_REGISTRY", "file:///srv/mirror");
    ada.run(&["token", "list"]).exits(2).says(&["is a folder, which has no accounts"]);
    ada.set("EXO_REGISTRY", "");
    ada.run(&["token", "list"]).exits(2).says(&["no registry is configured", "--registry"]);
}

/// Tests that use dev-dependencies are left out at the registry, as they are where the pack is installed.
#[test]
fn dev_dependencies_do_not_keep_a_pack_from_being_published() {
    let server = Server::start();
    let ada = author(&server, "ada");
    write_pack(&ada, "", "base", "1.0.0", "", "one = 1\n");
    ada.run(&["publish"]).exits(0);
    write_pack(&ada, "tool", "tool", "1.0.0", "\n[dev-dependencies]\nbase = \"1\"\n", "two = 2\n");
    let test = "from base import one\nfrom tool import two\n\n\ndef test_two():\n    assert_eq(one + one, two)\n";
    ada.write("work/tool/tests/two.exo", test);
    ada.run(&["-C", "tool", "test"]).exits(0);
    ada.run(&["-C", "tool", "publish"]).exits(0);
    let user = home(&server);
    user.project("");
    user.run(&["add", "tool"]).exits(0).prints(&["added tool 1.0.0"]);
}
