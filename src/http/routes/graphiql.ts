import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { renderGraphiQL } from '@graphql-yoga/render-graphiql';
import { isLoopbackHost } from '../../platform/loopback.ts';
import { wantsHtml } from '../../request/media-type.ts';
import type { HttpPlugin } from '../plugin.ts';
import { route } from './route.ts';

export interface GraphiqlOptions {
  readonly path: string;
  readonly endpoint: string;
  /** A key to prefill, on pages that only this machine can open. */
  readonly demoKey?: string | undefined;
}

interface Example {
  readonly query: string;
  readonly variables?: string;
}

/** One tab each. Lines are short enough to be fully visible beside the play button. */
const EXAMPLES: readonly Example[] = [
  {
    query: `# Press the play button (or Ctrl-Enter):
# posts with their authors, in one request.
query Posts {
  posts(limit: 5) {
    id
    title
    tags
    commentCount
    author {
      name
    }
  }
}
`,
  },
  {
    // GraphiQL ends a subscription when another tab is opened.
    query: `# Press play and leave it running. Posts created
# in a second window show up here at once.
subscription NewPosts {
  postCreated {
    id
    title
    author {
      name
    }
  }
}
`,
  },
  {
    query: `# Run it while "NewPosts" runs in another window.
mutation CreatePost($title: String!) {
  createPost(
    title: $title
    body: "Written in the browser."
    tags: ["hello"]
  ) {
    id
    title
    createdAt
  }
}
`,
    variables: '{\n  "title": "Hello from GraphiQL"\n}',
  },
  {
    query: `# Copy "endCursor" into the variable "after"
# to get the next page.
query PostsPage($after: String) {
  postsConnection(first: 3, after: $after) {
    edges {
      cursor
      node {
        title
        comments(limit: 2) {
          body
          author {
            name
          }
        }
      }
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
`,
    variables: '{\n  "after": null\n}',
  },
];

/** Commented out if there is no key: a placeholder would be sent, and refused, with the schema query too. */
function headersFor(key: string | undefined): string {
  const line = `"Authorization": "Bearer ${key ?? '<your API key>'}"`;
  return `{\n  ${key === undefined ? '// ' : ''}${line}\n}`;
}

interface Page {
  readonly html: Buffer;
  readonly gzipped: Buffer;
  readonly etag: string;
}

async function renderPage(endpoint: string, key: string | undefined): Promise<Page> {
  const headers = headersFor(key);
  const html = Buffer.from(
    renderGraphiQL({
      title: 'Content Graph API',
      endpoint,
      headers,
      defaultTabs: EXAMPLES.map((example) => ({ ...example, headers })),
      subscriptionsProtocol: 'SSE',
      shouldPersistHeaders: false,
    }),
  );
  const gzipped = await promisify(gzip)(html, { level: 9 });
  return { html, gzipped, etag: `"${createHash('sha256').update(html).digest('base64url')}"` };
}

/**
 * GraphiQL for browsers that open the endpoint: one page that needs no other host. At nine megabytes, it is
 * rendered and compressed once and then cached by the browser.
 */
export function useGraphiqlPage({ path, endpoint, demoKey }: GraphiqlOptions): HttpPlugin {
  const pages = new Map<string | undefined, Promise<Page>>();
  const pageWith = (key: string | undefined): Promise<Page> => {
    const page = pages.get(key) ?? renderPage(endpoint, key);
    pages.set(key, page);
    return page;
  };
  return route(
    // Also with a query string: GraphiQL stores the open tab there, and a reload must find it again.
    ({ request, url }) =>
      request.method === 'GET' && url.pathname === path && wantsHtml(request.headers.get('accept')),
    async ({ request, url }) => {
      // DNS rebinding: another site can point a host name at this machine, and must not read the key.
      const local = isLoopbackHost(url.hostname);
      const { html, gzipped, etag } = await pageWith(local ? demoKey : undefined);
      const headers = {
        etag,
        'content-type': 'text/html; charset=utf-8',
        'cache-control': 'private, no-cache',
        vary: 'Accept, Accept-Encoding',
        'content-security-policy': "frame-ancestors 'none'",
      };
      if (request.headers.get('if-none-match') === etag) return new Response(null, { status: 304, headers });
      const zipped = /\bgzip\b/.test(request.headers.get('accept-encoding') ?? '');
      const body = new Uint8Array(zipped ? gzipped : html);
      return new Response(body, { headers: zipped ? { ...headers, 'content-encoding': 'gzip' } : headers });
    },
  );
}
