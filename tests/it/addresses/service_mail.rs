//! Mail of the service itself: where it comes back to, nobody reads. Links to sign in and codes stand in it.

use super::{recipient, smtp};
use rookery_world::mail::client::Client;
use rookery_world::story_with;

#[tokio::test]
async fn what_comes_back_of_a_sign_in_mail_is_stored_nowhere() {
    story_with(&[("MAIL_NAME", "mx.rookery.example")], async |world| {
        let acme = world.workspace("Acme").await;
        acme.mailbox("help@mx.rookery.example", "Help").await;
        // As an installation may have it from before.
        world
            .sql(
                "insert into mailboxes (workspace_id, id, kind, address, name, created_at)
                 select workspace_id, 7, 'team', 'rookery@mx.rookery.example', 'Old', created_at from mailboxes limit 1;
                 insert into directory.addresses (address, workspace_id, kept)
                 select 'rookery@mx.rookery.example', id, true from workspaces",
            )
            .await;
        world.browser_with("").post("/sign-in", &[("email", "olga@rookery.example")]).await;
        world.work().await;
        let mails = world.outbox.mails();
        let [mail] = &mails[..] else { panic!("one mail: {mails:?}") };
        let path = &mail.return_path;
        assert!(path.starts_with("rookery+n=") && path.ends_with("@mx.rookery.example"), "{path}");
        let raw = String::from_utf8(mail.raw.clone()).unwrap();
        assert!(raw.contains("Auto-Submitted: auto-generated") && raw.contains("X-Auto-Response-Suppress: All"));

        let smtp = smtp(world).await;
        let bounce = "From: MAILER-DAEMON@customer.example\nSubject: Undelivered\nMessage-ID: <b@c.example>\n\n";
        let returned = format!("{bounce}{}", raw.replace("\r\n", "\n"));
        for to in [path.clone(), path.to_uppercase()] {
            assert_eq!(Client::greeted(smtp).await.mail("", &to, &returned).await.code, 250, "{to}");
        }
        // Nor is an automatic reply taken, which goes to whom the mail is from, nor what somebody made up.
        let (local, domain) = path.split_once('@').unwrap();
        for to in [
            "rookery@mx.rookery.example",
            "Rookery+x@MX.rookery.example",
            &format!("{}x@{domain}", &local[..local.len() - 1]),
            "rookery+n=1=2@mx.rookery.example",
        ] {
            assert_eq!(recipient(smtp, to).await, 550, "{to}");
        }
        assert_eq!(recipient(smtp, "help@mx.rookery.example").await, 250);
        assert_eq!(world.scalar("select count(*) from messages").await, 0);
    })
    .await;
}
