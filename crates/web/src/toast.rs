//! What the next page tells of a form that was just sent: a code and an id in the address, never a text, so that nobody
//! can make our pages say something.

use std::fmt;

use crate::visit::FormFields;

/// The parameter of the address that holds the code; `of` holds what it is about.
const DONE: &str = "done";

/// The path of undoing a change of conversations, which is a job: before and after its id.
const TAKE_BACK: Option<(&str, &str)> = Some(("/bulk/", "/undo"));

macro_rules! toasts {
    ($($name:ident $code:literal $sentence:literal $undo:expr;)*) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Done { $($name),* }

        impl Done {
            const ALL: &[Self] = &[$(Self::$name),*];

            pub fn code(self) -> &'static str {
                match self { $(Self::$name => $code),* }
            }

            pub fn sentence(self) -> &'static str {
                match self { $(Self::$name => $sentence),* }
            }

            /// The form that takes it back: its path before and behind the id.
            fn undo(self) -> Option<(&'static str, &'static str)> {
                match self { $(Self::$name => $undo),* }
            }
        }
    };
}

toasts! {
    Saved "saved" "Saved." None;
    OutOfOfficeEnded "away-ended" "Out of office is off." None;
    LinkRevoked "link-revoked" "Link revoked." None;
    LinkOver "link-over" "The link had already expired." None;
    SecureForAgents "secure-agents" "Saved. Agents read secure words from now on." None;
    SecureForPeople "secure-people" "Saved. Only people read secure words." None;
    InboxMade "inbox-made" "Inbox created. Mail to its address arrives here once the domain’s MX record points to us." None;
    TestSent "test-sent" "We sent you a test email." None;
    TriedOut "tried-out" "A message arrived. Reply to it: nothing is really sent from here." None;
    DomainAdded "domain-added" "Email from this domain is signed from now on. Add the records below to its DNS." None;
    PasswordChanged "password" "Password saved. You’re signed out everywhere else." None;
    SignedOut "signed-out" "Signed out there." None;
    Read "read" "Marked as read." Some(("/conversations/", "/unread"));
    Unread "unread" "Marked as unread." Some(("/conversations/", "/read"));
    Approved "approved" "Approved. Anyone can stop it until it’s sent." Some(("/messages/", "/undo"));
    Discarded "discarded" "Discarded." None;
    TakenOver "taken-over" "It’s yours now. Continue writing below." None;
    NoDraft "no-draft" "Someone already handled this draft." None;
    Outdated "outdated" "Not sent yet: read what’s new first." None;
    Crossed "crossed" "Not sent yet: a colleague changed this draft." None;
    Unconfirmed "unconfirmed" "Not sent yet: the assistant wrote something your team hasn’t written before. Check what’s marked." None;
    RiskUnseen "risk-unseen" "Not sent yet: this may be fraud. Tick the box once you’ve checked it." None;
    Stopped "stopped" "Stopped. It’s a draft again." None;
    TakenBack "taken-back" "Not sent. Your text is back." None;
    TakenBackClosed "taken-back-closed" "Not sent. Your text is back. The conversation is still closed." None;
    SentNow "sent-now" "Sending now." None;
    OnItsWay "on-its-way" "It’s no longer waiting to be sent." None;
    StoppedAlready "stopped-already" "It was already stopped and is a draft." None;
    TooLate "too-late" "Too late to stop." None;
    SentAgain "sent-again" "Resent. Anyone can stop it until it’s sent." Some(("/messages/", "/undo"));
    AgainAlready "again-already" "Someone already sent it again." None;
    NotFailed "not-failed" "Not resent: it didn’t fail." None;
    TimeChanged "time-changed" "Rescheduled." Some(("/messages/", "/undo"));
    TimeCrossed "time-crossed" "Not changed: a teammate rescheduled it meanwhile." None;
    TimeTooLate "time-too-late" "Not changed: it was already sent or stopped." None;
    Closed "closed" "Closed." TAKE_BACK;
    Opened "opened" "Open again." TAKE_BACK;
    Waiting "waiting" "Waiting on the customer." TAKE_BACK;
    Assigned "assigned" "Assigned." TAKE_BACK;
    Unassigned "unassigned" "Unassigned." TAKE_BACK;
    Tagged "tagged" "Tagged." TAKE_BACK;
    Untagged "untagged" "Tag removed." TAKE_BACK;
    Snoozed "snoozed" "Snoozed." TAKE_BACK;
    ManyRead "many-read" "Marked as read." TAKE_BACK;
    Undone "undone" "Undone." None;
    TagUndone "tag-undone" "Tag removed. What rules did because of it stays." None;
    NotUndone "not-undone" "Not undone: something happened since." None;
    Merged "merged" "Merged into one conversation." None;
    MovedToInbox "moved" "Moved to the other inbox. Replies are sent from there." None;
    Released "released" "Marked as not a scam." None;
    Sends "sends" "Sending. You can undo it until it’s sent." Some(("/messages/", "/undo"));
    SentAndClosed "sent-closed" "Sending, and closed." Some(("/messages/", "/undo"));
    SendsLater "later" "Scheduled." Some(("/messages/", "/undo"));
    Noted "noted" "Note added." None;
    Follows "follows" "You’re following this conversation." None;
    FollowsNot "follows-not" "You’re no longer following this. You’ll be notified if someone mentions you." None;
    DraftGone "draft-gone" "Draft discarded." Some(("/drafts/", "/restore"));
    KeyRevoked "key-revoked" "Key revoked." None;
    AgentsStopped "agents-stopped" "Every agent is stopped." Some(("/settings/agents/", ""));
    AgentsStoppedBut "agents-stopped-but" "Every agent is stopped. Something was already being handed to the mail server and may still arrive." Some(("/settings/agents/", ""));
    AgentsStarted "agents-started" "Agents are running again." None;
    AssistantsStopped "assistants-stopped" "Assistants stopped. Their drafts are still waiting for approval." None;
    AssistantsStarted "assistants-started" "Assistants are running again." None;
    AssistantsDiscarded "assistants-discarded" "All of the assistant’s drafts were discarded." None;
    Agreed "agreed" "Saved. Only mail of the inboxes you chose is shown to this model." None;
    Corrected "corrected" "Saved." None;
    WebhookPaused "webhook-paused" "Paused. Nothing is sent to it." None;
    WebhookResumed "webhook-resumed" "Resumed. It receives events from now on." None;
    WebhookTested "webhook-tested" "Test sent." None;
    WebhookAddress "webhook-address" "The new address is used from now on." None;
    WebhookRemoved "webhook-removed" "Webhook removed." None;
    ServiceConnected "service-connected" "Connected. Set the service up as below, and enter its key." None;
    ServiceKeyEntered "service-key" "The key is kept. Reports signed with it are accepted from now on." None;
    ServicePaused "service-paused" "Paused. Its reports are refused." None;
    ServiceResumed "service-resumed" "Resumed. Its reports are accepted again." None;
    ServiceOldSecretEnded "service-old-secret-ended" "The old secret has expired. Only the new one is valid." None;
    ServiceDisconnected "service-disconnected" "The service is disconnected." None;
    OldSecretEnded "old-secret-ended" "The old secret has expired. Only the new one signs." None;
    Redelivered "redelivered" "Resent." None;
    RedeliveredMany "redelivered-many" "Failed deliveries are being sent again." None;
    RedeliveringAlready "redelivering-already" "Failed deliveries are already being sent again. Try again when that’s done." None;
    Simulated "simulated" "The email arrived." None;
    Invited "invited" "Invitation sent." None;
    InvitationGone "invitation-gone" "Invitation withdrawn." None;
    PersonRemoved "removed" "Removed. Their work is being handed over." None;
    SecondFactorOff "second-factor-off" "Two-step verification is off." None;
    SecondFactorRequired "second-factor-required" "Two-step verification is now required for everyone." None;
    SecondFactorOptional "second-factor-optional" "Two-step verification is optional again." None;
    RolesSaved "roles" "Roles saved." None;
    AuditSound "audit-sound" "All entries verified." None;
    HealthRight "health-right" "All checks passed." None;
    HealthWrong "health-wrong" "Some checks failed. See below." None;
    AuditBroken "audit-broken" "Verification failed. See below." None;
    ErasureBegun "erasure-begun" "Erasing. This page shows when it’s done." None;
    ConversationDeleted "conversation-deleted" "Conversation permanently deleted." None;
    ExportBegun "export-begun" "Preparing the export. This page shows when it’s ready." None;
    ExportEnded "export-ended" "Export removed." None;
    RetentionSaved "retention" "Saved. A shorter period takes effect in a day." None;
    BroughtBack "brought-back" "Restored from the trash and open again." None;
    HoldPlaced "hold-placed" "Hold placed." None;
    HoldEnded "hold-ended" "Hold ended." None;
    ViewSaved "view-saved" "Saved to your sidebar." None;
    ViewGone "view-gone" "View removed." None;
    RuleSaved "rule-saved" "Saved. It applies to new mail." None;
    RuleOn "rule-on" "The rule is on." None;
    RuleOff "rule-off" "The rule is off." None;
    RuleRemoved "rule-removed" "Rule removed." None;
    SsoConnected "sso" "Provider connected. Try it before you rely on it." None;
    SsoDisconnected "sso-off" "The provider is disconnected. Other ways to sign in are open." None;
    SsoRequired "sso-only" "From now on everybody signs in by single sign-on only." None;
    SsoOptional "sso-optional" "Other ways to sign in are open again." None;
    SsoForgotten "sso-forgotten" "Disconnected. Their next sign-in with that address counts as the first." None;
    PasskeyAdded "passkey" "Passkey added. You can sign in with it next time." None;
    PasskeyRenamed "passkey-named" "Passkey renamed." None;
    PasskeyRemoved "passkey-gone" "Passkey removed." None;
    ReadSoon "read-soon" "It will be read again in a moment." None;
    DocumentTicked "document-ticked" "Ticked off." None;
    DocumentAccepted "document-accepted" "Accepted." None;
    DocumentBack "document-back" "Undone." None;
    AskedAgain "asked-again" "Asking again. Anyone can stop the email until it’s sent." Some(("/messages/", "/undo"));
    RequestExtended "request-extended" "The customer has more time." None;
    RequestCancelled "request-cancelled" "Cancelled. The link no longer works." None;
    BookingTypeSaved "booking-type" "Saved." None;
    BookingTypePaused "booking-type-paused" "Paused. Its page offers no times." None;
    BookingTypeResumed "booking-type-resumed" "It can be booked again." None;
    BookingTypeRemoved "booking-type-removed" "Booking type removed. Existing bookings stay." None;
    BookingCancelled "booking-cancelled" "Cancelled. The visitor is notified by email." None;
    CalendarConnected "calendar" "Calendar connected. It will be read in a moment." None;
    CalendarDisconnected "calendar-off" "The calendar is disconnected." None;
    SavedReplyGone "saved-reply-gone" "Saved reply removed." None;
}

