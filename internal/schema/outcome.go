package schema

// Outcomes of a run: the words of runs.outcome.
const (
	OutcomeRunning     = "running"     // in progress, with commits made along the way
	OutcomeDone        = "done"        // exit code 0
	OutcomeFailed      = "failed"      // 1: it could not continue; what it had was committed
	OutcomeIncomplete  = "incomplete"  // 3: a deadline, or calls that failed
	OutcomeInterrupted = "interrupted" // 130
	OutcomeKilled      = "killed"      // it never ended; the next run found its traces
	OutcomeFollowing   = "following"   // not a run: extract follow is running, or was killed
	OutcomeFollowed    = "followed"    // not a run: extract follow has ended normally
	OutcomeRepaired    = "repaired"    // not a run: extract repair replaced damaged data
	OutcomeArchived    = "archived"    // not a run: extract recordings archived recordings
	OutcomeRolledBack  = "rolled back" // not a run: extract rollback went back to an older snapshot
)

// IsRun reports whether a row with this outcome is a run. Rollback, repair, follow and recordings
// have rows as well.
func IsRun(outcome string) bool {
	switch outcome {
	case OutcomeArchived, OutcomeRolledBack, OutcomeRepaired, OutcomeFollowing, OutcomeFollowed:
		return false
	}
	return true
}
