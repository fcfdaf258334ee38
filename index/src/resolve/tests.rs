//! Tests of the resolver.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::expect_used)]

use std::collections::BTreeMap;

use proptest::prelude::*;
use pubgrub::VersionSet as _;

use super::version_set::VersionSet;
use super::*;

fn name(text: &str) -> PackName {
    PackName::parse(text).unwrap()
}

fn version(text: &str) -> Version {
    Version::parse(text).unwrap()
}

/// `neon ^1; b *; exo >=0.2`.
fn needs(text: &str) -> Needs {
    let mut needs = Needs::default();
    for part in text.split(';').map(str::trim).filter(|part| !part.is_empty()) {
        let (pack, requirement) = part.split_once(' ').unwrap();
        let requirement = Requirement::parse(requirement).unwrap();
        if pack == "exo" {
            needs.exo = requirement;
        } else {
            needs.dependencies.push(Need { name: name(pack), requirement });
        }
    }
    needs
}

/// One line for each version: `a 1.0.0: neon ^1; b *`.
fn registry(text: &str) -> Catalogue {
    let mut registry = Catalogue::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (id, rest) = line.split_once(':').unwrap_or((line, ""));
        let (pack, number) = id.split_once(' ').unwrap();
        registry.add(name(pack), version(number), needs(rest));
    }
    registry
}

fn request(text: &str) -> Request {
    Request {
        root: name("app"),
        root_version: version("1.0.0"),
        needs: needs(text),
        exo: version("0.1.0"),
        fixed: BTreeMap::new(),
        preferred: BTreeMap::new(),
        pinned: BTreeMap::new(),
    }
}

/// The chosen versions as `a 1.0.0, b 2.0.0`.
fn chosen(request: &Request, registry: &Catalogue) -> String {
    let resolution = resolve(request, registry).unwrap_or_else(|error| panic!("{error}"));
    let packs: Vec<String> = resolution.packs.iter().map(|(name, pack)| format!("{name} {}", pack.version)).collect();
    packs.join(", ")
}

fn explanation(request: &Request, registry: &Catalogue) -> Explanation {
    match resolve(request, registry) {
        Err(ResolveError::Conflict(explanation)) => explanation,
        other => panic!("{other:?}"),
    }
}

#[test]
fn takes_the_newest_that_fits() {
    let registry = registry("a 1.0.0\n a 1.4.0\n a 2.0.0\n b 1.0.0: a ^1.2\n b 1.1.0: a ^1.2\n");
    assert_eq!(chosen(&request("b 1"), &registry), "a 1.4.0, b 1.1.0");
    assert_eq!(chosen(&request("a *"), &registry), "a 2.0.0");
    assert_eq!(chosen(&request(""), &registry), "");
}

#[test]
fn goes_back_when_the_newest_does_not_fit() {
    let registry = registry("a 1.0.0: c ^1\n a 1.1.0: c ^2\n b 1.0.0: c ^1\n c 1.0.0\n c 2.0.0\n");
    assert_eq!(chosen(&request("a 1; b 1"), &registry), "a 1.0.0, b 1.0.0, c 1.0.0");
}

#[test]
fn takes_prereleases_only_when_named() {
    let registry = registry("a 1.0.0\n a 1.1.0-rc.1\n a 2.0.0-beta.1\n a 2.0.0-beta.2\n");
    assert_eq!(chosen(&request("a *"), &registry), "a 1.0.0");
    assert_eq!(chosen(&request("a ^1"), &registry), "a 1.0.0");
    assert_eq!(chosen(&request("a 2.0.0-beta.1"), &registry), "a 2.0.0-beta.2");
    assert_eq!(chosen(&request("a =2.0.0-beta.1"), &registry), "a 2.0.0-beta.1");
    let explained = explanation(&request("a 2"), &registry);
    assert_eq!(explained.hints, ["`a 2.0.0-beta.2` is a prerelease; write `a = \"2.0.0-beta.2\"` to accept it"]);
}

