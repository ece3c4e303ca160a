//! The table of pages, and what every request of a browser passes before its page: the session, the role, where a form
//! came from. One set of headers for every answer, one page for every error.
//!
//! A page that somebody may not see and one that is not there are the same 404.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Instant;

use axum::RequestPartsExt;
use axum::Router;
use axum::extract::{RawPathParams, Request, State};
use axum::http::{HeaderMap, Method, header};
use axum::response::Response;
use axum::routing::{MethodFilter, on};
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::{DefaultPredicate, NotForContentType, Predicate};
use url::form_urlencoded;

use crate::visit::{MemberRequest, Visit, Web};
use crate::{
    approvals, assets, bookings, bulk, compose, conversation, customer, inbox, library, live, notices,
    outgoing, presence, reports, respond, saved_replies, search, session, settings, sign_in, welcome,
};
use rookery_base::app::App;
use rookery_base::error::{Error, NO_ENDPOINT, Result};
use rookery_base::figures::Answered;
use rookery_base::figures::traces::Trace;
use rookery_base::limits::fair_seats::Asker;
use rookery_base::limits::one_at_a_time::OneAtATime;
use rookery_base::secrets::sign_in_tokens::Token;
use rookery_core::workspace::people::Role;
use rookery_core::workspace::sessions;
use rookery_http::bodies::Bodies;

/// Who may open a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// Anybody, signed in or not.
    Anyone,
    /// Customers with a private link. The app's cookies are ignored, so it does not matter where a form came from.
    Customer,
    /// Everybody of the team.
    Member,
    /// Owners and admins.
    Admin,
    /// Owners and admins who have just proved who they are: for what gives others power, or takes it from them.
    Fresh,
    /// Owners: for what concerns the whole server.
    Owner,
}

impl Who {
    pub fn is_for_admins(self) -> bool {
        matches!(self, Self::Admin | Self::Owner | Self::Fresh)
    }
}

type Answering = Pin<Box<dyn Future<Output = Result<Response>> + Send>>;

#[derive(Clone, Copy)]
pub enum Run {
    Visit(fn(Visit) -> Answering),
    Asked(fn(MemberRequest) -> Answering),
}

/// A row of the table.
pub struct PageRoute {
    pub method: Method,
    pub path: &'static str,
    pub who: Who,
    pub run: Run,
}

macro_rules! pages {
    ($($method:ident $path:literal $who:ident $($handler:ident)::+;)*) => {
        /// Every page and every form.
        pub const PAGES: &[PageRoute] = &[$(PageRoute {
            method: Method::$method,
            path: $path,
            who: Who::$who,
            run: pages!(@run $who $($handler)::+),
        }),*];
    };
    (@run Customer $($handler:ident)::+) => { Run::Visit(|visit| Box::pin($($handler)::+(visit))) };
    (@run Anyone $($handler:ident)::+) => { Run::Visit(|visit| Box::pin($($handler)::+(visit))) };
    (@run $who:ident $($handler:ident)::+) => { Run::Asked(|asked| Box::pin($($handler)::+(asked))) };
}

