package analyticstest

import (
	"regexp"
	"strings"
)

// RelationForms are the spellings of a relation's name in a statement: C is its database, S its
// schema, T its name, U its name in capitals.
var RelationForms = []string{
	`FROM T`, `FROM "T"`, `FROM U`, `FROM S.T`, `FROM "S"."T"`, `FROM S . "U"`, `FROM S/**/./**/T`, `FROM C.S.T`, `FROM C.T`, `FROM memory.T`,
	`FROM memory.S.T`, `FROM temp.S.T`, `FROM main.T`, `FROM C.main.T`, `FROM "S.T"`, `FROM "C.S.T"`, `TABLE S.T`,
	// With an alias, and nested.
	`SELECT x.* FROM T AS x`, `SELECT x.* FROM S.T x`, `SELECT (SELECT count(*) FROM T)`, `SELECT 1 WHERE EXISTS (FROM S.T)`,
	`SELECT 'a' IN (SELECT 'a' FROM T)`,
	`SELECT [(SELECT count(*) FROM T)]`, `SELECT * FROM (SELECT * FROM (FROM U))`, `SELECT 1 FROM calls, LATERAL (FROM T)`,
	`SELECT 1 FROM calls c LEFT JOIN S.T ON c.call_id IS NULL`,
	`SELECT 1 FROM calls ORDER BY (SELECT count(*) FROM T)`, `SELECT 1 LIMIT (SELECT count(*) FROM T)`,
	`SELECT sum(turn) FILTER (EXISTS (FROM T)) OVER (ORDER BY turn) FROM transcript_turns`,
	`FROM calls UNION ALL BY NAME FROM T`, `SELECT 1 GROUP BY (SELECT count(*) FROM T)`, `FROM summary((FROM T))`,
	`SELECT list_transform([1], lambda x: (SELECT count(*) FROM T))`,
	`DESCRIBE T`, `DESCRIBE FROM S.T`, `SUMMARIZE S.T`, `SHOW T`, `SELECT * FROM (DESCRIBE S.T)`, `SELECT * FROM (SUMMARIZE U)`,
	`EXPLAIN FROM T`,
	`EXPLAIN (FORMAT json) FROM T`, `PIVOT (SELECT 1 AS a FROM T) ON a IN (1) USING count(*)`, `UNPIVOT (SELECT 1 AS a FROM S.T) ON a`,
	// Beside and after a WITH of the same name.
	`WITH T AS (SELECT 1) FROM T`, `WITH T AS (SELECT 1) FROM S.T`, `WITH T AS (SELECT 1) FROM main.T`,
	`WITH T AS (SELECT 1) FROM C.S.T`, `WITH "S.T" AS (SELECT 1) FROM S.T`,
	`WITH "S.T" AS (SELECT 1) FROM "S.T"`, `WITH "C.S.T" AS (SELECT 1) FROM C.S.T`, `WITH "U" AS (SELECT 1) FROM S.T`,
	`WITH U AS (SELECT 1) FROM T`, `WITH T AS (FROM T) FROM T`,
	`WITH T AS (SELECT * FROM T) SELECT 1`, `WITH T AS MATERIALIZED (FROM S.T) FROM T`, `WITH x AS (FROM T) FROM x`,
	`WITH x AS (FROM T), T AS (SELECT 1) FROM x`,
	`WITH T AS (SELECT 1), x AS (FROM T) FROM x`, `WITH x AS (WITH T AS (SELECT 1) FROM T) FROM T`,
	`SELECT * FROM (WITH T AS (SELECT 1) FROM T), T`,
	`SELECT (WITH T AS (SELECT 1) SELECT 1 FROM T), (SELECT count(*) FROM T)`,
	`(WITH T AS (SELECT 1) FROM T) UNION ALL SELECT 1 FROM T`, `SELECT 1 FROM T UNION ALL (WITH T AS (SELECT 1) FROM T)`,
	`WITH T AS (SELECT 1) (FROM T) UNION ALL (FROM T)`, `WITH T AS (SELECT 1) SELECT 1 LIMIT (SELECT count(*) FROM T)`,
	`SELECT 1 WHERE EXISTS (WITH T AS (SELECT 1) FROM T) AND EXISTS (FROM T)`,
	`WITH x AS (WITH T AS (SELECT 1) FROM T), y AS (FROM T) FROM y`,
	`SELECT 1 FROM (WITH T AS (SELECT 1) FROM T) a JOIN T b ON true`, `WITH x AS (WITH "S.T" AS (SELECT 1) FROM "S.T") FROM S.T`,
	`WITH RECURSIVE T AS (FROM T) FROM T`, `WITH RECURSIVE T AS (SELECT 'a' FROM T UNION ALL SELECT 'a' FROM T WHERE false) FROM T`,
	`WITH RECURSIVE T AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM T WHERE n < 3) FROM T`,
	`WITH RECURSIVE T AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM T WHERE n < 3) FROM S.T`,
	`WITH RECURSIVE x AS (FROM T), T AS (SELECT 1) FROM x`,
	`WITH RECURSIVE T AS (SELECT 1 AS n UNION ALL (WITH T AS (FROM T) SELECT n + 1 FROM T WHERE n < 3)) FROM T`,
	`WITH "K" AS (SELECT 1) FROM T`, // K: the Kelvin sign, which DuckDB does not fold to k
}

