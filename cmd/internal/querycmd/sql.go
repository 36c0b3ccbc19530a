package querycmd

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/querycmd/answer"
	"callhouse/cmd/internal/querycmd/safe"
)

func (a *app) sqlCommand() *cobra.Command {
	var file string
	var params []string
	var mode safe.Mode
	cmd := &cobra.Command{
		Use:   "sql [STATEMENT | -]",
		Short: "Run one SELECT over the warehouse's tables",
		Long: `Run one read-only statement in DuckDB's SQL: SELECT, FROM, WITH, VALUES, DESCRIBE,
SHOW, SUMMARIZE or EXPLAIN. The statement is the argument, a file, or stdin; query
list shows the tables. --param sets the value of a parameter such as $agent. A
value is text, converted to a number or time where it is compared with one
(elsewhere: CAST($n AS INTEGER)).

--tz sets the zone of printed times and of days. CSV and JSON are exact: all
digits of decimals and large integers, times as RFC 3339, JSON columns as JSON.`,
		Example: `  query sql 'SELECT agent_id, sum(total_cost) FROM calls GROUP BY ALL'
  query sql 'SELECT count(*) FROM calls WHERE agent_id = $agent' --param agent=0a7e1f60
  query sql --format csv -f monthly.sql --output monthly.csv
  echo 'FROM transcript_turns LIMIT 5' | query sql -`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return cli.Usage("put the statement in quotes", "sql takes one statement, got %d arguments", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := a.statement(args, file)
			if err != nil {
				return err
			}
			values, err := paramValues(params)
			if err != nil {
				return err
			}
			if err := mode.Read(a.Env); err != nil {
				return err
			}
			if mode.On {
				a.Given = nil // this user may not be allowed to see where the warehouse is
			}
			return mode.Answer(cmd.Context(), &a.Command, text, values)
		},
	}
	mode.Flags(cmd)
	cmd.Flags().StringVarP(&file, "file", "f", "", "read the statement from `FILE`; - is stdin")
	cmd.Flags().StringArrayVarP(&params, "param", "p", nil, "`NAME=VALUE`: set the parameter $NAME; repeatable")
	return cmd
}

// paramValues parses the values of --param.
func paramValues(params []string) (map[string]string, error) {
	values := map[string]string{}
	for _, p := range params {
		name, v, ok := strings.Cut(p, "=")
		if _, twice := values[name]; !ok || name == "" || twice {
			return nil, cli.Usage("for example: --param agent=0a7e, once per name",
				"--param %q is not NAME=VALUE, or its name is repeated", p)
		}
		values[name] = v
	}
	return values, nil
}

// statement returns the text of the statement.
func (a *app) statement(args []string, file string) (string, error) {
	switch {
	case len(args) == 1 && file != "":
		return "", cli.Usage("remove one of them", "a statement and --file exclude each other")
	case len(args) == 1 && args[0] != "-":
		return args[0], nil
	case file != "" && file != "-":
		text, err := answer.ReadFile(file)
		if err != nil {
			return "", cli.Usage("", "read the statement: %v", err)
		}
		return text, nil
	case len(args) == 0 && file == "" && cli.IsTerminal(a.Stdin):
		return "", cli.Usage("try: query sql 'SELECT count(*) FROM calls'", "no statement given")
	}
	text, err := answer.ReadText(a.Stdin)
	if errors.Is(err, answer.ErrLongText) {
		return "", cli.Usage("", "read the statement: %v", err)
	}
	if err != nil {
		return "", fmt.Errorf("read the statement: %w", err)
	}
	return text, nil
}
