import { expect, it } from 'vitest';
import { useApp } from '../support/app.ts';
import { requestToken } from '../support/streams/stream-token.ts';

const app = useApp({ settings: { DATABASE_POOL_SIZE: '4' } });
const bearer = (key: string) => ({ authorization: `Bearer ${key}` });

it('a locked account holds up neither its stream tokens nor what others ask', async () => {
  const { id, key } = await app.account();
  const other = await app.account();
  const holder = app.database.unitOfWork();
  await holder.withPrisma(
    (prisma) => prisma.$queryRaw`SELECT id FROM users WHERE id = ${id}::uuid FOR NO KEY UPDATE`,
  );
  try {
    const issued = Array.from({ length: 20 }, async () => (await requestToken(app, bearer(key))).status);
    const { status } = await app.gql('{ viewer { id } }', { key: other.key });
    expect(status).toBe(200);
    expect(await Promise.all(issued)).toEqual(Array.from({ length: 20 }, () => 200));
  } finally {
    await holder.rollback();
  }
});
