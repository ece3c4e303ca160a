//! Webhooks with the mouse: making one, its secret once, its log with every try, redelivery, and what others see of a
//! private one.

use chrono::TimeDelta;
use rookery_base::ids::WebhookId;
use rookery_core::workspace::people::Role;
use rookery_webhooks::webhook::{Scope, WebhookState};

use rookery_world::browser::Browser;
use rookery_world::webhooks::receiver::{Answering, Receiver};
use rookery_world::webhooks::{event_id, local_story};
use rookery_world::{Mode, Workspace, World, story, story_with};

const LIST: &str = "/settings/webhooks";

/// Makes a webhook on the page; its path and its secret.
async fn make(browser: &Browser<'_>, fields: &[(&str, &str)]) -> (String, String) {
    let page = browser.post("/settings/webhooks/new", fields).await.page();
    let between = |before: &str| {
        let rest = page.split_once(before).unwrap_or_else(|| panic!("{before} in {page}")).1;
        rest.split(['<', '"']).next().unwrap().to_owned()
    };
    let id = between(r#"href="/settings/webhooks/whk_"#);
    (format!("{LIST}/whk_{id}"), between(r#"<code id="secret">"#))
}

fn id_of(path: &str) -> WebhookId {
    path.rsplit('/').next().unwrap().parse().expect("a webhook's path")
}

async fn owner<'w>(world: &'w World, acme: &Workspace<'_>) -> Browser<'w> {
    world.browser(acme.id, acme.owner).await
}

async fn audited(world: &World) -> Vec<String> {
    sqlx::query_scalar("select did || ' ' || actor_name || ' ' || subject_name from audit_entries where did like 'webhook.%' order by n")
        .fetch_all(&world.app.pool)
        .await
        .expect("the audit log can be read")
}

/// proves: APP-5, WH-13
#[tokio::test]
async fn a_webhook_is_made_with_its_secret_shown_once_and_hears_what_was_chosen() {
    local_story(async |world| {
        let acme = world.workspace("Acme").await;
        let support = acme.mailbox("help@acme.example", "Support").await;
        let olga = owner(world, &acme).await;
        let form = olga.get("/settings/webhooks/new").await.page();
        for kind in rookery_core::events::event::Kind::ALL {
            let offered =
                form.contains(&format!(r#"value="{}""#, kind.name())) && form.contains(kind.about());
            assert_eq!(offered, kind.name() != "webhook.test", "{}", kind.name());
        }
        let receiver = Receiver::start().await;
        let fields = [
            ("url", receiver.url.as_str()),
            ("mode", "live"),
            ("scope", "team"),
            ("e", "turn.changed"),
            ("e", "message.sent"),
        ];
        let (path, secret) = make(&olga, &fields).await;
        assert!(secret.starts_with("whsec_"), "{secret}");
        let made = acme.state(id_of(&path)).await;
        assert_eq!((made.livemode, made.scope), (true, Scope::Team));
        assert_eq!(made.kinds.unwrap(), ["turn.changed", "message.sent"]);
        for page in [path.as_str(), LIST, "/settings/webhooks/new"] {
            assert!(!olga.get(page).await.page().contains(&secret[..16]), "{page} shows the secret again");
        }
        acme.mail(support, "a@customer.example", "Hi", "Hello").await;
        world.work().await;
        let got = receiver.only();
        assert!(got.verifies(&secret));
        let list = olga.get(LIST).await.page();
        assert!(list.contains("turn.changed, message.sent · team inboxes · live"), "{list}");
        assert!(list.contains(r#"role="img" aria-label="Last 24 hours: 1 delivered""#), "{list}");
        assert!(list.contains("Healthy"));
        assert_eq!(audited(world).await, ["webhook.made Olga Owner 127.0.0.1"]);
    })
    .await;
}

/// proves: WH-2
#[tokio::test]
async fn an_address_is_checked_by_the_rules_of_sending_before_anything_is_made() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let olga = owner(world, &acme).await;
        let wrong = [
            ("http://app.example/hooks", "must be an https address"),
            ("https://127.0.0.1/hooks", "must lead to a public address"),
            ("https://[::1]/hooks", "must lead to a public address"),
            ("https://10.1.2.3/", "must lead to a public address"),
            ("https://169.254.169.254/latest", "must lead to a public address"),
            ("https://user:pass@203.0.114.1/", "must not hold a user name or password"),
            ("not an address <b>", "must be an https address"),
            ("", "Enter the https address"),
        ];
        for (url, sentence) in wrong {
            let fields = [("url", url), ("mode", "test"), ("scope", "private"), ("e", "turn.changed")];
            let checked = olga.post("/settings/webhooks/check", &fields).await;
            let state = checked.html.split_once(r#"id="url-state""#).expect("beside the field").1;
            assert!(
                checked.status == 200 && state.chars().take(400).collect::<String>().contains(sentence),
                "{url}: {state}"
            );
            if url.is_empty() {
                continue;
            }
            let sent = olga.post("/settings/webhooks/new", &fields).await;
            assert_eq!(sent.status, 400, "{url}");
            assert!(
                sent.html.contains(sentence) && sent.html.contains(r#"aria-invalid="true""#),
                "{}",
                sent.html
            );
            // Nothing that was typed is lost, and nothing of it is markup.
            assert!(!sent.html.contains("address <b>"));
            assert!(
                sent.html.contains(r#"value="test" checked"#)
                    && sent.html.contains(r#"value="private" checked"#)
            );
            assert!(
                sent.html.contains(r#"value="turn.changed" checked"#)
                    && !sent.html.contains(r#"value="all" checked"#)
            );
        }
        let good = olga.post("/settings/webhooks/check", &[("url", "https://203.0.114.7/hooks")]).await;
        assert!(good.html.contains("It can be used."), "{}", good.html);
        let none = [("url", "https://203.0.114.7/hooks"), ("mode", "live"), ("scope", "team")];
        let none = olga.post("/settings/webhooks/new", &none).await;
        assert!(
            none.status == 400 && none.html.contains("choose everything, or at least one kind"),
            "{}",
            none.html
        );
        let made: i64 = world.scalar("select count(*) from webhooks").await;
        assert_eq!(made, 0);
    })
    .await;
}

/// proves: WH-22, WH-23, WH-24
#[tokio::test]
async fn every_try_stands_in_the_log_with_what_was_sent_and_what_came_back() {
    local_story(async |world| {
        let acme = world.workspace("Acme").await;
        let support = acme.mailbox("help@acme.example", "Support").await;
        let olga = owner(world, &acme).await;
        let receiver = Receiver::start().await;
        let (path, _) =
            make(&olga, &[("url", receiver.url.as_str()), ("mode", "live"), ("scope", "team"), ("e", "all")])
                .await;
        assert!(olga.get(&path).await.page().contains("No deliveries yet"));
        receiver.answers_with(Answering { body: "<script>alert(1)</script>".into(), ..Answering::with(500) });
        acme.mail(support, "a@customer.example", "Hi", "Hello").await;
        world.work().await;
        let first = receiver.only();
        let event = event_id(&first.json());

        let log = olga.get(&path).await.page();
        assert!(log.contains("500 · 1 try") && log.contains("Will be tried again"), "{log}");
        assert!(log.contains("Failing since 09:00"), "{log}");
        let open = format!("{path}?open={event}");
        assert!(log.contains(&format!(r#"href="{open}#d-{event}""#)), "{log}");
        let opened = olga.get(&open).await.page();
        for header in ["content-type", "user-agent", "webhook-id", "webhook-timestamp", "webhook-signature"] {
            let sent = format!(r#"<span class="h">{header}:</span> {}"#, first.header(header));
            assert!(opened.contains(&sent), "{sent} in {opened}");
        }
        assert!(opened.contains("500 Internal Server Error") && opened.contains("Next try at"), "{opened}");
        assert!(
            opened.contains("&#60;script&#62;alert(1)&#60;/script&#62;") && !opened.contains("<script>alert")
        );
        assert!(opened.contains(&format!("&#34;id&#34;: &#34;{event}&#34;")), "the body: {opened}");

        // Once more by the button; it is delivered, and stands at its end.
        receiver.answers(204);
        world.wait(TimeDelta::seconds(10));
        let again = olga.post(&format!("{path}/redeliver"), &[("event", &event.to_string())]).await;
        assert!(again.location().contains("done=redelivered"), "{}", again.location());
        world.work().await;
        assert_eq!(receiver.only().body, first.body);
        let log = olga.get(&path).await.page();
        assert!(log.contains("204 · 2 tries") && log.contains("Healthy"), "{log}");
        assert!(log.contains("1 delivered, 1 try failed"), "{log}");
        let place = log.split_once("?open=dlv_").unwrap().1.split(['#', '"', '&']).next().unwrap();
        let opened = olga.get(&format!("{path}?open=dlv_{place}")).await.page();
        assert!(
            opened.contains("204 No Content") && opened.contains("500 Internal Server Error"),
            "{opened}"
        );
        assert!(opened.contains("It had no body."));

        // A test by the button.
        world.wait(TimeDelta::seconds(10));
        let tested = olga.post(&format!("{path}/test"), &[]).await;
        assert!(tested.location().contains("done=webhook-tested"));
        world.work().await;
        assert_eq!(receiver.only().json()["type"], "webhook.test");
        let words =
            ["made", "redelivered", "tested"].map(|did| format!("webhook.{did} Olga Owner 127.0.0.1"));
        assert_eq!(audited(world).await, words);
        for strange in ["evt_0000000000001", "dlv_zzzzzzzzzzzzz", "cnv_1", "<b>", ""] {
            let page = olga
                .get(&format!("{path}?open={strange}&before={strange}&state={strange}&since={strange}"))
                .await;
            assert_eq!(page.status, 200, "{strange}");
        }
        let unknown = olga.post(&format!("{path}/redeliver"), &[("event", "evt_0000000000001")]).await;
        assert_eq!(unknown.status, 404);
    })
    .await;
}

#[tokio::test]
async fn the_log_is_filtered_by_state_event_and_time_and_read_by_pages() {
    local_story(async |world| {
        let acme = world.workspace("Acme").await;
        let olga = owner(world, &acme).await;
        let receiver = Receiver::start().await;
        let made = acme.webhook(&receiver.url, Mode::Test).await;
        let path = format!("{LIST}/{}", made.webhook);
        let send = async |status: u16, times: usize| {
            receiver.answers(status);
            for _ in 0..times {
                world.wait(TimeDelta::seconds(1));
                olga.post(&format!("{path}/test"), &[]).await;
            }
            world.work().await;
        };
        send(200, 70).await;
        world.wait(TimeDelta::hours(2));
        send(500, 2).await;
        acme.happens_in_sandbox().await;
        world.work().await;
        let rows = async |query: &str| -> usize {
            olga.get(&format!("{path}{query}")).await.page().matches(r#"class="delivery-line""#).count()
        };
        assert_eq!(rows("").await, 50);
        assert_eq!(rows("?state=failed").await, 3);
        assert_eq!(rows("?state=waiting").await, 3);
        assert_eq!(rows("?state=skipped").await, 0);
        assert_eq!(rows("?state=failed&event=turn.changed").await, 1);
        assert_eq!(rows("?event=message.sent").await, 0);
        assert_eq!(rows("?since=2031-01-06T10:30").await, 3, "since half past ten");
        assert_eq!(rows("?state=failed&until=2031-01-06T10:30").await, 0);
        // By pages: every delivery once.
        let (mut at, mut seen) = (format!("{path}?event=webhook.test"), Vec::new());
        loop {
            let page = olga.get(&at).await.page();
            seen.extend(page.split(r#"class="d-id mono">"#).skip(1).map(|rest| rest[..17].to_owned()));
            let Some((before, _)) = page.split_once(r#"" rel="next">"#) else { break };
            at = before.rsplit('"').next().unwrap().replace("&#38;", "&");
        }
        assert_eq!(seen.len(), 72);
        seen.sort();
        seen.dedup();
        assert_eq!(seen.len(), 72, "none twice");
    })
    .await;
}

#[tokio::test]
async fn what_failed_since_a_time_is_sent_again_and_what_was_delivered_later_is_not() {
    local_story(async |world| {
        let acme = world.workspace("Acme").await;
        let support = acme.mailbox("help@acme.example", "Support").await;
        let olga = owner(world, &acme).await;
        let receiver = Receiver::start().await;
        let made = acme.webhook(&receiver.url, Mode::Live).await;
        let path = format!("{LIST}/{}", made.webhook);
        let mail = async |name: &str| {
            world.wait(TimeDelta::seconds(1));
            acme.mail(support, &format!("{name}@customer.example"), name, "Hello").await;
        };
        // Given up one after another: what is tried when it is stopped has failed.
        receiver.answers(500);
        mail("early").await;
        world.work().await;
        acme.pause(made.webhook).await;
        world.work().await;
        world.wait(TimeDelta::hours(3));
        mail("skipped").await;
        world.work().await;
        olga.post(&format!("{path}/resume"), &[]).await;
        for name in ["one", "two", "three"] {
            mail(name).await;
        }
        world.work().await;
        olga.post(&format!("{path}/pause"), &[]).await;
        world.work().await;
        receiver.take();
        let stopped = olga.post(&format!("{path}/redeliver-failed"), &[("since", "2031-01-06T11:00")]).await;
        assert!(stopped.status == 403 && stopped.html.contains("Resume it first"), "{}", stopped.html);
        assert!(olga.get(LIST).await.page().contains("127.0.0.1 is paused"));
        olga.post(&format!("{path}/resume"), &[]).await;

        // One of the three is sent by hand before.
        receiver.answers(200);
        let log = olga.get(&format!("{path}?state=failed")).await.page();
        let event = log.split_once(r#"class="d-id mono">"#).unwrap().1[..17].to_owned();
        olga.post(&format!("{path}/redeliver"), &[("event", &event)]).await;
        world.work().await;
        receiver.only();
        let again = async |since: &str, skipped: bool| {
            let fields = [("since", since), ("skipped", "on")];
            let sent =
                olga.post(&format!("{path}/redeliver-failed"), &fields[..1 + usize::from(skipped)]).await;
            let done = sent.location().split_once("done=").map(|(_, done)| done.to_owned());
            world.work().await;
            (done.unwrap_or_default(), receiver.take().len())
        };
        assert_eq!(again("2031-01-06T11:00", false).await, ("redelivered-many&of=".into(), 2));
        assert_eq!(
            again("2031-01-06T11:00", false).await,
            ("redelivered-many&of=".into(), 0),
            "all are delivered"
        );
        assert_eq!(
            again("2031-01-06T11:00", true).await,
            ("redelivered-many&of=".into(), 1),
            "the one that was skipped"
        );
        assert_eq!(
            again("2031-01-06T08:00", false).await,
            ("redelivered-many&of=".into(), 1),
            "the early one"
        );
        let nonsense = olga.post(&format!("{path}/redeliver-failed"), &[("since", "yesterday")]).await;
        assert_eq!(nonsense.status, 400);
    })
    .await;
}

/// proves: WH-14
#[tokio::test]
async fn a_secret_is_rotated_with_both_valid_until_the_old_one_ends() {
    local_story(async |world| {
        let acme = world.workspace("Acme").await;
        let olga = owner(world, &acme).await;
        let receiver = Receiver::start().await;
        let made = acme.webhook(&receiver.url, Mode::Live).await;
        let path = format!("{LIST}/{}", made.webhook);
        assert!(olga.get(&format!("{path}/rotate")).await.page().contains("Rotate the secret?"));
        let secret_of = |page: String| {
            page.split_once(r#"<code id="secret">"#)
                .expect("the secret")
                .1
                .split('<')
                .next()
                .unwrap()
                .to_owned()
        };
        // It takes a proof of the last minutes.
        let just_now = async || owner(world, &acme).await;
        let rotate = async || secret_of(just_now().await.post(&format!("{path}/rotate"), &[]).await.page());
        let test = async || {
            olga.post(&format!("{path}/test"), &[]).await;
            world.work().await;
            receiver.only()
        };
        let second = rotate().await;
        world.wait(TimeDelta::hours(2));
        let page = olga.get(&path).await.page();
        assert!(page.contains("Two secrets are signing") && page.contains(">22:00:00</time>"), "{page}");
        assert!(page.contains("2 of 24 hours have passed") && !page.contains(&second));
        let got = test().await;
        assert!(got.verifies(&made.secret) && got.verifies(&second));
        let warned = just_now().await.get(&format!("{path}/rotate")).await.page();
        assert!(warned.contains("A rotation is under way."), "{warned}");

        let ended = olga.post(&format!("{path}/end-old-secret"), &[]).await;
        assert!(ended.location().contains("done=old-secret-ended"));
        assert!(!olga.get(&path).await.page().contains("Two secrets are signing"));
        let got = test().await;
        assert!(!got.verifies(&made.secret) && got.verifies(&second), "only the new one signs");
        rotate().await;
        world.wait(TimeDelta::hours(24));
        let olga = owner(world, &acme).await;
        assert!(!olga.get(&path).await.page().contains("Two secrets are signing"), "by itself after a day");
    })
    .await;
}

/// proves: APP-6
#[tokio::test]
async fn a_webhook_that_is_gone_is_told_by_mail_and_on_the_page_and_is_changed_resumed_or_removed_there() {
    local_story(async |world| {
        let acme = world.workspace("Acme").await;
        let support = acme.mailbox("help@acme.example", "Support").await;
        let olga = owner(world, &acme).await;
        let (old, new) = (Receiver::start().await, Receiver::start().await);
        let made = acme.webhook(&old.url, Mode::Live).await;
        let path = format!("{LIST}/{}", made.webhook);
        old.answers(410);
        acme.mail(support, "a@customer.example", "Hi", "Hello").await;
        world.work().await;
        let (to, kind, words) = acme.notices().await.remove(0);
        assert_eq!((to.as_str(), kind.as_str()), ("olga@rookery.example", "webhook-off"));
        assert!(
            words.contains(&format!("https://rookery.example{path}")),
            "the mail leads to the log: {words}"
        );
        let list = olga.get(LIST).await.page();
        assert!(list.contains("127.0.0.1 is off") && list.contains(">Off"), "{list}");

        let wrong = olga.post(&format!("{path}/address"), &[("url", "https://10.0.0.1/")]).await;
        assert!(
            wrong.status == 400 && wrong.html.contains("must lead to a public address"),
            "{}",
            wrong.html
        );
        let only_checked = olga.post(&format!("{path}/address"), &[("url", &new.url), ("check", "1")]).await;
        assert!(
            only_checked.html.contains("It can be used.") && acme.state(made.webhook).await.url == old.url
        );
        let changed = olga.post(&format!("{path}/address"), &[("url", &new.url)]).await;
        assert!(changed.location().contains("done=webhook-address"), "{}", changed.html);
        olga.post(&format!("{path}/resume"), &[]).await;
        olga.post(&format!("{path}/events"), &[("e", "turn.changed")]).await;
        acme.mail(support, "b@customer.example", "Hi", "Hello").await;
        world.work().await;
        new.only();
        old.take();
        assert_eq!(acme.state(made.webhook).await.kinds.unwrap(), ["turn.changed"]);

        // Removing asks first, and forgets the secret and the address at once.
        assert!(olga.get(&format!("{path}/remove")).await.page().contains("This cannot be undone"));
        new.answers(500);
        acme.mail(support, "c@customer.example", "Hi", "Hello").await;
        world.work().await;
        new.take();
        let removed = olga.post(&format!("{path}/remove"), &[]).await;
        assert!(removed.location().contains("done=webhook-removed"));
        new.answers(200);
        acme.mail(support, "d@customer.example", "Hi", "Hello").await;
        world.wait(TimeDelta::minutes(5));
        world.work().await;
        assert!(new.take().is_empty(), "neither the retry nor what is new");
        assert!(olga.get(LIST).await.page().contains("No webhooks yet"));
        for page in ["", "/rotate", "/address", "/remove"] {
            assert_eq!(olga.get(&format!("{path}{page}")).await.status, 404, "{page}");
        }
        for form in ["pause", "resume", "test", "rotate", "end-old-secret", "remove"] {
            assert_eq!(olga.post(&format!("{path}/{form}"), &[]).await.status, 404, "{form}");
        }
        let kept: i64 =
            world.scalar("select count(*) from webhooks where url <> '' or octet_length(secret) > 0").await;
        assert_eq!(kept, 0);
        let waiting: i64 = world.scalar("select count(*) from deliveries").await;
        assert_eq!(waiting, 0, "what waited was worked off");
        let did: Vec<String> =
            audited(world).await.iter().map(|entry| entry.split(' ').next().unwrap().to_owned()).collect();
        assert_eq!(
            did,
            ["webhook.made", "webhook.changed", "webhook.resumed", "webhook.changed", "webhook.removed"]
        );
        // The row goes with its log.
        world.wait(TimeDelta::days(32));
        world.work().await;
        let left: i64 = world.scalar("select count(*) from webhooks").await;
        assert_eq!(left, 0);
    })
    .await;
}

/// proves: WH-26
#[tokio::test]
async fn a_private_webhook_is_its_makers_and_others_can_only_stop_it() {
    local_story(async |world| {
        let acme = world.workspace("Acme").await;
        let ada = acme.person("Ada", Role::Admin).await;
        let (olga, adas) = (owner(world, &acme).await, world.browser(acme.id, ada).await);
        let receiver = Receiver::start().await;
        let secretly = format!("{}/canary-of-ada", receiver.url);
        let (path, _) =
            make(&adas, &[("url", &secretly), ("mode", "live"), ("scope", "private"), ("e", "all")]).await;
        assert_eq!(acme.state(id_of(&path)).await.maker, ada);
        assert!(adas.get(&path).await.page().contains("only your private inboxes"));

        let list = olga.get(LIST).await.page();
        assert!(list.contains("Private webhook of Ada") && !list.contains("canary-of-ada"), "{list}");
        assert_eq!(olga.get(&path).await.status, 404);
        for page in ["rotate", "address"] {
            assert_eq!(olga.get(&format!("{path}/{page}")).await.status, 404, "{page}");
        }
        let theft = [
            ("url", "https://203.0.114.7/mine"),
            ("e", "all"),
            ("since", "2031-01-06T08:00"),
            ("event", "evt_0000000000001"),
        ];
        for form in ["rotate", "end-old-secret", "address", "events", "test", "redeliver", "redeliver-failed"]
        {
            assert_eq!(olga.post(&format!("{path}/{form}"), &theft).await.status, 404, "{form}");
        }
        assert_eq!(acme.state(id_of(&path)).await.url, secretly);
        let paused = olga.post(&format!("{path}/pause"), &[]).await;
        assert!(
            paused.location().starts_with("/settings/webhooks?done=webhook-paused"),
            "{}",
            paused.location()
        );
        assert_eq!(acme.state(id_of(&path)).await.state, WebhookState::Paused);
        assert_eq!(olga.post(&format!("{path}/resume"), &[]).await.status, 404, "only Ada starts it again");
        let (ours, hers) = (olga.get(LIST).await.page(), adas.get(LIST).await.page());
        for told in ["/resume", "All events", "<svg class=\"spark"] {
            assert!(!ours.contains(told) && hers.contains(told), "{told}: {ours}");
        }
        assert!(olga.get(&format!("{path}/remove")).await.page().contains("the private webhook of Ada"));
        assert_eq!(olga.post(&format!("{path}/remove"), &[]).await.status, 303);
        assert_eq!(adas.get(&path).await.status, 404);
    })
    .await;
}

#[tokio::test]
async fn another_workspace_and_another_plan_see_and_make_nothing() {
    story_with(&[("WEBHOOK_ALLOW", "127.0.0.0/8")], async |world| {
        let (acme, other) = (world.workspace("Acme").await, world.workspace("Other").await);
        let receiver = Receiver::start().await;
        let made = acme.webhook(&receiver.url, Mode::Live).await;
        let stranger = owner(world, &other).await;
        let path = format!("{LIST}/{}", made.webhook);
        assert_eq!(stranger.get(&path).await.status, 404);
        assert!(!stranger.get(LIST).await.page().contains("127.0.0.1"));
        for form in ["pause", "rotate", "remove", "test"] {
            assert_eq!(stranger.post(&format!("{path}/{form}"), &[]).await.status, 404, "{form}");
        }
        assert_eq!(acme.state(made.webhook).await.state, WebhookState::Active);
        world.sql("update workspaces set plan = 'free'").await;
        let refused = [("url", receiver.url.as_str()), ("mode", "live"), ("scope", "team"), ("e", "all")];
        let refused = stranger.post("/settings/webhooks/new", &refused).await;
        assert!(refused.status == 403 && refused.html.contains("Pro and Team"), "{}", refused.html);
        assert!(owner(world, &acme).await.get(LIST).await.page().contains("Not in your plan"));
    })
    .await;
}
