package e2e

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"callhouse/internal/api"
	"callhouse/internal/api/apitest"
	"callhouse/internal/calls"
	"callhouse/internal/crawler"
	"callhouse/internal/layout"
	"callhouse/internal/longtest"
	"callhouse/internal/sandbox"
	"callhouse/internal/sandbox/dice"
	"callhouse/internal/sandbox/render"
	"callhouse/internal/sandbox/world"
	"callhouse/internal/schema"
	"callhouse/internal/sink"
	"callhouse/internal/sink/disk"
	"callhouse/internal/test"
	"callhouse/internal/wire"
)

var errKilled = errors.New("killed")

// mortal is the disk of a process that dies: after a number of changes, nothing changes any more.
type mortal struct {
	disk.FS
	mu   sync.Mutex
	left int // changes until it dies; negative: never
}

func (m *mortal) op() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.left == 0 {
		return errKilled
	}
	m.left--
	return nil
}

// do performs a change unless the process is dead.
func (m *mortal) do(change func() error) error {
	if err := m.op(); err != nil {
		return err
	}
	return change()
}

func (m *mortal) Create(name string) (disk.File, error) {
	if err := m.op(); err != nil {
		return nil, err
	}
	f, err := m.FS.Create(name)
	return &mortalFile{f, m}, err
}

func (m *mortal) Mkdir(name string) error {
	return m.do(func() error { return m.FS.Mkdir(name) })
}

func (m *mortal) Rename(from, to string) error {
	return m.do(func() error { return m.FS.Rename(from, to) })
}

func (m *mortal) Link(from, to string) error {
	return m.do(func() error { return m.FS.Link(from, to) })
}

func (m *mortal) Symlink(target, name string) error {
	return m.do(func() error { return m.FS.Symlink(target, name) })
}

func (m *mortal) Remove(name string) error {
	return m.do(func() error { return m.FS.Remove(name) })
}

type mortalFile struct {
	disk.File
	m *mortal
}

// Write writes only a part of its data if the process dies during it.
func (f *mortalFile) Write(p []byte) (int, error) {
	if err := f.m.op(); err != nil {
		n, _ := f.File.Write(p[:len(p)/2])
		return n, err
	}
	return f.File.Write(p)
}

// realStore connects a crawler to a real warehouse, and records which records the warehouse acknowledged.
type realStore struct {
	*sink.Warehouse
	mu     sync.Mutex
	stored map[string]int // details, by call
}

func (s *realStore) Put(ctx context.Context, recs ...schema.Record) error {
	for i := range recs {
		if recs[i].Kind == schema.KindItem || recs[i].Kind == schema.KindDetail {
			clean, _, err := wire.Redact(schema.CallResource, recs[i].Body)
			if err != nil {
				return err
			}
			recs[i].Body = clean
		}
	}
	if err := s.Warehouse.Put(ctx, recs...); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range recs {
		if recs[i].Kind == schema.KindDetail {
			s.stored[recs[i].CallID]++
		}
	}
	return nil
}

func (s *realStore) Checkpoint(ctx context.Context, wait bool) error {
	if records, _ := s.Uncommitted(); records == 0 || !wait && records < 200 {
		return nil
	}
	return s.Commit(ctx, s.row)
}

func (s *realStore) row(did sink.Stats, _ int64) schema.Run {
	return schema.Run{ID: s.RunID(), Outcome: schema.OutcomeDone, CallsNew: did.New}
}

// trouble is a set of disturbances of a company's runs.
type trouble struct {
	opts    sandbox.Options
	runs    []troubledRun
	rate    float64
	kinds   []sandbox.FaultKind
	workers int
	seed    uint64
	step    time.Duration // how far each request advances the clock
}

type troubledRun struct {
	stopAfter int64         // requests until the interrupt; 0: none
	dieAfter  int           // changes of the disk until the kill; negative: none
	later     time.Duration // until the next one
}

