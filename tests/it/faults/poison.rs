//! A row that cannot be worked off, in every loop of the worker: it is put off, and all that is behind it is served in
//! the pass in which it would have been. Two workspaces have the same work; the database refuses that of the first.

mod behind;
mod work;

use std::collections::BTreeSet;

use chrono::TimeDelta;
use futures::future::BoxFuture;
use rookery::worker;
use rookery_base::app::App;
use rookery_base::config::Config;
use rookery_base::random::Random;

use self::work::{
    asks_for_an_export, asks_for_documents, closes_many, corrects_mail, erases_a_contact, gets_a_file,
    gets_live_mail, gets_mail, has_a_booking, has_a_delivery, has_a_file_to_remove, has_a_notice,
    has_another_calendar, has_app_mail, has_something_unread, keeps_mail_for_a_month, reads_a_list,
    removes_a_person, revokes_a_key, sends_live, sends_to, sends_what_failed_again, snoozes, tells_a_webhook,
    threw_a_draft_away, wants_a_model, wants_words,
};
use rookery_world::{Workspace, World, story, story_with};

const SETTINGS: &[(&str, &str)] = &[("WEBHOOK_ALLOW", "127.0.0.0/8"), ("RATE_LIMIT_REQUESTS", "100000")];

struct Case {
    /// As `/metrics` names it.
    name: &'static str,
    /// Gives a workspace something to do.
    prepare: for<'a> fn(&'a Workspace<'a>) -> BoxFuture<'a, ()>,
    /// When something has to happen before that is waiting.
    first: TimeDelta,
    /// Until it is due.
    then: TimeDelta,
    /// What the database refuses, of the workspace {bad}.
    refused: &'static str,
    /// How much is left of the workspace $1 at the time $2.
    left: &'static str,
}

impl Case {
    async fn left_of(&self, workspace: &Workspace<'_>) -> i64 {
        let left = sqlx::query_scalar(self.left).bind(workspace.id.0).bind(workspace.world.now());
        left.fetch_one(&workspace.world.app.pool).await.unwrap()
    }
}

const NOW: TimeDelta = TimeDelta::zero();

