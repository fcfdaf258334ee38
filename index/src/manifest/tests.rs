//! Tests of the manifest.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::expect_used)]

use proptest::prelude::*;

use super::*;

const FULL: &str = r#"
[pack]
name = "neon-conv2d"
version = "1.2.0"
kind = "schedule"
exo = ">=0.1"
description = "Convolutions"
license = "MIT"
repository = "https://example.org/x"
keywords = ["conv", "neon"]

[dependencies]
neon = "1.1"
std = { version = "1", registry = "https://packs.example.org" }
local = { path = "../local" }
far = { git = "https://example.org/far", rev = "0123abc" }

[dependencies.long]
version = "2"
path = "../long"

[dev-dependencies]
bench = "*"

[[kernel]]
name = "edge_conv"
algorithm = "edge_conv"
schedule = "neon_conv2d:schedule"
targets = ["neon", "avx2:big"]
args = { tile = 4, names = ["a", "b"], deep = { on = true, by = 1.5 } }

[[kernel]]
name = "plain"
algorithm = "std.algorithms:blur"

[[kernel]]
name = "both"
algorithm = "m:f"
targets = ["neon", "avx2"]
schedule = { neon = "a:b", "*" = "std.vectorize:inner" }

[verify]
allow-unsafe = ["far"]

[metadata.anything]
goes = [1, { x = 2 }]
"#;

fn pack(rest: &str) -> String {
    format!("[pack]\nname = \"p\"\nversion = \"1.0.0\"\nkind = \"kernel\"\n{rest}")
}

/// The mistakes of a text as (message, text at the span, hint).
fn mistakes(text: &str) -> Vec<(String, &str, String)> {
    Manifest::parse(text)
        .expect_err("accepted")
        .into_iter()
        .map(|error| (error.message, &text[error.span], error.hint.unwrap_or_default()))
        .collect()
}

/// The only mistake of a text.
fn mistake(text: &str) -> (String, &str, String) {
    let mut all = mistakes(text);
    assert_eq!(all.len(), 1, "{all:?}");
    all.remove(0)
}

#[test]
fn reads_everything() {
    let manifest = Manifest::parse(FULL).unwrap();
    assert_eq!(manifest.pack.name.value.as_str(), "neon-conv2d");
    assert_eq!(&FULL[manifest.pack.name.span.clone()], "\"neon-conv2d\"");
    assert_eq!(manifest.pack.version.value, Version::new(1, 2, 0));
    assert_eq!(manifest.pack.kind, PackKind::Schedule);
    assert_eq!(manifest.pack.exo.to_string(), ">=0.1");
    assert_eq!(manifest.pack.keywords, ["conv", "neon"]);
    let names: Vec<&str> = manifest.dependencies.iter().map(|d| d.name.as_str()).collect();
    assert_eq!(names, ["neon", "std", "local", "far", "long"]);
    assert_eq!(manifest.dependencies[0].source, DependencySource::Default);
    assert_eq!(manifest.dependencies[1].source, DependencySource::Registry("https://packs.example.org".into()));
    assert_eq!(manifest.dependencies[2].source, DependencySource::Path("../local".into()));
    assert!(manifest.dependencies[2].requirement.is_any());
    assert_eq!(
        manifest.dependencies[3].source,
        DependencySource::Git("https://example.org/far?rev=0123abc".parse().unwrap())
    );
    assert_eq!(manifest.dependencies[4].requirement, Requirement::parse("2").unwrap());
    assert_eq!(manifest.dev_dependencies[0].name.as_str(), "bench");
    assert_eq!(manifest.allow_unsafe[0].value.as_str(), "far");
    assert!(matches!(manifest.metadata["anything"], Value::Table(_)));
}

#[test]
fn reads_kernels() {
    let manifest = Manifest::parse(FULL).unwrap();
    let [edge, plain, both] = manifest.kernels.as_slice() else { panic!("three kernels") };
    assert_eq!(edge.algorithm.value, Reference { module: None, name: "edge_conv".into() });
    let targets: Vec<String> = edge.targets.iter().map(|t| t.value.to_string()).collect();
    assert_eq!(targets, ["neon", "avx2:big"]);
    assert_eq!((edge.targets[0].value.value_name(), edge.targets[1].value.value_name()), ("target", "big"));
    assert_eq!(edge.targets[1].value.directory_name(), "avx2-big");
    assert_eq!(edge.args["tile"], Value::Integer(4));
    assert_eq!(plain.algorithm.value.to_string(), "std.algorithms:blur");
    assert!(plain.schedule.is_none() && plain.targets.is_empty() && plain.args.is_empty());
    let schedule = both.schedule.as_ref().unwrap();
    assert_eq!(schedule.for_target("neon").unwrap().value.to_string(), "a:b");
    assert_eq!(schedule.for_target("avx2").unwrap().value.to_string(), "std.vectorize:inner");
}

