//! What a key may send and draft in a day, on two nodes at once: the limits hold exactly, whoever asks how often.

use futures::future::join_all;
use serde_json::{Value, json};

use rookery_world::Reply;
use rookery_world::site::{Site, text};

const CALLS: usize = 64;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sixty_four_calls_at_once_on_two_nodes_never_go_over_what_a_key_may_write_in_a_day() {
    let site = Site::migrated().await;
    let (workspace, owner) = site.workspace();
    let made = site.admin(&[
        "create-key",
        "--workspace",
        &workspace,
        "--maker",
        &owner,
        "--name",
        "bot",
        "--scopes",
        "write,draft,send",
        "--mode",
        "test",
        "--sends-a-day",
        "7",
        "--drafts-a-day",
        "11",
    ]);
    let key = text(&made, "key");
    let refused = site.run(&[
        "admin",
        "create-key",
        "--workspace",
        &workspace,
        "--maker",
        &owner,
        "--name",
        "other",
        "--scopes",
        "read",
        "--mode",
        "test",
        "--sends-a-day",
        "100001",
    ]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && said.contains("must be a number from 0 to 100000"), "{said}");

    // No day ends while this runs.
    let pool = sqlx::PgPool::connect(site.database.url()).await.unwrap();
    sqlx::query(
        "update workspaces set time_zone = case when extract(hour from now() at time zone 'UTC') < 18 then 'UTC'
                                                else 'Etc/GMT-6' end",
    )
    .execute(&pool)
    .await
    .unwrap();

    let settings = [("ROOKERY_RATE_LIMIT_REQUESTS", "100000")];
    let nodes = [site.serve("one", &settings).await, site.serve("two", &settings).await];
    let post = async |number: usize, path: &str, body: Value, idempotency: Option<String>| {
        let request = site.http.post(format!("{}/api/v1{path}", nodes[number % 2].address)).bearer_auth(&key);
        let request = match idempotency {
            Some(name) => request.header("Idempotency-Key", name),
            None => request,
        };
        Reply::of(request.json(&body)).await
    };
    let me = site.get(&nodes[0], "/api/v1/me", &key).await.json();
    assert_eq!(me["limits"], json!({ "sendsADay": 7, "draftsADay": 11, "messagesADay": null }));
    let mut conversations = Vec::new();
    for number in 0..8 {
        let mail = json!({ "from": format!("ada{number}@customer.test"), "text": "Hello" });
        conversations
            .push(text(&post(number, "/sandbox/inbound", mail, None).await.json(), "conversationId"));
    }
    // Half send and half draft; every request comes twice with its key, once to each node.
    let reply = async |number: usize, node: usize| {
        let path = format!("/conversations/{}/replies", conversations[number % conversations.len()]);
        let body = json!({ "body": format!("Reply {number}"), "send": number.is_multiple_of(2) });
        post(node, &path, body, Some(format!("request {number}"))).await
    };
    let first = join_all((0..CALLS).map(|number| reply(number, number / 2))).await;
    let done = |send: bool| {
        let of = first.iter().enumerate().filter(|(number, _)| number.is_multiple_of(2) == send);
        of.filter(|(_, reply)| reply.status == 201).count()
    };
    assert_eq!((done(true), done(false)), (7, 11));
    for (number, reply) in first.iter().enumerate().filter(|(_, reply)| reply.status != 201) {
        let said = if number.is_multiple_of(2) { "send 7 messages a day" } else { "write 11 drafts a day" };
        assert!(reply.status == 429 && reply.error().contains(said), "{}", reply.text);
        assert!(reply.header("retry-after").is_some_and(|wait| wait.parse::<u32>().unwrap() <= 86_400));
    }
    // A repeat is answered from memory, and what was refused is refused again: neither counts.
    let again = join_all((0..CALLS).map(|number| reply(number, number / 2 + 1))).await;
    for (before, after) in first.iter().zip(&again) {
        assert_eq!(before.status, after.status);
        assert!(before.status != 201 || before.json() == after.json(), "{}", after.text);
    }
    let stored: Vec<(bool, i64)> = sqlx::query_as(
        "select status = 'draft', count(*) from messages where author_type = 'agent' group by 1 order by 1",
    )
    .fetch_all(&pool)
    .await
    .unwrap();
    assert_eq!(stored, [(false, 7), (true, 11)]);
}
