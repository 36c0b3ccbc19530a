-- changes: changes of agents and other objects, with calls before and after
--
-- Look at the verdict: whether more or fewer calls were completed after the change than
-- before. With unclear or too early there is none yet: wait, or choose one agent.
--
-- A change is detected by the next run: it was made after since_at and no later than
-- seen_at. The first state of an object is no change. Publications of agents' versions
-- since the first call are listed with their own time (seen_at and since_at are equal),
-- from the first run on. Customers, incidents, and counters
-- that change by themselves, such as the calls of a campaign, are left out. The table
-- changes has all of them, with the values before and after.
--
-- A change of an agent or its versions is compared by the calls of that agent. After: from
-- the first full hour after seen_at, for seven days at most, as far as calls are listed.
-- Before: the same hours of the same weekdays one week earlier, as far as these end by
-- since_at; if that is fewer than four days, as many weeks earlier as leave four. Both
-- have the same number of hours, so a change can be judged on the next day. verdict
-- compares the completed shares of the answered calls: better or worse if the interval of
-- the difference (Newcombe) excludes 0. All changes of the answer together have 95 %
-- confidence, so fewer changes, as with --agent, need fewer calls each. Otherwise the
-- verdict is unclear if there are enough calls to detect a change by 10 points in four of
-- five cases, else too early: needs_calls is the approximate number of further answered
-- calls required. A verdict names no cause: changes within one week share their calls.
-- --agent selects the changes of that agent; --where selects the calls that are compared.
--
-- Grain: one row per change of an object
-- Reads: selected_changes, changes, agent_versions, counted_calls of agent_id local_hour is_started status disconnection_reason settlement transcript_state caller_spoke short_step
-- Needs: end, words, transcripts
-- Empty: no changes and no publications were seen
-- Example: query changes --since 30d
-- Columns:
-- * seen_at                   TIMESTAMP WITH TIME ZONE  -  time it was detected, or of the publication
--   since_at                  TIMESTAMP WITH TIME ZONE  -  time of the last list before the change
--   resource                  VARCHAR  -        table of the object
-- * agent_id                  VARCHAR  -        the agent, for a change of an agent
-- * what                      VARCHAR  -        name or key of the object; for a version, its name
--   kind                      VARCHAR  -        published, created, changed, deleted or returned
--   before_calls              BIGINT   count    calls of the agent in the hours before
--   after_calls               BIGINT   count    calls of the agent in the hours after
-- * before_completed_percent  DOUBLE   percent of answered  completed share of the answered calls before
-- * after_completed_percent   DOUBLE   percent of answered  completed share of the answered calls after
--   difference_low_points     DOUBLE   points   lower bound of the difference, in percentage points
--   difference_high_points    DOUBLE   points   upper bound
-- * verdict                   VARCHAR  -        better, worse, unclear or too early
-- * fields                    VARCHAR  prose    changed columns, with short values before and after, else the names of changed members
--   needs_calls               BIGINT   count    for too early: approximate number of further answered calls required
--   before_answered_calls     BIGINT   count    answered calls before
--   after_answered_calls      BIGINT   count    answered calls after
--   key                       VARCHAR  -        key in the table changes

