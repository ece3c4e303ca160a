//! The one list of settings pages: what the side bar and the first page show. Somebody who may not open a page is not
//! shown it.

use crate::door::Who;
use crate::shell::Shell;

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
        "What you’re notified about, in the app and by email",
    ),
    section(
        "/settings/views",
        "Your views",
        "list-checks",
        Who::Member,
        "Lists and searches that you saved for yourself",
    ),
];

const WORKSPACE: &[Section] = &[
    section(
        "/welcome",
        "Setup",
        "list-checks",
        Who::Admin,
        "Name and time zone, and what is still to do until mail comes and goes; an inbox to try things with",
    ),
    section(
        "/settings/people",
        "People",
        "users",
        Who::Admin,
        "Who is on the team, in which role, and how they sign in; invitations",
    ),
    section(
        "/settings/sign-in",
        "Single sign-on",
        "shield-check",
        Who::Admin,
        "Let people sign in with the provider they already have, or only with it",
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
        "The DNS records your domains need, and what they say now",
    ),
    section(
        "/settings/rules",
        "Rules",
        "list-filter",
        Who::Admin,
        "Automations for incoming email: tags, assignment, snooze, status, notifications",
    ),
    section(
        "/settings/assistants",
        "Assistants",
        "sparkles",
        Who::Admin,
        "Sorting mail, drafting replies and reading documents: by rules or a model, what it costs, and the stop",
    ),
    section(
        "/settings/saved-replies",
        "Replies and signatures",
        "message-square-text",
        Who::Member,
        "Text your team reuses, and the signature of each inbox",
    ),
    section(
        "/settings/bookings",
        "Bookings",
        "calendar-clock",
        Who::Member,
        "What customers can book, when, with whom; your hours and your other calendars",
    ),
    section(
        "/reports",
        "Reports",
        "chart-column",
        Who::Member,
        "Five numbers by week: arrived, answered, how soon, what is open, drafts approved unedited",
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
        "Notify your apps when something happens, and see how each delivery went",
    ),
    section(
        "/settings/services",
        "Sending services",
        "send",
        Who::Admin,
        "Postmark, Resend, Amazon SES, Mailgun, SendGrid and others that send your app’s mail and report on its delivery",
    ),
    section(
        "/settings/sandbox",
        "Sandbox",
        "plug-zap",
        Who::Admin,
        "Simulated mail for your code: test keys, test webhooks, magic addresses",
    ),
];

const SAFETY: &[Section] = &[
    section(
        "/settings/audit",
        "Audit log",
        "scroll-text",
        Who::Admin,
        "Who changed what and when, in a tamper-evident log",
    ),
    section(
        "/settings/data",
        "Data and erasure",
        "archive",
        Who::Admin,
        "Erasing a contact for good, exports, how long closed mail is kept, legal holds",
    ),
    section(
        "/settings/health",
        "Health",
        "circle-check",
        Who::Owner,
        "Whether everything this server needs works, and how to fix what doesn’t",
    ),
];

const GROUPS: &[(&str, &[Section])] =
    &[("You", YOU), ("Workspace", WORKSPACE), ("Agents and apps", DEVELOPERS), ("Safety", SAFETY)];

/// What somebody may open, by heading.
pub fn groups(shell: &Shell) -> Vec<(&'static str, Vec<&'static Section>)> {
    let open = |section: &&Section| match section.who {
        Who::Owner => shell.owns,
        who => !who.is_for_admins() || shell.administers,
    };
    let groups = GROUPS.iter().map(|(name, all)| (*name, all.iter().filter(open).collect::<Vec<_>>()));
    groups.filter(|(_, all)| !all.is_empty()).collect()
}
