//! Every column of the live schema that can hold something of a contact is filled with the canary, and then the contact is
//! erased. A column that is new has to be filled here, or to say why it never holds anything of a contact.

use std::collections::BTreeSet;

use rookery_base::ids::{ConversationId, MailboxId};
use rookery_core::rules::definition::{Action, Becomes, Condition, ConditionKind, Definition, Trigger};
use rookery_core::rules::store;
use rookery_core::workspace::people;
use rookery_mail::incoming::delivery::Received;
use rookery_product::replies::merge::merge;
use rookery_upkeep::erasures::{places, replay};
use serde_json::json;
use sqlx::AssertSqlSafe;

use rookery_world::canary::CANARY;
use rookery_world::verbs::erasing::erases;
use rookery_world::{Key, Mode, Workspace, World, story};

const ADA: &str = "ada@zanzibarcanary.example";

/// Tables that hold nothing of a contact's: what the team is and set up, counters, ids, hashes and what is sealed.
const OURS: &[&str] = &[
    "_sqlx_migrations",
    "agent_calls",
    "agents",
    "assistant_days",
    "assistant_runs",
    "assistant_settings",
    "assistant_tasks",
    "audit_entries",
    "audit_heads",
    "auto_replies",
    "booking_days",
    "booking_hosts",
    "booking_hours",
    "booking_type_hosts",
    "booking_types",
    "bulk_job_items",
    "bulk_jobs",
    "busy_sources",
    "busy_times",
    "client_grants",
    "client_tokens",
    "count_changes",
    "counts",
    "document_lists",
    "doomed_files",
    "erased_bans",
    "erasures",
    "event_feed",
    "event_feed_heads",
    "events",
    "exports",
    "half_sign_ins",
    "invitations",
    "key_uses",
    "learned_topics",
    "mail_received",
    "mailbox_aliases",
    "mailboxes",
    "notification_choices",
    "passkeys",
    "passwords",
    "people",
    "rate_blocks",
    "recovery_codes",
    "report_counts",
    "sandbox_answers",
    "saved_replies",
    "saved_reply_files",
    "second_factors",
    "secure_files",
    "secure_keys",
    "secure_pages",
    "secure_visits",
    "seen_reports",
    "sending_domains",
    "sending_services",
    "sessions",
    "sign_in_links",
    "signature_files",
    "skipped_steps",
    "sso_accounts",
    "sso_attempts",
    "sso_connections",
    "stranger_mail",
    "tags",
    "told_changes",
    "unfanned_events",
    "used_challenges",
    "webhooks",
    "workspaces",
];

/// Columns of other tables that have one of a few words, a hash, a random key of a file, or somebody of the team.
const PLAIN: &[&str] = &[
    "answered_requests.key_hash",
    "answered_requests.request_hash",
    "answered_requests.sealed",
    "assistant_drafts.model",
    "booking_mail.kind",
    "booking_mail.recipient",
    "bookings.ended_by",
    "bookings.press",
    "bookings.rsvp",
    "bookings.state",
    "conversations.announced_turn",
    "conversations.assignee_type",
    "conversations.risk",
    "conversations.status",
    "conversations.topic_by",
    "conversations.urgency",
    "conversations.urgency_by",
    "conversations.view",
    "corrections.engine",
    "corrections.field",
    "deliveries.kind",
    "delivery_log.kind",
    "delivery_log.state",
    "document_corrections.field",
    "document_readings.read_by",
    "document_readings.state",
    "document_request_items.refused_why",
    "document_request_items.state",
    "document_requests.language",
    "document_requests.state",
    "documents.blob",
    "documents.content_hash",
    "documents.kind",
    "failed_events.kind",
    "holds.placed_by",
    "messages.author_type",
    "messages.channel",
    "messages.content_hash",
    "messages.direction",
    "messages.origin",
    "messages.placed",
    "messages.raw_blob",
    "messages.sealed",
    "messages.status",
    "notes.author",
    "notices.kind",
    "notifications.reason",
    "one_time_codes.code_hash",
    "one_time_codes.purpose",
    "saved_views.kind",
    "service_reports.kind",
    "service_reports.outcome",
    "suppressed_addresses.reason",
    "suppression_changes.change",
    "suppression_changes.done_by",
    "suppression_changes.reason",
    "timeline_events.actor",
    "timeline_events.event",
    "written_draft_copies.page",
    "written_draft_files.blob",
    "written_drafts.documents_language",
    "written_drafts.from_address",
    "written_drafts.kind",
    "written_drafts.page",
    "written_drafts.proof",
];

