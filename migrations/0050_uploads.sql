-- Documents that customers send over the private page of a request (src/documents/uploads).

-- When the link ends: 60 days after the request's mail left, 14 after everything was in, or when a person says. What the
-- version before this one opened has no time, and ends 60 days after it was opened.
alter table document_requests add column link_ends_at timestamptz;
-- When everything was in for the first time: `ask.completed` is told once, whatever happens after.
alter table document_requests add column completed_at timestamptz;
-- The newest reminder: one that still waits for the relay does not leave once nothing is missing.
alter table document_requests add column reminded_by bigint;
create index document_requests_ending on document_requests (link_ends_at) where state = 'open';

-- Why a person refused what came, as the customer's page says it.
alter table document_request_items add column refused_why text
    check (refused_why in ('unreadable', 'incomplete', 'wrong'));
-- When that was last: what came before it does not count against how much may come.
alter table document_request_items add column refused_at timestamptz;
-- The mail that asked for it again.
alter table document_request_items add column again_message_id bigint;
create index document_request_items_again on document_request_items (workspace_id, again_message_id)
    where again_message_id is not null;

-- What came for an item over the page. The bytes are the document's; it goes, and this with it.
create table document_request_files (
    workspace_id bigint      not null,
    request_id   bigint      not null,
    item_id      bigint      not null,
    id           bigint      not null,
    document_id  bigint      not null,
    -- As its sender called it. The same bytes may have come by mail under another name.
    filename     text        not null,
    received_at  timestamptz not null,
    primary key (workspace_id, request_id, item_id, id),
    unique (workspace_id, request_id, item_id, document_id),
    foreign key (workspace_id, request_id, item_id)
        references document_request_items (workspace_id, request_id, id) on delete cascade,
    foreign key (workspace_id, document_id) references documents (workspace_id, id) on delete cascade
);
create index document_request_files_of_document on document_request_files (workspace_id, document_id);

-- People are told when everything they asked for is in.
alter table notifications drop constraint notifications_reason_check,
    add constraint notifications_reason_check
        check (reason in ('assigned', 'mentioned', 'replied', 'noted', 'ruled', 'documents')) not valid;
