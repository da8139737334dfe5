import type { TemplateResult } from 'lit-html';
import type { PostSummary } from './api/operations.ts';
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

  /** A request of this user may be refused when another one has signed in. */
  const onEnded = () => {
    if (isOpen) onSignedOut();
  };
  const status = (): TemplateResult => liveStatus(feedState, () => feed.retry());

  const feed: Feed = openFeed({
    userId: user.id,
    onPost: (post) => posts?.onPost(post),
    onGap: () => posts?.onGap(),
    onSignedOut: onEnded,
    onState(next) {
      const spoken = spokenChange(feedState.live.status, next);
      if (spoken !== undefined) announce(spoken);
      feedState = next;
      void update();
    },
  });

  /** For one screen: its user may leave it while a request is on its way. */
  function contextFor(isCurrent: () => boolean): Context {
    const go = (hash: string) => {
      if (isOpen && isCurrent()) location.hash = hash;
    };
    return { user, drafts, update, onSignedOut: onEnded, go };
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

  function onSaved(post: PostSummary): void {
    posts?.replace(post);
    posts?.onPost(post);
  }

  return {
    user,
    get screen() {
      return screen;
    },
    open(route: Route): void {
      leave();
      if (route.screen === 'posts') openPosts(route.tag);
      else if (route.screen === 'new') show((context) => createEditor(context, undefined, onSaved));
      else if (route.screen === 'edit') show((context) => createEditor(context, route.id, onSaved));
      else {
        const { id } = route;
        const onChanged = (post: PostSummary) => posts?.replace(post);
        const onDeleted = () => posts?.remove(id);
        show((context) => createPost(context, { id, known: posts?.find(id), onChanged, onDeleted }));
      }
    },
    /** Returns to the place in the list that the reader came from. False if there is none. */
    restorePlace: () => screen === posts && posts?.restore() === true,
    forgetDrafts: drafts.clear,
    close(): void {
      isOpen = false;
      feed.close();
      screen?.dispose();
      posts?.dispose();
    },
  };
}

export type Workspace = ReturnType<typeof openWorkspace>;
