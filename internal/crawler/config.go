package crawler

import (
	"time"

	"callhouse/internal/api"
	"callhouse/internal/recording"
	"callhouse/internal/resource"
)

// Config configures a run.
type Config struct {
	api.Config

	Since    time.Time     // earlier calls are ignored
	Window   time.Duration // how far back calls may still appear or change
	Full     bool          // list everything, even if it was listed before
	ListOnly bool          // no records of calls
	CallIDs  []string      // calls whose records are fetched in any case
	// RelistEvery is how often the whole list is listed again, a part in each run; zero: never.
	RelistEvery time.Duration

	Transcripts Source

	// Resources are fetched besides calls, a parent before its children.
	Resources []*resource.Resource
	// Organization is the id of the organisation; empty if unknown, which skips the resource that needs it.
	Organization string

	// Recordings is the archive of the calls' recordings, which are stored in parallel; nil: they
	// are not stored. RecordingsAgain also tries those that failed recently.
	Recordings      *recording.Archive
	RecordingsAgain bool

	// MaxDuration ends the run with a commit after this time; zero: never.
	MaxDuration time.Duration
	// CheckpointEvery is how often a long run offers the store a commit (0: 2 minutes).
	CheckpointEvery time.Duration
}
