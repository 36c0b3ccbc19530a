-- changes: what was changed when: agents, versions, tools and so on, and how calls went before and after
--
-- A change is seen by the next run: it was made after since_at, and no later than
-- seen_at. What was there when its list was first read is no change. Customers and
-- incidents are left out, and so are figures that move by themselves, as the calls of
-- a campaign. The table changes has all, with the values before and after.
--
-- A change of an agent, or of its versions, has the calls of that agent beside it. After:
-- from the first whole hour after seen_at on, for seven days at most, as far as calls are
-- listed. Before: the same hours of the same weekdays one week earlier, as long as they are
-- over by since_at; where these are fewer than four days, as many weeks earlier as leave
-- four. Both have as many hours, so that a change can be judged on the next day. verdict
-- compares the completed shares of the answered calls: better or worse where the interval
-- of the difference (Newcombe) leaves out 0. All changes of the answer together have 95 %
-- confidence: ask for fewer, as by --agent, and each needs fewer calls. Where it does not
-- leave out 0 the verdict is unclear if there are calls enough to find a change by 10
-- points in four of five cases, and else too early: needs_calls is about how many more
-- answered calls that takes. It does not say why: changes within one week share their
-- calls, and other things change as well. --agent takes the changes of that agent; --where
-- narrows the calls beside them.
--
-- Grain: one row per change of an object
-- Reads: selected_changes, changes, tallied
-- Tallies: agent_id, local_hour, is_started, status, disconnection_reason, settlement, transcript_state, caller_spoke, short_step
-- Needs: end, words, transcripts
-- Empty: no changes were seen
-- Example: query changes --since 30d
-- Columns:
--   seen_at                   TIMESTAMP WITH TIME ZONE  -  when it was seen
--   since_at                  TIMESTAMP WITH TIME ZONE  -  when it was last seen as it was before
--   resource                  VARCHAR  -        the table of what was changed
--   what                      VARCHAR  -        its name, or what else tells it; of a version, which
--   agent_id                  VARCHAR  -        the agent, where it is one's change
--   kind                      VARCHAR  -        created, changed, deleted or returned
--   fields                    VARCHAR  prose    what was changed, the value before and after where these are short, else which members
--   before_calls              BIGINT   count    the agent's calls in the hours before
--   after_calls               BIGINT   count    its calls in the hours after
--   before_completed_percent  DOUBLE   percent of answered  share of the answered ones before that were completed
--   after_completed_percent   DOUBLE   percent of answered  the same after
--   difference_low_points     DOUBLE   points   lower bound of the difference, in percentage points
--   difference_high_points    DOUBLE   points   upper bound of it
--   verdict                   VARCHAR  -        better, worse, unclear or too early
--   needs_calls               BIGINT   count    too early: about how many more answered calls it takes
--   before_answered_calls     BIGINT   count    answered calls before
--   after_answered_calls      BIGINT   count    answered calls after
--   key                       VARCHAR  -        its key in the table changes

WITH named AS (
    SELECT resource, key, seen_at,
        last_value(coalesce(after ->> '$.name', after ->> '$.number') IGNORE NULLS)
            OVER (PARTITION BY resource, key ORDER BY seen_at) AS name
    FROM changes SEMI JOIN selected_changes USING (resource, key)
    QUALIFY row_number() OVER (PARTITION BY resource, key, seen_at) = 1
), moved AS (
    SELECT *, CASE WHEN kind = 'changed' THEN list_filter(CAST(fields AS VARCHAR[]), f -> f NOT IN
        ('completed_calls', 'failed_calls', 'active_concurrency', 'upload_percentage', 'last_notified_at')) END AS moved
    FROM selected_changes
), edits AS (
    SELECT c.* REPLACE (list_filter(moved, f -> f <> 'updated_at' OR len(moved) = 1) AS moved),
        coalesce(n.name, url_decode(split_part(key, '/', -1))) AS what,
        date_trunc('hour', local_time(since_at)) AS last_known,
        date_trunc('hour', local_time(seen_at)) + INTERVAL 1 HOUR AS first_hour
    FROM moved c JOIN named n USING (resource, key, seen_at)
    WHERE moved IS NULL OR len(moved) > 0
), spans AS ( -- weeks: how much earlier the hours before are
    SELECT *, least(first_hour + INTERVAL 7 DAY, last_known + INTERVAL 7 DAY * weeks, listed) AS last_hour
    FROM (
        SELECT DISTINCT agent_id, first_hour, last_known,
            CAST(ceil((epoch(first_hour) - epoch(last_known) + 4 * 86400) / (7 * 86400)) AS INTEGER) AS weeks,
            date_trunc('hour', local_time(make_timestamptz(least(getvariable('listed_until'), 32503680000000) * 1000))) AS listed
        FROM edits
        WHERE agent_id IS NOT NULL)
), hours AS (
    SELECT agent_id, local_start AS hour, total_of(calls) AS calls, sum_if(calls, is_answered) AS answered, sum_if(calls, is_completed) AS completed
    FROM tallied
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
SELECT seen_at, since_at, resource, what, agent_id, kind,
    array_to_string(list_transform(moved, f -> field_change(f, before, after)), ', ') AS fields,
    before_calls, after_calls,
    before_percent AS before_completed_percent,
    after_percent AS after_completed_percent,
    low AS difference_low_points, high AS difference_high_points,
    CASE WHEN low > 0 THEN 'better' WHEN high < 0 THEN 'worse' WHEN needed > 0 THEN 'too early' WHEN low IS NOT NULL THEN 'unclear' END AS verdict,
    CASE WHEN needed > 0 AND NOT coalesce(low > 0 OR high < 0, false) THEN needed END AS needs_calls,
    before_answered AS before_answered_calls, after_answered AS after_answered_calls,
    key
FROM edits LEFT JOIN judged USING (agent_id, first_hour, last_known)
ORDER BY seen_at DESC, resource, key
