package serve

import (
	"context"
	"errors"
	"net/netip"
	"sync"
	"time"
)

// LoginLimiter limits password guessing. An address may send maxWrong wrong passwords in a row, then one
// every refill; further logins wait a little and are refused without a check. If many addresses try
// one user's password, each login of that user takes a second longer, but the right password always
// succeeds. The zero value is ready; it is safe for concurrent use.
type LoginLimiter struct {
	mu                sync.Mutex
	addresses, byUser map[string]*bucket
}

// bucket counts the remaining wrong passwords at a time.
type bucket struct {
	left float64
	at   time.Time
}

const (
	maxWrong  = 10
	refill    = 6 * time.Second
	maxWait   = 3 * time.Second // how long a login waits for a free attempt
	step      = 100 * time.Millisecond
	userDelay = time.Second
	maxBucket = 10_000 // maximum for addresses, and for users
)

// ErrTooMany reports too many wrong passwords from an address.
var ErrTooMany = errors.New("too many wrong passwords from this address: wait a minute")

// Try waits until a password of a user from an address may be checked, or returns ErrTooMany. The
// result must be passed to done.
func (b *LoginLimiter) Try(ctx context.Context, user, address string) (done func(isWrong bool), err error) {
	address, user = Network(address), user[:min(len(user), 64)]
	for waited := time.Duration(0); !b.take(address); waited += step {
		if waited >= maxWait {
			return nil, ErrTooMany
		}
		if err := sleep(ctx, step); err != nil {
			return nil, err
		}
	}
	b.mu.Lock()
	isTried := of(&b.byUser, user).left < 1
	b.mu.Unlock()
	done = func(isWrong bool) {
		b.mu.Lock()
		defer b.mu.Unlock()
		if !isWrong {
			of(&b.addresses, address).left++
		} else if u := of(&b.byUser, user); u.left >= 1 {
			u.left--
		}
	}
	if isTried {
		if err := sleep(ctx, userDelay); err != nil {
			done(false)
			return nil, err
		}
	}
	return done, nil
}

// take takes an attempt of an address, if one is left. A password being checked counts as wrong;
// otherwise many could be tried at once.
func (b *LoginLimiter) take(address string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	a := of(&b.addresses, address)
	if a.left < 1 {
		return false
	}
	a.left--
	return true
}

// of returns a bucket in its current state. If there are too many, an arbitrary one is dropped.
func of(all *map[string]*bucket, key string) *bucket {
	now := time.Now()
	if *all == nil {
		*all = map[string]*bucket{}
	}
	b := (*all)[key]
	if b == nil {
		for k := range *all {
			if len(*all) < maxBucket {
				break
			}
			delete(*all, k)
		}
		b = &bucket{left: maxWrong, at: now}
		(*all)[key] = b
	}
	b.left, b.at = min(maxWrong, b.left+float64(now.Sub(b.at))/float64(refill)), now
	return b
}

// Network returns the key under which an address is counted: its host, or the IPv6 network of one
// customer.
func Network(address string) string {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return ""
	}
	ip := at.Addr().Unmap()
	if ip.Is6() {
		p, _ := ip.WithZone("").Prefix(64)
		return p.String()
	}
	return ip.String()
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
