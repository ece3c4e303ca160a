//! Conversations that are too long for one transaction, and workspaces where very much is kept: what is erased or removed goes
//! part by part, a hold stops it between two, and whoever looks for holds reads what concerns them and no other mail.

use rookery_base::ids::{ConversationId, MailboxId};
use rookery_core::conversations::keeping::holds::{self, Covers};
use rookery_core::conversations::keeping::parts::{ALLOWED, Allowance, fitting};
use rookery_core::conversations::keeping::retention::{Round, go_round};
use rookery_product::replies::merge::merge;
use rookery_upkeep::erasures::conversation::delete;
use rookery_upkeep::erasures::{ask, replay};

use super::retention::{ALL, TRASH, subjects};
use rookery_world::canary::CANARY;
use rookery_world::verbs::erasing::{closes, erases, keeps, olga};
use rookery_world::{Workspace, World, story, story_of_one_role};

const ADA: &str = "ada@zanzibarcanary.example";

/// Mail of one conversation, as years of a robot's: of every four, two of hers, ours to her, and Bob's, who quotes her. One of
/// hers is passed on to somebody at the end, and that again.
pub async fn grows(acme: &Workspace<'_>, inbox: MailboxId, id: ConversationId, mails: i64) {
    let (w, c, m) = (acme.id.0, id.0, inbox.0);
    acme.world
        .sql(&format!(
            "insert into messages (workspace_id, conversation_id, id, mailbox_id, item, at, direction, status, sent_at, from_email,
                 text, whole_text, raw, to_addresses, forwards, id_hash, content_hash, rfc_message_id)
             select {w}, {c}, {c} + 1000000 + n, {m}, n, now(), case when inbound then 'inbound' else 'outbound' end,
                 case when inbound then null else 'sent' end, case when inbound then null else now() end,
                 case when n % 4 = 3 then 'bob@other.example' when inbound then '{ADA}' else 'help@acme.example' end,
                 case when n % 4 = 3 then 'Bob speaks' else 'I am {CANARY}' end, '{CANARY}',
                 case when inbound then '{CANARY}'::bytea end,
                 case when passed_on then array['carl@other.example'] end,
                 case when passed_on then {c} + 1000000 + case when n > {mails} - 4 then n - 4 else 1 + n % 20 * 100 end end,
                 case when inbound then {c} + n end, case when inbound then sha256(('{c} ' || n)::bytea) end,
                 case when inbound then null else '{c}-' || n || '@acme.example' end
             from (select n, n % 4 <> 2 as inbound, n % 4 = 2 and n > {mails} - 10 as passed_on
                   from generate_series(1, {mails}) n) n;
             insert into timeline_events (workspace_id, conversation_id, item, at, actor, event, data)
             select {w}, {c}, 1000000 + n, now(), 'System', 'delivery-failed', jsonb_build_object('email', '{ADA}')
             from generate_series(1, {mails} / 2) n;
             update conversations set last_item = 2000000 where workspace_id = {w} and id = {c}"
        ))
        .await;
}

/// From now on the database writes down how many rows of a table each transaction deletes.
async fn watches(world: &World, table: &str, then: &str) {
    world
        .sql(&format!(
            "create schema watch; create table watch.gone (tx xid8, n bigint);
             create function watch.note() returns trigger language plpgsql security definer set search_path = public as $$
             begin
                 insert into watch.gone select pg_current_xact_id(), count(*) from gone having count(*) > 0;
                 {then}
                 return null;
             end $$;
             create trigger watched after delete on {table} referencing old table as gone
                 for each statement execute function watch.note();
             grant usage on schema watch to public; grant select on watch.gone to public"
        ))
        .await;
}

async fn most_in_one_transaction(world: &World) -> i64 {
    world
        .scalar(
            "select coalesce(max(n), 0)::bigint from (select sum(n)::bigint as n from watch.gone group by tx) each",
        )
        .await
}

