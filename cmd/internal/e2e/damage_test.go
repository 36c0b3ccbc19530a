package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"io/fs"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/layout"
	"callhouse/internal/sandbox"
	"callhouse/internal/schema"
	"callhouse/internal/sink"
)

var (
	damageCells = flag.Int("damage-cells", 4, "how many cells of the damage matrix are tried, 0 for all; make long tries 40, make damage all")
	damageFlips = flag.Int("damage-flips", 6, "at how many places of each file a bit is flipped")
	every       = flag.Int("every", 3, "of questions and links that are many of a kind, try one in so many, by chance; make long tries all")
)

// estate is a warehouse with every kind of file, and copies of it to break.
type estate struct {
	*company
	template string
	callID   string
	dump     string // a file for import
}

func newEstate(t *testing.T) *estate {
	t.Helper()
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	e := &estate{company: found(t, sandbox.Options{World: sandbox.Config{Seed: 5, Calls: 90, Days: 50}})}
	for range 3 {
		e.mustExtract("--mask=to_number")
		e.clock.Advance(26 * time.Hour)
	}
	ids := e.sql("SELECT call_id FROM calls WHERE turn_count > 2 ORDER BY start_at LIMIT 2")
	e.callID = ids[1]["call_id"].(string)
	if r := e.run("forget", "--yes", "--call-id", ids[0]["call_id"].(string)); r.code != cli.ExitOK {
		t.Fatal(r)
	}
	e.clock.Advance(26 * time.Hour)
	e.mustExtract()
	if r := e.query("catalog", "--output", filepath.Join(t.TempDir(), "calls.duckdb")); r.code != cli.ExitOK {
		t.Fatal(r)
	}
	e.leaveJournal()
	e.dump = filepath.Join(t.TempDir(), "dump.ndjson")
	if err := os.WriteFile(e.dump, []byte(`{"id":"imported","status":"ended","start_at":1790000000000}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	e.template = e.warehouse + ".template"
	copyTree(t, e.warehouse, e.template)
	return e
}

// leaveJournal leaves what a killed run does: two segments that were not committed.
func (e *estate) leaveJournal() {
	e.t.Helper()
	now := e.clock.Now()
	w, err := sink.Open(sink.Options{Root: e.warehouse, RunID: layout.RunID(now, 7), Now: e.clock.Now})
	if err != nil {
		e.t.Fatal(err)
	}
	for i := range 6 {
		id := fmt.Sprintf("left-%d", i)
		body := fmt.Sprintf(`{"id":%q,"status":"ended","start_at":%d,"end_at":%d}`, id, now.UnixMilli(), now.UnixMilli())
		if err := w.Put(context.Background(), schema.Record{Kind: schema.KindItem, CallID: id, FetchedAt: now.UnixMilli(), Body: []byte(body)}); err != nil {
			e.t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		e.t.Fatal(err)
	}
}

// copyTree copies a folder with its hard links.
func copyTree(t *testing.T, from, to string) {
	t.Helper()
	if err := os.RemoveAll(to); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("cp", "-a", from, to).CombinedOutput(); err != nil {
		t.Fatalf("cp: %v\n%s", err, out)
	}
}

// run runs extract by the estate's clock, against its service.
func (e *estate) run(args ...string) result {
	e.t.Helper()
	return e.extract(e.t.Context(), args...)
}

// order is a command of the matrix.
type order struct {
	name  string
	args  []string
	query bool
	reads bool // it changes nothing in the warehouse
	plain bool // its output is the same on a sound warehouse at any time
}

func (e *estate) orders() []order {
	everything := "SELECT c.*, (SELECT count(*) FROM transcript_turns t WHERE t.call_id = c.call_id AND length(content) > 0) AS n, " +
		"(SELECT string_agg(content || role || coalesce(arguments::VARCHAR, ''), '' ORDER BY turn) FROM transcript_turns t WHERE t.call_id = c.call_id) AS said, " +
		"(SELECT string_agg(name || value::VARCHAR, '' ORDER BY position) FROM analysis_items i WHERE i.call_id = c.call_id) AS found FROM calls c ORDER BY call_id"
	return []order{
		{name: "plan", args: []string{"plan"}, reads: true},
		{name: "status", args: []string{"status"}, reads: true},
		{name: "verify", args: []string{"verify", "--all"}, reads: true},
		{name: "verify --deep", args: []string{"verify", "--deep=3"}, reads: true},
		{name: "show", args: []string{"show", e.callID}, reads: true, plain: true},
		{name: "rollback --list", args: []string{"rollback", "--list"}, reads: true},
		{name: "run", args: []string{"run"}},
		{name: "import", args: []string{"import", e.dump}},
		{name: "compact", args: []string{"compact", "--all"}},
		{name: "migrate", args: []string{"migrate"}},
		{name: "forget", args: []string{"forget", "--yes", "--call-id", e.callID}},
		{name: "rollback", args: []string{"rollback"}},
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
	// harmless says that the file holds no call, and that verify need not find it.
	harmless bool
	do       func(root string) error
}

// injuries are all kinds of damage to all kinds of files.
func (e *estate) injuries() (out []injury) {
	e.t.Helper()
	outside := filepath.Join(e.t.TempDir(), "outside")
	s, err := layout.Current(e.template)
	if err != nil {
		e.t.Fatal(err)
	}
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
	for _, kind := range []string{"calls of a month", "transcript_turns of a month", "word_tallies of a month", "calls", "runs"} {
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
			return func(path string) error { // in place: other snapshots have the same file
				raw, err := os.ReadFile(path)
				if err != nil {
					return err
				}
				return os.WriteFile(path, change(raw), 0o600)
			}
		}
		// A journal that is gone to its end was never there, as far as anybody can tell.
		unseen := harmless || kind == "journal"
		add("missing", unseen, os.Remove)
		add("empty", unseen, edit(func([]byte) []byte { return nil }))
		add("cut in half", unseen, edit(func(b []byte) []byte { return b[:len(b)/2] }))
		add("cut by a byte", unseen, edit(func(b []byte) []byte { return b[:len(b)-1] }))
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
		info, err := os.Stat(filepath.Join(e.template, path))
		if err != nil {
			e.t.Fatal(err)
		}
		seed := fnv.New64()
		fmt.Fprint(seed, kind)
		random := rand.New(rand.NewPCG(seed.Sum64(), 1))
		for i := range *damageFlips {
			at, bit := random.Int64N(info.Size()), byte(1)<<random.IntN(8)
			switch i { // some are not left to chance
			case 0:
				at = info.Size() - 9 // what tells where a footer begins
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

// state is what a warehouse holds: every call's JSON; nil where it does not open.
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
		out[string(call.ID)] = string(call.AppendJSON(nil))
	}
	return out
}

// tree lists a warehouse's names with what tells whether they were changed. The
// lock holds the requests that were sent, also those of commands that only read.
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
		case rel == layout.LockName || rel == ".": // whose time a lock that is made changes
		case d.IsDir():
			out = append(out, fmt.Sprint(rel, " ", info.Mode(), " ", info.ModTime().UnixNano()))
		default:
			out = append(out, fmt.Sprint(rel, " ", info.Mode(), " ", info.Size(), " ", info.ModTime().UnixNano()))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func snapshotsIn(t *testing.T, root string) (out []string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(root, layout.SnapshotsName))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if _, ok := layout.ParseSnapshotName(e.Name()); ok {
			out = append(out, e.Name())
		}
	}
	return out
}

// missingFrom returns those of all that are not in some.
func missingFrom(some, all []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(s string) bool { return slices.Contains(some, s) })
}

// Every kind of damage to every kind of file, under every command: the outcome is
// the right answer, a clear refusal, or a warehouse that was mended and a line that
// says so. No call is lost, a command that reads changes nothing, and what verify
// calls whole is right.
func TestDamageMatrix(t *testing.T) {
	e := newEstate(t)
	type want struct {
		result  result
		state   map[string]string
		removed []string // the snapshots that it removes
	}
	// What an order comes to on a sound warehouse.
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
	seed := rand.Uint64()
	t.Logf("%d cells, seed %d", len(cells), seed)
	if n := *damageCells; n > 0 && n < len(cells) {
		random := rand.New(rand.NewPCG(seed, 0))
		random.Shuffle(len(cells), func(i, j int) { cells[i], cells[j] = cells[j], cells[i] })
		cells = cells[:n]
	}
	outcomes := map[string]int{}
	for _, c := range cells {
		t.Run(c.injury.name+"/"+c.order.name, func(t *testing.T) {
			learn(c.order)
			copyTree(t, e.template, e.warehouse)
			if err := c.injury.do(e.warehouse); err != nil {
				t.Fatal(err)
			}
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
			if !good && r.stderr == "" {
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
			case strings.HasPrefix(c.order.name, "verify") && !c.injury.harmless && !(c.order.name == "verify --deep" && strings.HasPrefix(c.injury.name, "older")):
				if r.code == cli.ExitOK {
					fail("verify says that it is whole")
				}
			case c.order.reads:
				outcomes["right"]++
			default:
				if v := e.run("verify", "--all"); v.code != cli.ExitOK {
					outcomes["went on, and is known to be damaged"]++
					break
				}
				got := state(t, e.warehouse)
				want := maps.Clone(sound[c.order.name].state)
				if strings.HasPrefix(c.injury.name, "journal") {
					// What it held of calls that the service does not know is nowhere else.
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

// A bit in the middle of what a killed run left in the journal: the next run says
// so, lists and fetches again what was lost, and ends with all of it. What the
// journal says is covered is not believed then: the lost calls were on those pages.
func TestBrokenJournalIsFetchedAgain(t *testing.T) {
	t.Parallel()
	c := found(t, sandbox.Options{World: sandbox.Config{Seed: 21, Calls: 60, Days: 10}})
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.service.URL+"/v3/calls?limit=100", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+testKey)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	var page struct {
		Items []json.RawMessage `json:"items"`
	}
	if err := errors.Join(json.NewDecoder(res.Body).Decode(&page), res.Body.Close()); err != nil || len(page.Items) == 0 {
		t.Fatal(err, len(page.Items))
	}
	now := c.clock.Now()
	w, err := sink.Open(sink.Options{Root: c.warehouse, RunID: layout.RunID(now.Add(-time.Hour), 1), Now: c.clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	put := func(r schema.Record) {
		t.Helper()
		if r.FetchedAt = now.UnixMilli(); err == nil {
			err = w.Put(t.Context(), r)
		}
	}
	for _, item := range page.Items {
		var id struct {
			ID string `json:"id"`
		}
		err = errors.Join(err, json.Unmarshal(item, &id))
		put(schema.Record{Kind: schema.KindItem, CallID: id.ID, Body: item})
	}
	put(schema.Record{Kind: schema.KindCovered, Body: fmt.Appendf(nil, `{"from":0,"to":%d,"listed_at":%d}`, now.UnixMilli(), now.UnixMilli())})
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	segments, err := filepath.Glob(filepath.Join(c.warehouse, "journal/*/*.zst"))
	if err != nil || len(segments) != 1 {
		t.Fatal(segments, err)
	}
	raw, err := os.ReadFile(segments[0])
	if err != nil {
		t.Fatal(err)
	}
	raw[len(raw)/2] ^= 0x10
	if err := os.WriteFile(segments[0], raw, 0o600); err != nil {
		t.Fatal(err)
	}
	r := c.mustExtract("--quiet")
	if !strings.Contains(r.stderr, "is damaged from byte") || !strings.Contains(r.stderr, "fetched again") {
		t.Errorf("the run did not say what was damaged:\n%s", r.stderr)
	}
	sameAsTruth(t, c)
	if r := c.mustExtract("--quiet"); r.stderr != "" {
		t.Errorf("the next run says:\n%s", r.stderr)
	}
}

// Links in the places of folders and files that a run writes or removes: what they
// lead to is left alone.
func TestLinksAreNotFollowed(t *testing.T) {
	t.Parallel()
	for name, plant := range map[string]func(root, away string) error{ // in any order
		"lock": func(root, away string) error {
			return errors.Join(os.Remove(filepath.Join(root, "lock")), os.Symlink(filepath.Join(away, "file"), filepath.Join(root, "lock")))
		},
		"lock inside": func(root, _ string) error {
			return errors.Join(os.Remove(filepath.Join(root, "lock")), os.Symlink("current/manifest.json", filepath.Join(root, "lock")))
		},
		"snapshot in the making": func(root, away string) error {
			return os.Symlink(away, filepath.Join(root, "snapshots", layout.TempName("000009", "0123456789abcdef")))
		},
		"snapshot in the making, inside": func(root, _ string) error {
			return os.Symlink("000001", filepath.Join(root, "snapshots", layout.TempName("000009", "0123456789abcdef")))
		},
		"link in the making": func(root, away string) error {
			return os.Symlink(filepath.Join(away, "file"), filepath.Join(root, layout.TempName("current", "0123456789abcdef")))
		},
		"superseded snapshot": func(root, away string) error {
			return os.Symlink(away, filepath.Join(root, "snapshots", "000000"))
		},
		"journal of a run": func(root, away string) error {
			return os.Symlink(away, filepath.Join(root, "journal", "20260101T000000Z-00000000"))
		},
		"journal": func(root, away string) error {
			return errors.Join(os.Remove(filepath.Join(root, "journal")), os.Symlink(away, filepath.Join(root, "journal")))
		},
		"pins": func(root, away string) error { return os.Symlink(away, filepath.Join(root, "pins")) },
	} {
		if rand.IntN(*every) > 0 {
			continue
		}
		t.Run(name, func(t *testing.T) {
			c := found(t, sandbox.Options{World: sandbox.Config{Seed: 3, Calls: 20, Days: 5}})
			c.mustExtract()
			away := t.TempDir()
			if err := os.WriteFile(filepath.Join(away, "file"), []byte("not ours"), 0o640); err != nil {
				t.Fatal(err)
			}
			if err := plant(c.warehouse, away); err != nil {
				t.Fatal(err)
			}
			first := filepath.Join(c.warehouse, "snapshots", "000001")
			before, inFirst := tree(t, away), tree(t, first)
			for range 3 {
				r := c.extract(t.Context(), "--quiet")
				if r.code != cli.ExitOK && (r.code != cli.ExitFailed || !strings.Contains(r.stderr, "damaged")) {
					t.Fatalf("exit code %d\n%s", r.code, r.stderr)
				}
			}
			c.query("catalog", "--output", filepath.Join(t.TempDir(), "c.duckdb"))
			if now := tree(t, first); !slices.Equal(now, inFirst) {
				t.Errorf("the first snapshot was %q, and is %q", inFirst, now)
			}
			c.clock.Advance(60 * time.Hour)
			c.extract(t.Context(), "--quiet")
			if now := tree(t, away); !slices.Equal(now, before) {
				t.Errorf("what the link leads to was %q, and is %q", before, now)
			}
		})
	}
}

// Files that belong to somebody else: the real program, as a user without rights,
// says which file it may not read or write, and changes nothing.
func TestForeignOwner(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can give files away")
	}
	const nobody = 65534
	e := newEstate(t)
	dir, err := os.MkdirTemp("", "callhouse-foreign-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	self, err := os.Executable() // which is a program when it is called by its name
	if err == nil {
		var out []byte
		if out, err = exec.CommandContext(t.Context(), "cp", self, filepath.Join(dir, "extract")).CombinedOutput(); err != nil {
			t.Fatalf("%s", out)
		}
		err = os.Link(filepath.Join(dir, "extract"), filepath.Join(dir, "query"))
	}
	if err != nil {
		t.Fatal(err)
	}
	root, key := filepath.Join(dir, "w"), filepath.Join(dir, "key")
	copyTree(t, e.template, root)
	if err := errors.Join(os.Chmod(dir, 0o755), os.WriteFile(key, []byte(testKey), 0o600), os.Chown(key, nobody, nobody)); err != nil {
		t.Fatal(err)
	}
	give := func(to int, paths ...string) {
		t.Helper()
		for _, path := range paths {
			if err := os.Lchown(path, to, to); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error { give(nobody, path); return err }); err != nil {
		t.Fatal(err)
	}
	s, err := layout.Current(root)
	if err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) result {
		cmd := exec.CommandContext(t.Context(), filepath.Join(dir, args[0]), append(args[1:], "--warehouse", root)...)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		cmd.Dir, cmd.Env = "/", []string{"HOME=/nonexistent", "PATH=/usr/bin:/bin"}
		if args[0] == "extract" {
			cmd.Args = append(cmd.Args, "--base-url", e.service.URL, "--api-key-file", key, "--requests-per-second", "2000", "--requests-per-minute", "100000")
		}
		var out, errs strings.Builder
		cmd.Stdout, cmd.Stderr = &out, &errs
		if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
			t.Fatal(err)
		}
		return result{cmd.ProcessState.ExitCode(), out.String(), errs.String()}
	}
	if r := run("extract", "verify", "--all"); r.code != cli.ExitOK {
		t.Fatalf("as the owner: %+v", r)
	}
	calls := s.Path(s.Manifest.FilesOf(schema.Calls.Name)[0])
	for _, path := range []string{calls, filepath.Join(s.Dir, layout.ManifestName), filepath.Join(root, "snapshots"), filepath.Join(root, "lock"), root} {
		give(0, path)
		info, err := os.Lstat(path)
		if err == nil {
			err = os.Chmod(path, info.Mode().Perm()&0o700)
		}
		if err != nil {
			t.Fatal(err)
		}
		before := tree(t, root)
		for _, args := range [][]string{{"extract", "run", "--yes"}, {"extract", "plan"}, {"extract", "verify"}, {"extract", "compact"}, {"query", "sql", "SELECT count(DISTINCT summary) FROM calls"}} {
			r := run(args...)
			reads := args[1] == "plan" || args[1] == "verify" || args[0] == "query"
			if r.code == cli.ExitOK && !(reads && (path == calls || strings.HasSuffix(path, "lock"))) && !(args[1] == "compact" && path == calls) {
				t.Errorf("%s is root's, and %v went on:\n%s%s", path, args, r.stdout, r.stderr)
			}
			if r.code != cli.ExitOK && !strings.Contains(r.stderr+r.stdout, "permission denied") {
				t.Errorf("%s is root's, and %v says:\n%s%s", path, args, r.stdout, r.stderr)
			}
		}
		// A run may well commit what it does not need that file for.
		if after := tree(t, root); path != calls && !slices.Equal(before, after) {
			t.Errorf("%s is root's, and the warehouse was changed", path)
		}
		give(nobody, path)
	}
}
