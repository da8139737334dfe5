import { beforeAll, describe, expect, it } from 'vitest';
import type { Case } from '../../fuzz/case.ts';
import { disagreement, type ReportedResponse } from '../../fuzz/oracle/agree.ts';
import { caseOf, WRITTEN } from '../../fuzz/oracle/cases.ts';
import { judge } from '../../fuzz/oracle/oracle.ts';
import { createWorld, type World } from '../../fuzz/world.ts';
import { useApp } from '../../support/app.ts';
import { readEventStream } from '../../support/streams/event-stream.ts';

const STREAM = 'text/event-stream';
/** Of an invalid document. */
const JSON_STATUS = 400;
const ACCEPT = { response: 'application/graphql-response+json', json: 'application/json' } as const;

describe('The service answers as the contract says, which an oracle reads by itself', () => {
  const app = useApp();
  let world: World;
  beforeAll(async () => {
    world = await createWorld(app);
  });

  /** Undefined where an event stream opens. */
  async function ask(
    { document, variables, operationName, caller }: Case,
    accepted: keyof typeof ACCEPT,
    accept: string,
  ): Promise<ReportedResponse | undefined> {
    const headers = { 'content-type': 'application/json', accept, 'x-show-cost': '1' };
    const response = await app.fetch('/graphql', {
      method: 'POST',
      headers: { ...headers, ...world.headersOf(caller) },
      body: JSON.stringify({ query: document, variables, operationName }),
    });
    let { status } = response;
    let text: string;
    if (response.headers.get('content-type')?.startsWith(STREAM)) {
      const stream = readEventStream(response);
      // Only a stream that stays open begins with a position.
      if ((await stream.block())?.id !== undefined) return undefined;
      text = JSON.stringify(await stream.next());
      // The oracle knows the statuses of JSON.
      status = JSON_STATUS;
    } else text = await response.text();
    const { data, errors, extensions } = JSON.parse(text) as ReportedResponse & {
      extensions?: { cost?: ReportedResponse['cost'] };
    };
    return { status, accepted, data, errors, cost: extensions?.cost };
  }

  it.each(WRITTEN.map((written, index) => ({ ...written, index })))(
    '$document',
    async ({ index, ...written }) => {
      const asked = caseOf(world, written);
      const verdict = judge(world, asked);
      const accepted = index % 2 === 0 && verdict.kind !== 'subscription' ? 'json' : 'response';
      await world.index(asked.document);
      const accept = verdict.kind === 'subscription' ? STREAM : ACCEPT[accepted];
      const told = await ask(asked, accepted, accept);
      if (verdict.kind === 'mutation') await world.refresh();
      const opens = verdict.response === undefined && verdict.rejections.length === 0;
      if (told === undefined) expect(opens).toBe(true);
      else expect(disagreement(verdict, told)).toBeUndefined();
    },
  );
});
