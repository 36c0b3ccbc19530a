package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"callhouse/internal/layout"
	"callhouse/internal/sandbox"
	"callhouse/internal/test"
)

// TestLakeUpgraded has Spark upgrade tables to version 3 of Iceberg's format. Publishing continues:
// Spark reads the rows by each tag, and each row has its own id, as version 3 requires.
func TestLakeUpgraded(t *testing.T) {
	if os.Getenv("CALLHOUSE_LAKE") == "" {
		t.Skip("make lake installs the engines")
	}
	tables := []string{"calls", "transcript_turns", "runs"}
	c, to := found(t, sandbox.Options{World: sandbox.Config{Seed: 8, Calls: 300, Days: 70}}), t.TempDir()
	truth := map[string]map[string]int64{} // of each tag, the rows by table
	publish := func() {
		t.Helper()
		c.query("publish", "iceberg", "--to", to+"/callhouse").exits(t, 0)
		m, rows := mustCurrent(t, c).Manifest, map[string]int64{}
		for _, table := range tables {
			rows[table] = m.Rows(table)
		}
		truth["snapshot-"+layout.SnapshotName(m.Snapshot)], truth[""] = rows, rows
	}
	spark := func(what string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), os.Getenv("CALLHOUSE_PYTHON"), append([]string{filepath.Join("testdata", "lake_upgrade.py"), what, "file://" + to}, tables...)...)
		cmd.Stderr = os.Stderr
		raw, err := cmd.Output()
		test.OK(t, err)
		var got map[string]struct {
			Version        int
			Rows, Numbered int64
			Tags           map[string]int64
		}
		if err := json.Unmarshal(raw, &got); err != nil {
			t.Fatal(err, string(raw))
		}
		t.Log(string(raw))
		for _, table := range tables {
			g := got[table]
			if want := truth[""][table]; g.Version != 3 || g.Rows != want || what == "read" && g.Numbered != want {
				t.Errorf("%s: %+v, want %d rows", table, g, want)
			}
			for tag, n := range g.Tags {
				if n != truth[tag][table] {
					t.Errorf("%s at %s has %d rows, want %d", table, tag, n, truth[tag][table])
				}
			}
			if len(g.Tags) != len(truth)-1 {
				t.Errorf("%s has the tags %v", table, g.Tags)
			}
		}
	}
	c.mustExtract()
	publish()
	spark("upgrade")
	for range 2 {
		c.clock.Advance(10 * time.Hour)
		c.mustExtract()
		publish()
		spark("read")
	}
	c.query("publish", "iceberg", "--to", to+"/callhouse", "--check", "--deep").exits(t, 0)
}
