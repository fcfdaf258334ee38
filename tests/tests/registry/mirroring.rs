//! `exo-registry mirror`, and `exo` with a mirror: what is copied, what is refused, and what a mirror can and cannot do.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use exo_index::registry::layout;
use exo_tests::command_line::Sandbox;

use crate::authors::{author, typed, write_pack};
use crate::server::{PASSWORD, Pack, Server, program};
use crate::site::{FileServer, Site, files, key, now, whole, write};

fn command(from: &str, folder: &Path, more: &[&str]) -> Command {
    let mut command = Command::new(program());
    command.args(["mirror", "--from", from]).args(more).arg(folder);
    command
}

/// Mirrors, and gives what is said; as an error where it fails.
fn mirror(from: &str, folder: &Path, more: &[&str]) -> Result<String, String> {
    let output = command(from, folder, more).output().unwrap();
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if output.status.success() { Ok(text) } else { Err(text) }
}

fn url(folder: &Path) -> String {
    format!("file://{}", folder.display())
}

/// A registry of three packs, and a mirror of it.
fn mirrored() -> (Site, tempfile::TempDir) {
    let mut site = Site::new();
    site.publish(&[Pack::new("base", "1.0.0"), Pack::new("tiles", "1.0.0"), Pack::new("@ada/blocks", "0.1.0")]);
    let folder = tempfile::tempdir().unwrap();
    let said = mirror(&url(site.folder.path()), folder.path(), &[]).unwrap();
    assert!(said.contains(&format!("the root is {}", site.pin())) && said.contains("3 packs new or changed"), "{said}");
    (site, folder)
}

#[test]
fn a_mirror_is_the_same_and_gets_only_what_is_new() {
    let (mut site, folder) = mirrored();
    assert_eq!(whole(folder.path()), Some(3));
    assert_eq!(files(folder.path()), files(site.folder.path()));
    let server = FileServer::start(site.folder.path(), None);
    let said = mirror(&server.url, folder.path(), &["--root", &site.pin()]).unwrap();
    assert!(said.contains("nothing is new") && server.requests() == 1, "{said}");
    site.publish(&[Pack::new("tiles", "1.1.0")]);
    let more: Vec<Vec<u8>> = (0..300).map(|number| format!("leaf {number}").into_bytes()).collect();
    site.append(&more);
    let said = mirror(&server.url, folder.path(), &[]).unwrap();
    assert!(said.contains("1 pack new or changed"), "{said}");
    // The pointer twice, tiles for the proof, two tiles of leaves, snapshot, bucket, shard and archive.
    assert!(server.requests() <= 10, "{:?}", server.heads.lock().unwrap());
    assert_eq!(whole(folder.path()), Some(3));
    // New keys are followed, also from a first visit on.
    let root = site.root(2).sign(&[&key(1)]).unwrap().to_bytes().unwrap();
    write(site.folder.path(), &layout::root(2), &root);
    site.pointer.root = 2;
    site.append(&[]);
    mirror(&server.url, folder.path(), &[]).unwrap();
    assert_eq!(whole(folder.path()), Some(3));
    let second = tempfile::tempdir().unwrap();
    mirror(&url(folder.path()), second.path(), &["--root", &site.pin(), "--jobs", "1"]).unwrap();
    assert_eq!(whole(second.path()), Some(3));
}

#[test]
fn an_upstream_that_lies_leaves_the_mirror_as_it_was() {
    let (mut site, folder) = mirrored();
    let old = site.pointer.clone();
    site.publish(&[Pack::new("tiles", "1.1.0")]);
    mirror(&url(site.folder.path()), folder.path(), &[]).unwrap();
    let before = files(folder.path());
    let refused = |site: &Site, why: &str| {
        let said = mirror(&url(site.folder.path()), folder.path(), &[]).unwrap_err();
        assert!(said.contains(why), "{said}");
        assert_eq!(files(folder.path()), before);
    };
    let good = site.pointer.clone();
    site.sign(&old, &key(2));
    refused(&site, "the registry went back: pointer version 1 is below 2");
    site.pointer.version += 1;
    site.sign(&site.pointer, &key(9));
    refused(&site, "the pointer is not signed by a key of the registry's root");
    site.pointer.expires = now() - 86_400;
    site.sign(&site.pointer, &key(2));
    refused(&site, "the registry's pointer expired 24 hours ago");
    site.pointer.expires = good.expires + 1;
    site.pointer.version = good.version;
    site.sign(&site.pointer, &key(2));
    refused(&site, "two different pointers of version 2");
    // Another history of the same registry, signed by the right key.
    site.forget_log();
    site.publish(&[Pack::new("base", "1.0.0"), Pack::new("evil", "1.0.0")]);
    site.append(&vec![b"more".to_vec(); 5]);
    refused(&site, "does not continue the log of 4 entries seen before");
    let other = mirror(&url(site.folder.path()), folder.path(), &["--root", &format!("sha256:{}", "0".repeat(64))]);
    assert!(other.unwrap_err().contains("is pinned"));
    let said = mirror("ftp://packs.example", folder.path(), &[]).unwrap_err();
    assert!(said.contains("does not start with https://"), "{said}");
}