#[test]
fn keeps_locked_versions_that_fit() {
    let registry = registry("a 1.0.0: b 1\n a 1.1.0: b 1\n b 1.0.0\n b 1.1.0\n b 1.2.0\n");
    let mut request = request("a 1");
    request.preferred = BTreeMap::from([(name("a"), version("1.0.0")), (name("b"), version("1.1.0"))]);
    assert_eq!(chosen(&request, &registry), "a 1.0.0, b 1.1.0");
    // A lock that no longer fits, or names what is gone, is no obstacle.
    request.preferred = BTreeMap::from([(name("a"), version("0.9.0")), (name("b"), version("1.1.0"))]);
    assert_eq!(chosen(&request, &registry), "a 1.1.0, b 1.1.0");
}

#[test]
fn prefers_a_lockfile_except_for_what_is_moved_on() {
    let registry = registry("a 1.0.0\n a 1.1.0\n b 1.0.0\n b 1.1.0\n");
    let mut lock = Lockfile::new(version("0.1.0"));
    for pack in ["a", "b"] {
        lock.insert(crate::lockfile::LockedPack {
            name: name(pack),
            version: version("1.0.0"),
            source: crate::lockfile::LockedSource::Builtin,
            archive: None,
            tree: None,
            raw_c: None,
            published: None,
            log: None,
            root: None,
            dependencies: BTreeSet::new(),
        });
    }
    let mut request = request("a 1; b 1");
    request.prefer(&lock, &BTreeSet::from([name("a")]));
    assert_eq!(chosen(&request, &registry), "a 1.1.0, b 1.0.0");
}

#[test]
fn holds_pinned_versions() {
    let registry = registry("a 1.0.0: b 1\n a 1.1.0: b ^1.1\n b 1.0.0\n b 1.1.0\n");
    let mut request = request("a 1");
    request.pinned.insert(name("b"), version("1.0.0"));
    assert_eq!(chosen(&request, &registry), "a 1.0.0, b 1.0.0");
    request.needs = needs("a ^1.1");
    let explained = explanation(&request, &registry);
    assert_eq!(
        explained.sentences,
        [
            "this project needs `a ^1.1`, which is 1.1.0",
            "`a 1.1.0` needs `b ^1.1`, but `b` is held at 1.0.0, as asked for"
        ]
    );
}

#[test]
fn path_dependencies_have_one_version() {
    let registry = registry("a 1.0.0: neon ^1\n neon 1.0.0\n neon 3.0.0\n");
    let fixed = |number: &str| FixedPack { version: version(number), needs: needs("a *"), place: "../neon".into() };
    let mut request = request("neon *");
    request.fixed.insert(name("neon"), fixed("2.0.0-dev"));
    request.fixed.get_mut(&name("neon")).unwrap().needs = needs("");
    assert_eq!(chosen(&request, &registry), "neon 2.0.0-dev");
    request.needs = needs("neon *; a 1");
    let explained = explanation(&request, &registry);
    assert_eq!(
        explained.sentences,
        [
            "this project needs `a ^1`, which is 1.0.0",
            "`a 1.0.0` needs `neon ^1`, but `neon` from `../neon` is 2.0.0-dev"
        ]
    );
    request.fixed.insert(name("neon"), FixedPack { needs: needs(""), ..fixed("1.7.0") });
    assert_eq!(chosen(&request, &registry), "a 1.0.0, neon 1.7.0");
}

#[test]
fn names_near_an_unknown_pack() {
    let registry = registry("neon 1.0.0\n a 1.0.0: neno 1\n");
    let error = resolve(&request("noen 1"), &registry).unwrap_err();
    assert_eq!(error.to_string(), "there is no pack `noen`");
    assert_eq!(error.hints(), ["did you mean `neon`?"]);
    let explained = explanation(&request("a 1"), &registry);
    assert_eq!(
        explained.sentences,
        ["this project needs `a ^1`, which is 1.0.0", "`a 1.0.0` needs `neno ^1`, but there is no pack `neno`"]
    );
    assert_eq!(explained.hints, ["did you mean `neon`?"]);
}

