//! Gets files of a registry: over HTTP, or from a folder, since all that a client needs are files.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::PathBuf;
use std::time::Duration;

use crate::failure::{Failure, Outcome};

/// How long a whole answer may take.
const TIME: Duration = Duration::from_secs(120);
/// How long it may take until there is a connection.
const TIME_TO_CONNECT: Duration = Duration::from_secs(15);

/// Where a registry's files are.
#[derive(Debug)]
pub(crate) enum Transport {
    Folder(PathBuf),
    Http { base: String, agent: ureq::Agent },
}

impl Transport {
    /// The transport for a URL without a slash at its end.
    pub(crate) fn of(url: &str) -> Outcome<Self> {
        if let Some(path) = url.strip_prefix("file://") {
            return Ok(Transport::Folder(PathBuf::from(path)));
        }
        if !url.starts_with("https://") && !url.starts_with("http://") {
            return Err(Failure::usage(format!("`{url}` is not the URL of a registry"))
                .hint("a registry's URL starts with https://, http:// or file://"));
        }
        // No request carries a token, so a redirect cannot give one away; what comes is checked by hash or signature.
        let agent = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(TIME))
            .timeout_connect(Some(TIME_TO_CONNECT))
            .max_redirects(5)
            .user_agent(concat!("exo/", env!("CARGO_PKG_VERSION")))
            .build()
            .new_agent();
        Ok(Transport::Http { base: url.to_string(), agent })
    }

    /// A file of at most `limit` bytes; `None` where there is none.
    pub(crate) fn get(&self, path: &str, limit: u64) -> Outcome<Option<Vec<u8>>> {
        match self {
            Transport::Folder(folder) => {
                let file = folder.join(path);
                read(&file, limit).map_err(|error| crate::filesystem::failure("read", &file, &error))
            }
            Transport::Http { base, agent } => {
                let url = format!("{base}/{path}");
                let unreachable = |why: String| {
                    Failure::environment(format!("cannot fetch `{url}`: {why}"))
                        .hint("check the network and the registry's URL, or work with what is in the cache (--offline)")
                };
                let mut answer = agent.get(&url).call().map_err(|error| unreachable(error.to_string()))?;
                match answer.status().as_u16() {
                    200 => {}
                    404 | 410 => return Ok(None),
                    status => return Err(unreachable(format!("the server answered with status {status}"))),
                }
                let body = answer.body_mut().with_config().limit(limit).read_to_vec();
                body.map(Some).map_err(|error| unreachable(error.to_string()))
            }
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
