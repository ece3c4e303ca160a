//! What ends a program's way in: its agent is revoked, its maker leaves, nobody lets it in. And how many strangers can register.

use chrono::TimeDelta;
use rookery_base::store::clients::MOST_UNUSED;
use rookery_core::workspace::people::Role;
use serde_json::json;

use super::{Program, agents, opens, refusal, registers};
use rookery_world::story;

#[tokio::test]
async fn revoking_the_agent_ends_its_tokens_at_once() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let owner = world.browser(acme.id, acme.owner).await;
        let program = Program::registered(world, "Helper").await;
        let tokens = program.signs_in(&owner).await;
        let listed = owner.get("/settings/agents").await.page();
        let (_, rest) = listed.split_once("/settings/agents/agt_").expect("it is listed");
        let agent = format!("agt_{}", &rest[..13]);
        let asked = owner.get(&format!("/settings/keys/{agent}/revoke")).await.page();
        assert!(asked.contains("Revoke") && asked.contains("Helper"), "{asked}");
        owner.post(&format!("/settings/keys/{agent}/revoke"), &[]).await;
        assert!(!opens(world, &tokens.access).await);
        assert_eq!(refusal(&program.refreshes(&tokens.refresh).await), "invalid_grant");
        // And a code that was still on its way.
        let code = program.code(&owner).await;
        world.sql("update agents set revoked_at = created_at where revoked_at is null").await;
        assert_eq!(refusal(&program.redeems(&code).await), "invalid_grant");
    })
    .await;
}

#[tokio::test]
async fn a_program_ends_with_the_person_who_let_it_in() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let ada = acme.person("Ada", Role::Admin).await;
        let admin = world.browser(acme.id, ada).await;
        let program = Program::registered(world, "Helper").await;
        let tokens = program.signs_in(&admin).await;
        assert!(opens(world, &tokens.access).await);
        world.sql(&format!("update people set removed_at = created_at where id = {}", ada.0)).await;
        assert!(!opens(world, &tokens.access).await);
        assert_eq!(refusal(&program.refreshes(&tokens.refresh).await), "invalid_grant");
        world.work().await;
        assert_eq!(agents(world).await, 0);
    })
    .await;
}

#[tokio::test]
async fn what_nobody_lets_in_ends_after_a_day_and_what_somebody_does_stays() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let owner = world.browser(acme.id, acme.owner).await;
        let (used, unused) =
            (Program::registered(world, "Used").await, Program::registered(world, "Unused").await);
        used.code(&owner).await;
        world.wait(TimeDelta::hours(24));
        let owner = world.browser(acme.id, acme.owner).await;
        let shown = owner.get(&unused.address()).await;
        assert!(shown.status == 400 && shown.html.contains("is of no program"), "{}", shown.html);
        owner.get(&used.address()).await.page();
        world.work().await;
        let left: Vec<String> = sqlx::query_scalar("select name from directory.clients")
            .fetch_all(&world.app.pool)
            .await
            .unwrap();
        assert_eq!(left, ["Used"]);
        world.wait(TimeDelta::days(365));
        world.work().await;
        assert_eq!(world.scalar("select count(*) from directory.clients").await, 0);
    })
    .await;
}

#[tokio::test]
async fn a_flood_of_registrations_waits_and_keeps_so_many_rows() {
    story(async |world| {
        let body = json!({ "redirect_uris": [super::REDIRECT] });
        let mut taken = 0;
        let refused = loop {
            let reply = registers(world, &body).await;
            match reply.status {
                201 => taken += 1,
                429 => break reply,
                other => panic!("{other}"),
            }
        };
        assert_eq!(taken, 60);
        assert!(refused.header("retry-after").is_some() && refused.error().contains("Too many programs registered"));

        // From everywhere: the oldest make room, those that somebody let in stay.
        world.sql("update directory.clients set used_at = registered_at where id = (select min(id) from directory.clients)").await;
        world.sql(&format!(
            "insert into directory.clients (id, name, redirects, registered_at)
             select 'flood' || n, 'x', '{{https://x.example/}}', '2031-01-06T08:00:00Z' from generate_series(1, {MOST_UNUSED}) n"
        ))
        .await;
        world.wait(TimeDelta::minutes(16));
        assert_eq!(registers(world, &body).await.status, 201);
        assert_eq!(world.scalar("select count(*) from directory.clients where used_at is null").await, MOST_UNUSED);
        assert_eq!(world.scalar("select count(*) from directory.clients where id not like 'flood%'").await, 61);
    })
    .await;
}
