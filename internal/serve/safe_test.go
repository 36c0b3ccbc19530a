package serve_test

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"callhouse/internal/analytics/analyticstest"
	"callhouse/internal/analytics/duck"
	"callhouse/internal/analytics/rights"
	"callhouse/internal/longtest"
	"callhouse/internal/serve/pgcatalog"
	"callhouse/internal/test"
)

// scanned returns what a plan reads besides the warehouse's files and the program's catalog.
func scanned(t *testing.T, plan string) (out []string) {
	t.Helper()
	type node struct {
		Name     string
		Children []json.RawMessage
		Info     map[string]any `json:"extra_info"`
	}
	var walk func(raw json.RawMessage)
	walk = func(raw json.RawMessage) {
		var n node
		if err := json.Unmarshal(raw, &n); err != nil {
			t.Fatalf("%v in %s", err, plan)
		}
		name := strings.TrimSpace(n.Name)
		table, _ := n.Info["Table"].(string)
		ours := name == "SEQ_SCAN" && strings.HasPrefix(table[strings.LastIndexByte(table, '.')+1:], "fact_") || name == "SEQ_SCAN" && pgcatalog.Relations()[table[strings.LastIndexByte(table, '.')+1:]]
		if !ours && len(n.Children) == 0 && !slices.Contains(leaves, name) {
			out = append(out, name+" "+table)
		}
		for _, kid := range n.Children {
			walk(kid)
		}
	}
	var all []json.RawMessage
	if err := json.Unmarshal([]byte(plan), &all); err != nil {
		t.Fatalf("%v in %s", err, plan)
	}
	for _, raw := range all {
		walk(raw)
	}
	return out
}

// leaves are the leaf operators of plans that read the warehouse's files, the statement's own data,
// or nothing. A HASH_GROUP_BY without a child belongs to the DELIM_JOIN above it.
var leaves = strings.Fields(`HASH_GROUP_BY READ_PARQUET DUMMY_SCAN EMPTY_RESULT CTE_SCAN REC_CTE_SCAN DELIM_SCAN COLUMN_DATA_SCAN EXPRESSION_SCAN RANGE GENERATE_SERIES UNNEST INOUT_FUNCTION SUMMARY REPEAT REPEAT_ROW PG_TIMEZONE_NAMES JSON_EACH JSON_TREE`)

// The cases of safe mode, over the wire, where Postgres' names resolve to our catalog: a statement
// is refused, or reads only the warehouse and that catalog.
func TestSafeOverTheWire(t *testing.T) {
	h := start(t, limit(map[string]rights.Rights{"agency": {Agents: []string{"own"}, Tables: []string{"calls"}}}))
	analyticstest.Write(t, h.root, 2, analyticstest.Agencies())
	all, agency := h.connectAs(t, "somebody"), h.connectAs(t, "agency")
	passes := func(c *pgx.Conn, text string) bool {
		_, err := c.PgConn().Prepare(t.Context(), "", text, nil)
		if c.IsClosed() {
			t.Fatalf("%s ended the connection: %v", text, err)
		}
		return err == nil
	}
	relations := known(t)
	every := longtest.Each(40)
	asked, passed, n := 0, 0, 0
	for _, r := range relations {
		for _, form := range slices.Concat(analyticstest.RelationForms, analyticstest.AsText) {
			if n++; !every(n) {
				continue
			}
			text := r.In(form)
			asked++
			if passes(agency, text) && !passes(all, text) {
				t.Errorf("%s passes for an agency alone", text)
			}
			if !passes(all, text) || strings.HasPrefix(text, "EXPLAIN") || strings.HasPrefix(text, "DESCRIBE") || strings.HasPrefix(text, "SHOW") {
				continue
			}
			passed++
			plan := texts(t, all, "EXPLAIN (FORMAT json) "+text)
			if out := scanned(t, plan[0]); len(out) > 0 && !strings.Contains(strings.ToLower(text), "summarize tables") { // which contains names
				t.Errorf("%s passes, and reads %q", text, out)
			}
		}
	}
	golden, err := os.ReadFile("../analytics/testdata/safe-functions.golden")
	test.OK(t, err)
	ours := []string{"current_setting"} // of the session
	functions := 0
	for _, line := range strings.Split(strings.TrimSpace(string(golden)), "\n") {
		kind, name, _ := strings.Cut(line, " ")
		name, isRefused := strings.CutSuffix(name, " refused")
		if !isRefused || slices.Contains(ours, name) || pgcatalog.Functions()[name] {
			continue
		}
		forms, schemas := analyticstest.FunctionForms, `SELECT S."F"(A)`
		if kind == "table" || kind == "table_macro" {
			forms, schemas = analyticstest.TableFunctionForms, `FROM S."F"(A)`
		}
		for _, schema := range []string{"pg_catalog", "public", "pg", "information_schema", "stored"} {
			forms = append(slices.Clip(forms), strings.Replace(schemas, "S.", schema+".", 1))
		}
		for _, form := range forms {
			if n++; !every(n) {
				continue
			}
			functions++
			for _, arguments := range []string{"('x')", "()"} {
				if text := strings.NewReplacer(`"F"`, `"`+name+`"`, "(A)", arguments).Replace(form); passes(all, text) || passes(agency, text) {
					t.Errorf("%s passes", text)
				}
			}
		}
	}
	t.Logf("%d statements with names of relations, of which %d pass, and %d calls of functions", asked, passed, functions)
	if asked < 50 || passed < 3 || functions < 10 {
		t.Error("too little was tried")
	}
}

// known returns DuckDB's own relations.
func known(t *testing.T) (out []analyticstest.Relation) {
	t.Helper()
	test.OK(t, duck.InMemory(func(conn *duck.Conn) error {
		names, err := conn.Column(t.Context(), "SELECT concat_ws('/', database_name, schema_name, view_name) FROM duckdb_views() UNION SELECT concat_ws('/', database_name, schema_name, table_name) FROM duckdb_tables() ORDER BY ALL")
		for _, name := range names {
			parts := strings.Split(name, "/")
			out = append(out, analyticstest.Relation{Database: parts[0], Schema: parts[1], Name: parts[2]})
		}
		return err
	}))
	for _, r := range [][2]string{{"pg", "fact_table"}, {"pg", "pg_class"}, {"stored", "runs"}} {
		out = append(out, analyticstest.Relation{Database: "memory", Schema: r[0], Name: r[1]})
	}
	return out
}
