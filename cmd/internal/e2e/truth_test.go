package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/longtest"
	"callhouse/internal/sandbox"
)

// sameAsTruth compares every aggregate of the sandbox with SQL over the Parquet files.
func sameAsTruth(t *testing.T, c *company) {
	t.Helper()
	truth := c.service.Server.Truth()
	questions := []struct {
		what string
		want map[string]int64
		sql  string
	}{
		{"status", truth.ByStatus, "SELECT status AS key, count(*) AS n FROM c GROUP BY 1"},
		{"call type", truth.ByType, "SELECT call_type AS key, count(*) AS n FROM c GROUP BY 1"},
		{"reason", truth.ByReason, "SELECT disconnection_reason AS key, count(*) AS n FROM c GROUP BY 1"},
		{"sentiment", truth.BySentiment, "SELECT user_sentiment AS key, count(*) AS n FROM c GROUP BY 1"},
		{"agent", truth.ByAgent, "SELECT agent_id AS key, count(*) AS n FROM c GROUP BY 1"},
		{"version", truth.ByVersion, "SELECT agent_version AS key, count(*) AS n FROM c GROUP BY 1"},
		{"variant", truth.ByVariant, "SELECT variant_label AS key, count(*) AS n FROM c GROUP BY 1"},
		{"UTC day", truth.ByDay, "SELECT strftime(start_at AT TIME ZONE 'UTC', '%Y-%m-%d') AS key, count(*) AS n FROM c GROUP BY 1"},
		{"turns by role", truth.TurnsByRole, "SELECT role AS key, count(*) AS n FROM transcript_turns GROUP BY 1"},
		{"custom items", truth.CustomItems, "SELECT name AS key, count(*) AS n FROM analysis_items GROUP BY 1"},
		{"sums", map[string]int64{
			"calls": truth.Calls, "duration": truth.DurationMS, "costs": truth.WithCost, "opted out": truth.OptedOut,
			"recordings": truth.WithRecording, "masked": truth.Masked, "corrected": truth.Corrected,
		}, `SELECT unnest(['calls', 'duration', 'costs', 'opted out', 'recordings', 'masked', 'corrected']) AS key,
		    unnest([count(*), coalesce(sum(duration_ms), 0)::BIGINT, count(total_cost), count(*) FILTER (opt_out_sensitive_data_storage),
		            count(recording_url),
		            count(*) FILTER (summary = '[REDACTED]') + (SELECT count(*) FROM transcript_turns WHERE content = '[REDACTED]'),
		            count(*) FILTER (summary LIKE '%(corrected)') + (SELECT count(*) FROM transcript_turns WHERE content = '(corrected)')]) AS n FROM c`},
		{"total cost", map[string]int64{truth.TotalCost: 1}, "SELECT coalesce(sum(total_cost), 0)::DECIMAL(38,2)::VARCHAR AS key, 1 AS n FROM c"},
		{"calls that have another number of turns than turn_count says", map[string]int64{"calls": 0}, `SELECT 'calls' AS key, count(*) AS n FROM c
		    WHERE coalesce(turn_count, 0) <> (SELECT count(*) FROM transcript_turns t WHERE t.call_id = c.call_id)`},
	}
	var parts []string // in one statement: opening the warehouse costs more than querying
	for _, q := range questions {
		parts = append(parts, fmt.Sprintf("SELECT '%s' AS what, key, n FROM (%s)", q.what, q.sql))
	}
	got := map[string]map[string]int64{}
	// The calls once: planning their view costs more than counting them.
	for _, row := range c.sql("WITH c AS MATERIALIZED (FROM calls) " + strings.Join(parts, " UNION ALL ")) {
		what := fmt.Sprint(row["what"])
		if got[what] == nil {
			got[what] = map[string]int64{}
		}
		got[what][keyOf(row)] = number(t, row["n"])
	}
	for _, q := range questions {
		if d := cmp.Diff(q.want, got[q.what], cmpopts.EquateEmpty()); d != "" {
			t.Errorf("%s (-sandbox +warehouse):\n%s", q.what, d)
		}
	}
}

