//! The wire to a real model server, which tests/peers/model starts. Whether its answers are any good is not asked.

use rookery_assistants::model::Model;
use rookery_assistants::sort::{ask, topics};

use rookery_world::story_with;

#[tokio::test]
#[ignore = "needs a model server: tests/peers/model"]
async fn a_real_server_understands_a_question_and_answers_in_the_form() {
    let address =
        std::env::vars().find(|(name, _)| name == "TEST_MODEL").expect("tests/peers/model runs this").1;
    let settings = [
        ("ASSISTANTS_URL", address.as_str()),
        ("ASSISTANTS_MODEL", "smollm2"),
        ("ASSISTANTS_SECONDS", "120"),
        ("LEASE_SECONDS", "900"),
    ];
    story_with(&settings, async |world| {
        let model = Model::of_the_operator(&world.app.config).unwrap();
        let topics = topics::usual();
        let mut answered = 0;
        for text in
            ["Where is my order?", "Bitte stornieren Sie meine Rechnung.", "Quiero devolver los zapatos."]
        {
            let prompt = ask::prompt(&topics, "Hello", text);
            match model.ask(&world.app, &prompt, &ask::form(&topics), ask::CAPS).await {
                Ok(answer) => {
                    answered += 1;
                    assert!(answer.value["urgency"].is_string(), "{answer:?}");
                    assert!(answer.usage.is_some_and(|usage| usage.tokens_in > 100), "it counts: {answer:?}");
                }
                // A very small model may run out of room; that is noticed, too.
                Err(none) => println!("{text}: {}", none.why),
            }
        }
        assert!(answered > 0, "it never answered in the form");
    })
    .await;
}
