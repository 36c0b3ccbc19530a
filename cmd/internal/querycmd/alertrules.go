package querycmd

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/config"
	"callhouse/internal/alert"
	"callhouse/internal/analytics/question"
	sqlfiles "callhouse/sql"
)

// alertFile is the file of the rules.
type alertFile struct {
	Title    string             `toml:"title"`
	Page     string             `toml:"page"` // address of the live page
	Channels map[string]channel `toml:"channels"`
	Rules    []*alertRule       `toml:"rules"`

	path string
}

// channel is a destination of messages. Secrets are in files.
type channel struct {
	Type         string   `toml:"type"`
	URL          string   `toml:"url"`
	URLFile      string   `toml:"url_file"`
	Server       string   `toml:"server"`
	TLS          string   `toml:"tls"`
	User         string   `toml:"user"`
	PasswordFile string   `toml:"password_file"`
	From         string   `toml:"from"`
	To           []string `toml:"to"`

	password string // empty: no login
}

// alertRule is a report with its arguments, a column, and a condition.
type alertRule struct {
	Name     string            `toml:"name"`
	Report   string            `toml:"report"`
	By       []string          `toml:"by"`
	Where    []string          `toml:"where"`
	Agent    string            `toml:"agent"`
	Field    string            `toml:"field"`
	Row      map[string]string `toml:"row"` // only rows with these values
	Column   string            `toml:"column"`
	Window   string            `toml:"window"`
	Above    *float64          `toml:"above"`
	Below    *float64          `toml:"below"`
	Changed  string            `toml:"changed"` // up, down or any
	MinCalls *float64          `toml:"min_calls"`
	Personal bool              `toml:"personal"`
	To       []string          `toml:"to"`

	file   *sqlfiles.File
	column sqlfiles.Column
	window time.Duration
}

// readRules reads the rules file.
func readRules(path string) (*alertFile, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, cli.Usage("docs/guide/alerts.md shows a file of rules", "read the rules: %w", err)
	}
	if err := config.CheckWriters(path, os.Geteuid()); err != nil {
		return nil, err
	}
	f := &alertFile{path: path}
	d := toml.NewDecoder(bytes.NewReader(raw)).DisallowUnknownFields()
	if err := d.Decode(f); err != nil {
		return nil, unreadable(path, err)
	}
	for i, r := range f.Rules {
		if err := f.check(r, i); err != nil {
			return nil, err
		}
	}
	if f.Page != "" && !strings.HasPrefix(f.Page, "https://") && !strings.HasPrefix(f.Page, "http://") {
		return nil, cli.Usage("for example https://calls.example.com", "%s: page is not an address", path)
	}
	return f, nil
}

// unreadable returns the error of an invalid file, with the line.
func unreadable(path string, err error) error {
	var strict *toml.StrictMissingError
	var syntax *toml.DecodeError
	switch {
	case errors.As(err, &strict) && len(strict.Errors) > 0:
		e := &strict.Errors[0]
		line, _ := e.Position()
		return cli.Usage("docs/guide/alerts.md lists all keys", "%s:%d: unknown key %q", path, line, strings.Join(e.Key(), "."))
	case errors.As(err, &syntax) && strings.Contains(syntax.Error(), " into struct field "): // whose text names types of Go
		line, _ := syntax.Position()
		return cli.Usage("docs/guide/alerts.md lists all keys", "%s:%d: the value of %s has the wrong type", path, line,
			strings.Join(syntax.Key(), "."))
	case errors.As(err, &syntax):
		line, _ := syntax.Position()
		return cli.Usage("docs/guide/alerts.md lists all keys", "%s:%d: %s", path, line, strings.TrimPrefix(syntax.Error(), "toml: "))
	}
	return cli.Usage("docs/guide/alerts.md lists all keys", "%s: %w", path, err)
}

