-- What Postgres' catalog says of the warehouse. The facts are in the tables fact_table,
-- fact_column and fact_key, which the program fills; relations that are empty here are in
-- empty.txt. Everything lies in the schema pg, and what a statement reads of pg_catalog
-- and of information_schema is looked up in it, the latter under names with info_.
-- An UINTEGER is an oid.

CREATE MACRO pg.format_type(type, mod) AS CASE type
    WHEN 16 THEN 'boolean' WHEN 17 THEN 'bytea' WHEN 18 THEN '"char"' WHEN 20 THEN 'bigint' WHEN 21 THEN 'smallint' WHEN 23 THEN 'integer' WHEN 25 THEN 'text' WHEN 700 THEN 'real' WHEN 701 THEN 'double precision'
    WHEN 1042 THEN 'character' WHEN 1043 THEN 'character varying' WHEN 1082 THEN 'date' WHEN 1083 THEN 'time without time zone' WHEN 1114 THEN 'timestamp without time zone' WHEN 1184 THEN 'timestamp with time zone' WHEN 1266 THEN 'time with time zone'
    WHEN 1700 THEN 'numeric' || CASE WHEN mod > 4 THEN '(' || ((mod - 4) >> 16) || ',' || ((mod - 4) & 65535) || ')' ELSE '' END
    WHEN 1000 THEN 'boolean[]' WHEN 1005 THEN 'smallint[]' WHEN 1007 THEN 'integer[]' WHEN 1016 THEN 'bigint[]' WHEN 1009 THEN 'text[]' WHEN 1022 THEN 'double precision[]' WHEN 1231 THEN 'numeric[]' WHEN 1015 THEN 'character varying[]' WHEN 1185 THEN 'timestamp with time zone[]' WHEN 1115 THEN 'timestamp without time zone[]'
    WHEN 0 THEN '-' ELSE coalesce((SELECT CASE WHEN zf.zcategory = 'A' AND zf.zelem <> 0 THEN zf.zname[2:] || '[]' ELSE zf.zname END
        FROM (SELECT oid AS zoid, typname AS zname, typcategory AS zcategory, typelem AS zelem FROM pg.fact_type) AS zf WHERE zf.zoid = type), CASE WHEN type IS NOT NULL THEN '???' END) END;

CREATE MACRO pg.proc_oid(name) AS coalesce(try_cast(name AS UINTEGER), (SELECT min(zp.oid) FROM pg.fact_proc AS zp WHERE zp.proname = regexp_replace(regexp_replace(name, '^pg_catalog\.', ''), '\(.*', '')));
CREATE MACRO pg.proc_name(o) AS coalesce((SELECT zp.proname FROM pg.fact_proc AS zp WHERE zp.oid = try_cast(o AS UINTEGER)), CAST(o AS VARCHAR));

-- The numbers of the catalog's own tables.
CREATE VIEW pg.fact_class AS
SELECT CAST(oid AS UINTEGER) AS oid, name FROM (VALUES (1213, 'pg_tablespace'), (1247, 'pg_type'), (1249, 'pg_attribute'), (1255, 'pg_proc'), (1259, 'pg_class'), (1260, 'pg_authid'), (1261, 'pg_auth_members'), (1262, 'pg_database'), (1417, 'pg_foreign_server'), (2328, 'pg_foreign_data_wrapper'), (2396, 'pg_shdescription'), (2601, 'pg_am'), (2604, 'pg_attrdef'), (2605, 'pg_cast'), (2606, 'pg_constraint'), (2607, 'pg_conversion'), (2609, 'pg_description'), (2610, 'pg_index'), (2612, 'pg_language'), (2615, 'pg_namespace'), (2616, 'pg_opclass'), (2617, 'pg_operator'), (2618, 'pg_rewrite'), (2620, 'pg_trigger'), (2753, 'pg_opfamily'), (3079, 'pg_extension'), (3118, 'pg_foreign_table'), (3256, 'pg_policy'), (3456, 'pg_collation'), (3466, 'pg_event_trigger'), (3501, 'pg_enum'), (3541, 'pg_range'), (3600, 'pg_ts_dict'), (3601, 'pg_ts_parser'), (3602, 'pg_ts_config'), (3603, 'pg_ts_config_map'), (3764, 'pg_ts_template'), (6100, 'pg_subscription'), (6104, 'pg_publication')) AS v(oid, name);

