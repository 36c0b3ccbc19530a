package analytics

import (
	"fmt"
	"strings"
)

// UnknownError says that a name is not known, and which are.
type UnknownError struct {
	What    string // report, table, dimension, agent
	Name    string
	Nearest string // the known name most like it; may be empty
	Known   []string
}

func (e *UnknownError) Error() string { return fmt.Sprintf("there is no %s %q", e.What, e.Name) }

func unknown(what, name string, known []string) error {
	return &UnknownError{What: what, Name: name, Nearest: Nearest(name, known), Known: known}
}

// Nearest returns the one of the known names that name was most likely meant to
// be, or "" where none is like it.
func Nearest(name string, known []string) string {
	best, bestAt := "", len(name)/3+2
	for _, k := range known {
		at := distance(strings.ToLower(name), strings.ToLower(k))
		switch lower := strings.ToLower(name); {
		case strings.HasPrefix(k, lower) || strings.HasPrefix(lower, k),
			len(name) >= 4 && strings.Contains(k, lower): // sentiment for user_sentiment
			at = min(at, 1)
		case common(k, lower) >= max(4, 2*len(name)/3): // transcripts for transcript_turns
			at = min(at, 2)
		}
		if at < bestAt {
			best, bestAt = k, at
		}
	}
	return best
}

// common counts the bytes that two names begin with alike.
func common(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// distance counts the letters to insert, drop, replace or swap with their
// neighbour to make b of a.
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	var before []int
	last := make([]int, len(y)+1)
	for j := range last {
		last[j] = j
	}
	for i := range x {
		row := make([]int, len(y)+1)
		row[0] = i + 1
		for j := range y {
			cost := 1
			if x[i] == y[j] {
				cost = 0
			}
			row[j+1] = min(last[j]+cost, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && x[i] == y[j-1] && x[i-1] == y[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last = last, row
	}
	return last[len(y)]
}
