//! Keeps a loop going, whatever happens in it: an error or a panic is said and counted, and the loop begins again, after
//! a panic later and later. Each loop has a task of its own, so none waits for another.

use std::future::Future;
use std::time::Duration;

use rookery_base::due::backoff::{Backoff, caught};
use rookery_base::error::Result;
use rookery_base::shutdown::Stop;

/// The pause after the first failure. After a panic it is doubled each time, this often at most.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const DOUBLED: u32 = 6;

/// Makes one pass after the other until the word to stop. A pass says how long to pause after it.
pub async fn supervise<P: Future<Output = Result<Duration>>>(
    name: &'static str,
    put_off: &Backoff,
    stop: &Stop,
    mut pass: impl FnMut() -> P,
) {
    let mut panics = 0;
    while !stop.is_told() {
        let pause = match caught(pass()).await {
            Ok(pause) => {
                panics = 0;
                pause
            }
            Err(error) => {
                put_off.count(&error);
                if error.is_panic() {
                    let pause = FIRST_PAUSE * (1 << panics.min(DOUBLED));
                    panics += 1;
                    tracing::error!(work = name, ?pause, "a loop panicked and begins again");
                    pause
                } else {
                    tracing::warn!(%error, work = name, "a loop failed and will try again");
                    FIRST_PAUSE
                }
            }
        };
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = stop.wait() => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;
    use rookery_base::due::backoff::{BackoffCounts, Loops};
    use rookery_base::error::Error;

    const PAUSE: Duration = Duration::from_millis(10);

    #[tokio::test]
    async fn a_loop_that_panics_begins_again_later_and_later_and_no_other_loop_waits_for_it() {
        let (loops, stop) = (Loops::default(), Stop::not_yet());
        let (bad, good) = (loops.backoff_of("bad"), loops.backoff_of("good"));
        let began = Instant::now();
        let mut passes = Vec::new();
        let panics = supervise("bad", &bad, &stop, || {
            passes.push(began.elapsed());
            let is_last = passes.len() == 3;
            let stop = stop.clone();
            async move {
                assert!(is_last, "a panic on purpose");
                stop.tell();
                Ok(PAUSE)
            }
        });
        let mut served = 0;
        let goes_on = supervise("good", &good, &stop, || {
            served += 1;
            async { Ok(PAUSE) }
        });
        futures::join!(panics, goes_on);
        let pauses = [passes[1] - passes[0], passes[2] - passes[1]];
        assert!(pauses[0] >= FIRST_PAUSE && pauses[1] >= 2 * FIRST_PAUSE, "{pauses:?}");
        assert!(served >= 10, "the other made {served} passes");
        assert_eq!(bad.counted(), BackoffCounts { errors: 0, panics: 2, put_off: 0 });
        assert_eq!(good.counted(), BackoffCounts::default());
    }

    #[tokio::test]
    async fn a_loop_that_fails_is_counted_and_tries_again() {
        let (loops, stop) = (Loops::default(), Stop::not_yet());
        let put_off = loops.backoff_of("bad");
        let mut passes = 0;
        supervise("bad", &put_off, &stop, || {
            passes += 1;
            if passes == 2 {
                stop.tell();
            }
            async { Err(Error::internal("no")) }
        })
        .await;
        assert_eq!(put_off.counted(), BackoffCounts { errors: 2, panics: 0, put_off: 0 });
    }
}
