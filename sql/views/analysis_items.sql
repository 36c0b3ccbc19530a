-- analysis_items: the fields that each agent's author had extracted from its calls
--
-- Grain: one row per custom analysis item of a call
-- Reads: stored.analysis_items
-- Columns:
--   *
--   value_text     VARCHAR                   -  the value as text: a string without its quotes, anything else as it was sent

SELECT stored.*, sent_text(value) AS value_text
FROM stored.analysis_items AS stored
