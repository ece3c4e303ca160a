//! One SMTP or LMTP session, command by command (RFC 5321, RFC 2033). A client that sends ahead without waiting,
//! makes too many errors or is too slow is disconnected. An LMTP front server of our own is exempt from error
//! limits, because it passes on what others sent.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use smtp_proto::{Error as Malformed, MailFrom, Request};
use tokio::time::Instant;

use super::door::{Door, MAX_MAIL_BYTES, Protocol};
use super::origin::MailOrigin;
use super::peers::PeerSeat;
use super::recipients::{Envelope, Home};
use super::spool::Spool;
use super::wire::{Wire, WireLine};
use rookery_reading::mail::data::{Data, Flaw};

const MOST_RECIPIENTS: usize = 100;
/// Errors and refused commands of one connection.
const MOST_FAULTS: u32 = 20;
/// Commands of one connection that do not lead to a mail.
const MOST_IDLE: u32 = 100;
const MOST_MAILS: u32 = 10_000;
/// How long receiving one mail may take, whatever its size.
const DATA_TIME: Duration = Duration::from_secs(15 * 60);
/// Minimum rate in bytes per second. A client that is slower uses up its patience.
const PACE: f64 = 1_000.0;
/// Limits of a whole session, as multiples of the timeout of one command: until the first mail is accepted, and in
/// total.
const UNTIL_FIRST: u32 = 4;
const AT_ALL: u32 = 12;

pub struct MailSession {
    door: Arc<Door>,
    protocol: Protocol,
    seat: PeerSeat,
    origin: MailOrigin,
    envelope: Option<Envelope>,
    faults: u32,
    idle: u32,
    mails: u32,
    began: Instant,
    /// There was a MAIL command.
    asked: bool,
    /// A mail was accepted.
    proven: bool,
}

/// What comes after an answer.
enum Next {
    Go,
    StartTls,
    Close,
}

impl MailSession {
    pub fn new(door: Arc<Door>, peer: IpAddr, protocol: Protocol, seat: PeerSeat) -> Self {
        let address = (protocol == Protocol::Smtp).then_some(peer);
        let origin =
            MailOrigin { address, peer, helo: None, extended: false, encrypted: false, passed_on: false };
        let (faults, idle, mails, began) = (0, 0, 0, Instant::now());
        let (envelope, asked, proven) = (None, false, false);
        Self { door, protocol, seat, origin, envelope, faults, idle, mails, began, asked, proven }
    }

    pub async fn run(mut self, wire: Wire) -> io::Result<()> {
        let ended = self.converse(wire).await;
        if self.origin.encrypted && !self.asked {
            // A client that starts TLS and then sends no mail only costs us handshakes.
            self.seat.fault();
        }
        ended
    }

    async fn converse(&mut self, mut wire: Wire) -> io::Result<()> {
        let kind = if self.protocol == Protocol::Lmtp { "LMTP" } else { "ESMTP" };
        wire.say(&format!("220 {} {kind} Rookery\r\n", self.door.name)).await?;
        loop {
            let since = Instant::now();
            if since >= self.lasts_until() {
                wire.say("421 4.4.2 This conversation took too long, try again later\r\n").await?;
                break;
            }
            let line = tokio::select! {
                line = wire.line(|| self.lasts_until().min(since + self.seat.patience())) => Ok(line),
                () = self.door.app.stop.wait() => Err("421 4.3.2 Shutting down, try again shortly\r\n"),
                () = self.seat.leave() => Err(CROWDED),
            };
            let line = match line {
                Ok(line) => line,
                Err(farewell) => {
                    wire.say(farewell).await?;
                    break;
                }
            };
            self.seat.moved();
            let line = match line {
                Ok(WireLine::Command(line)) => line,
                Ok(WireLine::Malformed) => {
                    wire.say("500 5.5.2 A command is one line of text that ends with CRLF\r\n").await?;
                    break;
                }
                Ok(WireLine::TooLong) => {
                    wire.say("500 5.5.2 Line too long\r\n").await?;
                    break;
                }
                Err(error) if error.kind() == io::ErrorKind::TimedOut => {
                    wire.say("421 4.4.2 The next command took too long\r\n").await?;
                    break;
                }
                Ok(WireLine::Closed) | Err(_) => return Ok(()),
            };
            match self.answer(&mut wire, &line).await? {
                Next::Go => {}
                Next::Close => break,
                Next::StartTls => {
                    let Some(tls) = &self.door.tls else { break };
                    // Forget everything that was said before TLS.
                    (self.origin.helo, self.origin.encrypted, self.envelope) = (None, true, None);
                    self.asked = false;
                    wire = wire.encrypt(tls.acceptor()).await?;
                }
            }
        }
        wire.close().await;
        Ok(())
    }

