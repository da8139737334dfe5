import { chmod, mkdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { findDataDirProblem, freeBytes } from '../../src/database/embedded/data-dir.ts';
import { mountedDisk } from '../support/processes/mounted.ts';
import { temporaryFolder } from '../support/processes/process.ts';

const MIB = 1_048_576;

describe('findDataDirProblem', () => {
  it('is none on a folder with room', async () => {
    const dataDir = await temporaryFolder();
    await mkdir(join(dataDir, 'postgres'));
    expect(findDataDirProblem(dataDir)).toBeUndefined();
  });

  it('says that the data has gone: a folder without them, or none at all', async () => {
    const dataDir = await temporaryFolder();
    const gone = {
      reason: expect.stringMatching(/^the data of DATA_DIR ".*" has gone$/),
      hint: expect.stringMatching(/^mount its disk or put the folder back/),
    };
    expect(findDataDirProblem(dataDir)).toEqual(gone);
    await mkdir(join(dataDir, 'postgres'));
    await rename(dataDir, `${dataDir}.away`);
    expect(findDataDirProblem(dataDir)).toEqual(gone);
    await rename(`${dataDir}.away`, dataDir);
    expect(findDataDirProblem(dataDir)).toBeUndefined();
  });

  it('says how little is left once it is less than 16 MiB', async () => {
    const { folder } = await mountedDisk(20);
    await mkdir(join(folder, 'postgres'));
    expect(freeBytes(folder)).toBe(20 * MIB);
    expect(findDataDirProblem(folder)).toBeUndefined();
    await writeFile(join(folder, 'much'), Buffer.alloc(4 * MIB));
    expect(findDataDirProblem(folder)).toBeUndefined();
    await writeFile(join(folder, 'more'), 'x');
    expect(findDataDirProblem(folder)).toEqual({
      reason: `the disk of DATA_DIR "${folder}" has 15 MiB left`,
      hint: expect.stringMatching(/^free some space/),
    });
  });

  it('says that the file system has become read-only', async () => {
    const disk = await mountedDisk(20);
    await mkdir(join(disk.folder, 'postgres'));
    disk.makeReadOnly();
    expect(findDataDirProblem(disk.folder)).toEqual({
      reason: expect.stringMatching(/^DATA_DIR ".*" cannot be used: EROFS/),
      hint: expect.stringMatching(/^its file system is read-only/),
    });
  });

  it.skipIf(process.geteuid?.() === 0)('says that the user has lost the right to write', async () => {
    const dataDir = await temporaryFolder();
    await mkdir(join(dataDir, 'postgres'), { mode: 0o500 });
    expect(findDataDirProblem(dataDir)?.hint).toMatch(/^give the user of the service the right to write/);
    await chmod(join(dataDir, 'postgres'), 0o700);
  });
});
