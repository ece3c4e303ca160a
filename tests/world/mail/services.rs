//! Sending services that a workspace is connected to: their requests as their documentation shows them, signed as they sign.

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rookery_base::ids::SendingServiceId;
use rookery_base::secrets::hashes::hmac;
use rookery_core::workspace::access::By;
use rookery_product::app_mail::adapters::Provider;
use rookery_product::app_mail::connect::{Connected, WantedService, connect};
use rookery_product::app_mail::manage;
use serde_json::{Value, json};
use standardwebhooks::Webhook;

use crate::{Reply, Workspace, World};

pub const RESEND_KEY: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
pub const MAILGUN_KEY: &str = "key-3ax6xnjp29jd6fds4gc373sgvjxteol0";
pub const ANNA: &str = "anna@customer.example";

/// What stands in front of a P-256 point in its DER form.
const P256: &str = "3059301306072a8648ce3d020106082a8648ce3d030107034200";

macro_rules! recorded {
    ($name:literal) => {
        serde_json::from_str::<Value>(include_str!(concat!("../../sending/", $name))).expect("JSON")
    };
}

/// A connected service, and what it signs with.
pub struct Service<'w> {
    pub world: &'w World,
    pub provider: Provider,
    pub id: SendingServiceId,
    pub path: String,
    pub secret: String,
    pair: EcdsaKeyPair,
}

pub async fn connects(acme: &Workspace<'_>, provider: Provider) -> Connected {
    let wanted = WantedService {
        person: acme.owner,
        name: provider.name(),
        provider,
        content_url: "http://127.0.0.1:9/words",
        token: if provider == Provider::Own { "token" } else { "" },
        key: "",
    };
    connect(&acme.world.app, acme.id, wanted).await.expect("a connection")
}

impl<'w> Service<'w> {
    pub async fn of(acme: &Workspace<'w>, provider: Provider) -> Self {
        let made = connects(acme, provider).await;
        let pair = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_ASN1_SIGNING).unwrap();
        let path = made.hook.replace("https://rookery.example", "");
        let service = Self { world: acme.world, provider, id: made.id, path, secret: made.secret, pair };
        let key = match provider {
            Provider::Resend => Some(RESEND_KEY.to_owned()),
            Provider::Mailgun => Some(MAILGUN_KEY.to_owned()),
            Provider::Sendgrid => {
                let hex: Vec<u8> = (0..P256.len() / 2)
                    .map(|at| u8::from_str_radix(&P256[2 * at..2 * at + 2], 16).unwrap())
                    .collect();
                Some(STANDARD.encode([&hex, service.pair.public_key().as_ref()].concat()))
            }
            _ => None,
        };
        if let Some(key) = key {
            manage::set_key(&acme.world.app, acme.id, &By::System, made.id, &key).await.expect("a key");
        }
        service
    }

    /// A request about one event, as the service would send it now. `id` is the service's name of the request.
    pub fn signed(&self, id: &str, event: &Value) -> (Vec<(&'static str, String)>, String) {
        let seconds = self.world.now().timestamp();
        self.signed_at(seconds, id, event)
    }

    pub fn signed_at(&self, seconds: i64, id: &str, event: &Value) -> (Vec<(&'static str, String)>, String) {
        let body = event.to_string();
        match self.provider {
            Provider::Postmark => {
                let given = STANDARD.encode(format!("rookery:{}", self.secret));
                (vec![("authorization", format!("Basic {given}"))], body)
            }
            Provider::Resend => {
                let signed = Webhook::new(RESEND_KEY).unwrap().sign(id, seconds, body.as_bytes()).unwrap();
                let headers = vec![
                    ("svix-id", id.to_owned()),
                    ("svix-timestamp", seconds.to_string()),
                    ("svix-signature", signed),
                ];
                (headers, body)
            }
            Provider::Mailgun => {
                let mac = hmac(MAILGUN_KEY.as_bytes(), &[seconds.to_string().as_bytes(), id.as_bytes()]);
                let hex: String = mac.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
                let signature = json!({ "timestamp": seconds.to_string(), "token": id, "signature": hex });
                (vec![], json!({ "signature": signature, "event-data": event }).to_string())
            }
            Provider::Sendgrid => {
                // An array is sent as it is.
                let body = if event.is_array() { body } else { format!("[{body}]") };
                let message = format!("{seconds}{body}");
                let signature = self.pair.sign(&SystemRandom::new(), message.as_bytes()).unwrap();
                let headers = vec![
                    ("x-twilio-email-event-webhook-timestamp", seconds.to_string()),
                    ("x-twilio-email-event-webhook-signature", STANDARD.encode(signature)),
                ];
                (headers, body)
            }
            Provider::Own | Provider::Ses => unreachable!("they have stories of their own"),
        }
    }

    pub async fn posts(&self, path: &str, headers: &[(&'static str, String)], body: &str) -> Reply {
        let request = self.world.ask("POST", path).body(body.to_owned());
        Reply::of(headers.iter().fold(request, |request, (name, value)| request.header(*name, value))).await
    }

    pub async fn tells(&self, id: &str, event: &Value) -> Reply {
        let (headers, body) = self.signed(id, event);
        self.posts(&self.path, &headers, &body).await
    }

    /// That a mail to Anna left, as the service's documentation has it.
    pub fn sent(&self) -> Value {
        match self.provider {
            Provider::Postmark => recorded!("postmark-delivery.json"),
            Provider::Resend => recorded!("resend-sent.json"),
            Provider::Mailgun => recorded!("mailgun-delivered.json"),
            _ => recorded!("sendgrid-events.json")[0].clone(),
        }
    }

    /// That the same mail bounced.
    pub fn bounced(&self) -> Value {
        match self.provider {
            Provider::Postmark => recorded!("postmark-bounce.json"),
            Provider::Resend => recorded!("resend-bounced.json"),
            Provider::Mailgun => recorded!("mailgun-failed.json"),
            _ => recorded!("sendgrid-events.json")[5].clone(),
        }
    }
}

pub const SIGNING: [Provider; 4] =
    [Provider::Postmark, Provider::Resend, Provider::Mailgun, Provider::Sendgrid];

/// The outcomes of the log, the oldest first.
pub async fn log(world: &World, service: SendingServiceId) -> Vec<String> {
    sqlx::query_scalar(
        "select kind || ' ' || coalesce(address, '-') || ' ' || outcome from service_reports
         where service_id = $1 order by id",
    )
    .bind(service.0)
    .fetch_all(&world.app.pool)
    .await
    .expect("the log can be read")
}

pub async fn suppressed(world: &World) -> Vec<String> {
    sqlx::query_scalar("select address || ' ' || reason from suppressed_addresses where livemode order by 1")
        .fetch_all(&world.app.pool)
        .await
        .expect("addresses can be read")
}

pub async fn records(world: &World) -> i64 {
    world.scalar("select count(*) from app_mail").await
}
