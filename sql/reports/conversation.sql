-- conversation: turns, talk ratio, response latency, interruptions, silences
--
-- Look at the p95 of the latency: that long do callers wait for an answer in the slowest
-- twentieth of turns. Many interruptions mean that agent and caller talk at the same
-- time.
--
-- Counted are the turns of the agent and the caller with a known start and end, in the
-- order of the transcript.
--
-- Response latency is the time from the end of a caller's turn to the start of the agent's
-- next turn; only tool calls may be between them. An agent that starts before the caller's
-- end interrupts, and has no latency there. An interruption is a turn that starts before
-- the other side's latest end so far. Silence is the time from the latest end so far to
-- the next start. pNN is as in durations: that of a real turn or call.
--
-- Grain: one row per group that has spoken turns
-- Reads: selected
-- Needs: end, transcripts
-- Example: query conversation --by agent
-- Columns:
--   key                   VARCHAR  -                        group of --by
-- * calls                 BIGINT   count                    calls with a spoken turn of known times
-- * turns_per_call        DOUBLE   number                   mean number of these turns
-- * agent_talk_percent    DOUBLE   percent of speech        talk ratio: the agents' share of the speech time
-- * latency_p50_ms        BIGINT   ms                       response latency, median
-- * latency_p95_ms        BIGINT   ms                       response latency, 95th percentile
-- * interrupted_percent   DOUBLE   percent of calls: calls  share of calls in which the caller interrupts the agent
--   caller_interruptions  BIGINT   count                    turns with which the caller interrupts
--   agent_interruptions   BIGINT   count                    turns with which the agent interrupts
--   silence_p50_ms        BIGINT   ms                       median over calls of the longest silence
--   silence_max_ms        BIGINT   ms                       longest silence
--   responses             BIGINT   count                    turns that have a response latency

WITH conversations AS (
    SELECT key,
        count(*) AS calls,
        sum(spoken_turns) AS turns,
        sum(agent_talk_ms) AS agent_ms,
        sum(agent_talk_ms + user_talk_ms) AS talk_ms,
        count(*) FILTER (user_interruptions > 0) AS interrupted,
        sum(user_interruptions) AS by_caller,
        sum(agent_interruptions) AS by_agent,
        quantile_disc(longest_silence_ms, 0.50) AS silence_p50_ms,
        max(longest_silence_ms) AS silence_max_ms
    FROM selected
    WHERE spoken_turns > 0
    GROUP BY key
), latencies AS (
    SELECT key, count(*) AS responses, quantile_disc(ms, [0.50, 0.95]) AS latency
    FROM (SELECT key, unnest(CAST(response_ms AS BIGINT[])) AS ms FROM selected WHERE response_ms IS NOT NULL)
    GROUP BY key
)
SELECT c.key AS key, calls,
    turns / calls AS turns_per_call,
    percent_of(agent_ms, talk_ms) AS agent_talk_percent,
    latency[1] AS latency_p50_ms, of_20(latency[2], responses) AS latency_p95_ms,
    percent_of(interrupted, calls) AS interrupted_percent,
    CAST(by_caller AS BIGINT) AS caller_interruptions,
    CAST(by_agent AS BIGINT) AS agent_interruptions,
    silence_p50_ms, silence_max_ms,
    CAST(coalesce(responses, 0) AS BIGINT) AS responses
FROM conversations c LEFT JOIN latencies l ON c.key IS NOT DISTINCT FROM l.key
ORDER BY group_rank(calls, $largest_first), c.key NULLS LAST
