-- macros: what the views and reports share
--
-- Run once on a new database, before the views.

-- The days of the week, in order, so that they sort and compare as days.
CREATE TYPE weekday_name AS ENUM
    ('Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday');

-- The program defines two macros before these. local_time(instant) is the local date and time at an
-- instant: a table of the zone's offsets, which is 20 times as fast as a calendar. agent_names() is
-- the map of the current names of agents by id. In the program it reads a variable, which leaves the
-- plan of a statement unchanged: with a join, SELECT count(*) and the newest rows would lose their
-- optimizations.
CREATE MACRO agent_name_of(id) AS map_extract(agent_names(), id)[1];

-- The calendar of a local time.
CREATE MACRO weekday_of(local_start) AS CAST(dayname(local_start) AS weekday_name);
CREATE MACRO week_of(local_start) AS CAST(date_trunc('week', local_start) AS DATE);
CREATE MACRO month_of(local_start) AS strftime(local_start, '%Y-%m');

-- Whether a word of the service is known; null for none. These are patterns because DuckDB matches
-- a pattern once for each word in a column's dictionary, but a list once for each row.
CREATE MACRO known_status(status) AS
    regexp_full_match(status, 'queued|registered|initiated|ringing|ongoing|ended|error|canceled|not_connected');
CREATE MACRO known_reason(reason) AS
    regexp_full_match(reason, 'user_hangup|agent_hangup|operator_hangup|call_transfer|voicemail_reached|inactivity|max_duration_reached'
        || '|error_voxai|flow_error|orphaned_no_agent_pickup|insufficient_balance|dial_no_answer|dial_busy|dial_declined|dial_failed'
        || '|blocked_number|concurrency_limit_reached|hourly_call_limit_reached|daily_call_limit_reached');
CREATE MACRO unknown_word(status, reason) AS known_status(status) IS FALSE OR known_reason(reason) IS FALSE;

-- Whether a person or machine answered; null for an unknown word, or without any. A balance runs
-- out either before the call or during one that then has ended.
CREATE MACRO call_over(settlement) AS settlement <> 'open';
CREATE MACRO call_connected(started, status, reason) AS CASE
    WHEN NOT started
        OR regexp_full_match(status, 'queued|registered|initiated|ringing|not_connected|canceled') IS TRUE
        OR regexp_full_match(reason, 'dial_.*|blocked_number|.*_limit_reached') IS TRUE AND known_reason(reason)
        OR reason IS NOT DISTINCT FROM 'insufficient_balance' AND status IS DISTINCT FROM 'ended' THEN false
    WHEN unknown_word(status, reason) OR status IS NULL AND reason IS NULL THEN NULL
    ELSE true END;
CREATE MACRO call_voicemail(reason) AS reason IS NOT DISTINCT FROM 'voicemail_reached';

-- The turns are known; a changed record is fetched again.
CREATE MACRO has_transcript(transcript_state) AS transcript_state IN ('present', 'changed');

-- Whether the caller said something, given whether a turn of the caller is known; null if the
-- transcript is missing or its turns were never counted. Nobody spoke if there was nothing to
-- transcribe.
CREATE MACRO call_spoke(caller_spoke, transcript_state) AS CASE
    WHEN caller_spoke THEN true
    WHEN transcript_state = 'empty' THEN false
    WHEN has_transcript(transcript_state) THEN caller_spoke END;
CREATE MACRO call_conversed(connected, voicemail, spoke) AS connected AND NOT voicemail AND spoke;

-- The duration of a call in steps of 5 seconds; 10 seconds stands for all longer ones.
CREATE MACRO short_step_of(duration_ms) AS CASE
    WHEN duration_ms < 5000 THEN 0 WHEN duration_ms < 10000 THEN 5000 WHEN duration_ms IS NOT NULL THEN 10000 END;

-- The record of the call is gone, or cannot be read.
CREATE MACRO lost_transcript(transcript_state) AS transcript_state IN ('missing', 'unreadable');

