//! Settings: one TOML file, and every key also as `ROOKERY_NAME` in the environment, which wins.
//!
//! A secret can be given as `ROOKERY_NAME_FILE`, the name of a file that holds it. An unknown key is an
//! error. The specification's limits are settings only so that tests need not wait; a start with other
//! values says so loudly.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use chrono::TimeDelta;
use ipnet::IpNet;
use serde::Deserialize;
use url::Url;

use crate::error::{Error, Result};
use crate::limits::daily_quota::DailyMail;
use crate::limits::rate::WindowLimit;
use crate::secrets::cell_urls::CellUrls;
use crate::secrets::key_ring::KeyRing;
use crate::secrets::secret::Secret;
use crate::store::cells::MAIN;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    pub database_url: Secret,
    /// The directory's database when it is not the workspaces' own.
    pub directory_url: Option<Secret>,
    /// For `rookery migrate`, when the service's role does not own the schema.
    pub migrate_url: Option<Secret>,
    pub migrate_directory_url: Option<Secret>,
    /// The name of the cell that `database_url` is, on a node of a fleet.
    pub cell: Option<String>,
    /// More cells that this node serves, with their databases.
    pub cells: Option<CellUrls>,
    /// Databases of cells as a role that owns their schema, for `rookery migrate` and `rookery cells move`.
    pub cell_owners: Option<CellUrls>,
    #[serde(default = "defaults::listen")]
    pub listen: SocketAddr,
    /// Where figures are served, apart from everything else, and where traces go; neither when not set.
    pub metrics_listen: Option<SocketAddr>,
    pub traces_url: Option<Url>,
    /// How long a node that is told to stop goes on while `/readyz` says so, for a balancer to look elsewhere.
    #[serde(default)]
    pub drain_seconds: u32,
    #[serde(default = "defaults::public_url")]
    pub public_url: Url,
    /// An origin of its own for the HTML of mails, on another host. Without it, mail is framed from the public URL.
    pub content_url: Option<Url>,
    /// Reverse proxies in front. They are exempt from the connection limit per address, and the client address
    /// they forward is trusted.
    #[serde(default = "defaults::trusted_proxies")]
    pub trusted_proxies: Vec<IpNet>,
    #[serde(default = "defaults::http_connections")]
    pub http_connections: u32,
    #[serde(default = "defaults::http_peer_connections")]
    pub http_peer_connections: u32,
    /// How long a client may take to send the request head or the next part of a body, or to read the next part of
    /// a response.
    #[serde(default = "defaults::http_timeout_seconds")]
    pub http_timeout_seconds: u32,
    /// Open pages that are told of changes, of everybody together; never more than three quarters of the connections.
    #[serde(default = "defaults::live_streams")]
    pub live_streams: u32,
    #[serde(default = "defaults::blobs")]
    pub blobs: Url,
    /// Credentials of the object store, when `blobs` is one.
    pub blobs_access_key: Option<Secret>,
    pub blobs_secret_key: Option<Secret>,
    /// One or several encryption keys with ids; the first is the newest.
    pub secret_key: Option<KeyRing>,
    /// The folder that backups go to, and what they are encrypted with; the first key is the newest.
    pub backups: Option<PathBuf>,
    pub backup_key: Option<KeyRing>,
    /// Listeners for incoming mail; none when not set.
    pub smtp_listen: Option<SocketAddr>,
    pub lmtp_listen: Option<SocketAddr>,
    /// Networks that may deliver by LMTP; this machine and private networks when empty.
    #[serde(default)]
    pub lmtp_peers: Vec<IpNet>,
    /// What the service calls itself to other mail servers; the public address's host when not set.
    pub mail_name: Option<String>,
    /// PEM files for STARTTLS, which is not offered without them.
    pub tls_certificate: Option<PathBuf>,
    pub tls_key: Option<PathBuf>,
    /// Name servers for SPF, DKIM and DMARC; the operating system's when empty.
    #[serde(default)]
    pub dns: Vec<SocketAddr>,
    /// Limit of SMTP connections, of all peers together.
    #[serde(default = "defaults::smtp_connections")]
    pub smtp_connections: u32,
    #[serde(default = "defaults::smtp_peer_connections")]
    pub smtp_peer_connections: u32,
    #[serde(default = "defaults::smtp_timeout_seconds")]
    pub smtp_timeout_seconds: u32,
    /// Limit of disk space for spooling large incoming mail, of all senders together.
    #[serde(default = "defaults::spool_megabytes")]
    pub spool_megabytes: u32,
    #[serde(default)]
    pub dmarc_reject: DmarcReject,
    /// Lines about mail in the log hold whole addresses, not only their domains.
    #[serde(default)]
    pub log_addresses: bool,
    /// Carries live mail: `smtps://user:password@host` or `smtp://…?tls=required`.
    pub relay: Option<Secret>,
    /// A virus scanner that customers' files are shown to: `tcp://host:3310` or `unix:///run/clamav/clamd.ctl`.
    pub clamd: Option<crate::net::clamd::Clamd>,
    /// Senders whose complaint reports are accepted: domains, or whole addresses. None when empty.
    #[serde(default)]
    pub feedback_sources: Vec<String>,
    /// Pages that may call the API from a browser; the service's own origin when empty.
    #[serde(default)]
    pub developer_origins: Vec<String>,
    /// Networks that webhooks may go to although they are not public, also over http. For development only.
    #[serde(default)]
    pub webhook_allow: Vec<IpNet>,
    /// The same for pictures that mail names on the web. Strangers write those addresses: for development only.
    #[serde(default)]
    pub picture_allow: Vec<IpNet>,
    /// A file of certificates that are trusted, besides the public ones, where we connect to others.
    pub trust_ca_file: Option<PathBuf>,
    #[serde(default = "defaults::webhook_answer_seconds")]
    pub webhook_answer_seconds: u32,
    #[serde(default = "defaults::database_connections")]
    pub database_connections: u32,
    #[serde(default = "defaults::rate_limit_requests")]
    pub rate_limit_requests: u32,
    #[serde(default = "defaults::rate_limit_window_seconds")]
    pub rate_limit_window_seconds: u32,
    #[serde(default = "defaults::sandbox_inbound_limit")]
    pub sandbox_inbound_limit: u32,
    #[serde(default = "defaults::undo_window_seconds")]
    pub undo_window_seconds: u32,
    #[serde(default = "defaults::sandbox_undo_window_seconds")]
    pub sandbox_undo_window_seconds: u32,
    /// Length of a lease on claimed work. After a crash, another node takes the work over when the lease ends.
    #[serde(default = "defaults::lease_seconds")]
    pub lease_seconds: u32,
    /// How long a search may spend on indexing pending words before it continues without them.
    #[serde(default = "defaults::search_patience_milliseconds")]
    pub search_patience_milliseconds: u32,
    /// Daily quotas of live mail from outside: for one sender and for one network per inbox, and for one
    /// conversation.
    #[serde(default = "defaults::mail_sender_daily_mails")]
    pub mail_sender_daily_mails: u32,
    #[serde(default = "defaults::mail_sender_daily_megabytes")]
    pub mail_sender_daily_megabytes: u32,
    #[serde(default = "defaults::mail_network_daily_mails")]
    pub mail_network_daily_mails: u32,
    #[serde(default = "defaults::mail_network_daily_megabytes")]
    pub mail_network_daily_megabytes: u32,
    #[serde(default = "defaults::mail_conversation_daily_mails")]
    pub mail_conversation_daily_mails: u32,
    #[serde(default = "defaults::mail_conversation_daily_megabytes")]
    pub mail_conversation_daily_megabytes: u32,
    #[serde(default = "defaults::app_mail_days")]
    pub app_mail_days: u32,
    #[serde(default = "defaults::app_mail_most")]
    pub app_mail_most: u32,
    /// The operator's model for assistants: any server that speaks the OpenAI chat format, also a local one.
    pub assistants_url: Option<Url>,
    pub assistants_model: Option<String>,
    pub assistants_key: Option<Secret>,
    /// What a million tokens cost there.
    #[serde(default)]
    pub assistants_price_in: f64,
    #[serde(default)]
    pub assistants_price_out: f64,
    /// What a workspace may spend on it in a month, at most.
    pub assistants_monthly_limit: Option<u32>,
    /// Networks that are not public and that a workspace's own model may be in.
    #[serde(default)]
    pub assistants_allow: Vec<IpNet>,
    /// Stops the assistants of every workspace.
    #[serde(default)]
    pub assistants_stopped: bool,
    #[serde(default = "defaults::assistants_seconds")]
    pub assistants_seconds: u32,
}