/// What the schema has that can hold words, without what is listed above.
async fn columns(world: &World) -> Vec<(String, String)> {
    let all: Vec<(String, String)> = sqlx::query_as(
        "select relname::text, attname::text from pg_class c join pg_namespace n on n.oid = relnamespace
         join pg_attribute a on a.attrelid = c.oid and attnum > 0 and not attisdropped
         join pg_type t on t.oid = atttypid
         where nspname = 'public' and relkind in ('r', 'p') and not relispartition
           and typname in ('text', 'varchar', 'json', 'jsonb', 'bytea', '_text', '_varchar', '_jsonb', '_bytea')
         order by 1, 2",
    )
    .fetch_all(&world.app.pool)
    .await
    .unwrap();
    let known: BTreeSet<String> = all.iter().map(|(table, column)| format!("{table}.{column}")).collect();
    let gone: Vec<_> = PLAIN.iter().filter(|one| !known.contains(**one)).collect();
    assert!(gone.is_empty(), "the lists of this test name what is not there: {gone:?}");
    all.into_iter()
        .filter(|(table, column)| {
            !OURS.contains(&table.as_str()) && !PLAIN.contains(&format!("{table}.{column}").as_str())
        })
        .collect()
}

/// Those of them in which the canary does not stand.
async fn empty(world: &World) -> Vec<String> {
    let hex: String = CANARY.bytes().map(|byte| format!("{byte:02x}")).collect();
    let mut empty = Vec::new();
    for (table, column) in columns(world).await {
        let query = format!(
            "select exists (select from {table} where lower({column}::text) like '%{CANARY}%' or {column}::text like '%{hex}%')"
        );
        let has_it: bool = sqlx::query_scalar(AssertSqlSafe(query)).fetch_one(&world.app.pool).await.unwrap();
        if !has_it {
            empty.push(format!("{table}.{column}"));
        }
    }
    empty
}

fn stored(received: Received) -> ConversationId {
    match received {
        Received::Stored(stored) => stored.conversation,
        other => panic!("{other:?}"),
    }
}