    /// The sessions of a front server have no total limit.
    fn lasts_until(&self) -> Instant {
        match self.protocol {
            Protocol::Lmtp => Instant::now() + DATA_TIME,
            Protocol::Smtp if self.proven => self.began + self.seat.whole_patience() * AT_ALL,
            Protocol::Smtp => self.began + self.seat.patience() * UNTIL_FIRST,
        }
    }

    async fn answer(&mut self, wire: &mut Wire, line: &[u8]) -> io::Result<Next> {
        if self.protocol == Protocol::Lmtp
            && line.get(..9).is_some_and(|w| w.eq_ignore_ascii_case(b"XFORWARD "))
        {
            self.origin.forwarded(&line[9..]);
            wire.say("250 2.0.0 Ok\r\n").await?;
            return Ok(Next::Go);
        }
        let request = match Request::parse(&mut line.iter()) {
            Ok(request) => request.into_owned(),
            Err(malformed) => return self.wrong(wire, complaint(&malformed)).await,
        };
        // These must end a pipelined group (RFC 2920): a client that has sent more did not wait for our reply.
        let waits = matches!(
            request,
            Request::Data
                | Request::StartTls
                | Request::Ehlo { .. }
                | Request::Helo { .. }
                | Request::Lhlo { .. }
        );
        if waits && wire.has_more() {
            self.seat.fault();
            wire.say("503 5.5.1 Wait for the answer to this command\r\n").await?;
            return Ok(Next::Close);
        }
        match request {
            Request::Ehlo { host } if self.protocol == Protocol::Smtp => self.greet(wire, host, true).await,
            Request::Lhlo { host } if self.protocol == Protocol::Lmtp => self.greet(wire, host, true).await,
            Request::Helo { host } if self.protocol == Protocol::Smtp => self.greet(wire, host, false).await,
            Request::StartTls => self.start_tls(wire).await,
            Request::Mail { from } => self.mail(wire, from).await,
            Request::Rcpt { to } => self.recipient(wire, &to.address).await,
            Request::Data => self.data(wire).await,
            Request::Rset => {
                self.envelope = None;
                self.idles(wire, "250 2.0.0 Ok\r\n").await
            }
            Request::Noop { .. } => self.idles(wire, "250 2.0.0 Ok\r\n").await,
            Request::Vrfy { .. } => self.idles(wire, "252 2.5.2 Send some mail and see\r\n").await,
            Request::Quit => {
                wire.say("221 2.0.0 Bye\r\n").await?;
                Ok(Next::Close)
            }
            _ => self.wrong(wire, "502 5.5.1 Command not offered").await,
        }
    }

    async fn greet(&mut self, wire: &mut Wire, host: String, extended: bool) -> io::Result<Next> {
        (self.origin.helo, self.origin.extended, self.envelope) = (Some(host), extended, None);
        let name = &self.door.name;
        if !extended {
            return self.idles(wire, &format!("250 {name}\r\n")).await;
        }
        let offers_tls = self.door.tls.is_some() && !wire.is_encrypted();
        let tls = if offers_tls { "250-STARTTLS\r\n" } else { "" };
        let forward = if self.protocol == Protocol::Lmtp { "250-XFORWARD ADDR HELO\r\n" } else { "" };
        let answer = format!(
            "250-{name}\r\n250-PIPELINING\r\n250-SIZE {MAX_MAIL_BYTES}\r\n{tls}{forward}250-ENHANCEDSTATUSCODES\r\n\
             250-8BITMIME\r\n250 SMTPUTF8\r\n"
        );
        self.idles(wire, &answer).await
    }

    async fn start_tls(&mut self, wire: &mut Wire) -> io::Result<Next> {
        if wire.is_encrypted() {
            return self.wrong(wire, "503 5.5.1 TLS has begun already").await;
        }
        if self.door.tls.is_none() {
            return self.wrong(wire, "502 5.5.1 TLS is not offered").await;
        }
        wire.say("220 2.0.0 Go ahead\r\n").await?;
        Ok(Next::StartTls)
    }

    async fn mail(&mut self, wire: &mut Wire, from: MailFrom<String>) -> io::Result<Next> {
        if self.origin.helo.is_none() {
            return self.wrong(wire, "503 5.5.1 Say who you are first").await;
        }
        if self.envelope.is_some() {
            return self.wrong(wire, "503 5.5.1 One mail at a time").await;
        }
        if from.size > MAX_MAIL_BYTES {
            self.door.log_refused(&self.origin, &from.address, None, TOO_LARGE);
            return self.wrong(wire, TOO_LARGE).await;
        }
        if self.mails >= MOST_MAILS {
            self.door.log_refused(&self.origin, &from.address, None, ENOUGH);
            wire.say(&format!("{ENOUGH}\r\n")).await?;
            return Ok(Next::Close);
        }
        self.asked = true;
        self.envelope = Some(Envelope { from: from.address, recipients: Vec::new() });
        wire.say("250 2.1.0 Ok\r\n").await?;
        Ok(Next::Go)
    }

