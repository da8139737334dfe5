import type { ObjectRef } from '@pothos/core';
import { renameColumns } from '../../database/statement.ts';
import type { Types } from '../../engine/builder/builder.ts';
import type { SchemaToolkit } from '../../engine/builder/schema-toolkit.ts';
import { parseId } from '../../engine/core/input.ts';
import type { EventFilter, EventRecord } from '../../engine/events/event.ts';
import { createEntity, type Entity } from '../../engine/queries/entity.ts';
import { type Identified, readById } from '../../engine/queries/loaders.ts';
import { events } from '../../generated/tables.ts';
import { badInput } from '../../platform/errors.ts';
import { CHANGE_KINDS } from '../event-kinds.ts';
import { type PostTypes, postEntity } from '../post/type.ts';

type AnyKind = (typeof CHANGE_KINDS)[number];
type KindName = AnyKind['name'];
type ShownName = Exclude<AnyKind['shows'], undefined>;
type PartKey = `${ShownName}Id`;

const keyOf = (name: ShownName): PartKey => `${name}Id`;

/** The ids of the changed rows of all types but one are null. */
type ChangeRow = Readonly<Record<PartKey, string | null>> & {
  readonly id: string;
  readonly kind: KindName;
  readonly createdAt: Date;
  readonly postId: string;
};

interface KindOfPart {
  readonly name: string;
  readonly shows: string | undefined;
}

/** The SQL is NULL for events of other types. */
export function entityIdSql(name: string, kinds: readonly KindOfPart[]): string {
  const withEntity = kinds.filter(({ shows }) => shows !== undefined);
  const own = withEntity.filter(({ shows }) => shows === name);
  if (own.length === withEntity.length) return 't.part_id';
  return `CASE WHEN t.kind IN (${own.map((kind) => `'${kind.name}'`).join(', ')}) THEN t.part_id END`;
}

const SHOWN = [...new Set(CHANGE_KINDS.flatMap(({ shows }) => shows ?? []))];

/** The statement that reads changes reads no table, because the events are its parameters. */
const eventEntity = createEntity(
  renameColumns(events, { id: 'rootId', kind: 'kind', createdAt: 'createdAt', postId: 'rootId' }),
);
const changeEntity = {
  ...eventEntity,
  columns: {
    ...eventEntity.columns,
    ...Object.fromEntries(SHOWN.map((name) => [keyOf(name), entityIdSql(name, CHANGE_KINDS)])),
  },
};

function changeOf({ kind: name, aggregateId, entityId, createdAt }: EventRecord): ChangeRow {
  const kind = CHANGE_KINDS.find((known) => known.name === name);
  if (kind === undefined) throw new Error(`no module declares events of the kind ${name}`);
  const ids = SHOWN.map((shown) => [keyOf(shown), shown === kind.shows ? entityId : null]);
  return { id: aggregateId, kind: kind.name, createdAt, postId: aggregateId, ...Object.fromEntries(ids) };
}

interface ShownEntity {
  readonly type: ObjectRef<Types, Identified | string>;
  readonly entity: Entity<Identified>;
}

export function defineChange(
  { builder }: SchemaToolkit,
  { Post }: PostTypes,
  entities: { readonly [Name in ShownName]: ShownEntity },
) {
  const ChangeKind = builder.enumType('ChangeKind', {
    description: 'The kind of a change.',
    values: Object.fromEntries(
      CHANGE_KINDS.map(({ name, description }) => [name, { description }]),
    ) as Record<KindName, { readonly description: string }>,
  });
  const Change = builder.objectRef<ChangeRow>('Change').implement({
    description: 'A committed change of a post or of an object that belongs to a post.',
    fields: (t) => ({
      kind: t.expose('kind', { type: ChangeKind, description: 'The kind of the change.' }),
      at: t.expose('createdAt', {
        type: 'DateTime',
        description: 'The start of the transaction that made the change.',
      }),
      postId: t.exposeID('postId', {
        description: 'The id of the post, or of the post that the changed row belongs to.',
      }),
      post: t.field({
        type: Post,
        nullable: true,
        sql: { kind: 'one', entity: postEntity, key: 'postId' },
        description: 'The post, read at the delivery of the event. Null if the post is deleted by then.',
        resolve: async ({ postId }, _args, { db }) => (await readById(db, postEntity, postId)) ?? null,
      }),
      ...Object.fromEntries(
        SHOWN.flatMap((name) => {
          const { type, entity } = entities[name];
          const key = keyOf(name);
          const id = t.exposeID(key, {
            nullable: true,
            description: `The id of the ${name}; null for other changes.`,
          });
          const row = t.field({
            type,
            nullable: true,
            sql: { kind: 'one', entity, key },
            description: `The ${name}, read at the delivery of the event. Null for other changes, and if the ${name} is deleted by then.`,
            resolve: async (change, _args, { db }) => {
              const found = change[key];
              return found === null ? null : ((await readById(db, entity, found)) ?? null);
            },
          });
          return [
            [key, id],
            [name, row],
          ];
        }),
      ),
    }),
  });
  return { Change, ChangeKind };
}

type ChangeTypes = ReturnType<typeof defineChange>;

/** graphql-js has coerced these arguments. Null counts as absent. */
interface Filters {
  readonly post?: unknown;
  readonly author?: unknown;
  readonly kinds?: unknown;
}

function filterOf({ post, author, kinds }: Filters): EventFilter {
  const names = Array.isArray(kinds) ? kinds.map(String) : undefined;
  if (names?.length === 0) throw badInput('kinds', 'must contain at least one kind, or be absent.');
  const [aggregateId, authorId] = [post, author].map((id) =>
    id == null ? undefined : (parseId(String(id)) ?? null),
  );
  if (aggregateId === null || authorId === null) return { nothing: true };
  return { aggregateId, authorId, kinds: names === undefined ? undefined : [...new Set(names)].sort() };
}

export function defineChangeSubscriptions(
  { builder }: SchemaToolkit,
  { Change, ChangeKind }: ChangeTypes,
): void {
  builder.subscriptionFields((t) => ({
    changes: t.field({
      type: Change,
      scope: 'posts:read',
      sql: { kind: 'event', shows: 'event', entity: changeEntity, row: changeOf, filter: filterOf },
      description:
        'All changes of posts and comments once they are committed, in the same order for all subscribers. A change must match all filters; absent and null filters match every change.',
      args: {
        post: t.arg.id({
          description: 'Only changes of this post and its comments. An id of no post matches nothing.',
        }),
        author: t.arg.id({
          description:
            'Only changes of posts of this account and of the comments on them. An id of no account matches nothing.',
        }),
        kinds: t.arg({
          type: [ChangeKind],
          description: 'Only changes of these kinds. An empty list is BAD_USER_INPUT.',
        }),
      },
      subscribe: (_root, args, context) => {
        // Invalid arguments are rejected before the stream opens.
        filterOf(args);
        return context.events();
      },
      resolve: (change: ChangeRow) => change,
    }),
  }));
}
