//! Files that a call brings for a mail: documents by their id, or content in base64. They are stored before the transaction
//! begins, by the way people's uploads take, so that nobody waits for the file store behind its locks; what no row names in
//! the end is removed. The limits of files in a call stand here.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use futures::stream;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::input::NOT_BLANK;
use rookery_base::app::App;
use rookery_base::error::{Error, Problem, Result};
use rookery_base::ids::DocumentId;
use rookery_core::conversations::timeline::Attachment;
use rookery_core::workspace::keys::Agent;
use rookery_product::documents::library::{self, NO_DOCUMENT};
use rookery_product::replies::upload;

/// Bytes of all contents of one call together, decoded. Base64 takes a third more.
pub const MOST_CONTENT_BYTES: usize = 10 * 1024 * 1024;
/// Bytes of a body that can bring files. One body of this size fits into a workspace's share of memory (`http/bodies`).
pub const MOST_BODY_BYTES: usize = 16 << 20;
pub const LONGEST_NAME: usize = 200;
pub const LONGEST_TYPE: usize = 100;
pub const TYPE: &str = r"^[\w.+-]+/[\w.+-]+$";
/// Base64 as the decoder accepts it: padded, and with no bits set beyond the last byte.
const BASE64: &str = "^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?$";

/// A file that goes with a mail: a document that the key can see, by `documentId` alone; or one of your own, with `filename`,
/// `contentType` and `content`.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend(
    "oneOf" = [
        { "required": ["documentId"], "properties": { "filename": false, "contentType": false, "content": false } },
        { "required": ["filename", "contentType", "content"], "properties": { "documentId": false } },
    ],
    "x-says" = "must have documentId, or filename, contentType and content"
))]
pub struct AttachedFile {
    /// The mail gets a copy of the document's file.
    #[schemars(regex(pattern = "^doc_[0-9a-z]+$"), extend("x-says" = "must be a document's id"))]
    document_id: Option<String>,
    #[schemars(length(max = LONGEST_NAME), regex(pattern = NOT_BLANK))]
    filename: Option<String>,
    #[schemars(length(max = LONGEST_TYPE), regex(pattern = TYPE), extend("x-says" = "must look like application/pdf"))]
    content_type: Option<String>,
    /// The bytes as base64, 10 MB of all files together.
    #[schemars(regex(pattern = BASE64), extend("contentEncoding" = "base64", "x-says" = "must be base64"))]
    content: Option<String>,
}

/// Files of a call that are in the blob store while no row names them yet.
#[derive(Default)]
pub struct BroughtFiles {
    stored: Vec<Attachment>,
    /// Why storing them failed. It is reported after the checks that come before it, such as that of the input.
    wrong: Option<Error>,
}

impl BroughtFiles {
    /// Stores what a call brings for a mail of this agent.
    pub async fn store(app: &App, agent: &Agent, files: &[AttachedFile]) -> Self {
        let mut brought = Self::default();
        brought.wrong = brought.take(app, agent, files).await.err();
        brought
    }

    async fn take(&mut self, app: &App, agent: &Agent, files: &[AttachedFile]) -> Result<()> {
        let found = find(app, agent, files).await?;
        for file in found {
            let stored = match file {
                AttachmentSource::Document(document) => upload::copy(app, agent.workspace, &document).await?,
                AttachmentSource::Own { filename, content_type, content } => {
                    let bytes = stream::iter([Ok::<_, Error>(content)]);
                    upload::store(app, agent.workspace, filename, content_type, bytes).await?
                }
            };
            self.stored.push(stored);
        }
        Ok(())
    }

    /// All of them, for the row that names them.
    pub fn files(&mut self) -> Result<Vec<Attachment>> {
        self.wrong.take().map_or_else(|| Ok(self.stored.clone()), Err)
    }

    /// Removes the files, once it is certain that no row names them.
    pub async fn discard(&self, app: &App) {
        let blobs: Vec<String> = self.stored.iter().map(|file| file.blob.clone()).collect();
        app.blobs.discard(&blobs).await;
    }
}

enum AttachmentSource<'a> {
    Document(library::DocumentFile),
    Own { filename: &'a str, content_type: &'a str, content: Bytes },
}

/// Finds and checks all files before the first one is stored.
async fn find<'a>(app: &App, agent: &Agent, files: &'a [AttachedFile]) -> Result<Vec<AttachmentSource<'a>>> {
    let mut conn = app.connection_of(agent.workspace).await?;
    let (mut found, mut bytes) = (Vec::with_capacity(files.len()), 0);
    for file in files {
        found.push(match (&file.document_id, &file.filename, &file.content_type, &file.content) {
            (Some(id), ..) => {
                let id: DocumentId = id.parse().map_err(|_| NO_DOCUMENT)?;
                let document = library::find_visible(&mut conn, agent, id).await?;
                bytes += document.size;
                AttachmentSource::Document(document)
            }
            (None, Some(filename), Some(content_type), Some(content)) => {
                let content = Bytes::from(STANDARD.decode(content).map_err(Error::internal)?);
                bytes += content.len() as i64;
                AttachmentSource::Own { filename, content_type, content }
            }
            _ => return Err(Error::internal("an attached file is neither of the two kinds")),
        });
    }
    if bytes > upload::MOST_BYTES {
        Err(Error::problem(FIELD, upload::too_large_in_words()))
    } else {
        Ok(found)
    }
}

const FIELD: &str = "attachments";

/// What a schema cannot say of contents in base64: that all of them together are not too much.
pub fn problems(given: &Map<String, Value>) -> Vec<Problem> {
    let padding = |content: &str| content.bytes().rev().take_while(|letter| *letter == b'=').count();
    let decoded = |content: &str| (content.len() / 4 * 3).saturating_sub(padding(content));
    let bytes: usize = contents(given).map(|(_, content)| decoded(content)).sum();
    if bytes > MOST_CONTENT_BYTES {
        vec![Problem { field: FIELD.into(), what: "must be at most 10 MB together".into() }]
    } else {
        Vec::new()
    }
}

/// The contents with the number of their file.
pub fn contents(given: &Map<String, Value>) -> impl Iterator<Item = (usize, &str)> {
    let files = given.get(FIELD).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    files.iter().enumerate().filter_map(|(number, file)| Some((number, file.get("content")?.as_str()?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_pattern_takes_what_can_be_decoded_and_nothing_else() {
        let pattern = jsonschema::validator_for(&serde_json::json!({ "pattern": BASE64 })).unwrap();
        let mut taken = 0;
        let all = "AQgwBZaz09+/=-_ \n".chars();
        let mut texts = vec![String::new()];
        for length in 0..4 {
            let longer = texts.iter().filter(|text| text.chars().count() == length);
            let longer: Vec<String> =
                longer.flat_map(|text| all.clone().map(move |letter| format!("{text}{letter}"))).collect();
            texts.extend(longer);
        }
        for text in texts.iter().chain([&"QUJDRA==".to_owned(), &"QUJDRB==".to_owned(), &"A===".to_owned()]) {
            let can_be_decoded = STANDARD.decode(text).is_ok();
            assert_eq!(pattern.is_valid(&serde_json::json!(text)), can_be_decoded, "{text:?}");
            taken += usize::from(can_be_decoded);
        }
        assert!(taken > 1000, "{taken}");
    }
}
