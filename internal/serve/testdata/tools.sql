-- DBeaver 24.2: the databases
-- fewer: Postgres has one of its own
-- with: varchar callhouse
-- without: oid, datlocprovider, datistemplate, datconnlimit, datfrozenxid, datminmxid, datcollate, datctype, datcollversion, dattablespace
SELECT db.oid,db.* FROM pg_catalog.pg_database db WHERE 1 = 1 AND datallowconn AND NOT datistemplate OR db.datname =$1
ORDER BY db.datname

-- DBeaver 24.2: the comment of the database
-- with: varchar callhouse
select description from pg_shdescription join pg_database on objoid = pg_database.oid where datname = $1

-- DBeaver 24.2: where it is
SELECT current_schema(),session_user

-- DBeaver 24.2: is there a column?
SELECT typcategory FROM pg_catalog.pg_type WHERE 1<>1 LIMIT 1

-- DBeaver 24.2: the settings
-- fewer: settings that have a meaning here
-- without: unit, category, short_desc, extra_desc, context, vartype, source, min_val, max_val, enumvals, boot_val, reset_val, sourcefile, sourceline, setting
select * from pg_catalog.pg_settings

-- DBeaver 24.2: a setting
-- with: varchar standard_conforming_strings
-- without: unit, category, short_desc, extra_desc, context, vartype, source, min_val, max_val, enumvals
select * from pg_catalog.pg_settings where name=$1

-- DBeaver 24.2: the schemas
-- fewer: pg_toast is missing
-- without: nspacl, description, nspowner
SELECT n.oid,n.*,d.description FROM pg_catalog.pg_namespace n
LEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid=n.oid AND d.objsubid=0 AND d.classoid='pg_namespace'::regclass
ORDER BY nspname

-- DBeaver 24.2: the number of a schema
-- with: varchar public
SELECT s.oid as schema_id
from pg_catalog.pg_namespace s
WHERE s.nspname =$1

-- DBeaver 24.2: the types
-- fewer: types that no column has
-- without: description, typacl, typdefault, typdefaultbin, typinput, typoutput, typreceive, typsend, typmodin, typmodout, typanalyze, typsubscript
SELECT t.oid,t.*,c.relkind,format_type(nullif(t.typbasetype, 0), t.typtypmod) as base_type_name, d.description
FROM pg_catalog.pg_type t
LEFT OUTER JOIN pg_catalog.pg_type et ON et.oid=t.typelem 
LEFT OUTER JOIN pg_catalog.pg_class c ON c.oid=t.typrelid
LEFT OUTER JOIN pg_catalog.pg_description d ON t.oid=d.objoid
WHERE t.typname IS NOT NULL
AND (c.relkind IS NULL OR c.relkind = 'c') AND (et.typcategory IS NULL OR et.typcategory <> 'C')

-- DBeaver 24.2: a type by its number
-- with: int8 1184
-- without: typacl, typdefault, typdefaultbin, typmodin, typmodout, typinput, typoutput, typreceive, typsend, typmodin, typmodout, typanalyze, typsubscript
SELECT t.oid,t.*,c.relkind,format_type(nullif(t.typbasetype, 0), t.typtypmod) as base_type_name FROM pg_catalog.pg_type t
LEFT OUTER JOIN pg_class c ON c.oid=t.typrelid
LEFT OUTER JOIN pg_catalog.pg_description d ON t.oid=d.objoid
WHERE t.oid=$1

-- DBeaver 24.2: what a name means
-- with: int8 2200, varchar calls, int8 2200, varchar calls
-- without: reltype
SELECT oid,relkind,reltype FROM pg_catalog.pg_class WHERE relnamespace=$1 AND relname=$2
UNION ALL
SELECT oid,'c',oid FROM pg_catalog.pg_type WHERE typnamespace=$3 AND typname=$4

-- DBeaver 24.2: the tables
-- with: int8 2200
-- without: reltype, relfilenode, relpages, reltuples, reltoastrelid, relacl, relfrozenxid, relminmxid
SELECT c.oid,c.*,d.description,pg_catalog.pg_get_expr(c.relpartbound, c.oid) as partition_expr,  pg_catalog.pg_get_partkeydef(c.oid) as partition_key 
FROM pg_catalog.pg_class c
LEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid=c.oid AND d.objsubid=0 AND d.classoid='pg_class'::regclass
WHERE c.relnamespace=$1 AND c.relkind not in ('i','I','c')

-- DBeaver 24.2: the columns
-- with: int8 2200
-- fewer: tables have no system columns
-- without: attacl
SELECT c.relname,a.*,pg_catalog.pg_get_expr(ad.adbin, ad.adrelid, true) as def_value,dsc.description,dep.objid
FROM pg_catalog.pg_attribute a
INNER JOIN pg_catalog.pg_class c ON (a.attrelid=c.oid)
LEFT OUTER JOIN pg_catalog.pg_attrdef ad ON (a.attrelid=ad.adrelid AND a.attnum = ad.adnum)
LEFT OUTER JOIN pg_catalog.pg_description dsc ON (c.oid=dsc.objoid AND a.attnum = dsc.objsubid)
LEFT OUTER JOIN pg_depend dep on dep.refobjid = a.attrelid AND dep.deptype = 'i' and dep.refobjsubid = a.attnum and dep.classid = dep.refclassid
WHERE NOT a.attisdropped AND c.relkind not in ('i','I','c') AND c.relnamespace=$1
ORDER BY a.attnum

-- DBeaver 24.2: the keys
-- with: int8 2200
-- without: conpfeqop, conppeqop, conffeqop
SELECT c.oid,c.*,t.relname as tabrelname,rt.relnamespace as refnamespace,d.description, case when c.contype='c' then "substring"(pg_get_constraintdef(c.oid), 7) else null end consrc_copy
FROM pg_catalog.pg_constraint c
INNER JOIN pg_catalog.pg_class t ON t.oid=c.conrelid
LEFT OUTER JOIN pg_catalog.pg_class rt ON rt.oid=c.confrelid
LEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid=c.oid AND d.objsubid=0 AND d.classoid='pg_constraint'::regclass
WHERE t.relnamespace=$1
ORDER BY c.oid

-- DBeaver 24.2: which schemas refer to a table
-- with: table calls
SELECT DISTINCT connamespace FROM pg_catalog.pg_constraint WHERE confrelid=$1

-- DBeaver 24.2: the indexes
-- with: int8 2200
-- without: index_rel_size, indcollation, indclass
SELECT i.*,i.indkey as keys,c.relname,c.relnamespace,c.relam,c.reltablespace,tc.relname as tabrelname,dsc.description,pg_catalog.pg_get_expr(i.indpred, i.indrelid) as pred_expr,pg_catalog.pg_get_expr(i.indexprs, i.indrelid, true) as expr,pg_catalog.pg_relation_size(i.indexrelid) as index_rel_size,pg_catalog.pg_stat_get_numscans(i.indexrelid) as index_num_scans
FROM pg_catalog.pg_index i
INNER JOIN pg_catalog.pg_class c ON c.oid=i.indexrelid
INNER JOIN pg_catalog.pg_class tc ON tc.oid=i.indrelid
LEFT OUTER JOIN pg_catalog.pg_description dsc ON i.indexrelid=dsc.objoid
WHERE  c.relnamespace=$1 ORDER BY c.relname

-- DBeaver 24.2: the procedures
-- with: int8 2200
SELECT p.oid as poid,p.*,pg_catalog.pg_get_expr(p.proargdefaults, 0) as arg_defaults,d.description
FROM pg_catalog.pg_proc p
LEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid=p.oid and d.classoid='pg_proc'::regclass  AND d.objsubid = 0
WHERE p.pronamespace=$1
ORDER BY p.proname

-- DBeaver 24.2: the aggregates
-- with: int8 2200
SELECT p.oid AS proc_oid,p.proname AS proc_name,a.*
FROM pg_catalog.pg_aggregate a,pg_catalog.pg_proc p
WHERE p.oid=a.aggfnoid AND p.pronamespace=$1
ORDER BY p.proname

