//! REST (specification 4): routes are the registry's paths, matched segment by segment.
//! A path that names nothing is 404, also with a trailing slash; nothing is redirected.

use crate::dry_run;
use crate::input::Given;
use crate::operation::{Method, Spec};
use crate::registry::{OPERATIONS, RegisteredOperation};
use rookery_base::error::{Error, NO_ENDPOINT, Result};

pub const PREFIX: &str = "/api/v1";

/// The operation at a path, the id the path names, and what is given: the query of a read, the body of a write.
pub fn route<'r>(
    method: &str,
    path: &'r str,
    query: &'r str,
    body: &'r [u8],
) -> Result<(&'static RegisteredOperation, Option<&'r str>, Given<'r>)> {
    let (entry, id) = find(method, path)?;
    let given = match entry.spec.method {
        Method::Get => Given::Query(query),
        Method::Post => {
            dry_run::refuse_in_query(query)?;
            Given::Body(body)
        }
    };
    Ok((entry, id, given))
}

fn find<'p>(method: &str, path: &'p str) -> Result<(&'static RegisteredOperation, Option<&'p str>)> {
    let path = path.strip_prefix(PREFIX).unwrap_or_default();
    let mut allowed = Vec::new();
    for entry in OPERATIONS.iter() {
        let Some(id) = matches(&entry.spec, path) else { continue };
        // HEAD is answered like GET; the body is left out on the way.
        let offered = entry.spec.method.as_str();
        if method == offered || (method == "HEAD" && offered == "GET") {
            return Ok((entry, id));
        }
        allowed.push(match entry.spec.method {
            Method::Get => "GET, HEAD",
            Method::Post => "POST",
        });
    }
    if allowed.is_empty() { Err(NO_ENDPOINT) } else { Err(Error::Method(allowed.join(", "))) }
}

/// Body size limit of a path. It depends on the path alone, so it applies before the key is checked.
pub fn most_body_bytes(path: &str) -> usize {
    let path = path.strip_prefix(PREFIX).unwrap_or_default();
    let matching = OPERATIONS.iter().filter(|entry| matches(&entry.spec, path).is_some());
    matching.map(|entry| entry.spec.most_body_bytes).max().unwrap_or(crate::operation::ONE_MIB)
}

/// How many requests a call counts as in the rate limit.
pub fn request_count(method: &str, path: &str, body: &[u8]) -> usize {
    find(method, path).map_or(1, |(entry, _)| entry.spec.requests(body))
}

fn matches<'p>(spec: &Spec, path: &'p str) -> Option<Option<&'p str>> {
    let (mut wanted, mut given) = (spec.path.split('/'), path.split('/'));
    let mut id = None;
    loop {
        match (wanted.next(), given.next()) {
            (None, None) => return Some(id),
            (Some("{id}"), Some(segment)) => id = Some(segment),
            (Some(fixed), Some(segment)) if fixed == segment => {}
            _ => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_finds_its_operation_and_id() {
        let (entry, id) = find("GET", "/api/v1/conversations/cnv_1").unwrap();
        assert_eq!((entry.spec.name, id), ("get_conversation", Some("cnv_1")));
        assert_eq!(find("HEAD", "/api/v1/me").unwrap().0.spec.name, "me");
    }

    #[test]
    fn a_trailing_slash_or_an_unknown_path_is_no_endpoint() {
        for path in ["/api/v1/me/", "/api/v1/", "/api/v1/conversations/a/b", "/api/v1me"] {
            assert_eq!(find("GET", path).err().unwrap().status(), 404, "{path}");
        }
    }

    #[test]
    fn a_method_that_is_not_offered_names_those_that_are() {
        let Err(Error::Method(allowed)) = find("DELETE", "/api/v1/me") else { panic!("DELETE was found") };
        assert_eq!(allowed, "GET, HEAD");
    }
}
