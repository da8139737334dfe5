import { operationIn } from '../../model/execution.ts';
import { textOf } from '../../model/mutations.ts';
import type { RawResponse } from '../../support/keyed.ts';
import { who } from './cast.ts';
import { type Mutation, type Sent, storedFor } from './model.ts';
import type { Sending } from './moves.ts';
import { type Credential, knownIn, type State } from './state.ts';

/** A request as it goes out. */
export interface Posted extends Sent {
  readonly query: string;
}

/** A mutation that was sent under an Idempotency-Key. */
export type Keyed = Posted & { readonly operation: Mutation };

/** What is to be sent, with the ids and the secrets that there are now. `keyed` is what was sent before. */
export function written(state: State, keyed: readonly Keyed[], { instance, by, asked }: Sending): Posted {
  if ('fields' in asked || keyed.length === 0) {
    const fields = 'fields' in asked ? asked.fields.map((field) => textOf(field, knownIn(state))) : [];
    const idempotencyKey = 'fields' in asked && asked.slot !== undefined ? `key ${asked.slot}` : undefined;
    const plain = 'fields' in asked && asked.plain;
    const operation: Mutation = {
      kind: 'mutation',
      fields,
      withLast: fields.length === 0,
      plain,
      idempotencyKey,
    };
    return postedBy(instance, who(state, by), operation, false);
  }
  const first = keyed[keyed.length - 1 - (asked.again % keyed.length)];
  if (first === undefined) throw new Error('nothing was sent under a key');
  const { operation, credential } = first;
  const withLast = asked.change === 'variables' ? !operation.withLast : operation.withLast;
  // Now and then it is tried from another account, whose keys are its own.
  const caller = by % 5 === 4 ? who(state, by) : who(state, by, credential.account);
  return postedBy(instance, caller, { ...operation, withLast }, asked.change === 'spaces');
}

/** White space, commas and comments in the document (`spaced`) make it no other operation. */
export function postedBy(
  instance: number,
  credential: Credential,
  operation: Mutation,
  spaced: boolean,
): Posted {
  const fields = operation.fields.map((field, index) => `f${index}: ${field}`);
  const { withLast, plain } = operation;
  const last = plain ? 'last: __typename' : 'last: __typename @include(if: $last)';
  const selections = plain && !withLast ? fields : [...fields, last];
  const head = plain ? 'mutation' : 'mutation ($last: Boolean!)';
  const query = `${head} { ${selections.join(spaced ? ',\n# and\n' : ' ')}${spaced ? '\n# end\n' : ' '}}`;
  const asked = operationIn(query, plain ? {} : { last: withLast });
  return { instance, credential, operation, query, asked };
}

/** Requests and their responses, a few lines each. */
export function describe(
  posted: readonly Posted[],
  responses: readonly RawResponse[],
  before: State,
): string[] {
  return posted.flatMap((one, index) => {
    const { instance, credential, operation, query, asked } = one;
    const key = operation.kind === 'mutation' ? operation.idempotencyKey : undefined;
    const response = responses[index];
    const headers = `replayed ${response?.replayed}, ${response?.headers.get('x-ratelimit-remaining')} left`;
    const who = `${credential.kind} of account ${credential.account} (${credential.scopes.join(' ')})`;
    const stored = storedFor(before, one);
    return [
      `instance ${instance}, ${who}, ${key ?? 'no key'}: ${query} ${JSON.stringify(asked.inputs)}`,
      ...(stored === undefined ? [] : [`  stored before: ${JSON.stringify(stored)}`]),
      `  -> ${response?.status} ${response?.text} (${headers})`,
    ];
  });
}
