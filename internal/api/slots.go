package api

import (
	"slices"
	"time"
)

// slots computes when requests may give back their slots of the second earlier than a second after
// their answer began. At latencies over a second and a half that rule alone costs requests: five
// slots held for three seconds are a hundred requests a minute.
//
// This assumes that the service counts every request at the same point: neither the times from
// sending to counting, nor those from counting to the answer, differ by more than the latencies do.
// Let fast and slow be the shortest and the longest latency.
//
//   - The time before one request's count and the time after another's are together at least fast.
//     So a request sent a second minus fast after another's answer is counted a second later.
//   - The same holds for one sent a second plus slow minus fast after another was sent.
//
// A request that takes longer than slow keeps its slot. A slot is never given back sooner than the
// limit of the minute requires.
type slots struct {
	enough instant // time after sending that suffices for the limit of the minute
	most   int     // slots of the minute that may be taken on the assumption

	fast, slow instant // latencies of the last minute; 0: too few are known
	learned    instant // when they were computed
	used       instant // when a request was last sent on the assumption
	// Refusals that may be due to the assumption, and failures that cannot.
	ours, others int
}

const (
	// Every learnEvery the latencies of the last learnMost good answers are examined, if there are
	// at least learnFrom.
	learnEvery           = time.Second
	learnFrom, learnMost = 4, 120
	// One answer in slowest takes longer than slow.
	slowest = 10
)

// trusted reports whether the assumption holds so far. A refusal that may be due to it is excused
// if as many requests have failed for other reasons, since it is then likely a fault as well.
func (s *slots) trusted() bool { return s.ours <= s.others }

// refused counts a refusal.
func (s *slots) refused(now instant) {
	if now < s.used+time.Minute+s.slow && s.trusted() {
		s.ours++
		s.learned = 0 // learn again at once
	} else {
		s.others++
	}
}

// learn computes fast and slow from the answers of the last minute.
func (b *budget) learn(now instant) {
	s := &b.slots
	if s.learned > 0 && now < s.learned+learnEvery {
		return
	}
	s.learned, s.fast, s.slow = now, 0, 0
	var took []instant
	for _, t := range b.answered[max(0, len(b.answered)-learnMost):] {
		if t.good {
			took = append(took, t.answered-t.at)
		}
	}
	n := instant(len(took))
	if n < learnFrom || !s.trusted() {
		return
	}
	slices.Sort(took)
	s.fast, s.slow = took[0], took[n-1-n/slowest]
	vary := s.slow - s.fast
	s.fast, s.slow = max(0, s.fast-2*vary/n), s.slow+2*vary/n+vary/(slowest-1)
}

// sooner returns when a slot of the second becomes free under the assumption.
func (b *budget) sooner(now instant) instant {
	s := &b.slots
	if s.fast == 0 {
		return now + recheck
	}
	var frees []instant
	for _, t := range b.flying {
		at := t.at + max(s.enough, b.second+s.slow-s.fast)
		if at > t.at+s.slow || now > t.at+s.slow {
			at = now + recheck
		}
		frees = append(frees, at)
	}
	for _, t := range b.answered[b.past:] {
		frees = append(frees, min(t.answered+b.second, max(t.at+s.enough, t.answered+b.second-s.fast)))
	}
	slices.Sort(frees)
	excess := len(frees) - b.pace.second.shown(now)
	if excess < 0 {
		return now
	}
	return min(frees[excess], now+recheck)
}
