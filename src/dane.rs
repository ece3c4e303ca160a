//! DANE for SMTP (RFC 7672): TLSA records, vouched for by DNSSEC, say which certificate a mail server has. They
//! stand in the place of the authorities that the web trusts, so a certificate that no authority signed will do.

use std::sync::Arc;

use aws_lc_rs::digest::{SHA256, SHA512, digest};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{verify_server_cert_signed_by_trust_anchor, verify_server_name};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

const TRUST_ANCHOR: u8 = 2;
const END_ENTITY: u8 = 3;

/// What a record says of a certificate: whose it is, which part of it, how it is written, and the bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tlsa {
    pub usage: u8,
    pub selector: u8,
    pub matching: u8,
    pub data: Vec<u8>,
}

impl Tlsa {
    /// SMTP has two of the four uses: the web's authorities mean nothing among mail servers.
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

/// Takes a certificate that one of the records is of, and no other.
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
        // The record is the binding of name and key: neither the certificate's names nor its dates count.
        if self.with(END_ENTITY).any(|record| record.is_of(end_entity)) {
            return Ok(ServerCertVerified::assertion());
        }
        // An authority of the server's own: it must be in the chain, and the chain and the name must hold.
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
