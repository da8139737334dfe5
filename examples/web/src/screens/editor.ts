import { html, nothing } from 'lit-html';
import { mutate, query } from '../api/client.ts';
import { createLoader } from '../api/loader.ts';
import { CreatePost, type Post, PostQuery, type PostSummary, UpdatePost } from '../api/operations.ts';
import { field, focusInvalid, outcome } from '../forms/fields.ts';
import { createTask, type Task } from '../forms/task.ts';
import { announce } from '../parts/announce.ts';
import { problemNotice } from '../parts/notice.ts';
import { listPath, postPath } from '../router.ts';
import type { Context, Screen } from './screen.ts';

type Field = 'title' | 'body' | 'tags';

const EMPTY = { title: '', body: '', tags: '' };

const tagsIn = (text: string) =>
  text
    .split(',')
    .map((tag) => tag.trim())
    .filter((tag) => tag !== '');

/** A form for a new post, or for changing the post with an id. `onSaved` is called before the user is led to it. */
export function createEditor(
  context: Context,
  id: string | undefined,
  onSaved: (post: PostSummary) => void,
): Screen {
  const { user, drafts, update, onSignedOut, go } = context;
  const heading = id === undefined ? 'New post' : 'Edit post';
  let task: Task<Field> | undefined;
  let refusal: string | undefined;

  const begin = (initial: typeof EMPTY) =>
    createTask<Field, PostSummary>({
      name: id === undefined ? 'new post' : `post ${id}`,
      drafts,
      initial,
      async send({ title, body, tags }, key, onPause) {
        const given = { title, body, tags: tagsIn(tags) };
        if (id === undefined) return (await mutate(CreatePost, given, key, onPause)).createPost;
        return (await mutate(UpdatePost, { id, ...given }, key, onPause)).updatePost;
      },
      onDone(post) {
        onSaved(post);
        announce(id === undefined ? 'Your post is published.' : 'Your changes are saved.');
        go(postPath(post.id));
      },
      onSignedOut,
      update,
    });

  function edit(post: Post | null): void {
    if (post === null) refusal = 'This post does not exist. It may have been deleted.';
    else if (post.author.id !== user.id) refusal = 'Only its author can edit this post.';
    else task = begin({ title: post.title, body: post.body, tags: post.tags.join(', ') });
  }

  const loader = createLoader({
    load: () => query(PostQuery, { id: id ?? '', first: 0 }),
    onData: ({ post }) => edit(post),
    onSignedOut,
    update,
  });
  if (id === undefined) task = begin(EMPTY);
  else void loader.run();

  async function submit(event: SubmitEvent): Promise<void> {
    event.preventDefault();
    const form = event.currentTarget;
    await task?.submit();
    if (form instanceof HTMLFormElement && form.isConnected) focusInvalid(form);
  }

  const verb = id === undefined ? 'Publish' : 'Save';
  const form = (of: Task<Field>) => html`<form class="card" novalidate @submit=${submit}>
    ${field({ task: of, name: 'title', label: 'Title' })}
    ${field({ task: of, name: 'body', label: 'Text', rows: 10 })}
    ${field({ task: of, name: 'tags', label: 'Tags', hint: 'Up to ten, separated by commas. You can leave this empty.' })}
    ${outcome(of)}
    <div class="actions">
      <button class="primary" aria-busy=${of.state.kind === 'sending'}>
        ${of.state.kind === 'sending' ? 'Saving…' : verb}
      </button>
      <a class="button" href=${id === undefined ? listPath : postPath(id)} @click=${() => of.discard()}>Cancel</a>
    </div>
  </form>`;

  return {
    title: heading,
    dispose: loader.dispose,
    render: () => html`<div class="screen-head"><h1 tabindex="-1">${heading}</h1></div>
      ${loader.isLoading ? html`<p class="soft loading">Loading the post…</p>` : nothing}
      ${loader.problem === undefined ? nothing : problemNotice(loader.problem, () => void loader.run())}
      ${refusal === undefined ? nothing : html`<p class="notice bad" role="alert">${refusal}</p>`}
      ${task === undefined ? nothing : form(task)}`,
  };
}
