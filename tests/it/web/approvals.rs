//! `/approvals`: what waits, what is outdated, edits, one key after the other, several at once, and the wall of private
//! inboxes. The agent's side goes through REST and MCP.

use chrono::TimeDelta;
use rookery_base::ids::{ConversationId, MailboxId};
use rookery_core::workspace::people::Role;
use rookery_mail::incoming::delivery::Received;
use serde_json::{Value, json};

use rookery_world::browser::Browser;
use rookery_world::pages::approvals::field;
use rookery_world::{Key, Message, Mode, ToolAnswer, Workspace, story};

/// A mail of a customer; all of one subject are one conversation, which we have answered once.
pub async fn writes(
    acme: &Workspace<'_>,
    inbox: MailboxId,
    subject: &str,
    number: usize,
    text: &str,
) -> ConversationId {
    let name: String = subject.to_lowercase().chars().filter(char::is_ascii_alphanumeric).collect();
    let ours = format!("{name}-ours@acme.example");
    let answers = if number > 1 { format!("In-Reply-To: <{ours}>\n") } else { String::new() };
    let raw = format!(
        "Message-ID: <{name}-{number}@customer.example>\nFrom: Kim <kim@customer.example>\nTo: help@acme.example\n\
         Subject: {subject}\n{answers}\n{text}\n"
    );
    let Received::Stored(stored) = acme.receives(inbox, &raw).await else {
        panic!("the mail was not stored")
    };
    if number == 1 {
        let sent = Message { status: "sent", text: "We got it.", rfc_message_id: Some(&ours) };
        acme.outbound(stored.conversation, sent).await;
    }
    stored.conversation
}

async fn drafts(bot: &Key<'_>, conversation: ConversationId, body: &str, summary: &str) -> String {
    bot.replies(conversation, json!({ "body": body, "summary": summary })).await
}

/// Opens a draft and approves what is shown.
async fn approves(browser: &Browser<'_>, message: &str, body: &str) -> String {
    let page = browser.get(&format!("/approvals/{message}")).await.page();
    let (version, place) = (field(&page, "version"), field(&page, "place"));
    let fields = [("body", body), ("version", &version), ("place", &place)];
    let shown = browser.post(&format!("/messages/{message}/approve"), &fields).await;
    assert_eq!(shown.status, 303, "{}", shown.html);
    shown.location().to_owned()
}

