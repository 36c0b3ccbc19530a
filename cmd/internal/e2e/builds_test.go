package e2e

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/longtest"
)

// After an upgrade from a released build, verify finds nothing, the reports answer, and migrate
// changes no answer. The warehouses are those of internal/sink/testdata/keep-build.
func TestUpgradeFromEveryBuild(t *testing.T) {
	t.Parallel()
	dirs, err := filepath.Glob(filepath.Dir(fixture("build-*")))
	if err != nil || len(dirs) < 3 {
		t.Fatalf("%d builds are kept, %v", len(dirs), err)
	}
	tried := longtest.Each(3)
	for i, dir := range dirs {
		if !tried(i) {
			continue
		}
		t.Run(filepath.Base(dir), func(t *testing.T) {
			t.Parallel()
			c := &company{t: t, warehouse: filepath.Join(t.TempDir(), "w")}
			copyTree(t, filepath.Join(dir, "warehouse"), c.warehouse)
			whole := func(when string) {
				t.Helper()
				if r := extract(t.Context(), "verify", "--all", "--warehouse", c.warehouse); r.code != cli.ExitOK || !strings.HasPrefix(r.stdout, "whole: ") {
					t.Fatalf("%s: verify ends with exit code %d\n%s%s", when, r.code, r.stdout, r.stderr)
				}
			}
			answers := func() map[string]any {
				t.Helper()
				out := map[string]any{
					"calls": c.one("SELECT count(*) FROM calls"), "open": c.one("SELECT count(*) FROM calls WHERE settlement = 'ended'"),
					"cost": c.one("SELECT sum(total_cost) FROM calls"), "turns": c.one("SELECT count(*) FROM transcript_turns"),
				}
				for _, report := range []string{"costs", "outcomes", "volume"} {
					r := c.query(report, "--format", "csv")
					if r.code != cli.ExitOK {
						t.Fatalf("query %s: %s", report, r.stderr)
					}
					if report == "volume" { // the others need to know whether the caller spoke, which format 1 lacks
						out[report] = r.stdout
					}
				}
				return out
			}
			whole("as it was made")
			before := answers()
			if number(t, before["calls"]) == 0 || number(t, before["open"]) == 0 {
				t.Fatalf("there are %v", before)
			}
			if r := extract(t.Context(), "migrate", "--warehouse", c.warehouse); r.code != cli.ExitOK {
				t.Fatalf("migrate: %s", r.stderr)
			}
			whole("migrated")
			if d := cmp.Diff(before, answers()); d != "" {
				t.Errorf("migrate changes answers (-before +after):\n%s", d)
			}
			if r := extract(t.Context(), "status", "--max-age", "0", "--warehouse", c.warehouse); r.code != cli.ExitOK {
				t.Errorf("status ends with exit code %d\n%s%s", r.code, r.stdout, r.stderr)
			}
		})
	}
}
