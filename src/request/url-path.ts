import { remember } from '../platform/remember.ts';

const pathWithout = remember((address) => {
  const start = address.indexOf('/', address.indexOf('://') + 3);
  return start < 0 ? '/' : address.slice(start);
});

/**
 * The path of an absolute URL, without a full parse. What follows it may be a secret and is never remembered.
 */
export function pathOf(url: string): string {
  const end = url.search(/[?#]/);
  return pathWithout(end < 0 ? url : url.slice(0, end));
}
