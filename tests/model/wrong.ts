import { GraphQLError } from 'graphql';

/** An error of the contract: its code, and for an argument that is wrong which it is. */
export interface Fault {
  readonly code: string;
  readonly argument?: string;
}

/** What a field fails with. Where several things are wrong with it, any one of them may be told. */
export class Wrong extends GraphQLError {
  readonly faults: readonly Fault[];

  constructor(faults: readonly Fault[]) {
    super(faults.map(({ code }) => code).join(' or '));
    this.faults = faults;
  }
}

export const badInput = (argument: string): Fault => ({ code: 'BAD_USER_INPUT', argument });

/**
 * The faults that an error of an execution stands for. What graphql-js itself finds is wrong with an argument or a
 * condition. Throws what is a fault of the oracle.
 */
export function faultsOf({ originalError }: GraphQLError): readonly Fault[] {
  if (originalError !== undefined && !(originalError instanceof GraphQLError)) throw originalError;
  return originalError instanceof Wrong ? originalError.faults : [{ code: 'BAD_USER_INPUT' }];
}

/** Throws unless the list is empty. */
export function reject(faults: readonly Fault[]): void {
  if (faults.length > 0) throw new Wrong(faults);
}

/** Characters that show nothing (contract: schema): a string of these looks empty. */
const INVISIBLE = /^[\p{White_Space}\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]*$/u;

/** Contract section 1, the table of texts: `min` to `max` code points, no NUL and no lone surrogate. */
export function textFaults(
  argument: string,
  text: unknown,
  { max = Infinity, min = 0, visible = false }: { max?: number; min?: number; visible?: boolean },
): Fault[] {
  if (typeof text !== 'string') return [];
  const length = [...text].length;
  const good =
    length >= min &&
    length <= max &&
    !text.includes('\0') &&
    !/\p{Surrogate}/u.test(text) &&
    (!visible || !INVISIBLE.test(text));
  return good ? [] : [badInput(argument)];
}
