-- recordings: audio of calls in the archive (setting recordings), and what could not be archived
--
-- The audio is in files: path is their place below the archive's address. A call has a row once its
-- recording was tried. Without the archive the table is empty.
--
-- Grain: one row per call whose recording was tried
-- Reads: stored.recordings
-- Columns:
--   *

SELECT stored.*
FROM stored.recordings AS stored
