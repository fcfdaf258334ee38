//! How types with a text form stand in JSON: as that text; and fields that may be `null` but not absent.

use std::fmt::Display;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::digest::{Blake3, Sha256};
use crate::manifest::PackKind;
use crate::name::PackName;
use crate::registry::keys::PublicKey;
use crate::version::{Requirement, Version};

/// Reads a text that stands for a value.
fn from_text<'de, D: Deserializer<'de>, T: FromStr>(deserializer: D) -> Result<T, D::Error>
where
    T::Err: Display,
{
    // Not `&str`: a text with escapes is no slice of its JSON.
    let text = String::deserialize(deserializer)?;
    text.parse().map_err(de::Error::custom)
}

/// Gives types with `Display` and `FromStr` the JSON form of their text.
macro_rules! as_text {
    ($($name:ty),*) => {$(
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                from_text(deserializer)
            }
        }
    )*};
}

as_text!(PackName, Version, Requirement, Sha256, Blake3, PackKind, PublicKey);

/// Reads a field that may be `null` and must be there.
///
/// # Errors
/// What stands there is neither `null` nor a value.
pub fn nullable<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    Option::deserialize(deserializer)
}
