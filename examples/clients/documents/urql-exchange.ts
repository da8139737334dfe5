import { persistedExchange } from '@urql/exchange-persisted';
import type { DocumentNode } from 'graphql';

/** Reads the id that graphql-codegen has put into a document. */
async function findId(
  _query: string,
  document: DocumentNode & { __meta__?: { hash: string } },
): Promise<string> {
  if (document.__meta__ === undefined) throw new Error('Generate the documents with persistedDocuments.');
  return document.__meta__.hash;
}

/** Sends ids, and never the documents. */
export const sendIds = persistedExchange({
  enforcePersistedQueries: true,
  enableForMutation: true,
  enableForSubscriptions: true,
  generateHash: findId,
});
