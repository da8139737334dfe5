import { ContentGraphError } from 'content-graph-client';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createEdit, type Stored } from '../../../examples/web/src/forms/edit.ts';
import { tagsIn, tagText } from '../../../examples/web/src/forms/tags.ts';
import type { Unsaved } from '../../../examples/web/src/forms/unsaved.ts';
import { createHeld } from '../../../examples/web/src/live/held.ts';

type Field = 'title' | 'body';

const text = fc.constantFrom('a', 'b', 'c', 'd');
const field = fc.constantFrom<Field>('title', 'body');
const step = fc.oneof(
  fc.record({ kind: fc.constant('type'), field, text }),
  fc.record({ kind: fc.constant('other saves'), field, text }),
  fc.record({ kind: fc.constantFrom('hear', 'save', 'reload', 'discard'), field, text }),
  fc.record({ kind: fc.constantFrom('keep mine', 'take theirs'), field, text }),
);

/** A form over a service, and what its user has seen of each field. */
function startWorld() {
  let stored: Stored<Field> = { version: 1, values: { title: 'a', body: 'a' } };
  let kept: Unsaved | undefined;
  const seen = { title: new Set<string>(), body: new Set<string>() };
  const unseen: string[] = [];

  const context = {
    client: { intent: () => ({ isOpen: false, discard: () => undefined }) },
    unsaved: {
      read: () => kept,
      write: (_name: string, next: Unsaved) => {
        kept = structuredClone(next);
      },
      remove: () => {
        kept = undefined;
      },
    },
    onSignedOut: () => undefined,
    update: () => undefined,
  };
  const open = () =>
    createEdit<Field, undefined>(context, {
      name: 'post',
      stored,
      async send(changed, ifVersion) {
        if (ifVersion !== stored.version)
          throw new ContentGraphError('CONFLICT', 'It is another version.', { wasExecuted: true });
        for (const name of ['title', 'body'] as const)
          if (changed[name] !== undefined && !seen[name].has(stored.values[name])) unseen.push(name);
        stored = { version: stored.version + 1, values: { ...stored.values, ...changed } };
        return undefined;
      },
      onDone: () => undefined,
      onUnchanged: () => undefined,
      onConflict: () => undefined,
    });

  return {
    unseen,
    open,
    get stored() {
      return stored;
    },
    saveAsOther(name: Field, to: string): void {
      if (stored.values[name] === to) return;
      stored = { version: stored.version + 1, values: { ...stored.values, [name]: to } };
    },
    look(edit: ReturnType<typeof open>): void {
      for (const name of ['title', 'body'] as const) {
        seen[name].add(edit.values[name]);
        const theirs = edit.theirs.get(name);
        if (theirs !== undefined) seen[name].add(theirs);
      }
    },
  };
}

describe('an edit of what others edit too', () => {
  it('replaces nothing that its user has not seen, in any order of typing, saving, hearing and reloading', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
        const world = startWorld();
        let edit = world.open();
        world.look(edit);
        for (const { kind, field: name, text: to } of steps) {
          if (kind === 'type') edit.set(name, to);
          else if (kind === 'other saves') {
            world.saveAsOther(name, `${to} of ${world.stored.version}`);
            continue;
          } else if (kind === 'hear') edit.rebase(world.stored);
          else if (kind === 'discard') edit.discard();
          else if (kind === 'reload') edit = world.open();
          else if (kind === 'save') await edit.submit();
          else if (edit.theirs.has(name)) edit.decide(name, kind === 'keep mine' ? 'mine' : 'theirs');
          world.look(edit);
          // A page that saves hears of its own change.
          if (kind === 'save' && edit.state.kind === 'idle') edit.rebase(world.stored);
          world.look(edit);
        }
        expect(world.unseen).toEqual([]);
        edit.rebase(world.stored);
        if (!edit.isUnsaved) expect(edit.values).toEqual(world.stored.values);
      }),
      { numRuns: 500 },
    );
  });
});

describe('tags as they are typed', () => {
  it('are read as they were written, whatever is in them', () => {
    const tag = fc.string({ unit: fc.constantFrom('a', ',', '"', ' ', 'é'), minLength: 1 });
    fc.assert(
      fc.property(fc.array(tag), (tags) => {
        expect(tagsIn(tagText(tags))).toEqual(tags);
      }),
    );
    expect(tagsIn(' one,two , ,')).toEqual(['one', 'two']);
  });
});

describe('new items of a list', () => {
  it('wait until they are shown, and further pages do not', () => {
    const items = (...ids: readonly string[]) => ids.map((id) => ({ id }));
    const held = createHeld();
    expect(held.take(items('c', 'b'))).toEqual([]);
    expect(held.take(items('e', 'd', 'c', 'b'))).toEqual(items('e', 'd'));
    expect(held.take(items('e', 'd', 'c', 'b', 'a'))).toEqual([]);
    expect(held.shown).toEqual(items('c', 'b', 'a'));
    held.take(items('e', 'c', 'b', 'a'));
    expect(held.waiting).toEqual(items('e'));
    held.show();
    expect(held.shown).toEqual(items('e', 'c', 'b', 'a'));
    held.take(items('z', 'y'));
    expect(held.shown).toEqual(items('z', 'y'));
  });
});