-- DBeaver 24.2: the triggers
-- with: table calls
SELECT x.oid,x.*,p.pronamespace as func_schema_id,d.description
FROM pg_catalog.pg_trigger x
LEFT OUTER JOIN pg_catalog.pg_proc p ON p.oid=x.tgfoid 
LEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid=x.oid AND d.objsubid=0 
WHERE x.tgrelid = $1 AND NOT x.tgisinternal

-- DBeaver 24.2: the rules
SELECT r.oid,r.*, pg_get_ruledef(r.oid) AS definition
FROM pg_rewrite r
WHERE r.ev_class='public.calls'::regclass AND r.rulename <> '_RETURN'::name

-- DBeaver 24.2: which tables inherit
-- with: int8 2200
SELECT i.inhrelid relid, pc.relnamespace parent_ns, pc.oid parent_oid, i.inhseqno
FROM pg_catalog.pg_inherits i, pg_class rc, pg_class pc
WHERE rc.oid=i.inhrelid AND rc.relnamespace=$1 AND pc.oid=i.inhparent

-- DBeaver 24.2: sizes
-- with: int8 2200
-- without: total_rel_size, rel_size
select c.oid,pg_catalog.pg_total_relation_size(c.oid) as total_rel_size,pg_catalog.pg_relation_size(c.oid) as rel_size
FROM pg_class c
WHERE c.relnamespace=$1

-- DBeaver 24.2: the size of a table
-- with: table calls, table calls
-- without: total_rel_size, rel_size
select pg_catalog.pg_total_relation_size($1) as total_rel_size,pg_catalog.pg_relation_size($2) as rel_size

-- DBeaver 24.2: the sizes of databases
-- without: pg_database_size
SELECT db.datname,pg_database_size(db.oid) FROM pg_catalog.pg_database db WHERE db.datname = 'callhouse'

-- DBeaver 24.2: the roles
-- fewer: Postgres has roles of its own
-- without: oid, rolsuper, rolcreaterole, rolcreatedb, rolreplication, rolbypassrls
SELECT a.oid,a.*,pd.description FROM pg_catalog.pg_roles a 
left join pg_catalog.pg_shdescription pd on a.oid = pd.objoid
ORDER BY a.rolname

-- DBeaver 24.2: the roles of a role
-- with: int8 10
SELECT * FROM pg_catalog.pg_auth_members WHERE member=$1

-- DBeaver 24.2: the privileges of a role
-- with: varchar callhouse, varchar callhouse
-- fewer: a table can only be read
-- without: is_grantable
SELECT * FROM information_schema.table_privileges WHERE table_catalog=$1 AND grantee=$2

-- DBeaver 24.2: further privileges of a role
-- differs: schemas have no privileges of their own
-- with: int8 10
SELECT * FROM (
	SELECT DISTINCT relnamespace,
	relacl,
	relname,
	relkind,
(aclexplode(relacl)).grantee as granteeI
FROM
	pg_class
WHERE
	relacl IS NOT NULL
	AND relnamespace IN (
SELECT oid
FROM pg_namespace
WHERE nspname NOT LIKE 'pg_%' AND nspname != 'information_schema')
UNION ALL
SELECT DISTINCT
	n.oid AS relnamespace,
	nspacl AS relacl,
	n.nspname AS relname,
	cast('C' as "char") AS relkind,
(aclexplode(nspacl)).grantee as granteeI
FROM
	pg_catalog.pg_namespace n
WHERE
	n.nspacl IS NOT NULL 
	) AS tr
WHERE tr.granteeI=$1 AND tr.relkind IN('S', 'm', 'C')

-- DBeaver 24.2: default privileges
-- with: int8 2200
SELECT * FROM pg_default_acl WHERE defaclnamespace = $1

-- DBeaver 24.2: access methods
-- fewer: there are no other ones
-- without: amhandler
SELECT am.oid,am.* FROM pg_catalog.pg_am am 
ORDER BY am.oid

-- DBeaver 24.2: encodings
-- differs: there are no conversions
SELECT c.contoencoding as encid,pg_catalog.pg_encoding_to_char(c.contoencoding) as encname
FROM pg_catalog.pg_conversion c
GROUP BY c.contoencoding
ORDER BY 2

-- DBeaver 24.2: collations
-- fewer: those that are in use
SELECT c.oid,c.* FROM pg_catalog.pg_collation c 
ORDER BY c.oid

-- DBeaver 24.2: languages
-- fewer: there are no procedures
-- without: lanvalidator
SELECT l.oid,l.* FROM pg_catalog.pg_language l 
ORDER BY l.oid

-- DBeaver 24.2: foreign data wrappers
SELECT l.oid,l.*,p.pronamespace as handler_schema_id 
FROM pg_catalog.pg_foreign_data_wrapper l
LEFT OUTER JOIN pg_catalog.pg_proc p ON p.oid=l.fdwhandler 
ORDER BY l.fdwname

-- DBeaver 24.2: foreign servers
SELECT l.oid,l.* FROM pg_catalog.pg_foreign_server l ORDER BY l.srvname

-- DBeaver 24.2: tablespaces
SELECT t.oid,t.*,pg_tablespace_location(t.oid) loc
FROM pg_catalog.pg_tablespace t 
ORDER BY t.oid

-- DBeaver 24.2: extensions that could be installed
-- differs: there is none
SELECT name,default_version,installed_version,comment FROM pg_catalog.pg_available_extensions ORDER BY name

-- DBeaver 24.2: extensions
SELECT 
 e.oid,
 cfg.tbls,
  n.nspname as schema_name,
 e.* 
FROM 
 pg_catalog.pg_extension e 
 join pg_namespace n on n.oid =e.extnamespace
 left join  (
         select
            ARRAY_AGG(ns.nspname || '.' ||  cls.relname) tbls, oid_ext
          from
            (
            select
                unnest(e1.extconfig) oid , e1.oid oid_ext
            from
                pg_catalog.pg_extension e1 ) c 
                join    pg_class cls on cls.oid = c.oid 
                join pg_namespace ns on ns.oid = cls.relnamespace
            group by oid_ext        
         ) cfg on cfg.oid_ext = e.oid
ORDER BY e.oid

-- DBeaver 24.2: event triggers
SELECT pet.*, d.description FROM pg_catalog.pg_event_trigger pet
LEFT OUTER JOIN pg_catalog.pg_description d ON pet."oid" = d.objoid

-- DBeaver 24.2: enums
SELECT * FROM pg_catalog.pg_enum

-- DBeaver 24.2: the policies of a table
-- with: varchar public, varchar calls
select * from pg_catalog.pg_policies where schemaname=$1 and tablename=$2

-- DBeaver 24.2: a sequence
-- with: varchar public, varchar some
SELECT * from pg_catalog.pg_sequences WHERE schemaname=$1 AND sequencename=$2

-- DBeaver 24.2: the text of a key
-- with: varchar calls_pkey
SELECT pg_catalog.pg_get_constraintdef(oid) FROM pg_catalog.pg_constraint WHERE conname = $1

-- DBeaver 24.2: what depends on a table
-- with: table runs
-- differs: nothing is said to depend on anything
SELECT DISTINCT dep.deptype, dep.classid, dep.objid, cl.relkind, attr.attname,pg_get_expr(ad.adbin, ad.adrelid) adefval,
    CASE WHEN cl.relkind IS NOT NULL THEN cl.relkind::text || COALESCE(dep.objsubid::text, '')::text
        WHEN tg.oid IS NOT NULL THEN 'T'::text
        WHEN ty.oid IS NOT NULL THEN 'y'::text
        WHEN ns.oid IS NOT NULL THEN 'n'::text
        WHEN pr.oid IS NOT NULL THEN 'p'::text
        WHEN la.oid IS NOT NULL THEN 'l'::text
        WHEN rw.oid IS NOT NULL THEN 'R'::text
        WHEN co.oid IS NOT NULL THEN 'C'::text || contype::text
        WHEN ad.oid IS NOT NULL THEN 'A'::text
        ELSE ''
    END AS type,
    COALESCE(coc.relname, clrw.relname, tgr.relname) AS ownertable,
    CASE WHEN cl.relname IS NOT NULL AND att.attname IS NOT NULL THEN cl.relname || '.' || att.attname
    ELSE COALESCE(cl.relname, co.conname, pr.proname, tg.tgname, ty.typname, la.lanname, rw.rulename, ns.nspname)
    END AS refname,
    COALESCE(nsc.nspname, nso.nspname, nsp.nspname, nst.nspname, nsrw.nspname, tgrn.nspname) AS nspname
