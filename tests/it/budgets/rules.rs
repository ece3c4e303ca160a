//! What rules cost mail: with none, not one statement; with a hundred that do not match, the one that reads them.

use rookery_base::app::App;
use rookery_base::clock::Clock;
use rookery_base::ids::{ConversationId, MailboxId, WorkspaceId};
use rookery_core::conversations::ruled::trial;
use rookery_core::rules::definition::ConditionKind;
use rookery_core::workspace::{mailboxes, people};
use rookery_mail::incoming::authenticate::Dmarc;
use rookery_mail::incoming::delivery::{Delivery, Received};
use rookery_mail::incoming::receive::receive;
use sqlx::PgConnection;

use rookery_world::load::buffers::{Reader, Statement};
use rookery_world::verbs::rules::{is, on_mail, rule, tag};
use rookery_world::{World, story_of_one_role};

/// What a mail may cost more than without rules, in buffers: the look whether there are any.
const LOOK: i64 = 3;
/// A hundred rules that are read, and none matches.
const READ: i64 = 60;
/// Twenty that act, each with its entry on the timeline.
const ACT: i64 = 4_000;

async fn arrive(app: &App, workspace: WorkspaceId, mailbox: MailboxId, number: usize) -> ConversationId {
    let mut conn = app.connection().await.unwrap();
    let mailbox = mailboxes::live(&mut conn, workspace, mailbox).await.unwrap();
    drop(conn);
    let words = "a word that stands here ".repeat(400);
    let raw = format!(
        "Message-ID: <b{number}@x.example>\r\nFrom: a@x.example\r\nSubject: Case {number}\r\n\r\n{words}\r\n"
    );
    match receive(app, workspace, Delivery::from_raw(mailbox, raw.into_bytes(), Dmarc::Unknown))
        .await
        .unwrap()
    {
        Received::Stored(stored) => stored.conversation,
        other => panic!("{other:?}"),
    }
}

fn cost(statements: &[Statement]) -> (usize, i64) {
    (statements.len(), statements.iter().map(|statement| statement.buffers).sum())
}

#[tokio::test]
async fn mail_costs_the_same_without_rules_and_little_more_with_a_hundred() {
    story_of_one_role(async |world: &World| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let reader = Reader::explained(&world.app.config.database_url.0, Clock::set_to(world.now()));
        let mut number = 0;
        let mut mail = async || {
            // The cheapest of some: pages are split and extended now and then.
            let mut cheapest: Option<Vec<Statement>> = None;
            for _ in 0..6 {
                number += 1;
                let (_, statements) =
                    reader.explain_in(async |app| arrive(app, acme.id, help, number).await).await;
                if cheapest.as_ref().is_none_or(|best| cost(&statements).1 < cost(best).1) {
                    cheapest = Some(statements);
                }
            }
            cheapest.unwrap()
        };
        let none = mail().await;
        let about: Vec<&Statement> = none.iter().filter(|one| one.text.contains("rules")).collect();
        assert_eq!(about.len(), 1, "one statement looks for rules, with everything else it looks for");
        assert!(about[0].uses_index("rules_on"));
        // The same statement, asked in a database that has no rules for anybody, and in one where others have many.
        let (statements, buffers) = cost(&none);
        let others = world.workspace("Others").await;
        for n in 0..100 {
            rule(&others, others.owner, &format!("R{n}"), on_mail(vec![], vec![tag("x")])).await;
        }
        world.sql("vacuum (analyze) rules").await;
        let beside = cost(&mail().await);
        println!(
            "a mail without rules: {statements} statements, {buffers} buffers; beside others' {beside:?}"
        );
        assert_eq!(beside.0, statements);
        assert!(beside.1 <= buffers + LOOK + 20, "{buffers} buffers, then {}", beside.1);
        for n in 0..100 {
            let words =
                is(ConditionKind::Words { words: (0..10).map(|w| format!("nowhere{n}x{w}")).collect() });
            rule(&acme, acme.owner, &format!("R{n}"), on_mail(vec![words], vec![tag("x")])).await;
        }
        world.sql("vacuum (analyze) rules").await;
        let read = cost(&mail().await);
        println!("with a hundred that do not match: {read:?}");
        assert_eq!(read.0, statements + 1);
        assert!(read.1 <= buffers + READ + 20, "{buffers} buffers, then {}", read.1);
        world.sql("update rules set definition = jsonb_set(definition, '{if}', '[]')").await;
        let acted = cost(&mail().await);
        println!("with a hundred that match, of which twenty act: {acted:?}");
        assert!(acted.1 <= buffers + ACT, "{}", acted.1);
    })
    .await;
}

/// Matching is done in memory, on the thread that stores mail: a hundred rules of the longest kind take no time to speak of.
#[test]
fn a_hundred_rules_are_matched_in_milliseconds() {
    use rookery_core::rules::matching::{Facts, LOOKED_AT, Seen};
    let text = "lorem ipsum dolor sit amet ".repeat(LOOKED_AT / 20);
    let words = |n: usize| {
        is(ConditionKind::Words {
            words: (0..10).map(|w| format!("dolor sit amet nowhere {n} {w}")).collect(),
        })
    };
    let rules: Vec<_> = (0..100).map(|n| on_mail(vec![words(n)], vec![tag("x")])).collect();
    let began = std::time::Instant::now();
    let facts = Facts::from_mail(Seen {
        sender: None,
        subject: "",
        text: &text,
        inbox: MailboxId(1),
        risk: None,
        has_files: false,
    });
    assert!(!rules.iter().any(|rule| rule.matches(&facts)));
    let took = began.elapsed();
    println!("1,000 words in a mail of {} characters: {took:?}", text.len());
    // Unoptimised, on a busy machine.
    assert!(took.as_millis() < 2_000, "{took:?}");
}

#[tokio::test]
async fn a_trial_costs_the_same_however_much_mail_there_is() {
    story_of_one_role(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let olga =
            people::teammate(&mut world.app.connection().await.unwrap(), acme.id, acme.owner).await.unwrap();
        let reader = Reader::explained(&world.app.config.database_url.0, Clock::set_to(world.now()));
        let mut costs = Vec::new();
        for more in [300, 6_000] {
            acme.many(help, more, "case").await;
            world.wait(chrono::TimeDelta::minutes(1));
            world
                .sql(
                    "insert into messages (workspace_id, conversation_id, id, mailbox_id, item, at, direction, from_email, text,
                         id_hash, content_hash)
                     select workspace_id, id, id, mailbox_id, 1, last_message_at, 'inbound', 'a@x.example', 'Hello', id,
                            sha256(id::text::bytea) || '\\x00'::bytea
                     from conversations c where not exists (select from messages where conversation_id = c.id)",
                )
                .await;
            world.sql("vacuum (analyze)").await;
            let newest = async |conn: &mut PgConnection| trial::newest(conn, &olga).await.unwrap().len();
            reader.explain(newest).await;
            let (mails, statements) = reader.explain(newest).await;
            assert_eq!((mails, statements.len()), (100, 1));
            costs.push(cost(&statements).1);
        }
        println!("a trial: {costs:?} buffers");
        assert!(costs[1] <= 3_000 && costs[1] <= costs[0] * 3 / 2 + 40, "{costs:?}");
    })
    .await;
}