/// proves: APP-2, APP-3, RPL-13
#[tokio::test]
async fn an_agent_drafts_a_person_edits_and_approves_a_colleague_undoes_and_the_agent_reads_it() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let id = writes(&acme, help, "Move in", 1, "Can I move in on the fifth?").await;
        let bot = acme.key("Lease Helper", "write,draft", Mode::Live).await;
        let mia = acme.person("Mia Lindqvist", Role::Member).await;
        let (olga, mia) = (world.browser(acme.id, acme.owner).await, world.browser(acme.id, mia).await);

        // The agent drafts by MCP.
        let arguments =
            json!({ "id": id, "body": "Yes, at two.\nYours", "summary": "Says yes to the fifth." });
        let ToolAnswer::Done { structured, .. } = bot.tool("reply", arguments).await else {
            panic!("refused")
        };
        let message = structured["messageId"].as_str().unwrap().to_owned();

        // A person sees who drafted it, what they say of it and what the customer wrote, edits it and approves.
        let queue = olga.get("/approvals").await.page();
        for told in [
            "Lease Helper",
            "Says yes to the fifth.",
            "Can I move in on the fifth?",
            "Yes, at two.",
            &message,
        ] {
            assert!(queue.contains(told), "{told}: {queue}");
        }
        let next = approves(&olga, &message, "Yes, at ten.\r\nYours").await;
        assert_eq!(next, format!("/approvals?done=approved&of={message}"));
        let empty = olga.get(&next).await.page();
        assert!(
            empty.contains("No drafts to review") && empty.contains(&format!("/messages/{message}/undo"))
        );
        assert_eq!(bot.told(id, "approved").await[0]["edited"], true);
        assert_eq!(world.events("draft.approved").await[0]["data"]["edited"], true);
        assert_eq!(bot.message(id, &message).await["text"], "Yes, at ten.\nYours");

        // Everybody sees what is left of its time, on every page.
        world.wait(TimeDelta::minutes(4));
        let outgoing = mia.get("/outgoing").await.page();
        assert!(outgoing.contains(">6:00</time>"), "{outgoing}");
        assert!(outgoing.contains("Lease Helper, approved by Olga Owner, edited · Help"), "{outgoing}");
        let strip = mia.get("/inbox").await.page();
        assert!(strip.contains(r#"id="leaving""#) && strip.contains(&format!("/messages/{message}/undo")));
        assert!(
            strip.contains(r#"data-sends-at="2031-01-06T09:10:00.000Z" data-now="2031-01-06T09:04:00.000Z""#)
        );

        // A colleague stops it, and stays where she was.
        let request = mia.request(reqwest::Method::POST, &format!("/messages/{message}/undo"));
        let from = format!("{}/outgoing?done=saved&of=x", mia.origin());
        let stopped = mia.send(request.header("origin", mia.origin()).header("referer", from)).await;
        assert_eq!(stopped.location(), format!("/outgoing?done=stopped&of={message}"));
        assert!(mia.get(stopped.location()).await.page().contains("Stopped. It’s a draft again."));

        // The agent reads what happened, and the text is unchanged.
        let read = bot.message(id, &message).await;
        assert_eq!((&read["status"], &read["text"]), (&json!("draft"), &json!("Yes, at ten.\nYours")));
        assert_eq!(bot.told(id, "send-stopped").await, [json!({ "messageId": message, "reason": "undo" })]);
        world.wait(TimeDelta::hours(11));
        world.work().await;
        assert_eq!(world.outbox.letters().len(), 0, "nothing left");

        // What was changed is shown against what was drafted; a word to the agent is a note that it can read.
        let changes = mia.get(&format!("/approvals/{message}?show=changes")).await.page();
        assert!(changes.contains("<del>two</del><ins>ten</ins>"), "{changes}");
        assert!(changes.contains("edited by Olga Owner"), "{changes}");
        let fields = [("word", "Never promise a time."), ("place", &field(&changes, "place"))];
        let discarded = mia.post(&format!("/messages/{message}/discard"), &fields).await;
        assert_eq!(discarded.location(), format!("/approvals?done=discarded&of={message}"));
        let whole = bot.conversation(id).await;
        let note = whole["timeline"].as_array().unwrap().iter().find(|item| item["type"] == "note").unwrap();
        assert_eq!(note["author"], "Mia Lindqvist");
        assert_eq!(note["body"], "About the discarded draft: Never promise a time.");
        assert_eq!(bot.message(id, &message).await, Value::Null);
    })
    .await;
}

#[tokio::test]
async fn approving_opens_the_next_draft_and_the_last_one_leaves_a_calm_page() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let bot = acme.key("bot", "draft", Mode::Live).await;
        let olga = world.browser(acme.id, acme.owner).await;
        let mut messages = Vec::new();
        for number in 1..=3 {
            let id = writes(&acme, help, &format!("Case {number}"), 1, "Hello").await;
            messages.push(drafts(&bot, id, "Hello Kim.", "Greets").await);
            world.wait(TimeDelta::minutes(1));
        }
        let queue = olga.get("/approvals").await.page();
        let place = |message: &str| {
            queue.find(&format!(
                r#"<li class="item{}" id="{message}""#,
                if message == messages[0] { " is-selected" } else { "" }
            ))
        };
        let places: Vec<_> = messages.iter().map(|message| place(message).expect("it is listed")).collect();
        assert!(places.is_sorted(), "oldest first");
        // From the middle on, then the one that was left out, then nothing.
        let then = approves(&olga, &messages[1], "Hello Kim.").await;
        assert!(then.starts_with(&format!("/approvals/{}?", messages[2])), "{then}");
        let then = approves(&olga, &messages[2], "Hello Kim.").await;
        assert!(then.starts_with(&format!("/approvals/{}?", messages[0])), "{then}");
        let then = approves(&olga, &messages[0], "Hello Kim.").await;
        assert!(then.starts_with("/approvals?"), "{then}");
        assert!(olga.get(&then).await.page().contains("All done"));
        assert_eq!(world.events("draft.approved").await.len(), 3);
        assert_eq!(world.events("draft.approved").await[0]["data"]["edited"], false);
    })
    .await;
}