WITH named AS (
    SELECT resource, key, seen_at,
        last_value(coalesce(after ->> '$.name', after ->> '$.number') IGNORE NULLS)
            OVER (PARTITION BY resource, key ORDER BY seen_at) AS name
    FROM changes SEMI JOIN selected_changes USING (resource, key)
    QUALIFY row_number() OVER (PARTITION BY resource, key, seen_at) = 1
), produced AS ( -- whether the publication, or the agent, says already which version is in production
    SELECT *,
        EXISTS (FROM agent_versions v WHERE v.agent_id = c.agent_id AND created_at > since_at AND created_at <= seen_at
            AND version = coalesce(after ->> '$.production_version', version)) AS is_published,
        coalesce(bool_or(resource = 'agents' AND contains(CAST(fields AS VARCHAR), '"production_version"')) OVER (PARTITION BY agent_id, run_id), false) AS is_of_agent
    FROM selected_changes c
), moved AS (
    SELECT *, CASE WHEN kind = 'changed' THEN list_filter(CAST(fields AS VARCHAR[]), f -> f NOT IN
        ('completed_calls', 'failed_calls', 'active_concurrency', 'upload_percentage', 'last_notified_at')
        AND NOT (f = 'production_version' AND is_published)
        AND NOT (f = 'is_production' AND (is_published OR is_of_agent))) END AS moved
    FROM produced
), edits AS (
    SELECT c.* REPLACE (list_filter(moved, f -> f <> 'updated_at' OR len(moved) = 1) AS moved),
        coalesce(n.name, url_decode(split_part(key, '/', -1))) AS what,
        date_trunc('hour', local_time(since_at)) AS last_known,
        date_trunc('hour', local_time(seen_at)) + INTERVAL 1 HOUR AS first_hour
    FROM moved c LEFT JOIN named n USING (resource, key, seen_at)
    WHERE moved IS NULL OR len(moved) > 0
), spans AS ( -- weeks: how many weeks earlier the compared hours are
    SELECT *, least(first_hour + INTERVAL 7 DAY, last_known + INTERVAL 7 DAY * weeks, listed) AS last_hour
    FROM (
        SELECT DISTINCT agent_id, first_hour, last_known,
            CAST(ceil((epoch(first_hour) - epoch(last_known) + 4 * 86400) / (7 * 86400)) AS INTEGER) AS weeks,
            date_trunc('hour', local_time(make_timestamptz(least($listed_until, 32503680000000) * 1000))) AS listed
        FROM edits
        WHERE agent_id IS NOT NULL)
), hours AS (
    SELECT agent_id, local_start AS hour, total_of(calls) AS calls, sum_if(calls, is_answered) AS answered, sum_if(calls, is_completed) AS completed
    FROM counted_calls
    GROUP BY agent_id, local_start
), weeks AS (
    SELECT s.agent_id AS agent_id, first_hour, last_known,
        sum_if(calls, hour < first_hour) AS before_calls, sum_if(calls, hour >= first_hour) AS after_calls,
        sum_if(answered, hour < first_hour) AS before_answered, sum_if(answered, hour >= first_hour) AS after_answered,
        sum_if(completed, hour < first_hour) AS before_completed, sum_if(completed, hour >= first_hour) AS after_completed
    FROM spans s
        LEFT JOIN hours h ON h.agent_id = s.agent_id
            AND (hour >= first_hour AND hour < last_hour
                OR hour >= first_hour - INTERVAL 7 DAY * weeks AND hour < last_hour - INTERVAL 7 DAY * weeks)
    GROUP BY s.agent_id, first_hour, last_known
), measured AS (
    SELECT *,
        percent_of(before_completed, before_answered) AS before_percent,
        percent_of(after_completed, after_answered) AS after_percent,
        sum(if(before_answered > 0 AND after_answered > 0, 1, 0)) OVER () AS judged
    FROM weeks
), judged AS (
    SELECT *,
        share_change(after_percent, after_answered, before_percent, before_answered, chance_z(judged), -1) AS low,
        share_change(after_percent, after_answered, before_percent, before_answered, chance_z(judged), 1) AS high,
        CASE WHEN before_answered > 0 THEN greatest(calls_to_find(10, before_percent, before_answered,
            after_answered / before_answered, chance_z(judged)) - after_answered, 0) END AS needed
    FROM measured
)
SELECT seen_at, since_at, resource, agent_id, what, kind,
    before_calls, after_calls,
    before_percent AS before_completed_percent,
    after_percent AS after_completed_percent,
    low AS difference_low_points, high AS difference_high_points,
    CASE WHEN low > 0 THEN 'better' WHEN high < 0 THEN 'worse' WHEN needed > 0 THEN 'too early' WHEN low IS NOT NULL THEN 'unclear' END AS verdict,
    array_to_string(list_transform(moved, f -> field_change(f, before, after)), ', ') AS fields,
    CASE WHEN needed > 0 AND NOT coalesce(low > 0 OR high < 0, false) THEN needed END AS needs_calls,
    before_answered AS before_answered_calls, after_answered AS after_answered_calls,
    key
FROM edits LEFT JOIN judged USING (agent_id, first_hour, last_known)
ORDER BY seen_at DESC, resource, key
