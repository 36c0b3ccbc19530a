package querycmd

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/analytics/question"
	"callhouse/internal/analytics/rights"
	"callhouse/internal/layout"
	"callhouse/internal/serve"
	"callhouse/internal/words"
)

func (c *serving) userCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "user",
		Short: "Manage the users of query serve",
		Args:  cli.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(c.addCommand(), c.listCommand(), c.removeCommand())
	return cmd
}

// usersFile returns the file of the users.
func (c *serving) usersFile() (string, error) {
	if c.users == "" {
		return "", cli.Usage("for example: --users /etc/callhouse/users.json", "--users is missing")
	}
	return c.users, nil
}

func (c *serving) addCommand() *cobra.Command {
	var timeout string
	var memory cli.Size
	var connections int
	var may rights.Rights
	cmd := &cobra.Command{
		Use:   "add NAME",
		Short: "Add a user, or replace a user's password and limits",
		Long: `Add a user to the file of --users, or replace the password and limits of an existing
one. The password is read from the terminal, or else from the first line of stdin. The
file stores only password hashes and has mode 0600. A running server applies the file at
the next login and closes the connections of users whose entries changed.

Without further flags a user may read everything. --only-agents restricts the user to
the calls of these agents and the data of those calls, and hides tables whose rows
cannot be assigned to an agent. The file stores agent ids; names are looked up in the
warehouse. --only-tables hides all other tables. Columns in --mask are null. All three
apply to the Postgres protocol and to HTTP.`,
		Example: `  query serve user add metabase --users /etc/callhouse/users.json
  pass show metabase | query serve user add metabase --users users.json --max-connections 20 --statement-timeout 30s
  query serve user add agency --users users.json --only-agents 0a7e1f60-0000-4000-8000-00000000000a --mask from_number,to_number,content`,
		Args: arguments("NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := c.usersFile()
			if err != nil {
				return err
			}
			if may.Agents, err = c.agentIDs(cmd.Context(), may.Agents); err != nil {
				return err
			}
			password, err := c.password(args[0])
			if err != nil {
				return err
			}
			u, err := serve.NewUser(args[0], password)
			if err != nil {
				return cli.Usage("", "%v", err)
			}
			u.Timeout, u.Connections = timeout, connections
			if timeout != "" && u.Limit() <= 0 || connections < 0 {
				return cli.Usage("for example: --statement-timeout 30s --max-connections 20",
					"invalid --statement-timeout %q or --max-connections %d", timeout, connections)
			}
			if u.Memory = int64(memory); memory != 0 {
				if err := memory.CheckMemory(); err != nil {
					return err
				}
			}
			u.Rights = may
			if err := u.Check(); err != nil {
				return cli.Usage("query list shows the tables, query describe TABLE the columns, query agents the ids", "%v", err)
			}
			replaced, err := serve.PutUser(path, u)
			if err != nil {
				return err
			}
			what := "added"
			if replaced {
				what = "updated"
			}
			words.Fprintf(c.Stderr, "%s: %s %s\n", path, u.Name, what)
			return nil
		},
	}
	cmd.Flags().StringVar(&timeout, "statement-timeout", "", "cancel the user's statements after `TIME`, e.g. 30s")
	cmd.Flags().Var(&memory, "memory",
		"limit the memory of the user's statements over one snapshot to `SIZE`; applies to processes started later")
	cmd.Flags().IntVar(&connections, "max-connections", 0, "maximum number of connections; 0: the server's default")
	cmd.Flags().StringSliceVar(&may.Agents, "only-agents", nil,
		"only data of these `AGENTS`, by id or full name")
	cmd.Flags().StringSliceVar(&may.Tables, "only-tables", nil, "only these `TABLES`")
	cmd.Flags().StringSliceVar(&may.Masked, "mask", nil,
		"`COLUMNS` to null: content for all tables that have it, calls.summary for one table")
	return cmd
}

// agentIDs returns the ids of agents given by id or name. Other texts may be ids of future agents.
func (c *serving) agentIDs(ctx context.Context, texts []string) (ids []string, err error) {
	if len(texts) == 0 || slices.Contains(texts, "") { // refused by Check
		return texts, nil
	}
	w, err := c.Open(ctx)
	if errors.Is(err, layout.ErrNoWarehouse) {
		words.Fprintf(c.Stderr, "no warehouse at %s yet: the values of --only-agents are used as ids\n", c.Warehouse)
		return texts, nil
	} else if err != nil {
		return nil, c.Explain(err)
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	for _, text := range texts {
		id, err := w.FindAgent(ctx, text)
		var unknown *question.UnknownError
		switch {
		case errors.As(err, &unknown):
			words.Fprintf(c.Stderr, "the warehouse has no agent with the id or name %q: "+
				"it is used as an id, and the user sees its data once that agent exists\n", text)
			id = text
		case err != nil:
			return nil, c.Explain(err)
		case id != text:
			words.Fprintf(c.Stderr, "%q is the agent %s\n", text, id)
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// password asks for a user's password.
func (c *serving) password(user string) (string, error) {
	var text string
	if cli.IsTerminal(c.Stdin) {
		words.Fprintf(c.Stderr, "Password: ")
		raw, err := term.ReadPassword(int(os.Stdin.Fd()))
		words.Fprintf(c.Stderr, "\n")
		if err != nil {
			return "", fmt.Errorf("read the password: %w", err)
		}
		text = string(raw)
	} else {
		line, err := bufio.NewReader(c.Stdin).ReadString('\n')
		if err != nil && line == "" {
			return "", cli.Usage(fmt.Sprintf("write it to stdin, e.g. pass show %[1]s | query serve user add %[1]s --users %[2]s",
				words.Shell(user), words.Shell(c.users)), "no password given")
		}
		text = strings.TrimRight(line, "\r\n")
	}
	if len(text) < 8 {
		return "", cli.Usage("use at least 8 characters", "the password is too short")
	}
	return text, nil
}

func (c *serving) listCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the users",
		Args:  cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			path, err := c.usersFile()
			if err != nil {
				return err
			}
			list, err := serve.OpenUsers(path)
			if errors.Is(err, fs.ErrNotExist) {
				return cli.Usage("create it: query serve user add NAME", "%v", err)
			} else if err != nil {
				return err
			}
			all, err := list.All()
			if err != nil {
				return err
			}
			var rows [][]any
			for _, u := range all {
				memory := ""
				if u.Memory > 0 {
					memory = humanize.IBytes(uint64(u.Memory))
				}
				rows = append(rows, []any{u.Name, fmt.Sprint(u.Connections), u.Timeout, memory, strings.Join(u.Agents, ", "),
					strings.Join(u.Tables, ", "), strings.Join(u.Masked, ", ")})
			}
			return c.WriteStatic(cmd.Context(), []string{"user", "connections", "statement timeout", "memory", "only agents",
				"only tables", "masked"}, rows)
		},
	}
}

func (c *serving) removeCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "remove NAME",
		Short: "Remove a user",
		Long: `Remove a user from the file of --users. A running server closes the user's
connections within seconds.`,
		Args: arguments("NAME"),
		RunE: func(_ *cobra.Command, args []string) error {
			path, err := c.usersFile()
			if err != nil {
				return err
			}
			found, err := serve.RemoveUser(path, args[0])
			if err == nil && !found {
				err = cli.Usage("query serve user list shows all users", "unknown user %q", args[0])
			}
			return err
		},
	}
}

// noUsers explains why the file of users cannot be read.
func (c *serving) noUsers(err error) error {
	return cli.Usage(cmp.Or(cli.Hint(err), "create it: query serve user add NAME --users "+c.users), "%w", err)
}
