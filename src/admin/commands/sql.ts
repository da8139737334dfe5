import { type Client, DatabaseError, type QueryArrayConfig } from 'pg';
import type { DefineCommands, Opened } from '../cli/connection.ts';
import { AdminError, escapeTerminal, type Output, print, StreamedText } from '../cli/output.ts';

const MAX_ROWS = 1_000;
/** EXPLAIN and SHOW return few rows, and PostgreSQL does not declare a cursor for them. */
const WITHOUT_CURSOR = /^\s*(explain|show)\b/i;

interface Rows {
  readonly names: readonly string[];
  readonly rows: readonly (readonly unknown[])[];
}

/**
 * Reads one row more than MAX_ROWS to detect a longer result. The transaction ends before the output, because
 * requests to the embedded database wait for its end.
 * @throws {AdminError}
 */
async function readRows({ database, config }: Opened, text: string): Promise<Rows> {
  const read = async (client: Client): Promise<Rows> => {
    const ask = (sql: string) => {
      // The extended protocol accepts only one statement.
      const query: QueryArrayConfig & { readonly queryMode: 'extended' } = {
        ...{ text: sql, rowMode: 'array', queryMode: 'extended' },
      };
      return client.query<unknown[]>(query);
    };
    await client.query('BEGIN READ ONLY');
    await client.query(`SET LOCAL statement_timeout = ${config.statementTimeoutMs}`);
    const direct = WITHOUT_CURSOR.test(text);
    if (!direct) await ask(`DECLARE admin_sql NO SCROLL CURSOR FOR ${text}`);
    const { fields, rows } = await ask(direct ? text : `FETCH ${MAX_ROWS + 1} FROM admin_sql`);
    await client.query('ROLLBACK');
    return { names: fields.map(({ name }) => name), rows };
  };
  try {
    return await database.alone(read, { limited: true });
  } catch (error) {
    throw error instanceof DatabaseError
      ? new AdminError(`PostgreSQL rejected the statement: ${error.message}.`)
      : error;
  }
}

const formatValue = (value: unknown): string =>
  value === null ? '' : typeof value === 'object' ? JSON.stringify(value) : String(value);

async function* formatTable({ names, rows }: Rows): AsyncGenerator<string> {
  const cells = [names, ...rows].map((row) =>
    row.map((value) => escapeTerminal(formatValue(value)).replaceAll('\n', '\\n').replaceAll('\t', '\\t')),
  );
  const widths = names.map((_, index) => Math.max(...cells.map((row) => row[index]?.length ?? 0)));
  const formatLine = (row: readonly string[]) =>
    row.map((cell, index) => cell.padEnd(widths[index] ?? 0)).join(' | ');
  const [head = [], ...body] = cells.map((row) => formatLine(row).trimEnd());
  yield `${head}\n${widths.map((width) => '-'.repeat(width)).join('-+-')}\n`;
  for (const line of body) yield `${line}\n`;
  yield `(${rows.length} ${rows.length === 1 ? 'row' : 'rows'})\n`;
}

function present({ names, rows }: Rows, stdout: Output): unknown {
  return stdout.isTTY === true
    ? new StreamedText(formatTable({ names, rows }))
    : rows.map((row) => Object.fromEntries(names.map((name, index) => [name, row[index]])));
}

async function show(opened: Opened, text: string): Promise<unknown> {
  const { stdout, stderr } = opened.io;
  const { names, rows } = await readRows(opened, text.replace(/;\s*$/, ''));
  if (rows.length > MAX_ROWS)
    print(
      stderr,
      `The result has more than ${MAX_ROWS} rows, and the first ${MAX_ROWS} are printed. Add a condition, or LIMIT and OFFSET.`,
    );
  return present({ names, rows: rows.slice(0, MAX_ROWS) }, stdout);
}

export const defineSqlCommand: DefineCommands = ({ command }) => {
  command(
    'sql',
    `Run a read-only statement and print up to ${MAX_ROWS} rows: a table on a terminal, JSON otherwise`,
    show,
  ).argument('<statement>', 'SELECT, WITH, VALUES, TABLE, EXPLAIN or SHOW');
};
