/** `node packages/client/print-api.ts`: writes `API.md` from the declarations and comments of the public exports. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

const FOLDER = import.meta.dirname;
const NAME = 'content-graph-client';
const ADAPTERS = ['react', 'urql', 'apollo', 'relay', 'tanstack', 'event-source'];
/** The first line of a statement of a declaration file, or of its comment. */
const STATEMENT = /^(?:\/\*\*|export |import |declare |type |interface |const )/;
const EXPORT = /^export (?:declare )?(?:abstract )?(?:class|const|function|interface|type) (\w+)/m;
const REEXPORT = /^export (?:type )?\{([^}]*)\} from '([^']+)';/gm;

/** Splits a declaration file into its exported statements, with their comments, by name. */
function readStatements(text: string): ReadonlyMap<string, string> {
  const parts: string[] = [];
  for (const line of text.split('\n')) {
    const last = parts.at(-1);
    const isContinued = last === undefined || (last.startsWith('/**') && !EXPORT.test(last));
    if (STATEMENT.test(line) && !(isContinued && !line.startsWith('/**'))) parts.push(line);
    else if (last === undefined) parts.push(line);
    else parts[parts.length - 1] = `${last}\n${line}`;
  }
  const found = parts.flatMap((part) => {
    const [, name] = EXPORT.exec(part) ?? [];
    return name === undefined ? [] : [[name, part.replace(/^\/\/# .*$/m, '').trim()] as const];
  });
  return new Map(found);
}

/** Finds the statements that an entry exports, in alphabetical order. */
function findExports(folder: string, entry: string): readonly string[] {
  const path = join(folder, `${entry}.d.ts`);
  const text = readFileSync(path, 'utf8');
  const found = new Map(readStatements(text));
  for (const [, names = '', from = ''] of text.matchAll(REEXPORT)) {
    const source = readStatements(readFileSync(join(dirname(path), from.replace(/\.ts$/, '.d.ts')), 'utf8'));
    for (const name of names.split(',')) {
      const word = name.trim().replace(/^type /, '');
      if (word !== '') found.set(word, source.get(word) ?? '');
    }
  }
  return [...found].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, statement]) => statement);
}

const formatSection = (title: string, statements: readonly string[]): string =>
  `## ${title}\n\n${statements.map((statement) => `\`\`\`ts\n${statement}\n\`\`\`\n`).join('\n')}`;

/** Formats the reference of all public exports. */
export function formatApi(): string {
  const folder = mkdtempSync(join(tmpdir(), 'content-graph-client-api-'));
  try {
    const tsc = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin/tsc');
    const config = join(FOLDER, 'tsconfig.adapters.json');
    // Without checks, the libraries of the adapters need not be installed.
    const options = ['--noCheck', '--emitDeclarationOnly', '--sourceMap', 'false', '--outDir', folder];
    execFileSync(process.execPath, [tsc, '--project', config, ...options], { stdio: 'inherit' });
    const sections = [
      formatSection(NAME, findExports(folder, 'index')),
      ...ADAPTERS.map((adapter) =>
        formatSection(`${NAME}/${adapter}`, findExports(folder, `adapters/${adapter}`)),
      ),
    ];
    const intro =
      'The public exports with their types. `node packages/client/print-api.ts` writes this page.';
    return `# API of ${NAME}\n\n${intro}\n\n${sections.join('\n')}`;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

if (import.meta.main) writeFileSync(join(FOLDER, 'API.md'), formatApi());
