//! Small files that never change and were asked for lately, and pages made of them, kept in memory so that reading the index does not wait for
//! the store.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use axum::body::Bytes;

/// Bytes of files that one half may hold; there are two.
const HALF: usize = 4 << 20;

/// The largest file that is kept, in bytes: shards and buckets are smaller, most archives are not.
const LARGEST: usize = 64 << 10;

/// Two halves: what is asked for goes into the newer one; when that is full, it becomes the older one, and what nobody asked for
/// meanwhile is forgotten.
#[derive(Clone, Default)]
pub(crate) struct Kept(Arc<Mutex<Halves>>);

#[derive(Default)]
struct Halves {
    newer: HashMap<String, Bytes>,
    older: HashMap<String, Bytes>,
    /// Bytes in the newer one, with those of the paths.
    filled: usize,
}

impl Halves {
    fn put(&mut self, path: &str, bytes: Bytes) {
        let size = path.len() + bytes.len();
        if self.filled + size > HALF {
            self.older = std::mem::take(&mut self.newer);
            self.filled = 0;
        }
        if self.newer.insert(path.to_owned(), bytes).is_none() {
            self.filled += size;
        }
    }
}

impl Kept {
    /// The file, if it is kept.
    pub(crate) fn get(&self, path: &str) -> Option<Bytes> {
        // A thread that panicked left whole entries: each is put by one call.
        let mut halves = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bytes) = halves.newer.get(path) {
            return Some(bytes.clone());
        }
        let bytes = halves.older.remove(path)?;
        halves.put(path, bytes.clone());
        Some(bytes)
    }

    /// Keeps a file whose bytes are always the same under its path, unless it is large.
    pub(crate) fn put(&self, path: &str, bytes: &Bytes) {
        if bytes.len() <= LARGEST {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).put(path, bytes.clone());
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_for_stays_and_the_rest_is_forgotten() {
        let kept = Kept::default();
        let bytes = Bytes::from(vec![7; LARGEST]);
        kept.put("asked", &bytes);
        kept.put("left", &bytes);
        for number in 0..HALF / LARGEST * 4 {
            kept.put(&number.to_string(), &bytes);
            assert_eq!(kept.get("asked").unwrap(), bytes, "{number}");
        }
        assert!(kept.get("left").is_none());
        let halves = kept.0.lock().unwrap();
        assert!(halves.filled <= HALF);
        let held: usize = halves.newer.values().chain(halves.older.values()).map(Bytes::len).sum();
        assert!(held <= 2 * HALF, "{held}");
    }

    #[test]
    fn a_large_file_is_not_kept() {
        let kept = Kept::default();
        kept.put("large", &Bytes::from(vec![7; LARGEST + 1]));
        assert!(kept.get("large").is_none());
    }
}