/// What Ada and the team do, and by SQL what takes many more steps to come to be.
async fn fill(acme: &Workspace<'_>, help: MailboxId, key: &Key<'_>) -> ConversationId {
    let world = acme.world;
    let raw = format!(
        "Message-ID: <1@{CANARY}.example>\nFrom: Ada {CANARY} <{ADA}>\nReply-To: {ADA}\nTo: help@acme.example\n\
         Cc: other@{CANARY}.example\nSubject: About {CANARY}\nMIME-Version: 1.0\n\
         Content-Type: multipart/mixed; boundary=m\n\n--m\nContent-Type: multipart/alternative; boundary=a\n\n\
         --a\nContent-Type: text/plain\n\nI am {CANARY}.\n\n> quoted {CANARY}\n--a\nContent-Type: text/html\n\n\
         <p>I am <b>{CANARY}</b>.</p>\n--a--\n--m\nContent-Type: text/x-{CANARY}; name=\"{CANARY}.txt\"\n\
         Content-Disposition: attachment; filename=\"{CANARY}.txt\"\n\nA file of {CANARY}.\n--m--\n"
    );
    let own = stored(acme.receives(help, &raw).await);
    acme.note(own, "Olga Owner", &format!("She is {CANARY}.")).await;
    let reply = json!({ "body": format!("Dear {CANARY}, yes."), "send": true });
    assert_eq!(key.post_once("yes", &format!("/conversations/{own}/replies"), &reply).await.status, 201);
    let asked = json!({
        "documents": [{ "label": format!("Passport of {CANARY}"), "description": format!("That of {CANARY}") }],
        "message": "Please.", "send": true });
    assert_eq!(key.post(&format!("/conversations/{own}/document-requests"), asked).await.status, 201);
    // To another address of hers, which she answered from the first.
    let sent = json!({ "messageId": format!("1@app.{CANARY}.example"), "reference": format!("{CANARY}-7"),
        "to": [format!("other@{CANARY}.example")], "subject": CANARY, "text": CANARY, "html": format!("<p>{CANARY}</p>") });
    assert_eq!(key.post("/app-mail", sent).await.status, 201);
    let alone = json!({ "messageId": "2@app.example", "reference": "inv-8", "to": [ADA], "subject": "Paid", "text": "Paid." });
    assert_eq!(key.post("/app-mail", alone).await.status, 201);
    // Another conversation of hers became part of Bob's.
    let second = acme.mail(help, ADA, &format!("My divorce, {CANARY}"), "Hello.").await;
    let bobs = acme.mail(help, "bob@other.example", "Bob's parcel", "Where is it?").await;
    let mut tx = world.app.begin(acme.id).await.unwrap();
    let olga = people::teammate(&mut tx, acme.id, acme.owner).await.unwrap();
    merge(&mut tx, &olga, bobs, second).await.unwrap();
    tx.commit().await.unwrap();
    world.wait(chrono::TimeDelta::hours(1));
    world.work().await;
    // A rule is called after her. The audit log, which forgets nothing, must not be.
    let sender = Condition { is: true, test: ConditionKind::Sender { like: ADA.into() } };
    let closes = Action::Status { status: Becomes::Closed };
    let does = Definition { when: Trigger::MailArrives, conditions: vec![sender], then: vec![closes] };
    let mut tx = world.app.begin(acme.id).await.unwrap();
    store::put(&mut tx, &olga, None, &format!("Mail of {ADA}"), does).await.unwrap();
    tx.commit().await.unwrap();
    let (w, own_id, owner, inbox) = (acme.id.0, own.0, acme.owner.0, help.0);
    let now = "timestamptz '2031-01-06 09:00Z'";
    world
        .sql(&format!(
            "update conversations set topic = '{CANARY}', reference = '{CANARY}-7', risk = 'some', risk_reasons = '{{{CANARY}}}'
                 where id = {own_id};
             insert into document_request_files (workspace_id, request_id, item_id, id, document_id, filename, received_at)
                 select {w}, i.request_id, i.id, 1, d.id, '{CANARY}.pdf', {now}
                 from document_request_items i, documents d where d.conversation_id = {own_id} limit 1;
             update app_mail set conversation_id = {own_id} where reference <> 'inv-8';
             update documents set fields = '{{\"of\": \"{CANARY}\"}}' where conversation_id = {own_id};
             insert into document_readings
                 (workspace_id, document_id, read_at, read_by, milliseconds, state, pages, sources, text)
                 select workspace_id, id, {now}, 'rules 1', 1, 'read', 1, '{{\"of\": \"{CANARY}\"}}', '{CANARY}'
                 from documents where conversation_id = {own_id}
                 on conflict (workspace_id, document_id) do update set sources = excluded.sources, text = excluded.text;
             insert into document_corrections (workspace_id, document_id, field, value, was, set_by, set_at)
                 select workspace_id, id, 'vendor', '\"{CANARY}\"', '\"{CANARY}\"', {owner}, {now}
                 from documents where conversation_id = {own_id};
             update messages set summary = '{CANARY}', written = '{CANARY}', drafted_body = '{CANARY}', subject = '{CANARY}',
                 signature = '{CANARY}', bcc_addresses = '{{{ADA}}}', also_to = '{{{ADA}}}', to_addresses = '{{{ADA}}}'
                 where conversation_id = {own_id} and direction = 'outbound';
             update messages set whole_text = '{CANARY}', verdict = '{{\"of\": \"{CANARY}\"}}', cc_addresses = '{{{ADA}}}'
                 where conversation_id = {own_id} and direction = 'inbound';
             update message_html set signature = '{CANARY}'
                 where message_id in (select id from messages where conversation_id = {own_id});
             insert into timeline_events (workspace_id, conversation_id, item, at, actor, event, data)
                 select {w}, {own_id}, last_item + 1, {now}, 'System', 'delivery-failed', '{{\"email\": \"{ADA}\"}}'
                 from conversations where id = {own_id};
             update conversations set last_item = last_item + 1 where id = {own_id};
             insert into corrections (workspace_id, message_id, field, before, after, person_id, at)
                 select {w}, min(id), 'topic', '{CANARY}', '{CANARY}', {owner}, {now} from messages
                 where conversation_id = {own_id} and direction = 'inbound';
             insert into assistant_drafts (workspace_id, answers, message_id, model, relied_on, at)
                 select {w}, min(id), 1, 'm', '[{{\"kind\": \"saved-reply\", \"name\": \"{CANARY}\"}}]', {now} from messages
                 where conversation_id = {own_id} and direction = 'inbound';
             insert into auto_replied values ({w}, {inbox}, '{ADA}', now() + interval '10 years');
             insert into away_replied values ({w}, {owner}, '{ADA}', now(), now() + interval '10 years');
             insert into one_time_codes (workspace_id, purpose, subject_id, address, code_hash, sent_at, expires_at, mailed_at)
                 values ({w}, 'secure', 1, '{ADA}', decode(repeat('00', 32), 'hex'), now(), now() + interval '15 minutes', now());
             insert into notices (workspace_id, id, recipient, kind, subject, body, created_at, due_at)
                 values ({w}, 77, '{ADA}', 'one_time_code', 'Code', 'Code', now(), now() + interval '10 years');
             insert into automatic_mail (workspace_id, livemode, address, since, n) values ({w}, true, '{ADA}', {now}, 1);
             insert into suppressed_addresses (workspace_id, livemode, address, reason, at)
                 values ({w}, true, '{ADA}', 'bounce', {now});
             insert into suppression_changes (workspace_id, id, livemode, address, change, reason, done_by, at)
                 values ({w}, 1, true, '{ADA}', 'suppressed', 'bounce', 'System', {now});
             insert into deliveries (workspace_id, webhook_id, event_id, kind, due_at, run, tries)
                 values ({w}, 1, 1, 'x', '2099-01-01', 0, '[{{\"answer\": \"Thanks, {CANARY}. To {ADA}\", \"status\": 500}}]');
             insert into delivery_log (workspace_id, webhook_id, state, kind, id, event_id, tries)
                 select {w}, 1, 'delivered', 'x', id, 1, '[{{\"answer\": \"Thanks, {CANARY}. To {ADA}\", \"status\": 200}}]'
                 from messages where conversation_id = {own_id} limit 1;
             update app_mail set service_ref = '{CANARY}' where reference <> 'inv-8';
             insert into sending_services (workspace_id, id, name, maker_id, provider, content_url, created_at)
                 select {w}, 1, 'Mailer', {owner}, 'own', '', {now};
             insert into service_reports (workspace_id, id, service_id, at, kind, message_id, address, outcome, why)
                 values ({w}, 1, 1, {now}, 'bounced', '1@app.{CANARY}.example', '{ADA}', 'unknown', 'No such mail: {CANARY}');
             insert into booking_hosts values ({w}, {owner}, 'UTC');
             insert into booking_types (workspace_id, id, mailbox_id, slug, name, minutes, created_at)
                 values ({w}, 1, {inbox}, 'call', 'Call', 30, {now});
             insert into bookings (workspace_id, id, type_id, host_id, conversation_id, series_id, starts_at, ends_at, held,
                     state, ended_at, ended_by, reason, name, email, note, answers, time_zone, created_at)
                 select {w}, 1, 1, {owner}, {own_id}, 1, {now}, {now} + interval '30 minutes',
                     tstzrange({now}, {now} + interval '30 minutes'), 'cancelled', {now}, 'host', 'Ill, {CANARY}', 'Ada {CANARY}',
                     '{ADA}', 'I am {CANARY}, {ADA}', '[{{\"question\": \"Who?\", \"answer\": \"{ADA}\"}}]', 'Africa/{CANARY}', {now};
             insert into holds (workspace_id, id, name, address, conversation_id, placed_by, placed_at, ended_at)
                 values ({w}, 1, 'Case of {CANARY}', '{ADA}', null, 'Olga', {now}, {now}),
                        ({w}, 2, 'Case of {CANARY}', null, {own_id}, 'Olga', {now}, {now});
             insert into notices (workspace_id, id, recipient, kind, subject, body, created_at, due_at)
                 values ({w}, 1, 'olga@rookery.example', 'unread', '{CANARY}', '{CANARY}', {now}, '2099-01-01');
             insert into notifications (workspace_id, conversation_id, person_id, reason, by_name, at, read_at, mailed_at)
                 values ({w}, {own_id}, {owner}, 'replied', 'Ada {CANARY}', {now}, {now}, {now})
                 on conflict (workspace_id, conversation_id, person_id, reason) do update set by_name = excluded.by_name;
             insert into sandbox_mail (workspace_id, id, conversation_id, message_id, rfc_message_id, recipient, at)
                 values ({w}, 1, 1, 1, '1@{CANARY}.example', '{ADA}', {now});
             insert into saved_views (workspace_id, person_id, id, place, name, kind, query, created_at)
                 values ({w}, {owner}, 1, 1, '{ADA}', 'search', 'q=from%3Aada%40{CANARY}.example', {now});
             insert into written_drafts (workspace_id, id, person_id, kind, conversation_id, mailbox_id, to_line, cc_line,
                     bcc_line, subject, body, html, documents, version, saved_at)
                 values ({w}, 1, {owner}, 'reply', {own_id}, {inbox}, '', '', '', '{CANARY}', '{CANARY}', '<b>{CANARY}</b>',
                         '{CANARY}', 1, {now}),
                        ({w}, 2, {owner}, 'new', null, {inbox}, 'Ada <{ADA}>', '{ADA}', '{ADA}', '', '', '', '', 1, {now});
             insert into written_draft_copies (workspace_id, draft_id, page, save, body, saved_at)
                 values ({w}, 1, 'p', 1, '{CANARY}', {now});
             insert into written_draft_files (workspace_id, id, draft_id, filename, content_type, size, blob)
                 values ({w}, 1, 1, '{CANARY}.txt', 'text/x-{CANARY}', 1, 'ws/none/1')"
        ))
        .await;
    own
}

