package querycmd

import (
	"context"
	"encoding/json"
	"io"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/config"
	"callhouse/internal/layout"
	"callhouse/internal/publish"
	"callhouse/internal/publish/store"
	"callhouse/internal/sink"
	"callhouse/internal/words"
)

// hadoop is the catalog used without a REST catalog.
const hadoop = "hadoop"

func (a *app) publishCommand() *cobra.Command {
	var receipt string
	cmd := &cobra.Command{
		Use:   "publish iceberg",
		Short: "Publish the warehouse as Iceberg tables in S3 or a folder, for Spark, Trino and others",
		Long: `Bring the tables at --to up to date with the warehouse: each table of query list is an
Apache Iceberg table. Only files that are missing or truncated there are copied. An
interrupted publication resumes when it is run again.

Each commit has a tag in all tables, e.g. snapshot-000042, as long as the warehouse keeps
it; read the tables at one tag for a consistent state. Calls that retention or forget
erase are removed from the tables by the next publication, together with their files.

S3 credentials, region and endpoint come from the usual sources: AWS_… variables,
~/.aws, or the machine's role. docs/reference/lakehouse.md describes how engines read
the tables.`,
		Example: `  query publish iceberg --to s3://company-lake/calls
  query publish iceberg --to /srv/lake/calls
  query publish iceberg --to s3://company-lake/calls --catalog https://catalog.example.com`,
		ValidArgs: []string{"iceberg"},
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 1 && args[0] == "iceberg" {
				return nil
			}
			return cli.Usage("run: query publish iceberg --to s3://bucket/prefix", "publish needs a table format: iceberg")
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return a.publish(cmd.Context(), receipt) },
	}
	a.AddOwnFlags(cmd, config.Publish)
	cmd.Flags().StringVar(&receipt, "receipt", "", "write a report of published and removed files to `FILE`, as JSON")
	return cmd
}

func (a *app) publish(ctx context.Context, receipt string) error {
	if a.PublishTo == "" {
		return cli.Usage("set --to s3://bucket/prefix or a folder, or publish_to in callhouse.toml", "no destination to publish to")
	}
	if a.Format != "" {
		return cli.Usage("--receipt FILE writes a report as JSON", "publish takes no --format")
	}
	server := a.PublishCatalog
	if server == hadoop {
		server = ""
	} else if !strings.HasPrefix(server, "https://") && !strings.HasPrefix(server, "http://") {
		return cli.Usage("give the address of a REST catalog, e.g. https://catalog.example.com, or "+hadoop, "unknown catalog %q", server)
	}
	o := publish.Options{
		Warehouse: a.Warehouse, To: a.PublishTo,
		Access: publish.Access{Catalog: server, Namespace: a.PublishNamespace,
			CatalogWarehouse: a.Env.Get(config.EnvCatalogWarehouse), Token: a.Env.Get(config.EnvCatalogToken),
			Credential: a.Env.Get(config.EnvCatalogCredential)},
	}
	namespace := ""
	if o.Catalog != "" {
		namespace = o.Namespace
	}
	made, err := publish.Run(ctx, o)
	switch {
	case cli.Is[*publish.UseError](err):
		return cli.Usage("", "%w", err)
	case cli.Is[*store.LockedError](err):
		return cli.Fail(cli.ExitLocked, err, cli.Hint(err))
	case err != nil:
		return err
	}
	if err := sink.NoteLake(a.Warehouse, layout.Lake{To: made.To, Catalog: o.Catalog, Namespace: namespace,
		Snapshot: made.Snapshot, PublishedAt: time.Now().UTC()}); err != nil {
		words.Fprintf(a.Stderr, "warning: the receipts of extract forget cannot name this lake: %v\n", err)
	}
	a.published(made)
	if receipt == "" {
		return nil
	}
	return a.WriteFile(receipt, func(to io.Writer) error {
		e := json.NewEncoder(to)
		e.SetIndent("", "  ")
		return e.Encode(made)
	})
}

// published prints what was published.
func (a *app) published(made *publish.Report) {
	var rows int64
	for _, t := range made.Tables {
		rows += t.Rows
	}
	words.Fprintf(a.Stderr, "published snapshot %d, committed %s, to %s, tagged %s: %s, %s rows; %s copied (%s), %s removed",
		made.Snapshot, made.CommittedAt.UTC().Format(time.RFC3339), made.To, made.Tag, cli.Plural(int64(len(made.Tables)), "table"),
		humanize.Comma(rows), cli.Plural(int64(made.Uploaded), "file"), humanize.IBytes(uint64(made.Bytes)),
		cli.Plural(int64(len(made.Removed)), "file"))
	words.Fprintln(a.Stderr)
	if n := int64(len(made.Repaired)); n > 0 {
		words.Fprintf(a.Stderr, "%s were missing or damaged there and were copied again, the first one %s\n",
			cli.Plural(n, "file"), made.Repaired[0])
	}
	if made.Forgotten {
		words.Fprintln(a.Stderr, "calls forgotten since the last publication were removed there too")
	}
}