#[tokio::test]
async fn a_conversation_too_long_for_one_transaction_is_erased_part_by_part() {
    for is_hers in [true, false] {
        story(async |world| {
            let acme = world.workspace("Acme").await;
            let help = acme.mailbox("help@acme.example", "Help").await;
            let from = if is_hers { ADA } else { "bob@other.example" };
            let long = acme.mail(help, from, if is_hers { CANARY } else { "Bob" }, "Bob speaks").await;
            acme.mail(help, ADA, "A short one", "Hello.").await;
            grows(&acme, help, long, 2_600).await;
            if !is_hers {
                // Ours went to her by name.
                world.sql(&format!("update messages set to_addresses = array['{ADA}'] where status = 'sent' and forwards is null")).await;
            }
            watches(world, "messages", "").await;
            erases(&acme, ADA).await;
            world.work().await;
            assert_eq!(world.left_of_canary().await, [] as [String; 0]);
            let most = most_in_one_transaction(world).await;
            assert!(most > 0 && most <= ALLOWED.rows, "{most} in one transaction");
            let left: Vec<String> = world.column("select distinct text from messages order by 1").await;
            assert_eq!(left, ["Bob speaks"], "what Bob wrote stays, and nothing that passes her mail on");
            assert_eq!(world.scalar("select count(*) from messages where raw is not null").await, 0);
            let head: Vec<String> = world
                .column("select coalesce(contact_email, subject) || ' ' || message_count from conversations order by id")
                .await;
            let hers = if is_hers { "Erased" } else { "bob@other.example" };
            assert_eq!(head[0], format!("{hers} {}", if is_hers { 650 } else { 651 }), "{head:?}");
            let counted: Vec<i32> = world.column("select conversations from erasures").await;
            assert_eq!(counted, [2]);
            let undone = world.scalar("select count(*) from erasures where done_at is null or part_of is not null");
            assert_eq!(undone.await, 0);
        })
        .await;
    }
}

/// What is left when it stops is held, and goes when the hold ends. Meanwhile the conversation merges with none.
#[tokio::test]
async fn a_hold_between_two_parts_stops_an_erasure() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let other = acme.mail(help, "bob@other.example", "Bob", "Hello.").await;
        let long = acme.mail(help, ADA, CANARY, "Hello.").await;
        grows(&acme, help, long, 2_600).await;
        let hold = format!(
            "insert into holds (workspace_id, id, name, conversation_id, placed_by, placed_at)
             values ({}, 7, 'Case', {}, 'Olga', now()) on conflict do nothing;",
            acme.id.0, long.0
        );
        watches(world, "messages", &hold).await;
        erases(&acme, ADA).await;
        assert!(world.works().await.is_err(), "it waits");
        let left = world.scalar("select count(*) from messages where text like 'I am%'").await;
        assert!(left > 500, "{left} are left");
        let named: Vec<String> = world
            .column("select subject || coalesce(contact_email, '') from conversations where subject <> 'Bob'")
            .await;
        assert_eq!(named, ["Erased"], "nobody is led to what is half gone");
        let olga = olga(&acme).await;
        let mut tx = world.app.begin(acme.id).await.unwrap();
        let merged = merge(&mut tx, &olga, other, long).await;
        assert!(format!("{merged:?}").contains("being erased"), "{merged:?}");
        drop(tx);
        world.sql("drop trigger watched on messages; update holds set ended_at = now()").await;
        world.wait(chrono::TimeDelta::minutes(20));
        world.work().await;
        assert_eq!(world.left_of_canary().await, [] as [String; 0]);
        assert_eq!(world.scalar("select count(*) from erasures where done_at is not null").await, 1);
    })
    .await;
}

/// A node of the version before this one takes what it does not know for the last step. It cannot end what is half done, and
/// this one does not end what a newer one began.
#[tokio::test]
async fn nobody_ends_an_erasure_whose_step_they_do_not_know() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        acme.mail(help, ADA, CANARY, "Hello.").await;
        erases(&acme, ADA).await;
        world.sql("alter table erasures drop constraint erasures_step_check; update erasures set step = 'thumbnails'").await;
        assert!(world.works().await.is_err());
        assert_eq!(world.scalar("select count(*) from erasures where done_at is null").await, 1);
        world.sql("update erasures set step = 'files', part_of = 1, part_before = 1").await;
        let ended = sqlx::query("update erasures set step = 'done', done_at = now(), address = null");
        assert!(ended.execute(&world.app.pool).await.is_err(), "half of a conversation is left");
        world.sql("update erasures set part_of = null, part_before = null").await;
    })
    .await;
}