#[test]
fn explains_two_who_disagree() {
    let registry = registry("a 1.0.0: neon ^2\n b 1.1.0: neon ^1\n neon 1.0.0\n neon 2.0.0\n");
    let explained = explanation(&request("a 1; b 1"), &registry);
    assert_eq!(
        explained.to_string(),
        "no choice of versions meets all requirements\n  \
         this project needs `a ^1`, which is 1.0.0\n  \
         this project needs `b ^1`, which is 1.1.0\n  \
         `a 1.0.0` needs `neon ^2`, but `b 1.1.0` needs `neon ^1`: no version of `neon` is both"
    );
}

#[test]
fn explains_several_versions_at_once() {
    let registry =
        registry("a 1.0.0: neon ^2\n a 1.1.0: neon ^2\n a 1.2.0: neon ^3\n neon 1.0.0\n neon 2.0.0\n neon 3.0.0\n");
    let explained = explanation(&request("a 1; neon 1"), &registry);
    assert_eq!(
        explained.sentences,
        [
            "this project needs `a ^1`, which is 1.0.0, 1.1.0 or 1.2.0",
            "this project needs `neon ^1`, but `a` 1.0.0 and 1.1.0 need `neon ^2`: no version of `neon` is both",
            "`a 1.2.0` needs `neon ^3`, which does not go with `^1` either",
        ]
    );
}

#[test]
fn explains_many_versions_in_few_sentences() {
    let mut text = "neon 1.0.0\n".to_owned();
    for minor in 0..30 {
        text += &format!("neon 2.{minor}.0\n a 1.{minor}.0: neon =2.{minor}.0\n");
    }
    let explained = explanation(&request("a 1; neon 1"), &registry(&text));
    assert_eq!(
        explained.sentences,
        [
            "this project needs `a ^1`",
            "this project needs `neon ^1`, but `a 1.0.0` needs `neon =2.0.0`: no version of `neon` is both",
            "`a` 1.1.0 to 1.29.0 need other versions of `neon` that do not go with `^1` either",
        ]
    );
}

#[test]
fn explains_three_who_agree_only_in_pairs() {
    // Intervals that meet in pairs all meet; it takes a prerelease that `*` leaves out.
    let registry = registry(
        "a 1.0.0: n >=2.0.0-rc.1\n b 1.0.0: n *\n c 1.0.0: n <=2.0.0-rc.1\n n 1.0.0\n n 2.0.0-rc.1\n n 2.0.0\n",
    );
    assert_eq!(chosen(&request("a 1; b 1"), &registry), "a 1.0.0, b 1.0.0, n 2.0.0");
    assert_eq!(chosen(&request("a 1; c 1"), &registry), "a 1.0.0, c 1.0.0, n 2.0.0-rc.1");
    assert_eq!(chosen(&request("b 1; c 1"), &registry), "b 1.0.0, c 1.0.0, n 1.0.0");
    let explained = explanation(&request("a 1; b 1; c 1"), &registry);
    assert_eq!(
        explained.sentences[3..],
        [
            "`a 1.0.0` needs `n >=2.0.0-rc.1`",
            "`b 1.0.0` needs `n *`",
            "`c 1.0.0` needs `n <=2.0.0-rc.1`",
            "no version of `n` meets all of `*`, `<=2.0.0-rc.1` and `>=2.0.0-rc.1`",
        ]
    );
}

#[test]
fn explains_missing_versions() {
    let registry = registry("a 1.0.0\n a 1.1.0\n b 1.0.0: a ^3\n");
    let explained = explanation(&request("a 2"), &registry);
    assert_eq!(explained.sentences, ["this project needs `a ^2`, but of `a` there are only 1.0.0 and 1.1.0"]);
    let explained = explanation(&request("b *"), &registry);
    assert_eq!(explained.sentences[1], "`b 1.0.0` needs `a ^3`, but of `a` there are only 1.0.0 and 1.1.0");
}

