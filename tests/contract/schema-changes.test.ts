import { readFileSync } from 'node:fs';
import {
  type ASTNode,
  buildSchema,
  type DefinitionNode,
  type DocumentNode,
  Kind,
  type NonNullTypeNode,
  parse,
  print,
  type TypeNode,
  visit,
} from 'graphql';
import { describe, expect, it } from 'vitest';
import { RELEASED_SCHEMA_FILE, SCHEMA_FILE, WITHOUT_DEPRECATED_FILE } from '../../scripts/print-schema.ts';
import { brokenPromises } from '../../scripts/released/gate.ts';
import { headOf } from '../../scripts/released/release-head.ts';
import { parseUsage, type Usage } from '../../scripts/released/usage-file.ts';
import { printedWithoutDeprecated } from '../../scripts/released/without-deprecated.ts';
import { deprecatedElements } from '../../src/engine/documents/deprecations.ts';

const HEAD = headOf({ version: '1.2.0', at: new Date('2027-02-01T12:00:00Z') });
const SINCE = '@deprecated(reason: "Use `a`, since 2027-01-10.")';
const BODY = `type Query { a(x: Int, y: Int ${SINCE}): Int  old: Old ${SINCE}  b(order: Order): Int }
  type Old { of: Int }  enum Order { NEW OLD ${SINCE} }  input In { x: Int  y: Int ${SINCE} }
  type Mutation { c(in: In): Int  vague: Int @deprecated(reason: "Use c.") }`;
const BEFORE = `${HEAD}${BODY}`;
const without = (...parts: readonly RegExp[]) => parts.reduce((text, part) => text.replace(part, ''), BODY);
const OLD = [/old: Old @deprecated\([^)]*\)/, /type Old \{ of: Int \}/];

const usage = (given: Partial<Usage> = {}): Usage => ({
  createdAt: new Date('2027-03-01T00:00:00Z'),
  since: new Date('2026-01-01T00:00:00Z'),
  usage: [],
  documents: [],
  ...given,
});
const use = (element: string, lastUsedAt = '2027-02-11T10:00:00Z') => ({
  ...{ element, client: 'an-id', clientName: 'reader', kind: 'api-key', release: '1.4.0', count: 2 },
  lastUsedAt: new Date(lastUsedAt),
});

