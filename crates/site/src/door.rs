//! Where the documentation is served: `/docs` with its pages, search, reference and changelog, `/llms.txt` and
//! `/.well-known/security.txt`. Every page has a twin in Markdown, at its address with `.md` and by `Accept`.
//!
//! Everything is made from what the binary holds and is the same for everybody, so others may keep it for a while.

use std::fmt::Write as _;
use std::sync::{Arc, OnceLock};

use askama::Template;
use axum::Router;
use axum::extract::{Path, RawQuery, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;
use chrono::{DateTime, Duration, Utc};
use tower_http::compression::CompressionLayer;
use url::form_urlencoded;

use crate::assets::{self, filters};
use crate::changelog;
use crate::markdown::{Heading, PagePart};
use crate::negotiate::wants_markdown;
use crate::pages::{self, Section, SitePage};
use crate::reference::{self, Reference};
use crate::search::{self, Hit, Searched};
use rookery_api::openapi;
use rookery_base::app::App;
use rookery_base::error::{Error, NO_ENDPOINT, Result};
use rookery_http::answers::insert;
use rookery_web::respond;

/// How long others may keep a page, and so an old one may be seen after an upgrade.
const KEEP: &str = "public, max-age=300";
/// How far ahead security.txt says that it holds. It is made anew for every asker.
const SECURITY_HOLDS: Duration = Duration::days(180);
const LONGEST_QUESTION: usize = 200;

struct Docs {
    app: Arc<App>,
    site: OnceLock<Site>,
}

/// All of it, made at the first question.
struct Site {
    sections: Vec<Section>,
    reference: Reference,
    reference_parts: Vec<PagePart>,
    /// The public address without a slash at its end.
    public: String,
    started: DateTime<Utc>,
}

pub fn routes(app: Arc<App>) -> Router {
    let docs = Arc::new(Docs { app, site: OnceLock::new() });
    Router::new()
        .route("/docs", get(home))
        .route("/docs/search", get(find))
        .route("/docs/api", get(whole_reference))
        .route("/docs/api.md", get(reference_text))
        .route("/docs/api/explore", get(explore))
        .route("/docs/changelog.atom", get(feed))
        .route("/docs/{*page}", get(page))
        .route("/llms.txt", get(llms))
        .route("/.well-known/security.txt", get(security))
        .layer(CompressionLayer::new())
        .merge(rookery_http::assets::routes(assets::ASSETS))
        .with_state(docs)
}

impl Docs {
    fn site(&self) -> Result<&Site> {
        if let Some(site) = self.site.get() {
            return Ok(site);
        }
        let document = serde_json::from_str(openapi::document(&self.app)?.get())?;
        let reference = reference::read(&document).with_bodies();
        let made = Site {
            sections: pages::all(&self.app.config.public_url),
            reference_parts: reference.parts(),
            reference,
            public: self.app.config.public_url.as_str().trim_end_matches('/').to_owned(),
            started: self.app.clock.now(),
        };
        Ok(self.site.get_or_init(|| made))
    }
}

/// What stands beside every page.
pub struct Side {
    sections: Vec<SideSection>,
    /// What was searched for.
    asked: String,
    /// The Markdown twin of this page.
    twin: String,
}

pub struct SideSection {
    title: String,
    links: Vec<SideLink>,
}

pub struct SideLink {
    path: String,
    name: String,
    is_here: bool,
}

impl Site {
    fn side(&self, here: &str, twin: &str) -> Side {
        let link = |path: String, name: &str| SideLink { is_here: path == here, path, name: name.to_owned() };
        let mut sections: Vec<SideSection> = self
            .sections
            .iter()
            .map(|section| SideSection {
                title: section.title.to_owned(),
                links: section.pages.iter().map(|page| link(page.path(), &page.name)).collect(),
            })
            .collect();
        let reference = SideSection {
            title: "Reference".to_owned(),
            links: vec![link("/docs/api".to_owned(), "API reference")],
        };
        sections.insert(sections.len().min(2), reference);
        // Why things are as they are is linked from where they are told; at the side it would be a wall of names.
        sections.retain(|section| section.title != "More" || section.links.iter().any(|link| link.is_here));
        Side { sections, asked: String::new(), twin: twin.to_owned() }
    }

    /// Beside the reference stands what it holds.
    fn side_of_reference(&self) -> Side {
        let link = |path: String, name: &str| SideLink { path, name: name.to_owned(), is_here: false };
        let section = |title: &str, links| SideSection { title: title.to_owned(), links };
        let home = link("/docs".to_owned(), "All pages");
        let mut sections = vec![section("Documentation", vec![home])];
        for group in &self.reference.groups {
            let links = group.operations.iter().map(|own| link(format!("#{}", own.id), &own.title)).collect();
            sections.push(section(&group.name, links));
        }
        let parts = [("#events", "Events"), ("#errors", "Errors"), ("#schemas", "Schemas")];
        let parts = parts.map(|(path, name)| link(path.to_owned(), name));
        sections.push(section("For all of them", parts.into()));
        Side { sections, ..self.side("/docs/api", "/docs/api.md") }
    }

    fn pages(&self) -> impl Iterator<Item = &SitePage> {
        self.sections.iter().flat_map(|section| &section.pages)
    }

    fn find(&self, slug: &str) -> Option<&SitePage> {
        self.pages().find(|page| page.slug == slug)
    }

    /// What the site has, as one page of Markdown.
    fn index(&self) -> String {
        let public = &self.public;
        let mut text = format!(
            "# Rookery\n\n> A shared customer-email inbox for teams and their software agents. This service is at {public}: \
             REST at {public}/api/v1, MCP at {public}/mcp, both with the same keys. Replies by agents are drafts that a person \
             approves, unless the key may send. Test keys (rk_test_…) reach a sandbox with simulated customers and nothing else.\n\n\
             ## Reference\n\n- [API reference]({public}/docs/api.md): every operation, event, error and schema\n\
             - [OpenAPI 3.1]({public}/openapi.json): the same for programs\n"
        );
        for section in &self.sections {
            // Readers with little room may leave these out.
            let title = if section.title == "More" { "Optional" } else { section.title };
            let _ = write!(text, "\n## {title}\n\n");
            for page in &section.pages {
                let about = page.about.split(". ").next().unwrap_or_default().trim_end_matches('.');
                let _ = writeln!(text, "- [{}]({public}{}.md): {about}", page.title, page.path());
            }
        }
        text
    }
}

impl SitePage {
    fn path(&self) -> String {
        format!("/docs/{}", self.slug)
    }
}

#[derive(Template)]
#[template(path = "site/home.html")]
struct Home<'s> {
    side: Side,
    public: &'s str,
}

