import { type Parameter, type Queryable, statement } from '../../platform/db/statement.ts';

/** A part of what is stored about an account, for `admin user export`. */
export interface StoredPart {
  /** Its name in the export. */
  readonly name: string;
  /** The tables that it is read from. */
  readonly tables: readonly string[];
  /** Its rows, a page at a time. Throws DatabaseError. */
  rows(db: Queryable, account: string): AsyncGenerator<object>;
}

/** SQL of the rows of a part. */
export interface PartOptions {
  readonly name: string;
  /** The tables; the first one is `alias`. */
  readonly tables: readonly [string, ...string[]];
  readonly alias: string;
  /** What is shown: no secret, no hash, and nothing that tells of other people. */
  readonly columns: string;
  /** The column that names the account. */
  readonly owner?: string;
  readonly join?: string;
  /** The columns that order the rows, each with its type and what comes before all. */
  readonly key?: readonly (readonly [column: string, type: string, before: Parameter])[];
}

/** A post with its tags may have two hundred kilobytes, and a slow reader holds a page for long. */
const PAGE = 20;
const BY_ID = [['id', 'uuid', '00000000-0000-0000-0000-000000000000']] as const;
type Row = Readonly<Record<string, Parameter>>;

/** Pages by key, each a statement of its own: nothing is held while a slow reader pauses. */
export function storedPart(options: PartOptions): StoredPart {
  const { name, tables, alias, columns, owner = 'user_id', join = '', key = BY_ID } = options;
  const names = key.map(([column]) => `${alias}.${column}`);
  const shownAs = key.map((_, place) => `key ${place}`);
  const page = statement<Row>(
    `account_export_${tables[0]}`,
    `SELECT ${names.map((column, place) => `${column} AS "${shownAs[place]}"`).join(', ')}, ${columns}
     FROM ${tables[0]} ${alias} ${join}
     WHERE ${alias}.${owner} = $1 AND (${names.join(', ')}) > (${key.map(([, type], place) => `$${place + 3}::${type}`).join(', ')})
     ORDER BY ${names.join(', ')} LIMIT $2`,
  );
  return {
    name,
    tables,
    async *rows(db, account) {
      let after: readonly Parameter[] = key.map(([, , before]) => before);
      for (;;) {
        const rows = await db.query(page, [account, PAGE, ...after]);
        for (const row of rows)
          yield Object.fromEntries(Object.entries(row).filter(([column]) => !shownAs.includes(column)));
        const last = rows.at(-1);
        if (last === undefined || rows.length < PAGE) return;
        after = shownAs.map((column) => last[column] ?? null);
      }
    },
  };
}
