-- coverage: how complete the data is: listed, transcribed, settled, set aside
--
-- Look at the states lost and waiting: lost data never comes, waiting data is missing in
-- the figures so far. Other reports repeat what concerns them in their line coverage.
--
-- Each row counts the selected calls with a fact that is known or missing, as the coverage
-- line on stderr does. A call that never connected has no transcript to request; a call
-- that is not requested by its kind is of a kind (status, reason, length) of which no
-- record ever had a transcript. Without --by there are further rows about the whole
-- warehouse: calls that the last run could not read, the total that the service reports
-- and how many transcripts were fetched in bulk, of which the table runs has the details. If calls are redacted, the last rows count
-- the values that the last run replaced, by kind, and the records that a service did not
-- check.
--
-- An analysis is pending if the call connected as far as is known, did not opt out, has no
-- sentiment, and its settlement is ended; it is given up if the settlement is expired. The
-- same applies to costs, also of calls that opted out. There was nothing to transcribe if
-- the call connected and its transcript is empty; no transcript was requested if it is
-- empty because the call did not connect.
--
-- Time ranges that are not completely listed are reported on stderr, as by every report.
--
-- Grain: one row per group and fact that applies to at least one call
-- Reads: counted_calls of is_started status disconnection_reason settlement transcript_state caller_spoke user_sentiment opted_out unit, runs
-- Main: share_percent of fact settled
-- Example: query coverage
-- Columns:
--   key            VARCHAR  -                                   group of --by
-- * fact           VARCHAR  -                                   known or missing fact
-- * state          VARCHAR  -                                   good, waiting (pending until it comes or is given up), lost (does not come) or info
-- * calls          BIGINT   count                               calls it applies to, or values that were replaced
-- * share_percent  DOUBLE   percent of calls  share of the group's calls; null for other lines of the warehouse
-- * scope          VARCHAR  -                                   selection: the selected calls; warehouse: all calls

WITH counted AS (
    SELECT key, [
        {'line': 1, 'fact': 'listed', 'state': 'info', 'calls': total_of(calls)},
        {'line': 2, 'fact': 'without a start', 'state': 'info',
            'calls': sum_if(calls, NOT is_started)},
        {'line': 3, 'fact': 'status or reason not known', 'state': 'lost',
            'calls': sum_if(calls, unknown_word(status, disconnection_reason))},
        {'line': 4, 'fact': 'not over', 'state': 'waiting',
            'calls': sum_if(calls, NOT is_over)},
        {'line': 5, 'fact': 'settled', 'state': 'good',
            'calls': sum_if(calls, settlement = 'settled')},
        {'line': 6, 'fact': 'analysis to come', 'state': 'waiting',
            'calls': sum_if(calls, lacks_analysis('ended', settlement, is_connected, user_sentiment, opted_out))},
        {'line': 7, 'fact': 'analysis given up', 'state': 'lost',
            'calls': sum_if(calls, lacks_analysis('expired', settlement, is_connected, user_sentiment, opted_out))},
        {'line': 8, 'fact': 'cost to come', 'state': 'waiting',
            'calls': sum_if(calls - costed_calls, lacks_cost('ended', settlement, is_connected))},
        {'line': 9, 'fact': 'cost given up', 'state': 'lost',
            'calls': sum_if(calls - costed_calls, lacks_cost('expired', settlement, is_connected))},
        {'line': 10, 'fact': 'duration not known', 'state': 'info',
            'calls': sum_if(calls - timed_calls, is_over)},
        {'line': 11, 'fact': 'transcript there', 'state': 'good',
            'calls': sum_if(calls, has_transcript(transcript_state))},
        {'line': 12, 'fact': 'nothing to transcribe', 'state': 'good',
            'calls': sum_if(calls, transcript_state = 'empty' AND caller_spoke IS NOT NULL)},
        {'line': 13, 'fact': 'no transcript asked for', 'state': 'info',
            'calls': sum_if(calls, transcript_state = 'empty' AND caller_spoke IS NULL)},
        {'line': 13, 'fact': 'transcript not asked for by its kind', 'state': 'info',
            'calls': sum_if(calls, transcript_state = 'skipped')},
        {'line': 14, 'fact': 'transcript to come', 'state': 'waiting',
            'calls': sum_if(calls, lacks_transcript(is_over, transcript_state))},
        {'line': 15, 'fact': 'opted out of storage', 'state': 'info',
            'calls': sum_if(calls, opted_out)},
        {'line': 16, 'fact': 'transcript gone', 'state': 'lost',
            'calls': sum_if(calls, lost_transcript(transcript_state))},
        {'line': 17, 'fact': 'sentiment known', 'state': 'good', 'calls': sum_if(calls, user_sentiment IS NOT NULL)},
        {'line': 18, 'fact': 'cost known', 'state': 'good', 'calls': total_of(costed_calls)},
        {'line': 19, 'fact': 'cost that total_cost cannot hold', 'state': 'lost', 'calls': total_of(unheld_costs)}] AS facts
    FROM counted_calls
    GROUP BY key
), lines AS (
    SELECT key, facts[1].calls AS group_calls, unnest(facts, recursive := true)
    FROM counted
), last_run AS (
    SELECT calls_set_aside, total_count, bulk_unverified, redacted
    FROM runs
    WHERE NOT coalesce($grouped, false)
    ORDER BY started_at DESC, run_id DESC
    LIMIT 1
)
SELECT key, fact, state, calls, share_percent, scope
FROM (
    SELECT key, line, fact, state, calls, percent_of(calls, group_calls) AS share_percent, 'selection' AS scope, group_calls
    FROM lines
    WHERE calls > 0
    UNION ALL
    SELECT NULL, 20, 'set aside by the last run', 'lost', calls_set_aside, NULL, 'warehouse', 0 FROM last_run WHERE calls_set_aside > 0
    UNION ALL
    SELECT NULL, 21, 'counted by the service', 'info', total_count, NULL, 'warehouse', 0 FROM last_run WHERE total_count IS NOT NULL
    UNION ALL
    SELECT NULL, 22, 'transcript fetched in bulk', 'info', bulk_unverified, NULL, 'warehouse', 0 FROM last_run WHERE bulk_unverified > 0
    UNION ALL
    SELECT NULL, 27, 'redacted by the last run' || ': ' || kind, if(kind = 'unchecked', 'waiting', 'info'), (redacted ->> kind)::BIGINT, NULL, 'warehouse', 0
    FROM (SELECT redacted, unnest(json_keys(redacted)) AS kind FROM last_run)
)
ORDER BY group_rank(group_calls, $largest_first), key NULLS LAST, line, fact
