/** Names that an object, the language or the schema has already. */
export const HOSTILE: readonly string[] = [
  '__proto__ constructor toString hasOwnProperty valueOf prototype __typename __schema __type',
  'on if skip include fragment query id title limit first after nope Query Mutation',
  'Subscription User Post Int Boolean DateTime __Type PostConnection',
].flatMap((line) => line.split(' '));
/** Types of variables, and what is none. */
export const TYPES: readonly string[] = [
  'Int String ID Boolean Float DateTime User __TypeKind Nope __proto__',
].flatMap((line) => line.split(' '));
/** Literals of all kinds. */
export const VALUES: readonly string[] = [
  '1 | -0 | 2147483647 | 2147483648 | 1e3 | 1.5 | "text" | "" | """block""" | true | false',
  'null | "2026-01-01T00:00:00Z" | "2026-02-30" | NAME | __proto__ | [] | [1] | ["a"] | [["a"]]',
  '["a", null] | {} | {a: 1} | {__proto__: 1} | [true] | "0192f0c1-2345-7abc-8def-0123456789ab"',
].flatMap((line) => line.split(' | '));
/** Directives as they should and should not be. */
export const DIRECTIVES: readonly string[] = [
  '@skip(if: true) | @include(if: false) | @include | @skip(if: null) | @skip(if: "a")',
  '@include(if: [true]) | @skip(if: true, if: true) | @include(if: true, unless: true)',
  '@skip(unless: true) | @unknown | @defer | @deprecated | @specifiedBy(url: "a") | @oneOf',
  '@__proto__ | @constructor(if: true) | @stream',
].flatMap((line) => line.split(' | '));
