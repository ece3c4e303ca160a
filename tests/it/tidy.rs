//! Holds the tree to the house rules that the compiler does not know: order of rooms in a crate, file headers, table
//! ownership, forbidden names, one clock and one source of randomness, file length, reasoned dependencies.
//! Each rule is a function over files, so that tidy/refused.rs can try it on bad snippets too.

mod connections;
mod declared;
mod log_lines;
mod refused;
mod rooms;
pub mod source;
mod styles;
mod tuple_parameters;
mod words;

use std::collections::{BTreeMap, BTreeSet};

use source::{File, tables_of, tree, writes};

/// The order of rooms that share a crate: a room imports only those before it, and never its neighbours on the same line.
/// Between crates the compiler keeps the order; the rooms of `base` and `reading` may import each other, but not in circles.
const ORDER: &[(&str, &[&[&str]])] = &[
    ("core", &[&["workspace"], &["events", "rules"], &["conversations"]]),
    ("product", &[&["documents", "app_mail", "bookings"], &["replies"]]),
    ("mail", &[&["incoming"], &["sandbox"], &["outgoing"]]),
    ("upkeep", &[&["demo"], &["exports"], &["departures", "erasures"], &["backups", "moves"], &["doctor"]]),
    ("rookery", &[&["worker"], &["routes"], &["fleet"], &["cli"]]),
];

/// Which room writes a table.
const OWNERS: &[(&str, &[&str])] = &[
    ("limits", &["rate_blocks", "stranger_mail"]),
    (
        "store",
        &[
            "directory.workspaces",
            "directory.api_keys",
            "directory.addresses",
            "directory.domains",
            "directory.first_run_links",
            "directory.cells",
            "directory.moves",
            "directory.clients",
            "doomed_files",
            "answered_requests",
            "agent_calls",
        ],
    ),
    (
        "workspace",
        &[
            "workspaces",
            "people",
            "agents",
            "mailboxes",
            "notices",
            "sessions",
            "passwords",
            "sign_in_links",
            "invitations",
            "second_factors",
            "recovery_codes",
            "half_sign_ins",
            "sso_connections",
            "sso_attempts",
            "sso_accounts",
            "passkeys",
            "used_challenges",
            "audit_entries",
            "audit_heads",
            "mailbox_aliases",
            "signature_files",
            "auto_replies",
            "skipped_steps",
            "agent_days",
            "agent_messages",
            "key_uses",
            "told_changes",
            "one_time_codes",
            "client_grants",
            "client_tokens",
        ],
    ),
    ("events", &["events", "unfanned_events", "event_feed", "event_feed_heads"]),
    ("rules", &["rules", "rule_runs"]),
    (
        "conversations",
        &[
            "conversations",
            "messages",
            "message_html",
            "notes",
            "timeline_events",
            "tags",
            "conversation_tags",
            "counts",
            "count_changes",
            "conversation_words",
            "conversation_words_segments",
            "unindexed_conversations",
            "unindexed_messages",
            "unindexed_notes",
            "mentions",
            "notifications",
            "follows",
            "notification_choices",
            "notification_mail",
            "withheld_replies",
            "conversation_reads",
            "merged_conversations",
            "bulk_jobs",
            "bulk_job_items",
            "agent_handovers",
            "holds",
            "trash",
            "saved_views",
            "report_counts",
            "secure_keys",
            "secure_pages",
            "secure_files",
            "secure_visits",
            "unsorted_messages",
            "contacts",
        ],
    ),
    (
        "documents",
        &[
            "documents",
            "document_requests",
            "document_request_items",
            "document_request_files",
            "document_lists",
            "unread_documents",
            "document_readings",
            "document_corrections",
        ],
    ),
    (
        "bookings",
        &[
            "bookings",
            "booking_mail",
            "booking_types",
            "booking_type_hosts",
            "booking_hosts",
            "booking_hours",
            "booking_days",
            "busy_sources",
            "busy_times",
        ],
    ),
    ("app_mail", &["app_mail", "sending_services", "service_reports", "seen_reports"]),
    (
        "replies",
        &[
            "suppressed_addresses",
            "suppression_changes",
            "erased_bans",
            "automatic_mail",
            "auto_replied",
            "away_replied",
            "written_drafts",
            "written_draft_copies",
            "written_draft_files",
            "saved_replies",
            "saved_reply_files",
        ],
    ),
    (
        "assistants",
        &[
            "assistant_settings",
            "assistant_tasks",
            "corrections",
            "learned_topics",
            "assistant_runs",
            "assistant_days",
            "assistant_spend",
            "assistant_calls",
            "assistant_drafts",
        ],
    ),
    ("incoming", &["mail_received"]),
    ("sandbox", &["sandbox_mail", "sandbox_answers"]),
    ("outgoing", &["sending_domains"]),
    ("departures", &["departures"]),
    ("exports", &["exports"]),
    ("erasures", &["erasures"]),
    ("moves", &["move_marks"]),
    (
        "webhooks",
        &[
            "webhooks",
            "webhook_lanes",
            "webhook_hours",
            "deliveries",
            "delivery_log",
            "redeliveries",
            "failed_events",
        ],
    ),
];

