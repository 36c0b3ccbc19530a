-- analysis_items: values extracted from calls by the custom analysis
--
-- Grain: one row per custom analysis item of a call
-- Reads: stored.analysis_items
-- Columns:
--   *
--   value_text     VARCHAR                   -  value as text: a string without its quotes, anything else as sent

SELECT stored.*, sent_text(value) AS value_text
FROM stored.analysis_items AS stored
