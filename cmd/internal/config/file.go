package config

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"

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
	Profiles []string // names in file order
}

// table holds the settings of the file's top, or of one profile, by name.
type table map[string]value

// value is a setting's value, in the form of its flag, and its line.
type value struct {
	text string
	line int
}

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
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) && (path != fileName || !visible(path)) {
			continue // another user's file or folder does not count
		}
		if err == nil && path == fileName {
			err = ours(path)
		}
		if err != nil {
			return nil, cli.Usage(cli.Hint(err), "read the configuration: %w", whole(err))
		}
		return e.parse(path, raw)
	}
	return nil, nil
}

// ours returns an error if another user may have written a file that nobody named, only because it is
// in the current folder: it decides where the API key is sent. A file of root is trusted.
func ours(path string) error {
	full, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	real, err := filepath.EvalSymlinks(full)
	if err != nil {
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

// visible reports whether a file is known to exist. It returns false if its folder is inaccessible.
func visible(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// whole replaces the path in a file error by the absolute path.
func whole(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		if path, aerr := filepath.Abs(at.Path); aerr == nil {
			return &fs.PathError{Op: at.Op, Path: path, Err: at.Err}
		}
	}
	return err
}

// parse parses a file. Its errors name the line and never repeat the value, which may be an API key
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
		return nil, f.wrong(line, "put strings in quotes, e.g. warehouse = \"/var/lib/callhouse\"", "invalid TOML")
	}
	p := &unstable.Parser{}
	p.Reset(raw)
	var prefix []string
	for p.NextExpression() {
		e := p.Expression()
		switch e.Kind {
		case unstable.Table, unstable.ArrayTable:
			var line int
			prefix, line = keyPath(p, e.Key())
			if e.Kind == unstable.ArrayTable {
				return nil, f.wrong(line, "write a profile as one table: [profiles.NAME]", "tables in double brackets are not supported")
			}
			if err := f.section(prefix, line); err != nil {
				return nil, err
			}
		case unstable.KeyValue:
			if err := f.read(p, prefix, e); err != nil {
				return nil, err
			}
		}
	}
	if err := p.Error(); err != nil {
		return nil, f.wrong(0, "", "invalid TOML: %w", err)
	}
	return f, nil
}

// keyPath returns the parts of a dotted key, and its line.
func keyPath(p *unstable.Parser, it unstable.Iterator) (parts []string, line int) {
	for it.Next() {
		n := it.Node()
		parts = append(parts, string(n.Data))
		line = p.Shape(n.Raw).Start.Line
	}
	return parts, line
}

// section begins a table.
func (f *File) section(path []string, line int) error {
	switch {
	case path[0] == "agents" && len(path) <= 2:
		return nil
	case path[0] != "profiles":
		return f.unknown(strings.Join(path, "."), line, append(names(), "profiles"))
	case len(path) == 1:
		return nil
	case len(path) > 2 && (path[2] != "agents" || len(path) > 4):
		return f.unknown(strings.Join(path, "."), line, nil)
	}
	return f.profile(path[1], line)
}

// profile adds a profile, unless it exists.
func (f *File) profile(name string, line int) error {
	if !profileRE.MatchString(name) {
		return f.wrong(line, "use letters and digits and, after the first character, . _ -", "invalid profile name %q", name)
	}
	if f.profiles[name] == nil {
		f.profiles[name] = table{}
		f.Profiles = append(f.Profiles, name)
	}
	return nil
}

