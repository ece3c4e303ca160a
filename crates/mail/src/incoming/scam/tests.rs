//! Scam detection: what must be flagged, and what must not. Reasons are our own sentences and never quote the
//! mail.

use proptest::prelude::*;

use super::*;
use rookery_reading::mail::parse::parse;
use rookery_reading::mail::quote::own_words;

fn assessed(raw: &str, change: impl FnOnce(&mut Context)) -> Assessment {
    assessed_at("acmetools.test", raw, change)
}

fn assessed_at(our_domain: &str, raw: &str, change: impl FnOnce(&mut Context)) -> Assessment {
    let domains = [our_domain.to_owned()];
    let team = ["Jane Doe".to_owned(), "Max".to_owned()];
    let mail = parse(raw.as_bytes()).expect("a mail");
    let text = own_words(&mail);
    let mut context = Context {
        text: &text,
        dmarc_failed: false,
        unwanted: false,
        our_domains: &domains,
        team_names: &team,
        workspace_name: "Acme Tools",
        new_sender_in_thread: false,
        repeated_id: false,
    };
    change(&mut context);
    assess(&mail, &context)
}

fn assess_raw(raw: &str) -> Assessment {
    assessed(raw, |_| {})
}

fn risk_of(raw: &str) -> Option<Risk> {
    assess_raw(raw).risk
}

#[test]
fn ordinary_mail_has_no_risk() {
    for raw in [
        "From: Ann <ann@shop.test>\nSubject: Invoice 17\n\nHello, I have a question about invoice 17. Which bank account do I pay to? Thanks.",
        "From: ann@shop.test\nSubject: Password reset\n\nI forgot my password and the password reset link expired. Can you help? It is urgent!",
        "From: ann@shop.test\n\nHow do I verify my account? I did not get your mail. https://acmetools.test/verify",
        "From: ann@shop.test\nContent-Type: text/html\n\n<p>See <a href='https://www.shop.test/item/3'>shop.test/item/3</a> and <a href='https://other.test'>this page</a> or <a href='mailto:a@shop.test'>a@shop.test</a></p>",
        "From: ann@shop.test\nContent-Type: text/html\n\n<a href='https://eu.safelinks.protection.outlook.com/?url=x'>https://acmetools.test</a>",
        "From: Max <max@gmail.com>\n\nHi, this is Max, a customer. My new address is Main Street 1.",
        "From: ann@shop.test\nReply-To: ann@gmail.com\n\nI would like to buy a gift card for my mother. Are gift cards refundable?",
        "From: Mueller <info@xn--mller-kva.de>\n\nBitte senden Sie uns ein Angebot. Danke.",
        "From: ann@shop.test\nContent-Type: multipart/mixed; boundary=b\n\n--b\n\nSee attached.\n--b\nContent-Type: application/pdf; name=Invoice.2026.pdf\nContent-Disposition: attachment\n\nx\n--b--",
        "From: ann@shop.test\n\nWe changed our mind, please cancel. Also our office address has changed.",
        "From: ann@shop.test\n\nThanks!\n\n-----Original Message-----\nFrom: Acme\nPlease verify your account urgently: https://acmetools.test/login",
        "From: jane@acmetools.test\n\nInternal hello.",
        "From: Jane Doe <jane@mail.acmetools.test>\n\nFrom a subdomain.",
        "From: bob@toolsforyou.test\n\nAnother company of the trade.",
    ] {
        assert_eq!(assess_raw(raw).risk, None, "{raw}\n{:?}", assess_raw(raw));
    }
}

#[test]
fn credential_wording_in_plain_text_is_labelled() {
    let raw = "From: it@evil.test\nSubject: Hello\n\nUrgent: your mailbox password expires, verify your account password here http://evil.test/login";
    let found = assess_raw(raw);
    assert_eq!(found.risk, Some(Risk::Phishing));
    assert!(!found.reasons.is_empty() && found.reasons.len() <= 3);
}