/// It names the partitions of tables it is given, and moves rows only within a table.
const MOVES_ROWS_BETWEEN_DAYS: &str = "crates/base/src/store/partitions.rs";
/// It takes whole workspaces to another database, all their tables, and fences them meanwhile.
const MOVES_WORKSPACES: &str = "crates/upkeep/src/moves/";

const FORBIDDEN_NAMES: &[&str] =
    &["util", "utils", "common", "helper", "helpers", "manager", "service", "misc"];

/// Calls that read the clock or draw a random number, and the files that may make them.
const CHANCE_CALLS: &[[&str; 2]] = &[
    ["Utc", "now"],
    ["Local", "now"],
    ["SystemTime", "now"],
    ["rand", "rng"],
    ["rand", "random"],
    ["rand", "make_rng"],
];
const CHANCE_FILES: &[&str] = &["crates/base/src/clock.rs", "crates/base/src/random.rs"];

const LONGEST_FILE: usize = 600;

#[test]
fn rooms_of_a_crate_import_only_what_stands_before_them() {
    assert_tidy(imports(&tree(&["crates"])));
}

#[test]
fn every_file_opens_with_its_rule() {
    assert_tidy(headers(&tree(&["crates", "tests", "fuzz"])));
}

#[test]
fn each_table_is_written_only_by_its_owner() {
    assert_tidy(ownership(&tree(&["crates"]), &tree(&["migrations"]), OWNERS));
}

#[test]
fn no_file_or_module_has_a_name_that_says_nothing() {
    assert_tidy(names(&tree(&["crates", "tests", "bench", "fuzz"])));
}

#[test]
fn no_more_than_three_public_types_share_a_name() {
    assert_tidy(declared::crowded_types(&tree(&["crates"])));
}

#[test]
fn no_function_has_a_name_that_says_nothing() {
    assert_tidy(declared::riddles(&tree(&["crates"])));
}

#[test]
fn time_and_chance_come_from_one_place() {
    assert_tidy(time_and_chance(&tree(&["crates"])));
}

#[test]
fn no_line_of_the_log_has_a_name_twice() {
    assert_tidy(log_lines::twice_named_fields(&tree(&["crates"])));
}

#[test]
fn no_function_takes_a_tuple() {
    assert_tidy(tuple_parameters::tuple_parameters(&tree(&["crates"])));
}

#[test]
fn zones_are_reckoned_in_one_place() {
    assert_tidy(zones(&tree(&["crates"])));
}

#[test]
fn no_file_imports_what_imports_it() {
    assert_tidy(rooms::circles(&tree(&["crates"])));
}

#[test]
fn no_room_is_crowded() {
    assert_tidy(rooms::crowds(&tree(&["crates", "tests", "bench", "fuzz", "docs"])));
}

