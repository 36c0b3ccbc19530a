package schema

// field is the position of a known field in its object's table of names.
type field uint8

// Fields of a call. v3 and v2 spell some differently; each spelling is a field
// of its own here, and Decode brings them together.
const (
	fID field = iota
	fCallID
	fAgent
	fAgentID
	fAgentVersion
	fCallType
	fStatus
	fDisconnectionReason
	fFromNumber
	fCallFrom
	fToNumber
	fCallTo
	fPresentationNumber
	fStartAt
	fStartTimestamp
	fEndAt
	fEndTimestamp
	fDurationMS
	fRecordingURL
	fMetadata
	fDynamicVariables
	fCallAnalysis
	fCallCost
	fVariantLabel
	fOptOut
	fTranscript
	fTranscriptTools
	numCallFields
)

// Fields of agent.
const (
	aAgentID field = iota
	aAgentVersion
	numAgentFields
)

// Fields of call_analysis.
const (
	nSummary field = iota
	nUserSentiment
	nItems
	nEvaluation
	numAnalysisFields
)

// Fields of call_cost.
const (
	kTotalCost field = iota
	kTotalCredits
	kDurationSeconds
	numCostFields
)

// Fields of a transcript item.
const (
	tRole field = iota
	tContent
	tStartAt
	tEndAt
	tToolCallID
	tName
	tArguments
	numTurnFields
)

// Fields of a custom analysis item.
const (
	iType field = iota
	iName
	iValue
	numItemFields
)

// object describes one kind of object in a call's JSON: the names of its known
// fields, and where in the call it stands.
type object struct {
	id     int // its place in Decoder.follows
	names  [][]byte
	quoted [][]byte // as in the JSON, with quotes and colon
	paths  []string
	prefix string
	find   func(name []byte) field // len(names) for an unknown name
}

func newObject(id int, prefix string, find func([]byte) field, names ...string) *object {
	o := &object{id: id, prefix: prefix, find: find}
	for _, n := range names {
		o.names = append(o.names, []byte(n))
		o.quoted = append(o.quoted, []byte(`"`+n+`":`))
		o.paths = append(o.paths, prefix+n)
	}
	return o
}

// numObjects is how many kinds of objects a call's JSON has. But for the call
// itself, whose fields no guess is made at, none has more than numTurnFields.
const numObjects = 6

var (
	callObject = newObject(0, "", findCall,
		"id", "call_id", "agent", "agent_id", "agent_version", "call_type", "status",
		"disconnection_reason", "from_number", "call_from", "to_number", "call_to",
		"presentation_number", "start_at", "start_timestamp", "end_at", "end_timestamp",
		"duration_ms", "recording_url", "metadata", "dynamic_variables", "call_analysis",
		"call_cost", "variant_label", "opt_out_sensitive_data_storage", "transcript",
		"transcript_with_tool_calls")
	agentObject    = newObject(1, "agent.", findAgent, "agent_id", "agent_version")
	analysisObject = newObject(2, "call_analysis.", findAnalysis,
		"summary", "user_sentiment", "custom_analysis_data", "evaluation")
	costObject = newObject(3, "call_cost.", findCost, "total_cost", "total_credits_used", "duration_seconds")
	turnObject = newObject(4, "transcript[].", findTurn,
		"role", "content", "start_at", "end_at", "tool_call_id", "name", "arguments")
	itemObject = newObject(5, "call_analysis.custom_analysis_data[].", findItem, "type", "name", "value")
)

func findCall(name []byte) field {
	switch string(name) {
	case "id":
		return fID
	case "call_id":
		return fCallID
	case "agent":
		return fAgent
	case "agent_id":
		return fAgentID
	case "agent_version":
		return fAgentVersion
	case "call_type":
		return fCallType
	case "status":
		return fStatus
	case "disconnection_reason":
		return fDisconnectionReason
	case "from_number":
		return fFromNumber
	case "call_from":
		return fCallFrom
	case "to_number":
		return fToNumber
	case "call_to":
		return fCallTo
	case "presentation_number":
		return fPresentationNumber
	case "start_at":
		return fStartAt
	case "start_timestamp":
		return fStartTimestamp
	case "end_at":
		return fEndAt
	case "end_timestamp":
		return fEndTimestamp
	case "duration_ms":
		return fDurationMS
	case "recording_url":
		return fRecordingURL
	case "metadata":
		return fMetadata
	case "dynamic_variables":
		return fDynamicVariables
	case "call_analysis":
		return fCallAnalysis
	case "call_cost":
		return fCallCost
	case "variant_label":
		return fVariantLabel
	case "opt_out_sensitive_data_storage":
		return fOptOut
	case "transcript":
		return fTranscript
	case "transcript_with_tool_calls":
		return fTranscriptTools
	}
	return numCallFields
}

