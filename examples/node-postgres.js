// flakeid with node-postgres.
//
// Needs Node.js 18 and `npm install pg`; PGHOST, PGPORT, PGUSER and PGDATABASE lead to a database that has the
// extension. Run: node examples/node-postgres.js
'use strict';
const { Client } = require('pg');

async function main() {
  const client = new Client();
  await client.connect();
  try {
    await client.query(`
      CREATE TABLE IF NOT EXISTS orders (
        id    bigint PRIMARY KEY DEFAULT flake_next(),
        event sno NOT NULL UNIQUE DEFAULT sno_next(7),
        item  text NOT NULL)`);

    for (const item of ['tea', 'milk', 'bread', 'salt', 'rice']) {
      const { rows: [made] } = await client.query(
        'INSERT INTO orders (item) VALUES ($1) RETURNING id, event', [item]);
      // Both are strings. A flake is beyond 2^53, where numbers are rounded: Number(id) would be another ID, and so would
      // JSON.parse of an ID without quotes. Keep it as a string; use BigInt for arithmetic.
      console.log('made', made.id, made.event, item);
    }

    // node-postgres sends a Date as text without a type. Beside a sno PostgreSQL would read it as a sno, so the statement
    // names the type. The argument of flake_min has a type already.
    const since = new Date(Date.now() - 5 * 60 * 1000);
    const byId = await client.query('SELECT id FROM orders WHERE id >= flake_min($1) ORDER BY id', [since]);
    const ids = byId.rows.map((row) => BigInt(row.id));
    console.log('recent by id:', ids.join(' '));
    const byEvent = await client.query(
      'SELECT event FROM orders WHERE event >= $1::timestamptz ORDER BY event', [since]);
    console.log('recent by event:', byEvent.rows.map((row) => row.event).join(' '));

    // A BigInt as parameter: the newest order by its ID.
    const newest = await client.query('SELECT item FROM orders WHERE id = $1', [ids.at(-1)]);
    console.log('newest:', newest.rows[0].item);

    let last = 'x'.repeat(16); // the greatest sno
    for (let page = 1; ; page++) {
      const { rows } = await client.query(
        'SELECT event FROM orders WHERE event < $1 AND event >= $2::timestamptz ORDER BY event DESC LIMIT 3',
        [last, since]);
      if (rows.length === 0) break;
      console.log(`page ${page}:`, rows.map((row) => row.event).join(' '));
      last = rows.at(-1).event;
    }
  } finally {
    await client.end();
  }
}

main().catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