// lacksChannel returns the hint for a channel that the file lacks.
func (f *alertFile) lacksChannel(name string) string {
	return cli.Suggest(name, slices.Sorted(maps.Keys(f.Channels)), "add [channels."+name+"]")
}

// usualLeast is the default of min_calls for shares, means and percentiles.
const usualLeast = 20

// check checks a rule and sets its defaults.
func (f *alertFile) check(r *alertRule, i int) error {
	wrong := func(hint, format string, args ...any) error {
		return cli.Usage(hint, "%s: rule %q: "+format, append([]any{f.path, r.Name}, args...)...)
	}
	if r.Name == "" {
		return cli.Usage(`for example: name = "many negative calls"`, "%s: rule %d has no name", f.path, i+1)
	}
	if slices.ContainsFunc(f.Rules[:i], func(other *alertRule) bool { return other.Name == r.Name }) {
		return wrong("", "the name is repeated")
	}
	conditions := 0
	for _, set := range []bool{r.Above != nil, r.Below != nil, r.Changed != ""} {
		if set {
			conditions++
		}
	}
	if conditions != 1 {
		return wrong("use above, below or changed", "it needs one condition, and has %d", conditions)
	}
	if r.Changed != "" && !slices.Contains([]string{"up", "down", "any"}, r.Changed) {
		return wrong("use up, down or any", "unknown direction changed = %q", r.Changed)
	}
	if err := r.spans(); err != nil {
		return wrong("use e.g. 1d, 7d or 6h", "%w", err)
	}
	for _, to := range r.To {
		if _, ok := f.Channels[to]; !ok {
			return wrong(f.lacksChannel(to), "unknown channel %q", to)
		}
	}
	if len(r.To) == 0 {
		return wrong(`for example: to = ["ops"]`, "it has no channel")
	}
	if err := r.question(); err != nil {
		var hint string
		var unknown *question.UnknownError
		if errors.As(err, &unknown) {
			hint = cli.DidYouMean(unknown.Nearest, "known: "+strings.Join(unknown.Known, ", "))
		}
		var group *question.GroupError
		if errors.As(err, &group) {
			hint = group.Hint
		}
		return wrong(cmp.Or(hint, cli.Hint(err)), "%w", err)
	}
	if what := r.personal(); what != "" && !r.Personal {
		return wrong("set personal = true if its messages may contain that", "%s may be personal data", what)
	}
	return nil
}

func (r *alertRule) spans() (err error) {
	if r.window, err = cli.ParseSpan(cmp.Or(r.Window, "1d")); err != nil {
		return fmt.Errorf("window: %w", err)
	}
	if r.window < 5*time.Minute {
		return errors.New("window must be 5m or more")
	}
	return nil
}

// days returns the number of whole days in the window, which ends with the last complete day; 0 for
// other windows.
func (r *alertRule) days() int {
	if r.window%(24*time.Hour) == 0 && !strings.HasSuffix(r.Window, "h") {
		return int(r.window / (24 * time.Hour))
	}
	return 0
}

// question checks the report, its arguments and the column.
func (r *alertRule) question() (err error) {
	if r.file, err = question.Report(r.Report); err != nil {
		return err
	}
	p := question.Params{By: strings.Join(r.By, ","), Where: r.Where, Field: r.Field}
	p.Since, p.Until = time.Unix(0, 0).UTC(), time.Unix(86400, 0).UTC()
	if _, err = question.Compare(r.file, p, p.Until, p.Until, time.UTC); err != nil {
		return err
	}
	var known []string
	for _, c := range r.file.Columns {
		if slices.Contains([]string{"percent", "count", "ms", "money", "number", "points"}, c.Unit) &&
			(r.Field != "" || !slices.Contains(r.file.Fielded, c.Name)) {
			known = append(known, c.Name)
		}
	}
	if !slices.Contains(known, r.Column) {
		return question.Unknown("number of the report "+r.file.Name, r.Column, known)
	}
	r.column, _ = r.file.Column(r.Column)
	if r.Changed != "" && !r.bounded() {
		return cli.Usage("use above or below", "changed needs a share or mean with bounds, and %s has none", r.Column)
	}
	for name := range r.Row {
		if !slices.Contains(r.file.Keys, name) {
			return question.Unknown("column of the rows of "+r.file.Name, name, r.file.Keys)
		}
	}
	return nil
}