#[test]
fn asks_for_what_is_missing() {
    let (message, _, hint) = mistake("");
    assert!(message.contains("`[pack]` is missing") && hint.contains("kind"), "{message} {hint}");
    let text = "[pack]\n";
    let all = mistakes(text);
    let messages: Vec<&str> = all.iter().map(|(message, _, _)| message.as_str()).collect();
    assert_eq!(messages, ["`[pack]` has no `name`", "`[pack]` has no `version`", "`[pack]` has no `kind`"]);
    assert!(all.iter().all(|(_, at, _)| *at == "pack"));
}

#[test]
fn collects_all_mistakes_in_the_order_of_the_text() {
    let all = mistakes(
        "[pack]\nname = \"P\"\nversion = \"1\"\nkind = \"library\"\ncolour = 1\n[dependencies]\nx = \"one\"\n",
    );
    let places: Vec<&str> = all.iter().map(|(_, at, _)| *at).collect();
    assert_eq!(places, ["\"P\"", "\"1\"", "\"library\"", "colour", "\"one\""]);
}

#[test]
fn proposes_the_nearest_key() {
    let cases = [
        (pack("licence = \"MIT\"\n"), "licence", "did you mean `license`?"),
        (pack("[dependancies]\nx = \"1\"\n"), "dependancies", "did you mean `dependencies`?"),
        (pack("[dependencies]\nx = { verison = \"1\", path = \"..\" }\n"), "verison", "did you mean `version`?"),
        (pack("[verify]\nallow_unsafe = []\n"), "allow_unsafe", "did you mean `allow-unsafe`?"),
        (pack("[[kernel]]\nname = \"k\"\nalgorithm = \"k\"\nshedule = \"a\"\n"), "shedule", "did you mean `schedule`?"),
    ];
    for (text, at, hint) in &cases {
        let (message, place, found) = mistake(text);
        assert!(message.starts_with("unknown key"), "{message}");
        assert_eq!((place, found.as_str()), (*at, *hint));
    }
    let text = pack("zzz = 1\n");
    assert!(mistake(&text).2.contains("`[metadata]`"));
}

#[test]
fn refuses_wrong_types() {
    let cases = [
        (pack("description = 1\n"), "`description` of `[pack]` must be a string, not an integer", "1"),
        (pack("keywords = \"a\"\n"), "`keywords` of `[pack]` must be a list of strings, not a string", "\"a\""),
        (pack("keywords = [\"a\", 2]\n"), "`keywords` is a list of strings, this is an integer", "2"),
        (
            pack("[dependencies]\nx = 1\n"),
            "dependency `x` must be a version requirement or a table, not an integer",
            "1",
        ),
        (pack("[kernel]\nname = \"k\"\n"), "`kernel` must be a list of tables, not a table", "[kernel]"),
    ];
    for (text, message, at) in &cases {
        let (found, place, _) = mistake(text);
        assert_eq!((found.as_str(), place), (*message, *at));
    }
}

#[test]
fn refuses_dependencies_that_mean_nothing_or_too_much() {
    let cases = [
        ("x = { registry = \"r\" }", "neither which version"),
        ("x = {}", "neither which version"),
        ("x = { path = \"a\", registry = \"b\" }", "both `registry` and `path`"),
        ("x = { git = \"https://h/b\" }", "does not say which commit"),
        ("x = { git = \"https://h/b\", tag = \"a\", branch = \"b\" }", "both `tag` and `branch`"),
        ("x = { git = \"https://h/b\", rev = \"main\" }", "`main` is not a commit"),
        ("x = { git = \"--upload-pack=x\", rev = \"0123abc\" }", "has no protocol"),
        ("x = { git = \"https://h/b\", tag = \"v1\", path = \"../x\" }", "no path of a folder"),
        ("x = { version = \"1\", rev = \"b\" }", "`rev` without `git`"),
        ("x = { path = \"..\\\\x\" }", "contains `\\`"),
        ("x = { path = \"\" }", "`path` is empty"),
        ("p = \"1\"", "depends on itself"),
        ("Neon = \"1\"", "lower-case"),
        ("\"@a/x\" = \"1\"\nx = \"1\"", "would both be imported as `x`"),
        ("\"@a/p\" = \"1\"", "would both be imported as `p`"),
        ("x = \"1\"\n[dev-dependencies]\nx = { path = \"x\" }", "two places"),
    ];
    for (line, part) in cases {
        let text = pack(&format!("[dependencies]\n{line}\n"));
        let (message, _, _) = mistake(&text);
        assert!(message.contains(part), "{line}: {message}");
    }
}

