package extractcmd

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// An older callhouse stored secrets in a warehouse: verify finds them, migrate withholds them, and
// secrets lists their locations. None of these commands prints a secret.
func TestSecretsOfAnOlderWarehouse(t *testing.T) {
	root := filepath.Join(t.TempDir(), "w")
	if err := os.CopyFS(root, os.DirFS(filepath.Join("..", "..", "..", "internal", "sink", "testdata", "secrets", "warehouse"))); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(root, "journal")); err != nil {
		t.Fatal(err)
	}
	run := func(code int, want, args string) (stdout string) {
		t.Helper()
		got, stdout, stderr := call(t, "", append(strings.Fields(args), "--warehouse", root)...)
		if got != code || !strings.Contains(stdout+stderr, want) || strings.Contains(stdout+stderr, "hush-") {
			t.Errorf("%s: exit code %d, want %d and %q:\n%s%s", args, got, code, want, stdout, stderr)
		}
		return stdout
	}
	type place struct {
		Table, Key, Name, Path, Rule string
		Clear                        bool `json:"stored_in_clear"`
	}
	list := func() (places []place) {
		t.Helper()
		if err := json.Unmarshal([]byte(run(0, `"rule"`, "secrets --format json")), &places); err != nil {
			t.Fatal(err)
		}
		return places
	}
	run(1, "the warehouse is intact, but stores secrets in clear in 4 files", "verify")
	run(1, "extract migrate withholds them", "verify --format json")
	run(0, "CLEAR agents a1 (Bookings): data.token: name with token\n", "secrets")
	before := list()
	run(0, "withheld secrets that 7 rows stored in clear", "migrate")
	run(0, "whole: 1 snapshot", "verify")
	run(0, "withheld tools t1 (lookup): api_configuration.auth.token: name with token\n", "secrets")
	run(0, "nothing to migrate", "migrate")
	after := list()
	if len(before) != len(after) || len(after) < 100 {
		t.Fatalf("%d places, then %d", len(before), len(after))
	}
	for i := range after {
		if want := before[i]; !want.Clear || after[i] != (place{want.Table, want.Key, want.Name, want.Path, want.Rule, false}) {
			t.Errorf("%+v, then %+v", want, after[i])
		}
	}
	run(2, "--format takes text or json", "secrets --format xml")
}
