//! Whom a person's mail goes to: read from what was typed, or worked out from the mail that is answered. Never one of
//! our own inboxes by itself, nobody twice, and no more than a mail may have (docs/decisions/recipients.md).

use std::collections::BTreeSet;

use sqlx::PgConnection;

use rookery_base::error::{Problem, Result};
use rookery_base::ids::WorkspaceId;
use rookery_core::workspace::people::an_address;
use rookery_reading::text;

/// Recipients of one mail, To, Cc and Bcc together.
pub const MOST: usize = 50;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recipients {
    pub to: Vec<String>,
    pub cc: Vec<String>,
    pub bcc: Vec<String>,
    /// What the first of To was called, when a name was typed with it.
    pub first_name: Option<String>,
}

impl Recipients {
    pub fn all(&self) -> impl Iterator<Item = &String> {
        self.to.iter().chain(&self.cc).chain(&self.bcc)
    }
}

/// Reads the three lines of a form. An address that stands in several of them stays where more people see it.
pub fn read(to: &str, cc: &str, bcc: &str) -> Result<Recipients, Vec<Problem>> {
    let mut problems = Vec::new();
    let mut known = BTreeSet::new();
    let mut recipients = Recipients::default();
    for (field, line, list) in
        [("to", to, &mut recipients.to), ("cc", cc, &mut recipients.cc), ("bcc", bcc, &mut recipients.bcc)]
    {
        for entry in entries(line) {
            let (name, address) = apart(&entry);
            match an_address(field, address).ok().filter(|address| is_deliverable(address)) {
                Some(address) if known.insert(address.clone()) => {
                    if field == "to" && list.is_empty() {
                        recipients.first_name = name;
                    }
                    list.push(address);
                }
                Some(_) => {}
                None => problems.push(Problem {
                    field: field.to_owned(),
                    what: format!("“{}” is not a mail address. Correct it or take it out.", shown(&entry)),
                }),
            }
        }
    }
    if known.len() > MOST {
        problems.push(Problem {
            field: "to".to_owned(),
            what: format!(
                "A mail goes to at most {MOST} people, and this has {}. Take some out.",
                known.len()
            ),
        });
    }
    if recipients.to.is_empty() && problems.is_empty() {
        let what = "Write an address in To: somebody has to get it.".to_owned();
        problems.push(Problem { field: "to".to_owned(), what });
    }
    if problems.is_empty() { Ok(recipients) } else { Err(problems) }
}

/// As a form shows addresses, and [`read`] takes them.
pub fn line(addresses: &[String]) -> String {
    addresses.join(", ")
}

/// Commas, semicolons and line ends part entries, but for those between quotes.
fn entries(line: &str) -> Vec<String> {
    let (mut entries, mut entry, mut quoted) = (Vec::new(), String::new(), false);
    for letter in line.chars() {
        match letter {
            '"' => quoted = !quoted,
            ',' | ';' | '\n' | '\r' if !quoted => entries.push(std::mem::take(&mut entry)),
            _ => entry.push(letter),
        }
    }
    entries.push(entry);
    entries.into_iter().map(|entry| text::line(&entry)).filter(|entry| !entry.is_empty()).collect()
}

/// `Ada Lovelace <ada@customer.example>` in its two parts.
fn apart(entry: &str) -> (Option<String>, &str) {
    match entry.strip_suffix('>').and_then(|entry| entry.rsplit_once('<')) {
        Some((name, address)) => {
            let name = text::line(name);
            (Some(name.chars().take(100).collect()).filter(|name: &String| !name.is_empty()), address.trim())
        }
        None => (None, entry),
    }
}

/// Mail servers want a domain with a dot, and none of the letters that end an address.
fn is_deliverable(address: &str) -> bool {
    let Some((local, domain)) = address.rsplit_once('@') else { return false };
    local.len() <= 64
        && !local.starts_with('.')
        && !local.ends_with('.')
        && !address.contains(['(', ')', '[', ']', '\\', ':', '|', '`'])
        && domain.contains('.')
        && !domain.starts_with('-')
}

/// As a sentence of a problem may repeat it.
pub(super) fn shown(entry: &str) -> String {
    let cut: String = entry.chars().take(80).collect();
    cut.replace(';', ",")
}

/// Of the mail that is answered, what says whom the answer goes to.
#[derive(Clone, Debug, Default)]
pub struct Headed {
    /// We wrote it: then it is followed up, and goes to whom it went before.
    pub ours: bool,
    pub from: String,
    pub reply_to: Option<String>,
    pub to: Vec<String>,
    pub cc: Vec<String>,
}

