import type { Profiler } from 'node:inspector/promises';
import { escaped, rect, text } from './svg.ts';

type Kind = 'service' | 'package' | 'node' | 'native';

/** Calls of a file, a package or Node, from the same callers. */
interface Frame {
  readonly kind: Kind;
  ms: number;
  readonly children: Map<string, Frame>;
}

export interface FlameGraphOptions {
  readonly title: string;
  readonly profile: Profiler.Profile;
  readonly requests: number;
}

const WIDTH = 860;
const MARGIN = 12;
const ROW = 18;
const TOP = 72;
/** Narrower frames are left out. */
const NARROWEST = 3;
/** About what a character of 11 pixels takes. */
const CHARACTER = 6.2;
/** Waiting, the loop itself, and the profiler's own doing. */
const NOT_WORK = /^\(idle\)|^\(root\)|node:inspector/;

const STYLE = `text { font: 11px system-ui, sans-serif; fill: #1f2328 }
.title { font-weight: 600; font-size: 15px } .page { fill: #ffffff } rect { stroke: #ffffff }
.service { fill: #80b6f4 } .package { fill: #f0ab78 } .node { fill: #c8ccd1 } .native { fill: #a5d6a7 }
@media (prefers-color-scheme: dark) { text { fill: #e6edf3 } .page { fill: #0d1117 } rect { stroke: #0d1117 }
.service { fill: #1f5fae } .package { fill: #9a5318 } .node { fill: #4a5159 } .native { fill: #2f6b33 } }`;

const KINDS: Readonly<Record<Kind, string>> = {
  service: 'files of src/',
  package: 'packages',
  node: 'Node',
  native: 'native: sockets, JSON, garbage collection',
};

/** What a call counts for. */
export function placeOf({ functionName, url }: Profiler.ProfileNode['callFrame']): readonly [string, Kind] {
  const [, file] = /\/src\/(.+)\.[a-z]+$/.exec(url) ?? [];
  const [, name] = /\/node_modules\/((?:@[^/]+\/)?[^/]+)\/(?!.*\/node_modules\/)/.exec(url) ?? [];
  if (name !== undefined) return [name, 'package'];
  if (file !== undefined) return [file, 'service'];
  return url === '' ? [functionName || 'native', 'native'] : ['node', 'node'];
}

/** Calls within a place are one frame. */
function framesOf({ nodes, samples = [], timeDeltas = [] }: Profiler.Profile): Frame {
  const selfMs = new Map<number, number>();
  for (const [index, id] of samples.entries())
    selfMs.set(id, (selfMs.get(id) ?? 0) + (timeDeltas[index] ?? 0) / 1000);
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const root: Frame = { kind: 'native', ms: 0, children: new Map() };
  const add = (node: Profiler.ProfileNode, path: readonly Frame[], place: string): void => {
    const { functionName, url } = node.callFrame;
    const [name, kind] = placeOf(node.callFrame);
    const parent = path.at(-1) ?? root;
    let [within, own] = [path, place];
    if (!NOT_WORK.test(`${functionName}${url}`)) {
      const known = parent.children.get(name) ?? { kind, ms: 0, children: new Map<string, Frame>() };
      if (name !== place) {
        parent.children.set(name, known);
        within = [...path, known];
      }
      own = name;
      for (const frame of [root, ...within]) frame.ms += selfMs.get(node.id) ?? 0;
    }
    for (const id of node.children ?? []) {
      const child = byId.get(id);
      if (child !== undefined) add(child, within, own);
    }
  };
  const [first] = nodes;
  if (first !== undefined) add(first, [], '');
  return root;
}

/** Frames from the outermost caller down, as a file of its own without scripts. */
export function flameGraph({ title, profile, requests }: FlameGraphOptions): string {
  const root = framesOf(profile);
  const scale = (WIDTH - 2 * MARGIN) / root.ms;
  const parts: string[] = [];
  let deepest = 0;
  const draw = (frame: Frame, x: number, depth: number): void => {
    let left = x;
    for (const [name, child] of [...frame.children].toSorted(([, a], [, b]) => b.ms - a.ms)) {
      const width = child.ms * scale;
      if (width < NARROWEST) continue;
      deepest = Math.max(deepest, depth);
      const y = TOP + depth * ROW;
      const share = `${((child.ms / root.ms) * 100).toFixed(1)} %, ${((child.ms * 1000) / requests).toFixed(1)} µs a request`;
      parts.push(`<g><title>${escaped(`${name}: ${share}`)}</title>${rect(left, y, width, ROW, child.kind)}`);
      const room = Math.floor((width - 6) / CHARACTER);
      if (room >= 3) parts.push(text(name.slice(0, room), { x: Math.round(left) + 3, y: y + 13 }));
      parts.push('</g>');
      draw(child, left, depth + 1);
      left += width;
    }
  };
  draw(root, MARGIN, 0);
  let legendX = MARGIN;
  const legend = Object.entries(KINDS).flatMap(([kind, about]) => {
    const drawn = [rect(legendX, 42, 12, 12, kind), text(about, { x: Math.round(legendX) + 18, y: 52 })];
    legendX += 40 + about.length * CHARACTER;
    return drawn;
  });
  const height = TOP + (deepest + 1) * ROW + MARGIN;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}" role="img">`,
    `<title>${escaped(title)}</title>`,
    `<style>${STYLE}</style>`,
    rect(0, 0, WIDTH, height, 'page'),
    text(title, { x: MARGIN, y: 26, kind: 'title' }),
    ...legend,
    ...parts,
    '</svg>\n',
  ].join('\n');
}
