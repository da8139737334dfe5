/** `npm run wording:shrink`: lowers the numbers in `allowed.json` to the hits that exist. It raises none and adds none. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { countHits, findWordingHits } from '../tests/contract/wording/find-words.ts';

const PATH = join(import.meta.dirname, '../tests/contract/wording/allowed.json');
const allowed: Record<string, Record<string, number>> = JSON.parse(readFileSync(PATH, 'utf8'));
const counts = countHits(findWordingHits());

let before = 0;
let after = 0;
const shrunk: typeof allowed = {};
for (const [file, rules] of Object.entries(allowed))
  for (const [rule, most] of Object.entries(rules)) {
    const count = Math.min(most, counts[file]?.[rule] ?? 0);
    before += most;
    after += count;
    if (count > 0) shrunk[file] = { ...shrunk[file], [rule]: count };
  }
writeFileSync(PATH, `${JSON.stringify(shrunk, null, 2)}\n`);
process.stdout.write(`Allowed hits: ${before} before, ${after} now.\n`);
