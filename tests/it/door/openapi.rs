//! The OpenAPI description: what it says is what is served, refused and answered.

use std::process::Command;

use rookery_api::operation::{Method, Needs};
use rookery_api::registry::OPERATIONS;
use serde_json::{Value, json};

use rookery_world::furnished::furnished;
use rookery_world::probe::{NOBODY, with_query};
use rookery_world::{Key, Mode, Reply, World, story, story_with};

/// The official schema of OpenAPI 3.1 documents, https://spec.openapis.org/oas/3.1/schema/2022-10-07.
const OFFICIAL: &str = include_str!("openapi-3.1.json");

async fn document(world: &World) -> Value {
    let key = world.workspace("Reader").await.key("reader", "read", Mode::Live).await;
    key.get("/openapi.json").await.json()
}

/// The document with every named schema where it is referred to, as it was before schemas had names. What a reference says
/// of its place stays.
pub fn whole(document: &Value) -> Value {
    inline(document, document)
}

fn inline(document: &Value, value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(|item| inline(document, item)).collect(),
        Value::Object(fields) => {
            if let Some(to) = named(value) {
                let mut found = inline(document, document.pointer(to).expect("a reference leads somewhere"));
                if let Some(about) = fields.get("description") {
                    found["description"] = about.clone();
                }
                return found;
            }
            if let Some([choice, other]) = value["anyOf"].as_array().map(Vec::as_slice)
                && *other == json!({ "type": "null" })
                && named(choice).is_some()
            {
                let mut found = inline(document, choice);
                if let Value::String(kind) = found["type"].take() {
                    found["type"] = json!([kind, "null"]);
                    if let Some(options) = found.get_mut("enum").and_then(Value::as_array_mut) {
                        options.push(Value::Null);
                    }
                    if let Some(about) = fields.get("description") {
                        found["description"] = about.clone();
                    }
                    return found;
                }
            }
            fields.iter().map(|(name, field)| (name.clone(), inline(document, field))).collect()
        }
        other => other.clone(),
    }
}

fn named(schema: &Value) -> Option<&str> {
    schema["$ref"].as_str()?.strip_prefix('#').filter(|path| path.starts_with("/components/schemas/"))
}

/// Without what is said about it.
fn unsaid(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(unsaid).collect(),
        Value::Object(fields) => {
            let kept = fields.iter().filter(|(name, field)| *name != "description" || !field.is_string());
            kept.map(|(name, field)| (name.clone(), unsaid(field))).collect()
        }
        other => other.clone(),
    }
}

/// proves: OAS-1
#[tokio::test]
async fn the_description_is_served_to_every_key_and_printed_alike() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let mut texts = Vec::new();
        for (mode, scopes) in [(Mode::Live, "read"), (Mode::Test, "write,record")] {
            let reply = acme.key("bot", scopes, mode).await.get("/openapi.json").await;
            assert_eq!((reply.status, reply.header("content-type")), (200, Some("application/json")));
            texts.push(reply.text);
        }
        // The same for tools that read it without a key, outside the prefix, and from the command line.
        texts.push(Reply::of(world.ask("GET", "/openapi.json")).await.text);
        let printed = Command::new(rookery_world::program())
            .arg("openapi")
            .env_clear()
            .envs([
                ("ROOKERY_DATABASE_URL", "postgres://nowhere"),
                ("ROOKERY_PUBLIC_URL", "https://rookery.example"),
            ])
            .output()
            .expect("the binary runs");
        texts.push(String::from_utf8(printed.stdout).unwrap().trim_end().to_owned());
        assert!(texts.iter().all(|text| *text == texts[0]));
        let document: Value = serde_json::from_str(&texts[0]).unwrap();
        assert!(document["openapi"].as_str().unwrap().starts_with("3.1."));
        assert_eq!(document["servers"][0]["url"], "https://rookery.example/api/v1");
    })
    .await;
}

