package store

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"
)

// LockedError means that another program is publishing to the same place, or has just done so.
type LockedError struct{ URI, What string }

func (e *LockedError) Error() string { return fmt.Sprintf("%s is locked: %s", e.URI, e.What) }

// Hint returns advice for the operator.
func (e *LockedError) Hint() string { return "nothing was lost; publish again when it is done" }

// Lock locks a file, whose lock ends with this process however that ends.
func (f folder) Lock(ctx context.Context, uri string, _ time.Duration) (context.Context, func(), error) {
	if err := f.makeDir(filepath.Dir(local(uri))); err != nil {
		return nil, nil, err
	}
	lock := flock.New(local(uri), flock.SetPermissions(0o600))
	switch got, err := lock.TryLock(); {
	case err != nil:
		return nil, nil, fmt.Errorf("lock %s: %w", local(uri), err)
	case !got:
		return nil, nil, &LockedError{uri, "another program on this machine is publishing to it"}
	}
	return ctx, func() { _ = lock.Close() }, nil
}

// lock is the content of a lock's object in S3.
type lock struct {
	owner   string // a random text, and for people to read the host and when it was taken
	renewed int
}

func (l *lock) encode() []byte { return fmt.Appendf(nil, "%s\n%d\n", l.owner, l.renewed) }

// owns reports whether l wrote an object.
func (l *lock) owns(raw []byte) bool { return bytes.HasPrefix(raw, []byte(l.owner+"\n")) }

// Lock creates an object, renews it, and removes it in the end. An object that is not renewed for the
// time valid, by this machine's clock, is of a program that was killed, and is replaced.
func (s *s3) Lock(ctx context.Context, uri string, valid time.Duration) (context.Context, func(), error) {
	host, _ := os.Hostname()
	l := &lock{owner: fmt.Sprintf("%s %s since %s", rand.Text(), host, time.Now().UTC().Format(time.RFC3339))}
	err := s.claim(ctx, uri, "", l)
	if errors.Is(err, fs.ErrExist) {
		err = s.takeOver(ctx, uri, l, valid)
	}
	if err != nil {
		return nil, nil, err
	}
	// A store that creates it once more knows no conditions.
	switch err := s.write(ctx, uri, "", []byte("{}")); {
	case err == nil:
		return nil, nil, errors.Join(fmt.Errorf("%s was created twice: %w", uri, errors.ErrUnsupported),
			s.Remove(ctx, []string{uri}))
	case !errors.Is(err, fs.ErrExist):
		return nil, nil, err
	}
	held, cancel := context.WithCancelCause(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		cancel(s.renew(held, uri, l, valid))
	}()
	return held, func() {
		cancel(nil)
		<-done
		ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), valid/3)
		defer stop()
		if s.holds(ctx, uri, l) {
			_ = s.Remove(ctx, []string{uri}) // or the next program waits until the lock is no longer valid
		}
	}, nil
}

// takeOver waits for a lock that another program may hold, and replaces it if that was killed.
func (s *s3) takeOver(ctx context.Context, uri string, l *lock, valid time.Duration) error {
	const looks = 12
	var seen []byte
	tag := ""
	for range looks + 1 {
		now, t, err := s.read(ctx, uri)
		switch {
		case errors.Is(err, fs.ErrNotExist): // it was just released
			if err = s.claim(ctx, uri, "", l); !errors.Is(err, fs.ErrExist) {
				return err
			}
			seen = nil
			continue
		case err != nil:
			return err
		case seen != nil && !bytes.Equal(now, seen):
			return lockedBy(uri, now)
		}
		seen, tag = now, t
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(valid / looks):
		}
	}
	err := s.claim(ctx, uri, tag, l)
	if errors.Is(err, fs.ErrExist) {
		return lockedBy(uri, seen)
	}
	return err
}

// claim writes a lock's object. The answer may be lost, and a repeated request then be refused.
func (s *s3) claim(ctx context.Context, uri, tag string, l *lock) error {
	err := s.write(ctx, uri, tag, l.encode())
	if err != nil && ctx.Err() == nil && s.holds(ctx, uri, l) {
		return nil
	}
	return err
}

// holds reports whether a lock's object is still that of l.
func (s *s3) holds(ctx context.Context, uri string, l *lock) bool {
	now, _, err := s.read(ctx, uri)
	return err == nil && l.owns(now)
}

func lockedBy(uri string, raw []byte) error {
	_, who, _ := strings.Cut(strings.SplitN(string(raw), "\n", 2)[0], " ")
	return &LockedError{uri, "another program is publishing to it: " + who}
}

// renew renews a lock until the context ends. It returns an error when the lock is lost, which is
// before another program may replace it.
func (s *s3) renew(ctx context.Context, uri string, l *lock, valid time.Duration) error {
	last, tick := time.Now(), time.NewTicker(valid/6)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		once, stop := context.WithTimeout(ctx, valid/6)
		now, tag, err := s.read(once, uri)
		gone := errors.Is(err, fs.ErrNotExist) || err == nil && !l.owns(now)
		if err == nil && !gone {
			l.renewed++
			err = s.write(once, uri, tag, l.encode())
		}
		stop()
		if err == nil {
			last = time.Now()
		}
		if gone || ctx.Err() == nil && time.Since(last) > valid/2 {
			return &LockedError{uri, "this program could not renew its lock in time"}
		}
	}
}
