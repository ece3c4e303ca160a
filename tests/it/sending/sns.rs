//! Amazon SES by way of SNS: envelopes signed with a real certificate, both versions of the signature, and everything that
//! only looks like one.

use std::process::{Command, Stdio};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rookery_base::net::sns::public_key;
use rookery_core::workspace::access::By;
use rookery_product::app_mail::adapters::Provider;
use rookery_product::app_mail::manage;
use serde_json::{Value, json};

use rookery_world::mail::services::{ANNA, Service, connects, log, records, suppressed};
use rookery_world::{Reply, Workspace, World, story};

const TOPIC: &str = "arn:aws:sns:eu-west-1:123456789012:sent-mail";
const CERTIFICATE: &str =
    "https://sns.eu-west-1.amazonaws.com/SimpleNotificationService-0000000000000000000000000000aaaa.pem";
const CONFIRM: &str = "https://sns.eu-west-1.amazonaws.com/?Action=ConfirmSubscription&TopicArn=arn:aws:sns:eu-west-1:123456789012:sent-mail&Token=2336412f37fb687f5d51e6e2425f004ae";

/// Amazon, with a certificate of its own making.
struct Amazon {
    folder: tempfile::TempDir,
}

impl Amazon {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let made = Command::new("openssl")
            .current_dir(folder.path())
            .args(["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "30"])
            .args(["-subj", "/CN=sns.amazonaws.com", "-addext", "basicConstraints=critical,CA:FALSE"])
            .args(["-keyout", "key.pem", "-out", "certificate.pem"])
            .output()
            .expect("openssl is there");
        assert!(made.status.success(), "{made:?}");
        Self { folder }
    }

    fn certificate(&self) -> Vec<u8> {
        std::fs::read(self.folder.path().join("certificate.pem")).unwrap()
    }

    fn sign(&self, text: &str, digest: &str) -> String {
        let mut signing = Command::new("openssl")
            .current_dir(self.folder.path())
            .args(["dgst", digest, "-sign", "key.pem"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("openssl is there");
        std::io::Write::write_all(&mut signing.stdin.take().unwrap(), text.as_bytes()).unwrap();
        STANDARD.encode(signing.wait_with_output().unwrap().stdout)
    }

    /// An envelope as SNS signs it.
    fn envelope(&self, world: &World, id: &str, version: &str, fields: &[(&str, &str)]) -> Value {
        let at = world.now().format("%Y-%m-%dT%H:%M:%S%.3fZ").to_string();
        let mut envelope = json!({
            "Type": "Notification", "MessageId": id, "TopicArn": TOPIC, "Timestamp": at,
            "SignatureVersion": version, "SigningCertURL": CERTIFICATE,
            "UnsubscribeURL": "https://sns.eu-west-1.amazonaws.com/?Action=Unsubscribe",
        });
        for (name, value) in fields {
            envelope[*name] = json!(value);
        }
        let signed: String =
            ["Message", "MessageId", "Subject", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type"]
                .iter()
                .filter_map(|name| Some(format!("{name}\n{}\n", envelope.get(*name)?.as_str()?)))
                .collect();
        let digest = if version == "1" { "-sha1" } else { "-sha256" };
        envelope["Signature"] = json!(self.sign(&signed, digest));
        envelope
    }
}

async fn ses<'w>(acme: &Workspace<'w>, amazon: &Amazon) -> Service<'w> {
    let service = Service::of(acme, Provider::Ses).await;
    manage::set_key(&acme.world.app, acme.id, &By::System, service.id, TOPIC).await.expect("a topic");
    let key = public_key(&amazon.certificate());
    assert!(key.is_some(), "the certificate can be read");
    acme.world.app.sns.remember(CERTIFICATE, key, acme.world.now());
    service
}

async fn posts(service: &Service<'_>, envelope: &Value) -> Reply {
    let kind = [("content-type", "text/plain; charset=UTF-8".to_owned())];
    service.posts(&service.path, &kind, &envelope.to_string()).await
}

/// proves: MAIL-23
#[tokio::test]
async fn events_of_ses_are_taken_in_both_forms_and_by_both_signatures() {
    story(async |world| {
        let (acme, amazon) = (world.workspace("Acme").await, Amazon::new());
        let service = ses(&acme, &amazon).await;
        let send = include_str!("../../sending/ses-send.json");
        let bounce = include_str!("../../sending/ses-bounce.json").replace("eventType", "notificationType");
        let sent = amazon.envelope(
            world,
            "m1",
            "1",
            &[("Message", send), ("Subject", "Amazon SES Email Event Notification")],
        );
        let answer = posts(&service, &sent).await;
        assert_eq!((answer.status, answer.json()), (200, json!({ "ok": true, "taken": 1, "unread": 0 })));
        let bounced = amazon.envelope(world, "m2", "2", &[("Message", &bounce)]);
        assert_eq!(posts(&service, &bounced).await.status, 200);
        assert_eq!(suppressed(world).await, [format!("{ANNA} bounce")]);
        assert_eq!(posts(&service, &bounced).await.json()["taken"], 0, "the same again is the same");
        assert_eq!(
            log(world, service.id).await,
            [format!("sent {ANNA} noted"), format!("bounced {ANNA} suppressed")]
        );
        let setup = "Successfully validated SNS topic for Amazon SES event publishing.";
        let setup = amazon.envelope(world, "m3", "1", &[("Message", setup)]);
        assert_eq!(posts(&service, &setup).await.json(), json!({ "ok": true, "taken": 0, "unread": 0 }));
    })
    .await;
}

#[tokio::test]
async fn what_only_looks_like_an_envelope_is_refused_and_nothing_is_fetched_for_it() {
    story(async |world| {
        let (acme, amazon, eve) = (world.workspace("Acme").await, Amazon::new(), Amazon::new());
        let service = ses(&acme, &amazon).await;
        let send = include_str!("../../sending/ses-send.json");
        let good = amazon.envelope(world, "m1", "2", &[("Message", send)]);
        let with = |field: &str, value: &str| {
            let mut changed = good.clone();
            changed[field] = json!(value);
            changed
        };
        let wrong = [
            with("Message", &send.replace("anna@", "eve@")),
            with("MessageId", "m9"),
            with("SignatureVersion", "1"),
            with("SignatureVersion", "3"),
            with("Signature", "AAAA"),
            with("SigningCertURL", "https://evil.example/SimpleNotificationService-1.pem"),
            with("SigningCertURL", "https://sns.eu-west-1.amazonaws.com.evil.example/x.pem"),
            with("SigningCertURL", "http://169.254.169.254/x.pem"),
            eve.envelope(world, "m1", "2", &[("Message", send)]),
            // Signed by Amazon for a topic of somebody else.
            amazon.envelope(
                world,
                "m1",
                "2",
                &[("Message", send), ("TopicArn", "arn:aws:sns:eu-west-1:999999999999:evil")],
            ),
            amazon.envelope(
                world,
                "m1",
                "2",
                &[("Message", send), ("Timestamp", "2020-01-01T00:00:00.000Z")],
            ),
            amazon.envelope(
                world,
                "m1",
                "2",
                &[
                    ("Type", "SubscriptionConfirmation"),
                    ("Message", "You have chosen to subscribe"),
                    ("Token", "t"),
                    ("SubscribeURL", "http://169.254.169.254/latest/meta-data"),
                ],
            ),
            json!({}),
        ];
        for envelope in &wrong {
            assert_eq!(posts(&service, envelope).await.status, 401, "{envelope}");
        }
        assert_eq!((records(world).await, log(world, service.id).await.len()), (0, 1));
        assert_eq!(posts(&service, &good).await.status, 200);
        // Before its topic is entered, nothing is taken.
        let early = connects(&acme, Provider::Ses).await;
        let path = early.hook.replace("https://rookery.example", "");
        assert_eq!(service.posts(&path, &[], &good.to_string()).await.status, 401);
        assert_eq!(records(world).await, 1);
    })
    .await;
}

/// There is no Amazon in this story: SNS is told to ask again, and people read why.
#[tokio::test]
async fn a_subscription_that_cannot_be_confirmed_now_is_asked_for_again() {
    story(async |world| {
        let (acme, amazon) = (world.workspace("Acme").await, Amazon::new());
        let service = ses(&acme, &amazon).await;
        let fields = [
            ("Type", "SubscriptionConfirmation"),
            ("Message", "You have chosen to subscribe to the topic."),
            ("Token", "2336412f37fb687f5d51e6e2425f004ae"),
            ("SubscribeURL", CONFIRM),
        ];
        let confirm = amazon.envelope(world, "m1", "1", &fields);
        assert_eq!(posts(&service, &confirm).await.status, 500);
        let why: String = sqlx::query_scalar("select last_error from sending_services")
            .fetch_one(&world.app.pool)
            .await
            .unwrap();
        assert!(why.starts_with("The subscription could not be confirmed"), "{why}");
        // Neither can a certificate be fetched that is not known yet.
        let unknown = CERTIFICATE.replace("aaaa", "bbbb");
        let message = include_str!("../../sending/ses-send.json");
        let other = amazon.envelope(world, "m2", "2", &[("Message", message), ("SigningCertURL", &unknown)]);
        assert_eq!((posts(&service, &other).await.status, records(world).await), (500, 0));
    })
    .await;
}
