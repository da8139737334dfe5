import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { zstdDecompressSync } from 'node:zlib';
import { temporaryFolder } from '../processes/process.ts';

/** The data of an embedded PostgreSQL 17, which `scripts/old-folder.ts` has made. */
export const OLD_FOLDER = fileURLToPath(new URL('../../fixtures/postgres-17.tar.zst', import.meta.url));

/** What is in it. */
export const OLD = {
  email: 'old@example.org',
  password: 'correct horse battery staple',
  key: 'cga_eEtTlqdlouRQIuWSyIjbpSKAyQ2lXQ3nSJop',
  session: 'fyQqiXuw5ydMcSRGomXiWybCZ2ddijckTnmxU-DZJ5E',
  posts: 300,
  /** The title of the newest post, whose comments are counted. */
  newest: 'Post 300, "quoted", übrig 😀',
  comments: 3,
} as const;

/** A DATA_DIR that an earlier version has left, for as long as the test runs. */
export async function oldFolder(): Promise<string> {
  const dataDir = await temporaryFolder();
  execFileSync('tar', ['-x', '-C', dataDir], { input: zstdDecompressSync(readFileSync(OLD_FOLDER)) });
  return dataDir;
}