/// proves: APP-12
#[tokio::test]
async fn every_column_that_can_hold_something_of_a_contact_is_filled_and_emptied() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let key = acme.key("bot", "write,draft,send,record", Mode::Live).await;
        fill(&acme, help, &key).await;
        assert_eq!(empty(world).await, [] as [String; 0], "these columns are neither filled nor excused");

        // The list of places that a replay looks through has each of them.
        let listed: BTreeSet<&str> = include_str!("../../../crates/upkeep/src/erasures/places.rs")
            .split('\'')
            .filter(|word| {
                word.contains('.')
                    && word.chars().all(|letter| letter.is_ascii_lowercase() || "._".contains(letter))
            })
            .collect();
        assert!(listed.len() > 20, "{listed:?}");
        let found = async || -> BTreeSet<String> {
            let mut found = BTreeSet::new();
            let mut conn = world.app.connection().await.unwrap();
            let take = |place: &str, address: &str| {
                if address == ADA {
                    found.insert(place.to_owned());
                }
            };
            places::each(&mut conn, acme.id, take).await.unwrap();
            found
        };
        assert_eq!(found().await.iter().map(String::as_str).collect::<BTreeSet<_>>(), listed);

        erases(&acme, ADA).await;
        world.work().await;
        world.work().await;
        assert_eq!(world.left_of_canary().await, [] as [String; 0]);
        assert_eq!(found().await, BTreeSet::new());
        let rule: (bool, String, serde_json::Value) =
            sqlx::query_as("select is_on, name, definition -> 'if' from rules")
                .fetch_one(&world.app.pool)
                .await
                .unwrap();
        assert_eq!(
            rule,
            (false, "Mail of …".to_owned(), json!([])),
            "a rule without its condition must not act"
        );
        let told = world
            .scalar(
                "select count(*) from audit_entries where did = 'rule.off' and subject_name = 'Mail of …'",
            )
            .await;
        assert_eq!(told, 1);
        let merged = world
            .scalar("select count(*) from timeline_events where event = 'merged' and not data ? 'subject'")
            .await;
        assert_eq!(merged, 1);
        let answered =
            world.scalar("select count(*) from delivery_log where tries = '[{\"status\": 200}]'").await;
        assert_eq!(answered, 1, "that there was an answer stays");
        world.sql("delete from deliveries").await;
    })
    .await;
}

