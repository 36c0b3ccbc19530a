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
for (let i = 0; i < 6; i++) await ask('parameters as columns, run ' + i, { name: 'p', text: 'SELECT $1 AS label, call_id FROM calls WHERE duration_ms > $2 ORDER BY 2', values: ['abcd', 600] })
await ask('an error', 'SELECT nothing FROM calls')
const Cursor = createRequire(process.argv[3] + '/node_modules/')('pg-cursor')
const cursor = client.query(new Cursor('SELECT call_id, $1 AS label FROM calls ORDER BY 1', ['abcd']))
console.log('pg-cursor: rows in parts\t' + JSON.stringify([await cursor.read(2), await cursor.read(2)]))
await cursor.close()
await client.end()

const { Sequelize, DataTypes, QueryTypes, Op } = createRequire(process.argv[3] + '/node_modules/')('sequelize')
async function sequelize (title, question) {
  let answer
  try {
    answer = await question()
  } catch (e) {
    answer = e.name
  }
  console.log('Sequelize: ' + title + '\t' + JSON.stringify(answer))
}
for (const timezone of ['+00:00', '+02:00', 'Europe/Berlin']) {
  const db = new Sequelize(process.argv[2], { dialect: 'postgres', logging: false, timezone })
  const calls = db.define('calls', { call_id: { type: DataTypes.STRING, primaryKey: true }, start_at: DataTypes.DATE, duration_ms: DataTypes.BIGINT, status: DataTypes.STRING, metadata: DataTypes.JSON }, { tableName: 'calls', timestamps: false })
  await sequelize('authenticates at ' + timezone, () => db.authenticate())
  await sequelize('rows of a model at ' + timezone, () => calls.findAll({ where: { start_at: { [Op.gt]: new Date('2025-10-01T00:00:00Z') } }, order: [['call_id', 'ASC']], raw: true }))
  await sequelize('counts at ' + timezone, () => calls.findAll({ attributes: ['status', [db.fn('COUNT', db.col('call_id')), 'n'], [db.fn('SUM', db.col('duration_ms')), 'ms']], group: ['status'], order: ['status'], raw: true }))
  await sequelize('a query with parameters at ' + timezone, () => db.query('SELECT call_id, $1 AS label FROM calls WHERE status = $2 ORDER BY 1', { bind: ['abcd', 'ended'], type: QueryTypes.SELECT }))
  await sequelize('the columns of a table at ' + timezone, async () => Object.keys(await db.getQueryInterface().describeTable('calls')).sort())
  await sequelize('the tables at ' + timezone, async () => (await db.getQueryInterface().showAllTables()).map(String).sort())
  await sequelize('times as text at ' + timezone, () => db.query("SELECT start_at::text AS t FROM calls ORDER BY call_id", { type: QueryTypes.SELECT }))
  await db.close()
}