    async fn recipient(&mut self, wire: &mut Wire, address: &str) -> io::Result<Next> {
        let Some(envelope) = &mut self.envelope else {
            return self.wrong(wire, "503 5.5.1 Say who it is from first").await;
        };
        if envelope.recipients.len() >= MOST_RECIPIENTS {
            self.door.log_refused(&self.origin, &envelope.from, Some(address), TOO_MANY);
            return self.idles(wire, &format!("{TOO_MANY}\r\n")).await;
        }
        match self.door.recipients.find(&self.door.cells, address).await {
            Ok(Some(recipient)) if matches!(recipient.home, Home::Unproven) => {
                self.door.app.figures.mail_refused(self.protocol.as_str(), UNPROVEN);
                self.door.log_refused(&self.origin, &envelope.from, Some(address), UNPROVEN);
                self.idles(wire, &format!("{UNPROVEN}\r\n")).await
            }
            Ok(Some(recipient)) => {
                envelope.recipients.push(recipient);
                wire.say("250 2.1.5 Ok\r\n").await?;
                Ok(Next::Go)
            }
            Ok(None) => {
                self.door.app.figures.mail_refused(self.protocol.as_str(), NO_INBOX);
                self.door.log_refused(&self.origin, &envelope.from, Some(address), NO_INBOX);
                // A wrong address is not the front server's error, but that of its client.
                if self.protocol == Protocol::Smtp {
                    return self.wrong(wire, NO_INBOX).await;
                }
                wire.say(&format!("{NO_INBOX}\r\n")).await?;
                Ok(Next::Go)
            }
            Err(error) => {
                tracing::warn!(%error, "a recipient could not be looked up");
                self.door.log_refused(&self.origin, &envelope.from, Some(address), OUR_FAULT);
                wire.say(&format!("{OUR_FAULT}\r\n")).await?;
                Ok(Next::Go)
            }
        }
    }

    async fn data(&mut self, wire: &mut Wire) -> io::Result<Next> {
        let envelope = match self.envelope.take() {
            Some(envelope) if !envelope.recipients.is_empty() => envelope,
            Some(envelope) => {
                self.envelope = Some(envelope);
                return self.wrong(wire, "554 5.5.1 Nobody to give the mail to").await;
            }
            None => return self.wrong(wire, "503 5.5.1 Say who it is from and for first").await,
        };
        self.mails += 1;
        self.idle = 0;
        wire.say("354 End the mail with a line that holds a dot\r\n").await?;
        let taken = tokio::select! {
            taken = self.take(wire) => taken,
            () = self.seat.leave() => {
                let answer = CROWDED.trim_end();
                self.door.log_refused(&self.origin, &envelope.from, envelope.first_recipient(), answer);
                wire.say(CROWDED).await?;
                return Ok(Next::Close);
            }
        };
        let answers = match taken {
            Ok(TakenMail::Whole(spool)) => {
                self.seat.is_busy(true);
                let answers = self.door.hand_over(&self.origin, self.protocol, &envelope, spool).await;
                self.seat.is_busy(false);
                if answers.iter().any(|answer| answer.starts_with('5')) {
                    self.seat.fault();
                }
                if !self.proven && answers.iter().any(|answer| answer.starts_with('2')) {
                    self.proven = true;
                    self.seat.proven();
                }
                answers
            }
            Ok(TakenMail::Refused(answer)) => {
                self.seat.fault();
                self.door.app.figures.mail_refused(self.protocol.as_str(), answer);
                self.door.log_refused(&self.origin, &envelope.from, envelope.first_recipient(), answer);
                vec![answer.to_owned()]
            }
            Ok(TakenMail::Gone) => {
                self.door.log_refused(&self.origin, &envelope.from, envelope.first_recipient(), GONE);
                return Ok(Next::Close);
            }
            Err(error) if error.kind() == io::ErrorKind::TimedOut => {
                self.door.log_refused(&self.origin, &envelope.from, envelope.first_recipient(), TOO_LATE);
                wire.say(&format!("{TOO_LATE}\r\n")).await?;
                return Ok(Next::Close);
            }
            Err(error) => {
                self.door.log_refused(&self.origin, &envelope.from, envelope.first_recipient(), GONE);
                return Err(error);
            }
        };
        // LMTP answers for each recipient, SMTP once for all.
        match self.protocol {
            Protocol::Smtp => wire.say(&format!("{}\r\n", answers[0])).await?,
            Protocol::Lmtp => {
                for number in 0..envelope.recipients.len() {
                    let answer = answers.get(number).unwrap_or(&answers[0]);
                    wire.say(&format!("{answer}\r\n")).await?;
                }
            }
        }
        Ok(Next::Go)
    }

