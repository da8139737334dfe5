import type { Source, Target } from './side.ts';

/** What a side needs of PGlite. All its versions have it. */
export interface Engine {
  query<Row>(
    sql: string,
    values?: unknown[],
    options?: { readonly blob?: Blob },
  ): Promise<{ readonly rows: Row[]; readonly blob?: Blob }>;
  exec(sql: string): Promise<readonly { readonly rows: unknown[] }[]>;
  close(): Promise<void>;
}

/** A PGlite in this process, without a server: it takes COPY by its file `/dev/blob`. */
export const onEngine = (engine: Engine): Source & Target => ({
  async rows<Row>(sql: string, values: readonly string[] = []) {
    if (values.length > 0) return (await engine.query<Row>(sql, [...values])).rows;
    return ((await engine.exec(sql)).at(-1)?.rows ?? []) as Row[];
  },
  async copyOut(query) {
    const { blob } = await engine.query(`COPY (${query}) TO '/dev/blob'`);
    return new Uint8Array((await blob?.arrayBuffer()) ?? new ArrayBuffer());
  },
  async copyIn(columns, data) {
    await engine.query(`COPY ${columns} FROM '/dev/blob'`, [], { blob: new Blob([Buffer.from(data)]) });
  },
});
