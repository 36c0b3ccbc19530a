package analytics_test

import (
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"callhouse/internal/analytics"
	"callhouse/internal/analytics/analyticstest"
	"callhouse/internal/analytics/opened"
	"callhouse/internal/analytics/plan"
	"callhouse/internal/analytics/question"
	"callhouse/internal/analytics/rights"
	"callhouse/internal/layout"
	"callhouse/internal/longtest"
	"callhouse/internal/schema"
	"callhouse/internal/test"
	sqlfiles "callhouse/sql"
)

// claimMore makes the manifest claim so many calls for each one that questions are answered in parts.
func claimMore(t *testing.T, root string, times int64) {
	t.Helper()
	analyticstest.Edit(t, filepath.Join(root, "snapshots", "000001", "manifest.json"), func(m *layout.Manifest) {
		for i := range m.Files {
			if m.Files[i].Table == schema.Calls.Name {
				m.Files[i].Rows *= times
			}
		}
	})
}

// compacted returns a warehouse of random calls with one file per table and month.
func compacted(t *testing.T) (string, analyticstest.Data) {
	t.Helper()
	d := randomData(longtest.Rand(t), 200)
	d.Compacted = func(string) bool { return true }
	root := t.TempDir()
	analyticstest.Write(t, root, 1, d)
	return root, d
}

// What belongs to many calls is joined with them in parts of some months, for every reader.
func TestJoinsInParts(t *testing.T) {
	root, _ := compacted(t)
	with := func(r rights.Rights) *analytics.Warehouse {
		w, err := analytics.Open(t.Context(), root, analytics.Options{Options: opened.Options{Rights: r}})
		test.OK(t, err)
		t.Cleanup(func() { w.Close() })
		return w
	}
	readers := []rights.Rights{{}, {Agents: []string{"a1-one", "b-three"}}, {Masked: []string{"from_number"}}}
	var whole []*analytics.Warehouse
	for _, r := range readers {
		whole = append(whole, with(r))
	}
	claimMore(t, root, 50_000)
	tools, _ := question.Report("tools")
	q, _ := question.Of(tools, question.Params{By: "agent"})
	made, err := plan.New(with(rights.Rights{}).Snapshot(), time.UTC).Report(q)
	if parts := strings.Count(made.SQL, "month IN ("); err != nil || parts < 6 { // two in each
		t.Fatalf("%d conditions on months, %v", parts, err)
	}
	tried, n := longtest.Each(20), 0
	for i, r := range readers {
		parts := with(r)
		for _, p := range []question.Params{{By: "agent"}, {Agent: "a1-one", By: "call_type"}, {Where: []string{"call_type=inbound"}},
			{By: "agent,month", Since: time.Date(2026, 10, 3, 0, 0, 0, 0, time.UTC)}} {
			for name := range strings.FieldsSeq("tools extracted numbers success search") {
				if n++; !tried(n - 1) {
					continue
				}
				if p.Words = []string{"e"}; name == "search" {
					p.By = ""
				}
				rows, err := askFor(t.Context(), whole[i], name, p)
				want := all(t, rows, err)
				rows, err = askFor(t.Context(), parts, name, p)
				test.NoDiff(t, diff(want, all(t, rows, err)), "%s, %+v, %+v (-at once +in parts)", name, p, r)
			}
		}
	}
}