// read reads one key of the file, or an inline table.
func (f *File) read(p *unstable.Parser, prefix []string, e *unstable.Node) error {
	parts, line := keyPath(p, e.Key())
	path := append(slices.Clone(prefix), parts...)
	v := e.Value()
	if v.Kind == unstable.InlineTable {
		if err := f.section(path, line); err != nil {
			return err
		}
		for it := v.Children(); it.Next(); {
			if it.Node().Kind != unstable.KeyValue {
				continue
			}
			if err := f.read(p, path, it.Node()); err != nil {
				return err
			}
		}
		return nil
	}
	into := f.top
	if path[0] == "profiles" && len(path) > 1 {
		if err := f.profile(path[1], line); err != nil {
			return err
		}
		into = f.profiles[path[1]]
		path = path[2:]
	}
	if len(path) == 0 {
		return f.wrong(line, "for example: [profiles.acme]", "a profile must be a table")
	}
	agent := ""
	if len(path) == 3 && path[0] == "agents" && path[2] == "success" { // another spelling of the setting
		if agent = path[1]; strings.Contains(agent, ",") {
			return f.wrong(line, "use its id: [agents.\"ID\"]", "the agent's name contains a comma")
		}
		path = path[2:]
	}
	name := strings.Join(path, ".")
	if looksLikeKey(name) {
		return f.wrong(line, "put it in a file of mode 0600 and set api_key_file = \"/etc/callhouse/key\"",
			"the configuration must not contain an API key")
	}
	k := keyOf(name)
	if k == nil {
		return f.unknown(name, line, names())
	}
	kind := k.Kind
	if agent != "" && v.Kind == unstable.String {
		kind = Text
	}
	text, ok := textOf(v, kind)
	if !ok {
		return f.wrong(line, "", "%s must be %s, not %s", name, k.Kind, cmp.Or(described[v.Kind], "a date or time"))
	}
	if k.Kind == Path {
		text = f.resolve(k, text)
	}
	if agent != "" {
		text = agent + "=" + strings.ReplaceAll(text, ",", ","+agent+"=")
		if before := into[name].text; before != "" {
			text = before + "," + text
		}
	}
	into[name] = value{text, line}
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
func textOf(v *unstable.Node, kind Kind) (text string, ok bool) {
	text = string(v.Data)
	switch kind {
	case Text, Path:
		return text, v.Kind == unstable.String
	case Duration:
		_, err := cli.ParseSpan(text)
		return text, v.Kind == unstable.String && err == nil
	case Boolean:
		return text, v.Kind == unstable.Bool
	case Integer:
		n, err := strconv.ParseInt(strings.ReplaceAll(text, "_", ""), 0, 32)
		return strconv.FormatInt(n, 10), v.Kind == unstable.Integer && err == nil
	case Number:
		x, err := strconv.ParseFloat(strings.ReplaceAll(text, "_", ""), 64)
		return strconv.FormatFloat(x, 'g', -1, 64), (v.Kind == unstable.Integer || v.Kind == unstable.Float) && err == nil
	}
	var parts []string
	for it := v.Children(); it.Next(); {
		if it.Node().Kind == unstable.Comment {
			continue
		}
		if it.Node().Kind != unstable.String || strings.Contains(string(it.Node().Data), ",") {
			return "", false
		}
		parts = append(parts, string(it.Node().Data))
	}
	return strings.Join(parts, ","), v.Kind == unstable.Array
}

var described = map[unstable.Kind]string{unstable.String: "this string", unstable.Integer: "this integer",
	unstable.Float: "a number with a point",
	unstable.Bool:  "true or false", unstable.Array: "this list"}

// wrong returns a usage error for a line of the file. Line 0 means no particular line.
func (f *File) wrong(line int, hint, format string, args ...any) error {
	at := f.Path
	if line > 0 {
		at = fmt.Sprintf("%s:%d", f.Path, line)
	}
	return cli.Usage(hint, "%s: "+format, append([]any{at}, args...)...)
}

// unknown returns the error for an unknown setting.
func (f *File) unknown(name string, line int, known []string) error {
	hint := cli.Suggest(name, known, "extract config --example prints all keys")
	return f.wrong(line, hint, "unknown key %q", name)
}

func names() []string {
	var out []string
	for i := range Keys {
		out = append(out, Keys[i].Name)
	}
	return out
}
