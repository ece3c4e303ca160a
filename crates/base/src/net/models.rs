//! The two ways to a model: to the operator's, which may be a machine of their own network, and to one that a workspace
//! names, which has to be public and https. Everything else is `outside`.

use ipnet::IpNet;

use crate::config::Config;
use crate::error::{Error, Result};
use crate::net::outside::Outside;

pub struct Models {
    operators: Outside,
    workspaces: Outside,
}

impl Models {
    pub fn new(config: &Config) -> Result<Self> {
        let anywhere: Vec<IpNet> = ["0.0.0.0/0", "::/0"]
            .iter()
            .map(|network| network.parse())
            .collect::<std::result::Result<_, _>>()
            .map_err(Error::internal)?;
        let way = |allow| {
            Outside::new(allow, &config.dns, config.trust_ca_file.as_deref(), config.assistants_time())
        };
        Ok(Self { operators: way(anywhere)?, workspaces: way(config.assistants_allow.clone())? })
    }

    /// The way to a model that the operator named, or that a workspace did.
    pub fn way(&self, of_the_operator: bool) -> &Outside {
        if of_the_operator { &self.operators } else { &self.workspaces }
    }
}