-- How a call ended: each call has one kind, and each kind has one outcome. Both are members of one
-- value: DuckDB moves a condition on an outcome below the view, and so copies this text only once.
-- A caller who hangs up within 10 seconds was lost; an agent that does so has failed.
CREATE MACRO an_end(outcome, kind) AS {'outcome': outcome, 'kind': kind};
CREATE MACRO call_end(over, connected, status, reason, transcript_state, spoke, short_step) AS CASE
    WHEN NOT over THEN an_end('unknown', 'not over')
    WHEN NOT connected THEN an_end('not_connected', CASE
        WHEN reason = 'dial_no_answer' THEN 'no answer'
        WHEN reason = 'dial_busy' OR reason = 'dial_declined' THEN 'busy or declined'
        WHEN reason = 'dial_failed' THEN 'failed to dial'
        WHEN reason = 'blocked_number' THEN 'blocked'
        WHEN reason = 'insufficient_balance' OR ends_with(reason, '_limit_reached') AND known_reason(reason) THEN 'limit before the call'
        WHEN status = 'canceled' THEN 'canceled'
        WHEN status = 'not_connected' THEN 'not told why'
        ELSE 'never started' END)
    WHEN reason = 'voicemail_reached' THEN an_end('voicemail', 'answering machine')
    WHEN known_status(status) IS FALSE THEN an_end('unknown', 'status ' || status)
    WHEN known_reason(reason) IS FALSE THEN an_end('unknown', 'reason ' || reason)
    WHEN reason = 'call_transfer' THEN an_end('transferred', 'passed on')
    WHEN reason = 'operator_hangup' THEN an_end('transferred', 'ended by an operator')
    WHEN reason = 'error_voxai' OR reason = 'flow_error' THEN an_end('failed', 'error')
    WHEN reason = 'orphaned_no_agent_pickup' THEN an_end('failed', 'no agent picked up')
    WHEN reason = 'inactivity' THEN an_end('failed', 'time-out')
    WHEN reason = 'max_duration_reached' OR reason = 'insufficient_balance' THEN an_end('failed', 'limit in the call')
    WHEN status = 'error' THEN an_end('failed', 'error')
    WHEN status = 'ongoing' THEN an_end('unknown', 'end not told')
    WHEN reason IS NULL THEN an_end('unknown', 'no reason')
    WHEN NOT spoke THEN an_end('abandoned', 'never spoke')
    WHEN reason = 'user_hangup' AND short_step < 10000 THEN an_end('abandoned', 'hung up within 10 s')
    WHEN reason = 'agent_hangup' AND short_step < 10000 THEN an_end('failed', 'agent hung up within 10 s')
    WHEN spoke THEN an_end('completed', 'hang-up')
    WHEN transcript_state = 'pending' THEN an_end('unknown', 'transcript to come')
    WHEN transcript_state = 'withheld' THEN an_end('unknown', 'transcript withheld')
    WHEN lost_transcript(transcript_state) THEN an_end('unknown', 'transcript gone')
    WHEN transcript_state = 'skipped' THEN an_end('unknown', 'transcript not asked for')
    ELSE an_end('unknown', 'turns not counted') END;
-- Calls that are over and were answered by a person, as far as is known: their outcome is neither
-- not_connected nor voicemail. Calls with an unknown word are included.
CREATE MACRO call_reached(over, connected, voicemail) AS over AND connected IS NOT FALSE AND NOT voicemail;
-- The denominator of completed shares: the calls above for which it is known whether the caller
-- spoke. Calls that await their transcript would distort the share: without it, hang-ups are
-- unknown, but transfers are not.
CREATE MACRO call_answered(over, connected, voicemail, spoke) AS call_reached(over, connected, voicemail) AND spoke IS NOT NULL;
-- The calls left out of it, because it is unknown whether the caller spoke.
CREATE MACRO call_unheard(over, connected, voicemail, spoke) AS call_reached(over, connected, voicemail) AND spoke IS NULL;

-- The outcomes that are a success for an agent: those of the setting success, else completed.
CREATE MACRO goals_of(agent, goals) AS coalesce(CAST(goals AS MAP(VARCHAR, VARCHAR[]))[agent], ['completed']);

-- The direction of a call; null: as the type implies it. Web calls have no direction.
CREATE MACRO direction_of(direction, call_type) AS coalesce(direction, CASE
    WHEN call_type = 'inbound' OR call_type = 'outbound' THEN call_type
    WHEN call_type IS DISTINCT FROM 'web' THEN 'unknown' END);

