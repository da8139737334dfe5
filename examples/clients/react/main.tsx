import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { whoAmI } from '../tanstack/session.ts';
import { LatestPosts } from './latest-posts.tsx';

const SERVICE = { url: '/graphql' };
const root = document.getElementById('root');
const user = await whoAmI('');
if (root !== null && user !== null)
  createRoot(root).render(
    <StrictMode>
      <LatestPosts service={SERVICE} identity={user.id} />
    </StrictMode>,
  );
