package schema

import "slices"

// Month is the column that readers derive from the folder name of a file of [CallTables], such as
// month=2026-11: the UTC month of start_at, or of first_seen_at for a call without a start. Only
// files up to version 2 contain the column (field ids 32, 12 and 8): many readers refuse a column
// that is both in the file and in the folder name.
const Month = "month"

// Calls holds one row per call. Sorted by start_at (nulls last), then call_id. user_turns is the
// number of turns in which the caller speaks: see calls.Call.Complete.
var Calls = NewTable("calls",
	Column{ID: 1, Name: "call_id", Type: Text, Required: true, V3: "id", V2: "call_id",
		Doc: "id of the call"},
	Column{ID: 2, Name: "agent_id", Type: Word, V3: "agent.agent_id", V2: "agent_id",
		Doc: "id of the agent"},
	Column{ID: 3, Name: "agent_version", Type: Word, V3: "agent.agent_version", V2: "agent_version?",
		Doc: "version of the agent: production, current or a name such as v262"},
	Column{ID: 4, Name: "call_type", Type: Word, V3: "call_type", V2: "call_type",
		Doc:   "web, phone, inbound, outbound or api",
		Known: []string{"web", "phone", "inbound", "outbound", "api", "unknown"}},
	Column{ID: 5, Name: "status", Type: Word, V3: "status", V2: "status?",
		Doc:   "queued, ongoing, ended, error, canceled or not_connected",
		Known: []string{"queued", "ongoing", "ended", "error", "canceled", "not_connected", "registered", "ringing", "initiated"}},
	Column{ID: 6, Name: "disconnection_reason", Type: Word, V3: "disconnection_reason", V2: "disconnection_reason",
		Doc: "why the call ended; null during the call and for calls that never started",
		Known: []string{"user_hangup", "agent_hangup", "dial_no_answer", "dial_failed", "voicemail_reached",
			"concurrency_limit_reached", "insufficient_balance", "error_voxai", "max_duration_reached", "inactivity", "flow_error",
			"call_transfer", "dial_busy", "dial_declined", "orphaned_no_agent_pickup", "blocked_number", "operator_hangup",
			"daily_call_limit_reached", "hourly_call_limit_reached"}},
	Column{ID: 7, Name: "from_number", Type: Text, V3: "from_number", V2: "call_from", Mask: MaskWhole, Phone: true,
		Doc: "calling number"},
	Column{ID: 8, Name: "to_number", Type: Text, V3: "to_number", V2: "call_to", Mask: MaskWhole, Phone: true,
		Doc: "called number"},
	Column{ID: 9, Name: "presentation_number", Type: Word, V3: "presentation_number", Mask: MaskWhole, Phone: true,
		Doc: "number shown to the callee"},
	Column{ID: 10, Name: "start_at", Type: Timestamp, V3: "start_at", V2: "start_timestamp",
		Doc: "start of the call"},
	Column{ID: 11, Name: "end_at", Type: Timestamp, V3: "end_at", V2: "end_timestamp",
		Doc: "end of the call; null during the call"},
	Column{ID: 12, Name: "duration_ms", Type: Int64, V2: "duration_ms", Between: [2]string{"start_at", "end_at"},
		Unit: "ms", Doc: "time from start to end; null if v3 sends an end before the start"},
	Column{ID: 22, Name: "recording_url", Type: Text, V3: "recording_url", V2: "recording_url", Mask: MaskWhole, Withheld: true, Link: true,
		Doc: "signed link to the recording; expires"},
	Column{ID: 19, Name: "metadata", Type: JSON, V3: "metadata", V2: "metadata", Mask: MaskInside,
		Doc: "custom keys set by the API client that placed the call"},
	Column{ID: 20, Name: "dynamic_variables", Type: JSON, V3: "dynamic_variables", V2: "dynamic_variables", Mask: MaskInside,
		Doc: "variables passed to the agent"},
	Column{ID: 16, Name: "summary", Type: Text, V3: "call_analysis.summary", V2: "call_analysis.summary", Mask: MaskWhole,
		Withheld: true, Later: true,
		Doc: "summary by the service's analysis"},
	Column{ID: 17, Name: "user_sentiment", Type: Word, V3: "call_analysis.user_sentiment", V2: "call_analysis.user_sentiment",
		Withheld: true, Later: true,
		Doc: "sentiment of the caller by the service's analysis"},
	Column{List: &Items, V3: "call_analysis.custom_analysis_data", V2: "call_analysis.custom_analysis_data", Withheld: true, Later: true},
	Column{ID: 18, Name: "evaluation", Type: JSON, V3: "call_analysis.evaluation?", V2: "call_analysis.evaluation?",
		Mask: MaskInside, Withheld: true, Later: true,
		Doc: "evaluation by the service; null: none was sent"},
	Column{ID: 13, Name: "total_cost", Type: Exact, V3: "call_cost.total_cost", V2: "call_cost.total_cost?", Amount: true, Later: true,
		Unit: "money", Doc: "cost; null until known, and for calls that did not connect"},
	Column{ID: 14, Name: "credits_used", Type: Exact, V3: "call_cost.total_credits_used?", V2: "call_cost.total_credits_used", Later: true,
		Doc: "credits charged; null: not sent"},
	Column{ID: 15, Name: "billed_seconds", Type: Exact, V3: "call_cost.duration_seconds?", V2: "call_cost.duration_seconds", Later: true,
		Unit: "s", Doc: "time charged; null: not sent"},
	Column{ID: 21, Name: "variant_label", Type: Word, V3: "variant_label", Mask: MaskWhole,
		Doc: "variant of the call in a split test"},
	Column{ID: 23, Name: "opt_out_sensitive_data_storage", Type: Bool, V3: "opt_out_sensitive_data_storage",
		V2:     "opt_out_sensitive_data_storage",
		Doc:    "true: transcript, recording and analysis are not stored",
		OptOut: true},
	Column{List: &Turns, V3: "transcript?", V2: "transcript?", Withheld: true, Count: "turn_count", Only: []string{"agent", "user"}},
	Column{List: &Turns, V2: "transcript_with_tool_calls?", Withheld: true, Count: "turn_count"},
	Column{ID: 24, Name: "turn_count", Type: Int32,
		Unit: "count", Doc: "transcript items; null: never fetched"},
	Column{ID: 25, Name: "transcript_state", Type: Word, Required: true,
		Doc: "pending, present, changed (present, but the list has changed since: fetched again), empty, withheld " +
			"(opted out), missing (the service has no record, or none of the end), " +
			"unreadable (the record is too large, or no valid JSON) or skipped (not requested, because no call of this kind " +
			"ever had one)"},
	Column{ID: 26, Name: "settlement", Type: Word, Required: true,
		Doc: "open (not over), ended (analysis or cost pending), settled, or expired (they never came)"},
	Column{ID: 27, Name: "source", Type: Word, Required: true,
		Doc: "API version of the call: v3 or v2"},
	Column{ID: 28, Name: "extra", Type: JSON,
		Doc: "fields of the call without a column of their own"},
	Column{ID: 29, Name: "first_seen_at", Type: Timestamp, Required: true, Fetch: true,
		Doc: "time it was first listed"},
	Column{ID: 30, Name: "fetched_at", Type: Timestamp, Required: true, Fetch: true,
		Doc: "time of the fetch that returned these values"},
	Column{ID: 31, Name: "run_id", Type: Word, Required: true, Fetch: true,
		Doc: "run that fetched it, as in runs"},
	Column{ID: 33, Name: "user_turns", Type: Int32, Fetch: true,
		Unit: "count", Doc: "turns of the caller that are not blank (role user); null: never fetched"},
	Column{ID: 34, Name: "transcript_source", Type: Word, Fetch: true,
		Doc: "v2: the transcript came from v2 and the rest from v3, until a record of v3 replaces it; " +
			"v2_only: the same, but the record of v3 has no transcript; null: same as source, or no transcript"},
	Column{ID: 35, Name: "direction", Type: Word, Fetch: true,
		Doc: "inbound, outbound or unknown: by call_type if it is one of them, else by the organisation's own numbers on that day; " +
			"null: a web call"},
	Column{ID: 36, Name: "from_e164", Type: Text, Fetch: true, Made: []string{"from_number"},
		Doc: "from_number in E.164 form, such as +821012345678; null: it has none " +
			"(masked, withheld, or a national number without the setting country)"},
	Column{ID: 37, Name: "to_e164", Type: Text, Fetch: true, Made: []string{"to_number"},
		Doc: "to_number in E.164 form, as from_e164"},
	Column{ID: 38, Name: "own_number", Type: Word, Fetch: true,
		Made: []string{"from_number", "to_number", "presentation_number"},
		Doc: "the organisation's own number, as in telephone_numbers: the called number of an inbound call, " +
			"otherwise the number shown to the callee, or else the calling number; " +
			"null: not owned on that day"},
	Column{ID: 39, Name: "spoken_turns", Type: Int32, Fetch: true, Unit: "count",
		Doc: "turns of the agent and the caller with a known start and end; null: never fetched"},
	Column{ID: 40, Name: "agent_talk_ms", Type: Int64, Fetch: true, Unit: "ms",
		Doc: "speech time of the agent: the sum over its spoken turns; one that ends before it starts counts as 0"},
	Column{ID: 41, Name: "user_talk_ms", Type: Int64, Fetch: true, Unit: "ms",
		Doc: "speech time of the caller"},
	Column{ID: 42, Name: "response_ms", Type: JSON, Fetch: true, Unit: "ms",
		Doc: "response latencies in order, such as [812,1040]: each is the time from the end of a caller's spoken turn to the start of " +
			"the agent's next one, unless it began before that end; null: none"},
	Column{ID: 43, Name: "agent_interruptions", Type: Int32, Fetch: true, Unit: "count",
		Doc: "spoken turns of the agent that start before the caller's latest end so far"},
	Column{ID: 44, Name: "user_interruptions", Type: Int32, Fetch: true, Unit: "count",
		Doc: "spoken turns of the caller that start before the agent's latest end so far"},
	Column{ID: 45, Name: "longest_silence_ms", Type: Int64, Fetch: true, Unit: "ms",
		Doc: "longest time from the latest end of a spoken turn so far to the next start; 0: they only overlap; " +
			"null: fewer than two spoken turns"},
	Column{ID: 46, Name: "agent_first_word_ms", Type: Int64, Fetch: true, Unit: "ms",
		Doc: "time from the call's start to the earliest start of a turn of the agent; negative: before it; null: unknown"},
	Column{ID: 47, Name: "user_first_word_ms", Type: Int64, Fetch: true, Unit: "ms",
		Doc: "time from the call's start to the earliest start of a turn of the caller; negative: before it; null: unknown"},
	Column{ID: 48, Name: "tool_uses", Type: Int32, Fetch: true, Unit: "count",
		Doc: "tool calls, as in tool_calls"},
	Column{ID: 49, Name: "failed_tool_uses", Type: Int32, Fetch: true, Unit: "count",
		Doc: "failed tool calls"},
	Column{ID: 50, Name: "last_tool", Type: Word, Fetch: true,
		Doc: "name of the last tool invocation that has a name"},
	Column{ID: 51, Name: "moves", Type: Word, Fetch: true,
		Made: []string{"transcript_turns.arguments", "transcript_turns.content"},
		Doc: `moves through the agent's graph in order, as JSON such as [{"node":"n1"},{"node":"n2","failed":true}]: the tool calls ` +
			"transition_to_node, with their node (arguments node, else node_id, else all arguments); " +
			"null: never fetched"},
)

