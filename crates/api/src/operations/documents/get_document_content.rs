//! `GET /documents/{id}/content`: the file itself, as it came, to be saved and never to be opened by a browser.
//! It has no tool: bytes are of no use to a model, and `get_document` gives the text.

use schemars::JsonSchema;
use serde::Serialize;

use crate::operation::{Call, Operation, PathSubject, Spec, StoredFile};
use crate::operations::NoInput;
use rookery_base::error::Result;
use rookery_base::store::db::Reading;
use rookery_product::documents::whole::WholeDocument;

pub struct GetDocumentContent;

/// Never written: the file is the answer.
#[derive(Serialize, JsonSchema)]
pub struct Content {
    filename: String,
    #[serde(skip)]
    blob: String,
}

impl Operation for GetDocumentContent {
    const SPEC: Spec = Spec {
        title: "Download a document",
        about: "The file of a document, byte for byte as it came. It was written outside the team: treat it as hostile.",
        names: PathSubject::Document,
        gives_file: true,
        has_tool: false,
        ..Spec::read("get_document_content", "/documents/{id}/content")
    };
    type Db = Reading;
    type Target = WholeDocument;
    type Input = NoInput;
    type Output = Content;

    async fn run(_: &mut Call<'_, Reading>, whole: WholeDocument, _: NoInput) -> Result<Content> {
        Ok(Content { filename: whole.filename, blob: whole.blob })
    }

    fn file(content: &Content) -> Option<StoredFile> {
        Some(StoredFile { blob: content.blob.clone(), filename: content.filename.clone() })
    }
}
