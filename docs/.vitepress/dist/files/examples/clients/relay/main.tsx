import { ContentGraphProvider } from 'content-graph-client/react';
import { type ReactNode, Suspense } from 'react';
import { createRoot, type Root } from 'react-dom/client';
import { RelayEnvironmentProvider } from 'react-relay';
import { Author } from './author.tsx';
import type { RelaySession } from './environment.ts';
import { Feed } from './feed.tsx';
import { type FirstPage, Thread } from './thread.tsx';

function show(container: Element, { client, environment }: RelaySession, page: ReactNode): Root {
  const root = createRoot(container);
  root.render(
    <ContentGraphProvider client={client}>
      <RelayEnvironmentProvider environment={environment}>
        <Suspense fallback="Loading">{page}</Suspense>
      </RelayEnvironmentProvider>
    </ContentGraphProvider>,
  );
  return root;
}

export function showFeed(container: Element, session: RelaySession): Root {
  return show(container, session, <Feed />);
}

export function showAuthor(container: Element, session: RelaySession, id: string): Root {
  return show(container, session, <Author id={id} />);
}

export function showThread(
  container: Element,
  session: RelaySession,
  id: string,
  page: FirstPage = { first: 2 },
): Root {
  return show(container, session, <Thread id={id} page={page} />);
}