-- A number of a call: in E.164 form, else as sent; null if there is none. A text without a digit
-- other than 0 is not a number (empty, restricted, +0000), nor is sip:anonymous@10.0.0.1. Most
-- numbers are digits only, which the cast recognizes in half of the time of the patterns.
CREATE MACRO known_number(e164, number) AS coalesce(e164, CASE
    WHEN TRY_CAST(number AS DECIMAL(18, 0)) > 0 OR regexp_matches(number, '[1-9]') AND NOT contains(lower(number), 'anonymous') THEN number END);
-- The caller of a call: the calling number of an inbound call, the called number of an outbound
-- one.
CREATE MACRO caller_of(direction, from_e164, from_number, to_e164, to_number) AS CASE direction
    WHEN 'inbound' THEN known_number(from_e164, from_number)
    WHEN 'outbound' THEN known_number(to_e164, to_number) END;

-- Whether the organisation and a caller were in contact, or the caller tried. Calls placed by the
-- organisation, or of unknown direction, are not contacts if nobody or a machine answered.
CREATE MACRO is_contact(start_at, direction, connected, voicemail) AS
    start_at IS NOT NULL AND (direction IS NOT DISTINCT FROM 'inbound' OR connected IS NOT FALSE AND NOT voicemail);

-- Whether a call lacks data that the service fills in later; state is ended (to come) or expired
-- (given up). For costs, these are calls without one.
CREATE MACRO lacks_analysis(state, settlement, connected, sentiment, opted_out) AS
    settlement = state AND connected IS NOT FALSE AND sentiment IS NULL AND NOT opted_out;
CREATE MACRO lacks_cost(state, settlement, connected) AS settlement = state AND connected IS NOT FALSE;
CREATE MACRO lacks_transcript(over, transcript_state) AS over AND transcript_state = 'pending';

-- Counts of calls, from rows that each stand for several.
CREATE MACRO total_of(n) AS CAST(coalesce(sum(n), 0) AS BIGINT);
CREATE MACRO sum_if(n, condition) AS CAST(coalesce(sum(n) FILTER (condition), 0) AS BIGINT);

-- Whether a value reaches a percentile of counted values: the smallest one that does is the
-- percentile (nearest rank). upto is the number of values up to it, whole the number of all.
CREATE MACRO has_rank(percent, upto, whole) AS 100 * upto >= percent * whole;

-- A share in percent, unrounded, so that the shares of a whole add up to 100.
CREATE MACRO percent_of(part, whole) AS 100e0 * part / nullif(whole, 0);

-- The percentiles of few values would be their maximum: p90 and p95 need 20 values, p99 needs 100.
CREATE MACRO of_20(value, n) AS CASE WHEN n >= 20 THEN value END;
CREATE MACRO of_100(value, n) AS CASE WHEN n >= 100 THEN value END;

-- A mean rounded to the nearest integer, halves away from zero.
CREATE MACRO mean_of(total, n) AS CAST(round(CAST(total AS DOUBLE) / nullif(n, 0)) AS BIGINT);

-- Sort key of a group: the largest first or, if the keys have their own order (days, hours), equal
-- for all, so that the key decides.
CREATE MACRO group_rank(size, largest_first) AS CASE WHEN largest_first THEN -size ELSE 0 END;

