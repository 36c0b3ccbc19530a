package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/querycmd/answer"
	"callhouse/internal/analytics"
	"callhouse/internal/analytics/duck"
	"callhouse/internal/scratch"
)

// Statements that make a view of the session, or drop one.
var (
	viewRE = regexp.MustCompile(`(?is)^create\s+(?:or\s+replace\s+)?temp(?:orary)?\s+view\s+([a-z_][a-z0-9_]*)\s+as\s+(.+)$`)
	dropRE = regexp.MustCompile(`(?is)^drop\s+view\s+(?:if\s+exists\s+)?([a-z_][a-z0-9_]*)\s*$`)
)

// view makes or drops a view of the session if text says so, and reports whether it
// does.
func (s *Session) view(ctx context.Context, text string) (bool, error) {
	if s.safe.On {
		return false, nil // there it is a statement like others, and refused
	}
	views, name := slices.Clone(s.views), ""
	if m := viewRE.FindStringSubmatch(text); m != nil {
		name = strings.ToLower(m[1])
		if slices.Contains(answer.Names(analytics.Tables()), name) {
			return true, cli.Usage("choose another name", "%s is a table of the warehouse", name)
		}
		views = append(slices.DeleteFunc(views, func(v analytics.View) bool { return v.Name == name }), analytics.View{Name: name, SQL: m[2]})
	} else if m := dropRE.FindStringSubmatch(text); m != nil {
		name = strings.ToLower(m[1])
		views = slices.DeleteFunc(views, func(v analytics.View) bool { return v.Name == name })
		if len(views) == len(s.views) {
			return true, cli.Usage(".tables lists them", "there is no view %q of this session", name)
		}
	} else {
		return false, nil
	}
	if err := s.open(ctx); err != nil {
		return true, s.a.Explain(err)
	}
	if err := s.house.Define(ctx, views); err != nil {
		var d *duck.Error
		if errors.As(err, &d) {
			d.Line = 0 // it is the place in another text
		}
		return true, err
	}
	s.views = views
	return true, nil
}

// edit opens the last statement in the user's editor, and runs the result.
func (s *Session) edit(ctx context.Context, _ []string) error {
	if !s.interactive || !cli.IsTerminal(s.a.Stdin) {
		return cli.Usage("leave it out of scripts", ".edit needs a terminal")
	}
	dir, err := scratch.Make(scratch.Edit)
	if err != nil {
		return fmt.Errorf("make a folder for the editor: %w", err)
	}
	defer func() { _ = dir.Remove() }()
	path := filepath.Join(dir.Path, "query.sql")
	if err := os.WriteFile(path, []byte(s.last+"\n"), 0o600); err != nil {
		return err
	}
	editor := "vi"
	for _, name := range []string{"EDITOR", "VISUAL"} {
		if v := os.Getenv(name); v != "" {
			editor = v
		}
	}
	// Ctrl-C is the editor's while it runs.
	cmd := exec.CommandContext(context.WithoutCancel(ctx), "sh", "-c", editor+` "$1"`, "sh", path)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return cli.Fail(cli.ExitFailed, fmt.Errorf("the editor %s: %w; nothing is run", editor, err), "EDITOR names another one")
	}
	text, err := answer.ReadFile(path)
	if err != nil {
		return err
	}
	if text = strings.TrimSpace(text); text == "" || text == s.last {
		s.say("nothing is changed, and nothing is run")
		return nil
	}
	if err := s.history.Add(text); err != nil {
		s.say("note: %v", err)
	}
	return s.script(ctx, strings.NewReader(text), "")
}

// savedName is what a saved query may be called, so that every system can have such
// a file.
var savedName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`)

// savedFile is the file of a saved query; "" gives the folder of all.
func savedFile(name string) (string, error) {
	if name != "" && !savedName.MatchString(name) {
		return "", cli.Usage("use letters, digits, - and _, 64 at the most", "%q is no name for a query", name)
	}
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", fmt.Errorf("find the folder of saved queries: %w", err)
	}
	dir = filepath.Join(dir, "callhouse", "queries")
	if name == "" {
		return dir, nil
	}
	return filepath.Join(dir, name+".sql"), nil
}

func (s *Session) save(_ context.Context, words []string) error {
	path, err := savedFile(words[0])
	if err != nil {
		return err
	}
	if s.last == "" {
		return cli.Usage("run it first, then save it", "there is no statement to save yet")
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return answer.Unwritable(path, err)
	}
	err = answer.WriteFileMode(path, 0o600, func(w io.Writer) error {
		_, err := io.WriteString(w, s.last+"\n")
		return err
	})
	if err == nil {
		s.say("saved: .run %s runs it", words[0])
	}
	return err
}

func (s *Session) runSaved(ctx context.Context, words []string) error {
	path, err := savedFile(words[0])
	if err != nil {
		return err
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return cli.Usage(cli.Suggest(words[0], savedNames(), ".saved lists them"), "no query is saved as %q", words[0])
	}
	return s.readFile(ctx, []string{path})
}

func (s *Session) saved(ctx context.Context, _ []string) error {
	dir, err := savedFile("")
	if err != nil {
		return err
	}
	var rows [][]any
	for _, name := range savedNames() {
		text, err := answer.ReadFile(filepath.Join(dir, name+".sql"))
		if err != nil {
			return err
		}
		rows = append(rows, []any{name, strings.Join(strings.Fields(text), " ")})
	}
	s.say("in %s", dir)
	return s.facts(ctx, []string{"query", "text"}, rows)
}

// savedNames are the names of the saved queries.
func savedNames() (out []string) {
	dir, err := savedFile("")
	if err != nil {
		return nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), ".sql"); ok && savedName.MatchString(name) {
			out = append(out, name)
		}
	}
	return out
}
