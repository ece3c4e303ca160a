//! What rules never touch and never tell: other people's private inboxes, the sandbox, other workspaces.

use rookery_base::ids::RuleId;
use rookery_core::rules::definition::{Action, ConditionKind};
use rookery_core::workspace::access::MemberId;
use rookery_core::workspace::people::Role;
use serde_json::json;

use rookery_world::verbs::rules::{is, on_mail, rule, tag, tags, timeline};
use rookery_world::{Mode, story};

#[tokio::test]
async fn a_rule_acts_on_private_mail_of_its_maker_alone_and_gives_it_to_nobody() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let ada = acme.person("Ada Admin", Role::Admin).await;
        let olgas = acme.private_mailbox("olga@acme.example", "Olga's own", acme.owner).await;
        let adas = acme.private_mailbox("ada@acme.example", "Ada's own", ada).await;
        let then = || {
            vec![
                tag("seen"),
                Action::Assign { to: MemberId::Person(acme.owner) },
                Action::Notify { person: acme.owner },
            ]
        };
        let id = rule(&acme, ada, "Everything", on_mail(vec![], then())).await;
        let in_team = acme.mail(help, "a@x.example", "Team", "Hello").await;
        let in_olgas = acme.mail(olgas, "a@x.example", "Secret of Olga", "Hello").await;
        let in_adas = acme.mail(adas, "a@x.example", "Secret of Ada", "Hello").await;
        assert_eq!(tags(world, in_team).await, ["seen"]);
        assert_eq!(timeline(world, in_olgas).await, []);
        // Tagged, but neither given to nor told to somebody who cannot see it.
        let told: Vec<String> =
            timeline(world, in_adas).await.into_iter().map(|(_, event, _)| event).collect();
        assert_eq!(told, ["tags"]);
        assert_eq!(world.scalar("select count(*) from notifications where reason = 'ruled'").await, 1);
        // How often it met private mail is told to its owner alone.
        let (olga, ada_at) = (world.browser(acme.id, acme.owner).await, world.browser(acme.id, ada).await);
        assert!(ada_at.get("/settings/rules").await.page().contains("2 in 7 days"));
        assert!(olga.get("/settings/rules").await.page().contains("1 in 7 days"));
        // Whoever changes it owns it: Ada's mail is out of its reach from then on, and Olga's in it.
        let fields = [
            ("name", "Everything"),
            ("when", "mail-arrives"),
            ("then", "tag"),
            ("then_value", "olga"),
            ("do", "save"),
        ];
        assert!(olga.get(&format!("/settings/rules/{id}")).await.page().contains("no longer on theirs"));
        assert_eq!(olga.post(&format!("/settings/rules/{id}"), &fields).await.status, 303);
        let in_adas = acme.mail(adas, "a@x.example", "Secret again", "Hello").await;
        let in_olgas = acme.mail(olgas, "a@x.example", "Secret again", "Hello").await;
        assert_eq!((tags(world, in_adas).await, tags(world, in_olgas).await), (vec![], vec!["olga".into()]));
    })
    .await;
}

