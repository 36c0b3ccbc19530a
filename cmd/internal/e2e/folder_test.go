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

	"callhouse/internal/sandbox"
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
