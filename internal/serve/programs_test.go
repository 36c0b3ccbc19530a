package serve_test

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"callhouse/internal/analytics/analyticstest"
	"callhouse/internal/schema"
	"callhouse/internal/test"
	sqlfiles "callhouse/sql"
)

// program is a program that reads databases. Its scripts run in sh, in a folder with the files of
// testdata/tools with its name: $DIR is the folder of the programs, $DATABASE and $ADDRESS are
// ours, and $OWN is a free port. In the files, @DIR@ and so on are replaced.
type program struct {
	name, needs string // needs is a file of $DIR, or the name of an installed program
	server, up  string // a process next to the script, and its answer when it is ready
	script      string
	reads       string   // its output files
	wants       []string // in its output
}

// light are the programs of interop/postgres.sh.
var light = []program{
	{name: "pgcli", needs: "pgcli/bin/pgcli", script: `printf '\\dt\n\\d calls\nSELECT status, count(*) AS how_many FROM calls GROUP BY 1 ORDER BY 1;\n\\q\n' | $DIR/pgcli/bin/pgcli -w $DATABASE`,
		wants: []string{"transcript_turns", `"calls_pkey" PRIMARY KEY`, "| status | how_many |", "| ended  | 2        |"}},
	{name: "dlt", needs: "python/bin/dlt", script: "DLT_DATA_DIR=$PWD/dlt RUNTIME__DLTHUB_TELEMETRY=false $DIR/python/bin/python load.py",
		wants: []string{"[('ended', 2), ('error', 1)]", "[('c0', Decimal('1.500000000000000000'), datetime.datetime(2025, 10, 9, 8, 53, 20", "[(2,)]"}},
	{name: "tap-postgres", needs: "tap-postgres/bin/tap-postgres", script: `tap=$DIR/tap-postgres/bin/tap-postgres; $tap --config tap.json --discover >all.json && $DIR/tap-postgres/bin/python -c '
import json
streams = json.load(open("all.json"))["streams"]
for s in streams:
    for m in s["metadata"]:
        if not m["breadcrumb"]:
            m["metadata"]["selected"] = s["tap_stream_id"] == "public-transcript_turns"
json.dump({"streams": streams}, open("some.json", "w"))' && $tap --config tap.json --catalog some.json`,
		wants: []string{`"key_properties":["call_id","turn"]`, `"type":"RECORD","stream":"public-transcript_turns","record":{"call_id":"c0","turn":1,"role":"user"`}},
	{name: "DuckDB", needs: "duckdb/bin/python", script: "$DIR/duckdb/bin/python read.py", wants: []string{"24 tables", "[('ended', 2), ('error', 1)]", "[('c0', '2025-10-09 08:53:20+00', Decimal('1.500000000000000000'), 61000)]", "[('agent', 'it\\'s\\t\"hello\"'), ('user', 'ä\\\\n')]", "by text 3"}},
	{name: "psql in EUC-KR", needs: "psql", script: `! PGCLIENTENCODING=EUC_KR psql -c 'SELECT 1' $DATABASE && PGCLIENTENCODING=UTF8 psql -Atc "SELECT '한'" $DATABASE`, wants: []string{"set PGCLIENTENCODING=UTF8", "\n한\n"}},
	{name: "ogr2ogr", needs: "ogr2ogr", script: `ogr2ogr -f CSV calls.csv "PG:host=$HOST port=$PORT dbname=callhouse user=ogr" calls && ogr2ogr -f CSV count.csv -sql 'SELECT status, count(*) AS n FROM calls GROUP BY 1 ORDER BY 1' "PG:host=$HOST port=$PORT dbname=callhouse user=ogr"`, reads: "*.csv",
		wants: []string{"\nc0,a,", "ended,\"2\"\nerror,\"1\"\n"}},
	{name: "PgBouncer", needs: "pgbouncer", server: `exec pgbouncer $([ $(id -u) = 0 ] && echo -u nobody) pgbouncer.ini`,
		script: `for i in 1 2 3 4 5 6 7 8 9; do psql -h 127.0.0.1 -p $OWN -c 'SELECT 1' callhouse >/dev/null && break; sleep 0.3; done; psql -At -h 127.0.0.1 -p $OWN -c "BEGIN" -c "SELECT status, count(*) FROM calls GROUP BY 1 ORDER BY 1" -c "COMMIT" callhouse && psql -h 127.0.0.1 -p $OWN -c '\d transcript_turns' callhouse`,
		wants:  []string{"ended|2\nerror|1\n", `"transcript_turns_pkey" PRIMARY KEY`}},
}

// aboutCalls returns the comment of the table calls.
func aboutCalls() string {
	v, _ := sqlfiles.View(schema.Calls.Name)
	return v.Answers
}