CREATE VIEW pg.pg_namespace AS
SELECT CAST(oid AS UINTEGER) AS oid, nspname, CAST(10 AS UINTEGER) AS nspowner, CAST(NULL AS VARCHAR[]) AS nspacl
FROM (VALUES (11, 'pg_catalog'), (2200, 'public'), (13000, 'information_schema')) AS v(oid, nspname);

CREATE VIEW pg.pg_roles AS
SELECT 'callhouse' AS rolname, false AS rolsuper, true AS rolinherit, false AS rolcreaterole, false AS rolcreatedb, true AS rolcanlogin, false AS rolreplication,
    CAST(-1 AS INTEGER) AS rolconnlimit, '********' AS rolpassword, CAST(NULL AS TIMESTAMPTZ) AS rolvaliduntil, false AS rolbypassrls, CAST(NULL AS VARCHAR[]) AS rolconfig, CAST(10 AS UINTEGER) AS oid;
CREATE VIEW pg.pg_authid AS
SELECT oid, rolname, rolsuper, rolinherit, rolcreaterole, rolcreatedb, rolcanlogin, rolreplication, rolbypassrls, rolconnlimit, CAST(NULL AS VARCHAR) AS rolpassword, rolvaliduntil FROM pg.pg_roles;
CREATE VIEW pg.pg_user AS
SELECT rolname AS usename, oid AS usesysid, false AS usecreatedb, false AS usesuper, false AS userepl, false AS usebypassrls, rolpassword AS passwd, rolvaliduntil AS valuntil, rolconfig AS useconfig FROM pg.pg_roles;

CREATE VIEW pg.pg_database AS
SELECT CAST(16384 AS UINTEGER) AS oid, 'callhouse' AS datname, CAST(10 AS UINTEGER) AS datdba, CAST(6 AS INTEGER) AS encoding, 'c' AS datlocprovider, false AS datistemplate, true AS datallowconn,
    CAST(-1 AS INTEGER) AS datconnlimit, CAST(1 AS BIGINT) AS datfrozenxid, CAST(1 AS BIGINT) AS datminmxid, CAST(1663 AS UINTEGER) AS dattablespace, 'C' AS datcollate, 'C.UTF-8' AS datctype,
    CAST(NULL AS VARCHAR) AS daticulocale, CAST(NULL AS VARCHAR) AS datcollversion, CAST(NULL AS VARCHAR[]) AS datacl;
CREATE VIEW pg.pg_tablespace AS
SELECT CAST(oid AS UINTEGER) AS oid, spcname, CAST(10 AS UINTEGER) AS spcowner, CAST(NULL AS VARCHAR[]) AS spcacl, CAST(NULL AS VARCHAR[]) AS spcoptions FROM (VALUES (1663, 'pg_default'), (1664, 'pg_global')) AS v(oid, spcname);
CREATE VIEW pg.pg_am AS
SELECT CAST(oid AS UINTEGER) AS oid, amname, amname || 'handler' AS amhandler, amtype FROM (VALUES (2, 'heap', 't'), (403, 'btree', 'i')) AS v(oid, amname, amtype);
CREATE VIEW pg.pg_collation AS
SELECT CAST(oid AS UINTEGER) AS oid, collname, CAST(11 AS UINTEGER) AS collnamespace, CAST(10 AS UINTEGER) AS collowner, collprovider, true AS collisdeterministic, CAST(-1 AS INTEGER) AS collencoding,
    collcollate, collcollate AS collctype, CAST(NULL AS VARCHAR) AS colliculocale, CAST(NULL AS VARCHAR) AS collversion
