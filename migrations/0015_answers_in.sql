-- The conversation whose mail this one answers, when its first mail was not let in there: its sender was not on it.
-- Always of the same inbox. It may be gone by the time somebody looks.
alter table conversations add column answers_in bigint;
