//! Breaking changes of the API (specification 9.3), the one list of them. From it come the notice to everybody who made a
//! key, the headers of the calls concerned (RFC 9745, RFC 8594), the marks in the OpenAPI document and on the tools, what
//! the page of keys says, and their section of CHANGELOG.md. An entry is added at least six months before its end.

use chrono::{DateTime, Months, NaiveDate, NaiveTime, Utc};

/// None is under way.
pub const LIST: &[BreakingChange] = &[];

pub struct BreakingChange {
    /// Never changes: whoever was told of it is remembered by it.
    pub name: &'static str,
    /// What ends, as a title.
    pub title: &'static str,
    /// What callers do instead, in a sentence or two.
    pub instead: &'static str,
    /// Names of the operations concerned; all when empty.
    pub operations: &'static [&'static str],
    pub announced: NaiveDate,
    pub ends: NaiveDate,
    /// Ends sooner than with six months' notice, because it is unsafe.
    pub for_safety: bool,
}

impl BreakingChange {
    pub fn concerns(&self, operation: &str) -> bool {
        self.operations.is_empty() || self.operations.contains(&operation)
    }

    /// `Deprecation` and `Sunset`.
    pub fn headers(&self) -> [(&'static str, String); 2] {
        let sunset = at(self.ends).format("%a, %d %b %Y %H:%M:%S GMT");
        [("deprecation", format!("@{}", at(self.announced).timestamp())), ("sunset", sunset.to_string())]
    }

    /// What descriptions of the operation say.
    pub fn sentence(&self) -> String {
        format!("Changes on {}: {}. {}", self.ends, self.title, self.instead)
    }

    pub fn has_six_months(&self) -> bool {
        self.announced.checked_add_months(Months::new(6)).is_some_and(|earliest| earliest <= self.ends)
    }
}

fn at(day: NaiveDate) -> DateTime<Utc> {
    day.and_time(NaiveTime::MIN).and_utc()
}

/// The one that ends first of those that concern a call.
pub fn first<'l>(list: &'l [BreakingChange], operation: &str) -> Option<&'l BreakingChange> {
    list.iter().filter(|change| change.concerns(operation)).min_by_key(|change| change.ends)
}

/// Their section of CHANGELOG.md.
pub fn changelog(list: &[BreakingChange]) -> String {
    if list.is_empty() {
        return "None is announced.\n".to_owned();
    }
    let mut newest: Vec<_> = list.iter().collect();
    newest.sort_by_key(|change| std::cmp::Reverse(change.announced));
    let line = |change: &&BreakingChange| {
        let BreakingChange { title, instead, announced, ends, .. } = change;
        format!("- **{title}**: announced {announced}, ends {ends}. {instead}\n")
    };
    newest.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_change_that_is_announced_comes_sooner_than_in_six_months_but_for_safety() {
        for change in LIST {
            assert!(change.for_safety || change.has_six_months(), "{}", change.name);
        }
        let day = |month, day| NaiveDate::from_ymd_opt(2027, month, day).unwrap();
        let change = |ends| BreakingChange {
            name: "a",
            title: "b",
            instead: "c",
            operations: &[],
            announced: day(1, 31),
            ends,
            for_safety: false,
        };
        assert!(!change(day(7, 30)).has_six_months());
        assert!(change(day(7, 31)).has_six_months());
    }
}
