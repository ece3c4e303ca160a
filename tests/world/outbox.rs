//! A fake mailer for live mail: it keeps what it is handed and answers as configured. It replaces a relay only
//! because these tests move the clock; the relay itself is tested with real SMTP peers.

use std::sync::{Mutex, PoisonError};

use futures::future::BoxFuture;
use rookery_base::error::Result;
use rookery_base::relay::mailer::{FinalMail, Handover, Mailer, OutgoingLetter};

pub struct Outbox {
    letters: Mutex<Vec<OutgoingLetter>>,
    mails: Mutex<Vec<FinalMail>>,
    answer: Mutex<Handover>,
}

impl Default for Outbox {
    fn default() -> Self {
        Self { letters: Mutex::default(), mails: Mutex::default(), answer: Mutex::new(Handover::Accepted) }
    }
}

impl Outbox {
    /// Everything that was handed over, oldest first.
    pub fn letters(&self) -> Vec<OutgoingLetter> {
        self.letters.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The same as they would go over the wire.
    pub fn mails(&self) -> Vec<FinalMail> {
        self.mails.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Sets how it answers from now on.
    pub fn answers(&self, handover: Handover) {
        *self.answer.lock().unwrap_or_else(PoisonError::into_inner) = handover;
    }
}

impl Mailer for Outbox {
    fn hand_over<'a>(
        &'a self,
        letter: &'a OutgoingLetter,
        mail: &'a FinalMail,
    ) -> BoxFuture<'a, Result<Handover>> {
        self.mails.lock().unwrap_or_else(PoisonError::into_inner).push(mail.clone());
        self.letters.lock().unwrap_or_else(PoisonError::into_inner).push(letter.clone());
        let answer = *self.answer.lock().unwrap_or_else(PoisonError::into_inner);
        Box::pin(async move { Ok(answer) })
    }
}
