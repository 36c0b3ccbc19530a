package serve

import (
	"bufio"
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
	"callhouse/internal/serve/users"
	"callhouse/internal/words"
)

func (c *command) userCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "user",
		Short: "Say who may log in to query serve",
		Args:  cli.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(c.addCommand(), c.listCommand(), c.removeCommand())
	return cmd
}

// usersFile returns the file of the users.
func (c *command) usersFile() (string, error) {
	if c.users == "" {
		return "", cli.Usage("as in --users /etc/callhouse/users.json", "--users names no file")
	}
	return c.users, nil
}

func (c *command) addCommand() *cobra.Command {
	var timeout, memory string
	var connections int
	var may rights.Rights
	cmd := &cobra.Command{
		Use:   "add NAME",
		Short: "Let somebody log in, or give a new password",
		Long: `Write a user to the file of --users, or give one that is there a new password and new
limits. The password is asked for on a terminal, or else read from the first line of
stdin. The file holds what passwords are checked by, and not the passwords; it has the
mode 0600. A server that is running takes it at the next login, and ends the
connections of a user whose entry changed.

Without further flags a user sees everything. --only-agents leaves the calls of these
agents, with what belongs to them, and closes the tables that do not tell whose their
rows are. The file holds their ids; a name is looked up in the warehouse.
--only-tables closes all tables but those that it names. What --mask names is null.
All three hold over the Postgres protocol and over HTTP alike.`,
		Example: `  query serve user add metabase --users /etc/callhouse/users.json
  pass show metabase | query serve user add metabase --users users.json --max-connections 20 --statement-timeout 30s
  query serve user add agency --users users.json --only-agents 0a7e1f60-0000-4000-8000-00000000000a --mask from_number,to_number,content`,
		Args: oneName,
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := c.usersFile()
			if err != nil {
				return err
			}
			if may.Agents, err = c.agentIDs(cmd.Context(), may.Agents); err != nil {
				return err
			}
			password, err := c.password()
			if err != nil {
				return err
			}
			u, err := users.NewUser(args[0], password)
			if err != nil {
				return cli.Usage("", "%v", err)
			}
			u.Timeout, u.Connections = timeout, connections
			if timeout != "" && u.Limit() <= 0 || connections < 0 {
				return cli.Usage("as in --statement-timeout 30s --max-connections 20",
					"--statement-timeout %q or --max-connections %d is no limit", timeout, connections)
			}
			if memory != "" {
				if u.Memory, err = memorySize(memory); err != nil {
					return err
				}
			}
			u.Rights = may
			if err := u.Check(); err != nil {
				return cli.Usage("query list shows the tables, query describe TABLE the columns, query agents the ids", "%v", err)
			}
			replaced, err := users.Put(path, u)
			if err != nil {
				return err
			}
			what := "may log in"
			if replaced {
				what = "has a new password"
			}
			words.Fprintf(c.Stderr, "%s: %s %s\n", path, u.Name, what)
			return nil
		},
	}
	cmd.Flags().StringVar(&timeout, "statement-timeout", "", "the most `TIME` of a statement, as 30s")
	cmd.Flags().StringVar(&memory, "memory", "",
		"the most memory for the user's statements over one snapshot, as `SIZE`; it holds when the next process for them starts")
	cmd.Flags().IntVar(&connections, "max-connections", 0, "the most connections; 0: as for all")
	cmd.Flags().StringSliceVar(&may.Agents, "only-agents", nil,
		"the calls of these `AGENTS`, by their ids or whole names, and nothing of others")
	cmd.Flags().StringSliceVar(&may.Tables, "only-tables", nil, "these `TABLES`, and no others")
	cmd.Flags().StringSliceVar(&may.Masked, "mask", nil,
		"`COLUMNS` that are null: content wherever a table has it, calls.summary in one table")
	return cmd
}

// agentIDs returns the ids of agents that are given by id or by name. A text that is neither
// may be the id of an agent to come.
func (c *command) agentIDs(ctx context.Context, texts []string) (ids []string, err error) {
	if len(texts) == 0 || slices.Contains(texts, "") { // which Check refuses
		return texts, nil
	}
	loc, err := c.Location()
	if err != nil {
		return nil, err
	}
	w, err := c.Open(ctx, loc)
	if errors.Is(err, layout.ErrNoWarehouse) {
		words.Fprintf(c.Stderr, "there is no warehouse at %s yet: --only-agents is taken for ids\n", c.Warehouse)
		return texts, nil
	} else if err != nil {
		return nil, c.Explain(err)
	}
	defer func() { err = errors.Join(err, c.Release(w)) }()
	for _, text := range texts {
		id, err := w.FindAgent(ctx, text)
		var unknown *question.UnknownError
		switch {
		case errors.As(err, &unknown):
			words.Fprintf(c.Stderr, "the warehouse has no agent with the id or name %q: "+
				"the user sees nothing of it until there is one with that id\n", text)
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

// password asks for a password.
func (c *command) password() (string, error) {
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
			return "", cli.Usage("write it to stdin, as in: pass show bi | query serve user add bi", "there is no password")
		}
		text = strings.TrimRight(line, "\r\n")
	}
	if len(text) < 8 {
		return "", cli.Usage("take at least 8 characters", "the password is too short")
	}
	return text, nil
}

func (c *command) listCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List who may log in",
		Args:  cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			path, err := c.usersFile()
			if err != nil {
				return err
			}
			list, err := users.Open(path)
			if errors.Is(err, fs.ErrNotExist) {
				return cli.Usage("query serve user add NAME makes it", "%v", err)
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

func (c *command) removeCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "remove NAME",
		Short: "Let somebody log in no more",
		Long: `Remove a user from the file of --users. A server that is running ends the user's
connections within some seconds.`,
		Args: oneName,
		RunE: func(_ *cobra.Command, args []string) error {
			path, err := c.usersFile()
			if err != nil {
				return err
			}
			found, err := users.Remove(path, args[0])
			if err == nil && !found {
				err = cli.Usage("query serve user list shows them", "there is no user %q", args[0])
			}
			return err
		},
	}
}

// oneName wants the name of one user.
func oneName(_ *cobra.Command, args []string) error {
	if len(args) != 1 {
		return cli.Usage("as in: query serve user add metabase --users users.json",
			"the command takes the name of one user, %d are given", len(args))
	}
	return nil
}
