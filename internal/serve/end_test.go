package serve_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"callhouse/internal/postgres"
	"callhouse/internal/serve/users"
	"callhouse/internal/test"
)

// The connections of a removed or changed user end, and nobody else's.
func TestRemovedUsers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "users.json")
	for _, name := range []string{"ann", "bob", "eve"} {
		u, err := users.NewUser(name, "a good password")
		if err == nil {
			_, err = users.Put(path, u)
		}
		test.OK(t, err)
	}
	list, err := users.Open(path)
	test.OK(t, err)
	changed := list.Watch()
	if gone, err := changed(); len(gone) > 0 || err != nil {
		t.Errorf("at first: %v, %v", gone, err)
	}
	var server *postgres.Server
	h := start(t, func(s *postgres.Server) { s.Users, server = list.Defaults(postgres.Limits{}), s })
	connected := map[string]*pgx.Conn{}
	for _, name := range []string{"ann", "bob", "eve"} {
		c, err := pgx.Connect(t.Context(), fmt.Sprintf("postgres://%s:a%%20good%%20password@%s/callhouse", name, h.address))
		test.OK(t, err)
		t.Cleanup(func() { _ = c.Close(context.Background()) })
		connected[name] = c
	}
	if _, err := users.Remove(path, "ann"); err != nil {
		t.Fatal(err)
	}
	eve, err := users.NewUser("eve", "another password")
	if err == nil {
		_, err = users.Put(path, eve)
	}
	test.OK(t, err)
	gone, err := changed()
	if slices.Sort(gone); !slices.Equal(gone, []string{"ann", "eve"}) || err != nil {
		t.Errorf("changed are %v, %v", gone, err)
	}
	for _, name := range gone {
		server.End(name)
		if _, err := connected[name].PgConn().ReceiveMessage(t.Context()); code(err) != "57P01" {
			t.Errorf("the connection of %s: %v", name, err)
		}
	}
	if err := connected["bob"].Ping(t.Context()); err != nil {
		t.Errorf("the connection of another user: %v", err)
	}
}

// Text that is not UTF-8 is refused, and never sent back.
func testNotUTF8(t *testing.T, h *house) {
	c := h.connect(t, "").PgConn()
	for name, ask := range map[string]func(text string) error{
		"simple": func(text string) error {
			_, err := c.Exec(t.Context(), "SELECT \"x"+text+"\" FROM calls").ReadAll()
			return err
		},
		"extended": func(text string) error {
			_, err := c.Prepare(t.Context(), "", "SELECT '"+text+"' FROM nothing", nil)
			return err
		},
		"a parameter": func(text string) error {
			return c.ExecParams(t.Context(), "SELECT $1", [][]byte{[]byte(text)}, nil, nil, nil).Read().Err
		},
		"a name": func(text string) error { return c.ExecPrepared(t.Context(), text, nil, nil, nil).Read().Err },
	} {
		for _, text := range []string{"a\xffb", "\xe2\x80"} {
			err := ask(text)
			if err := ask("a\u202eb"); err != nil && strings.Contains(err.Error(), "\u202e") {
				t.Errorf("%s turns its text: %q", name, err)
			}
			if err == nil || name != "a name" && code(err) != "22021" || strings.Contains(err.Error(), "\xff") || strings.Contains(err.Error(), text) {
				t.Errorf("%s with %q: %q", name, text, err)
			}
		}
	}
}
