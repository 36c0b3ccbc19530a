package publish

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/apache/iceberg-go"
	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"pgregory.net/rapid"

	"callhouse/internal/layout"
	"callhouse/internal/longtest"
	"callhouse/internal/publish/catalog"
	"callhouse/internal/publish/lease"
	"callhouse/internal/publish/store"
	"callhouse/internal/schema"
	"callhouse/internal/sink"
)

// testWarehouse is a warehouse with its own clock.
type testWarehouse struct {
	t    fatal
	root string
	now  time.Time
	runs uint32
	// fields are additional fields of calls by id, as JSON with a trailing comma.
	fields map[string]string
}

type fatal interface {
	Helper()
	Fatalf(format string, args ...any)
}

func newTestWarehouse(t *testing.T) *testWarehouse {
	return &testWarehouse{t: t, root: filepath.Join(t.TempDir(), "warehouse"), now: time.Date(2026, 11, 19, 2, 0, 0, 0, time.UTC)}
}

func (h *testWarehouse) must(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatalf("%v", err)
	}
}

// open opens the warehouse for the next run, some hours after the last one.
func (h *testWarehouse) open(hours int) *sink.Warehouse {
	h.runs++
	h.now = h.now.Add(time.Duration(hours) * time.Hour)
	w, err := sink.Open(sink.Options{Root: h.root, RunID: layout.RunID(h.now, h.runs), Now: func() time.Time { return h.now }})
	h.must(err)
	return w
}

// night commits calls. A call with a negative day has no start.
func (h *testWarehouse) night(calls ...call) {
	w := h.open(8)
	for _, c := range calls {
		h.must(w.Put(context.Background(), c.record(h.now, h.fields[c.id])))
	}
	h.must(w.Commit(context.Background(), func(s sink.Stats, n int64) schema.Run {
		return schema.Run{ID: w.RunID(), StartedAt: h.now.UnixMilli(), Outcome: schema.OutcomeDone, CallsNew: s.New, Commits: n}
	}))
	h.must(w.Close())
}

func (h *testWarehouse) forget(ids ...string) {
	w := h.open(1)
	_, err := w.Forget(context.Background(), sink.Selection{CallIDs: ids}, false, nil)
	h.must(errors.Join(err, w.Close()))
}

func (h *testWarehouse) rollback() {
	w := h.open(1)
	_, err := w.Rollback(context.Background(), 0, func(*layout.Snapshot) schema.Run {
		return schema.Run{ID: w.RunID(), StartedAt: h.now.UnixMilli(), Outcome: schema.OutcomeRolledBack}
	})
	h.must(errors.Join(err, w.Close()))
}

// call is a test's call.
type call struct {
	id, word  string
	day, cost int
	turns     int
}

func (c call) record(now time.Time, fields string) schema.Record {
	at := "null"
	if c.day >= 0 {
		at = `"` + time.Date(2026, 9, 28, 9, 0, 0, 0, time.UTC).AddDate(0, 0, c.day).Format(time.RFC3339) + `"`
	}
	var turns []string
	for i := range c.turns {
		turns = append(turns, fmt.Sprintf(`{"role":"user","content":"%s %d"}`, c.word, i))
	}
	body := fmt.Sprintf(`{"id":"%s",`+fields+`"status":"ended","agent":{"agent_id":"%s"},"start_at":%s,"end_at":%s,"call_cost":{"total_cost":"%d.25"},`+
		`"metadata":{"k":"%s"},"call_analysis":{"user_sentiment":"%s","custom_analysis_data":[{"name":"n","type":"string","value":"v"}]},"transcript":[%s]}`,
		c.id, c.word, at, at, c.cost, c.word, c.word, strings.Join(turns, ","))
	return schema.Record{Kind: schema.KindDetail, FetchedAt: now.UnixMilli(), CallID: c.id, Body: []byte(body)}
}

// options returns options to publish some days from now, when nothing at the destination is young.
func (h *testWarehouse) options(to string) Options {
	return Options{Warehouse: h.root, To: to, State: h.root + ".state",
		Now: func() time.Time { return time.Now().Add(3 * young) }}
}

// publish publishes the warehouse.
func (h *testWarehouse) publish(to string, change ...func(*Options)) (*Report, error) {
	o := h.options(to)
	for _, c := range change {
		c(&o)
	}
	return Run(context.Background(), o)
}

