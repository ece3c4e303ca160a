//! A span around each stage that a mail goes through, by which `just bench-mail` tells what the stages cost. Spans are of the
//! level `trace`: where nobody listens, one costs a comparison.

use tracing::Span;
use tracing::instrument::{Instrument, Instrumented};

pub fn stage<W: Future>(name: &'static str, work: W) -> Instrumented<W> {
    work.instrument(span(name))
}

/// The same for work that never waits.
pub fn at_once<T>(name: &'static str, work: impl FnOnce() -> T) -> T {
    span(name).in_scope(work)
}

fn span(name: &'static str) -> Span {
    tracing::trace_span!("stage", stage = name)
}