#[test]
fn what_does_not_belong_together_is_not_mirrored() {
    let (mut site, folder) = mirrored();
    let pack = Pack::new("tiles", "1.1.0");
    site.publish(std::slice::from_ref(&pack));
    let shown = std::fs::read(folder.path().join(layout::LATEST)).unwrap();
    let at = site.folder.path().to_path_buf();
    let blob = layout::blob(&pack.archive.sha256);
    let snapshot = layout::snapshot(&site.pointer.snapshot);
    for (path, why) in
        [(blob, "an archive has sha256"), (snapshot, "the snapshot has sha256"), (layout::entries(0, 4), "leaves")]
    {
        let good = std::fs::read(at.join(&path)).unwrap();
        let mut wrong = good.clone();
        *wrong.last_mut().unwrap() ^= 1;
        write(&at, &path, &wrong);
        let said = mirror(&url(&at), folder.path(), &[]).unwrap_err();
        assert!(said.contains(why), "{said}");
        std::fs::remove_file(at.join(&path)).unwrap();
        assert!(mirror(&url(&at), folder.path(), &[]).unwrap_err().contains("cannot read"));
        assert_eq!(std::fs::read(folder.path().join(layout::LATEST)).unwrap(), shown);
        assert_eq!(whole(folder.path()), Some(3), "the mirror goes on as it was");
        write(&at, &path, &good);
    }
    mirror(&url(&at), folder.path(), &[]).unwrap();
    // What rots in the mirror itself is found when it is asked for.
    let blob = layout::blob(&pack.archive.sha256);
    write(folder.path(), &blob, b"rotten");
    mirror(&url(&at), folder.path(), &[]).unwrap();
    assert_eq!(std::fs::read(folder.path().join(&blob)).unwrap(), b"rotten");
    mirror(&url(&at), folder.path(), &["--recheck"]).unwrap();
    assert_eq!(files(folder.path()), files(&at));
}

/// Killed at each request, and stopped at each file, a run is taken up by the next.
#[test]
fn a_run_that_is_cut_short_is_taken_up() {
    let (mut site, folder) = mirrored();
    let old = files(folder.path());
    site.publish(&[Pack::new("tiles", "1.1.0"), Pack::new("more", "1.0.0")]);
    let complete = tempfile::tempdir().unwrap();
    mirror(&url(site.folder.path()), complete.path(), &[]).unwrap();
    let (complete, mut new) = (files(complete.path()), Vec::new());
    for path in complete.keys().filter(|path| old.get(*path) != complete.get(*path)) {
        new.push(path.clone());
    }
    let begin = || {
        let folder = tempfile::tempdir().unwrap();
        for (path, bytes) in &old {
            write(folder.path(), path.to_str().unwrap(), bytes);
        }
        folder
    };
    let finish = |folder: &Path| {
        assert!(matches!(whole(folder), Some(3 | 4)));
        mirror(&url(site.folder.path()), folder, &[]).unwrap();
        assert_eq!(whole(folder), Some(4));
        let found = files(folder);
        assert!(complete.iter().all(|(path, bytes)| found.get(path) == Some(bytes)));
    };
    let mut killed = 0;
    for at in 1.. {
        let folder = begin();
        let server = FileServer::start(site.folder.path(), Some(at));
        let mut child = command(&server.url, folder.path(), &[]);
        let mut child = child.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let start = Instant::now();
        let ended = loop {
            if server.requests() >= at {
                std::thread::sleep(Duration::from_millis(20));
                child.kill().unwrap();
                child.wait().unwrap();
                break false;
            }
            if child.try_wait().unwrap().is_some() {
                break true;
            }
            assert!(start.elapsed() < Duration::from_secs(20));
            std::thread::sleep(Duration::from_millis(2));
        };
        finish(folder.path());
        if ended {
            break;
        }
        killed += 1;
    }
    assert!((6..30).contains(&killed), "{killed}");
    assert!(new.len() > 6);
    for path in &new {
        let folder = begin();
        // No draft can be made where a folder stands, so the run ends at this file as if it were killed there.
        let obstacle = folder.path().join(path).with_extension("part");
        std::fs::create_dir_all(&obstacle).unwrap();
        let said = mirror(&url(site.folder.path()), folder.path(), &[]).unwrap_err();
        assert!(said.contains("cannot write"), "{said}");
        assert_eq!(std::fs::read(folder.path().join(layout::LATEST)).unwrap(), old[Path::new(layout::LATEST)]);
        std::fs::remove_dir(&obstacle).unwrap();
        finish(folder.path());
    }
}