#[test]
fn credential_wording_in_other_languages_is_labelled() {
    for text in [
        "Dringend: Bitte bestätigen Sie Ihr Passwort unter http://evil.test",
        "Confirmez votre mot de passe immédiatement http://evil.test",
        "Urgente: verifique su cuenta http://evil.test",
        "Срочно: подтвердите пароль http://evil.test",
    ] {
        assert_eq!(risk_of(&format!("From: x@evil.test\n\n{text}")), Some(Risk::Phishing), "{text}");
    }
}

#[test]
fn credential_wording_with_another_sign_is_held() {
    let link = "From: x@evil.test\nContent-Type: text/html\n\n<p>Urgent: verify your account <a href='http://evil.test/x'>https://bank.test/login</a></p>";
    assert!(assess_raw(link).held);
    let reply = "From: x@evil.test\nReply-To: y@other.test\n\nUrgent: confirm your password";
    assert!(assess_raw(reply).held);
}

#[test]
fn look_alike_domains_are_impersonation() {
    for domain in [
        "acmetool.test",
        "acmet0ols.test",
        "acrnetools.test",
        "acmetoosl.test",
        "acmetools.test.evil.test",
        "acmetools-test.evil.test",
        "аcmetools.test",
        "xn--acmetols-p4a.test",
        // All of one alphabet, and another than ours.
        "асметооӏѕ.test",
        // A skeleton that is ours: a stroke, a small capital, a letter of mathematics.
        "acmetooŀs.test",
        "acmeᴛools.test",
        "𝖺cmetools.test",
        "acme-tools.test",
        "mail.acmetoools.test",
        "acmetools.tes",
    ] {
        let found = assess_raw(&format!("From: a@{domain}\n\nHello"));
        assert_eq!(found.risk, Some(Risk::Impersonation), "{domain}");
    }
}

/// An inbox below the company's domain, and a public suffix of two labels.
#[test]
fn what_is_registered_is_compared_and_not_what_stands_before_it() {
    let risk = |from: &str| assessed_at("support.acmetools.co.uk", from, |_| {}).risk;
    for domain in ["acmetool.co.uk", "mail.acmetoo1s.co.uk", "xn--acmetols-p4a.co.uk"] {
        assert_eq!(risk(&format!("From: a@{domain}\n\nHello")), Some(Risk::Impersonation), "{domain}");
    }
    for domain in ["acmetools.co.uk", "suport.acmetools.co.uk", "cupport.other.co.uk", "shop.co.uk"] {
        assert_eq!(risk(&format!("From: a@{domain}\n\nHello")), None, "{domain}");
    }
}

#[test]
fn two_customers_of_one_registry_do_not_belong_together() {
    for (one, other, together) in [
        ("shop.test", "mail.shop.test", true),
        ("shop.co.uk", "mail.shop.co.uk", true),
        ("shop.co.uk", "other.co.uk", false),
        ("one.github.io", "two.github.io", false),
        ("müller.de", "www.xn--mller-kva.de", true),
        ("Shop.test", "shop.test", true),
        ("localhost", "localhost", true),
    ] {
        assert_eq!(domains::belong_together(one, other), together, "{one} {other}");
    }
}

#[test]
fn our_name_under_another_ending_counts_beside_other_signs_but_not_alone() {
    let mail = |text: &str| format!("From: a@acmetools.example\n\n{text}");
    assert_eq!(risk_of(&mail("Hello")), None);
    let found = assess_raw(&mail("Please note our bank details have changed."));
    assert!(found.held, "{found:?}");
    let stranger = assess_raw("From: a@other.example\n\nPlease note our bank details have changed.");
    assert!(!stranger.held, "{stranger:?}");
}

#[test]
fn alphabets_that_are_written_together_are_no_mixture() {
    for (domain, mixed) in [
        ("pаypal.test", true),
        ("αpple.test", true),
        ("xn--pypal-4ve.test", true),
        ("aᏟme.test", true),
        ("ソニーtest.test", false),
        ("한국abc.test", false),
        ("müller.test", false),
        ("пример.test", false),
        ("i❤.test", false),
        ("xn--999999999.test", false),
    ] {
        assert_eq!(domains::mixes_scripts(domain), mixed, "{domain}");
    }
}

