import { type GraphQLSchema, Kind, parse } from 'graphql';
import { createDeprecations } from '../../operation/deprecations.ts';
import { type Queryable, statement } from '../../platform/db/statement.ts';
import { publishedTexts } from '../../trusted-documents/store.ts';
import { type DeprecatedUseRow, KEPT_DAYS, listDeprecatedUses } from '../deprecated-uses-store.ts';

/** A published document that uses deprecated elements. */
export interface DocumentUse {
  readonly id: string;
  readonly client: string;
  readonly release: string | null;
  readonly elements: readonly string[];
}

/** What the check of the schema needs to know of the service that clients use. */
export interface UsageReport {
  readonly at: Date;
  /** From when on its uses are complete. */
  readonly since: Date;
  readonly uses: readonly DeprecatedUseRow[];
  readonly documents: readonly DocumentUse[];
}

const NOW = statement<{ at: Date; kept: Date }>(
  'usage_report_now',
  `SELECT now() AS at, date_trunc('day', now() - interval '${KEPT_DAYS} days', 'UTC') AS kept`,
);

export interface UsageReportOptions {
  readonly database: Queryable;
  readonly schema: GraphQLSchema;
  readonly since: Date | undefined;
  /** SQL of the ids and names of clients. */
  readonly clientNames: readonly string[];
}

/** Throws DatabaseError. */
export async function usageReport(options: UsageReportOptions): Promise<UsageReport> {
  const { database, schema, since, clientNames } = options;
  const [now] = await database.query(NOW, []);
  if (now === undefined) throw new Error('the database has returned no row');
  const uses = await listDeprecatedUses(database, since, clientNames);
  const deprecationsOf = createDeprecations(schema);
  const documents: DocumentUse[] = [];
  for await (const { id, client, release, text } of publishedTexts(database)) {
    // Checked when it was published, so it has no limits here.
    const document = parse(text, { noLocation: true });
    const used = document.definitions.flatMap((node) =>
      node.kind === Kind.OPERATION_DEFINITION ? deprecationsOf(document, node).named : [],
    );
    const elements = [...new Set(used.map(({ element }) => element))];
    if (elements.length > 0) documents.push({ id, client, release, elements });
  }
  return { at: now.at, since: since === undefined || since < now.kept ? now.kept : since, uses, documents };
}
