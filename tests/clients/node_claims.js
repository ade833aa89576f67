// What docs/orm.md says of node-postgres, for tests/t/docs/orms.pl: a line for each claim.
'use strict';
const { Client } = require('pg');

async function main() {
  const client = new Client();
  await client.connect();
  const one = async (statement, parameters) => Object.values((await client.query(statement, parameters)).rows[0])[0];
  await client.query('CREATE TABLE claims (id flake PRIMARY KEY DEFAULT flake_next(), number bigint DEFAULT flake_next())');
  const id = await one('INSERT INTO claims DEFAULT VALUES RETURNING id');
  console.log('columns:', typeof id, typeof await one('SELECT number FROM claims'));
  console.log('json:', typeof (await one('SELECT to_json(claims) FROM claims')).id,
    typeof (await one('SELECT to_json(claims) FROM claims')).number);
  console.log('parameters:', await one('SELECT count(*) FROM claims WHERE id = $1', [id]),
    await one('SELECT count(*) FROM claims WHERE id = $1', [BigInt(id)]),
    await one('SELECT count(*) FROM claims WHERE id = ANY ($1)', [[id]]));
  console.log('time:', await client.query('SELECT FROM claims WHERE id >= $1', [new Date()]).catch((error) => error.message.split(':')[0]),
    await one('SELECT count(*) FROM claims WHERE id <= $1::timestamptz', [new Date(Date.now() + 1000)]));
  console.log('array:', typeof await one('SELECT array_agg(id) FROM claims'),
    Array.isArray(await one('SELECT array_agg(id::text) FROM claims')));
  await client.end();
}

main().catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
