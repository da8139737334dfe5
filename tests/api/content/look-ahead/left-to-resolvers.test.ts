import { describe, expect, it } from 'vitest';
import { buildSchema } from '../../../../src/schema/schema.ts';
import { useApp } from '../../../support/app.ts';
import { leftToResolvers } from '../../../support/schema/left-to-resolvers.ts';

/** The reviewed list: why each of these fields may cost a query the one statement that answers it. */
const REVIEWED: Readonly<Record<string, string>> = {
  'User.apiKeys': 'An account’s own, in a session, a few times a day.',
  'User.sessions': 'The same.',
  'User.oauthGrants': 'The same.',
  'User.externalIdentities': 'The same.',
  'User.drafts': 'The database writes an account’s own below `viewer`, and no others.',
  'User.draftsConnection': 'The same.',
  'Query.tags': 'One statement reads all of it: a tag leads to nothing else.',
};

const TEACH =
  'The database does not answer this field: each query that selects it is left to the loaders, which take several statements. Declare its SQL (docs/contributing/recipes/computed-field.md), or add it to REVIEWED with the reason why it may.';

describe('Every field', () => {
  const app = useApp();

  it('is answered by the database, or on the reviewed list', async () => {
    const { key } = await app.account({ role: 'admin' });
    const left = await leftToResolvers(app, key, buildSchema());
    for (const [field, reason] of Object.entries(left))
      expect(field in REVIEWED, `${field}: ${reason}. ${TEACH}`).toBe(true);
    const responded = Object.keys(REVIEWED).filter((field) => !(field in left));
    expect(responded, 'The database answers these fields: take them from REVIEWED').toEqual([]);
  });
});
