"""Made by clients/generate from the OpenAPI document. Do not edit."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypeAlias, TypedDict


class Error(TypedDict):
    """
    What went wrong, as a sentence for people. Programs go by the status code.
    """

    error: str


class Agent(TypedDict):
    id: str
    name: str


Scope: TypeAlias = Literal['read', 'write', 'draft', 'send', 'record', 'webhooks']


class Limits(TypedDict):
    """
    How much the agent may write in a day of the workspace's zone. Null is no limit of its own.
    """

    sendsADay: int | None
    draftsADay: int | None
    messagesADay: int | None


class AgentCall(TypedDict):
    at: str
    did: str
    operation: str | None
    status: int
    times: int
    conversationId: str | None
    documentId: str | None
    reason: str | None


Status: TypeAlias = Literal['open', 'waiting', 'closed']


class Contact(TypedDict):
    name: str | None
    email: str | None


class Assignee(TypedDict):
    id: str
    name: str
    type: Literal['user', 'agent']


class Note(TypedDict):
    type: Literal['note']
    id: str
    at: str
    author: str
    body: str


class TimelineEvent(TypedDict):
    """
    Something that happened. New names may be added.
    """

    type: Literal['event']
    at: str
    actor: str
    event: str
    data: dict[str, Any]


class Sender(TypedDict):
    name: str | None
    email: str


class Attachment(TypedDict):
    filename: str
    contentType: str
    size: int
    documentId: NotRequired[str]


Away = TypedDict(
    'Away',
    {
        'from': str,
        'until': str,
    },
)


class AppSent(TypedDict):
    """
    The email the app sent, when it was recorded.
    """

    messageId: str
    reference: NotRequired[str]
    to: list[str]
    subject: str
    sentAt: str
    text: str | None


class Done(TypedDict):
    """
    `{"ok": true}`: it is done, and there is nothing more to say.
    """

    ok: bool


class ChangeResult(TypedDict):
    """
    What came of one conversation.
    """

    id: str
    ok: bool
    status: NotRequired[int]
    error: NotRequired[str]


class Written(TypedDict):
    """
    What became of a reply or a document request.
    """

    messageId: str
    status: Literal['draft', 'scheduled']
    sendsAt: NotRequired[str]
    requestId: NotRequired[str]
    to: list[str]
    note: str


class KnownContact(TypedDict):
    id: str
    email: str
    name: str | None


class Mailbox(TypedDict):
    id: str
    address: str
    name: str
    open: int


class Tag(TypedDict):
    id: str
    name: str
    count: int


class BookingHost(TypedDict):
    id: str
    name: str


class UpcomingBooking(TypedDict):
    id: str
    bookingTypeId: str
    hostUserId: str
    conversationId: str | None
    startsAt: str
    endsAt: str
    rsvp: str | None


class OfferedTimes(TypedDict):
    url: str


class DocumentFields(TypedDict):
    """
    What the reading helper found. Every key may be missing.
    """

    vendor: NotRequired[str | None]
    amount: NotRequired[float | None]
    currency: NotRequired[str | None]
    date: NotRequired[str | None]
    dueDate: NotRequired[str | None]
    reference: NotRequired[str | None]


class FieldSource(TypedDict):
    field: str
    page: int | None
    line: int | None
    text: str | None


class DocumentDownload(TypedDict):
    url: str
    endsAt: str
    filename: str
    size: int


class Simulated(TypedDict):
    ok: bool
    conversationId: str
    messageId: str


class RequestedDocument(TypedDict):
    label: str
    required: bool
    state: str


class ApprovedDraft(TypedDict):
    messageId: str
    sendsAt: str


class AdvancedSandbox(TypedDict):
    """
    How many of each are due earlier now.
    """

    messages: int
    documentRequests: int
    snoozed: int
    answers: int
    deliveries: int


class SandboxEvents(TypedDict):
    events: list[dict[str, Any]]
    next: str


class EventPage(TypedDict):
    events: list[dict[str, Any]]
    next: str


class Webhook(TypedDict):
    id: str
    url: str
    livemode: bool
    scope: Literal['team', 'private']
    events: list[str] | None
    state: Literal['active', 'paused', 'off']
    failingSince: str | None
    createdAt: str
    oldSecretUntil: NotRequired[str]


class WebhookWithSecret(TypedDict):
    """
    A webhook whose secret was just made.
    """

    webhook: Webhook
    secret: str


class SentTest(TypedDict):
    eventId: str


class DeliveryTry(TypedDict):
    """
    A request to the webhook's address.
    """

    at: str
    duration: int
    status: NotRequired[int]
    error: NotRequired[str]
    answer: NotRequired[str]
    signature: NotRequired[str]


class NewNote(TypedDict):
    body: str
    dryRun: NotRequired[bool | None]


class NewStatus(TypedDict):
    status: Status
    dryRun: NotRequired[bool | None]


AddItem: TypeAlias = str


RemoveItem: TypeAlias = str


class TagChange(TypedDict):
    add: NotRequired[list[AddItem] | None]
    remove: NotRequired[list[RemoveItem] | None]
    dryRun: NotRequired[bool | None]


class NewAssignee(TypedDict):
    to: str
    dryRun: NotRequired[bool | None]


Id: TypeAlias = str


class ConversationChanges(TypedDict):
    ids: list[Id]
    status: NotRequired[Status | None]
    add: NotRequired[list[AddItem] | None]
    remove: NotRequired[list[RemoveItem] | None]
    to: NotRequired[str | None]
    dryRun: NotRequired[bool | None]


class AskedDocument(TypedDict):
    """
    A document that is asked for.
    """

    label: str
    description: NotRequired[str | None]
    required: NotRequired[bool | None]


class AttachedFile1(TypedDict):
    """
    A file that goes with a mail: a document that the key can see, by `documentId` alone; or one of your own, with `filename`,
    `contentType` and `content`.
    """

    documentId: str | None
    filename: NotRequired[Any]
    contentType: NotRequired[Any]
    content: NotRequired[Any]


class AttachedFile2(TypedDict):
    """
    A file that goes with a mail: a document that the key can see, by `documentId` alone; or one of your own, with `filename`,
    `contentType` and `content`.
    """

    documentId: NotRequired[Any]
    filename: str | None
    contentType: str | None
    content: str | None


AttachedFile: TypeAlias = AttachedFile1 | AttachedFile2


class NewDocumentRequest(TypedDict):
    documents: list[AskedDocument]
    message: NotRequired[str | None]
    dueDate: NotRequired[str | None]
    language: NotRequired[Literal['en', 'de', 'fr', 'es', 'it', 'nl', 'pt'] | None]
    send: NotRequired[bool | None]
    dryRun: NotRequired[bool | None]


class NewOffer(TypedDict):
    bookingTypeId: str
    dryRun: NotRequired[bool | None]


ToItem: TypeAlias = str


class SentMail(TypedDict):
    messageId: str
    reference: str
    to: list[ToItem]
    subject: str
    text: NotRequired[str | None]
    html: NotRequired[str | None]
    dryRun: NotRequired[bool | None]


class SimulatedFile(TypedDict):
    filename: str
    contentType: str
    content: str


class SimulatedDecision(TypedDict):
    decision: Literal['tick-off', 'accept', 'ask-again', 'put-back', 'extend', 'cancel']
    item: NotRequired[int | None]
    reason: NotRequired[Literal['unreadable', 'incomplete', 'wrong'] | None]
    message: NotRequired[str | None]
    dueDate: NotRequired[str | None]
    linkEnds: NotRequired[str | None]
    dryRun: NotRequired[bool | None]


class SimulatedApproval(TypedDict):
    body: NotRequired[str | None]
    dryRun: NotRequired[bool | None]


class PassedTime(TypedDict):
    seconds: int
    dryRun: NotRequired[bool | None]


class NewWebhook(TypedDict):
    url: str
    events: NotRequired[list[Literal['ask.completed', 'client.replied', 'conversation.assigned', 'turn.changed', 'draft.approved', 'message.sent', 'booking.created', 'booking.cancelled', 'scout.held', 'webhook.test']] | None]
    scope: NotRequired[Literal['team', 'private'] | None]
    dryRun: NotRequired[bool | None]


class EventToRedeliver(TypedDict):
    eventId: str
    dryRun: NotRequired[bool | None]


class AskCompleted(TypedDict):
    """
    Everything asked of a client is in.
    """

    ask_id: str
    kind: Literal['documents']
    conversation_id: str
    summary: str
    url: NotRequired[str]


class ClientReplied(TypedDict):
    """
    Someone wrote back on a conversation.
    """

    conversation_id: str
    message_id: str
    mailbox_id: str
    secure: bool
    reference: NotRequired[str | None]
    summary: str
    url: NotRequired[str]


class EventAssignee1(TypedDict):
    type: Literal['user']
    id: str
    name: str | None


class EventAssignee2(TypedDict):
    type: Literal['agent']
    id: str
    name: str | None


EventAssignee: TypeAlias = EventAssignee1 | EventAssignee2


class Doer1(TypedDict):
    """
    Who did it. The service itself has no id.
    """

    type: Literal['user']
    id: str | None
    name: str


class Doer2(TypedDict):
    """
    Who did it. The service itself has no id.
    """

    type: Literal['agent']
    id: str | None
    name: str


class Doer3(TypedDict):
    """
    Who did it. The service itself has no id.
    """

    type: Literal['system']
    id: str | None
    name: str


Doer: TypeAlias = Doer1 | Doer2 | Doer3


Turn: TypeAlias = Literal['ours', 'theirs', 'done']


class Drafter(TypedDict):
    """
    Who wrote a draft; both null for the drafting helper.
    """

    type: Literal['user', 'agent'] | None
    id: str | None


class Author(TypedDict):
    type: Literal['user', 'agent']
    id: str | None


class Booking(TypedDict):
    """
    Someone booked a time, or a booking was cancelled.
    """

    booking_id: str
    booking_type_id: str
    host_user_id: str
    conversation_id: str | None
    starts_at: str
    ends_at: str
    summary: str
    url: NotRequired[str]


class ScoutHeld(TypedDict):
    """
    A likely scam was held.
    """

    conversation_id: str
    summary: str
    url: NotRequired[str]


class WebhookTest(TypedDict):
    """
    "Send test event" was pressed on a webhook's page.
    """

    endpoint_id: str
    summary: str
    url: NotRequired[str]


class AskCompletedEvent(TypedDict):
    id: str
    type: Literal['ask.completed']
    version: Literal[1]
    created_at: str
    workspace: str
    livemode: bool
    data: AskCompleted


class ClientRepliedEvent(TypedDict):
    id: str
    type: Literal['client.replied']
    version: Literal[1]
    created_at: str
    workspace: str
    livemode: bool
    data: ClientReplied


class BookingCreatedEvent(TypedDict):
    id: str
    type: Literal['booking.created']
    version: Literal[1]
    created_at: str
    workspace: str
    livemode: bool
    data: Booking


class BookingCancelledEvent(TypedDict):
    id: str
    type: Literal['booking.cancelled']
    version: Literal[1]
    created_at: str
    workspace: str
    livemode: bool
    data: Booking


class ScoutHeldEvent(TypedDict):
    id: str
    type: Literal['scout.held']
    version: Literal[1]
    created_at: str
    workspace: str
    livemode: bool
    data: ScoutHeld


class WebhookTestEvent(TypedDict):
    id: str
    type: Literal['webhook.test']
    version: Literal[1]
    created_at: str
    workspace: str
    livemode: bool
    data: WebhookTest


class Me(TypedDict):
    agent: Agent
    scopes: list[Scope]
    livemode: bool
    limits: Limits


class AgentDay(TypedDict):
    agent: Agent
    date: str
    zone: str
    reads: int
    writes: int
    refused: int
    capped: bool
    sends: int
    drafts: int
    limits: Limits
    left: Limits
    calls: list[AgentCall]


class ConversationSummary(TypedDict):
    id: str
    subject: str
    snippet: str
    status: Status
    contact: Contact
    mailbox: str
    lastMessageAt: str
    messageCount: int
    assignee: Assignee | None
    tags: list[str]
    topic: str | None
    urgency: str | None
    risk: str | None
    reference: NotRequired[str]


Message = TypedDict(
    'Message',
    {
        'type': Literal['message'],
        'id': str,
        'at': str,
        'direction': str,
        'from': Sender,
        'status': str | None,
        'text': str,
        'attachments': list[Attachment],
        'to': NotRequired[list[str]],
        'cc': NotRequired[list[str]],
        'senderConfirmed': NotRequired[bool],
        'secure': bool,
    },
)


class TeamMember(TypedDict):
    id: str
    name: str
    away: NotRequired[Away]


class ChangedConversations(TypedDict):
    results: list[ChangeResult]


class ContactWithConversations(TypedDict):
    id: str
    email: str
    name: str | None
    conversations: list[ConversationSummary]


class BookingType(TypedDict):
    id: str
    name: str
    about: str
    minutes: int
    hosts: list[BookingHost]
    active: bool
    url: str


class DocumentSummary(TypedDict):
    id: str
    title: str
    filename: str
    kind: str | None
    fields: DocumentFields
    conversationId: str | None
    createdAt: str


class DocumentReading(TypedDict):
    at: str
    state: str
    by: str
    pages: int
    sources: list[FieldSource]


class DecidedRequest(TypedDict):
    requestId: str
    state: str
    documents: list[RequestedDocument]
    messageId: NotRequired[str]


class Delivery(TypedDict):
    eventId: str
    type: str
    createdAt: str
    state: str
    tries: list[DeliveryTry]
    nextTryAt: str | None


class NewReply(TypedDict):
    body: str
    send: NotRequired[bool | None]
    summary: NotRequired[str | None]
    documents: NotRequired[list[AskedDocument] | None]
    attachments: NotRequired[list[AttachedFile] | None]
    dryRun: NotRequired[bool | None]


SimulatedMail = TypedDict(
    'SimulatedMail',
    {
        'from': str,
        'name': NotRequired[str | None],
        'subject': NotRequired[str | None],
        'text': str,
        'conversationId': NotRequired[str | None],
        'attachments': NotRequired[list[SimulatedFile] | None],
        'to': NotRequired[str | None],
        'inReplyTo': NotRequired[str | None],
        'dmarc': NotRequired[Literal['pass', 'fail'] | None],
        'dryRun': NotRequired[bool | None],
    },
)


class ConversationAssigned(TypedDict):
    """
    A conversation was given to someone or to nobody.
    """

    conversation_id: str
    assignee: EventAssignee | None
    assigned_by: Doer
    summary: str
    url: NotRequired[str]


class TurnChanged(TypedDict):
    """
    Whose turn it is changed.
    """

    conversation_id: str
    turn: Turn
    previous: Turn | None
    assignee: EventAssignee | None
    summary: str
    url: NotRequired[str]


class DraftApproved(TypedDict):
    """
    A person approved a helper's or an agent's draft.
    """

    conversation_id: str
    message_id: str
    drafted_by: Drafter
    approved_by: Doer
    edited: bool
    summary: str
    url: NotRequired[str]


class MessageSent(TypedDict):
    """
    An email went out.
    """

    conversation_id: str
    message_id: str
    mailbox_id: str
    author: Author | None
    secure: bool
    summary: str
    url: NotRequired[str]


class ConversationAssignedEvent(TypedDict):
    id: str
    type: Literal['conversation.assigned']
    version: Literal[1]
    created_at: str
    workspace: str
    livemode: bool
    data: ConversationAssigned


class TurnChangedEvent(TypedDict):
    id: str
    type: Literal['turn.changed']
    version: Literal[1]
    created_at: str
    workspace: str
    livemode: bool
    data: TurnChanged


class DraftApprovedEvent(TypedDict):
    id: str
    type: Literal['draft.approved']
    version: Literal[1]
    created_at: str
    workspace: str
    livemode: bool
    data: DraftApproved


class MessageSentEvent(TypedDict):
    id: str
    type: Literal['message.sent']
    version: Literal[1]
    created_at: str
    workspace: str
    livemode: bool
    data: MessageSent


Event: TypeAlias = AskCompletedEvent | ClientRepliedEvent | ConversationAssignedEvent | TurnChangedEvent | DraftApprovedEvent | MessageSentEvent | BookingCreatedEvent | BookingCancelledEvent | ScoutHeldEvent | WebhookTestEvent


TimelineItem: TypeAlias = Message | Note | TimelineEvent


class Team(TypedDict):
    """
    The people and agents it can be assigned to.
    """

    people: list[TeamMember]
    agents: list[TeamMember]


class Document(TypedDict):
    id: str
    title: str
    filename: str
    kind: str | None
    fields: DocumentFields
    conversationId: str | None
    createdAt: str
    size: int
    reading: DocumentReading | None
    corrected: list[str]
    text: str


class Conversation(TypedDict):
    id: str
    subject: str
    status: Status
    contact: Contact
    mailbox: str
    lastMessageAt: str
    assignee: Assignee | None
    tags: list[str]
    topic: str | None
    urgency: str | None
    risk: str | None
    riskReasons: list[str]
    snoozedUntil: str | None
    timeline: list[TimelineItem]
    earlier: NotRequired[str]
    team: Team
    reference: NotRequired[str]
    appSent: NotRequired[AppSent]
    answersIn: NotRequired[str]
