//! `/profile/password`: a new password. It takes the old one, or a session that a link by mail has just begun; the first
//! one takes a session that is new, so that nobody at an open one comes back by a password of theirs.
//! Everywhere else the person is signed out, and this session gets a new token.

use axum::response::Response;

use crate::settings::profile;
use crate::toast::{Done, Toast};
use crate::visit::MemberRequest;
use crate::{respond, session};
use rookery_base::error::{Error, Result};
use rookery_base::limits::sign_in::SignInKey;
use rookery_base::secrets::hashes::sha256;
use rookery_core::workspace::passwords::{self, Recognized};
use rookery_core::workspace::{sessions, single_sign_on};

pub async fn change(asked: MemberRequest) -> Result<Response> {
    let form = asked.form().await?;
    let hash = match hash(&asked, form.get("current").unwrap_or_default(), form.text("password")?).await {
        Ok(hash) => hash,
        Err(error @ (Error::Problems(_) | Error::Forbidden(_) | Error::SlowDown { .. })) => {
            return profile::with_password_problem(&asked, &error).await;
        }
        Err(error) => return Err(error),
    };
    let mut tx = asked.tx().await?;
    passwords::set(&mut tx, asked.person.id, &hash).await?;
    sessions::end_others(&mut tx, asked.person.id, asked.session.id).await?;
    let token = sessions::renew(&mut tx, asked.session.id).await?;
    passwords::record(&mut tx, &asked.person).await?;
    tx.commit().await?;
    let mut response = respond::see_other_with(profile::PATH, Toast::new(Done::PasswordChanged, ""));
    session::set_cookie(asked.app(), &mut response, &token);
    Ok(response)
}

async fn hash(asked: &MemberRequest, current: &str, new: &str) -> Result<String> {
    let app = asked.app();
    let who = Recognized { workspace: asked.person.workspace, person: asked.person.id };
    let now = app.clock.now();
    let mut reading = asked.reading().await?;
    if single_sign_on::is_required(&mut reading, who.workspace).await? {
        return Err(Error::problem(
            "New password",
            "would open nothing: your workspace takes single sign-on only",
        ));
    }
    let has_one = passwords::has_one(&mut reading, who).await?;
    drop(reading);
    if !has_one && !asked.session.is_fresh(now) {
        return Err(Error::Forbidden("Confirm it’s you first, then set a password.".into()));
    }
    if has_one && !asked.session.is_fresh_from_mail(now) {
        let key = [SignInKey::Account(sha256(format!("{} {}", who.workspace, who.person)))];
        app.sign_in_limit.try_one(&key, now)?;
        if !passwords::is_of(app, who, current).await? {
            return Err(Error::problem("Current password", "is not right"));
        }
        app.sign_in_limit.succeeded(&key, now);
    }
    passwords::hash(app, "New password", new).await
}
