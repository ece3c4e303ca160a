//! Many at once from the list: picked ones, all that match, the page of a job, stopping and taking back.

use rookery_base::ids::ConversationId;
use rookery_core::workspace::people::Role;

use rookery_world::browser::Shown;
use rookery_world::{Mode, story};

fn picked<'f>(ids: &'f [String], more: &[(&'f str, &'f str)]) -> Vec<(&'f str, &'f str)> {
    ids.iter().map(|id| ("c", id.as_str())).chain(more.iter().copied()).collect()
}

fn job_of(shown: &Shown) -> String {
    assert_eq!(shown.status, 303, "{}", shown.html);
    let to = shown.location();
    let at = to.find("blk_").unwrap_or_else(|| panic!("{to}"));
    to[at..].chars().take("blk_".len() + 13).collect()
}

/// proves: APP-4
#[tokio::test]
async fn what_is_picked_is_closed_and_taken_back_from_the_list() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.test", "Help").await;
        let ids: Vec<String> = acme.many(help, 12, "word").await.iter().map(ToString::to_string).collect();
        let owner = world.browser(acme.id, acme.owner).await;
        let key = acme.key("bot", "read", Mode::Live).await;
        let back = ("back", "/inbox?view=open");
        let shown = owner.post("/bulk", &picked(&ids[..10], &[("act", "close"), back])).await;
        assert!(shown.location().starts_with("/inbox?view=open&done=closed&of=blk_"), "{}", shown.location());
        assert_eq!(key.listed("view=closed").await.len(), 10, "a few are done before the answer");
        let undone = owner.post(&format!("/bulk/{}/undo", job_of(&shown)), &[]).await;
        assert!(undone.location().starts_with("/inbox?done=undone"));
        assert_eq!(key.listed("view=open").await.len(), 12);
        assert_eq!(owner.post("/bulk", &[("act", "close")]).await.status, 400, "nothing was picked");
    })
    .await;
}

#[tokio::test]
async fn all_that_match_are_one_job_whose_page_shows_how_far_it_is() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let (help, sales) =
            (acme.mailbox("help@acme.test", "Help").await, acme.mailbox("sales@acme.test", "Sales").await);
        acme.many(help, 3_000, "word").await;
        world.wait(chrono::TimeDelta::seconds(1));
        acme.many(sales, 3, "word").await;
        let owner = world.browser(acme.id, acme.owner).await;
        let inbox = help.to_string();
        let all = [("all", "1"), ("view", "open"), ("inbox", inbox.as_str()), ("act", "close")];
        let shown = owner.post("/bulk", &all).await;
        let job = format!("/bulk/{}", job_of(&shown));
        assert_eq!(shown.location(), job, "so many take their time");
        let page = owner.get(&job).await.page();
        assert!(page.contains("Closing 3000 conversations") && page.contains("<progress"), "{page}");
        assert!(page.contains("data-live=\"list\"") && page.contains(&format!("{job}/cancel")));
        world.work().await;
        let page = owner.get(&job).await.page();
        assert!(page.contains("Closed 3000 conversations") && page.contains(&format!("{job}/undo")));
        let key = acme.key("bot", "read", Mode::Live).await;
        assert_eq!(key.listed("view=open").await.len(), 3, "the other inbox is as it was");

        owner.post(&format!("{job}/undo"), &[]).await;
        world.work().await;
        let page = owner.get(&job).await.page();
        assert!(page.contains("Undid 3000 of 3000"), "{page}");
    })
    .await;
}

#[tokio::test]
async fn a_job_is_stopped_from_its_page() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.test", "Help").await;
        acme.many(help, 5_000, "word").await;
        let owner = world.browser(acme.id, acme.owner).await;
        let shown = owner.post("/bulk", &[("all", "1"), ("view", "open"), ("act", "waiting")]).await;
        let job = format!("/bulk/{}", job_of(&shown));
        assert_eq!(owner.post(&format!("{job}/cancel"), &[]).await.location(), job);
        world.work().await;
        let page = owner.get(&job).await.page();
        assert!(page.contains("Stopped after") && page.contains(&format!("{job}/undo")));
    })
    .await;
}

#[tokio::test]
async fn what_an_action_needs_is_asked_for_and_what_was_picked_is_kept() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let mia = acme.person("Mia Member", Role::Member).await;
        let help = acme.mailbox("help@acme.test", "Help").await;
        let ids: Vec<String> = acme.many(help, 2, "word").await.iter().map(ToString::to_string).collect();
        let owner = world.browser(acme.id, acme.owner).await;
        for (act, part) in [("assign", "Mia Member"), ("tag", "<datalist"), ("snooze", "value=\"tomorrow\"")]
        {
            let page = owner.post("/bulk", &picked(&ids, &[("act", act)])).await.page();
            assert!(page.contains(part) && page.contains("2 conversations"), "{act}");
            assert!(ids.iter().all(|id| page.contains(&format!("name=\"c\" value=\"{id}\""))), "{act}");
        }
        let hers = format!("user:{mia}");
        let shown = owner.post("/bulk", &picked(&ids, &[("act", "assign"), ("to", &hers)])).await;
        assert!(shown.location().contains("done=assigned"));
        let key = acme.key("bot", "read", Mode::Live).await;
        let id: ConversationId = ids[0].parse().unwrap();
        assert_eq!(key.conversation(id).await["assignee"]["name"], "Mia Member");
    })
    .await;
}

