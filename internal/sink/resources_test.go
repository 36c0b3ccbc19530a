package sink

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/parquet-go/parquet-go"

	"callhouse/internal/layout"
	"callhouse/internal/longtest"
	"callhouse/internal/resource"
	"callhouse/internal/schema"
	"callhouse/internal/sink/disk"
	"callhouse/internal/test"
	"callhouse/internal/wire"
	"callhouse/internal/wire/wiretest"
)

func TestMain(m *testing.M) {
	debug.SetGCPercent(400)       // the tests use little memory, and garbage collection took a quarter of their time
	debug.SetMemoryLimit(2 << 30) // garbage of a run in which every operation fails once
	os.Exit(m.Run())
}

// things is one resource in a test's warehouse.
type things struct {
	*testing.T
	of     *resource.Resource
	root   string
	fsys   disk.FS
	parent string
	runs   int
	killed string
	w      *Warehouse
}

// open begins the next run.
func (x *things) open() {
	x.Helper()
	x.runs++
	x.w = night(x, x.fsys, x.root, x.runs)
}

// put puts list items: n-th objects in version v.
func (x *things) put(v int, ns ...int) {
	x.Helper()
	for _, n := range ns {
		x.record(schema.KindItem, n, wiretest.Item(x.of, n, v))
	}
}

func (x *things) record(kind schema.Kind, n int, body []byte) {
	x.Helper()
	at := x.w.opts.Now().UnixMilli() + 1000
	if len(body) > 0 {
		var err error
		if body, err = x.of.Scrub(body); err != nil { // as the crawler does
			x.Fatal(err)
		}
	}
	test.OK(x, x.w.Put(context.Background(), schema.Record{Resource: x.of.Name, Kind: kind, CallID: wiretest.Key(x.of, x.parent, n), FetchedAt: at, Body: body}))
}

// listed marks the list as complete, with the given number of items.
func (x *things) listed(items int) {
	x.Helper()
	now := x.w.opts.Now().UnixMilli()
	body, _ := json.Marshal(schema.Listed{Begun: now, Items: int64(items)})
	test.OK(x, x.w.Put(context.Background(), schema.Record{Resource: x.of.Name, Kind: schema.KindListed, CallID: x.parent, FetchedAt: now + 2000, Body: body}))
}

// commit ends the run, and verifies the warehouse.
func (x *things) commit() {
	x.Helper()
	test.OK(x, x.w.Commit(x.Context(), doneRow(x.w)))
	x.close()
	x.whole()
}

func (x *things) close() {
	x.Helper()
	test.OK(x, x.w.Close())
}

func (x *things) whole() {
	x.Helper()
	r, err := Verify(context.Background(), VerifyOptions{Root: x.root, FS: x.fsys})
	test.OK(x, err)
	if !r.Whole() || len(r.Notes) > 0 {
		x.Fatalf("verify finds %v, %v", r.Problems, r.Notes)
	}
}

// state returns the objects by key.
func (x *things) state() map[string]*schema.Object {
	x.Helper()
	in, err := NewReader(x.fsys, x.w.Snapshot(), nil).Objects(x.of)
	test.OK(x, err)
	out := map[string]*schema.Object{}
	for in != nil {
		o := new(schema.Object)
		if more, err := in.Next(o); err != nil {
			x.Fatal(err)
		} else if !more {
			break
		}
		out[x.of.KeyOf(o.Row)] = o
	}
	return out
}

// is checks that an object is there as its n-th item in version v.
func (x *things) is(n, v int, deleted bool) {
	x.Helper()
	key := wiretest.Key(x.of, x.parent, n)
	o := x.state()[key]
	if o == nil {
		x.Fatalf("%s is not there", key)
	}
	if x.of.Deleted(o) != deleted {
		x.Errorf("%s: deleted is %v", key, !deleted)
	}
	x.holds(o, wiretest.Item(x.of, n, v))
}

