-- versions: agent versions and variants compared
--
-- Each version and variant of an agent is compared with its baseline: the one with the
-- most answered calls, with --by in all groups together. Answered calls are over, answered
-- by a person as far as is known, and it is known whether the caller spoke. Completed
-- calls are those in which the caller spoke and that ended by a hang-up. Intervals of
-- shares hold the true share with 95 % confidence (Wilson).
--
-- A version that gets other calls than the baseline may have another share for that reason
-- alone, so verdict compares both at the baseline's mix of call types: equal_mix_percent
-- is the mean of the version's shares by call type, weighted by the baseline's calls, over
-- the types that both have. mix names the type whose part in the calls differs most, if by
-- 5 points or more; in a tie, a type that the version has more of, then the first by name.
-- verdict is better or worse if the interval of the difference (Newcombe, made of the
-- Wilson intervals of all types) excludes 0, else unclear. All verdicts of an answer
-- together have 95 % confidence, so with more versions each must differ more clearly.
-- Calls that were not split at random may differ by more than version and type. A version
-- without answered calls has no row, unless the field of --field was found in one of its
-- calls.
--
-- With --field resolved=true the verdict is on the share of successes: the calls in which
-- the custom analysis found that value in that field, of the calls in which it found any.
-- The baseline is then the one with the most of these.
--
-- Grain: one row per group, agent, version and variant
-- Reads: counted_calls of call_type agent_id agent_version variant_label user_sentiment is_started status disconnection_reason settlement transcript_state caller_spoke short_step success
-- Needs: end, words, transcripts, analysis
-- Keys: agent_id, agent_version, variant_label
-- Flags: field
-- Example: query versions --field resolved=true
-- Columns:
--   key                     VARCHAR  -                                   group of --by
-- * agent_id                VARCHAR  -                                   the agent
-- * agent_version           VARCHAR  -                                   its version
-- * variant_label           VARCHAR  -                                   the variant of the split test; null: none
-- * answered_calls          BIGINT   count                               answered calls
-- * completed_percent       DOUBLE   percent of answered: answered_calls  share of them that were completed
--   completed_low_percent   DOUBLE   percent                             lower bound of this share
--   completed_high_percent  DOUBLE   percent                             upper bound
-- * verdict                 VARCHAR  -                                   baseline, better, worse or unclear
--   equal_mix_percent       DOUBLE   percent of answered                 share compared by verdict, at the baseline's mix of call types
--   mix                     VARCHAR  prose                               call type whose part of the calls differs from the baseline's, with both parts
--   difference_low_points   DOUBLE   points                              lower bound of the difference from the baseline at equal mix, in percentage points
--   difference_high_points  DOUBLE   points                              upper bound
-- * positive_percent        DOUBLE   percent of rated: rated_calls       share of positive sentiment among the calls that have one
--   positive_low_percent    DOUBLE   percent                             lower bound of this share
--   positive_high_percent   DOUBLE   percent                             upper bound
--   handle_ms               BIGINT   ms: handled_spread                  mean duration of the answered calls that connected; agents counts all calls that connected
--   rated_calls             BIGINT   count                               answered calls that have a sentiment
--   handled_calls           BIGINT   count                               calls that handle_ms is the mean of
--   known_calls             BIGINT   count                               with --field: calls in which the field was found
-- * success_percent         DOUBLE   percent of known: known_calls       with --field: share of them that were a success
--   success_low_percent     DOUBLE   percent                             with --field: lower bound of this share
--   success_high_percent    DOUBLE   percent                             with --field: upper bound

