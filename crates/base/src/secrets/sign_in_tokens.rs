//! Tokens of sessions and of links that sign in: a workspace and 256 bits of chance. Only a hash is kept, so nothing that
//! is read in the database opens a door; the workspace in front says where to look without a directory.

use crate::ids::WorkspaceId;
use crate::random::Random;
use crate::secrets::hashes::sha256;

const DIGITS: usize = 64;

/// As it is looked up.
#[derive(Clone, Copy)]
pub struct Token {
    pub workspace: WorkspaceId,
    pub hash: [u8; 32],
}

impl Token {
    /// A new one, and its text, which is not kept.
    pub fn mint(workspace: WorkspaceId, random: &Random) -> (Self, String) {
        let text = format!("{workspace}.{}", random.hex(DIGITS));
        (Self { workspace, hash: sha256(&text) }, text)
    }

    pub fn read(text: &str) -> Option<Self> {
        let (workspace, secret) = text.split_once('.')?;
        let sound = secret.len() == DIGITS && secret.bytes().all(|byte| byte.is_ascii_hexdigit());
        Some(Self { workspace: workspace.parse().ok().filter(|_| sound)?, hash: sha256(text) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_reads_back_and_nothing_else_does() {
        let random = Random::seeded(1);
        let (token, text) = Token::mint(WorkspaceId(7), &random);
        let read = Token::read(&text).unwrap();
        assert_eq!((read.workspace, read.hash), (token.workspace, token.hash));
        assert_ne!(Token::mint(WorkspaceId(7), &random).1, text);
        for bad in ["", ".", &text[1..], &text[..text.len() - 1], &text.replace('.', ""), &format!("{text}0")]
        {
            assert!(Token::read(bad).is_none(), "{bad}");
        }
    }
}