// bounded reports whether the column has confidence bounds.
func (r *alertRule) bounded() bool {
	return r.column.Spread != "" || r.column.Whole != "" && r.column.Unit == "percent"
}

// comparesVersions reports whether the report itself compares a window with what was before a release.
func (r *alertRule) comparesVersions() bool { return slices.Contains(r.file.Counts, "is_earlier") }

// personal describes the possible personal data in a rule's messages; empty if there is none.
func (r *alertRule) personal() string {
	names := slices.Clone(r.By)
	for _, c := range r.Where {
		name, _, _ := strings.Cut(c, "=")
		names = append(names, name)
	}
	for _, name := range append(names, r.file.Keys...) {
		if strings.EqualFold(name, "number") || strings.Contains(name, ".") {
			return name
		}
	}
	return ""
}

// least returns the minimum number of calls, or of the column's other basis.
func (r *alertRule) least() float64 {
	switch {
	case r.MinCalls != nil:
		return *r.MinCalls
	case r.column.Unit == "count":
		return 0
	}
	return usualLeast
}

// condition describes the condition.
func (r *alertRule) condition() string {
	name := r.Column
	switch {
	case r.Above != nil:
		return name + " above " + r.threshold(*r.Above)
	case r.Below != nil:
		return name + " below " + r.threshold(*r.Below)
	}
	return name + " changed" + map[string]string{"up": ", higher", "down": ", lower"}[r.Changed]
}

// policy returns the rule's settings for its messages.
func (f *alertFile) policy(r *alertRule, source string) alert.Policy {
	about := *r
	about.To = nil                 // changed recipients do not restart an alert
	raw, _ := json.Marshal(&about) // plain fields always encode
	return alert.Policy{Name: r.Name, Definition: string(fingerprint(raw)), Source: cmp.Or(f.Title, source), Condition: r.condition(),
		Channels: r.To}
}

// channel creates a channel. secrets are texts that this program must hide in its messages.
func (f *alertFile) channel(name string, env config.Environment, stdout stdoutChannel) (_ alert.Channel, secrets []string, err error) {
	c, ok := f.Channels[name]
	if !ok {
		return nil, nil, cli.Usage(f.lacksChannel(name), "%s: unknown channel %q", f.path, name)
	}
	secret := func(what, file string) (text string) {
		if err == nil && file != "" {
			text, err = env.ReadSecret(f.resolvePath(file), what, "")
			text = strings.TrimSpace(text)
			secrets = append(secrets, text)
		}
		return text
	}
	address := c.URL
	if address == "" {
		address = secret("address", c.URLFile)
	} else if c.Type == "slack" || c.Type == "teams" {
		err = errors.New("its address is a secret: put it into a file and set url_file")
	}
	c.password = secret("password", c.PasswordFile)
	var made alert.Channel
	if err == nil {
		switch c.Type {
		case "slack", "teams", "webhook":
			made, err = newPoster(address, c.Type)
		case "mail":
			made, err = newMailer(c)
		case "stdout":
			made = stdout
		default:
			err = fmt.Errorf("unknown type %q: use slack, teams, webhook, mail or stdout", c.Type)
		}
	}
	if err != nil {
		return nil, secrets, cli.Usage(cmp.Or(cli.Hint(err), "docs/guide/alerts.md describes the channels"),
			"%s: channel %q: %w", f.path, name, err)
	}
	return made, secrets, nil
}

// resolvePath resolves a path relative to the folder of the rules file.
func (f *alertFile) resolvePath(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(filepath.Dir(f.path), path)
}
