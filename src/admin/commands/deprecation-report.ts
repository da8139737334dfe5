import {
  type DocumentNode,
  type GraphQLSchema,
  Kind,
  parse,
  TypeInfo,
  visit,
  visitWithTypeInfo,
} from 'graphql';
import { type Queryable, statement } from '../../database/statement.ts';
import { listDeprecatedUsage, RETENTION_DAYS } from '../../engine/documents/deprecated-usage.ts';
import { createDeprecations } from '../../engine/documents/deprecations.ts';
import { publishedTexts } from '../../engine/documents/trusted/document-store.ts';
import { CLIENT_NAMES } from '../../features/features.ts';

interface DocumentUse {
  readonly id: string;
  readonly client: string;
  readonly release: string | null;
  /** Includes elements that this version of the schema lacks. */
  readonly elements: readonly string[];
}

const NOW = statement<{ at: Date; retainedSince: Date }>(
  'usage_report_now',
  `SELECT now() AS at, date_trunc('day', now() - interval '${RETENTION_DAYS} days', 'UTC') AS "retainedSince"`,
);

/** Finds elements that the schema lacks, because the document fits another version. */
function findUnknown(schema: GraphQLSchema, document: DocumentNode): string[] {
  const types = new TypeInfo(schema);
  const found: string[] = [];
  visit(
    document,
    visitWithTypeInfo(types, {
      Field({ name }) {
        const parent = types.getParentType();
        if (parent != null && types.getFieldDef() == null) found.push(`${parent.name}.${name.value}`);
      },
      Argument({ name }) {
        const field = types.getFieldDef();
        if (types.getDirective() == null && field != null && types.getArgument() == null)
          found.push(`${types.getParentType()?.name}.${field.name}(${name.value}:)`);
      },
    }),
  );
  return found;
}

/**
 * `since` of the result is the time from which the usage is complete.
 * @throws {DatabaseError}
 */
export async function usageReport(database: Queryable, schema: GraphQLSchema, since: Date | undefined) {
  const [now] = await database.query(NOW, []);
  if (now === undefined) throw new Error('the database has returned no row');
  const uses = await listDeprecatedUsage(database, since, CLIENT_NAMES);
  const findDeprecations = createDeprecations(schema);
  const documents: DocumentUse[] = [];
  for await (const { id, client, release, text } of publishedTexts(database)) {
    // The document was validated when it was published, so the parser needs no limits.
    const document = parse(text, { noLocation: true });
    const used = document.definitions.flatMap((node) =>
      node.kind === Kind.OPERATION_DEFINITION ? findDeprecations(document, node).named : [],
    );
    const elements = [...new Set([...used.map(({ element }) => element), ...findUnknown(schema, document)])];
    if (elements.length > 0) documents.push({ id, client, release, elements });
  }
  return {
    createdAt: now.at,
    since: since === undefined || since < now.retainedSince ? now.retainedSince : since,
    usage: uses,
    documents,
  };
}
