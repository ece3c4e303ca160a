//! The error type of the program: each variant is a row of the specification's error table (section 7).
//!
//! Sentences are for people; programs go by the status. A sentence never repeats what the caller sent.

use std::error::Error as StdError;
use std::fmt;
use std::time::Duration;

pub type Result<T, E = Error> = std::result::Result<T, E>;

#[derive(Debug)]
pub enum Error {
    /// 400: everything that is wrong with the input.
    Problems(Vec<Problem>),
    /// 401: no key, or one that is not valid.
    Unauthorized,
    /// 403: the key may not do this.
    Forbidden(String),
    /// 404: there is no such thing, or none that the caller can see.
    Missing(&'static str),
    /// 405, with the methods that are there.
    Method(String),
    /// 409: something stands against it, which has to be ended first.
    Conflict(String),
    /// 413: the whole body is over its cap.
    TooLarge,
    /// 422: it can be understood, and not be done as it is.
    Unprocessable(&'static str),
    /// 429, with the time after which another try can succeed.
    SlowDown { sentence: String, retry_after: Duration },
    /// No failure: the same request was carried out before, and this was its answer. Only `api::registry` meets it.
    AnsweredBefore { status: u16, body: String },
    /// 500: something on our side. The cause goes to the log, never to the caller.
    Internal(Box<dyn StdError + Send + Sync>),
}

/// The connection was lost while a transaction was being committed: it may have happened or not.
#[derive(Debug, thiserror::Error)]
#[error("it is unknown whether the transaction was committed: {0}")]
pub struct Uncertain(#[source] pub sqlx::Error);

/// What was done panicked.
#[derive(Debug, thiserror::Error)]
#[error("it panicked")]
struct Panicked;

/// One thing wrong with one field: `body: is required`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    pub field: String,
    pub what: String,
}

pub const NO_CONVERSATION: Error = Error::Missing("No such conversation.");
pub const NO_MESSAGE: Error = Error::Missing("No such message.");
pub const NO_AGENT: Error = Error::Missing("No such agent in this workspace.");
pub const NO_MAILBOX: Error = Error::Missing("No such inbox.");
pub const NO_ENDPOINT: Error = Error::Missing("No such endpoint.");

/// What an agent is told that may do nothing now.
const AGENTS_STOPPED: &str =
    "Every agent of this workspace is stopped. An owner or admin can start them again in Settings, Agents.";

impl Error {
    pub fn problem(field: impl Into<String>, what: impl Into<String>) -> Self {
        Self::Problems(vec![Problem { field: field.into(), what: what.into() }])
    }

    pub fn internal(cause: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self::Internal(cause.into())
    }

    /// Whether the failed transaction may have been committed all the same.
    pub fn is_uncertain(&self) -> bool {
        matches!(self, Self::Internal(cause) if cause.is::<Uncertain>())
    }

    pub fn panicked() -> Self {
        Self::internal(Panicked)
    }

    pub fn is_panic(&self) -> bool {
        matches!(self, Self::Internal(cause) if cause.is::<Panicked>())
    }

    /// Whether the workspace lets nobody in.
    pub fn is_fenced(&self) -> bool {
        matches!(self.of_the_database(), Some(sqlx::Error::Database(error)) if error.code().as_deref() == Some("RK001"))
    }

    /// A transaction of an agent that was not begun, because every agent is stopped, is told to the agent so.
    pub fn or_stopped(self) -> Self {
        match self.of_the_database() {
            Some(sqlx::Error::Database(error)) if error.code().as_deref() == Some("RK002") => {
                Self::agents_stopped()
            }
            _ => self,
        }
    }

    pub fn agents_stopped() -> Self {
        Self::Forbidden(AGENTS_STOPPED.to_owned())
    }

    pub fn is_agents_stopped(&self) -> bool {
        matches!(self, Self::Forbidden(sentence) if sentence == AGENTS_STOPPED)
    }

    /// An outage, or a wait for somebody's lock that was given up: the same may succeed a moment later.
    pub fn may_pass(&self) -> bool {
        let code = match self.of_the_database() {
            Some(sqlx::Error::Database(error)) => error.code().unwrap_or_default(),
            _ => return self.is_outage(),
        };
        self.is_outage() || ["40001", "40P01", "55P03", "57014"].contains(&&*code)
    }

    /// Whether the database could not be asked, whatever was to be asked of it.
    pub fn is_outage(&self) -> bool {
        match self.of_the_database() {
            Some(sqlx::Error::Database(error)) => {
                // Connections that break, a lack of memory, disk or connections, a server that stops.
                let code = error.code().unwrap_or_default();
                ["08", "53", "57P"].iter().any(|class| code.starts_with(class))
            }
            Some(error) => matches!(
                error,
                sqlx::Error::Io(_)
                    | sqlx::Error::Tls(_)
                    | sqlx::Error::Protocol(_)
                    | sqlx::Error::PoolTimedOut
                    | sqlx::Error::PoolClosed
                    | sqlx::Error::WorkerCrashed
            ),
            None => self.is_uncertain(),
        }
    }

    fn of_the_database(&self) -> Option<&sqlx::Error> {
        match self {
            Self::Internal(cause) => cause.downcast_ref(),
            _ => None,
        }
    }

    pub fn status(&self) -> u16 {
        match self {
            Self::Problems(_) => 400,
            Self::Unauthorized => 401,
            Self::Forbidden(_) => 403,
            Self::Missing(_) => 404,
            Self::Method(_) => 405,
            Self::Conflict(_) => 409,
            Self::TooLarge => 413,
            Self::Unprocessable(_) => 422,
            Self::SlowDown { .. } => 429,
            Self::AnsweredBefore { status, .. } => *status,
            Self::Internal(_) => 500,
        }
    }

    /// What the caller reads. Problems are joined by semicolons, so none contains one.
    pub fn sentence(&self) -> String {
        match self {
            Self::Problems(problems) => {
                let parts: Vec<_> = problems.iter().map(Problem::to_string).collect();
                parts.join("; ")
            }
            Self::Unauthorized => "Give a valid API key as a bearer token.".into(),
            Self::Forbidden(sentence) | Self::Conflict(sentence) => sentence.clone(),
            Self::Missing(sentence) | Self::Unprocessable(sentence) => (*sentence).into(),
            Self::AnsweredBefore { .. } => "This was done before.".into(),
            Self::Method(_) => "This endpoint does not offer that method.".into(),
            Self::TooLarge => "The request body is too large.".into(),
            Self::SlowDown { sentence, .. } => sentence.clone(),
            Self::Internal(_) => "Something went wrong on our side. Try again shortly.".into(),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.what.replace(';', ","))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Internal(cause) => write!(f, "{cause}"),
            known => f.write_str(&known.sentence()),
        }
    }
}

impl StdError for Error {}

macro_rules! internal {
    ($($cause:ty),*) => {$(
        impl From<$cause> for Error {
            fn from(cause: $cause) -> Self { Self::internal(cause) }
        }
    )*};
}

internal!(sqlx::Error, sqlx::migrate::MigrateError, object_store::Error, serde_json::Error, std::io::Error);
