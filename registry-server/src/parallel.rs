//! Work on many things, a few at a time.

use tokio::task::JoinSet;

use crate::failure::Failure;

/// Does some work on each item, on at most `jobs` at the same time; the results are in no order.
///
/// # Errors
/// That of the first item on which it fails; the others are given up.
pub(crate) async fn each<T, R, F>(jobs: usize, items: Vec<T>, work: impl Fn(T) -> F) -> Result<Vec<R>, Failure>
where
    R: Send + 'static,
    F: Future<Output = Result<R, Failure>> + Send + 'static,
{
    let mut items = items.into_iter();
    let mut running = JoinSet::new();
    let mut done = Vec::new();
    for item in items.by_ref().take(jobs) {
        running.spawn(work(item));
    }
    while let Some(ended) = running.join_next().await {
        done.push(ended??);
        if let Some(item) = items.next() {
            running.spawn(work(item));
        }
    }
    Ok(done)
}
