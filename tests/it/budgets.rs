//! What reads cost, in buffers, in a small workspace and in one six times its size: no list, filter, read or
//! count may grow with the workspace. `just bench-reads` asks the same of a million conversations.

mod agents;
mod bounded;
#[path = "../../bench/due.rs"]
mod due;
mod finding;
mod gone;
mod paging;
mod repeating;
mod reports;
mod rules;
mod webhooks;
mod writes;

use std::time::Duration;

use axum::http::{Method, StatusCode};
use rookery::worker;
use rookery_base::clock::Clock;
use rookery_base::ids::{ConversationId, MailboxId};
use rookery_core::conversations::filter::ConversationCursor;
use rookery_core::conversations::search::index;
use rookery_core::conversations::views::view::{AskedView, InboxView, Order};
use rookery_core::conversations::views::{counts, rows};
use rookery_core::workspace::access::By;
use rookery_core::workspace::{mailboxes, people};
use rookery_product::replies::leaving::{self, List};
use rookery_product::replies::queue::list as queue;
use rookery_web::door::PAGES;
use sqlx::PgConnection;

use rookery_world::load;
use rookery_world::load::buffers::{self, Reader, reads};
use rookery_world::{Message, Mode, Workspace, World, story_of_one_role};

const SMALL: usize = 2_000;
const LARGE: usize = 12_000;
/// How much more a read may cost in the large workspace.
const MOST_GROWTH: f64 = 1.5;
/// Tolerance in pages, for where rows happen to be stored.
const CHANCE: i64 = 40;

#[tokio::test]
async fn reads_keep_their_budgets_and_do_not_grow_with_the_workspace() {
    story_of_one_role(async |world| {
        let sizes = [("large".to_owned(), LARGE), ("small".to_owned(), SMALL)];
        let loaded = load::load(&world.app, &sizes, false).await;
        let [large, small] = loaded.try_into().expect("two workspaces");
        let reader = Reader::explained(&world.app.config.database_url.0, Clock::set_to(world.now()));
        let mut problems = Vec::new();
        for (in_large, in_small) in reads(&large).iter().zip(reads(&small)) {
            let (many, few) =
                (reader.cost(&large.key, in_large).await, reader.cost(&small.key, &in_small).await);
            let (name, budget) = (in_large.name, in_large.budget);
            println!("{name}: {} rows, {} and {} buffers of {budget}", many.rows, few.buffers, many.buffers);
            if many.rows != few.rows || many.rows == 0 {
                problems.push(format!(
                    "{name}: {} and {} rows cannot be compared; give the loader more of them",
                    few.rows, many.rows
                ));
            }
            if many.buffers > budget {
                problems.push(format!("{name}: {} buffers, more than its budget of {budget}", many.buffers));
            }
            if many.buffers as f64 >= few.buffers as f64 * MOST_GROWTH && many.buffers - few.buffers > CHANCE {
                problems.push(format!(
                    "{name}: {} buffers with {SMALL} conversations, {} with {LARGE}: it grows with the workspace",
                    few.buffers, many.buffers
                ));
            }
        }
        assert!(problems.is_empty(), "reads cost too much:\n  {}", problems.join("\n  "));
    })
    .await;
}

/// `just bench-claims` asks the same with two million that are due later.
#[tokio::test]
async fn a_claim_costs_the_same_however_many_messages_are_due_later() {
    story_of_one_role(async |world| {
        due::load(&world.app, 40_000, 250).await;
        let reader = Reader::explained(&world.app.config.database_url.0, Clock::system());
        let claim = async |conn: &mut PgConnection| due::claim(conn, world.now()).await;
        reader.explain(claim).await;
        let (taken, statements) = reader.explain(claim).await;
        let buffers: i64 = statements.iter().map(|statement| statement.buffers).sum();
        println!("a claim of {taken}: {buffers} buffers of {}", due::BUDGET);
        assert!(statements.iter().any(|statement| statement.uses_index("messages_due_by_workspace")));
        assert_eq!(taken, 100);
        assert!(buffers <= due::BUDGET, "{buffers} buffers");
    })
    .await;
}

