package querycmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/config"
	"callhouse/internal/layout"
	"callhouse/internal/publish"
	"callhouse/internal/publish/catalog"
	"callhouse/internal/publish/lease"
	"callhouse/internal/sink/snapshot"
	"callhouse/internal/words"
)

// hadoop is the catalog of those who have none.
const hadoop = "hadoop"

func (a *app) publishCommand() *cobra.Command {
	var f publishFlags
	cmd := &cobra.Command{
		Use:   "publish iceberg",
		Short: "Keep Iceberg tables of the warehouse in S3 or a folder, for Spark, Trino and others",
		Long: `Make the tables at --to what the warehouse is: each table of query list as an Apache
Iceberg table (version 2). Only files that changed are copied, and each table changes
in one commit of its own. Given again after an interruption, it finishes. Files that
are missing there or have another size are copied again.

Every commit of the warehouse that is published has a tag in all tables, as in
snapshot-000042, by which they are read together. It stays as long as the warehouse
keeps the commit. What retention and forget remove from the warehouse, the next
publication removes from the tables, and their files with it.

S3 credentials, region and endpoint come from where every program takes them: AWS_…
in the environment, ~/.aws, or the machine. docs/reference/lakehouse.md says how Spark, Trino,
Athena, Snowflake, BigQuery, ClickHouse and DuckDB read the tables.`,
		Example: `  query publish iceberg --to s3://company-lake/calls
  query publish iceberg --to /srv/lake/calls
  query publish iceberg --check --deep
  query publish iceberg --rebuild transcript_turns
  query publish iceberg --to s3://company-lake/calls --catalog https://catalog.example.com --organization acme`,
		GroupID:   "more",
		ValidArgs: []string{"iceberg"},
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) == 1 && args[0] == "iceberg":
				return nil
			case len(args) == 1 && args[0] == "ducklake":
				return cli.Usage("docs/reference/lakehouse.md says why, and what would change that",
					"DuckLake is not published to: its tools lost deletions and doubled rows")
			}
			return cli.Usage("run: query publish iceberg --to s3://bucket/prefix", "say which tables to publish: iceberg")
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return a.publish(cmd.Context(), &f) },
	}
	a.AddOwnFlags(cmd, config.Publish)
	flags := cmd.Flags()
	flags.BoolVar(&f.adopt, "adopt", false, "take the place of another warehouse that published there")
	flags.StringVar(&f.receipt, "receipt", "", "write what was published, and which files were removed there, as JSON to `FILE`")
	flags.BoolVar(&f.check, "check", false, "list everything that is wrong with the tables, and change nothing")
	flags.BoolVar(&f.deep, "deep", false, "read every file there, compare its content with the warehouse's, and replace it if it differs")
	flags.StringArrayVar(&f.rebuild, "rebuild", nil,
		"write `TABLE` anew from the warehouse, whatever state it is in; may be given several times")
	return cmd
}

// publishFlags are the flags of publish that are no settings.
type publishFlags struct {
	adopt, check, deep bool
	receipt            string
	rebuild            []string
}

func (a *app) publish(ctx context.Context, f *publishFlags) error {
	if a.PublishTo == "" {
		return cli.Usage("give it --to s3://bucket/prefix or a folder, or publish_to in callhouse.toml", "no place to publish to")
	}
	if a.Format != "" {
		return cli.Usage("--receipt FILE has what was published, as JSON", "publish takes no --format")
	}
	if f.check && (f.adopt || len(f.rebuild) > 0) {
		return cli.Usage("", "--check changes nothing: it takes neither --adopt nor --rebuild")
	}
	server := a.PublishCatalog
	if server == hadoop {
		server = ""
	} else if !strings.HasPrefix(server, "https://") && !strings.HasPrefix(server, "http://") {
		return cli.Usage("it is the address of a REST catalog, as in https://catalog.example.com, or "+hadoop, "unknown catalog %q", server)
	}
	o := publish.Options{
		Warehouse: a.Warehouse, To: a.PublishTo, Organization: a.PublishOrganization,
		Access: catalog.Access{Catalog: server, Namespace: a.PublishNamespace,
			CatalogWarehouse: a.Env.Get(config.EnvCatalogWarehouse), Token: a.Env.Get(config.EnvCatalogToken),
			Credential:  a.Env.Get(config.EnvCatalogCredential),
			SigningName: a.Env.Get(config.EnvSigningName), SigningRegion: a.Env.Get(config.EnvSigningRegion)},
		Adopt: f.adopt, Deep: f.deep, Rebuild: f.rebuild, Now: time.Now, State: stateFolder(),
	}
	namespace := ""
	if o.Catalog != "" {
		namespace = o.Namespace
	}
	if f.check {
		found, err := publish.Check(ctx, o)
		if err != nil {
			return publishError(err)
		}
		return errors.Join(a.receipt(f.receipt, found), a.checked(found))
	}
	made, err := publish.Run(ctx, o)
	if err != nil {
		return publishError(err)
	}
	if err := snapshot.NoteLake(a.Warehouse, layout.Lake{To: made.To, Catalog: o.Catalog, Namespace: namespace, Organization: o.Organization,
		Snapshot: made.Snapshot, PublishedAt: time.Now().UTC(), Foreign: len(made.Foreign)}); err != nil {
		words.Fprintf(a.Stderr, "warning: the receipts of extract forget cannot name this lake: %v\n", err)
	}
	if err := a.receipt(f.receipt, made); err != nil {
		return err
	}
	a.published(made)
	return nil
}

