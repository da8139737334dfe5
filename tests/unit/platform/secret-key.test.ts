import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createSealer } from '../../../src/platform/sealing.ts';
import { secretKeyOf } from '../../../src/platform/secret-key.ts';

async function folder(): Promise<string> {
  const dataDir = await mkdtemp(join(tmpdir(), 'content-graph-secret-'));
  onTestFinished(() => rm(dataDir, { recursive: true, force: true }));
  return dataDir;
}

describe('secretKeyOf', () => {
  it('is the setting, where there is one', async () => {
    const dataDir = await folder();
    expect(secretKeyOf({ secretKey: 'as it is set', dataDir })).toBe('as it is set');
    await expect(stat(join(dataDir, 'secret-key'))).rejects.toThrow('ENOENT');
  });

  it('is made once otherwise, for its owner’s eyes', async () => {
    const dataDir = join(await folder(), 'not', 'there', 'yet');
    const made = secretKeyOf({ secretKey: undefined, dataDir });
    expect(made.length).toBeGreaterThan(60);
    expect(secretKeyOf({ secretKey: undefined, dataDir })).toBe(made);
    expect((await stat(join(dataDir, 'secret-key'))).mode & 0o777).toBe(0o600);
    expect(secretKeyOf({ secretKey: undefined, dataDir: await folder() })).not.toBe(made);
  });
});

describe('createSealer', () => {
  const plain = Buffer.from('what nobody else may read');
  const sealer = createSealer('a secret', 'a purpose');

  it('opens what it has sealed, and seals nothing the same twice', () => {
    const sealed = sealer.seal(plain, 'x');
    expect(sealer.open(sealed, 'x')).toEqual(plain);
    expect(Buffer.from(sealed).includes(plain)).toBe(false);
    expect(Buffer.from(sealer.seal(plain, 'x')).equals(Buffer.from(sealed))).toBe(false);
  });

  it('opens nothing that was changed, or sealed for something else', () => {
    const sealed = sealer.seal(plain, 'x');
    const changed = Uint8Array.from(sealed, (byte, index) => (index === 20 ? byte ^ 1 : byte));
    expect(() => sealer.open(changed, 'x')).toThrow();
    expect(() => sealer.open(sealed.subarray(0, -1), 'x')).toThrow();
    expect(() => sealer.open(sealed, 'y')).toThrow();
    for (const other of [createSealer('another', 'a purpose'), createSealer('a secret', 'another')]) {
      expect(() => other.open(sealed, 'x')).toThrow();
      expect(other.name).not.toBe(sealer.name);
    }
  });
});
