//! Rotation of ROOKERY_SECRET_KEY: a new key takes over while the old one still decrypts, everything is resealed,
//! and the old key can be removed. Secrets that no key decrypts are reported and skipped.

use std::time::Duration;

use rookery::cli::reseal;
use rookery_base::app::App;
use rookery_base::clock::Clock;
use rookery_base::config::Config;
use rookery_base::ids::{ErasureId, WorkspaceId};
use rookery_base::random::Random;
use rookery_base::secrets::key_ring::KeyRing;
use rookery_base::secrets::sealed;
use rookery_core::workspace::access::By;
use rookery_core::workspace::{audit, people};
use rookery_mail::incoming::return_path;
use rookery_mail::outgoing::{dkim, domain};
use rookery_product::app_mail::adapters::Provider;
use rookery_product::app_mail::connect;
use rookery_upkeep::erasures::list;
use rookery_upkeep::exports::ask as exports;
use rookery_webhooks::create::{WebhookParameters, create};
use rookery_webhooks::webhook::Scope;
use rookery_webhooks::{manage, secret};
use serde_json::{Value, json};

use rookery_world::mail::post::{mail, post_with};
use rookery_world::site::{SECRET_KEY, Site, text};
use rookery_world::{Message, World, story_with};

/// 32 times 1, and 32 times 2.
const OLD: &str = "old:AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=";
const NEW: &str = "new:AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI=";
const LOCAL: (&str, &str) = ("WEBHOOK_ALLOW", "127.0.0.0/8");

fn ring(keys: &[&str]) -> KeyRing {
    keys.join(",").parse().expect("a ring")
}

/// Another server on the same database, with other keys.
fn with_keys(world: &World, keys: &[&str]) -> App {
    let config = Config { secret_key: Some(ring(keys)), ..world.app.config.clone() };
    App::new(config, Clock::set_to(world.now()), Random::seeded(8)).expect("an app")
}

/// One of each kind of secret in a workspace: a DKIM key, a webhook's two, one of the sandbox, a service's two.
async fn furnish(app: &App, workspace: &rookery_world::Workspace<'_>) {
    domain::add(app, workspace.id, &By::System, "acme.example").await.expect("a domain");
    for livemode in [true, false] {
        let wanted = WebhookParameters {
            maker: workspace.owner,
            url: "http://127.0.0.1:9/",
            livemode,
            scope: Scope::Team,
            kinds: &[],
        };
        let made = create(app, workspace.id, &By::System, wanted).await.expect("a webhook");
        if livemode {
            manage::rotate(app, workspace.id, &By::System, made.webhook).await.expect("a new secret");
        }
    }
    let wanted = connect::WantedService {
        person: workspace.owner,
        name: "Mailer",
        content_url: "http://127.0.0.1:9/",
        token: "a-token",
        provider: Provider::Own,
        key: "",
    };
    connect::connect(app, workspace.id, wanted).await.expect("a connection");
}

/// Everything that is sealed: place and words, as far as these keys open it, and the key each names.
async fn opened(world: &World, keys: &KeyRing) -> Vec<(String, Option<Vec<u8>>, Option<String>)> {
    let workspaces: Vec<i64> =
        sqlx::query_scalar("select id from workspaces order by id").fetch_all(&world.app.pool).await.unwrap();
    let mut conn = world.app.connection().await.unwrap();
    let mut all = Vec::new();
    let mut add = |purpose: &str, context: String, bytes: &[u8]| {
        let opened = sealed::opened_by(keys, purpose, &context, bytes).unwrap();
        let key = sealed::key_named(bytes).map(str::to_owned);
        all.push((format!("{purpose} {context}"), opened.map(|(_, words)| words), key));
    };
    for one in dkim::stored(&mut conn, &workspaces).await.unwrap() {
        add(one.purpose, one.context, &one.sealed);
    }
    for one in secret::stored(&mut conn, &workspaces).await.unwrap() {
        add(one.purpose, one.context, &one.sealed);
    }
    for one in connect::stored(&mut conn, &workspaces).await.unwrap() {
        add(one.purpose, one.context, &one.sealed);
    }
    for one in audit::stored(&mut conn, &workspaces).await.unwrap() {
        add(one.purpose, one.context, &one.sealed);
    }
    all.sort();
    all
}

fn words(all: Vec<(String, Option<Vec<u8>>, Option<String>)>) -> Vec<(String, Option<Vec<u8>>)> {
    all.into_iter().map(|(place, words, _)| (place, words)).collect()
}

