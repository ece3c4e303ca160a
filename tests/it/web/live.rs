//! The stream of changes: what one node does is heard on another, by those who can see it and nobody else; and who is
//! where. Streams end with their session, and none costs more than its share.

use std::sync::Arc;
use std::time::Duration;

use chrono::TimeDelta;
use reqwest::Method;
use reqwest::header::COOKIE;
use rookery::routes;
use rookery_base::app::App;
use rookery_base::ids::{ConversationId, PersonId};
use rookery_base::live::feed::StreamNews;
use rookery_base::live::nodes;
use rookery_base::live::topic::{LiveTopic, TopicChange};
use rookery_base::random::Random;
use rookery_core::conversations::lock::lock_visible;
use rookery_core::conversations::notes;
use rookery_core::workspace::access::TEAM;
use rookery_core::workspace::people::{self, Role};
use rookery_http::connections::Connections;
use rookery_http::serve;
use serde_json::{Value, json};

use rookery_world::browser::Browser;
use rookery_world::{Mode, Workspace, World, story, story_with};

/// Long: the machine may be busy. What is told takes a fraction of a second.
const PATIENCE: Duration = Duration::from_secs(30);

/// An open stream, read event by event.
struct Stream {
    answer: reqwest::Response,
    unread: String,
}

impl Stream {
    async fn open(browser: &Browser<'_>) -> Self {
        Self::open_at(browser, &browser.world.address).await
    }

    async fn open_at(browser: &Browser<'_>, address: &str) -> Self {
        let request = reqwest::Client::new().get(format!("{address}/live"));
        let request = request.header(COOKIE, format!("__Host-rookery={}", browser.token));
        let answer = request.send().await.expect("the service answers");
        assert_eq!(answer.status(), 200);
        assert_eq!(answer.headers()["content-type"], "text/event-stream");
        let mut stream = Self { answer, unread: String::new() };
        assert_eq!(stream.part().await.as_deref(), Some("retry: 2000"));
        stream
    }

    /// The next part, an event or a sign of life; nothing at the end.
    async fn part(&mut self) -> Option<String> {
        loop {
            if let Some((part, rest)) = self.unread.split_once("\n\n") {
                let (part, rest) = (part.to_owned(), rest.to_owned());
                self.unread = rest;
                return Some(part);
            }
            let chunk = tokio::time::timeout(PATIENCE, self.answer.chunk()).await.expect("something is said");
            self.unread.push_str(std::str::from_utf8(&chunk.ok()??).expect("text"));
        }
    }

    /// The topics of the next event.
    async fn hears(&mut self) -> Option<Vec<String>> {
        loop {
            if let Some(topics) = self.part().await?.strip_prefix("data: ") {
                return Some(topics.split(' ').map(str::to_owned).collect());
            }
        }
    }

    async fn hears_of(&mut self, conversation: ConversationId) {
        let topics = self.hears().await.expect("it goes on");
        assert_eq!(topics, [format!("conversation:{conversation}"), "counts".into(), "list".into()]);
    }
}

/// Another node of the same service; gives its address too.
async fn another_node(world: &World) -> (Arc<App>, String) {
    let app = App::new(world.app.config.clone(), world.app.clock.clone(), Random::seeded(8)).unwrap();
    let app = Arc::new(app);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let connections = Connections::from_config(&app.config);
    tokio::spawn(serve::serve(listener, routes::router(app.clone()), connections, app.stop.clone()));
    (app, address)
}

/// Begins to hear other nodes, and returns when it does.
async fn joins_the_others(app: &Arc<App>, workspace: &Workspace<'_>) {
    let mut ear = app.feed.listen(workspace.id, vec![TEAM]);
    let node = app.clone();
    tokio::spawn(async move { nodes::run(&node, &node.stop).await });
    let first = tokio::time::timeout(PATIENCE, ear.news()).await.expect("it listens");
    assert_eq!(first, StreamNews::Everything, "nobody knows what happened before");
}

