import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { migratedFolder } from '../support/processes/migrated-folder.ts';
import { ROOT, temporaryFolder } from '../support/processes/process.ts';
import { type AdminResult, admin } from '../support/processes/server.ts';

const GENERATED = join(ROOT, 'examples/clients/documents/generated');

interface Entry {
  readonly id: string;
  readonly text: string;
}

/** The entries of a manifest that maps ids to texts. */
async function entriesOf(manifest: string): Promise<Entry[]> {
  const texts: Record<string, string> = JSON.parse(await readFile(join(GENERATED, manifest), 'utf8'));
  return Object.entries(texts).map(([id, text]) => ({ id, text }));
}

/** Publishes a map of texts in a database of its own. */
async function publish(texts: Record<string, string>, ...options: string[]): Promise<AdminResult> {
  const dataDir = await migratedFolder();
  const file = join(await temporaryFolder(), 'manifest.json');
  await writeFile(file, JSON.stringify(texts));
  return admin(['documents', 'publish', '--client', 'web', ...options, file], dataDir);
}

const mapOf = (entries: readonly Entry[]) => Object.fromEntries(entries.map(({ id, text }) => [id, text]));

describe('a manifest', () => {
  it.each(['relay.json', 'codegen-4/persisted-documents.json'])(
    'with a document that does not fit the schema is refused, with the operation and the reason: %s',
    async (manifest) => {
      const entries = await entriesOf(manifest);
      const wrong = entries.map(({ id, text }) =>
        text.includes('postsWithTagQuery') ? { id, text: text.replace('title', 'titel') } : { id, text },
      );
      const changed = wrong.find(({ text }) => text.includes('titel'));
      const refused = [
        {
          id: changed?.id,
          reason: expect.stringMatching(/postsWithTagQuery.*Cannot query field "titel" on type "Post"/s),
        },
      ];
      const none = await publish(mapOf(wrong));
      expect(none).toMatchObject({ code: 1, json: { published: 0, unchanged: 0, refused } });
      const others = await publish(mapOf(wrong), '--partial');
      expect(others.json).toMatchObject({ published: 2, unchanged: 0, refused });
    },
  );

  it('in which an editor has left the id of an earlier text is refused', async () => {
    const entries = await entriesOf('gql-tada.json');
    const edited = entries.map(({ id, text }) => ({
      id,
      text: text.replace(/^( +)title$/m, '$1title\n$1body'),
    }));
    const { code, json } = await publish(mapOf(edited));
    expect(code).toBe(1);
    expect(json.refused.map(({ id }: Entry) => id).toSorted()).toEqual(
      entries.map(({ id }) => id).toSorted(),
    );
    // With ids that fit, nothing is wrong with the texts.
    const hashed = edited.map(({ text }) => ({
      id: `sha256:${createHash('sha256').update(text).digest('hex')}`,
      text,
    }));
    expect((await publish(mapOf(hashed))).json).toMatchObject({ published: 3, refused: [] });
  });

  it('that leads from names to ids is refused, with what to give instead', async () => {
    const { code, stdout, stderr } = await publish({
      postsWithTagQuery: '36843af98931f35285b26d50dfd23d9e',
      postsCreateMutation: '7791818a3c8e5d582bade555f11411f3',
    });
    expect(code).not.toBe(0);
    expect(stdout + stderr).toMatch(/names.*ids.*texts?/is);
  });
});
