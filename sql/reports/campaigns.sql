-- campaigns: progress of each campaign, and how often it reaches people
--
-- Look at reached, the share of attempts that reached a person, and at the best hour to
-- call. A low share with much progress means numbers that nobody answers.
--
-- Planned, completed and failed calls are the service's counts of the last list of
-- campaigns; its completed differs from completed in other reports. Deleted campaigns are
-- shown as last seen. The table campaigns has all fields.
--
-- Attempts are counted from the calls selected by --since, --until, --agent and --where.
-- An attempt is a call of the campaign that has a start and is not inbound; it reached a
-- person if it connected and no machine answered. It is the first one if none of these
-- calls went to the same number before. The best hour is the local hour, of those with 20
-- attempts or more of which it is known, with the highest lower bound (95 %, Wilson) of
-- the share of attempts that reached a person.
--
-- Grain: one row per campaign
-- Reads: campaigns, selected_campaign_calls
-- Needs: end, words
-- Empty: there are no campaigns
-- Example: query campaigns
-- Columns:
-- * name              VARCHAR  -        the campaign's name
-- * status            VARCHAR  -        draft, pending, ongoing, paused, success, fail or canceled
-- * total_calls       BIGINT   count    planned calls
-- * progress_percent  DOUBLE   percent of total  share of planned calls that are completed or failed
-- * attempts          BIGINT   count    calls with a start that are not inbound
--   reached_calls     BIGINT   count    attempts that reached a person
-- * reached_percent   DOUBLE   percent of known  share of them among the attempts that are over and of which it is known whether they connected
--   first_reached     BIGINT   count    first attempts that reached a person
--   later_reached     BIGINT   count    later attempts that reached a person
-- * best_hour         BIGINT   -        local hour, 0 to 23, in which most attempts reach a person; null: no hour has 20 attempts, or none did
--   completed_calls   BIGINT   count    completed calls by the service's count
--   failed_calls      BIGINT   count    failed or canceled calls by the service's count
--   agent_id          VARCHAR  -        agent of its calls
--   created_at        TIMESTAMP WITH TIME ZONE  -  time of creation
--   deleted_at        TIMESTAMP WITH TIME ZONE  -  time of the first complete list without it; null: not deleted
--   campaign_id       VARCHAR  -        id of the campaign

WITH numbered AS (
    SELECT of_campaign AS campaign_id, local_hour,
        is_over AND is_connected IS NOT NULL AS is_known,
        is_over AND is_connected AND NOT is_voicemail AS is_reached,
        CASE WHEN known_number(to_e164, to_number) IS NOT NULL
            THEN rank() OVER (PARTITION BY of_campaign, known_number(to_e164, to_number) ORDER BY epoch_ms(start_at)) END AS attempt
    FROM selected_campaign_calls
    WHERE direction IS DISTINCT FROM 'inbound' AND start_at IS NOT NULL AND of_campaign IS NOT NULL
), hours AS (
    SELECT campaign_id, local_hour,
        count(*) AS attempts,
        count(*) FILTER (is_known) AS known_calls,
        count(*) FILTER (is_reached) AS reached_calls,
        count(*) FILTER (is_reached AND attempt = 1) AS first_reached,
        count(*) FILTER (is_reached AND attempt > 1) AS later_reached
    FROM numbered
    GROUP BY campaign_id, local_hour
), counted AS (
    SELECT campaign_id, total_of(attempts) AS attempts, total_of(known_calls) AS known_calls, total_of(reached_calls) AS reached_calls,
        total_of(first_reached) AS first_reached, total_of(later_reached) AS later_reached
    FROM hours
    GROUP BY campaign_id
), best AS (
    SELECT campaign_id, local_hour AS best_hour
    FROM hours
    WHERE reached_calls > 0 AND known_calls >= 20
    QUALIFY row_number() OVER (PARTITION BY campaign_id ORDER BY wilson(reached_calls, known_calls, -1) DESC, local_hour) = 1
)
SELECT name, status, total_calls,
    percent_of(completed_calls + failed_calls, total_calls) AS progress_percent,
    coalesce(attempts, 0) AS attempts, coalesce(reached_calls, 0) AS reached_calls,
    percent_of(reached_calls, known_calls) AS reached_percent,
    coalesce(first_reached, 0) AS first_reached, coalesce(later_reached, 0) AS later_reached, best_hour,
    completed_calls, failed_calls, agent_id, created_at, deleted_at, campaign_id
FROM campaigns
    LEFT JOIN counted USING (campaign_id)
    LEFT JOIN best USING (campaign_id)
ORDER BY deleted_at IS NOT NULL, created_at DESC NULLS LAST, campaign_id