// newLake opens a published lake.
func newLake(h *testWarehouse, to string) *lake {
	h.t.Helper()
	s, root, err := store.Open(to)
	h.must(err)
	return &lake{h, s, catalog.NewFiles(s, root)}
}

// snapshots returns the snapshots of the warehouse by number.
func (h *testWarehouse) snapshots() (current *layout.Snapshot, all map[int64]*layout.Snapshot) {
	current, err := layout.Current(h.root)
	h.must(err)
	d, err := layout.OpenDir(h.root)
	h.must(err)
	defer d.Close()
	numbers, err := layout.SnapshotNumbers(d, h.root)
	h.must(err)
	all = map[int64]*layout.Snapshot{}
	for _, n := range numbers {
		if all[n], err = layout.OpenSnapshot(d, h.root, n); err != nil {
			h.t.Fatalf("%v", err)
		}
	}
	return current, all
}

// lake is a published lake, read like an engine does.
type lake struct {
	source  *testWarehouse
	store   store.Store
	catalog catalog.Catalog
}

func (l *lake) load(name string) catalog.Current {
	l.source.t.Helper()
	now, err := l.catalog.Load(context.Background(), name)
	l.source.must(err)
	return now
}

// data returns the files of an Iceberg snapshot, by their addresses.
func (l *lake) data(s *catalog.Snapshot) map[string]iceberg.DataFile {
	l.source.t.Helper()
	out := map[string]iceberg.DataFile{}
	raw, err := l.store.Get(context.Background(), s.ManifestList)
	l.source.must(err)
	manifests, err := iceberg.ReadManifestList(bytes.NewReader(raw))
	l.source.must(err)
	for _, m := range manifests {
		raw, err := l.store.Get(context.Background(), m.FilePath())
		l.source.must(err)
		entries, err := iceberg.ReadManifest(m, bytes.NewReader(raw), true)
		l.source.must(err)
		for _, e := range entries {
			if out[e.DataFile().FilePath()] != nil {
				l.source.t.Fatalf("%s is in the table twice", e.DataFile().FilePath())
			}
			out[e.DataFile().FilePath()] = e.DataFile()
		}
	}
	return out
}

// check compares the tables with the warehouse: main and the last tag with its current snapshot,
// each other tag with its own snapshot. It opens every file, and fails on objects that no snapshot
// needs.
func (l *lake) check() {
	l.source.t.Helper()
	now, all := l.source.snapshots()
	for _, t := range Tables() {
		cur := l.load(t.Name)
		if cur.Metadata == nil {
			if len(now.Manifest.FilesOf(t.Name)) > 0 {
				l.source.t.Fatalf("%s is not there", t.Name)
			}
			continue
		}
		refs := cur.Refs
		if _, ok := refs[tagOf(now.Manifest.Snapshot)]; !ok {
			l.source.t.Fatalf("%s lacks the tag %s: %v", t.Name, tagOf(now.Manifest.Snapshot), refs)
		}
		used := map[string]bool{}
		for name, ref := range refs {
			of := now
			if n, ours := tagged(name); ours {
				of = all[n]
			} else if name != catalog.MainBranch {
				continue
			}
			if of == nil {
				l.source.t.Fatalf("%s: %s names a snapshot that the warehouse does not have", t.Name, name)
			}
			got := l.data(cur.SnapshotOf(ref.Snapshot))
			var want, have []string
			for _, f := range of.Manifest.FilesOf(t.Name) {
				uri := objectOf(cur.Location, f)
				want = append(want, uri)
				if got[uri] != nil {
					l.file(t, of, f, got[uri])
				}
			}
			for uri := range got {
				used[uri] = true
				have = append(have, uri)
			}
			slices.Sort(want)
			slices.Sort(have)
			if diff := cmp.Diff(want, have); diff != "" {
				l.source.t.Fatalf("%s of %s (-warehouse +table):\n%s", name, t.Name, diff)
			}
		}
		for _, s := range all { // a rollback may need them, although they have no tag
			for _, f := range s.Manifest.FilesOf(t.Name) {
				used[objectOf(cur.Location, f)] = true
			}
		}
		objects, err := l.store.List(context.Background(), cur.Location+"/data")
		l.source.must(err)
		for _, o := range objects {
			if !used[o.URI] {
				l.source.t.Fatalf("%s is left over", o.URI)
			}
		}
	}
}

