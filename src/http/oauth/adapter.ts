import type { Adapter, AdapterPayload } from 'oidc-provider';
import { findOAuthClient } from '../../auth/oauth/clients.ts';
import { createRecords } from '../../auth/oauth/records.ts';
import type { Queryable } from '../../platform/db/statement.ts';
import { isUuid } from '../../platform/uuid.ts';
import { ADDRESS } from './authorization-parameters.ts';
import { clientMetadata } from './client-metadata.ts';
import type { Library } from './library.ts';

export interface AdapterOptions {
  readonly library: Library;
  readonly database: Queryable;
}

/** Clients have a table of their own and are made by the administrator, never here. */
function clientAdapter({ database }: AdapterOptions): Pick<Adapter, 'find'> {
  return {
    async find(id) {
      const row = isUuid(id) ? await findOAuthClient(database, id) : undefined;
      return row && clientMetadata(row);
    },
  };
}

/** The library's own sessions are not kept: who is signed in is what the service's session says, at each request. */
const forgotten: Adapter = {
  upsert: async () => undefined,
  find: async () => undefined,
  findByUid: async () => undefined,
  findByUserCode: async () => undefined,
  consume: async () => undefined,
  destroy: async () => undefined,
  revokeByGrantId: async () => undefined,
};

/** Where the library keeps what it has to remember. Everything throws DatabaseError. */
export function createAdapterFactory(options: AdapterOptions): (model: string) => Adapter {
  const { library, database } = options;
  const ended = () => new library.errors.SessionNotFound('the sign-in has ended');
  return (model) => {
    if (model === 'Session') return forgotten;
    if (model === 'Client') return { ...forgotten, ...clientAdapter(options) };
    const records = createRecords(database, model);
    return {
      ...forgotten,
      async upsert(id, payload, expiresIn = 0) {
        // What came of a sign-in is added to it while it lasts: written anew, it could be gone to its end again.
        if (model !== 'Interaction') await records.upsert(id, payload, expiresIn);
        else if (payload.result === undefined)
          await records.insertFrom(String(payload.params?.[ADDRESS]), id, payload, expiresIn);
        else if (!(await records.update(id, payload, expiresIn))) throw ended();
      },
      find: (id) => records.find(id) as Promise<AdapterPayload | undefined>,
      async consume(id) {
        // The library looks and then consumes: of two at once both would have looked before either came this far.
        if (!(await records.consume(id))) throw new library.errors.InvalidGrant('it was used already');
      },
      async destroy(id) {
        // A sign-in that came to its end twice at once would give two codes.
        if (!(await records.destroy(id)) && model === 'Interaction') throw ended();
      },
      revokeByGrantId: records.endFamily,
    };
  };
}
