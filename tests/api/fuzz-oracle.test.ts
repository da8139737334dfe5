import { beforeAll, describe, expect, it } from 'vitest';
import type { Case } from '../fuzz/case.ts';
import { disagreement, type ToldAnswer } from '../fuzz/oracle/agree.ts';
import { caseOf, WRITTEN } from '../fuzz/oracle/cases.ts';
import { judge } from '../fuzz/oracle/oracle.ts';
import { createWorld, type World } from '../fuzz/world.ts';
import { useApp } from '../support/app.ts';

const ACCEPT = { response: 'application/graphql-response+json', json: 'application/json' } as const;

describe('The service answers as the contract says, read by itself', () => {
  const app = useApp();
  let world: World;
  beforeAll(async () => {
    world = await createWorld(app);
  });

  async function ask(asked: Case, accepted: keyof typeof ACCEPT): Promise<ToldAnswer> {
    const { document, variables, operationName } = asked;
    const response = await app.fetch('/graphql', {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: ACCEPT[accepted],
        'x-query-cost': '1',
        ...world.headersOf(asked.caller),
      },
      body: JSON.stringify({ query: document, variables, operationName }),
    });
    const { data, errors, extensions } = (await response.json()) as ToldAnswer & {
      extensions?: { cost?: ToldAnswer['cost'] };
    };
    return { status: response.status, accepted, data, errors, cost: extensions?.cost };
  }

  it.each(WRITTEN)('$document', async (written) => {
    for (const accepted of ['response', 'json'] as const) {
      await world.refresh();
      const asked = caseOf(world, written);
      const verdict = judge(world, asked);
      const told = await ask(asked, accepted);
      if (verdict.kind === 'subscription' && verdict.refusals.length === 0) expect(told.status).toBe(406);
      else expect(disagreement(verdict, told)).toBeUndefined();
    }
  });
});