func publishError(err error) error {
	switch {
	case cli.Is[*catalog.UseError](err):
		return cli.Usage("", "%w", err)
	case cli.Is[*lease.LockedError](err):
		return cli.Fail(cli.ExitLocked, err, cli.Hint(err))
	}
	return err
}

// receipt writes what was done as JSON, if there is a file for it.
func (a *app) receipt(to string, what any) error {
	if to == "" {
		return nil
	}
	return a.WriteFile(to, func(to io.Writer) error {
		e := json.NewEncoder(to)
		e.SetIndent("", "  ")
		return e.Encode(what)
	})
}

// published says what was published.
func (a *app) published(made *publish.Report) {
	var rows int64
	for _, t := range made.Tables {
		rows += t.Rows
	}
	tagged := ", tagged " + made.Tag
	if made.Tag == "" {
		tagged = ", without tags"
	}
	words.Fprintf(a.Stderr, "snapshot %d, committed %s, is at %s%s: %s, %s rows; %s copied (%s), %s removed",
		made.Snapshot, made.CommittedAt.UTC().Format(time.RFC3339), made.To, tagged, cli.Plural(int64(len(made.Tables)), "table"),
		humanize.Comma(rows), cli.Plural(int64(made.Uploaded), "file"), humanize.IBytes(uint64(made.Bytes)),
		cli.Plural(int64(len(made.Removed)), "file"))
	if made.Requests > 0 {
		words.Fprintf(a.Stderr, "; %s", cli.Plural(made.Requests, "request"))
	}
	words.Fprintln(a.Stderr)
	if n := int64(len(made.Repaired)); n > 0 {
		words.Fprintf(a.Stderr, "%s had been missing or damaged there, and were copied again, the first one %s\n",
			cli.Plural(n, "file"), made.Repaired[0])
	}
	if made.Unprotected {
		words.Fprintln(a.Stderr, "warning: this store ignores If-None-Match, so it cannot keep two publications apart: "+
			"let only one run at a time")
	}
	if made.Forgotten {
		words.Fprintln(a.Stderr, "what was forgotten since the last publication is removed there as well")
	}
	if n := int64(len(made.Foreign)); n > 0 {
		words.Fprintf(a.Stderr, "warning: %s there were written by other programs, the first one is %s; forget does not clean "+
			"them (--receipt lists all)\n",
			cli.Plural(n, "file"), made.Foreign[0])
	}
}

// checked says what a check found. Problems are an error.
func (a *app) checked(found *publish.Checked) error {
	bad, rebuild := int64(0), []string{}
	for _, p := range found.Problems {
		at := p.Table
		if p.URI != "" {
			at += ": " + p.URI
		}
		words.Fprintf(a.Stdout, "%s: %s\n", at, p.What)
		if p.Fix != publish.FixNone {
			bad++
		}
		if p.Fix == publish.FixRebuild && !slices.Contains(rebuild, "--rebuild "+p.Table) {
			rebuild = append(rebuild, "--rebuild "+p.Table)
		}
	}
	words.Fprintf(a.Stderr, "%s: %s with %s looked at, %s\n", found.To, cli.Plural(int64(found.Tables), "table"),
		cli.Plural(int64(found.Files), "file"),
		cli.Plural(int64(len(found.Problems)), "problem"))
	if bad == 0 {
		return nil
	}
	hint := "query publish iceberg repairs what is listed"
	switch {
	case len(rebuild) > 0:
		hint = "repair it: query publish iceberg --deep " + strings.Join(rebuild, " ")
	case found.Deep:
		hint = "repair it: query publish iceberg --deep"
	}
	return cli.Fail(cli.ExitFailed, fmt.Errorf("the tables are not as they were published: %s", cli.Plural(bad, "problem")), hint)
}

// stateFolder is where this user's locks are.
func stateFolder() string {
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	return filepath.Join(cache, "callhouse")
}
