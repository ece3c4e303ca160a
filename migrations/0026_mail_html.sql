-- The HTML of a mail as it came, up to 2 MB. It is made safe when it is shown, so that a better filter serves old mail
-- too. A table of its own: mail without HTML costs nothing, and nothing that reads messages comes across it.
-- PostgreSQL keeps it compressed and apart from the row. Files that came with the mail are in the message's row.
create table message_html (
    workspace_id  bigint  not null,
    message_id    bigint  not null,
    html          text    not null,
    -- Laid out with tables and pictures: it is shown first, else the text is.
    laid_out      boolean not null,
    -- It names pictures on the web, which are shown only when somebody asks for them.
    remote_images boolean not null,
    primary key (workspace_id, message_id),
    foreign key (workspace_id, message_id) references messages (workspace_id, id) on delete cascade
);
do $$
begin
    alter table message_html alter column html set compression lz4;
exception when feature_not_supported then
    null;
end
$$;

-- Earlier conversations with the same customer, newest first.
create index conversations_by_contact on conversations (workspace_id, audience, contact_email, id desc);