// file compares a copy with the warehouse's file and with its description in Iceberg.
func (l *lake) file(t *schema.Table, of *layout.Snapshot, f *layout.File, desc iceberg.DataFile) {
	l.source.t.Helper()
	raw, err := l.store.Get(context.Background(), desc.FilePath())
	l.source.must(err)
	if int64(len(raw)) != desc.FileSizeBytes() || desc.Count() != f.Rows {
		l.source.t.Fatalf("%s has %d bytes, and is said to have %d, and %d rows, not %d", desc.FilePath(), len(raw), desc.FileSizeBytes(), desc.Count(), f.Rows)
	}
	in, err := parquet.OpenFile(bytes.NewReader(raw), int64(len(raw)))
	l.source.must(err)
	if m := in.Metadata(); len(m.ColumnOrders) != len(in.Root().Columns()) { // pyarrow refuses such files
		l.source.t.Fatalf("%s: %d columns, and the orders of %d", desc.FilePath(), len(in.Root().Columns()), len(m.ColumnOrders))
	}
	for _, e := range in.Metadata().Schema {
		if e.ConvertedType.Valid && e.ConvertedType.V == deprecated.Json {
			l.source.t.Fatalf("%s: %s is JSON", desc.FilePath(), e.Name)
		}
	}
	l.sameFooter(of.Path(f))
	rows, nulls := int64(0), map[int]int64{}
	lower, upper := desc.LowerBoundValues(), desc.UpperBoundValues()
	r := parquet.NewReader(in)
	defer r.Close()
	row := make([]parquet.Row, 1)
	for {
		n, err := r.ReadRows(row)
		rows += int64(n)
		for _, v := range row[0][:min(len(row[0]), n*len(row[0]))] {
			c := in.Root().Columns()[v.Column()]
			id := c.ID()
			if v.IsNull() {
				nulls[id]++
			}
			if v.IsNull() || lower[id] == nil {
				continue
			}
			if at := t.Columns[slices.IndexFunc(t.Columns, func(c schema.Column) bool { return c.ID == id })]; !within(at.Type, v, lower[id], upper[id]) {
				l.source.t.Fatalf("%s: %s of %v is not between %q and %q", desc.FilePath(), at.Name, v, lower[id], upper[id])
			}
		}
		if errors.Is(err, io.EOF) {
			break
		}
		l.source.must(err)
	}
	for id, n := range desc.NullValueCounts() {
		if nulls[id] != n || desc.ValueCounts()[id] != rows {
			l.source.t.Fatalf("%s: column %d has %d nulls of %d, not %d of %d", desc.FilePath(), id, nulls[id], rows, n, desc.ValueCounts()[id])
		}
	}
	if rows != f.Rows {
		l.source.t.Fatalf("%s has %d rows, not %d", desc.FilePath(), rows, f.Rows)
	}
	if month, ok := desc.Partition()[monthField]; ok {
		if at := time.UnixMilli(*f.MinStart).UTC(); month != int32((at.Year()-1970)*12+int(at.Month())-1) {
			l.source.t.Fatalf("%s is in the partition %v", desc.FilePath(), month)
		}
	}
}

// sameFooter checks that a footer survives reading and writing.
func (l *lake) sameFooter(path string) {
	l.source.t.Helper()
	raw, err := os.ReadFile(path)
	l.source.must(err)
	in, err := parquet.OpenFile(bytes.NewReader(raw), int64(len(raw)))
	l.source.must(err)
	footer, err := thrift.Marshal(new(thrift.CompactProtocol), in.Metadata())
	l.source.must(err)
	if end := len(raw) - trailer; !bytes.Equal(footer, raw[end-len(footer):end]) {
		l.source.t.Fatalf("%s: its footer would be another one", path)
	}
}

