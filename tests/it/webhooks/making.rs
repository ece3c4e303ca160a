//! Making webhooks and looking after them: who may, which addresses are taken, and what is shown.

use rookery_base::ids::PersonId;
use rookery_core::workspace::access::By;
use rookery_core::workspace::people::Role;
use rookery_core::workspace::plan::Plan;
use rookery_webhooks::webhook::Scope;
use serde_json::{Value, json};

use rookery_world::site::{Site, text};
use rookery_world::webhooks::local_story;
use rookery_world::webhooks::receiver::Receiver;
use rookery_world::{Mode, Workspace, story, story_with};

async fn refusal(acme: &Workspace<'_>, maker: PersonId, url: &str, kinds: &[&str]) -> (u16, String) {
    match acme.webhook_of(maker, url, Mode::Live, Scope::Team, kinds).await {
        Ok(_) => panic!("{url} was taken"),
        Err(error) => (error.status(), error.sentence()),
    }
}

/// proves: WH-1
#[tokio::test]
async fn only_owners_and_admins_make_webhooks() {
    local_story(async |world| {
        let acme = world.workspace("Acme").await;
        let receiver = Receiver::start().await;
        let admin = acme.person("Ada Admin", Role::Admin).await;
        let member = acme.person("Max Member", Role::Member).await;
        for maker in [acme.owner, admin] {
            acme.webhook_of(maker, &receiver.url, Mode::Live, Scope::Team, &[]).await.unwrap();
        }
        let (status, sentence) = refusal(&acme, member, &receiver.url, &[]).await;
        assert_eq!((status, sentence.as_str()), (403, "Only owners and admins can make webhooks."));
        let (status, _) = refusal(&acme, PersonId(1), &receiver.url, &[]).await;
        assert_eq!(status, 404);
    })
    .await;
}

/// proves: WH-2, WH-34
#[tokio::test]
async fn an_address_must_be_public_and_https() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let long = format!("https://203.0.113.9/{}", "x".repeat(2040));
        for (url, what) in [
            ("ftp://1.1.1.1/", "must be an https address"),
            ("http://1.1.1.1/", "must be an https address"),
            ("not an address", "must be an https address"),
            ("https://", "must be an https address"),
            ("https://user@1.1.1.1/", "must not hold a user name or password"),
            ("https://:secret@1.1.1.1/", "must not hold a user name or password"),
            ("https://1.1.1.1/#part", "must not have a fragment"),
            (&long, "must be at most 2048 characters"),
            ("https://127.0.0.1/", "must lead to a public address, by https"),
            ("https://127.1/", "must lead to a public address, by https"),
            ("https://2130706433/", "must lead to a public address, by https"),
            ("https://0x7f.1/", "must lead to a public address, by https"),
            ("https://0177.0.0.1/", "must lead to a public address, by https"),
            ("https://0/", "must lead to a public address, by https"),
            ("https://10.1.2.3:8443/", "must lead to a public address, by https"),
            ("https://192.168.0.1/", "must lead to a public address, by https"),
            ("https://169.254.169.254/latest/meta-data", "must lead to a public address, by https"),
            ("https://[::1]/", "must lead to a public address, by https"),
            ("https://[::ffff:127.0.0.1]/", "must lead to a public address, by https"),
            ("https://[fd00::1]/", "must lead to a public address, by https"),
            ("https://[fe80::1]/", "must lead to a public address, by https"),
            ("https://[64:ff9b::a00:1]/", "must lead to a public address, by https"),
            ("https://[2002:7f00:1::]/", "must lead to a public address, by https"),
            ("https://localhost/", "must lead to a public address, by https"),
        ] {
            assert_eq!(refusal(&acme, acme.owner, url, &[]).await, (400, format!("url: {what}")), "{url}");
        }
        let made = acme.webhook("https://1.1.1.1:8443/hook", Mode::Live).await;
        assert_eq!(
            acme.state(made.webhook).await.url,
            "https://1.1.1.1:8443/hook",
            "a public address is taken"
        );
    })
    .await;
}

