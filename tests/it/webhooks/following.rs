//! Following the sandbox without a public address: the endpoint, and `rookery listen` on top of it.

use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::time::{Duration, Instant};

use chrono::TimeDelta;
use serde_json::{Value, json};

use rookery_world::site::Site;
use rookery_world::webhooks::receiver::Receiver;
use rookery_world::{Mode, story};

#[tokio::test]
async fn a_follower_gets_every_event_of_the_sandbox_once_and_none_that_is_live() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let support = acme.mailbox("help@acme.example", "Support").await;
        let key = acme.key("tester", "read", Mode::Test).await;
        acme.happens_in_sandbox().await;
        world.wait(TimeDelta::seconds(1));
        let follow = async |after: &str| -> (Vec<Value>, String) {
            let reply = key.get(&format!("/sandbox/events?after={after}")).await;
            assert_eq!(reply.status, 200, "{}", reply.text);
            let page = reply.json();
            (page["events"].as_array().unwrap().clone(), page["next"].as_str().unwrap().to_owned())
        };
        let began = key.get("/sandbox/events").await.json();
        assert_eq!(began["events"], json!([]), "from now on");
        let (events, next) = follow(began["next"].as_str().unwrap()).await;
        assert_eq!(events, [] as [Value; 0]);
        acme.mail(support, "a@customer.example", "Hi", "Hello").await;
        let id = acme.happens_in_sandbox().await;
        let (events, next) = follow(&next).await;
        let recorded = world.events("turn.changed").await;
        assert_eq!(events, [recorded[2].clone()], "as its webhook would get it");
        assert_eq!(events[0]["data"]["conversation_id"], json!(id));

        // One whose transaction began earlier and commits only now is not missed.
        world.wait(TimeDelta::seconds(1));
        acme.happens_in_sandbox().await;
        let late = world.now() - TimeDelta::milliseconds(500);
        let moved = format!(
            "update events set id = {} where id = (select max(id) from events where not livemode)",
            rookery_base::ids::lowest_at(late)
        );
        world.sql(&moved).await;
        let (events, next) = follow(&next).await;
        assert_eq!(events.len(), 1, "{events:?}");
        world.wait(TimeDelta::seconds(30));
        for _ in 0..3 {
            acme.happens_in_sandbox().await;
        }
        let (events, next) = follow(&next).await;
        assert_eq!(events.len(), 3);
        assert_eq!(follow(&next).await.0, [] as [Value; 0]);
        let reply = key.get("/sandbox/events?after=evt_1").await;
        assert_eq!((reply.status, reply.error()), (400, "after: must be `next` of an earlier answer".into()));
        let live = acme.key("live", "read", Mode::Live).await;
        assert_eq!(live.get("/sandbox/events").await.status, 403);
    })
    .await;
}

#[tokio::test]
async fn a_request_that_waits_answers_when_something_happens() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let key = acme.key("tester", "read", Mode::Test).await;
        let next = key.get("/sandbox/events").await.json()["next"].as_str().unwrap().to_owned();
        let started = Instant::now();
        let path = format!("/sandbox/events?after={next}&wait=15");
        let happens = async {
            tokio::time::sleep(Duration::from_millis(400)).await;
            acme.happens_in_sandbox().await;
        };
        let (reply, ()) = tokio::join!(key.get(&path), happens);
        assert_eq!(reply.json()["events"].as_array().unwrap().len(), 1);
        assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn listen_forwards_signed_events_to_this_machine_and_prints_them() {
    let site = Site::migrated().await;
    let (workspace, owner) = site.workspace();
    let (_, key) = site.key(&workspace, &owner, "tester", "test");
    let (_, live) = site.key(&workspace, &owner, "live", "live");
    let node = site.serve("one", &[]).await;
    let receiver = Receiver::start().await;
    let command = |key: &str| {
        let mut command = site.command(&["listen", "--server", &node.address, "--forward-to", &receiver.url]);
        command.env("ROOKERY_KEY", key);
        command
    };
    let refused = command(&live).output().unwrap();
    assert!(!refused.status.success());
    assert!(String::from_utf8_lossy(&refused.stderr).contains("needs a test key"), "{refused:?}");

    let mut listener = command(&key).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(listener.stdout.take().unwrap()).lines();
    let mut line = || lines.next().unwrap().unwrap();
    assert!(line().starts_with("Sandbox events of "));
    let secret = line().strip_prefix("Signing secret: ").unwrap().to_owned();
    let mail = json!({ "from": "ada@customer.test", "text": "Hello" });
    let post = site.http.post(format!("{}/api/v1/sandbox/inbound", node.address)).bearer_auth(&key);
    assert_eq!(post.json(&mail).send().await.unwrap().status(), 201);
    let printed = line();
    let got = receiver.only();
    let _ = listener.kill();
    let _ = listener.wait();
    assert!(got.verifies(&secret));
    assert_eq!(got.json()["type"], "turn.changed");
    for part in [got.header("webhook-id"), "turn.changed", "→ 200"] {
        assert!(printed.contains(part), "{printed}");
    }
}

/// Whoever may log in to the machine can read the command lines of all.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn listen_takes_no_secret_from_the_command_line() {
    let site = Site::migrated().await;
    let (workspace, owner) = site.workspace();
    let (_, key) = site.key(&workspace, &owner, "tester", "test");
    let node = site.serve("one", &[]).await;
    let secret = format!("whsec_{}", rookery_world::site::SECRET_KEY);
    let secret = secret.as_str();
    let fixed = ["listen", "--server", &node.address, "--forward-to", "http://127.0.0.1:9/"];
    for (given, wanted) in [(["--secret", secret], "ROOKERY_LISTEN_SECRET"), (["--key", &key], "ROOKERY_KEY")]
    {
        let refused = site.command(&[&fixed[..], &given].concat()).env("ROOKERY_KEY", &key).output().unwrap();
        assert_eq!(refused.status.code(), Some(1), "{refused:?}");
        let why = String::from_utf8(refused.stderr).unwrap();
        assert!(why.contains(wanted) && why.contains("-file") && !why.contains(given[1]), "{why}");
    }
    let file = |name: &str, text: &str| {
        let path = site.folder.join(name);
        std::fs::write(&path, format!("{text}\n")).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let files = ["--secret-file", &file("secret", secret), "--key-file", &file("key", &key)];
    let mut by_files = site.command(&[&fixed[..], &files].concat());
    let mut by_environment = site.command(&fixed);
    by_environment.env("ROOKERY_KEY", &key).env("ROOKERY_LISTEN_SECRET", secret);
    for command in [&mut by_files, &mut by_environment] {
        let mut listener = command.stdout(Stdio::piped()).spawn().unwrap();
        let line = BufReader::new(listener.stdout.take().unwrap()).lines().nth(1).unwrap().unwrap();
        let _ = listener.kill();
        let _ = listener.wait();
        assert_eq!(line, format!("Signing secret: {secret}"));
    }
}
