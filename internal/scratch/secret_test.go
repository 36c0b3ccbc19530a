package scratch

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"callhouse/internal/test"
)

// owned is a file's description with another owner and mode.
type owned struct {
	fs.FileInfo
	owner uint32
	mode  fs.FileMode
}

func (o owned) Mode() fs.FileMode { return o.mode }
func (o owned) Sys() any          { return &syscall.Stat_t{Uid: o.owner} }

// Files of root that only a group may read are those of orchestrators; 0444 is only trusted in a
// folder of secrets. What others may write is never trusted.
func TestExposed(t *testing.T) {
	for _, c := range []struct {
		owner  uint32
		mode   fs.FileMode
		placed bool
		want   bool
	}{
		{1000, 0o600, false, false}, {1000, 0o400, false, false}, {1000, 0o440, false, true}, {1000, 0o640, false, true},
		{1000, 0o644, false, true}, {1000, 0o604, false, true}, {1000, 0o620, false, true},
		{0, 0o440, false, false}, {0, 0o640, false, false}, {0, 0o444, false, true}, {0, 0o644, false, true}, {0, 0o660, false, true}, {0, 0o404, false, true},
		{0, 0o444, true, false}, {0, 0o644, true, false}, {0, 0o664, true, true}, {0, 0o646, true, true},
		{1000, 0o440, true, false}, {1000, 0o444, true, true}, {1000, 0o460, true, true},
	} {
		test.Same(t, c.want, exposed(owned{owner: c.owner, mode: c.mode}, c.placed), "a file of %d, mode %04o, in a folder of secrets: %v: exposed", c.owner, c.mode, c.placed)
	}
}

// A file's place is where its links lead to, as those of Kubernetes.
func TestSecretPlace(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, folder := range []string{"credentials/..1", "credentials-more", "home"} {
		test.OK(t, os.MkdirAll(at(folder), 0o700))
	}
	write := func(name string) {
		test.OK(t, os.WriteFile(at(name), []byte("k"), 0o600))
	}
	write("credentials/..1/key")
	write("credentials-more/key")
	write("home/key")
	for name, target := range map[string]string{"credentials/..data": "..1", "credentials/key": "..data/key", "credentials/out": "../home/key",
		"home/in": "../credentials/key", "linked": "credentials"} {
		test.OK(t, os.Symlink(target, at(name)))
	}
	for name, want := range map[string]bool{"credentials/key": true, "linked/key": true, "home/in": true,
		"credentials/out": false, "credentials-more/key": false, "home/key": false, "credentials/none": false} {
		for _, credentials := range []string{at("credentials"), at("linked"), at("credentials") + "/"} {
			test.Same(t, want, inSecretPlace(at(name), credentials), "%s in %s", name, credentials)
		}
	}
	if inSecretPlace(at("home/key"), "") {
		t.Error("without credentials, all files are in their folder")
	}
}

// The mode of a secret on a read-only mount is not this user's to change.
func TestReadSecretOfAReadOnlyMount(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "key")
	if err := errors.Join(os.WriteFile(path, []byte("k-1"), 0o600), os.Chmod(path, 0o644)); err != nil { //nolint:gosec // this is what is refused
		t.Fatal(err)
	}
	_, err := ReadSecret(path, "")
	var exposed *ExposedError
	if !errors.As(err, &exposed) || exposed.Hint() != "chmod 600 "+path {
		t.Fatalf("%v", err)
	}
	theirs := ExposedError{Path: path, Mode: 0o644}
	if hint := theirs.Hint(); strings.HasPrefix(hint, "chmod") || !strings.Contains(hint, "defaultMode") || !strings.Contains(hint, "LoadCredential") {
		t.Errorf("a file of another user: %s", hint)
	}
	remount(t, dir)
	if raw, err := ReadSecret(path, ""); string(raw) != "k-1" || err != nil {
		t.Errorf("read-only: %q, %v", raw, err)
	}
}