#[test]
fn respects_the_running_compiler() {
    let registry = registry("a 1.0.0: exo >=0.1\n a 1.1.0: exo >=0.2\n a 2.0.0: exo >=0.3\n");
    assert_eq!(chosen(&request("a *"), &registry), "a 1.0.0");
    let explained = explanation(&request("a ^2"), &registry);
    assert_eq!(
        explained.sentences,
        ["this project needs `a ^2`, but `a 2.0.0` needs exo `>=0.3`, and this is exo 0.1.0"]
    );
    let mut next = request("a *");
    next.exo = version("0.3.0-dev");
    assert_eq!(chosen(&next, &registry), "a 2.0.0");
    let error = resolve(&request("exo >=1"), &registry).unwrap_err();
    assert_eq!(error.to_string(), "this pack needs exo `>=1`, and this is exo 0.1.0");
}

#[test]
fn refuses_circles() {
    let registry = registry("a 1.0.0: b 1\n b 1.0.0: c 1\n c 1.0.0: a 1\n d 1.0.0: app 1\n e 1.0.0: app 2\n");
    let error = resolve(&request("a 1"), &registry).unwrap_err();
    assert_eq!(error.to_string(), "packs depend on each other in a circle: `a` needs `b` needs `c` needs `a`");
    assert!(matches!(resolve(&request("d 1"), &registry), Err(ResolveError::Cycle(names)) if names.len() == 2));
    let explained = explanation(&request("e 1"), &registry);
    assert_eq!(explained.sentences[1], "`e 1.0.0` needs `app ^2`, but `app` is this project, at 1.0.0");
}

#[test]
fn a_version_that_needs_another_of_itself_is_no_choice() {
    let registry = registry("a 1.0.0\n a 1.1.0: a =1.0.0\n b 1.0.0: b 2\n");
    assert_eq!(chosen(&request("a 1"), &registry), "a 1.0.0");
    let explained = explanation(&request("b 1"), &registry);
    assert_eq!(explained.sentences[1], "`b 1.0.0` needs another version of `b` itself");
}

#[test]
fn orders_dependencies_first() {
    let registry = registry("a 1.0.0: c 1; b 1\n b 1.0.0: d 1\n c 1.0.0: b 1\n d 1.0.0\n e 1.0.0\n");
    let resolution = resolve(&request("a 1; e 1"), &registry).unwrap();
    let order: Vec<&str> = resolution.dependencies_first().into_iter().map(PackName::as_str).collect();
    assert_eq!(order, ["d", "b", "c", "a", "e"]);
}

#[test]
fn reads_a_request_from_a_manifest() {
    let manifest = Manifest::parse(
        "[pack]\nname = \"app\"\nversion = \"1.0.0\"\nkind = \"kernel\"\nexo = \">=0.1\"\n[dependencies]\na = \"1\"\n[dev-dependencies]\nb = \"2\"\n",
    )
    .unwrap();
    let request = Request::of_manifest(&manifest, version("0.1.0"));
    assert_eq!(request.needs, needs("a 1; b 2; exo >=0.1"));
    assert_eq!(Needs::of_manifest(&manifest), needs("a 1; exo >=0.1"));
}

#[test]
fn resolves_two_hundred_packs() {
    let mut text = String::new();
    for pack in 0..200 {
        for minor in 0..10 {
            let next: Vec<String> =
                (pack + 1..(pack + 5).min(200)).map(|next| format!("p{next} ^1.{}", minor / 2)).collect();
            text += &format!("p{pack} 1.{minor}.0: {}\n", next.join("; "));
        }
    }
    let resolution = resolve(&request("p0 1"), &registry(&text)).unwrap();
    assert_eq!(resolution.packs.len(), 200);
}