FROM pg_depend dep
LEFT JOIN pg_class cl ON dep.objid=cl.oid
LEFT JOIN pg_attribute att ON dep.objid=att.attrelid AND dep.objsubid=att.attnum
LEFT JOIN pg_namespace nsc ON cl.relnamespace=nsc.oid
LEFT JOIN pg_proc pr ON dep.objid=pr.oid
LEFT JOIN pg_namespace nsp ON pr.pronamespace=nsp.oid
LEFT JOIN pg_trigger tg ON dep.objid=tg.oid
LEFT JOIN pg_class tgr ON tg.tgrelid=tgr.oid
LEFT JOIN pg_namespace tgrn ON tgr.relnamespace=tgrn.oid
LEFT JOIN pg_type ty ON dep.objid=ty.oid
LEFT JOIN pg_namespace nst ON ty.typnamespace=nst.oid
LEFT JOIN pg_constraint co ON dep.objid=co.oid
LEFT JOIN pg_class coc ON co.conrelid=coc.oid
LEFT JOIN pg_namespace nso ON co.connamespace=nso.oid
LEFT JOIN pg_rewrite rw ON dep.objid=rw.oid
LEFT JOIN pg_class clrw ON clrw.oid=rw.ev_class
LEFT JOIN pg_namespace nsrw ON clrw.relnamespace=nsrw.oid
LEFT JOIN pg_language la ON dep.objid=la.oid
LEFT JOIN pg_namespace ns ON dep.objid=ns.oid
LEFT JOIN pg_attrdef ad ON ad.oid=dep.objid
LEFT JOIN pg_attribute attr ON attr.attrelid=ad.adrelid and attr.attnum=ad.adnum
WHERE dep.refobjid=$1
ORDER BY type

-- DBeaver 24.2: tables by a part of their names
-- with: varchar %turn%, varchar %turn%, int8 2200
SELECT pc.oid, pc.relname, pc.relnamespace, pc.relkind FROM pg_catalog.pg_class pc WHERE pc.relkind in('r','v','m','f','p') AND (pc.relname ILIKE $1 OR obj_description(pc.oid, 'pg_class') ILIKE $2)AND pc.relnamespace IN ($3) ORDER BY pc.relname LIMIT 100

-- DBeaver 24.2: who is connected
-- differs: nobody is told of
SELECT sa.* FROM pg_catalog.pg_stat_activity sa WHERE backend_type = 'client backend'

-- DBeaver 24.2: the rows of a table
-- with: varchar c1
SELECT c.* FROM public.calls c WHERE c.call_id = $1 LIMIT 200

-- Metabase (postgres.clj of 2026): does it answer?
SELECT 1

-- Metabase (postgres.clj of 2026): the zone
show timezone;

-- Metabase (postgres.clj of 2026): enums
SELECT nspname, typname FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace WHERE t.oid IN (SELECT DISTINCT enumtypid FROM pg_enum e)

-- Metabase (postgres.clj of 2026): the tables
-- with: varchar public
-- without: estimated_row_count
SELECT "n"."nspname" AS "schema", "c"."relname" AS "name", CASE "c"."relkind" WHEN 'r' THEN 'TABLE' WHEN 'p' THEN 'PARTITIONED TABLE' WHEN 'v' THEN 'VIEW' WHEN 'f' THEN 'FOREIGN TABLE' WHEN 'm' THEN 'MATERIALIZED VIEW' ELSE NULL END AS "type", "d"."description" AS "description", "stat"."n_live_tup" AS "estimated_row_count" FROM "pg_catalog"."pg_class" AS "c" INNER JOIN "pg_catalog"."pg_namespace" AS "n" ON "c"."relnamespace" = "n"."oid" LEFT JOIN "pg_catalog"."pg_description" AS "d" ON ("c"."oid" = "d"."objoid") AND ("d"."objsubid" = 0) AND ("d"."classoid" = 'pg_class'::regclass) LEFT JOIN "pg_stat_user_tables" AS "stat" ON ("n"."nspname" = "stat"."schemaname") AND ("c"."relname" = "stat"."relname") WHERE ("c"."relnamespace" = "n"."oid") AND ("n"."nspname" !~ '^pg_') AND ("n"."nspname" <> 'information_schema') AND c.relkind in ('r', 'p', 'v', 'f', 'm') AND ("n"."nspname" IN ($1)) ORDER BY "type" ASC, "schema" ASC, "name" ASC

-- Metabase (postgres.clj of 2026): the columns
-- with: varchar public, varchar public
SELECT "c"."column_name" AS "name", CASE WHEN "c"."udt_schema" IN ('public', 'pg_catalog') THEN FORMAT('%s', "c"."udt_name") ELSE FORMAT('"%s"."%s"', "c"."udt_schema", "c"."udt_name") END AS "database-type", "c"."ordinal_position" - 1 AS "database-position", "c"."table_schema" AS "table-schema", "c"."table_name" AS "table-name", "pk"."column_name" IS NOT NULL AS "pk?", COL_DESCRIPTION(CAST(CAST(FORMAT('%I.%I', CAST("c"."table_schema" AS TEXT), CAST("c"."table_name" AS TEXT)) AS REGCLASS) AS OID), "c"."ordinal_position") AS "field-comment", (("column_default" IS NULL) OR (LOWER("column_default") = 'null')) AND ("is_nullable" = 'NO') AND NOT ((("column_default" IS NOT NULL) AND ("column_default" LIKE '%nextval(%')) OR ("is_identity" <> 'NO')) AS "database-required", (("column_default" IS NOT NULL) AND ("column_default" LIKE '%nextval(%')) OR ("is_identity" <> 'NO') AS "database-is-auto-increment" FROM "information_schema"."columns" AS "c" LEFT JOIN (SELECT "tc"."table_schema", "tc"."table_name", "kc"."column_name" FROM "information_schema"."table_constraints" AS "tc" INNER JOIN "information_schema"."key_column_usage" AS "kc" ON ("tc"."constraint_name" = "kc"."constraint_name") AND ("tc"."table_schema" = "kc"."table_schema") AND ("tc"."table_name" = "kc"."table_name") WHERE "tc"."constraint_type" = 'PRIMARY KEY') AS "pk" ON ("c"."table_schema" = "pk"."table_schema") AND ("c"."table_name" = "pk"."table_name") AND ("c"."column_name" = "pk"."column_name") WHERE c.table_schema !~ '^information_schema|catalog_history|pg_' AND ("c"."table_schema" IN ($1)) UNION ALL SELECT "pa"."attname" AS "name", CASE WHEN "ptn"."nspname" IN ('public', 'pg_catalog') THEN FORMAT('%s', "pt"."typname") ELSE FORMAT('"%s"."%s"', "ptn"."nspname", "pt"."typname") END AS "database-type", "pa"."attnum" - 1 AS "database-position", "pn"."nspname" AS "table-schema", "pc"."relname" AS "table-name", FALSE AS "pk?", NULL AS "field-comment", FALSE AS "database-required", FALSE AS "database-is-auto-increment" FROM "pg_catalog"."pg_class" AS "pc" INNER JOIN "pg_catalog"."pg_namespace" AS "pn" ON "pn"."oid" = "pc"."relnamespace" INNER JOIN "pg_catalog"."pg_attribute" AS "pa" ON "pa"."attrelid" = "pc"."oid" INNER JOIN "pg_catalog"."pg_type" AS "pt" ON "pt"."oid" = "pa"."atttypid" INNER JOIN "pg_catalog"."pg_namespace" AS "ptn" ON "ptn"."oid" = "pt"."typnamespace" WHERE ("pc"."relkind" = 'm') AND ("pa"."attnum" >= 1) AND ("pn"."nspname" IN ($2)) ORDER BY "table-schema" ASC, "table-name" ASC, "database-position" ASC