mod defaults {
    use super::*;

    pub fn listen() -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], 8080))
    }
    pub fn public_url() -> Url {
        Url::parse("http://localhost:8080").expect("the default address is an address")
    }
    pub fn blobs() -> Url {
        Url::parse("file:///var/lib/rookery/blobs").expect("the default folder is an address")
    }
    pub fn trusted_proxies() -> Vec<IpNet> {
        let here = ["127.0.0.0/8", "::1/128"];
        here.iter().map(|network| network.parse().expect("a network")).collect()
    }

    macro_rules! numbers {
        ($($name:ident $number:literal)*) => {$(pub fn $name() -> u32 { $number })*};
    }

    numbers! {
        http_connections 1000
        http_peer_connections 100
        http_timeout_seconds 10
        live_streams 10_000
        smtp_connections 1000
        spool_megabytes 1_024
        smtp_peer_connections 50
        smtp_timeout_seconds 300
        database_connections 20
        webhook_answer_seconds 10
        rate_limit_requests 120
        rate_limit_window_seconds 60
        sandbox_inbound_limit 120
        undo_window_seconds 600
        sandbox_undo_window_seconds 5
        lease_seconds 180
        search_patience_milliseconds 300
        mail_sender_daily_mails 1_000
        mail_sender_daily_megabytes 200
        mail_network_daily_mails 10_000
        mail_network_daily_megabytes 2_000
        mail_conversation_daily_mails 500
        mail_conversation_daily_megabytes 100
        app_mail_days 30
        app_mail_most 50_000
        assistants_seconds 30
    }
}

