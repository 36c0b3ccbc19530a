package calls

import "callhouse/internal/schema"

// TranscriptState is the state of a call's transcript.
type TranscriptState uint8

const (
	// Pending means that the call may have a transcript, which has not been fetched since the call
	// was over (or since the list last showed a change without the transcript).
	Pending TranscriptState = iota
	// Present means that it was fetched, and its turns are in transcript_turns.
	Present
	// Empty means that there is none: it was fetched and is null or [], or it was never expected
	// because the call did not connect.
	Empty
	// Withheld means that the caller opted out of storage; it is never written.
	Withheld
	// Missing means that the list has the call, but its record is not there (404), or has no end
	// although the call expired.
	Missing
	// Skipped means that its record was not requested because no record of a call of its kind ever
	// had a transcript: see [Kinds].
	Skipped
	// Unreadable means that its record is larger than a request accepts, or no valid JSON.
	Unreadable
	// Changed means Present, but the list has shown another state of the call since: its record is due
	// again.
	Changed
)

// Settlement is a call's place in its life cycle: see [Call.Settle].
type Settlement uint8

const (
	// Open means not over yet.
	Open Settlement = iota
	// Ended means over, with a field still null that the service fills in later.
	Ended
	// Settled means that analysis and cost are there, or were never expected.
	Settled
	// Expired means over for [ExpireAfter], and still not filled in.
	Expired
)

// The words of the columns transcript_state and settlement.
var (
	transcriptWords = schema.Words{Pending: "pending", Present: "present", Empty: "empty", Withheld: "withheld",
		Missing: "missing", Skipped: "skipped", Unreadable: "unreadable",
		Changed: "changed"}
	settlementWords = schema.Words{Open: "open", Ended: "ended", Settled: "settled", Expired: "expired"}
)

// The same words as values of rows.
var (
	transcriptValues = transcriptWords.Values()
	settlementValues = settlementWords.Values()
)

// String returns the state's word, as in the column transcript_state.
func (s TranscriptState) String() string { return transcriptWords.Text(int(s), "TranscriptState") }

// String returns the settlement's word, as in the column settlement.
func (s Settlement) String() string { return settlementWords.Text(int(s), "Settlement") }
