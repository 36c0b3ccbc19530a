-- macros: what the views and reports share
--
-- Run once on a new database, before the views.

-- The days of the week, in their order, so that they sort and compare as days.
CREATE TYPE weekday_name AS ENUM
    ('Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday');

-- The zone of local times, as SET VARIABLE tz = 'Asia/Seoul' names it; UTC if unset.
CREATE MACRO local_zone() AS coalesce(getvariable('tz'), 'UTC');

-- The wall clock's date and time at an instant. A program that knows which offsets the
-- zone had may replace this by their table, which is 20 times quicker than a calendar.
CREATE MACRO local_time(instant) AS timezone(local_zone(), instant);

-- Calendar of a wall clock's time.
CREATE MACRO weekday_of(local_start) AS CAST(dayname(local_start) AS weekday_name);
CREATE MACRO week_of(local_start) AS CAST(date_trunc('week', local_start) AS DATE);
CREATE MACRO month_of(local_start) AS strftime(local_start, '%Y-%m');

-- What is known of a call by the words of its columns. By exclusion: a status or a
-- reason that the service adds later counts as connected. A pattern, since DuckDB
-- matches it once for each word of the column's dictionary; it would look at every
-- row for a list, and make a join of IN.
CREATE MACRO call_over(settlement) AS settlement <> 'open';
CREATE MACRO call_connected(started, status, reason) AS
    started
    AND regexp_full_match(status, 'queued|registered|initiated|ringing|not_connected|canceled') IS NOT TRUE
    AND regexp_full_match(reason, 'dial_no_answer|dial_failed|concurrency_limit_reached|insufficient_balance') IS NOT TRUE;
CREATE MACRO call_voicemail(reason) AS reason IS NOT DISTINCT FROM 'voicemail_reached';
CREATE MACRO call_transferred(reason) AS reason IS NOT DISTINCT FROM 'call_transfer';

-- Counts of calls, from rows that stand for several.
CREATE MACRO total_of(n) AS CAST(coalesce(sum(n), 0) AS BIGINT);
CREATE MACRO sum_if(n, condition) AS CAST(coalesce(sum(n) FILTER (condition), 0) AS BIGINT);

-- A share in percent, not rounded, so that the shares of a whole add up to 100.
CREATE MACRO percent_of(part, whole) AS 100e0 * part / nullif(whole, 0);

-- A mean rounded to the nearest integer, halves away from zero.
CREATE MACRO mean_of(total, n) AS CAST(round(total / nullif(n, 0)) AS BIGINT);

-- Where a group stands among the groups: the largest first, or, when the keys have
-- an order of their own (days, hours), all alike, so that the key decides.
CREATE MACRO group_rank(size) AS
    CASE WHEN coalesce(getvariable('largest_first'), true) THEN -size ELSE 0 END;