/// How many mails one connected service may report in a rate-limit window.
const TOLD_MAIL: u32 = 1200;

/// What to do with mail that fails DMARC when the author's domain publishes `p=reject`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DmarcReject {
    #[default]
    Deliver,
    Hold,
    Refuse,
}

/// Retention of app mail without a reply: how long, and how many.
#[derive(Clone, Copy, Debug)]
pub struct Retention {
    pub age: TimeDelta,
    pub most: i64,
}

/// Names that start `ROOKERY_` but are not settings of the service.
const NOT_SETTINGS: [&str; 5] = ["config", "log", "key", "server", "listen_secret"];
/// Settings that may stand in a file of their own.
const SECRETS: [&str; 12] = [
    "database_url",
    "directory_url",
    "migrate_url",
    "migrate_directory_url",
    "cells",
    "cell_owners",
    "secret_key",
    "relay",
    "blobs_access_key",
    "blobs_secret_key",
    "backup_key",
    "assistants_key",
];
/// Settings that have commas between their items in the environment.
const LISTS: [&str; 8] = [
    "assistants_allow",
    "developer_origins",
    "webhook_allow",
    "picture_allow",
    "trusted_proxies",
    "feedback_sources",
    "lmtp_peers",
    "dns",
];

impl Config {
    /// Reads the file (when there is one) and the environment.
    pub fn load(file: Option<&Path>, environment: impl Iterator<Item = (String, String)>) -> Result<Self> {
        let mut given = HashMap::new();
        for (name, value) in environment {
            let Some(key) = name.strip_prefix("ROOKERY_").map(str::to_lowercase) else { continue };
            if NOT_SETTINGS.contains(&key.as_str()) {
                continue;
            }
            match key.strip_suffix("_file").filter(|key| SECRETS.contains(key)) {
                Some(secret) => given.insert(secret.to_owned(), read_secret(&value)?),
                None => given.insert(key, value),
            };
        }
        let mut builder = config::Config::builder();
        if let Some(file) = file {
            builder = builder.add_source(config::File::from(PathBuf::from(file)));
        }
        let unusable = |error| Error::internal(format!("The settings cannot be used: {error}"));
        for (key, value) in given {
            // Values are passed as strings, and the type of the field decides how they are parsed: a secret may
            // consist of digits only.
            let value = if LISTS.contains(&key.as_str()) {
                config::Value::from(list(&value))
            } else {
                config::Value::from(value)
            };
            builder = builder.set_override(&key, value).map_err(unusable)?;
        }
        let config: Self = builder.build().and_then(config::Config::try_deserialize).map_err(unusable)?;
        config.check_content_url()?;
        Ok(config)
    }

    /// The name of the cell that these are the settings of.
    pub fn cell(&self) -> &str {
        self.cell.as_deref().unwrap_or(MAIN)
    }

    /// Cookies do not tell ports apart, so only another host is without ours.
    fn check_content_url(&self) -> Result<()> {
        let Some(url) = &self.content_url else { return Ok(()) };
        let sound = url.scheme() == self.public_url.scheme()
            && url.host_str().is_some_and(|host| Some(host) != self.public_url.host_str())
            && url.path() == "/"
            && url.query().is_none();
        if sound {
            Ok(())
        } else {
            Err(Error::internal(
                "ROOKERY_CONTENT_URL cannot be used: it has to be an origin such as https://mail.example.net, with the \
                 scheme of ROOKERY_PUBLIC_URL, another host and no path.",
            ))
        }
    }

    /// Where the HTML of mails is shown, when it has an origin of its own.
    pub fn content_origin(&self) -> Option<String> {
        self.content_url.as_ref().map(|url| url.origin().ascii_serialization())
    }

    /// The public URL when none is set.
    pub fn default_public_url() -> Url {
        defaults::public_url()
    }

    /// The origins that browsers may call the API from.
    pub fn origins(&self) -> Vec<String> {
        match self.developer_origins.as_slice() {
            [] => vec![self.public_url.origin().ascii_serialization()],
            given => given.to_vec(),
        }
    }