/// Statements that a page runs before it answers, the session's among them. Each is a round trip.
#[tokio::test]
async fn a_page_of_the_app_asks_no_more_than_it_needs() {
    story_of_one_role(async |world| {
        let (acme, _, conversation) = conversation(world, "acme").await;
        let token = world.browser(acme.id, acme.owner).await.token;
        let reader = Reader::explained(&world.app.config.database_url.0, Clock::set_to(world.now()));
        let pages = [
            ("/inbox".to_owned(), 7),
            ("/inbox?view=unassigned&unread=1".into(), 8),
            (format!("/conversations/{conversation}"), 20),
            (format!("/conversations/{conversation}?compose=reply"), 27),
            (format!("/conversations/{conversation}?compose=note"), 22),
            ("/notices".into(), 5),
            ("/outgoing".into(), 10),
            ("/approvals".into(), 6),
            ("/search?q=hello".into(), 10),
            ("/settings".into(), 1),
            ("/profile".into(), 9),
        ];
        let mut problems = Vec::new();
        for (path, most) in &pages {
            let (status, statements) = reader.page(Method::GET, &token, path).await;
            println!("{path}: {} statements of {most}", statements.len());
            if status != StatusCode::OK || statements.is_empty() || statements.len() > *most {
                let texts: Vec<&str> = statements.iter().map(|statement| statement.text.as_str()).collect();
                problems.push(format!("{path}: {status}, {} of {most}:\n{}", texts.len(), texts.join("\n")));
            }
        }
        assert!(problems.is_empty(), "{}", problems.join("\n\n"));
    })
    .await;
}

/// A request that waits for a second connection while it holds one can wait for ever: here there is only one.
#[tokio::test]
async fn every_page_does_with_one_connection() {
    story_of_one_role(async |world| {
        let (acme, _, conversation) = conversation(world, "acme").await;
        let token = world.browser(acme.id, acme.owner).await.token;
        let reader = Reader::explained(&world.app.config.database_url.0, Clock::set_to(world.now()));
        for page in PAGES.iter().filter(|page| !matches!(page.path, "/live" | "/sign-out")) {
            let path = page.path.replace("{id}", &conversation.to_string()).replace("{n}", "0");
            let path = path.replace("{token}", "none").replace("{signed}", "none");
            let (status, _) = reader.page(page.method.clone(), &token, &path).await;
            assert!(!status.is_server_error(), "{} {path}: {status}", page.method);
        }
        let make = async |app: &rookery_base::app::App| {
            mailboxes::create(app, acme.id, &By::System, "made@acme.example", "Made", None).await
        };
        let (made, _) = reader.explain_in(make).await;
        made.expect("the directory is asked while nothing is held");
    })
    .await;
}

/// A conversation that can be answered, in an inbox.
async fn conversation<'w>(world: &'w World, name: &str) -> (Workspace<'w>, MailboxId, ConversationId) {
    let acme = world.workspace(name).await;
    let support = acme.mailbox(&format!("help@{name}.example"), "Support").await;
    let conversation = acme.mail(support, "anna@customer.example", "Parcel", "Hello").await;
    let ours = format!("ours@{name}.example");
    let sent = Message { status: "sent", text: "Hi", rfc_message_id: Some(&ours) };
    acme.outbound(conversation, sent).await;
    world.work().await;
    (acme, support, conversation)
}

async fn answer(workspace: &Workspace<'_>, support: MailboxId, name: &str, number: usize, text: &str) {
    let raw = format!(
        "Message-ID: <answer{number}@customer.example>\nFrom: anna@customer.example\n\
         References: <ours@{name}.example>\n\nanswer{number} {text}\n"
    );
    workspace.receives(support, &raw).await;
}