/// Whom an answer goes to: its sender, or everybody who was on it. `trusted` says whether a Reply-To is followed: mail
/// that looks like a scam does not choose where the answer goes.
pub fn answering(mail: &Headed, all: bool, trusted: bool, is_ours: impl Fn(&str) -> bool) -> Recipients {
    let mut known = BTreeSet::new();
    let mut new = |address: &&String| {
        let address = address.to_lowercase();
        !is_ours(&address) && known.insert(address)
    };
    let theirs = |list: Vec<&String>| list.into_iter().map(|address| address.to_lowercase()).collect();
    let mut to: Vec<&String> = Vec::new();
    if mail.ours {
        to.extend(mail.to.iter().filter(&mut new));
    } else {
        let asked = mail.reply_to.iter().filter(|_| trusted);
        to.extend(asked.chain(std::iter::once(&mail.from)).filter(&mut new).take(1));
        if all {
            // Who wrote from one address and asks for answers at another is one person.
            new(&&mail.from);
            to.extend(mail.to.iter().filter(&mut new));
        }
    }
    let cc: Vec<&String> = if all { mail.cc.iter().filter(&mut new).collect() } else { Vec::new() };
    let (mut to, mut cc): (Vec<String>, Vec<String>) = (theirs(to), theirs(cc));
    if to.is_empty() {
        to = std::mem::take(&mut cc);
    }
    to.truncate(MOST);
    cc.truncate(MOST - to.len());
    Recipients { to, cc, ..Recipients::default() }
}

/// Which of these addresses are inboxes of the workspace. A plus tag makes no other address of one.
pub async fn ours(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    addresses: &[String],
) -> Result<BTreeSet<String>> {
    let plain: Vec<String> = addresses.iter().map(|address| untagged(address)).collect();
    let found = sqlx::query_scalar!(
        r#"select address as "address!" from mailboxes where workspace_id = $1 and address = any($2)
           union all select address from mailbox_aliases where workspace_id = $1 and address = any($2)"#,
        workspace.0,
        &plain
    )
    .fetch_all(conn)
    .await?;
    Ok(found.into_iter().collect())
}