#[test]
fn a_mirror_follows_and_two_do_not_share_a_folder() {
    let (mut site, folder) = mirrored();
    let mut follows = command(&url(site.folder.path()), folder.path(), &["--follow", "1"]);
    follows.stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = follows.spawn().unwrap();
    let start = Instant::now();
    while !mirror(&url(site.folder.path()), folder.path(), &[]).is_err_and(|said| said.contains("another run mirrors"))
    {
        assert!(start.elapsed() < Duration::from_secs(20));
        // The run above may have had the folder first, and this one ended for it.
        if child.try_wait().unwrap().is_some() {
            child = follows.spawn().unwrap();
            std::thread::sleep(Duration::from_millis(500));
        }
    }
    // An upstream that lies for a while does not end it.
    let good = site.pointer.clone();
    site.sign(&good, &key(9));
    std::thread::sleep(Duration::from_millis(1500));
    site.publish(&[Pack::new("later", "1.0.0")]);
    while whole(folder.path()) != Some(4) {
        assert!(start.elapsed() < Duration::from_secs(30));
        std::thread::sleep(Duration::from_millis(50));
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

/// A home whose registry is `server`, with its files from `mirror`.
fn home(server: &Server, pin: &str, mirror: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    let text = format!(
        "[registry]\ndefault = \"work\"\n\n[registries.work]\nurl = \"{}\"\nroot = \"{pin}\"\nmirror = \"{mirror}\"\n",
        server.url
    );
    sandbox.write("home/.config/exo/config.toml", &text);
    sandbox.project("");
    sandbox
}

/// A server with `base 1.0.0`, its author, and a mirror behind a file server.
fn three() -> (Server, Sandbox, tempfile::TempDir, FileServer, String) {
    let server = Server::start();
    let ada = author(&server, "ada");
    write_pack(&ada, "", "base", "1.0.0", "", "one = 1\n");
    ada.run(&["publish"]).exits(0);
    let folder = tempfile::tempdir().unwrap();
    let said = mirror(&server.url, folder.path(), &[]).unwrap();
    let pin = said.split(&[' ', ';'][..]).find(|word| word.starts_with("sha256:")).unwrap().to_owned();
    let files = FileServer::start(folder.path(), None);
    (server, ada, folder, files, pin)
}

#[test]
fn packs_come_from_the_mirror_and_secrets_go_to_the_registry() {
    let (mut server, ada, folder, files, pin) = three();
    let user = home(&server, &pin, &files.url);
    user.run(&["add", "base"]).exits(0).prints(&["added base 1.0.0"]);
    assert!(files.heads.lock().unwrap().iter().any(|head| head.contains("v1/blob/")));
    let lock = user.read("work/Exo.lock");
    assert!(lock.contains(&server.url) && !lock.contains(&files.url), "{lock}");
    // Accounts and publishing are the registry's, also where there is a mirror.
    let eve = home(&server, &pin, &files.url);
    server.account("eve");
    typed(&eve, &["login", "eve"], PASSWORD).exits(0);
    write_pack(&eve, "", "tiles", "1.0.0", "", "two = 2\n");
    eve.run(&["publish"]).exits(0).prints(&["tiles 1.0.0 published"]);
    eve.run(&["owner", "list", "tiles"]).exits(0).prints(&["eve"]);
    assert!(!files.heads.lock().unwrap().iter().any(|head| head.contains("authorization") || head.contains("/api/")));
    // She has seen a later state than the mirror shows, which could as well hide something.
    eve.project("");
    eve.run(&["add", "tiles"]).exits(1).says(&[
        &format!("mirror `{}` of registry `{}`: the registry went back", files.url, server.url),
        "without that line",
    ]);
    user.run(&["add", "tiles"]).exits(1).says(&["no pack `tiles`"]);
    mirror(&server.url, folder.path(), &[]).unwrap();
    eve.run(&["add", "tiles"]).exits(0);
    user.run(&["add", "tiles"]).exits(0);
    // With the registry gone, the mirror is enough.
    server.kill();
    let other = home(&server, &pin, &files.url);
    other.run(&["add", "base", "tiles"]).exits(0);
    drop(ada);
    let unpinned = user.read("home/.config/exo/config.toml").replace("root = ", "# ");
    user.write("home/.config/exo/config.toml", &unpinned);
    user.run(&["outdated"]).exits(2).says(&["registry `work` has a mirror and no root", "pin them with"]);
}

#[test]
fn a_mirror_that_lies_is_found_out() {
    let (server, ada, folder, files, pin) = three();
    let path = |path: &str| folder.path().join(path);
    let old = std::fs::read(path(layout::LATEST)).unwrap();
    let user = home(&server, &pin, &files.url);
    write_pack(&ada, "", "base", "1.1.0", "", "one = 1\n");
    ada.run(&["publish"]).exits(0);
    mirror(&server.url, folder.path(), &[]).unwrap();
    user.run(&["add", "base"]).exits(0).prints(&["added base 1.1.0"]);
    let new = std::fs::read(path(layout::LATEST)).unwrap();

    std::fs::write(path(layout::LATEST), &old).unwrap();
    user.run(&["update"]).exits(1).says(&["the registry went back: pointer version", "another network or mirror"]);
    std::fs::write(path(layout::LATEST), &new).unwrap();
    // A pointer of its own, under keys that are not the registry's.
    let mut other = Site::new();
    other.publish(&[Pack::new("base", "1.2.0")]);
    let forged = std::fs::read(other.folder.path().join(layout::LATEST)).unwrap();
    std::fs::write(path(layout::LATEST), forged).unwrap();
    user.run(&["update"]).exits(1).says(&["this is the registry `packs.example`"]);
    std::fs::write(path(layout::LATEST), &new).unwrap();
    let root = std::fs::read(path("v1/root/1.json")).unwrap();
    std::fs::copy(other.folder.path().join("v1/root/1.json"), path("v1/root/1.json")).unwrap();
    home(&server, &pin, &files.url).run(&["add", "base"]).exits(1).says(&["is pinned"]);
    std::fs::write(path("v1/root/1.json"), root).unwrap();

    // One archive in place of another, and one that is withheld.
    let blobs: Vec<_> = std::fs::read_dir(path("v1/blob")).unwrap().map(|entry| entry.unwrap().path()).collect();
    let kept: Vec<_> = blobs.iter().map(|blob| std::fs::read(blob).unwrap()).collect();
    std::fs::write(&blobs[0], &kept[1]).unwrap();
    std::fs::write(&blobs[1], &kept[0]).unwrap();
    let fresh = home(&server, &pin, &files.url);
    let before = fresh.read("work/Exo.toml");
    fresh.run(&["add", "base"]).exits(1).says(&["the archive has sha256", "damaged or tampered with"]);
    assert!(fresh.read("work/Exo.toml") == before && !fresh.exists("work/Exo.lock"));
    blobs.iter().for_each(|blob| std::fs::remove_file(blob).unwrap());
    let said = fresh.run(&["add", "base"]).exits(3);
    said.says(&[&format!("mirror `{}` of registry `{}` lacks `v1/blob/", files.url, server.url), "incomplete"]);
    mirror(&server.url, folder.path(), &["--recheck"]).unwrap();
    fresh.run(&["add", "base"]).exits(0).prints(&["added base 1.1.0"]);

    // Hashes of the log that are not those of the registry, which did nothing wrong.
    let served = crate::site::files(folder.path());
    let tiles = served.iter().filter(|(file, _)| file.starts_with("v1/tile") && !file.starts_with("v1/tile/entries"));
    tiles.for_each(|(file, bytes)| std::fs::write(folder.path().join(file), vec![7; bytes.len()]).unwrap());
    let said = home(&server, &pin, &files.url).run(&["add", "base"]).exits(1);
    let said = said
        .says(&[&format!("mirror `{}` serves a log that does not fit", files.url), "in the configuration names it"]);
    assert!(!said.stderr.contains("error[E0604]: registry"), "{}", said.stderr);
}

/// A mirror copies all archives, which says nothing of who uses them.
#[test]
fn what_a_mirror_copies_is_no_download() {
    let server = Server::start();
    let ada = server.account("ada");
    let pack = Pack::new("base", "1.0.0");
    assert_eq!(server.publish(&ada, std::slice::from_ref(&pack))["state"], "published");
    let folder = tempfile::tempdir().unwrap();
    mirror(&server.url, folder.path(), &[]).unwrap();
    let blob = format!("v1/blob/{}", pack.archive.sha256);
    assert!(folder.path().join(&blob).exists());
    let downloads = || server.get("/api/v1/packs/base").is(200).json()["downloads"].clone();
    assert_eq!(downloads(), 0);
    server.get(&format!("/{blob}")).is(200);
    assert_eq!(downloads(), 1);
}
