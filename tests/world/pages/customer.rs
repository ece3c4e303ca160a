//! A customer with a private link: no cookie, forms as a browser without script sends them, and the files they send.

use std::io::Write;

use chrono::TimeDelta;
use flate2::Compression;
use flate2::write::DeflateEncoder;
use reqwest::redirect::Policy;
use serde_json::{Value, json};

use crate::browser::Shown;
use crate::{Key, Workspace, World};

/// A sound PDF of one page with these words in it, so that it is not the same as another.
pub fn pdf(words: &str) -> Vec<u8> {
    let content = format!("% {words}\n");
    let objects = [
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_owned(),
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 200 200] /Contents 4 0 R >>".to_owned(),
        format!("<< /Length {} >>\nstream\n{content}\nendstream", content.len()),
    ];
    let mut file = String::from("%PDF-1.4\n");
    let mut places = String::new();
    for (at, object) in objects.iter().enumerate() {
        places += &format!("{:010} 00000 n \n", file.len());
        file += &format!("{} 0 obj\n{object}\nendobj\n", at + 1);
    }
    let table = file.len();
    file += &format!(
        "xref\n0 5\n0000000000 65535 f \n{places}trailer\n<< /Size 5 /Root 1 0 R >>\nstartxref\n{table}\n%%EOF\n"
    );
    file.into_bytes()
}

/// Somebody with a link and nothing else.
pub struct Customer<'w> {
    pub world: &'w World,
    /// Path of the private page.
    pub link: String,
    http: reqwest::Client,
}

/// The path of the private page that a text names.
pub fn link_in(text: &str) -> String {
    let link = text.split("https://rookery.example").nth(1).expect("a link");
    link.split_whitespace().next().expect("its end").to_owned()
}

impl<'w> Customer<'w> {
    pub fn with(world: &'w World, link: &str) -> Self {
        let http = reqwest::Client::builder().redirect(Policy::none()).build().expect("a client");
        Self { world, link: link.to_owned(), http }
    }

    pub async fn opens(&self, path: &str) -> Shown {
        self.opens_in(path, "en").await
    }

    pub async fn opens_in(&self, path: &str, languages: &str) -> Shown {
        let request =
            self.http.get(format!("{}{path}", self.world.address)).header("accept-language", languages);
        shown(request).await
    }

    /// The page, which has to be there.
    pub async fn page(&self) -> String {
        self.opens(&self.link).await.page()
    }

    /// Sends a form as a browser without script does.
    pub async fn submits(&self, path: &str, fields: &[(&str, &str)]) -> Shown {
        let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
        let request = self.http.post(format!("{}{path}", self.world.address)).body(body);
        let request =
            request.header("origin", "null").header("content-type", "application/x-www-form-urlencoded");
        shown(request).await
    }

    pub async fn heads(&self, path: &str) -> Shown {
        shown(self.http.head(format!("{}{path}", self.world.address))).await
    }

    /// The items of the checklist in the order of the page.
    pub async fn items(&self) -> Vec<String> {
        let page = self.page().await;
        page.split("id=\"itm_")
            .skip(1)
            .map(|rest| format!("itm_{}", &rest[..rest.find('"').unwrap()]))
            .collect()
    }

    /// Chooses files for an item and presses "send", as a browser without script does. It sends the camera's field too.
    pub async fn sends(&self, item: &str, files: &[(&str, &[u8])]) -> Shown {
        self.posts(&format!("{}/{item}", self.link), files).await
    }

    pub async fn posts(&self, path: &str, files: &[(&str, &[u8])]) -> Shown {
        let mut body = Vec::new();
        for (name, bytes) in files.iter().chain([&("", &b""[..])]) {
            let head = format!(
                "--edge\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{name}\"\r\n\
                 Content-Type: application/octet-stream\r\n\r\n"
            );
            body.extend([head.as_bytes(), bytes, b"\r\n"].concat());
        }
        body.extend(b"--edge--\r\n");
        let request = self.http.post(format!("{}{path}", self.world.address)).body(body);
        // A browser says "null" under this page's policy.
        let request = request.header("origin", "null").header("sec-fetch-site", "same-origin");
        shown(request.header("content-type", "multipart/form-data; boundary=edge")).await
    }