describe('a change of the schema', () => {
  it.each([
    [
      'adds a field and an optional argument',
      BODY.replace('b(order: Order): Int', 'b(order: Order, z: Int): Int  c: Int'),
    ],
    ['deprecates', BODY.replace('b(order: Order): Int', 'b(order: Order): Int @deprecated')],
    ['is none', BODY],
  ])('that %s breaks nothing', (_what, after) => {
    expect(brokenPromises(BEFORE, after)).toEqual([]);
  });

  it.each<[string, string, string]>([
    ['removes a field', without(/b\(order: Order\): Int/), 'Query.b'],
    ['removes an argument', without(/x: Int, /), 'Query.a(x:)'],
    ['makes an argument required', BODY.replace('x: Int,', 'x: Int!,'), 'Query.a(x:)'],
    ['adds an argument that is required', BODY.replace('c(in: In)', 'c(in: In, id: ID!)'), 'Mutation.c(id:)'],
    ['changes a type', BODY.replace('of: Int', 'of: String'), 'Old.of'],
    ['makes an input field required', BODY.replace('input In { x: Int', 'input In { x: Int!'), 'In.x'],
  ])(
    'that %s is rejected, whatever the report says: nobody may know who needs it',
    (_what, after, element) => {
      const [broken = '', ...others] = brokenPromises(BEFORE, after, usage());
      expect(others).toEqual([]);
      expect(broken).toContain(element);
      expect(broken).toContain('nobody may know');
    },
  );

  it('that retypes what is deprecated is rejected, and names who uses it', () => {
    const after = BODY.replace('OLD', 'OLD').replace('y: Int @', 'y: String @');
    expect(brokenPromises(BEFORE, after, usage({ usage: [use('Query.a(y:)')] }))).toEqual([
      expect.stringContaining('reader (an-id), api-key, release 1.4.0: 2 times, last on 2027-02-11'),
    ]);
  });

  it.each<[string, string, string]>([
    ['a field, with the type that only it leads to', without(...OLD), 'Query.old'],
    ['an argument', without(/, y: Int @deprecated\([^)]*\)/), 'Query.a(y:)'],
    ['an enum value', without(/OLD @deprecated\([^)]*\)/), 'Order.OLD'],
    ['an input field', without(/ {2}y: Int @deprecated\([^)]*\)/), 'In.y'],
  ])(
    'that removes %s, released as deprecated, takes a report that shows it unused',
    (_what, after, element) => {
      expect(brokenPromises(BEFORE, after, usage())).toEqual([]);
      // Of before its day.
      expect(brokenPromises(BEFORE, after, usage({ usage: [use(element, '2027-01-09T23:59:59Z')] }))).toEqual(
        [],
      );
      expect(brokenPromises(BEFORE, after, usage({ usage: [use('Query.other')] }))).toEqual([]);
      const documents = [{ id: 'abc', client: 'web', release: '2.0', elements: [element] }];
      const [broken = '', ...others] = brokenPromises(
        BEFORE,
        after,
        usage({ usage: [use(element)], documents }),
      );
      expect(others).toEqual([]);
      expect(broken.split('\n')).toEqual([
        expect.stringContaining(`${element} was removed. It is still used by`),
        '  - reader (an-id), api-key, release 1.4.0: 2 times, last on 2027-02-11',
        '  - published document abc of web, release 2.0',
      ]);
    },
  );

  it.each<[string, Usage | undefined, string]>([
    ['no report', undefined, 'pass --usage FILE'],
    [
      'a report that is older than the release',
      usage({ createdAt: new Date('2027-02-01T11:59:59Z') }),
      'older than release 1.2.0',
    ],
    [
      'a report that begins too late',
      usage({ since: new Date('2027-02-20T00:00:00Z') }),
      'all uses since 2027-01-10',
    ],
  ])('that removes it is rejected with %s', (_what, report, why) => {
    expect(brokenPromises(BEFORE, without(...OLD), report)).toEqual([expect.stringContaining(why)]);
  });

  it('waits for its day, whatever is used before', () => {
    const at = new Date('2027-01-09T23:59:59Z');
    const early = `${headOf({ version: '1.2.0', at: new Date('2027-01-01T00:00:00Z') })}${BODY}`;
    expect(brokenPromises(early, without(...OLD), usage({ createdAt: at }))).toEqual([
      expect.stringContaining('It may be used until 2027-01-10'),
    ]);
  });

  it('takes along a scalar that only it used, and no type that something left still leads to', () => {
    const scalar = `${HEAD}type Query { a: Int  score: Float ${SINCE} }`;
    expect(brokenPromises(scalar, 'type Query { a: Int }', usage())).toEqual([]);
    const one = 'interface I { a: Int }  type X implements I { a: Int }  type Y implements I { a: Int }';
    const found = `${HEAD}type Query { a: Int  i: I ${SINCE} }  ${one}`;
    const withoutX = found.replace(HEAD, '').replace('type X implements I { a: Int }', '');
    expect(brokenPromises(found, withoutX, usage())).toEqual([expect.stringContaining('X was removed')]);
    expect(brokenPromises(found, 'type Query { a: Int }', usage())).toEqual([]);
  });

  it('may be shown by a report of the last 30 days, whatever was used before', () => {
    expect(
      brokenPromises(BEFORE, without(...OLD), usage({ since: new Date('2027-01-30T00:00:00Z') })),
    ).toEqual([]);
  });

  it('that removes what was deprecated for no day, or in no release, is rejected', () => {
    const vague = without(/vague: Int @deprecated\([^)]*\)/);
    expect(brokenPromises(BEFORE, vague, usage())).toEqual([expect.stringContaining('names no day')]);
    // Deprecated and removed in one step.
    expect(brokenPromises(BEFORE, without(/b\(order: Order\): Int/), usage())).toEqual([
      expect.stringContaining('Release 1.2.0 does not deprecate it'),
    ]);
  });

  it('cannot be judged by a released schema that does not say which release it is', () => {
    expect(() => brokenPromises(BODY, BODY)).toThrow('does not begin with its version');
  });
});

