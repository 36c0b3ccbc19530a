package e2e

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/longtest"
	"callhouse/internal/sandbox"
	"callhouse/internal/schema"
	"callhouse/internal/test"
)

// nobody is the unprivileged user of tests that run as root.
const nobody = 65534

// serviceUser is a machine with a user for callhouse: nobody if the tests run as root, otherwise
// the user of the tests.
type serviceUser struct {
	t        *testing.T
	root     string // a folder that all users can enter
	uid, gid int
}

func newServiceUser(t *testing.T) *serviceUser {
	t.Helper()
	u := &serviceUser{t: t, uid: os.Getuid(), gid: os.Getgid()}
	if u.uid == 0 {
		u.uid, u.gid = nobody, nobody
	}
	var err error
	u.root, err = os.MkdirTemp("", "callhouse-user-")
	test.OK(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(u.root) })
	self, err := os.Executable() // which acts as a program when called by its name, see TestMain
	bin := filepath.Join(u.root, "bin")
	err = errors.Join(err, os.Chmod(u.root, 0o755), os.Mkdir(bin, 0o755), os.Chmod(bin, 0o755)) // whatever the umask is
	test.OK(t, err)
	// Its own folder is not accessible to others, so a symbolic link would not work.
	if os.Link(self, filepath.Join(bin, "extract")) != nil {
		if out, err := exec.CommandContext(t.Context(), "cp", self, filepath.Join(bin, "extract")).CombinedOutput(); err != nil {
			t.Fatalf("%s", out)
		}
	}
	test.OK(t, errors.Join(os.Chmod(filepath.Join(bin, "extract"), 0o755), os.Link(filepath.Join(bin, "extract"), filepath.Join(bin, "query"))))
	become := ""
	if os.Getuid() == 0 {
		become = fmt.Sprintf("setpriv --reuid %d --regid %d --clear-groups ", u.uid, u.gid)
	}
	test.OK(t, os.WriteFile(filepath.Join(bin, "sudo"), []byte("#!/bin/sh\nshift 2\nexec "+become+"\"$@\"\n"), 0o755))
	return u
}

// command returns a command that runs a script as the tests' user, with this user's programs and a
// fake sudo that switches to it, whichever user is named: the machine may have no usable sudo.
func (u *serviceUser) command(dir, script string, env ...string) *exec.Cmd {
	cmd := exec.CommandContext(u.t.Context(), "bash", "-euo", "pipefail", "-c", script)
	cmd.Dir, cmd.Env = dir, append([]string{"PATH=" + u.root + "/bin:/usr/bin:/bin"}, env...)
	return cmd
}