// within reports whether a value is within the bounds stored in Iceberg.
func within(t schema.Type, v parquet.Value, lower, upper []byte) bool {
	switch t {
	case schema.Text, schema.Word, schema.JSON:
		return bytes.Compare(lower, v.ByteArray()) <= 0 && bytes.Compare(v.ByteArray()[:min(len(v.ByteArray()), len(upper))], upper) <= 0
	case schema.Exact, schema.Percent:
		number := func(b []byte) (out string) { return signed(b) }
		raw := v.ByteArray()
		if t == schema.Percent {
			raw = binary.BigEndian.AppendUint64(nil, uint64(v.Int64()))
		}
		return number(lower) <= number(raw) && number(raw) <= number(upper)
	case schema.Bool:
		return true
	case schema.Int32:
		return int32(binary.LittleEndian.Uint32(lower)) <= v.Int32() && v.Int32() <= int32(binary.LittleEndian.Uint32(upper))
	}
	return int64(binary.LittleEndian.Uint64(lower)) <= v.Int64() && v.Int64() <= int64(binary.LittleEndian.Uint64(upper))
}

// signed converts a two's complement number to a text with the same order.
func signed(b []byte) string {
	fill := byte(0)
	if b[0] >= 0x80 {
		fill = 0xFF
	}
	b = append(bytes.Repeat([]byte{fill}, 16-len(b)), b...)
	b[0] ^= 0x80
	return string(b)
}

func init() { longtest.Checks(3, 30) }

// TestTablesFollow publishes a warehouse after random changes.
func TestTablesFollow(t *testing.T) {
	dir := t.TempDir()
	n := 0
	rapid.Check(t, func(r *rapid.T) {
		n++
		h := newTestWarehouse(t)
		h.t = r
		to := filepath.Join(dir, fmt.Sprint(n))
		l := newLake(h, to)
		ids := []string{"a", "b", "c", "d"}
		draw := func() call {
			return call{rapid.SampledFrom(ids).Draw(r, "id"), rapid.StringMatching(`[a-zé\x{10FFFF}]{1,20}`).Draw(r, "word"),
				rapid.IntRange(-1, 40).Draw(r, "day"), rapid.IntRange(-3, 3).Draw(r, "cost"), rapid.IntRange(0, 2).Draw(r, "turns")}
		}
		h.night(draw(), draw(), draw())
		for range rapid.IntRange(1, 5).Draw(r, "steps") {
			switch rapid.IntRange(0, 5).Draw(r, "step") {
			case 0:
				h.forget(rapid.SampledFrom(ids).Draw(r, "id"))
			case 1:
				if _, all := h.snapshots(); len(all) > 1 {
					h.rollback()
				}
			case 2:
				h.now = h.now.Add(30 * time.Hour)
				h.night(draw())
			default:
				h.night(draw(), draw())
			}
			if rapid.Bool().Draw(r, "publish") {
				_, err := h.publish(to)
				h.must(err)
				l.check()
			}
		}
		_, err := h.publish(to)
		h.must(err)
		l.check()
		again, err := h.publish(to)
		h.must(err)
		if again.Uploaded != 0 || len(again.Removed) != 0 {
			r.Fatalf("published again: %+v", again)
		}
	})
}

var errKilled = errors.New("killed")

// mortal is the store of a program killed at the left-th operation: before it, or, with after, when
// it is done.
type mortal struct {
	store.Store
	mu      sync.Mutex
	left    int
	after   bool
	puts    map[string]int
	touched bool // it was killed
}

// do performs an operation unless the program is dead.
func (m *mortal) do(op func() error) error {
	m.mu.Lock()
	m.left--
	left := m.left
	m.touched = m.touched || left <= 0
	m.mu.Unlock()
	if left > 0 {
		return op()
	}
	if left == 0 && m.after {
		_ = op()
	}
	return errKilled
}

func (m *mortal) Get(ctx context.Context, uri string) (raw []byte, err error) {
	err = m.do(func() (e error) { raw, e = m.Store.Get(ctx, uri); return e })
	return raw, err
}

func (m *mortal) Put(ctx context.Context, uri string, body io.ReaderAt, size int64) error {
	if strings.Contains(uri, lease.Folder) { // releasing the lease may fail without failing the publication
		return m.Store.Put(ctx, uri, body, size)
	}
	return m.do(func() error { m.mu.Lock(); m.puts[uri]++; m.mu.Unlock(); return m.Store.Put(ctx, uri, body, size) })
}

