import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { extract, type Headers, pack } from 'tar-stream';
import { describe, expect, it } from 'vitest';
import { launchAdmin, quickFolders } from '../support/processes/backups.ts';
import { expectOneLine } from '../support/processes/mistakes.ts';
import { admin, startServer } from '../support/processes/server.ts';

const MANIFEST = 'content-graph-backup.json';
const GIB = 1_073_741_824;

interface Entry {
  readonly header: Headers;
  readonly content: Buffer;
}

async function entriesOf(archive: Buffer): Promise<Entry[]> {
  const tar = extract();
  const entries: Entry[] = [];
  tar.end(zstdDecompressSync(archive));
  for await (const entry of tar) {
    const parts: Buffer[] = [];
    for await (const part of entry) parts.push(part as Buffer);
    const { name, type, mode } = entry.header;
    entries.push({ header: { name, type, mode } as Headers, content: Buffer.concat(parts) });
  }
  return entries;
}

async function archiveOf(entries: readonly Entry[]): Promise<Buffer> {
  const tar = pack();
  const parts: Buffer[] = [];
  const collected = pipeline(tar, async (source) => {
    for await (const part of source) parts.push(part as Buffer);
  });
  for (const { header, content } of entries) {
    const sized = header.type === 'file' ? { ...header, size: content.length } : header;
    tar.entry(sized, header.type === 'file' ? content : undefined);
  }
  tar.finalize();
  await collected;
  return zstdCompressSync(Buffer.concat(parts));
}

const entry = (name: string, content = 'x', header: Partial<Headers> = {}): Entry => ({
  header: { name, type: 'file', mode: 0o644, ...header } as Headers,
  content: Buffer.from(content),
});

/** The entries with a manifest that lists whatever they are. */
function listed(entries: readonly Entry[], further: object = {}): Entry[] {
  const files = Object.fromEntries(
    entries
      .filter(({ header }) => header.type === 'file' && header.name !== MANIFEST)
      .map(({ header, content }) => [
        header.name,
        { size: content.length, sha256: createHash('sha256').update(content).digest('hex') },
      ]),
  );
  const old: object = JSON.parse(
    entries.find(({ header }) => header.name === MANIFEST)?.content.toString() ?? '{}',
  );
  return [
    ...entries.filter(({ header }) => header.name !== MANIFEST),
    entry(MANIFEST, JSON.stringify({ ...old, files, ...further })),
  ];
}

/** A tar header for a file of any size, of which nothing follows. */
function headerFor(name: string, size: number): Buffer {
  const header = Buffer.alloc(512);
  header.write(name, 0);
  header.write('0000600\0', 100);
  header.write('0000000\x000000000\0', 108);
  header.write(`${size.toString(8).padStart(11, '0')}\0`, 124);
  header.write('00000000000\0', 136);
  header.write('        0', 148);
  header.write('ustar\x0000', 257);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return header;
}

