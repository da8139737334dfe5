/**
 * A fault for `--import`: the service with event ids that follow allocation, as most event tables have them. An event
 * gets its number as soon as the service knows that it will need one, which may be before its transaction begins, and
 * readers go by that number alone. The product has no switch for this: its text is changed while it is loaded.
 */
import { registerHooks } from 'node:module';

type Change = readonly [from: string, to: string];

/** Milliseconds since 2026 and 18 random bits: unique enough, and below 2^53. */
const NUMBER_NOW =
  '(extract(epoch FROM clock_timestamp()) * 1000 - 1767225600000)::bigint * 262144 + floor(random() * 262144)::bigint';
/** As if it was taken when the request came: the transaction then waited for its turn, some longer than others. */
const NUMBER_THEN =
  '(Date.now() - Math.floor(Math.random() * 100) - 1767225600000) * 262144 + Math.floor(Math.random() * 262144)';
/** The text of a template's `${HELD}` and `${SETTLED}`. */
const HELD = `$${'{HELD}'}`;
const SETTLED = `$${'{SETTLED}'}`;

const CHANGES: Readonly<Record<string, readonly Change[]>> = {
  '/src/platform/db/unit-of-work.ts': [
    ['  #ended = false;', `  #ended = false;\n  #number = ${NUMBER_THEN};`],
    [
      'await connection.begin();',
      `await connection.begin();
       await connection.client.query("SELECT set_config('chaos.number', '" + this.#number + "', true)");`,
    ],
    [
      'connection.beginWith(queries).catch(',
      `connection.beginWith(queries).then(async (results) => {
         await connection.client.query("SELECT set_config('chaos.number', '" + this.#number + "', true)");
         return results;
       }).catch(`,
    ],
  ],
  '/src/events/kind.ts': [
    [
      "INSERT INTO events (kind, root_id, part_id, owner_id, trace) SELECT '\u0024{name}',",
      `INSERT INTO events (id, kind, root_id, part_id, owner_id, trace)
         SELECT CASE WHEN EXISTS (SELECT FROM events WHERE xid = pg_current_xact_id()) THEN ${NUMBER_NOW}
           ELSE coalesce(nullif(current_setting('chaos.number', true), '')::bigint, ${NUMBER_NOW}) END, '\${name}',`,
    ],
  ],
  '/src/events/log.ts': [
    ['`era, xid::text, id, kind', "`era, '0' AS xid, id, kind"],
    ['`(era, events.xid, id) > (place.era, place.xid, place.id) AND', '`id > place.id OR false AND'],
    ['ORDER BY era, events.xid, id LIMIT', 'ORDER BY id LIMIT'],
    ['ORDER BY era, looked.xid, id LIMIT', 'ORDER BY id LIMIT'],
    ['>= $4::int ORDER BY era DESC, xid DESC, id DESC', '>= $4::int ORDER BY id DESC'],
    ['xid::text AS "endXid"', `'0' AS "endXid"`],
    ['SELECT era, xid::text, id, $', "SELECT era, '0' AS xid, id, $"],
    [`WHERE ${SETTLED} ORDER BY era DESC, events.xid DESC, id DESC`, 'ORDER BY id DESC'],
    [`WHERE ${HELD} ORDER BY xid DESC`, 'WHERE false ORDER BY xid DESC'],
    ['place.era, place.xid::text, place.id', "place.era, '0' AS xid, place.id"],
  ],
};

registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context);
    const changes = Object.entries(CHANGES).find(([file]) => url.endsWith(file))?.[1];
    if (changes === undefined) return loaded;
    let source = Buffer.from(loaded.source as Uint8Array).toString();
    for (const [from, to] of changes) {
      if (!source.includes(from)) throw new Error(`the fault does not fit ${url} any more: ${from}`);
      source = source.replace(from, () => to);
    }
    return { ...loaded, source };
  },
});
