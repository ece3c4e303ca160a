//! Plans (specification 5.10).
//! The API, the MCP server and webhooks belong to Pro and Team.

use crate::error::{Error, Result};

#[derive(Clone, Copy, Debug, PartialEq, Eq, sqlx::Type, clap::ValueEnum)]
#[sqlx(type_name = "text", rename_all = "lowercase")]
pub enum Plan {
    Free,
    Pro,
    Team,
}

impl Plan {
    pub fn needs_api(self) -> Result<()> {
        match self {
            Self::Pro | Self::Team => Ok(()),
            Self::Free => Err(Error::Forbidden(
                "This workspace's plan has no API access. It is part of Pro and Team.".into(),
            )),
        }
    }
}