const CASES: &[Case] = &[
    Case {
        name: "read calendars",
        prepare: |workspace| Box::pin(has_another_calendar(workspace)),
        first: NOW,
        then: NOW,
        refused: "update on busy_sources for each row when (new.workspace_id = {bad} and new.read_at is not null)",
        left: "select count(*) from busy_sources where workspace_id = $1 and read_at is null and $2 is not null",
    },
    Case {
        name: "read documents",
        prepare: |workspace| Box::pin(gets_a_file(workspace)),
        first: NOW,
        then: NOW,
        refused: "insert on document_readings for each row when (new.workspace_id = {bad})",
        left: "select count(*) from unread_documents where workspace_id = $1 and due_at <= $2 + interval '1 day'",
    },
    Case {
        name: "remind of documents",
        prepare: |workspace| Box::pin(asks_for_documents(workspace)),
        first: TimeDelta::minutes(1),
        then: TimeDelta::days(3),
        refused: "update on document_requests for each row when (new.workspace_id = {bad})",
        left: "select count(*) from document_requests where workspace_id = $1 and remind_at <= $2",
    },
    Case {
        name: "end document requests",
        prepare: |workspace| Box::pin(asks_for_documents(workspace)),
        first: TimeDelta::minutes(1),
        then: TimeDelta::days(61),
        refused: "update on document_requests for each row when (new.workspace_id = {bad} and new.state = 'expired')",
        left: "select count(*) from document_requests where workspace_id = $1 and state = 'open' and link_ends_at <= $2",
    },
    Case {
        name: "send",
        prepare: |workspace| Box::pin(sends_live(workspace)),
        first: NOW,
        then: TimeDelta::hours(1),
        refused: "update on messages for each row when (new.workspace_id = {bad} and new.status = 'sent')",
        left: "select count(*) from messages
               where workspace_id = $1 and not sandbox and due_at <= $2 + interval '1 hour'",
    },
    Case {
        name: "send in the sandbox",
        prepare: |workspace| Box::pin(sends_to(workspace, "ada@customer.test")),
        first: NOW,
        then: TimeDelta::minutes(1),
        refused: "insert on sandbox_mail for each row when (new.workspace_id = {bad})",
        left: "select count(*) from messages where workspace_id = $1 and due_at <= $2 + interval '1 hour'",
    },
    Case {
        name: "mail what is unread",
        prepare: |workspace| Box::pin(has_something_unread(workspace)),
        first: NOW,
        then: TimeDelta::minutes(1),
        refused: "update on notification_mail for each row when (new.workspace_id = {bad})",
        left: "select count(*) from notification_mail where workspace_id = $1 and due_at <= $2",
    },
    Case {
        name: "send notices",
        prepare: |workspace| Box::pin(has_a_notice(workspace)),
        first: NOW,
        then: TimeDelta::minutes(1),
        refused: "update on notices for each row when (new.workspace_id = {bad} and new.due_at is null)",
        left: "select count(*) from notices where workspace_id = $1 and due_at <= $2 + interval '1 hour'",
    },
    Case {
        name: "send booking mail",
        prepare: |workspace| Box::pin(has_a_booking(workspace)),
        first: NOW,
        then: TimeDelta::minutes(1),
        refused: "update on booking_mail for each row when (new.workspace_id = {bad} and new.due_at is null)",
        left: "select count(*) from booking_mail where workspace_id = $1 and due_at <= $2 + interval '1 hour'",
    },
    Case {
        name: "answer in the sandbox",
        prepare: |workspace| Box::pin(sends_to(workspace, "reply@customer.test")),
        first: TimeDelta::minutes(1),
        then: TimeDelta::minutes(1),
        refused: "delete on sandbox_answers for each row when (old.workspace_id = {bad})",
        left: "select count(*) from sandbox_answers where workspace_id = $1 and $2 is not null",
    },
    Case {
        name: "wake snoozed",
        prepare: |workspace| Box::pin(async { snoozes(workspace, 1).await }),
        first: NOW,
        then: TimeDelta::hours(2),
        refused: "update on conversations for each row
                  when (new.workspace_id = {bad} and old.snoozed_until is not null and new.snoozed_until is null)",
        left: "select count(*) from conversations where workspace_id = $1 and snoozed_until <= $2",
    },
    Case {
        name: "bulk jobs",
        prepare: |workspace| Box::pin(closes_many(workspace)),
        first: NOW,
        then: NOW,
        refused: "update on bulk_job_items for each row when (new.workspace_id = {bad})",
        left: "select count(*) from bulk_job_items
               where workspace_id = $1 and state = 'waiting' and $2 is not null",
    },
    Case {
        name: "release revoked agents",
        prepare: |workspace| Box::pin(revokes_a_key(workspace)),
        first: NOW,
        then: TimeDelta::minutes(3),
        refused: "update on agents for each row when (new.workspace_id = {bad} and new.released_at is not null)",
        left: "select count(*) from agents
               where workspace_id = $1 and revoked_at <= $2 and released_at is null",
    },
    Case {
        name: "hand over what people left",
        prepare: |workspace| Box::pin(removes_a_person(workspace)),
        first: NOW,
        then: TimeDelta::minutes(3),
        refused: "update on departures for each row when (new.workspace_id = {bad})",
        left: "select count(*) from departures where workspace_id = $1 and at <= $2 and done_at is null",
    },
    Case {
        name: "fan out events",
        prepare: |workspace| Box::pin(tells_a_webhook(workspace)),
        first: NOW,
        then: NOW,
        refused: "insert on deliveries for each row when (new.workspace_id = {bad})",
        left: "select count(*) from unfanned_events where workspace_id = $1 and $2 is not null",
    },
    Case {
        name: "send again what failed",
        prepare: |workspace| Box::pin(sends_what_failed_again(workspace)),
        first: NOW,
        then: NOW,
        refused: "insert on failed_events for each row when (new.workspace_id = {bad})",
        left: "select count(*) from redeliveries where workspace_id = $1 and $2 is not null",
    },
    Case {
        name: "deliver webhooks",
        prepare: |workspace| Box::pin(has_a_delivery(workspace)),
        first: NOW,
        then: NOW,
        refused: "insert on delivery_log for each row when (new.workspace_id = {bad})",
        left: "select count(*) from deliveries where workspace_id = $1 and $2 is not null",
    },
    Case {
        name: "fetch words of app mail",
        prepare: |workspace| Box::pin(wants_words(workspace)),
        first: NOW,
        then: TimeDelta::minutes(1),
        refused: "update on app_mail for each row
                  when (new.workspace_id = {bad} and new.words_due_at is null and old.words_due_at is not null)",
        left: "select count(*) from app_mail where workspace_id = $1 and words_due_at <= $2 + interval '1 hour'",
    },
    Case {
        name: "look after audit logs",
        prepare: |_| Box::pin(async {}),
        first: NOW,
        then: NOW,
        refused: "update on audit_heads for each row
                  when (new.workspace_id = {bad} and new.checked_at is distinct from old.checked_at)",
        left: "select count(*) from audit_heads
               where workspace_id = $1 and (checked_at is null or checked_at <= $2 - interval '1 day')",
    },
    Case {
        name: "erase contacts",
        prepare: |workspace| Box::pin(erases_a_contact(workspace)),
        first: NOW,
        then: NOW,
        refused: "update on erasures for each row when (new.workspace_id = {bad})",
        left: "select count(*) from erasures where workspace_id = $1 and done_at is null and $2 is not null",
    },
    Case {
        name: "fill the trash",
        prepare: |workspace| Box::pin(keeps_mail_for_a_month(workspace)),
        first: NOW,
        then: TimeDelta::days(32),
        refused: "insert on trash for each row when (new.workspace_id = {bad})",
        left: "select count(*) from conversations c join mailboxes m using (workspace_id)
               where workspace_id = $1 and m.id = c.mailbox_id and m.keep_days is not null
                 and last_item_at < $2 and status = 'closed'
                 and not exists (select from trash t where t.workspace_id = $1 and t.conversation_id = c.id)",
    },
    Case {
        name: "remove what is over",
        prepare: |workspace| Box::pin(keeps_mail_for_a_month(workspace)),
        first: TimeDelta::days(32),
        then: TimeDelta::days(8),
        refused: "delete on conversations for each row when (old.workspace_id = {bad})",
        left: "select count(*) from trash where workspace_id = $1 and due_at <= $2",
    },
    Case {
        name: "make exports",
        prepare: |workspace| Box::pin(asks_for_an_export(workspace)),
        first: NOW,
        then: NOW,
        refused: "update on exports for each row when (new.workspace_id = {bad})",
        left: "select count(*) from exports where workspace_id = $1 and due_at is not null and $2 is not null",
    },
    Case {
        name: "forget drafts",
        prepare: |workspace| Box::pin(threw_a_draft_away(workspace)),
        first: NOW,
        then: TimeDelta::days(8),
        refused: "delete on written_drafts for each row when (old.workspace_id = {bad})",
        left: "select count(*) from written_drafts where workspace_id = $1 and became_at < $2",
    },
    Case {
        name: "remove files",
        prepare: |workspace| Box::pin(has_a_file_to_remove(workspace)),
        first: NOW,
        then: NOW,
        refused: "delete on doomed_files for each row when (old.workspace_id = {bad})",
        left: "select count(*) from doomed_files where workspace_id = $1 and $2 is not null",
    },
    Case {
        name: "forget app mail",
        prepare: |workspace| Box::pin(has_app_mail(workspace)),
        first: NOW,
        then: TimeDelta::days(31),
        refused: "delete on app_mail for each row when (old.workspace_id = {bad})",
        left: "select count(*) from app_mail where workspace_id = $1 and conversation_id is null and $2 is not null",
    },
    Case {
        name: "sweep files",
        prepare: |_| Box::pin(async {}),
        first: NOW,
        then: TimeDelta::days(5),
        refused: "update on workspaces for each row
                  when (new.id = {bad} and new.blobs_swept is distinct from old.blobs_swept)",
        left: "select count(*) from workspaces
               where id = $1 and coalesce(blobs_swept < ($2 - interval '3 days')::date, true)",
    },
    Case {
        name: "drop raw mail",
        prepare: |workspace| Box::pin(sends_to(workspace, "ada@customer.test")),
        first: TimeDelta::minutes(1),
        then: TimeDelta::days(40),
        refused: "update on messages for each row
                  when (new.workspace_id = {bad} and new.raw is null and old.raw is not null)",
        left: "select count(*) from workspaces
               where id = $1 and coalesce(raw_dropped < ($2 - interval '35 days')::date, true)",
    },
    Case {
        name: "index words",
        prepare: |workspace| Box::pin(gets_mail(workspace)),
        first: NOW,
        then: NOW,
        refused: "insert or update on conversation_words for each row when (new.workspace_id = {bad})",
        left: "select count(*) from unindexed_messages where workspace_id = $1 and $2 is not null",
    },
    Case {
        name: "sort mail",
        prepare: |workspace| Box::pin(gets_live_mail(workspace, 1)),
        first: NOW,
        then: NOW,
        refused: "delete on unsorted_messages for each row when (old.workspace_id = {bad})",
        left: "select count(*) from unsorted_messages where workspace_id = $1 and $2 is not null",
    },
    Case {
        name: "ask what mail is about",
        prepare: |workspace| Box::pin(wants_a_model(workspace, "sort")),
        first: NOW,
        then: NOW,
        refused: "delete on assistant_tasks for each row when (old.workspace_id = {bad})",
        left: "select count(*) from assistant_tasks where workspace_id = $1 and $2 is not null",
    },
    Case {
        name: "ask what documents say",
        prepare: |workspace| Box::pin(wants_a_model(workspace, "read")),
        first: NOW,
        then: NOW,
        refused: "delete on assistant_tasks for each row when (old.workspace_id = {bad})",
        left: "select count(*) from assistant_tasks where workspace_id = $1 and $2 is not null",
    },
    Case {
        name: "draft replies",
        prepare: |workspace| Box::pin(wants_a_model(workspace, "draft")),
        first: NOW,
        then: NOW,
        refused: "delete on assistant_tasks for each row when (old.workspace_id = {bad})",
        left: "select count(*) from assistant_tasks where workspace_id = $1 and $2 is not null",
    },
    Case {
        name: "learn from corrections",
        prepare: |workspace| Box::pin(corrects_mail(workspace)),
        first: NOW,
        then: NOW,
        refused: "insert on learned_topics for each row when (new.workspace_id = {bad})",
        left: "select count(*) from corrections where workspace_id = $1 and $2 is not null
                 and not exists (select from learned_topics where workspace_id = $1)",
    },
    Case {
        name: "note calls of agents",
        prepare: |workspace| Box::pin(reads_a_list(workspace)),
        first: NOW,
        then: NOW,
        refused: "insert on agent_calls for each row when (new.workspace_id = {bad})",
        left: "select (count(*) = 0)::int::bigint from agent_calls where workspace_id = $1 and $2 is not null",
    },
    Case {
        name: "fold counts",
        prepare: |workspace| Box::pin(gets_mail(workspace)),
        first: NOW,
        then: NOW,
        refused: "insert or update on counts for each row when (new.workspace_id = {bad})",
        left: "select count(*) from count_changes where workspace_id = $1 and $2 is not null",
    },
];