#[test]
fn refuses_kernels_that_cannot_be_built() {
    let kernel = |rest: &str| pack(&format!("[[kernel]]\nname = \"k\"\nalgorithm = \"k\"\n{rest}\n"));
    let cases = [
        (kernel("targets = [\"neon\", \"neon\"]"), "listed twice"),
        (kernel("targets = [\"ne-on\"]"), "does not name a target"),
        (kernel("schedule = \"a:b:c\""), "does not name a value"),
        (kernel("schedule = 3"), "must be a string or a table"),
        (kernel("targets = [\"neon\"]\nschedule = { avx2 = \"a\", \"*\" = \"b\" }"), "not in `targets`"),
        (kernel("targets = [\"neon\", \"avx2\"]\nschedule = { avx2 = \"a\" }"), "`neon` has no schedule"),
        (kernel("args = { \"a-b\" = 1 }"), "not an identifier"),
        (kernel("args = { a = [2020-01-01] }"), "date"),
        (kernel("[[kernel]]\nname = \"K\"\nalgorithm = \"k\""), "would share their files"),
        (pack("[[kernel]]\nname = \"1k\"\nalgorithm = \"k\"\n"), "not a C identifier"),
    ];
    for (text, part) in &cases {
        let (message, _, _) = mistake(text);
        assert!(message.contains(part), "{text}: {message}");
    }
}

#[test]
fn refuses_newer_formats_before_anything_else() {
    let text = format!("format = 2\n{}", pack("from-the-future = 1\n"));
    let (message, at, hint) = mistake(&text);
    assert!(message.contains("format 2 is not known"), "{message}");
    assert_eq!((at, hint.as_str()), ("2", "update exo"));
    assert!(Manifest::parse(&format!("format = 1\n{}", pack(""))).is_ok());
    assert_eq!(mistake(&format!("format = \"1\"\n{}", pack(""))).1, "\"1\"");
}

#[test]
fn reports_broken_toml_at_its_place() {
    let text = "[pack\nname = 1";
    let error = &Manifest::parse(text).unwrap_err()[0];
    assert!(error.message.starts_with("not valid TOML"), "{}", error.message);
    assert!(error.span.start <= 6);
    assert!(Manifest::parse(&pack("name = \"q\"\n")).unwrap_err()[0].message.contains("duplicate"));
}

fn new(name: &str, requirement: Option<&str>, source: DependencySource) -> NewDependency {
    NewDependency { name: PackName::parse(name).unwrap(), requirement: requirement.map(str::to_owned), source }
}

const COMMENTED: &str = r#"# top
[pack]   # the pack
name = "p"
version = "1.0.0"
kind = "kernel"

# what we need
[dependencies]
avx2 = "1"   # first

# machines
neon = { version = "1.1" } # second
# the end
"#;

#[test]
fn adds_in_order_and_keeps_comments() {
    let added =
        add_dependency(COMMENTED, DependencyKind::Normal, &new("gemmini", Some("2.0"), DependencySource::Default))
            .unwrap();
    let expected = COMMENTED.replace("\n# machines\n", "gemmini = \"2.0\"\n\n# machines\n");
    assert_eq!(added, expected);
    let path = new("zed", None, DependencySource::Path("../zed".into()));
    let added = add_dependency(COMMENTED, DependencyKind::Normal, &path).unwrap();
    assert_eq!(added, COMMENTED.replace("# second\n", "# second\nzed = { path = \"../zed\" }\n"));
}

#[test]
fn adds_last_when_the_section_is_not_sorted() {
    let text = pack("[dependencies]\nz = \"1\"\na = \"1\"\n");
    let added = add_dependency(&text, DependencyKind::Normal, &new("m", Some("1"), DependencySource::Default)).unwrap();
    assert_eq!(added, format!("{text}m = \"1\"\n"));
}

#[test]
fn adds_a_missing_section() {
    let text = pack("");
    let git = DependencySource::Git("https://e.org/x?rev=0123abc".parse().unwrap());
    let added = add_dependency(&text, DependencyKind::Dev, &new("x", Some("1"), git)).unwrap();
    assert_eq!(
        added,
        format!(
            "{text}\n[dev-dependencies]\nx = {{ version = \"1\", git = \"https://e.org/x\", rev = \"0123abc\" }}\n"
        )
    );
}

#[test]
fn replaces_a_value_in_place() {
    let added =
        add_dependency(COMMENTED, DependencyKind::Normal, &new("neon", Some("2"), DependencySource::Default)).unwrap();
    assert_eq!(added, COMMENTED.replace("{ version = \"1.1\" }", "\"2\""));
    let table = pack("[dependencies.x]\n# why\npath = \"../x\"\n");
    let added =
        add_dependency(&table, DependencyKind::Normal, &new("x", Some("3"), DependencySource::Default)).unwrap();
    let manifest = Manifest::parse(&added).unwrap();
    assert_eq!(manifest.dependencies[0].source, DependencySource::Default);
    assert_eq!(manifest.dependencies[0].requirement, Requirement::parse("3").unwrap());
}

