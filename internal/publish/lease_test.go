package publish

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"callhouse/internal/publish/lease"
	"callhouse/internal/publish/store"
)

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
	l.check("")
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
	newLake(h, to).check("")
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
