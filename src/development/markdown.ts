import { posix } from 'node:path';
import { Marked, type Tokens } from 'marked';
import { html } from '../http/pages/layout.ts';
import { codeBlock } from './code.ts';
import { addressOf, DOCS, EXAMPLE_FILES, folderAnchor } from './pages.ts';
import { type Cell, table } from './table.ts';

export interface Heading {
  readonly id: string;
  readonly depth: number;
  readonly text: string;
}

export interface Rendered {
  readonly html: string;
  readonly headings: readonly Heading[];
  /** Where the page links to, as it stands in the text. */
  readonly links: readonly string[];
  /** The addresses of its pictures, as they stand in the text. */
  readonly pictures: readonly string[];
}

export interface RenderOptions {
  /** The file, from the root of the repository: links are relative to it. */
  readonly file: string;
  /** The files that have a page. A link to any other file is shown as its text. */
  readonly pages: ReadonlySet<string>;
  /** Files of `examples/`, which have one too, and to which their names lead. */
  readonly examples?: ReadonlySet<string>;
  /** Whether the code has no colours. */
  readonly plain?: boolean;
}

const EXTERNAL = /^[a-z]+:/i;

/** The id that GitHub gives to a heading. Equal ones are numbered from the second on. */
function slugs(): (text: string) => string {
  const seen = new Map<string, number>();
  return (text) => {
    const slug = text
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{M}\p{N}\p{Pc}\- ]/gu, '')
      .replaceAll(' ', '-');
    const count = seen.get(slug) ?? 0;
    seen.set(slug, count + 1);
    return count === 0 ? slug : `${slug}-${count}`;
  };
}

/** The file that a relative link leads to, from the root of the repository, and the `#` part. */
export function resolveLink(from: string, href: string): { readonly file: string; readonly hash: string } {
  const [path = '', fragment] = href.split('#');
  const file = path === '' ? from : posix.join(posix.dirname(from), path);
  return { file, hash: fragment === undefined ? '' : `#${fragment}` };
}

/** Files that pages name without their folder. */
const NAMED = /^[\w-]+\.ts$/;

/** Renders a page as GitHub does. The text is trusted: it is part of this repository. */
export function renderMarkdown(text: string, options: RenderOptions): Rendered {
  const { file, pages, examples = new Set(), plain = false } = options;
  const headings: Heading[] = [];
  const links: string[] = [];
  const pictures: string[] = [];
  const slugOf = slugs();
  /** The address of a link; undefined if it leads to a file without a page. */
  const addressFor = (href: string): string | undefined => {
    links.push(href);
    if (EXTERNAL.test(href)) return href;
    const target = resolveLink(file, href);
    if (target.file === 'docs/decisions/') return `${DOCS}#decisions`;
    if (target.file === 'schema.graphql') return addressOf(target.file);
    const folder = target.file.replace(/\/$/, '');
    if ([...examples].some((name) => posix.dirname(name) === folder))
      return EXAMPLE_FILES + folderAnchor(folder);
    const shown = pages.has(target.file) || examples.has(target.file);
    return shown ? addressOf(target.file) + target.hash : undefined;
  };
  /** The file of `examples/` that a name in the text stands for. */
  const namedBy = (name: string): string | undefined =>
    [name, ...(NAMED.test(name) ? [`examples/${name}`] : [])].find((path) => examples.has(path));
  /** Whether what is being shown leads somewhere already. */
  let inLink = false;
  const pictureAt = (href: string) => {
    pictures.push(href);
    return EXTERNAL.test(href) ? href : addressOf(resolveLink(file, href).file);
  };

  const marked = new Marked({
    renderer: {
      heading({ tokens, depth }: Tokens.Heading): string {
        const said = this.parser.parseInline(tokens, this.parser.textRenderer);
        const id = slugOf(said);
        headings.push({ id, depth, text: said });
        return `<h${depth} id="${id}">${this.parser.parseInline(tokens)}</h${depth}>\n`;
      },
      link({ href, tokens }: Tokens.Link): string {
        inLink = true;
        const shown = { html: this.parser.parseInline(tokens) };
        inLink = false;
        const address = addressFor(href);
        if (address !== undefined) return html`<a href="${address}">${shown}</a>`.html;
        return shown.html.startsWith('<code>') ? shown.html : `<code>${shown.html}</code>`;
      },
      image({ href, text: alt }: Tokens.Image): string {
        return html`<img src="${pictureAt(href)}" alt="${alt}" loading="lazy">`.html;
      },
      // Pictures with a variant for the dark theme.
      html({ text: raw }: Tokens.HTML | Tokens.Tag): string {
        return raw.replaceAll(
          /\b(src|srcset)="([^"]+)"/g,
          (_whole, name: string, href: string) => `${name}="${pictureAt(href)}"`,
        );
      },
      codespan({ text: name }: Tokens.Codespan): string {
        const named = inLink ? undefined : namedBy(name);
        const code = html`<code>${name}</code>`;
        return named === undefined ? code.html : html`<a href="${addressOf(named)}">${code}</a>`.html;
      },
      code({ text: code, lang = '' }: Tokens.Code): string {
        return codeBlock(code, plain ? '' : lang.split(' ')[0]).html;
      },
      table({ header, rows }: Tokens.Table): string {
        const cellOf = ({ tokens }: Tokens.TableCell): Cell => ({
          shown: { html: this.parser.parseInline(tokens) },
          text: this.parser.parseInline(tokens, this.parser.textRenderer),
        });
        return table(
          header.map(cellOf),
          rows.map((row) => row.map(cellOf)),
        ).html;
      },
    },
  });
  return { html: marked.parse(text, { async: false }), headings, links, pictures };
}
