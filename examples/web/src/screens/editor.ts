import type { LiveList } from 'content-graph-client';
import { html, nothing, type TemplateResult } from 'lit-html';
import {
  CreateDraft,
  CreatePost,
  DeleteDraft,
  type Draft,
  type Post,
  PublishDraft,
  UpdateDraft,
  UpdatePost,
} from '../api/operations.ts';
import { createEdit, type Edit, type Stored } from '../forms/edit.ts';
import { field, focusInvalid, outcome, unsavedNote } from '../forms/fields.ts';
import { tagsIn, tagText } from '../forms/tags.ts';
import { createTask, type Task, type TaskButton } from '../forms/task.ts';
import { openDraft, openPost } from '../live/list.ts';
import { announce } from '../parts/announce.ts';
import { listNotice } from '../parts/notice.ts';
import { draftPath, draftsPath, listPath, postPath } from '../router.ts';
import { createDeletion } from './deletion.ts';
import type { Context, Mutated, Screen } from './screen.ts';

type Field = 'title' | 'body' | 'tags';
type Fields = Readonly<Record<Field, string>>;
type What = 'post' | 'draft';

/** The name under which an unsaved change is kept. */
export const unsavedNameOf = (what: What, id: string) => `${what} ${id}`;

const isPost = (item: Post | Draft): item is Post => 'author' in item;

const storedOf = ({ version, title, body, tags }: Post | Draft) => ({
  version,
  values: { title, body, tags: tagText(tags) },
});

/** The arguments for what was changed. */
const argumentsFor = ({ tags, ...texts }: Partial<Fields>) => ({
  ...texts,
  ...(tags === undefined ? {} : { tags: tagsIn(tags) }),
});

interface Words {
  readonly heading: string;
  /** The first one stands out. */
  readonly buttons: readonly (readonly [TaskButton, string])[];
  /** Why a post or draft may not exist, for messages. */
  readonly removal: string;
}

const WORDS: Readonly<Record<What | 'new', Words>> = {
  new: {
    heading: 'New post',
    buttons: [
      ['main', 'Publish'],
      ['other', 'Save draft'],
    ],
    removal: '',
  },
  post: { heading: 'Edit post', buttons: [['main', 'Save']], removal: 'deleted' },
  draft: {
    heading: 'Draft',
    buttons: [
      ['other', 'Publish'],
      ['main', 'Save draft'],
    ],
    removal: 'published or deleted',
  },
};

function fields(task: Task<Field>) {
  const hint = 'Up to ten, separated by commas. A tag with a comma stands in "quotes".';
  return html`${field({ task, name: 'title', label: 'Title' })}
    ${field({ task, name: 'body', label: 'Text', rows: 10 })}
    ${field({ task, name: 'tags', label: 'Tags', hint })}
    ${unsavedNote(task)} ${outcome(task)}`;
}