// Turns holds one row per transcript item, in the order of its call's time line. Sorted as Calls,
// then by turn. A tool result's content is the string that the service sent.
var Turns = NewTable("transcript_turns",
	Column{ID: 1, Name: "call_id", Type: Text, Required: true, Parent: "call_id",
		Doc: "id of the call"},
	Column{ID: 2, Name: "turn", Type: Int32, Required: true, Parent: Position,
		Doc: "position in the transcript, from 0"},
	Column{ID: 3, Name: "role", Type: Word, V3: "role", V2: "role",
		With:  []string{"agent", "user", "tool_call_invocation", "tool_call_result"},
		Known: []string{"agent", "user", "tool_call_invocation", "tool_call_result"},
		Doc:   "agent, user, tool_call_invocation or tool_call_result"},
	Column{ID: 4, Name: "content", Type: Text, V3: "content", V2: "content", With: []string{"agent", "user", "tool_call_result"},
		Mask: MaskWhole,
		Doc:  "spoken text or tool result"},
	Column{ID: 5, Name: "start_at", Type: Timestamp, V3: "start_at", V2: "start_at", With: []string{"agent", "user"},
		Doc: "start of the turn; null for tool calls"},
	Column{ID: 6, Name: "end_at", Type: Timestamp, V3: "end_at", V2: "end_at", With: []string{"agent", "user"},
		Doc: "end of the turn; null for tool calls"},
	Column{ID: 7, Name: "tool_call_id", Type: Text, V3: "tool_call_id", V2: "tool_call_id",
		With: []string{"tool_call_invocation", "tool_call_result"},
		Doc:  "id shared by a tool's invocation and its result"},
	Column{ID: 8, Name: "tool_name", Type: Word, V3: "name", V2: "name", With: []string{"tool_call_invocation"},
		Doc: "tool name; null on its result"},
	Column{ID: 9, Name: "arguments", Type: JSON, V3: "arguments", V2: "arguments", With: []string{"tool_call_invocation"}, Mask: MaskInside,
		Doc: "arguments of the tool"},
	Column{ID: 10, Name: "extra", Type: JSON,
		Doc: "fields of the item without a column of their own"},
	Column{ID: 11, Name: "call_start_at", Type: Timestamp, Parent: "start_at",
		Doc: "start of the call, to filter by time without a join"},
	Column{ID: 13, Name: "fetched_at", Type: Timestamp, Parent: "fetched_at",
		Doc: "time the call was fetched, for incremental models"},
)

