//! The audit log as a table for other programs, with the filters of the page. It is read and sent in pieces, and that
//! somebody took it is an entry itself.

use axum::body::Body;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures::stream;
use serde_json::json;

use crate::csv::cell;
use crate::settings::audit::show::Chosen;
use crate::visit::MemberRequest;
use rookery_base::clock::written;
use rookery_base::error::Result;
use rookery_core::workspace::audit::list::{self, AuditQuery};
use rookery_core::workspace::audit::{self, AuditEntry, Did, Subject};

const HEAD: &str = "\u{feff}entry,time,actor id,actor,what,subject id,subject,details\r\n";
/// Entries that are in memory at once.
const PIECE: i64 = 1_000;

/// `POST /settings/audit/csv`
pub async fn download(asked: MemberRequest) -> Result<Response> {
    let form = asked.form().await?;
    let (chosen, wanted) = Chosen::read(&form, &asked.times());
    let workspace = asked.person.workspace;
    let mut tx = asked.tx().await?;
    let name = sqlx::query_scalar!("select name from workspaces where id = $1", workspace.0)
        .fetch_one(&mut *tx)
        .await?;
    let data = json!({ "who": chosen.who, "what": chosen.what, "from": chosen.from, "to": chosen.to });
    let subject = Subject { id: &workspace, name: &name };
    audit::record(&mut tx, &asked.person.by(), Did::AuditExported, subject, data).await?;
    tx.commit().await?;

    let app = asked.app().clone();
    let pieces = stream::try_unfold(Some(wanted), move |wanted| {
        let app = app.clone();
        async move {
            let Some(wanted) = wanted else { return Ok(None) };
            // A connection for each piece: whoever reads slowly holds none.
            let entries =
                list::read(&mut *app.connection_of(workspace).await?, workspace, &wanted, PIECE).await?;
            let last = entries.last().filter(|_| entries.len() as i64 == PIECE).map(|entry| entry.n);
            let next = last.map(|n| AuditQuery { before: Some(n), ..wanted });
            let lines: String = entries.iter().map(line).collect();
            Ok::<_, rookery_base::error::Error>(Some((Bytes::from(lines), next)))
        }
    });
    let head = stream::iter([Ok(Bytes::from_static(HEAD.as_bytes()))]);
    let body = Body::from_stream(futures::StreamExt::chain(head, pieces));
    let headers = [
        (header::CONTENT_TYPE, "text/csv; charset=utf-8"),
        (header::CONTENT_DISPOSITION, "attachment; filename=\"audit-log.csv\""),
    ];
    Ok((headers, body).into_response())
}

fn line(entry: &AuditEntry) -> String {
    let (n, at) = (entry.n.to_string(), written(entry.at));
    let cells = [
        &n,
        &at,
        &entry.actor,
        &entry.actor_name,
        &entry.did,
        &entry.subject,
        &entry.subject_name,
        &entry.data,
    ];
    let cells: Vec<String> = cells.iter().map(|text| cell(text)).collect();
    format!("{}\r\n", cells.join(","))
}