#[tokio::test]
async fn indexing_a_mail_costs_the_same_however_many_came_before_it() {
    story_of_one_role(async |world| {
        let (acme, support, _) = conversation(world, "acme").await;
        let reader = Reader::explained(&world.app.config.database_url.0, Clock::set_to(world.now()));
        let text: String = (0..300).map(|word| format!("word{word} ")).collect();
        let mut number = 0;
        let mut indexing = async || {
            number += 1;
            answer(&acme, support, "acme", number, &text).await;
            let index = async |app: &rookery_base::app::App| {
                let mut tx = app.begin(acme.id).await.expect("a transaction");
                let indexed = index::index(&mut tx, index::OF_THE_WORKER).await.expect("it is indexed");
                tx.commit().await.expect("a commit");
                indexed.messages
            };
            let (messages, statements) = reader.explain_in(index).await;
            assert_eq!(messages, 1);
            statements.iter().map(|statement| statement.buffers).sum::<i64>()
        };
        // The pending list of the GIN index is flushed now and then, so the cheapest of a few runs is measured.
        let mut cheapest = async || {
            let mut least = i64::MAX;
            for _ in 0..5 {
                least = least.min(indexing().await);
            }
            least
        };
        let early = cheapest().await;
        for _ in 0..20 {
            cheapest().await;
        }
        let most = early + early / 2 + CHANCE;
        let mut late = cheapest().await;
        // Rows that are gone are walked over for as long as somebody writes who began before, also in another test's database.
        for _ in 0..60 {
            if late <= most {
                break;
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
            world.sql("vacuum (analyze)").await;
            late = cheapest().await;
        }
        println!("indexing a mail: {early} buffers of the first, {late} of the hundredth");
        assert!(late <= most, "{early} buffers early, {late} late");
    })
    .await;
}

#[tokio::test]
async fn a_search_for_words_that_stand_in_several_segments_keeps_its_budget() {
    story_of_one_role(async |world| {
        let (acme, support, long) = conversation(world, "acme").await;
        for mail in 0..6 {
            let text: String = (0..5_000).map(|word| format!("w{mail}x{word} ")).collect();
            answer(&acme, support, "acme", mail, &text).await;
        }
        world.work().await;
        world.wait(chrono::TimeDelta::hours(1));
        acme.many(support, 4_600, "common").await;
        let key = acme.key("bot", "read", Mode::Live).await;
        let reader = Reader::explained(&world.app.config.database_url.0, Clock::set_to(world.now()));
        for (query, budget) in [("w0x7+w5x4999+parcel", 3_000), ("w3x17", 3_000), ("common", 3_000)] {
            let path = format!("/conversations?q={query}");
            reader.get(&key.text, &path).await;
            let (found, statements) = reader.statements(&key.text, &path).await;
            if query != "common" {
                assert_eq!(found[0]["id"], long.to_string(), "{query}");
            }
            let buffers: i64 = statements.iter().map(|statement| statement.buffers).sum();
            println!("{query}: {buffers} buffers of {budget}");
            assert!(buffers <= budget, "{query}: {buffers} buffers");
        }
    })
    .await;
}

/// What a page of the app asks the database: the list from a place, the side bar beside it.
#[tokio::test]
async fn page_400_of_the_list_costs_what_page_1_costs() {
    const EACH: i64 = 25;
    story_of_one_role(async |world| {
        let (acme, support, _) = conversation(world, "acme").await;
        let other = acme.mailbox("more@acme.example", "More").await;
        acme.private_mailbox("olga@acme.example", "Olga", acme.owner).await;
        acme.many(other, 100, "case").await;
        // Some at a time: a statement of the service may take five seconds, also on a busy machine.
        let mut made = Vec::new();
        for _ in 0..20 {
            world.wait(chrono::TimeDelta::hours(1));
            made = [acme.many(support, 500, "case").await, made].concat();
        }
        for status in ["waiting", "closed"] {
            world.wait(chrono::TimeDelta::minutes(1));
            let more: Vec<_> = acme.many(other, 500, "case").await.iter().map(|id| id.0).collect();
            let moved = format!(
                "update conversations set status = '{status}' where id = any('{{{}}}')",
                list_of(&more)
            );
            world.sql(&moved).await;
        }
        world.work().await;
        world.sql("vacuum (analyze)").await;
        let mut conn = world.app.connection().await.unwrap();
        let olga = people::teammate(&mut conn, acme.id, acme.owner).await.unwrap();
        drop(conn);
        let reader = Reader::explained(&world.app.config.database_url.0, Clock::set_to(world.now()));
        let place = async |nth: usize| {
            let at = sqlx::query_scalar("select last_message_at from conversations where id = $1");
            let at = at.bind(made[nth].0).fetch_one(&world.app.pool).await.unwrap();
            ConversationCursor { at, id: made[nth] }
        };
        let cost = async |asked: &AskedView, before: Option<ConversationCursor>| {
            let filter = asked.filter(&olga, before, EACH).unwrap();
            let page = async |conn: &mut PgConnection| {
                rows::page(conn, &olga, world.now(), &filter, asked.order).await.unwrap().rows.len()
            };
            reader.explain(page).await;
            let (shown, statements) = reader.explain(page).await;
            assert_eq!(shown as i64, EACH, "{asked:?}");
            statements.iter().map(|statement| statement.buffers).sum::<i64>()
        };
        for (name, asked) in [
            ("open", AskedView::default()),
            ("open, oldest first", AskedView { order: Order::Oldest, ..AskedView::default() }),
            ("open in one inbox", AskedView { mailbox: Some(support), ..AskedView::default() }),
            ("unassigned", AskedView { view: InboxView::Unassigned, ..AskedView::default() }),
        ] {
            let first = cost(&asked, None).await;
            let nth =
                if asked.order == Order::Oldest { 400 - 1 } else { 400 * EACH as usize - 2 * EACH as usize };
            let deep = cost(&asked, Some(place(nth).await)).await;
            println!("{name}: {first} buffers of page 1, {deep} of page 400");
            assert!(deep <= first + first / 10, "{name}: {first} buffers of page 1, {deep} of page 400");
            assert!(first <= 1_000, "{name}: {first} buffers");
        }
        let side = async |conn: &mut PgConnection| counts::load(conn, &olga, world.now()).await.unwrap();
        reader.explain(side).await;
        let (told, statements) = reader.explain(side).await;
        let buffers: i64 = statements.iter().map(|statement| statement.buffers).sum();
        println!("the counts of the side bar: {buffers} buffers, {told:?}");
        assert_eq!((told.unassigned, told.waiting), (counts::MOST, counts::MOST));
        assert!(buffers <= 150, "{buffers} buffers");
        let unread = async |conn: &mut PgConnection| {
            let filter = AskedView::default().filter(&olga, None, EACH).unwrap();
            rows::unread_page(conn, &olga, world.now(), &filter, Order::Newest).await.unwrap()
        };
        reader.explain(unread).await;
        let (page, statements) = reader.explain(unread).await;
        let buffers: i64 = statements.iter().map(|statement| statement.buffers).sum();
        println!("only unread: {} rows, {buffers} buffers", page.rows.len());
        assert!(page.next.is_some() && buffers <= 6_000, "{buffers} buffers");
    })
    .await;
}

fn list_of(ids: &[i64]) -> String {
    ids.iter().map(i64::to_string).collect::<Vec<_>>().join(",")
}

/// Rows that wait in every table that a loop of the worker looks at. No triggers and no references: a look at what is
/// due reads none of them.
const WAITING: &str = "
    set session_replication_role = replica;
    insert into unfanned_events select w, n, 'note.added', true, 0
        from generate_series(1, 2000) w, generate_series(1, 20) n;
    insert into count_changes select w, 'open', n, 0, 1, timestamptz '2031-01-05 00:00Z' + n * interval '1 second'
        from generate_series(1, 20) w, generate_series(1, 2000) n;
    insert into unindexed_messages select w, n, n, timestamptz '2031-01-05 00:00Z' + n * interval '1 second'
        from generate_series(1, 20) w, generate_series(1, 2000) n;
    insert into unindexed_conversations select w, n, timestamptz '2031-01-05 00:00Z' + n * interval '1 second'
        from generate_series(1, 20) w, generate_series(1, 2000) n;
    update conversations set snoozed_until = timestamptz '2031-02-01 00:00Z' + id * interval '1 second';
    insert into notices (workspace_id, id, recipient, kind, subject, body, created_at, due_at, sent_at)
        select w, n, 'a@b.example', 'webhook-off', 'Off', 'It is off.', now(),
            case when n > 1500 then timestamptz '2031-02-01 00:00Z' end, case when n <= 1500 then now() end
        from generate_series(1, 20) w, generate_series(1, 2000) n;
    insert into sandbox_answers select w, n, n, 'reply', timestamptz '2031-02-01 00:00Z' + n * interval '1 second'
        from generate_series(1, 20) w, generate_series(1, 2000) n;
    insert into agents (workspace_id, id, name, maker_id, livemode, scopes, key_hash, key_hint, created_at, revoked_at,
            released_at)
        select w, n, n, 1, true, '{read}', sha256((w || ' ' || n)::bytea), 'x', now(),
            timestamptz '2031-01-01 00:00Z' + n * interval '1 second', case when n > 500 then now() end
        from generate_series(1, 20) w, generate_series(1, 2000) n;
    insert into app_mail (workspace_id, livemode, message_id, recipients, subject, recorded_at, conversation_id, service_id,
            words_due_at)
        select w, true, 'id' || n, '{a@b.example}', 'Hi', timestamptz '2031-01-01 00:00Z' + n * interval '1 second',
            case when n % 2 = 0 then n end, case when n % 4 = 0 then 1 end,
            case when n % 4 = 0 then timestamptz '2031-02-01 00:00Z' end
        from generate_series(1, 20) w, generate_series(1, 2000) n;
    insert into webhook_lanes (workspace_id, webhook_id, next_due, lease, leased_until)
        select w, n, timestamptz '2031-02-01 00:00Z' + n * interval '1 second', 1,
            case when n % 10 = 0 then timestamptz '2031-02-01 00:00Z' end
        from generate_series(1, 20) w, generate_series(1, 2000) n;
    insert into document_requests select (jsonb_populate_record(null::document_requests, jsonb_build_object(
            'workspace_id', w, 'id', n, 'conversation_id', n, 'state', 'open', 'items', '[{}]'::jsonb,
            'link_generation', 0, 'created_at', now(), 'opened_at', now(), 'reminders', 0,
            'remind_at', timestamptz '2031-02-01 00:00Z' + n * interval '1 second'))).*
        from generate_series(1, 20) w, generate_series(1, 2000) n";

/// A loop asks after every turn, and `/metrics` asks all of them.
#[tokio::test]
async fn what_a_loop_does_next_is_known_at_the_same_cost_however_much_waits() {
    story_of_one_role(async |world| {
        due::load(&world.app, 40_000, 250).await;
        world.sql(WAITING).await;
        world.sql("analyze").await;
        let reader = Reader::explained(&world.app.config.database_url.0, Clock::set_to(world.now()));
        let ask = async |app: &rookery_base::app::App| worker::metrics::text(app).await;
        reader.explain_in(ask).await;
        let (told, statements) = reader.explain_in(ask).await;
        for waiting in ["fan out events", "index words", "fold counts", "send"] {
            assert!(!told.contains(&format!("loop=\"{waiting}\"}} 0.000")), "{waiting}: {told}");
        }
        let mut problems = Vec::new();
        for statement in &statements {
            // Of these, the oldest row of 64 workspaces at most is looked at.
            let by_workspace = ["unfanned_events", "unindexed_messages", "count_changes"];
            let by_workspace = by_workspace.iter().any(|table| statement.text.contains(table));
            let budget = if by_workspace { 500 } else { 20 };
            println!("{} buffers of {budget}: {}", statement.buffers, statement.text);
            if statement.buffers > budget {
                problems.push(format!("{} buffers of {budget}: {}", statement.buffers, statement.text));
            }
        }
        assert!(statements.len() >= 12, "{} statements", statements.len());
        world
            .sql(
                "set session_replication_role = replica;
                 truncate unfanned_events, count_changes, unindexed_messages, unindexed_conversations, notices,
                     sandbox_answers, app_mail, webhook_lanes, document_requests, counts, messages, conversations cascade;
                 delete from agents",
            )
            .await;
        assert!(problems.is_empty(), "looks that cost too much:\n  {}", problems.join("\n  "));
    })
    .await;
}

#[tokio::test]
async fn reading_a_conversation_costs_the_same_however_long_it_is() {
    story_of_one_role(async |world| {
        let (acme, _, conversation) = conversation(world, "acme").await;
        let key = acme.key("bot", "read", Mode::Live).await;
        let reader = Reader::explained(&world.app.config.database_url.0, Clock::set_to(world.now()));
        let (workspace, id) = (acme.id.0, conversation.0);
        let grow = async |from: i32, to: i32| {
            let at = "timestamptz '2031-01-07 00:00Z' + n * interval '1 second'";
            let load = format!(
                "insert into messages (workspace_id, conversation_id, id, mailbox_id, item, at, direction, status, sent_at,
                     from_email, text)
                 select {workspace}, {id}, n, 1, n, {at}, 'outbound', 'sent', {at}, 'help@acme.example', repeat('text ', 100)
                 from generate_series({from}, {to}) n where n % 2 = 0;
                 insert into timeline_events (workspace_id, conversation_id, item, at, actor, event, data)
                 select {workspace}, {id}, n, {at}, 'Olga', 'status', '{{}}'
                 from generate_series({from}, {to}) n where n % 2 = 1"
            );
            world.sql(&load).await;
            world.sql("analyze").await;
        };
        let cost = async || {
            let path = format!("/conversations/{conversation}");
            let read = buffers::Read { name: "a long conversation", path, budget: 0 };
            reader.cost(&key.text, &read).await
        };
        grow(10, 1_010).await;
        let early = cost().await;
        grow(1_011, 20_000).await;
        let late = cost().await;
        println!("a conversation of 1,000 items: {early:?}; of 20,000: {late:?}");
        assert_eq!((early.rows, late.rows), (500, 500));
        assert!(late.buffers <= early.buffers + early.buffers / 2 + CHANCE, "{early:?}, then {late:?}");
    })
    .await;
}