// heavy are the programs of interop/tools.sh.
var heavy = []program{
	{name: "dbt", needs: "dbt/bin/dbt", script: `export DBT_PROFILES_DIR=. CALLHOUSE_PORT=$PORT; dbt="$DIR/dbt/bin/dbt --no-use-colors"; $dbt debug; $dbt test; $dbt docs generate; $dbt show --select weeks
$dbt show --inline "select obj_description('calls'::regclass) as answers" --output json`,
		wants: []string{"All checks passed!", "PASS=4 WARN=0 ERROR=0 SKIP=0", "Catalog written to", "2025-12-15 00:00:00 |     1 |", aboutCalls()}},
	{name: "pgAdmin", needs: "pgadmin/bin/pgadmin4", server: "PGADMIN_SERVER_MODE=OFF PGADMIN_INT_PORT=$OWN exec $DIR/pgadmin/bin/pgadmin4", up: "/misc/ping", script: "python3 ask.py",
		wants: []string{"24 tables\n", "primary_key ['calls_pkey']", "foreign_key ['calls_agent_id_fkey', 'calls_run_id_fkey']", "index []", "CONSTRAINT calls_pkey PRIMARY KEY (call_id)", "COMMENT ON COLUMN public.calls.call_id",
			"found 7\n", "[['ended', '2'], ['error', '1']]", "3 rows\n"}},
	{name: "Trino", needs: "trino/plugin/postgresql", up: "/v1/info", server: `mkdir -p plugins data && ln -s $DIR/trino/plugin/postgresql $DIR/trino/plugin/geospatial plugins && exec $CALLHOUSE_TRINO_JAVA/bin/java -Xmx1500M -Djdk.attach.allowAttachSelf=true --add-modules=jdk.incubator.vector \
			-Dnode.environment=test -Dnode.data-dir=$PWD/data -Dplugin.dir=$PWD/plugins -Dconfig=$PWD/etc/config.properties -Dcatalog.config-dir=$PWD/etc/catalog -cp "$DIR/trino/lib/*" io.trino.server.TrinoServer`,
		script: "$DIR/trino-python/bin/python ask.py",
		wants: []string{"['run_id', 'varchar', '', '" + schema.Runs.Columns[schema.Runs.Column("run_id")].Doc, "[['ended', '2'], ['error', '1']]", `[['c0', '2025-10-09 08:53:20+00:00', '1.500000000000000000', '{"campaign":"q4"}']]`, "[['c0', '2', '61000']]",
			"[['2025-11-13', '500.0'], ['2025-12-17', 'None']]", "[['3']]"}},
	{name: "DataHub", needs: "datahub/bin/datahub", script: "DATAHUB_TELEMETRY_ENABLED=false $DIR/datahub/bin/datahub ingest -c ingest.yml --no-default-report", reads: "datahub.json",
		wants: []string{"Pipeline finished successfully", "urn:li:dataset:(urn:li:dataPlatform:postgres,callhouse.public.calls,PROD)", `"fieldPath": "total_cost"`, aboutCalls(), `"rowCount": 3`}},
	{name: "Soda", needs: "soda/bin/soda", script: "mkdir .soda && echo 'send_anonymous_usage_stats: false' >.soda/config.yml && $DIR/soda/bin/soda scan -d callhouse -c soda.yml checks.yml", wants: []string{"10/10 checks PASSED", "All is good. No failures. No warnings. No errors."}},
	{name: "Great Expectations", needs: "great_expectations/bin/python", script: "GX_ANALYTICS_ENABLED=false $DIR/great_expectations/bin/python check.py", wants: []string{"UnexpectedRowsExpectation True", "ExpectColumnQuantileValuesToBeBetween True", "ExpectColumnStdevToBeBetween True"}},
}

// Programs read the tables with their default settings. interop/postgres.sh installs them into the folder
// of CALLHOUSE_PROGRAMS; missing ones are skipped.
func TestPrograms(t *testing.T) { try(t, os.Getenv("CALLHOUSE_PROGRAMS"), light) }

// So do programs that take long to install or start; interop/tools.sh installs them.
func TestHeavyPrograms(t *testing.T) { try(t, os.Getenv("CALLHOUSE_HEAVY"), heavy) }

func try(t *testing.T, dir string, programs []program) {
	if dir == "" {
		t.Skip("interop/postgres.sh and interop/tools.sh run it")
	}
	h := start(t, nil)
	analyticstest.Write(t, h.root, 2, someData())
	for _, p := range programs {
		t.Run(p.name, func(t *testing.T) {
			found, _ := filepath.Glob(filepath.Join(dir, p.needs))
			if _, err := exec.LookPath(p.needs); err != nil && len(found) == 0 {
				t.Skipf("%s could not be installed", p.name)
			}
			text := p.run(t, h.address, dir)
			for _, want := range p.wants {
				if !strings.Contains(text, want) {
					t.Errorf("it says no %q:\n%s", want, clip(text))
				}
			}
			h.mu.Lock()
			defer h.mu.Unlock()
			for _, e := range h.audit {
				if e.Code != "00000" {
					t.Errorf("%s: %s", e.Code, e.Text)
				}
			}
			h.audit = nil
		})
	}
}

