//! `GET /conversations/{id}` of a conversation that is long: the newest items, and a way to the earlier ones.

use rookery_base::ids::{ConversationId, WorkspaceId};
use serde_json::{Value, json};

use rookery_world::{Key, Mode, World, story, story_with};

/// The timeline of one answer, and where the earlier items are.
async fn page(key: &Key<'_>, id: ConversationId, before: Option<&str>) -> (Vec<Value>, Option<String>) {
    let (path, arguments) = match before {
        Some(before) => (
            format!("/conversations/{id}?before={before}"),
            json!({ "id": id.to_string(), "before": before }),
        ),
        None => (format!("/conversations/{id}"), json!({ "id": id.to_string() })),
    };
    let (status, answer) = key.read(&path, "get_conversation", arguments).await;
    assert_eq!(status, 200, "{answer}");
    let earlier = answer.get("earlier").map(|earlier| earlier.as_str().expect("a text").to_owned());
    (answer["timeline"].as_array().expect("a timeline").clone(), earlier)
}

/// All items, oldest first, read page by page, and how many there were in each.
async fn whole(key: &Key<'_>, id: ConversationId) -> (Vec<Value>, Vec<usize>) {
    let (mut items, mut sizes, mut before) = (Vec::new(), Vec::new(), None);
    loop {
        let (mut page, earlier) = page(key, id, before.as_deref()).await;
        sizes.push(page.len());
        page.append(&mut items);
        items = page;
        before = earlier;
        if before.is_none() {
            return (items, sizes);
        }
    }
}

/// Messages, notes and events in turn, seven of one instant each: pages end within an instant.
async fn fill(world: &World, workspace: WorkspaceId, id: ConversationId, items: usize) {
    let (workspace, id) = (workspace.0, id.0);
    let at = "timestamptz '2031-01-07 08:00:00Z' + n / 7 * interval '1 minute'";
    world
        .sql(&format!(
            "insert into messages (workspace_id, conversation_id, id, mailbox_id, item, at, direction, status, sent_at,
                 from_email, text)
             select {workspace}, {id}, n, 1, n, {at}, 'outbound', 'sent', {at}, 'help@acme.example', 'item ' || n
             from generate_series(2, {items}) n where n % 3 = 0;
             insert into notes (workspace_id, conversation_id, id, item, at, author, body)
             select {workspace}, {id}, n, n, {at}, 'Olga', 'item ' || n from generate_series(2, {items}) n where n % 3 = 1;
             insert into timeline_events (workspace_id, conversation_id, item, at, actor, event, data)
             select {workspace}, {id}, n, {at}, 'Olga', 'status', jsonb_build_object('n', 'item ' || n)
             from generate_series(2, {items}) n where n % 3 = 2;
             update conversations set last_item = {items} where workspace_id = {workspace} and id = {id}"
        ))
        .await;
}

fn said(item: &Value) -> &str {
    let said = [&item["text"], &item["body"], &item["data"]["n"]].into_iter().find_map(Value::as_str);
    said.expect("an item that says something")
}

/// proves: CONV-9
#[tokio::test]
async fn a_long_timeline_gives_its_newest_items_and_the_way_to_the_earlier_ones() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let support = acme.mailbox("help@acme.example", "Support").await;
        let key = acme.key("bot", "read", Mode::Live).await;
        let id = acme.mail(support, "anna@customer.example", "Parcel", "item 1").await;

        let short = key.conversation(id).await;
        assert!(short.get("earlier").is_none(), "a timeline that is whole says nothing of others");
        fill(world, acme.id, id, 500).await;
        let (items, earlier) = page(&key, id, None).await;
        assert_eq!((items.len(), earlier), (500, None), "as many as an answer has are whole");

        world.sql("truncate notes, timeline_events cascade; delete from messages where item > 1").await;
        fill(world, acme.id, id, 1_203).await;
        let (newest, earlier) = page(&key, id, None).await;
        assert_eq!((newest.len(), said(&newest[0]), said(&newest[499])), (500, "item 704", "item 1203"));
        assert!(earlier.is_some());
        let (items, sizes) = whole(&key, id).await;
        assert_eq!(sizes, [500, 500, 203]);
        let told: Vec<&str> = items.iter().map(said).collect();
        let wanted: Vec<String> = (1..=1_203).map(|n| format!("item {n}")).collect();
        assert_eq!(told, wanted, "each item once, in order");
    })
    .await;
}