FROM (VALUES (100, 'default', 'd', NULL), (950, 'C', 'c', 'C')) AS v(oid, collname, collprovider, collcollate);
CREATE VIEW pg.pg_language AS
SELECT CAST(14 AS UINTEGER) AS oid, 'sql' AS lanname, CAST(10 AS UINTEGER) AS lanowner, false AS lanispl, true AS lanpltrusted, CAST(0 AS UINTEGER) AS lanplcallfoid, CAST(0 AS UINTEGER) AS laninline, CAST(0 AS UINTEGER) AS lanvalidator, CAST(NULL AS VARCHAR[]) AS lanacl;

CREATE VIEW pg.pg_settings AS
SELECT name, setting, CAST(NULL AS VARCHAR) AS unit, 'Preset Options' AS category, '' AS short_desc, CAST(NULL AS VARCHAR) AS extra_desc, context, vartype, 'default' AS source, CAST(NULL AS VARCHAR) AS min_val, CAST(NULL AS VARCHAR) AS max_val,
    CAST(NULL AS VARCHAR[]) AS enumvals, setting AS boot_val, setting AS reset_val, CAST(NULL AS VARCHAR) AS sourcefile, CAST(NULL AS INTEGER) AS sourceline, false AS pending_restart
FROM pg.fact_setting WHERE name NOT IN ('is_superuser', 'role', 'session_authorization');

-- A table has a type of its rows, as in Postgres.
CREATE VIEW pg.pg_type AS
SELECT oid, typname, CAST(typnamespace AS UINTEGER) AS typnamespace, CAST(10 AS UINTEGER) AS typowner, typlen, typbyval, typtype, typcategory, typispreferred, true AS typisdefined, typdelim, CAST(typrelid AS UINTEGER) AS typrelid,
    CASE WHEN typelem <> 0 AND typlen = -1 THEN 'array_subscript_handler' ELSE '-' END AS typsubscript, typelem, typarray, pg.proc_oid(typinput) AS typinput, pg.proc_oid(typoutput) AS typoutput, pg.proc_oid(typreceive) AS typreceive, pg.proc_oid(typsend) AS typsend, '-' AS typmodin, '-' AS typmodout, '-' AS typanalyze, typalign, typstorage,
    false AS typnotnull, CAST(0 AS UINTEGER) AS typbasetype, CAST(-1 AS INTEGER) AS typtypmod, CAST(0 AS INTEGER) AS typndims, typcollation,
    CAST(NULL AS VARCHAR) AS typdefaultbin, CAST(NULL AS VARCHAR) AS typdefault, CAST(NULL AS VARCHAR[]) AS typacl
FROM (
    SELECT *, 11 AS typnamespace, 0 AS typrelid FROM pg.fact_type
    UNION ALL BY NAME
    SELECT CAST(oid + 10000 AS UINTEGER) AS oid, name AS typname, CAST(-1 AS SMALLINT) AS typlen, false AS typbyval, 'c' AS typtype, 'C' AS typcategory, false AS typispreferred, ',' AS typdelim, CAST(0 AS UINTEGER) AS typelem, CAST(0 AS UINTEGER) AS typarray,
        'record_in' AS typinput, 'record_out' AS typoutput, 'record_recv' AS typreceive, 'record_send' AS typsend, 'd' AS typalign, 'x' AS typstorage, CAST(0 AS UINTEGER) AS typcollation, 2200 AS typnamespace, oid AS typrelid FROM pg.fact_table
);