func (m *mortal) Create(ctx context.Context, uri string, body []byte) error {
	return m.do(func() error { return m.Store.Create(ctx, uri, body) })
}

func (m *mortal) Size(ctx context.Context, uri string) (n int64, err error) {
	err = m.do(func() (e error) { n, e = m.Store.Size(ctx, uri); return e })
	return n, err
}

func (m *mortal) List(ctx context.Context, uri string) (out []store.Object, err error) {
	err = m.do(func() (e error) { out, e = m.Store.List(ctx, uri); return e })
	return out, err
}

func (m *mortal) Remove(ctx context.Context, uris []string) error {
	return m.do(func() error { return m.Store.Remove(ctx, uris) })
}

// TestKilledAnywhere kills publications at each operation on the destination. Each table is then at
// a single commit, old or new; the next publication completes, leaves nothing over, and uploads no
// complete file again.
func TestKilledAnywhere(t *testing.T) {
	tried := longtest.Each(150)
	for _, after := range []bool{false, true} {
		for at := 1; ; at++ {
			if !tried(at) {
				continue
			}
			h := newTestWarehouse(t)
			to := filepath.Join(t.TempDir(), "lake")
			l := newLake(h, to)
			h.night(call{"a", "x", 3, 1, 1}, call{"b", "y", -1, -1, 0}, call{"c", "z", 33, 2, 2})
			_, err := h.publish(to)
			h.must(err)
			before := l.states()
			h.night(call{"a", "xx", 3, 1, 2}, call{"d", "y", 35, 1, 0})
			h.now = h.now.Add(30 * time.Hour)
			m := &mortal{Store: l.store, left: at, after: after, puts: map[string]int{}}
			_, err = h.publish(to, func(o *Options) { o.store = m })
			if killed := errors.Is(err, errKilled); killed != m.touched {
				t.Fatalf("killed at operation %d: %v", at, err)
			}
			got := l.states()
			m.left = 1 << 30
			_, err = h.publish(to, func(o *Options) { o.store = m })
			h.must(err)
			after := l.states()
			for name, s := range got {
				if s != before[name] && s != after[name] {
					t.Fatalf("killed at operation %d: %s is neither the old commit nor the new one", at, name)
				}
			}
			l.check()
			for uri, n := range m.puts {
				if n > 1 && strings.HasSuffix(uri, ".parquet") {
					t.Fatalf("killed at operation %d: %s was copied %d times", at, uri, n)
				}
			}
			if !m.touched {
				t.Logf("no operation %d", at)
				break
			}
		}
	}
}

// states returns the current snapshot of each table.
func (l *lake) states() map[string]int64 {
	out := map[string]int64{}
	for _, t := range Tables() {
		if cur := l.load(t.Name); cur.Metadata != nil {
			out[t.Name] = cur.Head().ID
		}
	}
	return out
}

// A shortened upper bound of a text is not below it.
func TestBoundsOfTexts(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := []byte(rapid.StringOf(rapid.RuneFrom([]rune{'a', 0x7f, 'é', '\ud7ff', '\ue000', '한', '😀', utf8.MaxRune})).Draw(t, "text"))
		low, high := cut(text, boundBytes), above(text, boundBytes)
		if bytes.Compare(low, text) > 0 || bytes.Compare(high, text) < 0 || !utf8.Valid(low) || !utf8.Valid(high) {
			t.Fatalf("%q has the bounds %q and %q", text, low, high)
		}
		if len(low) > boundBytes || len(high) > boundBytes+utf8.UTFMax && bytes.ContainsFunc(text[:len(cut(text, boundBytes))], func(r rune) bool { return r != utf8.MaxRune }) {
			t.Fatalf("%q has the long bounds %q and %q", text, low, high)
		}
	})
}

// hooked is a store that calls a function before it creates or puts an object.
type hooked struct {
	store.Store
	before func(uri string) error
}

func (s hooked) Put(ctx context.Context, uri string, body io.ReaderAt, size int64) error {
	if err := s.before(uri); err != nil {
		return err
	}
	return s.Store.Put(ctx, uri, body, size)
}

func (s hooked) Create(ctx context.Context, uri string, body []byte) error {
	if err := s.before(uri); err != nil {
		return err
	}
	return s.Store.Create(ctx, uri, body)
}

