import { type ReactNode, Suspense } from 'react';
import { createRoot, type Root } from 'react-dom/client';
import { RelayEnvironmentProvider } from 'react-relay';
import type { Environment } from 'relay-runtime';
import { Author } from './author.tsx';
import { Feed } from './feed.tsx';
import { type FirstPage, Thread } from './thread.tsx';

function show(container: Element, environment: Environment, page: ReactNode): Root {
  const root = createRoot(container);
  root.render(
    <RelayEnvironmentProvider environment={environment}>
      <Suspense fallback="Loading">{page}</Suspense>
    </RelayEnvironmentProvider>,
  );
  return root;
}

export function showFeed(container: Element, environment: Environment): Root {
  return show(container, environment, <Feed />);
}

export function showAuthor(container: Element, environment: Environment, id: string): Root {
  return show(container, environment, <Author id={id} />);
}

export function showThread(
  container: Element,
  environment: Environment,
  id: string,
  page: FirstPage = { first: 2 },
): Root {
  return show(container, environment, <Thread id={id} page={page} />);
}
