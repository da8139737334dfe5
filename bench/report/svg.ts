import { figure } from './markdown.ts';

/** A bar of a chart: bars of a group stand together under its name. */
export interface Bar {
  readonly group: string;
  readonly label: string;
  readonly value: number;
}

export interface ChartOptions {
  readonly title: string;
  readonly bars: readonly Bar[];
  /** What a value is followed by. */
  readonly unit: string;
  /** Longer bars are cut off, with their value beside them; by default none is. */
  readonly longest?: number;
}

const WIDTH = 760;
const LABEL_WIDTH = 170;
const VALUE_WIDTH = 110;
const BAR_HEIGHT = 16;
const LINE = 24;
const GROUP_GAP = 14;
const TOP = 48;
const TEXT_DROP = 12.5;

/** Readable on light and on dark pages: an image in Markdown does not know the page that it is on, only the system. */
const STYLE = `text { font: 13px system-ui, sans-serif; fill: #1f2328 }
.title { font-weight: 600; font-size: 15px } .group { font-weight: 600 } .value { font-variant-numeric: tabular-nums }
rect { fill: #0969da } .page { fill: #ffffff } .cut { fill: #ffffff }
@media (prefers-color-scheme: dark) { text { fill: #e6edf3 } rect { fill: #58a6ff } .page { fill: #0d1117 } .cut { fill: #0d1117 } }`;

const ESCAPES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };
export const escaped = (text: string) => text.replaceAll(/[&<>]/g, (character) => ESCAPES[character] ?? '');

export interface Place {
  readonly x: number;
  readonly y: number;
  readonly kind?: string;
}

export const text = (content: string, { x, y, kind = '' }: Place) =>
  `<text x="${x}" y="${y.toFixed(1)}"${kind === '' ? '' : ` class="${kind}"`}>${escaped(content)}</text>`;

export const rect = (x: number, y: number, width: number, height: number, kind = '') =>
  `<rect x="${x.toFixed(1)}" y="${y.toFixed(1)}" width="${width.toFixed(1)}" height="${height.toFixed(1)}"${kind === '' ? '' : ` class="${kind}"`}/>`;

/** Horizontal bars, as a file of its own without scripts. */
export function barChart({ title, bars, unit, longest = Number.POSITIVE_INFINITY }: ChartOptions): string {
  const scale = Math.min(longest, Math.max(...bars.map(({ value }) => value)));
  const room = WIDTH - LABEL_WIDTH - VALUE_WIDTH;
  const parts: string[] = [];
  let y = TOP;
  let group: string | undefined;
  for (const bar of bars) {
    if (bar.group !== group) {
      if (group !== undefined) y += GROUP_GAP;
      group = bar.group;
      parts.push(text(group, { x: 12, y: y + TEXT_DROP, kind: 'group' }));
      y += LINE;
    }
    const width = (room * Math.min(bar.value, scale)) / scale;
    const value = `${figure(bar.value)} ${unit}`;
    parts.push(text(bar.label, { x: 12, y: y + TEXT_DROP }));
    parts.push(rect(LABEL_WIDTH, y, width, BAR_HEIGHT));
    // A gap near the end says that the bar would be longer.
    if (bar.value > scale) parts.push(rect(LABEL_WIDTH + width - 20, y, 6, BAR_HEIGHT, 'cut'));
    parts.push(text(value, { x: LABEL_WIDTH + width + 8, y: y + TEXT_DROP, kind: 'value' }));
    y += LINE;
  }
  const height = y + GROUP_GAP;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}" role="img">`,
    `<title>${escaped(title)}</title>`,
    `<style>${STYLE}</style>`,
    rect(0, 0, WIDTH, height, 'page'),
    text(title, { x: 12, y: 26, kind: 'title' }),
    ...parts,
    '</svg>\n',
  ].join('\n');
}
