/**
 * Everything in the schema of the session, and what the current transaction has created elsewhere.
 * `sql` changes whenever the object does. Leaves out what PostgreSQL creates itself, such as the
 * triggers behind foreign keys.
 */
export const CATALOG = `
WITH own AS (SELECT oid FROM pg_namespace WHERE nspname = current_schema()),
relation AS (
  SELECT c.oid, c.relname::text AS name, c.relkind, (c.relnamespace = pg_my_temp_schema())::int AS temporary
  FROM pg_class AS c WHERE c.relnamespace IN (SELECT oid FROM own UNION ALL SELECT pg_my_temp_schema())
)
SELECT temporary, 'table' AS type, name, name AS "table", concat_ws(E'\\n',
  (SELECT string_agg(concat_ws(' ', a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attidentity,
      a.attgenerated, a.attcollation, pg_get_expr(d.adbin, d.adrelid)), ', ' ORDER BY a.attnum)
    FROM pg_attribute AS a LEFT JOIN pg_attrdef AS d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
    WHERE a.attrelid = relation.oid AND a.attnum > 0 AND NOT a.attisdropped),
  (SELECT string_agg(conname || ' ' || pg_get_constraintdef(oid), ', ' ORDER BY conname)
    FROM pg_constraint WHERE conrelid = relation.oid),
  (SELECT string_agg(concat_ws(' ', polname, polcmd, pg_get_expr(polqual, polrelid)), ', ' ORDER BY polname)
    FROM pg_policy WHERE polrelid = relation.oid)) AS sql
FROM relation WHERE relkind IN ('r', 'p', 'f')
UNION ALL
SELECT temporary, 'index', name, parent.relname, pg_get_indexdef(relation.oid)
FROM relation JOIN pg_index AS i ON i.indexrelid = relation.oid JOIN pg_class AS parent ON parent.oid = i.indrelid
UNION ALL
SELECT temporary, 'view', name, name, pg_get_viewdef(oid) FROM relation WHERE relkind IN ('v', 'm')
UNION ALL
SELECT temporary, 'sequence', name, coalesce(owner.relname, name),
  concat_ws(' ', seqtypid, seqstart, seqincrement, seqmin, seqmax, seqcycle)
FROM relation JOIN pg_sequence ON seqrelid = relation.oid
LEFT JOIN pg_depend AS d ON d.classid = 'pg_class'::regclass AND d.objid = relation.oid
  AND d.refclassid = 'pg_class'::regclass AND d.deptype IN ('a', 'i')
LEFT JOIN pg_class AS owner ON owner.oid = d.refobjid
UNION ALL
SELECT temporary, 'trigger', tgname, name, pg_get_triggerdef(t.oid)
FROM relation JOIN pg_trigger AS t ON t.tgrelid = relation.oid WHERE NOT tgisinternal
UNION ALL
SELECT temporary, 'rule', rulename, name, pg_get_ruledef(r.oid)
FROM relation JOIN pg_rewrite AS r ON r.ev_class = relation.oid WHERE rulename <> '_RETURN'
UNION ALL
SELECT 0, 'function (' || pg_get_function_identity_arguments(oid) || ')', proname, proname,
  concat_ws(' ', pg_get_function_result(oid), prosrc, proconfig::text, prosecdef)
FROM pg_proc WHERE pronamespace IN (SELECT oid FROM own)
UNION ALL
SELECT 0, 'type', typname, typname, concat_ws(' ', typtype, typbasetype,
  (SELECT string_agg(enumlabel, ',' ORDER BY enumsortorder) FROM pg_enum WHERE enumtypid = t.oid))
FROM pg_type AS t WHERE typnamespace IN (SELECT oid FROM own) AND typtype IN ('e', 'd', 'c')
  AND NOT EXISTS (SELECT 1 FROM pg_class WHERE oid = t.typrelid AND relkind <> 'c')
UNION ALL
SELECT 0, 'table', n.nspname || '.' || c.relname, n.nspname || '.' || c.relname, ''
FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE c.xmin = pg_current_xact_id()::xid AND c.relkind IN ('r', 'p', 'v', 'm', 'S', 'f')
  AND n.oid NOT IN (SELECT oid FROM own) AND n.oid <> pg_my_temp_schema()
UNION ALL
SELECT 0, 'schema', nspname, 'the database', '' FROM pg_namespace
WHERE xmin = pg_current_xact_id()::xid AND nspname NOT LIKE 'pg\\_%'
UNION ALL
SELECT 0, 'extension', extname, 'the database', '' FROM pg_extension WHERE xmin = pg_current_xact_id()::xid`
