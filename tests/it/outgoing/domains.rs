//! Sending domains: the key, the signature that verifies against DNS, and what `check-domain` says of it.

use mail_auth::{AuthenticatedMessage, DkimResult, MessageAuthenticator};
use rookery_base::net::dns;
use rookery_core::workspace::access::By;
use rookery_mail::outgoing::domain;

use rookery_world::site::{Site, text};
use rookery_world::zone::Zone;
use rookery_world::{Mode, story};

async fn verdict(zone: &Zone, raw: &[u8]) -> DkimResult {
    let (config, options) = dns::settings(&[zone.address]).unwrap();
    let authenticator = MessageAuthenticator::new(config, options).unwrap();
    let message = AuthenticatedMessage::parse(raw).unwrap();
    let mut outputs = authenticator.verify_dkim(&message).await;
    assert_eq!(outputs.len(), 1);
    outputs.remove(0).result().clone()
}

#[tokio::test]
async fn mail_of_a_domain_with_a_key_is_signed_and_no_change_of_it_goes_unseen() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let inbox = acme.mailbox("help@acme.example", "Hilfe für Kunden").await;
        let key = acme.key("bot", "send", Mode::Live).await;
        let id = acme.mail(inbox, "ada@customer.example", "Größe", "Welche?").await;
        let made = domain::add(&world.app, acme.id, &By::System, "acme.example").await.unwrap();
        let again = domain::add(&world.app, acme.id, &By::System, "ACME.example.").await.unwrap();
        assert_eq!(
            (&made.selector, &made.public_key),
            (&again.selector, &again.public_key),
            "safe to repeat"
        );
        let zone = Zone::start().await;
        let row = &made.rows(&world.app.config)[0];
        zone.text(&row.name, &row.value);

        key.sends(id, "Die große. \n\n  Grüße  \n").await;
        world.wait(chrono::TimeDelta::minutes(10));
        world.work().await;
        let raw = world.outbox.mails()[0].raw.clone();
        assert_eq!(verdict(&zone, &raw).await, DkimResult::Pass);
        let whole = String::from_utf8(raw).unwrap();
        for (from, to) in [
            ("To: <ada@", "To: <eve@"),
            ("\r\nTo: ", "\r\nSubject: Other\r\nTo: "),
            ("\r\nTo: ", "\r\nFrom: <eve@x.example>\r\nTo: "),
            ("Message-ID: <msg", "Message-ID: <xsg"),
            ("X-Rookery-Loop: mbx", "X-Rookery-Loop: xbx"),
            ("multipart/alternative", "multipart/mixed"),
            ("--\r\n", "--\r\nMore"),
        ] {
            let changed = whole.replacen(from, to, 1);
            assert_ne!(changed, whole, "{from}");
            assert_ne!(verdict(&zone, changed.as_bytes()).await, DkimResult::Pass, "{to}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_key_signs_for_its_own_workspace_and_domain_only_and_is_not_stored_in_the_open() {
    story(async |world| {
        let (acme, other) = (world.workspace("Acme").await, world.workspace("Other").await);
        domain::add(&world.app, acme.id, &By::System, "acme.example").await.unwrap();
        for (workspace, address) in [(&acme, "help@sub.acme.example"), (&other, "sales@acme.example")] {
            let inbox = workspace.mailbox(address, "Help").await;
            let key = workspace.key("bot", "send", Mode::Live).await;
            let id = workspace.mail(inbox, "ada@customer.example", "Parcel", "Where?").await;
            key.sends(id, "Here.").await;
        }
        world.wait(chrono::TimeDelta::minutes(10));
        world.work().await;
        let mails = world.outbox.mails();
        assert_eq!(mails.len(), 2);
        assert!(mails.iter().all(|mail| mail.raw.starts_with(b"From: ")), "unsigned");
        let stored: Vec<u8> = sqlx::query_scalar("select private_key from sending_domains")
            .fetch_one(&world.app.pool)
            .await
            .unwrap();
        // PKCS#8 begins with a sequence and the algorithm's name.
        let rsa = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01];
        assert!(!stored.windows(rsa.len()).any(|bytes| bytes == rsa));
    })
    .await;
}