#[tokio::test]
async fn what_one_node_does_is_heard_on_the_other() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.test", "Help").await;
        let owner = world.browser(acme.id, acme.owner).await;
        let (there, address) = another_node(world).await;
        joins_the_others(&there, &acme).await;
        joins_the_others(&world.app, &acme).await;
        let mut here = Stream::open(&owner).await;
        let mut other = Stream::open_at(&owner, &address).await;

        let id = acme.mail(help, "kim@customer.test", "Where is my order?", "It has not come.").await;
        here.hears_of(id).await;
        other.hears_of(id).await;

        let bot = acme.key("bot", "read,write,send", Mode::Live).await;
        bot.sends(id, "It is on its way.").await;
        let topics = other.hears().await.unwrap();
        assert!(topics.contains(&"outgoing".into()) && topics.contains(&"approvals".into()), "{topics:?}");
        there.stop.tell();
    })
    .await;
}

/// It is told to stop at the very moment at which its last request is committed.
#[tokio::test]
async fn what_a_node_does_last_is_heard_on_the_other() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let (there, _) = another_node(world).await;
        joins_the_others(&there, &acme).await;
        joins_the_others(&world.app, &acme).await;
        let mut ear = world.app.feed.listen(acme.id, vec![TEAM]);
        let last = TopicChange { audience: TEAM, topic: LiveTopic::Conversation(ConversationId(7)) };
        there.feed.tell(acme.id, &[last].into());
        there.stop.tell();
        let heard = tokio::time::timeout(PATIENCE / 3, ear.news()).await.expect("it is told");
        assert_eq!(heard, StreamNews::Topics([last.topic].into()));
    })
    .await;
}

/// proves: VIS-16, APP-7
#[tokio::test]
async fn changes_of_a_private_inbox_and_of_the_sandbox_reach_nobody_else() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let other = world.workspace("Other").await;
        let mia = acme.person("Mia", Role::Member).await;
        let help = acme.mailbox("help@acme.test", "Help").await;
        let own = acme.private_mailbox("mia@acme.test", "Mia", mia).await;
        let (owner, hers) = (world.browser(acme.id, acme.owner).await, world.browser(acme.id, mia).await);
        let elsewhere = world.browser(other.id, other.owner).await;
        let (mut owners, mut mias) = (Stream::open(&owner).await, Stream::open(&hers).await);
        let mut foreign = Stream::open(&elsewhere).await;

        let private = acme.mail(own, "kim@customer.test", "Only for Mia", "Hello.").await;
        mias.hears_of(private).await;
        let sandbox = acme.key("bot", "read,write", Mode::Test).await;
        sandbox.simulate(json!({ "from": "ada@customer.test", "subject": "A test", "text": "Hi" })).await;
        let shared = acme.mail(help, "kim@customer.test", "For all", "Hello.").await;
        owners.hears_of(shared).await;
        mias.hears_of(shared).await;
        let theirs = other.mailbox("help@other.test", "Help").await;
        let id = other.mail(theirs, "kim@customer.test", "Elsewhere", "Hello.").await;
        foreign.hears_of(id).await;
    })
    .await;
}

#[tokio::test]
async fn nothing_is_told_of_what_was_rolled_back() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.test", "Help").await;
        let id = acme.mail(help, "kim@customer.test", "One", "Hello.").await;
        let owner = world.browser(acme.id, acme.owner).await;
        let mut stream = Stream::open(&owner).await;
        let mut tx = world.app.begin(acme.id).await.unwrap();
        let olga = people::teammate(&mut tx, acme.id, acme.owner).await.unwrap();
        let locked = lock_visible(&mut tx, &olga, &id.to_string()).await.unwrap();
        notes::add(&mut tx, &locked, &olga, "Never mind.").await.unwrap();
        drop(tx);
        let other = acme.mail(help, "kim@customer.test", "Two", "Hello.").await;
        stream.hears_of(other).await;
    })
    .await;
}