// One user's files are not accessible to another. The message names the path and has a hint, and
// nothing is changed; an enclosing folder does not matter.
func TestAnotherUsersFiles(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("only root can act as another user")
	}
	u := newServiceUser(t)
	c := foundNow(t, sandbox.Options{World: sandbox.Config{Seed: 5, Calls: 30, Days: 3}})
	c.warehouse = filepath.Join(u.root, "w")
	c.mustExtract()
	home, key := filepath.Join(u.root, "home"), filepath.Join(u.root, "key")
	test.OK(t, errors.Join(os.Mkdir(home, 0o700), os.WriteFile(key, []byte(testKey), 0o600)))
	give := func(path string) {
		t.Helper()
		test.OK(t, filepath.WalkDir(path, func(p string, _ fs.DirEntry, err error) error {
			return errors.Join(err, os.Lchown(p, nobody, nobody))
		}))
	}
	warehouse := c.warehouse
	run := func(dir, args string) result {
		t.Helper()
		before := tree(t, warehouse)
		cmd := u.command(dir, "sudo -u callhouse "+args+" --warehouse "+c.warehouse, "HOME=/nonexistent")
		var out, errs strings.Builder
		cmd.Stdout, cmd.Stderr = &out, &errs
		if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
			t.Fatal(err)
		}
		if after := tree(t, warehouse); cmd.ProcessState.ExitCode() == cli.ExitFailed && !slices.Equal(before, after) {
			t.Errorf("%s failed, and changed the warehouse:\n%s%s", args, out.String(), errs.String())
		}
		return result{cmd.ProcessState.ExitCode(), out.String(), errs.String(), fmt.Sprint(args)}
	}
	extractRun := "extract run --base-url " + c.service.URL + " --api-key-file " + key + " --requests-per-second 2000 --requests-per-minute 100000"
	expect := func(what string, r result, code int, says ...string) {
		t.Helper()
		for _, text := range says {
			if r.code != code || !strings.Contains(r.stderr, text) {
				t.Errorf("%s: exit code %d, want %d and %q:\n%s%s", what, r.code, code, text, r.stdout, r.stderr)
			}
		}
	}
	expect("a key that is root's", run("/", extractRun), cli.ExitUsage, "ls -ld "+key)
	give(key)
	expect("a warehouse that is root's", run("/", extractRun), cli.ExitFailed, "ls -ld "+c.warehouse)
	expect("status of it", run("/", "extract status"), cli.ExitFailed, "ls -ld "+c.warehouse)
	expect("a query of it", run("/", "query volume"), cli.ExitFailed, "ls -ld "+c.warehouse)
	give(c.warehouse)
	lock := filepath.Join(c.warehouse, "lock")
	test.OK(t, os.Chown(lock, 0, 0))
	expect("a lock that is root's", run("/", extractRun), cli.ExitFailed, "ls -ld "+lock)
	for _, name := range []string{"journal", "snapshots", "snapshots/000001", "current"} { // all at once
		test.OK(t, os.Lchown(filepath.Join(c.warehouse, name), 0, 0))
	}
	expect("more that is root's", run("/", extractRun), cli.ExitFailed, "permission denied")
	for _, path := range []string{"/callhose", "/usr", "/usr/callhose", "/root", "/etc", home, filepath.Join(home, "w")} {
		c.warehouse = path
		for _, args := range []string{extractRun, "extract status"} {
			if r := run("/", args); r.code != cli.ExitFailed || strings.Contains(r.stderr, "goroutine") {
				t.Errorf("%s of %s: exit code %d:\n%s", args, path, r.code, r.stderr)
			}
		}
	}
	c.warehouse = warehouse
	give(c.warehouse)
	s := current(t, warehouse)
	calls := s.Path(s.Manifest.FilesOf(schema.Calls.Name)[0])
	test.OK(t, errors.Join(os.Chown(calls, 0, 0), os.Chmod(calls, 0o600)))
	expect("calls that are root's", run("/", "query sql 'SELECT count(DISTINCT summary) FROM calls'"), cli.ExitFailed, "permission denied")
	give(c.warehouse)

	// A working folder that the user cannot even list.
	for _, args := range []string{extractRun, "extract status", "extract verify", "query volume", "query sql 'SELECT count(*) FROM calls'"} {
		expect("in a folder of root's: "+args, run(home, args), cli.ExitOK, "")
	}
}

// sameAsTruth compares every aggregate of the sandbox with SQL over the Parquet files.
func sameAsTruth(t *testing.T, c *company) {
	t.Helper()
	truth := c.service.Server.Truth()
	questions := []struct {
		what string
		want map[string]int64
		sql  string
	}{
		{"status", truth.ByStatus, "SELECT status AS key, count(*) AS n FROM c GROUP BY 1"},
		{"call type", truth.ByType, "SELECT call_type AS key, count(*) AS n FROM c GROUP BY 1"},
		{"reason", truth.ByReason, "SELECT disconnection_reason AS key, count(*) AS n FROM c GROUP BY 1"},
		{"sentiment", truth.BySentiment, "SELECT user_sentiment AS key, count(*) AS n FROM c GROUP BY 1"},
		{"agent", truth.ByAgent, "SELECT agent_id AS key, count(*) AS n FROM c GROUP BY 1"},
		{"version", truth.ByVersion, "SELECT agent_version AS key, count(*) AS n FROM c GROUP BY 1"},
		{"variant", truth.ByVariant, "SELECT variant_label AS key, count(*) AS n FROM c GROUP BY 1"},
		{"UTC day", truth.ByDay, "SELECT strftime(start_at AT TIME ZONE 'UTC', '%Y-%m-%d') AS key, count(*) AS n FROM c GROUP BY 1"},
		{"turns by role", truth.TurnsByRole, "SELECT role AS key, count(*) AS n FROM transcript_turns GROUP BY 1"},
		{"custom items", truth.CustomItems, "SELECT name AS key, count(*) AS n FROM analysis_items GROUP BY 1"},
		{"sums", map[string]int64{
			"calls": truth.Calls, "duration": truth.DurationMS, "costs": truth.WithCost, "opted out": truth.OptedOut,
			"recordings": truth.WithRecording, "masked": truth.Masked, "corrected": truth.Corrected,
		}, `SELECT unnest(['calls', 'duration', 'costs', 'opted out', 'recordings', 'masked', 'corrected']) AS key,
		    unnest([count(*), coalesce(sum(duration_ms), 0)::BIGINT, count(total_cost), count(*) FILTER (opt_out_sensitive_data_storage),
		            count(recording_url),
		            count(*) FILTER (summary = '[REDACTED]') + (SELECT count(*) FROM transcript_turns WHERE content = '[REDACTED]'),
		            count(*) FILTER (summary LIKE '%(corrected)') + (SELECT count(*) FROM transcript_turns WHERE content = '(corrected)')]) AS n FROM c`},
		{"total cost", map[string]int64{truth.TotalCost: 1}, "SELECT coalesce(sum(total_cost), 0)::DECIMAL(38,2)::VARCHAR AS key, 1 AS n FROM c"},
		{"calls that have another number of turns than turn_count says", map[string]int64{"calls": 0}, `SELECT 'calls' AS key, count(*) AS n FROM c
		    WHERE coalesce(turn_count, 0) <> (SELECT count(*) FROM transcript_turns t WHERE t.call_id = c.call_id)`},
	}
	var parts []string // in one statement: opening the warehouse costs more than querying
	for _, q := range questions {
		parts = append(parts, fmt.Sprintf("SELECT '%s' AS what, key, n FROM (%s)", q.what, q.sql))
	}
	got := map[string]map[string]int64{}
	// The calls once: planning their view costs more than counting them.
	for _, row := range c.sql("WITH c AS MATERIALIZED (FROM calls) " + strings.Join(parts, " UNION ALL ")) {
		what := fmt.Sprint(row["what"])
		if got[what] == nil {
			got[what] = map[string]int64{}
		}
		got[what][keyOf(row)] = number(t, row["n"])
	}
	for _, q := range questions {
		test.NoDiff(t, cmp.Diff(q.want, got[q.what], cmpopts.EquateEmpty()), "%s (-sandbox +warehouse)", q.what)
	}
}

