package words

import (
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
)

// Nearest returns the known name that is most similar to name, or "" if none is similar. Of equally
// similar names it prefers the one whose beginning and end agree most: calls for cals, not call.
func Nearest(name string, known []string) string {
	if name == "" {
		return "" // it begins every name
	}
	best, bestAt, bestEnds := "", len(name)/3+2, 0
	for _, k := range known {
		given, known := strings.ToLower(name), strings.ToLower(k)
		at := levenshtein.ComputeDistance(given, known)
		switch {
		case strings.HasPrefix(known, given) || strings.HasPrefix(given, known),
			len(name) >= 4 && strings.Contains(known, given): // sentiment for user_sentiment
			at = min(at, 1)
		case common(known, given) >= max(4, 2*len(name)/3): // transcripts for transcript_turns
			at = min(at, 2)
		}
		ends := common(known, given) + common(reversed(known), reversed(given))
		if at < bestAt || at == bestAt && best != "" && ends > bestEnds {
			best, bestAt, bestEnds = k, at, ends
		}
	}
	return best
}

func reversed(s string) string {
	b := []byte(s)
	slices.Reverse(b)
	return string(b)
}

// common returns the length of the common prefix of two names.
func common(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}
