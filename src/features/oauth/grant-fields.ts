import { audit } from '../../auth/audit.ts';
import { formatColumns, statement } from '../../database/statement.ts';
import { principalOf, unitOfWorkOf } from '../../engine/core/context.ts';
import { parseId } from '../../engine/core/input.ts';
import { type OAuthGrant, oauthGrants } from '../../generated/tables.ts';
import { ownAccount } from '../../schema/account/service.ts';
import { ownList } from '../../schema/account/type.ts';
import type { DefineFields } from '../feature.ts';
import { revokeOAuthGrant } from './grants.ts';

interface OAuthGrantRow extends OAuthGrant {
  readonly clientName: string;
}

const GRANTS = statement<OAuthGrantRow>(
  'account_oauth_grants',
  `SELECT ${formatColumns(oauthGrants, 'g')}, c.name AS "clientName"
   FROM oauth_grants g JOIN oauth_clients c ON c.id = g.client_id
   WHERE g.user_id = ANY($1::uuid[]) ORDER BY g.created_at DESC, g.id DESC LIMIT $2`,
);

export const defineGrantFields: DefineFields = ({ builder }, { User }, { account: { maxListed } }) => {
  const OAuthGrant = builder.objectRef<OAuthGrantRow>('OAuthGrant').implement({
    description: 'An account’s permission for an OAuth client. Visible only to its owner.',
    fields: (t) => ({
      id: t.exposeID('id', { description: 'A UUIDv7 that never changes.' }),
      clientId: t.exposeID('clientId', { description: 'The `client_id` of the client.' }),
      clientName: t.exposeString('clientName', { description: 'The client’s name.' }),
      scopes: t.exposeStringList('scopes', {
        description: 'The scopes granted. They never exceed what the account may do.',
      }),
      createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the grant was created.' }),
      lastUsedAt: t.expose('lastUsedAt', {
        type: 'DateTime',
        nullable: true,
        description: 'When the client last acted for the account, to the minute; null if never.',
      }),
    }),
  });

  builder.objectFields(User, (t) => ({
    oauthGrants: t.loadableList({
      type: OAuthGrant,
      ...ownList(GRANTS, maxListed, 'The grants to OAuth clients, newest first'),
    }),
  }));

  builder.mutationFields((t) => ({
    revokeGrant: t.boolean({
      session: true,
      locks: ownAccount,
      description:
        'Revokes a grant of the viewer’s account to an OAuth client, and every token issued under it. True if the grant existed, false if it did not. Needs a session; otherwise FORBIDDEN.',
      args: { id: t.arg.id({ required: true, description: 'The id of the grant.' }) },
      resolve: async (_root, args, context) => {
        const id = parseId(args.id);
        const { userId: account } = principalOf(context);
        const work = unitOfWorkOf(context);
        const clientId = id === undefined ? undefined : await revokeOAuthGrant(work, id, account);
        if (id === undefined || clientId === undefined) return false;
        await audit(work, 'revokeGrant', id, { account, client: clientId });
        return true;
      },
    }),
  }));
};
