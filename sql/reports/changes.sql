-- changes: what was changed when: agents, versions, tools and so on, and how calls went before and after
--
-- A change is seen by the next run: it was made after since_at, and no later than
-- seen_at. What was there when its list was first read is no change. Customers and
-- incidents are left out, and so are figures that move by themselves, as the calls of
-- a campaign. The table changes has all, with the values before and after.
--
-- A change of an agent, or of its versions, has the calls of that agent beside it: of
-- the 7 days before the day of since_at, and of the 7 days after the day of seen_at. A
-- week that is not over yet counts as far as it is known. verdict compares the
-- completed shares of the answered calls, as in the report versions: better or worse
-- where the interval of the difference (Newcombe, 95 %) leaves out 0, unclear where it
-- does not. It does not say why: changes within one week share their calls, and other
-- things change as well. --agent takes the changes of that agent; --where narrows the
-- calls beside them.
--
-- Grain: one row per change of an object
-- Reads: selected_changes, changes, tallied
-- Tallies: agent_id, local_date, is_started, status, disconnection_reason, settlement, transcript_state, caller_spoke, short_step
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
--   before_calls              BIGINT   count    the agent's calls in the week before
--   after_calls               BIGINT   count    its calls in the week after
--   before_completed_percent  DOUBLE   percent of answered  share of the answered ones before that were completed
--   after_completed_percent   DOUBLE   percent of answered  the same after
--   difference_low_points     DOUBLE   points   lower bound of the difference, in percentage points
--   difference_high_points    DOUBLE   points   upper bound of it
--   verdict                   VARCHAR  -        better, worse or unclear
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
        CAST(local_time(since_at) AS DATE) AS first_day,
        CAST(local_time(seen_at) AS DATE) AS last_day
    FROM moved c JOIN named n USING (resource, key, seen_at)
    WHERE moved IS NULL OR len(moved) > 0
), days AS (
    SELECT agent_id, local_date AS day, total_of(calls) AS calls, sum_if(calls, is_answered) AS answered, sum_if(calls, is_completed) AS completed
    FROM tallied
    GROUP BY agent_id, local_date
), weeks AS (
    SELECT e.agent_id AS agent_id, first_day, last_day,
        sum_if(calls, day < first_day) AS before_calls, sum_if(calls, day > last_day) AS after_calls,
        sum_if(answered, day < first_day) AS before_answered, sum_if(answered, day > last_day) AS after_answered,
        sum_if(completed, day < first_day) AS before_completed, sum_if(completed, day > last_day) AS after_completed
    FROM (SELECT DISTINCT agent_id, first_day, last_day FROM edits WHERE agent_id IS NOT NULL) e
        LEFT JOIN days d ON d.agent_id = e.agent_id AND day BETWEEN first_day - 7 AND last_day + 7
    GROUP BY e.agent_id, first_day, last_day
), measured AS (
    SELECT *,
        percent_of(before_completed, before_answered) AS before_percent,
        percent_of(after_completed, after_answered) AS after_percent,
        share_change(after_percent, after_answered, before_percent, before_answered, chance_z(1), -1) AS low,
        share_change(after_percent, after_answered, before_percent, before_answered, chance_z(1), 1) AS high
    FROM weeks
)
SELECT seen_at, since_at, resource, what, agent_id, kind,
    array_to_string(list_transform(moved, f -> field_change(f, before, after)), ', ') AS fields,
    before_calls, after_calls,
    before_percent AS before_completed_percent,
    after_percent AS after_completed_percent,
    low AS difference_low_points, high AS difference_high_points,
    CASE WHEN low > 0 THEN 'better' WHEN high < 0 THEN 'worse' WHEN low IS NOT NULL THEN 'unclear' END AS verdict,
    before_answered AS before_answered_calls, after_answered AS after_answered_calls,
    key
FROM edits LEFT JOIN measured USING (agent_id, first_day, last_day)
ORDER BY seen_at DESC, resource, key
