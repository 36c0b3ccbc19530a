package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/layout"
	"callhouse/internal/sandbox"
	"callhouse/internal/sandbox/world"
	"callhouse/internal/sink/everybyte"
	"callhouse/internal/test"
)

// If the warehouse redacts what callers reveal, the lake has none of it.
func TestRedactedLake(t *testing.T) {
	cfg := sandbox.Config{Seed: 39, Calls: 60, Days: 2, Personal: true}
	c := found(t, sandbox.Options{World: cfg})
	cfg.Origin = c.clock.Now()
	w, err := world.New(cfg)
	test.OK(t, err)
	var planted []string
	for v := range w.Visible(cfg.Origin) {
		planted = append(planted, v.Revealed(14)...)
	}
	left := func(lake string) (left []string) {
		everybyte.Under(t, lake, func(at string, raw []byte) {
			for _, p := range planted {
				if bytes.Contains(raw, []byte(p)) {
					left = append(left, fmt.Sprintf("%s: %q", at, p))
				}
			}
		})
		return left
	}
	publish := func() string {
		lake := filepath.Join(t.TempDir(), "lake")
		c.query("publish", "iceberg", "--to", lake).exits(t, cli.ExitOK)
		return lake
	}
	c.mustExtract()
	if n := len(left(publish())); n < 60 {
		t.Fatalf("only %d values in the lake of a warehouse that redacts nothing", n)
	}
	c.mustExtract("compact", "--redact", "all")
	if left := left(publish()); len(left) > 0 {
		t.Errorf("%d values are left: %q", len(left), left[:min(len(left), 10)])
	}
}

// A run publishes its commits. If the destination is unwritable, only the exit code changes.
func TestPublishedAfterARun(t *testing.T) {
	c := found(t, sandbox.Options{World: sandbox.Config{Seed: 44, Calls: 60, Days: 2}})
	bin := t.TempDir()
	linkProgram(t, bin, "query")
	t.Setenv("PATH", bin)
	lake, receipt := filepath.Join(t.TempDir(), "lake"), filepath.Join(t.TempDir(), "receipt.json")
	t.Setenv("CALLHOUSE_PUBLISH_TO", filepath.Join(os.DevNull, "lake"))
	c.extract(t.Context(), "--publish").reports(t, cli.ExitIncomplete, "committed, but not published")
	t.Setenv("CALLHOUSE_PUBLISH_TO", lake)
	if r := c.mustExtract("--publish"); !strings.Contains(r.stderr, "msg=published") {
		t.Errorf("nothing was published:\n%s", r.stderr)
	}
	if hint, err := os.ReadFile(filepath.Join(lake, "calls", "metadata", "version-hint.text")); err != nil || string(hint) != "1" {
		t.Errorf("the version of calls is %q, %v", hint, err)
	}
	c.query("publish", "iceberg", "--receipt", receipt).reports(t, cli.ExitOK, "0 files copied")
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
	// Forgotten data leaves the lake with the next publication, and the receipt says that one is
	// needed.
	id := strings.TrimSpace(c.query("sql", "--format", "csv", "SELECT call_id FROM calls LIMIT 1").stdout)
	id = id[strings.LastIndexByte(id, '\n')+1:]
	r := c.mustExtract("forget", "--yes", "--call-id", id)
	if !strings.Contains(r.stderr, lake+" must be published again") || !strings.Contains(r.stdout, lake+`"`) {
		t.Errorf("forgotten:\n%s\n%s", r.stderr, r.stdout)
	}
	c.query("publish", "iceberg", "--check").prints(t, cli.ExitFailed, "is not published")
	c.query("publish", "iceberg").reports(t, cli.ExitOK, "calls forgotten since")
	c.query("publish", "iceberg", "--check", "--deep").exits(t, cli.ExitOK)
	t.Setenv("CALLHOUSE_PUBLISH", "true")
	if r := c.extract(t.Context(), "forget", "--yes", "--call-id", "none"); r.code != cli.ExitIncomplete || strings.Contains(r.stderr, "published again") || !strings.Contains(r.stdout, `"lakes": []`) {
		t.Errorf("forget published nothing:\n%s", r.stderr)
	}
	for _, wrong := range [][]string{{}, {"ducklake"}, {"iceberg", "--to", ""}, {"iceberg", "--catalog", "x"}, {"iceberg", "--format", "csv"}, {"iceberg", "--organization", "a b"}} {
		if r := c.query(append([]string{"publish"}, wrong...)...); r.code != cli.ExitUsage {
			t.Errorf("query publish %v: exit code %d\n%s", wrong, r.code, r.stderr)
		}
	}
}

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
		m, rows := current(t, c.warehouse).Manifest, map[string]int64{}
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
