//! A model server for tests: it speaks the OpenAI chat format, checks every question it gets, answers by a script and
//! misbehaves on demand. What is wrong with a question is kept, and a test asserts that nothing is.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// What it does with a question.
#[derive(Clone, Copy)]
pub enum Does {
    /// Answers with what the script makes of the material and the form.
    Answers(fn(&str, &Value) -> Value),
    /// The content is this text, whatever was asked.
    Says(&'static str),
    /// An answer that ran out of room.
    CutOff,
    Status(u16),
    /// A byte every 100 ms, for ever.
    Drips,
    /// A hundred megabytes.
    Floods,
    Hangs,
    /// Closes in the middle of its answer.
    Breaks,
}

struct State {
    does: Does,
    takes: Duration,
    questions: Vec<Value>,
    problems: Vec<String>,
}

#[derive(Clone)]
pub struct ModelServer {
    pub url: String,
    state: Arc<Mutex<State>>,
}

impl ModelServer {
    pub async fn start(does: Does) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!("http://{}/v1", listener.local_addr().expect("an address"));
        let state = Arc::new(Mutex::new(State {
            does,
            takes: Duration::ZERO,
            questions: Vec::new(),
            problems: Vec::new(),
        }));
        let served = state.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, served.clone()));
            }
        });
        Self { url, state }
    }

    /// The settings of a service that asks it.
    pub fn settings(&self) -> [(&str, &str); 7] {
        [
            ("ASSISTANTS_URL", &self.url),
            ("ASSISTANTS_MODEL", "scripted"),
            ("ASSISTANTS_KEY", KEY),
            ("ASSISTANTS_PRICE_IN", "1"),
            ("ASSISTANTS_PRICE_OUT", "2"),
            ("ASSISTANTS_SECONDS", "1"),
            ("RATE_LIMIT_REQUESTS", "100000"),
        ]
    }

    pub fn does(&self, does: Does) {
        self.state.lock().unwrap().does = does;
    }

    /// It thinks this long before it answers.
    pub fn takes(&self, takes: Duration) {
        self.state.lock().unwrap().takes = takes;
    }

    pub fn questions(&self) -> Vec<Value> {
        self.state.lock().unwrap().questions.clone()
    }

    /// Every question was as it has to be.
    pub fn is_content(&self) {
        let problems = self.state.lock().unwrap().problems.clone();
        assert_eq!(problems, Vec::<String>::new());
    }
}

pub const KEY: &str = "sk-only-for-tests";

async fn serve(mut stream: TcpStream, state: Arc<Mutex<State>>) {
    let Some((head, body)) = read(&mut stream).await else { return };
    let question: Value = serde_json::from_slice(&body).unwrap_or_default();
    let (does, takes) = {
        let mut state = state.lock().unwrap();
        state.problems.extend(wrong_with(&head, &question));
        state.questions.push(question.clone());
        (state.does, state.takes)
    };
    tokio::time::sleep(takes).await;
    let material = question["messages"][1]["content"].as_str().unwrap_or_default();
    let form = &question["response_format"]["json_schema"]["schema"];
    match does {
        Does::Answers(script) => say(&mut stream, &script(material, form).to_string(), "stop").await,
        Does::Says(text) => say(&mut stream, text, "stop").await,
        Does::CutOff => say(&mut stream, r#"{"topic":"billing","urg"#, "length").await,
        Does::Status(status) => {
            let answer =
                format!("HTTP/1.1 {status} No\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{{}}");
            let _ = stream.write_all(answer.as_bytes()).await;
        }
        Does::Drips => {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n").await;
            while stream.write_all(b" ").await.is_ok() {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
        Does::Floods => {
            let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", 100 << 20);
            let _ = stream.write_all(head.as_bytes()).await;
            let megabyte = vec![b' '; 1 << 20];
            for _ in 0..100 {
                if stream.write_all(&megabyte).await.is_err() {
                    return;
                }
            }
        }
        Does::Hangs => tokio::time::sleep(Duration::from_secs(600)).await,
        Does::Breaks => {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 900\r\n\r\n{\"choices\":[").await;
        }
    }
}

async fn say(stream: &mut TcpStream, content: &str, finish: &str) {
    let body = json!({
        "id": "x", "object": "chat.completion", "model": "scripted",
        "choices": [{ "index": 0, "message": { "role": "assistant", "content": content }, "finish_reason": finish }],
        "usage": { "prompt_tokens": 500, "completion_tokens": 20, "total_tokens": 520 },
    })
    .to_string();
    let answer = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let _ = stream.write_all(answer.as_bytes()).await;
}

async fn read(stream: &mut TcpStream) -> Option<(String, Vec<u8>)> {
    let mut bytes = Vec::new();
    let mut piece = [0; 8192];
    loop {
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n");
        if let Some(end) = end {
            let head = String::from_utf8_lossy(&bytes[..end]).to_lowercase();
            let length: usize = head.split("content-length: ").nth(1)?.split("\r\n").next()?.parse().ok()?;
            if bytes.len() >= end + 4 + length {
                return Some((head, bytes[end + 4..end + 4 + length].to_vec()));
            }
        }
        match stream.read(&mut piece).await {
            Ok(0) | Err(_) => return None,
            Ok(read) => bytes.extend_from_slice(&piece[..read]),
        }
    }
}

/// What a question has to be: ours in form, without tools, bounded everywhere.
fn wrong_with(head: &str, question: &Value) -> Vec<String> {
    let mut problems = Vec::new();
    let mut must = |is: bool, what: &str| {
        if !is {
            problems.push(format!("{what}: {head} {question}"));
        }
    };
    must(head.starts_with("post /v1/chat/completions http/1.1"), "the path");
    must(head.contains(&format!("authorization: bearer {KEY}")), "the key");
    must(question.get("tools").is_none() && question.get("functions").is_none(), "tools");
    must(question["stream"] == false && question["temperature"] == 0, "stream and temperature");
    must(question["max_tokens"].as_u64().is_some_and(|most| (1..=1_000).contains(&most)), "max_tokens");
    must(!question.to_string().contains(KEY), "a secret in the question");
    must(question.to_string().len() < 40_000, "the length");
    let form = &question["response_format"]["json_schema"];
    must(question["response_format"]["type"] == "json_schema" && form["strict"] == true, "the form");
    problems.extend(unbound(&form["schema"]));
    problems
}

/// Every property is asked for, none is free, and every text and list has an end.
fn unbound(schema: &Value) -> Vec<String> {
    let mut problems = Vec::new();
    let properties = schema["properties"].as_object().cloned().unwrap_or_default();
    let required = schema["required"].as_array().map_or(0, Vec::len);
    if schema["additionalProperties"] != false || required != properties.len() || properties.is_empty() {
        problems.push(format!("properties: {schema}"));
    }
    for (name, property) in properties {
        let kind = property["type"].to_string();
        let has_end = property.get("enum").is_some()
            || kind.contains("boolean")
            || (kind.contains("string") && property.get("maxLength").is_some())
            || (kind.contains("array") && property.get("maxItems").is_some());
        if !has_end {
            problems.push(format!("{name} has no end: {property}"));
        }
    }
    problems
}
