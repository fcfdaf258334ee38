//! All of an audit log, as far as who is signed in may read it, in parts: that of the own account, of a pack or of an organisation.

use askama::Template;
use axum::Extension;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::response::Response;
use exo_index::name::PackName;
use serde::Deserialize;

use super::events::Event;
use super::trouble::PageError;
use super::visitor::{Frame, Visitor};
use super::{format, render_private};
use crate::audit::{self, Asked};
use crate::error::ApiError;
use crate::service::Service;

/// Entries of one part.
const MOST: usize = 50;

/// What the address says.
#[derive(Default, Deserialize)]
pub(super) struct About {
    #[serde(default)]
    pack: String,
    #[serde(default)]
    organisation: String,
    before: Option<String>,
}

impl About {
    /// The address of a part: the newest one, or that behind some place.
    fn address(&self, before: Option<&str>) -> String {
        let pairs = [
            ("pack", self.pack.as_str()),
            ("organisation", &self.organisation),
            ("before", before.unwrap_or_default()),
        ];
        let said = pairs.into_iter().filter(|(_, value)| !value.is_empty());
        let query: Vec<String> = said.map(|(name, value)| format!("{name}={}", format::encoded(value))).collect();
        if query.is_empty() { "/audit".to_owned() } else { format!("/audit?{}", query.join("&")) }
    }
}

#[derive(Template)]
#[template(path = "log.html")]
struct Log<'a> {
    frame: &'a Frame,
    /// Of what it is.
    title: String,
    events: Vec<Event>,
    newest: Option<String>,
    earlier: Option<String>,
}

pub(super) async fn show(
    State(service): State<Service>,
    Extension(visitor): Extension<Visitor>,
    about: Result<Query<About>, QueryRejection>,
) -> Result<Response, PageError> {
    let caller = visitor.must_be_signed_in()?;
    let Query(about) = about.unwrap_or_default();
    let asked = Asked::of(about.before.clone(), MOST);
    let (title, part) = match (about.pack.as_str(), about.organisation.as_str()) {
        ("", "") => ("your account".to_owned(), audit::of_account(&service, caller, &asked).await?),
        ("", name) => (format!("@{name}"), audit::of_organisation(&service, caller, name, &asked).await?),
        (pack, _) => {
            let name = PackName::parse(pack)
                .map_err(|_| ApiError::absent("there is no such pack", "search for it: its name may be another"))?;
            (name.to_string(), audit::of_pack(&service, caller, &name, &asked).await?)
        }
    };
    let is_own = about.pack.is_empty() && about.organisation.is_empty();
    let event = if is_own { Event::own } else { Event::of_somebody };
    render_private(&Log {
        frame: &visitor.frame,
        title,
        newest: about.before.as_ref().map(|_| about.address(None)),
        earlier: part.next.as_deref().map(|next| about.address(Some(next))),
        events: part.events.into_iter().map(event).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_parts() {
        assert_eq!(About::default().address(None), "/audit");
        let about = About { pack: "@ada/base".to_owned(), ..About::default() };
        assert_eq!(about.address(Some("7-1")), "/audit?pack=%40ada%2Fbase&before=7-1");
    }
}
