//! Takes what a connected sending service reported (specification 4.13.4): sent and delivered mail comes on record, and an
//! address that bounced or complained is not written to any more.
//!
//! That last thing needs a mail on record that went to the address, by the same service or by the app itself: a service
//! cannot silence a customer it never wrote to. A report that comes before its mail waits for it.

use crate::app::App;
use crate::app_mail::adapters::Provider;
use crate::app_mail::adapters::report::{Kind, Read, Report};
use crate::app_mail::sent::{self, SentMail};
use crate::app_mail::told::{self, Line, Outcome};
use crate::error::{Error, Result};
use crate::ids::{SendingServiceId, WorkspaceId};
use crate::replies::suppress::{Reason, suppress};
use crate::store::db::Tx;

/// Reports that are stored together.
const BATCH: usize = 100;
const NOT_STORED: &str = "A report could not be stored. Our log says why.";

/// What came of a request.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Taken {
    /// Reports that were new.
    pub taken: usize,
    /// Mail that was not on record before.
    pub first: usize,
    /// Reports that could not be read or stored.
    pub unread: usize,
}

/// Stores the reports of a request whose signature was verified. When this fails the service should try again; what was
/// stored by then is known, and changes nothing.
pub async fn take(
    app: &App,
    workspace: WorkspaceId,
    service: SendingServiceId,
    provider: Provider,
    read: &Read,
) -> Result<Taken> {
    let mut all = Taken { unread: read.unread.len(), ..Taken::default() };
    let by = By { app, workspace, service, provider };
    for batch in read.reports.chunks(BATCH) {
        match by.store(batch).await {
            Ok((taken, first)) => {
                all.taken += taken;
                all.first += first;
            }
            Err(error) if error.may_pass() || error.is_fenced() => return Err(error),
            // One that cannot be stored must not be tried for ever, nor keep the others out.
            Err(_) => {
                for report in batch {
                    match by.store(std::slice::from_ref(report)).await {
                        Ok((taken, first)) => {
                            all.taken += taken;
                            all.first += first;
                        }
                        Err(error) if error.may_pass() || error.is_fenced() => return Err(error),
                        Err(error) => {
                            tracing::error!(%service, %error, "a report of a sending service cannot be stored");
                            all.unread += 1;
                        }
                    }
                }
            }
        }
    }
    if all.unread > 0 {
        let why = read.unread.first().copied().unwrap_or(NOT_STORED);
        refuse(app, workspace, service, why, all.unread).await?;
    }
    Ok(all)
}

/// Writes down that something was refused, so that people can see why.
pub async fn refuse(
    app: &App,
    workspace: WorkspaceId,
    service: SendingServiceId,
    why: &str,
    reports: usize,
) -> Result<()> {
    let mut tx = app.begin(workspace).await?;
    let why = match reports {
        0 | 1 => why.to_owned(),
        many => format!("{many} reports. The first: {why}"),
    };
    let line =
        Line { kind: None, mail: "", address: None, outcome: Outcome::Refused, why: &why, waits: false };
    told::log(&mut tx, service, line).await?;
    told::count(&mut tx, service, 0, Some(&why)).await?;
    tx.commit().await
}

struct By<'a> {
    app: &'a App,
    workspace: WorkspaceId,
    service: SendingServiceId,
    provider: Provider,
}

impl By<'_> {
    /// How many were new, and how many brought a mail on record.
    async fn store(&self, reports: &[Report]) -> Result<(usize, usize)> {
        let mut tx = self.app.begin(self.workspace).await?;
        let (mut taken, mut first) = (0, 0);
        for report in reports {
            if self.provider != Provider::Own && !told::remember(&mut tx, self.service, report).await? {
                continue;
            }
            taken += 1;
            first += usize::from(match report.kind {
                Kind::Sent | Kind::Delivered => self.record(&mut tx, report).await?,
                Kind::Bounced | Kind::Complained | Kind::Failed => {
                    self.trouble(&mut tx, report).await?;
                    false
                }
            });
        }
        if taken > 0 {
            told::count(&mut tx, self.service, taken as i32, None).await?;
        }
        tx.commit().await?;
        Ok((taken, first))
    }

    async fn record(&self, tx: &mut Tx<'_>, report: &Report) -> Result<bool> {
        let keep = self.app.config.app_mail_retention();
        let message_id = report.message_id.clone();
        let mail = SentMail {
            message_id: message_id.ok_or_else(|| Error::internal("a report without a Message-ID"))?,
            reference: report.reference.clone(),
            to: report.to.clone(),
            subject: report.subject.clone(),
            text: None,
            html: None,
            sent_at: report.at,
            service: Some(self.service),
            service_ref: report.service_ref.clone(),
        };
        // Our own form names the whole mail every time, and services carry real mail, so their records are live.
        let (first, recipients) = match self.provider {
            Provider::Own => (sent::upsert(tx, true, &mail, keep).await?, report.to.clone()),
            _ => sent::note(tx, &mail, keep).await?,
        };
        let outcome = if first { Outcome::Noted } else { Outcome::Matched };
        self.log(tx, report, report.to.first(), outcome, "", false).await?;
        for (address, complained) in told::waited(tx, self.service, report, &recipients).await? {
            self.silence(tx, &address, complained).await?;
        }
        Ok(first)
    }

    async fn trouble(&self, tx: &mut Tx<'_>, report: &Report) -> Result<()> {
        for address in &report.to {
            let (id, name) = (report.message_id.as_deref(), report.service_ref.as_deref());
            let known = sent::went_to(tx, self.service, id, name, address).await?;
            let (outcome, why) = match (known, report.kind) {
                (true, Kind::Failed) => (Outcome::Matched, ""),
                (true, _) => (Outcome::Suppressed, ""),
                (false, Kind::Failed) => (Outcome::Unknown, "No mail to this address is on record."),
                (false, _) => (
                    Outcome::Unknown,
                    "No mail to this address is on record. It counts if the service still reports the mail.",
                ),
            };
            if outcome == Outcome::Suppressed {
                self.silence(tx, address, report.kind == Kind::Complained).await?;
            }
            let waits = !known && report.kind != Kind::Failed;
            self.log(tx, report, Some(address), outcome, why, waits).await?;
        }
        Ok(())
    }

    async fn silence(&self, tx: &mut Tx<'_>, address: &str, complained: bool) -> Result<()> {
        let reason = if complained { Reason::Complaint } else { Reason::Bounce };
        suppress(tx, true, address, reason, None).await
    }

    async fn log(
        &self,
        tx: &mut Tx<'_>,
        report: &Report,
        address: Option<&String>,
        outcome: Outcome,
        why: &str,
        waits: bool,
    ) -> Result<()> {
        let address = address.map(String::as_str);
        let line = Line { kind: Some(report.kind), mail: report.mail(), address, outcome, why, waits };
        told::log(tx, self.service, line).await
    }
}
