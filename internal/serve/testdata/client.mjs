// Asks a server through node-postgres, and prints a line for each question.
import { createRequire } from 'node:module'

const { Client } = createRequire(process.argv[3] + '/node_modules/')('pg')
const client = new Client({ connectionString: process.argv[2] })
await client.connect()
async function ask (title, ...question) {
  let answer
  try {
    const r = await client.query(...question)
    answer = { fields: r.fields.map(f => [f.name, f.dataTypeID]), rows: r.rows, command: r.command, count: r.rowCount }
  } catch (e) {
    answer = e.code
  }
  console.log('node-postgres: ' + title + '\t' + JSON.stringify(answer))
}
await ask('a query', 'SELECT call_id, start_at, total_cost, metadata, duration_ms FROM calls ORDER BY 1')
await ask('a query with parameters', 'SELECT call_id FROM calls WHERE call_id <> $1 AND duration_ms > $2 ORDER BY 1', ['c1', 5])
await ask('a list as parameter', 'SELECT call_id FROM calls WHERE call_id = ANY($1) ORDER BY 1', [['c0', 'c2']])
await ask('a named statement', { name: 'n', text: 'SELECT count(*) FROM calls WHERE status = $1', values: ['ended'] })
await ask('the same again', { name: 'n', text: 'SELECT count(*) FROM calls WHERE status = $1', values: ['ended'] })
await ask('rows as lists', { text: 'SELECT 1 AS a, 2 AS a', rowMode: 'array' })
await ask('an error', 'SELECT nothing FROM calls')
await client.end()
