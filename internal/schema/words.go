package schema

import (
	"fmt"

	"github.com/parquet-go/parquet-go"
)

// The words that the columns transcript_state, settlement and source hold,
// indexed by their values. They are part of the warehouse's contract.
var (
	transcriptWords = [...]string{Pending: "pending", Present: "present", Empty: "empty", Withheld: "withheld", Missing: "missing"}
	settlementWords = [...]string{Open: "open", Ended: "ended", Settled: "settled", Expired: "expired"}
	sourceWords     = [...]string{V3: "v3", V2: "v2"}
)

// The same words as values of rows.
var (
	transcriptValues = wordValues(transcriptWords[:])
	settlementValues = wordValues(settlementWords[:])
	sourceValues     = wordValues(sourceWords[:])
)

func wordValues(words []string) (values []parquet.Value) {
	for _, w := range words {
		values = append(values, textValue([]byte(w)))
	}
	return values
}

// wordIn returns which of the words a value is; of another one, the first.
func wordIn[W ~uint8](words []string, v parquet.Value) W {
	w, _ := parseWord[W](words, v.ByteArray())
	return w
}

// parseWord returns which of the words a text is.
func parseWord[W ~uint8](words []string, text []byte) (w W, ok bool) {
	for i, word := range words {
		if string(text) == word {
			return W(i), true
		}
	}
	return 0, false
}

// String returns the state's word, as in the column transcript_state.
func (s TranscriptState) String() string { return word(transcriptWords[:], s, "TranscriptState") }

// String returns the settlement's word, as in the column settlement.
func (s Settlement) String() string { return word(settlementWords[:], s, "Settlement") }

// String returns the source's word, as in the column source.
func (s Source) String() string { return word(sourceWords[:], s, "Source") }

func word[W ~uint8](words []string, w W, what string) string {
	if int(w) < len(words) {
		return words[w]
	}
	return fmt.Sprintf("%s(%d)", what, w)
}
