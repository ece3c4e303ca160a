//! What every page of the door hands on to the next one: where somebody goes when they are in, and whether they are in
//! already and show once more who they are.

use url::form_urlencoded;

use crate::web::session;
use crate::web::visit::{Fields, Visit};

#[derive(Default)]
pub struct Onward {
    /// A path of ours.
    pub next: Option<String>,
    /// They are signed in: the door does not send them away.
    pub again: bool,
}

impl Onward {
    /// Of a query or a form.
    pub fn of(visit: &Visit, fields: &Fields) -> Self {
        let next = fields.get("next").filter(|next| session::is_ours(visit.app(), next));
        Self { next: next.map(str::to_owned), again: fields.flag("again") }
    }

    /// A page of the door, with this.
    pub fn to(&self, path: &str) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.extend_pairs(self.again.then_some(("again", "on")));
        query.extend_pairs(self.next.as_deref().map(|next| ("next", next)));
        let (query, sign) = (query.finish(), if path.contains('?') { '&' } else { '?' });
        match query.is_empty() {
            true => path.to_owned(),
            false => format!("{path}{sign}{query}"),
        }
    }
}
