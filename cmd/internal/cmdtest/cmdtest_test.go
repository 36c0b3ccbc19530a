package cmdtest

import (
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"callhouse/cmd/internal/config"
	"callhouse/internal/test"
)

func TestMain(m *testing.M) { Main(m) }

const module = "../../.."

// Every test package under cmd is sealed, every other one that can open connections stays on this
// machine, and only programs read the machine's configuration. No test chooses by chance without a
// seed: from the global source, or by taking some cases of a map in the order that Go goes through it.
func TestEveryPackage(t *testing.T) {
	network := regexp.MustCompile(`(?m)^\s+(_ )?"(net|net/http|net/http/httptest|github\.com/minio/[^"]*)"$`)
	sealed := regexp.MustCompile(`\bcmdtest\.(Main|Seal)\(|^package cmdtest`)
	guarded := regexp.MustCompile(sealed.String() + `|\bloopback\.(Main|Only)\(`)
	system := regexp.MustCompile(`\bSystem\(\)`)
	unseeded := regexp.MustCompile(`\brand\.(N|Int\w*|Uint\w*|Float\w*|Perm|Shuffle|NormFloat64|ExpFloat64)\(`)
	some := regexp.MustCompile(`(?m)^\tfor .*:= range (map\b|\w+)[ \[].*\n(?:\t\t.*\n|\t\}.+\n|\n)*?\t\t.*!tried\(`)
	type folder struct {
		tests, network, sealed, guarded bool
		text                            string     // of the tests
		sampled                         [][]string // loops that try some cases
	}
	folders := map[string]*folder{}
	err := filepath.WalkDir(module, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && slices.Contains([]string{"testdata", ".git", "build"}, e.Name()): // build has the downloads of make
			return filepath.SkipDir
		case e.IsDir() || filepath.Ext(path) != ".go":
			return nil
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(module, path)
		dir, text := filepath.Dir(name), string(raw)
		f := folders[dir]
		if f == nil {
			f = &folder{}
			folders[dir] = f
		}
		f.network = f.network || network.MatchString(text)
		if strings.HasSuffix(name, "_test.go") {
			f.tests = true
			f.sealed = f.sealed || sealed.MatchString(text)
			f.guarded = f.guarded || guarded.MatchString(text)
			f.text += text
			if strings.Contains(text, "longtest.Each(") {
				f.sampled = append(f.sampled, some.FindAllStringSubmatch(text, -1)...)
			}
			if strings.Contains(text, "math/rand") && unseeded.MatchString(text) {
				t.Errorf("%s: %s chooses without a seed: longtest.Rand has one", name, unseeded.FindString(text))
			}
		}
		if system.MatchString(text) && !strings.Contains(text, "\nfunc main() {") &&
			dir != "cmd/internal/config" && dir != "cmd/internal/cmdtest" {
			t.Errorf("%s reads this machine's configuration: only the programs' main functions may call config.System", name)
		}
		return nil
	})
	test.OK(t, err)
	if len(folders) < 50 {
		t.Fatalf("only %d packages were found", len(folders))
	}
	for dir, f := range folders {
		for _, m := range f.sampled {
			if m[1] == "map" || regexp.MustCompile(`\b`+m[1]+` :?= map\[`).MatchString(f.text) {
				t.Errorf("%s takes some cases of a map by chance, longtest.Sorted has an order: %.80s", dir, m[0])
			}
		}
		switch {
		case !f.tests:
		case dir == "cmd/internal/cli", dir == "cmd/internal/config": // this package depends on them
		case strings.HasPrefix(dir, "cmd/") && !f.sealed:
			t.Errorf("the tests in %s are not sealed: func TestMain(m *testing.M) { cmdtest.Main(m) }", dir)
		case f.network && !f.guarded:
			t.Errorf("the tests in %s may reach other machines: func TestMain(m *testing.M) { loopback.Main(m) }", dir)
		}
	}
}

// A sealed process has no settings from any source.
func TestSealed(t *testing.T) {
	users := t.TempDir()
	t.Setenv(sealed, "") // as in a process whose user has settings everywhere
	for _, name := range append(config.VariableNames(), "CREDENTIALS_DIRECTORY", "AWS_ACCESS_KEY_ID", "AWS_ENDPOINT_URL") {
		t.Setenv(name, "poison")
	}
	for _, name := range []string{"XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"} {
		t.Setenv(name, users)
	}
	defer Seal()()
	env := Env()
	for _, name := range append(config.VariableNames(), "CREDENTIALS_DIRECTORY", "AWS_ACCESS_KEY_ID", "AWS_ENDPOINT_URL") {
		if v, ok := env.Vars[name]; ok {
			t.Errorf("%s is %q", name, v)
		}
	}
	if f, err := env.Open(""); f != nil || err != nil {
		t.Errorf("a file is read: %+v, %v", f, err)
	}
	for _, dir := range []func() (string, error){os.UserConfigDir, os.UserCacheDir} {
		if path, err := dir(); err != nil || strings.HasPrefix(path, users) {
			t.Errorf("a folder is the user's: %s, %v", path, err)
		}
	}
}

// No request of a sealed process leaves the machine.
func TestNoOtherMachine(t *testing.T) {
	for _, address := range []string{"http://192.0.2.1/", "https://192.0.2.1/", "http://calls.invalid/"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
		test.OK(t, err)
		resp, err := http.DefaultClient.Do(req)
		if err == nil {
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
		}
		if err == nil || !strings.Contains(err.Error(), "proxyconnect tcp: dial tcp 127.0.0.1:9") {
			t.Errorf("%s: %v", address, err)
		}
	}
}
