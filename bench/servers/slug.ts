import { randomBytes } from 'node:crypto';

/** The slug of a title, and one for the case that another post has the first one, too long to meet another by chance. */
export function slugsFor(title: string): string[] {
  const slug = title.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-');
  return [slug, `${slug}-${randomBytes(8).toString('hex')}`];
}

/** SQL of the first of these slugs that no post has. */
export const freeSlug = (slugs: string): string =>
  `(SELECT s FROM unnest(${slugs}::text[]) AS s WHERE NOT EXISTS (SELECT FROM posts WHERE slug = s) LIMIT 1)`;
