//! The examination from top to bottom: what is looked at, in which order, and what is left out when something before it is
//! broken.

use url::Host;

use crate::doctor::given::Given;
use crate::doctor::row::{CheckRow, DoctorReport};
use crate::doctor::{
    address, backup, beside, cells, database, domains, mail_in, mail_out, program, storage, work,
};
use rookery_base::app::App;
use rookery_base::clock::written;
use rookery_base::ids::WorkspaceId;
use rookery_base::net::dns::Dns;

/// Every row, in the order in which they are told. Those of domains have the domain behind their name.
pub const NAMES: &[&str] = &[
    "version",
    "settings",
    "file-descriptors",
    "secret-key",
    "database",
    "database-version",
    "database-encoding",
    "database-role",
    "migrations",
    "clock",
    "database-speed",
    "database-connections",
    "database-durability",
    "autovacuum",
    "transaction-age",
    "long-transactions",
    "prepared-transactions",
    "wal-archiving",
    "replication-slots",
    "days",
    "directory",
    "cells",
    "places",
    "moves",
    "sealed-values",
    "newest-key",
    "audit-log",
    "blobs",
    "disk",
    "inodes",
    "spool",
    "files",
    "erasure-list",
    "name-servers",
    "public-address",
    "public-host",
    "public-https",
    "public-certificate",
    "content-address",
    "smtp",
    "smtp-starttls",
    "smtp-key",
    "smtp-certificate",
    "smtp-certificate-name",
    "lmtp",
    "mail-name",
    "mail-pointer",
    "port-25-in",
    "port-25-out",
    "dkim",
    "spf",
    "dmarc",
    "mx",
    "unsigned-domains",
    "unproven-domains",
    "reserved-addresses",
    "relay",
    "relay-encrypted",
    "relay-reached",
    "relay-sign-in",
    "loops",
    "webhooks",
    "webhook-way-out",
    "sending-services",
    "scanner",
    "file-reader",
    "text-recognition",
    "model",
    "backup-programs",
    "backup",
    "backup-key",
    "backup-secret-key",
    "backup-proven",
    "backup-room",
];

/// What the rows are about, by the first of each area.
const AREAS: &[(&str, &str)] = &[
    ("version", "Program"),
    ("database", "Database"),
    ("sealed-values", "Keys and audit log"),
    ("blobs", "Files"),
    ("name-servers", "Addresses"),
    ("smtp", "Incoming mail"),
    ("dkim", "Domains"),
    ("relay", "Outgoing mail"),
    ("loops", "Background work"),
    ("scanner", "Reading of documents"),
    ("backup-programs", "Backups"),
];

/// The area of a row.
pub fn area(kind: &str) -> &'static str {
    let place = |name: &str| NAMES.iter().position(|one| *one == name);
    let at = place(kind);
    AREAS.iter().rev().find(|(first, _)| place(first) <= at).map_or("More", |(_, title)| title)
}

/// Looks at everything. Nothing is changed but for a file in the blob store, which is taken away again.
pub async fn examine(app: &App, given: &Given) -> DoctorReport {
    let mut rows = program::inspect(app, given);
    let has_key = app.config.secret_key.is_some();
    let database = database::reach(app).await;
    let reached = database.ok;
    rows.push(database);
    let mut has_schema = false;
    if reached {
        let looked = database::inspect(app).await;
        has_schema = looked.iter().any(|row| row.name == "migrations" && row.ok);
        rows.extend(looked);
    }
    if has_schema {
        rows.extend(database::look_inside(app).await);
        rows.extend(cells::inspect(app).await);
        if has_key {
            rows.extend(program::look_at_sealed(app).await);
        }
        rows.push(work::audit_log(app).await);
    }
    rows.extend(storage::inspect(app, given, has_schema).await);

    let dns = Dns::new(&app.config.dns);
    let names = address::name_servers(app, &dns).await;
    let dns = dns.ok().filter(|_| names.ok);
    rows.push(names);
    let by_name = matches!(app.config.public_url.host(), Some(Host::Domain(name)) if name != "localhost");
    if dns.is_some() || !by_name {
        rows.extend(address::inspect(app, given, dns.as_ref()).await);
    }
    let domains = if has_schema { domains::all(app).await } else { Ok(Vec::new()) };
    rows.extend(mail_in::inspect(app, given, dns.as_ref(), &domains).await);
    if let (Some(dns), true) = (&dns, has_schema) {
        rows.extend(domains::inspect(app, dns, domains).await);
    }
    if has_schema {
        rows.extend(domains::whose(app).await);
    }
    rows.extend(mail_out::inspect(app, dns.is_some(), has_schema).await);
    if has_schema {
        rows.extend(work::inspect(app, dns.is_some()).await);
    }
    rows.extend(beside::inspect(app, given).await);
    rows.extend(backup::inspect(app, given, reached).await);
    DoctorReport { at: written(app.clock.now()), rows: in_order(rows) }
}

/// Looks at what one workspace has of its own: its domains.
pub async fn examine_workspace(app: &App, workspace: WorkspaceId) -> DoctorReport {
    let rows = match Dns::new(&app.config.dns) {
        Ok(dns) => domains::look_at_own(app, &dns, workspace).await,
        Err(error) => Err(error),
    };
    let rows =
        rows.unwrap_or_else(|error| vec![CheckRow::from_result("domains", "their records", Err(error))]);
    DoctorReport { at: written(app.clock.now()), rows: in_order(rows) }
}

fn in_order(mut rows: Vec<CheckRow>) -> Vec<CheckRow> {
    rows.sort_by_key(|row| NAMES.iter().position(|name| *name == row.kind()).unwrap_or(NAMES.len()));
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_has_its_area() {
        assert!(AREAS.iter().all(|(first, _)| NAMES.contains(first)), "an area begins with a row");
        let mut areas: Vec<&str> = NAMES.iter().map(|name| area(name)).collect();
        areas.dedup();
        assert_eq!(areas, AREAS.iter().map(|(_, title)| *title).collect::<Vec<_>>());
        assert_eq!(
            (area("wal-archiving"), area("backup-room"), area("of a later version")),
            ("Database", "Backups", "More")
        );
    }
}