func TestWarehouseEqualsTheSandbox(t *testing.T) {
	days := int(sized(4, 7)) // one more than those listed by every night
	for _, w := range []struct {
		name string
		opts sandbox.Options
	}{
		{"as observed", sandbox.Options{World: sandbox.Config{Seed: 1, Calls: sized(120, 200), Days: days}}},
		{"contract only", sandbox.Options{World: sandbox.Config{Seed: 2, Calls: sized(90, 120), Days: days}, ContractOnly: true}},
		{"thin list", sandbox.Options{World: sandbox.Config{Seed: 9, Calls: sized(90, 120), Days: days}, ThinList: true}},
		{"thin list, contract only", sandbox.Options{World: sandbox.Config{Seed: 10, Calls: sized(90, 150), Days: days}, ThinList: true, ContractOnly: true}},
		{"drifting", sandbox.Options{World: sandbox.Config{Seed: 3, Calls: sized(120, 200), Days: days, DriftRate: 0.2,
			DriftFrom: workday.Add(-72 * time.Hour)}}},
		{"empty", sandbox.Options{World: sandbox.Config{Seed: 4, Calls: 0, Days: 5}}},
	} {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			// Tested elsewhere: a thin list in TestNoRecordIsPassedOverOfABriefList, the contract's
			// parameters in the crawler.
			if w.opts.ThinList || w.opts.ContractOnly {
				longtest.Only(t)
			}
			c := found(t, w.opts)
			c.mustExtract()
			// A thin list shows no changes of an ongoing call, whose record is fetched when it is
			// over.
			over := func() {
				for range 30 {
					if !w.opts.ThinList || fmt.Sprint(c.one("SELECT count(*) AS v FROM calls WHERE settlement = 'open'")) == "0" {
						return
					}
					c.clock.Advance(30 * time.Minute)
					c.mustExtract()
				}
			}
			over()
			sameAsTruth(t, c)
			asked := c.service.Server.Stats()

			// Nothing new: only the pages of the last days, and for a list without later data the
			// pending calls.
			waiting := int64(0)
			if w.opts.ThinList {
				for _, n := range c.counts("SELECT 'all' AS key, count(*) AS n FROM calls WHERE settlement IN ('open', 'ended')") {
					waiting = n
				}
			}
			c.mustExtract()
			again := c.service.Server.Stats()
			if n := again.ByKind["detail"] - asked.ByKind["detail"]; n != waiting {
				t.Errorf("a run with nothing new fetched %d details, want %d", n, waiting)
			}
			sameAsTruth(t, c)

			// A day later: new and changed calls; no unnecessary detail.
			c.clock.Advance(20 * time.Hour)
			c.mustExtract()
			over()
			sameAsTruth(t, c)
			if s := c.service.Server.Stats(); s.DetailsUnchanged > 0 && !w.opts.ThinList {
				t.Errorf("%d details were fetched again though nothing in them was new", s.DetailsUnchanged)
			}
		})
	}
}

// A run interrupted anywhere commits its progress, and the next ones continue: in the end
// everything is there, and no detail was requested twice.
func TestInterruptedRunsGoOn(t *testing.T) {
	longtest.Only(t)
	var stop context.CancelFunc
	var stopAt int64
	c := found(t, sandbox.Options{
		World: sandbox.Config{Seed: 5, Calls: sized(600, 900), Days: 6},
		Inject: func(number int64, _ sandbox.Request) sandbox.FaultKind {
			if number == stopAt {
				stop()
			}
			return ""
		},
	})
	interrupted := 0
	for i := range 40 {
		ctx, cancel := context.WithCancel(t.Context())
		stop, stopAt = cancel, c.service.Server.Stats().Requests+int64(3+i*7)
		r := c.extract(ctx)
		cancel()
		if r.code == cli.ExitOK {
			break
		}
		r.exits(t, cli.ExitInterrupted)
		interrupted++
	}
	if interrupted < 5 {
		t.Errorf("only %d runs were interrupted", interrupted)
	}
	sameAsTruth(t, c)
	s := c.service.Server.Stats()
	// A request in flight at the interrupt may be answered but not kept.
	if s.DetailsAgain > int64(interrupted)*64 {
		t.Errorf("%d details were asked for again after %d interrupts", s.DetailsAgain, interrupted)
	}
	got := c.counts("SELECT outcome AS key, count(*) AS n FROM runs GROUP BY 1")
	if want := map[string]int64{"interrupted": int64(interrupted), "done": 1}; !cmp.Equal(want, got) {
		t.Errorf("outcomes of the runs are %v, want %v", got, want)
	}
}
