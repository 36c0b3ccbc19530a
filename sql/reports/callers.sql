-- callers: repeat callers and first-contact resolution
--
-- Look at first contact: the share of calls after which the caller did not have to call
-- again. Repeat callers show where that fails: compare agents with --by agent.
--
-- The caller is the column caller of calls: from_number of an inbound call, to_number of
-- an outbound one, in E.164 form. Numbers without this form (masked, or national numbers
-- without the setting country) are compared as sent. Contacts are inbound calls, and other
-- calls that connected as far as is known and were not answered by a machine. Calls of
-- unknown direction have no caller. A caller repeats in a group if a call of the group
-- starts within 24 hours (7 days) after an earlier contact with the same caller.
--
-- First contact: the call was completed, and no contact with the same caller starts within
-- 24 hours after it. The share is of judged calls: answered (as in outcomes), with a known
-- caller, and with all 24 hours after their start listed. Calls whose 24 hours are not
-- over are open and left out.
--
-- Earlier and later contacts are searched among all calls: any agent, any group, before
-- --since and after --until. Of two contacts at the same moment, each follows the other.
-- Whether a call repeats is known if the 24 hours (7 days) before it do not reach back
-- beyond the first call in the warehouse: the repeat shares are of the callers with such a
-- call. Callers of two groups count in both.
--
-- Grain: one row per group that has contacts
-- Reads: surrounding
-- Needs: end, words, transcripts
-- Main: first_contact_percent
-- Example: query callers --since 7d
-- Columns:
--   key                    VARCHAR  -                                group of --by
-- * calls                  BIGINT   count                            contacts: inbound calls, and others that reached a person as far as is known
-- * callers                BIGINT   count                            distinct callers
--   repeat_24h_callers     BIGINT   count                            callers with a contact in the known 24 hours before a call
-- * repeat_24h_percent     DOUBLE   percent of known: known_24h_callers  share of the callers of which it is known
--   known_24h_callers      BIGINT   count                            callers with a call whose 24 hours before are known
--   repeat_7d_callers      BIGINT   count                            callers with a contact in the known 7 days before a call
-- * repeat_7d_percent      DOUBLE   percent of known: known_7d_callers   share of the callers of which it is known
--   known_7d_callers       BIGINT   count                            callers with a call whose 7 days before are known
-- * judged_calls           BIGINT   count                            answered calls of known callers whose next 24 hours are listed
--   completed_percent      DOUBLE   percent of judged: judged_calls  completed share
--   first_contact_calls    BIGINT   count                            completed calls without another contact in the next 24 hours
-- * first_contact_percent  DOUBLE   percent of judged: judged_calls  share of them
--   low_percent            DOUBLE   percent                          lower bound of this share (Wilson, 95 %)
--   high_percent           DOUBLE   percent                          upper bound
--   open_calls             BIGINT   count                            answered calls of known callers whose next 24 hours are not listed yet
-- * anonymous_calls        BIGINT   count                            contacts without a number (empty, anonymous, withheld, web calls): in no figure but calls
--   undirected_calls       BIGINT   count                            contacts of unknown direction: in no figure but calls

WITH contacts AS (
    SELECT key, is_selected, is_answered, is_completed, caller, direction IS NOT DISTINCT FROM 'unknown' AS is_undirected, epoch_ms(start_at) AS ms
    FROM surrounding
    WHERE is_contact(start_at, direction, is_connected, is_voicemail)
), in_order AS (
    SELECT *, lag(ms) OVER (PARTITION BY caller ORDER BY ms) AS before, lead(ms) OVER (PARTITION BY caller ORDER BY ms) AS after
    FROM contacts
), by_caller AS (
    SELECT key, caller,
        count(*) AS calls, count(*) FILTER (is_undirected) AS undirected,
        bool_or(coalesce(ms - before <= 86400000, false) OR coalesce(after = ms, false)) FILTER (ms - 86400000 >= $known_from) AS in_day,
        bool_or(coalesce(ms - before <= 604800000, false) OR coalesce(after = ms, false)) FILTER (ms - 604800000 >= $known_from) AS in_week,
        count(*) FILTER (is_answered) AS answered,
        count(*) FILTER (is_answered AND is_judged) AS judged,
        count(*) FILTER (is_completed AND is_judged) AS completed,
        count(*) FILTER (is_completed AND is_judged AND NOT is_followed) AS first_contacts
    FROM (
        SELECT *, ms + 86400000 < $listed_until AS is_judged,
            coalesce(after - ms <= 86400000, false) OR coalesce(before = ms, false) AS is_followed
        FROM in_order
        WHERE is_selected
    )
    GROUP BY key, caller
), counted AS (
    SELECT key,
        total_of(calls) AS calls,
        count(caller) AS callers,
        count(caller) FILTER (in_day) AS repeat_24h_callers,
        count(caller) FILTER (in_day IS NOT NULL) AS known_24h_callers,
        count(caller) FILTER (in_week) AS repeat_7d_callers,
        count(caller) FILTER (in_week IS NOT NULL) AS known_7d_callers,
        sum_if(judged, caller IS NOT NULL) AS judged_calls,
        sum_if(completed, caller IS NOT NULL) AS completed_calls,
        sum_if(first_contacts, caller IS NOT NULL) AS first_contact_calls,
        sum_if(answered - judged, caller IS NOT NULL) AS open_calls,
        sum_if(calls - undirected, caller IS NULL) AS anonymous_calls,
        total_of(undirected) AS undirected_calls
    FROM by_caller
    GROUP BY key
)
SELECT key, calls, callers, repeat_24h_callers,
    percent_of(repeat_24h_callers, known_24h_callers) AS repeat_24h_percent, known_24h_callers,
    repeat_7d_callers,
    percent_of(repeat_7d_callers, known_7d_callers) AS repeat_7d_percent, known_7d_callers,
    judged_calls,
    percent_of(completed_calls, judged_calls) AS completed_percent,
    first_contact_calls,
    percent_of(first_contact_calls, judged_calls) AS first_contact_percent,
    wilson(first_contact_calls, judged_calls, -1) AS low_percent,
    wilson(first_contact_calls, judged_calls, 1) AS high_percent,
    open_calls, anonymous_calls, undirected_calls
FROM counted
ORDER BY group_rank(calls, $largest_first), key NULLS LAST