/// Loops that have no rows of workspaces. The first asks the time, the next two the directory, then one looks at sessions; the days
/// of a table, uses of keys, which wait in memory, and the look at the whole outbox have tests of their own. Of breaking changes there
/// are none to tell
/// (door/breaking_changes.rs).
const WITHOUT_ROWS: &[&str] = &[
    "follow the database's clock",
    "fence what lives elsewhere",
    "settle domains",
    "look at streams",
    "keep days",
    "look at the whole outbox",
    "note uses of keys",
    "tell of breaking changes",
];

#[tokio::test]
async fn every_loop_has_its_poison_here() {
    story(async |world| {
        let figures = worker::metrics::text(&world.app).await;
        let names = figures.lines().filter_map(|line| {
            let rest = line.strip_prefix("rookery_loop_errors_total{loop=\"")?;
            Some(rest.split_once('"')?.0.to_owned())
        });
        let known = CASES.iter().map(|case| case.name).chain(WITHOUT_ROWS.iter().copied()).map(str::to_owned);
        assert_eq!(names.collect::<BTreeSet<_>>(), known.collect::<BTreeSet<_>>());
    })
    .await;
}

async fn poisoned(name: &str) {
    let case = CASES.iter().find(|case| case.name == name).expect("a case");
    story_with(SETTINGS, async |world| {
        let (bad, sound) = (world.workspace("Bad").await, world.workspace("Sound").await);
        assert!(bad.id < sound.id, "what is refused comes first");
        for workspace in [&bad, &sound] {
            (case.prepare)(workspace).await;
        }
        if case.first > NOW {
            world.wait(case.first);
            world.work().await;
        }
        world.wait(case.then);
        let left = async |workspace: &Workspace<'_>| case.left_of(workspace).await;
        refuse(world, &case.refused.replace("{bad}", &bad.id.0.to_string())).await;
        assert!(left(&bad).await > 0 && left(&sound).await > 0, "both have something to do");

        let _ = world.works().await;
        assert_eq!(left(&sound).await, 0, "what is behind it is served in the same pass");
        assert!(left(&bad).await > 0, "it was refused, and is not forgotten");
        let counted = world.app.loops.backoff_of(case.name).counted();
        assert!(counted.errors > 0, "it is counted: {counted:?}");
        assert_eq!(counted.panics, 0);
        let _ = world.works().await;
        let again = world.app.loops.backoff_of(case.name).counted();
        assert_eq!(again, counted, "it waits for its time");

        world.sql("drop function refuse cascade").await;
        world.wait(TimeDelta::hours(3));
        world.work().await;
        assert_eq!(left(&bad).await, 0, "when it can be done, it is");
    })
    .await;
}

