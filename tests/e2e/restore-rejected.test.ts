import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { zstdCompressSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import {
  type BackupPart,
  launchAdmin,
  quickFolders,
  readParts,
  writeParts,
} from '../support/processes/backups.ts';
import { expectOneLine } from '../support/processes/mistakes.ts';
import { admin, startServer } from '../support/processes/server.ts';

/** The first block of a tar archive. */
function tarHeader(): Buffer {
  const header = Buffer.alloc(512);
  header.write('secret-key', 0);
  header.write('ustar\x0000', 257);
  return header;
}

describe('a restore', () => {
  it('rejects what is no complete backup, in one line, and leaves the directory empty', async () => {
    const { dataDir, backups, restored } = await quickFolders();
    const server = await startServer(dataDir);
    const good = join(backups, 'good');
    expect((await admin(['database', 'backup', good], dataDir)).code).toBe(0);
    server.kill('SIGTERM');
    await server.exited;
    const bytes = readFileSync(good);
    const parts = readParts(good).slice(0, -1);
    const [head, ...pieces] = parts as [BackupPart, ...BackupPart[]];
    const made = (changed: readonly BackupPart[]) => {
      const file = join(backups, 'made');
      writeParts(file, changed);
      return readFileSync(file);
    };
    const withHead = (change: object) => made([{ line: { ...head.line, ...change }, rows: '' }, ...pieces]);
    const text = (content: string | Buffer) => zstdCompressSync(Buffer.from(content));
    const flipped = Buffer.from(bytes);
    flipped.writeUInt8(flipped.readUInt8(bytes.length >> 1) ^ 1, bytes.length >> 1);
    const json = (value: unknown) => `${JSON.stringify(value)}\n`;
    const cases: Readonly<Record<string, readonly [Buffer, RegExp]>> = {
      cut: [bytes.subarray(0, bytes.length >> 1), /is not a complete backup/],
      endless: [text(json(head.line)), /the end of the file is missing/],
      flipped: [flipped, /is not a complete backup/],
      checksum: [
        text(`${json(head.line)}${json({ sha256: '0' })}`),
        /the content does not match the checksum/,
      ],
      additional: [Buffer.concat([bytes, text('x')]), /data follows the end|cannot be decompressed/],
      archive: [
        text(Buffer.concat([tarHeader(), Buffer.from('secret\n')])),
        /tar archive.* with version 1\.0\.0 .* restore FILE/,
      ],
      later: [
        withHead({ format: 3, version: '2.5.0' }),
        /has format 3, .* reads format 2\. .* version 2\.5\.0/,
      ],
      newer: [
        withHead({
          version: '1.7.0',
          migrations: [...head.line.migrations, { name: '20991231000000_x', checksum: '' }],
        }),
        /of version 1\.7\.0 has the migration 20991231000000_x of a newer version/,
      ],
      other: [withHead({ tables: [] }), /lacks table|has rows of table/],
      elsewhere: [withHead({ files: { '../x': 'x' } }), /the first line is not the header/],
      unlisted: [
        made([...parts, { line: { table: 'own', bytes: 2 }, rows: 'x\n' }]),
        /rows of table "own", which its list of tables lacks/,
      ],
      huge: [
        made([head, { line: { table: 'posts', bytes: 2 ** 31 }, rows: '' }]),
        /a line has an unknown format/,
      ],
      nonsense: [text('{}\n'), /the first line is not the header/],
      text: [Buffer.from('no backup at all'), /cannot be decompressed/],
      nothing: [Buffer.alloc(0), /is not a complete backup/],
    };
    mkdirSync(restored);
    for (const [name, [content, says]] of Object.entries(cases)) {
      const file = join(backups, name);
      writeFileSync(file, content);
      const rejected = await launchAdmin(['database', 'restore', file], restored).exited;
      expectOneLine(rejected, says);
      expect({ name, left: readdirSync(restored) }).toEqual({ name, left: ['lock'] });
    }

    writeFileSync(join(restored, 'notes'), 'mine');
    expectOneLine(
      await launchAdmin(['database', 'restore', good], restored).exited,
      /not empty: the directory has "notes"/,
    );
    expect(readFileSync(join(restored, 'notes'), 'utf8')).toBe('mine');
    expectOneLine(
      await launchAdmin(['database', 'restore', join(backups, 'none')], restored).exited,
      /is not a file/,
    );
    expectOneLine(
      await launchAdmin(['database', 'restore', join(backups, 'n'.repeat(300))], restored).exited,
      /^".*n" cannot be used \(ENAMETOOLONG: .*\)\. Check the permissions of the path and the disk\./,
    );
    mkdirSync(join(`${restored}-too`, 'lost+found'), { recursive: true });
    expect((await admin(['database', 'restore', good], `${restored}-too`)).code).toBe(0);
  });
});
