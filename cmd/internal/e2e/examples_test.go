package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/longtest"
	"callhouse/internal/test"
)

const examples = "../../../examples"

// The crontab of examples/ runs unchanged, and all other SQL there and the commands of the guide
// answer over the warehouse that it fills.
func TestExamples(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	text := readExample(t, "cron/callhouse")
	lines := regexp.MustCompile(`(?m)^[\d*]+ [\d*]+ [\d*]+ [\d*]+ [\d*]+  callhouse  (.+)$`).FindAllStringSubmatch(text, -1)
	if len(lines) != 3 {
		t.Fatalf("the crontab has %d lines for the user callhouse", len(lines))
	}
	for _, of := range []string{"../../../deploy/cron/callhouse", "../../../docs/reference/bi.md"} {
		if user, command := cronLine(t, of); user != "callhouse" || !strings.HasPrefix(lines[0][1], command) {
			t.Errorf("%s has %s run %q, which is not the beginning of %q", of, user, command, lines[0][1])
		}
	}
	for _, m := range lines {
		if said := h.run(strings.ReplaceAll(h.here(m[1]), "/srv/www", h.root)); said != "" {
			t.Errorf("cron would mail of %q: %s", m[1], said)
		}
	}
	h.filled()
	for _, made := range []string{"callhouse.duckdb", "calls.html"} {
		if _, err := os.Stat(filepath.Join(h.root, made)); err != nil {
			t.Error(err)
		}
	}
	some, i := longtest.Each(4), 0
	for where, statement := range exampleSQL(t) {
		if i++; !some(i) {
			continue
		}
		if r := h.query("sql", statement, "--format", "csv"); r.code != cli.ExitOK || strings.Count(r.stdout, "\n") < 2 {
			t.Errorf("%s: exit code %d\n%s%s", where, r.code, r.stdout, r.stderr)
		}
	}
	page, err := os.ReadFile("../../../docs/guide/questions.md")
	test.OK(t, err)
	call, _ := h.one("SELECT any_value(call_id) AS v FROM transcript_turns").(string)
	questions := regexp.MustCompile(`(?m)^    \$ query (.+)$`).FindAllStringSubmatch(string(page), -1)
	if len(questions) != 11 {
		t.Errorf("the ten questions have %d commands", len(questions))
	}
	tried := longtest.Each(len(questions))
	for i, m := range questions {
		if !tried(i) {
			continue
		}
		args := strings.Fields(m[1])
		if args[0] == "call" {
			args[1] = call
		}
		if r := h.query(args...); r.code != cli.ExitOK {
			t.Errorf("query %s: exit code %d\n%s", m[1], r.code, r.stderr)
		}
	}
}

func readExample(t *testing.T, name string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(examples, name))
	test.OK(t, err)
	return string(raw)
}

// exampleSQL returns the statements of examples/ as DuckDB's: dbt's macros are replaced as in a
// first run.
func exampleSQL(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{"spark": readExample(t, "spark/days.sql")}

	var dataset struct{ SQL string }
	test.OK(t, yaml.Unmarshal([]byte(readExample(t, "superset/datasets/callhouse/outcomes_by_day.yaml")), &dataset))
	out["superset"] = dataset.SQL

	macros := regexp.MustCompile(`(?s)\{% if .*?%\}.*?\{% endif %\}|\{\{ config.*?\}\}|--[^\n]*`)
	names := regexp.MustCompile(`\{\{ (?:source\('house', |ref\()'(\w+)'\) \}\}`)
	for _, model := range []string{"calls", "days"} {
		out["dbt "+model] = names.ReplaceAllString(macros.ReplaceAllString(readExample(t, "dbt/models/"+model+".sql"), ""), "$1")
	}

	var notebook struct {
		Cells []struct {
			Type   string `json:"cell_type"`
			Source []string
		}
	}
	test.OK(t, json.Unmarshal([]byte(readExample(t, "notebook/calls.ipynb")), &notebook))
	for _, cell := range notebook.Cells {
		source := strings.Join(cell.Source, "")
		for _, m := range regexp.MustCompile(`(?s)house\.sql\("""(.*?)"""\)`).FindAllStringSubmatch(source, -1) {
			out["notebook "+strings.Fields(m[1])[1]] = m[1]
		}
	}
	if len(out) != 6 {
		t.Fatalf("examples/ has %d statements", len(out))
	}
	return out
}