// ToolCalls holds one row per tool call of a transcript: see calls.ToolCall. Its rows are derived
// from those of Turns, and rewritten with them. Sorted as Calls, then by turn.
var ToolCalls = NewTable("tool_calls",
	Column{ID: 1, Name: "call_id", Type: Text, Required: true,
		Doc: "id of the call"},
	Column{ID: 2, Name: "turn", Type: Int32, Required: true,
		Doc: "position of the invocation, else of the result, in the transcript"},
	Column{ID: 3, Name: "tool_call_id", Type: Text, Made: []string{"transcript_turns.tool_call_id"},
		Doc: "id of the tool call within the call"},
	Column{ID: 4, Name: "tool_name", Type: Word, Made: []string{"transcript_turns.tool_name"},
		Doc: "tool name"},
	Column{ID: 5, Name: "arguments", Type: JSON, Made: []string{"transcript_turns.arguments"},
		Doc: "arguments of the tool"},
	Column{ID: 6, Name: "result_turn", Type: Int32,
		Doc: "position of the result; null: no result"},
	Column{ID: 7, Name: "result", Type: Text, Made: []string{"transcript_turns.content"},
		Doc: "result as sent; an object as JSON"},
	Column{ID: 8, Name: "failed", Type: Bool, Made: []string{"transcript_turns.content"},
		Doc: "whether the result is a failure; null: no result"},
	Column{ID: 9, Name: "started_at", Type: Timestamp, Made: []string{"transcript_turns.start_at"},
		Doc: "time of the invocation; null: not sent"},
	Column{ID: 10, Name: "ended_at", Type: Timestamp, Made: []string{"transcript_turns.start_at", "transcript_turns.end_at"},
		Doc: "time of the result; null: not sent"},
	Column{ID: 11, Name: "duration_ms", Type: Int64, Unit: "ms", Made: []string{"transcript_turns.start_at", "transcript_turns.end_at"},
		Doc: "time from started_at to ended_at, at least 0"},
	Column{ID: 12, Name: "pause_ms", Type: Int64, Unit: "ms", Made: []string{"transcript_turns.start_at", "transcript_turns.end_at"},
		Doc: "pause in speech around it: from the latest end of a turn before its invocation and result to the earliest start of a turn " +
			"after both, at least 0; null: no speech before or after"},
	Column{ID: 13, Name: "is_first", Type: Bool, Required: true,
		Doc: "whether it is the call's first use of this tool: count them for the number of calls"},
	Column{ID: 14, Name: "call_start_at", Type: Timestamp,
		Doc: "start of the call, to filter by time without a join"},
	Column{ID: 15, Name: "fetched_at", Type: Timestamp, Fetch: true,
		Doc: "time the call was fetched, for incremental models"},
)

