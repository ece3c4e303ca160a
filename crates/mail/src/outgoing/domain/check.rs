//! Compares the DNS records of a sending domain with what they should be. Every finding is a sentence that an
//! operator can act on.

use serde::{Deserialize, Serialize};

use super::{Domain, OWNERSHIP};
use rookery_base::app::App;
use rookery_base::config::Config;
use rookery_base::error::Result;
use rookery_base::ids::WorkspaceId;
use rookery_base::net::dns::Dns;
use rookery_core::workspace::domains;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    pub purpose: String,
    pub ok: bool,
    pub sentence: String,
    /// What there is of it now.
    pub found: Vec<String>,
    /// What there should be.
    pub wanted: String,
}

pub async fn check(dns: &Dns, domain: &Domain, config: &Config) -> Vec<Finding> {
    let (keys, texts) = (dns.texts(&domain.key_name()).await, dns.texts(&domain.name).await);
    let (policies, mail_servers) =
        (policy_texts(dns, &domain.name).await, dns.mail_servers(&domain.name).await);
    let doubled = match &keys {
        Ok(found) if found.is_empty() => dns.texts(&domain.doubled_key_name()).await.unwrap_or_default(),
        _ => Vec::new(),
    };
    let shown = |found: &[String]| found.to_vec();
    vec![
        finding("DKIM", keys, domain.key_text(), shown, |found| match (found, doubled.is_empty()) {
            ([], false) => Err(format!(
                "DKIM is under the wrong name: your DNS provider added the domain to the name automatically. Enter only \
                 {}._domainkey as the name.",
                domain.selector
            )),
            (found, _) => key(domain, found),
        }),
        finding(
            "SPF",
            texts.map(|texts| texts.into_iter().filter(|text| is_spf(text)).collect::<Vec<_>>()),
            String::new(),
            shown,
            |found| senders(domain, config, found),
        )
        .wanting(|found| senders_wanted(config, found)),
        finding(
            "DMARC",
            policies,
            "v=DMARC1; p=none".to_owned(),
            |found| found.iter().map(|policy| policy.text.clone()).collect(),
            |found| policy(domain, found),
        ),
        finding("MX", mail_servers, format!("10 {}.", config.mail_name()), shown, |found| {
            servers(domain, config, found)
        }),
    ]
}

/// Whether the domain says that it is the workspace's: by the record made for that, or by our key, which nobody else has.
pub async fn proves(dns: &Dns, app: &App, workspace: WorkspaceId, domain: &Domain) -> Result<Finding> {
    let (name, wanted) = domains::record(app, workspace, &domain.name)?;
    let (texts, keys) = (dns.texts(&name).await, dns.texts(&domain.key_name()).await);
    let by_key = keys.is_ok_and(|keys| key(domain, &keys).is_ok());
    let mut by_record = false;
    for text in texts.iter().flatten() {
        by_record |= domains::is_record_of(app, workspace, &domain.name, text)?;
    }
    let add = format!("Add a TXT row named {name} with the text {wanted}");
    Ok(if by_record || by_key {
        finding(OWNERSHIP, Ok(texts.unwrap_or_default()), wanted, <[String]>::to_vec, |_| {
            Ok(format!("{} is proven to be yours.", domain.name))
        })
    } else {
        finding(OWNERSHIP, texts, wanted, <[String]>::to_vec, |found| {
            Err(if found.is_empty() {
                format!("Ownership is not proven yet. {add}")
            } else {
                format!("Ownership is not proven: {name} says something else. {add}")
            })
        })
    })
}

/// What is in order, or what is wrong.
type RecordJudgement = std::result::Result<String, String>;

fn finding<T>(
    purpose: &str,
    found: Result<Vec<T>>,
    wanted: String,
    shown: impl FnOnce(&[T]) -> Vec<String>,
    judge: impl FnOnce(&[T]) -> RecordJudgement,
) -> Finding {
    let (judged, found) = match found {
        Ok(found) => (judge(&found), shown(&found)),
        Err(error) => (
            Err(format!(
                "{purpose} could not be looked up: the name servers did not answer ({error}). Try again, or set \
                 ROOKERY_DNS."
            )),
            Vec::new(),
        ),
    };
    let ok = judged.is_ok();
    let sentence = judged.unwrap_or_else(|wrong| wrong);
    Finding { purpose: purpose.to_owned(), ok, sentence, found, wanted }
}

impl Finding {
    fn wanting(self, wanted: impl FnOnce(&[String]) -> String) -> Self {
        Self { wanted: wanted(&self.found), ..self }
    }
}

fn is_spf(text: &str) -> bool {
    text.split_whitespace().next().is_some_and(|first| first.eq_ignore_ascii_case("v=spf1"))
}

