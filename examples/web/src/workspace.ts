import { createClient, openChanges, type SessionUser } from 'content-graph-client';
import { GRAPHQL_URL } from './api/client.ts';
import { createCall } from './api/failure.ts';
import { ChangesSubscription, ViewerQuery } from './api/operations.ts';
import { openUnsaved } from './forms/unsaved.ts';
import { watchLive } from './live/live-status.ts';
import { type ListRoute, listPath, type Route } from './router.ts';
import { createDrafts } from './screens/drafts.ts';
import { createEditor } from './screens/editor.ts';
import { createPost } from './screens/post.ts';
import { createPosts, type PostsScreen } from './screens/posts.ts';
import { createProfile } from './screens/profile.ts';
import type { Context, Screen } from './screens/screen.ts';
import { createTags } from './screens/tags.ts';

export interface WorkspaceOptions {
  readonly user: SessionUser;
  readonly update: Context['update'];
  readonly onSignedOut: () => void;
}

/** Everything that belongs to the user who is signed in. Another user gets another one. */
export function openWorkspace({ user, update, onSignedOut }: WorkspaceOptions) {
  const unsaved = openUnsaved(user.id);
  const client = createClient({ url: GRAPHQL_URL, identity: user.id, storage: unsaved.storage });
  const changes = openChanges(client, ChangesSubscription, (data) => data.changes);
  const live = watchLive(changes, client.retry, update);
  let posts: PostsScreen | undefined;
  let screen: Screen | undefined;
  let isOpen = true;
  let isAdmin = false;

  /** A request of this user may be rejected when another one has signed in. */
  const onEnded = () => {
    if (isOpen) onSignedOut();
  };

  const role = createCall(async (options) => {
    const { data } = await client.query(ViewerQuery, {}, options);
    isAdmin = data.viewer.role === 'ADMIN';
  }, update);
  void role.run();
  const tags = createTags({ client, changes, update, onSignedOut: onEnded });

  changes.state.subscribe((state) => {
    if (state.status === 'reconnecting' && state.reason === 'unauthenticated') onEnded();
    // Rejected for good by something before the service, it would never be asked again.
    if (state.status === 'live' && role.failure !== undefined) void role.run();
  });

  const mutate: Context['mutate'] = async (document, variables, options) => {
    const show = changes.optimisticChange();
    const { data, replayed } = await client.mutate(document, variables, options);
    // A replayed result may be older than what the stream has brought.
    return { data, show: (change) => (replayed ? undefined : show(change)) };
  };

  /** For one screen: its user may leave it while a request is on its way. */
  function contextFor(isCurrent: () => boolean): Context {
    const go = (hash: string) => {
      if (isOpen && isCurrent()) location.hash = hash;
    };
    const mayChange = (authorId: string) => isAdmin || authorId === user.id;
    const parts = { status: live.render, tags: tags.render };
    return { user, client, unsaved, changes, mutate, mayChange, ...parts, update, onSignedOut: onEnded, go };
  }

  function show(create: (context: Context) => Screen): void {
    let own: Screen | undefined;
    own = create(contextFor(() => screen === own));
    screen = own;
  }

  function openPosts(route: ListRoute): void {
    if (posts?.path() !== listPath(route)) {
      posts?.dispose();
      const context = contextFor(() => screen === posts);
      const { user: name } = route;
      posts = name === undefined ? createPosts(context, route) : createProfile(context, name, route);
    }
    screen = posts;
  }

  function leave(): void {
    if (screen === posts) posts?.leave();
    else screen?.dispose();
  }

  return {
    user,
    get screen() {
      return screen;
    },
    open(route: Route): void {
      leave();
      if (route.screen === 'posts') openPosts(route);
      else if (route.screen === 'new') show((context) => createEditor(context, 'post'));
      else if (route.screen === 'edit') show((context) => createEditor(context, 'post', route.id));
      else if (route.screen === 'draft') show((context) => createEditor(context, 'draft', route.id));
      else if (route.screen === 'post')
        show((context) => createPost(context, route.slug, posts?.find(route.slug)));
      else show(createDrafts);
    },
    /** Returns to the place in the list that the reader came from. False if there is none. */
    restorePlace: () => screen === posts && posts?.restore() === true,
    forgetUnsaved: unsaved.clear,
    close(): void {
      isOpen = false;
      live.close();
      screen?.dispose();
      posts?.dispose();
      tags.close();
      client.close();
    },
  };
}

export type Workspace = ReturnType<typeof openWorkspace>;
