package e2e

import (
	"bufio"
	"context"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"callhouse/internal/serve/users"
)

// serving is a running query serve.
type serving struct {
	cmd            *exec.Cmd
	postgres, http string        // addresses
	ended          chan struct{} // closed when it has ended
}

const servePassword = "a-good-password"

// smallUser is the name of users limited to 64 MiB.
const smallUser = "small"

// serve starts query serve for users, and waits until it listens. heard is called with each later
// line of output.
func serve(t *testing.T, heard func(line string), names []string, args ...string) *serving {
	t.Helper()
	list := filepath.Join(t.TempDir(), "users.json")
	for _, name := range names {
		u, err := users.NewUser(name, servePassword)
		if name == smallUser {
			u.Memory = 64 << 20
		}
		if err == nil {
			_, err = users.Put(list, u)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	args = append([]string{"serve", "--postgres", "127.0.0.1:0", "--http", "127.0.0.1:0", "--users", list}, args...)
	s := &serving{cmd: exec.CommandContext(context.WithoutCancel(t.Context()), linkProgram(t, t.TempDir(), "query"), args...), ended: make(chan struct{})}
	stderr, err := s.cmd.StderrPipe()
	if err == nil {
		err = s.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stderr)
	for s.postgres == "" || s.http == "" {
		if !lines.Scan() {
			t.Fatalf("query serve ended: %v", s.cmd.Wait())
		}
		address := regexp.MustCompile(`127\.0\.0\.1:\d+`).FindString(lines.Text())
		if strings.Contains(lines.Text(), "serving HTTP") {
			s.http = "http://" + address
		} else {
			s.postgres = address
		}
	}
	go func() {
		defer close(s.ended)
		for lines.Scan() {
			heard(lines.Text())
		}
	}()
	t.Cleanup(func() {
		_ = s.cmd.Process.Signal(syscall.SIGTERM)
		<-s.ended
		if err := s.cmd.Wait(); err != nil {
			t.Errorf("query serve ended with %v", err)
		}
	})
	return s
}

// as returns the connection string of a user.
func (s *serving) as(user string) string {
	return "postgres://" + user + ":" + servePassword + "@" + s.postgres + "/callhouse?sslmode=disable"
}
