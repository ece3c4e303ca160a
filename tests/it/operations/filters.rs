//! The list against a naive one: hundreds of random conversations, hundreds of random filters.

use chrono::{DateTime, TimeDelta, Utc};
use rookery_base::ids::{AgentId, ConversationId, Id, MailboxId};
use rookery_base::random::Random;
use rookery_core::workspace::people::Role;

use rookery_world::UNHURRIED;
use rookery_world::{Key, Mode, Workspace, story_with};

const CONVERSATIONS: usize = 400;
const FILTERS: usize = 300;
const WORDS: [&str; 4] = ["parcel", "invoice", "refund", "école"];
const REFERENCES: [&str; 3] = ["inv-1", "inv-2", "inv-10"];
const SANDBOX: i64 = -1;

struct Row {
    id: ConversationId,
    mailbox: MailboxId,
    audience: i64,
    status: &'static str,
    snoozed_until: Option<DateTime<Utc>>,
    assignee: Option<(&'static str, i64)>,
    reference: Option<&'static str>,
    at: DateTime<Utc>,
    words: Vec<&'static str>,
}

struct Filter {
    view: &'static str,
    mailbox: Option<MailboxId>,
    assigned: Option<&'static str>,
    reference: Option<&'static str>,
    words: Vec<&'static str>,
    limit: Option<usize>,
}

/// proves: LIST-9, LIST-12, LIST-15, VIS-1, VIS-2, VIS-3
#[tokio::test]
async fn the_list_agrees_with_a_naive_filter_of_the_same_rows() {
    story_with(UNHURRIED, async |world| {
        let acme = world.workspace("Acme").await;
        let admin = acme.person("Adam Admin", Role::Admin).await;
        let inboxes = [
            (acme.mailbox("help@acme.example", "Support").await, 0),
            (acme.mailbox("sales@acme.example", "Sales").await, 0),
            (acme.private_mailbox("olga@acme.example", "Olga", acme.owner).await, acme.owner.0),
            (acme.private_mailbox("adam@acme.example", "Adam", admin).await, admin.0),
            (sandbox_of(&acme).await, SANDBOX),
        ];
        let keys = [
            (acme.key("olga-bot", "read", Mode::Live).await, vec![0, acme.owner.0]),
            (acme.key_of(admin, "adam-bot", "read", Mode::Live).await, vec![0, admin.0]),
            (acme.key("test-bot", "read", Mode::Test).await, vec![SANDBOX]),
        ];
        let random = Random::seeded(20_310_106);
        let agents: Vec<AgentId> = keys.iter().map(|(key, _)| key.agent).collect();
        let mut rows = Vec::new();
        for _ in 0..CONVERSATIONS {
            let row = a_row(&random, world.now(), &inboxes, &agents, acme.owner.0);
            insert(&acme, &row).await;
            rows.push(row);
        }
        let mut hits = 0;
        for number in 0..FILTERS {
            let (key, audiences) = &keys[number % keys.len()];
            let visible: Vec<_> = inboxes
                .iter()
                .filter(|(_, audience)| audiences.contains(audience))
                .map(|(id, _)| *id)
                .collect();
            let filter = a_filter(&random, &visible);
            let wanted = naive(&rows, &filter, key, audiences, world.now());
            hits += wanted.len();
            let query = filter.query();
            assert_eq!(key.listed(&query).await, wanted, "filter {number}: {query}");
        }
        assert!(hits > FILTERS, "only {hits} hits: the filters are too narrow to show anything");
    })
    .await;
}

fn naive(rows: &[Row], filter: &Filter, key: &Key<'_>, audiences: &[i64], now: DateTime<Utc>) -> Vec<String> {
    let mut found: Vec<&Row> = rows
        .iter()
        .filter(|row| audiences.contains(&row.audience))
        .filter(|row| filter.view == "all" || row.view(now) == filter.view)
        .filter(|row| filter.mailbox.is_none_or(|mailbox| row.mailbox == mailbox))
        .filter(|row| match filter.assigned {
            None => true,
            Some("me") => row.assignee == Some(("agent", key.agent.0)),
            Some(_) => row.assignee.is_none(),
        })
        .filter(|row| filter.reference.is_none_or(|reference| row.reference == Some(reference)))
        .filter(|row| filter.words.iter().all(|word| row.words.contains(word)))
        .collect();
    found.sort_by_key(|row| std::cmp::Reverse((row.at, row.id)));
    found.iter().take(filter.limit.unwrap_or(25)).map(|row| row.id.to_string()).collect()
}

impl Row {
    fn view(&self, now: DateTime<Utc>) -> &'static str {
        match self.snoozed_until {
            Some(until) if until > now => "snoozed",
            Some(_) => "open",
            None => self.status,
        }
    }
}

