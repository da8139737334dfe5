import { html, nothing } from 'lit-html';
import { CreatePost, type Post, UpdatePost } from '../api/operations.ts';
import { createEdit, type Edit, type Stored } from '../forms/edit.ts';
import { draftNote, field, focusInvalid, outcome } from '../forms/fields.ts';
import { tagsIn, tagText } from '../forms/tags.ts';
import { createTask, type Task } from '../forms/task.ts';
import { type List, openPost } from '../live/list.ts';
import { announce } from '../parts/announce.ts';
import { listNotice } from '../parts/notice.ts';
import { listPath, postPath } from '../router.ts';
import type { Context, Mutated, Screen } from './screen.ts';

type Field = 'title' | 'body' | 'tags';

/** The name under which the draft of a change of a post is kept. */
export const draftNameOf = (id: string) => `post ${id}`;

const storedOf = ({ version, title, body, tags }: Post) => ({
  version,
  values: { title, body, tags: tagText(tags) },
});

function fields(task: Task<Field>) {
  const hint = 'Up to ten, separated by commas. A tag with a comma stands in "quotes".';
  return html`${field({ task, name: 'title', label: 'Title' })}
    ${field({ task, name: 'body', label: 'Text', rows: 10 })}
    ${field({ task, name: 'tags', label: 'Tags', hint })}
    ${draftNote(task)} ${outcome(task)}`;
}

/** A form for a new post, or for changing the post with an id. */
export function createEditor(context: Context, id: string | undefined): Screen {
  const { drafts, mutate, mayChange, go } = context;
  const heading = id === undefined ? 'New post' : 'Edit post';
  let task: Task<Field> | undefined;
  let edit: Edit<Field> | undefined;

  const onDone =
    (said: string) =>
    ({ data: post, show }: Mutated<Post>) => {
      show({ postId: post.id, post, commentId: null, comment: null });
      announce(said);
      go(postPath(post.id));
    };

  function beginEdit(postId: string, stored: Stored<Field>): Edit<Field> {
    return createEdit<Field, Mutated<Post>>(context, {
      name: draftNameOf(postId),
      stored,
      async send({ tags, ...texts }, ifVersion, options) {
        const given = { ...texts, ...(tags === undefined ? {} : { tags: tagsIn(tags) }) };
        const { data, show } = await mutate(UpdatePost, { id: postId, ifVersion, ...given }, options);
        return { data: data.updatePost, show };
      },
      onDone: onDone('Your changes are saved.'),
      onUnchanged: () => go(postPath(postId)),
      onConflict: () => void resolve(),
    });
  }

  const keptOf = (postId: string) => drafts.read(draftNameOf(postId))?.basis as Stored<Field> | undefined;

  const list =
    id === undefined
      ? undefined
      : openPost(context, id, ({ items }) => {
          if (items === undefined) return;
          const [post] = items;
          const before = edit?.theirs.size ?? 0;
          // Of a post that is gone, this tab may have what was typed.
          const stored = post === undefined ? keptOf(id) : storedOf(post);
          if (edit === undefined && stored !== undefined) task = edit = beginEdit(id, stored);
          else if (post !== undefined) edit?.rebase(storedOf(post));
          if ((edit?.theirs.size ?? 0) > before) announce('This post was changed while you were writing.');
        });

  /** Where both have changed different fields, all of it is kept, and nobody has to decide. */
  async function resolve(): Promise<void> {
    await list?.refresh();
    if (edit?.theirs.size === 0 && list?.current.items?.length === 1) await edit.submit();
  }

  if (id === undefined)
    task = createTask<Field, Mutated<Post>>(context, {
      name: 'new post',
      initial: { title: '', body: '', tags: '' },
      async send({ title, body, tags }, options) {
        const { data, show } = await mutate(CreatePost, { title, body, tags: tagsIn(tags) }, options);
        return { data: data.createPost, show };
      },
      onDone: onDone('Your post is published.'),
    });

  async function submit(event: SubmitEvent): Promise<void> {
    event.preventDefault();
    const form = event.currentTarget;
    await task?.submit();
    if (form instanceof HTMLFormElement && form.isConnected) focusInvalid(form);
  }

  function refusal(): string | undefined {
    const { items } = list?.current ?? {};
    const [post] = items ?? [];
    if (items !== undefined && post === undefined)
      return edit?.isDraft === true
        ? 'This post was deleted while you were writing. Your text is still here, to be copied.'
        : 'This post does not exist. It may have been deleted.';
    return post === undefined || mayChange(post.author.id)
      ? undefined
      : 'Only its author and admins can edit this post.';
  }

  const loading = ({ current, retry }: List<Post>) =>
    current.items === undefined && current.error === undefined
      ? html`<p class="soft loading">Loading the post…</p>`
      : listNotice(current, retry);

  const saveButton = (
    of: Task<Field>,
    isOpen: boolean,
  ) => html`<button class="primary" ?disabled=${isOpen} aria-busy=${of.state.kind === 'sending'}>
    ${of.state.kind === 'sending' ? 'Saving…' : id === undefined ? 'Publish' : 'Save'}
  </button>`;

  const form = (of: Task<Field>, mayBeSent: boolean) => {
    const isOpen = (edit?.theirs.size ?? 0) > 0;
    return html`<form class="card" novalidate @submit=${submit}>
      ${isOpen ? html`<p class="notice" role="alert">This post was changed while you were writing. Nothing is lost: choose what stays.</p>` : nothing}
      ${fields(of)}
      <div class="actions">
        ${mayBeSent ? saveButton(of, isOpen) : nothing}
        <a class="button" href=${id === undefined ? listPath : postPath(id)} @click=${() => of.discard()}>Cancel</a>
      </div>
    </form>`;
  };

  return {
    title: heading,
    dispose: () => list?.close(),
    render() {
      const refused = refusal();
      const isShown = task !== undefined && (refused === undefined || task.isDraft);
      return html`<div class="screen-head"><h1 tabindex="-1">${heading}</h1></div>
        ${list === undefined ? nothing : loading(list)}
        ${refused === undefined ? nothing : html`<p class="notice bad" role="alert">${refused}</p>`}
        ${isShown && task !== undefined ? form(task, refused === undefined) : nothing}`;
    },
  };
}
