// Reads a catalog with Node's DuckDB until stdin ends: a line of JSON for each look.
//
//     node catalog_reader.mjs reopen | hold   callhouse.duckdb
//
// reopen opens the file anew for each look, hold keeps the connection that it opened first.
// CALLHOUSE_NODE_MODULES names the folder in which @duckdb/node-api is installed.
import { createRequire } from 'node:module'

const require = createRequire(`${process.env.CALLHOUSE_NODE_MODULES ?? process.cwd()}/x.js`)
const { DuckDBInstance } = require('@duckdb/node-api')

let ended = false
process.stdin.on('end', () => { ended = true }).resume()

async function value(connection, statement) {
  const reader = await connection.runAndReadAll(statement)
  return Number(reader.getRows()[0][0])
}

async function look(connection) {
  console.log(JSON.stringify({
    snapshot: await value(connection, 'SELECT snapshot FROM snapshot'),
    calls: await value(connection, 'SELECT count(*) FROM calls'),
    costs: await value(connection, 'SELECT count(*) FROM costs'),
    present: await value(connection, "SELECT count(*) FROM calls WHERE transcript_state = 'present'"),
    spoken: await value(connection, 'SELECT count(DISTINCT call_id) FROM transcript_turns'),
    turns: await value(connection, 'SELECT count(*) FROM transcript_turns'),
    turn_count: await value(connection, 'SELECT CAST(coalesce(sum(turn_count), 0) AS BIGINT) FROM calls'),
    days: await value(connection, 'SELECT CAST(coalesce(sum(n), 0) AS BIGINT) FROM (SELECT local_date, count(*) AS n FROM calls GROUP BY 1)'),
    items: await value(connection, 'SELECT count(*) FROM analysis_items WHERE value_text IS NOT NULL OR value IS NULL'),
    runs: await value(connection, 'SELECT count(*) FROM runs')
  }))
}

const [mode, path] = process.argv.slice(2)
let instance = await DuckDBInstance.create(path, { access_mode: 'READ_ONLY' })
let connection = await instance.connect()
while (!ended) {
  await look(connection)
  if (mode === 'hold') continue
  connection.closeSync()
  instance.closeSync()
  instance = await DuckDBInstance.create(path, { access_mode: 'READ_ONLY' })
  connection = await instance.connect()
}
connection.closeSync()
instance.closeSync()