#[tokio::test]
async fn a_stream_ends_when_its_person_leaves_or_signs_out_or_the_service_stops() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let mia = acme.person("Mia", Role::Member).await;
        let (owner, hers) = (world.browser(acme.id, acme.owner).await, world.browser(acme.id, mia).await);
        let (mut owners, mut mias) = (Stream::open(&owner).await, Stream::open(&hers).await);
        world.sql(&format!("update people set removed_at = created_at where id = {}", mia.0)).await;
        world.work().await;
        assert_eq!(mias.hears().await, None, "at the next look at rights");

        assert_eq!(owner.post("/sign-out", &[]).await.status, 303);
        assert_eq!(owners.hears().await, None, "at once");
        assert!(owner.get("/live").await.location().starts_with("/sign-in"));

        let (there, address) = another_node(world).await;
        let again = world.browser(acme.id, acme.owner).await;
        let mut stream = Stream::open_at(&again, &address).await;
        there.stop.tell();
        assert_eq!(stream.hears().await, None, "a node that stops waits for nobody who only listens");
    })
    .await;
}

#[tokio::test]
async fn a_session_and_all_together_have_so_many_streams() {
    story_with(&[("HTTP_CONNECTIONS", "12")], async |world| {
        let acme = world.workspace("Acme").await;
        let owner = world.browser(acme.id, acme.owner).await;
        let mut streams = Vec::new();
        for _ in 0..5 {
            streams.push(Stream::open(&owner).await);
        }
        let sixth = owner.get("/live").await;
        assert_eq!(sixth.status, 429);
        assert!(sixth.headers.contains_key("retry-after"));
        let another = world.browser(acme.id, acme.owner).await;
        streams.push(Stream::open(&another).await);
        assert_eq!(another.get("/live").await.status, 429, "the rest of the connections is for requests");
        assert_eq!(owner.get("/inbox").await.status, 200);

        streams.clear();
        let freed = async {
            while world.app.streams.count() > 0 {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(PATIENCE, freed).await.expect("who hangs up leaves its place");
        Stream::open(&owner).await;
    })
    .await;
}

#[tokio::test]
async fn a_reader_who_falls_behind_is_told_to_ask_for_everything() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let owner = world.browser(acme.id, acme.owner).await;
        let mut stream = Stream::open(&owner).await;
        for number in 0..10_000 {
            let topic = LiveTopic::Conversation(ConversationId(number));
            world.app.feed.tell(acme.id, &[TopicChange { audience: TEAM, topic }].into());
        }
        while stream.hears().await.expect("it goes on") != ["*"] {}
        let help = acme.mailbox("help@acme.test", "Help").await;
        let id = acme.mail(help, "kim@customer.test", "One", "Hello.").await;
        let named = format!("conversation:{id}");
        while !stream.hears().await.expect("it goes on").contains(&named) {}
    })
    .await;
}

#[tokio::test]
async fn a_node_that_lost_its_ear_tells_its_streams_and_hears_again() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.test", "Help").await;
        let owner = world.browser(acme.id, acme.owner).await;
        let (there, address) = another_node(world).await;
        joins_the_others(&there, &acme).await;
        let mut stream = Stream::open_at(&owner, &address).await;
        world
            .sql(
                "select pg_terminate_backend(pid) from pg_stat_activity
                 where datname = current_database() and query ilike 'listen %'",
            )
            .await;
        assert_eq!(stream.hears().await.unwrap(), ["*"], "something may have been missed");
        joins_the_others(&world.app, &acme).await;
        let id = acme.mail(help, "kim@customer.test", "One", "Hello.").await;
        stream.hears_of(id).await;
        there.stop.tell();
    })
    .await;
}

#[tokio::test]
async fn only_a_page_of_ours_with_a_session_can_listen() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let owner = world.browser(acme.id, acme.owner).await;
        for site in ["cross-site", "same-site", "none"] {
            let request = owner.request(Method::GET, "/live").header("sec-fetch-site", site);
            assert_eq!(owner.send(request).await.status, 403, "{site}");
        }
        let nobody = world.browser_with("");
        assert!(nobody.get("/live").await.location().starts_with("/sign-in"));
        assert_eq!(world.app.streams.count(), 0);
    })
    .await;
}

async fn who_is_where(browser: &Browser<'_>) -> Value {
    serde_json::from_str(&browser.get("/presence").await.page()).expect("JSON")
}

async fn says(browser: &Browser<'_>, conversation: ConversationId, doing: &str) -> u16 {
    browser.post(&format!("/conversations/{conversation}/presence"), &[("doing", doing)]).await.status
}

