import { describe, expect, it } from 'vitest';
import { adminCommand } from '../../support/admin-command.ts';
import { useApp } from '../../support/app.ts';
import { freshId, publish, published, retire } from '../../support/trusted-documents.ts';

const app = useApp();
const TEXT = 'query Mine { viewer { id } }';
const OTHER = 'query Other { viewer { name } }';

/** More than a statement takes. */
const MANY = 450;
const ids = (prefix: string) => Array.from({ length: MANY }, (_, at) => `${prefix}-${at}`);
const texts = (names: readonly string[], text = TEXT) => Object.fromEntries(names.map((id) => [id, text]));

async function listed(client: string): Promise<string[]> {
  const { json } = await adminCommand(app, ['document', 'list', '--client', client]);
  return json.map(({ id }: { id: string }) => id);
}

describe('two releases at once', () => {
  it('both have the ids that they share, in whichever order they come', async () => {
    const shared = ids('shared');
    const [one, two] = [[...shared, 'only-one'], [...shared, 'only-two'].reverse()];
    const results = await Promise.all([
      publish(app, texts(one), { client: 'at-once-1' }),
      publish(app, texts(two), { client: 'at-once-2' }),
    ]);
    for (const { json } of results) expect(json).toEqual({ published: MANY + 1, unchanged: 0, rejected: [] });
    expect((await listed('at-once-1')).sort()).toEqual([...one].sort());
    expect((await listed('at-once-2')).sort()).toEqual([...two].sort());
  });

  it('of one client count each document once', async () => {
    const shared = ids('same');
    const release = { client: 'same', release: '1' };
    const results = await Promise.all([
      publish(app, texts(shared), release),
      publish(app, texts([...shared].reverse()), release),
    ]);
    const count = (what: 'published' | 'unchanged') => results.reduce((sum, { json }) => sum + json[what], 0);
    expect([count('published'), count('unchanged')]).toEqual([MANY, MANY]);
  });

  it('with two texts for an id leave exactly one of them rejected, whole', async () => {
    for (let round = 0; round < 5; round += 1) {
      const id = freshId();
      const [one, two] = [ids(`one-${round}`), ids(`two-${round}`)];
      const clients = [`conflict-1-${round}`, `conflict-2-${round}`] as const;
      const results = await Promise.all([
        publish(app, { ...texts(one), [id]: TEXT }, { client: clients[0] }),
        publish(app, { [id]: OTHER, ...texts(two) }, { client: clients[1] }),
      ]);
      const counts = results.map(({ json }) => json.published).sort();
      expect(counts).toEqual([0, MANY + 1]);
      const loser = results.findIndex(({ json }) => json.published === 0);
      expect(results[loser]?.json.rejected).toEqual([
        { id, reason: expect.stringContaining('belongs to another document') },
      ]);
      const left = [await listed(clients[0]), await listed(clients[1])].map(({ length }) => length);
      expect(left[loser]).toBe(0);
      expect(left[1 - loser]).toBe(MANY + 1);
    }
  });
});

describe('retiring', () => {
  it('a release keeps what another one has, and leaves other clients alone', async () => {
    const both = freshId();
    const [first, second] = [freshId(), freshId()];
    await publish(app, { [both]: TEXT, [first]: TEXT }, { client: 'kept', release: '1' });
    await publish(app, { [both]: TEXT, [second]: TEXT }, { client: 'kept', release: '2' });
    await publish(app, { [first]: TEXT }, { client: 'other', release: '1' });
    expect(await retire(app, '--client', 'kept', '--release', '1')).toBe(0);
    expect((await listed('kept')).sort()).toEqual([both, second].sort());
    expect(await listed('other')).toEqual([first]);
    expect(await retire(app, '--client', 'other', '--release', '1')).toBe(1);
    expect(await retire(app, '--client', 'kept', '--release', '2')).toBe(2);
    expect(await retire(app, '--client', 'kept', '--release', '2')).toBe(0);
  });

  it('ids ends them in all releases, and leaves the others', async () => {
    const [one, two, three] = [freshId(), freshId(), freshId()];
    for (const release of ['1', '2'])
      await publish(app, texts([one, two, three]), { client: 'by-ids', release });
    expect(await retire(app, one, two, 'of-nobody')).toBe(2);
    expect(await listed('by-ids')).toEqual([three, three]);
    expect(await retire(app, one, two)).toBe(0);
  });

  it('needs ids or a release, and not both', async () => {
    const id = await published(app, TEXT, { client: 'careful', release: '1' });
    for (const what of [
      [],
      ['--release', '1'],
      [id, '--client', 'careful'],
      [id, '--client', 'careful', '--release', '1'],
    ]) {
      const retiring = adminCommand(app, ['document', 'retire', ...what]);
      await expect(retiring).rejects.toThrow(
        'error: specify what to retire: ids of documents, or --client NAME with or without --release NAME',
      );
    }
    expect(await listed('careful')).toEqual([id]);
  });

  it('without a release ends what was published without one', async () => {
    await published(app, TEXT, { client: 'nameless' });
    const named = await published(app, TEXT, { client: 'nameless', release: '1' });
    expect(await retire(app, '--client', 'nameless')).toBe(1);
    expect(await listed('nameless')).toEqual([named]);
  });

  it('beside publishing leaves each release whole or gone', async () => {
    const names = ids('beside');
    for (let round = 0; round < 3; round += 1) {
      const release = { client: 'beside', release: String(round) };
      await publish(app, texts(names), release);
      await Promise.all([
        retire(app, '--client', release.client, '--release', release.release),
        publish(app, texts([...names].reverse()), { client: 'beside-2', release: String(round) }),
      ]);
      expect(await listed('beside')).toEqual([]);
      expect(await listed('beside-2')).toHaveLength(MANY * (round + 1));
    }
  });
});
