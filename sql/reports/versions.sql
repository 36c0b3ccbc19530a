-- versions: agent versions and variants compared
--
-- Look at the verdict: better or worse than the baseline by more than chance. mix warns
-- that a version got other types of calls.
--
-- Each version and variant of an agent is compared with its baseline: the version that was
-- in production before the agent's newest publication in the selected time, with its calls
-- there and those of the 28 days up to its last one before --since. Without a publication,
-- or without calls of an earlier version, it is the one with the most answered calls in
-- the selected time; --baseline chooses another version. Of several variants it is the one
-- with the most calls, with --by in all groups together. A call whose version is called
-- production or current, or that names none, had the version in production at its start:
-- the last one published, or seen back in production, by then. Before the first known
-- publication it keeps its word. With --compare, or in groups of days, weeks or months,
-- only calls of the selected time count. first_day and last_day have the days of the calls
-- in a row. Answered calls are over, answered by a person as far as is known, and it is
-- known whether the caller spoke. Completed calls are those in which the caller spoke and
-- that ended by a hang-up. Intervals of shares hold the true share with 95 % confidence
-- (Wilson).
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
-- Reads: produced, counted_calls of call_type agent_id used_version variant_label user_sentiment is_started status disconnection_reason settlement transcript_state caller_spoke short_step success local_date is_earlier from 366 days before, agent_versions, changes
-- Needs: end, words, transcripts, analysis
-- Keys: agent_id, agent_version, variant_label
-- Flags: field, baseline
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
-- * verdict                 VARCHAR  -                                   baseline, better, worse or unclear; no baseline if the agent has no calls of the one that was asked for
--   equal_mix_percent       DOUBLE   percent of answered                 share compared by verdict, at the baseline's mix of call types
--   mix                     VARCHAR  prose                               call type whose part of the calls differs from the baseline's, with both parts
--   difference_low_points   DOUBLE   points                              lower bound of the difference from the baseline at equal mix, in percentage points
--   difference_high_points  DOUBLE   points                              upper bound
--   positive_percent        DOUBLE   percent of rated: rated_calls       share of positive sentiment among the calls that have one
--   positive_low_percent    DOUBLE   percent                             lower bound of this share
--   positive_high_percent   DOUBLE   percent                             upper bound
--   handle_ms               BIGINT   ms: handled_spread                  mean duration of the answered calls that connected; agents counts all calls that connected
--   rated_calls             BIGINT   count                               answered calls that have a sentiment
--   handled_calls           BIGINT   count                               calls that handle_ms is the mean of
--   first_day               DATE     -                                   local day of the first of the row's calls
--   last_day                DATE     -                                   and of the last
--   known_calls             BIGINT   count                               with --field: calls in which the field was found
-- * success_percent         DOUBLE   percent of known: known_calls       with --field: share of them that were a success
--   success_low_percent     DOUBLE   percent                             with --field: lower bound of this share
--   success_high_percent    DOUBLE   percent                             with --field: upper bound

