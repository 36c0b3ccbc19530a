package e2e

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/layout"
	"callhouse/internal/sandbox"
	"callhouse/internal/test"
)

// What a run commits is published, and what is forgotten leaves the lake.
func TestPublishedAfterARun(t *testing.T) {
	c := found(t, sandbox.Options{World: sandbox.Config{Seed: 44, Calls: 60, Days: 1}})
	lake, receipt := filepath.Join(t.TempDir(), "lake"), filepath.Join(t.TempDir(), "receipt.json")
	t.Setenv("CALLHOUSE_PUBLISH_TO", lake)
	c.mustExtract()
	c.query("publish", "iceberg").exits(t, cli.ExitOK)
	if hint, err := os.ReadFile(filepath.Join(lake, "calls", "metadata", "version-hint.text")); err != nil || string(hint) != "1" {
		t.Errorf("the version of calls is %q, %v", hint, err)
	}
	c.query("publish", "iceberg", "--receipt", receipt).reports(t, cli.ExitOK, "0 files copied")
	var made struct {
		Tables []struct {
			Table string
			Rows  int
		}
	}
	raw, err := os.ReadFile(receipt)
	if err == nil {
		err = json.Unmarshal(raw, &made)
	}
	if last := len(made.Tables) - 1; err != nil || last < 0 || made.Tables[last].Table != "calls" || made.Tables[last].Rows != 60 {
		t.Errorf("the receipt: %v\n%s", err, raw)
	}
	// Forgotten data leaves the lake with the next publication, and the receipt says that one is needed.
	id := strings.TrimSpace(c.query("sql", "--format", "csv", "SELECT call_id FROM calls LIMIT 1").stdout)
	id = id[strings.LastIndexByte(id, '\n')+1:]
	r := c.mustExtract("forget", "--yes", "--call-id", id)
	if !strings.Contains(r.stderr, lake+" must be published again") || !strings.Contains(r.stdout, lake+`"`) {
		t.Errorf("forgotten:\n%s\n%s", r.stderr, r.stdout)
	}
	c.query("publish", "iceberg").reports(t, cli.ExitOK, "calls forgotten since")
	for _, wrong := range [][]string{{}, {"ducklake"}, {"iceberg", "--to", ""}, {"iceberg", "--catalog", "x"}, {"iceberg", "--format", "csv"}} {
		if r := c.query(append([]string{"publish"}, wrong...)...); r.code != cli.ExitUsage {
			t.Errorf("query publish %v: exit code %d\n%s", wrong, r.code, r.stderr)
		}
	}
}

// TestLakeCatalogs publishes through Iceberg's REST server, and pyiceberg reads the tables through them: after
// a first night, a second one, and a forgotten call. make lake-catalogs installs the catalogs.
func TestLakeCatalogs(t *testing.T) {
	jars := strings.Fields(os.Getenv("CALLHOUSE_LAKE_JARS"))
	if len(jars) == 0 {
		t.Skip("interop/lake.sh brings the catalogs")
	}
	for _, jar := range jars {
		t.Run(filepath.Base(jar), func(t *testing.T) {
			startS3(t, os.Getenv("CALLHOUSE_VERSITYGW"), "lake")
			uri := startCatalog(t, jar)
			t.Setenv("CALLHOUSE_RESOURCES", "all")
			c := found(t, sandbox.Options{World: sandbox.Config{Seed: 8, Calls: 300, Days: 70}})
			publish := func(more ...string) string {
				t.Helper()
				r := c.query(append([]string{"publish", "iceberg", "--to", "s3://lake/callhouse", "--catalog", uri}, more...)...)
				if r.code != 0 {
					t.Fatalf("publish %v: exit code %d\n%s%s", more, r.code, r.stdout, r.stderr)
				}
				return r.stderr
			}
			look := func() {
				t.Helper()
				if said := publish(); !strings.Contains(said, " 0 files copied") {
					t.Errorf("published again: %s", said)
				}
				c.readThrough(uri)
			}
			c.mustExtract()
			t.Log(strings.TrimSpace(publish()))
			look()
			c.clock.Advance(30 * time.Hour)
			c.mustExtract()
			publish()
			look()
			id := strings.TrimSpace(c.query("sql", "--format", "csv", "SELECT call_id FROM calls LIMIT 1").stdout)
			c.mustExtract("forget", "--yes", "--call-id", id[strings.LastIndexByte(id, '\n')+1:])
			publish()
			look()
		})
	}
}

// startCatalog starts Iceberg's REST server, and returns its address.
func startCatalog(t *testing.T, jar string) (uri string) {
	t.Helper()
	free, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	test.OK(t, err)
	_, port, _ := net.SplitHostPort(free.Addr().String())
	_ = free.Close()
	dir := t.TempDir()
	java := "java"
	if home := os.Getenv("CALLHOUSE_LAKE_JAVA"); home != "" {
		java = filepath.Join(home, "bin", "java")
	}
	cmd := exec.Command(java, "-Xmx1g", "-jar", jar)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CATALOG_REST_PORT="+port, "CATALOG_URI=jdbc:sqlite:"+filepath.Join(dir, "catalog.db"),
		"CATALOG_WAREHOUSE=s3://lake/own", "CATALOG_IO__IMPL=org.apache.iceberg.aws.s3.S3FileIO",
		"CATALOG_S3_ENDPOINT="+os.Getenv("AWS_ENDPOINT_URL"), "CATALOG_S3_PATH__STYLE__ACCESS=true")
	log, err := os.Create(filepath.Join(dir, "log"))
	test.OK(t, err)
	cmd.Stdout, cmd.Stderr = log, log
	test.OK(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = log.Close()
	})
	uri = "http://127.0.0.1:" + port
	for range 240 {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, uri+"/v1/config", nil)
		test.OK(t, err)
		if answer, err := http.DefaultClient.Do(r); err == nil {
			_ = answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				return uri
			}
		}
		time.Sleep(250 * time.Millisecond)
	}
	said, _ := os.ReadFile(log.Name())
	t.Fatalf("%s does not answer:\n%s", jar, said)
	return ""
}

// readThrough makes pyiceberg read the tables through a catalog, and compares them with query.
func (c *company) readThrough(uri string) {
	c.t.Helper()
	cmd := exec.CommandContext(c.t.Context(), os.Getenv("CALLHOUSE_PYTHON"), filepath.Join("testdata", "lake_catalog.py"), uri)
	cmd.Stderr = os.Stderr
	raw, err := cmd.Output()
	test.OK(c.t, err)
	var got struct {
		Rows map[string]int
		Tags map[string][]string
		Cost string
	}
	if err := json.Unmarshal(raw, &got); err != nil {
		c.t.Fatal(err, string(raw))
	}
	now := current(c.t, c.warehouse)
	want := map[string]int{}
	for _, table := range lakeTables(now) {
		want[table] = int(now.Manifest.Rows(table))
		last := ""
		if n := len(got.Tags[table]); n > 0 {
			last = got.Tags[table][n-1]
		}
		if last != "snapshot-"+layout.SnapshotName(now.Manifest.Snapshot) {
			c.t.Errorf("the last tag of %s is %q", table, last)
		}
	}
	if !reflect.DeepEqual(got.Rows, want) {
		c.t.Errorf("rows %v, want %v", got.Rows, want)
	}
	if cost := asText(c.rows("sql", "SELECT sum(total_cost) FROM calls"))[0]; cost != got.Cost {
		c.t.Errorf("the costs are %s, want %s", got.Cost, cost)
	}
	c.t.Log(fmt.Sprint(len(got.Rows), " tables, costs ", got.Cost))
}