#[tokio::test]
async fn a_new_key_takes_over_everything_and_the_old_one_can_go() {
    story_with(&[("SECRET_KEY", OLD), LOCAL], async |world| {
        for name in ["Acme", "Umbrella"] {
            furnish(&world.app, &world.workspace(name).await).await;
        }
        let before = words(opened(world, &ring(&[OLD])).await);
        assert_eq!(before.len(), 14);
        assert!(before.iter().all(|(_, words)| words.is_some()));

        let both = with_keys(world, &[NEW, OLD]);
        assert_eq!(words(opened(world, &ring(&[NEW, OLD])).await), before, "both are in the ring");
        furnish(&both, &world.workspace("Later").await).await;
        let later = opened(world, &ring(&[NEW, OLD])).await;
        assert_eq!(
            later.iter().filter(|(_, _, key)| key.as_deref() == Some("new")).count(),
            6,
            "it seals now"
        );

        // The world's own node has the old key alone, and looks at the audit logs while that opens them.
        world.work().await;
        let told = reseal::reseal(&both).await.unwrap().summarize(&ring(&[NEW, OLD]));
        assert_eq!(told.left, None);
        assert_eq!(
            told.object,
            json!({ "newest": "new", "moved": 15, "sealedWith": { "new": 21, "old": 0 }, "unused": ["old"],
                    "unreadable": [], "fenced": [] })
        );
        assert!(told.line.contains("60 days"), "{}", told.line);
        assert_eq!(
            words(opened(world, &ring(&[NEW])).await),
            words(later),
            "the same words without the old key"
        );
        let again = reseal::reseal(&both).await.unwrap().summarize(&ring(&[NEW, OLD]));
        assert_eq!((&again.object["moved"], again.left), (&json!(0), None), "nothing is sealed twice");
    })
    .await;
}

/// Secrets from before keys had ids carry none. One bare key still works, and resealing adds the id.
#[tokio::test]
async fn a_single_bare_key_opens_what_was_sealed_before_keys_had_ids() {
    story_with(&[LOCAL], async |world| {
        let acme = world.workspace("Acme").await;
        furnish(&world.app, &acme).await;
        let keys = world.app.config.needs_secret_key().unwrap();
        let before = opened(world, keys).await;
        let id = keys.newest_id().to_owned();
        assert!(before.iter().all(|(_, words, key)| words.is_some() && *key == Some(id.clone())));
        // The format of the older version, without mark, length and id.
        let skip = 3 + 1 + id.len() + 1;
        for (table, columns) in [
            ("sending_domains", &["private_key"][..]),
            ("webhooks", &["secret", "old_secret"]),
            ("sending_services", &["secret", "token"]),
            ("audit_heads", &["key"]),
        ] {
            for column in columns {
                let statement = format!("update {table} set {column} = substring({column} from {skip})");
                sqlx::raw_sql(sqlx::AssertSqlSafe(statement)).execute(&world.app.pool).await.unwrap();
            }
        }
        let bare = opened(world, keys).await;
        assert!(bare.iter().all(|(_, _, key)| key.is_none()));
        assert_eq!(words(bare), words(before.clone()));
        let told = reseal::reseal(&world.app).await.unwrap().summarize(keys);
        assert_eq!((&told.object["moved"], told.left), (&json!(7), None));
        assert_eq!(opened(world, keys).await, before);
    })
    .await;
}

#[tokio::test]
async fn what_no_key_opens_is_told_by_its_place_and_stops_nothing() {
    story_with(&[("SECRET_KEY", OLD), LOCAL], async |world| {
        let (acme, later) = (world.workspace("Acme").await, world.workspace("Later").await);
        furnish(&world.app, &acme).await;
        let lost = "lost:AwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwM=";
        domain::add(&with_keys(world, &[lost, OLD]), later.id, &By::System, "later.example").await.unwrap();
        domain::add(&world.app, later.id, &By::System, "fine.example").await.unwrap();
        sqlx::query("update sending_services set token = 'nonsense'").execute(&world.app.pool).await.unwrap();
        world.work().await;
        let both = with_keys(world, &[NEW, OLD]);
        let told = reseal::reseal(&both).await.unwrap().summarize(&ring(&[NEW, OLD]));
        assert!(
            told.left.as_deref().is_some_and(|left| left.starts_with("2 stored secrets")),
            "{:?}",
            told.left
        );
        assert_eq!(told.object["moved"], 8, "with the audit logs of two workspaces");
        let unreadable = told.object["unreadable"].as_array().unwrap();
        let place = |n: usize| (text(&unreadable[n], "place"), &unreadable[n]["key"]);
        assert_eq!(unreadable.len(), 2);
        assert_eq!(place(0), (format!("the DKIM key of later.example in {}", later.id), &json!("lost")));
        assert!(place(1).0.starts_with("a secret of the sending service svc_"), "{}", told.object);
        assert!(told.line.contains("later.example") && !told.line.contains("nonsense"), "{}", told.line);
    })
    .await;
}