// holds checks that an object is as decoded from the item of a list, and that the item lost nothing.
func (x *things) holds(o *schema.Object, item []byte) {
	x.Helper()
	clean, err := x.of.Scrub(item)
	test.OK(x, err)
	var want schema.Object
	test.OK(x, new(wire.Decoder).Decode(x.of.Resource, clean, schema.KindItem, &want))
	x.of.SetParent(&want, x.parent)
	for _, name := range append([]string{"own_extra", "deleted_at"}, x.of.Own...) { // not from the list
		want.Row[x.of.Table.Column(name)] = o.Row[x.of.Table.Column(name)]
	}
	if !x.of.Same(&want, o) {
		x.Errorf("%s is there as %s, with other %v", item, wire.AppendJSON(nil, o), schema.Differences(&want, o))
	}
	sent := map[string]json.RawMessage{}
	test.OK(x, json.Unmarshal(clean, &sent))
	for i := range x.of.Table.Fields {
		if c := &x.of.Table.Fields[i]; slices.Contains(x.of.Own, c.Name) {
			delete(sent, c.V3)
			delete(sent, c.V2)
		}
	}
	rest, err := json.Marshal(sent)
	test.OK(x, err)
	x.lostNothing(o, rest, "extra")
}

// lostNothing checks that every value of a body is in an object's columns or in one with its extra.
func (x *things) lostNothing(o *schema.Object, body []byte, extra string) {
	x.Helper()
	clean, err := x.of.Scrub(body)
	test.OK(x, err)
	var bare schema.Object
	bare.Set(o)
	bare.Row[x.of.Table.Column("extra")] = parquet.Value{}
	if lost := wiretest.Lost(x, x.of.Table, clean, wire.AppendJSON(nil, &bare), schema.TextOf(o.Row[x.of.Table.Column(extra)])); len(lost) > 0 {
		x.Errorf("%s is there as %s, without %s", clean, wire.AppendJSON(nil, o), lost)
	}
}

// changes returns the changes seen by the last run, or by the run before if that was killed.
func (x *things) changes() (out []string) {
	x.Helper()
	runs := []string{x.w.RunID(), x.killed}
	r := NewReader(x.fsys, x.w.Snapshot(), nil)
	for _, f := range r.Files(resource.Changes.Name) {
		t, err := r.Open(f)
		test.OK(x, err)
		err = t.All(func(row schema.Row) error {
			at := func(name string) string { return string(row[resource.Changes.Column(name)].ByteArray()) }
			if slices.Contains(runs, at("run_id")) && at("resource") == x.of.Name {
				out = append(out, at("kind")+" "+at("key"))
				for _, name := range []string{"before", "after"} {
					if text := at(name); text != "" && !json.Valid([]byte(text)) {
						x.Errorf("%s is no JSON: %s", name, text)
					}
				}
			}
			return nil
		})
		test.OK(x, err)
		test.OK(x, t.Close())
	}
	return out
}

func (x *things) wantChanges(want ...string) {
	x.Helper()
	for i, w := range want {
		kind, n, _ := strings.Cut(w, " ")
		var number int
		if _, err := fmt.Sscan(n, &number); err != nil {
			x.Fatal(err)
		}
		want[i] = kind + " " + wiretest.Key(x.of, x.parent, number)
	}
	if x.of.ColumnsOnly {
		want = nil // its changes are not reported
	}
	if diff := cmp.Diff(want, x.changes(), cmpopts.EquateEmpty()); diff != "" {
		x.Errorf("changes (-want +got)\n%s", diff)
	}
}

// due returns the number of incomplete objects.
func (x *things) due() (n int) {
	x.Helper()
	never := func(*resource.Resource, int64) bool { return false }
	for _, err := range x.w.Incomplete(context.Background(), x.of, never) {
		test.OK(x, err)
		n++
	}
	return n
}