    pub fn mail_name(&self) -> String {
        let host = || self.public_url.host_str().unwrap_or("localhost").to_owned();
        self.mail_name.clone().unwrap_or_else(host)
    }

    pub fn request_limit(&self) -> WindowLimit {
        self.limit(self.rate_limit_requests)
    }

    pub fn sandbox_mail_limit(&self) -> WindowLimit {
        self.limit(self.sandbox_inbound_limit)
    }

    pub fn told_mail_limit(&self) -> WindowLimit {
        self.limit(TOLD_MAIL)
    }

    /// How long an HTTP client may stall.
    pub fn http_patience(&self) -> Duration {
        Duration::from_secs(u64::from(self.http_timeout_seconds))
    }

    /// Streams to open pages. The rest of the connections is left for requests.
    pub fn live_streams(&self) -> usize {
        self.live_streams.min(self.http_connections / 4 * 3) as usize
    }

    /// How long a sent reply can still be stopped.
    pub fn undo_window(&self, livemode: bool) -> TimeDelta {
        let seconds = if livemode { self.undo_window_seconds } else { self.sandbox_undo_window_seconds };
        TimeDelta::seconds(i64::from(seconds))
    }

    pub fn lease(&self) -> TimeDelta {
        TimeDelta::seconds(i64::from(self.lease_seconds))
    }

    /// Deadline for handing one mail to the relay. It is well below the lease, so a lease runs out only if its
    /// node died.
    pub fn handover(&self) -> TimeDelta {
        self.lease() / 3
    }

    pub fn app_mail_retention(&self) -> Retention {
        Retention { age: TimeDelta::days(i64::from(self.app_mail_days)), most: i64::from(self.app_mail_most) }
    }

    pub fn search_patience(&self) -> Duration {
        Duration::from_millis(u64::from(self.search_patience_milliseconds))
    }

    pub fn mail_of_a_sender(&self) -> DailyMail {
        DailyMail::from_megabytes(self.mail_sender_daily_mails, self.mail_sender_daily_megabytes)
    }

    pub fn mail_of_a_network(&self) -> DailyMail {
        DailyMail::from_megabytes(self.mail_network_daily_mails, self.mail_network_daily_megabytes)
    }

    pub fn mail_of_a_conversation(&self) -> DailyMail {
        DailyMail::from_megabytes(self.mail_conversation_daily_mails, self.mail_conversation_daily_megabytes)
    }

    fn limit(&self, most: u32) -> WindowLimit {
        WindowLimit { most, window: TimeDelta::seconds(i64::from(self.rate_limit_window_seconds)) }
    }

    /// The keys that encrypt stored secrets and authenticate links. An error when none is set.
    pub fn needs_secret_key(&self) -> Result<&KeyRing> {
        self.secret_key.as_ref().ok_or_else(KeyRing::missing)
    }

    /// How long a webhook may take to answer.
    pub fn webhook_time(&self) -> Duration {
        Duration::from_secs(u64::from(self.webhook_answer_seconds))
    }

    /// How long a model may take to answer: with finding it, less than a lease has room for, so that what it costs is
    /// always written down.
    pub fn assistants_time(&self) -> Duration {
        let room = (self.handover().num_seconds() - 10).max(2) * 2 / 3;
        Duration::from_secs(u64::from(self.assistants_seconds).min(room.unsigned_abs()))
    }

    /// Settings that depart from the specification, as sentences for the log.
    pub fn departures(&self) -> Vec<String> {
        macro_rules! set {
            ($($key:ident)*) => { [$((stringify!($key), self.$key, defaults::$key())),*] };
        }
        let numbers = set! {
            rate_limit_requests rate_limit_window_seconds sandbox_inbound_limit undo_window_seconds
            sandbox_undo_window_seconds app_mail_days app_mail_most webhook_answer_seconds
        };
        let opened: Vec<_> = self.webhook_allow.iter().map(IpNet::to_string).collect();
        let opened = (!opened.is_empty()).then(|| format!("webhooks may go to {}", opened.join(", ")));
        let changed = numbers.into_iter().filter(|(_, set, specified)| set != specified);
        let changed = changed.map(|(key, set, specified)| format!("{key} is {set} instead of {specified}"));
        changed.chain(opened).collect()
    }
}

fn list(text: &str) -> Vec<String> {
    text.split(',').map(|item| item.trim().to_owned()).filter(|item| !item.is_empty()).collect()
}

fn read_secret(file: &str) -> Result<String> {
    let text = std::fs::read_to_string(file)
        .map_err(|error| Error::internal(format!("The secret file {file} cannot be read: {error}")))?;
    Ok(text.trim_end_matches(['\r', '\n']).to_owned())
}

#[cfg(test)]
mod tests;