    /// Receives a mail to its end, also one that will be refused, so that none of it is taken for a command.
    async fn take(&self, wire: &mut Wire) -> io::Result<TakenMail> {
        let (mut data, mut spool) = (Data::new(MAX_MAIL_BYTES), Spool::new(self.seat.room()));
        let mut full = false;
        let ends = Instant::now() + DATA_TIME;
        // How far the client is behind the minimum rate, and when that was measured.
        let (mut behind, mut since) = (Duration::ZERO, Instant::now());
        loop {
            let until = || ends.min(since + self.seat.patience().saturating_sub(behind));
            let Some((length, ended)) = wire.pour(&mut data, &mut spool.memory, until).await? else {
                return Ok(TakenMail::Gone);
            };
            self.seat.moved();
            if self.protocol == Protocol::Smtp {
                let gained = Duration::from_secs_f64(length as f64 / PACE);
                behind = (behind + since.elapsed()).saturating_sub(gained);
            }
            since = Instant::now();
            if data.flaw().is_some() || full {
                spool.discard();
            } else if let Err(error) = spool.settle().await {
                if error.kind() != io::ErrorKind::QuotaExceeded {
                    tracing::warn!(%error, "a mail could not be put on disk");
                }
                full = true;
            }
            if ended {
                return Ok(match data.flaw() {
                    _ if full => TakenMail::Refused("452 4.3.1 No room for the mail, try again later"),
                    None => TakenMail::Whole(spool),
                    Some(Flaw::TooLarge) => TakenMail::Refused(TOO_LARGE),
                    Some(Flaw::Nul) => TakenMail::Refused("554 5.6.0 The mail has a NUL byte in it"),
                    Some(Flaw::BareLf | Flaw::BareCr) => {
                        TakenMail::Refused("554 5.6.11 A line of the mail does not end with CRLF")
                    }
                });
            }
        }
    }

    /// For commands that lead to no mail: many of them only keep us busy.
    async fn idles(&mut self, wire: &mut Wire, answer: &str) -> io::Result<Next> {
        self.idle += u32::from(self.protocol == Protocol::Smtp);
        if self.idle > MOST_IDLE {
            wire.say("421 4.7.0 Too many commands without a mail\r\n").await?;
            return Ok(Next::Close);
        }
        wire.say(answer).await?;
        Ok(Next::Go)
    }

    async fn wrong(&mut self, wire: &mut Wire, answer: &str) -> io::Result<Next> {
        self.seat.fault();
        self.faults += 1;
        if self.faults > MOST_FAULTS {
            wire.say("421 4.7.0 Too many errors\r\n").await?;
            return Ok(Next::Close);
        }
        wire.say(&format!("{answer}\r\n")).await?;
        Ok(Next::Go)
    }
}

const TOO_LARGE: &str = "552 5.3.4 The mail is too large";
const TOO_LATE: &str = "421 4.4.2 The mail took too long";
const GONE: &str = "421 4.4.2 The connection ended before the mail did";
const ENOUGH: &str = "421 4.7.0 Enough mail for one connection";
const TOO_MANY: &str = "452 4.5.3 Too many recipients, send the mail again for the others";
const OUR_FAULT: &str = "451 4.3.0 Something is wrong on our side, try again later";
const UNPROVEN: &str = "450 4.2.1 The domain of this inbox is not proven yet, try again later";
const NO_INBOX: &str = "550 5.1.1 No such inbox here";
const CROWDED: &str = "421 4.7.0 Too many connections, try again later\r\n";

enum TakenMail {
    Whole(Spool),
    Refused(&'static str),
    Gone,
}

fn complaint(malformed: &Malformed) -> &'static str {
    match malformed {
        Malformed::InvalidSenderAddress => "553 5.1.7 That is no address",
        Malformed::InvalidRecipientAddress => "553 5.1.3 That is no address",
        Malformed::InvalidParameter { .. } => "501 5.5.4 A parameter cannot be read",
        Malformed::UnsupportedParameter { .. } => "555 5.5.4 A parameter is not offered",
        Malformed::SyntaxError { .. } => "501 5.5.2 The command cannot be read",
        _ => "500 5.5.1 Unknown command",
    }
}