// Every resource is stored by its declaration alone: list items are journalled, merged, committed,
// verified and rebuilt as sent, and changes are reported. Two invented resources are included.
func TestEveryResource(t *testing.T) {
	t.Parallel()
	if len(resource.All) < 16 {
		t.Fatalf("only %d resources", len(resource.All))
	}
	for _, of := range longtest.Some(6, resource.All) {
		t.Run(of.Name, func(t *testing.T) {
			t.Parallel()
			x := &things{T: t, of: of, root: t.TempDir()}
			var err error
			if x.fsys, err = disk.Open(x.root); err != nil {
				t.Fatal(err)
			}
			if of.Parent != nil {
				x.parent = wiretest.Key(of.Parent, "", wiretest.ParentNumber)
			}
			x.open()
			x.put(0, 0, 1, 2, 3, 4)
			x.listed(5)
			x.commit()
			for n := range 5 {
				x.is(n, 0, false)
			}
			x.wantChanges("created 0", "created 1", "created 2", "created 3", "created 4")
			if want := map[bool]int{true: 5, false: 0}[of.Parts()]; x.due() != want && of.Parts() {
				t.Errorf("%d objects are incomplete, want %d", x.due(), want)
			}

			// Repeating it writes no file.
			paths := func() (out []string) {
				for _, f := range x.w.Snapshot().Manifest.Files {
					if f.Period == "" && f.Table != schema.Runs.Name {
						out = append(out, f.Path)
					}
				}
				return out
			}
			before := paths()
			x.open()
			x.put(0, 0, 1, 2, 3, 4)
			x.listed(5)
			x.commit()
			test.Same(t, before, paths(), "files were written anew for the same list")
			x.wantChanges()

			// An object's own record is requested once, until the item changes.
			if of.Record != "" {
				x.open()
				for n := range 4 {
					x.record(schema.KindDetail, n, wiretest.Record(of, n, 0))
				}
				x.record(schema.KindMissing, 4, nil)
				x.commit()
				for n := range 4 {
					x.is(n, 0, false)
					x.lostNothing(x.state()[wiretest.Key(of, x.parent, n)], wiretest.Record(of, n, 0), "own_extra")
				}
				x.wantChanges("completed 0", "completed 1", "completed 2", "completed 3")
				test.Same(t, 0, x.due(), "objects are still incomplete")
			}

			// One changes, one disappears, one comes; a killed run had fetched them.
			x.open()
			x.put(0, 0, 1, 3)
			x.put(1, 2)
			x.put(0, 5)
			x.listed(5)
			x.killed = x.w.RunID()
			x.close()
			x.open()
			x.commit()
			x.is(2, 1, false)
			x.is(4, 0, true)
			x.is(5, 0, false)
			x.wantChanges("changed 2", "deleted 4", "created 5")
			if of.Record != "" && x.due() != 2 {
				t.Errorf("%d objects are incomplete, want those that changed", x.due())
			}

			// An empty list counts only in the second run.
			for _, believed := range []bool{false, true} {
				x.open()
				x.listed(0)
				test.OK(t, x.w.Commit(t.Context(), doneRow(x.w)))
				if !believed && len(x.w.Notices()) != 1 {
					t.Errorf("it is said: %q", x.w.Notices())
				}
				x.close()
				x.whole()
				x.is(0, 0, believed)
			}

			// A deleted object returns; data in another form is kept.
			x.open()
			x.put(0, 0, 1, 2, 3)
			odd := strings.Replace(string(wiretest.Item(of, 6, 0)), "{", `{"brand_new":{"a":[1,2.50]},`, 1)
			x.record(schema.KindItem, 6, []byte(odd))
			x.listed(5)
			x.commit()
			x.is(0, 0, false)
			o := x.state()[wiretest.Key(of, x.parent, 6)]
			x.holds(o, []byte(odd))
			if !of.ColumnsOnly && !slices.Contains(x.changes(), "returned "+wiretest.Key(of, x.parent, 0)) {
				t.Errorf("changes are %q", x.changes())
			}

			// Its key under the longer name.
			key := of.Table.Fields[0]
			if key.V2 != key.V3 {
				renamed := strings.Replace(string(wiretest.Item(of, 0, 0)), `"`+key.V3+`":`, `"`+key.V2+`":`, 1)
				x.open()
				x.record(schema.KindItem, 0, []byte(renamed))
				x.commit()
				x.holds(x.state()[wiretest.Key(of, x.parent, 0)], []byte(renamed))
			}

			// An item may lack the parent's key, which the list's path has.
			if of.Parent != nil {
				var item map[string]json.RawMessage
				test.OK(t, json.Unmarshal(wiretest.Item(of, 0, 0), &item))
				delete(item, of.Key[0])
				thin, _ := json.Marshal(item)
				x.open()
				x.record(schema.KindItem, 0, thin)
				x.commit()
				x.holds(x.state()[wiretest.Key(of, x.parent, 0)], thin)
			}

			// Damage is detected.
			for _, f := range x.w.Snapshot().Manifest.Files {
				if f.Table != of.Name {
					continue
				}
				path := x.w.Snapshot().Path(&f)
				raw, err := x.fsys.ReadFile(path)
				test.OK(t, err)
				raw[len(raw)/2] ^= 0x10
				test.OK(t, x.fsys.Remove(path))
				test.OK(t, disk.WriteFile(x.fsys, path, raw))
			}
			r, err := Verify(context.Background(), VerifyOptions{Root: x.root, FS: x.fsys})
			if err != nil || r.Whole() {
				t.Errorf("a flipped bit is not found: %v", err)
			}
		})
	}
}

