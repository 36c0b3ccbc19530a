package e2e

import (
	"database/sql"
	"fmt"
	"math/big"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/layout"
	"callhouse/internal/sandbox"
	"callhouse/internal/schema"
	"callhouse/internal/sink"
)

// Costs are summed with every digit sent, in any spelling. Costs that no column can hold are
// counted by status, in coverage, and in the coverage line of every report with costs.
func TestCostsWithManyDecimals(t *testing.T) {
	t.Parallel()
	c := found(t, sandbox.Options{World: sandbox.Config{Seed: 71, Calls: 100, Days: 2}})
	e := newEditor(c)
	sent, sum, unheld := map[string]string{}, new(big.Rat), 0
	prices := []string{"0.05", "0.04213", "0.1234567", "0.0000000000000000000012"}
	e.edit = func(id string, call map[string]any) bool {
		cost, ok := call["call_cost"].(map[string]any)
		if !ok {
			return true
		}
		if sent[id] == "" {
			sent[id] = prices[len(sent)%len(prices)]
			price, _ := new(big.Rat).SetString(sent[id])
			if len(sent[id]) > 20 {
				unheld++
			} else {
				sum.Add(sum, price)
			}
		}
		cost["total_cost"] = sent[id]
		return true
	}
	if r := e.extract(); r.code != cli.ExitOK {
		t.Fatal(r.stderr)
	}
	held := len(sent) - unheld
	if held < 30 || unheld < 10 {
		t.Fatalf("%d costs, %d of them unheld", len(sent), unheld)
	}
	want := strings.TrimRight(sum.FloatString(18), "0")
	row := c.sql("SELECT sum(total_cost) AS cost, count(total_cost) AS n FROM calls")[0]
	if fmt.Sprint(row["cost"]) != want || fmt.Sprint(row["n"]) != strconv.Itoa(held) {
		t.Errorf("SQL sums %v of %v calls, want %s of %d", row["cost"], row["n"], want, held)
	}
	r := c.query("costs", "--format", "csv")
	if r.code != cli.ExitOK {
		t.Fatal(r.stderr)
	}
	_, line, _ := strings.Cut(strings.TrimSpace(r.stdout), "\n")
	if cells := strings.Split(line, ","); cells[2] != want || cells[6] != strconv.Itoa(held) {
		t.Errorf("costs tells %q, want %s of %d", cells, want, held)
	}
	said := strconv.Itoa(unheld) + " have a cost that does not fit total_cost"
	for _, report := range []string{"costs", "agents"} {
		if r := c.query(report); !strings.Contains(r.stderr, said) {
			t.Errorf("%s says %q, not %q", report, r.stderr, said)
		}
	}
	if r := c.query("coverage", "--format", "csv"); !strings.Contains(r.stdout, "cost that total_cost cannot hold,lost,"+strconv.Itoa(unheld)+",") {
		t.Errorf("coverage tells\n%s", r.stdout)
	}
	if r := extractAt(t.Context(), c.clock.Now, "status", "--warehouse", c.warehouse); !strings.Contains(r.stdout, strconv.Itoa(unheld)+" calls with a cost that does not fit total_cost") {
		t.Errorf("status tells\n%s", r.stdout)
	}
}

// fixture returns the folder of a warehouse written by an earlier version.
func fixture(name string) string {
	return filepath.Join("..", "..", "..", "internal", "sink", "testdata", name, "warehouse")
}

