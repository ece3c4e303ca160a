//! `/settings/rules` by plain forms: a rule is put together line by line, tried, saved, ordered, turned off and removed.

use rookery_world::{World, story};

const NEW: &str = "/settings/rules/new";

async fn audited(world: &World) -> Vec<String> {
    sqlx::query_scalar("select actor_name || ' ' || did || ' ' || subject_name from audit_entries where did like 'rule.%' order by n")
        .fetch_all(&world.app.pool)
        .await
        .expect("the audit log can be read")
}

async fn order(world: &World) -> Vec<String> {
    sqlx::query_scalar("select name from rules order by place").fetch_all(&world.app.pool).await.unwrap()
}

#[tokio::test]
async fn a_rule_is_put_together_tried_and_saved_without_script() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        acme.mail(help, "anna@customer.example", "Invoice <b>7</b>", "Hello").await;
        acme.mail(help, "bob@x.example", "Other", "Hello").await;
        let olga = world.browser(acme.id, acme.owner).await;
        assert!(olga.get("/settings/rules").await.page().contains("No rules yet"));
        assert!(olga.get(NEW).await.page().contains("Add a rule"));
        let mut typed = vec![
            ("name", "Invoices <i>"),
            ("when", "mail-arrives"),
            ("when_tag", ""),
            ("if", "sender"),
            ("if_is", "not"),
            ("if_value", "x.example"),
            ("then", "tag"),
            ("then_value", "Billing"),
        ];
        let press = async |typed: &[(&'static str, &'static str)], more: &[(&'static str, &'static str)]| {
            olga.post(NEW, &[typed, more].concat()).await
        };
        let added = press(&typed, &[("new_if", "subject"), ("do", "add-if")]).await.page();
        assert_eq!(added.matches(r#"name="if""#).count(), 2);
        assert!(added.contains("Invoices &#60;i&#62;") && added.contains(r#"value="not" selected"#), "{added}");
        assert!(added.contains("x.example") && added.contains("Billing"));
        let added = press(&typed, &[("new_then", "snooze"), ("do", "add-then")]).await.page();
        assert_eq!(added.matches(r#"name="then""#).count(), 2);
        let dropped = press(&typed, &[("do", "drop-if-0")]).await.page();
        assert_eq!(dropped.matches(r#"name="if""#).count(), 0);
        assert!(press(&typed, &[("do", "drop-if-99")]).await.page().contains("x.example"));
        typed.extend([("if", "subject"), ("if_is", "is"), ("if_value", "invoice, facture")]);
        let tried = press(&typed, &[("do", "try")]).await.page();
        assert!(tried.contains("It would have matched 1 of 2 mails"), "{tried}");
        assert!(tried.contains("Invoice &#60;b&#62;7") && tried.contains("tag Billing"), "{tried}");
        assert_eq!(world.scalar("select count(*) from rules").await, 0, "neither adding nor trying saves");
        assert_eq!(press(&typed, &[("do", "save")]).await.status, 303);
        let list = olga.get("/settings/rules").await.page();
        assert!(list.contains("Sender is not <b dir=\"auto\">x.example</b>, subject contains <b dir=\"auto\">invoice or facture</b>"), "{list}");
        assert!(list.contains("tag <b dir=\"auto\">Billing</b>") && list.contains("0 in 7 days"), "{list}");
        let path = list.split_once(r#"href="/settings/rules/rul_"#).unwrap().1.split('"').next().unwrap().to_owned();
        let path = format!("/settings/rules/rul_{path}");
        let shown = olga.get(&path).await.page();
        assert!(shown.contains("invoice, facture") && shown.contains("Invoices &#60;i&#62;"), "{shown}");
        assert_eq!(audited(world).await, ["Olga Owner rule.made Invoices <i>"]);
        // The values of a rule may be customers' addresses: the log has kinds only.
        let data: String = sqlx::query_scalar("select data from audit_entries where did = 'rule.made'")
            .fetch_one(&world.app.pool)
            .await
            .unwrap();
        assert_eq!(data, r#"{"when":"mail-arrives","if":["sender","subject"],"then":["tag"]}"#);
    })
    .await;
}

#[tokio::test]
async fn what_is_wrong_with_a_rule_is_said_and_nothing_typed_is_lost() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let olga = world.browser(acme.id, acme.owner).await;
        let base = [("name", "Kept name"), ("when", "mail-arrives")];
        let wrong: [(&[(&str, &str)], &str); 9] = [
            (&[], "Then: needs at least one action"),
            (&[("then", "tag"), ("then_value", " ")], "Action 1: needs the name of a tag"),
            (&[("then", "assign"), ("then_value", "")], "Action 1: needs somebody, choose one"),
            (
                &[("then", "assign"), ("then_value", "user:usr_0000000000009")],
                "assigns to somebody who has left the team",
            ),
            (&[("then", "notify"), ("then_value", "usr_<script>")], "Action 1: needs somebody, choose one"),
            (&[("then", "status"), ("then_value", "lost")], "Action 1: needs a status, choose one"),
            (&[("then", "snooze"), ("then_value", "-1")], "Action 1: needs a time, choose one"),
            (
                &[
                    ("then", "tag"),
                    ("then_value", "x"),
                    ("if", "inbox"),
                    ("if_is", "is"),
                    ("if_value", "mbx_0000000000009"),
                ],
                "names an inbox that is closed",
            ),
            (
                &[
                    ("then", "tag"),
                    ("then_value", "x"),
                    ("if", "words"),
                    ("if_is", "is"),
                    ("if_value", " , "),
                ],
                "Condition 1: needs a word to look for",
            ),
        ];
        for (fields, sentence) in wrong {
            let shown = olga.post(NEW, &[&base[..], fields, &[("do", "save")]].concat()).await;
            assert_eq!(shown.status, 400, "{sentence}");
            assert!(
                shown.html.contains(sentence) && shown.html.contains("Kept name"),
                "{sentence}: {}",
                shown.html
            );
            assert!(!shown.html.contains("<script>"));
        }
        let nameless =
            olga.post(NEW, &[("when", "mail-arrives"), ("then", "tag"), ("then_value", "x")]).await;
        assert!(nameless.status == 400 && nameless.html.contains("Name: is required"), "{}", nameless.html);
        // Hundreds of lines are no way to make it work for long.
        let mut many = base.to_vec();
        many.extend(std::iter::repeat_n([("then", "tag"), ("then_value", "x")], 500).flatten());
        let shown = olga.post(NEW, &many).await;
        assert!(shown.status == 400 && shown.html.contains("Then: has too many actions"));
        assert_eq!(shown.html.matches(r#"name="then""#).count(), 7);
        assert_eq!((order(world).await, audited(world).await), (vec![], vec![]));
    })
    .await;
}

#[tokio::test]
async fn rules_are_ordered_turned_off_and_removed_after_a_question() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let olga = world.browser(acme.id, acme.owner).await;
        for name in ["A", "B", "C"] {
            let fields = [
                ("name", name),
                ("when", "mail-arrives"),
                ("then", "tag"),
                ("then_value", name),
                ("do", "save"),
            ];
            assert_eq!(olga.post(NEW, &fields).await.status, 303);
        }
        let ids: Vec<rookery_base::ids::RuleId> = sqlx::query_scalar("select id from rules order by place")
            .fetch_all(&world.app.pool)
            .await
            .unwrap();
        let go = async |n: usize, act: &str, fields: &[(&str, &str)]| {
            olga.post(&format!("/settings/rules/{}/{act}", ids[n]), fields).await.status
        };
        assert_eq!(go(2, "move", &[("to", "up")]).await, 303);
        assert_eq!(order(world).await, ["A", "C", "B"]);
        assert_eq!(go(0, "move", &[("to", "up")]).await, 303, "the first stays the first");
        assert_eq!(go(0, "move", &[("to", "down")]).await, 303);
        assert_eq!(order(world).await, ["C", "A", "B"]);
        assert_eq!(go(0, "move", &[("to", "sideways")]).await, 400);
        assert_eq!(go(1, "turn", &[("on", "0")]).await, 303);
        assert_eq!(go(1, "turn", &[("on", "0")]).await, 303, "it is off already");
        let id = acme.mail(help, "a@x.example", "Hello", "Hi").await;
        assert_eq!(rookery_world::verbs::rules::tags(world, id).await, ["A", "C"]);
        let list = olga.get("/settings/rules").await.page();
        assert_eq!(list.matches(r#"aria-checked="false""#).count(), 1);
        let question = olga.get(&format!("/settings/rules/{}/remove", ids[0])).await.page();
        assert!(question.contains("Remove <bdi>A</bdi>?"));
        assert_eq!(order(world).await.len(), 3, "the question removes nothing");
        assert_eq!(go(0, "remove", &[]).await, 303);
        assert_eq!(go(0, "remove", &[]).await, 404);
        assert_eq!(order(world).await, ["C", "B"]);
        assert_eq!(
            &audited(world).await[3..],
            [
                "Olga Owner rule.moved C",
                "Olga Owner rule.moved A",
                "Olga Owner rule.off B",
                "Olga Owner rule.removed A"
            ]
        );
    })
    .await;
}
