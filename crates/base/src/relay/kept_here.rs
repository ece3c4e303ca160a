//! Mail to an address under `.test` stays here: the name is reserved (RFC 6761) and belongs to nobody, so whoever writes to
//! one shows or tries something. So does whatever the inbox for trying things sends, also to real people. It counts as
//! sent. All other mail goes on untouched.

use futures::future::BoxFuture;

use crate::error::Result;
use crate::relay::mailer::{FinalMail, Handover, Mailer, OutgoingLetter};

/// How the address of the inbox for trying things begins; it ends in `.test`.
pub const TRY_IT: &str = "try-it";

/// Carries everything but mail to `.test`, and from the inbox for trying things.
pub struct KeepsTestMail<M>(pub M);

impl<M: Mailer> Mailer for KeepsTestMail<M> {
    fn hand_over<'a>(
        &'a self,
        letter: &'a OutgoingLetter,
        mail: &'a FinalMail,
    ) -> BoxFuture<'a, Result<Handover>> {
        Box::pin(async move {
            if letter.from.starts_with(TRY_IT) && is_test_address(&letter.from) {
                return Ok(Handover::Accepted);
            }
            let all = std::iter::once(&mail.to).chain(&mail.copies_to);
            if !all.clone().any(|address| is_test_address(address)) {
                return self.0.hand_over(letter, mail).await;
            }
            let mut leaves = all.filter(|address| !is_test_address(address)).cloned();
            let Some(to) = leaves.next() else { return Ok(Handover::Accepted) };
            let rest = FinalMail { to, copies_to: leaves.collect(), ..mail.clone() };
            self.0.hand_over(letter, &rest).await
        })
    }
}

fn is_test_address(address: &str) -> bool {
    let domain = address.rsplit('@').next().unwrap_or_default().trim_end_matches('.');
    domain.rsplit('.').next().is_some_and(|last| last.eq_ignore_ascii_case("test"))
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::ids::{ConversationId, MessageId, WorkspaceId};
    use crate::relay::mailer::Copies;

    #[derive(Default)]
    struct Carried(Mutex<Vec<String>>);

    impl Mailer for Carried {
        fn hand_over<'a>(
            &'a self,
            _: &'a OutgoingLetter,
            mail: &'a FinalMail,
        ) -> BoxFuture<'a, Result<Handover>> {
            self.0
                .lock()
                .unwrap()
                .push([std::slice::from_ref(&mail.to), &mail.copies_to[..]].concat().join(" "));
            Box::pin(async { Ok(Handover::Later) })
        }
    }

    #[tokio::test]
    async fn mail_to_test_addresses_and_what_is_tried_count_as_sent_and_never_leave() {
        let mailer = KeepsTestMail(Carried::default());
        let hand_over_from = async |from: &str, all: &str| {
            let (to, copies) = all.split_once(' ').unwrap_or((all, ""));
            let letter = OutgoingLetter {
                workspace: WorkspaceId(1),
                conversation: ConversationId(1),
                message: MessageId(1),
                rfc_message_id: "1@acme.example".into(),
                from_name: None,
                from: from.into(),
                to: to.into(),
                copies: Copies::default(),
                subject: String::new(),
                text: String::new(),
            };
            let copies_to = copies.split_whitespace().map(str::to_owned).collect();
            let mail = FinalMail { return_path: String::new(), to: to.into(), copies_to, raw: Vec::new() };
            mailer.hand_over(&letter, &mail).await.unwrap()
        };
        let hand_over = async |all: &str| hand_over_from("help@acme.example", all).await;
        // An answer from the inbox to try things with, to a real address.
        for from in ["try-it@acme.test", "try-it-0a1b2c@acme.test"] {
            assert_eq!(hand_over_from(from, "ada@customer.example").await, Handover::Accepted, "{from}");
        }
        // Somebody's closed network, and a real inbox of that name.
        for from in ["help@acme.test", "try-it@acme.example"] {
            assert_eq!(hand_over_from(from, "ada@customer.example").await, Handover::Later, "{from}");
        }
        mailer.0.0.lock().unwrap().clear();
        for kept in ["ada@customer.test", "ada@TEST b@x.test", "ada@a.b.Test.", "\"a@b\"@x.test"] {
            assert_eq!(hand_over(kept).await, Handover::Accepted, "{kept}");
        }
        let carried = ["ada@test.example", "ada@contest", "ada@customer.test.example", "test@acme.example"];
        for leaves in carried {
            assert_eq!(hand_over(leaves).await, Handover::Later, "{leaves}");
        }
        assert_eq!(hand_over("a@x.test b@acme.example c@y.test d@acme.example").await, Handover::Later);
        let mut carried = carried.to_vec();
        carried.push("b@acme.example d@acme.example");
        assert_eq!(*mailer.0.0.lock().unwrap(), carried);
    }
}