describe('a report', () => {
  it.each([
    '',
    'content_graph_graphql_deprecated_usage_total 1',
    '[]',
    '{"at":"2027-01-01T00:00:00Z"}',
    '{"createdAt":"x","since":"y","usage":[],"documents":[]}',
  ])('is not %j', (text) => {
    expect(() => parseUsage(text)).toThrow('deprecation report');
  });
});

type Change = 'remove' | 'retype' | 'require';

/** A type that nothing else fits. */
function changed(type: TypeNode, change: Exclude<Change, 'remove'>): TypeNode {
  if (change === 'retype') return { kind: Kind.LIST_TYPE, type };
  return { kind: Kind.NON_NULL_TYPE, type: type as Exclude<TypeNode, NonNullTypeNode> };
}

/** Every change of one kind that can be made to one element of a schema, with the schema after it. */
function* changesOf(text: string, change: Change): Generator<readonly [string, string]> {
  const document = parse(text);
  const elements: { readonly name: string; readonly node: ASTNode }[] = [];
  const note = (definition: DefinitionNode) => {
    if (!('name' in definition) || definition.name === undefined) return;
    const of = definition.name.value;
    if (!('fields' in definition) && !('values' in definition)) return;
    if ('values' in definition)
      for (const value of definition.values ?? [])
        if (change === 'remove') elements.push({ name: `${of}.${value.name.value}`, node: value });
    if (!('fields' in definition)) return;
    for (const field of definition.fields ?? []) {
      const isOutput = field.kind === Kind.FIELD_DEFINITION;
      if (change !== 'require' || !isOutput)
        elements.push({ name: `${of}.${field.name.value}`, node: field });
      if (!isOutput) continue;
      for (const arg of field.arguments ?? [])
        if (change !== 'require' || arg.type.kind !== Kind.NON_NULL_TYPE)
          elements.push({ name: `${of}.${field.name.value}(${arg.name.value}:)`, node: arg });
    }
  };
  for (const definition of document.definitions) note(definition);
  for (const { name, node } of elements) {
    const after: DocumentNode = visit(document, {
      enter(found) {
        if (found !== node) return undefined;
        return change === 'remove' || !('type' in found)
          ? null
          : { ...found, type: changed(found.type, change) };
      },
    });
    yield [name, print(after)];
  }
}

describe('the schema of the service', () => {
  const present = readFileSync(SCHEMA_FILE, 'utf8');
  const released = readFileSync(RELEASED_SCHEMA_FILE, 'utf8');

  it('is compatible with the released one', () => {
    expect(brokenPromises(released, present)).toEqual([]);
  });

  it.each<Change>(['remove', 'retype', 'require'])(
    'fails the check wherever somebody were to %s an element of it',
    (change) => {
      let tried = 0;
      for (const [name, after] of changesOf(present, change)) {
        const broken = brokenPromises(`${HEAD}${present}`, after);
        expect([name, broken.some((promise) => promise.includes(name))]).toEqual([name, true]);
        tried += 1;
      }
      expect(tried).toBeGreaterThan(20);
    },
  );

  it('has no deprecated element that names no day', () => {
    const elements = [...deprecatedElements(buildSchema(present)).values()];
    expect(elements.filter(({ since }) => since === null)).toEqual([]);
  });
});

describe('schema.without-deprecated.graphql', () => {
  it('is what the code says', () => {
    expect(readFileSync(WITHOUT_DEPRECATED_FILE, 'utf8'), 'run "npm run schema:print"').toBe(
      printedWithoutDeprecated(readFileSync(SCHEMA_FILE, 'utf8')),
    );
  });

  it('has nothing that is to go, nor what only that leads to', () => {
    const text = printedWithoutDeprecated(BODY);
    expect(text).not.toMatch(/old|Old|OLD|y:|vague|deprecated/);
    expect(text).toContain('a(x: Int): Int');
    expect(text).toContain('input In {\n  x: Int\n}');
  });
});