// A customer forgotten by a number, in any spelling, is in no snapshot and no change, and does not come back.
func TestForgetReachesCustomers(t *testing.T) {
	t.Parallel()
	x := &things{T: t, of: resource.Customers, root: t.TempDir()}
	var err error
	if x.fsys, err = disk.Open(x.root); err != nil {
		t.Fatal(err)
	}
	customer := func(n int, identifiers string) {
		x.record(schema.KindItem, n, fmt.Appendf(nil, `{"id":%q,"name":"secret %d","identifiers":%s}`, wiretest.Key(x.of, "", n), n, identifiers))
	}
	all := func(name string) {
		customer(0, `[{"type":"phone","value":"010-1234-5678"}]`)
		customer(1, `[{"type":"email","value":"a@b.example"},{"type":"phone","value":"821012345678"}]`)
		customer(2, `[{"type":"phone","value":"01087654321"},{"type":"external_id","value":"12345678"}]`)
		customer(3, `[{"type":"external_id","value":"`+name+`"}]`)
		x.listed(4)
	}
	for _, name := range []string{"C-1", "C-2"} { // two snapshots
		x.open()
		all(name)
		x.commit()
	}
	x.open()
	receipt, err := x.w.Forget(context.Background(), Selection{Numbers: []string{"+821012345678"}, Customers: []string{wiretest.Key(x.of, "", 3)}}, false, nil)
	test.OK(t, err)
	if len(receipt.Calls) != 3 || receipt.Erased.Customers != 3 {
		t.Errorf("the receipt says %+v", receipt)
	}
	x.close()
	x.whole()
	x.open()
	all("C-3") // the service still has them
	x.commit()
	for n, there := range []bool{false, false, true, false} {
		test.Same(t, there, x.state()[wiretest.Key(x.of, "", n)] != nil, "customer %d is there", n)
	}
	err = filepath.WalkDir(x.root, func(path string, _ fs.DirEntry, err error) error {
		if raw, rerr := os.ReadFile(path); rerr == nil && (bytes.Contains(raw, []byte("secret 0")) || bytes.Contains(raw, []byte("secret 3"))) {
			t.Errorf("%s still tells of a forgotten customer", path)
		}
		return err
	})
	test.OK(t, err)
}

// A table of a later callhouse, with one file or by periods, is carried along by every commit, and
// is no damage.
func TestTableOfALaterProgram(t *testing.T) {
	t.Parallel()
	for _, period := range []string{"", "2026-11"} {
		t.Run(period, func(t *testing.T) { laterTable(t, period) })
	}
}

func laterTable(t *testing.T, period string) {
	root := t.TempDir()
	w := night(t, nil, root, 1)
	putCall(t, w, "a", testDay, 1)
	test.OK(t, w.Commit(t.Context(), doneRow(w)))
	s := w.Snapshot()
	test.OK(t, w.Close())
	f := layout.File{Table: "widgets", Period: period, Path: layout.DataFile("widgets", period, "00112233445566aa"), Rows: 1, Bytes: 5}
	sum := sha256.Sum256([]byte("hello"))
	f.SHA256 = hex.EncodeToString(sum[:])
	test.OK(t, os.MkdirAll(filepath.Dir(s.Path(&f)), 0o700))
	test.OK(t, os.WriteFile(s.Path(&f), []byte("hello"), 0o600))
	m := *s.Manifest
	m.Files = append(slices.Clone(m.Files), f)
	raw, err := m.Encode()
	if err == nil {
		err = os.WriteFile(filepath.Join(s.Dir, layout.ManifestName), raw, 0o600)
	}
	test.OK(t, err)
	w = night(t, nil, root, 2)
	putCall(t, w, "b", testDay, 1)
	test.OK(t, w.Commit(t.Context(), doneRow(w)))
	if w.Snapshot().Manifest.FileOf("widgets", period) == nil {
		t.Error("the commit lost the table that it does not know")
	}
	test.OK(t, w.Close())
	r, err := Verify(context.Background(), VerifyOptions{Root: root})
	if err != nil || !r.Whole() || len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "widgets") {
		t.Errorf("verify: %v, %v, %q", err, r.Problems, r.Notes)
	}
}