#[tokio::test]
async fn a_long_conversation_whose_time_is_over_or_that_is_deleted_goes_part_by_part() {
    for by_hand in [true, false] {
        story(async |world| {
            let acme = world.workspace("Acme").await;
            let help = acme.mailbox("help@acme.example", "Help").await;
            let long = acme.mail(help, ADA, "long", "Hello.").await;
            let short = acme.mail(help, ADA, "short", "Hello.").await;
            acme.mail(help, ADA, "open", "Hello.").await;
            grows(&acme, help, long, 2_600).await;
            for id in [long, short] {
                closes(&acme, id).await;
            }
            watches(world, "messages", "").await;
            if by_hand {
                let olga = olga(&acme).await;
                let mut tx = world.app.begin(acme.id).await.unwrap();
                delete(&mut tx, &olga, &long.to_string()).await.unwrap();
                tx.commit().await.unwrap();
                world.work().await;
                assert_eq!(subjects(world, ALL).await, ["open", "short"]);
                assert_eq!(
                    world
                        .scalar("select count(*) from audit_entries where did = 'erasure.conversation'")
                        .await,
                    1
                );
            } else {
                keeps(&acme, help, Some(30)).await;
                world.wait(chrono::TimeDelta::days(32));
                world.work().await;
                world.wait(chrono::TimeDelta::days(8));
                world.work().await;
                assert_eq!(subjects(world, ALL).await, ["open"]);
            }
            let removed =
                world.scalar("select count(*) from audit_entries where did = 'retention.removed'").await;
            assert_eq!(removed, i64::from(!by_hand));
            let most = most_in_one_transaction(world).await;
            assert!(most > 0 && most <= ALLOWED.rows, "{most} in one transaction");
            assert_eq!(world.scalar("select count(*) from messages where text like 'I am%'").await, 0);
        })
        .await;
    }
}

/// Very many lie in the trash and do not belong there any more.
#[tokio::test]
async fn a_full_trash_is_looked_through_a_batch_at_a_time() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let (w, m, now) = (acme.id.0, help.0, world.now());
        world
            .sql(&format!(
                "insert into conversations (workspace_id, id, mailbox_id, audience, subject, status, announced_turn, created_at,
                     last_message_at, last_item_at)
                 select {w}, n, {m}, 0, 'Case', 'closed', 'done', moment, moment, moment
                 from generate_series(1, 2500) n, (select '{now}'::timestamptz - interval '40 days') as t (moment);
                 insert into trash (workspace_id, conversation_id, mailbox_id, since, due_at)
                 select {w}, id, {m}, '{now}'::timestamptz - interval '1 day', '{now}'::timestamptz + interval '6 days'
                 from conversations"
            ))
            .await;
        watches(world, "trash", "").await;
        world.work().await;
        assert_eq!(world.scalar("select count(*) from trash").await, 0, "the inbox keeps all for ever");
        let most = most_in_one_transaction(world).await;
        assert!(most <= 250, "{most} in one transaction");
        keeps(&acme, help, Some(30)).await;
        world.wait(chrono::TimeDelta::hours(25));
        world.work().await;
        assert_eq!(world.scalar("select count(*) from trash").await, 2_500, "none was passed over");
        world.wait(chrono::TimeDelta::days(8));
        world.work().await;
        assert_eq!(world.scalar("select count(*) from conversations").await, 0);
        world.sql("delete from counts; delete from count_changes").await;
    })
    .await;
}

/// A transaction takes as many as fit, by rows and by bytes, whatever a conversation's counters say.
#[tokio::test]
async fn what_fits_is_counted_by_rows_and_bytes() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let mut ids = Vec::new();
        for n in 0..3 {
            ids.push(
                acme.mail(help, &format!("c{n}@x.example"), "Hi", &"All sorts of words. ".repeat(20)).await,
            );
        }
        let mut tx = world.app.begin(acme.id).await.unwrap();
        let mut fits = async |rows, bytes| fitting(&mut tx, &ids, Allowance { rows, bytes }).await.unwrap();
        assert_eq!(fits(1_000, 1_000_000).await, 3);
        assert_eq!(fits(1_000, 10).await, 0);
        assert_eq!(fits(0, 1_000_000).await, 0);
        let few = fits(2, 1_000_000).await;
        assert!((1..3).contains(&few), "{few}");
    })
    .await;
}

async fn read_of_messages(tx: &mut sqlx::PgConnection) -> i64 {
    sqlx::query_scalar(
        "select coalesce(sum(seq_tup_read + coalesce(idx_tup_fetch, 0)), 0)::bigint from pg_stat_xact_user_tables
         where relname = 'messages'",
    )
    .fetch_one(tx)
    .await
    .unwrap()
}

