//! Nodes are killed fifty times right after a visitor was told "booked". Everybody gets exactly one invitation.

use std::collections::BTreeMap;
use std::time::Duration;

use chrono::{DateTime, Days, Utc};
use rookery_base::app::App;
use rookery_base::clock::Clock;
use rookery_base::config::Config;
use rookery_base::ids::{BookingTypeId, ConversationId, PersonId, WorkspaceId};
use rookery_base::random::Random;
use rookery_core::conversations::conversation;
use rookery_core::workspace::{mailboxes, people};
use rookery_product::bookings;
use sqlx::PgPool;

use rookery_world::sink::Sink;
use rookery_world::site::{SECRET_KEY, Site};

const KILLS: usize = 50;
/// In milliseconds: the loop that mails looks every second.
const LONGEST_PAUSE: u64 = 1100;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
#[ignore = "fifty kills take minutes: just kill-bookings"]
async fn everybody_gets_exactly_one_invitation_after_fifty_kills() {
    let site = Site::migrated().await;
    let (workspace, owner) = site.workspace();
    let (workspace, owner): (WorkspaceId, PersonId) = (workspace.parse().unwrap(), owner.parse().unwrap());
    let sink = Sink::start().await;
    let relay = sink.relay();
    let settings = [
        ("ROOKERY_RELAY", relay.as_str()),
        ("ROOKERY_LEASE_SECONDS", "6"),
        ("ROOKERY_RATE_LIMIT_REQUESTS", "100000"),
    ];
    let pool = PgPool::connect(site.database.url()).await.unwrap();
    let blobs = format!("file://{}", site.folder.join("blobs").display());
    let given = [("DATABASE_URL", site.database.url()), ("SECRET_KEY", SECRET_KEY), ("BLOBS", &blobs)];
    let given = given.iter().map(|(key, value)| (format!("ROOKERY_{key}"), (*value).to_owned()));
    let app = App::new(Config::load(None, given).unwrap(), Clock::system(), Random::system()).unwrap();
    let inbox = mailboxes::create(
        &app,
        workspace,
        &rookery_core::workspace::access::By::System,
        "help@acme.example",
        "Help",
        None,
    )
    .await
    .unwrap();
    let kind = BookingTypeId(inbox.0 + 1);
    let setup = format!(
        "insert into booking_types (workspace_id, id, mailbox_id, slug, name, minutes, step, notice_minutes, created_at)
         values ({w}, {k}, {i}, 'call', 'Call', 15, 15, 0, now());
         insert into booking_hosts values ({w}, {o}, 'UTC');
         insert into booking_hours select {w}, {o}, day, 0, 1440 from generate_series(1, 7) day;
         insert into booking_type_hosts (workspace_id, type_id, person_id) values ({w}, {k}, {o});",
        w = workspace.0, k = kind.0, i = inbox.0, o = owner.0
    );
    sqlx::raw_sql(sqlx::AssertSqlSafe(setup)).execute(&pool).await.unwrap();
    let slug: String = sqlx::query_scalar("select slug from workspaces where id = $1")
        .bind(workspace.0)
        .fetch_one(&pool)
        .await
        .unwrap();
    let http = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build().unwrap();
    let tomorrow = (app.clock.now().date_naive() + Days::new(2)).and_time(chrono::NaiveTime::MIN).and_utc();
    let mut seed: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut node = site.serve("node0", &settings).await;
    for n in 0..KILLS {
        let id = mail_from(&app, workspace, inbox, n).await;
        let link = {
            let mut conn = app.connection().await.unwrap();
            let olga = people::teammate(&mut conn, workspace, owner).await.unwrap();
            let found =
                conversation::find_visible(&mut conn, &olga, app.clock.now(), &id.to_string()).await.unwrap();
            bookings::link::offer_link(&app, &mut conn, workspace, kind, &found).await.unwrap()
        };
        let path = format!("/book/{slug}/call?offer={}", link.rsplit("/b/").next().unwrap());
        let at: DateTime<Utc> = tomorrow + chrono::TimeDelta::minutes(15 * n as i64);
        let form = [("at", at.format("%Y-%m-%dT%H:%MZ").to_string()), ("name", format!("V {n}"))];
        let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(&form).finish();
        let answer = http
            .post(format!("{}{path}", node.address))
            .header("content-type", "application/x-www-form-urlencoded")
            .body(body)
            .send()
            .await
            .unwrap();
        assert_eq!(answer.status(), 303, "{}", answer.text().await.unwrap());
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        tokio::time::sleep(Duration::from_millis((seed >> 33) % LONGEST_PAUSE)).await;
        node.kill();
        node = site.serve(&format!("node{}", n + 1), &settings).await;
    }
    for _ in 0..120 {
        let left: i64 = sqlx::query_scalar(
            "select count(*) from booking_mail where kind = 'invitation' and due_at is not null",
        )
        .fetch_one(&pool)
        .await
        .unwrap();
        if left == 0 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    let mut invited: BTreeMap<String, BTreeMap<String, usize>> = BTreeMap::new();
    for mail in sink.taken().iter().filter(|mail| mail.raw.contains("METHOD:REQUEST")) {
        let id = mail.field("Message-ID").expect("a Message-ID");
        *invited.entry(mail.to.clone()).or_default().entry(id).or_default() += 1;
    }
    let twice: usize = invited.values().flat_map(BTreeMap::values).filter(|many| **many > 1).count();
    for n in 0..KILLS {
        let own = invited
            .get(&format!("v{n}@customer.example"))
            .unwrap_or_else(|| panic!("visitor {n} got nothing"));
        assert_eq!(own.len(), 1, "visitor {n} got {own:?}");
    }
    let host = invited.get("olga@acme.example").expect("the host is invited");
    assert_eq!(host.len(), KILLS, "the host got one for each");
    println!(
        "{KILLS} kills, {KILLS} visitors with one invitation each; {twice} were handed over again with the same Message-ID"
    );
    node.kill();
    pool.close().await;
}

/// A mail that opens a conversation.
async fn mail_from(
    app: &App,
    workspace: WorkspaceId,
    inbox: rookery_base::ids::MailboxId,
    n: usize,
) -> ConversationId {
    use rookery_mail::incoming::authenticate::Dmarc;
    use rookery_mail::incoming::delivery::{Delivery, Received};
    let mailbox = mailboxes::live(&mut app.connection().await.unwrap(), workspace, inbox).await.unwrap();
    let raw = format!(
        "Message-ID: <m{n}@customer.example>\r\nFrom: v{n}@customer.example\r\nTo: help@acme.example\r\nSubject: Hello {n}\r\n\r\nHello\r\n"
    );
    match rookery_mail::incoming::receive::receive(
        app,
        workspace,
        Delivery::from_raw(mailbox, raw.into_bytes(), Dmarc::Unknown),
    )
    .await
    .unwrap()
    {
        Received::Stored(stored) => stored.conversation,
        other => panic!("{other:?}"),
    }
}
