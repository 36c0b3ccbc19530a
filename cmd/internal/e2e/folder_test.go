package e2e

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/longtest"
	"callhouse/internal/sandbox"
	"callhouse/internal/schema"
	"callhouse/internal/test"
)

// folder is a reader's result for the folder of calls: Cost is their sum, First and Last are
// microseconds. Spoken counts the turns of callers, a filter.
type folder struct {
	Rows        int64
	Cost        string
	First, Last int64
	Months      []string
	Spoken      int64
}

// Stock readers open the folder of a table, and an export's files, and read the same: every row,
// every digit of a cost, the same times, and the month. interop/readers.sh installs all of them. It
// engines runs Spark over the folders, and an Iceberg table over the files.
func TestFolderReaders(t *testing.T) {
	t.Parallel()
	python := os.Getenv("CALLHOUSE_PYTHON")
	if python == "" {
		python = "python3"
	}
	if exec.CommandContext(t.Context(), python, "-c", "import pandas").Run() != nil {
		t.Skipf("%s has no pandas: interop/readers.sh installs it and the others", python)
	}
	var there []string
	readers := []string{"pandas", "pyarrow", "polars", "datafusion", "duckdb", "chdb",
		"arrow file: pandas", "arrow file: polars", "arrow file: pyarrow", "xlsx: openpyxl"}
	if os.Getenv("CALLHOUSE_ICEBERG_JAR") != "" {
		readers = []string{"folder: pyspark", "iceberg: pyiceberg"}
	}
	for _, reader := range readers {
		module := reader[strings.LastIndex(reader, " ")+1:]
		if exec.CommandContext(t.Context(), python, "-c", "import "+module).Run() == nil {
			there = append(there, reader)
		}
	}
	script, err := filepath.Abs(filepath.Join("testdata", "folder_reader.py"))
	test.OK(t, err)
	c := found(t, sandbox.Options{World: sandbox.Config{Seed: 8, Calls: 300, Days: 40}})
	e := newEditor(c)
	e.edit = func(_ string, call map[string]any) bool {
		if cost, ok := call["call_cost"].(map[string]any); ok && cost["total_cost"] != nil {
			cost["total_cost"] = fmt.Sprint(cost["total_cost"]) + "1234567"
		}
		return true
	}
	e.extract().exits(t, 0)
	s := current(t, c.warehouse)
	var want folder
	row := c.sql(`SELECT count(*) AS n, sum(total_cost)::VARCHAR AS cost, epoch_us(min(start_at)) AS first, epoch_us(max(start_at)) AS last,
		(SELECT count(*) FROM transcript_turns WHERE role = 'user') AS spoken FROM calls`)[0]
	for name, to := range map[string]*int64{"n": &want.Rows, "first": &want.First, "last": &want.Last, "spoken": &want.Spoken} {
		*to, err = row[name].(json.Number).Int64()
		test.OK(t, err)
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
	for _, table := range []string{"calls", "transcript_turns"} {
		c.query("sql", "FROM "+table, "--output", filepath.Join(export, table+".arrow")).exits(t, 0)
	}
	c.query("export", filepath.Join(export, "xlsx"), "--tables", "calls,transcript_turns", "--format", "xlsx").exits(t, 0)
	before := c.tree()
	for _, reader := range there {
		t.Run(reader, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), python, script, reader, s.Dir, export)
			cmd.Stderr = os.Stderr
			out, err := cmd.Output()
			test.OK(t, err)
			var got folder
			if err := json.Unmarshal(out, &got); err != nil {
				t.Fatalf("%v in %s", err, out)
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("it sees %+v, want %+v", got, want)
			}
		})
	}
	if !reflect.DeepEqual(c.tree(), before) {
		t.Error("a reader has changed the warehouse")
	}
}

