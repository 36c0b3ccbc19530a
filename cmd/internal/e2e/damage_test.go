package e2e

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/layout"
	"callhouse/internal/longtest"
	"callhouse/internal/sink"
	"callhouse/internal/test"
)

var (
	damageCells = longtest.Int("damage-cells", 3, 40, "how many cells of the damage matrix are tried, 0 for all")
	damageFlips = flag.Int("damage-flips", 6, "at how many places of each file a bit is flipped")
	every       = longtest.Int("every", 6, 1, "try one in n of the questions and links of a kind, by chance")
)

// order is a command of the matrix.
type order struct {
	name  string
	args  []string
	query bool
	reads bool // it does not change the warehouse
	plain bool // its output on a sound warehouse is constant
}

func (e *estate) orders() []order {
	everything := "SELECT c.*, (SELECT count(*) FROM transcript_turns t WHERE t.call_id = c.call_id AND length(content) > 0) AS n, " +
		"(SELECT string_agg(content || role || coalesce(arguments::VARCHAR, ''), '' ORDER BY turn) FROM transcript_turns t WHERE t.call_id = c.call_id) AS said, " +
		"(SELECT string_agg(name || value::VARCHAR, '' ORDER BY position) FROM analysis_items i WHERE i.call_id = c.call_id) AS found FROM calls c ORDER BY call_id"
	return []order{
		{name: "plan", args: []string{"plan"}, reads: true},
		{name: "status", args: []string{"status"}, reads: true},
		{name: "verify", args: []string{"verify"}, reads: true},
		{name: "verify --deep", args: []string{"verify", "--deep"}, reads: true},
		{name: "show", args: []string{"show", e.callID}, reads: true, plain: true},
		{name: "rollback --list", args: []string{"rollback", "--list"}, reads: true},
		{name: "run", args: []string{"run"}},
		{name: "import", args: []string{"import", e.dump}},
		{name: "compact", args: []string{"compact"}},
		{name: "compact --redact", args: []string{"compact", "--redact", "card"}},
		{name: "forget", args: []string{"forget", "--yes", "--call-id", e.callID}},
		{name: "rollback", args: []string{"rollback"}},
		{name: "repair", args: []string{"repair"}},
		{name: "query sentiment", args: []string{"sentiment", "--by", "month"}, query: true, reads: true, plain: true},
		{name: "query durations", args: []string{"durations"}, query: true, reads: true, plain: true},
		{name: "query tools", args: []string{"tools"}, query: true, reads: true, plain: true},
		{name: "query sql", args: []string{"sql", everything, "--format", "json"}, query: true, reads: true, plain: true},
		{name: "query runs", args: []string{"sql", "SELECT * FROM runs", "--format", "json"}, query: true, reads: true, plain: true},
		{name: "query check", args: []string{"check"}, query: true, reads: true},
		{name: "query catalog", args: []string{"catalog", "--output", filepath.Join(e.t.TempDir(), "c.duckdb")}, query: true},
	}
}

func (e *estate) obey(o order) result {
	if o.query {
		return e.query(o.args...)
	}
	return e.run(o.args...)
}

// injury is a way to damage a warehouse.
type injury struct {
	name string
	// harmless means that the file has no calls, and verify need not find the damage.
	harmless bool
	do       func(root string) error
}