// Recordings holds one row per call whose audio was archived, or failed to be. Its rows are not
// part of the call's JSON: see [Recording]. Sorted as Calls.
var Recordings = NewTable("recordings",
	Column{ID: 1, Name: "call_id", Type: Text, Required: true, Parent: "call_id",
		Doc: "id of the call"},
	Column{ID: 2, Name: "state", Type: Word, Required: true, Made: []string{"calls.recording_url"},
		Doc: "due (a download failed, or it is not there yet; it is repeated), stored, gone (the service no longer has it), refused " +
			"(it is not stored, for the reason in reason) or withheld (opted out, or past its retention)"},
	Column{ID: 3, Name: "bytes", Type: Int64, Made: []string{"calls.recording_url"},
		Doc: "size of the file"},
	Column{ID: 4, Name: "sha256", Type: Text, Made: []string{"calls.recording_url"},
		Doc: "SHA-256 of the file, in hex"},
	Column{ID: 5, Name: "format", Type: Word, Made: []string{"calls.recording_url"},
		Doc: "format by the first bytes, and extension of the file: mp3, wav, ogg, m4a, flac, webm, aac, amr, aiff or another; bin: unknown"},
	Column{ID: 6, Name: "duration_ms", Type: Int64, Unit: "ms", Made: []string{"calls.recording_url"},
		Doc: "playing time of WAV files; null: unknown"},
	Column{ID: 7, Name: "channels", Type: Int32, Unit: "count", Made: []string{"calls.recording_url"},
		Doc: "audio channels of WAV files; null: unknown"},
	Column{ID: 8, Name: "path", Type: Text, Made: []string{"calls.recording_url"},
		Doc: "place of the file below the archive's address, such as 2026/11/23/ID.mp3; null: not in the archive; ?: perhaps"},
	Column{ID: 9, Name: "fetched_at", Type: Timestamp, Required: true, Fetch: true,
		Doc: "time it was stored, or last tried"},
	Column{ID: 10, Name: "reason", Type: Text, Made: []string{"calls.recording_url"},
		Doc: "why it is not stored; of a stored one, what is doubtful: the host did not send the length, or the format is unknown"},
	Column{ID: 11, Name: "attempts", Type: Int32, Unit: "count",
		Doc: "attempts to download it"},
	Column{ID: 12, Name: "call_start_at", Type: Timestamp, Parent: "start_at",
		Doc: "start of the call, to filter by time without a join"},
)

// Items holds one row per custom analysis item, in the order sent.
// Sorted as Calls, then by position.
var Items = NewTable("analysis_items",
	Column{ID: 1, Name: "call_id", Type: Text, Required: true, Parent: "call_id",
		Doc: "id of the call"},
	Column{ID: 2, Name: "position", Type: Int32, Required: true, Parent: Position,
		Doc: "position among the call's items, from 0"},
	Column{ID: 4, Name: "type", Type: Word, V3: "type", V2: "type", Known: []string{"string", "enum", "boolean", "number"},
		Doc: "string, enum, boolean or number"},
	Column{ID: 3, Name: "name", Type: Word, V3: "name", V2: "name",
		Doc: "name of the field"},
	Column{ID: 5, Name: "value", Type: JSON, V3: "value", V2: "value", AnyValue: true, Mask: MaskInside,
		Doc: "value as sent"},
	Column{ID: 6, Name: "extra", Type: JSON,
		Doc: "fields of the item without a column of their own"},
	Column{ID: 7, Name: "call_start_at", Type: Timestamp, Parent: "start_at",
		Doc: "start of the call, to filter by time without a join"},
	Column{ID: 9, Name: "fetched_at", Type: Timestamp, Parent: "fetched_at",
		Doc: "time the call was fetched, for incremental models"},
)