// AsText are statements that pass a name or SQL to a function as text.
var AsText = []string{
	`FROM query('FROM T')`, `FROM query_table('T')`, `FROM query_table("T")`, `FROM query_table(['T'])`, `FROM histogram(T, name)`,
	`FROM histogram_values("S.T", name)`, `FROM seq_scan('T')`, `FROM summary(query_table('T'))`,
	`FROM json_execute_serialized_sql(json_serialize_sql('FROM T'))`, `SELECT json_serialize_plan('FROM T')`,
	`FROM pragma_table_info('T')`, `FROM pragma_storage_info('T')`, `FROM pragma_show('T')`, `FROM sql_auto_complete('FROM T')`,
	`WITH query AS (SELECT 1) FROM query('FROM T')`, `SELECT * FROM "QUERY_TABLE"('S.T')`, `SELECT * FROM calls, query_table('T')`,
}

// Relation is a relation known to DuckDB.
type Relation struct{ Database, Schema, Name string }

var formLetterRE = regexp.MustCompile(`\b[CSTUK]\b`)

// In writes the relation's name into a form.
func (r Relation) In(form string) string {
	return formLetterRE.ReplaceAllStringFunc(form, func(letter string) string {
		switch letter {
		case "C":
			return r.Database
		case "S":
			return r.Schema
		case "U":
			return strings.ToUpper(r.Name)
		case "K":
			return strings.Replace(r.Name, "k", "\u212a", 1)
		}
		return r.Name
	})
}

// FunctionForms are the spellings of a call of function F with arguments A.
var FunctionForms = []string{`SELECT "F"(A)`, `SELECT system.main."F"(A)`, `SELECT main."F"(A)`,
	`SELECT * FROM (SELECT "F"(A))`, `SELECT 1 FROM calls, LATERAL (SELECT "F"(A))`,
	`WITH "F" AS (SELECT "F"(A)) FROM "F"`, `SELECT [x -> "F"(A)]`, `SELECT 1 FROM calls ORDER BY "F"(A)`, `SELECT "F"(A) OVER ()`,
	`SELECT count("F"(A)) FILTER (1 = "F"(A))`}

// TableFunctionForms are the same in FROM.
var TableFunctionForms = []string{`FROM "F"(A)`, `FROM system.main."F"(A)`, `FROM pg_catalog."F"(A)`,
	`SELECT x.* FROM "F"(A) x`, `SELECT (SELECT count(*) FROM "F"(A))`, `SELECT 1 FROM calls, LATERAL (FROM "F"(A))`,
	`SELECT 1 FROM calls c, "F"(c.call_id)`, `WITH "F" AS (SELECT 1) FROM "F"(A)`, `WITH x AS (FROM "F"(A)) FROM x`,
	`DESCRIBE FROM "F"(A)`, `SUMMARIZE FROM "F"(A)`, `FROM "F"(A) WITH ORDINALITY`}