fn any_version() -> impl Strategy<Value = Version> {
    let pre = prop_oneof![3 => Just(""), 1 => prop::sample::select(vec!["-0", "-alpha", "-alpha.0", "-alpha.1", "-rc.1", "-rc"])];
    (0..3u64, 0..3u64, 0..3u64, pre).prop_map(|(a, b, c, pre)| version(&format!("{a}.{b}.{c}{pre}")))
}

fn any_requirement() -> impl Strategy<Value = Requirement> {
    let comparator = (prop::sample::select(vec!["", "^", "~", "=", "<", "<=", ">", ">="]), any_version(), 0..4u8)
        .prop_map(|(op, version, parts)| match parts {
            0 => format!("{op}{}", version.major()),
            1 => format!("{op}{}.{}", version.major(), version.minor()),
            _ => format!("{op}{version}"),
        });
    let wildcard = (0..3u64, 0..3u64, any::<bool>())
        .prop_map(|(a, b, full)| if full { format!("{a}.{b}.*") } else { format!("{a}.*") });
    let one = prop_oneof![8 => comparator, 1 => wildcard];
    prop_oneof![
        8 => prop::collection::vec(one, 1..4).prop_map(|parts| parts.join(", ")),
        1 => Just("*".to_owned()),
    ]
    .prop_map(|text| Requirement::parse(&text).unwrap())
}