/// A fenced workspace is skipped and reported; its secrets stay as they are.
#[tokio::test]
async fn nothing_is_written_to_a_workspace_that_is_being_moved() {
    story_with(&[("SECRET_KEY", OLD), LOCAL], async |world| {
        let acme = world.workspace("Acme").await;
        furnish(&world.app, &acme).await;
        world.work().await;
        let fence = async |at: &str| {
            let statement = format!("update workspaces set fenced_at = {at}");
            sqlx::raw_sql(sqlx::AssertSqlSafe(statement)).execute(&world.app.pool).await.unwrap();
        };
        fence("now()").await;
        let (both, keys) = (with_keys(world, &[NEW, OLD]), ring(&[NEW, OLD]));
        let told = reseal::reseal(&both).await.unwrap().summarize(&keys);
        assert_eq!((&told.object["moved"], &told.object["fenced"]), (&json!(0), &json!([acme.id])));
        assert!(told.left.is_some());
        fence("null").await;
        assert_eq!(reseal::reseal(&both).await.unwrap().summarize(&keys).left, None);
    })
    .await;
}

/// A concurrent rotation moves a secret from one column to the other; none is lost and none comes back.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sealing_anew_while_secrets_are_rotated_loses_none() {
    story_with(&[("SECRET_KEY", OLD), LOCAL], async |world| {
        let acme = world.workspace("Acme").await;
        let wanted = WebhookParameters {
            maker: acme.owner,
            url: "http://127.0.0.1:9/",
            livemode: true,
            scope: Scope::Team,
            kinds: &[],
        };
        let made = create(&world.app, acme.id, &By::System, wanted).await.unwrap();
        world.work().await;
        let keys = ring(&[NEW, OLD]);
        let (both, sealing) = (with_keys(world, &[NEW, OLD]), with_keys(world, &[OLD, NEW]));
        for _ in 0..20 {
            // The server that rotates still seals with the old key.
            let (rotated, _) =
                tokio::join!(manage::rotate(&sealing, acme.id, &By::System, made.webhook), async {
                    reseal::reseal(&both).await.unwrap()
                });
            let shown = rotated.unwrap().secret;
            assert_eq!(current(world, &keys, acme.id).await, shown);
            reseal::reseal(&both).await.unwrap();
            assert_eq!(current(world, &ring(&[NEW]), acme.id).await, shown);
        }
    })
    .await;
}

async fn current(world: &World, keys: &KeyRing, workspace: WorkspaceId) -> String {
    let (id, sealed): (rookery_base::ids::WebhookId, Vec<u8>) =
        sqlx::query_as("select id, secret from webhooks").fetch_one(&world.app.pool).await.unwrap();
    secret::decrypt(&sealed, keys, workspace, id).unwrap().text()
}

const BOUNCE: &str = "Message-ID: <bounce@mx.customer.example>
From: MAILER-DAEMON@mx.customer.example
Subject: Undelivered
MIME-Version: 1.0
Content-Type: multipart/report; report-type=delivery-status; boundary=b

--b
Content-Type: message/delivery-status

Reporting-MTA: dns; mx.customer.example

Final-Recipient: rfc822; anna@customer.example
Action: failed
Status: 5.1.1

--b--
";