pages! {
    GET  "/"                   Member inbox::home;
    GET  "/inbox"              Member inbox::list::show;
    POST "/inbox/density"      Member inbox::density::set;
    GET  "/search"             Member search::show::show;
    GET  "/conversations/{id}" Member conversation::show::show;
    POST "/conversations/{id}/read"   Member inbox::reading::mark_read;
    POST "/conversations/{id}/unread" Member inbox::reading::mark_unread;
    GET  "/approvals"                     Member approvals::queue::show;
    GET  "/approvals/{id}"           Member approvals::queue::draft;
    GET  "/approvals/many"                Member approvals::many::show;
    POST "/approvals/many"                Member approvals::many::decide;
    POST "/messages/{id}/approve"    Member approvals::deciding::approve;
    POST "/messages/{id}/edit"       Member approvals::deciding::edit;
    POST "/messages/{id}/discard"    Member approvals::deciding::discard;
    POST "/messages/{id}/take-over"  Member approvals::deciding::take_over;
    POST "/messages/{id}/undo"       Member outgoing::undo::undo;
    POST "/messages/{id}/send-now"   Member outgoing::now::send;
    POST "/messages/{id}/revoke"     Member conversation::secure::revoke;
    GET  "/messages/{id}/again"      Member outgoing::again::show;
    POST "/messages/{id}/again"      Member outgoing::again::send;
    POST "/messages/{id}/time"       Member outgoing::time::change;
    GET  "/outgoing"                      Member outgoing::show::show;
    POST "/conversations/{id}/do" Member conversation::doing::act;
    GET  "/conversations/{id}/merge" Member conversation::merge::show;
    POST "/conversations/{id}/merge" Member conversation::merge::merge_them;
    GET  "/conversations/{id}/move" Member conversation::moving::show;
    POST "/conversations/{id}/move" Member conversation::moving::move_it;
    POST "/bulk" Member bulk::start::start;
    GET  "/bulk/{id}" Member bulk::job::show;
    POST "/bulk/{id}/cancel" Member bulk::job::cancel;
    POST "/bulk/{id}/undo" Member bulk::job::undo;
    POST "/conversations/{id}/release" Member conversation::release::release;
    POST "/conversations/{id}/sort" Member conversation::sorting::correct;
    GET  "/messages/{id}/html" Member conversation::frame::show;
    GET  "/messages/{id}/files/{n}" Member conversation::files::download;
    GET  "/messages/{id}/files/{n}/preview" Member conversation::files::preview;
    GET  "/pictures/{id}" Member conversation::files::drafted;
    GET  "/documents"               Member library::list::show;
    GET  "/documents/{id}"          Member library::show::show;
    POST "/documents/{id}"          Member library::save::save;
    POST "/documents/{id}/read"     Member library::save::read_again;
    GET  "/documents/{id}/file"     Member library::files::download;
    GET  "/documents/{id}/preview"  Member library::files::preview;
    GET  "/images/{signed}"    Member conversation::images::show;
    POST "/conversations/{id}/write" Member conversation::write::in_conversation;
    GET  "/conversations/{id}/documents" Member conversation::asking::show;
    POST "/conversations/{id}/documents" Member conversation::asking::act;
    POST "/conversations/{id}/write/files" Member conversation::write::files_in_conversation;
    GET  "/conversations/{id}/saved-replies" Member saved_replies::choose::show;
    GET  "/compose"            Member compose::new::show;
    POST "/compose"            Member conversation::write::new_conversation;
    POST "/compose/files"      Member conversation::write::files_of_new_conversation;
    GET  "/compose/people"     Member compose::people::suggest;
    GET  "/compose/saved-replies" Member saved_replies::choose::show;
    GET  "/drafts"             Member compose::drafts::show;
    POST "/drafts/{id}/restore" Member conversation::write::restore;
    GET  "/settings/saved-replies" Member saved_replies::edit::show;
    POST "/settings/saved-replies" Member saved_replies::edit::put;
    POST "/settings/saved-replies/{id}/files" Member saved_replies::edit::attach;
    POST "/settings/signatures/{id}" Member saved_replies::edit::sign;
    POST "/settings/signatures/{id}/pictures" Member settings::signature::add_to_inbox;
    GET  "/sign-in"            Anyone sign_in::form::show;
    POST "/sign-in"            Anyone sign_in::form::send_link;
    GET  "/sign-in/code"       Anyone sign_in::code::show;
    POST "/sign-in/code"       Anyone sign_in::code::sign_in;
    POST "/sign-in/password"   Anyone sign_in::form::sign_in;
    POST "/sign-in/passkey"       Anyone sign_in::passkey::sign_in;
    POST "/sign-in/passkey/begin" Anyone sign_in::passkey::begin;
    GET  "/sign-in/sso/{id}"          Anyone sign_in::sso::show;
    POST "/sign-in/sso/{id}"          Anyone sign_in::sso::begin;
    GET  "/sign-in/sso/{id}/callback" Anyone sign_in::sso::come_back;
    GET  "/sign-in/again"         Member sign_in::again::show;
    POST "/sign-in/again"         Member sign_in::proof::prove;
    POST "/sign-in/again/passkey" Member sign_in::proof::begin;
    GET  "/sign-in/{token}"    Anyone sign_in::link::show;
    POST "/sign-in/{token}"    Anyone sign_in::link::sign_in;
    GET  "/signed-in"          Member sign_in::again::done;
    POST "/sign-out"           Member sign_in::out::sign_out;
    GET  "/oauth/authorize"    Member sign_in::consent::show;
    POST "/oauth/authorize"    Fresh  sign_in::consent::decide;
    GET  "/join/{token}"       Anyone sign_in::join::show;
    POST "/join/{token}"       Anyone sign_in::join::join;

    GET  "/upload/{workspace}/{request}/{token}"        Customer customer::upload::show;
    POST "/upload/{workspace}/{request}/{token}/{item}" Customer customer::taking::take;
    GET  "/b/{offer}"                                       Customer customer::bookings::show::show_short;
    GET  "/book/{workspace}/{type}"                         Customer customer::bookings::show::show;
    POST "/book/{workspace}/{type}"                         Customer customer::bookings::details::take;
    GET  "/book/{workspace}/{type}/{booking}/{token}"       Customer customer::bookings::booked::show_in_frame;
    GET  "/booking/{workspace}/{booking}/{token}"           Customer customer::bookings::booked::show;
    GET  "/booking/{workspace}/{booking}/{token}/calendar"  Customer customer::bookings::booked::calendar;
    GET  "/booking/{workspace}/{booking}/{token}/cancel"    Customer customer::bookings::cancel::ask;
    POST "/booking/{workspace}/{booking}/{token}/cancel"    Customer customer::bookings::cancel::cancel;
    POST "/booking/{workspace}/{booking}/{token}/back"      Customer customer::bookings::cancel::take_back;
    GET  "/booking/{workspace}/{booking}/{token}/move"      Customer customer::bookings::move_to::ask;
    POST "/booking/{workspace}/{booking}/{token}/move"      Customer customer::bookings::move_to::take;
    GET  "/secure/{workspace}/{message}/{token}"        Customer customer::secure::gate::show;
    POST "/secure/{workspace}/{message}/{token}/code"   Customer customer::secure::gate::send_code;
    POST "/secure/{workspace}/{message}/{token}/open"   Customer customer::secure::gate::open;
    POST "/secure/{workspace}/{message}/{token}/lock"   Customer customer::secure::gate::lock;
    POST "/secure/{workspace}/{message}/{token}/reply"  Customer customer::secure::reply::take;
    GET  "/secure/{workspace}/{message}/{token}/files/{file}" Customer customer::secure::message::file;
    GET  "/requests/{id}"                       Member conversation::request::show;
    POST "/requests/{id}/extend"                Member conversation::request::extend;
    POST "/requests/{id}/cancel"                Member conversation::request::cancel;
    POST "/requests/{id}/items/{item}"          Member conversation::request::decide;
    GET  "/requests/{id}/items/{item}/again"    Member conversation::request::ask;
    POST "/requests/{id}/items/{item}/again"    Member conversation::request::again;

    GET  "/bookings"             Member bookings::list::show;
    GET  "/bookings/{id}/cancel" Member bookings::cancel::ask;
    POST "/bookings/{id}/cancel" Member bookings::cancel::cancel;
    GET  "/settings/bookings"                       Member settings::bookings::list::show;
    GET  "/settings/bookings/new"                   Member settings::bookings::edit::new;
    POST "/settings/bookings/new"                   Member settings::bookings::edit::make;
    GET  "/settings/bookings/hours"                 Member settings::bookings::hours::show;
    POST "/settings/bookings/hours"                 Member settings::bookings::hours::save;
    POST "/settings/bookings/hours/days"            Member settings::bookings::hours::set_day;
    GET  "/settings/bookings/hours/{person}"        Member settings::bookings::hours::show;
    POST "/settings/bookings/hours/{person}"        Member settings::bookings::hours::save;
    POST "/settings/bookings/hours/{person}/days"   Member settings::bookings::hours::set_day;
    POST "/settings/bookings/calendars"             Member settings::bookings::calendars::connect;
    POST "/settings/bookings/calendars/{id}/remove" Member settings::bookings::calendars::disconnect;
    GET  "/settings/bookings/{id}"                  Member settings::bookings::edit::show;
    POST "/settings/bookings/{id}"                  Member settings::bookings::edit::change;
    POST "/settings/bookings/{id}/pause"            Member settings::bookings::doing::pause;
    POST "/settings/bookings/{id}/resume"           Member settings::bookings::doing::resume;
    GET  "/settings/bookings/{id}/remove"           Member settings::bookings::doing::ask;
    POST "/settings/bookings/{id}/remove"           Member settings::bookings::doing::remove;

    GET  "/welcome/{token}"    Anyone welcome::found::show;
    POST "/welcome/{token}"    Anyone welcome::found::found;
    GET  "/welcome"            Admin  welcome::steps::show;
    POST "/welcome/skip"       Admin  welcome::doing::skip;
    POST "/welcome/name"       Admin  welcome::doing::rename;
    POST "/welcome/inbox"      Admin  welcome::doing::inbox;
    POST "/welcome/dns"        Admin  welcome::doing::check_domain;
    POST "/welcome/test-mail"  Admin  welcome::doing::send_test;
    POST "/welcome/try-it"     Admin  welcome::doing::write;

    GET  "/live"                        Member live::stream;
    GET  "/presence"                    Member presence::show;
    POST "/conversations/{id}/presence" Member presence::say;
    POST "/conversations/{id}/follow"   Member notices::follow;
    GET  "/notices"                     Member notices::list::show;
    POST "/notices/read"                Member notices::list::read;
    GET  "/notices/choices"             Member notices::choices::show;
    POST "/notices/choices"             Member notices::choices::save;

    GET  "/settings"                             Member settings::home::show;
    GET  "/settings/keys"               Admin  settings::keys::list::show;
    POST "/settings/keys"               Fresh  settings::keys::new::make;
    GET  "/settings/keys/new"           Fresh  settings::keys::new::show;
    GET  "/settings/keys/{id}/revoke"   Admin  settings::keys::revoke::ask;
    POST "/settings/keys/{id}/revoke"   Admin  settings::keys::revoke::revoke;
    GET  "/settings/agents"             Admin  settings::agents::list::show;
    POST "/settings/agents/stop"        Admin  settings::agents::stop::stop_all;
    GET  "/settings/agents/start"       Admin  settings::agents::stop::ask;
    POST "/settings/agents/start"       Admin  settings::agents::stop::start;
    POST "/settings/agents/secure"      Owner  settings::agents::secure_words::decide;
    GET  "/settings/agents/{id}"        Admin  settings::agents::one::show;
    GET  "/settings/agents/{id}/day"    Admin  settings::agents::day::show;
    POST "/settings/agents/{id}/cap"    Admin  settings::agents::one::set_cap;
    GET  "/settings/assistants"          Admin settings::assistants::show::show;
    POST "/settings/assistants"          Admin settings::assistants::doing::choose;
    POST "/settings/assistants/limit"    Admin settings::assistants::doing::limit;
    POST "/settings/assistants/model"    Fresh settings::assistants::doing::connect;
    POST "/settings/assistants/agree"    Fresh settings::assistants::doing::agree;
    POST "/settings/assistants/topics"   Admin settings::assistants::doing::set_topics;
    POST "/settings/assistants/ask"      Admin settings::assistants::doing::ask;
    POST "/settings/assistants/stop"     Admin settings::assistants::doing::stop_all;
    POST "/settings/assistants/start"    Admin settings::assistants::doing::start;
    GET  "/settings/assistants/discard"  Admin settings::assistants::doing::ask_to_discard;
    POST "/settings/assistants/discard"  Admin settings::assistants::doing::discard;
    GET  "/settings/webhooks"                Admin settings::webhooks::list::show;
    GET  "/settings/webhooks/new"            Fresh settings::webhooks::new::show;
    POST "/settings/webhooks/new"            Fresh settings::webhooks::new::make;
    POST "/settings/webhooks/check"          Admin settings::webhooks::new::check;
    GET  "/settings/webhooks/{id}"           Admin settings::webhooks::show::show;
    POST "/settings/webhooks/{id}/pause"     Admin settings::webhooks::doing::pause;
    POST "/settings/webhooks/{id}/resume"    Admin settings::webhooks::doing::resume;
    POST "/settings/webhooks/{id}/test"      Admin settings::webhooks::doing::test;
    POST "/settings/webhooks/{id}/events"    Fresh settings::webhooks::doing::choose;
    POST "/settings/webhooks/{id}/redeliver" Admin settings::webhooks::doing::one_again;
    POST "/settings/webhooks/{id}/redeliver-failed" Admin settings::webhooks::doing::failed_again;
    GET  "/settings/webhooks/{id}/address"   Fresh settings::webhooks::address::show;
    POST "/settings/webhooks/{id}/address"   Fresh settings::webhooks::address::change;
    GET  "/settings/webhooks/{id}/rotate"    Fresh settings::webhooks::secret::ask;
    POST "/settings/webhooks/{id}/rotate"    Fresh settings::webhooks::secret::rotate;
    POST "/settings/webhooks/{id}/end-old-secret" Admin settings::webhooks::secret::end_old;
    GET  "/settings/webhooks/{id}/remove"    Admin settings::webhooks::remove::ask;
    POST "/settings/webhooks/{id}/remove"    Admin settings::webhooks::remove::remove;
    GET  "/settings/services"                Admin settings::services::list::show;
    GET  "/settings/services/new"            Fresh settings::services::new::show;
    POST "/settings/services/new"            Fresh settings::services::new::make;
    GET  "/settings/services/{id}"           Admin settings::services::show::show;
    POST "/settings/services/{id}/key"       Fresh settings::services::doing::enter_key;
    POST "/settings/services/{id}/pause"     Admin settings::services::doing::pause;
    POST "/settings/services/{id}/resume"    Admin settings::services::doing::resume;
    GET  "/settings/services/{id}/rotate"    Fresh settings::services::secret::ask;
    POST "/settings/services/{id}/rotate"    Fresh settings::services::secret::rotate;
    POST "/settings/services/{id}/end-old-secret" Admin settings::services::secret::end_old;
    GET  "/settings/services/{id}/remove"    Admin settings::services::remove::ask;
    POST "/settings/services/{id}/remove"    Admin settings::services::remove::remove;
    GET  "/settings/audit"                   Admin settings::audit::show::show;
    POST "/settings/audit/check"             Admin settings::audit::show::check;
    POST "/settings/audit/csv"               Admin settings::audit::csv::download;
    GET  "/settings/health"                  Owner settings::health::show;
    POST "/settings/health"                  Owner settings::health::run_checks;
    GET  "/settings/data"                    Admin settings::data::show::show;
    POST "/settings/data/erase"              Admin settings::data::erase::erase;
    GET  "/settings/data/conversation"       Admin settings::data::conversation::ask;
    POST "/settings/data/conversation"       Admin settings::data::conversation::erase;
    POST "/settings/data/exports"            Admin settings::data::exports::make;
    GET  "/settings/data/exports/{id}"       Admin settings::data::exports::show;
    POST "/settings/data/exports/{id}/download" Fresh settings::data::exports::download;
    POST "/settings/data/exports/{id}/end"   Admin settings::data::exports::end;
    POST "/settings/data/keep"               Admin settings::data::keep::save;
    POST "/settings/data/trash/{id}/back"    Admin settings::data::keep::bring_back;
    POST "/settings/data/holds"              Admin settings::data::holds::place;
    GET  "/settings/data/holds/{id}/end"     Admin settings::data::holds::ask;
    POST "/settings/data/holds/{id}/end"     Admin settings::data::holds::end;
    GET  "/settings/sandbox"                 Admin settings::sandbox::show::show;
    POST "/settings/sandbox/inbound"         Admin settings::sandbox::simulate::simulate_mail;
    GET  "/reports"                          Member reports::show::show;
    GET  "/reports/csv"                      Member reports::csv::download;
    GET  "/settings/views"                   Member settings::views::list;
    POST "/settings/views"                   Member settings::views::save;
    POST "/settings/views/{id}"              Member settings::views::change;
    GET  "/settings/views/{id}/remove"       Member settings::views::ask;
    POST "/settings/views/{id}/remove"       Member settings::views::remove;
    GET  "/settings/rules"                   Admin settings::rules::list::show;
    GET  "/settings/rules/new"               Admin settings::rules::edit::new;
    POST "/settings/rules/new"               Admin settings::rules::edit::make;
    GET  "/settings/rules/{id}"              Admin settings::rules::edit::show;
    POST "/settings/rules/{id}"              Admin settings::rules::edit::change;
    POST "/settings/rules/{id}/move"         Admin settings::rules::doing::shift;
    POST "/settings/rules/{id}/turn"         Admin settings::rules::doing::turn;
    GET  "/settings/rules/{id}/remove"       Admin settings::rules::remove::ask;
    POST "/settings/rules/{id}/remove"       Admin settings::rules::remove::remove;
    GET  "/profile"                     Member settings::profile::show;
    POST "/profile"                     Member settings::profile::save;
    POST "/profile/signature/pictures"  Member settings::signature::add_to_own;
    POST "/profile/away"                Member settings::profile::save_away;
    POST "/profile/password"            Member settings::password::change;
    POST "/profile/sessions/end-others" Member settings::sessions::end_others;
    GET  "/settings/inboxes"                     Admin settings::inboxes::list;
    POST "/settings/inboxes"                     Admin settings::inboxes::make;
    GET  "/settings/inboxes/{id}"                Admin settings::inboxes::show;
    POST "/settings/inboxes/{id}"                Admin settings::inboxes::change;
    POST "/settings/inboxes/{id}/auto-reply"     Admin settings::inboxes::set_auto_reply;
    POST "/settings/inboxes/{id}/aliases"        Admin settings::inboxes::add_alias;
    POST "/settings/inboxes/{id}/aliases/remove" Admin settings::inboxes::remove_alias;
    GET  "/settings/domains"                     Admin settings::domains::show;
    POST "/settings/domains"                     Admin settings::domains::add;
    POST "/settings/domains/{domain}/check"      Admin settings::domains::check;
    POST "/profile/sessions/{id}/end"   Member settings::sessions::end;

    GET  "/profile/second-factor"       Member settings::second_factor::show;
    POST "/profile/second-factor"       Member settings::second_factor::change;
    GET  "/profile/passkeys/{id}/remove" Member settings::passkeys::ask;
    POST "/profile/passkeys/{id}/remove" Member settings::passkeys::remove;
    POST "/profile/passkeys/{id}/name"   Member settings::passkeys::rename;
    POST "/profile/passkeys/begin"       Member settings::passkeys::begin;
    POST "/profile/passkeys"             Member settings::passkeys::add;

    GET  "/settings/sign-in"             Admin settings::sign_in::show;
    POST "/settings/sign-in"             Admin settings::sign_in::connect;
    POST "/settings/sign-in/required"    Admin settings::sign_in::require;
    GET  "/settings/sign-in/disconnect"  Admin settings::sign_in::ask;
    POST "/settings/sign-in/disconnect"  Admin settings::sign_in::disconnect;
    POST "/settings/sign-in/forget"      Admin settings::sign_in::forget_account;

    GET  "/settings/people"                       Admin settings::people::list::show;
    GET  "/settings/people/{id}/remove"           Fresh settings::people::remove::show;
    POST "/settings/people/{id}/remove"           Fresh settings::people::remove::remove_them;
    GET  "/settings/people/{id}/second-factor"    Fresh settings::people::second_factor::show;
    POST "/settings/people/{id}/second-factor"    Fresh settings::people::second_factor::turn_off;
    POST "/settings/people/second-factor"         Fresh settings::people::second_factor::require;
    POST "/settings/people/roles"                 Fresh settings::people::roles::save;
    POST "/settings/people/invite"                Fresh settings::people::invite::invite;
    POST "/settings/people/invitations/{id}"      Fresh settings::people::invite::change;
}

