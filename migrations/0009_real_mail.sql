-- What was found out about where a mail came from (SPF, DKIM, DMARC, ARC), and why it stands in its
-- conversation, in plain words. Mail from before has neither.

alter table messages
    add column verdict jsonb check (jsonb_typeof(verdict) = 'object'),
    add column placed  text;
