package schema

import "testing"

// The plain counts of a run are at the declared positions.
func TestCountsOfRuns(t *testing.T) {
	t.Parallel()
	if Runs.Columns[firstCount].Name != "requests" || Runs.Columns[lastCount].Name != "drift" || lastCount-firstCount+1 != len(new(Run).counts()) ||
		Runs.Columns[firstBulk].Name != "bulk_requests" || firstBulk+len(new(BulkCounts).all()) != skipped || Runs.Columns[skipped].Name != "calls_skipped" ||
		Runs.Columns[unverified].Name != "bulk_unverified" {
		t.Error("the counts are not where they are said to be")
	}
}
