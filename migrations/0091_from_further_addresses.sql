-- The address of its inbox that somebody writes from; empty while they leave it to the service.
alter table written_drafts add column from_address text not null default '';

-- Its From is a further address of its inbox. Whether it still is one is asked when the message leaves. Messages of a version that
-- does not know this are from the inbox's own address.
alter table messages add column from_further boolean not null default false;

-- What a message of an inbox leaves from that was written from this address: another one once it is the inbox's no more.
create function leaves_from(workspace bigint, mailbox bigint, written_from text) returns text language sql stable as $$
    select case
        when exists (select from mailbox_aliases a
                     where a.workspace_id = workspace and a.address = written_from and a.mailbox_id = mailbox) then written_from
        else (select m.address from mailboxes m where m.workspace_id = workspace and m.id = mailbox)
    end
$$;
