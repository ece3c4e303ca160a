-- no-transaction
-- People find words of notes, too (docs/decisions/notes-in-search.md). The words are kept with those of mail, as terms of their
-- own; `with_notes` says that a conversation has some. Notes whose words are to be added are queued here, whatever version
-- writes them; those that are there already are queued by the next migration. Safe to repeat.
do $migration$
begin
    alter table conversation_words add column if not exists with_notes boolean not null default false;
    -- No two tables are held at once: whoever erases holds them the other way round.
    commit;

    create table if not exists unindexed_notes (
        workspace_id    bigint      not null,
        conversation_id bigint      not null,
        note_id         bigint      not null,
        since           timestamptz not null,
        -- Fewer than none: it is from before this migration. The worker takes it when nothing else waits, and no search does.
        tries           integer     not null default 0,
        retry_at        timestamptz,
        -- Those behind it in its conversation are queued when this one goes: there may be very many.
        continues       boolean     not null default false,
        primary key (workspace_id, conversation_id, note_id),
        foreign key (workspace_id, conversation_id) references conversations (workspace_id, id) on delete cascade,
        check ((tries = 0) = (retry_at is null))
    ) with (autovacuum_vacuum_scale_factor = 0.01);
    create index if not exists unindexed_notes_newest on unindexed_notes (workspace_id, since desc, note_id desc)
        where tries = 0;
    create index if not exists unindexed_notes_later on unindexed_notes (workspace_id, retry_at, note_id) where tries <> 0;
    commit;

    -- A note that comes, or moves to another conversation with a merge.
    create or replace function note_is_unindexed() returns trigger language plpgsql as $function$
    begin
        insert into unindexed_notes (workspace_id, conversation_id, note_id, since)
        values (new.workspace_id, new.conversation_id, new.id, new.at)
        on conflict do nothing;
        return null;
    end
    $function$;
    create or replace trigger notes_are_unindexed after insert or update of conversation_id on notes
        for each row execute function note_is_unindexed();
    commit;

    -- A conversation whose words have begun again lacks those of its notes: its row here goes when they have. The first five
    -- hundred are queued, as a statement of the service has to end in time; the last of them brings the next (search/notes.rs).
    create or replace function notes_are_missing() returns trigger language plpgsql as $function$
    begin
        insert into unindexed_notes (workspace_id, conversation_id, note_id, since, continues)
        select earliest.workspace_id, earliest.conversation_id, earliest.id, earliest.at,
               row_number() over (order by earliest.id) = 500
        from (select workspace_id, conversation_id, id, at from notes
              where workspace_id = old.workspace_id and conversation_id = old.conversation_id
                and exists (select from conversations where workspace_id = old.workspace_id and id = old.conversation_id)
              order by id limit 500) earliest
        -- One that waits to be tried again does not keep those behind it waiting.
        on conflict (workspace_id, conversation_id, note_id)
            do update set continues = true, tries = 0, retry_at = null where excluded.continues;
        return null;
    end
    $function$;
    create or replace trigger unindexed_conversations_without_notes after delete on unindexed_conversations
        for each row when (old.tries >= 0) execute function notes_are_missing();
    commit;
end
$migration$;
