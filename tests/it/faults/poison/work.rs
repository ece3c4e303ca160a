//! What gives a workspace something to do, for each loop of the worker.

use chrono::TimeDelta;
use rookery_base::ids::{ConversationId, WebhookId, lowest_at};
use rookery_core::conversations::bulk;
use rookery_core::conversations::bulk::action::Action;
use rookery_core::conversations::lock::lock_any;
use rookery_core::conversations::snooze;
use rookery_product::app_mail::adapters::Provider;
use rookery_product::app_mail::connect::{WantedService as Service, connect};
use rookery_product::bookings::busy;
use rookery_upkeep::departures::remove::{HandOver, remove};
use rookery_upkeep::erasures::ask;
use rookery_upkeep::exports::ask as exports;
use rookery_webhooks::create::{WebhookParameters, create};

use rookery_core::workspace::access::By;
use rookery_core::workspace::inbox_settings::keep_days;
use rookery_core::workspace::people::{self, Role};
use rookery_webhooks::fan_out;
use rookery_webhooks::redeliver_failed::{self, RedeliveryRequest};
use rookery_webhooks::webhook::Scope;
use serde_json::json;

use rookery_world::papers::with_file;
use rookery_world::webhooks::receiver::{Answering, Receiver};
use rookery_world::{Mode, Workspace};

/// A conversation in the sandbox; gives its id and a key that may do everything with it.
async fn conversation<'w>(workspace: &Workspace<'w>, from: &str) -> (String, rookery_world::Key<'w>) {
    let key = workspace.key(&workspace.world.app.random.hex(8), "write,draft,send", Mode::Test).await;
    (key.simulate(json!({ "from": from, "text": "Hello" })).await, key)
}

/// Which waits in memory to be written down.
pub async fn reads_a_list(workspace: &Workspace<'_>) {
    let key = workspace.key("reader", "read", Mode::Live).await;
    assert_eq!(key.get("/conversations").await.status, 200);
}

pub async fn gets_mail(workspace: &Workspace<'_>) {
    conversation(workspace, "ada@customer.test").await;
}

pub async fn gets_a_file(workspace: &Workspace<'_>) {
    let inbox = workspace.mailbox(&format!("files@{}.example", workspace.id.0), "Files").await;
    workspace.receives(inbox, &with_file("f", "note.txt", b"Invoice\nTotal: 5.00 EUR\n")).await;
}

pub async fn gets_live_mail(workspace: &Workspace<'_>, many: usize) {
    let name = workspace.world.app.random.hex(8);
    let inbox = workspace.mailbox(&format!("{name}@{}.example", workspace.id.0), "Sorted").await;
    for number in 0..many {
        let from = format!("c{number}@customer.example");
        workspace.mail(inbox, &from, "Parcel", "Where is my order?").await;
    }
}

pub async fn wants_a_model(workspace: &Workspace<'_>, kind: &str) {
    let now = workspace.world.now();
    let insert = format!(
        "insert into assistant_tasks (workspace_id, about, kind, since, due_at) values ({}, 1, '{kind}', '{now}', '{now}')",
        workspace.id.0,
    );
    workspace.world.sql(&insert).await;
}

pub async fn corrects_mail(workspace: &Workspace<'_>) {
    gets_live_mail(workspace, 30).await;
    let insert = format!(
        "insert into corrections (workspace_id, message_id, field, after, person_id, at)
         select workspace_id, id, 'topic', 'order', {}, at from messages where workspace_id = {}",
        workspace.owner.0, workspace.id.0
    );
    workspace.world.sql(&insert).await;
}

pub async fn sends_to(workspace: &Workspace<'_>, to: &str) {
    let (id, key) = conversation(workspace, to).await;
    key.sends(&id, "Hello.").await;
}

pub async fn sends_live(workspace: &Workspace<'_>) {
    let address = format!("help@{}.example", workspace.id.0);
    let (inbox, key) =
        (workspace.mailbox(&address, "Help").await, workspace.key("live", "send", Mode::Live).await);
    let id = workspace.mail(inbox, "ada@customer.example", "Parcel", "Where is it?").await.to_string();
    key.sends(&id, "Here.").await;
}

pub async fn asks_for_documents(workspace: &Workspace<'_>) {
    let (id, key) = conversation(workspace, "ada@customer.test").await;
    let asked = json!({ "documents": [{ "label": "Passport" }], "message": "Please.", "send": true });
    let reply = key.post(&format!("/conversations/{id}/document-requests"), asked).await;
    assert_eq!(reply.status, 201, "{}", reply.text);
}

pub async fn has_a_notice(workspace: &Workspace<'_>) {
    let insert = format!(
        "insert into notices (workspace_id, id, recipient, kind, subject, body, created_at, due_at)
         values ({id}, {id}, 'olga@rookery.example', 'test', 'A test', 'A test.', '{now}', '{now}')",
        id = workspace.id.0,
        now = workspace.world.now()
    );
    workspace.world.sql(&insert).await;
}

