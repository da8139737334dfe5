import pg from 'pg';
import { expect, onTestFinished } from 'vitest';
import { type Exit, type Process, runScript, until } from '../../support/processes/process.ts';
import type { OwnDatabase } from './database.ts';
import { idOf, type Release } from './releases.ts';

/** The commands as somebody gives them, each in a process of its own. */
export class DocumentCommands {
  readonly #database: OwnDatabase;

  constructor(database: OwnDatabase) {
    this.#database = database;
  }

  async launchPublish(release: Release): Promise<Process> {
    return this.#launch('publish', release, await release.write());
  }

  async publish(release: Release): Promise<Exit> {
    return (await this.launchPublish(release)).exited;
  }

  retire(release: Release): Promise<Exit> {
    return this.#launch('retire', release).exited;
  }

  /** How many documents a release has, once nothing is being published. */
  async count({ client, name }: Release): Promise<number> {
    const connection = await this.#connect();
    await connection.query('BEGIN; LOCK TABLE trusted_documents, document_publications IN SHARE MODE');
    const { rows } = await connection.query<{ count: number }>(
      'SELECT count(*)::int FROM document_publications WHERE client = $1 AND release = $2',
      [client, name],
    );
    await connection.query('COMMIT');
    return rows[0]?.count ?? 0;
  }

  /** Kills a publisher that has published half of its release. */
  async killInTheMiddle(release: Release): Promise<void> {
    const connection = await this.#connect();
    const middle = idOf(release.numbers[release.numbers.length / 2] ?? 0);
    await connection.query('BEGIN');
    await connection.query(
      `INSERT INTO trusted_documents (id, text, digest, schema) VALUES ($1, '', '', '')`,
      [middle],
    );
    const publisher = await this.launchPublish(release);
    await until('the publisher in the middle of its work', async () => {
      const { rowCount } = await connection.query(
        'SELECT FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY (pg_blocking_pids(pid))',
      );
      return rowCount !== 0;
    });
    publisher.kill('SIGKILL');
    expect((await publisher.exited).signal).toBe('SIGKILL');
    await connection.query('ROLLBACK');
  }

  async #connect(): Promise<pg.Client> {
    const connection = new pg.Client({ connectionString: this.#database.url });
    await connection.connect();
    onTestFinished(() => connection.end());
    return connection;
  }

  #launch(command: string, { client, name }: Release, ...files: string[]): Process {
    const args = ['document', command, '--client', client, '--release', name, ...files];
    return runScript('src/admin/main.ts', args, this.#database.settings);
  }
}