// elsewhere returns a copy of a warehouse, as if on another machine.
func (h *testWarehouse) elsewhere(t *testing.T) *testWarehouse {
	c := *h
	c.root = filepath.Join(t.TempDir(), "copy")
	h.must(os.CopyFS(c.root, os.DirFS(h.root)))
	return &c
}

func now(o *Options) { o.Now = time.Now }

// TestOlderPublicationBetween publishes an older snapshot while the publication of a newer one has
// uploaded its files and manifests and is about to commit them. The lease is gone, as if the newer
// publisher had slept too long. None of its files may be removed.
func TestOlderPublicationBetween(t *testing.T) {
	newBucket(t)
	h := newTestWarehouse(t)
	h.night(call{"a", "x", 1, 1, 1})
	_, err := h.publish("s3://lake/ch", now)
	h.must(err)
	older := h.elsewhere(t)
	h.night(call{"b", "y", 2, 1, 1})
	l := newLake(h, "s3://lake/ch")
	once := sync.OnceFunc(func() {
		leases, err := l.store.List(t.Context(), "s3://lake/ch/"+lease.Folder)
		h.must(err)
		for _, o := range leases {
			h.must(l.store.Remove(t.Context(), []string{o.URI}))
		}
		if made, err := older.publish("S3://lake/./ch/", now); err != nil || len(made.Removed) > 0 {
			t.Errorf("the older publication: %v, %+v", err, made)
		}
	})
	_, err = h.publish("s3://lake/ch", now, func(o *Options) {
		o.store = hooked{l.store, func(uri string) error {
			if strings.HasSuffix(uri, "/metadata/v2.metadata.json") {
				once()
			}
			return nil
		}}
	})
	h.must(err)
	l.check()
}

// TestLease publishes from two machines to the same folder. The second one is locked out while the
// first one renews its lease, and takes over when it stops; the first one notices.
func TestLease(t *testing.T) {
	h := newTestWarehouse(t)
	h.night(call{"a", "x", 1, 1, 1})
	older := h.elsewhere(t)
	h.night(call{"b", "y", 2, 1, 1})
	to := t.TempDir()
	s, _, err := store.Open(to)
	h.must(err)
	synctest.Test(t, func(t *testing.T) {
		dead, paused := false, make(chan struct{})
		errDead := errors.New("no network")
		var lost error
		go func() {
			_, lost = older.publish(to+"/", now, func(o *Options) {
				o.store = hooked{s, func(uri string) error {
					switch isLease := strings.Contains(uri, lease.Folder); {
					case isLease && dead:
						return errDead
					case !isLease:
						<-paused
					}
					return nil
				}}
			})
		}()
		synctest.Wait()
		var locked *lease.LockedError
		if _, err := h.publish(to, now); !errors.As(err, &locked) {
			t.Errorf("while another machine publishes: %v", err)
		}
		if _, err := older.publish("file://localhost"+to+"/.", now); !errors.As(err, &locked) || !strings.Contains(err.Error(), "this user") {
			t.Errorf("while the same user publishes: %v", err)
		}
		dead = true
		_, err := h.publish(to, now)
		h.must(err)
		close(paused)
		synctest.Wait()
		if !errors.As(lost, &locked) {
			t.Errorf("after its lease was taken over: %v", lost)
		}
	})
	newLake(h, to).check()
	leases, err := s.List(t.Context(), "file://"+to+"/"+lease.Folder)
	h.must(err)
	if len(leases) != 2 {
		t.Errorf("%d leases", len(leases))
	}
}

// TestManyLeases keeps only a few old leases, and continues their numbers.
func TestManyLeases(t *testing.T) {
	h, to := newTestWarehouse(t), t.TempDir()
	h.night(call{"a", "x", 1, 1, 0})
	for range lease.MaxSuperseded + 3 {
		_, err := h.publish(to)
		h.must(err)
	}
	s, _, err := store.Open(to)
	h.must(err)
	leases, err := s.List(t.Context(), "file://"+to+"/"+lease.Folder)
	h.must(err)
	if last := leases[len(leases)-1].URI; len(leases) != lease.MaxSuperseded+1 || !strings.HasSuffix(last, "lease-000023.json") {
		t.Errorf("%d leases, the last one is %s", len(leases), last)
	}
}
