//! What was verified here beside what the registry's own checker signed: by the same checker the two must be equal.

use std::collections::{BTreeMap, BTreeSet};

use exo_compiler::diagnostic::codes;
use exo_index::registry::verdict::Verdict as Signed;

use crate::failure::{Failure, Outcome};
use crate::install::plan::Instance;
use crate::install::verdict::Verdict;
use crate::terminal::Terminal;

/// How our verdict on a pack compares with the registry's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Agreement {
    /// There is none of a registry, or the registry was not looked at.
    Alone,
    /// The same checker found the same.
    Equal,
    /// The registry has another checker. What differs between the verdicts is told; ours stands.
    OtherChecker(Vec<String>),
    /// The same checker, with other versions of what the pack depends on; so the results may differ.
    OtherDependencies,
}

impl Agreement {
    /// As a word for programs; `None` when there is nothing to compare with.
    pub(crate) const fn word(&self) -> Option<&'static str> {
        match self {
            Self::Alone => None,
            Self::Equal => Some("equal"),
            Self::OtherChecker(_) => Some("other-checker"),
            Self::OtherDependencies => Some("other-dependencies"),
        }
    }
}

/// The checker of a signed verdict, for people.
fn checker_of(signed: &Signed) -> String {
    let words = signed.checker.split_whitespace().map(|word| word.get(..12).unwrap_or(word));
    let checker: Vec<&str> = words.collect();
    let solver = if signed.solver.is_empty() { "an unnamed solver" } else { &signed.solver };
    format!("exo {}, checker {}, {solver}", signed.exo, checker.join(" "))
}

/// Compares the verdict on a pack with the one that its registry signed.
///
/// # Errors
/// The same checker, with the same dependencies, is said to have found something else.
pub(crate) fn judge(instance: &Instance, ours: &Verdict) -> Outcome<Agreement> {
    let Some(found) = &instance.signed else { return Ok(Agreement::Alone) };
    let signed = &found.verdict;
    let differences = differences(ours, signed);
    let subject = &ours.subject;
    let same_checker = subject.exo == signed.exo.to_string()
        && subject.checker_named() == signed.checker
        && subject.solver == signed.solver;
    if !same_checker {
        return Ok(Agreement::OtherChecker(differences));
    }
    let theirs: BTreeMap<String, String> =
        signed.dependencies.iter().map(|(name, tree)| (name.to_string(), tree.to_string())).collect();
    if subject.dependencies != theirs {
        return Ok(Agreement::OtherDependencies);
    }
    if differences.is_empty() {
        return Ok(Agreement::Equal);
    }
    let mut failure = Failure::verification(format!(
        "`{} {}`: what was verified here is not what registry `{}` signed",
        instance.name, instance.version, found.registry
    ))
    .code(codes::CLAIM);
    for difference in differences {
        failure = failure.note(difference);
    }
    Err(failure
        .note(format!("both are by the same checker ({}) with the same dependencies, so they must be equal", checker_of(signed)))
        .note("nothing was installed; Exo.toml and Exo.lock are as they were")
        .hint("do not use this version, and tell the registry's operator: its checker, its keys or this machine is not as it should be"))
}

/// What differs between two verdicts, each as a phrase.
fn differences(ours: &Verdict, signed: &Signed) -> Vec<String> {
    let mut found = Vec::new();
    let mut numbers = |what: &str, ours: usize, signed: usize| {
        if ours != signed {
            found.push(format!("{what}: {ours} here, {signed} signed"));
        }
    };
    numbers("claims", ours.claims.len(), signed.claims.len());
    numbers("tests", ours.tests, usize::try_from(signed.tests).unwrap_or(usize::MAX));
    numbers("waived checks", ours.waived.len(), signed.waived.len());
    let raw_c = |digest: Option<String>| digest.unwrap_or_else(|| "none".to_string());
    let (here, there) = (raw_c(ours.raw_c_digest.clone()), raw_c(signed.raw_c.map(|digest| digest.to_string())));
    if here != there {
        found.push(format!("raw C: {here} here, {there} signed"));
    }
    found.extend(procs(&ours.procs, &signed.procs));
    for (what, ours, signed) in [
        ("claim", &ours.claims, &signed.claims),
        ("proc of a claim", &ours.claimed_procs, &signed.claimed_procs),
        ("instruction", &ours.instructions, &signed.instructions),
        ("target", &ours.targets, &signed.targets),
    ] {
        found.extend(lists(what, ours, signed));
    }
    found
}

/// Procs by name, with the digests of their text.
fn procs(ours: &[(String, String)], signed: &[(String, String)]) -> Vec<String> {
    let counted = |list: &[(String, String)]| {
        let mut by_name: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (name, digest) in list {
            by_name.entry(name.clone()).or_default().push(digest.clone());
        }
        by_name.values_mut().for_each(|digests| digests.sort());
        by_name
    };
    let (ours, signed) = (counted(ours), counted(signed));
    let names: BTreeSet<&String> = ours.keys().chain(signed.keys()).collect();
    let text = |found: Option<&Vec<String>>| found.map_or_else(|| "none".to_string(), |digests| digests.join(", "));
    let differs = names.into_iter().filter(|name| ours.get(*name) != signed.get(*name));
    differs
        .map(|name| format!("proc `{name}`: {} here, {} signed", text(ours.get(name)), text(signed.get(name))))
        .collect()
}

