package e2e

import (
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"callhouse/internal/layout"
	"callhouse/internal/sandbox"
	"callhouse/internal/schema"
	"callhouse/internal/sink"
	"callhouse/internal/sink/disk"
	"callhouse/internal/test"
)

var (
	followDays  = flag.Int("follow-days", 0, "how many days of following TestDaysOfFollowing commits, a minute each")
	followCalls = flag.Int64("follow-calls", 4320, "calls of each of these days")
	followDir   = flag.String("follow-dir", "", "where its warehouse stays")
)

// TestDaysOfFollowing makes the commits of a process that follows the service for some days, one
// per minute, as fast as possible, and reports their cost. Each day ends with a run.
func TestDaysOfFollowing(t *testing.T) {
	if *followDays == 0 {
		t.Skip("-follow-days 0")
	}
	c := found(t, sandbox.Options{World: sandbox.Config{Seed: 9, Calls: 7 * *followCalls, Days: 7, Steady: true, Agents: 30}})
	if *followDir != "" {
		c.warehouse = *followDir
	}
	c.clock.Set(c.clock.Now().UTC().Truncate(24 * time.Hour))
	c.mustExtract("--resources", "none")
	for day := range *followDays {
		s := &following{company: c, seen: map[string]string{}, told: map[string]bool{}}
		s.day()
		t.Logf("day %d: %s", day+1, s.measure())
		c.mustExtract("--resources", "none", "--transcripts", "v3")
	}
}

// following is a day of commits.
type following struct {
	*company
	id      string
	w       *sink.Warehouse
	seen    map[string]string // the list item of a call
	told    map[string]bool   // its record is stored
	commits int
	written int64
	journal int64
	wall    time.Duration
	last    time.Duration // the last hundred commits
}

func (s *following) day() {
	t := s.t
	var err error
	s.id = layout.RunID(s.clock.Now(), 7)
	s.w, err = sink.Open(sink.Options{Root: s.warehouse, RunID: s.id, Now: s.clock.Now, Follow: &disk.Follow{}, Records: true})
	test.OK(t, err)
	for minute := range 1440 - 1 {
		s.clock.Advance(time.Minute)
		s.poll(minute == 0)
		begun := time.Now()
		test.OK(t, s.w.Commit(t.Context(), func(sink.Stats, int64) schema.Run {
			return schema.Run{ID: s.id, StartedAt: s.clock.Now().UnixMilli(), Outcome: schema.OutcomeFollowing}
		}))
		took := time.Since(begun)
		s.commits++
		s.wall += took
		if minute >= 1339 {
			s.last += took
		}
		for _, f := range s.w.Snapshot().Manifest.Files {
			path := filepath.Join(s.w.Snapshot().Dir, filepath.FromSlash(f.Path))
			if info, err := os.Lstat(path); err == nil && info.Sys().(*syscall.Stat_t).Nlink == 1 {
				s.written += info.Size()
			}
		}
	}
	test.OK(t, s.w.Close())
}

func (s *following) get(path string) []byte {
	r := httptest.NewRequest(http.MethodGet, path, nil)
	r.Header.Set("Authorization", "Bearer "+testKey)
	w := httptest.NewRecorder()
	s.service.Server.ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		s.t.Fatalf("%s: %d %s", path, w.Code, w.Body)
	}
	return w.Body.Bytes()
}

func (s *following) poll(first bool) {
	var page struct{ Items []json.RawMessage }
	test.OK(s.t, json.Unmarshal(s.get("/v3/calls?limit=100"), &page))
	var recs []schema.Record
	now := s.clock.Now().UnixMilli()
	for _, raw := range page.Items {
		var item struct {
			ID     string
			EndAt  int64 `json:"end_at"`
			OptOut bool  `json:"opt_out_sensitive_data_storage"`
			Status string
		}
		test.OK(s.t, json.Unmarshal(raw, &item))
		if s.seen[item.ID] == string(raw) {
			continue
		}
		s.seen[item.ID] = string(raw)
		recs = append(recs, schema.Record{Kind: schema.KindItem, CallID: item.ID, FetchedAt: now, Body: raw})
		if s.told[item.ID] = s.told[item.ID] || first; item.EndAt > 0 && item.Status == "ended" && !item.OptOut && !s.told[item.ID] {
			s.told[item.ID] = true
			recs = append(recs, schema.Record{Kind: schema.KindDetail, CallID: item.ID, FetchedAt: now, Body: s.get("/v3/calls/" + item.ID)})
		}
	}
	for _, r := range recs {
		s.journal += int64(len(r.Body))
	}
	if len(recs) > 0 {
		test.OK(s.t, s.w.Put(s.t.Context(), recs...))
	}
}

func (s *following) measure() string {
	var names, bytes int64
	seen := map[uint64]bool{}
	manifests := int64(0)
	_ = filepath.WalkDir(filepath.Join(s.warehouse, "snapshots"), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		names++
		info, err := d.Info()
		if err != nil {
			return err
		}
		st := info.Sys().(*syscall.Stat_t)
		if !seen[st.Ino] {
			seen[st.Ino] = true
			bytes += st.Blocks * 512
			if filepath.Base(path) == "manifest.json" {
				manifests += st.Blocks * 512
			}
		}
		return nil
	})
	kept, _ := os.ReadDir(filepath.Join(s.warehouse, "snapshots"))
	m := s.w.Snapshot().Manifest
	size := int64(0)
	for _, f := range m.Files {
		size += f.Bytes
	}
	return fmt.Sprintf("%d commits, %.0f ms each (the last hundred %.0f ms); %.1f MB written; %d snapshots kept, %d names, %.1f MB on the disk (%.1f MB manifests); the snapshot: %d files, %.1f MB",
		s.commits, 1000*s.wall.Seconds()/float64(s.commits), 10*s.last.Seconds(), float64(s.written)/1e6, len(kept), names, float64(bytes)/1e6, float64(manifests)/1e6,
		len(m.Files), float64(size)/1e6)
}