#[tokio::test]
async fn a_trial_and_a_list_tell_nothing_of_a_colleagues_private_inbox() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let ada = acme.person("Ada Admin", Role::Admin).await;
        let olgas = acme.private_mailbox("olga@acme.example", "Olgas canary", acme.owner).await;
        acme.mail(help, "team@x.example", "Team subject", "needle").await;
        acme.mail(olgas, "canary@x.example", "Canary subject", "needle").await;
        let secret = acme.key("sandbox", "write", Mode::Test).await;
        secret.simulate(json!({ "from": "sand@customer.test", "subject": "Sandy", "text": "needle" })).await;
        rule(
            &acme,
            acme.owner,
            "Mine",
            on_mail(vec![is(ConditionKind::Inbox { inbox: olgas })], vec![tag("x")]),
        )
        .await;
        let fields = [
            ("name", "Look"),
            ("when", "mail-arrives"),
            ("if", "words"),
            ("if_is", "is"),
            ("if_value", "needle"),
            ("then", "tag"),
            ("then_value", "x"),
            ("do", "try"),
        ];
        let ada_at = world.browser(acme.id, ada).await;
        let tried = ada_at.post("/settings/rules/new", &fields).await.page();
        assert!(
            tried.contains("It would have matched 1 of 1 mail") && tried.contains("Team subject"),
            "{tried}"
        );
        let list = ada_at.get("/settings/rules").await.page();
        assert!(list.contains("Inbox is <b dir=\"auto\">one you cannot see"), "{list}");
        let mine: RuleId =
            sqlx::query_scalar("select id from rules").fetch_one(&world.app.pool).await.unwrap();
        let one = ada_at.get(&format!("/settings/rules/{mine}")).await.page();
        for page in [&tried, &list, &one] {
            for canary in ["Canary", "canary@", "Olgas", "Sandy", "sand@"] {
                assert!(!page.contains(canary), "{canary}");
            }
        }
        // Nor can she make a rule about it.
        let inbox = olgas.to_string();
        let named = [
            ("name", "Look"),
            ("when", "mail-arrives"),
            ("if", "inbox"),
            ("if_is", "is"),
            ("if_value", inbox.as_str()),
            ("then", "tag"),
            ("then_value", "x"),
            ("do", "save"),
        ];
        let refused = ada_at.post("/settings/rules/new", &named).await;
        assert_eq!(refused.status, 400);
        assert!(refused.html.contains("names an inbox that you cannot see"), "{}", refused.html);
        // Olga sees both, and nothing was changed by trying.
        let olga = world.browser(acme.id, acme.owner).await;
        let tried = olga.post("/settings/rules/new", &fields).await.page();
        assert!(
            tried.contains("It would have matched 2 of 2 mails") && tried.contains("Canary subject"),
            "{tried}"
        );
        assert!(!tried.contains("Sandy"));
        assert_eq!(world.scalar("select count(*) from conversation_tags where tag_id <> 0").await, 0);
        assert_eq!(world.scalar("select count(*) from rule_runs").await, 0);
    })
    .await;
}

#[tokio::test]
async fn rules_do_not_run_in_the_sandbox_nor_in_another_workspace() {
    story(async |world| {
        let (acme, other) = (world.workspace("Acme").await, world.workspace("Other").await);
        let theirs = other.mailbox("help@other.example", "Help").await;
        let made = rule(&acme, acme.owner, "All", on_mail(vec![], vec![tag("ruled")])).await;
        let test = acme.key("sandbox", "write", Mode::Test).await;
        let simulated = test.simulate(json!({ "from": "a@customer.test", "text": "Hello" })).await;
        assert_eq!(tags(world, simulated.parse().unwrap()).await, Vec::<String>::new());
        let path = format!("/conversations/{simulated}/tags");
        assert_eq!(test.post(&path, json!({ "add": ["sandy"] })).await.status, 200);
        assert_eq!(tags(world, simulated.parse().unwrap()).await, ["sandy"]);
        let elsewhere = other.mail(theirs, "a@x.example", "Hello", "Hi").await;
        assert_eq!(tags(world, elsewhere).await, Vec::<String>::new());
        // Another workspace's owner finds nothing of it.
        let stranger = world.browser(other.id, other.owner).await;
        for path in [format!("/settings/rules/{made}"), format!("/settings/rules/{made}/remove")] {
            assert_eq!(stranger.get(&path).await.status, 404, "{path}");
        }
        let fields = [
            ("name", "Mine"),
            ("when", "mail-arrives"),
            ("then", "tag"),
            ("then_value", "x"),
            ("do", "save"),
        ];
        assert_eq!(stranger.post(&format!("/settings/rules/{made}"), &fields).await.status, 404);
        assert_eq!(stranger.post(&format!("/settings/rules/{made}/turn"), &[("on", "0")]).await.status, 404);
        assert_eq!(stranger.post(&format!("/settings/rules/{made}/remove"), &[]).await.status, 404);
        assert!(stranger.get("/settings/rules").await.page().contains("No rules yet"));
        assert_eq!(world.scalar("select count(*) from rules where is_on").await, 1);
    })
    .await;
}