async fn refuse(world: &World, what: &str) {
    let trigger = format!(
        "create function refuse() returns trigger language plpgsql as
             $$ begin raise exception 'poison' using errcode = '22000'; end $$;
         create trigger refuse before {what} execute function refuse()"
    );
    world.sql(&trigger).await;
}

macro_rules! poisoned {
    ($($test:ident: $name:literal;)*) => {$(
        #[tokio::test]
        async fn $test() {
            poisoned($name).await;
        }
    )*};
}

poisoned! {
    a_document_that_cannot_be_read_stops_no_other: "read documents";
    a_reminder_that_cannot_be_written_stops_no_other: "remind of documents";
    a_request_that_cannot_be_ended_stops_no_other: "end document requests";
    a_message_that_cannot_be_sent_stops_no_other: "send";
    a_message_of_the_sandbox_that_cannot_be_sent_stops_no_other: "send in the sandbox";
    a_person_who_cannot_be_told_by_mail_stops_no_other: "mail what is unread";
    a_notice_that_cannot_be_sent_stops_no_other: "send notices";
    a_bookings_mail_that_cannot_be_sent_stops_no_other: "send booking mail";
    an_answer_that_cannot_be_given_stops_no_other: "answer in the sandbox";
    a_snooze_that_cannot_be_ended_stops_no_other: "wake snoozed";
    a_job_that_cannot_be_worked_off_stops_no_other: "bulk jobs";
    an_agent_that_cannot_be_released_stops_no_other: "release revoked agents";
    a_departure_that_cannot_be_worked_off_stops_no_other: "hand over what people left";
    an_event_that_cannot_be_fanned_out_stops_no_other: "fan out events";
    what_cannot_be_sent_again_stops_no_other: "send again what failed";
    a_delivery_that_cannot_be_written_down_stops_no_other: "deliver webhooks";
    words_that_cannot_be_kept_stop_no_others: "fetch words of app mail";
    an_audit_log_that_cannot_be_looked_after_stops_no_other: "look after audit logs";
    a_contact_that_cannot_be_erased_stops_no_other: "erase contacts";
    a_conversation_that_cannot_go_to_the_trash_stops_no_other: "fill the trash";
    a_conversation_that_cannot_be_removed_stops_no_other: "remove what is over";
    an_export_that_cannot_be_made_stops_no_other: "make exports";
    a_draft_that_cannot_be_forgotten_stops_no_other: "forget drafts";
    a_file_that_cannot_be_removed_stops_no_other: "remove files";
    a_record_that_cannot_be_forgotten_stops_no_other: "forget app mail";
    a_workspace_that_cannot_be_swept_stops_no_other: "sweep files";
    raw_mail_that_cannot_be_dropped_stops_no_other: "drop raw mail";
    a_mail_that_cannot_be_indexed_stops_no_other: "index words";
    a_mail_that_cannot_be_sorted_stops_no_other: "sort mail";
    a_mail_that_no_model_can_be_asked_about_stops_no_other: "ask what mail is about";
    a_mail_that_cannot_be_answered_stops_no_other: "draft replies";
    what_cannot_be_learned_stops_no_other: "learn from corrections";
    calls_of_agents_that_cannot_be_written_down_stop_no_others: "note calls of agents";
    a_count_that_cannot_be_folded_stops_no_other: "fold counts";
}

