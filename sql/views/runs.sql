-- runs: every run of extract, with its counts
--
-- Grain: one row per run
-- Reads: stored.runs
-- Columns:
--   *
--   duration_ms          BIGINT              ms       time from start to end

SELECT stored.*, epoch_ms(ended_at) - epoch_ms(started_at) AS duration_ms
FROM stored.runs AS stored
