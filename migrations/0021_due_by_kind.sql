-- Live mail and mail of the sandbox are claimed apart. The index is built while messages are read; only exchanging the two
-- keeps everybody out, and that is a moment.
create index messages_due_by_kind on messages (sandbox, due_at) where status in ('scheduled', 'sending');
drop index messages_due;
alter index messages_due_by_kind rename to messages_due;