/// proves: OAS-2
#[tokio::test]
async fn every_operation_is_described_with_input_answers_and_errors() {
    story(async |world| {
        let document = whole(&document(world).await);
        let described =
            document["paths"].as_object().unwrap().values().map(|path| path.as_object().unwrap().len());
        assert_eq!(described.sum::<usize>(), OPERATIONS.len(), "nothing more and nothing less");
        assert_eq!(document["security"], json!([{ "key": [] }]));
        assert_eq!(document["components"]["securitySchemes"]["key"]["scheme"], "bearer");
        let groups: Vec<&Value> =
            document["tags"].as_array().unwrap().iter().map(|group| &group["name"]).collect();
        for entry in OPERATIONS.iter() {
            let (spec, input) = (&entry.spec, &entry.input.json);
            let operation = &document["paths"][spec.path][spec.method.as_str().to_lowercase()];
            assert_eq!(operation["operationId"], spec.name);
            assert!(groups.contains(&&operation["tags"][0]), "{} is in no group", spec.name);
            let about = operation["description"].as_str().unwrap();
            let scope = match spec.needs {
                Needs::Scope(scope) | Needs::TestKey(scope) => format!("`{scope}`"),
                Needs::DraftOrSend => "`draft` scope, or the `send` scope".into(),
                Needs::Nothing => "a valid key".into(),
            };
            assert!(about.contains(spec.about) && about.contains(&scope), "{about}");
            let answer = &operation["responses"][spec.status.to_string()];
            if spec.gives_file {
                assert_eq!(answer["content"], json!({ "application/octet-stream": {} }));
            } else {
                let published = unsaid(&answer["content"]["application/json"]["schema"]);
                assert_eq!(published, unsaid(&entry.output), "{}", spec.name);
            }

            let named: Vec<&str> = operation["parameters"]
                .as_array()
                .into_iter()
                .flatten()
                .map(|parameter| parameter["name"].as_str().unwrap())
                .collect();
            let mut wanted = Vec::new();
            if spec.names_something() {
                wanted.push("id");
            }
            match spec.method {
                Method::Get => wanted.extend(
                    input["properties"].as_object().into_iter().flatten().map(|(name, _)| name.as_str()),
                ),
                Method::Post => {
                    let published = &operation["requestBody"]["content"]["application/json"]["schema"];
                    assert_eq!(
                        unsaid(published),
                        unsaid(input),
                        "{}: what is published is enforced",
                        spec.name
                    );
                    wanted.push("Idempotency-Key");
                }
            }
            assert_eq!(named, wanted, "{}", spec.name);
            for code in ["401", "403", "429", "500"] {
                assert_eq!(operation["responses"][code]["$ref"], format!("#/components/responses/{code}"));
            }
            let has = |code| operation["responses"].get(code).is_some();
            let takes_input = input["properties"].as_object().is_some_and(|all| !all.is_empty());
            assert_eq!(has("400"), takes_input || spec.method == Method::Post, "{}", spec.name);
            assert!(has("404") || !spec.names_something(), "{}", spec.name);
        }
        for code in ["400", "401", "403", "404", "413", "429", "500"] {
            let response = &document["components"]["responses"][code];
            let schema = &response["content"]["application/json"]["schema"];
            assert_eq!(schema["properties"]["error"]["type"], "string", "{code}");
        }
        assert_eq!(document["webhooks"].as_object().unwrap().len(), 10);
    })
    .await;
}