#[tokio::test]
async fn a_look_for_holds_reads_the_mail_of_those_it_concerns() {
    story_of_one_role(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let olga = olga(&acme).await;
        let robots = acme.mail(help, "robot@x.example", "Robot", "Beep.").await;
        let shared = acme.mail(help, "bob@other.example", "Shared", "Hello.").await;
        acme.mail(help, ADA, "Hers", "Hello.").await;
        world
            .sql(&format!(
                "insert into messages (workspace_id, conversation_id, id, mailbox_id, item, at, direction, from_email, text, id_hash,
                     content_hash)
                 select {}, {robots}, {robots} + 1000000 + n, {}, n, now(), 'inbound', 'robot@x.example', 'Beep.', n, sha256(n::text::bytea)
                 from generate_series(1, 12000) n; analyze messages; analyze conversations",
                acme.id.0,
                help.0,
                robots = robots.0
            ))
            .await;
        let mut tx = world.app.begin(acme.id).await.unwrap();
        for held in ["robot@x.example", "eve@x.example", "bob@other.example"] {
            holds::place(&mut tx, &olga, held, Covers::Contact(held)).await.unwrap();
        }
        tx.commit().await.unwrap();
        let mut tx = world.app.begin(acme.id).await.unwrap();
        let before = read_of_messages(&mut tx).await;
        assert_eq!(holds::against(&mut tx, acme.id, ADA).await.unwrap(), [] as [String; 0]);
        assert!(ask::erase(&mut tx, &olga, ADA, "").await.is_ok());
        assert!(!holds::stop(&mut tx, "eve@y.example", &[]).await.unwrap());
        assert_eq!(holds::on(&mut tx, acme.id, shared).await.unwrap(), ["bob@other.example"]);
        let read = read_of_messages(&mut tx).await - before;
        assert!(read <= 3_500, "{read} messages were read");
        drop(tx);
        // And in the long one itself: nobody walks through it to tell that somebody is not in it.
        let mut tx = world.app.begin(acme.id).await.unwrap();
        let before = read_of_messages(&mut tx).await;
        for somebody in ["bob@other.example", ADA, "eve@x.example"] {
            let is_in: bool = sqlx::query_scalar("select takes_part($1, $2, $3)")
                .bind(acme.id.0)
                .bind(robots.0)
                .bind(somebody)
                .fetch_one(&mut *tx)
                .await
                .unwrap();
            assert!(!is_in, "{somebody}");
        }
        let read = read_of_messages(&mut tx).await - before;
        assert!(read <= 10, "{read} messages were read");
    })
    .await;
}

/// Mail that is still to leave keeps a conversation. Nobody reads all mail of a long one to see that there is none.
#[tokio::test]
async fn a_round_of_retention_reads_no_mail_of_what_it_looks_at() {
    story_of_one_role(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let long = acme.mail(help, ADA, "long", "Hello.").await;
        grows(&acme, help, long, 2_600).await;
        closes(&acme, long).await;
        keeps(&acme, help, Some(30)).await;
        world.wait(chrono::TimeDelta::days(32));
        world.sql("analyze messages; analyze conversations").await;
        let mut tx = world.app.begin(acme.id).await.unwrap();
        let before = read_of_messages(&mut tx).await;
        for round in [Round::INBOXES, Round::BEGIN] {
            go_round(&mut tx, round).await.unwrap();
        }
        let read = read_of_messages(&mut tx).await - before;
        assert!(read <= 10, "{read} messages were read");
        tx.commit().await.unwrap();
        assert_eq!(subjects(world, TRASH).await, ["long"]);
    })
    .await;
}

/// The first start after an older backup came back is cut off in the midst of erasing. The next one ends it before it serves.
#[tokio::test]
async fn a_replay_that_was_cut_off_counts_until_it_is_done() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        acme.mail(help, ADA, CANARY, "Hello.").await;
        erases(&acme, ADA).await;
        world.work().await;
        assert_eq!(replay::replay(&world.app).await.unwrap(), 0);
        let long = acme.mail(help, ADA, CANARY, "Hello.").await;
        grows(&acme, help, long, 2_600).await;
        // More than is read at once stands before her.
        world
            .sql(&format!(
                "insert into auto_replied select {}, {}, 'a' || n || '@x.example', now() + interval '1 day'
                 from generate_series(1, 6000) n; delete from erasures",
                acme.id.0, help.0
            ))
            .await;
        watches(world, "messages", "raise 'cut off';").await;
        assert!(replay::replay(&world.app).await.is_err());
        assert_eq!(world.scalar("select count(*) from erasures where replayed and done_at is null").await, 1);
        world.sql("drop trigger watched on messages").await;
        assert_eq!(replay::replay(&world.app).await.unwrap(), 1);
        assert_eq!(world.left_of_canary().await, [] as [String; 0]);
        assert_eq!(replay::replay(&world.app).await.unwrap(), 0);
        let told = world.scalar("select count(*) from audit_entries where did = 'erasure.replayed'").await;
        assert_eq!(told, 1, "it is one erasure");
    })
    .await;
}
