//! The audit log: what is in it, and that nothing in it can be changed without being found.

use chrono::{DateTime, TimeDelta, Utc};
use rookery_base::secrets::hashes::hmac;
use rookery_core::workspace::access::By;
use rookery_core::workspace::audit::{self, ChainVerdict, Did, Head, Subject, list, watch};
use rookery_core::workspace::people::{self, Role};
use serde_json::json;

use rookery_world::{Mode, Workspace, story};

async fn verified(acme: &Workspace<'_>) -> ChainVerdict {
    verified_with(acme, None).await
}

async fn verified_with(acme: &Workspace<'_>, seen: Option<&Head>) -> ChainVerdict {
    let app = &acme.world.app;
    let keys = app.config.needs_secret_key().unwrap();
    audit::verify(&mut app.connection().await.unwrap(), keys, acme.id, seen).await.unwrap()
}

async fn newest(acme: &Workspace<'_>) -> Head {
    let chain = list::chain(&mut acme.world.app.connection().await.unwrap(), acme.id).await.unwrap();
    chain.unwrap().newest
}

async fn told(acme: &Workspace<'_>) -> Vec<String> {
    sqlx::query_scalar(
        "select actor_name || ' ' || did || ' ' || subject_name || ' ' || data from audit_entries
         where workspace_id = $1 order by n",
    )
    .bind(acme.id.0)
    .fetch_all(&acme.world.app.pool)
    .await
    .unwrap()
}

#[tokio::test]
async fn people_inboxes_and_keys_are_recorded_with_who_did_it() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        acme.mailbox("help@acme.example", "Help").await;
        let bot = acme.key("bot", "draft", Mode::Live).await;
        acme.revoke(&bot).await;
        acme.revoke(&bot).await;
        let entries = told(&acme).await;
        let wanted = [
            r#"System person.added Olga Owner {"email":"olga@rookery.example","role":"owner"}"#,
            r#"System inbox.made Help {"address":"help@acme.example","privateTo":null}"#,
            r#"System key.made bot {"scopes":["read","draft"],"livemode":true,"hint":"rk_live_…"#,
            "System key.revoked bot {}",
        ];
        assert_eq!(entries.len(), wanted.len(), "{entries:?}");
        assert!(entries.iter().zip(wanted).all(|(entry, wanted)| entry.starts_with(wanted)), "{entries:?}");
        assert!(!entries.concat().contains(&bot.text), "a key itself is never in it");
        assert_eq!(verified(&acme).await, ChainVerdict::Sound(4));
    })
    .await;
}

#[tokio::test]
async fn fifty_writers_make_one_chain_and_who_is_refused_writes_nothing() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let writing = (0..50).map(async |n| {
            let mut tx = world.app.begin(acme.id).await.unwrap();
            let subject = Subject { id: &n, name: "something" };
            audit::record(&mut tx, &By::System, Did::KeyRevoked, subject, json!({ "n": n })).await.unwrap();
            tx.commit().await.unwrap();
        });
        futures::future::join_all(writing).await;
        let mut tx = world.app.begin(acme.id).await.unwrap();
        let twice = people::add(&mut tx, &By::System, "olga@rookery.example", "Olga", Role::Member).await;
        assert!(twice.is_err());
        drop(tx);
        assert_eq!(verified(&acme).await, ChainVerdict::Sound(51));
    })
    .await;
}

#[tokio::test]
async fn an_entry_that_was_changed_removed_moved_or_cut_off_is_found() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let other = world.workspace("Other").await;
        for n in 0..6 {
            acme.mailbox(&format!("n{n}@acme.example"), "Inbox").await;
        }
        other.mailbox("n@other.example", "Inbox").await;
        let ends = "; update audit_heads h set (n, mac) = (
                        select n, mac from audit_entries e where e.workspace_id = h.workspace_id order by n desc limit 1)";
        for (change, broken) in [
            ("update audit_entries set subject_name = 'Outbox' where workspace_id = $1 and n = 3", 3),
            ("update audit_entries set at = at + interval '1 second' where workspace_id = $1 and n = 5", 5),
            ("update audit_entries set actor = 'user:usr_1' where workspace_id = $1 and n = 1", 1),
            ("delete from audit_entries where workspace_id = $1 and n = 4", 4),
            ("delete from audit_entries where workspace_id = $1 and n >= 6", 6),
            ("delete from audit_heads where workspace_id = $1", 1),
            ("update audit_entries set n = 99 where workspace_id = $1 and n = 3;
              update audit_entries set n = 3 where workspace_id = $1 and n = 4;
              update audit_entries set n = 4 where workspace_id = $1 and n = 99", 3),
            ("update audit_entries a set data = b.data, mac = b.mac, subject = b.subject from audit_entries b
              where a.workspace_id = $1 and b.workspace_id <> $1 and a.n = 2 and b.n = 2", 2),
        ] {
            world.sql("create table kept as select * from audit_entries; create table ends as select * from audit_heads").await;
            let follows = if broken == 3 { ends } else { "" };
            world.sql(&format!("{change}{follows}").replace("$1", &acme.id.0.to_string())).await;
            let found = verified(&acme).await;
            assert!(matches!(found, ChainVerdict::Broken { n, .. } if n == broken), "{change}: {found:?}");
            assert_eq!(verified(&other).await, ChainVerdict::Sound(2), "another workspace has a chain of its own");
            world.sql("delete from audit_entries; insert into audit_entries select * from kept; drop table kept").await;
            world.sql("delete from audit_heads; insert into audit_heads select * from ends; drop table ends").await;
            assert_eq!(verified(&acme).await, ChainVerdict::Sound(7));
        }
    })
    .await;
}