/// Drafts of agents and of people, mail that is scheduled or failed: `n` of each, over all conversations.
async fn add_unsent(world: &World, n: usize) {
    let statement = format!(
        "insert into messages (workspace_id, conversation_id, id, mailbox_id, item, at, direction, status, sends_at,
             due_at, from_email, text, rfc_message_id, author_type, author_id, origin)
         select workspace_id, conversation_id, nextval('unsent'), mailbox_id, 2, at, 'outbound', status,
             case status when 'scheduled' then sends_at end, case status when 'scheduled' then sends_at end,
             'help@acme.example', 'Hello', currval('unsent') || '@acme.example', author, 1,
             case author when 'user' then 'person' else 'agent' end
         from (select workspace_id, id as conversation_id, mailbox_id, row_number() over (order by id) as number
               from conversations) those
         cross join (values ('draft', 'agent'), ('draft', 'user'), ('scheduled', 'agent'), ('failed', 'agent')) kinds(status, author)
         cross join lateral (select timestamptz '{now}' - number * interval '1 second' as at,
                                    timestamptz '{now}' + number * interval '1 second' as sends_at) times
         where number <= {n}",
        now = world.now(),
    );
    world.sql("create sequence if not exists unsent start 1000000").await;
    world.sql(&statement).await;
    world.sql("vacuum analyze messages").await;
}

