//! What finding somebody costs: contacts by address and words, and conversations by operators, in a workspace that is full.

use rookery_base::clock::Clock;
use rookery_base::search_terms;
use rookery_base::store::db::pool;
use sqlx::{AssertSqlSafe, Connection, PgConnection};

use axum::http::{Method, StatusCode};
use rookery_world::load::buffers::Reader;
use rookery_world::{Mode, story_of_one_role};

/// Five hundred contacts, found and held. To read past all that have their words takes more than four thousand.
const WAITING: i64 = 2_000;
/// Two thousand hits, one of which is open. To look at the others takes two thousand more.
const CLOSED: i64 = 6_000;
/// Two hundred and fifty conversations and their words, a third of which have notes.
const WALKED: i64 = 3_000;
/// Two hundred conversations, each found, held and its messages read.
const BEGUN: i64 = 5_000;

/// Every mail that opens a conversation looks its sender up, and a new installation has no statistics yet.
#[tokio::test]
async fn a_sender_is_looked_up_by_the_key_before_the_planner_knows_the_table() {
    story_of_one_role(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let mut conn = PgConnection::connect(world.database.url()).await.unwrap();
        let (workspace, mailbox) = (acme.id.0, help.0);
        let statements = format!(
            "set plan_cache_mode = force_generic_plan;
             insert into conversations (workspace_id, id, mailbox_id, audience, contact_name, contact_email, subject, snippet,
                 status, announced_turn, created_at, last_message_at, message_count, last_item)
             select {workspace}, n, {mailbox}, 0, 'C ' || n, 'c' || n || '@customer.example', 'Case', '', 'open', 'ours',
                 now(), now(), 0, 0 from generate_series(1, 100) n;
             select pg_stat_force_next_flush()"
        );
        sqlx::raw_sql(AssertSqlSafe(statements)).execute(&mut conn).await.unwrap();
        let used = async |conn: &mut PgConnection, index: &str| -> i64 {
            let read = sqlx::query_scalar("select idx_scan from pg_stat_user_indexes where indexrelname = $1");
            read.bind(index).fetch_one(conn).await.unwrap()
        };
        assert!(used(&mut conn, "contacts_pkey").await >= 100);
        assert_eq!(used(&mut conn, "contacts_by_since").await, 0);
    })
    .await;
}

#[tokio::test]
async fn the_disk_is_told_what_comes_next_when_data_is_larger_than_memory() {
    story_of_one_role(async |world| {
        let name = world.database.name();
        for (set, used) in [
            ("effective_io_concurrency = 1", "1"),
            ("effective_cache_size = '1MB'", "64"),
            // An operator has the last word.
            ("effective_io_concurrency = 200", "200"),
            ("effective_io_concurrency = 0", "0"),
        ] {
            world.sql(&format!("alter database {name} set {set}")).await;
            let pool = pool(world.database.url(), 1).unwrap();
            let found: String =
                sqlx::query_scalar("show effective_io_concurrency").fetch_one(&pool).await.unwrap();
            assert_eq!(found, used, "{set}");
            pool.close().await;
        }
    })
    .await;
}

#[tokio::test]
async fn contacts_are_listed_found_and_read_within_their_budgets() {
    story_of_one_role(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let key = acme.key("bot", "read", Mode::Live).await.text;
        acme.mail(help, "rare@customer.example", "Hi", "Hello").await;
        world.work().await;
        let common = search_terms::hash_terms(acme.id, ["common"])[0];
        world
            .sql(&format!(
                "insert into contacts (workspace_id, audience, email, id, name, since, words)
                 select {0}, 0, 'c' || n || '@many.example', contact_id({0}, 'c' || n || '@many.example'), 'C ' || n,
                     4000000000000000000 + n, array[{common}]
                 from generate_series(1, 20000) n",
                acme.id.0
            ))
            .await;
        world.sql("vacuum (analyze) contacts").await;
        let reader = Reader::explained(&world.app.config.database_url.0, Clock::set_to(world.now()));
        let (found, _) = reader.statements(&key, "/contacts?email=rare@customer.example").await;
        let rare = found[0]["id"].as_str().unwrap().to_owned();
        for (path, many, budget) in [
            ("/contacts?limit=25".to_owned(), Some(25), 300),
            ("/contacts?email=rare@customer.example".to_owned(), Some(1), 60),
            ("/contacts?q=common&limit=25".to_owned(), Some(25), 3_000),
            ("/contacts?q=rare".to_owned(), Some(1), 3_500),
            (format!("/contacts/{rare}"), None, 150),
        ] {
            reader.get(&key, &path).await;
            let (found, statements) = reader.statements(&key, &path).await;
            if let Some(many) = many {
                assert_eq!(found.as_array().unwrap().len(), many, "{path}");
            }
            let counted = statements.iter().filter(|statement| !statement.authenticates());
            let buffers: i64 = counted.map(|statement| statement.buffers).sum();
            println!("{path}: {buffers} buffers of {budget}");
            assert!(buffers <= budget, "{path}: {buffers} buffers");
        }
    })
    .await;
}

