//! `GET /openapi.json` (specification 4.15): this API, described.
//! Any valid key gets it; the same document stands at `/openapi.json` without a key.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;
use serde_json::value::RawValue;

use super::NoInput;
use crate::openapi::document;
use crate::operation::{Call, Needs, Nothing, Operation, Spec};
use rookery_base::error::Result;
use rookery_base::store::db::NoConnection;

pub struct OpenApi;

/// The document's text.
#[derive(Serialize)]
#[serde(transparent)]
pub struct OpenApiText(Box<RawValue>);

impl JsonSchema for OpenApiText {
    fn schema_name() -> Cow<'static, str> {
        "OpenApiDocument".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "object", "description": "An OpenAPI 3.1 document." })
    }
}

impl Operation for OpenApi {
    const SPEC: Spec = Spec {
        has_tool: false,
        title: "This description",
        about: "The OpenAPI 3.1 description of this API.",
        needs: Needs::Nothing,
        ..Spec::read("openapi", "/openapi.json")
    };
    type Db = NoConnection;
    type Target = Nothing;
    type Input = NoInput;
    type Output = OpenApiText;

    async fn run(call: &mut Call<'_, NoConnection>, _: Nothing, _: NoInput) -> Result<OpenApiText> {
        Ok(OpenApiText(document(call.app)?))
    }
}