pub async fn has_a_booking(workspace: &Workspace<'_>) {
    let inbox = workspace.mailbox(&format!("book@{}.example", workspace.id.0), "Book").await;
    let insert = format!(
        "insert into booking_types (workspace_id, id, mailbox_id, slug, name, minutes, created_at)
         values ({w}, {w}, {}, 'call', 'Call', 30, '{now}');
         insert into booking_hosts values ({w}, {o}, 'UTC') on conflict do nothing;
         insert into bookings (workspace_id, id, type_id, host_id, series_id, starts_at, ends_at, held, name, email, created_at)
         select {w}, {w}, {w}, {o}, {w}, t, t + interval '1 hour', tstzrange(t, t + interval '1 hour'), 'Ada',
             'ada@customer.example', '{now}' from (select timestamptz '{now}' + interval '90 days' as t) day;
         insert into booking_mail (workspace_id, booking_id, recipient, kind, due_at)
         values ({w}, {w}, 'visitor', 'invitation', '{now}')",
        inbox.0,
        w = workspace.id.0,
        o = workspace.owner.0,
        now = workspace.world.now()
    );
    workspace.world.sql(&insert).await;
}

pub async fn has_something_unread(workspace: &Workspace<'_>) {
    let insert = format!(
        "insert into notification_mail (workspace_id, person_id, due_at) values ({}, {}, '{}')",
        workspace.id.0,
        workspace.owner.0,
        workspace.world.now()
    );
    workspace.world.sql(&insert).await;
}

pub async fn snoozes(workspace: &Workspace<'_>, count: usize) {
    let (app, now) = (&workspace.world.app, workspace.world.now());
    for _ in 0..count {
        let (id, _) = conversation(workspace, "ada@customer.test").await;
        let id: ConversationId = id.parse().expect("an id");
        let mut tx = app.begin(workspace.id).await.unwrap();
        let olga = people::teammate(&mut tx, workspace.id, workspace.owner).await.unwrap();
        let locked = lock_any(&mut tx, id).await.unwrap();
        snooze::until(&mut tx, &locked, &olga, now + TimeDelta::hours(1)).await.unwrap();
        tx.commit().await.unwrap();
    }
}

pub async fn closes_many(workspace: &Workspace<'_>) {
    let inbox = workspace.mailbox(&format!("many@{}.example", workspace.id.0), "Many").await;
    let picked = workspace.many(inbox, 3, "word").await;
    let mut tx = workspace.world.app.begin(workspace.id).await.unwrap();
    let olga = people::teammate(&mut tx, workspace.id, workspace.owner).await.unwrap();
    bulk::start(&mut tx, &olga, &Action::Close, &picked).await.unwrap();
    tx.commit().await.unwrap();
}

pub async fn revokes_a_key(workspace: &Workspace<'_>) {
    let (_, key) = conversation(workspace, "ada@customer.test").await;
    workspace.revoke(&key).await;
}

pub async fn removes_a_person(workspace: &Workspace<'_>) {
    let mia = workspace.person("Mia", Role::Member).await;
    let mut tx = workspace.world.app.begin(workspace.id).await.unwrap();
    remove(&mut tx, &By::System, mia, HandOver::default()).await.unwrap();
    tx.commit().await.unwrap();
}

pub async fn sends_what_failed_again(workspace: &Workspace<'_>) {
    tells_a_webhook(workspace).await;
    let (app, now) = (&workspace.world.app, workspace.world.now());
    let failed = format!(
        "insert into delivery_log (workspace_id, webhook_id, state, kind, id, event_id, tries)
         select workspace_id, id, 'failed', 'turn.changed', {0}, {0}, '[]' from webhooks where workspace_id = {1}",
        lowest_at(now),
        workspace.id.0
    );
    workspace.world.sql(&failed).await;
    let id = sqlx::query_scalar("select id from webhooks where workspace_id = $1").bind(workspace.id.0);
    let id = WebhookId(id.fetch_one(&app.pool).await.unwrap());
    let again = RedeliveryRequest { since: now - TimeDelta::hours(1), skipped: false };
    redeliver_failed::ask(app, workspace.id, &By::System, id, again).await.expect("it can be asked for");
}

pub async fn tells_a_webhook(workspace: &Workspace<'_>) {
    let receiver = Receiver::start().await;
    let wanted = WebhookParameters {
        maker: workspace.owner,
        url: &receiver.url,
        livemode: false,
        scope: Scope::Team,
        kinds: &[],
    };
    create(&workspace.world.app, workspace.id, &By::System, wanted).await.expect("a webhook");
    gets_mail(workspace).await;
}