/// The one row there is with our sender in it, ending as it should; a new one when there is none or there are several.
fn senders_wanted(config: &Config, found: &[String]) -> String {
    let sender = super::sender(config);
    let [record] = found else { return format!("v=spf1 {sender} ~all") };
    let lets_all = |word: &&str| !matches!(word.to_lowercase().as_str(), "+all" | "all");
    let mut words: Vec<&str> = record.split_whitespace().filter(lets_all).collect();
    let ends =
        |word: &str| word.to_lowercase().ends_with("all") || word.to_lowercase().starts_with("redirect=");
    let end = words.iter().position(|word| ends(word)).unwrap_or(words.len());
    if end == words.len() {
        words.push("~all");
    }
    let names_somebody = words.iter().skip(1).any(|word| !ends(word));
    if !names_somebody {
        words.insert(end, &sender);
    }
    words.join(" ")
}

fn key(domain: &Domain, found: &[String]) -> RecordJudgement {
    let name = domain.key_name();
    let keys: Vec<&String> = found.iter().filter(|text| tag(text, "p").is_some()).collect();
    match keys.as_slice() {
        [] => Err(format!("DKIM is missing: add a TXT row named {name} with the text {}", domain.key_text())),
        [one] => match tag(one, "p").unwrap_or_default() {
            there if there == domain.public_key => Ok(format!("DKIM is in order: {name} has our key.")),
            there if there.is_empty() => Err(format!(
                "DKIM is wrong: {name} has an empty key, which means revoked. Its text must be {}",
                domain.key_text()
            )),
            there if domain.public_key.starts_with(&there) => Err(format!(
                "DKIM is wrong: the key at {name} is cut off after {} of {} characters. Some DNS pages need the \
                 text in two strings; each may have 255 characters.",
                there.len(),
                domain.public_key.len()
            )),
            _ => Err(format!(
                "DKIM is wrong: {name} has another key than ours. Its text must be {}",
                domain.key_text()
            )),
        },
        several => Err(format!(
            "DKIM is wrong: {name} has {} keys, so receivers may take the wrong one. Keep ours only: {}",
            several.len(),
            domain.key_text()
        )),
    }
}

fn senders(domain: &Domain, config: &Config, found: &[String]) -> RecordJudgement {
    let name = &domain.name;
    let wanted = format!("v=spf1 {} ~all", super::sender(config));
    let records: Vec<&String> = found.iter().filter(|text| is_spf(text)).collect();
    let [record] = records.as_slice() else {
        return Err(match records.len() {
            0 => format!("SPF is missing: add a TXT row named {name} with the text {wanted}"),
            several => format!(
                "SPF is wrong: {name} has {several} texts that begin with v=spf1, and receivers then take none. \
                 Put them together into one."
            ),
        });
    };
    let words: Vec<String> = record.split_whitespace().skip(1).map(str::to_lowercase).collect();
    let has = |word: &str| words.iter().any(|given| given == word);
    if has("+all") || has("all") {
        return Err(format!("SPF is wrong: {name} lets everybody send (+all). End it with ~all instead."));
    }
    let names_somebody = words.iter().any(|word| !word.ends_with("all") && !word.starts_with("exp="));
    if !names_somebody {
        return Err(format!("SPF is wrong: {name} lets nobody send. Its text should be {wanted}"));
    }
    let ends = words.iter().any(|word| word.ends_with("all") || word.starts_with("redirect="));
    if !ends {
        return Err(format!("SPF is wrong: {name} says nothing about everybody else. End it with ~all."));
    }
    let sender = super::sender(config);
    if has(&sender) {
        Ok(format!("SPF is in order: {name} lets {sender} send."))
    } else {
        Ok(format!(
            "SPF is there: {record}. It does not name {sender}; that is OK if your relay asked you to use \
             something else, such as include:."
        ))
    }
}

/// A text with a policy, and the name that has it.
struct PolicyText {
    at: String,
    text: String,
}

/// The policy of the domain, or of the nearest domain above that has one (RFC 9989).
async fn policy_texts(dns: &Dns, name: &str) -> Result<Vec<PolicyText>> {
    let mut above = name;
    loop {
        let at = format!("_dmarc.{above}");
        let texts = dns.texts(&at).await?.into_iter();
        let found: Vec<_> = texts
            .filter(|text| tag(text, "v").is_some_and(|version| version == "DMARC1"))
            .map(|text| PolicyText { at: at.clone(), text })
            .collect();
        match above.split_once('.') {
            Some((_, parent)) if found.is_empty() && parent.contains('.') => above = parent,
            _ => return Ok(found),
        }
    }
}