#[tokio::test]
async fn a_draft_is_outdated_when_the_customer_wrote_again_and_is_approved_only_when_that_was_shown() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let id = writes(&acme, help, "Move in", 1, "On the fifth?").await;
        let bot = acme.key("bot", "draft", Mode::Live).await;
        let message = drafts(&bot, id, "Yes, on the fifth.", "Says yes").await;
        let olga = world.browser(acme.id, acme.owner).await;
        let page = olga.get(&format!("/approvals/{message}")).await.page();
        assert!(!page.contains("Outdated"), "{page}");

        // The customer writes while the page is open.
        world.wait(TimeDelta::minutes(1));
        assert_eq!(writes(&acme, help, "Move in", 2, "No, rather on the sixth.").await, id);
        let fields = [("body", "Yes, on the fifth!"), ("version", "")];
        let stopped = olga.post(&format!("/messages/{message}/approve"), &fields).await;
        assert_eq!(stopped.location(), format!("/approvals/{message}?done=outdated&of={message}"));
        assert_eq!(world.due_messages().await, 0);
        let page = olga.get(stopped.location()).await.page();
        assert!(page.contains("Outdated: the customer wrote again.") && page.contains("rather on the sixth"));
        assert!(page.contains("Yes, on the fifth!"), "what was typed is kept");
        let version = field(&page, "version");
        let newest = page.split(r#"name="seen""#).nth(1).unwrap().split(r#"value=""#).nth(1).unwrap();
        let newest = newest.split('"').next().unwrap().to_owned();
        assert!(!page.split(r#"name="seen""#).nth(1).unwrap().split('>').next().unwrap().contains("checked"));

        // Not by another message that was seen, and not when still more came.
        let seen_another = [("version", version.as_str()), ("seen", message.as_str())];
        let stopped = olga.post(&format!("/messages/{message}/approve"), &seen_another).await;
        assert!(stopped.location().contains("done=outdated"));
        writes(&acme, help, "Move in", 3, "Or the seventh.").await;
        let seen = [("version", version.as_str()), ("seen", newest.as_str())];
        let stopped = olga.post(&format!("/messages/{message}/approve"), &seen).await;
        assert!(stopped.location().contains("done=outdated"));
        let page = olga.get(stopped.location()).await.page();
        let newest = page.split(r#"name="seen""#).nth(1).unwrap().split(r#"value=""#).nth(1).unwrap();
        let seen = [("version", version.as_str()), ("seen", newest.split('"').next().unwrap())];
        world.wait(chrono::TimeDelta::minutes(1));
        let approved = olga.post(&format!("/messages/{message}/approve"), &seen).await;
        assert!(approved.location().contains("done=approved"), "{}", approved.location());
        assert_eq!(bot.message(id, &message).await["text"], "Yes, on the fifth!");

        // What was stopped after that is as new as its approval.
        acme.undo(acme.owner, &message).await.unwrap();
        assert!(!olga.get(&format!("/approvals/{message}")).await.page().contains("Outdated"));
    })
    .await;
}

#[tokio::test]
async fn a_draft_is_outdated_when_somebody_answered_and_not_by_machines_or_what_left_before() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let id = writes(&acme, help, "Move in", 1, "On the fifth?").await;
        let bot = acme.key("bot", "draft,send", Mode::Live).await;
        let olga = world.browser(acme.id, acme.owner).await;
        // What was scheduled before the draft was written is known to whoever wrote it, also when it leaves after.
        bot.sends(id, "We look into it.").await;
        world.wait(TimeDelta::minutes(1));
        let (first, second) = (
            drafts(&bot, id, "Yes, on the fifth.", "Says yes").await,
            drafts(&bot, id, "No, not on the fifth.", "Says no").await,
        );
        world.wait(TimeDelta::minutes(10));
        world.work().await;
        let raw = "Message-ID: <away@customer.example>\nFrom: Kim <kim@customer.example>\nSubject: Re: Move in\n\
                   In-Reply-To: <movein-ours@acme.example>\nAuto-Submitted: auto-replied\n\nI am away.\n";
        acme.receives(help, raw).await;
        let page = olga.get("/approvals").await.page();
        assert!(!page.contains("Outdated"), "{page}");

        world.wait(TimeDelta::minutes(1));
        let next = approves(&olga, &first, "Yes, on the fifth.").await;
        assert!(next.starts_with(&format!("/approvals/{second}?")), "{next}");
        let page = olga.get(&format!("/approvals/{second}")).await.page();
        assert!(page.contains("Outdated: somebody answered meanwhile."), "{page}");
        assert!(page.contains("our answer since") && page.contains("Yes, on the fifth."), "{page}");
        // An answer that is taken back is none.
        acme.undo(acme.owner, &first).await.unwrap();
        assert!(!olga.get(&format!("/approvals/{second}")).await.page().contains("Outdated"));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_who_approve_at_once_send_one_message_and_both_are_answered_calmly() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let id = writes(&acme, help, "Move in", 1, "On the fifth?").await;
        let bot = acme.key("bot", "draft", Mode::Live).await;
        let message = drafts(&bot, id, "Yes.", "Says yes").await;
        let mia = acme.person("Mia", Role::Member).await;
        let (olga, mia) = (world.browser(acme.id, acme.owner).await, world.browser(acme.id, mia).await);
        let path = format!("/messages/{message}/approve");
        let (one, other) = tokio::join!(
            olga.post(&path, &[("body", "Yes. Olga"), ("version", "")]),
            mia.post(&path, &[("body", "Yes. Mia"), ("version", "")])
        );
        let (first, late, words) = match one.status {
            303 => (one, other, "Yes. Mia"),
            _ => (other, one, "Yes. Olga"),
        };
        assert_eq!(first.location(), format!("/approvals?done=approved&of={message}"));
        assert_eq!(late.status, 409);
        assert!(late.html.contains("Someone already handled this draft"), "{}", late.html);
        assert!(
            late.html.contains(&format!(">{words}</textarea>")),
            "what they wrote is theirs: {}",
            late.html
        );
        // Whoever had changed nothing only hears of it.
        let told = olga.post(&path, &[("body", "Yes."), ("version", "")]).await;
        assert_eq!(told.location(), format!("/approvals?done=no-draft&of={message}"));
        assert_eq!(world.events("draft.approved").await.len(), 1);
        let shown = olga.get(&format!("/approvals/{message}")).await.page();
        assert!(shown.contains("Approved by ") && shown.contains(">10:00</time>"), "{shown}");
        world.wait(TimeDelta::minutes(10));
        world.work().await;
        assert_eq!(world.outbox.letters().len(), 1);
    })
    .await;
}