#[derive(Template)]
#[template(path = "site/page.html")]
struct DocsPage<'s> {
    side: Side,
    title: &'s str,
    html: &'s str,
    /// Those of the second level, for the list beside the page.
    headings: Vec<&'s Heading>,
    before: Option<&'s SitePage>,
    after: Option<&'s SitePage>,
}

#[derive(Template)]
#[template(path = "site/search.html")]
struct SearchResultsPage {
    side: Side,
    hits: Vec<Hit>,
}

#[derive(Template)]
#[template(path = "site/reference.html")]
struct Referred<'s> {
    side: Side,
    reference: &'s Reference,
}

async fn home(State(docs): State<Arc<Docs>>, headers: HeaderMap) -> Response {
    let shown = docs.site().and_then(|site| {
        if wants_markdown(&headers) {
            Ok(markdown(site.index()))
        } else {
            respond::page(&Home { side: site.side("/docs", "/llms.txt"), public: &site.public })
        }
    });
    dressed(shown, "/llms.txt")
}

async fn page(State(docs): State<Arc<Docs>>, Path(path): Path<String>, headers: HeaderMap) -> Response {
    let (slug, is_text) = match path.strip_suffix(".md") {
        Some(slug) => (slug, true),
        None => (path.as_str(), false),
    };
    let shown = docs.site().and_then(|site| {
        let by_file = || site.pages().find(|page| is_text && page.file == path);
        let page = site.find(slug).or_else(by_file).ok_or(NO_ENDPOINT)?;
        if is_text || wants_markdown(&headers) {
            return Ok(markdown(page.text.clone()));
        }
        let all: Vec<&SitePage> = site.pages().collect();
        let at = all.iter().position(|own| own.slug == page.slug).unwrap_or_default();
        respond::page(&DocsPage {
            side: site.side(&page.path(), &format!("{}.md", page.path())),
            title: &page.title,
            html: &page.html,
            headings: page.headings.iter().filter(|heading| heading.level == 2).collect(),
            before: at.checked_sub(1).map(|at| all[at]),
            after: all.get(at + 1).copied(),
        })
    });
    dressed(shown, &format!("/docs/{slug}.md"))
}