#[test]
fn every_decision_that_is_cited_by_number_is_written_down() {
    let page = include_str!("../../docs/decisions/by-number.md");
    assert_tidy(rooms::decisions(page, &tree(&["crates", "tests", "bench", "fuzz", "migrations"])));
}

#[test]
fn no_file_is_too_long() {
    assert_tidy(lengths(&tree(&["crates", "tests", "bench", "fuzz"])));
}

#[test]
fn every_dependency_has_its_reason() {
    let page = include_str!("../../docs/dependencies.md");
    let mut manifests = tree(&["fuzz"]);
    manifests.retain(|file| file.path.ends_with("Cargo.toml"));
    let all: String = manifests.iter().map(|file| file.text.as_str()).collect();
    assert_tidy(dependencies(&[include_str!("../../Cargo.toml"), &all].concat(), page));
}

#[test]
fn every_attack_in_the_security_page_has_its_test() {
    assert_tidy(attacks(include_str!("../../SECURITY.md"), &tree(&["crates", "tests"])));
}

fn imports(files: &[File]) -> Vec<String> {
    let mut problems = Vec::new();
    for file in files.iter().filter(|file| file.is_rust()) {
        let Some((_, order)) = ORDER.iter().find(|(name, _)| *name == file.crate_name()) else {
            continue;
        };
        let place_of = |room: &str| order.iter().position(|line| line.contains(&room));
        let room = file.room();
        let Some(place) = place_of(&room) else {
            // The crate's own `lib.rs` and `main.rs` name all of its rooms.
            if !room.is_empty() {
                problems.push(format!("{}: its room has no place in ORDER", file.path));
            }
            continue;
        };
        for (path, line) in file.paths() {
            let target = path.first().filter(|target| **target != room);
            let Some(target) = target else { continue };
            if place_of(target).is_some_and(|before| before >= place) {
                problems.push(format!("{}:{line}: {room} imports {target}", file.path));
            }
        }
    }
    problems
}

fn headers(files: &[File]) -> Vec<String> {
    let mut problems = Vec::new();
    for file in files.iter().filter(|file| file.is_rust()) {
        let opening = file.text.lines().take_while(|line| line.starts_with("//!"));
        let count = opening.count();
        let wanted = if file.path.ends_with("/src/lib.rs") { 5..=15 } else { 2..=6 };
        if file.path.contains("/src/") && !wanted.contains(&count) {
            problems.push(format!("{}: opens with {count} lines of `//!`, wanted are {wanted:?}", file.path));
        } else if count == 0 {
            problems.push(format!("{}: does not open with `//!`", file.path));
        }
    }
    problems
}

fn ownership(files: &[File], migrations: &[File], owners: &[(&str, &[&str])]) -> Vec<String> {
    let mut problems = Vec::new();
    let mut owner_of = BTreeMap::new();
    for (owner, tables) in owners {
        for table in *tables {
            if owner_of.insert(*table, *owner).is_some() {
                problems.push(format!("OWNERS: {table} has two owners"));
            }
        }
    }
    let existing = tables_of(migrations);
    for table in &existing {
        if !owner_of.contains_key(table.as_str()) {
            problems.push(format!("OWNERS: {table} has no owner"));
        }
    }
    for table in owner_of.keys().filter(|table| !existing.contains(**table)) {
        problems.push(format!("OWNERS: {table} is in no migration"));
    }
    for file in files.iter().filter(|file| !file.path.starts_with(MOVES_WORKSPACES)) {
        let written: BTreeSet<String> = file.sql().iter().flat_map(|sql| writes(sql)).collect();
        for table in written {
            if table.contains('{') && file.path != MOVES_ROWS_BETWEEN_DAYS {
                problems
                    .push(format!("{}: writes to a table whose name is put together at run time", file.path));
            } else if let Some(owner) = owner_of.get(table.as_str())
                && *owner != file.room()
            {
                problems.push(format!("{}: writes {table}, {owner} owns it", file.path));
            }
        }
    }
    problems
}

