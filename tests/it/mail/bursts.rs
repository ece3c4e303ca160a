//! Bursts of mail: they are stored in batches, and each mail still gets its own result.

use std::collections::BTreeMap;
use std::time::Duration;

use futures::future::join_all;
use rookery_base::ids::Id;
use sqlx::AssertSqlSafe;

use rookery_world::mail::client::Client;
use rookery_world::mail::post::{Post, mail, post_with};

const MANY_CONNECTIONS: &[(&str, &str)] = &[("SMTP_PEER_CONNECTIONS", "100")];

/// Sends all mails while the workspace is locked, then unlocks it: the first one waits in its transaction and the
/// others collect behind it. Returns the reply codes.
async fn at_one_moment(post: &Post<'_>, mails: &[String]) -> Vec<u16> {
    let mut fence = sqlx::PgPool::connect_with((*post.world.app.pool.connect_options()).clone())
        .await
        .unwrap()
        .acquire()
        .await
        .unwrap();
    let workspace = post.acme.id.number();
    let lock = |what: &str| AssertSqlSafe(format!("select pg_advisory_{what}({workspace})"));
    sqlx::raw_sql(lock("lock")).execute(&mut *fence).await.unwrap();
    let sent = mails.iter().map(async |raw| {
        let mut client = Client::greeted(post.smtp).await;
        client.mail("anna@customer.example", "help@acme.example", raw).await.code
    });
    let open = async {
        tokio::time::sleep(Duration::from_secs(2)).await;
        sqlx::raw_sql(lock("unlock")).execute(&mut *fence).await.unwrap();
    };
    futures::join!(join_all(sent), open).0
}

#[tokio::test]
async fn mail_of_one_moment_is_stored_in_few_transactions_and_each_in_its_own_conversation() {
    post_with(MANY_CONNECTIONS, &[], async |post| {
        let text = |number: usize| format!("Where is parcel {number}?");
        let mails: Vec<String> = (0..30)
            .map(|number| {
                let from = format!("Customer {number} <c{number}@customer.example>");
                mail(&from, &format!("Parcel {number}"), "", &text(number))
            })
            .collect();
        assert_eq!(at_one_moment(post, &mails).await, [250; 30]);
        let rows: Vec<(String, String, String, String, Vec<u8>)> = sqlx::query_as(
            "select c.subject, c.contact_email, m.text, m.xmin::text, m.raw from messages m
             join conversations c on c.workspace_id = m.workspace_id and c.id = m.conversation_id
             where c.snippet = m.text and c.message_count = 1 and m.from_email = c.contact_email",
        )
        .fetch_all(&post.world.app.pool)
        .await
        .unwrap();
        assert_eq!(rows.len(), 30);
        let mut transactions = BTreeMap::new();
        for (subject, email, words, transaction, raw) in rows {
            let number: usize = subject.strip_prefix("Parcel ").unwrap().parse().unwrap();
            assert_eq!((email, words), (format!("c{number}@customer.example"), text(number)));
            assert!(raw.ends_with(mails[number].replace('\n', "\r\n").as_bytes()));
            *transactions.entry(transaction).or_insert(0) += 1;
        }
        assert!(transactions.len() <= 15, "stored together: {transactions:?}");
        let told: i64 = sqlx::query_scalar(
            "select count(distinct conversation_id) from events where kind = 'turn.changed'",
        )
        .fetch_one(&post.world.app.pool)
        .await
        .unwrap();
        assert_eq!(told, 30, "each is told of");
    })
    .await;
}

#[tokio::test]
async fn in_a_burst_a_mail_that_comes_twice_is_stored_once_and_one_that_is_refused_harms_no_other() {
    post_with(MANY_CONNECTIONS, &[], async |post| {
        let refuse = "create function refuse() returns trigger language plpgsql as $$
                      begin raise exception 'no' using errcode = '22000'; end $$;
                      create trigger refuse before insert on conversations for each row
                          when (new.subject = 'Refused') execute function refuse()";
        post.world.sql(refuse).await;
        let from = "anna@customer.example";
        let mut mails: Vec<String> =
            (0..6).map(|n| mail(from, &format!("Parcel {n}"), "", "Hello")).collect();
        mails.push(mail(from, "Refused", "", "Hello"));
        mails.push(mails[1].clone());
        // The same Message-ID with other words is other mail.
        mails.push(mails[2].replace("Hello", "Good bye"));
        let codes = at_one_moment(post, &mails).await;
        assert_eq!(codes, [250, 250, 250, 250, 250, 250, 451, 250, 250]);
        assert_eq!(post.count().await, 7);
    })
    .await;
}
