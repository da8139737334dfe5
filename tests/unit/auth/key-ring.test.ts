import { describe, expect, it } from 'vitest';
import { createKeyRing } from '../../../src/oauth/tokens/signing-keys.ts';
import type { Parameter, Queryable, Statement } from '../../../src/platform/db/statement.ts';
import { createLogger } from '../../../src/platform/log.ts';
import { steppedClock } from '../../support/time/stepped-clock.ts';

interface Row {
  readonly id: string;
}

/** A table of keys whose looks can be held back: each tells what was there when it began. */
function keyTable() {
  const rows: Row[] = [];
  let held: { begun: PromiseWithResolvers<void>; released: PromiseWithResolvers<void> } | undefined;
  const database: Queryable = {
    async query<R>({ text }: Statement<R>, values: readonly Parameter[]) {
      if (text.startsWith('INSERT')) {
        const [id, publicJwk, privateKey, sealedBy, signsInMs] = values;
        rows.push({
          id: String(id),
          ...{ publicJwk: JSON.parse(String(publicJwk)), privateKey, sealedBy, started: signsInMs === 0 },
        });
        return [];
      }
      const seen = [...rows];
      const hold = held;
      held = undefined;
      hold?.begun.resolve();
      await hold?.released.promise;
      return seen as R[];
    },
  };
  return {
    rows,
    database,
    /** Holds the next look back: says when it has begun, and lets it go. */
    hold() {
      held = { begun: Promise.withResolvers(), released: Promise.withResolvers() };
      return { begun: held.begun.promise, release: held.released.resolve };
    },
  };
}

const clock = steppedClock();
const log = createLogger({ level: 'silent', pretty: false });
const config = { secretKey: 'a secret of more than thirty-two bytes', dataDir: '' };
const ringOn = ({ database }: ReturnType<typeof keyTable>) => createKeyRing({ database, config, clock, log });

describe('the keys that an instance knows', () => {
  it('include one that was made while it was already looking for another', async () => {
    const table = keyTable();
    const [here, there] = [ringOn(table), ringOn(table)];
    expect(await here.publicKey('of nobody')).toBeUndefined();
    const look = table.hold();
    const unknown = here.publicKey('of nobody');
    await look.begun;
    const { id } = await there.signer();
    const found = here.publicKey(id);
    look.release();
    expect(await unknown).toBeUndefined();
    expect(await found).toBeDefined();
  });

  it('are published from the first look on', async () => {
    const ring = ringOn(keyTable());
    const [published] = await ring.published();
    expect(published?.kid).toBe((await ring.signer()).id);
  });

  it('are one where many ask for the first, also while somebody looks for another', async () => {
    const table = keyTable();
    const ring = ringOn(table);
    expect(await ring.publicKey('of nobody')).toBeUndefined();
    const look = table.hold();
    const unknown = ring.publicKey('of nobody');
    await look.begun;
    const signers = Array.from({ length: 10 }, () => ring.signer());
    await expect.poll(() => table.rows.length).toBeGreaterThan(0);
    look.release();
    expect(await unknown).toBeUndefined();
    expect(new Set((await Promise.all(signers)).map(({ id }) => id)).size).toBe(1);
    expect(table.rows.length).toBe(1);
  });
});