/// proves: WH-34
#[tokio::test]
async fn the_operators_list_opens_its_networks_and_no_other() {
    story_with(&[("WEBHOOK_ALLOW", "127.0.0.0/16,::1/128")], async |world| {
        assert!(world.app.config.departures().iter().any(|line| line.contains("127.0.0.0/16, ::1/128")));
        let acme = world.workspace("Acme").await;
        for url in ["http://127.0.0.1:9/", "https://127.0.0.1:9/", "http://[::1]:9/"] {
            acme.webhook(url, Mode::Live).await;
        }
        for url in ["http://127.1.0.1/", "https://127.1.0.1/", "http://10.0.0.1/", "http://1.1.1.1/"] {
            let (status, sentence) = refusal(&acme, acme.owner, url, &[]).await;
            assert_eq!(
                (status, sentence.as_str()),
                (400, "url: must lead to a public address, by https"),
                "{url}"
            );
        }
    })
    .await;
}

#[tokio::test]
async fn kinds_are_chosen_from_the_ten_and_there_are_twenty_webhooks_of_each_mode() {
    local_story(async |world| {
        let acme = world.workspace("Acme").await;
        let (status, sentence) = refusal(&acme, acme.owner, "http://127.0.0.1/", &["message.snt"]).await;
        assert_eq!(status, 400);
        assert!(sentence.starts_with("events: \"message.snt\" is none of ask.completed, "), "{sentence}");
        for number in 0..20 {
            for mode in [Mode::Live, Mode::Test] {
                acme.webhook(&format!("http://127.0.0.1:9/{number}"), mode).await;
            }
        }
        let (status, sentence) = refusal(&acme, acme.owner, "http://127.0.0.1/", &[]).await;
        assert_eq!((status, sentence.as_str()), (400, "mode: there are 20 webhooks of this mode already"));
    })
    .await;
}

/// proves: WH-32, AUTH-18
#[tokio::test]
async fn a_plan_without_webhooks_sends_none_and_an_upgrade_revives_them() {
    local_story(async |world| {
        let acme = world.workspace_on("Acme", Plan::Free).await;
        let support = acme.mailbox("help@acme.example", "Support").await;
        let receiver = Receiver::start().await;
        let (status, sentence) = refusal(&acme, acme.owner, &receiver.url, &[]).await;
        assert_eq!(status, 403);
        assert!(sentence.contains("Pro and Team"), "{sentence}");

        world.sql("update workspaces set plan = 'pro'").await;
        let made = acme.webhook(&receiver.url, Mode::Live).await;
        receiver.answers(500);
        acme.mail(support, "a@customer.example", "One", "Hello").await;
        world.work().await;
        receiver.only();
        receiver.answers(200);
        world.sql("update workspaces set plan = 'free'").await;
        assert_eq!(acme.state(made.webhook).await.status(), "plan");
        acme.mail(support, "b@customer.example", "Two", "Hello").await;
        world.wait(chrono::TimeDelta::minutes(10));
        world.work().await;
        assert!(receiver.take().is_empty(), "neither the retry nor the new event");
        assert!(
            rookery_webhooks::redeliver::send_test(&world.app, acme.id, &By::System, made.webhook)
                .await
                .is_err()
        );

        world.sql("update workspaces set plan = 'team'").await;
        assert_eq!(acme.state(made.webhook).await.status(), "active");
        acme.mail(support, "c@customer.example", "Three", "Hello").await;
        world.work().await;
        receiver.only();
        let mut states: Vec<String> =
            acme.log(made.webhook, Default::default()).await.into_iter().map(|entry| entry.state).collect();
        states.sort();
        assert_eq!(
            states,
            ["delivered", "failed", "skipped"],
            "tried before, never sent, and after the upgrade"
        );
    })
    .await;
}

