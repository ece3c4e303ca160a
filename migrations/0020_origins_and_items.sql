-- Where a message of ours comes from, what carries a message, and what is asked for in a document request as rows.

-- Origin: who wrote a message of ours. Mail that came in has none: its direction says that the customer wrote it. The
-- author columns stay: they say which person or agent it was. The version before this one writes no origin; such a row
-- is read by its author, and the next version asks every message of ours for one.
-- Channel: what carries it. Secure is a page behind a link; the mail only tells of it.
-- Both are added without touching a row; 0022 fills in origins of what is there, a little at a time.
alter table messages
    add column origin  text,
    add column channel text not null default 'mail';

create function message_holds(
    direction text, status text, sent_at timestamptz, sends_at timestamptz, due_at timestamptz, author_type text,
    author_id bigint, content_hash bytea, id_hash bigint, raw bytea, raw_blob text, summary text, verdict jsonb,
    origin text, channel text
) returns boolean language plpgsql immutable as $$
begin
    return direction in ('inbound', 'outbound')
        and (direction = 'inbound') = (status is null)
        and (direction = 'inbound') = (content_hash is not null and id_hash is not null)
        and status in ('draft', 'scheduled', 'sending', 'sent', 'failed')
        and (status <> 'scheduled' or sends_at is not null)
        and (status <> 'sending' or sends_at is not null)
        and (status <> 'sent' or sent_at is not null)
        and (sends_at is null or direction = 'outbound')
        and ((status in ('scheduled', 'sending')) is true) = (due_at is not null)
        and author_type in ('user', 'agent')
        and (author_type is null) = (author_id is null)
        and (direction = 'outbound' or author_type is null)
        and (raw is null or raw_blob is null)
        and char_length(summary) <= 500
        and jsonb_typeof(verdict) = 'object'
        and (origin is null or (direction = 'outbound'
            and origin in ('person', 'agent', 'assistant', 'service')
            and (origin = 'person') = (author_type is not distinct from 'user')
            and (origin = 'agent') = (author_type is not distinct from 'agent')))
        and channel in ('mail', 'secure');
end
$$;
-- What is there holds already; 0022 looks at it without keeping writers out.
alter table messages drop constraint messages_hold, add constraint messages_hold check (message_holds(
    direction, status, sent_at, sends_at, due_at, author_type, author_id, content_hash, id_hash, raw, raw_blob, summary,
    verdict, origin, channel)) not valid;
drop function message_holds(
    text, text, timestamptz, timestamptz, timestamptz, text, bigint, bytea, bigint, bytea, text, text, jsonb);

-- What a request asks for, one row each, in the order of its checklist.
--   open      nothing came yet
--   received  something came that a person should look at
--   accepted  what came is right
--   refused   what came will not do, and the customer is asked again
--   ticked    a person ticked it off: it came another way
create table document_request_items (
    workspace_id bigint      not null,
    request_id   bigint      not null,
    id           bigint      not null,
    position     smallint    not null check (position between 1 and 20),
    label        text        not null,
    description  text,
    required     boolean     not null,
    state        text        not null default 'open'
        check (state in ('open', 'received', 'accepted', 'refused', 'ticked')),
    -- The newest document that came for it; gone when the document is erased.
    document_id  bigint,
    received_at  timestamptz,
    -- When it was accepted, refused or ticked off, and by whom; nobody when a check of ours accepted it.
    decided_at   timestamptz,
    decided_by   bigint,
    primary key (workspace_id, request_id, id),
    unique (workspace_id, request_id, position),
    foreign key (workspace_id, request_id) references document_requests (workspace_id, id) on delete cascade,
    foreign key (workspace_id, document_id)
        references documents (workspace_id, id) on delete set null (document_id),
    foreign key (workspace_id, decided_by) references people (workspace_id, id),
    check ((state in ('received', 'accepted', 'refused')) = (received_at is not null)),
    check ((state in ('accepted', 'refused', 'ticked')) = (decided_at is not null)),
    check (decided_by is null or decided_at is not null),
    check (state not in ('refused', 'ticked') or decided_by is not null)
);
create index document_request_items_of_document on document_request_items (workspace_id, document_id)
    where document_id is not null;

-- `document_requests.items` goes with a later version: the one before this reads and writes it. What that one still
-- writes has no rows, and is read from there as open items with the ids that it gets here.
insert into document_request_items (workspace_id, request_id, id, position, label, description, required)
select workspace_id, requests.id, requests.id + position, position,
       item ->> 'label', item ->> 'description', (item ->> 'required')::boolean
from document_requests requests
cross join jsonb_array_elements(items) with ordinality asked (item, position);