/// Pages for people who still have to set up two-step verification that their workspace requires.
const WITHOUT_SECOND_FACTOR: &[&str] = &[settings::second_factor::PATH, "/sign-out"];

pub fn routes(app: Arc<App>, bodies: Arc<Bodies>) -> Router {
    let origin = app.config.public_url.origin().ascii_serialization();
    let policy = respond::policy(app.config.content_origin().as_deref());
    let web = Arc::new(Web { app, bodies, origin, policy, examinations: OneAtATime::default() });
    let mut router = Router::new();
    for page in PAGES {
        let filter = if page.method == Method::POST { MethodFilter::POST } else { MethodFilter::GET };
        let answer = move |State(web): State<Arc<Web>>, request: Request| async move {
            let started = Instant::now();
            let response = web.clone().answer(page, request).await;
            web.app.figures.answered(Answered {
                door: "web",
                method: &page.method,
                operation: page.path,
                status: response.status(),
                took: started.elapsed(),
                trace: Trace::Own,
            });
            respond::dress(response, &web.policy)
        };
        router = router.route(page.path, on(filter, answer));
    }
    router
        .layer(CompressionLayer::new().compress_when(is_text()))
        .merge(rookery_http::assets::routes(assets::ASSETS))
        .with_state(web)
}

/// Which answers are compressed: text. Files are sent as they are, with their length.
fn is_text() -> impl Predicate {
    let file = NotForContentType::const_new("application/octet-stream");
    DefaultPredicate::new().and(file).and(NotForContentType::const_new("application/pdf"))
}