WITH typed AS MATERIALIZED (
    SELECT key, agent_id, agent_version, variant_label, call_type,
        sum_if(calls, is_answered) AS answered,
        sum_if(calls, is_completed) AS completed,
        sum_if(calls, is_answered AND user_sentiment IS NOT NULL) AS rated,
        sum_if(calls, is_answered AND user_sentiment = 'positive') AS positive,
        sum_if(timed_calls, is_answered AND is_connected) AS timed,
        sum(total_ms) FILTER (is_answered AND is_connected) AS total_ms,
        sum(ms_squares) FILTER (is_answered AND is_connected) AS squares,
        sum(ms_cubes) FILTER (is_answered AND is_connected) AS cubes,
        sum_if(calls, success IS NOT NULL) AS known,
        sum_if(calls, success) AS successes,
        CASE WHEN $field_name IS NULL THEN completed ELSE successes END AS hits,
        CASE WHEN $field_name IS NULL THEN answered ELSE known END AS calls
    FROM counted_calls
    GROUP BY key, agent_id, agent_version, variant_label, call_type
    HAVING answered + known > 0
), baselines AS (
    SELECT agent_id, agent_version, variant_label
    FROM typed
    GROUP BY agent_id, agent_version, variant_label
    QUALIFY row_number() OVER (PARTITION BY agent_id ORDER BY sum(calls) DESC, agent_version NULLS LAST, variant_label NULLS LAST) = 1
), sides AS (
    SELECT t.*, coalesce(b.is_baseline, false) AS is_baseline,
        sum(calls) OVER (PARTITION BY t.key, t.agent_id, t.agent_version, t.variant_label) AS side_calls
    FROM typed t LEFT JOIN (SELECT *, true AS is_baseline FROM baselines) b
        ON t.agent_id IS NOT DISTINCT FROM b.agent_id AND t.agent_version IS NOT DISTINCT FROM b.agent_version AND t.variant_label IS NOT DISTINCT FROM b.variant_label
), paired AS ( -- a version's and the baseline's calls of a type
    SELECT s.key AS key, s.agent_id AS agent_id, s.agent_version AS agent_version, s.variant_label AS variant_label, s.call_type AS call_type,
        s.calls AS n, s.hits AS x, b.calls AS m, b.hits AS y,
        percent_of(s.calls, s.side_calls) AS part, percent_of(b.calls, b.side_calls) AS base_part,
        sum(b.calls) FILTER (s.calls > 0) OVER (PARTITION BY s.key, s.agent_id, s.agent_version, s.variant_label) AS whole
    FROM sides s JOIN sides b ON b.is_baseline AND NOT s.is_baseline
        AND s.key IS NOT DISTINCT FROM b.key AND s.agent_id IS NOT DISTINCT FROM b.agent_id AND s.call_type IS NOT DISTINCT FROM b.call_type
    WHERE b.calls > 0
), strict AS (
    SELECT *, chance_z(count(DISTINCT (key, agent_id, agent_version, variant_label)) FILTER (n > 0) OVER ()) AS z
    FROM paired
), evened AS ( -- in order of the types: sums of floats depend on it
    SELECT key, agent_id, agent_version, variant_label,
        sum(m / whole * percent_of(x, n) ORDER BY call_type) FILTER (n > 0) AS equal_mix,
        equal_mix - sum(m / whole * percent_of(y, m) ORDER BY call_type) FILTER (n > 0) AS difference,
        difference - sqrt(sum(pow(m / whole, 2) * (pow(percent_of(x, n) - wilson_at(x, n, z, -1), 2) + pow(percent_of(y, m) - wilson_at(y, m, z, 1), 2)) ORDER BY call_type) FILTER (n > 0)) AS difference_low,
        difference + sqrt(sum(pow(m / whole, 2) * (pow(percent_of(x, n) - wilson_at(x, n, z, 1), 2) + pow(percent_of(y, m) - wilson_at(y, m, z, -1), 2)) ORDER BY call_type) FILTER (n > 0)) AS difference_high
    FROM strict
    GROUP BY key, agent_id, agent_version, variant_label
), mixes AS ( -- includes types that only one side has
    SELECT s.key AS key, s.agent_id AS agent_id, s.agent_version AS agent_version, s.variant_label AS variant_label,
        min_by(printf('%s %.0f %%, baseline %.0f %%', coalesce(t.call_type, '(none)'), round(coalesce(o.part, 0)), round(coalesce(b.part, 0))),
            (-round(abs(coalesce(o.part, 0) - coalesce(b.part, 0)), 6), coalesce(o.part, 0) < coalesce(b.part, 0), t.call_type IS NOT NULL, coalesce(t.call_type, ''))) AS mix,
        max(abs(coalesce(o.part, 0) - coalesce(b.part, 0))) AS mix_difference
    FROM (SELECT DISTINCT key, agent_id, agent_version, variant_label FROM sides WHERE NOT is_baseline AND side_calls > 0) s
        JOIN (SELECT DISTINCT key, agent_id, call_type FROM sides) t ON s.key IS NOT DISTINCT FROM t.key AND s.agent_id IS NOT DISTINCT FROM t.agent_id
        LEFT JOIN (SELECT *, percent_of(calls, side_calls) AS part FROM sides) o ON o.key IS NOT DISTINCT FROM s.key AND o.agent_id IS NOT DISTINCT FROM s.agent_id
            AND o.agent_version IS NOT DISTINCT FROM s.agent_version AND o.variant_label IS NOT DISTINCT FROM s.variant_label AND o.call_type IS NOT DISTINCT FROM t.call_type
        LEFT JOIN (SELECT *, percent_of(calls, side_calls) AS part FROM sides WHERE is_baseline) b ON b.key IS NOT DISTINCT FROM s.key AND b.agent_id IS NOT DISTINCT FROM s.agent_id
            AND b.call_type IS NOT DISTINCT FROM t.call_type
    GROUP BY s.key, s.agent_id, s.agent_version, s.variant_label
    HAVING mix_difference >= 5 AND bool_or(b.part > 0)
), summed AS (
    SELECT key, agent_id, agent_version, variant_label, is_baseline,
        total_of(answered) AS answered, total_of(completed) AS completed, total_of(rated) AS rated, total_of(positive) AS positive,
        total_of(timed) AS timed, sum(total_ms) AS total_ms, sum(squares) AS squares, sum(cubes) AS cubes,
        total_of(known) AS known, total_of(successes) AS successes, total_of(calls) AS calls
    FROM sides
    GROUP BY key, agent_id, agent_version, variant_label, is_baseline
)
SELECT s.key AS key, s.agent_id AS agent_id, s.agent_version AS agent_version, s.variant_label AS variant_label, answered AS answered_calls,
    percent_of(completed, answered) AS completed_percent,
    wilson(completed, answered, -1) AS completed_low_percent,
    wilson(completed, answered, 1) AS completed_high_percent,
    CASE WHEN is_baseline THEN 'baseline' WHEN difference_low > 0 THEN 'better' WHEN difference_high < 0 THEN 'worse' ELSE 'unclear' END AS verdict,
    equal_mix AS equal_mix_percent, mix,
    difference_low AS difference_low_points, difference_high AS difference_high_points,
    percent_of(positive, rated) AS positive_percent,
    wilson(positive, rated, -1) AS positive_low_percent,
    wilson(positive, rated, 1) AS positive_high_percent,
    mean_of(total_ms, timed) AS handle_ms,
    rated AS rated_calls,
    timed AS handled_calls,
    known AS known_calls,
    percent_of(successes, known) AS success_percent,
    wilson(successes, known, -1) AS success_low_percent,
    wilson(successes, known, 1) AS success_high_percent,
    spread_of(timed, total_ms, squares, cubes) AS handled_spread
FROM summed s
    LEFT JOIN evened e ON s.key IS NOT DISTINCT FROM e.key AND s.agent_id IS NOT DISTINCT FROM e.agent_id
        AND s.agent_version IS NOT DISTINCT FROM e.agent_version AND s.variant_label IS NOT DISTINCT FROM e.variant_label
    LEFT JOIN mixes m ON s.key IS NOT DISTINCT FROM m.key AND s.agent_id IS NOT DISTINCT FROM m.agent_id
        AND s.agent_version IS NOT DISTINCT FROM m.agent_version AND s.variant_label IS NOT DISTINCT FROM m.variant_label
ORDER BY group_rank(sum(calls) OVER (PARTITION BY s.key), $largest_first), s.key NULLS LAST, sum(calls) OVER (PARTITION BY s.key, s.agent_id) DESC, s.agent_id NULLS LAST,
    is_baseline DESC, calls DESC, s.agent_version NULLS LAST, s.variant_label NULLS LAST
