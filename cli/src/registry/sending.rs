//! The steps of a publish over HTTP: declare, upload, commit, and wait for what the registry's checker says.

use std::time::{Duration, Instant};

use exo_compiler::diagnostic::codes;
use exo_index::name::PackName;
use exo_index::visible::shown;
use serde_json::{Value, json};

use crate::failure::{Exit, Failure, Outcome, count};
use crate::packaging::Packed;
use crate::registry::api::{Api, Body, Unanswered, encoded};
use crate::terminal::Terminal;

/// Seconds for which the registry is asked to hold its answer back until it is done.
const WAIT: u64 = 25;
/// An answer that takes so long was held back.
const HELD_BACK: Duration = Duration::from_secs(5);
/// Between two questions how it goes, of a registry that does not hold answers back, at first and at most.
const PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
/// A registry to which the line breaks for so long is given up; it goes on without us.
const PATIENCE: Duration = Duration::from_secs(90);
/// The same for one whose machine says that nothing listens: it is started again in this time, or by hand.
const TO_START_AGAIN: Duration = Duration::from_secs(6);

/// How a publish ended, with what the registry said of it.
#[derive(Debug)]
pub(crate) enum Ended {
    Published(Value),
    /// A dry run that would have been published.
    Checked(Value),
    Refused(Refusal),
}

impl Ended {
    /// By how much the version of a pack had to be raised at least.
    pub(crate) fn required_bump(&self, name: &PackName) -> Option<String> {
        let (Ended::Published(answer) | Ended::Checked(answer)) = self else { return None };
        let packs = answer.get("packs").and_then(Value::as_array)?;
        let pack = packs.iter().find(|pack| pack.get("name").and_then(Value::as_str) == Some(name.as_str()))?;
        pack.get("required_bump").and_then(Value::as_str).map(shown)
    }
}

/// Sends the packs, and waits for how it ends.
pub(crate) fn send(api: &Api, terminal: &Terminal, packs: &[&Packed], dry_run: bool) -> Outcome<Ended> {
    let declared = packs.iter().map(|packed| {
        json!({
            "name": packed.manifest.pack.name.value.as_str(),
            "version": packed.manifest.pack.version.value.to_string(),
            "sha256": packed.archive.sha256.to_string(),
            "size": packed.archive.bytes.len(),
        })
    });
    let declared = json!({ "packs": declared.collect::<Vec<_>>(), "dry_run": dry_run });
    let prepared = api.ask("POST", "publish", Body::Json(&declared))?;
    let session = prepared.get("session").and_then(Value::as_str).map(encoded);
    let session = session.ok_or_else(|| Failure::environment("the registry's answer has no `session`"))?;
    let missing: Vec<&str> =
        prepared.get("missing").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
    let progress = terminal.progress("Uploading", missing.len());
    for packed in packs.iter().filter(|packed| missing.contains(&packed.archive.sha256.to_string().as_str())) {
        progress.step(packed.manifest.pack.name.value.as_str());
        let path = format!("publish/{session}/{}", packed.archive.sha256);
        if let Err(failed) = api.ask("PUT", &path, Body::Bytes(&packed.archive.bytes)) {
            // It would be forgotten in a day anyway.
            let _ = api.attempt("DELETE", &format!("publish/{session}"), Body::Nothing);
            return Err(failed.note("nothing was published"));
        }
    }
    drop(progress);
    terminal.status("Uploaded", &format!("{}; the registry checks now", count(packs.len(), "pack")));
    commit(api, terminal, &session)
}

/// Lets the registry check what it has, and waits for how it ends.
fn commit(api: &Api, terminal: &Terminal, session: &str) -> Outcome<Ended> {
    let mut silence = Silence::new(api, terminal, "it is asked again to check the packs");
    loop {
        let asked = Instant::now();
        match api.deliver(None, "POST", &format!("publish/{session}/commit?wait={WAIT}"), Body::Nothing) {
            Ok(Ok(answer)) => {
                return match ended(answer)? {
                    Some(ended) => Ok(ended),
                    None => wait(api, terminal, session, asked),
                };
            }
            Ok(Err(refused)) => return Err(api.failure(refused)),
            Err(unanswered) if unanswered.nobody_there => {
                silence.bear(unanswered).map_err(|failed| failed.note("nothing was published"))?;
            }
            // The line was lost while the answer was held back; the registry knows what became of it.
            Err(unanswered) if unanswered.failure.exit == Exit::Environment => {
                return wait(api, terminal, session, asked);
            }
            Err(unanswered) => return Err(unanswered.failure),
        }
    }
}

