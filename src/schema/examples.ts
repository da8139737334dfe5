import { readFileSync } from 'node:fs';

/** The file of each example, with the variables. */
const EXAMPLES: Readonly<Record<string, object | undefined>> = {
  posts: undefined,
  // GraphiQL stops a subscription when another tab is opened.
  'new-posts': undefined,
  'create-post': { title: 'Hello from GraphiQL' },
  'posts-page': { after: null },
  'post-by-slug': { slug: 'on-loops' },
  'latest-of-tag': { filter: { tags: ['computing'] } },
  search: { query: 'loop*' },
  drafts: undefined,
};

const NAME = /^(?:query|mutation|subscription) (\w+)/m;

/** Reads the operations that GraphiQL shows. Their lines are short, so that its play button covers none. */
export const readExamples = () =>
  Object.entries(EXAMPLES).map(([file, variables]) => {
    const query = readFileSync(new URL(`examples/${file}.graphql`, import.meta.url), 'utf8');
    const [, name = file] = NAME.exec(query) ?? [];
    return { name, query, ...(variables && { variables: JSON.stringify(variables, null, 2) }) };
  });
