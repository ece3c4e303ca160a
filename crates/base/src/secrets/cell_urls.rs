//! Databases of cells in a setting: `west=postgres://… east=postgres://…`, with spaces between. A URL may hold a password,
//! so none is shown.

use serde::{Deserialize, Deserializer};

use crate::secrets::secret::Secret;

#[derive(Clone, Debug, Default)]
pub struct CellUrls(Vec<(String, Secret)>);

impl CellUrls {
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Secret)> {
        self.0.iter().map(|(name, url)| (name.as_str(), url))
    }

    pub fn url_of(&self, cell: &str) -> Option<&Secret> {
        self.iter().find(|(name, _)| *name == cell).map(|(_, url)| url)
    }

    fn read(text: &str) -> Result<Self, String> {
        let mut urls = Self::default();
        for item in text.split_whitespace() {
            let (name, url) =
                item.split_once('=').ok_or("write cells as name=postgres://… with spaces between")?;
            if !is_a_name(name) {
                return Err("a cell's name has small letters, digits and dashes, 31 at most".to_owned());
            }
            if urls.url_of(name).is_some() {
                return Err(format!("the cell {name} is listed twice"));
            }
            urls.0.push((name.to_owned(), Secret(url.to_owned())));
        }
        Ok(urls)
    }
}

pub fn is_a_name(text: &str) -> bool {
    let sound = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=31).contains(&text.len()) && text.bytes().all(sound) && !text.starts_with('-')
}

impl<'de> Deserialize<'de> for CellUrls {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::read(&Secret::deserialize(deserializer)?.0).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_read_with_their_databases_and_what_is_no_cell_is_refused() {
        let urls = CellUrls::read(" west=postgres://a/b?x=y\n east=postgres://c/d ").unwrap();
        let read: Vec<_> = urls.iter().map(|(name, url)| (name, url.0.as_str())).collect();
        assert_eq!(read, [("west", "postgres://a/b?x=y"), ("east", "postgres://c/d")]);
        for bad in ["west", "West=postgres://a", "-w=postgres://a", "=x", "a=x a=y"] {
            assert!(CellUrls::read(bad).is_err(), "{bad}");
        }
        assert!(!format!("{urls:?}").contains("postgres"), "a password may be in it");
    }
}