#[tokio::test]
async fn two_who_edit_one_draft_lose_no_words() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let id = writes(&acme, help, "Move in", 1, "On the fifth?").await;
        let bot = acme.key("bot", "draft", Mode::Live).await;
        let message = drafts(&bot, id, "Yes.", "Says yes").await;
        let mia = acme.person("Mia", Role::Member).await;
        let (olga, mia) = (world.browser(acme.id, acme.owner).await, world.browser(acme.id, mia).await);
        let edit = format!("/messages/{message}/edit");
        // The page saves by itself while somebody types.
        let kept = mia.post(&edit, &[("body", "Yes, gladly."), ("version", ""), ("quiet", "1")]).await;
        let version: Value = serde_json::from_str(&kept.page()).unwrap();
        let version = version["version"].as_str().unwrap().to_owned();
        let again = [("body", "Yes, very gladly."), ("version", version.as_str()), ("quiet", "1")];
        assert_eq!(mia.post(&edit, &again).await.status, 200);
        // Olga began before that.
        let late = [("body", "No."), ("version", "")];
        let quiet = [("body", "No."), ("version", ""), ("quiet", "1")];
        assert_eq!(olga.post(&edit, &quiet).await.status, 409);
        for path in [edit, format!("/messages/{message}/approve")] {
            let crossed = olga.post(&path, &late).await;
            assert_eq!(crossed.status, 409, "{}", crossed.html);
            assert!(
                crossed.html.contains("Mia changed this draft while you were editing."),
                "{}",
                crossed.html
            );
            assert!(crossed.html.contains(">No.</textarea>") && crossed.html.contains("very gladly"));
        }
        assert_eq!(world.due_messages().await, 0);
        assert_eq!(bot.message(id, &message).await["text"], "Yes, very gladly.");
        approves(&olga, &message, "No.").await;
        assert_eq!(bot.message(id, &message).await["text"], "No.");
    })
    .await;
}