func TestWarehouseEqualsTheSandbox(t *testing.T) {
	days := int(sized(4, 7)) // one more than those listed by every night
	for i, w := range []struct {
		name string
		opts sandbox.Options
	}{
		{"as observed", sandbox.Options{World: sandbox.Config{Seed: 1, Calls: sized(80, 200), Days: days}}},
		{"contract only", sandbox.Options{World: sandbox.Config{Seed: 2, Calls: sized(90, 120), Days: days}, ContractOnly: true}},
		{"thin list", sandbox.Options{World: sandbox.Config{Seed: 9, Calls: sized(90, 120), Days: days}, ThinList: true}},
		{"thin list, contract only", sandbox.Options{World: sandbox.Config{Seed: 10, Calls: sized(90, 150), Days: days}, ThinList: true, ContractOnly: true}},
		{"drifting", sandbox.Options{World: sandbox.Config{Seed: 3, Calls: sized(80, 200), Days: days, DriftRate: 0.2,
			DriftFrom: workday.Add(-72 * time.Hour)}}},
		{"empty", sandbox.Options{World: sandbox.Config{Seed: 4, Calls: 0, Days: 5}}},
	} {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			// Tested elsewhere: a thin list in TestNoRecordIsPassedOverOfABriefList, the contract's
			// parameters in the crawler.
			if w.opts.ThinList || w.opts.ContractOnly {
				longtest.Only(t)
			}
			c := found(t, w.opts)
			organised := longtest.Each(6)(i)
			c.mustExtract("--resources", map[bool]string{true: "all", false: "none"}[organised])
			if organised && !w.opts.ContractOnly { // the contract has no list of telephone numbers
				c.sameOrganisation()
			}
			// A thin list shows no changes of an ongoing call, whose record is fetched when it is over.
			over := func() {
				for range 30 {
					if !w.opts.ThinList || fmt.Sprint(c.one("SELECT count(*) AS v FROM calls WHERE settlement = 'open'")) == "0" {
						return
					}
					c.clock.Advance(30 * time.Minute)
					c.mustExtract()
				}
			}
			over()
			sameAsTruth(t, c)
			requested := c.service.Server.Stats()

			// Nothing new: only the pages of the last days, and for a list without later data the pending calls.
			waiting := int64(0)
			if w.opts.ThinList {
				for _, n := range c.counts("SELECT 'all' AS key, count(*) AS n FROM calls WHERE settlement IN ('open', 'ended')") {
					waiting = n
				}
			}
			c.mustExtract()
			again := c.service.Server.Stats()
			if n := again.ByKind["detail"] - requested.ByKind["detail"]; n != waiting {
				t.Errorf("a run with nothing new fetched %d details, want %d", n, waiting)
			}
			sameAsTruth(t, c)

			// A day later: new and changed calls; no unnecessary detail.
			c.clock.Advance(20 * time.Hour)
			c.mustExtract()
			over()
			sameAsTruth(t, c)
			if s := c.service.Server.Stats(); s.DetailsUnchanged > 0 && !w.opts.ThinList {
				t.Errorf("%d details were fetched again though nothing in them was new", s.DetailsUnchanged)
			}
		})
	}
}
