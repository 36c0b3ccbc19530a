package cmdtest

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"callhouse/cmd/internal/config"
	"callhouse/internal/test"
)

// poisoned is set in the processes of Poison.
const poisoned = "CALLHOUSE_TEST_POISONED"

// Poisoned returns the folder that must stay empty in a process started by Poison; empty elsewhere.
func Poisoned() string { return os.Getenv(poisoned) }

// Poison runs the tests matching pattern in a process where every location of configuration, except
// /etc, refers to a trap service and warehouse. The tests must pass without touching either.
func Poison(t *testing.T, pattern string) {
	t.Helper()
	var requests atomic.Int64
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		requests.Add(1)
		w.WriteHeader(http.StatusTeapot)
	}))
	defer service.Close()
	dir := t.TempDir()
	places := map[string]string{}
	for _, name := range []string{"here", "home", "xdg", "credentials", "forbidden"} {
		places[name] = filepath.Join(dir, name)
	}
	forbidden, warehouse := places["forbidden"], filepath.Join(places["forbidden"], "warehouse")
	key := filepath.Join(dir, "key")
	file := fmt.Sprintf("base_url = %q\napi_key_file = %q\nwarehouse = %q\nping_url = %q\nmetrics_file = %q\nmask = "+
		"[\"from_number\"]\nresources = []\n",
		service.URL, key, warehouse, service.URL, filepath.Join(forbidden, "metrics"))
	for path, text := range map[string]string{
		"here/callhouse.toml": file, "home/.config/callhouse/callhouse.toml": file, "xdg/callhouse/callhouse.toml": file,
		"named.toml": file, "key": "k", "credentials/callhouse-api-key": "k", "forbidden/.": "",
	} {
		path = filepath.Join(dir, path)
		err := os.MkdirAll(filepath.Dir(path), 0o700)
		if err == nil && text != "" {
			err = os.WriteFile(path, []byte(text), 0o600)
		}
		if err == nil && text == "" {
			err = os.MkdirAll(path, 0o700)
		}
		test.OK(t, err)
	}
	values := map[string]string{config.EnvFile: filepath.Join(dir, "named.toml"), config.EnvKey: "k", "CALLHOUSE_BASE_URL": service.URL,
		"CALLHOUSE_API_KEY_FILE": key, "CALLHOUSE_WAREHOUSE": warehouse, "CALLHOUSE_PING_URL": service.URL,
		"HOME": places["home"], "XDG_CONFIG_HOME": places["xdg"], "XDG_STATE_HOME": forbidden, "XDG_CACHE_HOME": forbidden,
		"CREDENTIALS_DIRECTORY": places["credentials"], "AWS_ENDPOINT_URL": service.URL, "HTTPS_PROXY": service.URL, "HTTP_PROXY": service.URL,
		poisoned: forbidden}
	for _, name := range config.VariableNames() {
		if values[name] == "" {
			values[name] = "poison"
		}
	}
	self, err := os.Executable()
	test.OK(t, err)
	cmd := exec.CommandContext(t.Context(), self, "-test.run", pattern, "-test.v")
	cmd.Dir = places["here"]
	for name, value := range config.Variables(os.Environ()) {
		if _, ours := values[name]; !ours && name != sealed && name != "GOCOVERDIR" {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	for name, value := range values {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS") {
		t.Errorf("with settings everywhere the tests fail: %v\n%s", err, out)
	}
	if n := requests.Load(); n > 0 {
		t.Errorf("%d requests went to the machine's service", n)
	}
	if left, err := os.ReadDir(forbidden); err != nil || len(left) > 0 {
		t.Errorf("the tests wrote where the machine's settings say: %v, %v", left, err)
	}
}