/// After an older backup came back they may stand in one odd place only.
#[tokio::test]
async fn a_replay_finds_whom_it_means_wherever_they_stand() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        acme.mail(help, ADA, "Hello", "Hello.").await;
        erases(&acme, ADA).await;
        world.work().await;
        assert_eq!(replay::replay(&world.app).await.unwrap(), 0);
        let (w, inbox, owner) = (acme.id.0, help.0, acme.owner.0);
        let odd = [
            format!("insert into auto_replied values ({w}, {inbox}, '{ADA}', now() + interval '10 years')"),
            format!("insert into away_replied values ({w}, {owner}, '{ADA}', now(), now() + interval '10 years')"),
            format!(
                "insert into saved_views (workspace_id, person_id, id, place, name, kind, query, created_at)
                 values ({w}, {owner}, 1, 1, 'Hers', 'search', 'q=ada%40{CANARY}.example', now())"
            ),
            format!(
                "insert into written_drafts (workspace_id, id, person_id, kind, to_line, version, saved_at)
                 values ({w}, 2, {owner}, 'new', 'Ada <{ADA}>', 1, now())"
            ),
            format!(
                "insert into suppression_changes (workspace_id, id, livemode, address, change, reason, done_by, at)
                 values ({w}, 1, true, '{ADA}', 'lifted', 'asked', 'Operator', now())"
            ),
            // It had ended before she was erased, and stands in the backup.
            format!(
                "insert into holds (workspace_id, id, name, address, placed_by, placed_at)
                 values ({w}, 1, 'Case', '{ADA}', 'Olga', now())"
            ),
        ];
        for statement in odd {
            world.sql(&format!("delete from erasures; {statement}")).await;
            assert!(!world.left_of_canary().await.is_empty());
            assert_eq!(replay::replay(&world.app).await.unwrap(), 1, "{statement}");
            assert_eq!(world.left_of_canary().await, [] as [String; 0], "{statement}");
        }
    })
    .await;
}
