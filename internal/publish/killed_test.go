package publish

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"callhouse/internal/layout"
	"callhouse/internal/longtest"
	"callhouse/internal/loopback"
)

var kills = longtest.Int("kills", 3, 60, "how many publications are killed")

// killedTime is how long the lock of a killed publication lasts.
const killedTime = 2 * time.Second

// envChild makes this binary a publisher.
const envChild = "CALLHOUSE_TEST_PUBLISH"

func TestMain(m *testing.M) {
	loopback.Only()
	if root := os.Getenv(envChild); root != "" {
		_, err := Run(context.Background(), Options{Warehouse: root, To: "s3://lake/killed", lockTime: killedTime})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	debug.SetGCPercent(400) // the tests use little memory
	os.Exit(m.Run())
}

// TestKilledForReal kills processes that publish to S3 with SIGKILL at random times, while requests
// fail. A table always has the files of a single commit; once a publication completes, all tables
// have those of the last commit, nothing is left over, and no complete file was uploaded again.
func TestKilledForReal(t *testing.T) {
	longtest.Only(t)
	b := newBucket(t)
	h := newTestWarehouse(t)
	l := newLake(h, "s3://lake/killed")
	commits := committed{}
	killed, through := 0, 0
	took, rnd := time.Hour, longtest.Rand(t)
	for n := 0; n < *kills; n++ {
		if n%3 == 0 {
			h.night(call{fmt.Sprint(n % 40), "x", n % 60, 1, 1}, call{fmt.Sprint(n), "y", rnd.IntN(60), n, 2})
			if n%30 == 27 {
				h.forget(fmt.Sprint(n % 40))
			}
			commits.add(h)
		}
		b.fail(0.01)
		begun := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rnd.Int64N(int64(took))))
		cmd := exec.CommandContext(ctx, os.Args[0])
		cmd.Env = append(os.Environ(), envChild+"="+h.root)
		if out, err := cmd.CombinedOutput(); ctx.Err() != nil {
			killed++
		} else if through++; err != nil {
			t.Logf("it ended by itself: %v\n%s", err, out)
		} else {
			took = min(took, time.Since(begun))
		}
		cancel()
		b.fail(0)
		commits.check(l)
		if n%10 == 9 || n == *kills-1 {
			_, err := h.publish("s3://lake/killed", func(o *Options) { o.lockTime = killedTime })
			h.must(err)
			l.check()
		}
	}
	sent, twice := 0, 0
	b.mu.Lock()
	defer b.mu.Unlock()
	for uri, n := range b.wrote {
		if strings.HasSuffix(uri, ".parquet") {
			sent++
			if n > 1 {
				twice++
			}
		}
	}
	t.Logf("%d killed, %d not in time; faults %v; of %d files %d were sent again, whose answers or senders were lost", killed, through, b.seen, sent, twice)
	if killed == 0 && *kills > 20 {
		t.Error("none was killed")
	}
}

// committed is the set of file lists of each table, one per commit.
type committed map[string]bool

func (c committed) add(h *testWarehouse) {
	now, _ := h.snapshots()
	for _, table := range Tables() {
		c[table.Name+" "+names(now.Manifest.FilesOf(table.Name))] = true
	}
}

// check fails if a table is unreadable, or its files match no commit.
func (c committed) check(l *lake) {
	l.source.t.Helper()
	for _, table := range Tables() {
		cur := l.load(table.Name)
		if cur.meta == nil || cur.meta.head() == nil {
			continue
		}
		have := map[string]bool{}
		for uri := range l.data(cur.meta.head()) {
			have[objectRE.FindStringSubmatch(path.Base(uri))[1]] = true
		}
		if !c[table.Name+" "+fmt.Sprint(have)] {
			l.source.t.Fatalf("%s has the files of no commit", table.Name)
		}
	}
}

// names returns the stems of files in one text.
func names(files []*layout.File) string {
	seen := map[string]bool{}
	for _, f := range files {
		seen[stemOf(f)] = true
	}
	return fmt.Sprint(seen) // Sprint sorts the keys
}