#[tokio::test]
async fn what_could_not_be_changed_is_named_on_the_page() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.test", "Help").await;
        let open = acme.mail(help, "kim@customer.test", "One", "Hello.").await;
        let closed = acme.mail(help, "kim@customer.test", "<u>Two</u>", "Hello.").await;
        acme.set(closed, "status = 'closed', announced_turn = 'done'").await;
        let owner = world.browser(acme.id, acme.owner).await;
        let ids = [open.to_string(), closed.to_string()];
        let shown = owner.post("/bulk", &picked(&ids, &[("act", "snooze"), ("until", "week")])).await;
        let page = owner.get(shown.location()).await.page();
        assert!(
            page.contains("1 could not be changed")
                && page.contains("a closed conversation cannot be snoozed")
        );
        assert!(page.contains("&#60;u&#62;Two&#60;/u&#62;"));
    })
    .await;
}

/// proves: VIS-16
#[tokio::test]
async fn a_job_of_somebody_else_is_not_there() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let mia = acme.person("Mia", Role::Member).await;
        let own = acme.private_mailbox("mia@acme.test", "Mia", mia).await;
        let hidden = acme.mail(own, "kim@customer.test", "Only for Mia", "Hello.").await.to_string();
        let hers = world.browser(acme.id, mia).await;
        let job = job_of(&hers.post("/bulk", &[("act", "close"), ("c", &hidden)]).await);
        let owner = world.browser(acme.id, acme.owner).await;
        let mut answers = Vec::new();
        for id in [job.as_str(), "blk_0000000000001", "blk_x", "cnv_0000000000001"] {
            for shown in [
                owner.get(&format!("/bulk/{id}")).await,
                owner.post(&format!("/bulk/{id}/undo"), &[]).await,
                owner.post(&format!("/bulk/{id}/cancel"), &[]).await,
            ] {
                answers.push((shown.status, shown.html));
            }
        }
        answers.push({
            let shown = owner.post("/bulk", &[("act", "close"), ("c", &hidden)]).await;
            (shown.status, shown.html)
        });
        assert!(answers.iter().all(|answer| answer.0 == 404 && *answer == answers[0]));
        assert!(hers.get(&format!("/bulk/{job}")).await.page().contains("Closed 1 conversation"));
    })
    .await;
}

/// Read by one is read by one: a colleague's list is as it was.
#[tokio::test]
async fn many_are_marked_as_read_for_oneself_and_taken_back() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.test", "Help").await;
        let mia = acme.person("Mia", Role::Member).await;
        let mut ids = Vec::new();
        for n in 0..5 {
            let from = format!("kim{n}@customer.test");
            ids.push(acme.mail(help, &from, &format!("Order {n}"), "Where is it?").await.to_string());
        }
        let (owner, hers) = (world.browser(acme.id, acme.owner).await, world.browser(acme.id, mia).await);
        let unread = |page: String| ids.iter().filter(|id| page.contains(&format!("id=\"{id}\""))).count();
        let list = "/inbox?view=open&unread=1";
        assert_eq!(unread(owner.get(list).await.page()), 5);
        assert!(owner.get("/inbox").await.page().contains("value=\"read\""), "the bar offers it");
        let shown = owner.post("/bulk", &picked(&ids[..3], &[("act", "read"), ("back", "/inbox")])).await;
        assert!(shown.location().starts_with("/inbox?done=many-read&of=blk_"), "{}", shown.location());
        assert_eq!(unread(owner.get(list).await.page()), 2);
        assert_eq!(unread(hers.get(list).await.page()), 5, "hers is her own");
        let key = acme.key("bot", "read", Mode::Live).await;
        assert!(
            key.conversation(&ids[0]).await["timeline"].as_array().unwrap().len() == 1,
            "nobody else sees it"
        );
        owner.post(&format!("/bulk/{}/undo", job_of(&shown)), &[]).await;
        assert_eq!(unread(owner.get(list).await.page()), 5, "taken back");
        // New mail after that is new.
        owner.post("/bulk", &picked(&ids, &[("act", "read"), ("back", "/inbox")])).await;
        assert_eq!(unread(owner.get(list).await.page()), 0);
        world.wait(chrono::TimeDelta::minutes(1));
        acme.mail(help, "kim9@customer.test", "Another", "Hello").await;
        assert!(owner.get(list).await.page().contains("Another"));
    })
    .await;
}
