package querycmd

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/config"
	"callhouse/internal/publish"
	"callhouse/internal/words"
)

// hadoop is the catalog of those who have none.
const hadoop = "hadoop"

func (a *app) publishCommand() *cobra.Command {
	var adopt bool
	var receipt string
	cmd := &cobra.Command{
		Use:   "publish iceberg",
		Short: "Keep Iceberg tables of the warehouse in S3 or a folder, for Spark, Trino and others",
		Long: `Make the tables at --to what the warehouse is: each table of query list as an Apache
Iceberg table (version 2). Only files that changed are copied, and each table changes
in one commit of its own. Given again after an interruption, it finishes.

Every commit of the warehouse that is published has a tag in all tables, as in
snapshot-000042, by which they are read together. It stays as long as the warehouse
keeps the commit. What retention and forget remove from the warehouse, the next
publication removes from the tables, and their files with it.

S3 credentials, region and endpoint come from where every program takes them: AWS_…
in the environment, ~/.aws, or the machine. docs/lakehouse.md says how Spark, Trino,
Athena, Snowflake, BigQuery, ClickHouse and DuckDB read the tables.`,
		Example: `  query publish iceberg --to s3://company-lake/calls
  query publish iceberg --to /srv/lake/calls
  query publish iceberg --to s3://company-lake/calls --catalog https://catalog.example.com --organization acme`,
		GroupID:   "more",
		ValidArgs: []string{"iceberg"},
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) == 1 && args[0] == "iceberg":
				return nil
			case len(args) == 1 && args[0] == "ducklake":
				return cli.Usage("docs/lakehouse.md says why, and what would change that", "DuckLake is not published to: its tools lost deletions and doubled rows")
			}
			return cli.Usage("run: query publish iceberg --to s3://bucket/prefix", "say which tables to publish: iceberg")
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return a.publish(cmd.Context(), receipt, adopt) },
	}
	a.AddOwnFlags(cmd, config.Publish)
	f := cmd.Flags()
	f.BoolVar(&adopt, "adopt", false, "take the place of another warehouse that published there")
	f.StringVar(&receipt, "receipt", "", "write what was published, and which files were removed there, as JSON to `FILE`")
	return cmd
}

func (a *app) publish(ctx context.Context, receipt string, adopt bool) error {
	if a.PublishTo == "" {
		return cli.Usage("give it --to s3://bucket/prefix or a folder, or publish_to in callhouse.toml", "no place to publish to")
	}
	if a.Format != "" {
		return cli.Usage("--receipt FILE has what was published, as JSON", "publish takes no --format")
	}
	catalog := a.PublishCatalog
	if catalog == hadoop {
		catalog = ""
	} else if !strings.HasPrefix(catalog, "https://") && !strings.HasPrefix(catalog, "http://") {
		return cli.Usage("it is the address of a REST catalog, as in https://catalog.example.com, or "+hadoop, "unknown catalog %q", catalog)
	}
	made, err := publish.Run(ctx, publish.Options{
		Warehouse: a.Warehouse, To: a.PublishTo, Catalog: catalog, Namespace: a.PublishNamespace, Organization: a.PublishOrganization,
		CatalogWarehouse: a.Env.Get(config.EnvCatalogWarehouse), Token: a.Env.Get(config.EnvCatalogToken), Credential: a.Env.Get(config.EnvCatalogCredential),
		Adopt: adopt, Now: time.Now, State: stateFolder(),
	})
	if cli.Is[*publish.UseError](err) {
		return cli.Usage("", "%v", err)
	}
	if cli.Is[*publish.LockedError](err) {
		return cli.Fail(cli.ExitLocked, err, cli.Hint(err))
	}
	if err != nil {
		return err
	}
	if receipt != "" {
		if err := a.WriteFile(receipt, func(to io.Writer) error {
			e := json.NewEncoder(to)
			e.SetIndent("", "  ")
			return e.Encode(made)
		}); err != nil {
			return err
		}
	}
	var rows int64
	for _, t := range made.Tables {
		rows += t.Rows
	}
	words.Fprintf(a.Stderr, "snapshot %d, committed %s, is at %s, tagged %s: %s, %s rows; %s copied (%s), %s removed",
		made.Snapshot, made.CommittedAt.UTC().Format(time.RFC3339), made.To, made.Tag, cli.Plural(int64(len(made.Tables)), "table"),
		humanize.Comma(rows), cli.Plural(int64(made.Uploaded), "file"), humanize.IBytes(uint64(made.Bytes)), cli.Plural(int64(len(made.Removed)), "file"))
	if made.Requests > 0 {
		words.Fprintf(a.Stderr, "; %s", cli.Plural(made.Requests, "request"))
	}
	words.Fprintln(a.Stderr)
	if made.Unprotected {
		words.Fprintln(a.Stderr, "warning: this store ignores If-None-Match, so it cannot keep two publications apart: let only one run at a time")
	}
	if made.Forgotten {
		words.Fprintln(a.Stderr, "what was forgotten since the last publication is removed there as well")
	}
	return nil
}

// stateFolder is where this user's locks are.
func stateFolder() string {
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	return filepath.Join(cache, "callhouse")
}
