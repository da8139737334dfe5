import type { RawAnswer } from '../../support/keyed.ts';
import { textOf } from './fields.ts';
import type { Mutation, Sent } from './model.ts';
import type { Credential } from './state.ts';

/** A request as it goes out. */
export interface Posted extends Sent {
  readonly query: string;
  readonly variables: Readonly<Record<string, unknown>>;
}

/** White space, commas and comments in the document (`spaced`) make it no other operation. */
export function postedBy(
  instance: number,
  credential: Credential,
  operation: Mutation,
  spaced: boolean,
): Posted {
  const fields = operation.fields.map((field, index) => `f${index}: ${textOf(field)}`);
  const last = 'last: __typename @include(if: $last)';
  const query = `mutation ($last: Boolean!) { ${[...fields, last].join(spaced ? ',\n# and\n' : ' ')} }`;
  return { instance, credential, operation, query, variables: { last: operation.withLast } };
}

/** Requests and their answers, a few lines each. */
export function describe(posted: readonly Posted[], answers: readonly RawAnswer[]): string[] {
  return posted.map(({ instance, credential, operation, query, variables }, index) => {
    const key = operation.kind === 'mutation' ? (operation.idempotencyKey ?? 'no key') : 'a query';
    const answer = answers[index];
    const headers = `replayed ${answer?.replayed}, ${answer?.headers.get('x-ratelimit-remaining')} left`;
    const who = `${credential.kind} of account ${credential.account} (${credential.scopes.join(' ')})`;
    return `instance ${instance}, ${who}, ${key}: ${query} ${JSON.stringify(variables)}\n  -> ${answer?.status} ${answer?.text} (${headers})`;
  });
}
