//! The pages of the site, in their order. Whatever stands in docs/ is on the site: what the order below does not name comes
//! under "More". An address in an example is this service's own.

use url::Url;

use crate::markdown::{self, Heading, PagePart};

// `TEXTS`: every page by its path in docs/, with its text.
include!(concat!(env!("OUT_DIR"), "/docs.rs"));

/// The address that examples have in docs/.
const EXAMPLE: &str = "https://rookery.example";

/// Sections with their pages: the file in docs/, and what the page is called at the side.
const ORDER: &[(&str, &[(&str, &str)])] = &[
    (
        "Start",
        &[
            ("start.md", "Your first call"),
            ("agents.md", "Connect an agent"),
            ("clients.md", "TypeScript and Python"),
        ],
    ),
    (
        "Build",
        &[
            ("api.md", "Using the API"),
            ("webhooks.md", "Webhooks"),
            ("states.md", "States"),
            ("sending-services.md", "Sending services"),
        ],
    ),
    (
        "Run",
        &[
            ("install.md", "Install"),
            ("operating.md", "Operating"),
            ("backup.md", "Backup"),
            ("point-in-time-recovery.md", "Point-in-time recovery"),
            ("high-availability.md", "High availability"),
            ("scaling.md", "Scaling"),
            ("mail.md", "Mail"),
            ("figures.md", "Figures and alerts"),
            ("releases.md", "Releases"),
            ("performance.md", "Performance"),
        ],
    ),
    (
        "Work",
        &[
            ("workspace.md", "A workspace"),
            ("bookings.md", "Bookings"),
            ("secure-messages.md", "Secure messages"),
            ("assistants.md", "Assistants"),
            ("keys.md", "Keyboard"),
        ],
    ),
    (
        "About",
        &[
            ("changelog.md", "Changelog"),
            ("security.md", "Security"),
            ("decisions/README.md", "Decisions"),
            ("specification.md", "Specification"),
            ("requirements.md", "What is promised"),
            ("dependencies.md", "Dependencies"),
        ],
    ),
];

/// Where a page is when that is not its file's name: `/docs/api` is the reference.
const ELSEWHERE: &[(&str, &str)] = &[("api.md", "using-the-api"), ("decisions/README.md", "decisions")];

pub struct SitePage {
    /// Behind `/docs/`.
    pub slug: String,
    /// Its path in docs/: links of the Markdown twins name it so.
    pub file: &'static str,
    /// At the side; the title when the order does not name it.
    pub name: String,
    pub title: String,
    pub about: String,
    pub html: String,
    /// As it is written, with this service's address.
    pub text: String,
    pub headings: Vec<Heading>,
    pub parts: Vec<PagePart>,
}

pub struct Section {
    pub title: &'static str,
    pub pages: Vec<SitePage>,
}

/// Every page, by section.
pub fn all(public_url: &Url) -> Vec<Section> {
    let mut sections: Vec<Section> = ORDER
        .iter()
        .map(|(title, pages)| {
            let named = pages.iter().filter_map(|(file, name)| {
                let text = TEXTS.iter().find(|(own, _)| own == file)?.1;
                Some(page(file, Some(*name), text, public_url))
            });
            Section { title, pages: named.collect() }
        })
        .collect();
    let is_named = |file: &str| ORDER.iter().flat_map(|(_, pages)| *pages).any(|(own, _)| *own == file);
    let rest = TEXTS.iter().filter(|(file, _)| !is_named(file));
    let rest = rest.map(|(file, text)| page(file, None, text, public_url)).collect();
    sections.push(Section { title: "More", pages: rest });
    sections
}

fn page(file: &'static str, name: Option<&str>, text: &str, public_url: &Url) -> SitePage {
    let text = text.replace(EXAMPLE, public_url.as_str().trim_end_matches('/'));
    let folder = file.rsplit_once('/').map_or("", |(folder, _)| folder);
    // In docs/ a link reads as the file it leads to; here as the page.
    let named = ORDER
        .iter()
        .flat_map(|(_, pages)| *pages)
        .fold(text.clone(), |text, (file, name)| text.replace(&format!("[{file}]("), &format!("[{name}](")));
    let read = markdown::read(&named, &|link| lead(folder, link));
    // `api.md` is the twin of the reference here.
    let text = text.replace("](api.md", "](using-the-api.md");
    SitePage {
        slug: slug_of(file),
        file,
        name: name.map_or_else(|| read.title.clone(), str::to_owned),
        title: read.title,
        about: read.about,
        html: read.html,
        headings: read.headings,
        parts: read.parts,
        text,
    }
}

