import { readFileSync } from 'node:fs';
import {
  buildSchema as buildFromText,
  GraphQLObjectType,
  GraphQLSchema,
  GraphQLString,
  OperationTypeNode,
} from 'graphql';
import { describe, expect, it } from 'vitest';
import { apiReference } from '../../scripts/api-docs/reference.ts';
import { API_FILE, printedReference } from '../../scripts/print-docs.ts';
import { useApp } from '../support/app.ts';

describe('docs/reference/api.md', () => {
  const service = useApp();

  it('is what the schema says and the service responds', async () => {
    const { database, fetch } = service;
    expect(
      readFileSync(API_FILE, 'utf8'),
      'docs/reference/api.md is generated: run "npm run docs:api" and look at the difference',
    ).toBe(await printedReference(database, fetch));
  });
});

describe('the reference of a schema', () => {
  const page = apiReference(
    buildFromText(`
      "Reads."
      type Query {
        "Finds pages."
        search("Which of them." filter: Filter!, "How." order: Order = NEWEST): Found
        "The old way." find: String! @deprecated(reason: "Use \`search\`.")
      }
      "What to look for."
      input Filter { "Words of the text." text: String! "At most so many." count: Int = 5 }
      "An order."
      enum Order { "New ones first." NEWEST "Old ones first." OLDEST @deprecated(reason: "Nobody asks.") }
      "A page or an image."
      union Found = Page | Image
      "A text."
      type Page { "The author of the page." author: String! "Its title." title: String! }
      "A picture."
      type Image { "Its address." url: String! }
    `),
    '# Title',
  );

  it.each([
    ['arguments', '\n- `filter`: [`Filter!`](#filter). Which of them.'],
    ['defaults of arguments', '\n- `order`: [`Order`](#order). How. Default: `NEWEST`.'],
    ['input fields', '- `text`: [`String!`](#scalars). Words of the text.'],
    ['defaults of input fields', '- `count`: [`Int`](#scalars). At most so many. Default: `5`.'],
    ['values of enums', '- `NEWEST`: New ones first.'],
    ['deprecated values', '- `OLDEST`: **Deprecated:** Nobody asks. Old ones first.'],
    ['deprecated fields', '### Query.find\n\n**Deprecated:** Use `search`.\n\nThe old way.'],
    ['members of unions', 'One of [`Page`](#page), [`Image`](#image).'],
    ['types', '\n\n[`Found`](#found).\n'],
    ['no description that repeats a name', '\n- `author`: [`String!`](#scalars)\n'],
    ['a table of contents', '\n- [Queries](#queries)\n- [Objects](#objects)\n'],
  ])('has %s', (_what, text) => {
    expect(page).toContain(text);
  });

  it('has the cost that a field declares', () => {
    const type = GraphQLString;
    const complexity = ({ limit = 20 }: { limit?: number }) => ({ field: 3, multiplier: limit });
    const item = new GraphQLObjectType({ name: 'Item', fields: { name: { type } } });
    const args = { limit: { type } };
    const fields = { items: { type: item, args, extensions: { complexity } }, one: { type: item, args } };
    const schema = new GraphQLSchema({ query: new GraphQLObjectType({ name: 'Query', fields }) });
    const [, items = '', one = ''] = apiReference(schema, '').split(/^### Query\./m);
    expect(items).toContain('3 + `limit` × selection');
    expect(one).not.toContain('selection');
  });

  it('rejects an example that belongs nowhere', () => {
    const kind = OperationTypeNode.QUERY;
    const lost = { coordinate: 'Query.gone', title: '', operation: '', kind, response: '' };
    expect(() => apiReference(buildFromText('type Query { a: Int }'), '', [lost])).toThrow('Query.gone');
  });
});
