import { persistedExchange } from '@urql/exchange-persisted';
import { idOf } from './send.ts';

/** Sends the ids that codegen's client preset has written into the documents: queries by GET, where they fit. */
export const sendIds = persistedExchange({
  enforcePersistedQueries: true,
  enableForMutation: true,
  enableForSubscriptions: true,
  generateHash: async (_text, document) => idOf(document),
});
