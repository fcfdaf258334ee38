//! Secrets and ids from the system's source of randomness, the hash they are stored by, and the time.

use std::time::{SystemTime, UNIX_EPOCH};

use exo_index::digest::Sha256;

use crate::failure::Failure;

/// Random bytes.
pub(crate) fn bytes<const N: usize>() -> Result<[u8; N], Failure> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes)?;
    Ok(bytes)
}

/// 32 random bytes.
pub(crate) fn seed() -> Result<[u8; 32], Failure> {
    bytes()
}

/// A secret of 256 bits after a prefix: digits and letters only, so that a double click takes all of it, no program
/// takes it for one of its options, and the search for secrets in packs ([`exo_index::publication::secrets`]) knows it.
pub(crate) fn secret(prefix: &str) -> Result<String, Failure> {
    Ok(format!("{prefix}{}", Sha256::of(&seed()?)))
}

/// An id that nobody can guess, 32 hexadecimal digits.
pub(crate) fn id() -> Result<String, Failure> {
    Ok(Sha256::of(&seed()?).to_string().chars().take(32).collect())
}

/// A new id that sorts behind those that were made earlier, as far as clocks agree.
pub(crate) fn id_in_order() -> Result<String, Failure> {
    let time = SystemTime::now().duration_since(UNIX_EPOCH)?.as_nanos();
    Ok(format!("{time:020}{}", id()?))
}

/// What is stored of a secret. A secret of 256 random bits needs no slow hash.
pub(crate) fn stored(secret: &str) -> String {
    Sha256::of(secret.as_bytes()).to_string()
}

/// Seconds since 1970.
pub(crate) fn now() -> Result<i64, Failure> {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
    i64::try_from(seconds).map_err(|_| Failure::new("the clock is beyond all dates"))
}

/// Seconds until the next minute begins, with which counts start anew.
pub(crate) fn seconds_of_minute() -> u64 {
    60 - now().map_or(0, unsigned) % 60
}

/// A number of rows or seconds as the formats have it; negative ones, which are never stored, become 0.
pub(crate) fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

/// A number of the formats as a column has it.
pub(crate) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_one_plain_word_that_the_search_for_secrets_knows() {
        for _ in 0..200 {
            let token = secret("exo_").unwrap();
            assert!(token.chars().skip(4).all(|c| c.is_ascii_alphanumeric()), "{token}");
            let found = exo_index::publication::secrets(&format!("export EXO_TOKEN={token}"));
            assert_eq!(found.first().map(|found| found.kind), Some("a token of an exo registry"), "{token}");
        }
    }
}
