//! Endpoint where connected sending services report what became of mail (specification 4.13.4). The service's signature is
//! the only authentication. An unknown connection, a wrong signature and a wrong timestamp get the same 401.
//!
//! In this order: who asks too often (429), the connection, what the head shows of the signature, the body, the signature,
//! the rate of the connection. What cannot be read is answered 200 with its number, or a service would send it for days;
//! what cannot be stored is answered 500, so that it does.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use axum::body::{Body, HttpBody};
use axum::extract::{Path, State};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::Response;
use axum::routing::post;
use axum::{Extension, Router};
use serde_json::json;
use tokio::sync::Semaphore;

use rookery_base::app::App;
use rookery_base::error::{Error, Result};
use rookery_base::figures::Answered;
use rookery_base::figures::traces::Trace;
use rookery_base::ids::{SendingServiceId, WorkspaceId};
use rookery_base::limits::rate::{self, RateKey};
use rookery_base::net::sns::SnsTrouble;
use rookery_base::secrets::hashes::{number, sha256};
use rookery_http::answers::{answer, insert, refusal};
use rookery_http::bodies::{Bodies, Caller};
use rookery_http::serve::From;
use rookery_http::unauthorized_log::UnauthorizedLog;
use rookery_mail::incoming::service_reports::{TakenReports, refuse, take};
use rookery_product::app_mail::adapters::report::ReadReports;
use rookery_product::app_mail::adapters::ses::{Content, Envelope};
use rookery_product::app_mail::adapters::{self, Provider};
use rookery_product::app_mail::connect::{REPORT_PATH, Receiving, receiving};

/// Body limit of the largest service.
const MOST_BYTES: usize = 1 << 20;
/// Database connections that unauthenticated requests may use at once.
const LOOK_UPS: usize = 2;
/// When a service should try again that is paused here.
const PAUSE_SECONDS: &str = "600";

struct Reports {
    app: Arc<App>,
    bodies: Arc<Bodies>,
    refusals: Arc<UnauthorizedLog>,
    look_ups: Semaphore,
}

/// What a request came to.
enum Came {
    Taken(Provider, TakenReports),
    /// A subscription was confirmed.
    Confirmed,
    Paused,
}

pub fn routes(app: Arc<App>, bodies: Arc<Bodies>, refusals: Arc<UnauthorizedLog>) -> Router {
    let hooks = Arc::new(Reports { app, bodies, refusals, look_ups: Semaphore::new(LOOK_UPS) });
    Router::new()
        .route(&format!("{REPORT_PATH}/{{workspace}}/{{service}}"), post(sent_mail))
        .with_state(hooks)
}

async fn sent_mail(
    State(hooks): State<Arc<Reports>>,
    Path((workspace, service)): Path<(String, String)>,
    from: Option<Extension<From>>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let started = Instant::now();
    let asker = from.map(|Extension(from)| from.asker(&hooks.app.config.trusted_proxies, &headers));
    let came = hooks.guarded(asker, &workspace, &service, &headers, body).await;
    let response = match came {
        Ok(Came::Taken(Provider::Own, taken)) => {
            let status = if taken.first > 0 { StatusCode::CREATED } else { StatusCode::OK };
            answer(status, json!({ "ok": true }).to_string())
        }
        Ok(Came::Taken(_, TakenReports { taken, unread, .. })) => {
            answer(StatusCode::OK, json!({ "ok": true, "taken": taken, "unread": unread }).to_string())
        }
        Ok(Came::Confirmed) => answer(StatusCode::OK, json!({ "ok": true }).to_string()),
        Ok(Came::Paused) => {
            let body = json!({ "error": "This connection is paused. Try again later." });
            let mut response = answer(StatusCode::SERVICE_UNAVAILABLE, body.to_string());
            insert(response.headers_mut(), "retry-after", PAUSE_SECONDS);
            response
        }
        Err(Error::Unauthorized) => {
            let body = json!({ "error": "This is not signed by a connected service." });
            answer(StatusCode::UNAUTHORIZED, body.to_string())
        }
        Err(error) => refusal(&error),
    };
    let (took, status) = (started.elapsed(), response.status());
    let milliseconds = took.as_millis() as u64;
    hooks.app.figures.answered(Answered {
        door: "hook",
        method: &Method::POST,
        operation: "sending_report",
        status,
        took,
        trace: Trace::Own,
    });
    let quiet = [StatusCode::UNAUTHORIZED, StatusCode::TOO_MANY_REQUESTS].contains(&status);
    if !quiet || hooks.refusals.should_log(asker) {
        let client = asker.map(|client| client.to_string());
        tracing::info!(status = status.as_u16(), client, milliseconds, "report of a sending service");
    }
    response
}

impl Reports {
    async fn guarded(
        &self,
        asker: Option<IpAddr>,
        workspace: &str,
        service: &str,
        headers: &HeaderMap,
        body: Body,
    ) -> Result<Came> {
        let (limit, now) = (&self.app.hook_limit, self.app.clock.now());
        let wanted = number(sha256(format!("{workspace} {service}")));
        if let Some(asker) = asker {
            limit.arrives(asker, wanted, now)?;
        }
        let came = self.receive(workspace, service, headers, body).await;
        if let (Err(Error::Unauthorized), Some(asker)) = (&came, asker) {
            limit.refused(asker, wanted, now);
        }
        came
    }

