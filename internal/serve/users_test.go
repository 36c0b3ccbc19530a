package serve_test

import (
	"os"
	"path/filepath"
	"testing"

	"callhouse/internal/serve"
	"callhouse/internal/test"
)

// A user in the file logs in with the latest password, and nobody else does.
func TestCheck(t *testing.T) {
	path := filepath.Join(t.TempDir(), "users.json")
	put := func(name, password string) {
		t.Helper()
		u, err := serve.NewUser(name, password)
		if err == nil {
			_, err = serve.PutUser(path, u)
		}
		test.OK(t, err)
	}
	put("ana", "first password")
	put("bob", "another password")
	list, err := serve.OpenUsers(path)
	test.OK(t, err)
	put("ana", "second password")
	for _, c := range []struct {
		name, password string
		want           bool
	}{{"ana", "second password", true}, {"bob", "another password", true}, {"ana", "first password", false}, {"ana", "another password", false}, {"ana", "", false}, {"", "", false}, {"eve", "second password", false}} {
		if _, got := list.Check(c.name, c.password); got != c.want {
			t.Errorf("%s with %q: %v", c.name, c.password, got)
		}
	}
	_, err = serve.RemoveUser(path, "ana")
	test.OK(t, err)
	if _, ok := list.Check("ana", "second password"); ok {
		t.Error("a user who was removed gets in")
	}
	if err := os.Chmod(path, 0o644); err != nil { //nolint:gosec // this is what is refused
		t.Fatal(err)
	}
	if _, ok := list.Check("bob", "another password"); ok {
		t.Error("a file that others may write is believed")
	}
}