WITH daily AS MATERIALIZED (
    SELECT key, agent_id, used_version AS agent_version, variant_label, call_type, is_earlier, local_date,
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
    GROUP BY key, agent_id, used_version, variant_label, call_type, is_earlier, local_date
    HAVING answered + known > 0
), newest AS (
    SELECT agent_id, max_by(version, created_at) AS version, max(created_at) AS published
    FROM agent_versions
    WHERE created_at >= coalesce($selected_since, created_at) AND created_at < coalesce($selected_until, created_at + INTERVAL 1 DAY)
    GROUP BY agent_id
), former AS (
    SELECT p.agent_id AS agent_id, p.version AS agent_version, max(produced) AS produced
    FROM produced p JOIN newest n ON p.agent_id = n.agent_id AND p.version <> n.version AND produced < published
    GROUP BY p.agent_id, p.version
), candidates AS (
    SELECT d.agent_id AS agent_id, d.agent_version AS agent_version, variant_label, any_value(f.produced) AS produced,
        sum(calls) AS n, coalesce(sum(calls) FILTER (NOT is_earlier), 0) AS selected, bool_or(NOT is_earlier) AS is_selected, max(local_date) FILTER (is_earlier) AS last_earlier
    FROM daily d LEFT JOIN former f ON d.agent_id = f.agent_id AND d.agent_version = f.agent_version
    GROUP BY d.agent_id, d.agent_version, variant_label
), baselines AS (
    SELECT agent_id, agent_version, variant_label, last_earlier, coalesce($baseline = agent_version, produced IS NOT NULL) AS is_former
    FROM (SELECT *, bool_or(is_selected) OVER (PARTITION BY agent_id) AS has_selected FROM candidates)
    WHERE has_selected AND coalesce(agent_version = $baseline, $baseline IS NULL)
    QUALIFY row_number() OVER (PARTITION BY agent_id
        ORDER BY produced DESC NULLS LAST, if(is_former, n, selected) DESC, agent_version NULLS LAST, variant_label NULLS LAST) = 1
), typed AS (
    SELECT key, d.agent_id AS agent_id, d.agent_version AS agent_version, d.variant_label AS variant_label, call_type, b.is_former IS NOT NULL AS is_baseline,
        sum(answered) AS answered, sum(completed) AS completed, sum(rated) AS rated, sum(positive) AS positive,
        sum(timed) AS timed, sum(total_ms) AS total_ms, sum(squares) AS squares, sum(cubes) AS cubes,
        sum(known) AS known, sum(successes) AS successes, sum(hits) AS hits, sum(calls) AS calls, min(local_date) AS first_day, max(local_date) AS last_day
    FROM daily d LEFT JOIN baselines b ON d.agent_id IS NOT DISTINCT FROM b.agent_id
        AND d.agent_version IS NOT DISTINCT FROM b.agent_version AND d.variant_label IS NOT DISTINCT FROM b.variant_label
    WHERE NOT is_earlier OR b.is_former AND local_date > last_earlier - 28
    GROUP BY key, d.agent_id, d.agent_version, d.variant_label, call_type, b.is_former
), sides AS (
    SELECT *, bool_or(is_baseline) OVER (PARTITION BY agent_id) AS has_baseline,
        sum(calls) OVER (PARTITION BY key, agent_id, agent_version, variant_label) AS side_calls
    FROM typed
), paired AS ( -- a version's and the baseline's calls of a type
    SELECT s.key AS key, s.agent_id AS agent_id, s.agent_version AS agent_version, s.variant_label AS variant_label, s.call_type AS call_type,
        s.calls AS n, s.hits AS x, b.calls AS m, b.hits AS y,
        percent_of(s.calls, s.side_calls) AS part, percent_of(b.calls, b.side_calls) AS base_part,
        sum(b.calls) FILTER (s.calls > 0) OVER (PARTITION BY s.key, s.agent_id, s.agent_version, s.variant_label) AS whole
    FROM sides s JOIN sides b ON b.is_baseline AND NOT s.is_baseline
        AND s.key IS NOT DISTINCT FROM b.key AND s.agent_id IS NOT DISTINCT FROM b.agent_id AND s.call_type IS NOT DISTINCT FROM b.call_type
    WHERE b.calls > 0
), strict AS (
    SELECT *, chance_z($answers * count(DISTINCT (key, agent_id, agent_version, variant_label)) FILTER (n > 0) OVER ()) AS z
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
    SELECT key, agent_id, agent_version, variant_label, is_baseline, has_baseline,
        min(first_day) AS first_day, max(last_day) AS last_day, total_of(answered) AS answered, total_of(completed) AS completed, total_of(rated) AS rated, total_of(positive) AS positive,
        total_of(timed) AS timed, sum(total_ms) AS total_ms, sum(squares) AS squares, sum(cubes) AS cubes,
        total_of(known) AS known, total_of(successes) AS successes, total_of(calls) AS calls
    FROM sides
    GROUP BY key, agent_id, agent_version, variant_label, is_baseline, has_baseline
)
SELECT s.key AS key, s.agent_id AS agent_id, s.agent_version AS agent_version, s.variant_label AS variant_label, answered AS answered_calls,
    percent_of(completed, answered) AS completed_percent,
    wilson(completed, answered, -1) AS completed_low_percent,
    wilson(completed, answered, 1) AS completed_high_percent,
    CASE WHEN is_baseline THEN 'baseline' WHEN NOT has_baseline THEN 'no baseline' WHEN difference_low > 0 THEN 'better' WHEN difference_high < 0 THEN 'worse' ELSE 'unclear' END AS verdict,
    equal_mix AS equal_mix_percent, mix,
    difference_low AS difference_low_points, difference_high AS difference_high_points,
    percent_of(positive, rated) AS positive_percent,
    wilson(positive, rated, -1) AS positive_low_percent,
    wilson(positive, rated, 1) AS positive_high_percent,
    mean_of(total_ms, timed) AS handle_ms,
    rated AS rated_calls,
    timed AS handled_calls,
    first_day, last_day,
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