/// A registry that does not answer, and how long that is borne.
struct Silence<'t> {
    url: &'t str,
    terminal: &'t Terminal,
    /// What is done meanwhile.
    remedy: &'static str,
    /// Since when, and whether nothing listens there.
    since: Option<(Instant, bool)>,
}

impl<'t> Silence<'t> {
    fn new(api: &'t Api, terminal: &'t Terminal, remedy: &'static str) -> Self {
        Silence { url: &api.url, terminal, remedy, since: None }
    }

    fn broken(&mut self) {
        self.since = None;
    }

    /// Waits a little before the next question. When it begins, and when it becomes of the other kind, it is told why and for how long,
    /// however quiet the command is to be: it would look dead.
    ///
    /// # Errors
    /// It is borne no longer.
    fn bear(&mut self, unanswered: Unanswered) -> Outcome<()> {
        let patience = if unanswered.nobody_there { TO_START_AGAIN } else { PATIENCE };
        let before = self.since.filter(|(_, nobody_there)| *nobody_there == unanswered.nobody_there);
        if before.is_some_and(|(since, _)| since.elapsed() >= patience) {
            return Err(unanswered.failure);
        }
        if before.is_none() {
            self.since = Some((Instant::now(), unanswered.nobody_there));
            let (why, seconds) = (&unanswered.failure.message, patience.as_secs());
            self.terminal
                .waiting(&format!("for registry `{}`: {}, for {seconds} s at most; {why}", self.url, self.remedy));
        }
        std::thread::sleep(LONGEST_PAUSE);
        Ok(())
    }
}

/// How a publish ended, if it has.
fn ended(answer: Value) -> Outcome<Option<Ended>> {
    Ok(Some(match answer.get("state").and_then(Value::as_str).unwrap_or_default() {
        "published" => Ended::Published(answer),
        "checked" => Ended::Checked(answer),
        "refused" => Ended::Refused(Refusal::of(&answer)),
        "checking" => return Ok(None),
        "open" => {
            return Err(Failure::environment("the registry does not know that all packs were sent")
                .note("the connection to it was lost, or its machine stopped, just then; nothing was published")
                .hint("run the same command again"));
        }
        other => {
            return Err(Failure::environment(format!(
                "the registry says that the publish is `{}`, which this exo does not know",
                shown(other)
            ))
            .hint("use a newer exo"));
        }
    }))
}

