import { statement } from '../../database/statement.ts';
import type { TextRule } from '../../engine/core/input.ts';
import { badInput } from '../../platform/errors.ts';
import { isUuid, randomPiece } from '../../platform/ids.ts';

/** Letters that have no decomposition into an ASCII letter and marks. */
const LETTERS: ReadonlyMap<string, string> = new Map(
  (
    'ß:ss æ:ae œ:oe ø:o đ:d ð:d ħ:h ı:i ĸ:k ł:l ŋ:n þ:th ŧ:t ƒ:f ə:e ' +
    'α:a β:v γ:g δ:d ε:e ζ:z η:i θ:th ι:i κ:k λ:l μ:m ν:n ξ:x ο:o π:p ρ:r σ:s ς:s τ:t υ:y φ:f χ:ch ψ:ps ω:o ' +
    'а:a б:b в:v г:g д:d е:e ж:zh з:z и:i к:k л:l м:m н:n о:o п:p р:r с:s т:t у:u ф:f х:kh ц:ts ч:ch ш:sh щ:shch ' +
    'ъ: ы:y ь: э:e ю:yu я:ya є:ye і:i ґ:g ђ:dj ј:j љ:lj њ:nj ћ:c џ:dz ѕ:dz'
  )
    .split(' ')
    .map((pair): [string, string] => [pair.slice(0, 1), pair.slice(2)]),
);

const NO_WORD = 'post';
const SUFFIX_CHARACTERS = 6;
const SUFFIXES = 36 ** SUFFIX_CHARACTERS;

const randomSuffix = () =>
  (randomPiece().readUIntBE(0, 6) % SUFFIXES).toString(36).padStart(SUFFIX_CHARACTERS, '0');

const transliterate = (text: string): string =>
  text
    .normalize('NFKD')
    .toLowerCase()
    .replaceAll(/[\p{M}\p{Cf}’]/gu, '')
    .replaceAll(/[^\p{ASCII}]/gu, (letter) => LETTERS.get(letter) ?? ' ');

/** Most titles are ASCII, and the rest of the work costs less than the classes of Unicode. */
const ONLY_ASCII = /^[ -~]*$/;

/** Leaves room for the longest suffix. */
function deriveSlug(title: string, { max }: Pick<TextRule, 'max'>): string {
  const letters = ONLY_ASCII.test(title) ? title.toLowerCase() : transliterate(title);
  const words = letters
    .replaceAll("'", '')
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replace(/^-/, '');
  const cut = words.slice(0, max - SUFFIX_CHARACTERS - 1).replace(/-$/, '');
  if (cut === '') return NO_WORD;
  return isUuid(cut) ? `${NO_WORD}-${cut}` : cut;
}

/** @returns the slugs for a title in the order of preference; the last slug is random, so it is free */
export function slugCandidates(title: string, rule: Pick<TextRule, 'max'>): readonly [string, ...string[]] {
  const slug = deriveSlug(title, rule);
  return [slug, `${slug}-2`, `${slug}-3`, `${slug}-4`, `${slug}-${randomSuffix()}`];
}

const SLUG = /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/;

export const isSlug = (text: string, { max }: Pick<TextRule, 'max'>): boolean =>
  text.length <= max && SLUG.test(text);

/**
 * The id of a post stands in for a missing slug, so no post may have an id as its slug.
 * @throws {ApiError} BAD_USER_INPUT
 */
export function checkSlug(slug: string, rule: TextRule): string {
  if (isSlug(slug, rule) && !isUuid(slug)) return slug;
  throw badInput(
    'slug',
    `must be ${rule.min} to ${rule.max} characters of a to z, 0 to 9 and hyphens, with no hyphen at either end, and not a UUID.`,
  );
}

export const slugTaken = (slug: string) => badInput('slug', `is "${slug}", which another post has.`);

export const SLUG_INDEX = 'posts_slug_key';

export const SLUG_TAKEN = statement<{ readonly taken: boolean }>(
  'post_slug_taken',
  'SELECT true AS taken FROM posts WHERE slug = $1 AND id <> $2',
);

/** Distinguishes the locks of slugs from other advisory locks. */
const LOCK_SEED = 20_261_130;

/**
 * Chooses the first free slug of an array. The lock keeps other transactions from waiting for this one, because they
 * choose the next slug. The subquery is scalar so that PostgreSQL looks into the index for one slug after the other.
 */
export const chooseSlug = (candidates: string): string =>
  `SELECT given.slug FROM unnest(${candidates}::text[]) AS given(slug)
   WHERE CASE WHEN (SELECT true FROM posts p WHERE p.slug = given.slug) THEN false
     ELSE pg_try_advisory_xact_lock(hashtextextended(given.slug, ${LOCK_SEED})) END LIMIT 1`;

const UUID_PATTERN = '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$';

/** SQL of the id of the post with a slug or former slug. An id stands in for the slug of a row of an older version. */
export const idOfSlug = (slug: string): string =>
  `coalesce((SELECT s.id FROM posts s WHERE s.slug = ${slug}::text),
   (SELECT f.post_id FROM former_slugs f WHERE f.slug = ${slug}::text),
   CASE WHEN ${slug}::text ~ '${UUID_PATTERN}' THEN ${slug}::text::uuid END)`;
