-- Tries in vain are counted apart from claims: what is given back untried was claimed, and not tried. Mail of the sandbox
-- is taken apart from live mail, so that it does not wait for anybody's mail server.

alter table notices add column tries smallint not null default 0;
alter table sandbox_answers add column tries smallint not null default 0;
alter table app_mail add column words_tries smallint not null default 0;
update notices set tries = least(claim, 7) where due_at is not null and claim > 0;
update app_mail set words_tries = least(words_claim, 7) where words_due_at is not null and words_claim > 0;

-- Whose mail it is decides the conversation's audience; this only says who takes it. Nobody can send a draft of the
-- sandbox, so only what is under way is looked for, by the index of what is due.
alter table messages add column sandbox boolean not null default false;
update messages message set sandbox = true
from conversations conversation
where conversation.workspace_id = message.workspace_id and conversation.id = message.conversation_id
  and conversation.audience = -1 and message.status in ('scheduled', 'sending');
