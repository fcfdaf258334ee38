//! The section `[policy]`: which versions a project is willing to use.

use super::table::Section;
use crate::calendar;
use crate::candidates::{PolicySection, Span};
use crate::name::PackName;

/// Reads the section; without it there are no rules.
pub(super) fn read(root: &mut Section<'_, '_>) -> PolicySection {
    let Some(mut section) = root.subsection("policy") else {
        return PolicySection::default();
    };
    let hint = || Some("write for example `\"3 days\"` or `\"36 hours\"`".to_owned());
    let min_age = section.optional("min-age", |text| Span::parse(text).map_err(|message| (message, hint())));
    let mut policy = PolicySection { min_age: min_age.map(|age| age.value).unwrap_or_default(), ..Default::default() };
    policy.as_of = section.optional("as-of", time).map(|time| time.value);
    for text in section.strings("exempt") {
        match PackName::parse(&text.value) {
            Ok(name) => {
                policy.exempt.insert(name);
            }
            Err(error) => section.error(error.message, text.span, error.hint),
        }
    }
    policy.allow_advisories = section.strings("allow-advisories").into_iter().map(|text| text.value).collect();
    section.finish();
    policy
}

/// A time, or why it is none and what to write.
fn time(text: &str) -> Result<u64, (String, Option<String>)> {
    let before = || format!("`{text}` is before there were packs");
    let seconds =
        calendar::parse(text).map_err(|message| (message, Some("the end of a day is meant, in UTC".to_owned())))?;
    u64::try_from(seconds).map_err(|_| (before(), None))
}