/// proves: OAS-3
#[tokio::test]
async fn the_description_is_a_valid_document_and_live_answers_are_as_described() {
    story(async |world| {
        let document = document(world).await;
        let official: Value = serde_json::from_str(OFFICIAL).unwrap();
        let official = jsonschema::validator_for(&official).expect("the official schema is a schema");
        let problems: Vec<String> = official
            .iter_errors(&document)
            .map(|error| format!("{error} at {}", error.instance_path()))
            .collect();
        assert_eq!(problems, [""; 0]);
        let mut broken = document.clone();
        broken["paths"]["/me"]["get"]["responses"]["200"]["description"] = json!(5);
        assert!(!official.is_valid(&broken), "the official schema must be able to refuse");

        let document = whole(&document);
        let home = furnished(world).await;
        let mut answers = home.answers().await;
        let hook = webhook(&home.live).await;
        answers.push(("list_webhooks", home.live.get("/webhooks").await.json()));
        let log = home.live.get(&format!("/webhooks/{hook}/deliveries")).await;
        answers.push(("list_deliveries", log.json()));
        assert!(OPERATIONS.iter().all(|entry| entry.spec.method == Method::Post
            || entry.spec.gives_file
            || answers.iter().any(|(name, _)| *name == entry.spec.name)));
        for (name, answer) in answers {
            let schema = answer_schema(&document, name);
            validate(&schema, &answer, name);
            // A schema that would take anything proves nothing.
            assert!(!jsonschema::is_valid(&schema, &json!("something else")), "{name}");
        }
        let mail = json!({ "from": "ada@customer.test", "text": "Hello" });
        let made = home.test.post("/sandbox/inbound", mail).await;
        validate(&answer_schema(&document, "simulate_inbound"), &made.json(), "simulate_inbound");

        let error = &document["components"]["schemas"]["Error"];
        for reply in [
            home.live.get("/conversations?limit=0").await,
            Reply::of(world.ask("GET", "/api/v1/me")).await,
            home.live.post("/sandbox/inbound", json!({})).await,
            home.live.get(&format!("/conversations/{NOBODY}")).await,
        ] {
            assert!(reply.status >= 400);
            validate(error, &reply.json(), "an error");
        }
        assert!(!jsonschema::is_valid(error, &json!({ "error": "x", "code": 1 })));
    })
    .await;
}

fn answer_schema(document: &Value, operation: &str) -> Value {
    let mut operations =
        document["paths"].as_object().unwrap().values().flat_map(|path| path.as_object().unwrap().values());
    let operation = operations.find(|described| described["operationId"] == operation).expect(operation);
    let (_, answer) =
        operation["responses"].as_object().unwrap().iter().find(|(code, _)| code.starts_with('2')).unwrap();
    answer["content"]["application/json"]["schema"].clone()
}

/// A webhook that nothing is sent to.
async fn webhook(key: &Key<'_>) -> String {
    let made = key.post("/webhooks", json!({ "url": "https://1.1.1.1/hooks" })).await;
    let id = made.json()["webhook"]["id"].as_str().expect(&made.text).to_owned();
    assert_eq!(key.post(&format!("/webhooks/{id}/pause"), json!({})).await.status, 200);
    id
}

fn validate(schema: &Value, answer: &Value, what: &str) {
    let validator = jsonschema::validator_for(schema).expect("a described answer is a schema");
    let problems: Vec<String> =
        validator.iter_errors(answer).map(|error| format!("{error} at {}", error.instance_path())).collect();
    assert_eq!(problems, [""; 0], "{what}: {answer}");
}

/// For each limit in the document: a value over it is refused by the field's name and the limit, and a value
/// at it is not.
///
/// proves: OAS-4
#[tokio::test]
async fn every_limit_in_the_description_is_the_one_that_is_enforced() {
    story_with(&[("RATE_LIMIT_REQUESTS", "10000")], async |world| {
        let home = furnished(world).await;
        let document = whole(&document(world).await);
        let asked = json!({ "documents": [{ "label": "Passport" }] });
        let asked =
            home.test.post(&format!("/conversations/{}/document-requests", home.sandbox), asked).await;
        let named = |field: &str| asked.json()[field].as_str().unwrap().to_owned();
        let (request, draft) = (named("requestId"), named("messageId"));
        let hook = webhook(&home.test).await;
        let contact = home.test.get("/contacts").await.json()[0]["id"].as_str().unwrap().to_owned();
        let agent = home.test.agent.to_string();
        let mut tried = Vec::new();
        for (path, operations) in document["paths"].as_object().unwrap() {
            let id = match path {
                path if path.contains("/document-requests/{id}") => &request,
                path if path.contains("/drafts/{id}") => &draft,
                path if path.contains("/webhooks/{id}") => &hook,
                path if path.contains("/contacts/{id}") => &contact,
                path if path.contains("/agents/{id}") => &agent,
                _ => &home.sandbox,
            };
            let path = path.replace("{id}", id);
            for (method, operation) in operations.as_object().unwrap() {
                if method == "get" {
                    for parameter in operation["parameters"].as_array().into_iter().flatten() {
                        if parameter["in"] == "query" {
                            let name = parameter["name"].as_str().unwrap();
                            for limit in limits(name, &parameter["schema"]) {
                                let text = limit
                                    .value
                                    .as_str()
                                    .map_or_else(|| limit.value.to_string(), str::to_owned);
                                limit.expect(&home.test.get(&with_query(&path, name, &text)).await);
                                tried.push(limit.what);
                            }
                        }
                    }
                } else {
                    let schema = &operation["requestBody"]["content"]["application/json"]["schema"];
                    tried.extend(try_body(&home.test, &path, schema).await);
                }
            }
        }
        for wanted in ["maxLength", "maximum", "minimum", "enum", "maxItems"] {
            assert!(tried.contains(&wanted), "no {wanted} was tried: {tried:?}");
        }
    })
    .await;
}

