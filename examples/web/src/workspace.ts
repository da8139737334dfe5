import type { TemplateResult } from 'lit-html';
import { endMutations, query } from './api/client.ts';
import { createLoader } from './api/loader.ts';
import { ViewerQuery } from './api/operations.ts';
import type { User } from './api/session.ts';
import { draftsOf } from './forms/drafts.ts';
import { type Feed, type FeedState, openFeed } from './live/feed.ts';
import { liveStatus, spokenChange } from './live/live-status.ts';
import { announce } from './parts/announce.ts';
import type { Route } from './router.ts';
import { createEditor } from './screens/editor.ts';
import { createPost } from './screens/post.ts';
import { createPosts, type PostsScreen } from './screens/posts.ts';
import type { Context, Screen } from './screens/screen.ts';

export interface WorkspaceOptions {
  readonly user: User;
  readonly update: Context['update'];
  readonly onSignedOut: () => void;
}

/** Everything that belongs to the user who is signed in. Another user gets another one. */
export function openWorkspace({ user, update, onSignedOut }: WorkspaceOptions) {
  const drafts = draftsOf(user.id);
  let feedState: FeedState = { live: { status: 'connecting' } };
  let posts: PostsScreen | undefined;
  let screen: Screen | undefined;
  let isOpen = true;
  let isAdmin = false;

  /** A request of this user may be refused when another one has signed in. */
  const onEnded = () => {
    if (isOpen) onSignedOut();
  };
  const status = (): TemplateResult => liveStatus(feedState, () => feed.changes.retry());

  const feed: Feed = openFeed({
    userId: user.id,
    onSignedOut: onEnded,
    onState(next) {
      const spoken = spokenChange(feedState.live.status, next);
      if (spoken !== undefined) announce(spoken);
      feedState = next;
      // Refused for good by whatever stands before the service, it would never be asked again.
      const { problem } = viewer;
      if (next.live.status === 'live' && problem !== undefined && problem.retryAtMs === undefined)
        void viewer.run();
      void update();
    },
  });

  const viewer = createLoader({
    load: () => query(ViewerQuery, {}),
    onData(data) {
      isAdmin = data.viewer.role === 'ADMIN';
    },
    onSignedOut: onEnded,
    update,
  });
  void viewer.run();

  /** For one screen: its user may leave it while a request is on its way. */
  function contextFor(isCurrent: () => boolean): Context {
    const go = (hash: string) => {
      if (isOpen && isCurrent()) location.hash = hash;
    };
    const mayChange = (authorId: string) => isAdmin || authorId === user.id;
    const { changes } = feed;
    return { user, drafts, changes, mayChange, update, onSignedOut: onEnded, go };
  }

  function show(create: (context: Context) => Screen): void {
    let own: Screen | undefined;
    own = create(contextFor(() => screen === own));
    screen = own;
  }

  function openPosts(tag: string | undefined): void {
    if (posts === undefined || posts.tag !== tag) {
      posts?.dispose();
      posts = createPosts(
        contextFor(() => screen === posts),
        tag,
        status,
      );
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
      if (route.screen === 'posts') openPosts(route.tag);
      else if (route.screen === 'new') show((context) => createEditor(context, undefined));
      else if (route.screen === 'edit') show((context) => createEditor(context, route.id));
      else {
        const { id } = route;
        show((context) => createPost(context, { id, known: posts?.find(id), status }));
      }
    },
    /** Returns to the place in the list that the reader came from. False if there is none. */
    restorePlace: () => screen === posts && posts?.restore() === true,
    forgetDrafts: drafts.clear,
    close(): void {
      isOpen = false;
      endMutations();
      feed.close();
      viewer.dispose();
      screen?.dispose();
      posts?.dispose();
    },
  };
}

export type Workspace = ReturnType<typeof openWorkspace>;
