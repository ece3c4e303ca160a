//! Where settings come from, what is refused,
//! and that no secret is shown.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::*;

fn load(pairs: &[(&str, &str)]) -> Result<Config> {
    Config::load(None, pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())))
}

#[test]
fn the_environment_alone_is_enough_and_defaults_are_the_specifications() {
    let config = load(&[("ROOKERY_DATABASE_URL", "postgres://localhost/rookery")]).unwrap();
    assert_eq!(config.rate_limit_requests, 120);
    assert!(config.departures().is_empty());
    assert_eq!(config.origins(), ["http://localhost:8080"]);
}

#[test]
fn an_unknown_key_is_an_error_that_names_it() {
    let error = load(&[("ROOKERY_DATABASE_URL", "x"), ("ROOKERY_LISTNE", "x")]).unwrap_err();
    assert!(error.to_string().contains("listne"), "{error}");
}

#[test]
fn an_origin_for_mail_has_another_host() {
    let with = |content: &str| {
        load(&[
            ("ROOKERY_DATABASE_URL", "x"),
            ("ROOKERY_PUBLIC_URL", "https://desk.example"),
            ("ROOKERY_CONTENT_URL", content),
        ])
    };
    assert_eq!(
        with("https://mail.example:8443").unwrap().content_origin().unwrap(),
        "https://mail.example:8443"
    );
    for other in
        ["https://desk.example:8443", "http://mail.example", "https://mail.example/a", "mailto:a@b.c"]
    {
        assert!(with(other).unwrap_err().to_string().contains("another host"), "{other}");
    }
}

#[test]
fn a_changed_limit_is_told() {
    let config = load(&[("ROOKERY_DATABASE_URL", "x"), ("ROOKERY_RATE_LIMIT_REQUESTS", "7")]).unwrap();
    assert_eq!(config.departures(), ["rate_limit_requests is 7 instead of 120"]);
}

#[test]
fn secrets_show_in_no_log() {
    let key = STANDARD.encode([7; 32]);
    let config = load(&[
        ("ROOKERY_DATABASE_URL", "postgres://me:hunter2@db/x"),
        ("ROOKERY_SECRET_KEY", &key),
        ("ROOKERY_RELAY", "smtps://me:hunter2@relay.example"),
    ]);
    let shown = format!("{:?}", config.unwrap());
    assert!(!shown.contains("hunter2") && !shown.contains(&key), "{shown}");
}

/// Texts that a parser could take for a number, a boolean or a list.
const LOOK_LIKE_OTHERS: [&str; 11] =
    ["007", "12345678901234567890123", "-0", "1e5", "1_000", "0x10", ".5", "inf", "NaN", "TRUE", "a,b"];

#[test]
fn a_text_stays_the_text_it_is() {
    for text in LOOK_LIKE_OTHERS {
        for file in [false, true] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("secret");
            std::fs::write(&path, format!("{text}\n")).unwrap();
            let (path, file) = (path.to_str().unwrap(), if file { "_FILE" } else { "" });
            let given = |name: &str| {
                (format!("ROOKERY_{name}{file}"), (if file.is_empty() { text } else { path }).to_owned())
            };
            let secrets = [
                "DATABASE_URL",
                "DIRECTORY_URL",
                "RELAY",
                "BLOBS_ACCESS_KEY",
                "BLOBS_SECRET_KEY",
                "MIGRATE_URL",
            ];
            let others = [
                ("ROOKERY_MAIL_NAME".to_owned(), text.to_owned()),
                ("ROOKERY_DEVELOPER_ORIGINS".to_owned(), "007, 1e5,true".to_owned()),
                ("ROOKERY_TLS_KEY".to_owned(), text.to_owned()),
                ("ROOKERY_RATE_LIMIT_REQUESTS".to_owned(), "7".to_owned()),
            ];
            let config = Config::load(None, secrets.map(given).into_iter().chain(others)).unwrap();
            assert_eq!(config.database_url.0, text);
            let secrets = [
                config.directory_url,
                config.relay,
                config.blobs_access_key,
                config.blobs_secret_key,
                config.migrate_url,
            ];
            for secret in secrets {
                assert_eq!(secret.unwrap().0, text);
            }
            assert_eq!(config.mail_name.unwrap(), text);
            assert_eq!(config.tls_key.unwrap(), Path::new(text));
            assert_eq!(config.developer_origins, ["007", "1e5", "true"]);
            assert_eq!(config.rate_limit_requests, 7);
        }
    }
}

/// An unquoted secret is a TOML number, which may have lost leading zeros.
#[test]
fn a_secret_that_a_file_has_as_a_number_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("rookery.toml");
    for (text, sound) in [("\"007\"", true), ("7654321", false), ("1e5", false), ("true", false)] {
        std::fs::write(&file, format!("database_url = \"x\"\nblobs_secret_key = {text}\n")).unwrap();
        let config = Config::load(Some(&file), std::iter::empty());
        assert_eq!(config.is_ok(), sound, "{text}");
        match config {
            Ok(config) => assert_eq!(config.blobs_secret_key.unwrap().0, "007"),
            Err(error) => {
                let error = error.to_string();
                assert!(error.contains("in quotes") && !error.contains(text), "{error}");
            }
        }
    }
}

#[test]
fn a_short_secret_key_is_refused() {
    let error = load(&[("ROOKERY_DATABASE_URL", "x"), ("ROOKERY_SECRET_KEY", "c2hvcnQ=")]).unwrap_err();
    assert!(error.to_string().contains("32 bytes"), "{error}");
    assert!(!error.to_string().contains("c2hvcnQ="), "{error}");
}
