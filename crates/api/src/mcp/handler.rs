//! What `rmcp` calls: each method of the protocol that is offered, handed to where it is answered. It has no state; the caller
//! comes with each request.

use std::borrow::Cow;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompleteResult, CustomRequest,
    CustomResult, ErrorCode, GetPromptRequestParams, GetPromptResponse, Implementation, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ProtocolVersion, ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities, ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};

use super::asking;
use super::caller::Caller;
use super::words::INSTRUCTIONS;
use super::{prompts, resources, tools};
use crate::idempotency::{KEY_IN_META, Key};

pub const SUPPORTED: &[ProtocolVersion] = &[
    ProtocolVersion::V_2025_03_26,
    ProtocolVersion::V_2025_06_18,
    ProtocolVersion::V_2025_11_25,
    ProtocolVersion::V_2026_07_28,
];

/// The methods whose params `rmcp` reads.
const METHODS: &[&str] = &[
    "initialize",
    "ping",
    "server/discover",
    "tools/list",
    "tools/call",
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "prompts/list",
    "prompts/get",
];

pub struct Handler;

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        let offered =
            ServerCapabilities::builder().enable_prompts().enable_resources().enable_tools().build();
        ServerConfig::new(offered)
            .with_server_info(Implementation::new("rookery", env!("CARGO_PKG_VERSION")))
            .with_instructions(INSTRUCTIONS)
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(SUPPORTED)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(tools::list(Caller::from_context(&context)?)))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let key = Key::of_meta(context.meta.get(KEY_IN_META));
        tools::call(Caller::from_context(&context)?, request, key, asking::can_ask(&context)).await
    }

    /// Always empty: resources are found by their templates.
    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Ok(ListResourcesResult::default())
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let caller = Caller::from_context(&context)?;
        Ok(ListResourceTemplatesResult::with_all_items(resources::templates(&caller.actor)))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        resources::read(Caller::from_context(&context)?, &request.uri).await.map(Into::into)
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Ok(ListPromptsResult::with_all_items(prompts::list(&Caller::from_context(&context)?.actor)))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let arguments = request.arguments.unwrap_or_default();
        prompts::get(&Caller::from_context(&context)?.actor, &request.name, &arguments).map(Into::into)
    }

    /// Refused as an unknown method, because it is not offered; by default `rmcp` would answer with an empty result.
    async fn complete(
        &self,
        _: CompleteRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        Err(no_such_method())
    }

    /// `rmcp` also calls this for a known method whose params it cannot parse.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        if METHODS.contains(&request.method.as_str()) {
            Err(ErrorData::invalid_params("The params are not valid.", None))
        } else {
            Err(no_such_method())
        }
    }
}

pub fn no_such_method() -> ErrorData {
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, "There is no such method.", None)
}