-- The exact amount money * each / n, rounded to four decimals, halves away from zero; null without
-- a divisor. Units are 10^-18: they exceed decimal arithmetic, so they are computed from the
-- digits. The remainder of a division is multiplied separately, so that no intermediate value is
-- much larger than the result.
CREATE MACRO units_of(money) AS CAST(replace(CAST(CAST(money AS DECIMAL(38, 18)) AS VARCHAR), '.', '') AS HUGEINT);
CREATE MACRO units_per(units, n, each) AS (units // n) * each + ((units % n) * each) // n;
CREATE MACRO money_per(money, n, each) AS
    CASE WHEN n > 0 THEN CAST(CAST(sign(money) AS HUGEINT)
        * ((units_per(units_of(abs(money)), CAST(n AS HUGEINT), each) + 50000000000000) // 100000000000000) AS DECIMAL(34, 0))
        * CAST(0.0001 AS DECIMAL(4, 4)) END;

-- The unit of a call's cost: the account's currency, or credits if there is no other cost.
CREATE MACRO cost_unit(total_cost, credits_used) AS
    CASE WHEN total_cost IS NOT NULL THEN 'currency' WHEN credits_used IS NOT NULL THEN 'credits' END;

-- The unit of more calls.
CREATE MACRO main_unit(in_currency, in_credits) AS CASE
    WHEN in_credits > in_currency THEN 'credits'
    WHEN in_currency > 0 THEN 'currency' END;

-- Whether the service sent a cost that the column total_cost cannot hold: it is in extra.
CREATE MACRO cost_unheld(total_cost, extra) AS
    total_cost IS NULL AND extra IS NOT NULL
    AND coalesce(json_type(extra, '$.call_cost') NOT IN ('NULL', 'OBJECT')
        OR json_type(extra, '$.call_cost.total_cost') <> 'NULL', false);

-- The distance of bounds from the observed value, in standard deviations, if n changes are judged
-- together and all their bounds must hold with 95 % confidence (Bonferroni): 1.96 for one. The
-- quantile of the normal distribution is that of Wichura's AS 241, for the outer part.
CREATE MACRO normal_tail(r) AS
    (1.42343711074968357734e0 + r * (4.63033784615654529590e0 + r * (5.76949722146069140550e0 + r * (3.64784832476320460504e0
        + r * (1.27045825245236838258e0 + r * (2.41780725177450611770e-1 + r * (2.27238449892691845833e-2 + r * 7.74545014278341407640e-4)))))))
    / (1e0 + r * (2.05319162663775882187e0 + r * (1.67638483018380384940e0 + r * (6.89767334985100004550e-1
        + r * (1.48103976427480074590e-1 + r * (1.51986665636164571966e-2 + r * (5.47593808499534494600e-4 + r * 1.05075007164441684324e-9)))))));
CREATE MACRO chance_z(n) AS normal_tail(sqrt(-ln(0.025e0 / greatest(n, 1))) - 1.6e0);

-- The bounds, in percent, of the true share if hits of n were observed (Wilson's interval, which
-- also holds for small n and for shares near 0 and 100). side is -1 for the lower bound, 1 for the
-- upper. wilson is for a single share, with z = 1.96.
CREATE MACRO wilson_of(hits, n, z, square, side) AS
    CASE WHEN n > 0 AND side < 0 AND hits = 0 THEN 0e0
        WHEN n > 0 AND side > 0 AND hits = n THEN 100e0
        WHEN n > 0 THEN 100e0 * (hits + square / 2
        + side * z * sqrt(CAST(hits AS DOUBLE) * (n - hits) / n + square / 4))
        / (n + square) END;
CREATE MACRO wilson_at(hits, n, z, side) AS wilson_of(hits, n, z, z * z, side);
CREATE MACRO wilson(hits, n, side) AS wilson_of(hits, n, 1.959963984540054e0, 3.841458820694124e0, side);

-- The bounds of the difference p - q (Newcombe's for two shares; for two means likewise): side is
-- -1 for the lower one, 1 for the upper. p_bound is p's bound on that side, q_bound is q's on the
-- other side.
CREATE MACRO newcombe(p, p_bound, q, q_bound, side) AS p - q + side * sqrt(pow(p - p_bound, 2) + pow(q - q_bound, 2));
-- The same for a share of n and a share of m.
CREATE MACRO share_change(p, n, q, m, z, side) AS
    newcombe(p, wilson_at(round(p * n / 100), n, z, side), q, wilson_at(round(q * m / 100), m, z, -side), side);

-- The data for the bounds of a mean: the number of amounts, and the means of their first three
-- powers. Null for fewer than 10 amounts.
CREATE MACRO spread_of(n, total, squares, cubes) AS CASE WHEN n >= 10
    THEN struct_pack(n := CAST(n AS DOUBLE), mean := CAST(total AS DOUBLE) / n, squares := squares / n, cubes := cubes / n) END;
CREATE MACRO variance_of(s) AS greatest(s.squares - s.mean * s.mean, 0e0);
CREATE MACRO skewness_of(s) AS
    coalesce((s.cubes - 3 * s.mean * s.squares + 2 * pow(s.mean, 3)) / nullif(pow(variance_of(s), 1.5e0), 0), 0e0);
-- Student's quantile, from the normal one (Cornish and Fisher).
CREATE MACRO student(z, df) AS z + (pow(z, 3) + z) / (4 * df) + (5 * pow(z, 5) + 16 * pow(z, 3) + 3 * z) / (96 * df * df)
    + (3 * pow(z, 7) + 19 * pow(z, 5) + 17 * pow(z, 3) - 15 * z) / (384 * pow(df, 3));
-- The inverse of Hall's transformation, which removes the skewness from the distance between a mean
-- and the true one; a is the skewness divided by the root of n. Costs and durations are skewed.
CREATE MACRO unskewed(t, a) AS CASE WHEN abs(a) < 1e-6 THEN t ELSE 3 / a * (cbrt(1 + a * (t - a / 6)) - 1) END;
CREATE MACRO mean_bound(s, z, side) AS s.mean
    - sqrt(variance_of(s) / (s.n - 1)) * unskewed(-side * student(z, s.n - 1), skewness_of(s) / sqrt(s.n));
CREATE MACRO mean_change(s, t, z, side) AS newcombe(s.mean, mean_bound(s, z, side), t.mean, mean_bound(t, z, -side), side);

-- A value of a document as text, with its letters composed. Equal numbers have the same text: 1.0 and 1.
CREATE MACRO document_value(document, pointer) AS CASE
    WHEN regexp_matches(json_extract_string(document, pointer), '^-?[0-9]+\.0$') AND json_type(document, pointer) = 'DOUBLE'
        THEN regexp_replace(regexp_replace(json_extract_string(document, pointer), '\.0$', ''), '^-0$', '0')
    ELSE nfc_normalize(json_extract_string(document, pointer)) END;

-- How a field of a document changed: its values before and after or, if these are long, the names
-- of its changed members.
CREATE MACRO member(document, name) AS json_extract(document, '/' || replace(replace(name, '~', '~0'), '/', '~1'));
CREATE MACRO changed_members(was, now) AS
    list_sort(list_filter(list_distinct(list_concat(json_keys(was), json_keys(now))), k -> member(was, k) IS DISTINCT FROM member(now, k)));
CREATE MACRO is_long(v) AS coalesce(json_type(v) IN ('OBJECT', 'ARRAY') OR length(v ->> '$') > 40, false);
CREATE MACRO value_change(name, was, now) AS CASE
    WHEN json_type(was) = 'OBJECT' AND json_type(now) = 'OBJECT' THEN name || ' (' || array_to_string(changed_members(was, now), ', ') || ')'
    WHEN is_long(was) OR is_long(now) THEN name
    ELSE name || ' ' || coalesce(was ->> '$', 'none') || ' → ' || coalesce(now ->> '$', 'none') END;
CREATE MACRO field_change(name, before, after) AS value_change(name, member(before, name), member(after, name));

-- A JSON value as text, as sent: a string without its quotes.
CREATE MACRO sent_text(v) AS CASE json_type(v)
    WHEN 'VARCHAR' THEN v ->> '$'
    WHEN 'NULL' THEN NULL
    ELSE CAST(v AS VARCHAR) END;

-- Whether a value of a field means success: see the report success. Null for null, and for fields that
-- do not decide it.
CREATE MACRO value_success(name, value, field_name, field_value) AS
    CASE WHEN CASE WHEN field_name IS NULL THEN CAST(value AS VARCHAR) IN ('true', 'false') ELSE nfc_normalize(name) = field_name END
        THEN nfc_normalize(sent_text(value)) = coalesce(field_value, 'true') END;

-- Whether an evaluation's value contains further values: an object, or an array of objects with
-- names. The name of an object in such an array is not one of its values.
CREATE MACRO evaluation_leads_on(v, is_named) AS CASE json_type(v)
    WHEN 'OBJECT' THEN len(list_filter(json_keys(v), k -> NOT (is_named AND k = 'name'))) > 0
    WHEN 'ARRAY' THEN json_array_length(v) > 0 AND list_count(json_extract_string(v, '$[*].name')) = json_array_length(v)
    ELSE false END;

-- A text as an exact number, if it is spelled like one in JSON; null if it may not fit, or if sums
-- of ten million may not.
CREATE MACRO exact_number(t) AS
    CASE WHEN regexp_full_match(t, '-?([0-9]{1,13}(\.[0-9]{1,18}0*)?|[0-9]{1,4}(\.[0-9]{1,9})?[eE][+-]?0?[0-9])') THEN CAST(t AS DECIMAL(38, 18)) END;

-- The result of a tool: a text, or the JSON sent in its place.
CREATE MACRO tool_result(content, extra) AS coalesce(content, CAST(json_extract(extra, '/content') AS VARCHAR));

-- Whether a tool's result is a failure, as defined in views/tool_calls.sql.
CREATE MACRO is_error(v) AS
    NOT list_contains(['null', 'false', '0', '0.0', '""', '{}', '[]'], coalesce(v, 'null'));
CREATE MACRO is_error_code(v) AS coalesce(try_cast(v AS DOUBLE) BETWEEN 400 AND 599, false);
CREATE MACRO members_are_failure(m) AS
    is_error(m[1]) OR is_error(m[2])
    OR list_contains(['"error"', '"errored"', '"failed"', '"failure"', '"fault"', '"exception"', '"timeout"', '"timed_out"'],
        lower(coalesce(m[3], '')))
    OR is_error_code(m[3]) OR is_error_code(m[4]) OR is_error_code(m[5]) OR is_error_code(m[6])
    OR coalesce(m[7] = 'false' OR m[8] = 'false' OR m[9] = 'true' OR m[10] = 'true', false);
-- No JSON begins with any of these words.
CREATE MACRO begins_as_failure(content) AS
    regexp_matches(content, '^\s*(error|exception|failed|failure|timeout|traceback)\b', 'i');
-- A text that matches none of these has no member that indicates a failure. One pattern takes a
-- tenth of the time of extracting ten members; a backslash may hide a member's name.
CREATE MACRO may_be_failure(content) AS regexp_matches(content, '"errors?"\s*:'
    || '|"status"\s*:\s*"(error|errored|failed|failure|fault|exception|timeout|timed_out)"'
    || '|"(status|status_?code|code)"\s*:\s*[0-9-]|"(success|ok)"\s*:\s*false|"is_?error"\s*:\s*true|\\', 'i');
CREATE MACRO is_failure(content) AS
    CASE WHEN begins_as_failure(content) THEN true
        WHEN may_be_failure(content)
        THEN members_are_failure(CAST(json_extract(try_cast(content AS JSON), ['/error', '/errors', '/status',
            '/status_code', '/statusCode', '/code', '/success', '/ok', '/is_error', '/isError']) AS VARCHAR[]))
        ELSE false END;

-- The median of a list; for an even number of values, the mean of the middle two.
CREATE MACRO median_of(l) AS list_aggregate(l, 'median');


-- The standard deviation, by chance, of a share of n calls whose usual value is percent.
CREATE MACRO smooth(percent, n) AS (percent / 100e0 * n + 1) / (n + 2);
CREATE MACRO chance(percent, n) AS sqrt(smooth(percent, n) * (1 - smooth(percent, n)) / n);

-- The number of calls needed to detect in four of five cases that a share of percent, seen in n
-- calls, has changed by points, if there are ratio times as many calls as before (0: as many).
CREATE MACRO calls_to_find(points, percent, n, ratio, z) AS CAST(ceil(smooth(percent, n) * (1 - smooth(percent, n))
    * pow(100e0 * (z + 0.8416212335729143e0) / points, 2) * (1 + if(ratio > 0, ratio, 1))) AS BIGINT);

-- Whether a text contains every search word, in any case. The pattern of the longest word finds the
-- few texts that are worth converting to lower case; few of these have letters that are not composed.
CREATE MACRO has_word(content, word) AS
    CASE WHEN contains(lower(content), lower(word)) THEN true ELSE contains(lower(nfc_normalize(content)), lower(word)) END;
CREATE MACRO has_all_words(content, words, longest_word) AS
    CASE WHEN regexp_matches(content, longest_word, 'i')
        THEN list_bool_and(list_transform(words, w -> has_word(content, w))) IS TRUE
        ELSE false END;
