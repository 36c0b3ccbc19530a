package extractcmd

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"callhouse/cmd/internal/config"
	"callhouse/cmd/internal/status"
	"callhouse/internal/layout"
	"callhouse/internal/sink"
	"callhouse/internal/test"
)

func TestStatusCommand(t *testing.T) {
	root := tended(t)
	code, stdout, stderr := call(t, "", "status", "--warehouse", root)
	if code != 0 || !strings.HasPrefix(stdout, "OK: last success ") || !strings.Contains(stdout, ": 2 calls") && !strings.Contains(stdout, ", 2 calls") || stderr != "" {
		t.Errorf("exit code %d\n%s\n%s", code, stdout, stderr)
	}
	code, stdout, stderr = call(t, "", "status", "--warehouse", root, "--max-age", "1m", "--format", "json")
	var h status.State
	if err := json.Unmarshal([]byte(stdout), &h); err != nil || code != 3 || h.Verdict != status.Stale || h.Facts["calls"] != 2.0 || stderr != "" {
		t.Errorf("exit code %d, %v\n%s\n%s", code, err, stdout, stderr)
	}
	// Times are printed in the zone of the settings, which is named.
	for _, args := range []string{"status", "rollback --list", "rollback --to 1"} {
		_, stdout, stderr := call(t, "", append(strings.Fields(args), "--warehouse", root, "--tz", "Asia/Seoul")...)
		for _, after := range regexp.MustCompile(`\d:\d\d:\d\d(.{4})`).FindAllStringSubmatch(stdout+stderr, -1) {
			if after[1] != " KST" {
				t.Errorf("%s prints a time without its zone:\n%s%s", args, stdout, stderr)
			}
		}
		if !strings.Contains(stdout+stderr, " KST") {
			t.Errorf("%s prints no time of Korea:\n%s%s", args, stdout, stderr)
		}
	}
	// While the warehouse is locked.
	w, err := sink.Open(sink.Options{Root: root, RunID: layout.RunID(time.Now(), 7), Records: true})
	test.OK(t, err)
	code, stdout, _ = call(t, "", "status", "--warehouse", root)
	if code != 0 || !strings.Contains(stdout, "  running       process ") {
		t.Errorf("while a run is on: exit code %d\n%s", code, stdout)
	}
	test.OK(t, w.Close())
	code, stdout, _ = call(t, "", "status", "--warehouse", root)
	if code != 3 || !strings.HasPrefix(stdout, "failed: the last run failed: the process exited without a report\n  help          extract run") {
		t.Errorf("after one that wrote no row: exit code %d\n%s", code, stdout)
	}
	if code, _, stderr := call(t, "", "status", "--max-age", "-1s"); code != 2 || !strings.Contains(stderr, "use e.g. 90m, 6h or 7d") {
		t.Errorf("exit code %d, %s", code, stderr)
	}
	if code, _, stderr := call(t, "", "status", "--warehouse", root+"/none"); code != 1 || !strings.Contains(stderr, "extract run --warehouse "+root+"/none") {
		t.Errorf("exit code %d, %s", code, stderr)
	}
	s, err := layout.Current(root)
	test.OK(t, err)
	test.OK(t, os.WriteFile(filepath.Join(s.Dir, layout.ManifestName), []byte("{"), 0o600))
	if code, stdout, stderr := call(t, "", "status", "--warehouse", root); code != 1 || !strings.HasPrefix(stdout, "damaged: ") || !strings.Contains(stdout, "manifest.json") ||
		!strings.Contains(stdout, "\n  help          extract repair --warehouse "+root+"\n") {
		t.Errorf("of a damaged one: exit code %d\n%s\n%s", code, stdout, stderr)
	}
	if _, stdout, _ := call(t, "", "status", "--format", "json", "--warehouse", root); !strings.Contains(stdout, `"facts": {}`) {
		t.Errorf("of a damaged one: %s", stdout)
	}
}

// During a run the metrics are written every minute, and when the run ends, no more.
func TestMetricsWhileARunIsOn(t *testing.T) {
	// There is no warehouse yet: reading one here would leave decoders in parquet-go's pool
	// that belong to this test's bubble, and the next test to get one would crash.
	path, root := filepath.Join(t.TempDir(), "callhouse.prom"), filepath.Join(t.TempDir(), "none")
	synctest.Test(t, func(t *testing.T) {
		of := config.Config{Values: config.Values{Warehouse: root, MetricsFile: path}}
		n := &night{job: job{settings: &settings{Config: of, Now: time.Now}, started: time.Now(), log: slog.New(slog.DiscardHandler)}}
		read := func(line string) bool {
			raw := test.Read(t, path)
			return slices.Contains(strings.Split(string(raw), "\n"), line)
		}
		stop := n.heartbeat()
		if !read("callhouse_run_in_progress 1") {
			t.Error("a run that begins is not reported")
		}
		written := fmt.Sprintf("callhouse_updated_timestamp_seconds %v", float64(time.Now().Add(3*heartbeatEvery).UnixMilli())/1000)
		time.Sleep(3 * heartbeatEvery)
		synctest.Wait()
		if !read(written) {
			t.Errorf("after three minutes there is no %s", written)
		}
		stop()
		time.Sleep(10 * heartbeatEvery)
		if !read(written) {
			t.Error("the metrics were written after the run")
		}
	})
}
