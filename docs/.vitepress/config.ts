import { cp } from 'node:fs/promises';
import { join, posix, relative } from 'node:path';
import { defineConfig, type MarkdownOptions } from 'vitepress';
import { anchorOf } from './anchors.ts';
import { findTarget, ROOT, readSidebar, toSitePath } from './pages.ts';
import { MINI_SEARCH, splitSections } from './search.ts';

/** Files that pages link to, such as schema.graphql. The build copies them into the folder `files` of the site. */
const linkedFiles = new Set(['schema.graphql']);

/** Turns links and pictures, which are relative to the files of the project, into paths of the site. */
function rewriteLinks(md: Parameters<NonNullable<MarkdownOptions['config']>>[0]): void {
  md.core.ruler.push('site_paths', ({ tokens, env }) => {
    const from = relative(ROOT, env.realPath ?? env.path);
    for (const token of tokens) {
      // Vue takes only paths that begin with a dot for files.
      if (token.type === 'html_block')
        token.content = token.content.replaceAll(/\b(src|srcset)="(?=\w+\/)/g, '$1="./');
      for (const child of token.children ?? []) {
        const href = child.type === 'link_open' ? child.attrGet('href') : null;
        if (href === null || /^(?:[a-z]+:|#|\/)/i.test(href)) continue;
        const [path = '', anchor] = href.split('#');
        const target = findTarget(from, path);
        if (target.kind === 'page') {
          child.attrSet('href', anchor === undefined ? target.path : `${target.path}#${anchor}`);
          continue;
        }
        linkedFiles.add(target.path);
        child.attrSet('href', posix.relative(posix.dirname(toSitePath(from)), `files/${target.path}`));
        // The router of the site must leave it to the browser.
        child.attrSet('target', '_blank');
      }
    }
  });
}

export default defineConfig({
  title: 'Content Graph API',
  description: 'A GraphQL API over users, posts and comments.',
  lang: 'en',
  // Without an icon, browsers ask for /favicon.ico, which the site does not have.
  head: [['link', { rel: 'icon', href: 'data:,' }]],
  srcDir: '..',
  srcExclude: ['**/.*/**', 'scripts/**', 'src/generated/**'],
  rewrites: toSitePath,
  ignoreDeadLinks: 'localhostLinks',
  markdown: {
    config: rewriteLinks,
    anchor: { slugify: anchorOf },
    theme: { light: 'github-light-high-contrast', dark: 'github-dark' },
  },
  // The first page is an index of all pages, which the style sheet sets in columns.
  transformPageData: ({ relativePath, frontmatter }) =>
    relativePath === 'index.md'
      ? { frontmatter: { ...frontmatter, pageClass: 'page-index', outline: false } }
      : {},
  vite: { server: { fs: { allow: [ROOT] } } },
  async buildEnd({ outDir }) {
    for (const file of linkedFiles) await cp(join(ROOT, file), join(outDir, 'files', file));
  },
  themeConfig: {
    nav: [
      { text: 'Start', link: '/start' },
      { text: 'API reference', link: '/reference/api' },
      { text: 'Schema', link: '/files/schema.graphql', target: '_blank' },
      { text: 'Changes', link: '/CHANGELOG' },
    ],
    sidebar: readSidebar().map((group) => ({ ...group, items: [...group.items] })),
    outline: [2, 3],
    externalLinkIcon: true,
    search: {
      provider: 'local',
      options: {
        miniSearch: {
          ...MINI_SEARCH,
          _splitIntoSections: (_file, sections) => JSON.parse(sections),
        },
        _render: (source, env, md) =>
          JSON.stringify(env.frontmatter?.search === false ? [] : splitSections(md.parse(source, env))),
      },
    },
  },
});