#[tokio::test]
async fn a_draft_in_a_risky_conversation_leaves_only_when_somebody_says_that_they_looked() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let bot = acme.key("bot", "draft", Mode::Live).await;
        let olga = world.browser(acme.id, acme.owner).await;
        let id = writes(&acme, help, "New bank account", 1, "Please pay to another account.").await;
        let message = drafts(&bot, id, "We will.", "Agrees").await;
        acme.set(id, "risk = 'payment-fraud'").await;
        let page = olga.get(&format!("/approvals/{message}")).await.page();
        assert!(page.contains(r#"value="risk payment-fraud" required"#), "{page}");
        assert!(page.contains("&lt;kim@customer.example&gt;"), "the address is beside the draft");
        assert!(approves(&olga, &message, "We will not.").await.contains("done=risk-unseen"));
        assert_eq!(world.due_messages().await, 0);
        // The words are kept, and another risk than the one that was seen is a new question.
        let page = olga.get(&format!("/approvals/{message}")).await.page();
        assert!(page.contains("We will not."));
        let (version, place) = (field(&page, "version"), field(&page, "place"));
        let seen = |risk| {
            [("body", "We will not."), ("version", version.as_str()), ("place", &place), ("confirmed", risk)]
        };
        let approve = format!("/messages/{message}/approve");
        let other = olga.post(&approve, &seen("risk phishing")).await;
        assert!(other.location().contains("done=risk-unseen"), "{}", other.location());
        let page = olga.get(&format!("/approvals/{message}")).await.page();
        let version = field(&page, "version");
        let fields = [
            ("body", "We will not."),
            ("version", version.as_str()),
            ("place", &place),
            ("confirmed", "risk payment-fraud"),
        ];
        let done = olga.post(&approve, &fields).await;
        assert_eq!(done.status, 303, "{}", done.html);
        assert_eq!(world.due_messages().await, 1);
    })
    .await;
}

