//! The form on which a draft is reviewed.

/// The hidden fields of the review form.
pub fn field(page: &str, name: &str) -> String {
    let review = page.split(r#"id="review""#).nth(1).expect("a review form");
    let at = review.find(&format!(r#"name="{name}""#)).unwrap_or_else(|| panic!("no field {name}"));
    let value = review[at..].split(r#"value=""#).nth(1).expect("a value");
    value.split('"').next().unwrap_or_default().to_owned()
}
