package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"callhouse/internal/layout"
	"callhouse/internal/sandbox"
)

// folder is what a reader sees of the folder of calls: Cost is their sum, First
// and Last are microseconds. Spoken are the turns of callers, which it filters.
type folder struct {
	Rows        int64
	Cost        string
	First, Last int64
	Months      []string
	Spoken      int64
}

// Stock readers open the folder of a table as it stands, and an export's files, and see the same: every row, every digit of a
// cost, the same times, and the month. make readers installs all of them.
func TestFolderReaders(t *testing.T) {
	t.Parallel()
	python := os.Getenv("CALLHOUSE_PYTHON")
	if python == "" {
		python = "python3"
	}
	if exec.CommandContext(t.Context(), python, "-c", "import pandas").Run() != nil {
		t.Skipf("%s has no pandas: make readers installs it and the others", python)
	}
	var there []string
	for _, reader := range []string{"pandas", "pyarrow", "polars", "datafusion", "duckdb", "chdb",
		"arrow file: pandas", "arrow file: polars", "arrow file: pyarrow", "arrow stream: pyarrow", "xlsx: openpyxl"} {
		module := reader[strings.LastIndex(reader, " ")+1:]
		if exec.CommandContext(t.Context(), python, "-c", "import "+module).Run() == nil {
			there = append(there, reader)
		}
	}
	script, err := filepath.Abs(filepath.Join("testdata", "folder_reader.py"))
	if err != nil {
		t.Fatal(err)
	}
	c := found(t, sandbox.Options{World: sandbox.Config{Seed: 8, Calls: 300, Days: 40}})
	e := newEditor(c)
	e.edit = func(_ string, call map[string]any) bool {
		if cost, ok := call["call_cost"].(map[string]any); ok && cost["total_cost"] != nil {
			cost["total_cost"] = fmt.Sprint(cost["total_cost"]) + "1234567"
		}
		return true
	}
	if r := e.extract(); r.code != 0 {
		t.Fatal(r.stderr)
	}
	s, err := layout.Current(c.warehouse)
	if err != nil {
		t.Fatal(err)
	}
	var want folder
	row := c.sql(`SELECT count(*) AS n, sum(total_cost)::VARCHAR AS cost, epoch_us(min(start_at)) AS first, epoch_us(max(start_at)) AS last,
		(SELECT count(*) FROM transcript_turns WHERE role = 'user') AS spoken FROM calls`)[0]
	for name, to := range map[string]*int64{"n": &want.Rows, "first": &want.First, "last": &want.Last, "spoken": &want.Spoken} {
		if *to, err = row[name].(json.Number).Int64(); err != nil {
			t.Fatal(err)
		}
	}
	want.Cost = row["cost"].(string)
	for _, row := range c.sql("SELECT DISTINCT month FROM calls") {
		want.Months = append(want.Months, row["month"].(string))
	}
	slices.Sort(want.Months)
	if len(want.Months) < 2 || want.Rows != 300 {
		t.Fatalf("the warehouse holds %+v", want)
	}
	export := t.TempDir()
	for _, format := range []string{"arrow", "arrows", "xlsx"} {
		for _, table := range []string{"calls", "transcript_turns"} {
			if r := c.query("sql", "FROM "+table, "--output", filepath.Join(export, table+"."+format)); r.code != 0 {
				t.Fatal(r.stderr)
			}
		}
	}
	for _, reader := range there {
		t.Run(reader, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), python, script, reader, s.Dir, export)
			cmd.Stderr = os.Stderr
			out, err := cmd.Output()
			if err != nil {
				t.Fatal(err)
			}
			var got folder
			if err := json.Unmarshal(out, &got); err != nil {
				t.Fatalf("%v in %s", err, out)
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("it sees %+v, want %+v", got, want)
			}
		})
	}
}