fn policy(domain: &Domain, found: &[PolicyText]) -> RecordJudgement {
    let name = format!("_dmarc.{}", domain.name);
    match found {
        [] => Err(format!("DMARC is missing: add a TXT row named {name} with the text v=DMARC1; p=none")),
        [PolicyText { at, text }] => match tag(text, "p").as_deref() {
            Some(policy @ ("none" | "quarantine" | "reject")) => {
                Ok(format!("DMARC is in order: {at} has the policy {policy}."))
            }
            _ => Err(format!("DMARC is wrong: {at} has no p=none, p=quarantine or p=reject in it.")),
        },
        several => Err(format!(
            "DMARC is wrong: {name} has {} policies, and receivers then take none. Keep one.",
            several.len()
        )),
    }
}

fn servers(domain: &Domain, config: &Config, found: &[String]) -> RecordJudgement {
    let (name, ours) = (&domain.name, config.mail_name());
    match found {
        [] => Err(format!(
            "MX is missing: nobody can write to {name}, and bounces are lost. Add an MX row: 10 {ours}."
        )),
        found if found.contains(&ours.to_lowercase()) => {
            Ok(format!("MX is in order: mail to {name} comes to {ours}."))
        }
        found => Ok(format!(
            "MX is there: mail to {name} goes to {}. That is right if it is forwarded from there to {ours}.",
            found.join(", ")
        )),
    }
}

/// The value of `name=` in a text of `;`-separated tags, without white space.
fn tag(text: &str, name: &str) -> Option<String> {
    let tags = text.split(';').filter_map(|tag| tag.split_once('='));
    let value = tags.into_iter().find(|(given, _)| given.trim() == name).map(|(_, value)| value);
    value.map(|value| value.split_whitespace().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn domain() -> Domain {
        Domain { name: "acme.example".into(), selector: "rk1".into(), public_key: "MIIBabc+/=".into() }
    }

    fn config() -> Config {
        let given = [("ROOKERY_DATABASE_URL", "x"), ("ROOKERY_RELAY", "smtps://relay.example")];
        Config::load(None, given.into_iter().map(|(key, value)| (key.into(), value.into()))).unwrap()
    }

    fn texts(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    #[track_caller]
    fn wrong(judged: RecordJudgement, part: &str) {
        let sentence = judged.unwrap_err();
        assert!(sentence.contains(part), "{sentence}");
    }

    #[test]
    fn each_fault_of_the_key_is_told_apart() {
        let domain = domain();
        assert!(key(&domain, &texts(&["v=DKIM1; k=rsa; p=MIIBabc+/="])).is_ok());
        assert!(key(&domain, &texts(&["unrelated", "k=rsa;p=MIIB abc+/="])).is_ok());
        wrong(key(&domain, &[]), "DKIM is missing: add a TXT row named rk1._domainkey.acme.example");
        wrong(key(&domain, &texts(&["v=DKIM1; p="])), "revoked");
        wrong(key(&domain, &texts(&["v=DKIM1; p=MIIBabc"])), "cut off after 7 of 10");
        wrong(key(&domain, &texts(&["v=DKIM1; p=other"])), "another key");
        wrong(key(&domain, &texts(&["p=MIIBabc+/=", "p=other"])), "2 keys");
    }

    #[test]
    fn each_fault_of_spf_is_told_apart() {
        let (domain, config) = (domain(), config());
        let judge = |found: &[&str]| senders(&domain, &config, &texts(found));
        assert!(judge(&["x", "v=spf1 a:relay.example ~all"]).unwrap().contains("in order"));
        assert!(
            judge(&["v=spf1 include:_spf.provider.example -all"]).unwrap().contains("does not name a:relay")
        );
        assert!(judge(&["v=spf1 redirect=_spf.provider.example"]).is_ok());
        wrong(judge(&[]), "SPF is missing: add a TXT row named acme.example with the text v=spf1 a:relay");
        wrong(judge(&["v=spf1 a ~all", "v=spf1 mx ~all"]), "2 texts");
        wrong(judge(&["v=spf1 a +all"]), "everybody");
        wrong(judge(&["v=spf1 -all"]), "nobody");
        wrong(judge(&["v=spf1 mx"]), "End it with ~all");
    }

    #[test]
    fn each_fault_of_dmarc_and_mx_is_told_apart() {
        let (domain, config) = (domain(), config());
        let at = |text: &str| PolicyText { at: "_dmarc.example".to_owned(), text: text.to_owned() };
        assert!(policy(&domain, &[at("v=DMARC1; p=reject")]).unwrap().contains("reject"));
        wrong(policy(&domain, &[]), "DMARC is missing: add a TXT row named _dmarc.acme.example");
        wrong(policy(&domain, &[at("v=DMARC1; p=all")]), "no p=none");
        wrong(policy(&domain, &[at("v=DMARC1; p=none"), at("v=DMARC1; p=none")]), "2 policies");
        assert!(servers(&domain, &config, &texts(&["localhost"])).unwrap().contains("in order"));
        assert!(servers(&domain, &config, &texts(&["mx.provider.example"])).unwrap().contains("forwarded"));
        wrong(servers(&domain, &config, &[]), "MX is missing");
    }
}