/// The sign-in page, which leads back to the page that was asked for.
fn way_in(page: &PageRoute, here: &str) -> String {
    if page.method == Method::GET && here != "/" {
        format!("/sign-in?next={}", form_urlencoded::byte_serialize(here.as_bytes()).collect::<String>())
    } else {
        "/sign-in".to_owned()
    }
}

impl Web {
    async fn answer(self: Arc<Self>, page: &'static PageRoute, request: Request) -> Response {
        let (mut parts, body) = request.into_parts();
        let params = match parts.extract::<RawPathParams>().await {
            Ok(params) => params.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
            Err(_) => Vec::new(),
        };
        let visit = Visit::new(self, parts, params, body);
        let door = way_in(page, visit.here());
        match visit.web.clone().run(page, visit).await {
            Ok(response) => response,
            Err(Error::Unauthorized) if page.who != Who::Anyone => respond::see_other(&door),
            Err(error) => respond::refusal(&error),
        }
    }

    async fn run(&self, page: &'static PageRoute, visit: Visit) -> Result<Response> {
        if page.method == Method::POST && page.who != Who::Customer {
            self.check_origin(page.who, &visit.parts.headers)?;
        }
        match page.run {
            Run::Visit(run) => run(visit).await,
            Run::Asked(run) => {
                let asked = self.signed_in(visit).await?;
                if asked.session.owes_second_factor && !WITHOUT_SECOND_FACTOR.contains(&page.path) {
                    return Ok(respond::see_other(settings::second_factor::PATH));
                }
                if page.who.is_for_admins() && !asked.person.role.administers() {
                    return Err(NO_ENDPOINT);
                }
                if page.who == Who::Owner && asked.person.role != Role::Owner {
                    return Err(NO_ENDPOINT);
                }
                if page.who == Who::Fresh && !session::is_fresh(&asked) {
                    return if page.method == Method::POST {
                        sign_in::again::ask(&asked, Some(&*asked.form().await?)).await
                    } else {
                        sign_in::again::ask(&asked, None).await
                    };
                }
                run(asked).await
            }
        }
    }