// Runs holds one row per run of extract, by start. It is one file, runs/runs.parquet, in every
// snapshot.
var Runs = NewTable("runs",
	Column{ID: 1, Name: "run_id", Type: Text, Required: true,
		Doc: "start of the run and 8 random digits"},
	Column{ID: 2, Name: "started_at", Type: Timestamp, Required: true,
		Doc: "start of the run"},
	Column{ID: 3, Name: "ended_at", Type: Timestamp,
		Doc: "end of the run; null: cut off"},
	Column{ID: 4, Name: "outcome", Type: Word, Required: true,
		Doc: "outcome of the run"},
	Column{ID: 5, Name: "error", Type: Text,
		Doc: "error that stopped it, if any"},
	Column{ID: 6, Name: "version", Type: Word,
		Doc: "version of extract"},
	Column{ID: 7, Name: "requests", Type: Int64, Required: true,
		Unit: "count", Doc: "requests sent, including retries"},
	Column{ID: 8, Name: "page_requests", Type: Int64, Required: true,
		Unit: "count", Doc: "requests for list pages"},
	Column{ID: 9, Name: "detail_requests", Type: Int64, Required: true,
		Unit: "count", Doc: "requests for single calls"},
	Column{ID: 10, Name: "retries", Type: Int64, Required: true,
		Unit: "count", Doc: "requests that repeated a failed one"},
	Column{ID: 11, Name: "rate_limited", Type: Int64, Required: true,
		Unit: "count", Doc: "responses with status 429"},
	Column{ID: 12, Name: "server_errors", Type: Int64, Required: true,
		Unit: "count", Doc: "responses with status 5xx"},
	Column{ID: 13, Name: "network_errors", Type: Int64, Required: true,
		Unit: "count", Doc: "requests without a response"},
	Column{ID: 14, Name: "pages", Type: Int64, Required: true,
		Unit: "count", Doc: "list pages read"},
	Column{ID: 15, Name: "calls_listed", Type: Int64, Required: true,
		Unit: "count", Doc: "calls on list pages"},
	Column{ID: 16, Name: "calls_new", Type: Int64, Required: true,
		Unit: "count", Doc: "listed calls that were new"},
	Column{ID: 17, Name: "calls_changed", Type: Int64, Required: true,
		Unit: "count", Doc: "listed calls that were known and changed"},
	Column{ID: 18, Name: "calls_settled", Type: Int64, Required: true,
		Unit: "count", Doc: "calls that became settled"},
	Column{ID: 19, Name: "calls_pending", Type: Int64, Required: true,
		Unit: "count", Doc: "calls whose transcript is pending"},
	Column{ID: 20, Name: "calls_missing", Type: Int64, Required: true,
		Unit: "count", Doc: "listed calls whose record the service no longer has"},
	Column{ID: 21, Name: "calls_set_aside", Type: Int64, Required: true,
		Unit: "count", Doc: "calls set aside because they could not be read"},
	Column{ID: 22, Name: "transcripts", Type: Int64, Required: true,
		Unit: "count", Doc: "transcripts fetched"},
	Column{ID: 23, Name: "turns", Type: Int64, Required: true,
		Unit: "count", Doc: "transcript items fetched"},
	Column{ID: 24, Name: "drift", Type: Int64, Required: true,
		Unit: "count", Doc: "values that did not fit their column"},
	Column{ID: 25, Name: "drift_fields", Type: JSON,
		Doc: "such values by field"},
	Column{ID: 26, Name: "total_count", Type: Int64,
		Unit: "count", Doc: "total calls reported by the service"},
	Column{ID: 27, Name: "budget_used_percent", Type: Percent,
		Unit: "percent", Doc: "share of the allowed requests that was used"},
	Column{ID: 28, Name: "commits", Type: Int64, Required: true,
		Unit: "count", Doc: "snapshots committed"},
	Column{ID: 29, Name: "bulk_requests", Type: Int64,
		Unit: "count", Doc: "requests for v2 pages"},
	Column{ID: 30, Name: "bulk_transcripts", Type: Int64,
		Unit: "count", Doc: "transcripts from v2 pages"},
	Column{ID: 31, Name: "bulk_compared", Type: Int64,
		Unit: "count", Doc: "v2 transcripts compared with v3"},
	Column{ID: 32, Name: "bulk_differing", Type: Int64,
		Unit: "count", Doc: "compared transcripts that differ"},
	Column{ID: 33, Name: "bulk_unlisted", Type: Int64,
		Unit: "count", Doc: "calls on v2 pages that v3 does not list; not stored"},
	Column{ID: 34, Name: "calls_skipped", Type: Int64,
		Unit: "count", Doc: "calls whose transcript was not requested, because no call of their kind ever had one"},
	Column{ID: 35, Name: "problem", Type: Word,
		Doc: "one word for the error, such as refused, unreachable, full or damaged; null: no error"},
	Column{ID: 37, Name: "bulk_unverified", Type: Int64,
		Unit: "count", Doc: "v2 transcripts in the warehouse after the run that no record of v3 has replaced"},
	Column{ID: 38, Name: "recordings_stored", Type: Int64,
		Unit: "count", Doc: "recordings stored in the archive"},
	Column{ID: 39, Name: "recordings_due", Type: Int64,
		Unit: "count", Doc: "recordings still to be archived after the run; null: there is no archive"},
	Column{ID: 40, Name: "redacted", Type: JSON,
		Doc: "personal data redacted in what the run received, by kind, such as {\"card\":2}; null: none"},
)

