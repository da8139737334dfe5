import type * as OidcProvider from 'oidc-provider';
import type { Adapter } from 'oidc-provider';
import type { Queryable } from '../../platform/db/statement.ts';
import { isUuid } from '../../platform/uuid.ts';
import { clientMetadata, findOAuthClient } from '../records/clients.ts';
import { createRecords } from '../records/records.ts';
import { ADDRESS } from './authorization-parameters.ts';

/** The parts of the OAuth library that are used. */
export interface Library {
  readonly Provider: typeof OidcProvider.default;
  readonly errors: typeof OidcProvider.errors;
  readonly interactionPolicy: typeof OidcProvider.interactionPolicy;
}

/**
 * Loads the OAuth library on first use: it takes longer than the rest of startup. Its modules are imported
 * one by one, because its index writes to the console on Node releases that are not LTS.
 */
export async function loadLibrary(): Promise<Library> {
  const load = (file: string): Promise<unknown> => import(`oidc-provider/lib/${file}.js`);
  const [{ Provider }, errors, interactionPolicy] = (await Promise.all([
    load('provider'),
    load('helpers/errors'),
    load('helpers/interaction_policy/index'),
  ])) as [{ Provider: Library['Provider'] }, Library['errors'], Library['interactionPolicy']];
  return { Provider, errors, interactionPolicy };
}

export interface AdapterOptions {
  readonly library: Library;
  readonly database: Queryable;
  /** Called before something is used up. Throws if the request is out of time. */
  readonly settle: () => void;
}

/**
 * The library's sessions are not stored: at each request, the service's own session says who is signed in.
 */
const forgotten: Adapter = {
  upsert: async () => undefined,
  find: async () => undefined,
  findByUid: async () => undefined,
  findByUserCode: async () => undefined,
  consume: async () => undefined,
  destroy: async () => undefined,
  revokeByGrantId: async () => undefined,
};

/** The storage of the library. All methods throw DatabaseError. */
export function createAdapterFactory({
  library,
  database,
  settle,
}: AdapterOptions): (model: string) => Adapter {
  const ended = () => new library.errors.SessionNotFound('the sign-in has ended');
  return (model) => {
    if (model === 'Session') return forgotten;
    // Clients have their own table, and only the administrator creates them.
    if (model === 'Client')
      return {
        ...forgotten,
        async find(id) {
          const row = isUuid(id) ? await findOAuthClient(database, id) : undefined;
          return row && clientMetadata(row);
        },
      };
    const records = createRecords(database, model);
    return {
      ...forgotten,
      async upsert(id, payload, expiresIn = 0) {
        // A result may only update an existing sign-in. If it were inserted again, a finished sign-in could
        // finish twice.
        if (model !== 'Interaction') await records.upsert(id, payload, expiresIn);
        else if (payload.result === undefined)
          await records.upsert(id, payload, expiresIn, String(payload.params?.[ADDRESS]));
        else if (!(await records.update(id, payload, expiresIn))) throw ended();
      },
      find: records.find,
      async consume(id) {
        settle();
        // The library checks before it consumes, so two concurrent requests can both pass its check.
        if (!(await records.consume(id))) throw new library.errors.InvalidGrant('it was already used');
      },
      async destroy(id) {
        settle();
        // A sign-in that finishes twice at once would yield two codes.
        if (!(await records.destroy(id)) && model === 'Interaction') throw ended();
      },
      revokeByGrantId: records.endFamily,
    };
  };
}
