//! The list as people work with it: views and their counts, what rows tell, pages, and what each has read.

use chrono::{DateTime, TimeDelta, Utc};
use rookery_base::ids::{ConversationId, MailboxId, PersonId};
use rookery_base::search_terms;
use rookery_base::store::db::{Handle, Reading};
use rookery_core::conversations::conversation::find_visible;
use rookery_core::conversations::filter::{ConversationCursor, ConversationFilter, View};
use rookery_core::conversations::search::excerpts::{self, ExcerptPiece};
use rookery_core::conversations::search::index;
use rookery_core::conversations::search::pending::Searched;
use rookery_core::conversations::unread;
use rookery_core::conversations::views::counts::{self, Counts};
use rookery_core::conversations::views::rows::{self, ConversationRow, RowsPage};
use rookery_core::conversations::views::view::{AskedView, InboxView, Order};
use rookery_core::workspace::access::MemberId;
use rookery_core::workspace::people::{self, Person, Role};
use serde_json::json;

use rookery_world::{Message, Mode, Workspace, World, story};

async fn person(acme: &Workspace<'_>, id: PersonId) -> Person {
    people::teammate(&mut acme.world.app.connection().await.unwrap(), acme.id, id).await.unwrap()
}

async fn view(
    world: &World,
    who: &Person,
    asked: &AskedView,
    before: Option<ConversationCursor>,
) -> RowsPage {
    let mut conn = world.app.connection().await.unwrap();
    let filter = asked.filter(who, before, 10).expect("a list");
    if asked.unread {
        rows::unread_page(&mut conn, who, world.now(), &filter, asked.order).await.unwrap()
    } else {
        rows::page(&mut conn, who, world.now(), &filter, asked.order).await.unwrap()
    }
}

async fn shown(world: &World, who: &Person, view_: InboxView) -> Vec<ConversationId> {
    let asked = AskedView { view: view_, ..AskedView::default() };
    view(world, who, &asked, None).await.rows.iter().map(|row| row.id).collect()
}

async fn row(world: &World, who: &Person, id: ConversationId) -> ConversationRow {
    let mut conn = world.app.connection().await.unwrap();
    rows::load(&mut conn, who, world.now(), &[id.0]).await.unwrap().pop().expect("a row")
}

async fn opens(world: &World, who: &Person, id: ConversationId) {
    let mut tx = world.app.begin(who.workspace).await.unwrap();
    let now = tx.now();
    let conversation = find_visible(&mut tx, who, now, &id.to_string()).await.unwrap();
    unread::seen(&mut tx, who, &conversation).await.unwrap();
    tx.commit().await.unwrap();
}

async fn marks_unread(world: &World, who: &Person, id: ConversationId) {
    let mut tx = world.app.begin(who.workspace).await.unwrap();
    let now = tx.now();
    let conversation = find_visible(&mut tx, who, now, &id.to_string()).await.unwrap();
    unread::mark_unread(&mut tx, who, &conversation).await.unwrap();
    tx.commit().await.unwrap();
}

/// An answer of the customer.
async fn answers(acme: &Workspace<'_>, inbox: MailboxId, number: usize, to: &str) {
    let raw = format!(
        "Message-ID: <answer{number}@customer.example>\nFrom: anna@customer.example\nReferences: <{to}>\n\nAnswer\n"
    );
    acme.receives(inbox, &raw).await;
}

#[tokio::test]
async fn what_one_person_has_read_is_unread_for_the_others_until_they_read_it() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let [olga, mia] = [acme.owner, acme.person("Mia Member", Role::Member).await];
        let [olga, mia] = [person(&acme, olga).await, person(&acme, mia).await];
        let id = acme.mail(help, "anna@customer.example", "Parcel", "Hello").await;
        let ours = "ours@acme.example";
        acme.outbound(id, Message { status: "sent", text: "Hi", rfc_message_id: Some(ours) }).await;
        let unread = async || (row(world, &olga, id).await.unread, row(world, &mia, id).await.unread);
        assert_eq!(unread().await, (true, true));
        opens(world, &olga, id).await;
        assert_eq!(unread().await, (false, true));
        opens(world, &mia, id).await;
        assert_eq!(unread().await, (false, false));

        world.wait(TimeDelta::minutes(1));
        acme.outbound(id, Message { status: "sent", text: "More of ours", rfc_message_id: None }).await;
        acme.note(id, "Olga", "A note").await;
        assert_eq!(unread().await, (false, false), "what we write is not unread");

        world.wait(TimeDelta::minutes(1));
        answers(&acme, help, 1, ours).await;
        assert_eq!(unread().await, (true, true), "new mail is unread for everybody");
        opens(world, &mia, id).await;
        marks_unread(world, &olga, id).await;
        assert_eq!(unread().await, (true, false));
        opens(world, &olga, id).await;
        marks_unread(world, &mia, id).await;
        assert_eq!(unread().await, (false, true), "a person can come back to what they have read");
    })
    .await;
}

