-- conversation: turns, talk ratio, response latency, interruptions, silences
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
-- Reads: selected, selected_turns
-- Needs: end, transcripts
-- Shares: interrupted_percent of calls
-- Example: query conversation --by agent
-- Columns:
--   key                     VARCHAR  -        group of --by
--   calls                   BIGINT   count    calls with a spoken turn of known times
--   turns_per_call          DOUBLE   number   mean number of these turns
--   agent_talk_percent      DOUBLE   percent of speech  talk ratio: the agents' share of the speech time
--   latency_p50_ms          BIGINT   ms       response latency, median
--   latency_p95_ms          BIGINT   ms       response latency, 95th percentile
--   interrupted_percent     DOUBLE   percent of calls  share of calls in which the caller interrupts the agent
--   caller_interruptions    BIGINT   count    turns with which the caller interrupts
--   agent_interruptions     BIGINT   count    turns with which the agent interrupts
--   silence_p50_ms          BIGINT   ms       median over calls of the longest silence
--   silence_max_ms          BIGINT   ms       longest silence
--   responses               BIGINT   count    turns that have a response latency

WITH spoken AS (
    SELECT key, call_id, role, epoch_ms(start_at) AS begins, epoch_ms(end_at) AS ends,
        lag(role) OVER in_order AS role_before,
        lag(epoch_ms(end_at)) OVER in_order AS end_before,
        max(epoch_ms(end_at)) FILTER (role = 'agent') OVER so_far AS agent_until,
        max(epoch_ms(end_at)) FILTER (role = 'user') OVER so_far AS user_until
    FROM selected_turns
    WHERE (role = 'agent' OR role = 'user') AND start_at IS NOT NULL AND end_at IS NOT NULL
    WINDOW in_order AS (PARTITION BY call_start_at, call_id ORDER BY turn),
        so_far AS (PARTITION BY call_start_at, call_id ORDER BY turn ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
), turns AS (
    SELECT key, call_id, role, ends - begins AS talk_ms,
        CASE WHEN role = 'agent' AND role_before = 'user' AND begins >= end_before THEN begins - end_before END AS latency_ms,
        coalesce(begins < CASE role WHEN 'agent' THEN user_until ELSE agent_until END, false) AS interrupts,
        begins - greatest(agent_until, user_until) AS silence_ms
    FROM spoken
), by_call AS (
    SELECT key, call_id,
        count(*) AS turns,
        sum(talk_ms) AS talk_ms,
        sum(talk_ms) FILTER (role = 'agent') AS agent_ms,
        count(*) FILTER (interrupts AND role = 'user') AS by_caller,
        count(*) FILTER (interrupts AND role = 'agent') AS by_agent,
        CASE WHEN max(silence_ms) < 0 THEN 0 ELSE max(silence_ms) END AS silence_ms
    FROM turns
    GROUP BY key, call_id
), conversations AS (
    SELECT key,
        count(*) AS calls,
        sum(turns) AS turns,
        sum(talk_ms) AS talk_ms,
        coalesce(sum(agent_ms), 0) AS agent_ms,
        count(*) FILTER (by_caller > 0) AS interrupted,
        sum(by_caller) AS by_caller,
        sum(by_agent) AS by_agent,
        quantile_disc(silence_ms, 0.50) AS silence_p50_ms,
        max(silence_ms) AS silence_max_ms
    FROM by_call
    GROUP BY key
), latencies AS (
    SELECT key, count(latency_ms) AS responses, quantile_disc(latency_ms, [0.50, 0.95]) AS p
    FROM turns
    GROUP BY key
)
SELECT c.key AS key, calls,
    turns / calls AS turns_per_call,
    percent_of(agent_ms, talk_ms) AS agent_talk_percent,
    p[1] AS latency_p50_ms, p[2] AS latency_p95_ms,
    percent_of(interrupted, calls) AS interrupted_percent,
    CAST(by_caller AS BIGINT) AS caller_interruptions,
    CAST(by_agent AS BIGINT) AS agent_interruptions,
    silence_p50_ms, silence_max_ms, responses
FROM conversations c JOIN latencies l ON c.key IS NOT DISTINCT FROM l.key
ORDER BY group_rank(calls), c.key NULLS LAST