-- Functions are listed as far as types have them: drivers find arrays by array_recv.
CREATE VIEW pg.pg_proc AS
SELECT oid, proname, CAST(11 AS UINTEGER) AS pronamespace, CAST(10 AS UINTEGER) AS proowner, CAST(12 AS UINTEGER) AS prolang, CAST(1 AS FLOAT) AS procost, CAST(0 AS FLOAT) AS prorows, CAST(0 AS UINTEGER) AS provariadic, CAST(0 AS UINTEGER) AS prosupport, 'f' AS prokind, false AS prosecdef, false AS proleakproof,
    true AS proisstrict, false AS proretset, provolatile, 's' AS proparallel, CAST(len(arguments) AS SMALLINT) AS pronargs, CAST(0 AS SMALLINT) AS pronargdefaults, prorettype, arguments AS proargtypes, CAST(NULL AS UINTEGER[]) AS proallargtypes, CAST(NULL AS VARCHAR[]) AS proargmodes, CAST(NULL AS VARCHAR[]) AS proargnames,
    CAST(NULL AS VARCHAR) AS proargdefaults, CAST(NULL AS UINTEGER[]) AS protrftypes, proname AS prosrc, CAST(NULL AS VARCHAR) AS probin, CAST(NULL AS VARCHAR) AS prosqlbody, CAST(NULL AS VARCHAR[]) AS proconfig, CAST(NULL AS VARCHAR[]) AS proacl
FROM (SELECT *, CAST(string_split(proargtypes, '|') AS UINTEGER[]) AS arguments FROM pg.fact_proc);

CREATE VIEW pg.pg_class AS
SELECT oid, relname, CAST(namespace AS UINTEGER) AS relnamespace, CAST(CASE WHEN namespace = 2200 AND relkind = 'r' THEN oid + 10000 ELSE 0 END AS UINTEGER) AS reltype, CAST(0 AS UINTEGER) AS reloftype, CAST(10 AS UINTEGER) AS relowner, CAST(relam AS UINTEGER) AS relam, oid AS relfilenode, CAST(0 AS UINTEGER) AS reltablespace,
    CAST(0 AS INTEGER) AS relpages, CAST(reltuples AS FLOAT) AS reltuples, CAST(0 AS INTEGER) AS relallvisible, CAST(0 AS UINTEGER) AS reltoastrelid, relhasindex, false AS relisshared, 'p' AS relpersistence, relkind,
    CAST(relnatts AS SMALLINT) AS relnatts, CAST(0 AS SMALLINT) AS relchecks, false AS relhasrules, oid IN (SELECT relid FROM pg.fact_key WHERE type = 'f' UNION ALL SELECT ref FROM pg.fact_key) AS relhastriggers, false AS relhassubclass, false AS relrowsecurity, false AS relforcerowsecurity, true AS relispopulated,
    CASE relkind WHEN 'i' THEN 'n' ELSE 'd' END AS relreplident, false AS relispartition, CAST(0 AS UINTEGER) AS relrewrite, CAST(0 AS BIGINT) AS relfrozenxid, CAST(0 AS BIGINT) AS relminmxid, ['callhouse=r/callhouse'] AS relacl, CAST(NULL AS VARCHAR[]) AS reloptions, CAST(NULL AS VARCHAR) AS relpartbound
FROM (
    SELECT t.oid, t.name AS relname, 2200 AS namespace, 2 AS relam, t.rows AS reltuples, 'r' AS relkind, t.columns AS relnatts, t.oid IN (SELECT relid FROM pg.fact_key WHERE type = 'p') AS relhasindex FROM pg.fact_table AS t
    UNION ALL SELECT index_oid, name, 2200, 403, 0, 'i', len(columns), false FROM pg.fact_key WHERE type = 'p'
    UNION ALL SELECT oid, name, 11, 2, -1, 'r', 0, false FROM pg.fact_class
);