-- Metabase (postgres.clj of 2026): the foreign keys
-- with: varchar public
SELECT "fk_ns"."nspname" AS "fk-table-schema", "fk_table"."relname" AS "fk-table-name", "fk_column"."attname" AS "fk-column-name", "pk_ns"."nspname" AS "pk-table-schema", "pk_table"."relname" AS "pk-table-name", "pk_column"."attname" AS "pk-column-name" FROM "pg_constraint" AS "c" INNER JOIN "pg_class" AS "fk_table" ON "c"."conrelid" = "fk_table"."oid" INNER JOIN "pg_namespace" AS "fk_ns" ON "c"."connamespace" = "fk_ns"."oid" INNER JOIN "pg_attribute" AS "fk_column" ON "c"."conrelid" = "fk_column"."attrelid" INNER JOIN "pg_class" AS "pk_table" ON "c"."confrelid" = "pk_table"."oid" INNER JOIN "pg_namespace" AS "pk_ns" ON "pk_table"."relnamespace" = "pk_ns"."oid" INNER JOIN "pg_attribute" AS "pk_column" ON "c"."confrelid" = "pk_column"."attrelid" WHERE fk_ns.nspname !~ '^information_schema|catalog_history|pg_' AND ("c"."contype" = 'f'::char) AND ("fk_column"."attnum" = ANY(c.conkey)) AND ("pk_column"."attnum" = ANY(c.confkey)) AND ("fk_ns"."nspname" IN ($1)) ORDER BY "fk-table-schema" ASC, "fk-table-name" ASC

-- Metabase (postgres.clj of 2026): the indexes
SELECT "tmp"."table-schema", "tmp"."table-name", TRIM(BOTH '"' FROM PG_CATALOG.PG_GET_INDEXDEF("tmp"."ci_oid", "tmp"."pos", FALSE)) AS "field-name" FROM (SELECT "n"."nspname" AS "table-schema", "ct"."relname" AS "table-name", "ci"."oid" AS "ci_oid", (INFORMATION_SCHEMA._PG_EXPANDARRAY("i"."indkey"))."n" AS "pos" FROM "pg_catalog"."pg_class" AS "ct" INNER JOIN "pg_catalog"."pg_namespace" AS "n" ON "ct"."relnamespace" = "n"."oid" INNER JOIN "pg_catalog"."pg_index" AS "i" ON "ct"."oid" = "i"."indrelid" INNER JOIN "pg_catalog"."pg_class" AS "ci" ON "ci"."oid" = "i"."indexrelid" WHERE (PG_CATALOG.PG_GET_EXPR("i"."indpred", "i"."indrelid") IS NULL) AND n.nspname !~ '^information_schema|catalog_history|pg_') AS "tmp" WHERE "tmp"."pos" = 1

-- Metabase (postgres.clj of 2026): what may be read
-- without: update, insert, delete
with table_privileges as (
 select
   NULL as role,
   t.schemaname as schema,
   t.objectname as table,
   pg_catalog.has_any_column_privilege(current_user, '"' || replace(t.schemaname, '"', '""') || '"' || '.' || '"' || replace(t.objectname, '"', '""') || '"',  'update') as update,
   pg_catalog.has_any_column_privilege(current_user, '"' || replace(t.schemaname, '"', '""') || '"' || '.' || '"' || replace(t.objectname, '"', '""') || '"',  'select') as select,
   pg_catalog.has_any_column_privilege(current_user, '"' || replace(t.schemaname, '"', '""') || '"' || '.' || '"' || replace(t.objectname, '"', '""') || '"',  'insert') as insert,
   pg_catalog.has_table_privilege(     current_user, '"' || replace(t.schemaname, '"', '""') || '"' || '.' || '"' || replace(t.objectname, '"', '""') || '"',  'delete') as delete
 from (
   select schemaname, tablename as objectname from pg_catalog.pg_tables
   union
   select schemaname, viewname as objectname from pg_catalog.pg_views
   union
   select schemaname, matviewname as objectname from pg_catalog.pg_matviews
 ) t
 where t.schemaname !~ '^pg_'
   and t.schemaname <> 'information_schema'
   and pg_catalog.has_schema_privilege(current_user, t.schemaname, 'usage')
)
select t.*
from table_privileges t

-- Metabase (postgres.clj of 2026): calls by month
SELECT DATE_TRUNC('month', "public"."calls"."start_at") AS "start_at", COUNT(*) AS "count" FROM "public"."calls" GROUP BY DATE_TRUNC('month', "public"."calls"."start_at") ORDER BY DATE_TRUNC('month', "public"."calls"."start_at") ASC

-- Metabase (postgres.clj of 2026): calls by day
SELECT CAST("public"."calls"."start_at" AS date) AS "start_at", COUNT(*) AS "count" FROM "public"."calls" WHERE ("public"."calls"."start_at" >= DATE_TRUNC('month', (NOW() + (INTERVAL '-240 month')))) AND ("public"."calls"."start_at" < DATE_TRUNC('month', NOW())) GROUP BY CAST("public"."calls"."start_at" AS date) ORDER BY CAST("public"."calls"."start_at" AS date) ASC

-- Metabase (postgres.clj of 2026): calls by week
SELECT (CAST(DATE_TRUNC('week', ("public"."calls"."start_at" + INTERVAL '1 day')) AS timestamp) + INTERVAL '-1 day') AS "start_at", COUNT(*) AS "count" FROM "public"."calls" GROUP BY (CAST(DATE_TRUNC('week', ("public"."calls"."start_at" + INTERVAL '1 day')) AS timestamp) + INTERVAL '-1 day') ORDER BY 1 ASC

-- Metabase (postgres.clj of 2026): calls by weekday and hour
SELECT (((CAST(extract(dow from "public"."calls"."start_at") AS integer) + 1) + 6) % 7) AS "weekday", CAST(extract(hour from "public"."calls"."start_at") AS integer) AS "hour", COUNT(*) AS "count" FROM "public"."calls" GROUP BY 1, 2 ORDER BY 1, 2

-- Metabase (postgres.clj of 2026): a median, a standard deviation, a share
-- differs: standard deviations of integers are doubles
SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY "public"."calls"."duration_ms") AS "median", STDDEV_POP("public"."calls"."duration_ms") AS "stddev", CAST(SUM(CASE WHEN "public"."calls"."status" = 'ended' THEN 1 ELSE 0.0 END) AS DOUBLE PRECISION) / NULLIF(COUNT(*), 0.0) AS "share" FROM "public"."calls"