// A warehouse of format version 2 is queried unchanged, together with current files, and after
// migrate. Costs that its columns could not hold are first counted, including in months with
// tallies, and then summed.
func TestCostsOfAnOlderWarehouse(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), "w")
	copyTree(t, fixture("format-2-prices"), root)
	c := &company{t: t, warehouse: root}
	ask := func(when string, sum string, unheld int) {
		t.Helper()
		r := c.query("costs", "--format", "csv")
		_, line, _ := strings.Cut(strings.TrimSpace(r.stdout), "\n")
		if cells := strings.Split(line, ","); len(cells) < 3 || cells[2] != sum {
			t.Errorf("%s: costs tells %q, want %s\n%s", when, line, sum, r.stderr)
		}
		if said := strconv.Itoa(unheld) + " have a cost that does not fit total_cost"; !strings.Contains(r.stderr, said) {
			t.Errorf("%s: costs says %q, not %q", when, r.stderr, said)
		}
		r = c.query("coverage", "--by", "month", "--format", "csv", "--until", "2026-11-01")
		if said := "cost that total_cost cannot hold,lost," + strconv.Itoa(unheld*2/3) + ","; !strings.Contains(r.stdout, said) {
			t.Errorf("%s: coverage tells\n%s%s", when, r.stdout, r.stderr)
		}
		months := c.counts("SELECT month AS key, count(*) AS n FROM calls GROUP BY 1")
		if d := cmp.Diff(map[string]int64{"2026-10": 30, "2026-11": 15}, months); d != "" {
			t.Errorf("%s: %s", when, d)
		}
		if n := fmt.Sprint(c.one("SELECT count(*) AS v FROM calls WHERE start_at = TIMESTAMPTZ '2026-11-19 02:00:00+00'")); n != "15" {
			t.Errorf("%s: %s calls start at 2", when, n)
		}
	}
	ask("as it was made", "900.1500", 27)
	old := extract(t.Context(), "status", "--warehouse", root, "--max-age", "0")
	if !strings.Contains(old.stdout, "older files") {
		t.Errorf("status tells\n%s", old.stdout)
	}
	if r := extract(t.Context(), "migrate", "--warehouse", root); r.code != cli.ExitOK {
		t.Fatal(r.stderr)
	}
	sum := new(big.Rat)
	for _, price := range []string{"150", "150", "0.05", "0.04213", "0.1234567", "0.1234567", "0.30000000000000004", "-1.00001"} {
		p, _ := new(big.Rat).SetString(price)
		sum.Add(sum, p)
	}
	ask("migrated", strings.TrimRight(sum.Mul(sum, big.NewRat(3, 1)).FloatString(18), "0"), 12)
	if r := extract(t.Context(), "status", "--warehouse", root, "--max-age", "0"); strings.Contains(r.stdout, "older files") ||
		!strings.Contains(r.stdout, "12 calls with a cost that does not fit total_cost") {
		t.Errorf("status tells\n%s", r.stdout)
	}
}

// The glob in the docs reads files of two format versions as one table, with every digit and one
// column month.
func TestGlobOverTwoFormatVersions(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), "w")
	copyTree(t, fixture("format-2-prices"), root)
	now := time.Date(2026, 11, 21, 2, 0, 0, 0, time.UTC)
	w, err := sink.Open(sink.Options{Root: root, RunID: layout.RunID(now, 1), Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	start := now.Add(-time.Hour).UnixMilli()
	body := fmt.Appendf(nil, `{"id":"new","status":"ended","start_at":%d,"end_at":%d,"call_cost":{"total_cost":"0.000000000000000001"}}`, start, start+1)
	if err := w.Put(t.Context(), schema.Record{Kind: schema.KindItem, CallID: "new", FetchedAt: start + 2, Body: body}); err != nil {
		t.Fatal(err)
	}
	if err := w.Commit(t.Context(), func(sink.Stats, int64) schema.Run { return schema.Run{ID: w.RunID(), Outcome: schema.OutcomeDone} }); err != nil {
		t.Fatal(err)
	}
	dir := w.Snapshot().Dir
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("duckdb", "")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var got [4]string
	err = db.QueryRowContext(t.Context(), fmt.Sprintf(`SELECT sum(total_cost)::VARCHAR, count(*)::VARCHAR, string_agg(DISTINCT month, ' ' ORDER BY month), max(start_at)::VARCHAR
		FROM read_parquet('%s/calls/**/*.parquet', hive_partitioning = true, union_by_name = true)`, dir)).Scan(&got[0], &got[1], &got[2], &got[3])
	if err != nil {
		t.Fatal(err)
	}
	if want := [4]string{"900.150000000000000001", "46", "2026-10 2026-11", "2026-11-21 01:00:00+00"}; got != want {
		t.Errorf("the glob gives %q, want %q", got, want)
	}
	c := &company{t: t, warehouse: root}
	if sum := fmt.Sprint(c.one("SELECT sum(total_cost) AS v FROM calls")); sum != got[0] {
		t.Errorf("query sums %s", sum)
	}
}