fn slug_of(file: &str) -> String {
    let elsewhere = ELSEWHERE.iter().find(|(own, _)| *own == file);
    elsewhere.map_or_else(|| file.trim_end_matches(".md").to_owned(), |(_, slug)| (*slug).to_owned())
}

/// Where a link between pages leads on the site. What is not a page of ours stays as it is.
pub fn lead(folder: &str, link: &str) -> String {
    let (path, fragment) = link.split_once('#').map_or((link, None), |(path, part)| (path, Some(part)));
    if path.is_empty() || path.contains("://") || path.starts_with('/') || !path.ends_with(".md") {
        return link.to_owned();
    }
    let mut steps: Vec<&str> = folder.split('/').filter(|step| !step.is_empty()).collect();
    for step in path.split('/') {
        match step {
            "." => {}
            ".." => drop(steps.pop()),
            // Pages of the root name those of docs/ with their folder.
            "docs" => steps.clear(),
            step => steps.push(step),
        }
    }
    let file = steps.join("/");
    let file = if TEXTS.iter().any(|(own, _)| *own == file) { file } else { file.to_lowercase() };
    let fragment = fragment.map_or_else(String::new, |part| format!("#{part}"));
    format!("/docs/{}{fragment}", slug_of(&file))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn site() -> Vec<Section> {
        all(&"https://desk.acme.example".parse().unwrap())
    }

    #[test]
    fn every_page_that_the_order_names_is_there_and_none_is_twice() {
        let named: Vec<&str> = ORDER.iter().flat_map(|(_, pages)| *pages).map(|(file, _)| *file).collect();
        for file in &named {
            assert!(TEXTS.iter().any(|(own, _)| own == file), "{file} is not in docs/");
        }
        let site = site();
        let slugs: Vec<&str> =
            site.iter().flat_map(|section| &section.pages).map(|page| page.slug.as_str()).collect();
        assert_eq!(slugs.len(), TEXTS.len());
        assert_eq!(slugs.iter().collect::<BTreeSet<_>>().len(), slugs.len(), "{slugs:?}");
        assert!(!slugs.contains(&"api") && !slugs.contains(&"search"), "these are no pages of docs/");
    }

    #[test]
    fn every_link_between_pages_leads_to_a_page_and_a_heading_that_is_there() {
        let site = site();
        let pages: Vec<&SitePage> = site.iter().flat_map(|section| &section.pages).collect();
        let mut followed = 0;
        for page in &pages {
            for link in page.html.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next()) {
                let (path, fragment) = link.split_once('#').unwrap_or((link, ""));
                let to = match path.strip_prefix("/docs/") {
                    Some(slug) => pages.iter().find(|other| other.slug == slug).copied(),
                    None if path.is_empty() => Some(*page),
                    None => continue,
                };
                let to = to.unwrap_or_else(|| panic!("{} leads to {link}, which is no page", page.slug));
                let has = fragment.is_empty() || to.headings.iter().any(|heading| heading.id == fragment);
                assert!(has, "{} leads to {link}, which has no such heading", page.slug);
                followed += 1;
            }
            assert!(!page.html.contains(".md\""), "{} has a link to a file", page.slug);
            assert!(!page.html.contains("src=\"\""), "{} shows a picture that is not there", page.slug);
        }
        assert!(followed > 20, "{followed} links were followed");
    }

    #[test]
    fn a_page_has_this_services_address_a_title_and_words() {
        for page in site().iter().flat_map(|section| &section.pages) {
            assert!(!page.text.contains(EXAMPLE), "{}", page.slug);
            assert!(!page.title.is_empty() && !page.html.is_empty(), "{}", page.slug);
            assert!(!page.html.contains(" style="), "{} has a style, which the policy refuses", page.slug);
        }
    }
}
