import { figure } from './markdown.ts';
import { escaped, rect, text } from './svg.ts';

/** Bars that stand together under a name, one for each series; undefined where a series has none. */
export interface Group {
  readonly name: string;
  readonly about: string;
  readonly values: readonly (number | undefined)[];
}

export interface GroupedChartOptions {
  readonly title: string;
  readonly subtitle: string;
  /** At most as many as there are colours. */
  readonly series: readonly string[];
  readonly groups: readonly Group[];
  /** Longer bars are cut off there, with their value beside them. */
  readonly longest: number;
  /** What the line at 1 is. */
  readonly one: string;
}

const WIDTH = 860;
const MARGIN = 16;
const BARS_LEFT = 186;
const BARS_RIGHT = WIDTH - 62;
const BAR = 12;
const PITCH = 15;
const GROUP_GAP = 16;
const TITLE_Y = 28;
const SUBTITLE_Y = 48;
const LEGEND_Y = 74;
const LEGEND_GAP = 28;
/** About what a character of 13 pixels takes. */
const CHARACTER = 7;
const TICKS_Y = 104;
const TOP = 116;
const CUT = { from: 26, width: 5 };

/**
 * Readable on light and on dark pages: an image in Markdown does not know the page that it is on, only the system. The
 * rim of a value keeps lines behind it from crossing it out.
 */
const STYLE = `text { font: 13px system-ui, -apple-system, 'Segoe UI', sans-serif; fill: #1f2328 }
.title { font-weight: 600; font-size: 16px } .name { font-weight: 600 }
.muted, .tick { fill: #59636e; font-size: 12px } .tick { text-anchor: middle }
.value { font-size: 11.5px; font-variant-numeric: tabular-nums; paint-order: stroke; stroke: #ffffff; stroke-width: 4px }
.own { font-weight: 600 }
.page { fill: #ffffff } .grid { stroke: #d1d9e0 } .one { stroke: #59636e; stroke-dasharray: 4 3 }
.s0 { fill: #0969da } .s1 { fill: #cf5b0e } .s2 { fill: #f0ab78 } .s3 { fill: #9198a1 }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 } .muted, .tick { fill: #9198a1 } .value { stroke: #0d1117 }
.page { fill: #0d1117 } .grid { stroke: #30363d } .one { stroke: #9198a1 }
.s0 { fill: #4493f8 } .s1 { fill: #f0883e } .s2 { fill: #a8622b } .s3 { fill: #656c76 } }`;

const line = (x: number, from: number, to: number, kind: string) =>
  `<line x1="${x.toFixed(1)}" x2="${x.toFixed(1)}" y1="${from}" y2="${to}" class="${kind}"/>`;

/** A step between lines that leaves about eight of them. */
function stepOf(longest: number): number {
  return [0.1, 0.2, 0.25, 0.5, 1, 2, 5].find((step) => longest / step <= 8.5) ?? 10;
}

function legend(series: readonly string[]): string[] {
  let x = MARGIN;
  return series.flatMap((name, index) => {
    const parts = [
      rect(x, LEGEND_Y - 10, 12, 12, `s${index}`),
      text(name, { x: x + 18, y: LEGEND_Y, kind: index === 0 ? 'own' : '' }),
    ];
    x += 18 + name.length * CHARACTER + LEGEND_GAP;
    return parts;
  });
}

/** Horizontal bars in groups, over a scale that begins at 0, as a file of its own without scripts. */
export function groupedChart({ title, subtitle, series, groups, longest, one }: GroupedChartOptions): string {
  const scale = (BARS_RIGHT - BARS_LEFT) / longest;
  const groupHeight = series.length * PITCH + GROUP_GAP;
  const bottom = TOP + groups.length * groupHeight - GROUP_GAP + 8;
  const height = bottom + 18;
  const step = stepOf(longest);
  const grid: string[] = [];
  for (let tick = 0; tick <= longest + step / 1000; tick += step) {
    const x = BARS_LEFT + tick * scale;
    const isOne = Math.abs(tick - 1) < step / 1000;
    grid.push(line(x, TICKS_Y + 6, bottom, isOne ? 'one' : 'grid'));
    const label = String(Number(tick.toFixed(2)));
    grid.push(text(isOne ? `${one} = 1` : label, { x, y: TICKS_Y, kind: 'tick' }));
  }
  const values: string[] = [];
  const bars: string[] = [];
  for (const [place, group] of groups.entries()) {
    const top = TOP + place * groupHeight;
    const middle = top + (series.length * PITCH) / 2;
    grid.push(text(group.name, { x: MARGIN, y: middle - 3, kind: 'name' }));
    grid.push(text(group.about, { x: MARGIN, y: middle + 13, kind: 'muted' }));
    for (const [index, value] of group.values.entries()) {
      const y = top + index * PITCH;
      const width = value === undefined ? 0 : Math.min(value, longest) * scale;
      bars.push(rect(BARS_LEFT, y, width, BAR, `s${index}`));
      // A gap near the end says that the bar would be longer.
      if (value !== undefined && value > longest)
        bars.push(rect(BARS_LEFT + width - CUT.from, y, CUT.width, BAR, 'page'));
      const kind = index === 0 ? 'value own' : 'value';
      values.push(text(figure(value), { x: BARS_LEFT + width + 6, y: y + 10, kind }));
    }
  }
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}" role="img">`,
    `<title>${escaped(`${title}: ${subtitle}`)}</title>`,
    `<style>${STYLE}</style>`,
    rect(0, 0, WIDTH, height, 'page'),
    text(title, { x: MARGIN, y: TITLE_Y, kind: 'title' }),
    text(subtitle, { x: MARGIN, y: SUBTITLE_Y, kind: 'muted' }),
    ...legend(series),
    ...grid,
    // Below the bars: the rim of a value would eat into those next to it.
    ...values,
    ...bars,
    '</svg>\n',
  ].join('\n');
}
