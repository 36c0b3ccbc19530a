// Package lease decides who may publish to an address: one program at a time, even
// among machines connected only by the store. It knows nothing about tables.
package lease

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"callhouse/internal/publish/store"
)

const (
	// Folder is the folder of all leases, next to the tables. Engines ignore names that begin with a
	// point.
	Folder = ".callhouse"
	// validity is how long a lease is valid without renewal.
	validity  = time.Minute
	renewTime = validity / 3
	watchTime = 5 * time.Second
	// skew is the maximum difference between the machines' clocks. A lease that expired longer ago,
	// according to its own content, is taken over at once; a lease that expired more recently is
	// watched first.
	skew = 10 * time.Minute
	// MaxSuperseded is the number of superseded leases that are kept, so that a publisher that was suspended
	// cannot create one with an old number.
	MaxSuperseded = 20
)

// Lease is the right to change the tables below an address. It is an
// object with a number, which only one publisher can create (If-None-Match). Its holder renews it;
// if the holder stops, another publisher creates the next one. The number is the fencing token: a
// holder that finds a higher one has lost the lease.
type Lease struct {
	store  store.Store
	folder string // of all leases
	number int
	// Shared means that the store lets two publishers take the same lease.
	Shared bool
	note   content
	stop   func()
	done   chan struct{}
}

// content is the content of a lease's object.
type content struct {
	Holder   string    `json:"holder"` // identifies user and machine; the host is only for people to read
	Host     string    `json:"host"`
	Attempt  string    `json:"attempt"` // distinguishes two attempts of the same holder
	Snapshot int64     `json:"snapshot"`
	Taken    time.Time `json:"taken"`
	Renewed  int       `json:"renewed"`
	Expires  time.Time `json:"expires"`
	Released bool      `json:"released"`
	// Cleaned is the value of Oldest in the warehouse's manifest when the last publication
	// finished. If the current value differs, calls were forgotten since, and there may be copies
	// of them here.
	Cleaned int64 `json:"cleaned"`
}

// LockedError means that another program is publishing to the same place.
type LockedError struct{ To, What string }

func (e *LockedError) Error() string { return fmt.Sprintf("%s is locked: %s", e.To, e.What) }

// Hint returns advice for the operator.
func (e *LockedError) Hint() string { return "nothing was lost; publish again when it is done" }

// Own excludes other publications by this user to the same place, and returns the holder name for
// this user's leases. With it, the lease of a killed holder can be taken over at once. state is a
// folder of this user on this machine; empty: none.
func Own(state, to string) (holder string, free func(), err error) {
	if state == "" {
		return random(), func() {}, nil
	}
	if err := os.MkdirAll(state, 0o700); err != nil {
		return "", nil, err
	}
	name := filepath.Join(state, fmt.Sprintf("publish-%s.lock", hashed(to)))
	lock := flock.New(name)
	switch got, err := lock.TryLock(); {
	case err != nil:
		return "", nil, fmt.Errorf("lock %s: %w", name, err)
	case !got:
		return "", nil, &LockedError{to, "another program of this user is publishing to it"}
	}
	free = func() { _ = lock.Close() }
	raw, err := os.ReadFile(name)
	if holder = string(raw); err == nil && len(holder) != 32 {
		holder = random()
		err = os.WriteFile(name, []byte(holder), 0o600)
	}
	if err != nil {
		free()
		return "", nil, err
	}
	return holder, free, nil
}

func random() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // it never fails
	return hex.EncodeToString(b[:])
}

// Publisher is the program that takes leases.
type Publisher struct {
	Holder   string // from Own
	Snapshot int64  // of the warehouse, only for people to read
	Now      func() time.Time
}