// startTrino starts the server installed at home, with a catalog for Iceberg tables, and returns its address.
func startTrino(t *testing.T, home string) string {
	t.Helper()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	test.OK(t, err)
	addr := free.Addr().String()
	_, port, _ := net.SplitHostPort(addr)
	_ = free.Close()
	dir, s3 := t.TempDir(), ""
	if endpoint := os.Getenv("AWS_ENDPOINT_URL"); endpoint != "" {
		s3 = "fs.native-s3.enabled=true\ns3.path-style-access=true\ns3.endpoint=" + endpoint + "\ns3.region=" + os.Getenv("AWS_REGION") + "\n"
	}
	for name, text := range map[string]string{
		"config.properties": "coordinator=true\nnode-scheduler.include-coordinator=true\nquery.max-memory-per-node=512MB\nhttp-server.http.port=" + port + "\ndiscovery.uri=http://" + addr + "\n",
		"jvm.config":        "-Xmx1500M\n-XX:+UseSerialGC\n-XX:TieredStopAtLevel=1\n--add-modules=jdk.incubator.vector\n-Duser.timezone=America/New_York\n",
		"node.properties":   "node.environment=test\nnode.data-dir=" + dir + "/data\n",
		"catalog/lake.properties": "connector.name=iceberg\niceberg.catalog.type=TESTING_FILE_METASTORE\nhive.metastore.catalog.dir=file://" + dir + "/lake\n" +
			"iceberg.register-table-procedure.enabled=true\nfs.hadoop.enabled=true\n" + s3,
	} {
		path := filepath.Join(dir, "etc", name)
		test.OK(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)))
	}
	cmd := exec.Command(filepath.Join(home, "bin", "launcher"), "run", "--etc-dir", filepath.Join(dir, "etc"))
	cmd.Env = append(os.Environ(), "JAVA_HOME="+os.Getenv("CALLHOUSE_TRINO_JAVA"), "PATH="+os.Getenv("CALLHOUSE_TRINO_JAVA")+"/bin:"+os.Getenv("PATH"))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // the launcher has a child
	out, err := cmd.StdoutPipe()
	test.OK(t, err)
	cmd.Stderr = cmd.Stdout
	test.OK(t, cmd.Start())
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM)
		_, _ = io.Copy(io.Discard, out)
		_ = cmd.Wait()
	})
	var last []string
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if last = append(last, lines.Text()); strings.Contains(lines.Text(), "SERVER STARTED") {
			go func() { _, _ = io.Copy(io.Discard, out) }()
			return addr
		}
	}
	t.Fatalf("Trino does not start:\n%s", strings.Join(last[max(0, len(last)-20):], "\n"))
	return ""
}

var catalogCommits = longtest.Int("catalog-commits", 2, 3, "how many commits TestCatalogWhileCommitting makes")

// looked is the result of one look at a catalog through one connection.
type looked struct {
	Snapshot                                    int64
	Calls, Costs, Present, Spoken, Turns, Items int64
	TurnCount                                   int64 `json:"turn_count"`
	Days, Runs                                  int64
}

// readers returns the commands that read a catalog with the stock DuckDB of other languages.
func readers(t *testing.T) map[string][]string {
	t.Helper()
	dir, err := filepath.Abs("testdata")
	test.OK(t, err)
	all := map[string][]string{}
	for _, python := range []string{os.Getenv("CALLHOUSE_PYTHON"), "python3"} {
		if python != "" && all["python"] == nil && exec.CommandContext(t.Context(), python, "-c", "import duckdb").Run() == nil {
			all["python"] = []string{python, filepath.Join(dir, "catalog_reader.py")}
		}
	}
	if modules := os.Getenv("CALLHOUSE_NODE_MODULES"); modules != "" {
		all["node"] = []string{"node", filepath.Join(dir, "catalog_reader.mjs")}
	}
	if len(all) == 0 {
		t.Skip("neither Python's nor Node's DuckDB is there: interop/readers.sh installs them")
	}
	return all
}

// reading is a running reader.
type reading struct {
	name  string
	cmd   *exec.Cmd
	stdin io.Closer
	errs  strings.Builder
	seen  chan looked
}

