//! What every page of the door hands on to the next one: where somebody goes when they are in, and whether they are in
//! already and show once more who they are.

use url::form_urlencoded;

use crate::session;
use crate::visit::{FormFields, Visit};

#[derive(Default)]
pub struct Onward {
    /// A path of ours.
    pub next: Option<String>,
    /// They are signed in already and prove again who they are, so the sign-in page does not redirect them.
    pub again: bool,
}

impl Onward {
    /// Of a query or a form.
    pub fn from_fields(visit: &Visit, fields: &FormFields) -> Self {
        let next = fields.get("next").filter(|next| session::is_ours(visit.app(), next));
        Self { next: next.map(str::to_owned), again: fields.flag("again") }
    }

    /// A page of the door, with this.
    pub fn to(&self, path: &str) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.extend_pairs(self.again.then_some(("again", "on")));
        query.extend_pairs(self.next.as_deref().map(|next| ("next", next)));
        let (query, sign) = (query.finish(), if path.contains('?') { '&' } else { '?' });
        if query.is_empty() { path.to_owned() } else { format!("{path}{sign}{query}") }
    }
}
