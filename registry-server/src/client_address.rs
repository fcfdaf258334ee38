//! Where a request comes from, as far as limits count it: an IPv4 address, or the network of an IPv6 one.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use axum::extract::{ConnectInfo, FromRequestParts};
use axum::http::request::Parts;
use axum::http::{Extensions, HeaderMap};

use crate::error::ApiError;
use crate::service::Service;

/// The header in which a proxy says where a request came from.
const FORWARDED: &str = "x-forwarded-for";

/// Where a request comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ClientAddress(Option<IpAddr>);

impl ClientAddress {
    fn of(address: Option<IpAddr>) -> Self {
        Self(address.map(|address| match address.to_canonical() {
            IpAddr::V4(address) => IpAddr::V4(address),
            // Whoever has one address of IPv6 has 2^64 of them.
            IpAddr::V6(address) => {
                let [a, b, c, d, ..] = address.segments();
                IpAddr::V6(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
            }
        }))
    }
}

impl ClientAddress {
    /// Where the parts of a request say that it comes from.
    pub(crate) fn read(behind_proxy: bool, headers: &HeaderMap, extensions: &Extensions) -> Self {
        let said = if behind_proxy { forwarded(headers) } else { None };
        let peer = || extensions.get::<ConnectInfo<SocketAddr>>().map(|peer| peer.0.ip());
        Self::of(said.or_else(peer))
    }
}

impl fmt::Display for ClientAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(address) => address.fmt(f),
            None => f.write_str("somewhere"),
        }
    }
}

/// What the proxy says. It adds to what the request had already, so only the last address is its own word.
fn forwarded(headers: &HeaderMap) -> Option<IpAddr> {
    let last = headers.get_all(FORWARDED).iter().next_back()?.to_str().ok()?;
    let last = last.rsplit(',').next().unwrap_or_default().trim();
    last.parse().ok().or_else(|| last.parse::<SocketAddr>().ok().map(|address| address.ip()))
}

impl FromRequestParts<Service> for ClientAddress {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, service: &Service) -> Result<Self, ApiError> {
        Ok(Self::read(service.behind_proxy, &parts.headers, &parts.extensions))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn addresses_are_counted_as_who_has_them() {
        let shown = |text: &str| ClientAddress::of(Some(text.parse().unwrap())).to_string();
        assert_eq!(shown("192.0.2.7"), "192.0.2.7");
        assert_eq!(shown("::ffff:192.0.2.7"), "192.0.2.7");
        assert_eq!(shown("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::");
    }

    #[test]
    fn only_the_last_word_is_the_proxys() {
        let mut headers = HeaderMap::new();
        headers.append(FORWARDED, HeaderValue::from_static("198.51.100.1"));
        headers.append(FORWARDED, HeaderValue::from_static("203.0.113.9, 192.0.2.7"));
        assert_eq!(forwarded(&headers), Some("192.0.2.7".parse().unwrap()));
        headers.append(FORWARDED, HeaderValue::from_static("192.0.2.8:4711"));
        assert_eq!(forwarded(&headers), Some("192.0.2.8".parse().unwrap()));
        headers.append(FORWARDED, HeaderValue::from_static("unknown"));
        assert_eq!(forwarded(&headers), None);
    }
}
