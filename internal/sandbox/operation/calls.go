package operation

import "net/http"

const contract = "contract"

// paged are the parameters of every list of v3.
var paged = []Parameter{
	{Name: "cursor", Type: "string", Contract: true, Note: "next_cursor of the page before, unchanged"},
	{Name: "limit", Type: "integer", Min: 1, Max: 100, Default: "50", Contract: true, Note: "how many items a page has at most; the default is documented, not of the contract"},
}

var sortOrder = Parameter{Name: "sort_order", Type: "string", Values: []string{"asc", "desc"}, Default: "desc"}

// calls are the operations on calls of v3.
var calls = []Operation{
	{
		ID: "listCalls", Method: http.MethodGet, Path: "/v3/calls", Kind: "page", Answer: "CallList",
		Summary: "Calls, the newest start first, without their transcripts",
		From:    "contract: `cursor`, `limit`; observed: the fields and most filters; documented: `campaign_id`, `customer_id`",
		Beware:  "any filter, and any field of a call",
		Query: append(paged[:len(paged):len(paged)], sortOrder,
			Parameter{Name: "start_at_after", Type: "integer", Note: "unix milliseconds; the instant itself is left out"},
			Parameter{Name: "start_at_before", Type: "integer", Note: "unix milliseconds; the instant itself is left out"},
			Parameter{Name: "status", Type: "string", Values: []string{"queued", "ongoing", "ended", "error", "canceled", "not_connected"}},
			Parameter{Name: "call_type", Type: "string", Values: []string{"web", "phone", "inbound", "outbound", "api", "unknown"}},
			Parameter{Name: "agent_id", Type: "string"}, Parameter{Name: "disconnection_reason", Type: "string"},
			Parameter{Name: "call_from", Type: "string"}, Parameter{Name: "call_to", Type: "string"},
			Parameter{Name: "campaign_id", Type: "string"}, Parameter{Name: "customer_id", Type: "string"},
		),
	},
	{
		ID: "createCall", Method: http.MethodPost, Path: "/v3/calls", Kind: "write", Resource: "calls", Body: "CreateCallRequest", Status: http.StatusCreated, Answer: "CallResponse",
		Summary: "Call somebody",
		From:    "contract: the path, the status; documented: the body, and that `agent` is left out where the traffic of the number is split; observed: the answer; invented: that it is required otherwise", Beware: "any field of a call",
	},
	{
		ID: "getCall", Method: http.MethodGet, Path: "/v3/calls/{call_id}", Kind: "detail", Answer: "CallResponse",
		Summary: "One call with its transcript", From: "contract; observed: the fields", Beware: "any field of a call",
	},
}

// callsV2 are the operations on calls of v2.
var callsV2 = []Operation{
	{
		ID: "listCallsV2", Method: http.MethodPost, Path: "/v2/calls/list", Kind: "bulk", Resource: "v2_calls", Body: "CallListRequestV2", Answer: "CallListV2",
		Summary: "Whole calls, transcripts included, up to 500 a page",
		From:    "contract; invented: that `duration` is in milliseconds", Beware: "the status of a refusal",
	},
	{
		ID: "createCallV2", Method: http.MethodPost, Path: "/v2/calls", Kind: "write", Resource: "v2_call", Body: "CreateCallRequestV2", Answer: "CreateCallResponseV2",
		Summary: "Call somebody", From: contract, Beware: "the status of the answer; values of `status` other than initiated",
	},
	{
		ID: "getCallV2", Method: http.MethodGet, Path: "/v2/calls/{call_id}", Kind: "bulk", Resource: "v2_call", Answer: "CallResponseV2",
		Summary: "One call", From: contract, Beware: "whether `status` and `evaluation` are there: here they are not",
	},
	{
		ID: "listCallsLegacy", Method: http.MethodPost, Path: "/functions/v1/v1/list-calls", Kind: "bulk", Resource: "v2_calls_legacy", Body: "CallListRequestV2", Answer: "CallListLegacy",
		Summary: "The list of calls at its older path", From: contract, Beware: "its base address: the contract has another one for it",
	},
}
