//! Customers who do not exist, for the inbox that is there to be tried: one press writes one of their mails.
//! The third is what the scam check is for.

use rookery_mail::sandbox::try_it::TrialMail;

pub struct Sample {
    pub id: &'static str,
    pub name: &'static str,
    pub subject: &'static str,
    text: &'static str,
    is_forged: bool,
}

pub const SAMPLES: [Sample; 3] = [
    Sample {
        id: "question",
        name: "Priya Raman",
        subject: "Question about my last invoice",
        text: "Hello,\n\nthe invoice of this month is 40 euros higher than the one before, and I cannot see why. \
               Could you have a look?\n\nThank you\nPriya",
        is_forged: false,
    },
    Sample {
        id: "call",
        name: "Tom Okafor",
        subject: "Can we move Thursday’s call?",
        text: "Hi,\n\nsomething came up. Would Friday at ten work for you instead of Thursday?\n\nTom",
        is_forged: false,
    },
    Sample {
        id: "scam",
        name: "Mailbox Support",
        subject: "URGENT: verify your mailbox password",
        text: "Dear user,\n\nyour mailbox will be closed within 24 hours. Verify your password immediately:\n\n\
               http://mailbox-verify.test/login\n\nIT support",
        is_forged: true,
    },
];

impl Sample {
    pub fn find(id: &str) -> Option<&'static Self> {
        SAMPLES.iter().find(|sample| sample.id == id)
    }

    pub fn mail(&self) -> TrialMail {
        TrialMail {
            name: self.name.to_owned(),
            subject: self.subject.to_owned(),
            text: self.text.to_owned(),
            is_forged: self.is_forged,
        }
    }
}
