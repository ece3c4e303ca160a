//! `POST /inbox/density`: one line a row, or several.
//! It is kept in the browser, because it goes with the screen and not with the person.

use axum::response::Response;

use crate::respond;
use crate::shell::DENSITY;
use crate::visit::MemberRequest;
use rookery_base::error::Result;
use rookery_http::answers::insert;

pub async fn set(asked: MemberRequest) -> Result<Response> {
    let form = asked.form().await?;
    let density = if form.get("density") == Some("compact") { "compact" } else { "comfortable" };
    let back =
        form.get("back").filter(|back| back.starts_with("/inbox") || back.starts_with("/conversations/"));
    let mut response = respond::see_other(back.unwrap_or("/inbox"));
    let secure = if asked.app().config.public_url.scheme() == "https" { "; Secure" } else { "" };
    let cookie = format!("{DENSITY}={density}; Path=/; Max-Age=31536000; HttpOnly; SameSite=Lax{secure}");
    insert(response.headers_mut(), "set-cookie", &cookie);
    Ok(response)
}
