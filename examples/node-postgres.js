// flakeid with node-postgres.
//
// Needs Node.js 18 and `npm install pg uuid@11 zod@4`; PGHOST, PGPORT, PGUSER and PGDATABASE lead to a database that has the
// extension. Run: node examples/node-postgres.js
'use strict';
const { Client } = require('pg');
const uuid = require('uuid');
const { z } = require('zod');

async function main() {
  const client = new Client();
  await client.connect();
  try {
    await client.query(`
      CREATE TABLE IF NOT EXISTS orders (
        id    flake PRIMARY KEY DEFAULT flake_next(),
        event sno NOT NULL UNIQUE DEFAULT sno_next(7),
        item  text NOT NULL)`);

    for (const item of ['tea', 'milk', 'bread', 'salt', 'rice']) {
      const { rows: [made] } = await client.query(
        'INSERT INTO orders (item) VALUES ($1) RETURNING id, event', [item]);
      // Both are strings, without a conversion. A flake is beyond 2^53, where numbers are rounded: Number(id) would be
      // another ID.
      console.log('made', made.id, made.event, item);
    }

    // node-postgres sends a Date as text without a type. Beside an ID PostgreSQL would read it as an ID, so the statement
    // names the type.
    const since = new Date(Date.now() - 5 * 60 * 1000);
    const byId = await client.query('SELECT id FROM orders WHERE id >= $1::timestamptz ORDER BY id', [since]);
    const ids = byId.rows.map((row) => row.id);
    console.log('recent by id:', ids.join(' '));
    const byEvent = await client.query(
      'SELECT event FROM orders WHERE event >= $1::timestamptz ORDER BY event', [since]);
    console.log('recent by event:', byEvent.rows.map((row) => row.event).join(' '));

    // The newest order by its ID. In JSON, too, the ID is a string: JSON.parse would round a bigint.
    const newest = await client.query(
      'SELECT item, row_to_json(orders) AS json FROM orders WHERE id = $1', [ids.at(-1)]);
    console.log('newest:', newest.rows[0].item);
    console.log('newest in json:', newest.rows[0].json.id);

    let last = 'x'.repeat(16); // the greatest sno
    for (let page = 1; ; page++) {
      const { rows } = await client.query(
        'SELECT event FROM orders WHERE event < $1 AND event >= $2::timestamptz ORDER BY event DESC LIMIT 3',
        [last, since]);
      if (rows.length === 0) break;
      console.log(`page ${page}:`, rows.map((row) => row.event).join(' '));
      last = rows.at(-1).event;
    }

    // A uuidv7 is a uuid, and so a string here. Its first 48 bits are the milliseconds since 1970, which a number holds.
    await client.query(`
      CREATE TABLE IF NOT EXISTS carts (
        id   uuid PRIMARY KEY DEFAULT uuidv7_next(),
        item text NOT NULL)`);
    const { rows: carts } = await client.query(
      `INSERT INTO carts (item) SELECT 'pear' FROM generate_series(1, 1000)
       RETURNING id, uuidv7_timestamp(id) AS created_at`);
    const accepted = carts.filter(({ id, created_at: createdAt }) =>
      uuid.validate(id) && uuid.version(id) === 7
      && z.uuid().safeParse(id).success && z.uuidv7().safeParse(id).success
      && parseInt(id.slice(0, 8) + id.slice(9, 13), 16) === createdAt.getTime());
    console.log('accepted uuids:', accepted.length);
    const { rows: [recent] } = await client.query('SELECT count(*) FROM carts WHERE uuidv7_since(id, $1)', [since]);
    console.log('recent uuids:', recent.count);
  } finally {
    await client.end();
  }
}

main().catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
