import { createClient } from 'content-graph-client';
import { createApp } from 'vue';
import LatestPosts from './latest-posts.vue';

const user = await createClient({ url: '/graphql' }).session.getViewer();
if (user !== null) createApp(LatestPosts, { identity: user.id }).mount('#root');
