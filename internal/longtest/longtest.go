// Package longtest is what the quick tests leave to make long, by its flag -long. Only tests
// import it.
package longtest

import (
	"flag"
	"math/rand/v2"
	"os"
	"testing"
)

var long = flag.Bool("long", false, "try all that the quick tests only sample, and what other tests show nearly as well; make long does")

// On says that all is to be tried.
func On() bool { return *long }

// Only leaves a test, or a case of one, to make long: cheaper ones show nearly all of it. Under
// the race detector it runs. A target of make that names the test and lacks -long fails: it
// would seem to try what it skips.
func Only(t *testing.T) {
	t.Helper()
	switch {
	case *long, underRace:
	case os.Getenv("MAKELEVEL") != "" && flag.Lookup("test.run").Value.String() != "":
		t.Fatal("the target of make that runs this test lacks -args -long")
	default:
		t.Skip("make long tries it")
	}
}

// Each returns which cases of a table are to be tried, by their place: every n-th, from a random
// one on; for make long all.
func Each(n int) (tried func(i int) bool) {
	if *long {
		n = 1
	}
	first := rand.IntN(n)
	return func(i int) bool { return i%n == first }
}
