//! Gets files of a registry: over HTTP, or from a folder, since all that a client needs are files.

use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use ureq::http::Uri;

use crate::failure::{Failure, Outcome};
use crate::terminal;

/// How patient a client is with a server.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    /// How long it may take to find and reach the server.
    connect: Duration,
    /// How long nothing may come. In each such span at least [`LEAST`] bytes come, or the rest of the answer.
    silence: Duration,
    /// After how long it is said for whom the command waits.
    told: Duration,
}

/// What a span of silence must bring to be none, in bytes.
const LEAST: u64 = 1024;

/// How patient a client is where nothing is said of it. No answer is so large that a server that keeps within it needs longer
/// than [`WHOLE`].
const USUAL: Patience =
    Patience { connect: Duration::from_secs(10), silence: Duration::from_secs(15), told: Duration::from_secs(3) };
const WHOLE: Duration = Duration::from_secs(3600);

/// Where a registry's files are.
#[derive(Debug)]
pub(crate) enum Transport {
    Folder(PathBuf),
    Http { base: String, host: String, agent: ureq::Agent, patience: Patience, tells: bool },
}

/// Why there is no answer.
enum NoAnswer {
    /// The server stays silent, or nearly so.
    Stalled(Duration),
    /// It was not reached in time.
    Unreached(Duration),
    Other(String),
}

impl Transport {
    /// The transport for a URL without a slash at its end. With `tells` it is said on the terminal that a server is slow.
    pub(crate) fn of(url: &str, tells: bool) -> Outcome<Self> {
        Self::with_patience(url, tells, USUAL)
    }

    fn with_patience(url: &str, tells: bool, patience: Patience) -> Outcome<Self> {
        if let Some(path) = url.strip_prefix("file://") {
            return Ok(Transport::Folder(PathBuf::from(path)));
        }
        let wrong = || {
            Failure::usage(format!("`{url}` is not the URL of a registry"))
                .hint("a registry's URL starts with https://, http:// or file://")
        };
        if !url.starts_with("https://") && !url.starts_with("http://") {
            return Err(wrong());
        }
        let uri: Uri = url.parse().map_err(|_| wrong())?;
        let host = uri.authority().ok_or_else(wrong)?;
        let host = host.as_str().rsplit('@').next().unwrap_or_default().to_string();
        // No request carries a token, so a redirect cannot give one away; what comes is checked by hash or signature.
        let agent = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(WHOLE))
            .timeout_resolve(Some(patience.connect))
            .timeout_connect(Some(patience.connect))
            .timeout_recv_response(Some(patience.silence))
            .timeout_per_read(Some(patience.silence))
            .max_redirects(5)
            .user_agent(concat!("exo/", env!("CARGO_PKG_VERSION")))
            .build()
            .new_agent();
        Ok(Transport::Http { base: url.to_string(), host, agent, patience, tells })
    }

    /// A file of at most `limit` bytes; `None` where there is none.
    pub(crate) fn get(&self, path: &str, limit: u64) -> Outcome<Option<Vec<u8>>> {
        match self {
            Transport::Folder(folder) => {
                let file = folder.join(path);
                read(&file, limit).map_err(|error| crate::filesystem::failure("read", &file, &error))
            }
            Transport::Http { base, host, agent, patience, tells } => {
                let url = format!("{base}/{path}");
                let told = tells.then_some(patience.told);
                let fetched =
                    terminal::while_waiting(told, &format!("for {host}"), || fetch(agent, &url, limit, *patience));
                fetched.map_err(|why| unanswered(&url, host, &why))
            }
        }
    }
}