// Steps of the tallies.
const (
	// Quarter is the quarter of an hour of QuarterTallies in ms. Since 1972 the UTC offset of every
	// zone has been a multiple of it.
	Quarter = 15 * 60 * 1000
	// DurationStep is the step of LengthTallies in ms.
	DurationStep = 5000
	// Minute is the step of MinuteTallies in ms.
	Minute = 60_000
	// LastShortStep is the last short_step.
	LastShortStep = 2 * DurationStep
)

// WordTallies holds, for one file of calls, the number of calls for each combination of these
// words, and sums over them. caller_spoke is whether user_turns is above 0; null if user_turns is
// null. short_step is the call's duration in steps of 5 seconds, from 0 to 10 seconds; the last
// step includes all longer calls; null if the duration is unknown. A sum over no values is null.
// timed_cost is the cost of calls with a known duration, costed_ms the duration of calls with a
// known cost. unheld_costs counts calls with calls.Call.CostUnheld; files before version 3 lack it.
var WordTallies = NewTable("word_tallies", append([]Column{
	{ID: 1, Name: "agent_id", Type: Word},
	{ID: 2, Name: "agent_version", Type: Word},
	{ID: 3, Name: "call_type", Type: Word},
	{ID: 4, Name: "status", Type: Word},
	{ID: 5, Name: "disconnection_reason", Type: Word},
	{ID: 6, Name: "user_sentiment", Type: Word},
	{ID: 7, Name: "variant_label", Type: Word},
	{ID: 8, Name: "transcript_state", Type: Word, Required: true},
	{ID: 9, Name: "settlement", Type: Word, Required: true},
	{ID: 10, Name: "opted_out", Type: Bool, Required: true},
	{ID: 11, Name: "is_started", Type: Bool, Required: true},
	{ID: 12, Name: "caller_spoke", Type: Bool},
	{ID: 13, Name: "short_step", Type: Int64},
}, tallied...)...)

// QuarterTallies holds the same numbers for each quarter of an hour in which calls started, and
// fewer words. start_at is the beginning of the quarter; null for calls without a start. Sorted by
// start_at, nulls last.
var QuarterTallies = NewTable("quarter_tallies", append([]Column{
	{ID: 1, Name: "start_at", Type: Timestamp},
	{ID: 2, Name: "status", Type: Word},
	{ID: 3, Name: "disconnection_reason", Type: Word},
	{ID: 4, Name: "user_sentiment", Type: Word},
	{ID: 5, Name: "settlement", Type: Word, Required: true},
	{ID: 6, Name: "transcript_state", Type: Word, Required: true},
	{ID: 7, Name: "caller_spoke", Type: Bool},
	{ID: 8, Name: "short_step", Type: Int64},
}, tallied...)...)

// LengthTallies holds the same numbers for each duration in steps of 5 seconds. duration_step is
// the beginning of the step in ms; null for calls of unknown duration.
var LengthTallies = NewTable("length_tallies", append([]Column{
	{ID: 1, Name: "duration_step", Type: Int64},
	{ID: 2, Name: "status", Type: Word},
	{ID: 3, Name: "disconnection_reason", Type: Word},
	{ID: 4, Name: "is_started", Type: Bool, Required: true},
}, tallied...)...)

// MinuteTallies holds, for one file of calls, the number of simultaneous calls in each minute that
// contains the start or the last millisecond of a call. Only the file's own calls with a known
// start and duration count: if calls of another file overlap, both files must be counted again.
// calls is the number of calls that start in the minute, longest_ms the duration of the longest of
// them. peak_calls is the maximum of simultaneous calls, and peak_at the first start that reached
// it; null if it is 0 or was reached before the minute. Sorted by start_at, the beginning of the
// minute.
var MinuteTallies = NewTable("minute_tallies",
	Column{ID: 1, Name: "start_at", Type: Timestamp, Required: true},
	Column{ID: 2, Name: "calls", Type: Int64, Required: true},
	Column{ID: 3, Name: "peak_calls", Type: Int64, Required: true},
	Column{ID: 4, Name: "peak_at", Type: Timestamp},
	Column{ID: 5, Name: "longest_ms", Type: Int64},
)

// ToolTallies holds, for one file of tool calls, the uses of each tool with the same pause and
// duration: all uses, those that are the call's first use of the tool, failed ones, and those with
// a result.
var ToolTallies = NewTable("tool_tallies",
	Column{ID: 1, Name: "tool_name", Type: Word},
	Column{ID: 2, Name: "pause_ms", Type: Int64},
	Column{ID: 3, Name: "duration_ms", Type: Int64},
	Column{ID: 4, Name: "uses", Type: Int64},
	Column{ID: 5, Name: "first_uses", Type: Int64},
	Column{ID: 6, Name: "failed_uses", Type: Int64},
	Column{ID: 7, Name: "answered_uses", Type: Int64},
)

