//! `/settings/sign-in`: the provider that the workspace's people sign in with, and whether there is another way. Admins see
//! it; only owners who have just signed in change it, because whoever names the provider says who is who.

use askama::Template;
use axum::response::Response;

use crate::shell::{Here, Shell};
use crate::show::filters;
use crate::sign_in::again;
use crate::toast::{Done, Toast};
use crate::visit::MemberRequest;
use crate::{respond, session};
use rookery_base::error::{Error, Result};
use rookery_base::ids::{PersonId, WorkspaceId};
use rookery_core::workspace::people::Role;
use rookery_core::workspace::single_sign_on::accounts::{self, Bound};
use rookery_core::workspace::single_sign_on::{self, SsoConnection};

pub const PATH: &str = "/settings/sign-in";

#[derive(Template)]
#[template(path = "settings/sign_in/show.html")]
struct SignInPage {
    shell: Shell,
    page: &'static str,
    workspace: WorkspaceId,
    connection: Option<SsoConnection>,
    accounts: Vec<Bound>,
    /// The redirect address, which the provider has to know.
    redirect: String,
    /// The address at which the team signs in.
    door: String,
    is_owner: bool,
    /// Whether something can be changed now.
    is_fresh: bool,
    is_fresh_from_sso: bool,
    /// Where to confirm who they are.
    again: String,
    typed: TypedProvider,
    problem: Option<String>,
}

#[derive(Template)]
#[template(path = "settings/sign_in/disconnect.html")]
struct DisconnectPage {
    shell: Shell,
    page: &'static str,
    connection: SsoConnection,
    accounts: i64,
}

/// The form as it was typed. The secret is never shown again.
#[derive(Default)]
struct TypedProvider {
    issuer: String,
    client_id: String,
}

pub async fn show(asked: MemberRequest) -> Result<Response> {
    respond::page(&page(&asked, None, None).await?)
}

pub async fn connect(asked: MemberRequest) -> Result<Response> {
    let form = asked.form().await?;
    let field = |name| form.get(name).unwrap_or_default();
    let done = async {
        may_change(&asked)?;
        let (issuer, client_id, secret) = (field("issuer"), field("client_id"), field("client_secret"));
        let checked = single_sign_on::check(asked.app(), issuer, client_id, secret).await?;
        let mut tx = asked.tx().await?;
        single_sign_on::connect(&mut tx, &asked.person.by(), asked.session.id, &checked).await?;
        tx.commit().await
    };
    match done.await {
        Ok(()) => Ok(respond::see_other_with(PATH, Toast::new(Done::SsoConnected, ""))),
        Err(error) => {
            let typed = TypedProvider {
                issuer: field("issuer").to_owned(),
                client_id: field("client_id").to_owned(),
            };
            refused(&asked, Some(typed), error).await
        }
    }
}

pub async fn require(asked: MemberRequest) -> Result<Response> {
    let form = asked.form().await?;
    if must_confirm(&asked) {
        return again::ask(&asked, Some(&form)).await;
    }
    let required = form.flag("required");
    let done = async {
        may_change(&asked)?;
        let mut tx = asked.tx().await?;
        single_sign_on::require(&mut tx, &asked.person.by(), &asked.session, required).await?;
        tx.commit().await
    };
    match done.await {
        Ok(()) => {
            let done = if required { Done::SsoRequired } else { Done::SsoOptional };
            Ok(respond::see_other_with(PATH, Toast::new(done, "")))
        }
        Err(error) => refused(&asked, None, error).await,
    }
}

pub async fn ask(asked: MemberRequest) -> Result<Response> {
    let mut reading = asked.reading().await?;
    let shell = Shell::frame(&asked, Here::Settings);
    let workspace = asked.person.workspace;
    let connection = single_sign_on::load(&mut reading, workspace).await?;
    let connection = connection.ok_or(Error::Missing("No provider is connected."))?;
    let accounts = accounts::list(&mut reading, workspace).await?.len() as i64;
    respond::page(&DisconnectPage { shell, page: PATH, connection, accounts })
}

