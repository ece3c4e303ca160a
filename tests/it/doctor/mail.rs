//! Mail in and out, and the domains it is of, broken one at a time.

use rookery_core::workspace::access::By;
use rookery_core::workspace::mailboxes;

use super::healthy::Healthy;
use rookery_world::sink::{Does, Sink, Step};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn mail_that_comes_in() {
    let healthy = Healthy::start().await;
    healthy.breaks("smtp", &[("SMTP_LISTEN", "127.0.0.1:1")]).await;
    let plain = Sink::start().await;
    healthy.breaks("smtp-starttls", &[("SMTP_LISTEN", &format!("127.0.0.1:{}", plain.port))]).await;
    healthy.breaks("lmtp", &[("LMTP_LISTEN", "127.0.0.1:1")]).await;
    let at = |name: &str| healthy.file(name).display().to_string();
    healthy.breaks("smtp-key", &[("TLS_KEY", &at("other.key"))]).await;
    let short = [("TLS_CERTIFICATE", at("short.pem")), ("TLS_KEY", at("short.key"))];
    healthy.breaks("smtp-certificate", &short.each_ref().map(|(name, file)| (*name, file.as_str()))).await;
    let other = [("TLS_CERTIFICATE", at("other.pem")), ("TLS_KEY", at("other.key"))];
    healthy
        .breaks("smtp-certificate-name", &other.each_ref().map(|(name, file)| (*name, file.as_str())))
        .await;

    healthy.names(&["mail-name"]);
    healthy.only("mail-name").await;
    healthy.names(&["mail-pointer"]);
    healthy.only("mail-pointer").await;
    healthy.names(&["port-25-in"]);
    healthy.only("port-25-in").await;
    healthy.names(&["port-25-out"]);
    healthy.only("port-25-out").await;
    healthy.names(&[]);
    healthy.is_well().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn domains_and_mail_that_leaves() {
    let healthy = Healthy::start().await;
    let sent = healthy.relay.taken().len();
    healthy.names(&["DKIM"]);
    healthy.only("dkim").await;
    healthy.names(&["SPF"]);
    healthy.only("spf").await;
    healthy.names(&["DMARC"]);
    healthy.only("dmarc").await;
    healthy.names(&["MX"]);
    healthy.only("mx").await;
    healthy.names(&[]);
    let app = healthy.app(&[]);
    mailboxes::create(&app, healthy.workspace, &By::System, "help@other.example", "Other", None)
        .await
        .unwrap();
    healthy.only("unsigned-domains").await;
    healthy.sql("update mailboxes set closed_at = now() where address = 'help@other.example'").await;

    healthy.breaks("relay", &[("RELAY", "")]).await;
    let open = format!("smtp://relay.acme.example:{}?tls=none", healthy.relay.port);
    healthy.breaks("relay-encrypted", &[("RELAY", &open)]).await;
    healthy.breaks("relay-reached", &[("RELAY", "smtp://127.0.0.1:1?tls=none")]).await;
    healthy.relay.does(Step::Password, Does::Says("535 5.7.8 No such user"));
    healthy.only("relay-sign-in").await;
    healthy.relay.behaves();
    healthy.is_well().await;
    assert_eq!(healthy.relay.taken().len(), sent, "looking sends no mail");
}
