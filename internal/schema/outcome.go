package schema

// Outcomes of a run: the words of runs.outcome.
const (
	OutcomeRunning     = "running"     // in progress, with commits made along the way
	OutcomeDone        = "done"        // exit code 0
	OutcomeFailed      = "failed"      // 1: it could not continue; what it had was committed
	OutcomeIncomplete  = "incomplete"  // 3: a deadline, or calls that failed
	OutcomeInterrupted = "interrupted" // 130
	OutcomeKilled      = "killed"      // it never ended; the next run found its traces
	OutcomeFollowing   = "following"   // no run: extract follow is on, or was killed
	OutcomeFollowed    = "followed"    // no run: extract follow has ended, as it should
	OutcomeRepaired    = "repaired"    // no run: extract repair replaced damaged data
	OutcomeArchived    = "archived"    // no run: extract recordings archived recordings
	OutcomeRolledBack  = "rolled back" // no run: extract rollback went back to an older snapshot
)

// IsRun reports whether a row with this outcome is a run. Rollback, repair, follow and
// recordings have rows, too.
func IsRun(outcome string) bool {
	switch outcome {
	case OutcomeArchived, OutcomeRolledBack, OutcomeRepaired, OutcomeFollowing, OutcomeFollowed:
		return false
	}
	return true
}
