import { beforeAll, describe, expect, it } from 'vitest';
import type { RequestFieldName } from '../../../src/platform/request-fields.ts';
import { useApp } from '../../support/app.ts';
import { visitor } from '../../support/credentials/session.ts';
import { postsNamed } from '../../support/keyed.ts';
import {
  CORS_ORIGIN,
  FIELD_CASES,
  type FieldValues,
  fieldValues,
  type LinesRequest,
  type LinesResponse,
  MUTATION,
  requestWith,
} from '../../support/request-fields.ts';
import { useSocket } from '../../support/socket.ts';

const app = useApp({ settings: { CORS_ORIGINS: CORS_ORIGIN } });
const socket = useSocket(app);
let values: FieldValues;

async function send({ method, target, lines, body = '' }: LinesRequest): Promise<LinesResponse> {
  const sent = method === 'POST' ? body : '';
  const host = lines.some(([name]) => name === 'host') ? [] : [['host', 'localhost'] as const];
  const all = [...host, ...lines, ['content-length', String(sent.length)], ['connection', 'close']] as const;
  const head = [`${method} ${target} HTTP/1.1`, ...all.map((line) => line.join(': '))];
  const [top = '', ...rest] = (await socket.send(`${head.join('\r\n')}\r\n\r\n${sent}`)).split('\r\n\r\n');
  const [status = '', ...fields] = top.split('\r\n');
  const headers = fields.map((field) => {
    const at = field.indexOf(':');
    return [field.slice(0, at).toLowerCase(), field.slice(at + 1).trim()];
  });
  return { status: Number(status.split(' ')[1]), headers: Object.fromEntries(headers), body: rest.join('') };
}

beforeAll(async () => {
  values = await fieldValues(await visitor(app, {}), send);
});

describe('several lines of a request field', () => {
  it.each(Object.keys(FIELD_CASES) as RequestFieldName[])(
    'mean what REQUEST_FIELDS says: %s',
    async (name) => {
      expect(await send(requestWith(name, values))).toMatchObject(FIELD_CASES[name].expected);
    },
  );

  it.each(['K', '"K"', 'K, L'])('never give a mutation another key: %s', async (key) => {
    const { key: apiKey } = await app.account();
    const title = `twice ${key}`;
    const keyed = (lines: readonly string[]) =>
      send({
        method: 'POST',
        target: '/graphql',
        lines: [
          ['content-type', 'application/json'],
          ['authorization', `Bearer ${apiKey}`],
          ...lines.map((line) => ['idempotency-key', line] as const),
        ],
        body: JSON.stringify({ query: MUTATION.replace('"t"', JSON.stringify(title)) }),
      });
    expect((await keyed([key, key])).status).toBe(400);
    expect(await postsNamed(app, title)).toBe(0);
  });
});
