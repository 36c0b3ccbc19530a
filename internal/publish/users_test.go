package publish

import (
	"callhouse/internal/longtest"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

var pairs = flag.Int("pairs", 0, "so many times, have two users publish at once, and kill one of them or both")

// nobody is the user id of the other publisher.
const nobody = 65534

// TestTwoUsers publishes the same warehouse to the same place concurrently, in separate processes
// of root and another user, and kills one or both at random times, while requests fail. A table
// always has the files of a single commit. The next publication succeeds, at the latest when the
// lease of a killed one has expired.
func TestTwoUsers(t *testing.T) {
	switch {
	case *pairs == 0:
		t.Skip("make lake-crash has two users publish")
	case os.Getuid() != 0:
		t.Skip("only root can start programs as another user")
	}
	b, h := newGateway(t), newHouse(t)
	dir := filepath.Dir(h.root)
	h.must(errors.Join(os.Chmod(filepath.Dir(dir), 0o755), os.Mkdir(fmt.Sprint(h.root, ".state", nobody), 0o700),
		os.Chown(fmt.Sprint(h.root, ".state", nobody), nobody, nobody)))
	program := filepath.Join(dir, "publish")
	raw, err := os.ReadFile(os.Args[0])
	h.must(errors.Join(err, os.WriteFile(program, raw, 0o755)))
	start := func(user uint32) (cmd *exec.Cmd, end chan error) {
		cmd, end = exec.CommandContext(t.Context(), program), make(chan error, 1)
		cmd.Env, cmd.Dir, cmd.Stderr = append(os.Environ(), envChild+"="+h.root), dir, os.Stderr
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user, Gid: user}}
		h.must(cmd.Start())
		go func() { end <- cmd.Wait() }()
		return cmd, end
	}
	l, commits, counts := newLake(h, "s3://lake/killed"), committed{}, map[string]int{}
	count := func(user uint32, err error) {
		exit := new(exec.ExitError)
		switch {
		case err == nil:
			counts[fmt.Sprint(user, " published")]++
		case errors.As(err, &exit) && exit.ExitCode() == lockedOut:
			counts[fmt.Sprint(user, " locked out")]++
		case errors.As(err, &exit) && !exit.Exited():
			counts[fmt.Sprint(user, " killed")]++
		default:
			t.Errorf("%d: %v", user, err)
		}
	}
	took, rnd := 3*time.Second, longtest.Rand(t)
	for n := range *pairs {
		h.night(call{fmt.Sprint(n % 7), "x", n % 60, 1, 1}, call{fmt.Sprint(n), "y", rnd.IntN(60), n, 2})
		if n%5 == 4 {
			h.forget(fmt.Sprint(n % 7))
		}
		commits.add(h)
		h.must(filepath.WalkDir(h.root, func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.Type()&fs.ModeSymlink != 0 {
				return err
			}
			return os.Chmod(path, 0o755)
		}))
		b.fail(0.01)
		users := []uint32{0, nobody}
		rnd.Shuffle(2, func(i, j int) { users[i], users[j] = users[j], users[i] })
		first, firstEnd := start(users[0])
		time.Sleep(time.Duration(rnd.Int64N(int64(took / 3))))
		second, secondEnd := start(users[1])
		time.Sleep(time.Duration(rnd.Int64N(int64(took))))
		_ = first.Process.Kill() // it may have ended
		if n%3 == 0 {
			_ = second.Process.Kill()
		}
		count(users[0], <-firstEnd)
		commits.check(l)
		count(users[1], <-secondEnd)
		commits.check(l)
		b.fail(0)
		for _, user := range []uint32{users[1], users[0]} { // both succeed, one after the other
			begun := time.Now()
			_, end := start(user)
			if err := <-end; err != nil {
				t.Fatalf("round %d: %d, alone: %v", n, user, err)
			}
			took = min(took, time.Since(begun))
			commits.check(l)
		}
		_, err := h.publish("s3://lake/killed") // days later, when no leftover is young
		h.must(err)
		l.check("")
	}
	t.Log(counts, b.seen)
	for _, user := range []uint32{0, nobody} {
		if *pairs >= 20 && counts[fmt.Sprint(user, " killed")] == 0 {
			t.Errorf("%d was never killed", user)
		}
	}
}