/// The address without its plus tag, in lower case.
pub fn untagged(address: &str) -> String {
    let address = address.to_lowercase();
    match address.rsplit_once('@') {
        Some((local, domain)) => format!("{}@{domain}", local.split('+').next().unwrap_or(local)),
        None => address,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn list(addresses: &[&str]) -> Vec<String> {
        addresses.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn lines_are_read_as_people_type_them() {
        for (to, wanted) in [
            ("ada@customer.example", &["ada@customer.example"][..]),
            ("  Ada Lovelace <ADA@Customer.Example> ", &["ada@customer.example"]),
            (
                "a@x.example, b@x.example; c@x.example\r\nd@x.example",
                &["a@x.example", "b@x.example", "c@x.example", "d@x.example"],
            ),
            ("\"Lovelace, Ada\" <a@x.example>, b@x.example,", &["a@x.example", "b@x.example"]),
            ("a@x.example, A@X.example", &["a@x.example"]),
            ("jörg@bücher.example", &["jörg@bücher.example"]),
            ("<a@x.example>", &["a@x.example"]),
        ] {
            assert_eq!(read(to, "", "").unwrap().to, list(wanted), "{to}");
        }
        assert_eq!(
            read("\"Lovelace, Ada\" <a@x.example>", "", "").unwrap().first_name.unwrap(),
            "Lovelace, Ada"
        );
    }

    #[test]
    fn what_is_no_address_is_named_and_nothing_is_sent() {
        for wrong in [
            "ada",
            "ada@",
            "@x.example",
            "a b@x.example",
            "a@x",
            "a@x..example",
            "a@b@x.example",
            "a(b)@x.example",
            "a@[127.0.0.1]",
            "ada@x.example>",
            "a@-x.example",
            ".a@x.example",
            "a:b@x.example",
        ] {
            let problems = read("ok@x.example", wrong, "").unwrap_err();
            assert!(problems.iter().all(|problem| problem.field == "cc"), "{wrong}");
            assert!(problems[0].what.contains("is not a mail address"), "{wrong}: {}", problems[0].what);
        }
        assert!(read("", "a@x.example", "").unwrap_err()[0].what.contains("in To"));
        assert!(read(" , ;", "", "").is_err());
    }

    #[test]
    fn an_address_stands_where_most_people_see_it() {
        let read = read("a@x.example", "b@x.example, A@x.example", "b@x.example, c@x.example").unwrap();
        assert_eq!(
            (read.to, read.cc, read.bcc),
            (list(&["a@x.example"]), list(&["b@x.example"]), list(&["c@x.example"]))
        );
    }

    #[test]
    fn fifty_are_the_most() {
        let many = |n: usize| (0..n).map(|n| format!("p{n}@x.example")).collect::<Vec<_>>().join(", ");
        assert_eq!(read(&many(50), "", "").unwrap().to.len(), 50);
        assert!(read(&many(30), &many(30), "").is_ok(), "they are the same people");
        let problems = read(&many(50), "", "another@x.example").unwrap_err();
        assert!(problems[0].what.contains("at most 50"), "{}", problems[0].what);
    }

    /// Columns: from, reply-to, to, cc; then whom an answer and an answer to all reach.
    #[test]
    fn an_answer_goes_to_whom_it_should() {
        let is_ours =
            |address: &str| ["help@acme.example", "sales@acme.example"].contains(&untagged(address).as_str());
        type Case<'a> = (
            &'a str,
            Option<&'a str>,
            &'a [&'a str],
            &'a [&'a str],
            &'a [&'a str],
            &'a [&'a str],
            &'a [&'a str],
        );
        let cases: &[Case] = &[
            ("ada@x.example", None, &["help@acme.example"], &[], &["ada@x.example"], &["ada@x.example"], &[]),
            (
                "ada@x.example",
                None,
                &["help@acme.example", "bob@x.example"],
                &["eve@y.example"],
                &["ada@x.example"],
                &["ada@x.example", "bob@x.example"],
                &["eve@y.example"],
            ),
            (
                "ada@x.example",
                None,
                &["help+order-7@acme.example", "SALES@acme.example"],
                &["Help@Acme.Example"],
                &["ada@x.example"],
                &["ada@x.example"],
                &[],
            ),
            (
                "ada@x.example",
                None,
                &["help@acme.example", "Ada@X.example", "bob@x.example", "BOB@x.example"],
                &["bob@x.example", "eve@y.example"],
                &["ada@x.example"],
                &["ada@x.example", "bob@x.example"],
                &["eve@y.example"],
            ),
            (
                "form@web.example",
                Some("ada@x.example"),
                &["help@acme.example"],
                &[],
                &["ada@x.example"],
                &["ada@x.example"],
                &[],
            ),
            (
                "ada@x.example",
                Some("ada@work.example"),
                &["help@acme.example", "ada@x.example"],
                &["bob@x.example"],
                &["ada@work.example"],
                &["ada@work.example"],
                &["bob@x.example"],
            ),
            (
                "ada@x.example",
                Some("help@acme.example"),
                &["help@acme.example"],
                &[],
                &["ada@x.example"],
                &["ada@x.example"],
                &[],
            ),
            (
                "member@list.example",
                Some("list@list.example"),
                &["list@list.example"],
                &["help@acme.example"],
                &["list@list.example"],
                &["list@list.example"],
                &[],
            ),
            (
                "sales@acme.example",
                None,
                &["help@acme.example"],
                &["bob@x.example"],
                &[],
                &["bob@x.example"],
                &[],
            ),
        ];
        for (from, reply_to, to, cc, one, all_to, all_cc) in cases {
            let mail = Headed {
                ours: false,
                from: (*from).to_owned(),
                reply_to: reply_to.map(str::to_owned),
                to: list(to),
                cc: list(cc),
            };
            let reply = answering(&mail, false, true, is_ours);
            assert_eq!((reply.to, reply.cc), (list(one), list(&[])), "{from} {to:?}");
            let reply = answering(&mail, true, true, is_ours);
            assert_eq!((reply.to, reply.cc), (list(all_to), list(all_cc)), "all of {from} {to:?} {cc:?}");
        }
    }

    #[test]
    fn mail_that_looks_like_a_scam_does_not_choose_where_the_answer_goes() {
        let mail = Headed {
            from: "ada@x.example".into(),
            reply_to: Some("thief@y.example".into()),
            to: list(&["help@acme.example"]),
            ..Headed::default()
        };
        let ours = |address: &str| address.ends_with("@acme.example");
        assert_eq!(answering(&mail, false, false, ours).to, list(&["ada@x.example"]));
        assert_eq!(answering(&mail, true, true, ours).to, list(&["thief@y.example"]));
    }

    #[test]
    fn our_own_mail_is_followed_up_with_whom_it_went_to() {
        let mail = Headed {
            ours: true,
            from: "help@acme.example".into(),
            to: list(&["ada@x.example", "bob@x.example"]),
            cc: list(&["eve@y.example"]),
            ..Headed::default()
        };
        let ours = |address: &str| address.ends_with("@acme.example");
        let all = answering(&mail, true, true, ours);
        assert_eq!((all.to, all.cc), (list(&["ada@x.example", "bob@x.example"]), list(&["eve@y.example"])));
    }

    proptest! {
        /// Whatever is typed, an address has one `@`, no line end and nothing that would begin another.
        #[test]
        fn no_line_makes_an_address_that_breaks_a_header(typed in "([a-z@.<>,;\"\r\n :]|\\PC){0,60}") {
            if let Ok(read) = read(&typed, &typed, &typed) {
                for address in read.all() {
                    prop_assert_eq!(address.matches('@').count(), 1);
                    prop_assert!(!address.chars().any(|letter| letter.is_control() || letter.is_whitespace()));
                    prop_assert!(!address.contains(['<', '>', ',', ';', '"']));
                }
            }
        }
    }
}