CREATE VIEW pg.pg_attribute AS
SELECT attrelid, attname, atttypid, CAST(-1 AS INTEGER) AS attstattarget, coalesce(t.typlen, -1) AS attlen, attnum, CAST(CASE WHEN t.typcategory = 'A' THEN 1 ELSE 0 END AS INTEGER) AS attndims, CAST(-1 AS INTEGER) AS attcacheoff, atttypmod, coalesce(t.typbyval, false) AS attbyval,
    t.typalign AS attalign, t.typstorage AS attstorage, '' AS attcompression, attnotnull, false AS atthasdef, false AS atthasmissing, '' AS attidentity, '' AS attgenerated, false AS attisdropped, true AS attislocal, CAST(0 AS INTEGER) AS attinhcount,
    t.typcollation AS attcollation, CAST(NULL AS VARCHAR[]) AS attacl, CAST(NULL AS VARCHAR[]) AS attoptions, CAST(NULL AS VARCHAR[]) AS attfdwoptions, CAST(NULL AS VARCHAR[]) AS attmissingval
FROM (
    SELECT relid AS attrelid, name AS attname, type AS atttypid, number AS attnum, mod AS atttypmod, required AS attnotnull FROM pg.fact_column
    UNION ALL
    SELECT k.index_oid, c.name, c.type, CAST(list_position(k.columns, c.number) AS SMALLINT), c.mod, false FROM pg.fact_key AS k JOIN pg.fact_column AS c ON c.relid = k.relid AND list_contains(k.columns, c.number) WHERE k.type = 'p'
) AS a LEFT JOIN pg.fact_type AS t ON t.oid = a.atttypid;

CREATE VIEW pg.pg_constraint AS
SELECT oid, name AS conname, CAST(2200 AS UINTEGER) AS connamespace, type AS contype, false AS condeferrable, false AS condeferred, true AS convalidated, relid AS conrelid, CAST(0 AS UINTEGER) AS contypid, index_oid AS conindid, CAST(0 AS UINTEGER) AS conparentid,
    ref AS confrelid, CASE type WHEN 'f' THEN 'a' ELSE ' ' END AS confupdtype, CASE type WHEN 'f' THEN 'a' ELSE ' ' END AS confdeltype, CASE type WHEN 'f' THEN 's' ELSE ' ' END AS confmatchtype, true AS conislocal, CAST(0 AS INTEGER) AS coninhcount, true AS connoinherit,
    columns AS conkey, CASE type WHEN 'f' THEN ref_columns END AS confkey, CAST(NULL AS UINTEGER[]) AS conpfeqop, CAST(NULL AS UINTEGER[]) AS conppeqop, CAST(NULL AS UINTEGER[]) AS conffeqop, CAST(NULL AS SMALLINT[]) AS confdelsetcols, CAST(NULL AS UINTEGER[]) AS conexclop, CAST(NULL AS VARCHAR) AS conbin
FROM pg.fact_key;

CREATE VIEW pg.pg_index AS
SELECT index_oid AS indexrelid, relid AS indrelid, CAST(len(columns) AS SMALLINT) AS indnatts, CAST(len(columns) AS SMALLINT) AS indnkeyatts, true AS indisunique, false AS indnullsnotdistinct, true AS indisprimary, false AS indisexclusion, true AS indimmediate, false AS indisclustered,
    true AS indisvalid, false AS indcheckxmin, true AS indisready, true AS indislive, false AS indisreplident, CAST(columns AS USMALLINT[]) AS indkey, CAST(list_transform(columns, lambda c: 0) AS UINTEGER[]) AS indcollation, CAST(list_transform(columns, lambda c: 3126) AS UINTEGER[]) AS indclass, CAST(list_transform(columns, lambda c: 0) AS USMALLINT[]) AS indoption,
    CAST(NULL AS VARCHAR) AS indexprs, CAST(NULL AS VARCHAR) AS indpred
FROM pg.fact_key WHERE type = 'p';

