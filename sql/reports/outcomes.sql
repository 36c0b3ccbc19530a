-- outcomes: how calls ended
--
-- Look at the shares of answered calls, in which a person could be helped. worst lists
-- the failed ones to listen to.
--
-- Every call has one outcome, and within it one kind. completed: a person answered and
-- spoke, and the call ended by a hang-up. transferred: passed on, or ended by an operator.
-- abandoned: the caller never spoke, or hung up within 10 seconds. failed: an error, a
-- time-out, a limit during the call, no agent picked up, or the agent hung up within 10
-- seconds. voicemail: a machine answered. not_connected: nobody answered. unknown: not
-- over; ended by a hang-up, but the transcript that would show whether the caller spoke is
-- not there; or an unknown status or reason, which kind then names.
--
-- Grain: one row per group, outcome and kind that has calls
-- Reads: counted_calls of is_started status disconnection_reason settlement transcript_state caller_spoke short_step
-- Needs: end, words, transcripts
-- Main: answered_percent of outcome completed
-- Example: query outcomes --since 30d --compare previous
-- Columns:
--   key               VARCHAR  -                                   group of --by
-- * outcome           VARCHAR  -                                   completed, transferred, abandoned, failed, voicemail, not_connected or unknown
-- * kind              VARCHAR  -                                   detail: no answer, error, never spoke, transcript to come …
-- * calls             BIGINT   count                               calls
-- * share_percent     DOUBLE   percent of calls: sum(calls)        share of the group's calls
--   low_percent       DOUBLE   percent                             lower bound of this share (Wilson, 95 %)
--   high_percent      DOUBLE   percent                             upper bound
--   answered_calls    BIGINT   count                               answered calls of the row
-- * answered_percent  DOUBLE   percent of answered: sum(answered_calls)  share of them among the group's answered calls

WITH counted AS (
    SELECT key, outcome, outcome_kind AS kind,
        total_of(calls) AS calls,
        sum_if(calls, is_answered) AS answered_calls
    FROM counted_calls
    GROUP BY key, outcome, outcome_kind
), totals AS (
    SELECT *,
        sum(calls) OVER whole_group AS group_calls,
        sum(answered_calls) OVER whole_group AS group_answered
    FROM counted
    WINDOW whole_group AS (PARTITION BY key)
)
SELECT key, outcome, kind, calls,
    percent_of(calls, group_calls) AS share_percent,
    wilson(calls, group_calls, -1) AS low_percent,
    wilson(calls, group_calls, 1) AS high_percent,
    answered_calls,
    CASE WHEN answered_calls > 0 THEN percent_of(answered_calls, group_answered) END AS answered_percent
FROM totals
ORDER BY group_rank(group_calls, $largest_first), key NULLS LAST,
    list_position(['completed', 'transferred', 'abandoned', 'failed', 'voicemail', 'not_connected', 'unknown'], outcome), calls DESC, kind
