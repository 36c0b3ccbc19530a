package serve

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"sync"
	"syscall"
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
	"callhouse/internal/proven"
	"callhouse/internal/scratch"
	"callhouse/internal/serve"
	"callhouse/internal/serve/audit"
	"callhouse/internal/serve/pgcatalog"
	"callhouse/internal/serve/users"
	"callhouse/internal/serve/worker"
	"callhouse/internal/sink/snapshot"
)

// WorkerName is the hidden command that answers the sessions of a user.
const WorkerName = "serve-sessions"

// WorkerCommand makes that command.
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
				return cli.Usage("run: query serve", "%s is run by query itself", WorkerName)
			}
			if free != nil {
				err = cmp.Or(err, free())
			}
			return err
		},
	}
}

// job is what statements run over, and what they may take.
type job struct {
	Warehouse   string
	Root        string // its folder, absolute
	Zone        string // of sessions that name none
	Currency    string
	Country     string
	Goals       []question.Goal
	Users       string // file; empty: nobody logs in
	Memory      int64  // bytes, of all statements of a process over one snapshot
	Temp        int64  // bytes, of what does not fit
	Threads     int
	Connections int // at most
}

// job reads the flags, and looks whether there is a warehouse.
func (c *command) job(ctx context.Context, loc *time.Location) (j job, err error) {
	memory, err := memorySize(c.memory)
	if err != nil {
		return j, err
	}
	temp, err := humanize.ParseBytes(c.temp)
	if err != nil || temp > 1<<50 {
		return j, cli.Usage("write sizes as in 512MiB or 4GB", "--temp %s is no size", c.temp)
	}
	if err := opened.CheckZone(ctx, loc); err != nil {
		return j, err
	}
	snap, err := opened.CurrentAbsolute(c.Warehouse)
	if err != nil {
		return j, err
	}
	return job{c.Warehouse, snap.Root(), loc.String(), c.Currency, c.Country, c.Goals, c.users, memory, int64(temp), c.threads, c.most}, nil
}

// memorySize reads the value of a flag --memory.
func memorySize(text string) (int64, error) {
	n, err := humanize.ParseBytes(text)
	if err != nil || n > 1<<50 {
		return 0, cli.Usage("write sizes as in 512MiB or 4GB", "--memory %s is no size", text)
	}
	if n < 64<<20 {
		return 0, cli.Usage("the least is 64MiB", "--memory %s is too little", text)
	}
	return int64(n), nil
}

// of is the job for a user's statements.
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

// pool starts the processes that run statements, when there are clients.
func (j job) pool(who admitted, log *audit.Log, note func(string)) *worker.Pool {
	p := &worker.Pool{Job: func(user string) (any, error) { return j.of(who.list, user) }, PerUser: who.list != nil,
		Rest: 5 * time.Minute, Log: note, Command: func() *exec.Cmd {
			var env []string
			for _, name := range []string{"HOME", "XDG_CACHE_HOME", "ZONEINFO"} {
				if v, ok := os.LookupEnv(name); ok {
					env = append(env, name+"="+v)
				}
			}
			return process.Self(context.Background(), WorkerName, env...) // it ends with its stdin
		}}
	if log != nil {
		p.Audit = func(e postgres.Entry) {
			log.Write(audit.Entry{At: e.At.UTC(), User: e.User, From: e.From, Application: e.Application,
				Millis: float64(e.Took.Microseconds()) / 1000, Rows: e.Rows, Code: e.Code, Text: e.Text})
		}
	}
	return p
}

// headroom and perConnection are the address space that a process may take besides the memory
// of two snapshots: Go's heap, and threads with what allocators reserve for them.
const (
	headroom      = 3 << 30
	perConnection = 16 << 20
)

// work bounds this process, and returns what answers its clients.
func (j job) work(t *worker.Teller) (_ postgres.Backend, free func() error, err error) {
	loc, err := time.LoadLocation(j.Zone)
	if err != nil {
		return nil, nil, err
	}
	houses, free, err := j.houses(t.Log, t.Open, pgcatalog.Dialect)
	if err != nil {
		return nil, nil, err
	}
	b := &serve.Backend{Houses: houses, Zone: loc}
	if j.Users != "" {
		list, err := users.Open(j.Users)
		if err != nil {
			return nil, free, err
		}
		b.Rights = list.Rights
	}
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0) // of Linux: what ends first where the machine has no memory left
	reserve(j.Connections)
	// DuckDB does not hold its limit everywhere (a list of a billion numbers); the process does.
	if err := process.LimitSpace(2*j.Memory + int64(headroom+j.Connections*perConnection)); err != nil {
		return nil, free, fmt.Errorf("limit the memory: %w", err)
	}
	return b, free, nil
}

// ownHeap is the memory that Go may need for what it copies of rows, and for all else.
const ownHeap = 1 << 30

// reserve takes the address space that Go needs for itself before it is limited, for Go ends
// the process where it gets no more: a heap, which it keeps once it had it, and threads.
func reserve(connections int) {
	runtime.KeepAlive(make([]byte, ownHeap)) // no page of it is touched
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

// houses opens the warehouse, for statements in the dialect that is made for each reader; nil:
// for reports alone. open is told which snapshots are open. free closes it, and ends the pin.
func (j job) houses(log func(string), open func([]int64), dialect func(rights.Rights) *opened.Dialect) (
	h *lend.Houses, free func() error, err error) {
	prover, ids := proven.Open(j.Warehouse, time.Now), new(opened.IDs)
	h = &lend.Houses{Root: j.Root, Log: log}
	h.Open = func(ctx context.Context, loc *time.Location, r rights.Rights) (*analytics.Warehouse, error) {
		o := analytics.Options{Currency: j.Currency, Country: j.Country, Goals: j.Goals, Options: opened.Options{
			Location: loc, Prover: prover, IDs: ids, Threads: j.Threads, Rights: r, Safe: &opened.Limits{Memory: j.Memory, Temp: j.Temp}}}
		if dialect != nil {
			o.Dialect, o.Copies = dialect(r), true
		}
		return analytics.Open(ctx, j.Warehouse, o)
	}
	// The pin holds for as long as this folder is there, which a killed process leaves to the next.
	holder, err := scratch.Make(scratch.Serve)
	if err != nil {
		return nil, nil, fmt.Errorf("make a folder: %w", err)
	}
	h.Hold = func(snapshots []int64) error {
		if open != nil {
			open(snapshots)
		}
		err := snapshot.Hold(j.Root, holder.Path, snapshots, time.Now())
		if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
			if len(snapshots) == 1 {
				log("the warehouse cannot be written to, so the snapshot is not pinned: it stays for 24 hours after the next commit")
			}
			return nil
		}
		return err
	}
	stop := cli.Every(readyEvery, h.Look)
	return h, func() error {
		stop()
		return errors.Join(h.Close(), holder.Remove())
	}, nil
}