// injuries returns all kinds of damage to all kinds of files.
func (e *estate) injuries() (out []injury) {
	e.t.Helper()
	outside := filepath.Join(e.t.TempDir(), "outside")
	s := current(e.t, e.template)
	files := map[string]string{} // kind -> path inside the warehouse
	inSnapshot := func(kind, path string) {
		files[kind] = filepath.Join(layout.SnapshotsName, filepath.Base(s.Dir), filepath.FromSlash(path))
	}
	inSnapshot("manifest", layout.ManifestName)
	inSnapshot("tombstones", s.Manifest.Forgotten.Path)
	for _, f := range s.Manifest.Files {
		kind := f.Table
		if len(f.Period) == len("2026-10") {
			kind += " of a month"
		}
		if _, ok := files[kind]; !ok {
			inSnapshot(kind, f.Path)
		}
	}
	for kind, pattern := range map[string]string{"journal": "journal/*/*.zst", "lock": "lock", "pin": "pins/*.json", "mask key": "mask.key",
		"older manifest": filepath.Join(layout.SnapshotsName, layout.SnapshotName(s.Manifest.Snapshot-1), layout.ManifestName)} {
		found, err := filepath.Glob(filepath.Join(e.template, pattern))
		if err != nil || len(found) == 0 {
			e.t.Fatalf("the estate has no %s: %v", kind, err)
		}
		files[kind], _ = filepath.Rel(e.template, found[0])
	}
	for _, kind := range []string{"calls of a month", "transcript_turns of a month", "tool_calls of a month", "calls", "runs"} {
		if files[kind] == "" {
			e.t.Fatalf("the estate has no %s, but %v", kind, slices.Sorted(maps.Keys(files)))
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(files)) {
		path := files[kind]
		harmless := kind == "lock" || kind == "pin" || kind == "mask key"
		add := func(name string, harmless bool, do func(string) error) {
			out = append(out, injury{name: kind + " " + name, harmless: harmless, do: func(root string) error { return do(filepath.Join(root, path)) }})
		}
		edit := func(change func([]byte) []byte) func(string) error {
			return func(path string) error { // in place: other snapshots share the file
				raw, err := os.ReadFile(path)
				if err != nil {
					return err
				}
				return os.WriteFile(path, change(raw), 0o600)
			}
		}
		// A journal truncated at a frame looks complete.
		unseen := harmless || kind == "journal"
		info, err := os.Stat(filepath.Join(e.template, path))
		test.OK(e.t, err)
		add("missing", unseen, os.Remove)
		if info.Size() > 0 {
			add("empty", unseen, edit(func([]byte) []byte { return nil }))
			add("cut in half", unseen, edit(func(b []byte) []byte { return b[:len(b)/2] }))
			add("cut by a byte", unseen, edit(func(b []byte) []byte { return b[:len(b)-1] }))
		}
		add("is a link", harmless, func(path string) error {
			if err := os.Rename(path, outside); err != nil {
				return err
			}
			return os.Symlink(outside, path)
		})
		add("is a folder", harmless, func(path string) error { return errors.Join(os.Remove(path), os.Mkdir(path, 0o700)) })
		if strings.HasSuffix(kind, "manifest") {
			add("of a later version", false, func(path string) error {
				raw, err := os.ReadFile(path)
				if err != nil {
					return err
				}
				m, err := layout.ParseManifest(raw)
				if err != nil {
					return err
				}
				m.FormatVersion = 99
				if raw, err = m.Encode(); err != nil {
					return err
				}
				return os.WriteFile(path, raw, 0o600)
			})
		}
		if info.Size() == 0 { // the lock
			continue
		}
		seed := fnv.New64()
		fmt.Fprint(seed, kind)
		random := rand.New(rand.NewPCG(seed.Sum64(), 1))
		for i := range *damageFlips {
			at, bit := random.Int64N(info.Size()), byte(1)<<random.IntN(8)
			switch i { // some bits are chosen
			case 0:
				at = info.Size() - 9 // the position of the footer's length
			case 1:
				at = 5
			}
			add(fmt.Sprintf("bit %#x flipped at %d", bit, at), harmless, edit(func(b []byte) []byte { b[at] ^= bit; return b }))
		}
	}
	link := func(name, target string) {
		out = append(out, injury{name: "current " + name, do: func(root string) error {
			path := filepath.Join(root, layout.CurrentName)
			if err := os.Remove(path); err != nil || target == "" {
				return err
			}
			return os.Symlink(target, path)
		}})
	}
	link("missing", "")
	link("points nowhere", "snapshots/999999")
	link("points out of the warehouse", "/etc")
	link("points at itself", "current")
	for _, kind := range []string{"file", "folder"} {
		out = append(out, injury{name: "current is a " + kind, do: func(root string) error {
			path := filepath.Join(root, layout.CurrentName)
			if err := os.Remove(path); err != nil {
				return err
			}
			if kind == "file" {
				return os.WriteFile(path, []byte("snapshots/000001"), 0o600)
			}
			return os.Mkdir(path, 0o700)
		}})
	}
	out = append(out, injury{name: "snapshots is a link", do: func(root string) error {
		to := filepath.Join(outside + "-snapshots")
		if err := errors.Join(os.RemoveAll(to), os.Rename(filepath.Join(root, layout.SnapshotsName), to)); err != nil {
			return err
		}
		return os.Symlink(to, filepath.Join(root, layout.SnapshotsName))
	}})
	return out
}

// state returns every call's JSON in a warehouse; nil if it does not open.
func state(t *testing.T, root string) map[string]string {
	t.Helper()
	s, err := layout.Current(root)
	if err != nil {
		return nil
	}
	out := map[string]string{}
	for call, err := range sink.Calls(context.Background(), s) {
		if err != nil {
			return nil
		}
		out[string(call.ID())] = string(call.AppendJSON(nil))
	}
	return out
}

// fetchable returns the part of a state that a service with all calls would send again: it signs
// links to recordings anew, and lacks the calls of a test's journal.
func fetchable(state map[string]string) map[string]string {
	out := map[string]string{}
	for id, call := range state {
		if !strings.HasPrefix(id, "left-") {
			out[id] = recordingURL.ReplaceAllString(call, "")
		}
	}
	return out
}

var recordingURL = regexp.MustCompile(`"recording_url":"[^"]*",`)

// tree lists a warehouse's names with data that shows changes. The lock holds the requests sent,
// also by commands that only read.
func tree(t *testing.T, root string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, path)
		switch {
		case rel == layout.LockName || rel == layout.StateName || rel == layout.RequestsName || rel == ".": // written by whoever takes the lock
		case rel == layout.VerdictName: // written by verify
		case d.IsDir():
			out = append(out, fmt.Sprint(rel, " ", info.Mode(), " ", info.ModTime().UnixNano()))
		default:
			out = append(out, fmt.Sprint(rel, " ", info.Mode(), " ", info.Size(), " ", info.ModTime().UnixNano()))
		}
		return nil
	})
	test.OK(t, err)
	return out
}

