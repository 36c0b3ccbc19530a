package extractcmd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"callhouse/cmd/internal/extractcmd/settings"
	"callhouse/internal/test"
	"callhouse/internal/words"
)

func TestQuoting(t *testing.T) {
	for word, want := range map[string][3]string{
		"/usr/bin/extract":      {"/usr/bin/extract", "/usr/bin/extract", "/usr/bin/extract"},
		"/home/an a/50%/it's":   {`'/home/an a/50%/it'\''s'`, `'/home/an a/50\%/it'\''s'`, `"/home/an a/50%%/it's"`},
		"/home/$USER/callhouse": {`'/home/$USER/callhouse'`, `'/home/$USER/callhouse'`, `"/home/$$USER/callhouse"`},
	} {
		if got := [3]string{words.Shell(word), cronQuoted(word), unitQuoted(word)}; got != want {
			t.Errorf("%s: %q, want %q", word, got, want)
		}
	}
}

// A new volume is an empty folder, whatever its file system put into it.
func TestWarehouseInANewVolume(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"lost+found", ".Trash-1000", "System Volume Information", "@eaDir"} {
		test.OK(t, os.Mkdir(filepath.Join(dir, name), 0o700))
	}
	i := &initial{Settings: new(settings.Settings), system: true}
	if path, err := i.validWarehouse(dir); err != nil || path != dir {
		t.Errorf("%q, %v", path, err)
	}
	test.OK(t, os.WriteFile(filepath.Join(dir, "letter.txt"), nil, 0o600))
	if _, err := i.validWarehouse(dir); err == nil || !strings.Contains(err.Error(), "holds other files") {
		t.Errorf("a folder with a letter: %v", err)
	}
}
