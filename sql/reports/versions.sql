-- versions: agent versions and variants side by side: is B really better?
--
-- Each version and variant of an agent beside the one of its that has the most
-- answered calls, the baseline. Answered: over, by a person as far as is known,
-- and known whether the caller spoke. Completed: the caller spoke, and the call
-- ended by a hang-up; a version that fails or passes on completes nothing. A share's interval holds the true share with
-- 95 % confidence (Wilson). verdict compares the completed share with the
-- baseline's: better or worse where the interval of the difference (Newcombe's,
-- made of both Wilson intervals) leaves out 0, unclear where it does not: the
-- difference may be luck. Of twenty comparisons of equals, one comes out better or
-- worse by luck; and calls that were not split at random may differ by more than
-- the version.
--
-- With --field resolved=true the verdict is of the share of successes: the calls in
-- which the custom analysis found that value in that field, of the calls in which
-- it found any. The baseline is then the one that has the most of these.
--
-- Grain: one row per group, agent, version and variant
-- Reads: tallied
-- Tallies: agent_id, agent_version, variant_label, user_sentiment, is_started, status, disconnection_reason, settlement, transcript_state, caller_spoke, short_step, success
-- Needs: end, words, transcripts, analysis
-- Keys: agent_id, agent_version, variant_label
-- Flags: field
-- With field: known_calls, success_percent, success_low_percent, success_high_percent
-- Means: handle_ms of handled_spread
-- Shares: success_percent of known_calls, completed_percent of answered_calls, positive_percent of rated_calls
-- Example: query versions --field resolved=true
-- Columns:
--   key                     VARCHAR  -        the group that --by asks for
--   agent_id                VARCHAR  -        the agent
--   agent_version           VARCHAR  -        its version
--   variant_label           VARCHAR  -        the variant of the split test; null: none
--   answered_calls          BIGINT   count    answered calls
--   completed_percent       DOUBLE   percent of answered  share of them that were completed
--   completed_low_percent   DOUBLE   percent  lower bound of the true share
--   completed_high_percent  DOUBLE   percent  upper bound of it
--   verdict                 VARCHAR  -        baseline, better, worse or unclear
--   difference_low_points   DOUBLE   points   lower bound of the difference to the baseline, in percentage points
--   difference_high_points  DOUBLE   points   upper bound of it
--   positive_percent        DOUBLE   percent of rated  share of positive sentiment among the calls that have one
--   positive_low_percent    DOUBLE   percent  lower bound of the true share
--   positive_high_percent   DOUBLE   percent  upper bound of it
--   handle_ms               BIGINT   ms       average handle time: mean duration of those that connected
--   rated_calls             BIGINT   count    answered calls that have a sentiment
--   known_calls             BIGINT   count    with --field: calls in which the field was found
--   success_percent         DOUBLE   percent of known  with --field: share of them that were a success
--   success_low_percent     DOUBLE   percent  with --field: lower bound of the true share
--   success_high_percent    DOUBLE   percent  with --field: upper bound of it

WITH counted AS (
    SELECT key, agent_id, agent_version, variant_label,
        sum_if(calls, is_answered) AS answered,
        sum_if(calls, is_completed) AS completed,
        sum_if(calls, is_answered AND user_sentiment IS NOT NULL) AS rated,
        sum_if(calls, is_answered AND user_sentiment = 'positive') AS positive,
        sum_if(timed_calls, is_answered AND is_connected) AS timed,
        sum(total_ms) FILTER (is_answered AND is_connected) AS total_ms,
        sum(ms_squares) FILTER (is_answered AND is_connected) AS squares,
        sum(ms_cubes) FILTER (is_answered AND is_connected) AS cubes,
        sum_if(calls, success IS NOT NULL) AS known,
        sum_if(calls, success) AS successes
    FROM tallied -- not WHERE is_answered: DuckDB plans for a second what that is made of
    GROUP BY key, agent_id, agent_version, variant_label
    HAVING answered + known > 0
), aimed AS (
    SELECT *,
        CASE WHEN getvariable('field_name') IS NULL THEN completed ELSE successes END AS hits,
        CASE WHEN getvariable('field_name') IS NULL THEN answered ELSE known END AS calls
    FROM counted
), bounded AS (
    SELECT *,
        percent_of(hits, calls) AS share,
        wilson(hits, calls, -1) AS low,
        wilson(hits, calls, 1) AS high,
        row_number() OVER baseline_first AS place,
        first_value(share) OVER baseline_first AS base_share,
        first_value(low) OVER baseline_first AS base_low,
        first_value(high) OVER baseline_first AS base_high,
        sum(calls) OVER (PARTITION BY key) AS group_calls,
        sum(calls) OVER (PARTITION BY key, agent_id) AS agent_calls
    FROM aimed
    WINDOW baseline_first AS (PARTITION BY key, agent_id
        ORDER BY calls DESC, agent_version NULLS LAST, variant_label NULLS LAST)
), compared AS (
    SELECT *,
        CASE WHEN place > 1 THEN newcombe(share, low, base_share, base_high, -1) END AS difference_low,
        CASE WHEN place > 1 THEN newcombe(share, high, base_share, base_low, 1) END AS difference_high
    FROM bounded
)
SELECT key, agent_id, agent_version, variant_label, answered AS answered_calls,
    percent_of(completed, answered) AS completed_percent,
    wilson(completed, answered, -1) AS completed_low_percent,
    wilson(completed, answered, 1) AS completed_high_percent,
    CASE WHEN place = 1 THEN 'baseline' WHEN difference_low > 0 THEN 'better' WHEN difference_high < 0 THEN 'worse' ELSE 'unclear' END AS verdict,
    difference_low AS difference_low_points, difference_high AS difference_high_points,
    percent_of(positive, rated) AS positive_percent,
    wilson(positive, rated, -1) AS positive_low_percent,
    wilson(positive, rated, 1) AS positive_high_percent,
    mean_of(total_ms, timed) AS handle_ms,
    rated AS rated_calls,
    known AS known_calls,
    percent_of(successes, known) AS success_percent,
    wilson(successes, known, -1) AS success_low_percent,
    wilson(successes, known, 1) AS success_high_percent,
    spread_of(timed, total_ms, squares, cubes) AS handled_spread
FROM compared
ORDER BY group_rank(group_calls), key NULLS LAST, agent_calls DESC, agent_id NULLS LAST, place
