import { remember } from '../platform/remember.ts';

const pathWithout = remember((address) => {
  const start = address.indexOf('/', address.indexOf('://') + 3);
  return start < 0 ? '/' : address.slice(start);
});

/** The path of an absolute URL, without the cost of parsing it whole. What comes after it may be a secret. */
export function pathOf(url: string): string {
  const end = url.search(/[?#]/);
  return pathWithout(end < 0 ? url : url.slice(0, end));
}
