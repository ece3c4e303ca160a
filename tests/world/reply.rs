//! What came back: an HTTP answer, or the answer of a tool.

use reqwest::header::HeaderMap;
use serde_json::Value;

#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    pub headers: HeaderMap,
    pub text: String,
}

#[derive(Debug, PartialEq)]
pub enum ToolAnswer {
    Done { text: String, structured: Value },
    Failed { status: u16, sentence: String },
}

impl Reply {
    pub async fn of(request: reqwest::RequestBuilder) -> Self {
        Self::try_of(request).await.expect("the service answers")
    }

    /// For when a service may not answer.
    pub async fn try_of(request: reqwest::RequestBuilder) -> reqwest::Result<Self> {
        let response = request.send().await?;
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        Ok(Self { status, headers, text: response.text().await? })
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("not JSON ({error}): {}", self.text))
    }

    /// The sentence of an error, which must be the body's only field.
    pub fn error(&self) -> String {
        let json = self.json();
        let fields = json.as_object().unwrap_or_else(|| panic!("not an object: {json}"));
        assert_eq!(fields.len(), 1, "an error has one field: {json}");
        let sentence = fields["error"].as_str().unwrap_or_else(|| panic!("no sentence: {json}"));
        assert!(!sentence.is_empty());
        sentence.to_owned()
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().expect("a header is text"))
    }
}

impl ToolAnswer {
    pub fn of(reply: &Reply) -> Self {
        assert_eq!(reply.status, 200, "{}", reply.text);
        let answer = reply.json();
        let result = answer.get("result").unwrap_or_else(|| panic!("no result: {answer}"));
        let text = result["content"][0]["text"].as_str().expect("a text").to_owned();
        if result["isError"].as_bool() != Some(true) {
            return Self::Done { text, structured: result["structuredContent"].clone() };
        }
        let (code, sentence) = text.split_once(' ').expect("a code and a sentence");
        let status: u16 = code.parse().expect("the code is a number");
        assert_eq!(result["_meta"]["status"], status, "{answer}");
        Self::Failed { status, sentence: sentence.to_owned() }
    }
}