#[tokio::test]
async fn the_approval_queue_and_what_is_outgoing_cost_the_same_however_much_waits() {
    story_of_one_role(async |world| {
        let acme = world.workspace("Acme").await;
        for name in ["help", "sales"] {
            let inbox = acme.mailbox(&format!("{name}@acme.example"), name).await;
            acme.many(inbox, 4_000, "anything").await;
            world.wait(chrono::TimeDelta::minutes(1));
        }
        let reader = Reader::explained(&world.app.config.database_url.0, Clock::set_to(world.now()));
        let olga =
            people::teammate(&mut world.app.connection().await.unwrap(), acme.id, acme.owner).await.unwrap();
        let (now, soon) = (world.now(), world.now() + chrono::TimeDelta::minutes(10));
        let mut costs: Vec<Vec<(&str, usize, i64)>> = Vec::new();
        for many in [200, 8_000] {
            world.sql("delete from messages").await;
            add_unsent(world, many).await;
            let mut measured = Vec::new();
            for what in ["queue", "strip", "soon", "later", "failed", "stopped"] {
                let ask = async |conn: &mut PgConnection| match what {
                    "queue" => queue::list(conn, &olga, None, 50).await.unwrap().drafts.len(),
                    "strip" => {
                        leaving::next(conn, &olga, soon).await.unwrap().map_or(0, |next| next.soon as usize)
                    }
                    "soon" => leaving::list(conn, &olga, List::Soon(soon)).await.unwrap().len(),
                    "later" => leaving::list(conn, &olga, List::Later(now)).await.unwrap().len(),
                    "failed" => leaving::list(conn, &olga, List::failed_lately(now)).await.unwrap().len(),
                    _ => leaving::list(conn, &olga, List::Stopped).await.unwrap().len(),
                };
                reader.explain(ask).await;
                let (rows, statements) = reader.explain(ask).await;
                measured.push((what, rows, statements.iter().map(|statement| statement.buffers).sum()));
            }
            costs.push(measured);
        }
        for ((what, few_rows, few), (_, many_rows, many)) in costs[0].iter().zip(&costs[1]) {
            println!("{what}: {few_rows} rows, {few} buffers; of many {many_rows} rows, {many} buffers");
            assert!(*many_rows > 0 && few_rows == many_rows, "{what}: {few_rows} and {many_rows} rows");
            let budget = match *what {
                "queue" => 1_500,
                "strip" => 200,
                _ => 2_500,
            };
            assert!(*many <= budget, "{what}: {many} buffers of {budget}");
            assert!(*many <= few + few / 2 + CHANCE, "{what}: {few} buffers, {many} when much waits");
        }
        world.sql("delete from messages").await;
    })
    .await;
}
