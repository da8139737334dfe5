import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  buildASTSchema,
  type GraphQLSchema,
  Kind,
  type NameNode,
  parse,
  type TypeNode,
  visit,
} from 'graphql';
import { MODELLED } from '../model/execution.ts';

const SDL = readFileSync(join(import.meta.dirname, '../../schema.graphql'), 'utf8');
const ROOTS = new Set(['Query', 'Mutation', 'Subscription']);

const namedType = (type: TypeNode): string =>
  type.kind === Kind.NAMED_TYPE ? type.name.value : namedType(type.type);

export interface JudgedSchema {
  /** What clients see, without what the oracle knows no response to. */
  readonly schema: GraphQLSchema;
  /** The fields that were left out, such as `Post.reactions`. */
  readonly unjudged: readonly string[];
}

/**
 * The schema that documents are made from. A field that leads to a type which the oracle has not been taught is left
 * out: a new type costs nothing here until somebody wants it judged.
 */
export function judgedSchema(): JudgedSchema {
  const document = parse(SDL);
  const objects = new Set<string>();
  for (const node of document.definitions)
    if (node.kind === Kind.OBJECT_TYPE_DEFINITION) objects.add(node.name.value);
  const taught = new Set(MODELLED.map((coordinate) => coordinate.slice(0, coordinate.indexOf('.'))));
  const unjudged: string[] = [];

  function isJudged(owner: NameNode, field: NameNode, type: TypeNode): boolean {
    const coordinate = `${owner.value}.${field.value}`;
    if (MODELLED.includes(coordinate)) return true;
    // Connections, edges and payloads come to what the fields before them gave.
    if (!taught.has(owner.value)) return true;
    const judged = !ROOTS.has(owner.value) && !objects.has(namedType(type));
    if (!judged) unjudged.push(coordinate);
    return judged;
  }

  const schema = buildASTSchema(
    visit(document, {
      ObjectTypeDefinition: ({ name, fields = [], ...node }) => ({
        ...node,
        name,
        fields: fields.filter((field) => isJudged(name, field.name, field.type)),
      }),
    }),
  );
  return { schema, unjudged };
}
