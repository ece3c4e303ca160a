//! Takes what a connected sending service reported (specification 4.13.4): sent and delivered mail comes on record, and an
//! address that bounced or complained is not written to any more.
//!
//! That last thing needs a mail on record that went to the address, by the same service or by the app itself: a service
//! cannot silence a customer it never wrote to, nor anybody who wrote to us: its word is all there is for what it sent. A report that
//! comes before its mail waits for it.

use rookery_base::app::App;
use rookery_base::error::{Error, Result};
use rookery_base::ids::{SendingServiceId, WorkspaceId};
use rookery_base::store::db::Tx;
use rookery_product::app_mail::adapters::Provider;
use rookery_product::app_mail::adapters::report::{ReadReports, ReportKind, ServiceReport};
use rookery_product::app_mail::sent::{self, SentMail};
use rookery_product::app_mail::told::{self, ReportLogLine, ReportVerdict};
use rookery_product::replies::suppress::{Reason, suppress_for_service};

/// Reports that are stored together.
const BATCH: usize = 100;
const SPARED: &str = "They have written to you, so they are still written to.";
const NOT_STORED: &str = "A report could not be stored. Our log says why.";

/// What came of a request.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct TakenReports {
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
    read: &ReadReports,
) -> Result<TakenReports> {
    let mut all = TakenReports { unread: read.unread.len(), ..TakenReports::default() };
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
    let line = ReportLogLine {
        kind: None,
        mail: "",
        address: None,
        outcome: ReportVerdict::Refused,
        why: &why,
        waits: false,
    };
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
    async fn store(&self, reports: &[ServiceReport]) -> Result<(usize, usize)> {
        let mut tx = self.app.begin(self.workspace).await?;
        let (mut taken, mut first) = (0, 0);
        for report in reports {
            if self.provider != Provider::Own && !told::remember(&mut tx, self.service, report).await? {
                continue;
            }
            taken += 1;
            first += usize::from(match report.kind {
                ReportKind::Sent | ReportKind::Delivered => self.record(&mut tx, report).await?,
                ReportKind::Bounced | ReportKind::Complained | ReportKind::Failed => {
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

    async fn record(&self, tx: &mut Tx<'_>, report: &ServiceReport) -> Result<bool> {
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
        let outcome = if first { ReportVerdict::Noted } else { ReportVerdict::Matched };
        self.log(tx, report, report.to.first(), outcome, "", false).await?;
        for (address, complained) in told::waited(tx, self.service, report, &recipients).await? {
            if !self.silence(tx, &address, complained).await? {
                told::spared(tx, self.service, report, &address, SPARED).await?;
            }
        }
        Ok(first)
    }

    async fn trouble(&self, tx: &mut Tx<'_>, report: &ServiceReport) -> Result<()> {
        for address in &report.to {
            let (id, name) = (report.message_id.as_deref(), report.service_ref.as_deref());
            let known = sent::went_to(tx, self.service, id, name, address).await?;
            let (outcome, why) = match (known, report.kind) {
                (true, ReportKind::Failed) => (ReportVerdict::Matched, ""),
                (true, kind) => {
                    if self.silence(tx, address, kind == ReportKind::Complained).await? {
                        (ReportVerdict::Suppressed, "")
                    } else {
                        (ReportVerdict::Matched, SPARED)
                    }
                }
                (false, ReportKind::Failed) => {
                    (ReportVerdict::Unknown, "No mail to this address is on record.")
                }
                (false, _) => (
                    ReportVerdict::Unknown,
                    "No mail to this address is on record. It counts if the service still reports the mail.",
                ),
            };
            let waits = !known && report.kind != ReportKind::Failed;
            self.log(tx, report, Some(address), outcome, why, waits).await?;
        }
        Ok(())
    }

    /// False of somebody who wrote to us: they are answered, whatever a service says.
    async fn silence(&self, tx: &mut Tx<'_>, address: &str, complained: bool) -> Result<bool> {
        let reason = if complained { Reason::Complaint } else { Reason::Bounce };
        suppress_for_service(tx, address, reason).await
    }

    async fn log(
        &self,
        tx: &mut Tx<'_>,
        report: &ServiceReport,
        address: Option<&String>,
        outcome: ReportVerdict,
        why: &str,
        waits: bool,
    ) -> Result<()> {
        let address = address.map(String::as_str);
        let line =
            ReportLogLine { kind: Some(report.kind), mail: report.mail(), address, outcome, why, waits };
        told::log(tx, self.service, line).await
    }
}