pub async fn disconnect(asked: MemberRequest) -> Result<Response> {
    if must_confirm(&asked) {
        return again::ask(&asked, Some(&*asked.form().await?)).await;
    }
    let done = async {
        may_change(&asked)?;
        let mut tx = asked.tx().await?;
        single_sign_on::disconnect(&mut tx, &asked.person.by()).await?;
        tx.commit().await
    };
    match done.await {
        Ok(()) => Ok(respond::see_other_with(PATH, Toast::new(Done::SsoDisconnected, ""))),
        Err(error) => refused(&asked, None, error).await,
    }
}

pub async fn forget_account(asked: MemberRequest) -> Result<Response> {
    let form = asked.form().await?;
    if must_confirm(&asked) {
        return again::ask(&asked, Some(&form)).await;
    }
    let done = async {
        may_change(&asked)?;
        let person: Option<PersonId> = form.parse("person")?;
        let person = person.ok_or_else(|| Error::problem("person", "Choose somebody of the list"))?;
        let mut tx = asked.tx().await?;
        accounts::unbind(&mut tx, &asked.person.by(), person).await?;
        tx.commit().await
    };
    match done.await {
        Ok(()) => Ok(respond::see_other_with(PATH, Toast::new(Done::SsoForgotten, ""))),
        Err(error) => refused(&asked, None, error).await,
    }
}

/// Whether an owner confirms first who they are. Nobody else is asked: they may not change it anyway.
fn must_confirm(asked: &MemberRequest) -> bool {
    asked.person.role == Role::Owner && !session::is_fresh(asked)
}

/// Owners, who have shown who they are a moment ago. Connecting asks nobody on a page of its own, because the secret would
/// have to wait in that page.
fn may_change(asked: &MemberRequest) -> Result<()> {
    if asked.person.role != Role::Owner {
        return Err(Error::Forbidden("Only owners can change how people sign in.".into()));
    }
    if must_confirm(asked) {
        return Err(Error::Forbidden("Confirm it’s you first, then enter this again.".into()));
    }
    Ok(())
}

/// The page again, with what is wrong.
async fn refused(asked: &MemberRequest, typed: Option<TypedProvider>, error: Error) -> Result<Response> {
    let sentence = match &error {
        Error::Problems(problems) => {
            let what: Vec<_> = problems.iter().map(|problem| problem.what.clone()).collect();
            format!("{}.", what.join(". "))
        }
        Error::Forbidden(_) => error.sentence(),
        _ => return Err(error),
    };
    respond::page_with(respond::status_of(&error), &page(asked, typed, Some(sentence)).await?)
}

async fn page(
    asked: &MemberRequest,
    typed: Option<TypedProvider>,
    problem: Option<String>,
) -> Result<SignInPage> {
    let mut reading = asked.reading().await?;
    let shell = Shell::frame(asked, Here::Settings);
    let (workspace, now) = (asked.person.workspace, shell.times.now);
    let public_url = &asked.visit.app().config.public_url;
    let connection = single_sign_on::load(&mut reading, workspace).await?;
    let stored = connection.as_ref().map(|connection| TypedProvider {
        issuer: connection.issuer.clone(),
        client_id: connection.client_id.clone(),
    });
    Ok(SignInPage {
        page: PATH,
        workspace,
        accounts: match &connection {
            Some(_) => accounts::list(&mut reading, workspace).await?,
            None => Vec::new(),
        },
        redirect: single_sign_on::redirect_of(public_url, workspace)?.into(),
        door: single_sign_on::door_of(public_url, workspace)?.into(),
        is_owner: asked.person.role == Role::Owner,
        is_fresh: asked.session.is_fresh(now),
        is_fresh_from_sso: connection
            .as_ref()
            .is_some_and(|connection| asked.session.is_fresh_from_sso(connection.changed_at, now)),
        again: session::again(PATH),
        typed: typed.or(stored).unwrap_or_default(),
        connection,
        problem,
        shell,
    })
}