-- Programs find the constraint of an index by it.
CREATE VIEW pg.pg_depend AS
SELECT CAST(classid AS UINTEGER) AS classid, objid, CAST(0 AS INTEGER) AS objsubid, CAST(refclassid AS UINTEGER) AS refclassid, CAST(refobjid AS UINTEGER) AS refobjid, CAST(refobjsubid AS INTEGER) AS refobjsubid, deptype FROM (
    SELECT 1259 AS classid, index_oid AS objid, 2606 AS refclassid, oid AS refobjid, 0 AS refobjsubid, 'i' AS deptype FROM pg.fact_key WHERE type = 'p'
    UNION ALL SELECT 2606, oid, 1259, relid, unnest(columns), 'a' FROM pg.fact_key
    UNION ALL SELECT 2606, oid, 1259, ref, unnest(ref_columns), 'n' FROM pg.fact_key WHERE type = 'f'
    UNION ALL SELECT 2606, oid, 1259, index_oid, 0, 'n' FROM pg.fact_key WHERE type = 'f'
    UNION ALL SELECT 1259, oid, 2615, 2200, 0, 'n' FROM pg.fact_table
);

CREATE VIEW pg.pg_description AS
SELECT oid AS objoid, CAST(1259 AS UINTEGER) AS classoid, CAST(0 AS INTEGER) AS objsubid, comment AS description FROM pg.fact_table
UNION ALL SELECT relid, CAST(1259 AS UINTEGER), CAST(number AS INTEGER), comment FROM pg.fact_column WHERE comment <> '';

CREATE VIEW pg.pg_tables AS
SELECT 'public' AS schemaname, relname AS tablename, 'callhouse' AS tableowner, CAST(NULL AS VARCHAR) AS tablespace, relhasindex AS hasindexes, false AS hasrules, false AS hastriggers, false AS rowsecurity FROM pg.pg_class WHERE relkind = 'r' AND relnamespace = 2200;
CREATE VIEW pg.pg_stat_user_tables AS
SELECT oid AS relid, 'public' AS schemaname, name AS relname, CAST(0 AS BIGINT) AS seq_scan, CAST(0 AS BIGINT) AS seq_tup_read, CAST(0 AS BIGINT) AS idx_scan, CAST(0 AS BIGINT) AS idx_tup_fetch, CAST(0 AS BIGINT) AS n_tup_ins, CAST(0 AS BIGINT) AS n_tup_upd, CAST(0 AS BIGINT) AS n_tup_del,
    CAST(0 AS BIGINT) AS n_tup_hot_upd, rows AS n_live_tup, CAST(0 AS BIGINT) AS n_dead_tup, CAST(NULL AS TIMESTAMPTZ) AS last_vacuum, CAST(NULL AS TIMESTAMPTZ) AS last_analyze FROM pg.fact_table;

-- information_schema

CREATE VIEW pg.info_information_schema_catalog_name AS SELECT 'callhouse' AS catalog_name;
CREATE VIEW pg.info_character_sets AS
SELECT CAST(NULL AS VARCHAR) AS character_set_catalog, CAST(NULL AS VARCHAR) AS character_set_schema, 'UTF8' AS character_set_name, 'UCS' AS character_repertoire, 'UTF8' AS form_of_use, 'callhouse' AS default_collate_catalog, 'pg_catalog' AS default_collate_schema, 'C.UTF-8' AS default_collate_name;
CREATE VIEW pg.info_schemata AS
SELECT 'callhouse' AS catalog_name, nspname AS schema_name, 'callhouse' AS schema_owner, CAST(NULL AS VARCHAR) AS default_character_set_catalog, CAST(NULL AS VARCHAR) AS default_character_set_schema, CAST(NULL AS VARCHAR) AS default_character_set_name, CAST(NULL AS VARCHAR) AS sql_path FROM pg.pg_namespace;
CREATE VIEW pg.info_tables AS
SELECT 'callhouse' AS table_catalog, 'public' AS table_schema, name AS table_name, 'BASE TABLE' AS table_type, CAST(NULL AS VARCHAR) AS self_referencing_column_name, CAST(NULL AS VARCHAR) AS reference_generation, CAST(NULL AS VARCHAR) AS user_defined_type_catalog, CAST(NULL AS VARCHAR) AS user_defined_type_schema,
    CAST(NULL AS VARCHAR) AS user_defined_type_name, 'NO' AS is_insertable_into, 'NO' AS is_typed, CAST(NULL AS VARCHAR) AS commit_action FROM pg.fact_table;