#[test]
fn refuses_edits_that_break_the_manifest() {
    let own = new("p", Some("1"), DependencySource::Default);
    assert!(matches!(add_dependency(COMMENTED, DependencyKind::Normal, &own), Err(EditError::After(_))));
    assert!(matches!(add_dependency("[pack]", DependencyKind::Normal, &own), Err(EditError::Before(_))));
    let bad = new("x", Some("one"), DependencySource::Default);
    assert!(matches!(add_dependency(COMMENTED, DependencyKind::Normal, &bad), Err(EditError::After(_))));
}

#[test]
fn removes_a_line_and_nothing_else() {
    let name = PackName::parse("neon").unwrap();
    let removed = remove_dependency(COMMENTED, DependencyKind::Normal, &name).unwrap();
    let expected = COMMENTED.replace("\n# machines\nneon = { version = \"1.1\" } # second\n", "");
    assert_eq!(removed, expected);
    let first = PackName::parse("avx2").unwrap();
    let removed = remove_dependency(COMMENTED, DependencyKind::Normal, &first).unwrap();
    assert_eq!(removed, COMMENTED.replace("avx2 = \"1\"   # first\n", ""));
}

#[test]
fn says_why_nothing_was_removed() {
    let name = PackName::parse("noen").unwrap();
    let error = remove_dependency(COMMENTED, DependencyKind::Normal, &name).unwrap_err();
    assert_eq!(error.to_string(), "`noen` is not in `[dependencies]`");
    let EditError::Absent { nearest, in_other_section, .. } = error else { panic!("absent") };
    assert_eq!((nearest, in_other_section), (vec!["neon".to_owned()], false));
    let neon = PackName::parse("neon").unwrap();
    let error = remove_dependency(COMMENTED, DependencyKind::Dev, &neon).unwrap_err();
    assert!(matches!(error, EditError::Absent { in_other_section: true, .. }));
}

/// Pieces of manifests, sound and unsound, to be put together at random.
fn any_manifest_text() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "[pack]\n",
        "name = \"p\"\n",
        "version = \"1.0.0\"\n",
        "kind = \"kernel\"\n",
        "exo = 1\n",
        "pack.name = \"q\"\n",
        "keywords = [\"a\", 1, [ ]]\n",
        "[dependencies]\n",
        "[dependencies.y]\n",
        "dependencies.z.path = \"..\"\n",
        "x = \"1\"\n",
        "\"@v/x\" = { version = \"1\", rev = 2 }\n",
        "x = { path = \"a\", git = 1 }\n",
        "[dev-dependencies]\n",
        "[[kernel]]\n",
        "schedule = { a = \"b\", \"*\" = 1 }\n",
        "schedule.a = \"b:c\"\n",
        "targets = [\"a\", 2]\n",
        "algorithm = \"é\"\n",
        "[kernel.args]\n",
        "args = 1\n",
        "[verify]\n",
        "allow-unsafe = [\"x\", \"x\"]\n",
        "[metadata]\n",
        "[metadata.deep.er]\n",
        "format = 1\n",
        "# é\n",
        "\r\n",
        "dependencies = 1\n",
        "kernel = []\n",
        "pack = { name = \"p\" }\n",
        "verify = [1]\n",
        "=\n",
    ]);
    prop::collection::vec(piece, 0..14).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn every_mistake_has_a_place_in_the_text(text in any_manifest_text()) {
        if let Err(errors) = Manifest::parse(&text) {
            prop_assert!(!errors.is_empty());
            for error in errors {
                prop_assert!(text.get(error.span.clone()).is_some(), "{:?}", error);
                prop_assert!(!error.message.ends_with('.') && !error.message.is_empty());
            }
        }
    }

    #[test]
    fn removing_what_was_added_gives_the_text_back(
        names in prop::collection::btree_set("[a-f]{1,3}", 0..5), comments in any::<bool>(), added in "[g-m]{1,3}|[a-f]{4}"
    ) {
        let mut text = pack("\n[dependencies]\n");
        for name in names.iter().filter(|name| PackName::parse(name).is_ok()) {
            if comments {
                text += &format!("\n# about {name}\n{name}   = '1'  # {name}\n");
            } else {
                text += &format!("{name} = \"1\"\n");
            }
        }
        prop_assume!(PackName::parse(&added).is_ok());
        let edited =
            add_dependency(&text, DependencyKind::Normal, &new(&added, Some("1.2"), DependencySource::Default)).unwrap();
        prop_assert!(Manifest::parse(&edited).unwrap().dependency(&PackName::parse(&added).unwrap()).is_some());
        let back = remove_dependency(&edited, DependencyKind::Normal, &PackName::parse(&added).unwrap()).unwrap();
        prop_assert_eq!(back, text);
    }
}
