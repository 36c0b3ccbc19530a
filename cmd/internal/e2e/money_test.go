package e2e

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"testing"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/sandbox"
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
	e.extract().exits(t, cli.ExitOK)
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
	r.exits(t, cli.ExitOK)
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