// run returns the program's output.
func (p program) run(t *testing.T, address, dir string) string {
	t.Helper()
	out, own := t.TempDir(), freePort(t)
	host, port, _ := net.SplitHostPort(address)
	var names, env []string
	for _, v := range [][2]string{{"DIR", dir}, {"ADDRESS", address}, {"HOST", host}, {"PORT", port}, {"OWN", own}, {"DATABASE", "postgres://somebody@" + address + "/callhouse"}} {
		names, env = append(names, "@"+v[0]+"@", v[1]), append(env, v[0]+"="+v[1])
	}
	copyFiles(t, filepath.Join("testdata/tools", strings.ReplaceAll(strings.ToLower(p.name), " ", "_")), out, strings.NewReplacer(names...))
	shell := func(ctx context.Context, script string) *exec.Cmd {
		cmd := exec.CommandContext(ctx, "sh", "-ec", script)
		cmd.Dir = out
		cmd.Env = append(append(os.Environ(), env...), "HOME="+out, "COLUMNS=200", "PAGER=cat")
		return cmd
	}
	if p.server != "" {
		server := shell(context.Background(), p.server)
		log, err := os.Create(filepath.Join(out, "server.log"))
		test.OK(t, err)
		server.Stdout, server.Stderr = log, log
		test.OK(t, server.Start())
		defer func() {
			_ = server.Process.Kill()
			_ = server.Wait()
			_ = log.Close()
			if raw, err := os.ReadFile(log.Name()); err == nil && t.Failed() {
				t.Log(clip(string(raw)))
			}
		}()
		for range 600 {
			if p.up == "" || isUp(t.Context(), "http://127.0.0.1:"+own+p.up) {
				break
			}
			time.Sleep(200 * time.Millisecond)
		}
	}
	said, err := shell(t.Context(), p.script).CombinedOutput()
	if err != nil {
		t.Errorf("%v\n…%s", err, said[max(0, len(said)-1500):])
	}
	text := string(said)
	written, _ := filepath.Glob(filepath.Join(out, p.reads))
	for _, path := range written {
		if raw, err := os.ReadFile(path); err == nil {
			text += string(raw)
		}
	}
	return text
}

// copyFiles copies a program's files, if any, and fills in the placeholders.
func copyFiles(t *testing.T, from, to string, fill *strings.Replacer) {
	t.Helper()
	if _, err := os.Stat(from); err != nil {
		return
	}
	err := filepath.WalkDir(from, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(from, path)
		if d.IsDir() {
			return os.MkdirAll(filepath.Join(to, name), 0o755)
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, name), []byte(fill.Replace(string(raw))), 0o644)
	})
	test.OK(t, err)
}

// freePort returns an unused port.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	test.OK(t, err)
	_, port, _ := net.SplitHostPort(l.Addr().String())
	_ = l.Close()
	return port
}

func isUp(ctx context.Context, address string) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return false
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	_ = answer.Body.Close()
	return answer.StatusCode == http.StatusOK
}

// Superset makes charts and a dashboard.
func TestSuperset(t *testing.T) {
	superset := os.Getenv("CALLHOUSE_SUPERSET")
	if superset == "" {
		t.Skip("interop/tools.sh runs it")
	}
	h := start(t, nil)
	analyticstest.Write(t, h.root, 2, someData())
	config, err := filepath.Abs("testdata/tools/superset_config.py")
	test.OK(t, err)
	home := t.TempDir()
	command := func(args ...string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), superset, args...)
		cmd.Dir = home
		cmd.Env = append(os.Environ(), "SUPERSET_CONFIG_PATH="+config, "SUPERSET_HOME="+home, "FLASK_APP=superset", "CALLHOUSE_SUPERSET_DB="+filepath.Join(home, "superset.db"))
		return cmd
	}
	for _, args := range [][]string{{"db", "upgrade"}, {"fab", "create-admin", "--username", "admin", "--password", "admin", "--firstname", "a", "--lastname", "b", "--email", "a@example.com"}, {"init"}} {
		if out, err := command(args...).CombinedOutput(); err != nil {
			t.Fatalf("superset %s: %v\n%s", args[0], err, out)
		}
	}
	port := freePort(t)
	server := command("run", "-h", "127.0.0.1", "-p", port, "--with-threads")
	var said bytes.Buffer
	server.Stdout, server.Stderr = &said, &said
	test.OK(t, server.Start())
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	})
	base := "http://127.0.0.1:" + port
	for range 600 {
		if isUp(t.Context(), base+"/health") {
			break
		}
		time.Sleep(200 * time.Millisecond)
	}
	made, err := exec.CommandContext(t.Context(), filepath.Join(filepath.Dir(superset), "python"), "testdata/tools/superset.py", base, "postgresql+psycopg2://superset@"+h.address+"/callhouse").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, made)
	}
	t.Logf("%s", made)
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, e := range h.audit {
		if e.Code != "00000" {
			t.Errorf("%s: %s", e.Code, e.Text)
		}
	}
}