#[tokio::test]
async fn old_mail_that_was_never_opened_is_not_unread_unless_somebody_marked_it() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let olga = person(&acme, acme.owner).await;
        let id = acme.mail(help, "anna@customer.example", "Parcel", "Hello").await;
        assert!(row(world, &olga, id).await.unread);
        world.wait(unread::FRESH);
        assert!(!row(world, &olga, id).await.unread);
        marks_unread(world, &olga, id).await;
        assert!(row(world, &olga, id).await.unread);
    })
    .await;
}

/// proves: APP-7, VIS-16
#[tokio::test]
async fn views_have_what_their_names_say_and_counts_agree_with_them() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let mia = acme.person("Mia Member", Role::Member).await;
        let private = acme.private_mailbox("mia@acme.example", "Mia", mia).await;
        let [olga, mia] = [person(&acme, acme.owner).await, person(&acme, mia).await];
        let bot = acme.key("bot", "read,draft", Mode::Live).await;
        let test = acme.key("tester", "read,write,draft", Mode::Test).await;
        test.simulate(json!({ "from": "x@y.test", "text": "Hello" })).await;

        let mut made = Vec::new();
        for subject in ["open", "mine", "waiting", "closed", "snoozed", "woken"] {
            made.push(acme.mail(help, "anna@customer.example", subject, subject).await);
            world.wait(TimeDelta::seconds(1));
        }
        let [open, mine, waiting, closed, snoozed, woken] = made[..] else { panic!("six") };
        let hidden = acme.mail(private, "anna@customer.example", "For Mia alone", "Hello").await;
        acme.set(mine, &format!("assignee_type = 'user', assignee_id = {}", olga.id.0)).await;
        acme.set(waiting, "status = 'waiting'").await;
        acme.set(closed, "status = 'closed'").await;
        let later = world.now() + TimeDelta::days(1);
        acme.set(snoozed, &format!("snoozed_until = '{later}'")).await;
        acme.set(woken, &format!("snoozed_until = '{}'", world.now() - TimeDelta::minutes(1))).await;

        for (name, has) in [
            (InboxView::Open, &[woken, mine, open][..]),
            (InboxView::Mine, &[mine]),
            (InboxView::Unassigned, &[woken, open]),
            (InboxView::Waiting, &[waiting]),
            (InboxView::Snoozed, &[snoozed]),
            (InboxView::Closed, &[closed]),
        ] {
            assert_eq!(shown(world, &olga, name).await, has, "{name:?}");
        }
        assert_eq!(shown(world, &mia, InboxView::Open).await, [hidden, woken, mine, open]);
        let of_olga = AskedView {
            assignee: Some(MemberId::Person(olga.id)),
            mailbox: Some(help),
            ..AskedView::default()
        };
        assert_eq!(view(world, &mia, &of_olga, None).await.rows.len(), 1);
        let in_private = AskedView { mailbox: Some(private), ..AskedView::default() };
        assert_eq!(view(world, &olga, &in_private, None).await.rows.len(), 0);
        assert_eq!(row(world, &olga, snoozed).await.snoozed_until, Some(later));
        assert_eq!(row(world, &olga, woken).await.snoozed_until, None);

        bot.post(&format!("/conversations/{open}/replies"), json!({ "body": "A draft" })).await;
        acme.outbound(mine, Message { status: "scheduled", text: "Soon", rfc_message_id: None }).await;
        acme.outbound(hidden, Message { status: "sending", text: "Now", rfc_message_id: None }).await;
        let counts = async |who: &Person| {
            let mut conn = world.app.connection().await.unwrap();
            counts::load(&mut conn, who, world.now()).await.unwrap()
        };
        let of_olga = Counts {
            mine: 1,
            unassigned: 2,
            waiting: 1,
            snoozed: 1,
            to_approve: 1,
            outgoing: 1,
            notices: 0,
            mentioned: 0,
        };
        assert_eq!(counts(&olga).await, of_olga);
        assert_eq!(counts(&mia).await, Counts { mine: 0, unassigned: 3, outgoing: 2, ..of_olga });
    })
    .await;
}

