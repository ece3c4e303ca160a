//! The language of a customer's page: the one that its address asks for, else the one that the team chose for it, else the best
//! that the browser names (`Accept-Language`), else English. Nothing is remembered, so there is no cookie.

use crate::visit::Visit;
use rookery_base::languages::Language;

pub fn for_visit(visit: &Visit) -> Language {
    chosen(visit).unwrap_or_else(|| Language::accepted(visit.header("accept-language").unwrap_or_default()))
}

/// What the address asks for.
pub fn chosen(visit: &Visit) -> Option<Language> {
    visit.query("lang").and_then(Language::named)
}
