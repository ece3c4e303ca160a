-- no-transaction
-- By whom holds find mail (0080). Its list of what is not sorted in yet stays short, because every search reads it.
-- Until it is there, a look for holds reads more than it should, and may be given up and tried again.
create index concurrently if not exists messages_people on messages using gin (
    message_people(workspace_id, conversation_id, from_email, reply_to,
                   to_addresses || cc_addresses || bcc_addresses || also_to)) with (gin_pending_list_limit = 64);
