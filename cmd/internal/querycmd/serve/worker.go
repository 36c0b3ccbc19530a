package serve

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/querycmd/answer"
	"callhouse/internal/analytics"
	"callhouse/internal/analytics/opened"
	"callhouse/internal/analytics/question"
	"callhouse/internal/analytics/rights"
	"callhouse/internal/lend"
	"callhouse/internal/lend/process"
	"callhouse/internal/postgres"
	"callhouse/internal/serve"
	"callhouse/internal/serve/audit"
	"callhouse/internal/serve/pgcatalog"
	"callhouse/internal/serve/users"
	"callhouse/internal/serve/worker"
)

// WorkerName is the hidden command that runs the sessions of a user.
const WorkerName = "serve-sessions"

// WorkerCommand returns that command.
func WorkerCommand(a *answer.Command) *cobra.Command {
	return &cobra.Command{
		Use: WorkerName, Hidden: true, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			var free func() error
			err = worker.Run(cmd.Context(), a.Stdin, a.Stdout, func(raw []byte, t *worker.Teller) (b postgres.Backend, err error) {
				var j job
				if err := json.Unmarshal(raw, &j); err != nil {
					return nil, err
				}
				b, free, err = j.work(t)
				return b, err
			})
			if errors.Is(err, process.ErrAlone) {
				return cli.Usage("run: query serve", "%s is an internal command of query", WorkerName)
			}
			if free != nil {
				err = cmp.Or(err, free())
			}
			return err
		},
	}
}

// job is the warehouse and limits of a process.
type job struct {
	Warehouse   string
	Root        string // its folder, absolute
	Zone        string // default zone of sessions
	Currency    string
	Goals       []question.Goal
	Users       string // file; empty: no logins
	Memory      int64  // bytes, for all statements of a process over one snapshot
	Temp        int64  // bytes of temporary files
	Threads     int
	Connections int // maximum
}

// job reads the flags and checks that there is a warehouse.
func (c *command) job(ctx context.Context, loc *time.Location) (j job, err error) {
	memory, err := memorySize(c.memory)
	if err != nil {
		return j, err
	}
	temp, err := humanize.ParseBytes(c.temp)
	if err != nil || temp > 1<<50 {
		return j, cli.Usage("write a size such as 512MiB or 4GB", "--temp %s is not a size", c.temp)
	}
	if err := opened.CheckZone(ctx, loc); err != nil {
		return j, err
	}
	snap, err := opened.CurrentAbsolute(c.Warehouse)
	if err != nil {
		return j, err
	}
	return job{c.Warehouse, snap.Root(), loc.String(), c.Currency, c.Goals, c.users, memory, int64(temp), c.threads, c.most}, nil
}

// memorySize parses the value of --memory.
func memorySize(text string) (int64, error) {
	n, err := humanize.ParseBytes(text)
	if err != nil || n > 1<<50 {
		return 0, cli.Usage("write a size such as 512MiB or 4GB", "--memory %s is not a size", text)
	}
	if n < 64<<20 {
		return 0, cli.Usage("the minimum is 64MiB", "--memory %s is too small", text)
	}
	return int64(n), nil
}

// of returns the job for a user's statements.
func (j job) of(list *users.List, user string) (any, error) {
	if list != nil {
		_, u, err := list.Find(user)
		if err != nil {
			return nil, err
		}
		j.Memory = cmp.Or(u.Memory, j.Memory)
	}
	return j, nil
}

// pool returns the pool that starts processes for clients.
func (j job) pool(who admitted, log *audit.Log, note func(string)) *worker.Pool {
	p := &worker.Pool{Job: func(user string) (any, error) { return j.of(who.list, user) }, PerUser: who.list != nil,
		Rest: 5 * time.Minute, Log: note, Command: func() *exec.Cmd {
			var env []string
			for _, name := range []string{"HOME", "ZONEINFO"} {
				if v, ok := os.LookupEnv(name); ok {
					env = append(env, name+"="+v)
				}
			}
			return process.Self(context.Background(), WorkerName, env...) // the process ends when its stdin is closed
		}}
	if log != nil {
		p.Audit = func(e postgres.Entry) {
			log.Write(audit.Entry{At: e.At.UTC(), User: e.User, From: e.From, Application: e.Application,
				Millis: float64(e.Took.Microseconds()) / 1000, Rows: e.Rows, Code: e.Code, Text: e.Text})
		}
	}
	return p
}

// headroom and perConnection are the address space of a process beyond the memory of two snapshots:
// Go's heap, and threads with their allocators' reserves.
const (
	headroom      = 3 << 30
	perConnection = 16 << 20
)

// work limits this process and returns the backend of its clients.
func (j job) work(t *worker.Teller) (_ postgres.Backend, free func() error, err error) {
	loc, err := time.LoadLocation(j.Zone)
	if err != nil {
		return nil, nil, err
	}
	houses, free := j.houses(t.Log, pgcatalog.Dialect)
	b := &serve.Backend{Houses: houses, Zone: loc}
	if j.Users != "" {
		list, err := users.Open(j.Users)
		if err != nil {
			return nil, free, err
		}
		b.Rights = list.Rights
	}
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0) // on Linux: ends first when the machine runs out of memory
	reserve(j.Connections)
	// DuckDB does not enforce its limit everywhere (a list of a billion numbers), so the process
	// does.
	if err := process.LimitSpace(2*j.Memory + int64(headroom+j.Connections*perConnection)); err != nil {
		return nil, free, fmt.Errorf("limit the memory: %w", err)
	}
	return b, free, nil
}

// ownHeap is the memory that Go may need for copied rows and everything else.
const ownHeap = 1 << 30

// reserve allocates Go's address space before the limit is set, because Go ends the process if it
// cannot get more: a heap, which it keeps, and threads.
func reserve(connections int) {
	runtime.KeepAlive(make([]byte, ownHeap)) // the pages are never touched
	debug.FreeOSMemory()
	var ready sync.WaitGroup
	all := make(chan struct{})
	for range connections + 4*runtime.GOMAXPROCS(0) {
		ready.Add(1)
		go func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			ready.Done()
			<-all
		}()
	}
	ready.Wait()
	close(all)
}

// houses opens the warehouse for statements in each reader's dialect. A nil dialect means reports
// only. free closes the warehouse.
func (j job) houses(log func(string), dialect func(rights.Rights) *opened.Dialect) (_ *lend.Houses, free func() error) {
	h := &lend.Houses{Root: j.Root, Log: log}
	h.Open = func(ctx context.Context, loc *time.Location, r rights.Rights) (*analytics.Warehouse, error) {
		o := analytics.Options{Currency: j.Currency, Goals: j.Goals, Options: opened.Options{
			Location: loc, Threads: j.Threads, Rights: r, Safe: &opened.Limits{Memory: j.Memory, Temp: j.Temp}}}
		if dialect != nil {
			o.Dialect = dialect(r)
		}
		return analytics.Open(ctx, j.Warehouse, o)
	}
	stop := cli.Every(readyEvery, h.Look)
	return h, func() error {
		stop()
		return h.Close()
	}
}