#[tokio::test]
async fn several_are_approved_at_once_but_never_risky_or_outdated_ones() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let bot = acme.key("bot", "draft", Mode::Live).await;
        let olga = world.browser(acme.id, acme.owner).await;
        let mut messages = Vec::new();
        for subject in ["Plain one", "Risky one", "Outdated one", "Erased one", "Plain two"] {
            let id = writes(&acme, help, subject, 1, "Hello").await;
            messages.push(drafts(&bot, id, "Hello Kim.", "Greets").await);
            match subject {
                "Risky one" => acme.set(id, "risk = 'payment-fraud'").await,
                "Erased one" => acme.set(id, "contact_email = null").await,
                _ => {}
            }
        }
        world.wait(TimeDelta::minutes(1));
        writes(&acme, help, "Outdated one", 2, "One more thing.").await;
        let queue = olga.get("/approvals").await.page();
        let can_pick = |message: &str| queue.contains(&format!(r#"name="id" value="{message}@""#));
        let picks: Vec<bool> = messages.iter().map(|message| can_pick(message)).collect();
        assert_eq!(picks, [true, false, false, true, true]);
        assert!(queue.contains("Payment fraud"));

        // Whatever a form says, only the plain ones go.
        let mut fields: Vec<(&str, &str)> = messages.iter().map(|message| ("id", message.as_str())).collect();
        fields.extend([("id", "msg_0000000000001"), ("id", "nonsense"), ("do", "approve")]);
        let done = olga.post("/approvals/many", &fields).await;
        let told = "/approvals?many=1&approved=2&risky=1&outdated=1&changed=0&gone=1&failed=1";
        assert_eq!((done.status, done.location()), (303, told));
        let page = olga.get(told).await.page();
        assert!(
            page.contains("2 approved.") && page.contains("1 risky") && page.contains("1 outdated"),
            "{page}"
        );
        assert_eq!(world.due_messages().await, 2);
        // Once more changes nothing; what is left can be discarded together.
        let again = olga.post("/approvals/many", &fields).await;
        assert!(
            again.location().contains("approved=0") && again.location().contains("gone=3"),
            "{}",
            again.location()
        );
        let discard = [
            ("id", messages[1].as_str()),
            ("id", messages[2].as_str()),
            ("id", messages[0].as_str()),
            ("do", "discard"),
        ];
        let done = olga.post("/approvals/many", &discard).await;
        assert_eq!(done.location(), "/approvals?many=1&discarded=2&changed=0&gone=1&failed=0");
        assert_eq!(world.due_messages().await, 2);
    })
    .await;
}

/// proves: APP-7
#[tokio::test]
async fn drafts_and_mail_of_a_private_inbox_are_nowhere_for_a_colleague() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let mia_id = acme.person("Mia", Role::Admin).await;
        let own = acme.private_mailbox("mia@acme.example", "Mia only", mia_id).await;
        let bot = acme.key_of(mia_id, "bot", "draft,send", Mode::Live).await;
        let id = writes(&acme, own, "Only for Mia", 1, "A secret").await;
        let draft = drafts(&bot, id, "Hush.", "Keeps a secret").await;
        let leaving = bot.sends(id, "Psst.").await;
        let sandbox = acme.key("tester", "write,draft", Mode::Test).await;
        let simulated = sandbox.simulate(json!({ "from": "ada@customer.test", "text": "Hello" })).await;
        let in_sandbox = sandbox.drafts(&simulated, "Hello").await;
        let (olga, mia) = (world.browser(acme.id, acme.owner).await, world.browser(acme.id, mia_id).await);

        assert!(mia.get("/approvals").await.page().contains("Keeps a secret"));
        assert!(mia.get("/outgoing").await.page().contains(&leaving));
        for path in ["/approvals", "/outgoing", "/inbox"] {
            let page = olga.get(path).await.page();
            for hidden in ["secret", "Mia only", "Hush", &draft, &leaving, &in_sandbox, "Stop<span"] {
                assert!(!page.contains(hidden), "{path} tells of {hidden}: {page}");
            }
        }
        let mut answers = Vec::new();
        let mut given_back = Vec::new();
        for message in [draft.as_str(), &in_sandbox, "msg_0000000000001", "msg_x"] {
            answers.push(olga.get(&format!("/approvals/{message}")).await.html);
            for verb in ["approve", "edit", "discard", "take-over", "undo"] {
                for fields in [&[("body", "Mine")][..], &[]] {
                    let shown = olga.post(&format!("/messages/{message}/{verb}"), fields).await;
                    if verb == "edit" && fields.is_empty() {
                        continue;
                    }
                    assert_eq!(shown.status, 404, "{verb} {message}");
                    // What was typed is given back, whatever it was typed for.
                    let kept =
                        message != "msg_x" && !fields.is_empty() && !["discard", "undo"].contains(&verb);
                    if kept { given_back.push(shown.html) } else { answers.push(shown.html) }
                }
            }
            let many = olga.post("/approvals/many", &[("id", message), ("do", "approve")]).await;
            assert!(!many.location().contains("approved=1"), "{}", many.location());
        }
        for same in [answers, given_back] {
            assert!(same.windows(2).all(|pair| pair[0] == pair[1]), "one page for all that is not there");
        }
        assert_eq!(olga.post(&format!("/messages/{leaving}/undo"), &[]).await.status, 404);
        assert_eq!(bot.message(id, &leaving).await["status"], "scheduled");
        assert_eq!(bot.message(id, &draft).await["text"], "Hush.");
    })
    .await;
}