func snapshotsIn(t *testing.T, root string) (out []string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(root, layout.SnapshotsName))
	test.OK(t, err)
	for _, e := range entries {
		if _, ok := layout.ParseSnapshotName(e.Name()); ok {
			out = append(out, e.Name())
		}
	}
	return out
}

// missingFrom returns the elements of all that are not in some.
func missingFrom(some, all []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(s string) bool { return slices.Contains(some, s) })
}

// Every kind of damage to every kind of file, under every command: the result is the right answer,
// a clear refusal, or a repaired warehouse and a message. No call is lost, reading commands change
// nothing, and a warehouse that verify calls whole is whole.
func TestDamageMatrix(t *testing.T) {
	longtest.Only(t)
	e := newEstate(t)
	type want struct {
		result  result
		state   map[string]string
		removed []string // snapshots that it removes
	}
	// The result of a command on a sound warehouse.
	sound := map[string]want{}
	learn := func(o order) {
		if _, ok := sound[o.name]; ok {
			return
		}
		copyTree(t, e.template, e.warehouse)
		before := tree(t, e.warehouse)
		r := e.obey(o)
		if r.code != cli.ExitOK {
			t.Fatalf("%s on a sound warehouse: exit code %d\n%s", o.name, r.code, r.stderr)
		}
		if after := tree(t, e.warehouse); o.reads && !slices.Equal(before, after) {
			t.Errorf("%s changed a sound warehouse from\n%s\nto\n%s", o.name, strings.Join(before, "\n"), strings.Join(after, "\n"))
		}
		sound[o.name] = want{r, state(t, e.warehouse), missingFrom(snapshotsIn(t, e.warehouse), snapshotsIn(t, e.template))}
	}
	orders := e.orders()
	type cell struct {
		injury injury
		order  order
	}
	var cells []cell
	for _, i := range e.injuries() {
		for _, o := range orders {
			cells = append(cells, cell{i, o})
		}
	}
	t.Logf("%d cells", len(cells))
	if n := *damageCells; n > 0 && n < len(cells) {
		longtest.Rand(t).Shuffle(len(cells), func(i, j int) { cells[i], cells[j] = cells[j], cells[i] })
		cells = cells[:n]
	}
	outcomes := map[string]int{}
	for _, c := range cells {
		t.Run(c.injury.name+"/"+c.order.name, func(t *testing.T) {
			learn(c.order)
			copyTree(t, e.template, e.warehouse)
			test.OK(t, c.injury.do(e.warehouse))
			before, snapshots := tree(t, e.warehouse), snapshotsIn(t, e.warehouse)
			r := e.obey(c.order)
			fail := func(format string, args ...any) {
				t.Helper()
				t.Errorf("%s\nexit code %d\nstdout: %.1500s\nstderr: %.1500s", fmt.Sprintf(format, args...), r.code, r.stdout, r.stderr)
			}
			if strings.Contains(r.stderr, "goroutine ") || strings.Contains(r.stderr, "panic") {
				fail("a stack trace")
			}
			if c.order.reads {
				if after := tree(t, e.warehouse); !slices.Equal(before, after) {
					fail("a command that reads changed the warehouse")
				}
			}
			good := r.code == cli.ExitOK || r.code == cli.ExitIncomplete
			if !good && r.stderr+r.stdout == "" {
				fail("it refused without a word")
			}
			if gone := missingFrom(snapshotsIn(t, e.warehouse), snapshots); len(missingFrom(sound[c.order.name].removed, gone)) > 0 {
				fail("it removed the snapshots %v", gone)
			}
			switch {
			case !good:
				outcomes["refused"]++
			case c.order.plain && r.stdout != sound[c.order.name].result.stdout:
				fail("a wrong answer; right is\n%.1500s", sound[c.order.name].result.stdout)
			case strings.HasPrefix(c.order.name, "verify") && !c.injury.harmless && !strings.HasPrefix(c.injury.name, "older"): // which it does not read
				if r.code == cli.ExitOK {
					fail("verify says that it is whole")
				}
			case c.order.reads:
				outcomes["right"]++
			case c.order.name == "repair":
				if v := e.run("verify"); v.code != cli.ExitOK {
					fail("it is still damaged: %s", v.stdout)
				}
				if diff := cmp.Diff(fetchable(sound[c.order.name].state), fetchable(state(t, e.warehouse))); diff != "" {
					fail("after the repair (-want +got):\n%s", diff)
				}
				outcomes["repaired"]++
			default:
				if v := e.run("verify"); v.code != cli.ExitOK {
					outcomes["went on, and is known to be damaged"]++
					break
				}
				got := state(t, e.warehouse)
				want := maps.Clone(sound[c.order.name].state)
				if strings.HasPrefix(c.injury.name, "journal") {
					// Its calls that the service does not know have no other copy.
					maps.DeleteFunc(want, func(id, _ string) bool { return strings.HasPrefix(id, "left-") && got[id] == "" })
				}
				if !maps.Equal(got, want) {
					fail("verify says that it is whole, and it holds %d calls that are not the %d that it should", len(got), len(want))
				}
				outcomes["right"]++
			}
		})
	}
	t.Logf("outcomes: %v", outcomes)
}
