import { posix } from 'node:path';
import { html } from '../http/pages/layout.ts';
import { HttpResponse } from '../request/http-message.ts';
import { codeBlock } from './code.ts';
import { languageOf, readExample } from './example-files.ts';
import { siteResponse } from './layout.ts';
import { contents } from './navigation.ts';
import { addressOf, type DocsPage, folderAnchor } from './pages.ts';

/** In the address: the text of a file alone. */
const RAW = 'raw';

/** The files, by folder. */
export function examplesPage(pages: readonly DocsPage[], files: readonly string[]): HttpResponse {
  const folders = Map.groupBy(files, (file) => posix.dirname(file));
  const sections = [...folders].map(
    ([folder, inside]) => html`<h2 id="${folderAnchor(folder).slice(1)}">${folder}</h2>
<ul>
${inside.map(
  (file) => html`<li><a href="${addressOf(file)}">${posix.basename(file)}</a></li>
`,
)}</ul>
`,
  );
  return siteResponse({
    title: 'Example files',
    content: html`<h1>Example files</h1>
<p>The files of <code>examples/</code>, made to be copied: those beside each other use each other by relative paths.</p>
${sections}`,
    aside: contents(
      pages,
      undefined,
      [...folders.keys()].map((folder) => ({ id: folderAnchor(folder).slice(1), depth: 2, text: folder })),
    ),
  });
}

/** A file, or its text alone. */
export async function examplePage(
  pages: readonly DocsPage[],
  file: string,
  query: URLSearchParams,
): Promise<HttpResponse> {
  const text = await readExample(file);
  if (query.has(RAW))
    return new HttpResponse(text, {
      headers: {
        'content-type': 'text/plain; charset=utf-8',
        'content-security-policy': "default-src 'none'",
      },
    });
  const raw = `${addressOf(file)}?${RAW}`;
  const lines = text.trimEnd().split('\n').length;
  return siteResponse({
    title: file,
    content: html`<h1 class="file">${file}</h1>
<p class="small">${`${lines} lines`} · <a href="${raw}">Text alone</a> · <a href="${raw}" download="${posix.basename(file)}">Download</a></p>
${codeBlock(text.trimEnd(), languageOf(file))}`,
    aside: contents(pages, undefined, []),
  });
}
