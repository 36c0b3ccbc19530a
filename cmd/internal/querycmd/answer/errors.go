package answer

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/analytics"
	"callhouse/internal/analytics/database"
	"callhouse/internal/analytics/duck"
	"callhouse/internal/analytics/format"
	"callhouse/internal/analytics/guard"
	"callhouse/internal/analytics/question"
	"callhouse/internal/layout"
	"callhouse/internal/scratch"
	"callhouse/internal/words"
	sqlfiles "callhouse/sql"
)

// Explain adds a hint to an error.
func (c *Command) Explain(err error) error {
	var unknown *question.UnknownError
	var ambiguous *question.AmbiguousError
	var group *question.GroupError
	var d *duck.Error
	switch {
	case err == nil, cli.Is[*cli.Error](err):
		return err
	case errors.Is(err, layout.ErrNoWarehouse):
		return c.NoWarehouse()
	case errors.Is(err, syscall.ENOTDIR):
		return cli.Fail(cli.ExitFailed, err, "--warehouse (CALLHOUSE_WAREHOUSE) must name a folder")
	case cli.Is[*layout.RootError](err):
		return cli.Usage(cli.Hint(err), "%v", err)
	case errors.As(err, &unknown):
		return cli.Usage(unknownHint(unknown), "%v", err)
	case errors.As(err, &ambiguous):
		return cli.Usage(ambiguousHint(ambiguous), "%v", err)
	case errors.As(err, &group):
		return cli.Usage(group.Hint, "%v", err)
	case cli.Is[*database.ZoneError](err):
		return zoneError(c.TZ)
	case errors.As(err, &d) && d.Kind == "Out of Memory":
		return cli.Fail(cli.ExitFailed, err, cmp.Or(scratch.Missing(),
			"query less at once, e.g. fewer days; for query serve, --memory raises the limit"))
	case errors.Is(err, format.ErrSheetFull):
		return cli.Usage("reduce the number of rows, or write csv-excel or parquet", "%v", err)
	}
	return err
}

// maxNamed limits how many of several matching objects are named.
const maxNamed = 10

func ambiguousHint(e *question.AmbiguousError) string {
	hint := "give one of their ids: " + strings.Join(e.IDs[:min(len(e.IDs), maxNamed)], ", ")
	if more := len(e.IDs) - maxNamed; more > 0 {
		hint += fmt.Sprintf(", and %d more", more)
	}
	return hint
}

func unknownHint(e *question.UnknownError) string {
	if e.What == "call" {
		return "find calls by their words with query search WORD..., by anything else with query sql"
	}
	known := e.Known
	if slices.Contains([]string{"agent", "agent version", "extracted field"}, e.What) {
		known = known[:min(len(known), 5)]
	}
	hint := ""
	if len(known) > 0 {
		hint = "available: " + strings.Join(known, ", ")
	}
	if more := len(e.Known) - len(known); more > 0 {
		hint += fmt.Sprintf(", and %d more", more)
	}
	return cli.DidYouMean(e.Nearest, hint)
}

// ExplainSQL explains an error of a user's statement.
func ExplainSQL(err error) error {
	var d *duck.Error
	var p *analytics.ParamError
	switch {
	case cli.Is[*guard.UnsafeError](err):
		return cli.Usage("a statement can only read the tables of query list", "%v", err)
	case errors.As(err, &d) && d.Kind == "Parser" && strings.HasPrefix(d.Message, "memory exhausted"), errors.Is(err, guard.ErrTooDeep):
		return cli.Usage("rewrite it using WITH or lists", "%v", guard.ErrTooDeep) // because the parser's stack is full
	case errors.As(err, &p) && len(p.Missing) > 0:
		return cli.Usage("give it a value; in query sql: --param "+p.Missing[0]+"=VALUE", "%v", err)
	case errors.As(err, &p):
		return cli.Usage("use it in the statement as $"+p.Unused[0], "%v", err)
	case errors.Is(err, guard.ErrNotReading):
		return cli.Usage("query is read-only; only extract changes the warehouse", "%v", err)
	case errors.Is(err, duck.ErrNoStatement):
		return cli.Usage("try: query sql 'SELECT count(*) FROM calls'", "%v", err)
	case errors.Is(err, duck.ErrManyStatements):
		return cli.Usage("run them one by one", "%v", err)
	case errors.As(err, &d) && d.Wrong():
		return cli.Usage(SQLHint(d), "%w", d)
	}
	return err
}

// SQLHint suggests names similar to an unknown one.
func SQLHint(d *duck.Error) string {
	if missing, ok := d.MissingTable(); ok {
		var known []string
		for _, t := range sqlfiles.ViewsByName() {
			known = append(known, t.Name)
		}
		return cli.Suggest(missing, known, "tables: "+strings.Join(known, ", "))
	}
	offered := d.Nearest
	if table, missing, ok := d.MissingColumn(); ok {
		if len(offered) == 0 {
			offered = columnsOf(table)
		}
		if near := words.Nearest(missing, offered); near != "" {
			offered = []string{near}
		} else if len(d.Nearest) == 0 {
			return "query describe lists the columns" // too many to list
		}
	}
	return cli.DidYouMean(strings.Join(offered, ", "), "")
}

// columnsOf returns the columns of a table, or of all tables if the name is an alias.
func columnsOf(table string) (out []string) {
	for _, t := range sqlfiles.ViewsByName() {
		if t.Name == table {
			out = nil
		}
		for _, c := range t.Columns {
			out = append(out, c.Name)
		}
		if t.Name == table {
			break
		}
	}
	return out
}