#[test]
fn borrowed_names_are_impersonation() {
    for name in ["Jane Doe", "JANE  DOE", "Acme Tools", "Acme Tools Support", "\"jane@acmetools.test\""] {
        let found = assess_raw(&format!("From: {name} <x@evil.test>\n\nHello"));
        assert_eq!(found.risk, Some(Risk::Impersonation), "{name}");
    }
}

#[test]
fn signals_beyond_the_mail_itself_count() {
    let plain = "From: ann@shop.test\n\nHello";
    assert_eq!(assessed(plain, |c| c.dmarc_failed = true).risk, Some(Risk::Impersonation));
    assert_eq!(assessed(plain, |c| c.repeated_id = true).risk, Some(Risk::Impersonation));
    assert_eq!(assessed(plain, |c| c.new_sender_in_thread = true).risk, None);
    assert_eq!(risk_of("From: a@b.test, c@d.test\n\nHello"), Some(Risk::Impersonation));
}

#[test]
fn payment_changes_and_gift_cards_are_payment_fraud() {
    for text in [
        "Please note our bank details have changed. Use the new account for invoice 17.",
        "Bitte beachten Sie unsere neue Bankverbindung.",
        "Voici nos nouvelles coordonnées bancaires.",
        "I need you to pick up five gift cards. Scratch the back and send me the codes.",
    ] {
        assert_eq!(risk_of(&format!("From: x@evil.test\n\n{text}")), Some(Risk::PaymentFraud), "{text}");
    }
    let held = assessed("From: Jane Doe <x@evil.test>\n\nWe have new bank details", |_| {});
    assert!(held.held);
    assert_eq!(held.reasons.len(), 2);
}

#[test]
fn dangerous_files_are_malware() {
    for (name, held) in [
        ("setup.exe", false),
        ("a.js", false),
        ("a.lnk", false),
        ("disk.iso", false),
        ("page.html", false),
        ("sheet.xlsm", false),
        ("invoice.pdf.exe", true),
        ("photo.jpg.scr", true),
    ] {
        let found = assess_raw(&format!(
            "From: a@b.test\nContent-Type: multipart/mixed; boundary=b\n\n--b\n\nhi\n--b\n\
             Content-Type: application/octet-stream\nContent-Disposition: attachment; filename=\"{name}\"\n\nx\n--b--"
        ));
        assert_eq!((found.risk, found.held), (Some(Risk::Malware), held), "{name}");
    }
}

#[test]
fn promises_of_a_stranger_are_spam() {
    let raw = "From: x@evil.test\n\nI am a barrister. You are the next of kin and get 5 million dollars.";
    assert_eq!(risk_of(raw), Some(Risk::Spam));
}

#[test]
fn a_link_that_shows_our_address_is_phishing() {
    let raw = "From: x@evil.test\nContent-Type: text/html\n\n<a href='https://evil.test'>www.acmetools.test/login</a>";
    assert_eq!(risk_of(raw), Some(Risk::Phishing));
}

#[test]
fn reasons_never_quote_the_mail() {
    let raw = "From: CANARY <x@canary.test>\nSubject: CANARY\nReply-To: canary@other.test\n\nCANARY urgent: verify your account http://canary.test";
    let reasons = assess_raw(raw).reasons.join(" ").to_lowercase();
    assert!(!reasons.contains("canary"));
}

#[test]
fn labels_are_spelled_as_the_specification_does() {
    let all: Vec<&str> = Risk::ALL.into_iter().map(Risk::as_str).collect();
    assert_eq!(all, ["malware", "payment-fraud", "phishing", "impersonation", "spam"]);
}

proptest! {
    #[test]
    fn any_sender_and_text_can_be_assessed(domain in "[a-z0-9а-яß.-]{0,40}", text in ".{0,200}") {
        for domain in [domain.clone(), format!("xn--{domain}"), format!("{domain}.acmetools.test")] {
            let found = assess_raw(&format!("From: \"{domain}\" <a@{domain}>\nSubject: {domain}\n\n{text}"));
            prop_assert!(found.reasons.len() <= 3);
            prop_assert!(found.risk.is_some() || (!found.held && found.reasons.is_empty()));
        }
    }
}
