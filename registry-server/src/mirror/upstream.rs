//! Where a mirror takes files from: a registry or another mirror over HTTP, or a folder.

use std::io::{self, Read as _};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::AGENT;
use crate::failure::Failure;
use crate::tiles::Source;

/// How long it may take to reach the server, and how long nothing may come from it.
const CONNECT: Duration = Duration::from_secs(15);
const SILENCE: Duration = Duration::from_secs(60);
/// What may come slowly: after so long, less than so many bytes in a second on the average are given up.
const GRACE: Duration = if cfg!(test) { Duration::from_secs(2) } else { Duration::from_secs(60) };
const SLOWEST: u64 = 4 << 10;
/// The largest tile: 256 leaves of 65 535 bytes, each with its length.
const LARGEST_TILE: u64 = 256 * 65_537;
/// The pauses before a request that failed is made again.
const PAUSES: [Duration; 3] = [Duration::from_millis(200), Duration::from_secs(1), Duration::from_secs(5)];

/// A place of files. Nothing that it gives is believed before it was checked.
#[derive(Debug)]
pub(crate) enum Upstream {
    Folder(PathBuf),
    Http { base: String, client: reqwest::Client },
}

/// Why there is no answer.
enum NoAnswer {
    /// Another try may do better.
    ForNow(String),
    Final(String),
}

impl Upstream {
    /// The place of a URL.
    ///
    /// # Errors
    /// It is not one that starts with https://, http:// or file://.
    pub(crate) fn of(url: &str) -> Result<Self, Failure> {
        if let Some(path) = url.strip_prefix("file://") {
            return Ok(Self::Folder(PathBuf::from(path)));
        }
        if !url.starts_with("https://") && !url.starts_with("http://") {
            return Err(Failure::new(format!("`{url}` does not start with https://, http:// or file://")));
        }
        // No request carries a secret, so redirects may go anywhere.
        let client = reqwest::Client::builder()
            .connect_timeout(CONNECT)
            .read_timeout(SILENCE)
            .redirect(reqwest::redirect::Policy::limited(5))
            .user_agent(format!("{AGENT}{}", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|error| Failure::new(format!("cannot fetch from `{url}`: {error}")))?;
        Ok(Self::Http { base: url.trim_end_matches('/').to_owned(), client })
    }

    /// A file of at most `limit` bytes.
    ///
    /// # Errors
    /// There is none, it is larger, or the place cannot be reached.
    pub(crate) async fn need(&self, path: &str, limit: u64) -> Result<Vec<u8>, Failure> {
        match self {
            Self::Folder(folder) => {
                let file = folder.join(path);
                read(&file, limit).map_err(|error| Failure::new(format!("cannot read `{}`: {error}", file.display())))
            }
            Self::Http { base, client } => {
                let url = format!("{base}/{path}");
                let mut pauses = PAUSES.iter();
                loop {
                    match fetch(client, &url, limit).await {
                        Ok(bytes) => return Ok(bytes),
                        Err(NoAnswer::ForNow(why)) => match pauses.next() {
                            Some(pause) => tokio::time::sleep(*pause).await,
                            None => return Err(Failure::new(format!("cannot fetch `{url}`: {why}"))),
                        },
                        Err(NoAnswer::Final(why)) => return Err(Failure::new(format!("cannot fetch `{url}`: {why}"))),
                    }
                }
            }
        }
    }
}

impl Source for Upstream {
    async fn file(&self, path: &str) -> Result<Vec<u8>, Failure> {
        self.need(path, LARGEST_TILE).await
    }
}

async fn fetch(client: &reqwest::Client, url: &str, limit: u64) -> Result<Vec<u8>, NoAnswer> {
    let for_now = |error: reqwest::Error| {
        // The cause is what a person can do something about.
        let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}")).unwrap_or_default();
        NoAnswer::ForNow(format!("{}{cause}", error.without_url()))
    };
    let start = Instant::now();
    let sent = tokio::time::timeout(GRACE, client.get(url).send()).await;
    let mut answer = sent.map_err(|_| slow())?.map_err(for_now)?;
    match answer.status().as_u16() {
        200 => {}
        404 | 410 => {
            return Err(NoAnswer::Final("there is no such file, so that the registry is incomplete".to_owned()));
        }
        status @ (429 | 500..) => return Err(NoAnswer::ForNow(format!("the server answered with status {status}"))),
        status => return Err(NoAnswer::Final(format!("the server answered with status {status}"))),
    }
    let mut bytes = Vec::new();
    // Each piece is waited for as long as the bytes before it have bought.
    while let Some(piece) = {
        let until = start + GRACE + Duration::from_secs(bytes.len() as u64 / SLOWEST);
        tokio::time::timeout_at(until.into(), answer.chunk()).await.map_err(|_| slow())?.map_err(for_now)?
    } {
        if (bytes.len() + piece.len()) as u64 > limit {
            return Err(NoAnswer::Final(format!("it is larger than {limit} bytes")));
        }
        bytes.extend_from_slice(&piece);
    }
    Ok(bytes)
}

fn slow() -> NoAnswer {
    NoAnswer::ForNow(format!("it comes slower than {SLOWEST} bytes in a second"))
}

fn read(file: &std::path::Path, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    std::fs::File::open(file)?.take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("it is larger than {limit} bytes")));
    }
    Ok(bytes)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::*;

    /// Something that answers each request with the head of an answer of so many bytes, and then drips.
    async fn dripping(size: usize, pause: Duration) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                tokio::spawn(async move {
                    let mut asked = [0; 1024];
                    let _ = stream.read(&mut asked).await;
                    let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {size}\r\n\r\n");
                    let _ = stream.write_all(head.as_bytes()).await;
                    for _ in 0..size {
                        tokio::time::sleep(pause).await;
                        if stream.write_all(b"x").await.is_err() {
                            break;
                        }
                    }
                });
            }
        });
        format!("http://{address}/file")
    }

    #[tokio::test]
    async fn what_drips_is_given_up() {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::new();
        let start = Instant::now();
        let slow = fetch(&client, &dripping(1 << 20, Duration::from_millis(20)).await, 1 << 21).await;
        assert!(matches!(slow, Err(NoAnswer::ForNow(why)) if why.contains("slower than 4096 bytes")));
        assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
        let quick = fetch(&client, &dripping(100, Duration::ZERO).await, 1 << 21).await;
        assert!(quick.is_ok_and(|bytes| bytes.len() == 100));
    }
}
