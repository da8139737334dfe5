import { existsSync, readFileSync, writeFileSync } from 'node:fs';

const FILE = new URL('../results.md', import.meta.url);
const TITLE = '# Results';
/** The sections in their order: each is written by the command of its own and leaves the others as they are. */
const SECTIONS = [
  'As browsers ask',
  'Side by side',
  'Latency at half the saturation rate',
  'Compression',
  'Adversary',
  'Adversary, embedded database',
  'Probes',
  'Fan-out',
  'Groups of subscribers',
] as const;

export type Section = (typeof SECTIONS)[number];

function read(): Map<string, string> {
  if (!existsSync(FILE)) return new Map();
  const [, ...parts] = readFileSync(FILE, 'utf8').split(/^## /m);
  return new Map(
    parts.map((part) => {
      const end = part.indexOf('\n');
      return [part.slice(0, end), part.slice(end + 1).trim()];
    }),
  );
}

/** Prints a section and, unless it comes from a quick run, puts it into bench/results.md. */
export function publish(section: Section, text: string, quick: boolean): void {
  process.stdout.write(`\n## ${section}\n\n${text}\n`);
  if (quick) {
    process.stdout.write('\nA quick run: good for a look, too short to go by, not written to results.md.\n');
    return;
  }
  const all = read().set(section, text);
  const parts = SECTIONS.flatMap((name) => (all.has(name) ? [`## ${name}\n\n${all.get(name)}`] : []));
  writeFileSync(FILE, `${[TITLE, ...parts].join('\n\n')}\n`);
}

/** Says, with the time since the start, what is going on, without a place in the results. */
export function progress(text: string): void {
  process.stderr.write(`${(performance.now() / 1000).toFixed(0).padStart(4)} s  ${text}\n`);
}
