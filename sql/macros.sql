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

-- A share in percent, not rounded, so that the shares of a whole add up to 100.
CREATE MACRO percent_of(part, whole) AS 100e0 * part / nullif(whole, 0);

-- A mean rounded to the nearest integer, halves away from zero.
CREATE MACRO mean_of(total, n) AS CAST(round(total / nullif(n, 0)) AS BIGINT);

-- Where a group stands among the groups: the largest first, or, when the keys have
-- an order of their own (days, hours), all alike, so that the key decides.
CREATE MACRO group_rank(size) AS
    CASE WHEN coalesce(getvariable('largest_first'), true) THEN -size ELSE 0 END;