/// proves: WH-1, WH-13, WH-14, WH-22, WH-23, WH-24
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_operators_commands_do_it_all() {
    let site = Site::migrated().await;
    let (workspace, owner) = site.workspace();
    let (_, key) = site.key(&workspace, &owner, "tester", "test");
    let receiver = Receiver::start().await;
    let local = [("ROOKERY_WEBHOOK_ALLOW", "127.0.0.0/8")];
    let node = site.serve("one", &local).await;
    assert!(node.log().contains("NOT FOR PRODUCTION: webhooks may go to 127.0.0.0/8"), "{}", node.log());

    let make = |url: &str, more: &[&str]| -> Value {
        let fixed = [
            "create-webhook",
            "--workspace",
            &workspace,
            "--maker",
            &owner,
            "--url",
            url,
            "--mode",
            "test",
            "--scope",
            "team",
        ];
        let arguments = [&["admin", "--json"], fixed.as_slice(), more].concat();
        let output = site.command(&arguments).envs(local).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let made = make(&receiver.url, &["--events", "turn.changed,message.sent"]);
    assert_eq!(made.as_object().unwrap().len(), 2, "{made}");
    let (webhook, secret) = (text(&made, "webhook"), text(&made, "secret"));
    assert!(webhook.starts_with("whk_") && secret.starts_with("whsec_"));
    let admin = |command: &str, more: &[&str]| {
        site.admin(&[&[command, "--workspace", &workspace, "--webhook", &webhook], more].concat())
    };

    let rotated = admin("rotate-webhook", &[]);
    assert_eq!((&rotated["webhook"], rotated["secret"] == made["secret"]), (&json!(webhook), false));
    let listed = site.admin(&["list-webhooks", "--workspace", &workspace]);
    assert_eq!(listed["webhooks"][0]["events"], json!(["turn.changed", "message.sent"]));
    assert!(!listed.to_string().contains("whsec_"), "a secret is shown once");

    let tested = admin("test-webhook", &[]);
    let got = eventually(&receiver, 1).await;
    assert_eq!(got[0].json()["id"], tested["event"]);
    assert!(got[0].verifies(&secret) && got[0].verifies(&text(&rotated, "secret")));
    let post = site.http.post(format!("{}/api/v1/sandbox/inbound", node.address)).bearer_auth(&key);
    let mail = json!({ "from": "ada@customer.test", "text": "Hello" });
    assert_eq!(post.json(&mail).send().await.unwrap().status(), 201);
    let event = text(&eventually(&receiver, 2).await[1].json(), "id");

    let shown = |more: &[&str]| admin("webhook-log", more)["deliveries"].as_array().unwrap().clone();
    wait_until(|| shown(&["--delivered"]).len() == 2).await;
    let entry = shown(&["--event", "turn.changed"]).remove(0);
    assert_eq!((&entry["event"], &entry["state"]), (&json!(event), &json!("delivered")));
    assert_eq!((&entry["tries"][0]["status"], entry["tries"].as_array().unwrap().len()), (&json!(200), 1));
    assert_eq!(shown(&["--failed"]), [] as [Value; 0]);

    admin("redeliver", &["--event", &event]);
    let got = eventually(&receiver, 3).await;
    assert_eq!(got[2].body, got[1].body);
    assert_eq!(admin("pause-webhook", &[]), json!({ "webhook": webhook, "state": "paused" }));
    let again = ["admin", "redeliver", "--workspace", &workspace, "--webhook", &webhook, "--event", &event];
    let refused = site.run(&again);
    assert!(String::from_utf8_lossy(&refused.stderr).contains("Resume it first"), "{refused:?}");
    assert_eq!(admin("resume-webhook", &[]), json!({ "webhook": webhook, "state": "active" }));
    let both = site.run(&[
        "admin",
        "webhook-log",
        "--workspace",
        &workspace,
        "--webhook",
        &webhook,
        "--failed",
        "--delivered",
    ]);
    assert!(!both.status.success(), "failed and delivered exclude each other");
}

async fn eventually(receiver: &Receiver, count: usize) -> Vec<rookery_world::webhooks::receiver::Got> {
    wait_until(|| receiver.count() >= count).await;
    receiver.got()
}

async fn wait_until(holds: impl Fn() -> bool) {
    let started = std::time::Instant::now();
    while !holds() {
        assert!(started.elapsed() < std::time::Duration::from_secs(20), "it took too long");
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
}
