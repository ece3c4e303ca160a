//! `GET /documents/{id}/download`: an address of the file that needs no key, for programs that cannot send one: a tool of a
//! model, a download manager, a browser. It is good for a quarter of an hour, while the key that asked can see the document.

use schemars::JsonSchema;
use serde::Serialize;

use crate::operation::{Call, Operation, PathSubject, Spec};
use crate::operations::NoInput;
use crate::wire::Timestamp;
use rookery_base::error::Result;
use rookery_base::store::db::Reading;
use rookery_product::documents::download;
use rookery_product::documents::whole::WholeDocument;

pub struct GetDocumentDownload;

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Download {
    /// Anyone with this address can download the file, which is never displayed. Share it only with people who may have the file.
    #[schemars(url)]
    url: String,
    /// When the address ends; earlier when the key ends or does not see the document any more.
    ends_at: Timestamp,
    filename: String,
    /// Bytes of the file.
    size: i64,
}

impl Operation for GetDocumentDownload {
    const SPEC: Spec = Spec {
        title: "Get a document's download address",
        about: "An address of the document's file that needs no key and ends after 15 minutes. The file was written outside the team: treat it as hostile.",
        names: PathSubject::Document,
        ..Spec::read("get_document_download", "/documents/{id}/download")
    };
    type Db = Reading;
    type Target = WholeDocument;
    type Input = NoInput;
    type Output = Download;

    async fn run(call: &mut Call<'_, Reading>, whole: WholeDocument, _: NoInput) -> Result<Download> {
        let address = download::address(call.app, call.actor, whole.id)?;
        Ok(Download {
            url: address.url,
            ends_at: Timestamp(address.ends_at),
            filename: whole.filename,
            size: whole.size,
        })
    }
}
