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
-- Grain: one row per group, agent, version and variant
-- Reads: tallied
-- Tallies: agent_id, agent_version, variant_label, user_sentiment, is_started, status, disconnection_reason, settlement, transcript_state, caller_spoke, short_step
-- Needs: end, words, transcripts, analysis
-- Keys: agent_id, agent_version, variant_label
-- Shares: completed_percent of answered_calls, positive_percent of rated_calls
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

WITH counted AS (
    SELECT key, agent_id, agent_version, variant_label,
        sum_if(calls, is_answered) AS calls,
        sum_if(calls, is_completed) AS completed,
        sum_if(calls, is_answered AND user_sentiment IS NOT NULL) AS rated,
        sum_if(calls, is_answered AND user_sentiment = 'positive') AS positive,
        sum_if(timed_calls, is_answered AND is_connected) AS timed,
        sum(total_ms) FILTER (is_answered AND is_connected) AS total_ms
    FROM tallied -- not WHERE is_answered: DuckDB plans for a second what that is made of
    GROUP BY key, agent_id, agent_version, variant_label
    HAVING sum_if(calls, is_answered) > 0
), bounded AS (
    SELECT *,
        percent_of(completed, calls) AS share,
        wilson(completed, calls, -1) AS low,
        wilson(completed, calls, 1) AS high,
        row_number() OVER baseline_first AS place,
        first_value(share) OVER baseline_first AS base_share,
        first_value(low) OVER baseline_first AS base_low,
        first_value(high) OVER baseline_first AS base_high,
        sum(calls) OVER (PARTITION BY key) AS group_calls,
        sum(calls) OVER (PARTITION BY key, agent_id) AS agent_calls
    FROM counted
    WINDOW baseline_first AS (PARTITION BY key, agent_id
        ORDER BY calls DESC, agent_version NULLS LAST, variant_label NULLS LAST)
), compared AS (
    SELECT *,
        CASE WHEN place > 1 THEN newcombe(share, low, base_share, base_high, -1) END AS difference_low,
        CASE WHEN place > 1 THEN newcombe(share, high, base_share, base_low, 1) END AS difference_high
    FROM bounded
)
SELECT key, agent_id, agent_version, variant_label, calls AS answered_calls,
    share AS completed_percent, low AS completed_low_percent, high AS completed_high_percent,
    CASE WHEN place = 1 THEN 'baseline' WHEN difference_low > 0 THEN 'better' WHEN difference_high < 0 THEN 'worse' ELSE 'unclear' END AS verdict,
    difference_low AS difference_low_points, difference_high AS difference_high_points,
    percent_of(positive, rated) AS positive_percent,
    wilson(positive, rated, -1) AS positive_low_percent,
    wilson(positive, rated, 1) AS positive_high_percent,
    mean_of(total_ms, timed) AS handle_ms,
    rated AS rated_calls
FROM compared
ORDER BY group_rank(group_calls), key NULLS LAST, agent_calls DESC, agent_id NULLS LAST, place