#[tokio::test]
async fn a_table_whose_days_cannot_be_kept_stops_no_other() {
    story(async |world| {
        let days = async |table: &str| -> i64 {
            let count = "select count(*) from pg_inherits where inhparent = $1::regclass";
            sqlx::query_scalar(count).bind(table).fetch_one(&world.app.pool).await.unwrap()
        };
        let before = (days("events").await, days("delivery_log").await);
        let poison = "alter function keep_day rename to keep_any_day;
             create function keep_day(which text) returns boolean language plpgsql as $$ begin
                 if which = 'events' then raise exception 'poison' using errcode = '22000'; end if;
                 return keep_any_day(which);
             end $$";
        world.sql(poison).await;
        world.wait(TimeDelta::days(3));
        assert!(world.works().await.is_err());
        assert_eq!((days("events").await, days("delivery_log").await), (before.0, before.1 + 3));
        world.sql("drop function keep_day; alter function keep_any_day rename to keep_day").await;
        world.work().await;
        assert_eq!(days("events").await, before.0 + 3);
    })
    .await;
}

/// Long enough for everything, one after the other.
const WAITS: [TimeDelta; 6] = [
    TimeDelta::minutes(1),
    TimeDelta::minutes(1),
    TimeDelta::days(3),
    TimeDelta::days(40),
    TimeDelta::minutes(1),
    TimeDelta::minutes(1),
];

