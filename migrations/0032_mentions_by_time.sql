-- Where somebody was mentioned, newest first. It does not depend on whether they want to be told of mentions.
create index mentions_newest on mentions (workspace_id, person_id, at desc, conversation_id desc);

-- Requests that came with a conversation of another contact, and whose mail does not say whom it went to: nobody is
-- reminded with somebody else's list and link. From now on mail gets its address when it moves.
update document_requests r set remind_at = null
where remind_at is not null
  and exists (select from merged_conversations gone
              join conversations kept on kept.workspace_id = gone.workspace_id and kept.id = gone.into_id
              where gone.workspace_id = r.workspace_id and gone.into_id = r.conversation_id
                and gone.contact_email is distinct from kept.contact_email)
  and exists (select from messages m
              where m.workspace_id = r.workspace_id and m.conversation_id = r.conversation_id and m.id = r.message_id
                and m.to_addresses is null);