    async fn receive(&self, workspace: &str, service: &str, headers: &HeaderMap, body: Body) -> Result<Came> {
        if body.size_hint().lower() > MOST_BYTES as u64 {
            return Err(Error::TooLarge);
        }
        let (Ok(workspace), Ok(service)) = (workspace.parse(), service.parse()) else {
            return Err(Error::Unauthorized);
        };
        let connection = self.look_up(workspace, service).await?.ok_or(Error::Unauthorized)?;
        let came = self.accept(workspace, service, &connection, headers, body).await;
        let why = match &came {
            Err(Error::Unauthorized) if connection.keys.is_empty() => {
                "A report came before the key of the service was entered here."
            }
            Err(Error::Unauthorized) => {
                "A report was not signed with the key of this connection, or its signature was too old."
            }
            Err(Error::Problems(_)) => {
                "A report was signed, but some of its fields were wrong. Our answer to the service names them."
            }
            Err(Error::TooLarge) => "A report was too large.",
            Err(Error::SlowDown { .. }) => {
                "Reports came faster than they are taken. The service tries again later."
            }
            _ => return came,
        };
        if self.app.hook_limit.should_note(service.0, self.app.clock.now())
            && let Err(error) = refuse(&self.app, workspace, service, why, 1).await
        {
            tracing::warn!(%service, %error, "a refused report could not be written down");
        }
        came
    }

    /// The connection, if there is one. Look-ups are few at once, so that unauthenticated requests delay only each other.
    async fn look_up(&self, workspace: WorkspaceId, service: SendingServiceId) -> Result<Option<Receiving>> {
        let keys = self.app.config.needs_secret_key()?;
        let _looking = self.look_ups.acquire().await.map_err(Error::internal)?;
        let mut conn = self.app.connection().await?;
        receiving(&mut conn, keys, workspace, service, self.app.clock.now()).await
    }

    async fn accept(
        &self,
        workspace: WorkspaceId,
        service: SendingServiceId,
        connection: &Receiving,
        headers: &HeaderMap,
        body: Body,
    ) -> Result<Came> {
        let (app, provider, keys) = (&self.app, connection.provider, &connection.keys);
        let most = provider.most_bytes();
        if body.size_hint().lower() > most as u64 {
            return Err(Error::TooLarge);
        }
        if keys.is_empty() || !adapters::may_be_signed(provider, keys, headers, app.clock.now()) {
            return Err(Error::Unauthorized);
        }
        let body = self.bodies.read(body, most, Caller::Service(workspace)).await?;
        let read = match provider {
            Provider::Ses => match self.of_sns(keys, &body.bytes).await? {
                Content::Reports(read) => read,
                Content::Confirm(_) if connection.paused => return Ok(Came::Paused),
                Content::Confirm(url) => return self.confirm(workspace, service, &url).await,
            },
            provider => adapters::read(provider, keys, headers, &body.bytes, app.clock.now())?,
        };
        if connection.paused {
            return Ok(Came::Paused);
        }
        // Only what is signed takes a turn: strangers who send slowly keep the service from nothing.
        let _turn = app.hook_limit.turn(service.0)?;
        self.within_rate(workspace, service).await?;
        self.store(workspace, service, provider, &read).await
    }

    async fn within_rate(&self, workspace: WorkspaceId, service: SendingServiceId) -> Result<()> {
        let (app, limit) = (&self.app, self.app.config.told_mail_limit());
        let (mut conn, subject) =
            (app.connection_of(workspace).await?, RateKey::ToldMail(workspace, service));
        match app.rate.take(&mut conn, subject, limit, app.clock.now()).await? {
            Ok(_) => Ok(()),
            Err(retry_after) => Err(rate::slow_down(limit, retry_after)),
        }
    }

    async fn store(
        &self,
        workspace: WorkspaceId,
        service: SendingServiceId,
        provider: Provider,
        read: &ReadReports,
    ) -> Result<Came> {
        Ok(Came::Taken(provider, take(&self.app, workspace, service, provider, read).await?))
    }

    /// What is in an envelope of SNS, once SNS signed it. The certificate is asked for only for an envelope of our topic.
    async fn of_sns(&self, topics: &[Vec<u8>], body: &[u8]) -> Result<Content> {
        let (app, now) = (&self.app, self.app.clock.now());
        let envelope = Envelope::read(topics, body, now).ok_or(Error::Unauthorized)?;
        let key =
            app.sns.key(&app.outside, envelope.certificate(), now).await.map_err(
                |trouble| match trouble {
                    SnsTrouble::NotSns => Error::Unauthorized,
                    SnsTrouble::Unreachable => Error::internal("the certificate of SNS cannot be fetched"),
                },
            )?;
        if envelope.is_signed_by(&key) { Ok(envelope.content(now)) } else { Err(Error::Unauthorized) }
    }

    async fn confirm(&self, workspace: WorkspaceId, service: SendingServiceId, url: &str) -> Result<Came> {
        match self.app.sns.confirm(&self.app.outside, url).await {
            Ok(()) => Ok(Came::Confirmed),
            Err(SnsTrouble::NotSns) => Err(Error::Unauthorized),
            Err(SnsTrouble::Unreachable) => {
                let why = "The subscription could not be confirmed: Amazon could not be reached. It asks again by itself.";
                if self.app.hook_limit.should_note(service.0, self.app.clock.now()) {
                    refuse(&self.app, workspace, service, why, 1).await?;
                }
                Err(Error::internal("a subscription of SNS cannot be confirmed"))
            }
        }
    }
}