CREATE VIEW pg.info_columns AS
SELECT 'callhouse' AS table_catalog, 'public' AS table_schema, t.name AS table_name, c.name AS column_name, CAST(c.number AS INTEGER) AS ordinal_position, CAST(NULL AS VARCHAR) AS column_default, CASE WHEN c.required THEN 'NO' ELSE 'YES' END AS is_nullable,
    CASE WHEN y.typcategory = 'A' THEN 'ARRAY' ELSE pg.format_type(c.type, NULL) END AS data_type, CAST(NULL AS INTEGER) AS character_maximum_length, CAST(CASE WHEN y.typname = 'text' THEN 1073741824 END AS INTEGER) AS character_octet_length,
    CAST(CASE y.typname WHEN 'int2' THEN 16 WHEN 'int4' THEN 32 WHEN 'int8' THEN 64 WHEN 'float4' THEN 24 WHEN 'float8' THEN 53 WHEN 'numeric' THEN (c.mod - 4) >> 16 END AS INTEGER) AS numeric_precision,
    CAST(CASE WHEN y.typname IN ('int2', 'int4', 'int8', 'float4', 'float8') THEN 2 WHEN y.typname = 'numeric' THEN 10 END AS INTEGER) AS numeric_precision_radix,
    CAST(CASE WHEN y.typname IN ('int2', 'int4', 'int8') THEN 0 WHEN y.typname = 'numeric' THEN (c.mod - 4) & 65535 END AS INTEGER) AS numeric_scale,
    CAST(CASE WHEN y.typname = 'date' THEN 0 WHEN y.typname IN ('time', 'timetz', 'timestamp', 'timestamptz', 'interval') THEN 6 END AS INTEGER) AS datetime_precision,
    CAST(NULL AS VARCHAR) AS interval_type, CAST(NULL AS INTEGER) AS interval_precision, CAST(NULL AS VARCHAR) AS character_set_catalog, CAST(NULL AS VARCHAR) AS character_set_schema, CAST(NULL AS VARCHAR) AS character_set_name,
    CAST(NULL AS VARCHAR) AS collation_catalog, CAST(NULL AS VARCHAR) AS collation_schema, CAST(NULL AS VARCHAR) AS collation_name, CAST(NULL AS VARCHAR) AS domain_catalog, CAST(NULL AS VARCHAR) AS domain_schema, CAST(NULL AS VARCHAR) AS domain_name,
    'callhouse' AS udt_catalog, 'pg_catalog' AS udt_schema, y.typname AS udt_name, CAST(NULL AS VARCHAR) AS scope_catalog, CAST(NULL AS VARCHAR) AS scope_schema, CAST(NULL AS VARCHAR) AS scope_name, CAST(NULL AS INTEGER) AS maximum_cardinality, CAST(c.number AS VARCHAR) AS dtd_identifier,
    'NO' AS is_self_referencing, 'NO' AS is_identity, CAST(NULL AS VARCHAR) AS identity_generation, CAST(NULL AS VARCHAR) AS identity_start, CAST(NULL AS VARCHAR) AS identity_increment, CAST(NULL AS VARCHAR) AS identity_maximum, CAST(NULL AS VARCHAR) AS identity_minimum, 'NO' AS identity_cycle,
    'NEVER' AS is_generated, CAST(NULL AS VARCHAR) AS generation_expression, 'NO' AS is_updatable