/// After an upgrade there may be a million, and they are taken some at a time.
#[tokio::test]
async fn contacts_that_wait_for_their_words_are_taken_without_reading_past_the_others() {
    story_of_one_role(async |world| {
        let acme = world.workspace("Acme").await;
        let key = acme.key("bot", "read", Mode::Live).await.text;
        world
            .sql(&format!(
                "insert into contacts (workspace_id, audience, email, id, name, since, words)
                 select {0}, 0, 'c' || n || '@many.example', n, 'C', n, null from generate_series(1, 20000) n",
                acme.id.0
            ))
            .await;
        // The planner knows the table as it was when nobody had words.
        world.sql("analyze contacts").await;
        world.sql("update contacts set words = '{1}' where email < 'c7'").await;
        world.sql("vacuum contacts").await;
        let reader = Reader::explained(&world.app.config.database_url.0, Clock::set_to(world.now()));
        let (_, statements) = reader.statements(&key, "/contacts?q=c").await;
        let taken = statements.iter().find(|one| one.text.contains("skip locked")).expect("a batch");
        println!("{} buffers of {WAITING}", taken.buffers);
        assert!(taken.buffers <= WAITING, "{} buffers", taken.buffers);
        world.work().await;
    })
    .await;
}

#[tokio::test]
async fn a_search_with_operators_costs_what_one_with_words_costs() {
    story_of_one_role(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let old = acme.mail(help, "rare@customer.example", "Parcel", "Hello").await;
        acme.tag(old, "rare").await;
        world.work().await;
        world.wait(chrono::TimeDelta::days(2));
        acme.many(help, 4_600, "common").await;
        let key = acme.key("bot", "read", Mode::Live).await.text;
        let reader = Reader::explained(&world.app.config.database_url.0, Clock::set_to(world.now()));
        let day = (world.now() - chrono::TimeDelta::days(1)).format("%Y-%m-%d").to_string();
        for (query, budget) in [
            ("parcel".to_owned(), 3_000),
            ("from:rare@customer.example".to_owned(), 3_000),
            ("from:rare+parcel".to_owned(), 3_000),
            ("tag:rare".to_owned(), 300),
            (format!("before:{day}"), 300),
            (format!("before:{day}+parcel"), 300),
        ] {
            let path = format!("/conversations?q={query}");
            reader.get(&key, &path).await;
            let (found, statements) = reader.statements(&key, &path).await;
            assert_eq!(found[0]["id"], old.to_string(), "{query}");
            let buffers: i64 = statements.iter().map(|statement| statement.buffers).sum();
            println!("{query}: {buffers} buffers of {budget}");
            assert!(buffers <= budget, "{query}: {buffers} buffers");
        }
    })
    .await;
}

