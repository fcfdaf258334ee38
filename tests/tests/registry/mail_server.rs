//! A mail server as far as a client of it can tell: it speaks SMTP, and keeps what it is given.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// What a server does with a mail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manner {
    Takes,
    /// It says to come again later.
    Defers,
    /// It reads all of a mail, keeps it, and hangs up without a word.
    HangsUp,
}

/// The server.
#[derive(Clone)]
pub(crate) struct MailServer {
    pub(crate) address: SocketAddr,
    manner: Arc<Mutex<Manner>>,
    /// The senders, the receivers and the texts of mails.
    taken: Arc<Mutex<Vec<(String, String, String)>>>,
}

impl MailServer {
    /// A server on a free port.
    pub(crate) fn start(manner: Manner) -> Self {
        Self::start_at("127.0.0.1:0".parse().unwrap(), manner)
    }

    pub(crate) fn start_at(address: SocketAddr, manner: Manner) -> Self {
        let listener = TcpListener::bind(address).unwrap();
        let address = listener.local_addr().unwrap();
        let server = Self { address, manner: Arc::new(Mutex::new(manner)), taken: Arc::default() };
        let own = server.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let own = own.clone();
                std::thread::spawn(move || own.converse(&stream));
            }
        });
        server
    }

    pub(crate) fn becomes(&self, manner: Manner) {
        *self.manner.lock().unwrap() = manner;
    }

    pub(crate) fn taken(&self) -> Vec<(String, String, String)> {
        self.taken.lock().unwrap().clone()
    }

    /// Waits until it has been given so many mails.
    #[track_caller]
    pub(crate) fn has(&self, number: usize) -> Vec<(String, String, String)> {
        let start = Instant::now();
        while self.taken().len() < number {
            assert!(start.elapsed() < Duration::from_secs(30), "{} mails", self.taken().len());
            std::thread::sleep(Duration::from_millis(30));
        }
        self.taken()
    }

    /// One client after the other ends: an error is that it hung up.
    fn converse(&self, stream: &TcpStream) -> Option<()> {
        let mut lines = BufReader::new(stream).lines();
        let say = |text: &str| (&*stream).write_all(format!("{text}\r\n").as_bytes()).ok();
        let (mut from, mut to) = (String::new(), String::new());
        say("220 mail.example ready")?;
        loop {
            let line = lines.next()?.ok()?;
            let manner = *self.manner.lock().unwrap();
            match line.to_ascii_uppercase() {
                word if word.starts_with("EHLO") => say("250-mail.example\r\n250 8BITMIME")?,
                word if word.starts_with("MAIL FROM:") && manner == Manner::Defers => say("451 come again later")?,
                word if word.starts_with("MAIL FROM:") => {
                    from = line;
                    say("250 ok")?;
                }
                word if word.starts_with("RCPT TO:") => {
                    to = line;
                    say("250 ok")?;
                }
                word if word == "DATA" => {
                    say("354 go on")?;
                    let mut text = String::new();
                    loop {
                        let line = lines.next()?.ok()?;
                        if line == "." {
                            break;
                        }
                        text.push_str(line.strip_prefix('.').unwrap_or(&line));
                        text.push('\n');
                    }
                    self.taken.lock().unwrap().push((from.clone(), to.clone(), text));
                    if manner == Manner::HangsUp {
                        return None;
                    }
                    say("250 taken")?;
                }
                word if word == "QUIT" => {
                    say("221 bye")?;
                    return None;
                }
                _ => say("250 ok")?,
            }
        }
    }
}
