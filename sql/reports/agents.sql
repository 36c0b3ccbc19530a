-- agents: performance of each agent
--
-- Look at completed and at negative sentiment; the best agents stand at the top. An
-- agent with few calls stands low however good it looks, because the order is that of
-- the lower bounds.
--
-- Agents are sorted by the lower bound of their share of successes (Wilson, 95 %), so that
-- three lucky calls do not beat three thousand good ones. A success is an answered call
-- with the outcome completed: the caller spoke and the call ended by a hang-up. The
-- setting success names other outcomes for an agent. Answered calls are over, answered by
-- a person as far as is known, and it is known whether the caller spoke. Rated calls have
-- a sentiment. Sentiment and handle time exclude voicemail.
--
-- doubt marks an agent if the lower bound of the negative share of its rated successes
-- exceeds 50 %.
--
-- With --field resolved=true agents are sorted by another share: the calls in which the
-- custom analysis found that value in that field, of the calls in which it found any.
-- Their cost is that of the report success.
--
-- Grain: one row per group and agent
-- Reads: counted_calls of agent_id user_sentiment is_started status disconnection_reason settlement transcript_state caller_spoke short_step success unit
-- Needs: end, words, transcripts, duration, analysis, cost
-- Flags: field
-- Keys: agent_id, unit
-- Example: query agents --since 30d
-- Columns:
--   key                    VARCHAR         -                                   group of --by
-- * agent_id               VARCHAR         -                                   id of the agent; null: not sent
-- * calls                  BIGINT          count                               calls
--   connected_percent      DOUBLE          percent of calls: calls             share of calls that connected
--   answered_calls         BIGINT          count                               answered calls
-- * completed_percent      DOUBLE          percent of answered: answered_calls  share of the answered calls that were completed
--   completed_low_percent  DOUBLE          percent                             lower bound of this share (Wilson, 95 %)
--   transferred_percent    DOUBLE          percent of answered: answered_calls  share of the answered calls that were transferred
--   positive_percent       DOUBLE          percent of rated: rated_calls       share of positive sentiment
-- * negative_percent       DOUBLE          percent of rated: rated_calls       share of negative sentiment
-- * handle_ms              BIGINT          ms: handled_spread                  average handle time: mean duration of the connected calls, without voicemail
-- * total_cost             DECIMAL(38,18)  money                               sum of the known costs in the unit
--   unit                   VARCHAR         -                                   unit of the amounts in all rows: currency or credits, whichever more calls of the answer have; null: no cost is known
--   costed_calls           BIGINT          count                               calls whose cost is known in the unit; costs of others are in no figure
--   rated_calls            BIGINT          count                               calls that have a sentiment, without voicemail
--   handled_calls          BIGINT          count                               calls that handle_ms is the mean of
--   goal                   VARCHAR         -                                   outcomes that count as success of this agent
--   goal_percent           DOUBLE          percent of answered: answered_calls  share of the answered calls that were a success
--   goal_low_percent       DOUBLE          percent                             lower bound of this share (Wilson, 95 %)
-- * doubt                  VARCHAR         prose                               rated negative, or null
--   known_calls            BIGINT          count                               with --field: calls in which the field was found
-- * success_percent        DOUBLE          percent of known: known_calls       with --field: share of them that were a success
--   success_low_percent    DOUBLE          percent                             with --field: lower bound of this share (Wilson, 95 %)
-- * per_success            DECIMAL(38,4)   money                               with --field: known costs of these calls per success with a known cost

WITH counted AS (
    SELECT key, agent_id,
        total_of(calls) AS calls,
        sum_if(calls, is_connected) AS connected,
        sum_if(calls, is_answered) AS answered_calls,
        sum_if(calls, is_completed) AS completed,
        sum_if(calls, is_answered AND outcome = 'transferred') AS transferred,
        sum_if(calls, is_answered AND is_goal) AS reached,
        sum_if(calls, is_answered AND is_goal AND user_sentiment IS NOT NULL) AS reached_rated,
        sum_if(calls, is_answered AND is_goal AND user_sentiment = 'negative') AS reached_negative,
        sum_if(calls, user_sentiment IS NOT NULL AND NOT is_voicemail) AS rated,
        sum_if(calls, user_sentiment = 'positive' AND NOT is_voicemail) AS positive,
        sum_if(calls, user_sentiment = 'negative' AND NOT is_voicemail) AS negative,
        sum_if(timed_calls, is_connected AND NOT is_voicemail) AS timed,
        sum(total_ms) FILTER (is_connected AND NOT is_voicemail) AS total_ms,
        sum(ms_squares) FILTER (is_connected AND NOT is_voicemail) AS squares,
        sum(ms_cubes) FILTER (is_connected AND NOT is_voicemail) AS cubes,
        sum_if(calls, success IS NOT NULL) AS known_calls,
        sum_if(calls, success) AS successes,
        sum_if(costed_calls, unit = 'currency') AS in_currency,
        sum_if(costed_calls, unit = 'credits') AS in_credits,
        sum(total_cost) FILTER (unit = 'currency') AS currency,
        sum(total_cost) FILTER (unit = 'credits') AS credits,
        sum(total_cost) FILTER (unit = 'currency' AND success IS NOT NULL) AS known_currency,
        sum(total_cost) FILTER (unit = 'credits' AND success IS NOT NULL) AS known_credits,
        sum_if(costed_calls, success AND unit = 'currency') AS successes_in_currency,
        sum_if(costed_calls, success AND unit = 'credits') AS successes_in_credits
    FROM (SELECT *, list_contains(goals_of(agent_id, $goals), outcome) AS is_goal FROM counted_calls)
    GROUP BY key, agent_id
), bounded AS (
    SELECT *,
        wilson(completed, answered_calls, -1) AS completed_low_percent,
        wilson(reached, answered_calls, -1) AS goal_low_percent,
        wilson(successes, known_calls, -1) AS success_low_percent,
        sum(calls) OVER (PARTITION BY key) AS group_calls,
        main_unit(sum(in_currency) OVER (), sum(in_credits) OVER ()) AS unit
    FROM counted
)
SELECT key, agent_id, calls,
    percent_of(connected, calls) AS connected_percent,
    answered_calls,
    percent_of(completed, answered_calls) AS completed_percent,
    completed_low_percent,
    percent_of(transferred, answered_calls) AS transferred_percent,
    percent_of(positive, rated) AS positive_percent,
    percent_of(negative, rated) AS negative_percent,
    mean_of(total_ms, timed) AS handle_ms,
    CASE unit WHEN 'credits' THEN credits ELSE currency END AS total_cost,
    unit,
    CASE unit WHEN 'credits' THEN in_credits ELSE in_currency END AS costed_calls,
    rated AS rated_calls,
    timed AS handled_calls,
    array_to_string(goals_of(agent_id, $goals), ' or ') AS goal,
    percent_of(reached, answered_calls) AS goal_percent,
    goal_low_percent,
    CASE WHEN wilson(reached_negative, reached_rated, -1) > 50 THEN 'rated negative' END AS doubt,
    known_calls,
    percent_of(successes, known_calls) AS success_percent,
    success_low_percent,
    CASE unit WHEN 'credits' THEN money_per(known_credits, successes_in_credits, 1)
        ELSE money_per(known_currency, successes_in_currency, 1) END AS per_success,
    spread_of(timed, total_ms, squares, cubes) AS handled_spread
FROM bounded
ORDER BY group_rank(group_calls, $largest_first), key NULLS LAST,
    CASE WHEN $field_name IS NULL THEN goal_low_percent ELSE success_low_percent END DESC NULLS LAST, calls DESC, agent_id NULLS LAST
