-- What was found out about where a mail came from (SPF, DKIM, DMARC, ARC), and why it stands in its
-- conversation, in plain words. Mail from before has neither.
--
-- The bytes of a small mail stand in its row: one commit makes both durable, and there is nothing that could
-- be missing or left over. Larger ones are in the blob store. PostgreSQL keeps such a column apart from the
-- row, so nothing that does not ask for it pays for it; compressing it would cost more than it saves.

alter table messages
    add column verdict jsonb check (jsonb_typeof(verdict) = 'object'),
    add column placed  text,
    add column raw     bytea,
    alter column raw set storage external,
    add constraint messages_raw_in_one_place check (raw is null or raw_blob is null);
