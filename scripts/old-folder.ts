/**
 * Makes the data of an embedded PostgreSQL 17 with the schema of the first migrations, for the tests of `admin upgrade`.
 * Run it again only if what is in it is to change: `node scripts/old-folder.ts`.
 */
import { execFileSync } from 'node:child_process';
import { hash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { constants, zstdCompressSync } from 'node:zlib';
import { PGlite } from 'pglite-17';
import { shownPrefix } from '../src/auth/api-key/store.ts';
import { hashPassword } from '../src/auth/password.ts';
import { byteaText, hashSecret } from '../src/auth/secret-format.ts';
import { OLD, OLD_FOLDER } from '../tests/support/database/old-folder.ts';

const MIGRATIONS = fileURLToPath(new URL('../prisma/migrations', import.meta.url));
const LAST = '20261121060000_replays';
const COMPRESSION = 22;

const HISTORY = `CREATE TABLE "_prisma_migrations" (
  "id" VARCHAR(36) PRIMARY KEY NOT NULL, "checksum" VARCHAR(64) NOT NULL, "finished_at" TIMESTAMPTZ,
  "migration_name" VARCHAR(255) NOT NULL, "logs" TEXT, "rolled_back_at" TIMESTAMPTZ,
  "started_at" TIMESTAMPTZ NOT NULL DEFAULT now(), "applied_steps_count" INTEGER NOT NULL DEFAULT 0)`;

async function migrate(db: PGlite): Promise<void> {
  await db.exec(HISTORY);
  const names = readdirSync(MIGRATIONS).filter((name) => /^\d/.test(name) && name <= LAST);
  for (const name of names.sort()) {
    const sql = readFileSync(join(MIGRATIONS, name, 'migration.sql'), 'utf8');
    await db.exec(sql);
    await db.query(
      `INSERT INTO "_prisma_migrations" ("id", "checksum", "migration_name", "finished_at", "applied_steps_count")
       VALUES (gen_random_uuid(), $1, $2, now(), 1)`,
      [hash('sha256', sql, 'hex'), name],
    );
  }
}

async function fill(db: PGlite): Promise<void> {
  const { email, password, key, session, posts, newest, comments } = OLD;
  await db.query(
    `INSERT INTO users (id, name, email, email_key, password_hash, role, created_at)
     VALUES (gen_random_uuid(), 'Old', $1, $1, $2, 'admin', '2026-11-21')`,
    [email, await hashPassword(password)],
  );
  await db.query(
    `INSERT INTO api_keys (id, user_id, name, prefix, hash, scopes)
     SELECT gen_random_uuid(), id, 'old', $1, $2::text::bytea, '{posts:read,posts:write,users:read,comments:write}' FROM users`,
    [shownPrefix(key), byteaText(hashSecret(key))],
  );
  await db.query(
    `INSERT INTO sessions (id, user_id, hash, last_seen_at, expires_at, absolute_expires_at)
     SELECT gen_random_uuid(), id, $1::text::bytea, now(), now() + interval '100 years', now() + interval '100 years' FROM users`,
    [byteaText(hashSecret(session))],
  );
  await db.query(
    `INSERT INTO posts (id, title, body, author_id, created_at)
     SELECT gen_random_uuid(), CASE n WHEN ${posts} THEN $1 ELSE 'Post ' || n END, repeat('Body ' || n || E'\\n', n), users.id,
       '2026-11-21'::timestamptz + n * interval '1 minute'
     FROM users, generate_series(1, ${posts}) n`,
    [newest],
  );
  await db.exec(`
    INSERT INTO tags (post_id, name, position, created_at) SELECT id, 'old', 0, created_at FROM posts;
    INSERT INTO comments (id, body, post_id, author_id)
      SELECT gen_random_uuid(), 'Comment ' || n, p.id, author_id
      FROM (SELECT * FROM posts ORDER BY created_at DESC LIMIT 1) p, generate_series(1, ${comments}) n;
    INSERT INTO events (kind, root_id, owner_id, created_at)
      SELECT 'POST_CREATED', id, author_id, created_at FROM posts ORDER BY created_at;
    INSERT INTO event_log (generation, origin) VALUES (gen_random_uuid(), 'another server');
    INSERT INTO idempotency_keys (user_id, key_hash, fingerprint, status, body)
      SELECT id, '\\x00', '\\x01', 200, '\\x02ff' FROM users`);
}

const dataDir = mkdtempSync(join(tmpdir(), 'content-graph-old-'));
try {
  const db = await PGlite.create(join(dataDir, 'postgres'));
  await migrate(db);
  await fill(db);
  await db.exec('CHECKPOINT');
  await db.close();
  const tar = execFileSync('tar', ['-c', '--sort=name', '-C', dataDir, 'postgres'], { maxBuffer: 2 ** 30 });
  const params = {
    [constants.ZSTD_c_compressionLevel]: COMPRESSION,
    [constants.ZSTD_c_enableLongDistanceMatching]: 1,
    [constants.ZSTD_c_windowLog]: 26,
  };
  writeFileSync(OLD_FOLDER, zstdCompressSync(tar, { params }));
} finally {
  rmSync(dataDir, { recursive: true, force: true });
}