pub async fn has_a_delivery(workspace: &Workspace<'_>) {
    tells_a_webhook(workspace).await;
    let app = &workspace.world.app;
    fan_out::run(app, &app.loops.backoff_of("fan out events")).await.expect("it is fanned out");
}

pub async fn has_app_mail(workspace: &Workspace<'_>) {
    let insert = format!(
        "insert into app_mail (workspace_id, livemode, message_id, reference, recipients, subject, recorded_at)
         values ({}, true, 'order-1@shop.example', 'order-1', array['ada@customer.example'], 'Order', '{}')",
        workspace.id.0,
        workspace.world.now()
    );
    workspace.world.sql(&insert).await;
}

pub async fn wants_words(workspace: &Workspace<'_>) {
    let receiver = Receiver::start().await;
    let body = json!({ "text": "Please pay." }).to_string();
    receiver.answers_with(Answering { body, ..Answering::with(200) });
    let content_url = format!("{}/{{id}}", receiver.url);
    let service = Service {
        person: workspace.owner,
        name: "Mailer",
        content_url: &content_url,
        token: "token",
        provider: Provider::Own,
        key: "",
    };
    connect(&workspace.world.app, workspace.id, service).await.expect("a service");
    let address = format!("help@shop-{}.example", workspace.id.0);
    let inbox = workspace.mailbox(&address, "Help").await;
    let reply = workspace.mail(inbox, "ada@customer.example", "Re: Order", "Thanks").await;
    let insert = format!(
        "insert into app_mail
             (workspace_id, livemode, message_id, recipients, subject, recorded_at, conversation_id, service_id,
              words_due_at)
         select {id}, true, 'order-2@shop.example', array['ada@customer.example'], 'Order', '{now}', {reply}, id, '{now}'
         from sending_services where workspace_id = {id}",
        id = workspace.id.0,
        now = workspace.world.now(),
        reply = reply.0
    );
    workspace.world.sql(&insert).await;
}

pub async fn erases_a_contact(workspace: &Workspace<'_>) {
    gets_mail(workspace).await;
    let mut tx = workspace.world.app.begin(workspace.id).await.unwrap();
    let olga = people::teammate(&mut tx, workspace.id, workspace.owner).await.unwrap();
    ask::erase(&mut tx, &olga, "ada@customer.test", "").await.unwrap();
    tx.commit().await.unwrap();
}

pub async fn keeps_mail_for_a_month(workspace: &Workspace<'_>) {
    let inbox = workspace
        .mailbox(
            &format!("kept-{}@{}.example", workspace.world.app.random.letters(5), workspace.id.0),
            "Kept",
        )
        .await;
    let id = workspace.mail(inbox, "ada@customer.example", "Parcel", "Where is it?").await;
    workspace.set(id, "status = 'closed'").await;
    let mut tx = workspace.world.app.begin(workspace.id).await.unwrap();
    let olga = people::teammate(&mut tx, workspace.id, workspace.owner).await.unwrap();
    keep_days::set(&mut tx, &olga, &[(inbox, Some(30))]).await.unwrap();
    tx.commit().await.unwrap();
}

pub async fn has_a_file_to_remove(workspace: &Workspace<'_>) {
    let insert = format!(
        "insert into doomed_files (workspace_id, blob, since) values ({}, 'ws/{}/2026-01-01/file/none', '{}')",
        workspace.id.0,
        workspace.id,
        workspace.world.now()
    );
    workspace.world.sql(&insert).await;
}

pub async fn threw_a_draft_away(workspace: &Workspace<'_>) {
    let insert = format!(
        "insert into written_drafts (workspace_id, id, person_id, kind, version, saved_at, became, became_at)
         values ({}, 1, {}, 'new', 1, '{now}', 0, '{now}')",
        workspace.id.0,
        workspace.owner.0,
        now = workspace.world.now()
    );
    workspace.world.sql(&insert).await;
}

pub async fn asks_for_an_export(workspace: &Workspace<'_>) {
    gets_mail(workspace).await;
    let mut tx = workspace.world.app.begin(workspace.id).await.unwrap();
    let olga = people::teammate(&mut tx, workspace.id, workspace.owner).await.unwrap();
    exports::ask(&mut tx, &olga, None).await.unwrap();
    tx.commit().await.unwrap();
}

pub async fn has_another_calendar(workspace: &Workspace<'_>) {
    let receiver = Receiver::start().await;
    let body = "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nEND:VCALENDAR\r\n".to_owned();
    receiver.answers_with(Answering { body, ..Answering::with(200) });
    let app = &workspace.world.app;
    let owner =
        people::teammate(&mut app.connection().await.unwrap(), workspace.id, workspace.owner).await.unwrap();
    let typed =
        busy::CalendarForm { kind: busy::CalendarKind::Feed, address: &receiver.url, name: "", password: "" };
    busy::connect(app, &owner, typed).await.expect("a calendar");
}
