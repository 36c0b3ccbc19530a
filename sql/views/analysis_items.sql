-- analysis_items: the fields that each agent's author had extracted from its calls
--
-- Grain: one row per custom analysis item of a call
-- Reads: stored.analysis_items
-- Columns:
--   call_id        VARCHAR NOT NULL          -  the call
--   position       INTEGER NOT NULL          -  position among the call's items, from 0
--   name           VARCHAR                   -  the field
--   type           VARCHAR                   -  string, enum, boolean or number
--   value          JSON                      -  what was found, as sent
--   extra          JSON                      -  fields of the item that no other column holds
--   call_start_at  TIMESTAMP WITH TIME ZONE  -  start of the call, for narrowing by time without a join
--   fetched_at     TIMESTAMP WITH TIME ZONE  -  when the call was fetched, for models that load only what is new; null: written by an earlier version (extract migrate)
--   month          VARCHAR NOT NULL          -  the partition that it lies in, as in calls
--   value_text     VARCHAR                   -  the value as text: a string without its quotes, anything else as it was sent

SELECT stored.*, sent_text(value) AS value_text
FROM stored.analysis_items AS stored
