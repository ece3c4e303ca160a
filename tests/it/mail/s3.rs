//! Mail whose bytes are on S3. These need a server: `just s3` starts one and runs them, and with them the
//! other tests of mail once more.

use rookery_world::mail::client::Client;
use rookery_world::mail::post::{mail, post, post_with};
use rookery_world::s3;

/// Long enough that its bytes are a blob, with a file that is one.
fn large(subject: &str) -> String {
    let header = "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=b";
    let body = format!(
        "--b\nContent-Type: text/plain\n\n{}\n--b\nContent-Type: application/pdf\n\
         Content-Disposition: attachment; filename=bill.pdf\n\nPDF\n--b--",
        "Where is it? ".repeat(10_000)
    );
    mail("anna@customer.example", subject, header, &body)
}

#[tokio::test]
#[ignore = "needs an S3 server: just s3"]
async fn bytes_on_s3_are_read_as_they_came() {
    assert!(s3().is_some(), "TEST_S3 names the server");
    post(&[], async |post| {
        assert_eq!(post.world.app.config.blobs.scheme(), "s3");
        let raw = large("Parcel");
        let kept = post.takes("anna@customer.example", "help@acme.example", &raw).await;
        assert!(kept.raw.ends_with(&raw.replace('\n', "\r\n")));
        let blob: String =
            sqlx::query_scalar("select blob from documents").fetch_one(&post.world.app.pool).await.unwrap();
        assert_eq!(post.world.app.blobs.get(&blob).await.unwrap(), b"PDF");
    })
    .await;
}

#[tokio::test]
#[ignore = "needs an S3 server: just s3"]
async fn a_wrong_secret_or_a_server_that_is_away_is_a_451_and_nothing_is_stored() {
    let server = s3().expect("TEST_S3 names the server");
    let right = format!("s3://rookery/x?endpoint={server}");
    for (blobs, secret) in
        [(right.as_str(), "wrong"), ("s3://rookery/x?endpoint=http://127.0.0.1:9", "only-for-tests")]
    {
        post_with(&[("BLOBS", blobs), ("BLOBS_SECRET_KEY", secret)], &[], async |post| {
            let answer = Client::greeted(post.smtp)
                .await
                .mail("anna@customer.example", "help@acme.example", &large("Parcel"))
                .await;
            assert_eq!((answer.code, post.count().await), (451, 0), "{answer:?}");
        })
        .await;
    }
}
