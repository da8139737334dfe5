import { html, nothing, type TemplateResult } from 'lit-html';
import { API_ORIGIN } from '../api/client.ts';
import { createCall } from '../api/failure.ts';
import { type Profile, ProfileQuery } from '../api/operations.ts';
import { watchReturns } from '../live/returns.ts';
import { avatar } from '../parts/byline.ts';
import { failureNotice } from '../parts/notice.ts';
import { type ListRoute, listPath } from '../router.ts';
import { createPosts, type PostsScreen } from './posts.ts';
import type { Context } from './screen.ts';

/** A user, and the posts of this user. */
export function createProfile(context: Context, name: string, route: ListRoute): PostsScreen {
  const { user: viewer, client, update } = context;
  /** Null if there is no such user. */
  let user: Profile | null | undefined;
  let posts: PostsScreen | undefined;
  const closing = new AbortController();
  const { signal } = closing;

  const call = createCall(async (options) => {
    const variables = { handle: name, id: name };
    const { data } = await client.query(ProfileQuery, variables, { ...options, signal });
    user = data.userByHandle ?? data.user;
    if (user !== null) posts ??= createPosts(context, route, { author: user.id, head });
  }, update);
  void call.run();
  const stop = watchReturns(() => void call.run());

  const about = (of: Profile) => html`<div class="profile card">
    ${avatar(of)}
    <div>
      <h1 tabindex="-1">${of.name}</h1>
      ${of.handle === null ? nothing : html`<p class="soft">@${of.handle}</p>`}
      ${of.bio === '' ? nothing : html`<p class="bio">${of.bio}</p>`}
      ${of.id === viewer.id ? html`<p><a href="${API_ORIGIN}/account">Edit your profile</a></p>` : nothing}
    </div>
  </div>`;

  function head(): TemplateResult | typeof nothing {
    return user ? about(user) : nothing;
  }

  function waiting(): TemplateResult {
    const isMissing = user === null;
    const { failure } = call;
    return html`<div class="screen-head"><h1 tabindex="-1">${isMissing ? 'Not found' : 'Profile'}</h1></div>
      ${isMissing ? html`<p class="notice" role="alert">This user does not exist. <a href=${listPath()}>All posts</a></p>` : nothing}
      ${user === undefined && failure === undefined ? html`<p class="soft loading">Loading the profile…</p>` : nothing}
      ${failure === undefined ? nothing : failureNotice(failure, () => void call.run())}`;
  }

  return {
    get title() {
      return user?.name ?? (user === null ? 'Not found' : 'Profile');
    },
    path: () => posts?.path() ?? listPath(route),
    find: (slug) => posts?.find(slug),
    leave: () => posts?.leave(),
    restore: () => posts?.restore() === true,
    render: () => posts?.render() ?? waiting(),
    dispose() {
      closing.abort();
      stop();
      posts?.dispose();
    },
  };
}
