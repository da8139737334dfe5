import { type Queryable, statement } from '../platform/db/statement.ts';
import type { DocumentPolicy } from './policy.ts';

/** A text that a client sends. */
export interface TextUse {
  /** The id of an API key or OAuth client, or the kind of credentials. */
  readonly client: string;
  readonly clientName: string | null;
  /** The kind of its credentials. */
  readonly kind: string;
  readonly operationName: string | null;
  /** SHA-256 of the text without what GraphQL ignores; null for the texts of a client beyond the most that are kept. */
  readonly digest: string | null;
  /** The first policy that refuses it. */
  readonly refusedBy: 'listed' | 'required';
  readonly count: number;
  readonly firstUsedAt: Date;
  readonly lastUsedAt: Date;
}

const list = (clientNames: readonly string[]) =>
  statement<TextUse>(
    'text_uses_list',
    `SELECT u.client, n.name AS "clientName", u.kind, u.operation_name AS "operationName",
       nullif(encode(u.digest, 'hex'), '') AS digest, CASE WHEN p.published THEN 'required' ELSE 'listed' END AS "refusedBy",
       u.count::float8 AS count, u.first_used_at AS "firstUsedAt", u.last_used_at AS "lastUsedAt"
     FROM text_uses u LEFT JOIN (${clientNames.join(' UNION ALL ')}) n ON n.id = u.client
     CROSS JOIN LATERAL (SELECT EXISTS (
       SELECT FROM trusted_documents d JOIN document_publications p ON p.document_id = d.id WHERE d.digest = u.digest
     ) AS published) p
     WHERE $1 OR NOT p.published ORDER BY u.last_used_at DESC, u.client, u.digest`,
  );

/**
 * The texts that clients send and the step after a policy would refuse, the last used first. As far as instances have stored
 * them, which they do every 10 s. Throws DatabaseError.
 */
export const listTextUses = (
  db: Queryable,
  policy: DocumentPolicy,
  clientNames: readonly string[],
): Promise<TextUse[]> => db.query(list(clientNames), [policy === 'listed' || policy === 'required']);
