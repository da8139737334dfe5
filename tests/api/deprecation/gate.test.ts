import { printSchema } from 'graphql';
import { expect, it } from 'vitest';
import { brokenPromises } from '../../../scripts/released/gate.ts';
import { headOf } from '../../../scripts/released/release-head.ts';
import { parseUsage } from '../../../scripts/released/usage-file.ts';
import { printedWithoutDeprecated } from '../../../scripts/released/without-deprecated.ts';
import { usageReport } from '../../../src/admin/commands/deprecation-report.ts';
import { adminCommand } from '../../support/admin-command.ts';
import { useApp } from '../../support/app.ts';
import { basic, oauthClient, postForm } from '../../support/credentials/oauth.ts';
import { withInstance } from '../../support/deprecating-instance.ts';
import { deprecatingSchema } from '../../support/schema/deprecating-schema.ts';
import { published } from '../../support/trusted-documents.ts';

const app = useApp();
const schema = deprecatingSchema();
const released = `${headOf({ version: '1.1.0', at: new Date('2026-10-06T00:00:00Z') })}${printSchema(schema)}`;
/** The schema once all of it is removed. */
const after = printedWithoutDeprecated(printSchema(schema));

/** What the check says with the report of the service, as it is sent to a file. */
async function judged(): Promise<readonly string[]> {
  const report = await usageReport(app.database, schema, undefined);
  return brokenPromises(released, after, parseUsage(JSON.stringify(report)));
}

it('a removal waits for everybody who uses it, names each, and passes once they have moved', async () => {
  const account = await app.account();
  const owner = { id: account.id };
  const create = [
    'api-key',
    'create',
    '--user',
    account.email,
    '--name',
    'nightly',
    '--scopes',
    'posts:read',
  ];
  const { json: nightly } = await adminCommand(app, create);
  const client = await oauthClient(app, {
    owner,
    name: 'Partner',
    grants: ['client_credentials'],
    scopes: ['posts:read'],
  });
  const { body: token } = await postForm(
    app,
    '/oauth/token',
    { grant_type: 'client_credentials', scope: 'posts:read' },
    basic(client),
  );
  const ofRelease = await published(app, 'query Old { posts(tag: "a") { id } }', {
    client: 'web',
    release: '3.1',
  });
  const unused = await published(app, 'query Unused { posts { body } }', { client: 'web', release: '3.0' });
  expect(await judged()).toHaveLength(3);

  await withInstance(app, schema, async (ask) => {
    const orders = {
      query: 'query ($orders: [Order!]) { chosen(orders: $orders) }',
      variables: { orders: ['OLD'] },
    };
    const statuses = [
      await ask(orders, nightly.key),
      await ask({ query: '{ chosen(choice: { label: "a" }) posts { body } }' }, token.access_token),
      await ask({ documentId: ofRelease }, nightly.key),
    ];
    expect(statuses).toEqual([200, 200, 200]);
  });
  const broken = (await judged()).join('\n');
  for (const line of [
    `nightly (${nightly.id}), api-key: once, last on 20`,
    `nightly (${nightly.id}), api-key, release 3.1: once, last on 20`,
    `Partner (${client.id}), oauth: once, last on 20`,
    `published document ${ofRelease} of web, release 3.1`,
    `published document ${unused} of web, release 3.0`,
  ])
    expect(broken).toContain(line);
  for (const element of ['Post.body', 'Query.posts(tag:)', 'Order.OLD'])
    expect(broken).toContain(`${element} was removed. It is still used by`);
  // It names no day.
  expect(broken).toContain('Choice.label was removed. Its reason names no day');

  // They have moved, and it is later.
  await app.prisma.$executeRawUnsafe(
    `UPDATE deprecated_uses SET first_used_at = '2026-09-01', last_used_at = '2026-09-01'`,
  );
  for (const release of ['3.0', '3.1'])
    await adminCommand(app, ['document', 'retire', '--client', 'web', '--release', release]);
  expect(await judged()).toEqual([expect.stringContaining('Choice.label')]);
});