func findAgent(name []byte) field {
	switch string(name) {
	case "agent_id":
		return aAgentID
	case "agent_version":
		return aAgentVersion
	}
	return numAgentFields
}

func findAnalysis(name []byte) field {
	switch string(name) {
	case "summary":
		return nSummary
	case "user_sentiment":
		return nUserSentiment
	case "custom_analysis_data":
		return nItems
	case "evaluation":
		return nEvaluation
	}
	return numAnalysisFields
}

func findCost(name []byte) field {
	switch string(name) {
	case "total_cost":
		return kTotalCost
	case "total_credits_used":
		return kTotalCredits
	case "duration_seconds":
		return kDurationSeconds
	}
	return numCostFields
}

func findTurn(name []byte) field {
	switch string(name) {
	case "role":
		return tRole
	case "content":
		return tContent
	case "start_at":
		return tStartAt
	case "end_at":
		return tEndAt
	case "tool_call_id":
		return tToolCallID
	case "name":
		return tName
	case "arguments":
		return tArguments
	}
	return numTurnFields
}

func findItem(name []byte) field {
	switch string(name) {
	case "type":
		return iType
	case "name":
		return iName
	case "value":
		return iValue
	}
	return numItemFields
}

// fieldSet is a set of fields of one object.
type fieldSet uint32

func setOf(fields ...field) (s fieldSet) {
	for _, f := range fields {
		s |= 1 << f
	}
	return s
}

func (s fieldSet) has(f field) bool { return s>>f&1 != 0 }

// Which fields the service is known to send even where they are null, by the
// source of the call and the role of the turn. Only a call that departs from
// this needs a word about it in extra.
var (
	callShown = [...]fieldSet{
		V3: setOf(fID, fAgent, fCallType, fStatus, fDisconnectionReason, fFromNumber, fToNumber,
			fPresentationNumber, fStartAt, fEndAt, fRecordingURL, fMetadata, fDynamicVariables,
			fCallAnalysis, fCallCost, fVariantLabel, fOptOut),
		V2: setOf(fCallID, fAgentID, fCallType, fDisconnectionReason, fCallFrom, fCallTo,
			fStartTimestamp, fEndTimestamp, fDurationMS, fRecordingURL, fMetadata, fDynamicVariables,
			fCallAnalysis, fCallCost, fOptOut),
	}
	agentShown    = setOf(aAgentID, aAgentVersion)
	analysisShown = setOf(nSummary, nUserSentiment, nItems)
	costShown     = [...]fieldSet{V3: setOf(kTotalCost), V2: setOf(kTotalCredits, kDurationSeconds)}
	itemShown     = setOf(iType, iName, iValue)
)

// Which fields tell the two sources apart.
var (
	onlyV3 = setOf(fID, fAgent, fFromNumber, fToNumber, fPresentationNumber, fStartAt, fEndAt, fVariantLabel)
	onlyV2 = setOf(fCallID, fAgentID, fCallFrom, fCallTo, fStartTimestamp, fEndTimestamp,
		fDurationMS, fTranscriptTools)
)

var (
	spokenShown = setOf(tRole, tContent, tStartAt, tEndAt)
	invokeShown = setOf(tRole, tToolCallID, tName, tArguments)
	resultShown = setOf(tRole, tToolCallID, tContent)
)

func turnShown(role []byte) fieldSet {
	switch string(role) {
	case "agent", "user":
		return spokenShown
	case "tool_call_invocation":
		return invokeShown
	case "tool_call_result":
		return resultShown
	}
	return 0
}

// spoken says whether a turn is one that v2's transcript holds too.
func (t *Turn) spoken() bool {
	return string(t.Role) == "agent" || string(t.Role) == "user"
}
