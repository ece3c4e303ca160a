//! The audit log: what is in it, and that nothing in it can be changed without being found.

use rookery::workspace::access::By;
use rookery::workspace::audit::{self, Did, Subject, Verdict};
use rookery::workspace::people::{self, Role};
use serde_json::json;

use crate::world::{Mode, Workspace, story};

async fn verified(acme: &Workspace<'_>) -> Verdict {
    let app = &acme.world.app;
    let keys = app.config.needs_secret_key().unwrap();
    audit::verify(&mut app.connection().await.unwrap(), keys, acme.id).await.unwrap()
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
        assert_eq!(verified(&acme).await, Verdict::Sound(4));
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
        assert_eq!(verified(&acme).await, Verdict::Sound(51));
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
            assert!(matches!(found, Verdict::Broken { n, .. } if n == broken), "{change}: {found:?}");
            assert_eq!(verified(&other).await, Verdict::Sound(2), "another workspace has a chain of its own");
            world.sql("delete from audit_entries; insert into audit_entries select * from kept; drop table kept").await;
            world.sql("delete from audit_heads; insert into audit_heads select * from ends; drop table ends").await;
            assert_eq!(verified(&acme).await, Verdict::Sound(7));
        }
    })
    .await;
}