/// Tries each field alone; what else is missing is told too, and does not matter here.
async fn try_body(key: &Key<'_>, path: &str, schema: &Value) -> Vec<&'static str> {
    let mut tried = Vec::new();
    for (name, schema) in schema["properties"].as_object().into_iter().flatten() {
        for limit in limits(name, schema) {
            limit.expect(&key.post(path, json!({ name: limit.value })).await);
            tried.push(limit.what);
        }
        for (inner, schema) in schema["items"]["properties"].as_object().into_iter().flatten() {
            for limit in limits(&format!("{name}[0].{inner}"), schema) {
                limit.expect(&key.post(path, json!({ name: [{ inner: limit.value }] })).await);
                tried.push(limit.what);
            }
        }
    }
    tried
}

/// One value to send, the problem it must or must not give.
struct Limited {
    what: &'static str,
    value: Value,
    problem: String,
    refused: bool,
}

impl Limited {
    fn expect(&self, reply: &Reply) {
        let told = reply.status == 400 && reply.error().split("; ").any(|part| part == self.problem);
        assert_eq!(told, self.refused, "{} {}: {}", self.what, self.problem, reply.text);
    }
}

fn limits(field: &str, schema: &Value) -> Vec<Limited> {
    let mut limits = Vec::new();
    let mut add = |what, value, problem: String, refused| {
        limits.push(Limited { what, value, problem: format!("{field}: {problem}"), refused });
    };
    for (value, refused) in bounds(&schema["maxLength"]) {
        let problem = format!("must be at most {} characters", schema["maxLength"]);
        add("maxLength", json!("é".repeat(value)), problem, refused);
    }
    for (value, refused) in bounds(&schema["maxItems"]) {
        let problem = format!("must have at most {} items", schema["maxItems"]);
        add("maxItems", json!(vec![json!({}); value]), problem, refused);
    }
    let range = format!("must be a whole number from {} to {}", schema["minimum"], schema["maximum"]);
    for (value, refused) in bounds(&schema["maximum"]) {
        add("maximum", json!(value), range.clone(), refused);
    }
    if let Some(least) = schema["minimum"].as_i64() {
        add("minimum", json!(least), range.clone(), false);
        add("minimum", json!(least - 1), range, true);
    }
    if let Some(options) = schema["enum"].as_array() {
        let options: Vec<&str> = options.iter().filter_map(Value::as_str).collect();
        let problem = format!("must be one of {}", options.join(", "));
        options.iter().for_each(|option| add("enum", json!(option), problem.clone(), false));
        add("enum", json!("something else"), problem, true);
    }
    limits
}

/// The limit itself, which is taken, and one more, which is not.
fn bounds(limit: &Value) -> Vec<(usize, bool)> {
    limit.as_u64().map_or_else(Vec::new, |most| vec![(most as usize, false), (most as usize + 1, true)])
}
