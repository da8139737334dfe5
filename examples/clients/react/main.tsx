import { createClient, openChanges } from 'content-graph-client';
import { ContentGraphProvider } from 'content-graph-client/react';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { ChangesSubscription, LatestPosts, PostForm } from './latest-posts.tsx';

const url = '/graphql';
const root = document.getElementById('root');
const user = await createClient({ url }).session.getViewer();
if (root !== null && user !== null) {
  const client = createClient({ url, identity: user.id });
  const changes = openChanges(client, ChangesSubscription, (data) => data.changes);
  createRoot(root).render(
    <StrictMode>
      <ContentGraphProvider client={client} changes={changes}>
        <PostForm />
        <LatestPosts />
      </ContentGraphProvider>
    </StrictMode>,
  );
}