-- Metabase (postgres.clj of 2026): a field within JSON
SELECT ("public"."calls"."metadata"#>>array['campaign']::text[])::text AS "metadata → campaign", COUNT(*) AS "count" FROM "public"."calls" GROUP BY "metadata → campaign" ORDER BY 2 DESC, 1

-- Metabase (postgres.clj of 2026): parts of texts, another zone, a difference of times
-- differs: the days between two dates are a bigint, not an integer
SELECT SUBSTRING("public"."calls"."call_id" FROM 'c([0-9]+)') AS "number", CASE WHEN 1 < 1 THEN '' ELSE SPLIT_PART("public"."calls"."call_id", 'c', 2) END AS "part", TIMEZONE('Europe/Berlin', "public"."calls"."start_at") AS "there", CAST(extract(year from AGE(DATE_TRUNC('day', TIMESTAMP '2026-03-01 10:00:00'), DATE_TRUNC('day', TIMESTAMP '2024-01-31 11:00:00'))) AS integer) AS "years", (CAST('2026-03-01' AS DATE) - CAST('2026-02-01' AS DATE)) AS "days" FROM "public"."calls" ORDER BY 1 LIMIT 1048575

-- Metabase (postgres.clj of 2026): a fingerprint of a table
SELECT "source"."call_id" AS "call_id", "source"."substring1" AS "substring1" FROM (SELECT "public"."calls"."call_id" AS "call_id", SUBSTRING("public"."calls"."phone_number", 1, 1234) AS "substring1" FROM "public"."calls") AS "source" LIMIT 10000

-- Superset 6.1: the databases
-- fewer: Postgres has a database of its own
SELECT datname FROM pg_database
WHERE datistemplate = false

-- Superset 6.1: its own process
-- differs: a number of a process
SELECT pg_backend_pid()

-- Superset 6.1: cancels a query
SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid='999999999'

-- Superset 6.1: a chart of days
SELECT DATE_TRUNC('day', start_at) AS start_at, status AS status, COUNT(*) AS "COUNT(*)", SUM(total_cost) AS "SUM(total_cost)" 
FROM public.calls JOIN (SELECT status AS status__, COUNT(*) AS mme_inner__ 
FROM public.calls 
WHERE start_at >= '2025-01-01 00:00:00.000000' AND start_at < '2027-01-01 00:00:00.000000' GROUP BY status ORDER BY mme_inner__ DESC 
 LIMIT 100) AS series_limit ON status = status__ 
WHERE start_at >= '2025-01-01 00:00:00.000000' AND start_at < '2027-01-01 00:00:00.000000' GROUP BY DATE_TRUNC('day', start_at), status ORDER BY "COUNT(*)" DESC 
 LIMIT 10000

-- Superset 6.1: the values of a filter
SELECT DISTINCT status AS status 
FROM public.calls ORDER BY status ASC 
 LIMIT 1000

-- Superset 6.1: five minutes, a week from Sunday
SELECT DATE_TRUNC('hour', start_at) + INTERVAL '5 minutes' * FLOOR(EXTRACT(MINUTE FROM start_at) / 5) AS a, DATE_TRUNC('week', start_at + INTERVAL '1 day') - INTERVAL '1 day' AS b, COUNT(*) AS "count" FROM public.calls GROUP BY 1, 2 ORDER BY 1

-- Grafana 12: the version
SELECT current_setting('server_version_num')::int/100 as version

-- Grafana 12: TimescaleDB
SELECT extversion FROM pg_extension WHERE extname = 'timescaledb'

-- Grafana 12: the schemas
SELECT schema_name AS "name"
    FROM information_schema.schemata
    WHERE schema_name NOT IN ('information_schema',
                              'pg_catalog',
                              'pg_toast',
                              '_timescaledb_cache',
                              '_timescaledb_catalog',
                              '_timescaledb_internal',
                              '_timescaledb_config',
                              'timescaledb_information',
                              'timescaledb_experimental')
    ORDER BY schema_name

-- Grafana 12: the tables
SELECT
    CASE WHEN 
          quote_ident(table_schema) IN (
          SELECT
            CASE WHEN trim(s[i]) = '"$user"' THEN user ELSE trim(s[i]) END
          FROM
            generate_series(
              array_lower(string_to_array(current_setting('search_path'),','),1),
              array_upper(string_to_array(current_setting('search_path'),','),1)
            ) as i,
            string_to_array(current_setting('search_path'),',') s
          )
      THEN quote_ident(table_name)
      ELSE quote_ident(table_schema) || '.' || quote_ident(table_name)
    END AS "table"
    FROM information_schema.tables
    WHERE quote_ident(table_schema) NOT IN ('information_schema',
                             'pg_catalog',
                             '_timescaledb_cache',
                             '_timescaledb_catalog',
                             '_timescaledb_internal',
                             '_timescaledb_config',
                             'timescaledb_information',
                             'timescaledb_experimental')
    ORDER BY CASE WHEN 
          quote_ident(table_schema) IN (
          SELECT
            CASE WHEN trim(s[i]) = '"$user"' THEN user ELSE trim(s[i]) END
          FROM
            generate_series(
              array_lower(string_to_array(current_setting('search_path'),','),1),
              array_upper(string_to_array(current_setting('search_path'),','),1)
            ) as i,
            string_to_array(current_setting('search_path'),',') s
          ) THEN 0 ELSE 1 END, 1

-- Grafana 12: the tables of a schema
SELECT quote_ident(table_name) AS "table"
      FROM information_schema.tables
      WHERE quote_ident(table_schema) = 'public'
      ORDER BY 1

-- Grafana 12: the columns of a table
SELECT quote_ident(column_name) AS "column", data_type AS "type"
    FROM information_schema.columns
    WHERE
      CASE WHEN array_length(parse_ident('calls'),1) = 2
        THEN quote_ident(table_schema) = (parse_ident('calls'))[1]
          AND quote_ident(table_name) = (parse_ident('calls'))[2]
        ELSE quote_ident(table_name) = 'calls'
          AND 
          quote_ident(table_schema) IN (
          SELECT
            CASE WHEN trim(s[i]) = '"$user"' THEN user ELSE trim(s[i]) END
          FROM
            generate_series(
              array_lower(string_to_array(current_setting('search_path'),','),1),
              array_upper(string_to_array(current_setting('search_path'),','),1)
            ) as i,
            string_to_array(current_setting('search_path'),',') s
          )
      END

-- Grafana 12: the columns of a table with its schema
SELECT quote_ident(column_name) AS "column", data_type AS "type"
    FROM information_schema.columns
    WHERE
      CASE WHEN array_length(parse_ident('public.calls'),1) = 2
        THEN quote_ident(table_schema) = (parse_ident('public.calls'))[1]
          AND quote_ident(table_name) = (parse_ident('public.calls'))[2]
        ELSE quote_ident(table_name) = 'public.calls'
      END

-- Grafana 12: a panel of time
SELECT start_at AS "time", duration_ms AS "value", status AS "metric" FROM calls WHERE start_at BETWEEN '2025-10-01T00:00:00Z' AND '2027-10-01T00:00:00.123Z' ORDER BY 1

-- Grafana 12: groups of five minutes
-- differs: extract gives a double, not a numeric
SELECT floor(extract(epoch from start_at)/300)*300 AS "time", avg(duration_ms) AS "value" FROM calls WHERE start_at BETWEEN '2025-10-01T00:00:00Z' AND '2027-10-01T00:00:00Z' GROUP BY 1 ORDER BY 1

-- Grafana 12: times as numbers
SELECT extract(epoch from '2026-01-02T03:04:05Z'::timestamptz)::bigint * 1000 AS "from"

-- Tableau 2025.3: does it answer, may it group by number?
SELECT 1 AS "COL"

-- Tableau 2025.3: groups by a number that is too high
SELECT "SUBCOL" AS "COL" FROM (SELECT 1 AS "SUBCOL") "SUBQUERY" GROUP BY 2

-- Tableau 2025.3: may it make tables?
-- differs: nothing can be written
CREATE LOCAL TEMPORARY TABLE "#Tableau_1_Connect_Check" ("COL" INTEGER) ON COMMIT PRESERVE ROWS

-- Tableau 2025.3: weeks from Sunday
SELECT CAST((DATE_TRUNC( 'day', CAST("calls"."start_at" AS DATE) ) + (-EXTRACT(DOW FROM "calls"."start_at") * INTERVAL '1 DAY')) AS DATE) AS "twk:start_at:ok", SUM(1) AS "cnt:calls:ok"
FROM "public"."calls" "calls"
GROUP BY 1

-- Tableau 2025.3: months, by a text
SELECT CAST("calls"."status" AS TEXT) AS "status", CAST(TRUNC(EXTRACT(MONTH FROM "calls"."start_at")) AS INTEGER) AS "mn:start_at:ok", SUM("calls"."total_cost") AS "sum:total_cost:ok"
FROM "public"."calls" "calls"
WHERE ((CAST("calls"."status" AS TEXT) IN ('ended', 'error')) AND ("calls"."start_at" >= (TIMESTAMP '2025-10-01 00:00:00.000')))
GROUP BY 1,
  2

-- Tableau 2025.3: an extract's rows
SELECT "calls"."agent_id" AS "agent_id",
  CAST("calls"."call_id" AS TEXT) AS "call_id",
  "calls"."duration_ms" AS "duration_ms",
  "calls"."start_at" AS "start_at",
  "calls"."total_cost" AS "total_cost"
FROM "public"."calls" "calls"
LIMIT 1000

-- Looker Studio: a chart
SELECT t0.status AS t0_status, COUNT(1) AS t0_qt_count, SUM(t0.duration_ms) AS t0_qt_sum FROM (SELECT * FROM public.calls) AS t0 WHERE (t0.start_at >= TIMESTAMP '2025-01-01 00:00:00' AND t0.start_at <= TIMESTAMP '2027-01-01 00:00:00') GROUP BY t0.status ORDER BY t0_qt_count DESC LIMIT 2000001

-- Power BI (Npgsql 4.0.10): the types
-- fewer: types that no column has
SELECT ns.nspname, a.typname, a.oid, a.typrelid, a.typbasetype,
CASE WHEN pg_proc.proname='array_recv' THEN 'a' ELSE a.typtype END AS type,
CASE
  WHEN pg_proc.proname='array_recv' THEN a.typelem
  WHEN a.typtype='r' THEN rngsubtype
  ELSE 0
END AS elemoid,
CASE
  WHEN pg_proc.proname IN ('array_recv','oidvectorrecv') THEN 3    /* Arrays last */
  WHEN a.typtype='r' THEN 2                                        /* Ranges before */
  WHEN a.typtype='d' THEN 1                                        /* Domains before */
  ELSE 0                                                           /* Base types first */
END AS ord
FROM pg_type AS a
JOIN pg_namespace AS ns ON (ns.oid = a.typnamespace)
JOIN pg_proc ON pg_proc.oid = a.typreceive
LEFT OUTER JOIN pg_class AS cls ON (cls.oid = a.typrelid)
LEFT OUTER JOIN pg_type AS b ON (b.oid = a.typelem)
LEFT OUTER JOIN pg_class AS elemcls ON (elemcls.oid = b.typrelid)
LEFT OUTER JOIN pg_range ON (pg_range.rngtypid = a.oid) 
WHERE
  a.typtype IN ('b', 'r', 'e', 'd') OR         /* Base, range, enum, domain */
  (a.typtype = 'c' AND cls.relkind='c') OR /* User-defined free-standing composites (not table composites) by default */
  (pg_proc.proname='array_recv' AND (
    b.typtype IN ('b', 'r', 'e', 'd') OR       /* Array of base, range, enum, domain */
    (b.typtype = 'p' AND b.typname IN ('record', 'void')) OR /* Arrays of special supported pseudo-types */
    (b.typtype = 'c' AND elemcls.relkind='c')  /* Array of user-defined free-standing composites (not table composites) */
  )) OR
  (a.typtype = 'p' AND a.typname IN ('record', 'void'))  /* Some special supported pseudo-types */
ORDER BY ord

-- Power BI (Npgsql 4.0.10): the columns of composites
SELECT typ.oid, att.attname, att.atttypid
FROM pg_type AS typ
JOIN pg_namespace AS ns ON (ns.oid = typ.typnamespace)
JOIN pg_class AS cls ON (cls.oid = typ.typrelid)
JOIN pg_attribute AS att ON (att.attrelid = typ.typrelid)
WHERE
  (typ.typtype = 'c' AND cls.relkind='c') AND
  attnum > 0 AND     /* Don't load system attributes */
  NOT attisdropped
ORDER BY typ.oid, att.attnum

-- Power BI (Npgsql 4.0.10): the values of enums
SELECT pg_type.oid, enumlabel
FROM pg_enum
JOIN pg_type ON pg_type.oid=enumtypid
ORDER BY oid, enumsortorder

-- Power BI (Npgsql 4.0.10): a connection is given back
DISCARD ALL

-- Power BI (Npgsql 4.0.10): character sets
select character_set_name from INFORMATION_SCHEMA.character_sets

-- Power BI (Npgsql 4.0.10): the tables
select TABLE_SCHEMA, TABLE_NAME, TABLE_TYPE
from INFORMATION_SCHEMA.tables
where TABLE_SCHEMA not in ('information_schema', 'pg_catalog')
order by TABLE_SCHEMA, TABLE_NAME

-- Power BI (Npgsql 4.0.10): the columns
select COLUMN_NAME, ORDINAL_POSITION, IS_NULLABLE, case when (data_type like '%unsigned%') then DATA_TYPE || ' unsigned' else DATA_TYPE end as DATA_TYPE
from INFORMATION_SCHEMA.columns
where TABLE_SCHEMA = 'public' and TABLE_NAME = 'calls'
order by TABLE_SCHEMA, TABLE_NAME, ORDINAL_POSITION

-- Power BI (Npgsql 4.0.10): what refers to a table
select
    pkcol.COLUMN_NAME as PK_COLUMN_NAME,
    fkcol.TABLE_SCHEMA AS FK_TABLE_SCHEMA,
    fkcol.TABLE_NAME AS FK_TABLE_NAME,
    fkcol.COLUMN_NAME as FK_COLUMN_NAME,
    fkcol.ORDINAL_POSITION as ORDINAL,
    fkcon.CONSTRAINT_SCHEMA || '_' || fkcol.TABLE_NAME || '_' || 'calls' || '_' || fkcon.CONSTRAINT_NAME as FK_NAME
from
    (select distinct constraint_catalog, constraint_schema, unique_constraint_schema, constraint_name, unique_constraint_name
        from INFORMATION_SCHEMA.REFERENTIAL_CONSTRAINTS) fkcon
        inner join
    INFORMATION_SCHEMA.KEY_COLUMN_USAGE fkcol
        on fkcon.CONSTRAINT_SCHEMA = fkcol.CONSTRAINT_SCHEMA
        and fkcon.CONSTRAINT_NAME = fkcol.CONSTRAINT_NAME
        inner join
    INFORMATION_SCHEMA.KEY_COLUMN_USAGE pkcol
        on fkcon.UNIQUE_CONSTRAINT_SCHEMA = pkcol.CONSTRAINT_SCHEMA
        and fkcon.UNIQUE_CONSTRAINT_NAME = pkcol.CONSTRAINT_NAME
where pkcol.TABLE_SCHEMA = 'public' and pkcol.TABLE_NAME = 'calls'
        and pkcol.ORDINAL_POSITION = fkcol.ORDINAL_POSITION
order by FK_NAME, fkcol.ORDINAL_POSITION

-- Power BI (Npgsql 4.0.10): what a table refers to
select
    pkcol.TABLE_SCHEMA AS PK_TABLE_SCHEMA,
    pkcol.TABLE_NAME AS PK_TABLE_NAME,
    pkcol.COLUMN_NAME as PK_COLUMN_NAME,
    fkcol.COLUMN_NAME as FK_COLUMN_NAME,
    fkcol.ORDINAL_POSITION as ORDINAL,
    fkcon.CONSTRAINT_SCHEMA || '_' || 'transcript_turns' || '_' || pkcol.TABLE_NAME || '_' || fkcon.CONSTRAINT_NAME as FK_NAME
from
    (select distinct constraint_catalog, constraint_schema, unique_constraint_schema, constraint_name, unique_constraint_name
        from INFORMATION_SCHEMA.REFERENTIAL_CONSTRAINTS) fkcon
        inner join
    INFORMATION_SCHEMA.KEY_COLUMN_USAGE fkcol
        on fkcon.CONSTRAINT_SCHEMA = fkcol.CONSTRAINT_SCHEMA
        and fkcon.CONSTRAINT_NAME = fkcol.CONSTRAINT_NAME
        inner join
    INFORMATION_SCHEMA.KEY_COLUMN_USAGE pkcol
        on fkcon.UNIQUE_CONSTRAINT_SCHEMA = pkcol.CONSTRAINT_SCHEMA
        and fkcon.UNIQUE_CONSTRAINT_NAME = pkcol.CONSTRAINT_NAME
where fkcol.TABLE_SCHEMA = 'public' and fkcol.TABLE_NAME = 'transcript_turns'
        and pkcol.ORDINAL_POSITION = fkcol.ORDINAL_POSITION
order by FK_NAME, fkcol.ORDINAL_POSITION

-- Power BI (Npgsql 4.0.10): the keys of a table
select i.CONSTRAINT_SCHEMA || '_' || i.CONSTRAINT_NAME as INDEX_NAME, ii.COLUMN_NAME, ii.ORDINAL_POSITION, case when i.CONSTRAINT_TYPE = 'PRIMARY KEY' then 'Y' else 'N' end as PRIMARY_KEY
from INFORMATION_SCHEMA.table_constraints i inner join INFORMATION_SCHEMA.key_column_usage ii on i.CONSTRAINT_SCHEMA = ii.CONSTRAINT_SCHEMA and i.CONSTRAINT_NAME = ii.CONSTRAINT_NAME and i.TABLE_SCHEMA = ii.TABLE_SCHEMA and i.TABLE_NAME = ii.TABLE_NAME
where i.TABLE_SCHEMA = 'public' and i.TABLE_NAME = 'calls'
and i.CONSTRAINT_TYPE in ('PRIMARY KEY', 'UNIQUE')
order by i.CONSTRAINT_SCHEMA || '_' || i.CONSTRAINT_NAME, ii.TABLE_SCHEMA, ii.TABLE_NAME, ii.ORDINAL_POSITION

-- Power BI (Npgsql 4.0.10): a preview
select "$Table"."call_id" as "call_id",
    "$Table"."start_at" as "start_at",
    "$Table"."total_cost" as "total_cost",
    "$Table"."duration_ms" as "duration_ms"
from "public"."calls" "$Table"
limit 1000

-- Power BI (Npgsql 4.0.10): a chart by DirectQuery
-- differs: averages of integers are doubles
select "rows"."status" as "status",
    count(1) as "a0", avg("rows"."duration_ms") as "a1"
from 
(
    select "_"."status", "_"."duration_ms"
    from "public"."calls" "_"
    where "_"."start_at" >= timestamp '2025-01-01 00:00:00' and "_"."status" is not null
) "rows"
group by "status"
limit 1000001

-- Npgsql 10: the types
-- fewer: types that no column has
SELECT ns.nspname, t.oid, t.typname, t.typtype, t.typnotnull, t.elemtypoid
FROM (
    -- Arrays have typtype=b - this subquery identifies them by their typreceive and converts their typtype to a
    -- We first do this for the type (innerest-most subquery), and then for its element type
    -- This also returns the array element, range subtype and domain base type as elemtypoid
    SELECT
        typ.oid, typ.typnamespace, typ.typname, typ.typtype, typ.typrelid, typ.typnotnull, typ.relkind,
        elemtyp.oid AS elemtypoid, elemtyp.typname AS elemtypname, elemcls.relkind AS elemrelkind,
        CASE WHEN elemproc.proname='array_recv' THEN 'a' ELSE elemtyp.typtype END AS elemtyptype
        , typ.typcategory
    FROM (
        SELECT typ.oid, typnamespace, typname, typrelid, typnotnull, relkind, typelem AS elemoid,
            CASE WHEN proc.proname='array_recv' THEN 'a' ELSE typ.typtype END AS typtype,
            CASE
                WHEN proc.proname='array_recv' THEN typ.typelem
                WHEN typ.typtype='r' THEN rngsubtype
                WHEN typ.typtype='m' THEN (SELECT rngtypid FROM pg_range WHERE rngmultitypid = typ.oid)
                WHEN typ.typtype='d' THEN typ.typbasetype
            END AS elemtypoid
            , typ.typcategory
        FROM pg_type AS typ
        LEFT JOIN pg_class AS cls ON (cls.oid = typ.typrelid)
        LEFT JOIN pg_proc AS proc ON proc.oid = typ.typreceive
        LEFT JOIN pg_range ON (pg_range.rngtypid = typ.oid)
    ) AS typ
    LEFT JOIN pg_type AS elemtyp ON elemtyp.oid = elemtypoid
    LEFT JOIN pg_class AS elemcls ON (elemcls.oid = elemtyp.typrelid)
    LEFT JOIN pg_proc AS elemproc ON elemproc.oid = elemtyp.typreceive
) AS t
JOIN pg_namespace AS ns ON (ns.oid = typnamespace)
WHERE
    (typtype IN ('b', 'r', 'm', 'e', 'd') OR -- Base, range, multirange, enum, domain
    (typtype = 'c' AND relkind='c') OR -- User-defined free-standing composites (not table composites) by default
    (typtype = 'p' AND typname IN ('record', 'void', 'unknown')) OR -- Some special supported pseudo-types
    (typtype = 'a' AND (  -- Array of...
        elemtyptype IN ('b', 'r', 'm', 'e', 'd') OR -- Array of base, range, multirange, enum, domain
        (elemtyptype = 'p' AND elemtypname IN ('record', 'void')) OR -- Arrays of special supported pseudo-types
        (elemtyptype = 'c' AND elemrelkind='c') -- Array of user-defined free-standing composites (not table composites) by default
    )))
ORDER BY CASE
       WHEN typtype IN ('b', 'e', 'p') THEN 0           -- First base types, enums, pseudo-types
       WHEN typtype = 'c' THEN 1                        -- Composites after (fields loaded later in 2nd pass)
       WHEN typtype = 'r' THEN 2                        -- Ranges after
       WHEN typtype = 'm' THEN 3                        -- Multiranges after
       WHEN typtype = 'd' AND elemtyptype <> 'a' THEN 4 -- Domains over non-arrays after
       WHEN typtype = 'a' THEN 5                        -- Arrays after
       WHEN typtype = 'd' AND elemtyptype = 'a' THEN 6  -- Domains over arrays last
END;

-- Npgsql 10: the values of enums
-- Load enum fields
SELECT typ.oid, enumlabel
FROM pg_enum
JOIN pg_type AS typ ON typ.oid = enumtypid
JOIN pg_namespace AS ns ON ns.oid = typ.typnamespace
ORDER BY oid, enumsortorder;

-- Npgsql 10: GetSchema, databases
-- fewer: there are no templates
SELECT d.datname, u.usename, pg_catalog.pg_encoding_to_char(d.encoding)
FROM pg_catalog.pg_database d
LEFT JOIN pg_catalog.pg_user u ON d.datdba = u.usesysid

-- Npgsql 10: GetSchema, schemas
-- fewer: pg_toast is missing
SELECT * FROM (
    SELECT current_database(), nspname, r.rolname
    FROM pg_catalog.pg_namespace
    LEFT JOIN pg_catalog.pg_roles r ON r.oid = nspowner
) tmp

-- Npgsql 10: GetSchema, columns
SELECT
    table_catalog,
    table_schema,
    table_name,
    column_name,
    ordinal_position,
    column_default,
    is_nullable,
    CASE WHEN udt_schema is NULL THEN udt_name ELSE format_type(typ.oid, NULL) END,
    character_maximum_length,
    character_octet_length,
    numeric_precision,
    numeric_precision_radix,
    numeric_scale,
    datetime_precision,
    character_set_catalog,
    character_set_schema,
    character_set_name,
    collation_catalog
FROM information_schema.columns
JOIN pg_namespace AS ns ON ns.nspname = udt_schema
JOIN pg_type AS typ ON typnamespace = ns.oid AND typname = udt_name
WHERE table_schema = 'public'

-- Npgsql 10: GetSchema, views
SELECT table_catalog, table_schema, table_name, check_option, is_updatable
FROM information_schema.views
WHERE table_schema NOT IN ('pg_catalog', 'information_schema')

-- Npgsql 10: GetSchema, indexes
SELECT current_database(),
    n.nspname,
    t.relname,
    i.relname,
    ''
FROM
    pg_catalog.pg_class i
    JOIN pg_catalog.pg_index ix ON ix.indexrelid = i.oid
    JOIN pg_catalog.pg_class t ON ix.indrelid = t.oid
    LEFT JOIN pg_catalog.pg_user u ON u.usesysid = i.relowner
    LEFT JOIN pg_catalog.pg_namespace n ON n.oid = i.relnamespace
WHERE
    i.relkind = 'i' AND
    n.nspname NOT IN ('pg_catalog', 'pg_toast') AND
    t.relkind = 'r'

-- Npgsql 10: GetSchema, columns of indexes
SELECT
    current_database(),
    t_ns.nspname,
    ix_cls.relname,
    current_database(),
    ix_ns.nspname,
    t.relname,
    a.attname,
    ix_cls.relname
FROM
    pg_class t
    JOIN pg_index ix ON t.oid = ix.indrelid
    JOIN pg_class ix_cls ON ix.indexrelid = ix_cls.oid
    JOIN pg_attribute a ON t.oid = a.attrelid
    LEFT JOIN pg_namespace t_ns ON t.relnamespace = t_ns.oid
    LEFT JOIN pg_namespace ix_ns ON ix_cls.relnamespace = ix_ns.oid
WHERE
    ix_cls.relkind = 'i' AND
    t_ns.nspname NOT IN ('pg_catalog', 'pg_toast') AND
    a.attnum = ANY(ix.indkey) AND
    t.relkind = 'r'

-- Npgsql 10: GetSchema, keys
-- fewer: the catalog's own tables have no keys
SELECT
    current_database(),
    pgn.nspname,
    pgc.conname,
    current_database(),
    pgtn.nspname,
    pgt.relname,
    constraint_type,
    pgc.condeferrable,
    pgc.condeferred
FROM
    pg_catalog.pg_constraint pgc
    JOIN pg_catalog.pg_namespace pgn ON pgc.connamespace = pgn.oid
    JOIN pg_catalog.pg_class pgt ON pgc.conrelid = pgt.oid
    JOIN pg_catalog.pg_namespace pgtn ON pgt.relnamespace = pgtn.oid
    JOIN (
        SELECT 'PRIMARY KEY' AS constraint_type, 'p' AS contype
        UNION ALL
        SELECT 'FOREIGN KEY' AS constraint_type, 'f' AS contype
        UNION ALL
        SELECT 'UNIQUE KEY' AS constraint_type, 'u' AS contype
) mapping_table ON mapping_table.contype = pgc.contype

-- Npgsql 10: GetSchema, users
-- fewer: Postgres has one of its own
-- without: usesysid
SELECT usename, usesysid FROM pg_catalog.pg_user

-- Npgsql 10: GetColumnSchema
-- without: is_updatable
SELECT
    typ.oid AS typoid, nspname, relname, attname, attrelid, attnum, attnotnull,
    attidentity != '' AS isidentity,
    CASE WHEN typ.typtype = 'd' THEN typ.typtypmod ELSE atttypmod END AS typmod,
    CASE WHEN atthasdef THEN (SELECT pg_get_expr(adbin, cls.oid) FROM pg_attrdef WHERE adrelid = cls.oid AND adnum = attr.attnum) ELSE NULL END AS default,
    ((cls.relkind = ANY (ARRAY['r'::"char", 'p'::"char"]))
        OR ((cls.relkind = ANY (ARRAY['v'::"char", 'f'::"char"]))
        AND pg_column_is_updatable((cls.oid)::regclass, attr.attnum, false)))
        AND attr.attidentity NOT IN ('a')
        AS is_updatable,
    EXISTS (
        SELECT * FROM pg_index
        WHERE pg_index.indrelid = cls.oid AND
            pg_index.indisprimary AND
            attnum = ANY (indkey)
    ) AS isprimarykey,
    EXISTS (
        SELECT * FROM pg_index
        WHERE pg_index.indrelid = cls.oid AND
            pg_index.indisunique AND
            pg_index.indnkeyatts = 1 AND
            attnum = pg_index.indkey[0]
    ) AS isunique
FROM pg_attribute AS attr
JOIN pg_type AS typ ON attr.atttypid = typ.oid
JOIN pg_class AS cls ON cls.oid = attr.attrelid
JOIN pg_namespace AS ns ON ns.oid = cls.relnamespace
WHERE
    atttypid <> 0 AND
    relkind IN ('r', 'v', 'm', 'p') AND
    NOT attisdropped AND
    nspname NOT IN ('pg_catalog', 'information_schema') AND
    attnum > 0 AND
    ((attr.attrelid='calls'::regclass AND attr.attnum=1) OR (attr.attrelid='calls'::regclass AND attr.attnum=2))
ORDER BY attnum

-- psql 15, the Tab key: tables
SELECT c.relname, NULL::pg_catalog.text FROM pg_catalog.pg_class c WHERE c.relkind IN ('r', 'S', 'v', 'm', 'f', 'p') AND (c.relname) LIKE 'ca%' AND pg_catalog.pg_table_is_visible(c.oid) AND c.relnamespace <> (SELECT oid FROM pg_catalog.pg_namespace WHERE nspname = 'pg_catalog')
	UNION ALL
	SELECT NULL::pg_catalog.text, n.nspname FROM pg_catalog.pg_namespace n WHERE n.nspname LIKE 'ca%' AND n.nspname NOT LIKE E'pg\\_%'
	LIMIT 1000

-- psql 15, the Tab key: tables of a schema
SELECT c.relname, n.nspname FROM pg_catalog.pg_class c, pg_catalog.pg_namespace n WHERE c.relnamespace = n.oid AND c.relkind IN ('r', 'S', 'v', 'm', 'f', 'p') AND (c.relname) LIKE 'ca%' AND n.nspname = 'public'
	LIMIT 1000

-- psql 15, the Tab key: columns
SELECT a.attname, NULL::pg_catalog.text FROM pg_catalog.pg_attribute a, pg_catalog.pg_class c WHERE c.oid = a.attrelid and a.attnum > 0 and not a.attisdropped AND (a.attname) LIKE 'st%' AND c.relname = 'calls' AND pg_catalog.pg_table_is_visible(c.oid)
	LIMIT 1000

-- psql 15, the Tab key: relations
SELECT c.relname, NULL::pg_catalog.text FROM pg_catalog.pg_class c WHERE (c.relname) LIKE 'ca%' AND pg_catalog.pg_table_is_visible(c.oid) AND c.relnamespace <> (SELECT oid FROM pg_catalog.pg_namespace WHERE nspname = 'pg_catalog')
	UNION ALL
	SELECT NULL::pg_catalog.text, n.nspname FROM pg_catalog.pg_namespace n WHERE n.nspname LIKE 'ca%' AND n.nspname NOT LIKE E'pg\\_%'
	LIMIT 1000

-- psql 15, the Tab key: schemas
-- fewer: pg_toast is missing
SELECT nspname FROM pg_catalog.pg_namespace  WHERE nspname LIKE 'p%'
	LIMIT 1000

-- psql 15, the Tab key: databases
SELECT datname FROM pg_catalog.pg_database  WHERE datname LIKE 'c%'
	LIMIT 1000

-- psql 15, the Tab key: search_path
SELECT nspname FROM pg_catalog.pg_namespace  WHERE nspname LIKE 'pu%' AND nspname NOT LIKE E'pg\\_toast%' AND nspname NOT LIKE E'pg\\_temp%'
	LIMIT 1000

-- psql 15, the Tab key: settings
SELECT pg_catalog.lower(name) FROM pg_catalog.pg_settings  WHERE context IN ('user', 'superuser')    AND pg_catalog.lower(name) LIKE pg_catalog.lower('stat%')
	LIMIT 1000

-- psql 15, the Tab key: types
-- fewer: types that no column has
SELECT t.typname, NULL::pg_catalog.text FROM pg_catalog.pg_type t WHERE (t.typrelid = 0  OR (SELECT c.relkind = 'c'     FROM pg_catalog.pg_class c WHERE c.oid = t.typrelid)) AND t.typname !~ '^_' AND (t.typname) LIKE 'in%' AND pg_catalog.pg_type_is_visible(t.oid)
	UNION ALL
	SELECT NULL::pg_catalog.text, n.nspname FROM pg_catalog.pg_namespace n WHERE n.nspname LIKE 'in%' AND n.nspname NOT LIKE E'pg\\_%'
	LIMIT 1000

-- psql 15, the Tab key: roles
SELECT rolname    FROM pg_catalog.pg_roles   WHERE rolname LIKE 'c%'
	LIMIT 1000

-- psql 15, the Tab key: functions
-- differs: only functions of types are in pg_proc
SELECT p.proname, NULL::pg_catalog.text FROM pg_catalog.pg_proc p WHERE (p.proname) LIKE 'ca%' AND pg_catalog.pg_function_is_visible(p.oid)
	UNION ALL
	SELECT NULL::pg_catalog.text, n.nspname FROM pg_catalog.pg_namespace n WHERE n.nspname LIKE 'ca%' AND n.nspname NOT LIKE E'pg\\_%'
	LIMIT 1000

-- psql 15, the Tab key: extensions
SELECT extname    FROM pg_catalog.pg_extension   WHERE extname LIKE '%'
	LIMIT 1000

-- psql 15, the Tab key: an index
SELECT c.relname, NULL::pg_catalog.text FROM pg_catalog.pg_class c WHERE (c.relname) LIKE 'calls\_p%' AND pg_catalog.pg_table_is_visible(c.oid) AND c.relnamespace <> (SELECT oid FROM pg_catalog.pg_namespace WHERE nspname = 'pg_catalog')
	UNION ALL
	SELECT NULL::pg_catalog.text, n.nspname FROM pg_catalog.pg_namespace n WHERE n.nspname LIKE 'calls\_p%' AND n.nspname NOT LIKE E'pg\\_%'
	LIMIT 1000
