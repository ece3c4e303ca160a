//! Asking a customer for documents (specification 4.8, 4.9): the request, its checklist and its private link.
//! The request opens when its mail leaves; until then it is a draft. A draft's text has no link.

use chrono::NaiveDate;
use serde::{Deserialize, Serialize};
use sqlx::types::Json;
use url::Url;

use crate::config::SecretKey;
use crate::db::Tx;
use crate::error::Result;
use crate::ids::{ConversationId, DocumentRequestId, MessageId, WorkspaceId};
use crate::links;

/// One thing that is asked for, as stored.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Item {
    pub label: String,
    pub description: Option<String>,
    /// False marks it nice to have.
    pub required: bool,
}

#[derive(Clone, Debug)]
pub struct Asked {
    pub items: Vec<Item>,
    pub due: Option<NaiveDate>,
}

/// Where a request belongs.
#[derive(Clone, Copy, Debug)]
pub struct Carrier {
    pub conversation: ConversationId,
    pub message: MessageId,
}

pub async fn create(tx: &mut Tx<'_>, id: DocumentRequestId, carrier: Carrier, asked: &Asked) -> Result<()> {
    let (workspace, now) = (tx.workspace().0, tx.now());
    sqlx::query!(
        "insert into document_requests
             (workspace_id, id, conversation_id, message_id, state, due_date, items, created_at)
         values ($1, $2, $3, $4, 'draft', $5, $6, $7)",
        workspace,
        id.0,
        carrier.conversation.0,
        carrier.message.0,
        asked.due,
        Json(&asked.items) as _,
        now
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// The private upload page of a request. It names the workspace, so that the page is found in any cell.
pub fn link(
    key: &SecretKey,
    public_url: &Url,
    workspace: WorkspaceId,
    id: DocumentRequestId,
    generation: i32,
) -> String {
    let token = links::token(key, "upload", &format!("{workspace}/{id}/{generation}"));
    format!("{}/upload/{workspace}/{id}/{token}", public_url.as_str().trim_end_matches('/'))
}

/// What stands under the text of the mail: the checklist, the date and, when it is going out, the link.
pub fn checklist(asked: &Asked, link: Option<&str>) -> String {
    let mut text = String::from("Please send us these documents:\n");
    for item in &asked.items {
        text.push_str("\n- ");
        text.push_str(&item.label);
        if !item.required {
            text.push_str(" (nice to have)");
        }
        if let Some(description) = &item.description {
            text.push_str("\n  ");
            text.push_str(&description.replace('\n', "\n  "));
        }
    }
    if let Some(due) = asked.due {
        text.push_str(&format!("\n\nPlease send them by {due}."));
    }
    if let Some(link) = link {
        text.push_str(&format!("\n\nUpload them here, no account needed:\n{link}"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checklist_names_everything_once_and_marks_what_is_nice_to_have() {
        let item = |label: &str, description: Option<&str>, required| Item {
            label: label.into(),
            description: description.map(Into::into),
            required,
        };
        let asked = Asked {
            items: vec![item("Passport", Some("both pages"), true), item("Payslip", None, false)],
            due: NaiveDate::from_ymd_opt(2031, 5, 9),
        };
        insta::assert_snapshot!(checklist(&asked, Some("https://rookery.example/upload/x")), @r"
        Please send us these documents:

        - Passport
          both pages
        - Payslip (nice to have)

        Please send them by 2031-05-09.

        Upload them here, no account needed:
        https://rookery.example/upload/x
        ");
        assert!(!checklist(&asked, None).contains("Upload"));
    }
}
