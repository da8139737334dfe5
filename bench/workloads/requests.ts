import type { Prepared } from '../data/service-data.ts';
import { postRequest } from '../harness/connection.ts';
import type { Requests } from '../harness/load.ts';
import type { Dialect, Workload } from '../workloads.ts';
import { GRAPHQL, MARK, POSTGRAPHILE } from './texts.ts';

/** What a load generator writes. */
export const NEW_POST = {
  title: 'A post that the bench has written',
  body: 'About five hundred characters. '.repeat(16),
};

const PAGE = { first: 20, after: null, previews: 2 };

/** Nobody is ever sent the same number twice. */
let numbers = 0;

/** The request with a number of its own each time, always as long. */
function numbered(request: Buffer): () => Buffer {
  const at = request.indexOf(MARK);
  if (at === -1 || at !== request.lastIndexOf(MARK)) throw new Error('a request has one mark');
  return () => {
    const copy = Buffer.from(request);
    numbers += 1;
    copy.write(String(numbers).padStart(MARK.length, '0'), at, 'latin1');
    return copy;
  };
}

/** Variables of the operation, and the body of the floor's request. */
function valuesOf(workload: Workload, id: string, authorId: string, dialect: Dialect): object | undefined {
  // The service knows the caller by the key; the others are told.
  const caller = dialect === 'graphql' ? {} : { authorId };
  if (workload === 'W1') return { id };
  if (workload === 'W4' || workload === 'W7') return { ...NEW_POST, ...caller };
  return workload === 'W9' ? { ...PAGE, ...caller } : undefined;
}

function textOf(workload: Workload, dialect: Exclude<Dialect, 'floor'>): string {
  if (dialect === 'graphql') return GRAPHQL[workload];
  if (workload === 'W7') throw new Error('PostGraphile has no keys of requests');
  return POSTGRAPHILE[workload];
}

/** The body of a request: what the floor's statement takes, or an operation with its variables. */
export function bodyOf(workload: Workload, dialect: Dialect, id: string, authorId: string): object {
  const values = valuesOf(workload, id, authorId, dialect);
  return dialect === 'floor' ? (values ?? {}) : { query: textOf(workload, dialect), variables: values };
}

/**
 * The requests of a workload: one for each of some users where it asks for one, a new one each time where it must not
 * have been seen, else always the same.
 */
export function requestsOf(workload: Workload, dialect: Dialect, data: Prepared): Requests {
  const isNew = workload === 'W8a' || workload === 'W8b';
  const key = workload === 'W7' ? { 'idempotency-key': `bench-${MARK}` } : {};
  const requestFor = (id: string) => {
    const body = bodyOf(workload, dialect, id, data.authorId);
    if (dialect === 'floor')
      return postRequest(isNew ? `/${workload}?text=${MARK}` : `/${workload}`, body, key);
    const credentials = dialect === 'graphql' ? { authorization: `Bearer ${data.keys[0]}` } : {};
    return postRequest('/graphql', body, { ...credentials, ...key });
  };
  if (isNew || workload === 'W7') return numbered(requestFor(''));
  return workload === 'W1' ? data.readerIds.map(requestFor) : [requestFor('')];
}