/** A form for a new post, or for changing the post or the draft with an id. */
export function createEditor(context: Context, what: What, id?: string): Screen {
  const { unsaved, mutate, mayChange, go } = context;
  const { heading, buttons, removal } = WORDS[id === undefined ? 'new' : what];
  const back = id === undefined ? listPath() : what === 'post' ? postPath(id) : draftsPath;
  let task: Task<Field> | undefined;
  let edit: Edit<Field> | undefined;
  let pressed: TaskButton = 'main';

  const onSaved =
    (said: string) =>
    ({ data: post, show }: Mutated<Post>) => {
      show({ postId: post.id, post, commentId: null, comment: null });
      announce(said);
      go(postPath(post.slug));
    };
  const onPublished = onSaved('Your post is published.');

  const beginNew = () =>
    createTask<Field, Mutated<Post>, string>(context, {
      name: 'new post',
      initial: { title: '', body: '', tags: '' },
      async send({ title, body, tags }, options) {
        const { data, show } = await mutate(CreatePost, { title, body, tags: tagsIn(tags) }, options);
        return { data: data.createPost, show };
      },
      onDone: onPublished,
      other: {
        async send({ title, body, tags }, options) {
          const { data } = await mutate(CreateDraft, { title, body, tags: tagsIn(tags) }, options);
          return data.createDraft.id;
        },
        onDone(draftId) {
          announce('Your draft is saved.');
          go(draftPath(draftId));
        },
      },
    });

  const beginPost = (postId: string, stored: Stored<Field>) =>
    createEdit<Field, Mutated<Post>>(context, {
      name: unsavedNameOf('post', postId),
      stored,
      async send(changed, ifVersion, options) {
        const variables = { id: postId, ifVersion, ...argumentsFor(changed) };
        const { data, show } = await mutate(UpdatePost, variables, options);
        return { data: data.updatePost, show };
      },
      onDone: onSaved('Your changes are saved.'),
      onUnchanged: () => go(back),
      onConflict: (button) => void resolve(button),
    });

  const beginDraft = (draftId: string, stored: Stored<Field>) =>
    createEdit<Field, Draft, Mutated<Post>>(context, {
      name: unsavedNameOf('draft', draftId),
      stored,
      async send(changed, ifVersion, options) {
        const variables = { id: draftId, ifVersion, ...argumentsFor(changed) };
        return (await mutate(UpdateDraft, variables, options)).data.updateDraft;
      },
      onDone(draft) {
        edit?.rebase(storedOf(draft));
        announce('Your draft is saved.');
        void list?.refresh();
      },
      other: {
        async send(changed, ifVersion, options) {
          const variables = { id: draftId, ifVersion, ...argumentsFor(changed) };
          const { data, show } = await mutate(PublishDraft, variables, options);
          return { data: data.publishDraft, show };
        },
        onDone: onPublished,
      },
      onUnchanged: () => announce('Your draft is saved.'),
      onConflict: (button) => void resolve(button),
    });

  /** The tab may have an unsaved form of a post or draft that does not exist any more. */
  const keptOf = (of: string) => unsaved.read(unsavedNameOf(what, of))?.basis as Stored<Field> | undefined;

  function arrive({ items }: LiveList<Post | Draft>): void {
    if (id === undefined || items === undefined) return;
    const [item] = items;
    const before = edit?.theirs.size ?? 0;
    const stored = item === undefined ? keptOf(id) : storedOf(item);
    if (edit === undefined && stored !== undefined)
      task = edit = what === 'post' ? beginPost(id, stored) : beginDraft(id, stored);
    else if (item !== undefined) edit?.rebase(storedOf(item));
    if ((edit?.theirs.size ?? 0) > before) announce(`This ${what} was changed while you were writing.`);
  }

  function open(of: string) {
    return what === 'post' ? openPost(context, of, arrive) : openDraft(context, of, arrive);
  }
  const list = id === undefined ? undefined : open(id);
  if (id === undefined) task = beginNew();

  /** Where both have changed different fields, all of it is kept, and nobody has to decide. */
  async function resolve(button: TaskButton): Promise<void> {
    await list?.refresh();
    if (edit?.theirs.size === 0 && list?.current.items?.length === 1) await edit.submit(button);
  }

  const deletion =
    id === undefined || what === 'post'
      ? undefined
      : createDeletion(context, {
          id,
          what: 'draft',
          hint: '',
          send: (options) =>
            mutate(DeleteDraft, { id, ifVersion: list?.current.items?.[0]?.version ?? 0 }, options),
          onDeleted() {
            edit?.discard();
            go(draftsPath);
          },
          refresh: async () => list?.refresh(),
        });

  async function submit(event: Event, button: TaskButton): Promise<void> {
    event.preventDefault();
    const { currentTarget } = event;
    const form = currentTarget instanceof HTMLButtonElement ? currentTarget.form : currentTarget;
    pressed = button;
    await task?.submit(button);
    if (form instanceof HTMLFormElement && form.isConnected) focusInvalid(form);
  }

  function refusal(): string | undefined {
    const { items } = list?.current ?? {};
    const [item] = items ?? [];
    if (items !== undefined && item === undefined)
      return edit?.isUnsaved === true
        ? `This ${what} was ${removal} while you were writing. Your text is still here, to be copied.`
        : `This ${what} does not exist. It may have been ${removal}.`;
    return item === undefined || !isPost(item) || mayChange(item.author.id)
      ? undefined
      : 'Only its author and admins can edit this post.';
  }

  function loading(): TemplateResult | typeof nothing {
    if (list === undefined) return nothing;
    const { current, retry } = list;
    return current.items === undefined && current.error === undefined
      ? html`<p class="soft loading">Loading the ${what}…</p>`
      : listNotice(current, retry);
  }

  function button(of: Task<Field>, [name, label]: Words['buttons'][number], isOpen: boolean): TemplateResult {
    const isSending = of.state.kind === 'sending' && pressed === name;
    const onClick = (event: Event) => void submit(event, name);
    return html`<button type=${name === 'main' ? 'submit' : 'button'} class=${name === buttons[0]?.[0] ? 'primary' : ''}
      ?disabled=${isOpen} aria-busy=${isSending} @click=${name === 'main' ? nothing : onClick}>${isSending ? 'Saving…' : label}</button>`;
  }

  const form = (of: Task<Field>, mayBeSent: boolean) => {
    const isOpen = (edit?.theirs.size ?? 0) > 0;
    return html`<form class="card" novalidate @submit=${(event: Event) => submit(event, 'main')}>
      ${isOpen ? html`<p class="notice" role="alert">This ${what} was changed while you were writing. Nothing is lost: choose what stays.</p>` : nothing}
      ${fields(of)}
      <div class="actions">
        ${mayBeSent ? buttons.map((each) => button(of, each, isOpen)) : nothing}
        <a class="button" href=${back} @click=${() => of.discard()}>Cancel</a>
        ${mayBeSent ? deletion?.render() : nothing}
      </div>
    </form>`;
  };

  const hint = () =>
    what === 'draft' ? html`<p class="soft">Only you see it, on all your devices.</p>` : nothing;

  return {
    title: heading,
    dispose: () => list?.close(),
    render() {
      const refused = refusal();
      const isShown = task !== undefined && (refused === undefined || task.isUnsaved);
      return html`<div class="screen-head"><h1 tabindex="-1">${heading}</h1>${hint()}</div>
        ${loading()}
        ${refused === undefined ? nothing : html`<p class="notice bad" role="alert">${refused}</p>`}
        ${isShown && task !== undefined ? form(task, refused === undefined) : nothing}`;
    },
  };
}
