// Package longtest sets how much the tests try: the quick ones sample, and with the flag -long
// (make long) they try all or nearly all. Only tests import it.
package longtest

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

var (
	long  bool
	sizes = map[string]int{} // of flags with -long
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
// -long. The flag -rapid.checks overrides both. It is called by an init or TestMain.
func Checks(quick, full int) {
	const name = "rapid.checks"
	Full(name, full)
	if err := flag.Lookup(name).Value.Set(strconv.Itoa(quick)); err != nil {
		panic(err)
	}
}

// Only skips a test, or a case of one, unless -long is given: cheaper tests show nearly all of
// it. Under the race detector one of ten runs, at random. A make target that names the test but lacks -long
// fails, because it would silently skip what it claims to try.
func Only(t *testing.T) {
	t.Helper()
	switch {
	case long, underRace && rand.IntN(10) == 0:
	case os.Getenv("MAKELEVEL") != "" && flag.Lookup("test.run").Value.String() != "":
		t.Fatal("the make target that runs this test lacks -args -long")
	default:
		t.Skip("only with -long")
	}
}

// Each returns which cases of a table to try, by index: every n-th from a random one on, or all
// with -long.
func Each(n int) (tried func(i int) bool) {
	if long {
		n = 1
	}
	first := rand.IntN(n)
	return func(i int) bool { return i%n == first }
}