// drawCallFaults draws up to four faults of calls.
var drawCallFaults = rapid.Custom(func(t *rapid.T) (fs world.Faults) {
	kinds := rapid.SampledFrom([]world.Fault{"late-analysis", "late-cost", "late-transcript", "late-link", "stuck", "no-end",
		"odd-times", "whole-seconds"})
	for _, kind := range rapid.SliceOfNDistinct(kinds, 0, 4, rapid.ID[world.Fault]).Draw(t, "kinds") {
		fs = append(fs, dice.Share[world.Fault]{Kind: kind, Rate: rapid.SampledFrom([]float64{.05, .3, 1}).Draw(t, "share")})
	}
	return fs
})

var drawTrouble = rapid.Custom(func(t *rapid.T) trouble {
	kinds := []sandbox.FaultKind{
		"204", "302", "400", "401", "403", "404", "405", "409", "429", "500", "503", sandbox.Fault429Bare, sandbox.Fault429Date,
		sandbox.Fault429Malformed, "429-fraction", "429-long", "503-long", sandbox.Fault503HTML, sandbox.FaultReset, sandbox.FaultCut,
		sandbox.FaultTruncated, sandbox.FaultNonJSON, sandbox.FaultMarked, sandbox.FaultSlow, sandbox.FaultHang, sandbox.FaultDuplicate,
		sandbox.FaultShort, sandbox.FaultEmpty, sandbox.FaultLoop, sandbox.FaultExpired, sandbox.FaultTotal, sandbox.FaultDisorder,
		sandbox.FaultEarlyEnd,
	}
	tr := trouble{
		opts: sandbox.Options{
			World: sandbox.Config{
				Seed:            rapid.Uint64().Draw(t, "world"),
				Calls:           rapid.Int64Range(0, 250).Draw(t, "calls"),
				Days:            rapid.IntRange(1, 20).Draw(t, "days"),
				TieRate:         rapid.SampledFrom([]float64{-1, 0.05, 0.8}).Draw(t, "ties"),
				LateVisibleRate: rapid.SampledFrom([]float64{0, 0.1}).Draw(t, "late"),
				Faults:          drawCallFaults.Draw(t, "call faults"),
				Origin:          time.Date(2026, 11, 20, 9, 30, 0, 0, time.UTC),
			},
			ContractOnly:    rapid.Bool().Draw(t, "contract only"),
			ThinList:        rapid.Bool().Draw(t, "thin"),
			OffsetPaging:    rapid.Bool().Draw(t, "offset"),
			InclusiveBounds: rapid.Bool().Draw(t, "inclusive"),
			CursorTTL:       rapid.SampledFrom([]time.Duration{0, 0, time.Minute}).Draw(t, "ttl"),
			PerSecond:       50, PerMinute: 2000,
		},
		rate:    rapid.SampledFrom([]float64{0, 0.02, 0.1, 0.3}).Draw(t, "rate"),
		kinds:   rapid.SliceOfNDistinct(rapid.SampledFrom(kinds), 1, 6, rapid.ID[sandbox.FaultKind]).Draw(t, "kinds"),
		workers: rapid.SampledFrom([]int{1, 8, 64}).Draw(t, "workers"),
		seed:    rapid.Uint64().Draw(t, "faults"),
		step:    rapid.SampledFrom([]time.Duration{0, time.Second, time.Minute}).Draw(t, "step"),
	}
	tr.opts.Lists = rapid.SampledFrom([]sandbox.Lists{
		{}, {}, {}, {Depth: 100}, {Most: 100}, {Extra: -5}, {Null: true}, {Last: "0"}, {Last: "false"}, {Last: `""`}, {Last: "same"},
	}).Draw(t, "lists")
	if l := tr.opts.Lists; l.Depth > 0 || l.Most > 0 || l.Extra < 0 { // only start_at_before leads beyond such an end
		tr.opts.ContractOnly, tr.opts.World.TieRate = false, min(tr.opts.World.TieRate, 0.05)
	}
	if !tr.opts.OffsetPaging { // with it, a call that vanishes while another arrives is undetectable
		tr.opts.World.DeleteRate = rapid.SampledFrom([]float64{0, 0.1}).Draw(t, "deleted")
	}
	for range rapid.IntRange(1, 4).Draw(t, "runs") {
		tr.runs = append(tr.runs, troubledRun{
			stopAfter: rapid.Int64Range(0, 60).Draw(t, "stop"),
			dieAfter:  rapid.OneOf(rapid.Just(-1), rapid.IntRange(0, 60), rapid.IntRange(0, 600)).Draw(t, "die"),
			later:     time.Duration(rapid.Int64Range(1, int64(4*24*time.Hour)).Draw(t, "later")),
		})
	}
	return tr
})

