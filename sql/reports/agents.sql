-- agents: the leader board: what each agent handles, and how well
--
-- The agent leads whose contained share is the highest for sure: in the order
-- of the share's lower bound (Wilson, 95 %), so that three lucky calls do not
-- beat three thousand good ones. Shares are of connected calls that are over;
-- those of sentiment of calls that have one.
--
-- Grain: one row per group and agent
-- Reads: tallied
-- Tallies: agent_id, is_started, status, disconnection_reason, settlement, user_sentiment
-- Needs: end, duration, analysis, cost
-- Columns:
--   key                    VARCHAR        -        the group that --by asks for
--   agent_id               VARCHAR        -        the agent; null: the service named none
--   calls                  BIGINT         count    calls
--   connected_percent      DOUBLE         percent  share of them that somebody, or a machine, answered
--   contained_percent      DOUBLE         percent  share of the connected calls that the agent handled alone
--   contained_low_percent  DOUBLE         percent  the least that this share is, with 95 % confidence (Wilson)
--   transferred_percent    DOUBLE         percent  share of the connected calls that it passed on
--   positive_percent       DOUBLE         percent  share of positive sentiment
--   negative_percent       DOUBLE         percent  share of negative sentiment
--   handle_ms              BIGINT         ms       average handle time: mean duration of the connected calls
--   total_cost             DECIMAL(38,18)  money    sum of the known costs

WITH counted AS (
    SELECT key, agent_id,
        total_of(calls) AS calls,
        sum_if(calls, is_connected) AS connected,
        sum_if(calls, is_connected AND is_over) AS ended,
        sum_if(calls, is_contained) AS contained,
        sum_if(calls, is_connected AND is_over AND is_transferred) AS transferred,
        sum_if(calls, user_sentiment IS NOT NULL) AS rated,
        sum_if(calls, user_sentiment = 'positive') AS positive,
        sum_if(calls, user_sentiment = 'negative') AS negative,
        sum_if(timed_calls, is_connected) AS timed,
        sum(total_ms) FILTER (is_connected) AS total_ms,
        sum(total_cost) AS total_cost
    FROM tallied
    GROUP BY key, agent_id
), bounded AS (
    SELECT *,
        wilson(contained, ended, -1) AS contained_low_percent,
        sum(calls) OVER (PARTITION BY key) AS group_calls
    FROM counted
)
SELECT key, agent_id, calls,
    percent_of(connected, calls) AS connected_percent,
    percent_of(contained, ended) AS contained_percent,
    contained_low_percent,
    percent_of(transferred, ended) AS transferred_percent,
    percent_of(positive, rated) AS positive_percent,
    percent_of(negative, rated) AS negative_percent,
    mean_of(total_ms, timed) AS handle_ms,
    total_cost
FROM bounded
ORDER BY group_rank(group_calls), key NULLS LAST, contained_low_percent DESC NULLS LAST, calls DESC, agent_id NULLS LAST
