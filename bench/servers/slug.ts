import { randomBytes } from 'node:crypto';

/** The slug of a title, and a slug for the case that another post has the first one. */
export function slugsFor(title: string): string[] {
  const words = title.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-');
  const slug = words.replaceAll(/^-|-$/g, '').slice(0, 73);
  return [slug, `${slug}-${randomBytes(3).toString('hex')}`];
}

/** SQL of the first of these slugs that no post has. */
export const freeSlug = (slugs: string): string =>
  `(SELECT s FROM unnest(${slugs}::text[]) AS s WHERE NOT EXISTS (SELECT FROM posts WHERE slug = s) LIMIT 1)`;