    /// The session of the cookie. It is looked up on every request, so that one that was ended is over at once.
    async fn signed_in(&self, visit: Visit) -> Result<MemberRequest> {
        let token = visit.session_token().and_then(Token::read).ok_or(Error::Unauthorized)?;
        let mut conn = self.app.connection().await?;
        let now = self.app.clock.now();
        let found = sessions::find(&mut conn, &token, now).await?;
        let (session, person) = found.ok_or(Error::Unauthorized)?;
        let app = Arc::new(self.app.asked_by(Asker::Person(person.id)));
        let conn = app.connection_turns_out_of(conn, person.workspace).await?;
        let is_stale = session.is_stale;
        let asked = MemberRequest::new(visit, app, person, session, conn);
        if is_stale {
            let mut tx = asked.tx().await?;
            sessions::seen(&mut tx, asked.session.id).await?;
            tx.commit().await?;
        }
        Ok(asked)
    }

    /// A form is taken from our own pages only. Browsers say where it came from in `Sec-Fetch-Site`, `Origin` or both; what
    /// says neither is no browser, and may sign in but not use a session.
    fn check_origin(&self, who: Who, headers: &HeaderMap) -> Result<()> {
        let site = headers.get("sec-fetch-site");
        let origin = headers.get(header::ORIGIN);
        let own = site.is_none_or(|site| site == "same-origin")
            && origin.is_none_or(|origin| origin.as_bytes() == self.origin.as_bytes())
            && (site.is_some() || origin.is_some() || who == Who::Anyone);
        if own {
            Ok(())
        } else {
            Err(Error::Forbidden(format!("Open {} and try again from there.", self.origin)))
        }
    }
}