describe('a restore', () => {
  it('refuses what is no whole backup, in one line, and leaves the folder empty', async () => {
    const { dataDir, backups, restored } = await quickFolders();
    const server = await startServer(dataDir);
    const good = join(backups, 'good');
    expect((await admin(['backup', good], dataDir)).code).toBe(0);
    server.kill('SIGTERM');
    await server.exited;
    const bytes = readFileSync(good);
    const entries = await entriesOf(bytes);
    const without = (name: string) => entries.filter(({ header }) => header.name !== name);
    const withOne = (...more: Entry[]) => archiveOf(listed([...entries, ...more]));
    const changed = (change: (text: string) => string) =>
      archiveOf(
        entries.map((old) =>
          old.header.name === MANIFEST ? entry(MANIFEST, change(old.content.toString())) : old,
        ),
      );
    const flipped = Buffer.from(bytes);
    flipped.writeUInt8(flipped.readUInt8(bytes.length >> 1) ^ 1, bytes.length >> 1);
    const other = entries.map((old) =>
      old.header.name === 'postgres/PG_VERSION' ? entry('postgres/PG_VERSION', '17\n') : old,
    );
    const cases: Readonly<Record<string, readonly [Buffer, RegExp]>> = {
      parent: [await withOne(entry('../x')), /"\.\.\/x" has a name that no backup has/],
      inner: [await withOne(entry('postgres/../../x')), /has a name that no backup has/],
      absolute: [await withOne(entry(join(backups, 'x'))), /has a name that no backup has/],
      elsewhere: [await withOne(entry('lock')), /"lock" is in no backup/],
      link: [
        await withOne(entry('postgres/x', '', { type: 'symlink', linkname: '/etc' })),
        /neither a file nor/,
      ],
      hard: [
        await withOne(entry('postgres/x', '', { type: 'link', linkname: '/etc/passwd' })),
        /neither a file nor/,
      ],
      device: [await withOne(entry('postgres/x', '', { type: 'character-device' })), /neither a file nor/],
      pipe: [await withOne(entry('postgres/x', '', { type: 'fifo' })), /neither a file nor/],
      long: [await withOne(entry(`postgres/${'n'.repeat(200)}`)), /has too long a name/],
      twice: [await archiveOf([...entries.slice(0, 30), ...entries.slice(20)]), /twice/],
      orphan: [await withOne(entry('postgres/none/x')), /lacks the folder of "postgres\/none\/x"/],
      cut: [bytes.subarray(0, bytes.length >> 1), /cannot be unpacked/],
      endless: [await archiveOf(without(MANIFEST)), /its end is missing/],
      flipped: [flipped, /is not a whole backup/],
      list: [await changed((text) => text.replace(/"sha256":"./, '"sha256":"g')), /differs from its list/],
      lacking: [
        await archiveOf(without('postgres/global/pg_control')),
        /"postgres\/global\/pg_control" differs/,
      ],
      additional: [await archiveOf([...entries, entry('postgres/x')]), /something follows its list/],
      unlabelled: [
        await archiveOf(listed(without('postgres/backup_label'))),
        /lacks "postgres\/backup_label"/,
      ],
      later: [
        await changed((text) => text.replace('"format":1', '"format":2')),
        /has format 2, .* reads format 1/,
      ],
      nonsense: [await changed(() => '{}'), /list of files has another form/],
      major: [await archiveOf(listed(other, { postgresMajor: '17' })), /is of PostgreSQL 17/],
      text: [Buffer.from('no backup at all'), /cannot be unpacked/],
      nothing: [Buffer.alloc(0), /is not a whole backup/],
      bomb: [zstdCompressSync(headerFor('secret-key', 8 * GIB - 1)), /larger than any file of a backup/],
      large: [
        zstdCompressSync(Buffer.concat([headerFor('secret-key', GIB), Buffer.alloc(64 * 1_048_576)])),
        /cannot be unpacked|too small for the backup/,
      ],
    };
    mkdirSync(restored);
    const folder = readdirSync(join(restored, '..')).sort();
    const there = readdirSync(backups).sort();
    const waiting = Object.entries(cases);
    const judge = async (place: string) => {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
        const [name, [archive, says]] = next;
        const file = join(backups, name);
        writeFileSync(file, archive);
        const refused = await launchAdmin(['restore', file], place).exited;
        expectOneLine(refused, says);
        expect({ name, left: readdirSync(place) }).toEqual({ name, left: ['lock'] });
      }
    };
    await Promise.all([judge(restored), judge(`${restored}-too`), judge(`${restored}-as-well`)]);
    const places = ['restored-as-well', 'restored-too'];
    expect(readdirSync(join(restored, '..')).sort()).toEqual([...folder, ...places].sort());
    expect(readdirSync(backups).sort()).toEqual([...there, ...Object.keys(cases)].sort());

    writeFileSync(join(restored, 'notes.restored'), 'mine');
    expectOneLine(
      await launchAdmin(['restore', good], restored).exited,
      /not empty: it has "notes\.restored"/,
    );
    expect(readFileSync(join(restored, 'notes.restored'), 'utf8')).toBe('mine');
    expectOneLine(await launchAdmin(['restore', join(backups, 'none')], restored).exited, /is not a file/);
    mkdirSync(join(`${restored}-too`, 'lost+found'));
    expect((await admin(['restore', good], `${restored}-too`)).code).toBe(0);
  });
});