// Take takes the lease for everything below a root, and renews it until Release. The returned
// context ends when the lease is lost, with a *LockedError as its cause.
func (p *Publisher) Take(ctx context.Context, s store.Store, root string) (_ context.Context, l *Lease, err error) {
	host, _ := os.Hostname()
	l = &Lease{store: s, folder: root + "/" + Folder, done: make(chan struct{}),
		note: content{Holder: p.Holder + "@" + host, Host: host, Attempt: random(), Snapshot: p.Snapshot}}
	var old []string
	for {
		var last content
		if old, err = l.newest(ctx, &last); err != nil {
			return nil, nil, err
		}
		if l.number > 0 && !last.Released && last.Holder != l.note.Holder && last.Expires.Add(skew).After(p.Now()) {
			if err := l.watch(ctx, root, last); err != nil {
				return nil, nil, err
			}
		}
		l.number++
		l.note.Taken, l.note.Expires, l.note.Cleaned = p.Now().UTC(), p.Now().Add(validity).UTC(), last.Cleaned
		taken, err := l.create(ctx)
		if err != nil {
			return nil, nil, err
		}
		if taken != not {
			l.Shared = taken == perhaps
			break
		}
	}
	if len(old) > 0 {
		err = s.Remove(ctx, old)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	l.stop = func() { cancel(nil) }
	go func() {
		defer close(l.done)
		l.renew(ctx, p.Now, func() {
			cancel(&LockedError{root, "another program took over, since this one could not renew its lease"})
		})
	}()
	return ctx, l, err
}

func (l *Lease) uri(number int) string {
	return fmt.Sprintf("%s/lease-%06d.json", l.folder, number)
}

// newest finds the lease with the highest number, and the leases that may be removed.
func (l *Lease) newest(ctx context.Context, note *content) (old []string, err error) {
	objects, err := l.store.List(ctx, l.folder)
	if err != nil {
		return nil, err
	}
	for _, o := range objects {
		l.number = max(l.number, l.numberOf(o.URI))
	}
	for _, o := range objects {
		if n := l.numberOf(o.URI); n > 0 && n <= l.number-MaxSuperseded {
			old = append(old, o.URI)
		}
	}
	for n := max(l.number, 1); ; n++ { // the listing may be outdated
		next, err := l.read(ctx, n)
		if next == nil || err != nil {
			return old, err
		}
		l.number, *note = n, *next
	}
}

// read returns the content of the lease with a number; nil: there is none.
func (l *Lease) read(ctx context.Context, number int) (*content, error) {
	raw, err := l.store.Get(ctx, l.uri(number))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	c := new(content)
	_ = json.Unmarshal(raw, c) // an unreadable one counts as expired
	return c, err
}

func (l *Lease) numberOf(uri string) int {
	rest, ok := strings.CutPrefix(uri, l.folder+"/lease-")
	digits, isNote := strings.CutSuffix(rest, ".json")
	if n, err := strconv.Atoi(digits); ok && isNote && err == nil && n > 0 && l.uri(n) == uri {
		return n
	}
	return 0
}

// watch waits until a lease has not been renewed for its whole validity, according to this
// machine's clock.
func (l *Lease) watch(ctx context.Context, to string, seen content) error {
	for range int(validity/watchTime) + 1 {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(watchTime):
		}
		switch now, err := l.read(ctx, l.number); {
		case err != nil:
			return err
		case now == nil || now.Released:
			return nil
		case now.Renewed != seen.Renewed:
			return &LockedError{to, fmt.Sprintf("%s has been publishing snapshot %d to it since %s", now.Host, now.Snapshot,
				now.Taken.Format(time.RFC3339))}
		}
	}
	return nil
}

// taking is the result of creating a lease.
type taking int

const (
	not         taking = iota // another publisher was first
	exclusively               // and the store refuses a second creation
	perhaps                   // it is unknown whether the store refuses a second creation
)

// create creates the lease, and tests whether the store refuses to create it again.
func (l *Lease) create(ctx context.Context) (taking, error) {
	raw, err := json.Marshal(l.note)
	if err != nil {
		return not, err
	}
	switch err := l.store.Create(ctx, l.uri(l.number), raw); {
	case errors.Is(err, errors.ErrUnsupported):
		return perhaps, l.put(ctx)
	case err != nil:
		// Our own first attempt may have succeeded even if its response was lost.
		there, e := l.store.Get(ctx, l.uri(l.number))
		if e != nil {
			return not, fmt.Errorf("%w; and then: %w", err, e)
		}
		if !bytes.Equal(there, raw) {
			return not, nil
		}
	}
	switch err := l.store.Create(ctx, l.uri(l.number), raw); {
	case err == nil:
		return perhaps, nil
	case errors.Is(err, fs.ErrExist):
		return exclusively, nil
	default:
		return not, err
	}
}

func (l *Lease) put(ctx context.Context) error {
	raw, err := json.Marshal(l.note)
	if err != nil {
		return err
	}
	return l.store.Put(ctx, l.uri(l.number), bytes.NewReader(raw), int64(len(raw)))
}

// renew renews the lease until the context ends. It calls lost when the lease is lost: when another
// holder took it over, or when two renewals have failed, which is before anyone may take it over.
func (l *Lease) renew(ctx context.Context, now func() time.Time, lost func()) {
	last, tick := time.Now(), time.NewTicker(renewTime)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		gone, err := l.again(ctx, now().Add(validity).UTC())
		if err == nil && !gone {
			last = time.Now()
		}
		if ctx.Err() == nil && (gone || time.Since(last) >= 2*renewTime) {
			lost()
			return
		}
	}
}

// again renews the lease once, unless there is a lease with a higher number.
func (l *Lease) again(ctx context.Context, expires time.Time) (gone bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, renewTime)
	defer cancel()
	size, err := l.store.Size(ctx, l.uri(l.number+1))
	if err != nil || size >= 0 {
		return size >= 0, err
	}
	l.note.Renewed, l.note.Expires = l.note.Renewed+1, expires
	return false, l.put(ctx)
}

// Cleaned returns the value that the last holder passed to Release; 0 if there was none.
func (l *Lease) Cleaned() int64 { return l.note.Cleaned }

// Release releases the lease, and passes cleaned to the next holder. If it fails, the next holder
// waits until the lease has expired.
func (l *Lease) Release(ctx context.Context, cleaned int64) {
	l.stop()
	<-l.done
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), watchTime)
	defer cancel()
	l.note.Released, l.note.Cleaned = true, cleaned
	_ = l.put(ctx)
}

// hashed returns a name for a text.
func hashed(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}
