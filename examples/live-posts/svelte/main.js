import { createClient } from 'content-graph-client';
import { mount } from 'svelte';
import LatestPosts from './latest-posts.svelte';

const target = document.getElementById('root');
const user = await createClient({ url: '/graphql' }).session.getViewer();
if (target !== null && user !== null) mount(LatestPosts, { target, props: { identity: user.id } });
