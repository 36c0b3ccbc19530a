package serve_test

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"callhouse/internal/analytics/analyticstest"
	"callhouse/internal/test"
)

// dbt reads, tests and documents the tables.
func TestDbt(t *testing.T) {
	dbt := os.Getenv("CALLHOUSE_DBT")
	if dbt == "" {
		t.Skip("make tools runs it")
	}
	h := start(t, nil)
	analyticstest.Write(t, h.root, 2, someData())
	project := t.TempDir()
	test.OK(t, os.CopyFS(project, os.DirFS("testdata/tools/dbt")))
	_, port, _ := net.SplitHostPort(h.address)
	run := func(args ...string) string {
		cmd := exec.CommandContext(t.Context(), dbt, append([]string{"--no-use-colors"}, args...)...)
		cmd.Dir = project
		cmd.Env = append(os.Environ(), "DBT_PROFILES_DIR=.", "CALLHOUSE_PORT="+port)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("dbt %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	for want, args := range map[string][]string{
		"All checks passed!":            {"debug"},
		"PASS=4 WARN=0 ERROR=0 SKIP=0":  {"test"},
		"Catalog written to":            {"docs", "generate"},
		"2025-12-15 00:00:00 |     1 |": {"show", "--select", "weeks"},
		aboutCalls():                    {"show", "--inline", "select obj_description('calls'::regclass) as answers", "--output", "json"},
	} {
		if out := run(args...); !strings.Contains(out, want) {
			t.Errorf("dbt %s says no %q:\n%s", strings.Join(args, " "), want, out)
		}
	}
}

// Superset makes charts and a dashboard. With a browser there is a screenshot to inspect.
func TestSuperset(t *testing.T) {
	superset := os.Getenv("CALLHOUSE_SUPERSET")
	if superset == "" {
		t.Skip("make tools runs it")
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
	lines := strings.Split(strings.TrimSpace(string(made)), "\n")
	if picture := os.Getenv("CALLHOUSE_PICTURE"); picture != "" {
		if out, err := exec.CommandContext(t.Context(), os.Getenv("CALLHOUSE_BROWSER"), "--headless", "--no-sandbox", "--disable-gpu", "--window-size=1500,850", "--virtual-time-budget=60000",
			"--user-data-dir="+filepath.Join(home, "browser"), "--screenshot="+picture, lines[len(lines)-1]).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		t.Log("look at " + picture)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, e := range h.audit {
		if e.Code != "00000" {
			t.Errorf("%s: %s", e.Code, e.Text)
		}
	}
}