/// What only one of two lists has, in whatever order.
fn lists(what: &str, ours: &[String], signed: &[String]) -> Vec<String> {
    let only = |these: &[String], those: &[String]| -> Vec<String> {
        let mut left = those.to_vec();
        let gone =
            |one: &String, left: &mut Vec<String>| left.iter().position(|other| other == one).map(|at| left.remove(at));
        these.iter().filter(|one| gone(one, &mut left).is_none()).cloned().collect()
    };
    let here = only(ours, signed).into_iter().map(|one| format!("{what} `{one}`: here only"));
    here.chain(only(signed, ours).into_iter().map(|one| format!("{what} `{one}`: signed only"))).collect()
}

/// What is told after all packs were compared.
#[derive(Debug, Default)]
pub(crate) struct Agreements {
    /// By registry and checker: the packs.
    other_checkers: BTreeMap<(String, String), Vec<String>>,
    differences: Vec<(String, Vec<String>)>,
    details: Vec<String>,
}

impl Agreements {
    pub(crate) fn add(&mut self, instance: &Instance, agreement: &Agreement) {
        let Some(found) = &instance.signed else { return };
        let name = format!("{} {}", instance.name, instance.version);
        match agreement {
            Agreement::Alone => {}
            Agreement::Equal => self.details.push(format!("the registry signed the same verdict on {name}")),
            Agreement::OtherDependencies => self.details.push(format!(
                "the registry checked {name} with other versions of its dependencies, so its verdict is not compared"
            )),
            Agreement::OtherChecker(differences) => {
                let key = (found.registry.clone(), checker_of(&found.verdict));
                self.other_checkers.entry(key).or_default().push(name.clone());
                if !differences.is_empty() {
                    self.differences.push((name, differences.clone()));
                }
            }
        }
    }

    pub(crate) fn tell(&self, terminal: &Terminal) {
        for line in &self.details {
            terminal.detail(line);
        }
        for ((registry, checker), packs) in &self.other_checkers {
            terminal.note(&format!(
                "registry `{registry}` checked {} with another checker ({checker}); what was found here stands",
                packs.join(", ")
            ));
        }
        for (name, differences) in &self.differences {
            terminal.warning(&format!(
                "the registry's checker found something else of {name} than this one: {}",
                differences.join("; ")
            ));
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::collections::BTreeMap;

    use exo_index::digest::{Blake3, Sha256};
    use exo_index::name::PackName;
    use exo_index::version::Version;

    use super::*;
    use crate::install::verdict::Subject;

    fn ours() -> Verdict {
        Verdict {
            subject: Subject::new("neon", "1.0.0", "t", BTreeMap::new()),
            claims: vec!["a -> b".into(), "a -> b".into()],
            tests: 2,
            procs: vec![("p".into(), "1".into()), ("q".into(), "2".into())],
            claimed_procs: vec!["3".into()],
            instructions: vec!["add".into()],
            targets: vec!["neon".into()],
            waived: vec!["neon/src/lib.exo:3: bounds".into()],
            raw_c: 1,
            templates: vec![],
            c_modules: vec![],
            raw_c_digest: Some(Blake3::of(b"c").to_string()),
            offers: vec![],
            skipped: vec![],
        }
    }

    fn signed() -> Signed {
        let ours = ours();
        Signed {
            registry: "r".into(),
            name: PackName::parse("neon").unwrap(),
            version: Version::new(1, 0, 0),
            archive: Sha256::of(b""),
            tree: Blake3::of(b""),
            exo: Version::new(0, 1, 0),
            checker: "1".into(),
            solver: "z3".into(),
            dependencies: BTreeMap::new(),
            checked: 1,
            claims: ours.claims,
            tests: 2,
            // Places are written as the registry sees them.
            waived: vec!["src/lib.exo:3: bounds".into()],
            instructions: ours.instructions,
            targets: ours.targets,
            raw_c: Some(Blake3::of(b"c")),
            procs: vec![("q".into(), "2".into()), ("p".into(), "1".into())],
            claimed_procs: ours.claimed_procs,
        }
    }

    #[test]
    fn equal_verdicts_have_no_differences() {
        assert_eq!(differences(&ours(), &signed()), Vec::<String>::new());
    }

    /// A change of a signed verdict, and what is said of it.
    type Lie = (fn(&mut Signed), &'static str);

    #[test]
    fn each_lie_is_named() {
        let lies: [Lie; 10] = [
            (|signed| drop(signed.claims.pop()), "claims: 2 here, 1 signed"),
            (|signed| signed.claims = vec!["a -> b".into(), "a -> c".into()], "claim `a -> c`: signed only"),
            (|signed| signed.tests = 3, "tests: 2 here, 3 signed"),
            (|signed| signed.waived.clear(), "waived checks: 1 here, 0 signed"),
            (|signed| signed.raw_c = None, "none signed"),
            (|signed| signed.procs[0].1 = "9".into(), "proc `q`: 2 here, 9 signed"),
            (|signed| drop(signed.procs.pop()), "proc `p`: 1 here, none signed"),
            (|signed| signed.claimed_procs[0] = "9".into(), "proc of a claim `9`: signed only"),
            (|signed| signed.instructions.push("sub".into()), "instruction `sub`: signed only"),
            (|signed| signed.targets.clear(), "target `neon`: here only"),
        ];
        for (lie, told) in lies {
            let mut signed = signed();
            lie(&mut signed);
            let found = differences(&ours(), &signed);
            assert!(found.iter().any(|one| one.contains(told)), "{told}: {found:?}");
        }
    }
}