#[tokio::test]
async fn a_fenced_workspace_stops_no_loop_and_is_served_as_soon_as_it_is_free() {
    story_with(SETTINGS, async |world| {
        let (fenced, sound) = (world.workspace("Fenced").await, world.workspace("Sound").await);
        // Calls of agents are dropped after a month, and those of a fenced workspace at once.
        let cases = || CASES.iter().filter(|case| case.name != "note calls of agents");
        for case in cases() {
            (case.prepare)(&fenced).await;
            (case.prepare)(&sound).await;
        }
        world.sql("update workspaces set fenced_at = now() where name = 'Fenced'").await;
        for wait in WAITS {
            world.wait(wait);
            world.work().await;
        }
        for case in cases() {
            assert_eq!(case.left_of(&sound).await, 0, "{}", case.name);
        }
        let waiting =
            ["send", "wake snoozed", "forget app mail", "sweep files", "index words", "fold counts"];
        for case in cases().filter(|case| waiting.contains(&case.name)) {
            assert!(case.left_of(&fenced).await > 0, "{}", case.name);
        }
        world.sql("update workspaces set fenced_at = null").await;
        world.work().await;
        for case in cases().filter(|case| waiting.contains(&case.name)) {
            assert_eq!(case.left_of(&fenced).await, 0, "{}", case.name);
        }
        for wait in WAITS {
            world.wait(wait);
            world.work().await;
        }
        for case in cases() {
            assert_eq!(case.left_of(&fenced).await, 0, "{}", case.name);
        }
    })
    .await;
}

#[tokio::test]
async fn no_loop_needs_a_second_connection_while_it_holds_one() {
    story_with(SETTINGS, async |world| {
        let acme = world.workspace("Acme").await;
        for case in CASES {
            (case.prepare)(&acme).await;
        }
        let config = Config { database_connections: 1, ..world.app.config.clone() };
        let mut narrow = App::new(config, world.app.clock.clone(), Random::seeded(9)).unwrap();
        narrow.mailer = world.outbox.clone();
        for wait in WAITS {
            world.wait(wait);
            worker::run_once(&narrow).await.expect("one connection is enough");
        }
        for case in CASES {
            let counted = narrow.loops.backoff_of(case.name).counted();
            assert_eq!((counted.errors, counted.panics), (0, 0), "{}", case.name);
        }
        narrow.pool.close().await;
    })
    .await;
}

#[tokio::test]
async fn the_figures_of_a_loop_that_cannot_be_asked_keep_no_other_from_being_told() {
    story(async |world| {
        world.sql("alter table sandbox_answers rename to hidden").await;
        let figures = worker::metrics::text(&world.app).await;
        world.sql("alter table hidden rename to sandbox_answers").await;
        let told = |line: &str| assert!(figures.lines().any(|told| told == line), "{line}: {figures}");
        told("rookery_loop_lag_seconds{loop=\"answer in the sandbox\"} NaN");
        told("rookery_loop_lag_seconds{loop=\"send\"} 0.000");
        told("rookery_loop_lag_seconds{loop=\"fold counts\"} 0.000");
    })
    .await;
}
