import { InvalidArgumentError } from 'commander';

/** Parses an option's value. Throws InvalidArgumentError, which Commander reports. */
export function wholeNumber(text: string): number {
  if (!/^\d{1,10}$/.test(text)) throw new InvalidArgumentError('It must be a whole number.');
  return Number(text);
}
