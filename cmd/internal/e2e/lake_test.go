package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/sandbox"
)

// A run publishes what it committed, and a place that cannot be written to costs the run
// nothing but its exit code.
func TestPublishedAfterARun(t *testing.T) {
	c := found(t, sandbox.Options{World: sandbox.Config{Seed: 44, Calls: 60, Days: 3}})
	bin := t.TempDir()
	linkProgram(t, bin, "query")
	t.Setenv("PATH", bin)
	lake, receipt := filepath.Join(t.TempDir(), "lake"), filepath.Join(t.TempDir(), "receipt.json")
	t.Setenv("CALLHOUSE_PUBLISH_TO", filepath.Join(os.DevNull, "lake"))
	if r := c.extract(t.Context(), "--publish"); r.code != cli.ExitIncomplete || !strings.Contains(r.stderr, "committed, but not published") {
		t.Errorf("exit code %d:\n%s", r.code, r.stderr)
	}
	t.Setenv("CALLHOUSE_PUBLISH_TO", lake)
	if r := c.mustExtract("--publish"); !strings.Contains(r.stderr, "msg=published") {
		t.Errorf("nothing was published:\n%s", r.stderr)
	}
	if hint, err := os.ReadFile(filepath.Join(lake, "calls", "metadata", "version-hint.text")); err != nil || string(hint) != "1" {
		t.Errorf("the version of calls is %q, %v", hint, err)
	}
	if r := c.query("publish", "iceberg", "--receipt", receipt); r.code != cli.ExitOK || !strings.Contains(r.stderr, "0 files copied") {
		t.Errorf("published again: exit code %d\n%s", r.code, r.stderr)
	}
	var made struct {
		Tables []struct {
			Table string
			Rows  int
		}
	}
	raw, err := os.ReadFile(receipt)
	if err == nil {
		err = json.Unmarshal(raw, &made)
	}
	if last := len(made.Tables) - 1; err != nil || last < 0 || made.Tables[last].Table != "calls" || made.Tables[last].Rows != 60 {
		t.Errorf("the receipt: %v\n%s", err, raw)
	}
	for _, wrong := range [][]string{{}, {"ducklake"}, {"iceberg", "--to", ""}, {"iceberg", "--catalog", "x"}, {"iceberg", "--format", "csv"}, {"iceberg", "--organization", "a b"}} {
		if r := c.query(append([]string{"publish"}, wrong...)...); r.code != cli.ExitUsage {
			t.Errorf("query publish %v: exit code %d\n%s", wrong, r.code, r.stderr)
		}
	}
}