// Whatever happens to the runs (faults of the service, interrupts, kills at any change of the
// disk), every run ends, no acknowledged record is requested again, the warehouse is whole, and
// after an undisturbed run it equals the service's truth, value for value.
func TestRealWarehouseInTrouble(t *testing.T) {
	longtest.Only(t) // the crawler's and the sink's tests take every failure by itself
	rapid.Check(t, func(rt *rapid.T) {
		tr := drawTrouble.Draw(rt, "trouble")
		root, err := os.MkdirTemp("", "callhouse-trouble-")
		test.OK(rt, err)
		defer os.RemoveAll(root)
		synctest.Test(t, func(t *testing.T) {
			st, serr := newFixture(&tr, filepath.Join(root, "w"))
			if err = serr; err == nil {
				err = st.try(t)
			}
		})
		// The Parquet reader pools decoders with channels, which must not be used outside their
		// bubble: no test runs in parallel with this one, and two collections empty the pool.
		runtime.GC()
		runtime.GC()
		test.OK(rt, err)
	})
}

// fixture is a company in trouble: a service, its clock, and a warehouse on disk.
type fixture struct {
	*trouble
	root   string
	clock  *sandbox.ManualClock
	server *sandbox.Server
	stored map[string]int
	n      uint32

	mu   sync.Mutex
	calm bool
	rnd  *rand.Rand
}

func newFixture(tr *trouble, root string) (*fixture, error) {
	st := &fixture{trouble: tr, root: root, stored: map[string]int{}, rnd: rand.New(rand.NewPCG(tr.seed, 0)),
		clock: sandbox.NewManualClock(tr.opts.World.Origin)}
	tr.opts.Clock, tr.opts.Inject = st.clock, st.inject
	var err error
	st.server, err = sandbox.New(tr.opts)
	return st, err
}

func (st *fixture) inject(_ int64, r sandbox.Request) sandbox.FaultKind {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.calm {
		return ""
	}
	st.clock.Advance(st.step)
	if st.rnd.Float64() >= st.rate {
		return ""
	}
	kind := st.kinds[st.rnd.IntN(len(st.kinds))]
	if kind == "404" && r.Kind == "detail" {
		return "" // that is correct: the record is gone
	}
	return kind
}

