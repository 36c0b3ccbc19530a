package schema

// What became of a run: the words of runs.outcome.
const (
	OutcomeRunning     = "running"     // it committed along the way and goes on
	OutcomeDone        = "done"        // exit code 0
	OutcomeFailed      = "failed"      // 1: it could not go on; what it had was committed
	OutcomeIncomplete  = "incomplete"  // 3: a deadline, or calls that failed
	OutcomeInterrupted = "interrupted" // 130
	OutcomeKilled      = "killed"      // it never ended; the run after it found its traces
	OutcomeRepaired    = "repaired"    // no run: extract repair replaced what was damaged
	OutcomeRolledBack  = "rolled back" // no run: extract rollback went back to an older snapshot
)

// IsRun reports whether a row with this outcome is that of a run: rollback and repair have rows,
// too.
func IsRun(outcome string) bool { return outcome != OutcomeRolledBack && outcome != OutcomeRepaired }
