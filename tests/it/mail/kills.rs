//! Kill -9 while mail comes in: a 250 is always readable afterwards, and a retry stores nothing twice.
//! The client keeps a ledger of what was acknowledged; what was not is sent again, as mail servers do.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::time::Duration;

use super::client::Client;
use super::dns::Zone;
use super::post::mail;
use crate::world::site::Site;

/// Kills one process again and again, each time at another moment of a mail's way.
async fn killed(kills: u64) {
    let site = Site::migrated().await;
    let (workspace, _) = site.workspace();
    site.admin(&[
        "create-mailbox",
        "--workspace",
        &workspace,
        "--address",
        "help@acme.example",
        "--name",
        "Help",
    ]);
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let smtp = SocketAddr::from(([127, 0, 0, 1], port));
    let zone = Zone::serve(&[]).await;
    let settings = [("ROOKERY_SMTP_LISTEN", smtp.to_string()), ("ROOKERY_DNS", zone.address.to_string())];
    let settings: Vec<(&str, &str)> = settings.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let (mut acknowledged, mut waiting) = (BTreeSet::new(), BTreeSet::new());
    for kill in 0..kills {
        let mut node = site.serve("killed", &settings).await;
        for client in 0..4 {
            waiting.insert(format!("mail{kill}x{client}"));
        }
        let sending = waiting.iter().cloned().map(|id| {
            tokio::spawn(async move {
                let told = tokio::time::timeout(Duration::from_secs(5), send(smtp, &id)).await;
                told.unwrap_or(false).then_some(id)
            })
        });
        let sending: Vec<_> = sending.collect();
        // From the first bytes to well after the commit, a little later each time.
        tokio::time::sleep(Duration::from_millis(kill * 7 % 120)).await;
        node.kill();
        for sent in sending {
            if let Some(id) = sent.await.unwrap() {
                waiting.remove(&id);
                acknowledged.insert(id);
            }
        }
    }
    let _node = site.serve("last", &settings).await;
    for id in std::mem::take(&mut waiting) {
        assert!(send(smtp, &id).await, "{id} is taken in the end");
        acknowledged.insert(id);
    }
    let pool = sqlx::PgPool::connect(site.database.url()).await.unwrap();
    let stored: Vec<(String, i64)> = sqlx::query_as(
        "select split_part(rfc_message_id, '@', 1), count(*) from messages where raw is not null group by 1",
    )
    .fetch_all(&pool)
    .await
    .unwrap();
    pool.close().await;
    assert!(stored.iter().all(|(_, count)| *count == 1), "nothing twice: {stored:?}");
    let stored: BTreeSet<String> = stored.into_iter().map(|(id, _)| id).collect();
    assert_eq!(stored, acknowledged, "every 250 is there, and everything there was asked for");
    println!("{kills} kills, {} mails acknowledged, each stored once", acknowledged.len());
}

/// True when it was acknowledged.
async fn send(smtp: SocketAddr, id: &str) -> bool {
    let Ok(stream) = tokio::net::TcpStream::connect(smtp).await else { return false };
    let (mut client, greeting) = Client::over(stream).await;
    if greeting.code != 220 || client.say("EHLO customer.example").await.code != 250 {
        return false;
    }
    let raw = mail("anna@customer.example", id, "", "Hello");
    client.mail("anna@customer.example", "help@acme.example", &raw).await.code == 250
}

#[tokio::test]
async fn an_acknowledged_mail_survives_kills() {
    killed(5).await;
}

#[tokio::test]
#[ignore = "takes minutes: just kill-mail"]
async fn acknowledged_mail_survives_two_hundred_kills() {
    killed(200).await;
}
