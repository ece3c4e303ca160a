//! Secure messages over everything they touch: the composer, the mail, the customer's page, REST and MCP.

mod drafting;
mod guarding;
mod keeping;
mod lasting;
mod sealed;
mod stories;

use std::sync::Mutex;

use chrono::TimeDelta;
use reqwest::Method;
use reqwest::redirect::Policy;
use rookery_base::ids::{ConversationId, MailboxId};

use rookery_world::browser::{Browser, Shown};
use rookery_world::pages::customer::link_in;
use rookery_world::pages::writing::{Composer, leaves, reply, write};
use rookery_world::{Workspace, World};

pub const ROSA: &str = "rosa@customer.example";

/// A workspace with an inbox, a mail of Rosa's and somebody of the team at their desk.
pub struct Desk<'w> {
    pub world: &'w World,
    pub acme: Workspace<'w>,
    pub help: MailboxId,
    pub id: ConversationId,
    pub mia: Browser<'w>,
}

impl<'w> Desk<'w> {
    pub async fn new(world: &'w World) -> Self {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let id = acme.mail(help, &format!("Rosa <{ROSA}>"), "Deposit", "Where is my money?").await;
        let mia = world.browser(acme.id, acme.owner).await;
        Self { world, acme, help, id, mia }
    }

    pub async fn composer(&self) -> Composer {
        Composer::open(&self.mia, &reply(self.id)).await
    }

    /// Sends these words as a secure link, opened by a code, and gives the path of the page.
    pub async fn sends(&self, body: &str) -> String {
        let composer = self.composer().await.set("secure", "1").set("proof", "code").set("body", body);
        self.sent(&composer).await
    }

    /// The same with a passphrase.
    pub async fn sends_with(&self, passphrase: &str, body: &str) -> String {
        let composer = self.composer().await.set("secure", "1").set("body", body);
        self.sent(&composer.set("proof", "passphrase").set("passphrase", passphrase)).await
    }

    async fn sent(&self, composer: &Composer) -> String {
        let shown = composer.press(&self.mia, &write(self.id), ("do", "send")).await;
        assert!(shown.location().contains("done=sends"), "{} {}", shown.location(), shown.html);
        leaves(self.world).await;
        link_in(&self.world.outbox.letters().pop().expect("a letter").text)
    }

    /// Adds a file to the secure draft that is being written.
    pub async fn attaches(&self, name: &str, bytes: &[u8]) {
        let composer = self.composer().await;
        let fields = ["draft", "version", "body"].map(|field| (field, composer.get(field)));
        let fields = [&fields[..], &[("kind", "reply"), ("secure", "1"), ("to", ROSA)]].concat();
        let request = self.mia.request(Method::POST, &format!("{}/files", write(self.id)));
        let request = request.header("origin", self.mia.origin()).header("content-type", MULTIPART);
        let shown = self.mia.send(request.body(multipart(&fields, &[(name, bytes)]))).await;
        assert_eq!(shown.status, 303, "{}", shown.html);
    }

    pub async fn page(&self) -> String {
        self.mia.get(&format!("/conversations/{}", self.id)).await.page()
    }

    pub fn guest(&self, link: &str) -> Guest<'w> {
        Guest::with(self.world, link)
    }
}

/// Somebody with a link, and a browser that keeps the cookie of its path.
pub struct Guest<'w> {
    pub world: &'w World,
    pub link: String,
    cookie: Mutex<Option<String>>,
    http: reqwest::Client,
}

impl<'w> Guest<'w> {
    pub fn with(world: &'w World, link: &str) -> Self {
        let http = reqwest::Client::builder().redirect(Policy::none()).build().expect("a client");
        Self { world, link: link.to_owned(), cookie: Mutex::new(None), http }
    }

    /// Another tab of the same browser.
    pub fn cookie(&self) -> Option<String> {
        self.cookie.lock().unwrap().clone()
    }

    pub fn takes_cookie(&self, cookie: Option<String>) {
        *self.cookie.lock().unwrap() = cookie;
    }

    pub async fn asks(&self, method: Method, path: &str) -> Shown {
        let request = self.http.request(method, format!("{}{path}", self.world.address));
        self.send(request.header("accept-language", "en")).await
    }

    pub async fn get(&self, path: &str) -> Shown {
        self.asks(Method::GET, path).await
    }

    pub async fn opens(&self) -> Shown {
        self.get(&self.link).await
    }

    async fn send(&self, mut request: reqwest::RequestBuilder) -> Shown {
        if let Some(cookie) = self.cookie() {
            request = request.header("cookie", cookie);
        }
        let answer = request.send().await.expect("the service answers");
        let (status, headers) = (answer.status().as_u16(), answer.headers().clone());
        let shown = Shown { status, headers, html: answer.text().await.unwrap_or_default() };
        if let Some(pair) = shown.cookie().split(';').next().filter(|pair| !pair.is_empty()) {
            self.takes_cookie(Some(pair.to_owned()));
        }
        shown
    }

    pub async fn posts(&self, what: &str, fields: &[(&str, &str)]) -> Shown {
        let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
        let request = self.http.post(format!("{}{}/{what}", self.world.address, self.link)).body(body);
        let request = request.header("accept-language", "en").header("origin", "null");
        self.send(request.header("content-type", "application/x-www-form-urlencoded")).await
    }

    /// Presses "send me a code", and gives the code of the mail.
    pub async fn asks_for_code(&self) -> String {
        let shown = self.posts("code", &[]).await;
        assert_eq!(shown.status, 303, "{}", shown.html);
        self.world.work().await;
        code_in_mail(self.world)
    }

    pub async fn tries(&self, proof: &str) -> Shown {
        self.posts("open", &[("proof", proof)]).await
    }

    /// Gets in by a code.
    pub async fn gets_in(&self) {
        let code = self.asks_for_code().await;
        let shown = self.tries(&code).await;
        assert_eq!(shown.status, 303, "{}", shown.html);
    }

    pub async fn replies(&self, once: &str, text: &str, files: &[(&str, &[u8])]) -> Shown {
        let body = multipart(&[("once", once), ("text", text)], files);
        let request = self.http.post(format!("{}{}/reply", self.world.address, self.link)).body(body);
        let request = request.header("accept-language", "en").header("origin", "null");
        self.send(request.header("content-type", MULTIPART)).await
    }
}

const MULTIPART: &str = "multipart/form-data; boundary=edge";

/// A form with files, as a browser sends it.
fn multipart(fields: &[(&str, &str)], files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut body = Vec::new();
    for (name, value) in fields {
        let field = format!("--edge\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n");
        body.extend(field.into_bytes());
    }
    for (name, bytes) in files {
        let head = format!(
            "--edge\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{name}\"\r\n\
             Content-Type: application/pdf\r\n\r\n"
        );
        body.extend([head.as_bytes(), bytes, b"\r\n"].concat());
    }
    body.extend(b"--edge--\r\n");
    body
}

/// The code of the newest mail that has one.
pub fn code_in_mail(world: &World) -> String {
    let letters = world.outbox.letters().into_iter();
    let letter = letters.rev().find(|letter| letter.subject.starts_with("Your code")).expect("a code");
    let digits: String = letter.text.chars().filter(char::is_ascii_digit).take(6).collect();
    assert_eq!(digits.len(), 6, "{}", letter.text);
    digits
}

pub fn an_hour() -> TimeDelta {
    TimeDelta::minutes(61)
}
