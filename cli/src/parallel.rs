//! The same work on many things, on several threads.

use crate::failure::{Failure, Outcome};

/// Fewer things than this on a thread are not worth starting it.
const WORTHWHILE: usize = 16;

/// Does `work` on each item; the results are in the order of the items, and the first failure in that order is the answer.
pub(crate) fn map<T: Sync, R: Send>(
    jobs: usize,
    items: &[T],
    work: impl Fn(&T) -> Outcome<R> + Sync,
) -> Outcome<Vec<R>> {
    let threads = jobs.min(items.len() / WORTHWHILE).max(1);
    let share = items.len().div_ceil(threads).max(1);
    let some = |part: &[T]| part.iter().map(&work).collect::<Outcome<Vec<R>>>();
    if threads == 1 {
        return some(items);
    }
    let parts = std::thread::scope(|scope| {
        let started: Vec<_> = items.chunks(share).map(|part| scope.spawn(|| some(part))).collect();
        started.into_iter().map(std::thread::ScopedJoinHandle::join).collect::<Vec<_>>()
    });
    let mut results = Vec::with_capacity(items.len());
    for part in parts {
        results.extend(part.map_err(|_| Failure::bug("a thread died"))??);
    }
    Ok(results)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn results_keep_their_order_and_the_first_failure_counts() {
        let items: Vec<usize> = (0..100).collect();
        let twice = map(3, &items, |item| Ok(item * 2)).unwrap();
        assert_eq!(twice, items.iter().map(|item| item * 2).collect::<Vec<_>>());
        let fails = |item: &usize| match item % 40 {
            39 => Err(Failure::refused(format!("item {item}"))),
            _ => Ok(()),
        };
        for jobs in [1, 2, 7, 200] {
            assert_eq!(map(jobs, &items, fails).unwrap_err().message, "item 39");
        }
        assert!(map(4, &[], fails).unwrap().is_empty());
    }
}