// run is one run, possibly interrupted or killed.
func (st *fixture) run(t *testing.T, r troubledRun, full bool) (rep crawler.Report, err error) {
	transport, stop := apitest.Serve(t, st.server)
	defer stop()
	st.n++
	folder, err := disk.Open(filepath.Dir(st.root))
	if err != nil {
		return rep, err
	}
	disk := &mortal{FS: folder, left: r.dieAfter}
	w, err := sink.Open(sink.Options{Root: st.root, RunID: layout.RunID(st.clock.Now(), st.n), Now: st.clock.Now, FS: disk, Workers: 2})
	if err != nil {
		return rep, err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	if _, err := w.Recover(t.Context()); err != nil {
		return rep, err
	}
	store := &realStore{Warehouse: w, stored: st.stored}
	c, err := crawler.New(crawler.Config{
		Config: api.Config{
			BaseURL: "http://calls.test", Key: "sandbox-key", KeySource: "test", Transport: transport, Now: st.clock.Now,
			PerSecond: 50, PerMinute: 2000, Share: 1, Workers: st.workers,
		},
		Window: 72 * time.Hour, RelistEvery: 7 * 24 * time.Hour, CheckpointEvery: time.Second, Full: full,
	}, store)
	if err != nil {
		return rep, err
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if r.stopAfter > 0 {
		go func() {
			for ctx.Err() == nil && c.Progress().Requests < r.stopAfter {
				time.Sleep(50 * time.Millisecond)
			}
			cancel()
		}()
	}
	rep, err = c.Run(ctx)
	return rep, errors.Join(err, w.Commit(t.Context(), store.row))
}

func (st *fixture) try(t *testing.T) error {
	for _, r := range st.runs {
		began := time.Now()
		_, _ = st.run(t, r, false)
		if took := time.Since(began); took > 20*time.Hour {
			return fmt.Errorf("a run took %v", took)
		}
		if err := st.whole(); err != nil {
			return err
		}
		time.Sleep(2 * time.Minute)
		st.clock.Advance(r.later)
	}
	st.mu.Lock()
	st.calm = true
	st.mu.Unlock()
	for _, full := range []bool{false, true} {
		rep, err := st.run(t, troubledRun{dieAfter: -1}, full)
		if err != nil {
			return fmt.Errorf("the last run, full %v: %w", full, err)
		}
		if !rep.Complete() {
			return fmt.Errorf("the last run is not complete: %q %v", rep.Problems, rep.Aside)
		}
		if err := errors.Join(st.whole(), st.differs(full)); err != nil {
			return fmt.Errorf("after the last run, full %v: %w", full, err)
		}
		for id, n := range st.stored {
			// A thin list's calls are settled by their records; with full, and after a change, they are
			// requested again.
			if n > 1 && !full && !st.opts.ThinList && len(st.opts.World.Faults) == 0 {
				return fmt.Errorf("the detail of %s was fetched and kept %d times", id, n)
			}
		}
		time.Sleep(2 * time.Minute)
	}
	return nil
}

// whole verifies the warehouse, if there is one.
func (st *fixture) whole() error {
	r, err := sink.Verify(context.Background(), sink.VerifyOptions{Root: st.root})
	if errors.Is(err, layout.ErrNoWarehouse) {
		return nil
	}
	if err == nil && !r.Whole() {
		err = fmt.Errorf("the warehouse is damaged: %v", r.Problems)
	}
	return err
}

// differs returns how the warehouse differs from the service. With values, it compares every value
// of every call, otherwise only what a run must complete.
func (st *fixture) differs(values bool) error {
	s, err := layout.Current(st.root)
	if err != nil {
		return err
	}
	now := st.clock.Now()
	here := map[string]*calls.Call{}
	for call, err := range sink.Calls(context.Background(), s) {
		if err != nil {
			return err
		}
		here[string(call.ID())] = call.Clone()
	}
	var r render.Renderer
	var d calls.Decoder
	shows := st.server.World()
	for v := range shows.Visible(now) {
		id := shows.ID(v.Index).String()
		got := here[id]
		if got == nil {
			return fmt.Errorf("call %s is not in the warehouse", id)
		}
		delete(here, id)
		if got.DetailDue() && got.FetchedAt() < got.EndOrFirstSeen() { // a transcript may come later than the record
			return fmt.Errorf("the detail of call %s was not fetched", id)
		}
		if !values || st.opts.ThinList && got.Settlement() == calls.Expired {
			continue // a thin list does not show what came after the call expired
		}
		shown, kind := r.Detail(nil, v), schema.KindDetail
		if !v.Readable() && st.opts.ThinList {
			continue // its item has no values
		} else if !v.Readable() {
			shown, kind = r.Item(nil, v), schema.KindItem
		}
		body, _, err := wire.Redact(schema.CallResource, shown)
		if err != nil {
			return err
		}
		want := new(calls.Call)
		if err := d.Decode(body, kind, want); err != nil {
			return err
		}
		want.Fetched(got.FirstSeenAt(), got.FetchedAt(), nil)
		calls.Merge(nil, want, kind)
		want.Settle(now.UnixMilli())
		if want.TurnCount().V == 0 && !got.TurnCount().OK { // it was never due
			n := schema.Calls.Column("turn_count")
			want.Row[n] = got.Row[n]
		}
		if found := schema.Differences(&want.Object, &got.Object); len(found) > 0 {
			return fmt.Errorf("call %s differs: %v", id, found)
		}
	}
	if len(here) > 0 && st.opts.World.DeleteRate == 0 {
		return fmt.Errorf("%d calls are in the warehouse that the service does not show", len(here))
	}
	return nil
}
