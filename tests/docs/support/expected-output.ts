/** What differs from run to run, and the word that stands for it. */
const VARYING: readonly (readonly [string, RegExp])[] = [
  ['id', /\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g],
  ['time', /\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g],
  ['key', /\bcga_[A-Za-z0-9]+/g],
  ['prefix', /(?<="prefix": ?")[^"]+/g],
  // Cursors and event ids.
  ['position', /\bA[\w-]{27}(?:[\w-]{8})?(?![\w-])/g],
  // Unix time.
  ['seconds', /\b[12]\d{9}\b/g],
  ['random', /(?<="(?:firstEventChecksum|kid)": ?")[\w-]+/g],
];

/** The text with each varying value named, by its kind and in the order of appearance: what was equal stays equal. */
export function withoutVarying(text: string): string {
  return VARYING.reduce(
    (result, [kind, pattern]) => {
      const seen: string[] = [];
      return result.replaceAll(pattern, (value) => {
        if (!seen.includes(value)) seen.push(value);
        return `<${kind} ${seen.indexOf(value) + 1}>`;
      });
    },
    text.replaceAll('\r', ''),
  );
}

const escaped = (text: string) => text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');

/** In a page, `…` stands for anything within a line, and a line with nothing else for any lines. */
function pattern(expected: string): string {
  return expected
    .split('\n')
    .map((line) => (line.trim() === '…' ? '[^]*?' : line.split('…').map(escaped).join('[^\n]*')))
    .join('\n');
}

/** A stream without its heartbeats, of which a slow machine sees more. The first of a multipart stream opens it. */
const withoutHeartbeats = (text: string) =>
  text
    .replaceAll('\r', '')
    .replaceAll(/^:\n\n/gm, '')
    .replaceAll(/(--graphql\ncontent-type: application\/json\n\n\{\}\n)+/g, '$1');

/** Whether the output of a block is the one that the page shows; of a stream, how it begins. */
export function isAsShown(shown: string, actual: string, isStream: boolean): boolean {
  const source = pattern(withoutVarying(shown).trim());
  const printed = withoutVarying(isStream ? withoutHeartbeats(actual) : actual).trim();
  return new RegExp(`^${source}${isStream ? '' : '$'}`).test(printed);
}
