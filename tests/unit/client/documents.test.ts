import fc from 'fast-check';
import { type DocumentNode, parse, print, stripIgnoredCharacters, visit } from 'graphql';
import { describe, expect, it } from 'vitest';
import { serializeDocument } from '../../../packages/client/src/documents.ts';
import { printDocument } from '../../../packages/client/src/print-document.ts';
import { PAGES } from '../../support/schema/client-texts.ts';

const DOCUMENTS = [
  ...PAGES,
  'query ($a: [Int!]! = [1, 2] @x, $b: Input = {c: null, d: "e\\n\\"", f: ENUM, i: 1.5e3, j: false}) @k(l: """block "quoted" string""") { m: n(o: {g: $a}) @include(if: $p) { ...Q @r ... on S @t { u } ... @v { w } } } fragment Q on X @y { z }',
  '{ a }',
  'subscription S { b(c: "\\u0007😀") }',
  'mutation { d(e: [], f: {}) }',
];

/** A block string as an ordinary string: both have the same value. */
const withoutBlocks = (document: DocumentNode): DocumentNode =>
  visit(document, { StringValue: (node) => ({ ...node, block: false }) });

describe('A parsed document', () => {
  it.each(DOCUMENTS)('is printed without a change of meaning: %s', (text) => {
    const document = parse(text, { noLocation: true });
    expect(print(parse(printDocument(document)))).toBe(print(withoutBlocks(document)));
  });

  it('is printed with any string as an argument', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (value) => {
        const document = parse(`{ a(b: ${JSON.stringify(value)}) }`, { noLocation: true });
        const printed = parse(printDocument(document), { noLocation: true });
        expect(stripIgnoredCharacters(print(printed))).toBe(stripIgnoredCharacters(print(document)));
      }),
    );
  });
});

describe('A document', () => {
  it('is sent as its text, or by its id', () => {
    const node = parse('{ a }');
    const typed = Object.assign(new String('{ b }'), { __meta__: { hash: 'two' } });
    expect(serializeDocument('{ c }')).toEqual({ query: '{ c }', documentId: undefined });
    expect(serializeDocument(node)).toEqual({ query: 'query{a}', documentId: undefined });
    expect(serializeDocument({ ...node, documentId: 'one' })).toEqual({
      query: 'query{a}',
      documentId: 'one',
    });
    // graphql-codegen puts the id into documents of both kinds.
    expect(serializeDocument({ ...node, __meta__: { hash: 'two' } })).toMatchObject({ documentId: 'two' });
    // gql.tada removes the definitions of a persisted document.
    const persisted = { kind: 'Document', definitions: [], documentId: 'one' };
    expect(serializeDocument(persisted)).toEqual({ query: undefined, documentId: 'one' });
    expect(serializeDocument(typed)).toEqual({ query: '{ b }', documentId: 'two' });
  });
});