#[tokio::test]
async fn a_timeline_of_long_texts_is_cut_by_its_bytes_and_every_answer_has_an_item() {
    story_with(&[("RATE_LIMIT_REQUESTS", "1000")], async |world| {
        let acme = world.workspace("Acme").await;
        let support = acme.mailbox("help@acme.example", "Support").await;
        let key = acme.key("bot", "read", Mode::Live).await;
        let id = acme.mail(support, "anna@customer.example", "Parcel", "item 1").await;
        let (workspace, number) = (acme.id.0, id.0);
        // Four bytes a letter: forty thousand bytes a note.
        world
            .sql(&format!(
                "insert into notes (workspace_id, conversation_id, id, item, at, author, body)
                 select {workspace}, {number}, n, n, '2031-01-07 08:00:00Z', 'Olga', repeat('🐦', 10000)
                 from generate_series(2, 251) n;
                 insert into timeline_events (workspace_id, conversation_id, item, at, actor, event, data)
                 select {workspace}, {number}, n, '2031-01-07 09:00:00Z', 'Olga', 'status',
                        jsonb_build_object('n', repeat('x', 5000000))
                 from generate_series(252, 253) n"
            ))
            .await;
        let (items, sizes) = whole(&key, id).await;
        assert_eq!(items.len(), 253);
        assert_eq!(sizes, [1, 1, 100, 100, 51], "four million bytes, or one item that has more");
    })
    .await;
}

#[tokio::test]
async fn a_place_on_a_timeline_that_no_answer_gave_is_refused() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let support = acme.mailbox("help@acme.example", "Support").await;
        let key = acme.key("bot", "read", Mode::Live).await;
        let id = acme.mail(support, "anna@customer.example", "Parcel", "Hello").await;
        for wrong in ["yesterday", "1", "1.2.3", "-1.2", "99999999999999999999.1", "1.9999999999"] {
            let path = format!("/conversations/{id}?before={wrong}");
            let arguments = json!({ "id": id.to_string(), "before": wrong });
            let (status, answer) = key.read(&path, "get_conversation", arguments).await;
            assert_eq!(
                (status, &answer),
                (400, &json!({ "error": "before: must be `earlier` of an earlier answer" }))
            );
        }
        let (items, earlier) = page(&key, id, Some("1.1")).await;
        assert_eq!((items.len(), earlier), (0, None), "nothing is earlier than that");
        let (items, earlier) = page(&key, id, Some("99999999999999999.999999999")).await;
        assert_eq!((items.len(), earlier), (1, None), "and everything than this");
    })
    .await;
}

#[tokio::test]
async fn a_conversation_shows_so_many_of_its_tags() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let support = acme.mailbox("help@acme.example", "Support").await;
        let key = acme.key("bot", "read", Mode::Live).await;
        let id = acme.mail(support, "anna@customer.example", "Parcel", "Hello").await;
        let (workspace, number) = (acme.id.0, id.0);
        world
            .sql(&format!(
                "insert into tags (workspace_id, id, name, folded, audiences)
                 select {workspace}, n, 'tag' || n, 'tag' || n, '{{0}}' from generate_series(1000, 1999) n;
                 insert into conversation_tags select {workspace}, {number}, n, 0 from generate_series(1000, 1999) n"
            ))
            .await;
        let tags = key.conversation(id).await["tags"].as_array().unwrap().clone();
        assert_eq!((tags.len(), &tags[0], &tags[499]), (500, &json!("tag1000"), &json!("tag1499")));
    })
    .await;
}
