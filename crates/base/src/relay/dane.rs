//! DANE for SMTP (RFC 7672): TLSA records, authenticated by DNSSEC, say which certificate a mail server has. They
//! replace the public certificate authorities, so a self-signed certificate is fine.

use std::sync::Arc;

use aws_lc_rs::digest::{SHA256, SHA512, digest};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{verify_server_cert_signed_by_trust_anchor, verify_server_name};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

use crate::net::dns::Tlsa;

const TRUST_ANCHOR: u8 = 2;
const END_ENTITY: u8 = 3;

impl Tlsa {
    /// SMTP allows two of the four certificate usages: those that do not depend on public certificate authorities.
    pub fn is_usable(&self) -> bool {
        matches!((self.usage, self.selector, self.matching), (TRUST_ANCHOR | END_ENTITY, 0 | 1, 0..=2))
    }

    fn is_of(&self, certificate: &CertificateDer<'_>) -> bool {
        let key = ParsedCertificate::try_from(certificate).map(|parsed| parsed.subject_public_key_info());
        let part = match (self.selector, &key) {
            (0, _) => certificate.as_ref(),
            (1, Ok(key)) => key.as_ref(),
            _ => return false,
        };
        match self.matching {
            0 => self.data == part,
            1 => self.data == digest(&SHA256, part).as_ref(),
            2 => self.data == digest(&SHA512, part).as_ref(),
            _ => false,
        }
    }
}

/// A TLS verifier that accepts only a certificate that matches one of the records.
#[derive(Debug)]
pub struct ByRecords {
    records: Vec<Tlsa>,
    provider: Arc<CryptoProvider>,
}

impl ByRecords {
    pub fn new(records: Vec<Tlsa>, provider: Arc<CryptoProvider>) -> Self {
        Self { records, provider }
    }

    fn with(&self, usage: u8) -> impl Iterator<Item = &Tlsa> {
        self.records.iter().filter(move |record| record.usage == usage && record.is_usable())
    }
}

impl ServerCertVerifier for ByRecords {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        _ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        // The record itself binds name and key: names and dates in the certificate are ignored (RFC 7672, 3.1.1).
        if self.with(END_ENTITY).any(|record| record.is_of(end_entity)) {
            return Ok(ServerCertVerified::assertion());
        }
        // The record names a trust anchor: it must be in the chain, and both the chain and the host name must
        // verify.
        let parsed = ParsedCertificate::try_from(end_entity)?;
        for authority in intermediates {
            let mut roots = RootCertStore::empty();
            if !self.with(TRUST_ANCHOR).any(|record| record.is_of(authority))
                || roots.add(authority.clone()).is_err()
            {
                continue;
            }
            let algorithms = self.provider.signature_verification_algorithms.all;
            verify_server_cert_signed_by_trust_anchor(&parsed, &roots, intermediates, now, algorithms)?;
            verify_server_name(&parsed, server_name)?;
            return Ok(ServerCertVerified::assertion());
        }
        Err(CertificateError::ApplicationVerificationFailure.into())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
