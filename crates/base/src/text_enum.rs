//! Enums that are a text outside: in a column, an address, a form or a mail. Each variant stands with its text once, so that writing
//! and reading cannot differ.

/// `text_enum! { pub enum Kind { First = "first", Second = "second" } }`: the enum as it would stand alone, with its attributes and
/// comments. It has to be `Copy`. Two variants may share a text, which then reads as the first of them.
#[macro_export]
macro_rules! text_enum {
    (
        $(#[$about:meta])*
        $seen:vis enum $name:ident {
            $($(#[$about_variant:meta])* $variant:ident = $text:literal),+ $(,)?
        }
    ) => {
        $(#[$about])*
        $seen enum $name {
            $($(#[$about_variant])* $variant,)+
        }

        impl $name {
            /// In the order they are written.
            #[allow(dead_code, reason = "not every enum is listed")]
            pub const ALL: [Self; [$($text),+].len()] = [$(Self::$variant),+];

            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text),+ }
            }

            #[allow(dead_code, reason = "not every enum is read")]
            pub fn named(text: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|known| known.as_str() == text)
            }
        }
    };
}