    /// The same, and it has to be taken.
    #[track_caller]
    pub fn gives(&self, item: &str, words: &str) -> impl Future<Output = ()> {
        let (item, file) = (item.to_owned(), pdf(words));
        async move {
            let answer = self.sends(&item, &[(&format!("{}.pdf", file.len()), &file)]).await;
            assert_eq!(answer.status, 303, "{}", answer.html);
        }
    }
}

async fn shown(request: reqwest::RequestBuilder) -> Shown {
    let answer = request.send().await.expect("the service answers");
    let (status, headers) = (answer.status().as_u16(), answer.headers().clone());
    Shown { status, headers, html: answer.text().await.expect("a text") }
}

/// Asks Ada for these documents and lets the mail leave: a key, the conversation, and Ada with her link.
pub async fn asked<'w>(
    acme: &Workspace<'w>,
    documents: Value,
) -> (Key<'w>, rookery_base::ids::ConversationId, Customer<'w>) {
    let inbox = acme.mailbox("help@acme.example", "Help").await;
    let key = acme.key("bot", "read,write,draft,send", crate::Mode::Live).await;
    let id = acme.mail(inbox, "Ada <ada@customer.example>", "Loan", "Hello").await;
    let input = json!({ "documents": documents, "send": true, "dueDate": "2031-01-20" });
    let reply = key.post(&format!("/conversations/{id}/document-requests"), input).await;
    assert_eq!(reply.status, 201, "{}", reply.text);
    leaves(acme.world).await;
    let letter = acme.world.outbox.letters().pop().expect("a letter");
    (key, id, Customer::with(acme.world, &link_in(&letter.text)))
}

pub async fn leaves(world: &World) {
    world.wait(TimeDelta::minutes(11));
    world.work().await;
}

/// A letter whose directory names its list of types 4,998 times, each a megabyte when it is unpacked.
pub fn letter_of_one_part() -> Vec<u8> {
    let plain = [b"<Types>".to_vec(), vec![b'A'; 999_000]].concat();
    let mut packed = DeflateEncoder::new(Vec::new(), Compression::best());
    packed.write_all(&plain).unwrap();
    let packed = packed.finish().unwrap();
    let (list, document) = ("[Content_Types].xml", "word/document.xml");
    let local = |name: &str, packed: &[u8], plain: usize| {
        let method = if packed.is_empty() { 0_u8 } else { 8 };
        let mut part = b"PK\x03\x04\x14\0\0\0".to_vec();
        part.extend([method, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        part.extend((packed.len() as u32).to_le_bytes());
        part.extend((plain as u32).to_le_bytes());
        part.extend((name.len() as u16).to_le_bytes());
        part.extend([0, 0]);
        part.extend(name.as_bytes());
        part.extend(packed);
        part
    };
    let entry = |name: &str, packed: usize, plain: usize, at: usize| {
        let method = if packed == 0 { 0_u8 } else { 8 };
        let mut entry = b"PK\x01\x02\x14\0\x14\0\0\0".to_vec();
        entry.extend([method, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        entry.extend((packed as u32).to_le_bytes());
        entry.extend((plain as u32).to_le_bytes());
        entry.extend((name.len() as u16).to_le_bytes());
        entry.extend([0; 12]);
        entry.extend((at as u32).to_le_bytes());
        entry.extend(name.as_bytes());
        entry
    };
    let mut file = local(list, &packed, plain.len());
    let second = file.len();
    file.extend(local(document, b"", 0));
    let start = file.len();
    let count = 4_999_u16;
    file.extend(entry(document, 0, 0, second));
    for _ in 1..count {
        file.extend(entry(list, packed.len(), plain.len(), 0));
    }
    let directory = file.len() - start;
    file.extend(b"PK\x05\x06\0\0\0\0");
    file.extend(count.to_le_bytes());
    file.extend(count.to_le_bytes());
    file.extend((directory as u32).to_le_bytes());
    file.extend((start as u32).to_le_bytes());
    file.extend([0, 0]);
    file
}
