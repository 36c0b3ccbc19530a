package users

import (
	"context"
	"errors"
	"net/netip"
	"sync"
	"time"
)

// Brake slows down who tries passwords. From one address mostWrong may be wrong in a row,
// and then one every refill; who comes in between waits a little, and is refused without a
// look at the password. Where many addresses try one user's, each login of that user takes
// a second longer, and no more than that: whoever knows the password gets in. The zero value
// is ready to use, by several goroutines at once.
type Brake struct {
	mu                sync.Mutex
	addresses, byUser map[string]*bucket
}

// bucket is how many wrong passwords are left, as of a time.
type bucket struct {
	left float64
	at   time.Time
	open int // passwords that are being looked at
}

const (
	mostWrong  = 10
	refill     = 6 * time.Second
	patience   = 3 * time.Second // how long a login waits for one to be left
	step       = 100 * time.Millisecond
	userDelay  = time.Second
	mostBucket = 10_000 // of addresses, and of users
)

// ErrTooMany says that there were too many wrong passwords from an address.
var ErrTooMany = errors.New("too many wrong passwords from this address: wait a minute")

// Try returns when a password of a user may be looked at that comes from an address, or
// ErrTooMany. What came of it has to be told by done.
func (b *Brake) Try(ctx context.Context, user, address string) (done func(isWrong bool), err error) {
	address, user = network(address), user[:min(len(user), 64)]
	for waited := time.Duration(0); ; {
		ok, isOut := b.take(address)
		if ok {
			break
		}
		if isOut && waited >= patience {
			return nil, ErrTooMany
		}
		if err := sleep(ctx, step); err != nil {
			return nil, err
		}
		if isOut { // and not only waits for others whose passwords are looked at
			waited += step
		}
	}
	b.mu.Lock()
	isTried := of(&b.byUser, user).left < 1
	b.mu.Unlock()
	if isTried {
		if err := sleep(ctx, userDelay); err != nil {
			b.give(address, "", false)
			return nil, err
		}
	}
	return func(isWrong bool) { b.give(address, user, isWrong) }, nil
}

// take takes one of an address, if one is left. While a password is looked at it counts as a
// wrong one, or many could be tried at once. isOut says that none is left even if all of these
// are right.
func (b *Brake) take(address string) (ok, isOut bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	a := of(&b.addresses, address)
	if a.left-float64(a.open) < 1 {
		return false, a.left < 1
	}
	a.open++
	return true, false
}

// give gives back what take took. Wrong passwords are counted.
func (b *Brake) give(address, user string, isWrong bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	a := of(&b.addresses, address)
	a.open = max(0, a.open-1)
	if isWrong {
		for _, of := range []*bucket{a, of(&b.byUser, user)} {
			of.left = max(0, of.left-1)
		}
	}
}

// of returns a bucket as it is now. Where there are too many, any one is forgotten.
func of(all *map[string]*bucket, key string) *bucket {
	now := time.Now()
	if *all == nil {
		*all = map[string]*bucket{}
	}
	b := (*all)[key]
	if b == nil {
		for k := range *all {
			if len(*all) < mostBucket {
				break
			}
			delete(*all, k)
		}
		b = &bucket{left: mostWrong, at: now}
		(*all)[key] = b
	}
	b.left, b.at = min(mostWrong, b.left+float64(now.Sub(b.at))/float64(refill)), now
	return b
}

// network is what an address is counted by: its host, or what one customer has of the
// addresses of IPv6.
func network(address string) string {
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
