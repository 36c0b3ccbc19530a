package calls

import "callhouse/internal/schema"

// TranscriptState says what is known of a call's transcript.
type TranscriptState uint8

const (
	// Pending means that it may have one, which has not been fetched since the
	// call was over (or since the list last showed a change that it does not carry).
	Pending TranscriptState = iota
	// Present means that it was fetched, and its turns are in transcript_turns.
	Present
	// Empty means that there is none: it was fetched and is null or [], or it
	// was never due, since the call did not connect.
	Empty
	// Withheld means that the caller opted out of storage; it is never written.
	Withheld
	// Missing means that the list names the call, but its detail answers 404.
	Missing
	// Skipped means that its record was not asked for, since no record of a call of its
	// kind ever had a transcript: see [Kinds].
	Skipped
)

// Settlement says where a call stands in its life: see [Call.Settle].
type Settlement uint8

const (
	// Open means not over yet.
	Open Settlement = iota
	// Ended means over, with something that the service fills in later still null.
	Ended
	// Settled means that analysis and cost are there, or were never due.
	Settled
	// Expired means over for [ExpireAfter], and still not filled in.
	Expired
)

// The words that the columns transcript_state and settlement hold.
var (
	transcriptWords = schema.Words{Pending: "pending", Present: "present", Empty: "empty", Withheld: "withheld",
		Missing: "missing", Skipped: "skipped"}
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