/// Who can write to the database and has no key wipes the log, its end, or both.
#[tokio::test]
async fn a_log_that_was_wiped_is_not_whole() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        acme.mailbox("help@acme.example", "Help").await;
        let seen = newest(&acme).await;
        assert_eq!(verified_with(&acme, Some(&seen)).await, ChainVerdict::Sound(2));
        world.sql("create table kept as select * from audit_entries; create table ends as select * from audit_heads").await;
        let zeros = "'\\x0000000000000000000000000000000000000000000000000000000000000000'";
        let begun_anew = format!(
            "delete from audit_entries;
             update audit_heads set n = 0, mac = {zeros}, signed = null, trimmed_n = 0, trimmed_mac = {zeros}, anchor = null"
        );
        for wiped in [begun_anew.as_str(), "delete from audit_entries; delete from audit_heads"] {
            world.sql(wiped).await;
            for head in [None, Some(&seen)] {
                let found = verified_with(&acme, head).await;
                assert!(matches!(found, ChainVerdict::Broken { n: 1, .. }), "{wiped}: {found:?}");
            }
            world.sql("delete from audit_entries; delete from audit_heads;
                       insert into audit_entries select * from kept; insert into audit_heads select * from ends").await;
            assert_eq!(verified(&acme).await, ChainVerdict::Sound(2));
        }
        // Begun anew by the next entry, it is a log of its own: not the one that the server's log tells of.
        world.sql("delete from audit_entries; delete from audit_heads").await;
        acme.mailbox("more@acme.example", "More").await;
        assert!(matches!(verified_with(&acme, Some(&seen)).await, ChainVerdict::Broken { .. }));
    })
    .await;
}

/// Entries of before the end was signed are whole as they stand, and cutting back to them is found by a head.
#[tokio::test]
async fn entries_of_an_older_version_are_whole_and_what_came_after_them_is_not_cut_unseen() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        acme.mailbox("help@acme.example", "Help").await;
        let keys = world.app.config.needs_secret_key().unwrap();
        let mut conn = world.app.connection().await.unwrap();
        let sealed = audit::sealed_key(&mut conn, acme.id).await.unwrap().unwrap();
        let key = audit::open_key(keys, acme.id, &sealed).unwrap();
        type Row = (i64, DateTime<Utc>, String, String, String, String, String, String);
        let rows: Vec<Row> = sqlx::query_as(
            "select n, at, actor, actor_name, did, subject, subject_name, data from audit_entries order by n",
        )
        .fetch_all(&mut *conn)
        .await
        .unwrap();
        let mut mac = vec![0; 32];
        for (n, at, actor, actor_name, did, subject, subject_name, data) in rows {
            let at = at.timestamp_micros();
            let parts = json!([acme.id.0, n, at, actor, actor_name, did, subject, subject_name, data]);
            mac = hmac(&key, &[&mac, parts.to_string().as_bytes()]).as_ref().to_vec();
            sqlx::query("update audit_entries set mac = $2 where n = $1")
                .bind(n)
                .bind(&mac)
                .execute(&mut *conn)
                .await
                .unwrap();
        }
        sqlx::query("update audit_heads set mac = $1, signed = null")
            .bind(&mac)
            .execute(&mut *conn)
            .await
            .unwrap();
        assert_eq!(verified(&acme).await, ChainVerdict::Sound(2), "as an older version left it");
        acme.mailbox("more@acme.example", "More").await;
        assert_eq!(verified(&acme).await, ChainVerdict::Sound(3));
        let seen = newest(&acme).await;
        sqlx::query("delete from audit_entries where n = 3").execute(&mut *conn).await.unwrap();
        sqlx::query("update audit_heads set n = 2, mac = $1").bind(&mac).execute(&mut *conn).await.unwrap();
        assert!(matches!(verified(&acme).await, ChainVerdict::Broken { n: 3, .. }));
        sqlx::query("update audit_heads set signed = null").execute(&mut *conn).await.unwrap();
        assert!(matches!(verified_with(&acme, Some(&seen)).await, ChainVerdict::Broken { n: 3, .. }));
    })
    .await;
}

#[tokio::test]
async fn when_every_entry_has_had_its_year_all_go_and_the_chain_goes_on() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        acme.mailbox("help@acme.example", "Help").await;
        world.wait(TimeDelta::days(400));
        watch::work_off(&world.app, &world.app.loops.backoff_of(watch::LOOP)).await.unwrap();
        assert_eq!(world.scalar("select count(*) from audit_entries").await, 0);
        assert_eq!(verified(&acme).await, ChainVerdict::Sound(2));
        acme.mailbox("more@acme.example", "More").await;
        assert_eq!(verified(&acme).await, ChainVerdict::Sound(3));
        assert_eq!(world.scalar("select min(n) from audit_entries").await, 3);
    })
    .await;
}