/// Asks until the registry is done, which holds its answers back for some time if it can. One that is started again in between goes on
/// with it.
fn wait(api: &Api, terminal: &Terminal, session: &str, mut asked: Instant) -> Outcome<Ended> {
    let mut pause = PAUSE;
    let mut silence = Silence::new(api, terminal, "it is asked again what became of the publish");
    let given_up = |failed: Box<Failure>| {
        failed
            .note("all packs are with the registry, which goes on to check them")
            .hint("run the same command again later: it sees whether they were published")
    };
    loop {
        // An older registry answers at once.
        if asked.elapsed() < HELD_BACK {
            std::thread::sleep(pause);
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
        asked = Instant::now();
        let answered = api.deliver(None, "GET", &format!("publish/{session}?wait={WAIT}"), Body::Nothing);
        let answer = match answered.and_then(|answer| answer.map_err(|refused| api.failure(refused).into())) {
            Ok(answer) => answer,
            Err(unanswered) if unanswered.failure.exit == Exit::Environment => {
                silence.bear(unanswered).map_err(given_up)?;
                continue;
            }
            Err(unanswered) => return Err(given_up(unanswered.failure)),
        };
        silence.broken();
        if let Some(ended) = ended(answer)? {
            return Ok(ended);
        }
    }
}

/// Everything that a registry has against a publish.
#[derive(Debug)]
pub(crate) struct Refusal {
    reasons: Vec<Reason>,
}

#[derive(Debug)]
struct Reason {
    pack: String,
    code: String,
    message: String,
    hint: Option<String>,
    place: Option<String>,
    /// A diagnostic of the checker: `message` is then its text as it is to be shown.
    diagnostic: Option<Value>,
}

impl Refusal {
    fn of(answer: &Value) -> Self {
        let reason = |value: &Value| {
            let text = |key: &str| value.get(key).and_then(Value::as_str).map(shown);
            let line = value.get("line").and_then(Value::as_u64).map(|line| format!(":{line}")).unwrap_or_default();
            Reason {
                pack: text("pack").unwrap_or_default(),
                code: text("code").unwrap_or_default(),
                message: text("message").unwrap_or_default(),
                hint: text("hint"),
                place: text("file").map(|file| format!("{file}{line}: ")),
                diagnostic: value.get("diagnostic").filter(|diagnostic| !diagnostic.is_null()).cloned(),
            }
        };
        let reasons = answer.get("diagnostics").and_then(Value::as_array);
        Refusal { reasons: reasons.into_iter().flatten().map(reason).collect() }
    }

    /// Whether all that stands in the way is that the versions are there already.
    pub(crate) fn is_about_versions_only(&self) -> bool {
        !self.reasons.is_empty() && self.reasons.iter().all(|reason| reason.code == "version")
    }

    /// The refusal as the failure of the command. What the checker says is shown as `exo check` would.
    pub(crate) fn failure(&self, url: &str) -> Box<Failure> {
        let told: Vec<&Reason> = self.reasons.iter().filter(|reason| reason.diagnostic.is_none()).collect();
        let checker = self.reasons.iter().any(|reason| reason.code == "checker");
        let message = match told.as_slice() {
            [only] => format!("registry `{url}` refuses `{}`: {}", only.pack, only.text()),
            _ => format!("registry `{url}` refuses this: {}", count(told.len(), "reason")),
        };
        let mut failure = match checker {
            true => Failure::verification(message).code(codes::CLAIM),
            false => Failure::refused(message).code(codes::PACKAGE),
        };
        if told.len() > 1 {
            failure = told
                .iter()
                .fold(failure, |failure, reason| failure.note(format!("`{}`: {}", reason.pack, reason.text())));
        }
        failure = failure.note("nothing was published");
        for reason in &self.reasons {
            if let Some(diagnostic) = &reason.diagnostic {
                failure.rendered.push((reason.message.clone(), diagnostic.clone()));
            }
            if let Some(hint) = reason.hint.as_ref().filter(|hint| !failure.hints.contains(hint)) {
                failure.hints.push(hint.clone());
            }
        }
        failure
    }
}

impl Reason {
    fn text(&self) -> String {
        format!("{}{}", self.place.as_deref().unwrap_or_default(), self.message)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;

    fn refusal(reasons: Value) -> Refusal {
        Refusal::of(&json!({ "state": "refused", "diagnostics": reasons }))
    }

    #[test]
    fn a_registry_that_is_gone_is_not_asked_for_long() {
        let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let api = Api::at(format!("http://{gone}"));
        let terminal = Terminal::plain(crate::arguments::Format::Text);
        let start = Instant::now();
        let failed = commit(&api, &terminal, "1").unwrap_err();
        assert!(failed.message.contains("nothing listens there"), "{}", failed.message);
        assert_eq!(
            (failed.notes.as_slice(), failed.exit),
            (["nothing was published".to_string()].as_slice(), Exit::Environment)
        );
        let failed = wait(&api, &terminal, "1", start).unwrap_err();
        assert!(failed.notes[0].contains("all packs are with the registry"), "{:?}", failed.notes);
        assert!(start.elapsed() < 4 * TO_START_AGAIN, "{:?}", start.elapsed());
    }

    #[test]
    fn one_reason_is_the_message() {
        let taken = refusal(json!([{ "pack": "a", "code": "version", "message": "it is there", "hint": "raise it" }]));
        assert!(taken.is_about_versions_only());
        let failed = taken.failure("https://r");
        assert_eq!(failed.message, "registry `https://r` refuses `a`: it is there");
        assert_eq!((failed.hints[0].as_str(), failed.exit), ("raise it", Exit::Refused));
    }

    #[test]
    fn the_checkers_words_are_shown_whole() {
        let failed = refusal(json!([
            { "pack": "a", "code": "checker", "message": "its modules were refused", "hint": null },
            { "pack": "a", "code": "checker", "message": "error[E0201]: x\n\u{7}", "diagnostic": { "code": "E0201" } },
        ]))
        .failure("u");
        assert_eq!(failed.message, "registry `u` refuses `a`: its modules were refused");
        assert_eq!(failed.exit, Exit::VerificationFailed);
        assert_eq!(failed.rendered[0].0, "error[E0201]: x\n\u{fffd}");
    }
}
