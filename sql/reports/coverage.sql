-- coverage: how far to trust the numbers: what is listed, transcribed, settled, set aside
--
-- Every line counts the calls of the selection of which something is known, or
-- missing. Over the whole selection (without --by) two more lines come from the
-- last run, and are of the warehouse: calls that it set aside because they could
-- not be read, and how many calls the service said it has. Spans of time whose
-- calls are not listed completely yet are told on stderr, as by every report.
--
-- Grain: one row per group and fact that applies to at least one call
-- Reads: tallied, runs
-- Tallies: is_started, status, disconnection_reason, settlement, transcript_state, user_sentiment
-- Columns:
--   key            VARCHAR  -        the group that --by asks for
--   fact           VARCHAR  -        what is known or missing
--   state          VARCHAR  -        good, waiting (it comes, or is given up), lost (it does not come) or info
--   calls          BIGINT   count    calls that it applies to
--   share_percent  DOUBLE   percent of calls  share of the group's calls; null for what the last run tells

WITH counted AS (
    SELECT key, [
        {'line': 1, 'fact': 'listed', 'state': 'info', 'calls': total_of(calls)},
        {'line': 2, 'fact': 'without a start', 'state': 'info',
            'calls': sum_if(calls, NOT is_started)},
        {'line': 3, 'fact': 'not over', 'state': 'waiting',
            'calls': sum_if(calls, settlement = 'open')},
        {'line': 4, 'fact': 'settled', 'state': 'good',
            'calls': sum_if(calls, settlement = 'settled')},
        {'line': 5, 'fact': 'analysis or cost to come', 'state': 'waiting',
            'calls': sum_if(calls, settlement = 'ended')},
        {'line': 6, 'fact': 'analysis or cost given up', 'state': 'lost',
            'calls': sum_if(calls, settlement = 'expired')},
        {'line': 7, 'fact': 'transcript there', 'state': 'good',
            'calls': sum_if(calls, transcript_state = 'present')},
        {'line': 8, 'fact': 'nothing to transcribe', 'state': 'good',
            'calls': sum_if(calls, transcript_state = 'empty')},
        {'line': 9, 'fact': 'transcript to come', 'state': 'waiting',
            'calls': sum_if(calls, transcript_state = 'pending')},
        {'line': 10, 'fact': 'opted out of storage', 'state': 'info',
            'calls': sum_if(calls, transcript_state = 'withheld')},
        {'line': 11, 'fact': 'transcript gone', 'state': 'lost',
            'calls': sum_if(calls, transcript_state = 'missing')},
        {'line': 12, 'fact': 'sentiment known', 'state': 'good', 'calls': sum_if(calls, user_sentiment IS NOT NULL)},
        {'line': 13, 'fact': 'cost known', 'state': 'good', 'calls': total_of(costed_calls)},
        {'line': 14, 'fact': 'status or reason not known', 'state': 'lost', 'calls': sum_if(calls, unknown_word(status, disconnection_reason))}] AS facts
    FROM tallied
    GROUP BY key
), told AS (
    SELECT key, facts[1].calls AS group_calls, unnest(facts, recursive := true)
    FROM counted
), last_run AS (
    SELECT calls_set_aside, total_count
    FROM runs
    WHERE NOT coalesce(getvariable('grouped'), false)
    ORDER BY started_at DESC, run_id DESC
    LIMIT 1
)
SELECT key, fact, state, calls, percent_of(calls, group_calls) AS share_percent
FROM (
    SELECT key, line, fact, state, calls, group_calls FROM told WHERE calls > 0
    UNION ALL
    SELECT NULL, 15, 'set aside by the last run', 'lost', calls_set_aside, 0 FROM last_run WHERE calls_set_aside > 0
    UNION ALL
    SELECT NULL, 16, 'counted by the service', 'info', total_count, 0 FROM last_run WHERE total_count IS NOT NULL
)
ORDER BY group_rank(group_calls), key NULLS LAST, line
