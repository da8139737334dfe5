import './elements/count-down.ts';
import './elements/relative-time.ts';
import { startApp } from './app.ts';

const root = document.getElementById('app');
if (root === null) throw new Error('the page has no element for the app');
startApp(root);