fn names(files: &[File]) -> Vec<String> {
    let mut problems = Vec::new();
    for file in files {
        let stems = file.path.split('/').map(|part| part.split('.').next());
        if stems.flatten().any(|stem| FORBIDDEN_NAMES.contains(&stem)) {
            problems.push(format!("{}: name it after what it does", file.path));
        }
        if file.is_rust() {
            for (module, line) in file.inline_modules() {
                if FORBIDDEN_NAMES.contains(&module.as_str()) {
                    problems.push(format!("{}:{line}: module `{module}`", file.path));
                }
            }
        }
    }
    problems
}

fn time_and_chance(files: &[File]) -> Vec<String> {
    let mut problems = Vec::new();
    for file in files.iter().filter(|file| file.is_rust()) {
        if CHANCE_FILES.contains(&file.path.as_str()) {
            continue;
        }
        for call in CHANCE_CALLS {
            for line in file.lines_with(call) {
                let call = call.join("::");
                problems.push(format!("{}:{line}: {call} outside its file", file.path));
            }
        }
    }
    problems
}

/// PostgreSQL knows other names of zones than the program, so no statement may name one but UTC.
fn zones(files: &[File]) -> Vec<String> {
    let mut problems = Vec::new();
    for file in files.iter().filter(|file| file.is_rust()) {
        for (n, line) in file.text.lines().enumerate() {
            let named = line.to_lowercase();
            if named.split("at time zone").skip(1).any(|rest| !rest.trim_start().starts_with("'utc'")) {
                problems.push(format!(
                    "{}:{}: a zone in a statement; crates/base/src/zone.rs reckons",
                    file.path,
                    n + 1
                ));
            }
        }
    }
    problems
}

fn lengths(files: &[File]) -> Vec<String> {
    files
        .iter()
        .filter(|file| file.is_rust())
        .map(|file| (file, file.text.lines().count()))
        .filter(|(_, lines)| *lines > LONGEST_FILE)
        .map(|(file, lines)| {
            let path = &file.path;
            format!("{path}: {lines} lines; look for the second noun hiding inside")
        })
        .collect()
}

/// Each direct dependency has its row on the page, and the page no row of a crate that is gone.
fn dependencies(manifest: &str, page: &str) -> Vec<String> {
    let mut used = BTreeSet::new();
    let mut in_section = false;
    for line in manifest.lines() {
        if line.starts_with('[') {
            in_section = line.ends_with("dependencies]");
        } else if in_section
            && !line.starts_with(['#', ' '])
            && !line.starts_with("rookery")
            && let Some((name, _)) = line.split_once([' ', '.', '='])
        {
            used.insert(name);
        }
    }
    let crates = page.split("## Tools").next().unwrap_or_default();
    let rows = crates.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` |"));
    let explained: BTreeSet<&str> = rows.map(|(name, _)| name).collect();
    let unexplained =
        used.difference(&explained).map(|name| format!("{name} has no row in docs/dependencies.md"));
    let gone = explained
        .difference(&used)
        .map(|name| format!("docs/dependencies.md explains {name}, which is gone"));
    unexplained.chain(gone).collect()
}

/// A row's last column names the test as `cargo test` does, or a function of a script.
fn attacks(page: &str, files: &[File]) -> Vec<String> {
    let mut problems = Vec::new();
    for row in page.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| attack |")) {
        let named = row.rsplit(" | ").next().unwrap_or_default();
        let tests: Vec<&str> = named.split('`').skip(1).step_by(2).collect();
        if tests.is_empty() {
            problems.push(format!("SECURITY.md names no test: {row}"));
        }
        for test in tests {
            let name = test.rsplit([':', ' ']).next().unwrap_or_default();
            let written = [format!("fn {name}("), format!("def {name}(")];
            if !files.iter().any(|file| written.iter().any(|word| file.text.contains(word))) {
                problems.push(format!("SECURITY.md names a test that is not there: {test}"));
            }
        }
    }
    problems
}

fn assert_tidy(problems: Vec<String>) {
    assert!(problems.is_empty(), "not tidy:\n  {}", problems.join("\n  "));
}