#[tokio::test]
async fn a_row_tells_of_drafts_failures_and_files() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let olga = person(&acme, acme.owner).await;
        let bot = acme.key("bot", "read,draft", Mode::Live).await;
        let plain = acme.mail(help, "anna@customer.example", "Plain", "Hello").await;
        let first = row(world, &olga, plain).await;
        assert!(!first.to_approve && !first.failed && !first.files && !first.held);

        acme.outbound(plain, Message { status: "draft", text: "Mine", rfc_message_id: None }).await;
        assert!(!row(world, &olga, plain).await.to_approve, "what a person wrote waits for nobody else");
        bot.post(&format!("/conversations/{plain}/replies"), json!({ "body": "A draft" })).await;
        assert!(row(world, &olga, plain).await.to_approve);

        world.wait(TimeDelta::minutes(1));
        acme.outbound(plain, Message { status: "failed", text: "Lost", rfc_message_id: None }).await;
        assert!(row(world, &olga, plain).await.failed);
        world.wait(TimeDelta::minutes(1));
        acme.outbound(plain, Message { status: "sent", text: "Again", rfc_message_id: None }).await;
        assert!(!row(world, &olga, plain).await.failed, "it was sent after all");

        let raw = "From: ada@customer.example\nSubject: Files\nMIME-Version: 1.0\n\
                   Content-Type: multipart/mixed; boundary=b\n\n--b\n\nHello\n--b\nContent-Type: application/pdf\n\
                   Content-Disposition: attachment; filename=a.pdf\n\n%PDF a\n--b--\n";
        acme.receives(help, raw).await;
        let newest = view(world, &olga, &AskedView::default(), None).await;
        let with_file = newest.rows.iter().find(|row| row.subject == "Files").expect("it is listed");
        assert!(with_file.files);
    })
    .await;
}

#[tokio::test]
async fn pages_follow_each_other_without_gaps_or_repeats_in_both_orders() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let own = acme.private_mailbox("olga@acme.example", "Olga", acme.owner).await;
        let olga = person(&acme, acme.owner).await;
        let mut made = acme.many(help, 37, "case").await;
        world.wait(TimeDelta::milliseconds(500));
        made.extend(acme.many(own, 8, "case").await);
        // Several at the same moment, over the end of a page.
        let same = world.now() - TimeDelta::seconds(9);
        for id in &made[5..12] {
            acme.set(*id, &format!("last_message_at = '{same}'")).await;
        }
        for asked in [
            AskedView::default(),
            AskedView { order: Order::Oldest, ..AskedView::default() },
            AskedView { view: InboxView::Unassigned, ..AskedView::default() },
            AskedView { view: InboxView::Unassigned, order: Order::Oldest, ..AskedView::default() },
            AskedView { mailbox: Some(help), ..AskedView::default() },
        ] {
            let (mut seen, mut before): (Vec<(DateTime<Utc>, ConversationId)>, _) = (Vec::new(), None);
            loop {
                let page = view(world, &olga, &asked, before).await;
                seen.extend(page.rows.iter().map(|row| (row.last_message_at, row.id)));
                let Some(next) = page.next else { break };
                assert_eq!(next.to_string().parse(), Ok(next), "a place can be written and read");
                before = Some(next);
            }
            let mut sorted = seen.clone();
            sorted.sort();
            if asked.order == Order::Newest {
                sorted.reverse();
            }
            assert_eq!(seen, sorted, "{asked:?}");
            assert_eq!(seen.len(), if asked.mailbox.is_some() { 37 } else { 45 }, "{asked:?}");
            sorted.dedup();
            assert_eq!(seen.len(), sorted.len());
        }
    })
    .await;
}