// A list of many calls is read in parts, and equals the list read at once.
func TestListsInParts(t *testing.T) {
	root, d := compacted(t)
	claimMore(t, root, 10_000)
	w := open(t, root, zone(t, "America/New_York"))
	planner := plan.New(w.Snapshot(), w.Location())
	tried, n := longtest.Each(8), 0
	for _, p := range []question.Params{{}, {Since: time.Date(2026, 10, 25, 5, 0, 0, 1, time.UTC)},
		{Since: time.Date(2026, 10, 2, 0, 0, 0, 0, time.UTC), Until: time.Date(2026, 11, 19, 0, 0, 0, 0, time.UTC), Agent: "a1-one"},
		{Where: []string{"month=2026-10"}}, {Where: []string{"month=2026-10", "month="}}} {
		for _, name := range []string{"calls", "search"} {
			if n++; !tried(n - 1) {
				continue
			}
			p.Words = []string{"e"}
			rows, err := askFor(t.Context(), w, name, p)
			got := all(t, rows, err)
			test.NoDiff(t, diff(oracle(name, d, p, w.Location()), got), "%s, %+v (-oracle +report)", name, p)
			rows, err = askFor(t.Context(), w, name, p)
			test.OK(t, err)
			if _, err = rows.Next(t.Context()); err != nil && !errors.Is(err, io.EOF) {
				t.Fatal(err)
			}
			left := len(got) - min(len(got), 1)
			for {
				more, err := rows.Skip(t.Context())
				test.OK(t, err)
				if left -= more; more == 0 {
					break
				}
			}
			if rows.Close(); left != 0 {
				t.Errorf("%s, %+v: Skip left %d rows", name, p, left)
			}
		}
	}
	for _, c := range []struct {
		p       question.Params
		inParts bool
	}{
		{question.Params{}, true},
		{question.Params{Agent: "b", Until: time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)}, true},
		{question.Params{Most: 5}, false},
		{question.Params{Skip: 1}, false},
		{question.Params{Sort: "start_at:asc"}, false},
		{question.Params{Top: 3}, false},
	} {
		f, _ := question.Report("calls")
		q, err := question.Of(f, c.p)
		if parts := planner.Parts(q); err != nil || (len(parts) > 2) != c.inParts {
			t.Errorf("%+v: %d parts, %v", c.p, len(parts), err)
		}
	}
}

// blank overwrites all data of a Parquet file with zeros, except its footer.
func blank(t *testing.T, path string) (restore func()) {
	t.Helper()
	raw := test.Read(t, path)
	zeroed := slices.Clone(raw)
	footer := len(raw) - 8 - int(binary.LittleEndian.Uint32(raw[len(raw)-8:]))
	clear(zeroed[4:footer])
	write := func(b []byte) {
		test.OK(t, os.WriteFile(path, b, 0o600))
	}
	write(zeroed)
	return func() { write(raw) }
}

// A report over damaged files is refused or right: each refusal names a damaged
// file, and once those that it names are restored, the answer is the right one, although all other
// files are still damaged.
func TestReportsReadOnlyWhatIsProven(t *testing.T) {
	root := t.TempDir()
	r := rand.New(rand.NewPCG(11, 0))
	data := randomData(r, 40)
	analyticstest.Write(t, root, 1, data)
	snap, err := layout.Current(root)
	test.OK(t, err)
	answer := func(name string, p question.Params) ([][]any, error) {
		t.Helper()
		w, err := analytics.Open(t.Context(), root, analytics.Options{Options: opened.Options{Location: time.UTC}})
		test.OK(t, err)
		defer w.Close()
		rows, err := askFor(t.Context(), w, name, p)
		if _, damaged := errors.AsType[*layout.DamageError](err); damaged {
			return nil, err
		}
		return all(t, rows, err), nil
	}
	left := 0
	every := min(*everyQuestion, 10)
	for i, f := range sqlfiles.Reports() {
		if i%every != 0 {
			continue
		}
		p := question.Params{Call: data.Calls[0]["call_id"].(string), Words: []string{"a"}}
		if f.Grouped() {
			p.By = "agent"
		}
		if slices.Contains(f.Flags, "field") {
			named := slices.IndexFunc(data.Items, func(i row) bool { return i["name"] != nil })
			p.Field = data.Items[named]["name"].(string) + "=true"
		}
		want, err := answer(f.Name, p)
		test.OK(t, err)
		restore := map[string]func(){} // by path
		for i := range snap.Manifest.Files {
			path := snap.Path(&snap.Manifest.Files[i])
			restore[path] = blank(t, path)
		}
		got, err := answer(f.Name, p)
		for err != nil {
			damage, _ := errors.AsType[*layout.DamageError](err)
			put, known := restore[damage.Path]
			if !known {
				t.Fatalf("%s: %v, and that file is not damaged", f.Name, err)
			}
			put()
			delete(restore, damage.Path)
			got, err = answer(f.Name, p)
		}
		left += len(restore)
		for _, put := range restore {
			put()
		}
		test.NoDiff(t, diff(want, got), "%s read a file that was not proven (-want +got)", f.Name)
	}
	if left == 0 {
		t.Error("every report had all files proven, which shows nothing")
	}
}
