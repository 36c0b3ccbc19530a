// Package engine writes the statements that create tables over a snapshot's folders in engines
// other than DuckDB. It runs nothing.
package engine

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"callhouse/internal/layout"
	"callhouse/internal/resource"
	"callhouse/internal/schema"
)

// dialect describes how an engine creates a table over a folder of Parquet files.
type dialect struct {
	types  map[schema.Type]string // where they differ from DuckDB's
	ident  string                 // quotes a name
	schema string
	notes  string
	begin  string // of the schema
	table  string // with its name, columns, folder, and byMonth if the table has months
	// byMonth partitions a table by month; fill makes the engine discover the partitions.
	byMonth, fill string
	instant       string // a UTC time
}

// dialects are the supported engines.
var dialects = map[string]dialect{
	"spark": {
		types: map[schema.Type]string{schema.Text: "STRING", schema.Word: "STRING", schema.JSON: "STRING", schema.Int32: "INT",
			schema.Timestamp: "TIMESTAMP"},
		ident:  "`",
		schema: "callhouse",
		notes:  "-- For Spark: spark-sql -f FILE. If Spark sees the warehouse at another path, change the paths.\n",
		begin:  "CREATE DATABASE IF NOT EXISTS callhouse;\n",
		table:  "\nDROP TABLE IF EXISTS %[1]s;\nCREATE TABLE %[1]s (\n%[2]s\n) USING PARQUET%[4]s\nLOCATION %[3]s;\n",

		byMonth: "\nPARTITIONED BY (month)",
		fill:    "MSCK REPAIR TABLE %s.%s;\n",
		instant: "TIMESTAMP '%s UTC'",
	},
	"trino": {
		types:  map[schema.Type]string{schema.Text: "VARCHAR", schema.Word: "VARCHAR", schema.JSON: "VARCHAR", schema.Timestamp: "TIMESTAMP(6)"},
		ident:  `"`,
		schema: "hive.callhouse",
		notes: "-- For Trino: trino --file FILE. Its catalog hive requires these lines in etc/catalog/hive.properties:\n" +
			"--   connector.name=hive\n" +
			"--   hive.parquet.time-zone=UTC\n" +
			"--   hive.timestamp-precision=MICROSECONDS\n" +
			"--   hive.non-managed-table-writes-enabled=true\n" +
			"-- and access to the files, e.g. fs.hadoop.enabled=true. If Trino sees the warehouse at another path, change the paths.\n" +
			"-- Times are in UTC and have no time zone.\n",
		begin: "CREATE SCHEMA IF NOT EXISTS hive.callhouse;\n",
		table: "\nDROP TABLE IF EXISTS %[1]s;\nCREATE TABLE %[1]s (\n%[2]s\n) WITH (format = 'PARQUET', external_location = %[3]s%[4]s);\n",

		byMonth: ", partitioned_by = ARRAY['month']",
		fill:    "CALL hive.system.sync_partition_metadata('%s', '%s', 'FULL');\n",
		instant: "TIMESTAMP '%s'",
	},
}

// Names returns the supported engines.
func Names() []string { return slices.Sorted(maps.Keys(dialects)) }

// Head returns SQL comments that identify the snapshot of a script and the command that made it.
func Head(snap *layout.Snapshot, command string) string {
	return fmt.Sprintf("-- Snapshot %d of a warehouse of calls, committed %s.\n-- Made by: %s\n",
		snap.Manifest.Snapshot, snap.Manifest.CommittedAt.UTC().Format(time.RFC3339), command)
}

// Script returns the statements that create, in an engine other than DuckDB, a table over each
// folder of a snapshot, with the columns of the files and month. ok is false if the engine is not
// supported.
func Script(snap *layout.Snapshot, engine string) (script string, ok bool) {
	d, ok := dialects[engine]
	if !ok {
		return "", false
	}
	var b strings.Builder
	m := snap.Manifest
	fmt.Fprintf(&b, "%s%s-- The snapshot's files are kept for 24 hours after the next commit: recreate the tables every night.\n\n%s",
		Head(snap, "query init --dialect "+engine), d.notes, d.begin)
	for _, t := range resource.Tables {
		if len(snap.Manifest.FilesOf(t.Name)) == 0 {
			fmt.Fprintf(&b, "\n-- %s: no rows in this snapshot.\n", t.Name)
			continue
		}
		partitions := ""
		var columns []string
		for _, c := range t.Columns {
			typ, ok := d.types[c.Type]
			if !ok {
				typ = c.Type.DuckDB()
			}
			columns = append(columns, "  "+d.ident+c.Name+d.ident+" "+typ)
		}
		if t.ByMonth() {
			columns = append(columns, "  "+d.ident+schema.Month+d.ident+" "+d.types[schema.Text])
			partitions = d.byMonth
		}
		fmt.Fprintf(&b, d.table, d.schema+"."+t.Name, strings.Join(columns, ",\n"),
			"'"+strings.ReplaceAll("file://"+filepath.Join(snap.Dir, t.Name), "'", "''")+"'", partitions)
		if t.ByMonth() {
			fmt.Fprintf(&b, d.fill, "callhouse", t.Name)
		}
	}
	b.WriteString("\n-- Must return true: the number of calls and the earliest start are those of the commit.\n" + d.check(m))
	return b.String(), true
}

// check returns a statement that tests whether the engine reads the committed rows.
func (d dialect) check(m *layout.Manifest) string {
	first := ""
	if lo, hi := m.Starts(); lo < hi {
		first = " AND date_trunc('second', min(start_at)) = " + fmt.Sprintf(d.instant, time.UnixMilli(lo).UTC().Format(time.DateTime))
	}
	return fmt.Sprintf("SELECT count(*) = %d%s AS as_committed FROM %s.%s;\n", m.Rows(schema.Calls.Name), first, d.schema, schema.Calls.Name)
}