fn fetch(agent: &ureq::Agent, url: &str, limit: u64, patience: Patience) -> Result<Option<Vec<u8>>, NoAnswer> {
    let failed = |error: ureq::Error| match error {
        ureq::Error::Timeout(ureq::Timeout::Resolve | ureq::Timeout::Connect) => NoAnswer::Unreached(patience.connect),
        ureq::Error::Timeout(_) => NoAnswer::Stalled(patience.silence),
        other => NoAnswer::Other(other.to_string()),
    };
    let mut answer = agent.get(url).call().map_err(failed)?;
    match answer.status().as_u16() {
        200 => {}
        404 | 410 => return Ok(None),
        status => return Err(NoAnswer::Other(format!("the server answered with status {status}"))),
    }
    let mut body = answer.body_mut().with_config().limit(limit).reader();
    let (mut bytes, mut piece) = (Vec::new(), vec![0; 64 << 10]);
    let (mut since, mut came) = (Instant::now(), 0u64);
    loop {
        let read = body.read(&mut piece).map_err(|error| failed(ureq::Error::from(error)))?;
        if read == 0 {
            return Ok(Some(bytes));
        }
        bytes.extend_from_slice(piece.get(..read).unwrap_or_default());
        came += read as u64;
        // A byte now and then is no progress.
        if since.elapsed() >= patience.silence {
            if came < LEAST {
                return Err(NoAnswer::Stalled(patience.silence));
            }
            (since, came) = (Instant::now(), 0);
        }
    }
}

/// The failure of a request, with the server's name and what can be done.
fn unanswered(url: &str, host: &str, why: &NoAnswer) -> Box<Failure> {
    let message = |why: String| Failure::environment(format!("cannot fetch `{url}`: {why}"));
    let otherwise = "or work with what is in the cache (--offline)";
    match why {
        NoAnswer::Stalled(span) => {
            message(format!("{host} sent nothing, or next to nothing, for {} s", span.as_secs()))
                .hint(format!("{host} is stalled: try again later, name another mirror of the registry, {otherwise}"))
        }
        NoAnswer::Unreached(span) => message(format!("{host} could not be reached in {} s", span.as_secs())).hint(
            format!("check the network, and that {host} is right; name another mirror of the registry, {otherwise}"),
        ),
        NoAnswer::Other(why) => {
            message(why.clone()).hint(format!("check the network and the registry's URL, {otherwise}"))
        }
    }
}

fn read(path: &std::path::Path, limit: u64) -> io::Result<Option<Vec<u8>>> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut bytes = Vec::new();
    file.take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("it is larger than {limit} bytes")));
    }
    Ok(Some(bytes))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::io::Write as _;
    use std::net::TcpListener;

    use super::*;

    /// The file, or message and hints.
    type Told = Result<Option<Vec<u8>>, (String, String)>;

    /// What comes of a request to a server that sends some bytes, each after a pause, and then nothing.
    fn asked(sent: &'static str, pause: Duration) -> (Told, Duration) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let (head, rest) = sent.split_once("\r\n\r\n").unwrap_or(("", ""));
            if !head.is_empty() {
                stream.write_all(format!("{head}\r\n\r\n").as_bytes()).unwrap();
            }
            for byte in rest.bytes() {
                std::thread::sleep(pause);
                if stream.write_all(&[byte]).is_err() {
                    return;
                }
            }
            std::thread::sleep(Duration::from_secs(20));
        });
        let patience = Patience {
            connect: Duration::from_secs(5),
            silence: Duration::from_secs(1),
            told: Duration::from_millis(100),
        };
        let start = Instant::now();
        let got = Transport::with_patience(&url, true, patience).unwrap().get("v1/latest", 1 << 20);
        let told = got.map_err(|failed| (failed.message.clone(), failed.hints.concat()));
        (told, start.elapsed())
    }

    #[test]
    fn a_server_that_stalls_is_named_soon() {
        let trickle = "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nabcdefghijklmnopqrstuvwxyz";
        for (sent, pause) in [
            ("", Duration::ZERO),
            ("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nabc", Duration::ZERO),
            (trickle, Duration::from_millis(300)),
        ] {
            let (told, took) = asked(sent, pause);
            let (message, hint) = told.unwrap_err();
            assert!(
                message.contains("127.0.0.1:") && message.contains("sent nothing, or next to nothing, for 1 s"),
                "{message}"
            );
            assert!(hint.contains("another mirror") && hint.contains("--offline"), "{hint}");
            assert!(took < Duration::from_secs(10), "{sent:?} {took:?}");
        }
    }

    #[test]
    fn a_whole_answer_is_taken_however_it_comes() {
        let (told, _) = asked("HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nabc", Duration::from_millis(50));
        assert_eq!(told.unwrap().unwrap(), b"abc");
    }
}
