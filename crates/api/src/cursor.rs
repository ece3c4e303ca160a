//! Cursors: where the next page of a list begins. A cursor is a place in the list's order and a hash of what was asked for, so
//! that one that is used with other parameters is told so instead of giving half of something else
//! (docs/decisions/paging.md). It opens nothing: what a page shows is asked for anew, with the key that asks.

use std::str::FromStr;

use serde::Serialize;
use url::form_urlencoded::{Serializer, parse};

use crate::input::Schema;
use crate::rest::PREFIX;
use rookery_base::error::{Error, Result};
use rookery_base::secrets::hashes::{number, sha256};

pub const NAME: &str = "cursor";
/// The older name of the parameter, which timelines accept as well.
const OLDER_NAME: &str = "before";
pub const PATTERN: &str = r"^[0-9a-z._]{1,100}$";
pub const NOT_ONE: &str = "must be the cursor of an earlier answer";
const OTHERS: &str = "belongs to other parameters";

/// A hash of the list that a cursor belongs to: the operation and all its parameters but the limit.
pub struct ListQuery(String);

impl ListQuery {
    pub fn new(operation: &str, parameters: impl Serialize) -> Result<Self> {
        let asked = sha256(serde_json::to_vec(&(operation, parameters))?);
        Ok(Self(format!("{:016x}", number(asked))))
    }

    /// The place that a cursor names. An error if the cursor belongs to another list.
    pub fn place<P: FromStr>(&self, given: Option<&str>) -> Result<Option<P>> {
        let Some(text) = given else { return Ok(None) };
        let (place, asked) = text.rsplit_once('.').ok_or_else(|| Error::problem(NAME, NOT_ONE))?;
        let place = place.parse().map_err(|_| Error::problem(NAME, NOT_ONE))?;
        if asked == self.0 { Ok(Some(place)) } else { Err(Error::problem(NAME, OTHERS)) }
    }

    pub fn cursor(&self, place: impl ToString) -> String {
        format!("{}.{}", place.to_string(), self.0)
    }
}

/// Whether an operation takes cursors.
pub fn is_taken(input: &Schema) -> bool {
    input.json["properties"].get(NAME).is_some()
}

/// `Link` to the next page: the same parameters with the cursor.
pub fn link(public_url: &str, path: &str, query: &str, cursor: &str) -> String {
    let mut next = Serializer::new(String::new());
    let stays = |name: &str| ![NAME, OLDER_NAME].contains(&name);
    next.extend_pairs(parse(query.as_bytes()).filter(|(name, value)| stays(name) && !value.is_empty()));
    let (here, next) = (public_url.trim_end_matches('/'), next.append_pair(NAME, cursor).finish());
    debug_assert!(path.starts_with(PREFIX));
    format!("<{here}{path}?{next}>; rel=\"next\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_good_for_what_it_was_made_for_and_for_nothing_else() {
        let asked = ListQuery::new("list_things", ("open", None::<&str>, Some("a"))).unwrap();
        let cursor = asked.cursor(17);
        assert_eq!(asked.place::<i64>(Some(&cursor)).unwrap(), Some(17));
        assert_eq!(asked.place::<i64>(None).unwrap(), None);
        let others = [("open", Some("a"), None), ("closed", None, Some("a")), ("open", None, Some("b"))];
        for other in others {
            let refused =
                ListQuery::new("list_things", other).unwrap().place::<i64>(Some(&cursor)).unwrap_err();
            assert_eq!(refused.sentence(), "cursor: belongs to other parameters");
        }
        for broken in ["17", "x.y", "..", "", "17.", ".17"] {
            assert!(asked.place::<i64>(Some(broken)).is_err(), "{broken}");
        }
    }

    #[test]
    fn a_link_has_the_parameters_that_were_given_and_nothing_that_ends_it_early() {
        let link = link(
            "https://rookery.example/",
            "/api/v1/conversations",
            "q=a%3E%22b&limit=5&cursor=old&before=x&view=",
            "1.2",
        );
        assert_eq!(
            link,
            r#"<https://rookery.example/api/v1/conversations?q=a%3E%22b&limit=5&cursor=1.2>; rel="next""#
        );
    }
}
