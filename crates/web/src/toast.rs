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
    LinkRevoked "link-revoked" "The link is taken back. It opens nothing any more." None;
    LinkOver "link-over" "The link had ended already." None;
    SecureForAgents "secure-agents" "Saved. Agents read secure words from now on." None;
    SecureForPeople "secure-people" "Saved. Only people read secure words." None;
    InboxMade "inbox-made" "The inbox is there. Mail to its address comes here once the domain's MX row leads to us." None;
    TestSent "test-sent" "A test mail is on its way to you." None;
    TriedOut "tried-out" "A mail came in. Answer it: nothing leaves from here." None;
    DomainAdded "domain-added" "Mail from this domain is signed from now on. Put the rows below into its DNS." None;
    PasswordChanged "password" "The password is set. Everywhere else you are signed out." None;
    SignedOut "signed-out" "Signed out there." None;
    Read "read" "Marked as read." Some(("/conversations/", "/unread"));
    Unread "unread" "Marked as unread." Some(("/conversations/", "/read"));
    Approved "approved" "Approved. It leaves when its undo time is over." Some(("/messages/", "/undo"));
    Discarded "discarded" "Discarded." None;
    TakenOver "taken-over" "It is yours now. Write on below." None;
    NoDraft "no-draft" "Somebody was quicker: it is no draft any more." None;
    Outdated "outdated" "Not sent yet: read what is new first." None;
    Crossed "crossed" "Not sent yet: a colleague changed this draft." None;
    Unconfirmed "unconfirmed" "Not sent yet: the assistant wrote something that the team has not written before. Look at what is marked." None;
    RiskUnseen "risk-unseen" "Not sent yet: this conversation may be a fraud. Tick that you have checked it." None;
    Stopped "stopped" "Stopped. It is a draft again." None;
    TakenBack "taken-back" "Not sent. Here are your words again." None;
    SentNow "sent-now" "On its way." None;
    OnItsWay "on-its-way" "It is on its way already." None;
    StoppedAlready "stopped-already" "It was stopped already and is a draft." None;
    TooLate "too-late" "Too late to stop: it is already on its way." None;
    SentAgain "sent-again" "Sent again. Anyone can stop it until it leaves." Some(("/messages/", "/undo"));
    AgainAlready "again-already" "Somebody was quicker: it was sent again already." None;
    NotFailed "not-failed" "Not sent again: it has not failed." None;
    TimeChanged "time-changed" "It leaves at the new time." Some(("/messages/", "/undo"));
    TimeCrossed "time-crossed" "Not changed: a colleague gave it another time meanwhile. Look again." None;
    TimeTooLate "time-too-late" "Not changed: it is on its way already, or was stopped." None;
    Closed "closed" "Closed." TAKE_BACK;
    Opened "opened" "Open again." TAKE_BACK;
    Waiting "waiting" "Waiting on the customer." TAKE_BACK;
    Assigned "assigned" "Assigned." TAKE_BACK;
    Unassigned "unassigned" "Assigned to nobody." TAKE_BACK;
    Tagged "tagged" "Tagged." TAKE_BACK;
    Untagged "untagged" "Tag removed." TAKE_BACK;
    Snoozed "snoozed" "Snoozed." TAKE_BACK;
    ManyRead "many-read" "Marked as read." TAKE_BACK;
    Undone "undone" "Undone." None;
    TagUndone "tag-undone" "The tag is off again. What rules did because of it stays." None;
    NotUndone "not-undone" "Something happened since, so it stays as it is." None;
    Merged "merged" "Merged into one conversation." None;
    Released "released" "Released: it is no scam." None;
    Sends "sends" "On its way. Anyone can stop it until it leaves." Some(("/messages/", "/undo"));
    SentAndClosed "sent-closed" "On its way, and closed." Some(("/messages/", "/undo"));
    SendsLater "later" "It leaves at the time you chose." Some(("/messages/", "/undo"));
    Noted "noted" "Note added." None;
    Follows "follows" "You are told of what happens here." None;
    FollowsNot "follows-not" "You are told of nothing more here, unless somebody mentions you." None;
    DraftGone "draft-gone" "Draft thrown away." Some(("/drafts/", "/restore"));
    KeyRevoked "key-revoked" "Revoked. The key does not work any more." None;
    AgentsStopped "agents-stopped" "Every agent is stopped." Some(("/settings/agents/", ""));
    AgentsStoppedBut "agents-stopped-but" "Every agent is stopped. Something was already being handed to the mail server and may still arrive." Some(("/settings/agents/", ""));
    AgentsStarted "agents-started" "The agents work again." None;
    AssistantsStopped "assistants-stopped" "The assistants are stopped. What they have drafted still waits." None;
    AssistantsStarted "assistants-started" "The assistants work again." None;
    AssistantsDiscarded "assistants-discarded" "All drafts of the assistant are thrown away." None;
    Agreed "agreed" "Saved. Only mail of the inboxes you chose is shown to this model." None;
    Corrected "corrected" "Noted. It stays as you said." None;
    WebhookPaused "webhook-paused" "Paused. Nothing is sent to it." None;
    WebhookResumed "webhook-resumed" "Resumed. It hears what happens from now on." None;
    WebhookTested "webhook-tested" "A test is on its way." None;
    WebhookAddress "webhook-address" "The new address is used from now on." None;
    WebhookRemoved "webhook-removed" "The webhook is removed." None;
    ServiceConnected "service-connected" "Connected. Set the service up as below, and enter its key." None;
    ServiceKeyEntered "service-key" "The key is kept. Reports that are signed with it are taken from now on." None;
    ServicePaused "service-paused" "Paused. Its reports are turned away." None;
    ServiceResumed "service-resumed" "Resumed. Its reports are taken again." None;
    ServiceOldSecretEnded "service-old-secret-ended" "The old secret has ended. Only the new one is good." None;
    ServiceDisconnected "service-disconnected" "The service is disconnected." None;
    OldSecretEnded "old-secret-ended" "The old secret has ended. Only the new one signs." None;
    Redelivered "redelivered" "On its way once more." None;
    RedeliveredMany "redelivered-many" "What failed is looked for and sent again." None;
    RedeliveringAlready "redelivering-already" "What failed is being sent again already. Ask anew when that is done." None;
    Simulated "simulated" "The mail was taken in." None;
    Invited "invited" "Invited. The mail is on its way." None;
    InvitationGone "invitation-gone" "Withdrawn. Its link opens nothing any more." None;
    PersonRemoved "removed" "Removed. Their work is being handed over." None;
    SecondFactorOff "second-factor-off" "The second factor is off." None;
    SecondFactorRequired "second-factor-required" "Everybody needs a second factor from now on." None;
    SecondFactorOptional "second-factor-optional" "A second factor is everybody’s own choice again." None;
    RolesSaved "roles" "Roles saved." None;
    AuditSound "audit-sound" "Every entry was checked: all are as they were written." None;
    HealthRight "health-right" "Everything is as it should be." None;
    HealthWrong "health-wrong" "Something is not as it should be. The page says what." None;
    AuditBroken "audit-broken" "The chain is broken. The page says where." None;
    ErasureBegun "erasure-begun" "It is being erased. This page tells when it is done." None;
    ConversationDeleted "conversation-deleted" "The conversation is deleted for good." None;
    ExportBegun "export-begun" "The export is being made. This page tells when it is ready." None;
    ExportEnded "export-ended" "The export is ended, and its file removed." None;
    RetentionSaved "retention" "Saved. A shorter time begins to count in a day." None;
    BroughtBack "brought-back" "It is open again, and out of the trash." None;
    HoldPlaced "hold-placed" "The hold stands. What it covers stays." None;
    HoldEnded "hold-ended" "The hold has ended." None;
    ViewSaved "view-saved" "Saved. It stands in your side bar." None;
    ViewGone "view-gone" "The view is removed." None;
    RuleSaved "rule-saved" "Saved. It acts from the next mail on." None;
    RuleOn "rule-on" "The rule is on." None;
    RuleOff "rule-off" "The rule is off." None;
    RuleRemoved "rule-removed" "The rule is removed." None;
    SsoConnected "sso" "The provider is connected. Try it before you rely on it." None;
    SsoDisconnected "sso-off" "The provider is disconnected. Other ways to sign in are open." None;
    SsoRequired "sso-only" "From now on everybody signs in by single sign-on only." None;
    SsoOptional "sso-optional" "Other ways to sign in are open again." None;
    SsoForgotten "sso-forgotten" "Forgotten. Their next sign-in with that address counts as the first." None;
    PasskeyAdded "passkey" "The passkey is there. Next time, sign in with it." None;
    PasskeyRenamed "passkey-named" "The passkey has a new name." None;
    PasskeyRemoved "passkey-gone" "The passkey is removed." None;
    ReadSoon "read-soon" "It is read again within moments." None;
    DocumentTicked "document-ticked" "Ticked off." None;
    DocumentAccepted "document-accepted" "Accepted." None;
    DocumentBack "document-back" "Taken back." None;
    AskedAgain "asked-again" "The customer is asked again. Anyone can stop the mail until it leaves." Some(("/messages/", "/undo"));
    RequestExtended "request-extended" "The customer has more time." None;
    RequestCancelled "request-cancelled" "Cancelled. The link has ended, and nobody is reminded." None;
    BookingTypeSaved "booking-type" "Saved. Its page shows it from now on." None;
    BookingTypePaused "booking-type-paused" "Paused. Its page offers no times." None;
    BookingTypeResumed "booking-type-resumed" "It can be booked again." None;
    BookingTypeRemoved "booking-type-removed" "The booking type is removed. What is booked stands." None;
    BookingCancelled "booking-cancelled" "Cancelled. The visitor is told by mail." None;
    CalendarConnected "calendar" "The calendar is connected. It is read within moments." None;
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
}

/// As the address has it.
impl fmt::Display for Toast {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{DONE}={}&of={}", self.done.code(), self.of)
    }
}