FROM pg.fact_table AS t JOIN pg.fact_column AS c ON c.relid = t.oid JOIN pg.fact_type AS y ON y.oid = c.type;
CREATE VIEW pg.info_views AS
SELECT 'callhouse' AS table_catalog, 'public' AS table_schema, name AS table_name, '' AS view_definition, 'NONE' AS check_option, 'NO' AS is_updatable, 'NO' AS is_insertable_into, 'NO' AS is_trigger_updatable, 'NO' AS is_trigger_deletable, 'NO' AS is_trigger_insertable_into FROM pg.fact_table WHERE false;
CREATE VIEW pg.info_table_constraints AS
SELECT 'callhouse' AS constraint_catalog, 'public' AS constraint_schema, k.name AS constraint_name, 'callhouse' AS table_catalog, 'public' AS table_schema, t.name AS table_name, CASE k.type WHEN 'p' THEN 'PRIMARY KEY' ELSE 'FOREIGN KEY' END AS constraint_type,
    'NO' AS is_deferrable, 'NO' AS initially_deferred, 'YES' AS enforced, CAST(NULL AS VARCHAR) AS nulls_distinct FROM pg.fact_key AS k JOIN pg.fact_table AS t ON t.oid = k.relid;
CREATE VIEW pg.info_key_column_usage AS
SELECT 'callhouse' AS constraint_catalog, 'public' AS constraint_schema, k.name AS constraint_name, 'callhouse' AS table_catalog, 'public' AS table_schema, t.name AS table_name, c.name AS column_name, CAST(list_position(k.columns, c.number) AS INTEGER) AS ordinal_position,
    CAST(CASE k.type WHEN 'f' THEN 1 END AS INTEGER) AS position_in_unique_constraint FROM pg.fact_key AS k JOIN pg.fact_table AS t ON t.oid = k.relid JOIN pg.fact_column AS c ON c.relid = k.relid AND list_contains(k.columns, c.number);
CREATE VIEW pg.info_constraint_column_usage AS
SELECT 'callhouse' AS table_catalog, 'public' AS table_schema, t.name AS table_name, c.name AS column_name, 'callhouse' AS constraint_catalog, 'public' AS constraint_schema, k.name AS constraint_name
FROM pg.fact_key AS k JOIN pg.fact_table AS t ON t.oid = CASE k.type WHEN 'p' THEN k.relid ELSE k.ref END JOIN pg.fact_column AS c ON c.relid = t.oid AND list_contains(CASE k.type WHEN 'p' THEN k.columns ELSE k.ref_columns END, c.number);
CREATE VIEW pg.info_referential_constraints AS
SELECT 'callhouse' AS constraint_catalog, 'public' AS constraint_schema, k.name AS constraint_name, 'callhouse' AS unique_constraint_catalog, 'public' AS unique_constraint_schema, p.name AS unique_constraint_name, 'NONE' AS match_option, 'NO ACTION' AS update_rule, 'NO ACTION' AS delete_rule
FROM pg.fact_key AS k JOIN pg.fact_key AS p ON p.relid = k.ref AND p.type = 'p' WHERE k.type = 'f';
CREATE VIEW pg.info_table_privileges AS
SELECT 'callhouse' AS grantor, 'callhouse' AS grantee, 'callhouse' AS table_catalog, 'public' AS table_schema, name AS table_name, 'SELECT' AS privilege_type, 'NO' AS is_grantable, 'YES' AS with_hierarchy FROM pg.fact_table;
CREATE VIEW pg.info_column_privileges AS
SELECT 'callhouse' AS grantor, 'callhouse' AS grantee, 'callhouse' AS table_catalog, 'public' AS table_schema, t.name AS table_name, c.name AS column_name, 'SELECT' AS privilege_type, 'NO' AS is_grantable FROM pg.fact_table AS t JOIN pg.fact_column AS c ON c.relid = t.oid;
