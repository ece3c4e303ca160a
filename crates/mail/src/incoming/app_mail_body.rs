//! Fetches the words of mail that a connected service sent, after someone replied to it (specification 4.13.4).
//! No mail waits for this: the reply is stored by then, and a service that does not answer is asked again for
//! a day.

use bytes::Bytes;
use chrono::{DateTime, Utc};
use http_body_util::Full;
use hyper::Request;
use hyper::header::{ACCEPT, AUTHORIZATION, HeaderName, HeaderValue, USER_AGENT};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;
use sqlx::PgConnection;
use url::{Position, Url};

use crate::incoming::receive::take_apart;
use rookery_base::app::App;
use rookery_base::due::lease::{self, Claim, Lease, TriedRow, Work};
use rookery_base::error::{Error, Result};
use rookery_base::store::db::Tx;
use rookery_product::app_mail::adapters::Provider;
use rookery_product::app_mail::body_fetch::{self, ClaimedFetch};
use rookery_product::app_mail::connect::{ID, open_token};
use rookery_reading::text;

/// The worker's loop.
pub const LOOP: &str = "fetch words of app mail";

const MOST_ANSWER_BYTES: usize = 8 << 20;
/// Characters, as an app may record them.
const MOST_WORDS: usize = 100_000;

/// What of a Message-ID is written otherwise in an address.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// What a service answers.
#[derive(Deserialize)]
struct Content {
    #[serde(alias = "TextBody")]
    text: Option<String>,
    #[serde(alias = "HtmlBody")]
    html: Option<String>,
}

/// Postmark's way to show who asks.
const POSTMARK_TOKEN: HeaderName = HeaderName::from_static("x-postmark-server-token");

/// Works off everything that is due now.
pub async fn fetch_due(app: &App, at_once: usize) -> Result<()> {
    lease::work_off(app, &AppMailBodies, at_once).await
}

struct AppMailBodies;

impl Work for AppMailBodies {
    const WHAT: &'static str = "words of app mail";

    fn worked_by(&self) -> &'static str {
        LOOP
    }

    type Row = ClaimedFetch;
    /// Nothing when there is nobody to ask.
    type Outcome = Option<String>;

    async fn claim(&self, conn: &mut PgConnection, lease: &Lease) -> Result<Vec<ClaimedFetch>> {
        body_fetch::claim(conn, lease.began, lease.ends).await
    }

    fn claim_of(&self, claimed: &ClaimedFetch) -> Claim {
        Claim { workspace: claimed.workspace, number: claimed.claim, tries: claimed.tries }
    }

    async fn act(&self, app: &App, claimed: &ClaimedFetch) -> Result<TriedRow<Self::Outcome>> {
        match &claimed.token {
            Some(sealed) => ask(app, claimed, sealed).await.map(|found| TriedRow::Done(Some(found))),
            None => Ok(TriedRow::Done(None)),
        }
    }

    async fn finish(&self, tx: &mut Tx<'_>, claimed: &ClaimedFetch, found: Self::Outcome) -> Result<bool> {
        match found {
            Some(found) => body_fetch::store(tx, claimed, &found).await,
            None => body_fetch::give_up(tx, claimed).await,
        }
    }

    async fn again(
        &self,
        tx: &mut Tx<'_>,
        claimed: &ClaimedFetch,
        due_at: DateTime<Utc>,
        tried: bool,
    ) -> Result<bool> {
        body_fetch::again(tx, claimed, due_at, tried).await
    }

    async fn give_up(&self, tx: &mut Tx<'_>, claimed: &ClaimedFetch) -> Result<bool> {
        body_fetch::give_up(tx, claimed).await
    }
}

/// One GET, to an address that is judged anew, without redirects.
async fn ask(app: &App, claimed: &ClaimedFetch, sealed: &[u8]) -> Result<String> {
    let token = open_token(app.config.needs_secret_key()?, claimed.workspace, claimed.service, sealed)?;
    let provider: Provider = claimed.provider.parse().map_err(Error::internal)?;
    let id = match (provider, &claimed.service_ref) {
        (Provider::Own, _) | (_, None) => &claimed.message_id,
        (_, Some(theirs)) => theirs,
    };
    let id = utf8_percent_encode(id, ENCODED).to_string();
    let url: Url = claimed.content_url.replace(ID, &id).parse().map_err(Error::internal)?;
    let (name, value) = match provider {
        Provider::Postmark => (POSTMARK_TOKEN, token),
        _ => (AUTHORIZATION, format!("Bearer {token}")),
    };
    let mut value = HeaderValue::from_str(&value).map_err(Error::internal)?;
    value.set_sensitive(true);
    let request = Request::builder()
        .uri(&url[Position::BeforePath..Position::AfterQuery])
        .header(name, value)
        .header(ACCEPT, HeaderValue::from_static("application/json"))
        .header(USER_AGENT, HeaderValue::from_static("Rookery/1"))
        .body(Full::<Bytes>::default())
        .map_err(Error::internal)?;
    let to = app.outside.check(&url).await.map_err(Error::internal)?;
    let answer = app.outside.send(&to, request, MOST_ANSWER_BYTES).await.map_err(Error::internal)?;
    if !(200..300).contains(&answer.status) {
        return Err(Error::internal(format!("it answered {}", answer.status)));
    }
    // The parser's own complaint could repeat words.
    let content: Content = serde_json::from_slice(&answer.body)
        .map_err(|_| Error::internal("its answer is no JSON object, or too long"))?;
    let found = match (content.text, content.html) {
        (Some(text), _) => text,
        (None, Some(html)) => text_of(&html).await?,
        (None, None) => return Err(Error::internal("its answer has neither text nor html")),
    };
    Ok(text::lines(&found).chars().take(MOST_WORDS).collect())
}

/// HTML is read as that of a mail is.
async fn text_of(html: &str) -> Result<String> {
    let mail = format!("From: app@invalid\r\nContent-Type: text/html; charset=utf-8\r\n\r\n{html}");
    let parsed = take_apart(&Bytes::from(mail)).await?;
    Ok(parsed.map_err(|refusal| Error::internal(refusal.to_string()))?.text)
}