// ItemTallies holds, for one file of items, the number of items for each agent, field and value, and
// the costs of their calls: costed_calls have a total_cost, credited_calls only credits. is_repeated
// is whether any call has several items of that name; then the number of items is not that of calls.
// A field with too many or too long values has a row in which items is null, and otherwise only rows
// of true and false.
var ItemTallies = NewTable("item_tallies",
	Column{ID: 1, Name: "name", Type: Word},
	Column{ID: 2, Name: "type", Type: Word},
	Column{ID: 3, Name: "value", Type: JSON},
	Column{ID: 4, Name: "items", Type: Int64},
	Column{ID: 5, Name: "agent_id", Type: Word},
	Column{ID: 6, Name: "is_repeated", Type: Bool},
	Column{ID: 7, Name: "costed_calls", Type: Int64},
	Column{ID: 8, Name: "credited_calls", Type: Int64},
	Column{ID: 9, Name: "total_cost", Type: Exact},
	Column{ID: 10, Name: "credits", Type: Exact},
)

// SpeechTallies holds, for one file of calls, two kinds of rows: the calls with spoken turns for
// each longest silence, with sums of their facts, and the response latencies for each response_ms.
// Columns of the other kind are null.
var SpeechTallies = NewTable("speech_tallies",
	Column{ID: 1, Name: "response_ms", Type: Int64},
	Column{ID: 2, Name: "responses", Type: Int64},
	Column{ID: 3, Name: "longest_silence_ms", Type: Int64},
	Column{ID: 4, Name: "calls", Type: Int64},
	Column{ID: 5, Name: "spoken_turns", Type: Int64},
	Column{ID: 6, Name: "agent_talk_ms", Type: Int64},
	Column{ID: 7, Name: "user_talk_ms", Type: Int64},
	Column{ID: 8, Name: "interrupted_calls", Type: Int64},
	Column{ID: 9, Name: "agent_interruptions", Type: Int64},
	Column{ID: 10, Name: "user_interruptions", Type: Int64},
)

// LongestTallies holds, for one file of calls, the LongestCalls longest calls with a transcript for
// each combination of end, sentiment and number of failed tool calls. Ties are broken by the latest
// start, then by the lowest id.
var LongestTallies = NewTable("longest_tallies",
	Column{ID: 1, Name: "status", Type: Word},
	Column{ID: 2, Name: "disconnection_reason", Type: Word},
	Column{ID: 3, Name: "settlement", Type: Word},
	Column{ID: 4, Name: "caller_spoke", Type: Bool},
	Column{ID: 5, Name: "short_step", Type: Int64},
	Column{ID: 11, Name: "user_sentiment", Type: Word},
	Column{ID: 12, Name: "failed_tool_uses", Type: Int32},
	Column{ID: 13, Name: "duration_ms", Type: Int64},
	Column{ID: 14, Name: "start_at", Type: Timestamp},
	Column{ID: 15, Name: "call_id", Type: Text},
	Column{ID: 16, Name: "agent_id", Type: Word},
)

// LongestCalls is the maximum number of calls that LongestTallies holds for each combination.
const LongestCalls = 20

// CallerTallies holds, for one file of calls, the contacts with each caller, as the report callers
// defines both; caller is null for contacts without one. repeats_24h and repeats_7d are whether a
// contact starts within that time after another, or at the same moment. first_contact_calls counts
// completed contacts without another one in the 24 hours after them; leaves_first_contact is
// whether the last contact is one of these.
var CallerTallies = NewTable("caller_tallies",
	Column{ID: 1, Name: "caller", Type: Text},
	Column{ID: 2, Name: "first_start_at", Type: Timestamp},
	Column{ID: 3, Name: "last_start_at", Type: Timestamp},
	Column{ID: 4, Name: "calls", Type: Int64},
	Column{ID: 5, Name: "undirected_calls", Type: Int64},
	Column{ID: 6, Name: "repeats_24h", Type: Bool},
	Column{ID: 7, Name: "repeats_7d", Type: Bool},
	Column{ID: 8, Name: "answered_calls", Type: Int64},
	Column{ID: 9, Name: "completed_calls", Type: Int64},
	Column{ID: 10, Name: "first_contact_calls", Type: Int64},
	Column{ID: 11, Name: "leaves_first_contact", Type: Bool},
)

// AttemptTallies holds, for one file of calls, the outbound calls of each local week. Like the
// report attempts, it numbers them within their local day and within the week, ignoring calls of
// other files. A week is identified by its beginning, Monday at midnight, which differs for each of
// AttemptOffsets. attempt is 6 for all later attempts, and null for calls without a number.
var AttemptTallies = NewTable("attempt_tallies",
	Column{ID: 1, Name: "week_start_at", Type: Timestamp},
	Column{ID: 2, Name: "span", Type: Word},
	Column{ID: 3, Name: "attempt", Type: Int64},
	Column{ID: 4, Name: "calls", Type: Int64},
	Column{ID: 5, Name: "known_calls", Type: Int64},
	Column{ID: 6, Name: "reached_calls", Type: Int64},
	Column{ID: 7, Name: "voicemail_calls", Type: Int64},
)

// AttemptEdges holds the outbound calls of a day, or of the first and the last week (7 days) of a
// month, in which other files' calls may precede or follow them in a local week. number is as
// the report attempts compares it, and result person, machine or nobody; null if not known. Sorted by
// number and start_at.
var AttemptEdges = NewTable("attempt_edges",
	Column{ID: 1, Name: "number", Type: Text},
	Column{ID: 2, Name: "start_at", Type: Timestamp},
	Column{ID: 3, Name: "result", Type: Word},
)

