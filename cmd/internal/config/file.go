package config

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/scratch"
)

// fileName is the name of the configuration file.
const fileName = "callhouse.toml"

// File is a parsed configuration file.
type File struct {
	Path     string
	home     string // of the user
	top      table
	profiles map[string]table
	Profiles []string // their names, sorted
}

// table holds the settings of the file's top, or of one profile, by name. Values are in the form of the flag.
type table map[string]string

var profileRE = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$`)

// Open reads the named file, or the one named by CALLHOUSE_CONFIG, or the first existing one of the
// environment's places. It returns nil if there is none, and a usage error if the file is invalid.
func (e Environment) Open(named string) (*File, error) {
	path, must := named, "--config"
	if path == "" {
		path, must = e.Get(EnvFile), EnvFile
	}
	if path != "" {
		raw, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, cli.Usage("extract config --example prints a template", "%s: the file %s does not exist", must, path)
		}
		if err != nil {
			return nil, cli.Usage("", "%s: %w", must, err)
		}
		return e.parse(path, raw)
	}
	for _, path := range e.Files {
		raw, err := os.ReadFile(path)
		_, hidden := os.Lstat(path)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) && (path != fileName || hidden != nil) {
			continue // another user's file or folder does not count
		}
		if at := (*fs.PathError)(nil); path == fileName && errors.As(err, &at) {
			at.Path, _ = filepath.Abs(path)
		} else if err == nil && path == fileName {
			err = ours(path)
		}
		if err != nil {
			return nil, cli.Usage(cli.Hint(err), "read the configuration: %w", err)
		}
		return e.parse(path, raw)
	}
	return nil, nil
}

// ours returns an error if another user may have written a file that nobody named, only because it is
// in the current folder: it decides where the API key is sent. A file of root is trusted.
func ours(path string) error {
	full, err := filepath.Abs(path)
	real, rerr := filepath.EvalSymlinks(full)
	if err = errors.Join(err, rerr); err != nil {
		return err
	}
	named := "name it if you trust it: --config " + path
	for _, p := range []string{full, filepath.Dir(full), real, filepath.Dir(real)} {
		st, err := os.Lstat(p)
		if err != nil {
			return err
		}
		owner, mode := scratch.UserOf(st), st.Mode()
		switch {
		case owner != 0 && owner != os.Geteuid():
			return cli.Usage(named, "%s belongs to another user (%d), who may change %s", p, owner, path)
		case mode.Perm()&0o022 != 0 && mode&(fs.ModeSymlink|fs.ModeSticky) == 0: // a link's mode means nothing
			return cli.Usage("chmod go-w "+p+"; or "+named, "others may write %s (mode %04o), and so change %s", p, mode.Perm(), path)
		}
	}
	return nil
}

// CheckFile returns an error if another than this user may write the configuration file.
func (c *Config) CheckFile(user int) error {
	if c.File == nil || c.File.Path == fileName { // see ours
		return nil
	}
	return CheckWriters(c.File.Path, user)
}

// CheckWriters returns an error if another than root and this user owns or may write a file that
// decides where data and credentials are sent. A group whose id is the owner's is that user's own.
// What is mounted read-only, as in containers, is trusted.
func CheckWriters(path string, user int) error {
	st, err := os.Stat(path)
	if err != nil {
		return err
	}
	owner, mode, refused := scratch.UserOf(st), st.Mode(), fs.FileMode(0o022)
	if owner == scratch.GroupOf(st) {
		refused = 0o002
	}
	switch {
	case owner != 0 && owner != user:
		err = cli.Usage(fmt.Sprintf("chown it to root or to the user who runs this (%d); in a container, mount it read-only", user),
			"%s belongs to another user (%d), who may change where data is sent", path, owner)
	case mode.IsRegular() && mode.Perm()&refused != 0:
		err = cli.Usage("chmod go-w "+path, "others may write %s (mode %04o), and so change where data is sent", path, mode.Perm())
	}
	if err == nil || !mode.IsRegular() { // reading a pipe again would wait
		return err
	}
	if f, openErr := os.Open(path); openErr == nil {
		defer f.Close()
		if scratch.OnReadOnly(f) {
			return nil
		}
	}
	return err
}

// parse parses a file. Its errors name the key and never repeat the value, which may be an API key
// in the wrong place.
func (e Environment) parse(path string, raw []byte) (*File, error) {
	f := &File{Path: path, home: e.Get("HOME"), top: table{}, profiles: map[string]table{}}
	var all map[string]any
	if err := toml.Unmarshal(raw, &all); err != nil {
		line := 0
		var at *toml.DecodeError
		if errors.As(err, &at) {
			line, _ = at.Position()
		}
		return nil, cli.Usage("put strings in quotes, e.g. warehouse = \"/var/lib/callhouse\"", "%s:%d: invalid TOML", path, line)
	}
	profiles, are := all["profiles"].(map[string]any)
	if are {
		delete(all, "profiles")
	}
	if err := f.read(f.top, "", all); err != nil {
		return nil, err
	}
	f.Profiles = slices.Sorted(maps.Keys(profiles))
	for _, name := range f.Profiles {
		settings, is := profiles[name].(map[string]any)
		if !is {
			return nil, cli.Usage("for example: [profiles.acme]", "%s: profiles.%s must be a table", path, name)
		}
		if !profileRE.MatchString(name) {
			return nil, cli.Usage("use letters and digits and, after the first character, . _ -", "%s: invalid profile name %q", path, name)
		}
		f.profiles[name] = table{}
		if err := f.read(f.profiles[name], "profiles."+name+".", settings); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// read reads the settings at the file's top, or of a profile.
func (f *File) read(into table, prefix string, settings map[string]any) error {
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		if looksLikeKey(name) {
			return cli.Usage("put it in a file of mode 0600 and set api_key_file = \"/etc/callhouse/key\"",
				"%s: the configuration must not contain an API key, as %s%s", f.Path, prefix, name)
		}
		k := keyOf(name)
		if k == nil {
			return cli.Usage(cli.Suggest(name, names(), "extract config --example prints all keys"), "%s: unknown key %q", f.Path, prefix+name)
		}
		text, ok := textOf(settings[name], k.Kind)
		if !ok {
			return cli.Usage("", "%s: %s%s must be %s", f.Path, prefix, name, k.Kind)
		}
		if k.Kind == Path {
			text = f.resolve(k, text)
		}
		into[name] = text
	}
	return nil
}

// looksLikeKey reports whether a name is a common one for an API key.
func looksLikeKey(name string) bool {
	switch strings.NewReplacer("-", "", "_", "", ".", "").Replace(strings.ToLower(name)) {
	case "apikey", "key", "token", "apitoken", "secret", "bearer", "authorization", "callhouseapikey":
		return true
	}
	return false
}

// resolve resolves a path of the file: relative to its folder, ~ to the user's home.
func (f *File) resolve(k *Key, path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok && f.home != "" {
		return filepath.Join(f.home, rest)
	}
	if path == k.Off || filepath.IsAbs(path) || strings.Contains(path, "://") {
		return path
	}
	return filepath.Join(filepath.Dir(f.Path), path)
}

// textOf converts a value to the form of a flag of its kind.
func textOf(v any, kind Kind) (text string, ok bool) {
	text, ok = v.(string)
	switch kind {
	case Duration:
		_, err := cli.ParseSpan(text)
		return text, ok && err == nil
	case Boolean:
		b, ok := v.(bool)
		return strconv.FormatBool(b), ok
	case Integer:
		n, ok := v.(int64)
		return strconv.FormatInt(n, 10), ok && n == int64(int32(n))
	case Number:
		x, ok := v.(float64)
		if n, whole := v.(int64); whole {
			x, ok = float64(n), true
		}
		return strconv.FormatFloat(x, 'g', -1, 64), ok
	case List:
		all, ok := v.([]any)
		var parts []string
		for _, one := range all {
			part, is := one.(string)
			ok = ok && is && !strings.Contains(part, ",")
			parts = append(parts, part)
		}
		return strings.Join(parts, ","), ok
	}
	return text, ok
}

func names() []string {
	var out []string
	for i := range Keys {
		out = append(out, Keys[i].Name)
	}
	return out
}