#[tokio::test]
async fn a_bounce_to_a_return_path_of_an_older_key_counts_while_that_key_is_kept() {
    for (keys, counts) in [([NEW, OLD].join(","), true), (NEW.to_owned(), false)] {
        post_with(&[("SECRET_KEY", &keys)], &[], async |post| {
            let raw = mail("anna@customer.example", "One", "", "Hi");
            let first = post.takes("anna@customer.example", "help@acme.example", &raw).await;
            post.tick();
            let rfc_message_id = Some("msg_1.0123456789abcdef@acme.example");
            let sent = Message { status: "sent", text: "Hello", rfc_message_id };
            let message = post.acme.outbound(first.conversation, sent).await;
            let path = return_path::make(ring(&[OLD]).newest(), post.acme.id, message, "help@acme.example");
            let kept = post.takes("", &path, BOUNCE).await;
            assert_eq!(kept.conversation == first.conversation, counts);
            let read = post.key.conversation(first.conversation).await;
            assert_eq!(read["timeline"][1]["status"], if counts { "failed" } else { "sent" });
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_operator_changes_the_key_and_is_told_at_start_what_a_missing_key_sealed() {
    let site = Site::migrated().await;
    let (workspace, _) = site.workspace();
    site.admin(&["add-domain", "--workspace", &workspace, "--domain", "acme.example"]);
    let node = site.serve("without", &[("ROOKERY_SECRET_KEY", NEW)]).await;
    let said = "stored secrets were sealed with a key that is not in ROOKERY_SECRET_KEY";
    for _ in 0..100 {
        if node.log().contains(said) {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert!(node.log().contains(said), "{}", node.log());
    assert!(node.log().contains("acme.example"), "{}", node.log());
    drop(node);

    let reseal = |keys: &str| {
        let mut command = site.command(&["admin", "reseal", "--json"]);
        let done = command.env("ROOKERY_SECRET_KEY", keys).output().unwrap();
        let object: Value = serde_json::from_slice(&done.stdout).unwrap();
        (done.status.code(), object, String::from_utf8(done.stderr).unwrap())
    };
    let (code, object, said) = reseal(NEW);
    assert_eq!((code, &object["moved"]), (Some(1), &json!(0)), "{said}");
    assert!(said.starts_with("rookery: 2 stored secrets cannot be opened."), "{said}");
    // Lines of a file, the newest first.
    let (code, object, said) = reseal(&format!("{NEW}\n{SECRET_KEY}\n"));
    assert_eq!((code, &object["moved"], said.as_str()), (Some(0), &json!(2), ""), "{object}");
    assert_eq!(reseal(NEW).0, Some(0));
}

/// Without the keys in the list of erasures, an older backup that comes back is not erased again.
#[tokio::test]
async fn erasures_and_exports_are_sealed_anew_with_the_rest() {
    story_with(&[("SECRET_KEY", OLD), LOCAL], async |world| {
        let acme = world.workspace("Acme").await;
        world.work().await;
        let olga =
            people::teammate(&mut world.app.connection().await.unwrap(), acme.id, acme.owner).await.unwrap();
        let mut tx = world.app.begin(acme.id).await.unwrap();
        exports::ask(&mut tx, &olga, Some("ada@customer.example")).await.unwrap();
        tx.commit().await.unwrap();
        let erasure = ErasureId(1);
        list::keep(&world.app, acme.id, erasure, &[7; 32]).await.unwrap();
        let both = with_keys(world, &[NEW, OLD]);
        let told = reseal::reseal(&both).await.unwrap().summarize(&ring(&[NEW, OLD]));
        assert_eq!(told.left, None, "{}", told.line);
        assert_eq!(told.object["sealedWith"], json!({ "new": 3, "old": 0 }), "audit log, export and list");
        let entry = list::read(&world.app.blobs, acme.id, erasure).await.unwrap();
        assert_eq!(entry.hash, [7; 32]);
        assert!(audit::open_key(&ring(&[NEW]), acme.id, &entry.sealed_key).is_ok(), "the old key can go");
        let listed =
            &exports::listed(&mut world.app.connection().await.unwrap(), acme.id, 1).await.unwrap()[0];
        assert_eq!(listed.contact(&ring(&[NEW]), acme.id).as_deref(), Some("ada@customer.example"));

        // A file that was cut off is named, by its place.
        let file =
            world.files().into_iter().find(|file| file.to_string_lossy().contains("/erasures/")).unwrap();
        std::fs::write(&file, "{").unwrap();
        let told = reseal::reseal(&both).await.unwrap().summarize(&ring(&[NEW, OLD]));
        assert!(
            told.line.contains(&format!("the erasure {erasure} in {}, in the blob store", acme.id)),
            "{}",
            told.line
        );
        let error = list::read(&world.app.blobs, acme.id, erasure).await.err().expect("it cannot be read");
        assert!(error.to_string().contains(&format!("ws/erasures/{}/{erasure}", acme.id)), "{error}");
        std::fs::remove_file(&file).unwrap();
        world.sql("update exports set ended_at = now(), due_at = null, address = null").await;
    })
    .await;
}