#[tokio::test]
async fn colleagues_see_who_looks_and_who_writes_until_it_ends_by_itself() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let tom = acme.person("Tom Weber", Role::Member).await;
        let help = acme.mailbox("help@acme.test", "Help").await;
        let id = acme.mail(help, "kim@customer.test", "One", "Hello.").await;
        let (owner, toms) = (world.browser(acme.id, acme.owner).await, world.browser(acme.id, tom).await);
        let mut stream = Stream::open(&owner).await;
        assert_eq!(says(&toms, id, "looking").await, 204);
        assert_eq!(stream.hears().await.unwrap(), ["presence".to_owned(), format!("presence:{id}")]);
        let shown =
            |text: &str, writing: bool| json!({ id.to_string(): { "text": text, "writing": writing } });
        assert_eq!(who_is_where(&owner).await, shown("Tom is looking", false));
        assert_eq!(who_is_where(&toms).await, json!({}), "nobody is told of themselves");
        assert_eq!(says(&toms, id, "writing").await, 204);
        assert_eq!(who_is_where(&owner).await, shown("Tom is writing", true));

        let (there, address) = another_node(world).await;
        joins_the_others(&there, &acme).await;
        joins_the_others(&world.app, &acme).await;
        let mut other = Stream::open_at(&owner, &address).await;
        assert_eq!(says(&toms, id, "looking").await, 204);
        assert!(other.hears().await.unwrap().contains(&format!("presence:{id}")), "on any node");
        assert_eq!(there.feed.who_is_where(acme.id, &[TEAM], world.now()).len(), 1);

        world.wait(TimeDelta::seconds(31));
        assert_eq!(who_is_where(&owner).await, json!({}));
        assert_eq!(says(&toms, id, "looking").await, 204);
        assert_eq!(says(&toms, id, "gone").await, 204);
        assert_eq!(who_is_where(&owner).await, json!({}));
        assert_eq!(says(&toms, id, "dancing").await, 400);

        // Opening a conversation says it, and that the one before was left; an open page that is brought up to date does not.
        let second = acme.mail(help, "kim@customer.test", "Two", "Hello again.").await;
        let two = format!("/conversations/{second}");
        toms.get(&format!("/conversations/{id}")).await.page();
        assert_eq!(who_is_where(&owner).await, shown("Tom is looking", false));
        toms.send(toms.request(Method::GET, &two).header("x-live", "*")).await.page();
        toms.send(toms.request(Method::GET, &two).header("purpose", "prefetch")).await.page();
        assert_eq!(who_is_where(&owner).await, shown("Tom is looking", false));
        toms.send(toms.request(Method::GET, &two).header("x-left", id.to_string())).await.page();
        let there_now = who_is_where(&owner).await;
        assert!(there_now.get(id.to_string()).is_none() && there_now.get(second.to_string()).is_some());
        there.stop.tell();
    })
    .await;
}

/// proves: APP-7
#[tokio::test]
async fn who_is_in_a_private_inbox_is_not_told_and_nobody_can_be_where_they_see_nothing() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let mia: PersonId = acme.person("Mia", Role::Member).await;
        let own = acme.private_mailbox("mia@acme.test", "Mia", mia).await;
        let private = acme.mail(own, "kim@customer.test", "Only for Mia", "Hello.").await;
        let sandbox = acme.key("bot", "read,write", Mode::Test).await;
        let body = json!({ "from": "ada@customer.test", "subject": "A test", "text": "Hi" });
        let simulated: ConversationId = sandbox.simulate(body).await.parse().unwrap();
        let (owner, hers) = (world.browser(acme.id, acme.owner).await, world.browser(acme.id, mia).await);
        assert_eq!(says(&hers, private, "writing").await, 204);
        assert_eq!(who_is_where(&owner).await, json!({}));
        for hidden in [private, simulated, ConversationId(1)] {
            assert_eq!(says(&owner, hidden, "looking").await, 404);
            let path = format!("/conversations/{hidden}/follow");
            assert_eq!(owner.post(&path, &[]).await.status, 404);
        }
        assert_eq!(who_is_where(&hers).await, json!({}));
    })
    .await;
}