// The name server answers while a command runs.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_operator_adds_a_domain_and_is_told_what_its_dns_lacks_until_it_is_right() {
    let (site, zone) = (Site::migrated().await, Zone::start().await);
    let (workspace, _) = site.workspace();
    let address = zone.address.to_string();
    let run = |arguments: &[&str]| {
        let mut command = site.command(&[&["admin"], arguments].concat());
        let settings = [
            ("ROOKERY_DNS", address.as_str()),
            ("ROOKERY_RELAY", "smtps://u:p@relay.example"),
            ("ROOKERY_PUBLIC_URL", "https://desk.acme.example"),
        ];
        let output = command.envs(settings).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let on =
        |verb: &'static str| [verb, "--workspace", &workspace, "--domain", "acme.example"].map(str::to_owned);
    let call = |verb, json: bool| {
        let mut arguments = on(verb).to_vec();
        arguments.extend(json.then(|| "--json".to_owned()));
        run(&arguments.iter().map(String::as_str).collect::<Vec<_>>())
    };
    let added: serde_json::Value = serde_json::from_str(&call("add-domain", true)).unwrap();
    let readable = call("add-domain", false);
    for row in added["rows"].as_array().unwrap() {
        assert!(readable.contains(&text(row, "zone")), "{readable}");
    }

    let missing = call("check-domain", false);
    for record in ["DKIM", "SPF", "DMARC", "MX"] {
        assert!(missing.contains(&format!("{record} is missing")), "{missing}");
    }
    for row in added["rows"].as_array().unwrap() {
        match text(row, "type").as_str() {
            "TXT" => zone.text(&text(row, "name"), &text(row, "value")),
            _ => zone.mail_server(&text(row, "name"), "desk.acme.example."),
        }
    }
    let found = call("check-domain", false);
    assert!(found.ends_with("Mail from acme.example is ready to leave.\n"), "{found}");
    assert_eq!(found.matches("in order").count(), 4, "{found}");

    zone.clear();
    zone.text(&text(&added["rows"][0], "name"), "v=DKIM1; k=rsa; p=AAAA");
    zone.text("acme.example", "v=spf1 +all");
    zone.text("_dmarc.acme.example", "v=DMARC1");
    let wrong: serde_json::Value = serde_json::from_str(&call("check-domain", true)).unwrap();
    assert_eq!(wrong["ok"], false);
    let sentences: Vec<String> =
        wrong["findings"].as_array().unwrap().iter().map(|finding| text(finding, "sentence")).collect();
    for (sentence, part) in sentences.iter().zip(["another key", "everybody", "no p=none", "MX is missing"]) {
        assert!(sentence.contains(part), "{sentence}");
    }
}

// The name server answers while a command runs.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_domain_nobody_added_or_a_name_server_that_fails_is_told_as_such() {
    let (site, zone) = (Site::migrated().await, Zone::start().await);
    let (workspace, _) = site.workspace();
    let run = |verb: &str, domain: &str| {
        let mut command = site.command(&["admin", verb, "--workspace", &workspace, "--domain", domain]);
        command.env("ROOKERY_DNS", zone.address.to_string()).output().unwrap()
    };
    let unknown = run("check-domain", "acme.example");
    assert!(!unknown.status.success());
    assert!(String::from_utf8_lossy(&unknown.stderr).contains("No such domain"), "{unknown:?}");
    let odd = run("add-domain", "help@acme.example");
    assert!(String::from_utf8_lossy(&odd.stderr).contains("domain: must be a domain"), "{odd:?}");
    assert!(run("add-domain", "broken.example").status.success());
    let broken = String::from_utf8(run("check-domain", "broken.example").stdout).unwrap();
    assert_eq!(broken.matches("could not be looked up").count(), 4, "{broken}");
}
