import { type Parameter, statement } from '../../../src/database/statement.ts';
import type { TestApp } from '../app.ts';
import { secondInstance } from '../second-instance.ts';
import { watchedDatabase } from './watched.ts';

export interface WatchedStatement {
  readonly text: string;
  readonly values: readonly Parameter[];
}

/** What an instance asks the database for a query, which must have data. */
export async function statementsOf(app: TestApp, key: string, query: string): Promise<WatchedStatement[]> {
  const asked: WatchedStatement[] = [];
  const database = watchedDatabase(app.database, ({ text }, values) => void asked.push({ text, values }));
  const response = await secondInstance(app, { database }).fetch('/graphql', {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
    body: JSON.stringify({ query }),
  });
  const { data, errors } = (await response.json()) as { data?: object; errors?: object };
  if (errors !== undefined || data === undefined) throw new Error(`refused: ${JSON.stringify(errors)}`);
  return asked;
}

/** PostgreSQL's plan of a statement, as JSON, with what `options` add to EXPLAIN. */
export async function planOf(
  app: TestApp,
  { text, values }: WatchedStatement,
  options: string,
): Promise<string> {
  const explain = statement<{ 'QUERY PLAN': unknown }>(
    'explain',
    `EXPLAIN (FORMAT JSON, ${options}) ${text}`,
  );
  const [row] = await app.database.query(explain, values);
  return JSON.stringify(row?.['QUERY PLAN']);
}
