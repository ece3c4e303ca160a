//! How the agency has set itself up: a signature for each inbox, saved replies, rules, views that the owner saved, and a
//! colleague who is away this week. Each is set by the verb of its page.

use chrono::TimeDelta;

use crate::demo::cast::Cast;
use rookery_base::app::App;
use rookery_base::error::Result;
use rookery_base::ids::WorkspaceId;
use rookery_base::store::db::Tx;
use rookery_core::conversations::views::saved::{self, SavedViewKind};
use rookery_core::rules::definition::{Action, Condition, ConditionKind, Definition, Trigger};
use rookery_core::rules::store;
use rookery_core::workspace::inbox_settings::period::ReplyPeriod;
use rookery_core::workspace::people::away;
use rookery_core::workspace::signatures::{self, TypedSignature};
use rookery_product::documents::items::ChecklistItem;
use rookery_product::documents::lists;
use rookery_product::replies::saved_replies;
use rookery_reading::html::written;

/// Formatted, by the part of the inbox's address before the `@`.
const SIGNATURES: [(&str, &str); 3] = [
    (
        "lettings",
        "<div>{{agent.first_name}}</div><div><b>Larkfield Homes</b>, Lettings</div><div>12 Market Row, Marsh End</div>",
    ),
    (
        "accounts",
        "<div>{{agent.first_name}}</div><div><b>Larkfield Homes</b>, Accounts & deposits</div>\
         <div><i>We change bank details only after a call.</i></div>",
    ),
    (
        "repairs",
        "<div>{{agent.first_name}}</div><div><b>Larkfield Homes</b>, Repairs</div>\
         <div>Water or gas? Don’t write, call: <a href=\"tel:01632960100\">01632 960 100</a></div>",
    ),
];

/// A saved reply with a list.
const APPLICATION: &str = "<div>Hello {{customer.first_name|there}},</div><div><br></div><div>to apply, please send us:</div>\
    <ul><li>a copy of your passport or identity card</li><li>your last three payslips</li>\
    <li>a reference from your current landlord</li></ul>\
    <div>A photo from your phone is fine if <b>everything can be read</b>.</div>";

/// What somebody who wants to move in is asked for.
const APPLICANTS: [(&str, bool); 4] = [
    ("Passport or identity card", true),
    ("Last three payslips", true),
    ("Reference from your landlord", true),
    ("Proof of your current address", false),
];

const SAVED_REPLIES: [(&str, &str); 6] = [
    (
        "Viewing: choose a time",
        "Hello {{customer.first_name|there}},\n\nthank you for your interest! You can choose a time that suits you on our \
         page for viewings. It takes half an hour, and you are welcome to bring someone along.",
    ),
    (
        "Deposit: how long it takes",
        "Hello {{customer.first_name|there}},\n\nonce the inventory is signed, your deposit goes back within ten working days, \
         to the account it came from. We’ll write if anything is deducted, with the receipts.",
    ),
    (
        "Repair: we’re on it",
        "Hello {{customer.first_name|there}},\n\nthank you for telling us. I’ve passed it on and will let you know today when \
         someone can come. If it gets worse in the meantime, please call us on 01632 960 100.",
    ),
    (
        "Bank details: we call first",
        "Hello {{customer.first_name|there}},\n\nfor your protection we change bank details only after a call to the number we \
         have on file. I’ll ring you today. Until then nothing changes.",
    ),
    (
        "Keys: when and where",
        "Hello {{customer.first_name|there}},\n\nyou can collect the keys at 12 Market Row, Monday to Friday from 9 to 5. Please \
         bring an identity card.",
    ),
    (
        "Not available any more",
        "Hello {{customer.first_name|there}},\n\nI’m sorry, this one has just been let. Shall I write to you when something \
         similar comes up?",
    ),
];