/// A small registry in which packs need each other in all ways, and what a project needs of it.
fn any_problem() -> impl Strategy<Value = (Catalogue, Request)> {
    let packs = ["a", "b", "c", "d", "e", "missing"];
    let requirement = prop_oneof![
        9 => prop::sample::select(vec!["*", "1", "2", "=1.0.0", "<2", ">=1.1", "~1.0", "2.0.0-rc.1", ">=1, <2.1"])
            .prop_map(|text| Requirement::parse(text).unwrap()),
        1 => any_requirement(),
    ];
    // The pack that does not exist is rare, so that most problems have a chance.
    let target = prop_oneof![100 => 0..5usize, 1 => Just(5usize)];
    let need = (target, requirement).prop_map(move |(pack, requirement)| Need { name: name(packs[pack]), requirement });
    let exo = prop_oneof![9 => Just("*"), 1 => Just(">=0.1"), 1 => Just(">=0.2")];
    let needs = (prop::collection::vec(need.clone(), 0..3), exo)
        .prop_map(|(dependencies, exo)| Needs { exo: Requirement::parse(exo).unwrap(), dependencies });
    let numbers = vec!["1.0.0", "1.1.0", "2.0.0-rc.1", "2.0.0", "2.1.0"];
    let entries = prop::collection::vec((0..5usize, prop::sample::select(numbers.clone()), needs.clone()), 12..28);
    let choice = prop::collection::btree_map(0..5usize, prop::sample::select(numbers), 0..3);
    let root = prop::collection::vec(need, 1..4);
    (entries, root, choice.clone(), choice, prop::option::of(needs)).prop_map(
        move |(entries, root, preferred, pinned, fixed)| {
            let mut registry = Catalogue::new();
            for (pack, number, needs) in entries {
                registry.add(name(packs[pack]), version(number), needs);
            }
            let mut request = request("");
            request.needs.dependencies = root;
            let versions = |choice: BTreeMap<usize, &str>| {
                choice.into_iter().map(|(pack, number)| (name(packs[pack]), version(number))).collect()
            };
            request.preferred = versions(preferred);
            // Pins are rare for the same reason.
            if pinned.len() == 2 {
                request.pinned = versions(pinned);
            }
            if let Some(needs) = fixed {
                let pack = FixedPack { version: version("1.1.0-dev"), needs, place: "../e".into() };
                request.fixed.insert(name("e"), pack);
            }
            (registry, request)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn sets_hold_what_requirements_match(requirement in any_requirement(), version in any_version()) {
        prop_assert_eq!(VersionSet::of(&requirement).contains(&version), requirement.matches(&version));
    }

    #[test]
    fn sets_follow_the_laws(a in any_requirement(), b in any_requirement(), at in any_version(), one in any_version()) {
        let (a, b) = (VersionSet::of(&a), VersionSet::of(&b));
        prop_assert_eq!(a.complement().contains(&at), !a.contains(&at));
        prop_assert_eq!(a.intersection(&b).contains(&at), a.contains(&at) && b.contains(&at));
        prop_assert_eq!(a.union(&b).contains(&at), a.contains(&at) || b.contains(&at));
        prop_assert_eq!(VersionSet::singleton(one.clone()).contains(&at), one == at);
        // Equal sets are equal, which the solver relies on.
        prop_assert_eq!(a.complement().complement(), a.clone());
        prop_assert_eq!(a.intersection(&a.complement()), VersionSet::empty());
        prop_assert_eq!(a.union(&a.complement()), VersionSet::full());
        prop_assert_eq!(a.union(&b), a.complement().intersection(&b.complement()).complement());
        prop_assert_eq!(a.is_disjoint(&b), a.intersection(&b) == VersionSet::empty());
        prop_assert_eq!(a.subset_of(&b), a.intersection(&b) == a);
        let single = VersionSet::singleton(one.clone());
        prop_assert_eq!(single.subset_of(&a), a.contains(&one));
    }

    /// The resolver finds a solution exactly when trying everything does, and what it finds is one.
    #[test]
    fn agrees_with_brute_force((registry, request) in any_problem()) {
        let oracle = brute_force::solve(&request, &registry);
        match resolve(&request, &registry) {
            Ok(resolution) => {
                prop_assert!(oracle.is_some());
                check(&resolution, &request, &registry)?;
                // Preferring a solution as a whole gives it back.
                let mut again = request.clone();
                again.preferred = resolution.packs.iter().map(|(name, pack)| (name.clone(), pack.version.clone())).collect();
                prop_assert_eq!(resolve(&again, &registry).unwrap(), resolution);
            }
            Err(ResolveError::Cycle(names)) => {
                prop_assert!(oracle.is_some());
                prop_assert!(!names.is_empty());
            }
            Err(ResolveError::Conflict(explanation)) => {
                prop_assert!(oracle.is_none(), "{explanation}");
                let last = explanation.sentences.last().cloned().unwrap_or_default();
                prop_assert!(!last.is_empty());
                // Some sentence says where it does not go on.
                let ends = ["but ", "meets all of", "another version of"];
                let points = explanation.sentences.iter().any(|sentence| ends.iter().any(|end| sentence.contains(end)));
                prop_assert!(points, "{}", explanation);
            }
            Err(ResolveError::UnknownPack { name, .. }) => {
                prop_assert!(oracle.is_none());
                prop_assert!(registry.newest(&name).is_none());
            }
            Err(error) => return Err(TestCaseError::fail(error.to_string())),
        }
    }
}

/// Checks that a resolution meets every need and holds nothing that is not needed.
fn check(resolution: &Resolution, request: &Request, registry: &Catalogue) -> Result<(), TestCaseError> {
    let mut needed = BTreeSet::new();
    let mut open = request.needs.dependencies.clone();
    while let Some(need) = open.pop() {
        let pack = resolution.packs.get(&need.name).expect("a needed pack is there");
        prop_assert!(brute_force::meets(request, &need, &pack.version));
        if needed.insert(need.name.clone()) {
            let needs = match request.fixed.get(&need.name) {
                Some(fixed) => fixed.needs.clone(),
                None => registry.get(&need.name, &pack.version).unwrap().clone(),
            };
            prop_assert!(needs.exo.accepts_exo(&request.exo));
            prop_assert!(request.pinned.get(&need.name).is_none_or(|pinned| *pinned == pack.version));
            open.extend(needs.dependencies);
        }
    }
    prop_assert!(resolution.packs.keys().eq(&needed));
    Ok(())
}