#[tokio::test]
async fn only_unread_goes_on_where_a_page_had_to_stop_looking() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let olga = person(&acme, acme.owner).await;
        let deep = acme.mail(help, "anna@customer.example", "Deep down", "Hello").await;
        world.wait(TimeDelta::hours(1));
        // These have no mail that came in, so they are not unread.
        acme.many(help, rows::UNREAD_WALK, "case").await;
        world.wait(TimeDelta::seconds(1));
        let top = acme.mail(help, "anna@customer.example", "On top", "Hello").await;
        let asked = AskedView { unread: true, ..AskedView::default() };
        let first = view(world, &olga, &asked, None).await;
        assert_eq!(first.rows.iter().map(|row| row.id).collect::<Vec<_>>(), [top]);
        let second = view(world, &olga, &asked, first.next).await;
        assert_eq!(second.rows.iter().map(|row| row.id).collect::<Vec<_>>(), [deep]);
        assert_eq!(second.next, None);
    })
    .await;
}

async fn found(
    world: &World,
    who: &Person,
    query: &str,
    before: Option<ConversationCursor>,
    limit: i64,
) -> RowsPage {
    let conn = world.app.connection().await.unwrap();
    let mut reading = Reading::begin(conn, world.app.frame(who.workspace)).await.unwrap();
    assert!(index::catch_up(&world.app, &mut reading, Searched::Mail).await, "everything is indexed");
    let words = Some(search_terms::hash_query(who.workspace, query).into());
    let filter = ConversationFilter {
        view: View::All,
        mailbox: None,
        assigned: None,
        reference: None,
        words,
        before,
        since: None,
        limit,
    };
    rows::page(&mut reading, who, world.now(), &filter, Order::Newest).await.unwrap()
}

/// proves: VIS-16
#[tokio::test]
async fn a_search_of_everything_has_every_status_page_by_page_and_nothing_that_is_not_the_persons() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let mia = acme.person("Mia Member", Role::Member).await;
        let private = acme.private_mailbox("mia@acme.example", "Mia", mia).await;
        let olga = person(&acme, acme.owner).await;
        let test = acme.key("tester", "read,write", Mode::Test).await;
        test.simulate(json!({ "from": "x@y.test", "text": "The blowtorch" })).await;
        acme.mail(private, "anna@customer.example", "Hers", "The blowtorch").await;
        let mut made = Vec::new();
        for change in
            ["status = 'open'", "status = 'waiting'", "status = 'closed'", "snoozed_until = '2032-01-01'"]
        {
            for _ in 0..3 {
                let id = acme.mail(help, "anna@customer.example", "Order", "The blowtorch, please").await;
                acme.set(id, change).await;
                made.push(id);
                world.wait(TimeDelta::seconds(1));
            }
        }
        made.reverse();
        for limit in [5, 12, 50] {
            let (mut seen, mut before) = (Vec::new(), None);
            loop {
                let page = found(world, &olga, "blowtorch", before, limit).await;
                seen.extend(page.rows.iter().map(|row| row.id));
                before = page.next;
                if before.is_none() {
                    break;
                }
            }
            assert_eq!(seen, made, "{limit} at a time");
        }
    })
    .await;
}

#[tokio::test]
async fn an_excerpt_shows_the_mail_that_has_most_of_the_words() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let text = "Could the <b>déposit</b> go to my new account?";
        let id = acme.mail(help, "Priya <priya@customer.example>", "Deposit", text).await;
        world.wait(TimeDelta::minutes(1));
        acme.outbound(id, Message { status: "sent", text: "Which account?", rfc_message_id: None }).await;
        acme.outbound(id, Message { status: "draft", text: "deposit account deposit", rfc_message_id: None })
            .await;
        let words = search_terms::query_words("deposit account");
        let mut conn = world.app.connection().await.unwrap();
        let mut excerpts = excerpts::load(&mut conn, acme.id, &[id], &words).await.unwrap();
        let excerpt = excerpts.remove(&id).expect("an excerpt");
        assert_eq!(excerpt.from, "Priya");
        let piece = |text: &str, marked| ExcerptPiece { text: text.into(), marked };
        assert_eq!(
            excerpt.pieces,
            [
                piece("Could the <b>", false),
                piece("déposit", true),
                piece("</b> go to my new ", false),
                piece("account", true),
                piece("?", false)
            ]
        );
    })
    .await;
}