const VIEWS: [(&str, SavedViewKind, &str); 3] = [
    ("Nobody has it yet", SavedViewKind::List, "view=unassigned&order=oldest"),
    ("Deposits", SavedViewKind::Search, "q=tag%3Adeposit"),
    ("With files, still open", SavedViewKind::Search, "q=has%3Aattachment+is%3Aopen"),
];

const AWAY: &str = "Hello,\n\nI’m away for a few days and back next week. Mia has my desk in the meantime: just answer \
    this email and it reaches her.\n\nSanne";

pub async fn furnish(app: &App, workspace: WorkspaceId, cast: &Cast) -> Result<()> {
    let mut tx = app.begin(workspace).await?;
    let (admin, owner) = (cast.person("Ada")?, cast.person("Owner")?);
    for (inbox, signature) in SIGNATURES {
        let typed = TypedSignature { text: "", html: Some(signature) };
        signatures::set(&mut tx, admin, cast.inbox(inbox)?.id, typed).await?;
    }
    for (name, body) in SAVED_REPLIES {
        saved_replies::put(&mut tx, admin, None, name, body, "").await?;
    }
    let formatted = written::stored(APPLICATION).unwrap_or_default();
    let body = written::text(&formatted);
    saved_replies::put(&mut tx, admin, None, "Application: what we need", &body, &formatted).await?;
    let asked = APPLICANTS.map(|(label, required)| ChecklistItem {
        label: label.into(),
        description: None,
        required,
    });
    lists::save(&mut tx, admin, "New tenant", &asked).await?;
    for (name, kind, query) in VIEWS {
        saved::save(&mut tx, owner, name, kind, query).await?;
    }
    rules(&mut tx, cast).await?;
    let now = tx.now();
    let period =
        ReplyPeriod { from: Some(now - TimeDelta::hours(16)), until: Some(now + TimeDelta::days(5)) };
    away::set(&mut tx, cast.person("Sanne")?, period, AWAY).await?;
    tx.commit().await
}

/// In their order. The last one is off: it is for December.
async fn rules(tx: &mut Tx<'_>, cast: &Cast) -> Result<()> {
    let admin = cast.person("Ada")?;
    let is = |test| Condition { is: true, test };
    let words = |words: &[&str]| -> Vec<String> { words.iter().map(|word| (*word).to_owned()).collect() };
    let tag = |tag: &str| Action::Tag { tag: tag.to_owned() };
    let [lettings, accounts, repairs] =
        [cast.inbox("lettings")?, cast.inbox("accounts")?, cast.inbox("repairs")?];
    let all = [
        (
            "Leaks come first",
            Trigger::MailArrives,
            vec![
                is(ConditionKind::Inbox { inbox: repairs.id }),
                is(ConditionKind::Words { words: words(&["leak", "burst pipe", "Rohrbruch", "fuite"]) }),
            ],
            vec![tag("leak")],
        ),
        (
            "Suppliers’ invoices",
            Trigger::MailArrives,
            vec![
                is(ConditionKind::Inbox { inbox: accounts.id }),
                is(ConditionKind::Subject { words: words(&["invoice"]) }),
                is(ConditionKind::Attachment),
            ],
            vec![tag("supplier"), tag("invoice")],
        ),
        (
            "Urgent: tell Wanjirũ",
            Trigger::TagSet { tag: "urgent".to_owned() },
            Vec::new(),
            vec![Action::Notify { person: cast.person("Wanjirũ")?.id }],
        ),
        (
            "Before Christmas: January is soon enough",
            Trigger::MailArrives,
            vec![is(ConditionKind::Inbox { inbox: lettings.id })],
            vec![Action::Snooze { hours: 14 * 24 }],
        ),
    ];
    let mut last = None;
    for (name, when, conditions, then) in all {
        let definition = Definition { when, conditions, then };
        last = Some(store::put(tx, admin, None, name, definition).await?);
    }
    if let Some(last) = last {
        store::turn(tx, &admin.by(), last, false).await?;
    }
    Ok(())
}
