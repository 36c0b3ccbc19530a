// Package longtest sets how much the tests try: the quick ones try the first of each few cases, and
// with the flag -long (make long) all or nearly all. Nothing is chosen at random without a seed.
// Only tests import it.
package longtest

import (
	"flag"
	"fmt"
	"hash/fnv"
	"iter"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
)

var (
	long  bool
	sizes = map[string]int{} // of flags with -long
	seed  = flag.Uint64("seed", 1, "seed of the tests' random choices")
)

func init() {
	flag.BoolFunc("long", "try everything the quick tests only sample (make long)", func(string) error {
		long = true
		given := map[string]bool{}
		flag.Visit(func(f *flag.Flag) { given[f.Name] = true })
		for name, n := range sizes {
			if given[name] {
				continue
			}
			if err := flag.Lookup(name).Value.Set(strconv.Itoa(n)); err != nil {
				return err
			}
		}
		return nil
	})
}

// On reports whether everything is tried.
func On() bool { return long }

// Full gives a flag another value with -long.
func Full(name string, n int) { sizes[name] = n }

// Int declares a flag for a size: quick by default, full with -long.
func Int(name string, quick, full int, usage string) *int {
	Full(name, full)
	return flag.Int(name, quick, fmt.Sprintf("%s; with -long %d", usage, full))
}

// Checks sets how many random cases rapid tries of each property: quick by default, full with
// -long. The flag -rapid.checks overrides both. Its seed is fixed, too: -rapid.seed changes it. It
// is called by an init or TestMain.
func Checks(quick, full int) {
	Full("rapid.checks", full)
	for name, n := range map[string]int{"rapid.checks": quick, "rapid.seed": 1} {
		if err := flag.Lookup(name).Value.Set(strconv.Itoa(n)); err != nil {
			panic(err)
		}
	}
}

// Only skips a test, or a case of one, unless -long is given: cheaper tests show nearly all of
// it. A make target that names the test but lacks -long fails, because it would silently skip what
// it claims to try.
func Only(t *testing.T) {
	t.Helper()
	switch {
	case long:
	case os.Getenv("MAKELEVEL") != "" && flag.Lookup("test.run").Value.String() != "":
		t.Fatal("the make target that runs this test lacks -args -long")
	default:
		t.Skip("only with -long")
	}
}

// Each returns which cases of a table to try, by index: the first of each n, or all with -long.
func Each(n int) (tried func(i int) bool) {
	if long {
		n = 1
	}
	return func(i int) bool { return i%n == 0 }
}

// Some goes through the cases of a table that Each chooses, and their indices.
func Some[T any](n int, cases []T) iter.Seq2[int, T] {
	return func(yield func(int, T) bool) {
		tried := Each(n)
		for i, c := range cases {
			if tried(i) && !yield(i, c) {
				return
			}
		}
	}
}

// Sorted goes through the cases of a map in the order of their names. With n it takes the first of
// each n of them, as Each does, the same ones every time.
func Sorted[V any](cases map[string]V, n ...int) iter.Seq2[string, V] {
	return func(yield func(string, V) bool) {
		for _, name := range Some(append(n, 1)[0], slices.Sorted(maps.Keys(cases))) {
			if !yield(name, cases[name]) {
				return
			}
		}
	}
}

// Rand returns a test's source of random numbers. Its seed is printed if the test fails, and given
// with -seed. Several goroutines may use it.
func Rand(t testing.TB) *rand.Rand {
	t.Helper()
	t.Logf("-seed %d", *seed)
	name := fnv.New64()
	_, _ = name.Write([]byte(t.Name()))
	return rand.New(&source{of: rand.NewPCG(*seed, name.Sum64())})
}

// source makes a source safe for several goroutines.
type source struct {
	mu sync.Mutex
	of rand.Source
}

func (s *source) Uint64() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.of.Uint64()
}