func read(t *testing.T, name string, command []string, mode, catalog string) *reading {
	t.Helper()
	r := &reading{name: name + " " + mode, seen: make(chan looked, 100_000)}
	r.cmd = exec.CommandContext(t.Context(), command[0], append(command[1:], mode, catalog)...)
	r.cmd.Stderr = &r.errs
	var err error
	r.stdin, err = r.cmd.StdinPipe()
	test.OK(t, err)
	out, err := r.cmd.StdoutPipe()
	test.OK(t, err)
	test.OK(t, r.cmd.Start())
	go func() {
		defer close(r.seen)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			var l looked
			if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
				t.Errorf("%s: %v in %s", r.name, err, lines.Text())
			}
			r.seen <- l
		}
	}()
	return r
}

// end ends a reader, which must not have failed, and returns its results.
func (r *reading) end(t *testing.T, first looked) []looked {
	t.Helper()
	_ = r.stdin.Close()
	all := []looked{first}
	for l := range r.seen {
		all = append(all, l)
	}
	if err := r.cmd.Wait(); err != nil {
		t.Errorf("%s: %v\n%s", r.name, err, r.errs.String())
	}
	return all
}

// Stock DuckDBs of other languages, in processes of their own, read the catalog while
// extract commits and the catalog is recreated after each commit: no error, and each read is
// consistent with one snapshot, to the row.
func TestCatalogWhileCommitting(t *testing.T) {
	longtest.Only(t)
	c := found(t, sandbox.Options{World: sandbox.Config{Seed: 21, Calls: 200 * int64(*worlds), Days: 5}})
	catalog := filepath.Join(t.TempDir(), "callhouse.duckdb")
	truth := map[int64]looked{}
	commit := func() {
		c.mustExtract()
		s := current(t, c.warehouse)
		truth[s.Manifest.Snapshot] = looked{Calls: s.Manifest.Rows(schema.Calls.Name), Turns: s.Manifest.Rows(schema.Turns.Name),
			Items: s.Manifest.Rows(schema.Items.Name), Runs: s.Manifest.Rows(schema.Runs.Name)}
		c.query("catalog", "--output", catalog).exits(t, cli.ExitOK)
	}
	commit()
	var all []*reading
	var firsts []looked
	for name, command := range readers(t) {
		for _, mode := range []string{"reopen", "hold"} {
			r := read(t, name, command, mode, catalog)
			first, ok := <-r.seen
			if !ok {
				t.Fatalf("%s: %v\n%s", r.name, r.cmd.Wait(), r.errs.String())
			}
			all, firsts = append(all, r), append(firsts, first)
		}
	}
	for range *catalogCommits {
		c.clock.Advance(30 * time.Minute)
		commit()
	}
	for i, r := range all {
		seen := r.end(t, firsts[i])
		snapshots := map[int64]int{}
		for _, l := range seen {
			want, ok := truth[l.Snapshot]
			if !ok || l.Calls != want.Calls || l.Turns != want.Turns || l.Items != want.Items || l.Runs != want.Runs {
				t.Errorf("%s: a look saw %+v, snapshot %d holds %+v", r.name, l, l.Snapshot, want)
			}
			if l.Costs != l.Calls || l.Days != l.Calls || l.Spoken != l.Present || l.TurnCount != l.Turns {
				t.Errorf("%s: a look saw several commits: %+v", r.name, l)
			}
			snapshots[l.Snapshot]++
		}
		if strings.HasSuffix(r.name, "hold") && len(snapshots) != 1 {
			t.Errorf("%s: one connection saw %d snapshots", r.name, len(snapshots))
		}
		t.Logf("%s: %d looks, at %d of %d snapshots", r.name, len(seen), len(snapshots), len(truth))
	}
	if len(truth) != *catalogCommits+1 {
		t.Errorf("%d snapshots, want %d", len(truth), *catalogCommits+1)
	}
}
