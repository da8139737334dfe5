import {
  buildClientSchema,
  type GraphQLArgument,
  type GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLSchema,
  getIntrospectionQuery,
  getNamedType,
  isCompositeType,
  isObjectType,
  isRequiredArgument,
} from 'graphql';
import type { TestApp } from '../app.ts';
import { dataOf } from '../rejection.ts';

/** One field of the schema, and the way to it from a root. */
export interface SchemaField {
  readonly coordinate: string;
  readonly operation: 'query' | 'mutation' | 'subscription';
  readonly type: GraphQLOutputType;
  readonly args: readonly GraphQLArgument[];
  /** The operation that asks for this field alone. `call` stands between its parentheses, `selection` after them. */
  readonly document: (parts: { variables?: string; call?: string; selection?: string }) => string;
}

/** The schema as the service itself tells it. */
export async function introspect(app: TestApp, key: string): Promise<GraphQLSchema> {
  return buildClientSchema(dataOf(await app.gql(getIntrospectionQuery(), { key })));
}

/**
 * Every field of every object type that can be reached from a root, by the shortest way. `ids` gives what the
 * required `id` of a root field on the way is to be, by the field's coordinate.
 */
export function fieldsOf(schema: GraphQLSchema, ids: Readonly<Record<string, string>>): SchemaField[] {
  const fields: SchemaField[] = [];
  for (const operation of ['query', 'mutation', 'subscription'] as const) {
    const root = schema.getRootType(operation as never);
    if (root == null) continue;
    const seen = new Set<GraphQLObjectType>([root]);
    const queue: { type: GraphQLObjectType; path: readonly string[] }[] = [{ type: root, path: [] }];
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      const { type, path } = next;
      for (const field of Object.values(type.getFields())) {
        const coordinate = `${type.name}.${field.name}`;
        const target = getNamedType(field.type);
        const leaf = isCompositeType(target) ? '{ __typename }' : '';
        fields.push({
          coordinate,
          operation,
          type: field.type,
          args: field.args,
          document: ({ variables = '', call = '', selection = leaf }) => {
            const own = `${field.name}${call === '' ? '' : `(${call})`} ${selection}`;
            const inner = path.reduceRight((inside, step) => `${step} { ${inside} }`, own);
            return `${operation}${variables === '' ? '' : ` (${variables})`} { ${inner} }`;
          },
        });
        const step = stepThrough(coordinate, field.name, field.args, ids);
        // What a mutation returns is reached by queries: going through one would write each time.
        if (operation === 'mutation' || step === undefined || !isObjectType(target) || seen.has(target))
          continue;
        seen.add(target);
        queue.push({ type: target, path: [...path, step] });
      }
    }
  }
  return fields;
}

function stepThrough(
  coordinate: string,
  name: string,
  args: readonly GraphQLArgument[],
  ids: Readonly<Record<string, string>>,
): string | undefined {
  if (!args.some(isRequiredArgument)) return name;
  const id = ids[coordinate];
  return id === undefined ? undefined : `${name}(id: ${JSON.stringify(id)})`;
}
