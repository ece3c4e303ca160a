//! Certificates: until when one is valid, by its own bytes, and the one that a server shows.
//! Whether it is trusted, rustls decides.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, NaiveDateTime, Utc};
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use crate::doctor::row::{RowJudgement, either};
use rookery_base::error::{Error, Result};

/// Renewals come a month before; half of that is late.
pub const LEAST_DAYS: i64 = 14;

pub fn judge(ends: DateTime<Utc>, now: DateTime<Utc>, fix: &str) -> RowJudgement {
    let days = (ends - now).num_days();
    either(days >= LEAST_DAYS, format!("until {}, {days} days", ends.date_naive()), fix)
}

/// The certificate of a server, which is trusted by these roots.
pub async fn of_server(
    address: SocketAddr,
    host: &str,
    roots: RootCertStore,
    patience: Duration,
) -> Result<CertificateDer<'static>> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(Error::internal)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from(host.to_owned()).map_err(Error::internal)?;
    let greeting = async {
        let stream = TcpStream::connect(address).await?;
        TlsConnector::from(Arc::new(config)).connect(name, stream).await
    };
    let stream = timeout(patience, greeting).await.map_err(Error::internal)??;
    let shown = stream.get_ref().1.peer_certificates().and_then(|chain| chain.first());
    shown.cloned().ok_or_else(|| Error::internal("it shows no certificate"))
}

/// When a certificate ends: `notAfter` of its validity (RFC 5280, 4.1).
pub fn ends(certificate: &[u8]) -> Option<DateTime<Utc>> {
    const SEQUENCE: u8 = 0x30;
    const VERSION: u8 = 0xa0;
    let (whole, _) = element(certificate, SEQUENCE)?;
    let (mut to_be_signed, _) = element(whole, SEQUENCE)?;
    if let Some((_, behind)) = element(to_be_signed, VERSION) {
        to_be_signed = behind;
    }
    // The serial number, the algorithm and the issuer stand before the validity.
    for tag in [0x02, SEQUENCE, SEQUENCE] {
        to_be_signed = element(to_be_signed, tag)?.1;
    }
    let (validity, _) = element(to_be_signed, SEQUENCE)?;
    let (_, not_after) = any_element(validity)?;
    time(not_after)
}

/// The contents of an element of DER with this tag, and what stands behind it.
fn element(bytes: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    if *bytes.first()? == tag { any_element(bytes) } else { None }
}

fn any_element(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (first, rest) = bytes.get(1..)?.split_first()?;
    let (length, rest) = match usize::from(*first) {
        short @ 0..0x80 => (short, rest),
        long => {
            let (digits, rest) = rest.split_at_checked(long & 0x7f)?;
            if digits.len() > 4 {
                return None;
            }
            (digits.iter().fold(0, |length, digit| (length << 8) | usize::from(*digit)), rest)
        }
    };
    rest.split_at_checked(length)
}

/// UTCTime has two digits of the year, GeneralizedTime four; both end in Z.
fn time(bytes: &[u8]) -> Option<DateTime<Utc>> {
    let text = std::str::from_utf8(any_element(bytes)?.0).ok()?;
    let text = match *bytes.first()? {
        0x17 => {
            let century = if text.get(..2)?.parse::<u8>().ok()? < 50 { "20" } else { "19" };
            format!("{century}{text}")
        }
        0x18 => text.to_owned(),
        _ => return None,
    };
    Some(NaiveDateTime::parse_from_str(&text, "%Y%m%d%H%M%SZ").ok()?.and_utc())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Made by openssl: P-256, `-not_after 20370102030405Z`, and one that ends in 2055, which is written otherwise.
    #[test]
    fn the_end_is_read_from_what_openssl_makes() {
        for (hex, wanted) in [(ENDS_2037, "2037-01-02T03:04:05Z"), (ENDS_2055, "2055-01-02T03:04:05Z")] {
            let byte = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
            let certificate: Vec<u8> = (0..hex.len()).step_by(2).map(byte).collect();
            assert_eq!(
                ends(&certificate).unwrap().to_rfc3339_opts(chrono::SecondsFormat::Secs, true),
                wanted
            );
            for length in 0..certificate.len() {
                // No part of one is an end, and none is a panic.
                let _ = ends(&certificate[..length]);
            }
        }
        assert_eq!(ends(b""), None);
        assert_eq!(ends(&[0x30, 0x84, 0xff, 0xff, 0xff, 0xff]), None);
    }

    const ENDS_2037: &str = "3082011f3081c6020101300a06082a8648ce3d040302301c311a301806035504030c116d61696c2e61636d652e6578616d706c65301e170d3236303130313030303030305a170d3337303130323033303430355a301c311a301806035504030c116d61696c2e61636d652e6578616d706c653059301306072a8648ce3d020106082a8648ce3d0301070342000404eb5650b631cc0b91a238c7bf82b720aacb97722531b1bcc91d64b96ac363270a231b391592a0659535d16445c390d8a61719c7da5aaef991e400529ae9a4e4300a06082a8648ce3d0403020348003045022100b0de03752e6f4f04de005378407405b72b486667d5165aeff3f74433ff680a0e0220694818bff3513858adf5dd85b84fb37d792dc6e19526b0d9bc99154f70e7d151";
    const ENDS_2055: &str = "308201213081c8020102300a06082a8648ce3d040302301c311a301806035504030c116d61696c2e61636d652e6578616d706c653020170d3236303130313030303030305a180f32303535303130323033303430355a301c311a301806035504030c116d61696c2e61636d652e6578616d706c653059301306072a8648ce3d020106082a8648ce3d0301070342000404eb5650b631cc0b91a238c7bf82b720aacb97722531b1bcc91d64b96ac363270a231b391592a0659535d16445c390d8a61719c7da5aaef991e400529ae9a4e4300a06082a8648ce3d0403020348003045022016df54af113a09545e2e98931dee41e20460ef7b36b0f1ca23aaaa8963a3068102210095066a7f3b0a21c423acc328138acdfc8cb5a1d49bb8852f32f099f6a7659e33";
}