/// Something that was done, and what to.
#[derive(Clone, Debug)]
pub struct Toast {
    pub done: Done,
    /// An id. It is only ever shown inside the address of a form.
    of: String,
}

impl Toast {
    pub fn new(done: Done, of: impl fmt::Display) -> Self {
        Self { done, of: of.to_string() }
    }

    /// What the address of a page says was done.
    pub fn read(query: &FormFields) -> Option<Self> {
        let code = query.get(DONE)?;
        let done = *Done::ALL.iter().find(|done| done.code() == code)?;
        let of = query.get("of").unwrap_or_default();
        let is_id = of.len() <= 40 && of.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        Some(Self { done, of: if is_id { of.to_owned() } else { String::new() } })
    }

    /// Where a form that takes it back goes.
    pub fn undo(&self) -> Option<String> {
        let (before, behind) = self.done.undo().filter(|_| !self.of.is_empty())?;
        Some(format!("{before}{}{behind}", self.of))
    }

    /// Whether it offers to take back a mail that its reader has just sent, which is soon too late.
    pub fn is_of_own_mail(&self) -> bool {
        matches!(self.done, Done::Sends | Done::SentAndClosed) && self.undo().is_some()
    }
}

/// As the address has it.
impl fmt::Display for Toast {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{DONE}={}&of={}", self.done.code(), self.of)
    }
}