// AnswerTallies counts the answered calls of each agent in one file, as the view calls defines them,
// in two ways: all calls by the time to the agent's first word (rows with first_word_ms), and
// transferred calls by last tool and duration (rows without).
var AnswerTallies = NewTable("answer_tallies",
	Column{ID: 1, Name: "first_word_ms", Type: Int64},
	Column{ID: 2, Name: "last_tool", Type: Word},
	Column{ID: 3, Name: "duration_ms", Type: Int64},
	Column{ID: 4, Name: "calls", Type: Int64},
	Column{ID: 5, Name: "agent_id", Type: Word},
)

// FlowTallies counts, for one file of calls, the moves of calls with a transcript through the graph
// of their agent's version, as the report flows does. from_node is null before the first move, to_node
// for the end of a call. is_moved is whether the calls moved at all. start_at is the latest start of the
// calls. The version production means another one after a publication, so its calls are counted by UTC
// day, which begins at day_at; null for other versions.
var FlowTallies = NewTable("flow_tallies",
	Column{ID: 1, Name: "agent_id", Type: Word},
	Column{ID: 2, Name: "agent_version", Type: Word},
	Column{ID: 3, Name: "day_at", Type: Timestamp},
	Column{ID: 4, Name: "from_node", Type: Word},
	Column{ID: 5, Name: "to_node", Type: Word},
	Column{ID: 6, Name: "is_moved", Type: Bool},
	Column{ID: 7, Name: "start_at", Type: Timestamp},
	Column{ID: 8, Name: "calls", Type: Int64},
	Column{ID: 9, Name: "passes", Type: Int64},
	Column{ID: 10, Name: "failed_passes", Type: Int64},
	Column{ID: 11, Name: "answered_calls", Type: Int64},
	Column{ID: 12, Name: "completed_calls", Type: Int64},
	Column{ID: 13, Name: "transferred_calls", Type: Int64},
	Column{ID: 14, Name: "lost_calls", Type: Int64},
	Column{ID: 15, Name: "hung_up_calls", Type: Int64},
)

// AttemptOffsets are the UTC offsets used by time zones, in minutes: every full hour, and others.
var AttemptOffsets = func() (out []int) {
	for hour := -12; hour <= 14; hour++ {
		out = append(out, 60*hour)
	}
	return append(out, -570, -210, -150, 210, 270, 330, 345, 390, 525, 570, 630, 765, 825)
}()

// tallied are the numeric columns of the tallies.
var tallied = []Column{
	{ID: 101, Name: "calls", Type: Int64, Required: true},
	{ID: 102, Name: "timed_calls", Type: Int64, Required: true},
	{ID: 103, Name: "total_ms", Type: Int64},
	{ID: 104, Name: "max_ms", Type: Int64},
	{ID: 105, Name: "costed_calls", Type: Int64, Required: true},
	{ID: 106, Name: "total_cost", Type: Exact},
	{ID: 107, Name: "timed_cost", Type: Exact},
	{ID: 108, Name: "costed_ms", Type: Int64},
	{ID: 109, Name: "unheld_costs", Type: Int64},
}

// CallTables are the tables whose files are partitioned by month and day, in the order of writing.
var CallTables = []*Table{&Calls, &Turns, &Items, &Recordings, &ToolCalls}

// TallyTables are computed from a month's calls at compaction, and from the calls of a large day at
// every write, so that reports need not read the calls: see tally.Tallies. The rows of CountTables
// are sums over calls; FactTables count parts of calls, or hold calls and callers.
var (
	CountTables = []*Table{&WordTallies, &LengthTallies, &QuarterTallies}
	FactTables  = []*Table{&ToolTallies, &ItemTallies, &SpeechTallies, &LongestTallies, &CallerTallies, &AttemptTallies, &AttemptEdges,
		&AnswerTallies, &FlowTallies}
	TallyTables = slices.Concat(CountTables, []*Table{&MinuteTallies}, FactTables)
)

// dayTallies are those of a large day. The others would have almost as many rows there as calls or
// facts. AttemptEdges has one for each outbound call, but with three columns.
var dayTallies = slices.Concat(CountTables, []*Table{&MinuteTallies, &ItemTallies, &SpeechTallies, &AttemptEdges, &FlowTallies})

// FewCalls is the maximum number of calls of a day without tallies: with so few calls, reading
// tallies takes as long as reading the calls.
const FewCalls = 8192

// IsMonth reports whether a period is a month, such as 2026-10, and not a day.
func IsMonth(period string) bool { return len(period) == len("2026-10") }

// TalliesOf returns the tallies that a month or a day may have.
func TalliesOf(period string) []*Table {
	if IsMonth(period) {
		return TallyTables
	}
	return dayTallies
}

// Derived are the tables whose rows are derived from those of others.
var Derived = append([]*Table{&ToolCalls}, TallyTables...)

// Tables are all tables of a warehouse except the tallies.
var Tables = append(slices.Clone(CallTables), &Runs)

// PeriodTables are the tables with a file for each period, calls first; AllTables are all tables
// with files.
var (
	PeriodTables = slices.Concat(CallTables, TallyTables)
	AllTables    = slices.Concat(Tables, TallyTables)
)

// ByMonth reports whether the files of a table are partitioned by month: see [Month].
func (t *Table) ByMonth() bool { return slices.Contains(CallTables, t) }