-- Money for as many as n / each, exactly, rounded to four decimals, halves away from zero;
-- null without a divisor. Units are 10^-18: no arithmetic on decimals has room to count them,
-- so their digits are read. What is left of a division is multiplied apart, so that nothing
-- grows much beyond the result.
CREATE MACRO units_of(money) AS CAST(replace(CAST(CAST(money AS DECIMAL(38, 18)) AS VARCHAR), '.', '') AS HUGEINT);
CREATE MACRO units_per(units, n, each) AS (units // n) * each + ((units % n) * each) // n;
CREATE MACRO money_per(money, n, each) AS
    CASE WHEN n > 0 THEN CAST(CAST(sign(money) AS HUGEINT)
        * ((units_per(units_of(abs(money)), CAST(n AS HUGEINT), each) + 50000000000000) // 100000000000000) AS DECIMAL(34, 0))
        * CAST(0.0001 AS DECIMAL(4, 4)) END;

-- Whether the service sent a cost that the column total_cost cannot hold: then it is in extra.
CREATE MACRO cost_unheld(total_cost, extra) AS
    total_cost IS NULL AND extra IS NOT NULL
    AND coalesce(json_type(extra, '$.call_cost') NOT IN ('NULL', 'OBJECT')
        OR json_type(extra, '$.call_cost.total_cost') <> 'NULL', false);

-- The bounds, in percent, within which the true share lies with 95 % confidence, if hits of n
-- were seen (Wilson's interval, which holds for small n and for shares near 0 and 100 as well).
-- side is -1 for the lower bound, 1 for the upper; 1.96 is z, 3.84 its square.
CREATE MACRO wilson(hits, n, side) AS
    CASE WHEN n > 0 AND side < 0 AND hits = 0 THEN 0e0
        WHEN n > 0 AND side > 0 AND hits = n THEN 100e0
        WHEN n > 0 THEN 100e0 * (hits + 3.841458820694124e0 / 2
        + side * 1.959963984540054e0 * sqrt(CAST(hits AS DOUBLE) * (n - hits) / n + 3.841458820694124e0 / 4))
        / (n + 3.841458820694124e0) END;

-- Whether a tool's result tells of a failure: the definition is in views/tool_calls.sql.
CREATE MACRO tells_error(v) AS
    NOT list_contains(['null', 'false', '0', '0.0', '""', '{}', '[]'], coalesce(v, 'null'));
CREATE MACRO is_error_code(v) AS coalesce(try_cast(v AS DOUBLE) BETWEEN 400 AND 599, false);
CREATE MACRO members_tell_failure(m) AS
    tells_error(m[1]) OR tells_error(m[2])
    OR list_contains(['"error"', '"errored"', '"failed"', '"failure"', '"fault"', '"exception"', '"timeout"', '"timed_out"'],
        lower(coalesce(m[3], '')))
    OR is_error_code(m[3]) OR is_error_code(m[4]) OR is_error_code(m[5]) OR is_error_code(m[6])
    OR coalesce(m[7] = 'false' OR m[8] = 'false' OR m[9] = 'true' OR m[10] = 'true', false);
-- No JSON begins with one of these words.
CREATE MACRO begins_as_failure(content) AS
    regexp_matches(content, '^\s*(error|exception|failed|failure|timeout|traceback)\b', 'i');
-- What has none of these has no member that tells of a failure. One pattern over the text takes
-- a tenth of the time of looking for ten members; a backslash may hide a member's name.
CREATE MACRO may_tell_failure(content) AS regexp_matches(content, '"errors?"\s*:'
    || '|"status"\s*:\s*"(error|errored|failed|failure|fault|exception|timeout|timed_out)"'
    || '|"(status|status_?code|code)"\s*:\s*[0-9-]|"(success|ok)"\s*:\s*false|"is_?error"\s*:\s*true|\\', 'i');
CREATE MACRO tells_failure(content) AS
    CASE WHEN begins_as_failure(content) THEN true
        WHEN may_tell_failure(content)
        THEN members_tell_failure(CAST(json_extract(try_cast(content AS JSON), ['/error', '/errors', '/status',
            '/status_code', '/statusCode', '/code', '/success', '/ok', '/is_error', '/isError']) AS VARCHAR[]))
        ELSE false END;

-- The median of a list: of an even number of values the lower one, as the 50th percentile of
-- the reports is always a value that there was.
CREATE MACRO list_median(l) AS list_sort(l)[(len(l) + 1) // 2];

-- The spread that chance gives a share of n whose usual value is percent.
CREATE MACRO smooth(percent, n) AS (percent / 100e0 * n + 1) / (n + 2);
CREATE MACRO chance(percent, n) AS sqrt(smooth(percent, n) * (1 - smooth(percent, n)) / n);

-- Whether a text holds every word that is searched, in any case. The pattern of the longest one
-- finds the few texts that are worth to be made small letters of.
CREATE MACRO has_all_words(content) AS
    CASE WHEN regexp_matches(content, getvariable('longest_word'), 'i')
        THEN list_bool_and(list_transform(getvariable('words'), w -> contains(lower(content), lower(w)))) IS TRUE
        ELSE false END;
