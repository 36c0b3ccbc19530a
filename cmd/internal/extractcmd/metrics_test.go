package extractcmd

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"callhouse/cmd/internal/config"
	"callhouse/cmd/internal/extractcmd/settings"
	"callhouse/cmd/internal/status"
	"callhouse/internal/api"
	"callhouse/internal/crawler"
	"callhouse/internal/test"
)

func withMetrics(warehouse, file string) config.Config {
	return config.Config{Values: config.Values{Warehouse: warehouse, MetricsFile: file}}
}

// During a run the metrics report its progress every minute, and when the run ends, so does this.
func TestMetricsWhileARunIsOn(t *testing.T) {
	// There is no warehouse yet: reading one here would leave decoders in parquet-go's pool
	// that belong to this test's bubble, and the next test to get one would crash.
	path, root := filepath.Join(t.TempDir(), "callhouse.prom"), filepath.Join(t.TempDir(), "none")
	synctest.Test(t, func(t *testing.T) {
		n := &night{job: job{Settings: &settings.Settings{Config: withMetrics(root, path), Now: time.Now}, started: time.Now(), log: slog.New(slog.DiscardHandler)}}
		read := func(line string) bool {
			raw := test.Read(t, path)
			return slices.Contains(strings.Split(string(raw), "\n"), line)
		}
		stop := n.pulse()
		if !read("callhouse_run_in_progress 1") || read(`callhouse_run_requests{kind="page"} 0`) {
			t.Error("a run that begins is not told, or its requests are before it knows of any")
		}
		requests := int64(0)
		poll := func() crawler.Progress {
			requests += 100
			return crawler.Progress{Counts: crawler.Counts{Counts: api.Counts{PageRequests: requests, RateLimited: 7, Status4xx: 7}}, DetailsTotal: -1}
		}
		n.poll.Store(&poll)
		for minute := range 3 {
			time.Sleep(pulseEvery)
			synctest.Wait()
			for _, line := range []string{
				fmt.Sprintf(`callhouse_run_requests{kind="page"} %d`, 100*(minute+1)), `callhouse_run_responses{status="429"} 7`,
				fmt.Sprintf("callhouse_updated_timestamp_seconds %v", float64(time.Now().UnixMilli())/1000),
			} {
				if !read(line) {
					t.Errorf("after %d minutes there is no %s", minute+1, line)
				}
			}
		}
		stop()
		time.Sleep(10 * pulseEvery)
		if !read(`callhouse_run_requests{kind="page"} 300`) || requests != 300 {
			t.Error("the metrics were written after the run")
		}
	})
}

// A reader of the metrics file sees a complete file even while it is written, and no other file is
// left behind.
func TestMetricsAreReplacedAsAWhole(t *testing.T) {
	n := &night{job: job{Settings: &settings.Settings{Config: withMetrics(tended(t), filepath.Join(t.TempDir(), "callhouse.prom")), Now: time.Now},
		log: slog.New(slog.DiscardHandler)}}
	m := &status.Metrics{Now: time.Now(), Running: true, Started: time.Now()}
	n.write(m)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 200 {
			n.write(m)
		}
	}()
	want := test.Read(t, n.MetricsFile)
	for reading := true; reading; {
		select {
		case <-done:
			reading = false
		default:
		}
		if got, err := os.ReadFile(n.MetricsFile); err != nil || string(got) != string(want) {
			t.Fatalf("a reader sees %d bytes of %d: %v", len(got), len(want), err)
		}
	}
	if left, err := os.ReadDir(filepath.Dir(n.MetricsFile)); err != nil || len(left) != 1 {
		t.Errorf("beside the metrics there is %v (%v)", left, err)
	}
}
