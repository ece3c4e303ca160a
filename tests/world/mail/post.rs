//! A test world whose SMTP and LMTP listeners are open, with a DNS server of its own.

use std::net::SocketAddr;
use std::sync::Arc;

use chrono::TimeDelta;
use rookery_base::cells::Cells;
use rookery_base::ids::{ConversationId, MailboxId};
use rookery_mail::incoming::listen::{Door, Protocol};
use serde_json::Value;
use tokio::net::TcpListener;

use super::client::Client;
use super::dns::Zone;
use crate::{Key, Mode, Workspace, World, story_with};

pub struct Post<'w> {
    pub world: &'w World,
    pub acme: Workspace<'w>,
    pub support: MailboxId,
    pub key: Key<'w>,
    pub smtp: SocketAddr,
    pub lmtp: SocketAddr,
}

/// A story with an inbox `help@acme.example` that mail can reach.
pub async fn post(zone: &[(&str, &str)], tell: impl AsyncFnOnce(&Post)) {
    post_with(&[], zone, tell).await;
}

pub async fn post_with(settings: &[(&str, &str)], zone: &[(&str, &str)], tell: impl AsyncFnOnce(&Post)) {
    let zone = Zone::serve(zone).await;
    let dns = zone.address.to_string();
    let settings = [settings, &[("DNS", dns.as_str()), ("MAIL_NAME", "mx.rookery.example")]].concat();
    story_with(&settings, async |world| {
        let acme = world.workspace("Acme").await;
        let support = acme.mailbox("help@acme.example", "Support").await;
        let key = acme.key("bot", "read", Mode::Live).await;
        let mut doors = Vec::new();
        for protocol in [Protocol::Smtp, Protocol::Lmtp] {
            let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
            doors.push(listener.local_addr().expect("an address"));
            let door = Door::open(Arc::new(Cells::new(vec![Arc::clone(&world.app)])), protocol)
                .expect("the door opens");
            tokio::spawn(door.serve(listener));
        }
        tell(&Post { world, acme, support, key, smtp: doors[0], lmtp: doors[1] }).await;
    })
    .await;
}

/// What is kept of a message beside its words.
#[derive(Debug)]
pub struct Kept {
    pub conversation: ConversationId,
    pub verdict: Value,
    pub placed: String,
    pub automatic: bool,
    /// The bytes, wherever they are.
    pub raw: String,
}

impl Post<'_> {
    /// One mail on a connection of its own; it must be taken.
    pub async fn takes(&self, from: &str, to: &str, raw: &str) -> Kept {
        self.tick();
        let before = self.count().await;
        let answer = Client::greeted(self.smtp).await.mail(from, to, raw).await;
        assert_eq!(answer.code, 250, "{answer:?}");
        assert_eq!(self.count().await, before + 1, "a 250 means one message more");
        self.newest().await
    }

    /// Time passes, so that the next mail is the newest.
    pub fn tick(&self) {
        self.world.wait(TimeDelta::seconds(1));
    }

    pub async fn count(&self) -> i64 {
        sqlx::query_scalar("select count(*) from messages where direction = 'inbound'")
            .fetch_one(&self.world.app.pool)
            .await
            .expect("messages can be counted")
    }

    pub async fn newest(&self) -> Kept {
        let row: (i64, Value, String, bool, Option<Vec<u8>>, Option<String>) = sqlx::query_as(
            "select conversation_id, verdict, placed, automatic, raw, raw_blob from messages
             where direction = 'inbound' order by id desc limit 1",
        )
        .fetch_one(&self.world.app.pool)
        .await
        .expect("a message");
        let (conversation, verdict, placed, automatic, raw, blob) = row;
        let raw = match (raw, blob) {
            (Some(raw), None) => raw,
            (None, Some(key)) => self.world.app.blobs.get(&key).await.expect("the blob of a row is there"),
            other => panic!("the bytes are in one place: {other:?}"),
        };
        let raw = String::from_utf8_lossy(&raw).into_owned();
        Kept { conversation: ConversationId(conversation), verdict, placed, automatic, raw }
    }
}

/// A mail with a Message-ID made of its subject.
pub fn mail(from: &str, subject: &str, header: &str, text: &str) -> String {
    let id: String = subject.chars().filter(char::is_ascii_alphanumeric).collect();
    let header = if header.is_empty() { String::new() } else { format!("{header}\n") };
    format!(
        "Message-ID: <{id}@customer.example>\nFrom: {from}\nTo: help@acme.example\nSubject: {subject}\n\
         Date: Mon, 06 Jan 2031 08:59:00 +0000\n{header}\n{text}\n"
    )
}
