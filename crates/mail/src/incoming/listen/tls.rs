//! The certificate for STARTTLS. It is reloaded when its file changes, so that a renewal needs no restart. If the
//! new one is unusable, the old one stays.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

use rookery_base::error::{Error, Result};

pub struct Tls {
    certificate: PathBuf,
    key: PathBuf,
    loaded: Mutex<(Option<SystemTime>, Arc<ServerConfig>)>,
}

impl Tls {
    pub fn load(certificate: &Path, key: &Path) -> Result<Self> {
        let loaded = (changed(certificate), read(certificate, key)?);
        Ok(Self { certificate: certificate.into(), key: key.into(), loaded: Mutex::new(loaded) })
    }

    pub fn acceptor(&self) -> TlsAcceptor {
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        let now = changed(&self.certificate);
        if now != loaded.0 {
            match read(&self.certificate, &self.key) {
                Ok(config) => *loaded = (now, config),
                Err(error) => tracing::warn!(%error, "the new certificate cannot be used, the old one stays"),
            }
        }
        loaded.1.clone().into()
    }
}

fn changed(file: &Path) -> Option<SystemTime> {
    std::fs::metadata(file).and_then(|metadata| metadata.modified()).ok()
}

fn read(certificate: &Path, key: &Path) -> Result<Arc<ServerConfig>> {
    let problem = |file: &Path, error: &dyn std::fmt::Display| {
        Error::internal(format!("The file {} cannot be used for TLS: {error}", file.display()))
    };
    let chain: Vec<CertificateDer> = CertificateDer::pem_file_iter(certificate)
        .and_then(Iterator::collect)
        .map_err(|error| problem(certificate, &error))?;
    let secret = PrivateKeyDer::from_pem_file(key).map_err(|error| problem(key, &error))?;
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, secret))
        .map_err(|error| problem(certificate, &error))?;
    Ok(Arc::new(config))
}
