//! The one list of settings pages: what the side bar and the first page show. Somebody who may not open a page is not
//! shown it.

use crate::web::door::Who;
use crate::web::shell::Shell;

pub struct Section {
    pub path: &'static str,
    pub name: &'static str,
    pub icon: &'static str,
    /// What is there, in a line.
    pub about: &'static str,
    who: Who,
}

const fn section(
    path: &'static str,
    name: &'static str,
    icon: &'static str,
    who: Who,
    about: &'static str,
) -> Section {
    Section { path, name, icon, about, who }
}

const YOU: &[Section] = &[
    section(
        "/profile",
        "Profile",
        "user",
        Who::Member,
        "Your name, time zone, theme, keys, signature, password and where you are signed in",
    ),
    section(
        "/notices/choices",
        "Notices",
        "bell",
        Who::Member,
        "What you are told of, in the app and by mail",
    ),
];

const WORKSPACE: &[Section] = &[
    section(
        "/settings/people",
        "People",
        "users",
        Who::Admin,
        "Who is on the team, in which role, and how they sign in; invitations",
    ),
    section(
        "/settings/inboxes",
        "Inboxes",
        "inbox",
        Who::Admin,
        "The addresses that customers write to, and who sees them",
    ),
    section(
        "/settings/domains",
        "Domains",
        "globe",
        Who::Admin,
        "What the DNS of your domains should say, and what it says now",
    ),
    section(
        "/settings/saved-replies",
        "Replies and signatures",
        "message-square-text",
        Who::Member,
        "Words that the team uses again, and what stands under the mails of an inbox",
    ),
];

const DEVELOPERS: &[Section] = &[
    section(
        "/settings/keys",
        "API keys",
        "key-round",
        Who::Admin,
        "Keys for programs and AI agents: what each may do, and when it was last used",
    ),
    section(
        "/settings/agents",
        "Agents",
        "bot",
        Who::Admin,
        "What agents did lately, how much they may write in a day, and the button that stops all of them",
    ),
    section(
        "/settings/webhooks",
        "Webhooks",
        "webhook",
        Who::Admin,
        "Addresses of yours that are told when something happens, and how each delivery went",
    ),
    section(
        "/settings/sandbox",
        "Sandbox",
        "plug-zap",
        Who::Admin,
        "Simulated mail for your code: test keys, test webhooks, magic addresses",
    ),
];

const GROUPS: &[(&str, &[Section])] =
    &[("You", YOU), ("Workspace", WORKSPACE), ("Agents and apps", DEVELOPERS)];

/// What somebody may open, by heading.
pub fn groups(shell: &Shell) -> Vec<(&'static str, Vec<&'static Section>)> {
    let open = |section: &&Section| section.who != Who::Admin || shell.administers;
    let groups = GROUPS.iter().map(|(name, all)| (*name, all.iter().filter(open).collect::<Vec<_>>()));
    groups.filter(|(_, all)| !all.is_empty()).collect()
}