/// Of what many notes have and many emails have, no more is read than has both; and where no note has a word, that is seen at once.
#[tokio::test]
async fn words_that_may_stand_in_notes_cost_little_more_than_words_of_mail() {
    story_of_one_role(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let old = acme.mail(help, "rare@customer.example", "Parcel", "Hello").await;
        acme.note(old, "Priya", "Noted").await;
        world.work().await;
        world.wait(chrono::TimeDelta::days(2));
        acme.many(help, 6_000, "common").await;
        let noted = search_terms::hash_noted(acme.id, "noted").into_values().next().unwrap();
        world
            .sql(&format!(
                "update conversation_words set words = words || {noted}, with_notes = true where conversation_id % 3 = 0
                     and conversation_id <> {}",
                old.0
            ))
            .await;
        world.sql("vacuum (analyze) conversations, conversation_words").await;
        let token = world.browser(acme.id, acme.owner).await.token;
        let reader = Reader::explained(&world.app.config.database_url.0, Clock::set_to(world.now()));
        for (query, budget) in [("parcel", 500), ("parcel+noted", 1_000), ("noted+parcel+hello", 1_000)] {
            let path = format!("/search?q={query}");
            reader.page(Method::GET, &token, &path).await;
            let (status, statements) = reader.page(Method::GET, &token, &path).await;
            assert_eq!(status, StatusCode::OK, "{path}");
            let looked_up = statements.iter().find(|one| one.text.contains("beside as materialized"));
            let buffers = looked_up.expect("the index is asked").buffers;
            println!("{path}: {buffers} buffers of {budget}");
            assert!(buffers <= budget, "{path}: {buffers} buffers");
            let walks = statements.iter().filter(|one| one.text.contains("with walk as materialized"));
            let walked: i64 = walks.map(|one| one.buffers).sum();
            println!("{path}: {walked} buffers of {WALKED} for the walk");
            assert!((1..=WALKED).contains(&walked), "{path}: {walked} buffers for the walk");
        }
    })
    .await;
}

#[tokio::test]
async fn hits_that_are_closed_are_not_read_by_a_search_of_what_is_open() {
    story_of_one_role(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let open = acme.mail(help, "rare@customer.example", "Parcel", "Hello").await;
        world.work().await;
        world.wait(chrono::TimeDelta::days(2));
        acme.many(help, 2_000, "parcel").await;
        world
            .sql(&format!(
                "update conversations set status = 'closed' where id <> {};
                 update conversation_words w set last_message_at = c.last_message_at
                 from conversations c where (c.workspace_id, c.id) = (w.workspace_id, w.conversation_id)",
                open.0
            ))
            .await;
        world.wait(chrono::TimeDelta::hours(1));
        // The walk meets none of them.
        acme.many(help, 300, "common").await;
        world.sql("vacuum (analyze) conversations, conversation_words").await;
        let key = acme.key("bot", "read", Mode::Live).await.text;
        let reader = Reader::explained(&world.app.config.database_url.0, Clock::set_to(world.now()));
        let path = "/conversations?view=open&q=parcel";
        reader.get(&key, path).await;
        let (found, statements) = reader.statements(&key, path).await;
        assert_eq!((found.as_array().unwrap().len(), &found[0]["id"]), (1, &open.to_string().into()));
        let buffers: i64 = statements.iter().map(|statement| statement.buffers).sum();
        println!("{buffers} buffers of {CLOSED}");
        assert!(buffers <= CLOSED, "{buffers} buffers");
        let (found, _) = reader.statements(&key, "/conversations?view=closed&q=parcel&limit=100").await;
        assert_eq!(found.as_array().unwrap().len(), 100);
    })
    .await;
}

/// However large the workspace is: it looks at so many of the newest conversations and no further.
#[tokio::test]
async fn words_that_begin_so_are_looked_for_in_a_bounded_part_of_the_mail() {
    story_of_one_role(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        acme.many(help, 20_000, "common").await;
        world.wait(chrono::TimeDelta::hours(1));
        for n in 0..220 {
            acme.mail(help, &format!("c{n}@customer.example"), "Parcel", "Where is my deposit?").await;
        }
        world.work().await;
        world.sql("vacuum (analyze) conversations, conversation_words, messages").await;
        let token = world.browser(acme.id, acme.owner).await.token;
        let reader = Reader::explained(&world.app.config.database_url.0, Clock::set_to(world.now()));
        for path in ["/search?q=depos", "/search?q=parcel+depos&status=open", "/search?q=zzz"] {
            reader.page(Method::GET, &token, path).await;
            let (status, statements) = reader.page(Method::GET, &token, path).await;
            assert_eq!(status, StatusCode::OK, "{path}");
            let begun = statements.iter().find(|one| one.text.contains("string_agg(concat_ws"));
            let buffers = begun.expect("words that begin so").buffers;
            println!("{path}: {buffers} buffers of {BEGUN}");
            assert!(buffers <= BEGUN, "{path}: {buffers} buffers");
        }
    })
    .await;
}