async fn find(State(docs): State<Arc<Docs>>, RawQuery(query): RawQuery) -> Response {
    let query = query.unwrap_or_default();
    let mut pairs = form_urlencoded::parse(query.as_bytes());
    let asked = pairs.find(|(name, _)| name == "q").map(|(_, asked)| asked.into_owned()).unwrap_or_default();
    let asked: String = asked.chars().take(LONGEST_QUESTION).collect();
    let shown = docs.site().and_then(|site| {
        let pages =
            site.pages().map(|page| Searched { path: page.path(), name: &page.name, parts: &page.parts });
        let reference =
            Searched { path: "/docs/api".to_owned(), name: "API reference", parts: &site.reference_parts };
        let hits = search::search(pages.chain([reference]), &asked);
        let side = Side { asked: asked.clone(), ..site.side("/docs/search", "/llms.txt") };
        respond::page(&SearchResultsPage { side, hits })
    });
    dressed(shown, "/llms.txt")
}

async fn whole_reference(State(docs): State<Arc<Docs>>, headers: HeaderMap) -> Response {
    let shown = docs.site().and_then(|site| {
        if wants_markdown(&headers) {
            Ok(markdown(site.reference.markdown()))
        } else {
            respond::page(&Referred { side: site.side_of_reference(), reference: &site.reference })
        }
    });
    dressed(shown, "/docs/api.md")
}

async fn reference_text(State(docs): State<Arc<Docs>>) -> Response {
    dressed(docs.site().map(|site| markdown(site.reference.markdown())), "/docs/api.md")
}

/// A second reference was here, which notes and other sites may still name.
async fn explore() -> Response {
    dressed(Ok(Redirect::permanent("/docs/api").into_response()), "/docs/api.md")
}

async fn feed(State(docs): State<Arc<Docs>>) -> Response {
    let shown = docs.site().and_then(|site| {
        let page = site.find("changelog").ok_or(NO_ENDPOINT)?;
        Ok(text(
            "application/atom+xml; charset=utf-8",
            changelog::feed(&page.text, &site.public, site.started),
        ))
    });
    dressed(shown, "/docs/changelog.md")
}

async fn llms(State(docs): State<Arc<Docs>>) -> Response {
    let shown = docs.site().map(|site| text("text/plain; charset=utf-8", site.index()));
    dressed(shown, "/llms.txt")
}

/// RFC 9116. Whoever runs the service is told by the page that it names.
async fn security(State(docs): State<Arc<Docs>>) -> Response {
    let shown = docs.site().map(|site| {
        let until = (docs.app.clock.now() + SECURITY_HOLDS).format("%Y-%m-%dT00:00:00Z");
        let public = &site.public;
        let lines = format!(
            "Contact: {public}/docs/security\nExpires: {until}\nPreferred-Languages: en\n\
             Canonical: {public}/.well-known/security.txt\nPolicy: {public}/docs/security\n"
        );
        text("text/plain; charset=utf-8", lines)
    });
    dressed(shown, "/docs/security.md")
}

fn markdown(page: String) -> Response {
    text("text/markdown; charset=utf-8", page)
}

fn text(kind: &'static str, words: String) -> Response {
    ([(header::CONTENT_TYPE, kind)], words).into_response()
}

/// The headers of every answer here, and where its twin for programs is.
fn dressed(shown: Result<Response, Error>, twin: &str) -> Response {
    let mut response = match shown {
        Ok(response) => response,
        Err(error) => return respond::dress(respond::refusal(&error), &respond::policy(None)),
    };
    let headers = response.headers_mut();
    let links = format!(
        "<{twin}>; rel=\"alternate\"; type=\"text/markdown\", </llms.txt>; rel=\"describedby\"; type=\"text/plain\""
    );
    insert(headers, "link", &links);
    insert(headers, "vary", "accept");
    if response.status() == StatusCode::OK {
        response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static(KEEP));
    }
    respond::dress(response, &respond::policy(None))
}