impl Filter {
    fn query(&self) -> String {
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        query.append_pair("view", self.view);
        if let Some(mailbox) = self.mailbox {
            query.append_pair("mailbox", &mailbox.to_string());
        }
        if let Some(assigned) = self.assigned {
            query.append_pair("assigned", assigned);
        }
        if let Some(reference) = self.reference {
            query.append_pair("reference", &reference.to_uppercase());
        }
        if !self.words.is_empty() {
            query.append_pair("q", &self.words.join(" ").replace("école", "ECOLE"));
        }
        if let Some(limit) = self.limit {
            query.append_pair("limit", &limit.to_string());
        }
        query.finish()
    }
}

fn a_row(
    random: &Random,
    now: DateTime<Utc>,
    inboxes: &[(MailboxId, i64)],
    agents: &[AgentId],
    person: i64,
) -> Row {
    let (mailbox, audience) = any(random, inboxes);
    let status = any(random, &["open", "open", "waiting", "closed"]);
    let assignee = match random.number() % 4 {
        0 => Some(("user", person)),
        1 | 2 => Some(("agent", any(random, agents).0)),
        _ => None,
    };
    let snoozed_until = match random.number() % 6 {
        0 => Some(now + TimeDelta::hours(1)),
        1 => Some(now - TimeDelta::hours(1)),
        2 => Some(now),
        _ => None,
    };
    // Few instants, so that many are tied.
    let at = now - TimeDelta::minutes((random.number() % 40) as i64);
    Row {
        id: ConversationId::mint(at, random),
        mailbox,
        audience,
        status,
        snoozed_until: snoozed_until.filter(|_| status != "closed"),
        assignee,
        reference: one_in(random, 2).then(|| any(random, &REFERENCES)),
        at,
        words: WORDS.into_iter().filter(|_| one_in(random, 2)).collect(),
    }
}

fn a_filter(random: &Random, visible: &[MailboxId]) -> Filter {
    let reference = one_in(random, 3).then(|| any(random, &REFERENCES));
    let views = ["open", "open", "waiting", "snoozed", "closed", "all"];
    let views = if reference.is_some() { &views[..] } else { &views[..5] };
    Filter {
        view: any(random, views),
        mailbox: one_in(random, 3).then(|| any(random, visible)),
        assigned: one_in(random, 3).then(|| any(random, &["me", "unassigned"])),
        reference,
        words: match random.number() % 3 {
            0 => WORDS.into_iter().filter(|_| one_in(random, 3)).collect(),
            _ => Vec::new(),
        },
        limit: one_in(random, 2).then(|| any(random, &[1, 2, 3, 10, 100])),
    }
}

fn any<T: Copy>(random: &Random, of: &[T]) -> T {
    of[random.number() as usize % of.len()]
}

fn one_in(random: &Random, many: u64) -> bool {
    random.number().is_multiple_of(many)
}

async fn sandbox_of(acme: &Workspace<'_>) -> MailboxId {
    sqlx::query_scalar("select id from mailboxes where workspace_id = $1 and kind = 'sandbox'")
        .bind(acme.id)
        .fetch_one(&acme.world.app.pool)
        .await
        .expect("every workspace has a sandbox inbox")
}

async fn insert(acme: &Workspace<'_>, row: &Row) {
    sqlx::query(
        "with stored as (
             insert into conversations (workspace_id, id, mailbox_id, audience, subject, status, snoozed_until,
                 assignee_type, assignee_id, reference, created_at, last_message_at)
             values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $11))
         insert into unindexed_conversations (workspace_id, conversation_id, since) values ($1, $2, $11)",
    )
    .bind(acme.id)
    .bind(row.id)
    .bind(row.mailbox)
    .bind(row.audience)
    .bind(format!("About: {}", row.words.join(", ")))
    .bind(row.status)
    .bind(row.snoozed_until)
    .bind(row.assignee.map(|(kind, _)| kind))
    .bind(row.assignee.map_or(0, |(_, id)| id))
    .bind(row.reference)
    .bind(row.at)
    .execute(&acme.world.app.pool)
    .await
    .expect("a sound row");
}