#[tokio::test]
async fn markup_in_what_agents_and_customers_wrote_is_shown_as_text() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let evil = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'";
        let bot = acme.key("<b>bot</b>", "draft", Mode::Live).await;
        let id = writes(&acme, help, "<u>Subject</u>", 1, evil).await;
        let message = drafts(&bot, id, &format!("</textarea>{evil}"), evil).await;
        let olga = world.browser(acme.id, acme.owner).await;
        let edited = [("body", "</textarea><i>mine</i>"), ("version", ""), ("show", "changes")];
        assert_eq!(olga.post(&format!("/messages/{message}/edit"), &edited).await.status, 303);
        for path in [format!("/approvals/{message}"), format!("/approvals/{message}?show=changes")] {
            let page = olga.get(&path).await.page();
            for raw in ["<script>alert", "<img src=x", "<b>bot", "<u>Subject", "</textarea><", "<i>mine"] {
                assert!(!page.contains(raw), "{path} has {raw}: {page}");
            }
        }
        approves(&olga, &message, &format!("</textarea>{evil}")).await;
        let page = olga.get("/outgoing").await.page();
        assert!(
            !page.contains("<b>bot") && !page.contains("<u>Subject") && page.contains("&#60;b&#62;bot"),
            "{page}"
        );
        // Nobody makes the page say something.
        let page = olga
            .get("/approvals?many=1&approved=%3Cscript%3E&done=approved&of=%22%3E%3Cscript%3E")
            .await
            .page();
        assert!(!page.contains("<script>") && page.contains("Approved. Anyone can stop it"), "{page}");
    })
    .await;
}

#[tokio::test]
async fn a_draft_that_is_taken_over_is_written_on_in_the_conversation() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let id = writes(&acme, help, "Move in", 1, "On the fifth?").await;
        let bot = acme.key("bot", "draft", Mode::Live).await;
        let body = json!({ "body": "Yes, on the fifth.", "documents": [{ "label": "Passport" }] });
        let message = bot.replies(id, body).await;
        let olga = world.browser(acme.id, acme.owner).await;
        let taken = olga
            .post(&format!("/messages/{message}/take-over"), &[("body", "Yes, gladly on the fifth.")])
            .await;
        assert_eq!(taken.location(), format!("/conversations/{id}?done=taken-over&of={id}#composer"));
        let page = olga.get(&format!("/conversations/{id}")).await.page();
        assert!(page.contains("Yes, gladly on the fifth.") && page.contains("Passport"), "{page}");
        assert!(olga.get("/approvals").await.page().contains("No drafts to review"));
        assert_eq!(bot.message(id, &message).await, Value::Null);
        assert_eq!(
            bot.told(id, "draft-discarded").await,
            [json!({ "messageId": message, "reason": "taken-over" })]
        );
        assert_eq!(world.requests().await, ["cancelled"]);
        // The same click once more finds nothing; a second draft is taken over beside what is written already.
        assert_eq!(olga.post(&format!("/messages/{message}/take-over"), &[]).await.status, 404);
        let second = drafts(&bot, id, "No, sorry.", "Says no").await;
        assert_eq!(olga.post(&format!("/messages/{second}/take-over"), &[]).await.status, 303);
        let page = olga.get(&format!("/conversations/{id}")).await.page();
        assert!(
            page.contains("No, sorry.") && page.contains("Yes, gladly on the fifth."),
            "nothing is lost: {page}"
        );
    })
    .await;
}
