//! Tests of the checks before publishing.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::expect_used)]

use super::*;

const READY: &str = "[pack]\nname = \"p\"\nversion = \"1.0.0\"\nkind = \"schedule\"\nexo = \">=0.1\"\ndescription = \"Blocks loops\"\n\
                     license = \"MIT\"\nrepository = \"https://example.org/p\"\n";

/// What is found in a sound pack after a change of its files.
fn found(change: impl FnOnce(&mut PackFiles)) -> Vec<Finding> {
    let mut files = PackFiles::default();
    for (path, text) in [
        ("Exo.toml", READY),
        ("README.md", "# p\n\nIt blocks loops.\n"),
        ("CHANGELOG.md", "## 1.0.0\n"),
        ("LICENSE", "MIT"),
        ("src/lib.exo", "x = 1\n"),
        ("tests/t.exo", "y = 1\n"),
    ] {
        files.files.insert(path.to_owned(), text.as_bytes().to_vec());
    }
    change(&mut files);
    let manifest = Manifest::parse(&String::from_utf8_lossy(&files.files["Exo.toml"])).unwrap();
    examine(&files, &manifest, "# p\n\nScheduling functions.\n")
}

fn texts(found: &[Finding]) -> Vec<String> {
    found.iter().map(ToString::to_string).collect()
}

fn put(path: &str, text: impl Into<String>) -> impl FnOnce(&mut PackFiles) {
    let (path, text) = (path.to_owned(), text.into());
    move |files| {
        files.files.insert(path, text.into_bytes());
    }
}

#[test]
fn a_sound_pack_is_ready() {
    assert_eq!(found(|_| ()), []);
}

#[test]
fn what_people_read_must_be_there_and_their_own() {
    let readme = |text: &str| texts(&found(put("README.md", text)));
    assert_eq!(readme("# p\n"), ["README.md: the README is empty"]);
    assert_eq!(readme("# p\n\nScheduling   functions."), ["README.md: the README is the one that `exo new` wrote"]);
    let without = found(|files| {
        files.files.remove("README.md");
        files.files.remove("CHANGELOG.md");
    });
    assert_eq!(
        texts(&without),
        ["README.md: the pack has no README.md", "CHANGELOG.md: there is no word about version 1.0.0"]
    );
    assert_eq!(without[1].weight, Weight::Advice);
}

#[test]
fn description_and_licence_are_asked_for() {
    let bare = "[pack]\nname = \"p\"\nversion = \"1.0.0\"\nkind = \"schedule\"\n";
    let all = found(put("Exo.toml", bare));
    let refused: Vec<&Finding> = all.iter().filter(|finding| finding.weight == Weight::Refusal).collect();
    assert_eq!(refused.len(), 2, "{all:?}");
    assert_eq!(all.len(), 4, "{all:?}");
    let licence = |text: &str| found(put("Exo.toml", READY.replace("\"MIT\"", &format!("\"{text}\""))));
    for sound in ["MIT OR Apache-2.0", "Apache-2.0 WITH LLVM-exception", "LicenseRef-ours"] {
        assert_eq!(licence(sound), [], "{sound}");
    }
    let wrong = licence("apache2 or MIT");
    assert!(wrong[0].message.contains("the licence `apache2 or MIT` is no SPDX expression"), "{wrong:?}");
    assert_eq!(wrong[0].hint, "write `Apache-2.0 OR MIT`");
    assert!(licence("my own")[0].hint.contains("LicenseRef"), "{:?}", licence("my own"));
}

#[test]
fn what_others_cannot_get_is_named_with_its_line() {
    let with = |line: &str| texts(&found(put("Exo.toml", format!("{READY}\n[dependencies]\n{line}\n"))));
    assert_eq!(
        with("a = { path = \"../a\" }"),
        ["Exo.toml:11: `a` comes from the folder `../a`, which nobody else has"]
    );
    assert_eq!(with("a = { path = \"../a\", version = \"1\" }"), Vec::<String>::new());
    assert!(with("a = { git = \"https://x.example/a\", rev = \"0123abc\" }")[0].contains("published packs only"));
    assert_eq!(with("a = \"*\""), ["Exo.toml:11: `a` is taken at any version"]);
}

#[test]
fn secrets_are_told_with_file_and_line() {
    let token = format!("ghp_{}", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8s9T0");
    let all = found(put("tests/t.exo", format!("y = 1\nt = \"{token}\"\n")));
    assert_eq!(texts(&all), ["tests/t.exo:2: this looks like a token of GitHub"]);
    assert!(all[0].hint.contains("not a secret"));
}

#[test]
fn a_pack_without_modules_is_none() {
    let all = found(|files| {
        files.files.remove("src/lib.exo");
        files.files.remove("tests/t.exo");
    });
    assert_eq!(texts(&all), ["src: the pack has no modules", "tests: the pack has no tests"]);
}

#[test]
fn what_lists_show_is_short_and_can_be_seen() {
    let long = format!("[\"{}\"]", "k".repeat(41));
    let words = format!("[{}]", "\"a\", ".repeat(11));
    for (lines, expected) in [
        ("keywords = [\"tile\", \"für 日本語\"]".to_owned(), None),
        ("keywords = [\"tile\", \"a\\u0000b\"]".to_owned(), Some("keyword 2 has a character that cannot be seen")),
        ("keywords = [\"\\u001b[31m\"]".to_owned(), Some("keyword 1 has a character that cannot be seen")),
        ("keywords = [\"\"]".to_owned(), Some("keyword 1 is empty")),
        (format!("keywords = {long}"), Some("keyword 1 is longer than 40 characters")),
        (format!("keywords = {words}"), Some("there are more than 10 keywords")),
    ] {
        let refused: Vec<Finding> = found(put("Exo.toml", format!("{READY}{lines}\n")));
        let first = refused.first().map(ToString::to_string);
        match expected {
            None => assert_eq!(first, None),
            Some(expected) => {
                assert!(first.as_ref().is_some_and(|text| text.contains(expected)), "{first:?} is not {expected}");
                assert_eq!((refused[0].weight, refused[0].file.as_str()), (Weight::Refusal, "Exo.toml"));
            }
        }
    }
    for (line, hidden) in [("https://example.org/p", "https://example.org/\\u0000"), ("\"MIT\"", "\"MIT\\u0000\"")] {
        let text = texts(&found(put("Exo.toml", READY.replace(line, hidden))));
        assert!(text[0].contains("not one line of at most 300 bytes"), "{text:?}");
    }
}
