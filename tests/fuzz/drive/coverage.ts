import { readFileSync } from 'node:fs';
import { Session } from 'node:inspector/promises';
import { relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
/** What an operation goes through. */
const WATCHED = ['src/graphql', 'src/http'];

interface Range {
  readonly startOffset: number;
  readonly endOffset: number;
  readonly count: number;
}

/** Which characters of a file were run: of ranges inside one another the smallest counts. */
function runCharacters(length: number, ranges: readonly Range[]): Uint8Array {
  const run = new Uint8Array(length).fill(1);
  const outermostFirst = [...ranges].sort(
    (a, b) => b.endOffset - b.startOffset - (a.endOffset - a.startOffset),
  );
  for (const { startOffset, endOffset, count } of outermostFirst)
    run.fill(count > 0 ? 1 : 0, startOffset, endOffset);
  return run;
}

/** The numbers of lines of which nothing was run. Brackets alone, and comments, are no reason to name one. */
function missedLines(text: string, run: Uint8Array): number[] {
  const missed: number[] = [];
  let offset = 0;
  for (const [index, line] of text.split('\n').entries()) {
    const first = line.search(/\S/);
    const says = /\w/.test(line) && !/^\s*(\/\/|\/?\*)/.test(line);
    if (says && !run.subarray(offset + first, offset + line.trimEnd().length).includes(1))
      missed.push(index + 1);
    offset += line.length + 1;
  }
  return missed;
}

/** `3-5, 9` for 3, 4, 5 and 9. */
function intervals(numbers: readonly number[]): string {
  const spans: [from: number, to: number][] = [];
  for (const number of numbers) {
    const last = spans.at(-1);
    if (last?.[1] === number - 1) last[1] = number;
    else spans.push([number, number]);
  }
  return spans.map(([from, to]) => (from === to ? `${from}` : `${from}-${to}`)).join(', ');
}

/**
 * Starts to note what of the service's code is run, before that is imported. The function that comes back tells which
 * lines were not, a file a line. Node leaves types out by writing spaces over them: places in the text are those of V8.
 */
export async function watchCoverage(): Promise<() => Promise<string>> {
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
  return async () => {
    const { result } = await session.post('Profiler.takePreciseCoverage');
    session.disconnect();
    const lines: string[] = [];
    for (const { url, functions } of result) {
      if (!url.startsWith('file:')) continue;
      const path = relative(ROOT, fileURLToPath(url)).split(sep).join('/');
      if (!WATCHED.some((folder) => path.startsWith(`${folder}/`))) continue;
      const text = readFileSync(fileURLToPath(url), 'utf8');
      const run = runCharacters(
        text.length,
        functions.flatMap(({ ranges }) => ranges),
      );
      const missed = missedLines(text, run);
      if (missed.length > 0) lines.push(`  ${path}: ${intervals(missed)}`);
    }
    return `Lines that no operation reached:\n${lines.sort().join('\n')}`;
  };
}
