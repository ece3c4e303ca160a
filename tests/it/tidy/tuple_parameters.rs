//! No function takes a tuple: its caller would write two values in brackets without their names. What belongs together is a
//! struct, and other values are parameters of their own. Slices of pairs may stay, closures too.

use std::collections::BTreeSet;

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::{FnArg, GenericArgument, Pat, PathArguments, Token, Type};

use super::source::File;

pub fn tuple_parameters(files: &[File]) -> Vec<String> {
    let mut problems = Vec::new();
    for file in files.iter().filter(|file| file.is_rust()) {
        let tokens = file.tokens();
        let mut aliases = BTreeSet::new();
        tuple_aliases(tokens.clone(), &mut aliases);
        for function in functions(tokens, false) {
            // What a macro writes in brackets need not be parameters.
            let parameters = Punctuated::<FnArg, Token![,]>::parse_terminated.parse2(function.parameters);
            let takes_one = |parameter: &FnArg| match parameter {
                FnArg::Typed(typed) => is_taken_apart(&typed.pat) || is_tuple(&typed.ty, &aliases),
                FnArg::Receiver(_) => false,
            };
            if parameters.is_ok_and(|parameters| parameters.iter().any(takes_one)) {
                problems.push(format!("{}:{}: {} takes a tuple", file.path, function.line, function.name));
            }
        }
    }
    problems
}

struct Function {
    name: String,
    line: usize,
    parameters: TokenStream,
}

/// Every function with its parameters, those of bodies and macros too, but none that a trait made elsewhere asks for:
/// `of_trait` says that these tokens are the body of `impl Trait for Type`. A trait of ours is met where it is declared.
fn functions(tokens: TokenStream, of_trait: bool) -> Vec<Function> {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut found = Vec::new();
    let mut is_impl_of_trait = false;
    for (at, token) in tokens.iter().enumerate() {
        match token {
            TokenTree::Ident(word) if word == "impl" => is_impl_of_trait = false,
            TokenTree::Ident(word) if word == "for" => {
                // `for<'a>` begins a bound.
                is_impl_of_trait |= !is_mark(tokens.get(at + 1), '<') && begins_with_impl(&tokens[..at]);
            }
            TokenTree::Ident(word) if word == "fn" && !of_trait => {
                found.extend(function_at(&tokens[at + 1..], word.span().start().line));
            }
            TokenTree::Group(group) => {
                let is_body = is_impl_of_trait && group.delimiter() == Delimiter::Brace;
                found.extend(functions(group.stream(), is_body));
                is_impl_of_trait &= !is_body;
            }
            _ => {}
        }
    }
    found
}

/// Whether the item that these tokens end in is an `impl`.
fn begins_with_impl(tokens: &[TokenTree]) -> bool {
    let ends_item = |token: &TokenTree| match token {
        TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
        token => is_mark(Some(token), ';'),
    };
    let item = tokens.iter().rposition(ends_item).map_or(tokens, |end| &tokens[end + 1..]);
    item.iter().any(|token| matches!(token, TokenTree::Ident(word) if word == "impl"))
}

/// The function whose name stands here: its parameters are in the first brackets outside of `<…>`.
fn function_at(tokens: &[TokenTree], line: usize) -> Option<Function> {
    let Some(TokenTree::Ident(name)) = tokens.first() else { return None };
    let mut depth = 0;
    for at in 1..tokens.len() {
        match &tokens[at] {
            TokenTree::Punct(mark) if mark.as_char() == '<' => depth += 1,
            TokenTree::Punct(mark) if mark.as_char() == '>' && !is_mark(tokens.get(at - 1), '-') => {
                depth -= 1
            }
            TokenTree::Group(group) if depth == 0 && group.delimiter() == Delimiter::Parenthesis => {
                return Some(Function { name: name.to_string(), line, parameters: group.stream() });
            }
            _ => {}
        }
    }
    None
}

/// The names that a file has for tuples: `type Pair = (A, B);`.
fn tuple_aliases(tokens: TokenStream, found: &mut BTreeSet<String>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    for (at, token) in tokens.iter().enumerate() {
        if let TokenTree::Group(group) = token {
            tuple_aliases(group.stream(), found);
        }
        let [TokenTree::Ident(word), TokenTree::Ident(name), rest @ ..] = &tokens[at..] else { continue };
        if word != "type" {
            continue;
        }
        let declared = rest.split(|token| is_mark(Some(token), ';')).next().unwrap_or_default();
        let Some(equals) = declared.iter().position(|token| is_mark(Some(token), '=')) else { continue };
        let stands_for = syn::parse2::<Type>(declared[equals + 1..].iter().cloned().collect());
        if stands_for.is_ok_and(|of| is_tuple(&of, &BTreeSet::new())) {
            found.insert(name.to_string());
        }
    }
}

fn is_taken_apart(pattern: &Pat) -> bool {
    match pattern {
        Pat::Tuple(_) => true,
        Pat::Reference(reference) => is_taken_apart(&reference.pat),
        Pat::Paren(inner) => is_taken_apart(&inner.pat),
        _ => false,
    }
}

/// A tuple, a reference to one, or one that may be missing; `()` is none.
fn is_tuple(of: &Type, aliases: &BTreeSet<String>) -> bool {
    match of {
        Type::Tuple(tuple) => !tuple.elems.is_empty(),
        Type::Reference(reference) => is_tuple(&reference.elem, aliases),
        Type::Paren(inner) => is_tuple(&inner.elem, aliases),
        Type::Path(path) => path.path.segments.last().is_some_and(|last| match &last.arguments {
            PathArguments::AngleBracketed(inner) if last.ident == "Option" => {
                inner.args.iter().any(|inner| match inner {
                    GenericArgument::Type(inner) => is_tuple(inner, aliases),
                    _ => false,
                })
            }
            _ => aliases.contains(&last.ident.to_string()),
        }),
        _ => false,
    }
}

fn is_mark(token: Option<&TokenTree>, mark: char) -> bool {
    matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == mark)
}
